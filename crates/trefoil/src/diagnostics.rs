//! Findings as data: the mistake, its place, and how to fix it.
//!
//! [`FoundErrors`](crate::FoundErrors) contains them together with their files.

pub use trefoil_syntax::diagnostic::{DiagnosticLabel, Fix, SourceEdit};
pub use trefoil_syntax::{Diagnostic, FileId, FindingSeverity, LineColumn, Location, SourceFile, SourceFiles, Span};
