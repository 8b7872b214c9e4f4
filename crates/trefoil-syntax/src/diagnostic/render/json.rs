//! `check --format json`: one object, for programs.

use serde::Serialize;

use super::{name, place};
use crate::diagnostic::Diagnostic;
use crate::file::{FileId, Files};
use crate::span::Span;

/// The whole report.
#[derive(Serialize)]
struct Report<'a> {
    files: usize,
    diagnostics: Vec<Finding<'a>>,
}

#[derive(Serialize)]
struct Finding<'a> {
    rule: &'a str,
    severity: &'a str,
    message: &'a str,
    #[serde(flatten)]
    place: Place<'a>,
    help: Option<&'a str>,
    labels: Vec<Labelled<'a>>,
}

#[derive(Serialize)]
struct Labelled<'a> {
    message: &'a str,
    #[serde(flatten)]
    place: Place<'a>,
}

/// Lines and columns from 1, columns in characters, the end exclusive; null where there is none.
#[derive(Serialize)]
struct Place<'a> {
    file: Option<&'a str>,
    line: Option<u32>,
    column: Option<u32>,
    end_line: Option<u32>,
    end_column: Option<u32>,
}

impl<'a> Place<'a> {
    fn of(files: &'a Files, file: Option<FileId>, span: Option<Span>) -> Self {
        let (file, span) = place(files, file, span);
        let at = |offset: Option<u32>| Some(file?.position(offset?));
        let start = at(span.map(|s| s.start));
        let end = at(span.map(|s| s.end.max(s.start)));
        Place {
            file: file.map(|f| f.name()),
            line: start.map(|p| p.line),
            column: start.map(|p| p.column),
            end_line: end.map(|p| p.line),
            end_column: end.map(|p| p.column),
        }
    }
}

/// One JSON object on one line, with a line break behind it. `checked` is how many files were looked at.
pub fn json(diagnostics: &[Diagnostic], files: &Files, checked: usize) -> String {
    let diagnostics = diagnostics
        .iter()
        .map(|d| Finding {
            rule: d.rule,
            severity: name(d.severity),
            message: &d.message,
            place: Place::of(files, d.file, d.span),
            help: d.help.as_deref(),
            labels: d
                .labels
                .iter()
                .map(|l| Labelled {
                    message: &l.message,
                    place: Place::of(files, Some(l.location.file), Some(l.location.span)),
                })
                .collect(),
        })
        .collect();
    // Strings and numbers only: this cannot fail.
    let mut out = serde_json::to_string(&Report { files: checked, diagnostics }).unwrap_or_default();
    out.push('\n');
    out
}
