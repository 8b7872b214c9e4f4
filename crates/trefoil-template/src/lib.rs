//! The template and condition languages of the three dialects, and the values they work on.
//!
//! One parser family, three [`Policy`] constants. A text is parsed once into a flat program; rendering is a loop over
//! it. Knows nothing about YAML, workflows or IO. Data is never code: a substituted value is not scanned again.

pub mod condition;
pub mod error;
mod evaluate;
pub mod expression;
mod handlebars;
pub mod limits;
mod lookup;
mod path;
pub mod policy;
pub mod scope;
pub mod state;
mod suggest;
pub mod template;
pub mod value;

pub use condition::Condition;
pub use error::{EvalError, Question, RULES, SyntaxError};
pub use expression::{Arithmetic, Comparison, Expression, Function};
pub use policy::Policy;
pub use scope::{Binding, Found, Missing, Reference, Scope, Segment};
pub use template::{Local, Origin, Provenance, Start, Template};
pub use value::{Hole, HoleKind, Masked, Number, Object, Piece, Value};
