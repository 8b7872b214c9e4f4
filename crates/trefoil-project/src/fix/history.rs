//! What fixes changed in each file, and which of them caused new findings or did not help.
//!
//! Every position is tracked in two texts: before the first round, and now. A finding is new if the same rule found
//! nothing at the same position before. It is attributed to a fix if it is where the fix changed the text, refers to
//! that place, or is about the form of what is below the changed line, because a key with another name changes the
//! meaning of its value. Names that do not resolve in the value of a key that is now read were already wrong before,
//! but hidden.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use trefoil_check::{RuleGroup, find_rule};
use trefoil_syntax::{Diagnostic, FileId, FindingSeverity, Fix, SourceEdit, SourceFile, SourceFiles, Span};

use super::{AppliedFix, WithdrawnFix};
use crate::file_access;
use crate::load::LoadReport;

/// A finding by its rule and its position before the first round.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KnownFinding {
    file: PathBuf,
    at: u32,
    rule: &'static str,
}

/// The changes so far.
#[derive(Default)]
pub(super) struct FixHistory {
    /// The findings before the first round.
    before: Option<BTreeSet<KnownFinding>>,
    /// The changes of each file, round by round.
    changes: BTreeMap<PathBuf, Vec<FixRound>>,
    applied: Vec<FixRecord>,
}

/// The changes to a file in one round, in text order.
type FixRound = Vec<ReplacedPiece>;

/// A replaced piece of a text, and its new length.
#[derive(Debug, Clone, Copy)]
struct ReplacedPiece {
    old: Span,
    new: u32,
}

/// A fix that was applied.
struct FixRecord {
    known: KnownFinding,
    /// The message of the finding.
    message: String,
    fix: AppliedFix,
    file: PathBuf,
    /// The round of the file.
    round: usize,
    /// The changed ranges, as positions before that round.
    pieces: Vec<ReplacedPiece>,
}

impl FixHistory {
    /// Records the findings of the first check, which no fix caused.
    pub fn record_check(&mut self, report: &LoadReport) {
        if self.before.is_none() {
            let known = report.diagnostics.iter().filter_map(|d| self.to_original_position(d, &report.files));
            self.before = Some(known.collect());
        }
    }
    /// A finding by its position before the first round.
    pub fn to_original_position(&self, d: &Diagnostic, files: &SourceFiles) -> Option<KnownFinding> {
        let file = real(d.file?, files)?;
        Some(KnownFinding { at: back_through(self.rounds_of(&file), start_of(d)), file, rule: d.rule })
    }
    /// The changes to a file, round by round.
    fn rounds_of(&self, file: &Path) -> &[FixRound] {
        match self.changes.get(file) {
            Some(rounds) => rounds,
            None => &[],
        }
    }
    /// Records the changes to a file.
    pub fn record_change(&mut self, file: &SourceFile, edits: &[&SourceEdit]) {
        let mut round = FixRound::new();
        for edit in edits {
            round.extend(pieces(file.text(), edit));
        }
        round.sort_by_key(|piece| (piece.old.start, piece.old.end));
        self.changes.entry(file_access::resolve_links(Path::new(file.name()))).or_default().push(round);
    }
    /// Records a fix of this round; `files` are those before it.
    pub fn record_fix(&mut self, d: &Diagnostic, fix: &Fix, files: &SourceFiles, done: &AppliedFix) {
        let Some(id) = d.file else { return };
        let Some(file) = files.get(id) else { return };
        let path = file_access::resolve_links(Path::new(file.name()));
        let Some((_, earlier)) = self.rounds_of(&path).split_last() else { return };
        let (round, at) = (earlier.len(), back_through(earlier, start_of(d)));
        let mut changed = Vec::new();
        for edit in &fix.edits {
            if edit.location.file == id {
                changed.extend(pieces(file.text(), edit));
            }
        }
        self.applied.push(FixRecord {
            known: KnownFinding { file: path.clone(), at, rule: d.rule },
            message: d.message.clone(),
            fix: done.clone(),
            round,
            pieces: changed,
            file: path,
        });
    }
    /// The fixes that caused new findings, with the findings, and those whose own finding is still there.
    pub fn failed_fixes(&self, report: &LoadReport) -> BTreeMap<KnownFinding, WithdrawnFix> {
        let files = &report.files;
        let mut out = BTreeMap::new();
        for d in &report.diagnostics {
            if d.severity <= FindingSeverity::Info {
                continue;
            }
            let (Some(known), Some(id)) = (self.to_original_position(d, files), d.file) else { continue };
            let (Some(file), true) = (files.get(id), self.changes.contains_key(&known.file)) else { continue };
            if let Some(applied) = self.applied.iter().find(|a| a.known == known && a.message == d.message) {
                let why = "the finding would still be there".to_owned();
                out.entry(known).or_insert_with(|| WithdrawnFix { fix: applied.fix.clone(), why });
                continue;
            }
            if matches!(&self.before, Some(before) if before.contains(&known)) {
                continue;
            }
            for applied in &self.applied {
                if applied.file != known.file {
                    continue;
                }
                let changed = self.changed_ranges(applied);
                if changed.iter().any(|touched| concerns(d, id, file.text(), *touched)) {
                    let why = || format!("it would lead to another finding: {} ({})", d.message, d.rule);
                    let withdrawn = || WithdrawnFix { fix: applied.fix.clone(), why: why() };
                    out.entry(applied.known.clone()).or_insert_with(withdrawn);
                }
            }
        }
        out
    }
    /// The ranges of the current text that a fix changed.
    fn changed_ranges(&self, applied: &FixRecord) -> Vec<Span> {
        let rounds = self.rounds_of(&applied.file).get(applied.round..).unwrap_or_default();
        let mut ranges = Vec::new();
        for piece in &applied.pieces {
            let (mut start, mut later) = (piece.old.start, rounds);
            if let Some((round, rest)) = rounds.split_first() {
                (start, later) = (forth(round, start), rest);
            }
            ranges.push(Span::new(forth_through(later, start), forth_through(later, start + piece.new)));
        }
        ranges
    }
}

/// The start of a finding.
fn start_of(d: &Diagnostic) -> u32 {
    match d.span {
        Some(span) => span.start,
        None => 0,
    }
}

/// Whether a finding is about a changed range.
fn concerns(d: &Diagnostic, file: FileId, text: &str, touched: Span) -> bool {
    let meets = |span: Span| span.start <= touched.end && touched.start <= span.end;
    let Some(span) = d.span else { return false };
    let points = d.labels.iter().any(|label| label.location.file == file && meets(label.location.span));
    let is_of_form = matches!(find_rule(d.rule), Some(rule) if rule.group == RuleGroup::Form);
    let is_below = || matches!(below(text, touched), Some(block) if block.contains(&(span.start as usize)));
    meets(span) || points || is_of_form && is_below()
}

/// The line at a place, with the following lines that are indented further or are items of a list under its key.
fn below(text: &str, at: Span) -> Option<std::ops::Range<usize>> {
    let start = match text.get(..at.start as usize)?.rfind('\n') {
        Some(end) => end + 1,
        None => 0,
    };
    let mut lines = text.get(start..)?.split_inclusive('\n');
    let first = lines.next()?;
    let indent = first.len() - first.trim_start_matches([' ', '-']).len();
    let key = first.trim_end().ends_with(':');
    let mut end = start + first.len();
    for line in lines {
        let rest = line.trim_start_matches(' ');
        let own = line.len() - rest.len();
        let item = key && own == indent && rest.starts_with("- ");
        if !(rest.trim().is_empty() || own > indent || item) {
            break;
        }
        end += line.len();
    }
    Some(start..end)
}

/// The pieces of a text that an edit really changes. For example, adding quotes around a value keeps the value.
fn pieces(text: &str, edit: &SourceEdit) -> Vec<ReplacedPiece> {
    let span = edit.location.span;
    let old = text.get(span.start as usize..span.end as usize).unwrap_or_default();
    let new = edit.text.as_str();
    if !old.is_empty()
        && let Some((before, after)) = new.split_once(old)
    {
        let put = |at: u32, text: &str| ReplacedPiece { old: Span::new(at, at), new: text.len() as u32 };
        let both = [put(span.start, before), put(span.end, after)];
        return both.into_iter().filter(|piece| piece.new > 0).collect();
    }
    let same = equal_bytes(old.bytes(), new.bytes());
    let left = old.len().min(new.len()) - same;
    let end = equal_bytes(old.bytes().rev().take(left), new.bytes().rev());
    let (same, end) = (same as u32, end as u32);
    vec![ReplacedPiece { old: Span::new(span.start + same, span.end - end), new: new.len() as u32 - same - end }]
}

/// The number of equal bytes before the first difference.
fn equal_bytes(old: impl Iterator<Item = u8>, new: impl Iterator<Item = u8>) -> usize {
    let mut equal = 0;
    for (before, after) in old.zip(new) {
        if before != after {
            break;
        }
        equal += 1;
    }
    equal
}

/// The position after a round. Text inserted at a position goes after it.
fn forth(round: &[ReplacedPiece], at: u32) -> u32 {
    let mut moved = i64::from(at);
    for piece in round {
        if piece.old.end <= at && piece.old.start < at {
            moved += i64::from(piece.new) - i64::from(piece.old.len());
        }
    }
    u32::try_from(moved).unwrap_or(0)
}

/// The position after several rounds.
fn forth_through(rounds: &[FixRound], mut at: u32) -> u32 {
    for round in rounds {
        at = forth(round, at);
    }
    at
}

/// The position before several rounds.
fn back_through(rounds: &[FixRound], mut at: u32) -> u32 {
    for round in rounds.iter().rev() {
        at = back(round, at);
    }
    at
}

/// The position before a round.
fn back(round: &[ReplacedPiece], at: u32) -> u32 {
    let mut moved = 0i64;
    for piece in round {
        let start = i64::from(piece.old.start) + moved;
        if start > i64::from(at) || start == i64::from(at) && piece.old.is_empty() {
            break;
        }
        if i64::from(at) < start + i64::from(piece.new) {
            return piece.old.start;
        }
        moved += i64::from(piece.new) - i64::from(piece.old.len());
    }
    u32::try_from(i64::from(at) - moved).unwrap_or(0)
}

fn real(id: FileId, files: &SourceFiles) -> Option<PathBuf> {
    Some(file_access::resolve_links(Path::new(files.get(id)?.name())))
}
