//! Code actions: the fixes of findings, all safe fixes of a file, and a comment that suppresses a finding.

use std::collections::HashSet;

use trefoil_check::suppress::is_about_suppressions;
use trefoil_check::{find_rule, keeps_from_loading};
use trefoil_syntax::diagnostic::edit;
use trefoil_syntax::{Diagnostic, FileId, FindingSeverity, Fix, Location, SourceEdit, Span};

use crate::analysis::FolderAnalysis;
use crate::cursor::{TreeElement, find_position, leading_blanks, line_end, line_span};
use crate::diagnostics::{self, file_diagnostics};

/// Maximum number of fixes that are tried one by one if they cannot all be applied together.
const TRIED: usize = 16;

/// The kind of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionKind {
    /// A fix for one finding.
    Quick,
    /// All safe fixes of the file.
    All,
}

/// A proposed change.
#[derive(Debug, Clone)]
pub struct ActionProposal<'a> {
    /// Its description.
    pub title: String,
    /// Its kind.
    pub kind: ActionKind,
    /// The finding that it fixes.
    pub diagnostic: Option<&'a Diagnostic>,
    /// Whether it is certain to be right.
    pub preferred: bool,
    /// The change.
    pub edits: Vec<SourceEdit>,
}

/// The actions for the findings in a part of a file, and for the whole file.
pub fn list_actions(analysis: &FolderAnalysis, file: FileId, span: Span) -> Vec<ActionProposal<'_>> {
    let mut here: Vec<&Diagnostic> = Vec::new();
    for d in file_diagnostics(analysis, file) {
        let at = diagnostics::underlined_span(analysis, d);
        if at.start <= span.end && span.start <= at.end {
            here.push(d);
        }
    }
    let mut out = Vec::new();
    for d in &here {
        if let Some(fix) = &d.fix {
            out.push(ActionProposal {
                title: fix.message.clone(),
                kind: ActionKind::Quick,
                diagnostic: Some(d),
                preferred: fix.safe,
                edits: fix.edits.clone(),
            });
        }
    }
    for d in &here {
        out.extend(allow(analysis, file, d));
    }
    let all = edits_of(&select_safe_fixes(analysis, file));
    if !all.is_empty() {
        let title = "apply all safe fixes".to_owned();
        out.push(ActionProposal { title, kind: ActionKind::All, diagnostic: None, preferred: false, edits: all });
    }
    out
}

fn edits_of(fixes: &[(&'static str, &Fix)]) -> Vec<SourceEdit> {
    let mut edits = Vec::new();
    for (_, fix) in fixes {
        edits.extend(fix.edits.iter().cloned());
    }
    edits
}

/// The safe fixes of a file that do not overlap, as `check --fix` selects them in its first round, with their rules.
fn select_safe_fixes(analysis: &FolderAnalysis, file: FileId) -> Vec<(&'static str, &Fix)> {
    let mut fixes: Vec<(&'static str, &Fix)> = Vec::new();
    for d in file_diagnostics(analysis, file) {
        if let Some(fix) = d.fix.as_deref()
            && fix.safe
            && fix.edits.iter().all(|e| e.location.file == file)
        {
            fixes.push((d.rule, fix));
        }
    }
    let chosen = edit::compatible_fixes(fixes.iter().map(|(_, fix)| *fix));
    fixes.retain(|(_, fix)| chosen.iter().any(|c| std::ptr::eq(*c, *fix)));
    fixes
}

/// The edits of all safe fixes that cause no new findings. `after` returns the analysis after some edits.
pub fn proven_edits(
    analysis: &FolderAnalysis,
    file: FileId,
    after: &mut dyn FnMut(&[SourceEdit]) -> Option<FolderAnalysis>,
) -> Vec<SourceEdit> {
    let chosen = select_safe_fixes(analysis, file);
    let mut holds = |fixes: &[(&'static str, &Fix)]| {
        let edits = edits_of(fixes);
        let rules: Vec<&str> = fixes.iter().map(|(rule, _)| *rule).collect();
        match after(&edits) {
            Some(after) if is_better(analysis, &after, &rules) => Some(edits),
            _ => None,
        }
    };
    if let Some(edits) = holds(&chosen) {
        return edits;
    }
    let (mut kept, mut edits) = (Vec::new(), Vec::new());
    for one in chosen.into_iter().take(TRIED) {
        kept.push(one);
        match holds(&kept) {
            Some(with) => edits = with,
            None => drop(kept.pop()),
        }
    }
    edits
}

/// Whether edits fixed the findings of these rules. New findings that the mistakes had hidden are accepted, but not
/// more errors than before, and not the same mistake elsewhere.
fn is_better(before: &FolderAnalysis, after: &FolderAnalysis, rules: &[&str]) -> bool {
    if count_errors(after) > count_errors(before) {
        return false;
    }
    let known: HashSet<_> = before.diagnostics().iter().map(|d| finding_key(before, d)).collect();
    for d in after.diagnostics() {
        if rules.contains(&d.rule) && !known.contains(&finding_key(after, d)) {
            return false;
        }
    }
    true
}

fn count_errors(analysis: &FolderAnalysis) -> usize {
    analysis.diagnostics().iter().filter(|d| d.severity == FindingSeverity::Error).count()
}

/// What a finding has in common with the same one after a change: its file, its rule and its message.
fn finding_key(analysis: &FolderAnalysis, d: &Diagnostic) -> (Option<String>, &'static str, String) {
    let source = diagnostics::source_of(analysis, d);
    (source.map(|source| source.name().to_owned()), d.rule, d.message.clone())
}

/// A comment that suppresses a finding, on a separate line above the key whose value has it. Load errors cannot be
/// suppressed.
fn allow<'a>(analysis: &'a FolderAnalysis, file: FileId, d: &'a Diagnostic) -> Option<ActionProposal<'a>> {
    find_rule(d.rule)?;
    if keeps_from_loading(d) || is_about_suppressions(d.rule) {
        return None;
    }
    let span = d.span?;
    let text = analysis.file_text(file);
    let mut start = span.start;
    // A comment inside a multi-line text would be part of the text.
    if let Some(root) = analysis.yaml_tree(file)
        && let TreeElement::Value(scalar) = find_position(root, span.start).element
    {
        start = scalar.span.start.min(start);
        let before = text.get(..start as usize)?.trim_end();
        if matches!(text.as_bytes().get(start as usize), Some(b'|' | b'>')) || scalar_is_below_its_key(text, start) {
            start = before.len() as u32;
        }
    }
    let at = line_span(text, start);
    let own = text.get(at.start as usize..at.end as usize)?;
    // A byte order mark must stay at the start of the file.
    let mark = own.len() - own.trim_start_matches('\u{feff}').len();
    let blanks = leading_blanks(own.get(mark..)?);
    let comment = format!("{blanks}# trefoil: allow {}{}", d.rule, line_end(text));
    let start = at.start + mark as u32;
    let location = Location::new(file, Span::new(start, start));
    Some(ActionProposal {
        title: format!("allow `{}` here with a comment", d.rule),
        kind: ActionKind::Quick,
        diagnostic: Some(d),
        preferred: false,
        edits: vec![SourceEdit { location, text: comment }],
    })
}

/// Whether the content of a block scalar starts on another line than its key.
fn scalar_is_below_its_key(text: &str, start: u32) -> bool {
    let line = line_span(text, start);
    let before = text.get(line.start as usize..start as usize).unwrap_or_default();
    let above = text.get(..line.start as usize).unwrap_or_default().trim_end();
    let header = above.rsplit('\n').next().unwrap_or_default();
    let opener = header.rsplit([' ', ':']).next().unwrap_or_default();
    before.trim().is_empty() && opener.starts_with(['|', '>'])
}
