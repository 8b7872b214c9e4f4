//! Files, spans, spanned YAML and diagnostics: the base of all other crates.
//!
//! Knows nothing about templates, dialects, IO or async. Parsing returns a value *and* diagnostics.

pub mod diagnostic;
pub mod file;
pub mod hash;
pub mod lookalikes;
pub mod span;
pub mod suggestions;
pub mod yaml;

pub use diagnostic::{
    Diagnostic, DiagnosticLabel, DiagnosticList, FindingSeverity, Fix, MergedDiagnostics, SourceEdit,
};
pub use file::{LineColumn, SourceFile, SourceFiles};
pub use span::{FileId, Location, Span};
