//! Inserts entries in mappings and lists, in the existing style.

use trefoil_syntax::yaml::{YamlNode, YamlNodeKind};
use trefoil_syntax::{FileId, Location, SourceEdit, Span};

use crate::analysis::FolderAnalysis;
use crate::cursor::{leading_blanks, line_end, line_span};

/// An entry at the end of a mapping. `value` follows the key's colon, on the same line or indented by two spaces per
/// level on lines below; `short` is the form for a mapping in braces.
pub fn insert_entry(
    analysis: &FolderAnalysis,
    file: FileId,
    mapping: &YamlNode,
    key: &str,
    value: &str,
    short: &str,
) -> Option<SourceEdit> {
    let text = analysis.file_text(file);
    let entries = &mapping.as_mapping()?.entries;
    let last = entries.last().map(|e| e.value.span.end.max(e.key.span.end));
    if text.get(mapping.span.start as usize..)?.starts_with('{') {
        let close = text.get(..mapping.span.end as usize)?.rfind('}')? as u32;
        return Some(match last {
            Some(last) => insertion_at(file, last.min(close), format!(", {key}: {short}")),
            None => insertion_at(file, mapping.span.start + 1, format!(" {key}: {short}{}", blank_before(text, close))),
        });
    }
    let first = entries.first()?.key.span.start;
    let margin = " ".repeat(indentation_column(text, first));
    Some(insert_below(text, file, last?, &format!("{margin}{key}:{}", format_value(value, &margin))))
}

/// An item at the end of a list of mappings; each line except the first is indented by two more spaces.
pub fn insert_item(analysis: &FolderAnalysis, file: FileId, list: &YamlNode, lines: &str) -> Option<SourceEdit> {
    let text = analysis.file_text(file);
    let last = list.as_sequence()?.last()?;
    if text.get(list.span.start as usize..)?.starts_with('[') {
        return None;
    }
    // Its dash is before it.
    let own = line_span(text, last.span.start);
    let before = text.get(own.start as usize..last.span.start as usize)?;
    let margin = " ".repeat(before.find('-')?);
    let inner = lines.replace('\n', &format!("\n{margin}  "));
    Some(insert_below(text, file, last.span.end, &format!("{margin}- {inner}")))
}

/// An entry with a mapping or list, after another key in the same mapping.
pub fn insert_after(
    analysis: &FolderAnalysis,
    file: FileId,
    node: &YamlNode,
    after: &str,
    key: &str,
    value: &str,
) -> Option<SourceEdit> {
    let text = analysis.file_text(file);
    let known = node.as_mapping()?.get(after)?;
    if text.get(node.span.start as usize..)?.starts_with('{') {
        return Some(insertion_at(file, known.value.span.end, format!(", {key}: {}", value.trim_start())));
    }
    let margin = " ".repeat(indentation_column(text, known.key.span.start));
    let end = known.value.span.end.max(known.key.span.end);
    Some(insert_below(text, file, end, &format!("{margin}{key}:{}", format_value(value, &margin))))
}

/// Formats a value after its colon: on the same line, or on separate lines.
fn format_value(value: &str, margin: &str) -> String {
    match value.split_once('\n') {
        Some(("", below)) => format!("\n{margin}{}", below.replace('\n', &format!("\n{margin}"))),
        _ => format!(" {value}"),
    }
}

/// Whether entries can be inserted at the end of a node.
pub fn is_open(node: &YamlNode) -> bool {
    matches!(&*node.kind, YamlNodeKind::Mapping(_))
}

/// Inserts lines after the line on which something ends.
fn insert_below(text: &str, file: FileId, end: u32, lines: &str) -> SourceEdit {
    let before = text.get(..end as usize).unwrap_or(text).trim_end();
    let end = line_span(text, before.len() as u32).end;
    let lines = lines.replace('\n', line_end(text));
    insertion_at(file, end, format!("{}{lines}", line_end(text)))
}

fn insertion_at(file: FileId, offset: u32, text: String) -> SourceEdit {
    SourceEdit { location: Location::new(file, Span::new(offset, offset)), text }
}

fn blank_before(text: &str, close: u32) -> &'static str {
    if text.get(..close as usize).is_some_and(|t| t.ends_with(' ')) { "" } else { " " }
}

/// The indentation of something. After a dash, its own column counts.
pub fn indentation_column(text: &str, offset: u32) -> usize {
    let own = line_span(text, offset);
    let before = text.get(own.start as usize..offset as usize).unwrap_or_default();
    leading_blanks(before).len().max(before.trim_start_matches('\u{feff}').chars().count())
}
