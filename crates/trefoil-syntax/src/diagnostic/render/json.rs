//! `check --format json`: one object, to be read by programs.

use serde::Serialize;

use super::{name, place};
use crate::diagnostic::{Diagnostic, Fix};
use crate::file::Files;
use crate::span::{FileId, Span};

/// The JSON Schema (draft 2020-12) of the output of [`json`].
pub const JSON_SCHEMA: &str = include_str!("check.schema.json");

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
    place: JsonPlace<'a>,
    help: Option<&'a str>,
    labels: Vec<Labelled<'a>>,
    fix: Option<Change<'a>>,
}

#[derive(Serialize)]
struct Labelled<'a> {
    message: &'a str,
    #[serde(flatten)]
    place: JsonPlace<'a>,
}

#[derive(Serialize)]
struct Change<'a> {
    message: &'a str,
    safe: bool,
    edits: Vec<Replaced<'a>>,
}

#[derive(Serialize)]
struct Replaced<'a> {
    #[serde(flatten)]
    place: JsonPlace<'a>,
    text: &'a str,
}

/// Lines and columns count from 1, columns in characters; the end is exclusive. Without a place, all are null.
#[derive(Serialize)]
struct JsonPlace<'a> {
    file: Option<&'a str>,
    line: Option<u32>,
    column: Option<u32>,
    end_line: Option<u32>,
    end_column: Option<u32>,
}

impl<'a> JsonPlace<'a> {
    fn of(files: &'a Files, file: Option<FileId>, span: Option<Span>) -> Self {
        let (file, span) = place(files, file, span);
        let at = |offset: Option<u32>| Some(file?.position(offset?));
        let start = at(span.map(|s| s.start));
        let end = at(span.map(|s| s.end.max(s.start)));
        JsonPlace {
            file: file.map(|f| f.name()),
            line: start.map(|p| p.line),
            column: start.map(|p| p.column),
            end_line: end.map(|p| p.line),
            end_column: end.map(|p| p.column),
        }
    }
}

impl<'a> Change<'a> {
    /// `None` if the fix changes a file that is not in `files`.
    fn of(files: &'a Files, fix: &'a Fix) -> Option<Self> {
        let edits = fix.edits.iter().map(|e| {
            let place = JsonPlace::of(files, Some(e.location.file), Some(e.location.span));
            place.line.is_some().then_some(Replaced { place, text: &e.text })
        });
        Some(Change { message: &fix.message, safe: fix.safe, edits: edits.collect::<Option<_>>()? })
    }
}

/// One JSON object on one line, followed by a line break. `checked` is the number of checked files.
pub fn json(diagnostics: &[Diagnostic], files: &Files, checked: usize) -> String {
    let diagnostics = diagnostics
        .iter()
        .map(|d| Finding {
            rule: d.rule,
            severity: name(d.severity),
            message: &d.message,
            place: JsonPlace::of(files, d.file, d.span),
            help: d.help.as_deref(),
            labels: d
                .labels
                .iter()
                .map(|l| Labelled {
                    message: &l.message,
                    place: JsonPlace::of(files, Some(l.location.file), Some(l.location.span)),
                })
                .collect(),
            fix: d.fix.as_deref().and_then(|fix| Change::of(files, fix)),
        })
        .collect();
    // Cannot fail: the report contains only strings and numbers.
    let mut out = serde_json::to_string(&Report { files: checked, diagnostics }).unwrap_or_default();
    out.push('\n');
    out
}
