//! Findings as data: what is wrong, where, and what to do about it.
//!
//! [`Findings`](crate::Findings) holds them together with the files that they are in.

pub use trefoil_syntax::diagnostic::{Edit, Fix, Label};
pub use trefoil_syntax::{Diagnostic, FileId, Files, Location, Position, Severity, SourceFile, Span};
