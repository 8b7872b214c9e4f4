//! The template and condition languages of the three dialects, and the values they work on.
//!
//! One parser family, three [`Policy`] constants. A text is parsed once into a flat program; rendering is a loop over
//! it. Knows nothing about YAML, workflows or IO. Data is never code: a substituted value is not scanned again.

pub mod condition;
pub mod error;
pub mod policy;
pub mod scope;
pub mod template;
pub mod value;

pub use condition::{Arithmetic, Comparison, Condition, Expression, Function};
pub use error::{EvalError, Question, SyntaxError};
pub use policy::Policy;
pub use scope::{Binding, Found, Missing, Reference, Scope, Segment};
pub use template::{Provenance, Template};
pub use value::{Hole, HoleKind, Masked, Number, Object, Piece, Value};
