//! Diagnostics as text: for terminals, JSON, GitHub and SARIF. A new format is one file and one line here.
//!
//! Does not decide what is reported or in which order; see [`Diagnostics::into_sorted`](super::Diagnostics).

mod github;
mod json;
mod sarif;
mod summary;
mod text;

pub use github::github;
pub use json::{JSON_SCHEMA, json};
pub use sarif::{SarifRule, sarif};
pub use summary::summary;
pub use text::{TextOptions, text};

use super::Severity;
use crate::file::{FileId, Files, SourceFile};
use crate::span::Span;

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

/// The text on one line, without characters that move the cursor or change the reading direction.
pub fn clean(text: &str) -> String {
    if text.bytes().all(|b| b == b' ' || b.is_ascii_graphic()) {
        return text.to_owned();
    }
    text.chars().map(|c| if is_tricky(c) { ' ' } else { c }).collect()
}

/// Whether a character can move the cursor of a terminal or change the reading direction.
pub fn is_tricky(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns
}
