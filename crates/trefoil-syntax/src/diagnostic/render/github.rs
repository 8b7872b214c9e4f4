//! Workflow commands of GitHub Actions: a finding becomes an annotation of the changed line.
//!
//! Format: <https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands>, escapes as in the
//! toolkit's `command.ts`. GitHub accepts columns only if the annotation is within one line.

use std::fmt::Write as _;

use super::{clean_line, file_and_span};
use crate::diagnostic::{Diagnostic, FindingSeverity};
use crate::file::SourceFiles;

/// One line for each finding, `::error file=..,line=..,col=..,endLine=..,endColumn=..,title=rule::message`; the advice
/// is a second line of the message.
pub fn render_github(diagnostics: &[Diagnostic], files: &SourceFiles) -> String {
    let mut out = String::new();
    for d in diagnostics {
        let command = match d.severity {
            FindingSeverity::Error => "error",
            FindingSeverity::Warning => "warning",
            FindingSeverity::Info | FindingSeverity::Hint => "notice",
        };
        let (file, span) = file_and_span(files, d.file, d.span);
        let mut properties = String::new();
        if let Some(file) = file {
            // GitHub expects paths relative to the repository, without `./`.
            let name = file.name().trim_start_matches("./");
            let _ = write!(properties, "file={},", property(name));
            if let Some(span) = span {
                let (start, end) = (file.line_column(span.start), file.line_column(span.end.max(span.start)));
                if start.line == end.line {
                    let _ = write!(
                        properties,
                        "line={},col={},endLine={},endColumn={},",
                        start.line, start.column, end.line, end.column
                    );
                } else {
                    let _ = write!(properties, "line={},endLine={},", start.line, end.line);
                }
            }
        }
        let message = match &d.help {
            Some(help) => format!("{}\nhelp: {}", clean_line(&d.message), clean_line(help)),
            None => clean_line(&d.message),
        };
        let _ = writeln!(out, "::{command} {properties}title={}::{}", property(d.rule), data(&message));
    }
    out
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
