//! Diagnostics as text: for terminals, JSON, GitHub and SARIF. A new format is one file and one line here.
//!
//! Does not decide what is reported or in which order; see [`Diagnostics::into_sorted`](super::Diagnostics).

mod escape;
mod github;
mod json;
mod sarif;
mod summary;
mod text;

pub use escape::{clean, escaped, is_tricky};
pub use github::github;
pub use json::{JSON_SCHEMA, json};
pub use sarif::{SarifRule, sarif};
pub use summary::summary;
pub use text::{TextOptions, text};

use super::Severity;
use crate::file::{Files, SourceFile};
use crate::span::{FileId, Span};

/// The name of a severity, the same in all formats.
fn name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
        Severity::Hint => "hint",
    }
}

/// The file and the place in it, if any. Without a file there is no place.
fn place(files: &Files, file: Option<FileId>, span: Option<Span>) -> (Option<&SourceFile>, Option<Span>) {
    let file = file.and_then(|id| files.get(id));
    (file, span.filter(|_| file.is_some()))
}
