//! `check --format json`: one object, to be read by programs.

use serde::Serialize;

use super::{file_and_span, name};
use crate::diagnostic::{Diagnostic, Fix};
use crate::file::SourceFiles;
use crate::span::{FileId, Location, Span};

/// The JSON Schema (draft 2020-12) of the output of [`render_json`].
pub const JSON_SCHEMA: &str = include_str!("check.schema.json");

/// The whole report.
#[derive(Serialize)]
struct JsonReport<'a> {
    files: usize,
    diagnostics: Vec<JsonFinding<'a>>,
}

#[derive(Serialize)]
struct JsonFinding<'a> {
    rule: &'a str,
    severity: &'a str,
    message: &'a str,
    #[serde(flatten)]
    place: JsonLocation<'a>,
    help: Option<&'a str>,
    labels: Vec<JsonLabel<'a>>,
    fix: Option<JsonFix<'a>>,
}

#[derive(Serialize)]
struct JsonLabel<'a> {
    message: &'a str,
    #[serde(flatten)]
    place: JsonLocation<'a>,
}

#[derive(Serialize)]
struct JsonFix<'a> {
    message: &'a str,
    safe: bool,
    edits: Vec<JsonEdit<'a>>,
}

#[derive(Serialize)]
struct JsonEdit<'a> {
    #[serde(flatten)]
    place: JsonLocation<'a>,
    text: &'a str,
}

/// Lines and columns count from 1, columns in characters; the end is exclusive. Without a place, all are null.
#[derive(Serialize)]
struct JsonLocation<'a> {
    file: Option<&'a str>,
    line: Option<u32>,
    column: Option<u32>,
    end_line: Option<u32>,
    end_column: Option<u32>,
}

impl<'a> JsonLocation<'a> {
    fn from_location(files: &'a SourceFiles, location: Location) -> Self {
        Self::from_span(files, Some(location.file), Some(location.span))
    }
    fn from_span(files: &'a SourceFiles, file: Option<FileId>, span: Option<Span>) -> Self {
        let (file, span) = file_and_span(files, file, span);
        let at = |offset: Option<u32>| Some(file?.line_column(offset?));
        let start = at(span.map(|s| s.start));
        let end = at(span.map(|s| s.end.max(s.start)));
        JsonLocation {
            file: file.map(|f| f.name()),
            line: start.map(|p| p.line),
            column: start.map(|p| p.column),
            end_line: end.map(|p| p.line),
            end_column: end.map(|p| p.column),
        }
    }
}

impl<'a> JsonFix<'a> {
    /// `None` if the fix changes a file that is not in `files`.
    fn from_fix(files: &'a SourceFiles, fix: &'a Fix) -> Option<Self> {
        let mut edits = Vec::new();
        for edit in &fix.edits {
            let place = JsonLocation::from_location(files, edit.location);
            place.line?;
            edits.push(JsonEdit { place, text: &edit.text });
        }
        Some(JsonFix { message: &fix.message, safe: fix.safe, edits })
    }
}

impl<'a> JsonFinding<'a> {
    fn from_diagnostic(files: &'a SourceFiles, d: &'a Diagnostic) -> Self {
        let mut labels = Vec::new();
        for label in &d.labels {
            let place = JsonLocation::from_location(files, label.location);
            labels.push(JsonLabel { message: &label.message, place });
        }
        JsonFinding {
            rule: d.rule,
            severity: name(d.severity),
            message: &d.message,
            place: JsonLocation::from_span(files, d.file, d.span),
            help: d.help.as_deref(),
            labels,
            fix: d.fix.as_deref().and_then(|fix| JsonFix::from_fix(files, fix)),
        }
    }
}

/// One JSON object on one line, followed by a line break. `checked` is the number of checked files.
pub fn render_json(diagnostics: &[Diagnostic], files: &SourceFiles, checked: usize) -> String {
    let diagnostics = diagnostics.iter().map(|d| JsonFinding::from_diagnostic(files, d)).collect();
    // Cannot fail: the report contains only strings and numbers.
    let mut out = serde_json::to_string(&JsonReport { files: checked, diagnostics }).unwrap_or_default();
    out.push('\n');
    out
}
