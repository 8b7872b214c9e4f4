//! Diagnostics as text: for terminals, JSON, GitHub and SARIF. A new format is one file and one line here.
//!
//! Does not decide what is reported or in which order; see [`DiagnosticList::into_sorted`](super::DiagnosticList).

mod escape;
mod github;
mod json;
mod sarif;
mod summary;
mod text;

pub use escape::{clean_line, escape_tricky, is_tricky};
pub use github::render_github;
pub use json::{JSON_SCHEMA, render_json};
pub use sarif::{SarifRule, render_sarif};
pub use summary::render_summary;
pub use text::{TextOptions, render_text};

use super::FindingSeverity;
use crate::file::{SourceFile, SourceFiles};
use crate::span::{FileId, Span};

/// The name of a severity, the same in all formats.
fn name(severity: FindingSeverity) -> &'static str {
    match severity {
        FindingSeverity::Error => "error",
        FindingSeverity::Warning => "warning",
        FindingSeverity::Info => "info",
        FindingSeverity::Hint => "hint",
    }
}

/// The file and the place in it, if any. Without a file there is no place.
fn file_and_span(files: &SourceFiles, file: Option<FileId>, span: Option<Span>) -> (Option<&SourceFile>, Option<Span>) {
    let file = file.and_then(|id| files.get(id));
    (file, span.filter(|_| file.is_some()))
}
