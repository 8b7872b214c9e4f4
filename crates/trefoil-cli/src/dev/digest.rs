//! What a turn did to the steps: which ran again and why, and how their outputs changed.

use std::collections::{BTreeMap, BTreeSet};

use trefoil::runs::{
    ActivityDecision, ChangeReason, ChangedTextKind, ReuseDecision, TextReason, TextSource, ValueReason, WordDiff,
};
use trefoil_machine::Key;
use trefoil_template::Value;
use unicode_width::UnicodeWidthStr as _;

use super::changes::{DiffLayout, FieldChange, INDENT, changed_fields, render_fields};
use super::layout::{DiffSpan, diff_spans, plain_span, wrap_spans};
use super::step_outputs::StepOutputs;
use crate::run::reuse_reasons;
use crate::terminal_text::TerminalText;
use crate::{shown, words};

/// Maximum number of lines for the output of a step, unless everything is shown.
pub const MOST: usize = 6;
/// Maximum number of lines for the reasons of a step, unless everything is shown.
const REASONS: usize = 3;
/// Minimum width of the reasons next to the names of steps.
const ROOM: usize = 26;
/// Maximum width of the column with the names of steps.
const NAMES: usize = 32;

/// What comes before the lines about the steps of a called flow.
const BENEATH: &str = "    ";

/// A turn that has ended.
#[derive(Default, Clone)]
pub struct TurnDigest {
    /// What happened to each activity. Empty: nothing could be kept.
    pub lines: Vec<ActivityDecision>,
    /// The steps of the run before, and of this one.
    pub before: StepOutputs,
    pub now: StepOutputs,
    /// The results of both, if this run has one.
    pub results: Option<(Option<Value>, Value)>,
    /// The files whose edit was already shown.
    pub edited: BTreeSet<String>,
}

impl TurnDigest {
    /// The steps that did not simply keep their results, each with the reason and the difference of its output. Then outputs that changed
    /// only because others did.
    pub fn render_steps(&self, look: DiffLayout) -> Vec<TerminalText> {
        let listed: Vec<&ActivityDecision> = self.lines.iter().filter(|line| has_line(line)).collect();
        let width = names_width(&listed);
        let mut all = Vec::new();
        let mut shown: Vec<&str> = Vec::new();
        let mut texts = BTreeSet::new();
        let mut last: BTreeMap<&str, usize> = BTreeMap::new();
        for (number, line) in listed.iter().enumerate() {
            if let Some(step) = self.step(&line.key) {
                last.insert(step, number);
            }
        }
        for (number, line) in listed.iter().enumerate() {
            all.extend(self.head(line, width, look));
            all.extend(self.render_called_steps(line, look));
            shown.push(line.key.as_str());
            // The output of a step with several calls comes after the last one.
            let Some(step) = self.step(&line.key) else { continue };
            if last.get(step) != Some(&number) {
                continue;
            }
            all.extend(self.output(step, &mut texts, look));
            shown.push(step);
        }
        let mut changed: Vec<&str> = Vec::new();
        for step in self.now.keys() {
            if self.is_changed(step) {
                changed.push(step);
            }
        }
        for step in &changed {
            // What a step is made of has been shown.
            let is_inside = |other: &&str| is_below(other, step) || *other == *step;
            if shown.iter().any(is_inside) || changed.iter().any(|other| is_below(other, step)) {
                continue;
            }
            let label = match self.now.get(*step) {
                Some(step) => &step.label,
                None => *step,
            };
            let output = self.output(step, &mut texts, look);
            if !output.is_empty() {
                all.push(TerminalText::from_line(&format!("{:>6}  {label}", "output")));
                all.extend(output);
            }
        }
        all
    }

    /// The difference of the result, unless the steps have shown it. `None`: there was none before.
    pub fn render_result(&self, look: DiffLayout) -> Option<Vec<TerminalText>> {
        let (before, now) = match &self.results {
            Some((Some(before), now)) => (before, now),
            Some((None, _)) => return None,
            None => return Some(Vec::new()),
        };
        let mut all = changed_fields(before, now);
        if all.is_empty() {
            return Some(vec!["the result is as before".into()]);
        }
        let mut known: BTreeSet<(String, String)> = BTreeSet::new();
        for step in self.now.keys() {
            for field in self.fields(step) {
                known.insert((field.before, field.now));
            }
        }
        let mut parts: Vec<String> = Vec::new();
        for field in &all {
            if !field.path.is_empty() {
                parts.push(field.path.clone());
            }
        }
        all.retain(|field| !known.contains(&(field.before.clone(), field.now.clone())));
        if all.is_empty() {
            let parts = if parts.is_empty() { String::new() } else { format!(" in `{}`", parts.join("`, `")) };
            let lines = words::wrap_text(&format!("the result changed{parts}, as shown above"), look.width);
            return Some(lines.iter().map(|line| TerminalText::from_line(line)).collect());
        }
        let mut lines = vec![TerminalText::from(format!("{:>6}", "result"))];
        lines.extend(render_fields(&all, look));
        Some(lines)
    }

    /// Whether everything fits, so that showing all of it shows nothing more.
    pub fn is_short(&self, look: DiffLayout) -> bool {
        let all = DiffLayout { most: None, ..look };
        self.render_steps(look) == self.render_steps(all) && self.render_result(look) == self.render_result(all)
    }

    /// The step to which an activity belongs.
    fn step(&self, key: &Key) -> Option<&str> {
        let key = key.without_try();
        let steps = self.now.keys().filter(|step| step.as_str() == key || is_below(key, step));
        Some(steps.max_by_key(|step| step.len())?.as_str())
    }

    fn fields(&self, step: &str) -> Vec<FieldChange> {
        let (Some(before), Some(now)) = (self.before.get(self.old_name(step)), self.now.get(step)) else {
            return Vec::new();
        };
        match (&before.output, &now.output) {
            (Some(before), Some(now)) => changed_fields(before, now),
            _ => Vec::new(),
        }
    }

    /// The name of a step in the run before.
    fn old_name<'s>(&'s self, step: &'s str) -> &'s str {
        for line in &self.lines {
            if line.key.as_str() == step
                && let ReuseDecision::Kept { was: Some(was), .. } = &line.fate
            {
                return was.as_str();
            }
        }
        step
    }

    fn is_changed(&self, step: &str) -> bool {
        !self.fields(step).is_empty()
    }

    /// How the output of a step changed, as far as that was not shown.
    fn output(&self, step: &str, texts: &mut BTreeSet<(String, String)>, look: DiffLayout) -> Vec<TerminalText> {
        let mut all = self.fields(step);
        all.retain(|field| texts.insert((field.before.clone(), field.now.clone())));
        if all.is_empty() { Vec::new() } else { render_fields(&all, look) }
    }

    /// The line of an activity with the reasons.
    fn head(&self, line: &ActivityDecision, width: usize, look: DiffLayout) -> Vec<TerminalText> {
        let key = TerminalText::from_line(line.key.as_str());
        let mut notes = self.reasons(line, look.most.is_none());
        if let ReuseDecision::Kept { was: Some(was), .. } = &line.fate {
            notes.push(vec![plain_span(&format!("it was renamed from `{was}`"))]);
        }
        let beside = INDENT + width + 2;
        // In a narrow terminal, the reasons are below the name.
        let is_narrow = look.width < beside + ROOM + 4;
        let indent = if is_narrow { INDENT + 2 } else { beside };
        let room = look.width.saturating_sub(indent + 4);
        let pad = " ".repeat(width.saturating_sub(key.column_count()));
        let head = shown!("{}  {}{}", format!("{:>6}", line.fate.name()), key, pad);
        let mut lines: Vec<TerminalText> = Vec::new();
        for note in &notes {
            lines.extend(wrap_spans(note, room, look.color));
        }
        let (count, most) = (lines.len(), if look.most.is_some() { REASONS } else { usize::MAX });
        let mut all = Vec::new();
        if is_narrow {
            all.push(head.trim_end());
        }
        for (n, note) in lines.into_iter().take(most).enumerate() {
            let rest = if n + 1 == most && count > most { " ..." } else { "" };
            match n {
                0 if !is_narrow => all.push(shown!("{}  {}{}", head, note, rest)),
                _ => all.push(shown!("{}{}{}", " ".repeat(indent), note, rest)),
            }
        }
        if all.is_empty() { vec![head.trim_end()] } else { all }
    }

    /// What the flow did that a step calls as a tool: each step that ran again, and the names of those that did not.
    fn render_called_steps(&self, line: &ActivityDecision, look: DiffLayout) -> Vec<TerminalText> {
        let (mut listed, mut names): (Vec<&ActivityDecision>, Vec<&str>) = (Vec::new(), Vec::new());
        for called in &line.called {
            if has_line(called) {
                listed.push(called);
            } else if called.fate.is_kept() {
                names.push(called.key.as_str());
            }
        }
        let width = names_width(&listed);
        let look = DiffLayout { width: look.width.saturating_sub(BENEATH.len()), ..look };
        let mut all = Vec::new();
        if !names.is_empty() {
            let names = wrap_spans(&[plain_span(&names.join(", "))], look.width.saturating_sub(INDENT + 4), look.color);
            let rest = if names.len() > 1 && look.most.is_some() { " ..." } else { "" };
            let most = if look.most.is_some() { 1 } else { usize::MAX };
            for (n, line) in names.iter().take(most).enumerate() {
                let word = if n == 0 { "kept" } else { "" };
                all.push(shown!("{}  {}{}", format!("{word:>6}"), line, rest));
            }
        }
        for line in listed {
            all.extend(self.head(line, width, look));
            all.extend(self.render_called_steps(line, look));
        }
        all.into_iter().map(|line| shown!("{}{}", BENEATH, line)).collect()
    }

    /// Why it runs again. Of the results of other steps only the names are spans, because they are shown where they are made.
    fn reasons(&self, line: &ActivityDecision, whole: bool) -> Vec<Vec<DiffSpan>> {
        let mut from: Vec<String> = Vec::new();
        let mut edits: Vec<(ChangedTextKind, Option<String>, WordDiff)> = Vec::new();
        let mut others = Vec::new();
        for reason in &line.reasons {
            match reason {
                ChangeReason::Text(TextReason { source: TextSource::Step(key, _), .. }) => from.push(self.label(key)),
                ChangeReason::Value(ValueReason { from: steps, .. }) if !steps.is_empty() => {
                    from.extend(steps.iter().cloned())
                }
                // An edit in several places of a text is one edit.
                ChangeReason::Text(TextReason { of, source: TextSource::File(place), diff }) => {
                    let known = edits.iter_mut().find(|(other, ..)| other == of);
                    let at = place.as_ref().map(ToString::to_string);
                    match known {
                        Some((_, place, all)) => {
                            *place = place.take().or(at);
                            all.hunks.extend(diff.hunks.iter().cloned());
                            all.hunks.sort_by_key(|hunk| (hunk.now.start, hunk.before.start));
                        }
                        None => edits.push((*of, at, diff.clone())),
                    }
                }
                ChangeReason::Text(TextReason { diff, .. }) => {
                    let mut spans = vec![plain_span(&format!("{reason}: "))];
                    spans.extend(diff_spans(diff, whole));
                    others.push(spans);
                }
                other => others.push(vec![plain_span(&reuse_reasons::format_reason(other, false).without_colors())]),
            }
        }
        let mut known = BTreeSet::new();
        from.retain(|name| known.insert(name.clone()));
        let mut all = Vec::new();
        for (of, place, diff) in edits {
            let was_shown = if let Some(place) = &place
                && let Some((file, _)) = place.rsplit_once(':')
            {
                self.edited.contains(file)
            } else {
                false
            };
            let head = match &place {
                Some(place) => format!("{of}, {place}"),
                None => of.to_string(),
            };
            let mut spans = vec![plain_span(&head)];
            // What a step that stops would do is always shown.
            if line.fate == ReuseDecision::Stopped || !was_shown {
                spans.push(plain_span(": "));
                spans.extend(diff_spans(&diff, whole));
            }
            all.push(spans);
        }
        all.extend(others);
        if !from.is_empty() {
            all.push(vec![plain_span(&format!("<- {}", from.join(", ")))]);
        }
        all
    }

    /// The name of a step.
    fn label(&self, key: &Key) -> String {
        match self.now.get(key.without_try()) {
            Some(step) => step.label.clone(),
            None => key.without_try().to_owned(),
        }
    }
}

/// The width of the column with the names.
fn names_width(lines: &[&ActivityDecision]) -> usize {
    lines.iter().map(|line| line.key.as_str().width()).max().unwrap_or(0).min(NAMES)
}

/// Whether it has a line: kept results are only counted, and a retry is the same call.
pub fn has_line(line: &ActivityDecision) -> bool {
    !matches!(line.fate, ReuseDecision::Kept { was: None, .. }) && line.key.without_try() == line.key.as_str()
}

/// Whether a key is inside the step of another one.
fn is_below(key: &str, step: &str) -> bool {
    matches!(key.strip_prefix(step), Some(rest) if rest.starts_with(['/', '@', '[', '#', '~']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_narrow_terminal_reasons_are_below_the_name() {
        let fate = ReuseDecision::Kept { run: "r1".to_owned(), was: Some("research/doubts".into()), saved: None };
        let key = "research/objections".into();
        let line = ActivityDecision { key, fate, was: None, reasons: Vec::new(), called: Vec::new() };
        let digest = TurnDigest { lines: vec![line], ..TurnDigest::default() };
        let shown = |width| {
            let lines = digest.render_steps(DiffLayout { color: false, width, most: Some(MOST) });
            lines.iter().map(|line| line.as_str().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(shown(80), ["  kept  research/objections  it was renamed from `research/doubts`"]);
        assert_eq!(
            shown(40),
            ["  kept  research/objections", "          it was renamed from", "          `research/doubts`"]
        );
    }
}
