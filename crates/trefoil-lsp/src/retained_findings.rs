//! Findings while a file is temporarily invalid YAML, because the user is typing.
//!
//! In this state, most findings about names and flow only concern what the parser lost, in every file of the folder;
//! and if all findings were removed, the editor would flicker. So for a file that has just become invalid, the current
//! YAML errors are shown, and all other findings stay as they were and move with the text, except those in the changed
//! part. Other files keep their findings, unless their text has changed.

use std::collections::HashMap;
use std::path::PathBuf;

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
    let broken = |a: &FolderAnalysis| -> Vec<PathBuf> {
        let files = a.diagnostics().iter().filter(|d| breaks(d)).filter_map(|d| a.file_path(d.file?));
        files.map(ToOwned::to_owned).collect()
    };
    let known = broken(before);
    broken(now).iter().any(|path| !known.contains(path))
}

/// The findings to show, based on those that were shown before.
pub fn displayed_findings(now: &FolderAnalysis, before: &FolderAnalysis) -> Vec<Diagnostic> {
    let moves: HashMap<FileId, TextShift> = before
        .list_files()
        .filter_map(|(path, old)| {
            let new = now.find_file(path)?;
            Some((old, TextShift::between(new, before.file_text(old), now.file_text(new))))
        })
        .collect();
    let broken = |file| is_broken(now, file);
    let edited = |file| moves.values().any(|m| m.to == file && !m.is_none());
    let fresh = now.diagnostics().iter().filter(|d| match d.file {
        Some(file) if broken(file) => of_yaml(d),
        // A new file has no earlier findings to keep.
        Some(file) => edited(file) || !moves.values().any(|m| m.to == file),
        None => true,
    });
    let mut out: Vec<Diagnostic> = fresh.cloned().collect();
    for d in before.displayed_diagnostics().iter().filter(|d| !of_yaml(d)) {
        let Some(by) = d.file.and_then(|file| moves.get(&file)) else { continue };
        if (broken(by.to) || by.is_none())
            && let Some(moved) = moved(d, by, &moves)
        {
            out.push(moved);
        }
    }
    out.sort_by_key(|d| (d.file, d.span));
    out
}

/// A finding at its new place. Its fix is dropped, because it was made for another text.
fn moved(d: &Diagnostic, by: &TextShift, moves: &HashMap<FileId, TextShift>) -> Option<Diagnostic> {
    let span = match d.span {
        Some(span) => Some(by.span(span)?),
        None => None,
    };
    let label = |label: &DiagnosticLabel| {
        let by = moves.get(&label.location.file)?;
        let location = Location::new(by.to, by.span(label.location.span)?);
        Some(DiagnosticLabel { location, message: label.message.clone() })
    };
    let labels = d.labels.iter().filter_map(label).collect();
    let fix = d.fix.clone().filter(|_| moves.values().all(TextShift::is_none));
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
        let head = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
        let left = old.len().min(new.len()) - head;
        let tail = old.bytes().rev().zip(new.bytes().rev()).take(left).take_while(|(a, b)| a == b).count();
        Self { to, head: head as u32, tail: ((old.len() - tail) as u32, (new.len() - tail) as u32) }
    }
    fn is_none(&self) -> bool {
        self.tail.0 == self.tail.1 && self.head == self.tail.0
    }
    fn span(&self, span: Span) -> Option<Span> {
        if span.end <= self.head {
            return Some(span);
        }
        let offset = |at: u32| at - self.tail.0 + self.tail.1;
        (span.start >= self.tail.0).then(|| Span::new(offset(span.start), offset(span.end)))
    }
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
