//! SARIF 2.1.0, which code hosts and editors import.
//!
//! <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>. Written by hand: we need only a small part of
//! the format, and the tests compare the output with the published schema.

use crate::hash::HashMap;

use serde_json::{Map, Value, json};

use super::file_and_span;
use crate::diagnostic::{Diagnostic, FindingSeverity, Fix};
use crate::file::{SourceFile, SourceFiles};
use crate::span::{FileId, Location, Span};

/// A rule, as described in a SARIF log.
#[derive(Debug, Clone, Copy)]
pub struct SarifRule<'a> {
    /// Its name.
    pub name: &'a str,
    /// One sentence.
    pub summary: &'a str,
    /// Its page, in Markdown.
    pub page: &'a str,
    /// Its level; `None` if it is off.
    pub level: Option<FindingSeverity>,
}

/// A log with one run, on one line, followed by a line break. Rules that are not in the list are still named.
pub fn render_sarif(diagnostics: &[Diagnostic], files: &SourceFiles, rules: &[SarifRule<'_>], version: &str) -> String {
    let index: HashMap<&str, usize> = rules.iter().enumerate().map(|(i, r)| (r.name, i)).collect();
    let results: Vec<Value> = diagnostics.iter().map(|d| result(d, files, &index)).collect();
    let rules: Vec<Value> = rules.iter().map(descriptor).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "trefoil", "semanticVersion": version, "rules": rules } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{log}\n")
}

fn descriptor(rule: &SarifRule<'_>) -> Value {
    json!({
        "id": rule.name,
        "shortDescription": { "text": rule.summary },
        "fullDescription": { "text": rule.summary },
        "help": { "text": rule.page, "markdown": rule.page },
        "defaultConfiguration": { "enabled": rule.level.is_some(), "level": level(rule.level.unwrap_or(FindingSeverity::Warning)) },
    })
}

fn level(severity: FindingSeverity) -> &'static str {
    match severity {
        FindingSeverity::Error => "error",
        FindingSeverity::Warning => "warning",
        FindingSeverity::Info | FindingSeverity::Hint => "note",
    }
}

fn result(d: &Diagnostic, files: &SourceFiles, index: &HashMap<&str, usize>) -> Value {
    let mut out = Map::new();
    out.insert("ruleId".into(), d.rule.into());
    if let Some(index) = index.get(d.rule) {
        out.insert("ruleIndex".into(), (*index).into());
    }
    out.insert("level".into(), level(d.severity).into());
    let text = match &d.help {
        Some(help) => format!("{}\n{help}", d.message),
        None => d.message.clone(),
    };
    out.insert("message".into(), json!({ "text": text }));
    if let Some(location) = physical(files, d.file, d.span) {
        out.insert("locations".into(), json!([{ "physicalLocation": location }]));
    }
    let mut related = Vec::new();
    for label in &d.labels {
        if let Some(place) = physical(files, Some(label.location.file), Some(label.location.span)) {
            let message = json!({ "text": label.message });
            related.push(json!({ "id": related.len(), "physicalLocation": place, "message": message }));
        }
    }
    if !related.is_empty() {
        out.insert("relatedLocations".into(), related.into());
    }
    if let Some(fix) = d.fix.as_deref().and_then(|fix| change(fix, files)) {
        out.insert("fixes".into(), json!([fix]));
    }
    Value::Object(out)
}

fn physical(files: &SourceFiles, file: Option<FileId>, span: Option<Span>) -> Option<Value> {
    let (file, span) = file_and_span(files, file, span);
    let file = file?;
    let mut out = json!({ "artifactLocation": { "uri": uri(file.name()) } });
    if let (Some(span), Some(out)) = (span, out.as_object_mut()) {
        out.insert("region".into(), region(file, span));
    }
    Some(out)
}

fn region(file: &SourceFile, span: Span) -> Value {
    let (start, end) = (file.line_column(span.start), file.line_column(span.end.max(span.start)));
    json!({ "startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column })
}

/// A fix, with its edits grouped by file; `None` if one of its files is missing.
fn change(fix: &Fix, files: &SourceFiles) -> Option<Value> {
    let mut changed: Vec<(FileId, Vec<Value>)> = Vec::new();
    for edit in &fix.edits {
        let Location { file: id, span } = edit.location;
        let replacement =
            json!({ "deletedRegion": region(files.get(id)?, span), "insertedContent": { "text": edit.text } });
        match changed.iter_mut().find(|(known, _)| *known == id) {
            Some((_, replacements)) => replacements.push(replacement),
            None => changed.push((id, vec![replacement])),
        }
    }
    let mut changes = Vec::new();
    for (id, replacements) in changed {
        let uri = uri(files.get(id)?.name());
        changes.push(json!({ "artifactLocation": { "uri": uri }, "replacements": replacements }));
    }
    Some(json!({ "description": { "text": fix.message }, "artifactChanges": changes }))
}

/// A path as a URI reference, which is relative if the path is.
fn uri(path: &str) -> String {
    let path = path.replace('\\', "/");
    let drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes().first().is_some_and(u8::is_ascii_alphabetic);
    let mut out = match (path.starts_with('/'), drive) {
        (true, _) => "file://".to_owned(),
        (_, true) => "file:///".to_owned(),
        _ => String::new(),
    };
    for byte in path.strip_prefix("./").unwrap_or(&path).bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            b':' if drive => out.push(':'),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}
