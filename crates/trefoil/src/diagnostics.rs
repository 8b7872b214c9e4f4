//! Findings as data: the mistake, its place, and how to fix it.
//!
//! [`FoundErrors`](crate::FoundErrors) contains them together with their files.

pub use trefoil_syntax::diagnostic::{Edit, Fix, Label};
pub use trefoil_syntax::{Diagnostic, FileId, Files, Location, Position, Severity, SourceFile, Span};
