//! Files, spans, spanned YAML and diagnostics: the base of all other crates.
//!
//! Knows nothing about templates, dialects, IO or async. Parsing returns a value *and* diagnostics.

pub mod alike;
pub mod diagnostic;
pub mod file;
pub mod hash;
pub mod span;
pub mod suggest;
pub mod yaml;

pub use diagnostic::{Diagnostic, Diagnostics, Edit, Fix, Label, Severity, Shared};
pub use file::{Files, Position, SourceFile};
pub use span::{FileId, Location, Span};
