//! Code actions: the fixes of findings, all safe ones at once, and a comment that allows a finding.

use trefoil::checker::suppress::is_about_suppressions;
use trefoil::checker::{keeps_from_loading, rule};
use trefoil::syntax::{Diagnostic, Edit, FileId, Location, Span};

use crate::analysis::Analysis;
use crate::cursor::{On, indent, line, spot};
use crate::diagnostics::{self, diagnostics};

/// What sort of action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// For one finding.
    Quick,
    /// For the file.
    All,
}

/// A change that is offered.
#[derive(Debug, Clone)]
pub struct Action<'a> {
    /// What it does.
    pub title: String,
    /// What sort of action.
    pub kind: Kind,
    /// The finding that it mends.
    pub diagnostic: Option<&'a Diagnostic>,
    /// Whether it is surely what was meant.
    pub preferred: bool,
    /// The change.
    pub edits: Vec<Edit>,
}

/// What can be done about the findings in a part of a file, and about all of the file.
pub fn actions(analysis: &Analysis, file: FileId, span: Span) -> Vec<Action<'_>> {
    let mut out = Vec::new();
    let here = |d: &&Diagnostic| {
        let at = diagnostics::span(analysis, d);
        at.start <= span.end && span.start <= at.end
    };
    let found: Vec<&Diagnostic> = diagnostics(analysis, file).filter(here).collect();
    for d in &found {
        if let Some(fix) = &d.fix {
            let edits = fix.edits.clone();
            let title = fix.message.clone();
            out.push(Action { title, kind: Kind::Quick, diagnostic: Some(d), preferred: fix.safe, edits });
        }
    }
    for d in &found {
        out.extend(allow(analysis, file, d));
    }
    let all = every(analysis, file);
    if !all.is_empty() {
        let title = "mend all that can be mended safely".to_owned();
        out.push(Action { title, kind: Kind::All, diagnostic: None, preferred: false, edits: all });
    }
    out
}

/// The safe fixes of a file that do not get into each other's way.
fn every(analysis: &Analysis, file: FileId) -> Vec<Edit> {
    let mut out: Vec<Edit> = Vec::new();
    for fix in diagnostics(analysis, file).filter_map(|d| d.fix.as_deref()).filter(|f| f.safe) {
        let free = |e: &Edit| !out.iter().any(|o| clash(o.location, e.location));
        if fix.edits.iter().all(free) {
            out.extend(fix.edits.iter().cloned());
        }
    }
    out
}

fn clash(a: Location, b: Location) -> bool {
    a.file == b.file && (a.span == b.span || a.span.start < b.span.end && b.span.start < a.span.end)
}

/// The comment that allows a finding, on a line of its own above the key whose value has it. Errors of loading cannot be
/// allowed.
fn allow<'a>(analysis: &'a Analysis, file: FileId, d: &'a Diagnostic) -> Option<Action<'a>> {
    rule(d.rule).filter(|_| !keeps_from_loading(d) && !is_about_suppressions(d.rule))?;
    let span = d.span?;
    let text = analysis.text(file);
    let mut start = span.start;
    // A comment inside of a text of several lines would be text.
    if let Some(root) = analysis.tree(file)
        && let On::Value(scalar) = spot(root, span.start).on
    {
        start = scalar.span.start.min(start);
        let before = text.get(..start as usize)?.trim_end();
        if matches!(text.as_bytes().get(start as usize), Some(b'|' | b'>')) || scalar_is_below_its_key(text, start) {
            start = before.len() as u32;
        }
    }
    let at = line(text, start);
    let blanks = indent(text.get(at.start as usize..at.end as usize)?);
    let comment = format!("{blanks}# trefoil: allow {}\n", d.rule);
    let location = Location::new(file, Span::new(at.start, at.start));
    Some(Action {
        title: format!("allow `{}` here with a comment", d.rule),
        kind: Kind::Quick,
        diagnostic: Some(d),
        preferred: false,
        edits: vec![Edit { location, text: comment }],
    })
}

/// Whether a block scalar's content begins on another line than its key.
fn scalar_is_below_its_key(text: &str, start: u32) -> bool {
    let line = line(text, start);
    let before = text.get(line.start as usize..start as usize).unwrap_or_default();
    let above = text.get(..line.start as usize).unwrap_or_default().trim_end();
    let header = above.rsplit('\n').next().unwrap_or_default();
    let opener = header.rsplit([' ', ':']).next().unwrap_or_default();
    before.trim().is_empty() && opener.starts_with(['|', '>'])
}
