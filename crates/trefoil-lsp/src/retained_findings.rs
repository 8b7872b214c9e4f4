//! Findings while a file is temporarily invalid YAML, because the user is typing.
//!
//! In this state, most findings about names and flow only concern what the parser lost, in every file of the folder;
//! and if all findings were removed, the editor would flicker. So for a file that has just become invalid, the current
//! YAML errors are shown, and all other findings stay as they were and move with the text, except those in the changed
//! part. Other files keep their findings, unless their text has changed.

use std::collections::HashMap;
use std::path::Path;

use trefoil_syntax::diagnostic::DiagnosticLabel;
use trefoil_syntax::{Diagnostic, FileId, FindingSeverity, Location, Span};

use crate::analysis::FolderAnalysis;

/// Whether a finding says that a file could not be read as YAML.
fn breaks(d: &Diagnostic) -> bool {
    of_yaml(d) && d.severity == FindingSeverity::Error && d.rule != "yaml-duplicate-key"
}

fn of_yaml(d: &Diagnostic) -> bool {
    d.rule.starts_with("yaml-")
}

/// Whether a file could not be read as YAML.
pub fn is_broken(analysis: &FolderAnalysis, file: FileId) -> bool {
    analysis.diagnostics().iter().any(|d| d.file == Some(file) && breaks(d))
}

/// Whether any file has become invalid YAML.
pub fn is_newly_broken(now: &FolderAnalysis, before: &FolderAnalysis) -> bool {
    let known = broken_files(before);
    broken_files(now).iter().any(|path| !known.contains(path))
}

/// The files that could not be read as YAML.
fn broken_files(analysis: &FolderAnalysis) -> Vec<&Path> {
    let mut paths = Vec::new();
    for finding in analysis.diagnostics() {
        if breaks(finding)
            && let Some(file) = finding.file
        {
            paths.extend(analysis.file_path(file));
        }
    }
    paths
}

/// The findings to show, based on those that were shown before.
pub fn displayed_findings(now: &FolderAnalysis, before: &FolderAnalysis) -> Vec<Diagnostic> {
    let mut moves: HashMap<FileId, TextShift> = HashMap::new();
    for (path, old) in before.list_files() {
        if let Some(new) = now.find_file(path) {
            moves.insert(old, TextShift::between(new, before.file_text(old), now.file_text(new)));
        }
    }
    let mut out: Vec<Diagnostic> = Vec::new();
    for finding in now.diagnostics() {
        if is_fresh(finding, now, &moves) {
            out.push(finding.clone());
        }
    }
    for finding in before.displayed_diagnostics() {
        if !of_yaml(finding)
            && let Some(file) = finding.file
            && let Some(shift) = moves.get(&file)
            && (is_broken(now, shift.to) || shift.is_none())
            && let Some(moved) = moved(finding, shift, &moves)
        {
            out.push(moved);
        }
    }
    out.sort_by_key(|d| (d.file, d.span));
    out
}

/// Whether a new finding is shown.
fn is_fresh(finding: &Diagnostic, now: &FolderAnalysis, moves: &HashMap<FileId, TextShift>) -> bool {
    let Some(file) = finding.file else { return true };
    if is_broken(now, file) {
        return of_yaml(finding);
    }
    match moves.values().find(|shift| shift.to == file) {
        Some(shift) => !shift.is_none(),
        // A new file has no earlier findings to keep.
        None => true,
    }
}

/// A finding at its new place. Its fix is dropped, because it was made for another text.
fn moved(d: &Diagnostic, by: &TextShift, moves: &HashMap<FileId, TextShift>) -> Option<Diagnostic> {
    let span = match d.span {
        Some(span) => Some(by.span(span)?),
        None => None,
    };
    let mut labels = Vec::new();
    for label in &d.labels {
        if let Some(by) = moves.get(&label.location.file)
            && let Some(span) = by.span(label.location.span)
        {
            labels.push(DiagnosticLabel { location: Location::new(by.to, span), message: label.message.clone() });
        }
    }
    let fix = if moves.values().all(TextShift::is_none) { d.fix.clone() } else { None };
    Some(Diagnostic { file: Some(by.to), span, labels, fix, ..d.clone() })
}

/// The change of a text: the part between an unchanged start and an unchanged end.
#[derive(Debug, PartialEq, Eq)]
struct TextShift {
    to: FileId,
    /// The end of the unchanged start.
    head: u32,
    /// The beginning of the unchanged end, in the old text and in the new one.
    tail: (u32, u32),
}

impl TextShift {
    fn between(to: FileId, old: &str, new: &str) -> Self {
        let head = count_equal(old.bytes(), new.bytes());
        let left = old.len().min(new.len()) - head;
        let tail = count_equal(old.bytes().rev().take(left), new.bytes().rev());
        Self { to, head: head as u32, tail: ((old.len() - tail) as u32, (new.len() - tail) as u32) }
    }
    fn is_none(&self) -> bool {
        self.tail.0 == self.tail.1 && self.head == self.tail.0
    }
    fn span(&self, span: Span) -> Option<Span> {
        if span.end <= self.head {
            return Some(span);
        }
        if span.start < self.tail.0 {
            return None;
        }
        let offset = |at: u32| at - self.tail.0 + self.tail.1;
        Some(Span::new(offset(span.start), offset(span.end)))
    }
}

/// The number of equal items at the start of two sequences.
pub fn count_equal<T: PartialEq>(one: impl Iterator<Item = T>, other: impl Iterator<Item = T>) -> usize {
    let mut count = 0;
    for (a, b) in one.zip(other) {
        if a != b {
            break;
        }
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::TextShift;
    use trefoil_syntax::{FileId, Span};

    #[test]
    fn what_is_not_touched_moves_along() {
        let by = TextShift::between(FileId(1), "a: b\nc: d\n", "a: {{\nc: d\n");
        assert_eq!(by.span(Span::new(0, 1)), Some(Span::new(0, 1)));
        assert_eq!(by.span(Span::new(3, 4)), None, "it has changed");
        assert_eq!(by.span(Span::new(5, 6)), Some(Span::new(6, 7)));
        let by = TextShift::between(FileId(1), "aaaa", "aa");
        assert_eq!(by.span(Span::new(0, 2)), Some(Span::new(0, 2)));
        assert_eq!(by.span(Span::new(1, 3)), None);
        assert!(TextShift::between(FileId(1), "abc", "abc").is_none());
        assert!(!TextShift::between(FileId(1), "aba", "aa").is_none());
    }
}
