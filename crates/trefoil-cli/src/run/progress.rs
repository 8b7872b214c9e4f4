//! The progress of a run: the tree of its steps and fan-out items, which is the picture of the run with a row for each.
//!
//! A run may have a million items. Of the steps and items below one node that succeeded, only the last ones stay; the others are
//! *folded*: removed, and counted at that node. What has failed or is running always stays.

use std::collections::HashMap;

use trefoil_machine::event::ItemTally;
use trefoil_machine::key::{KeyPart, escape_label, own_label, parse_key_parts};
use trefoil_machine::turn_content;
use trefoil_runtime::{Event, EventKind, Key, RunError};
use trefoil_template::Value;
use trefoil_view::run_view::{RunView, StepState, StepView, ViewDetail};

use super::nodes::{FoldedNodes, LAST, MANY, ProgressNode, ProgressRow, SOME};
use crate::words::{escape_line, one_line, preview_value};

/// Number of characters of streamed text that are kept.
const TAIL: usize = 400;

/// The tree.
pub struct RunProgress {
    /// The picture of the run.
    pub view: RunView,
    rows: HashMap<usize, ProgressRow>,
    /// What was folded below no node.
    pub top: FoldedNodes,
    /// Names of outermost steps that have not started.
    pub expected: Vec<String>,
    /// Whether the run was resumed and no permanent picture shows it yet.
    pub resumed: bool,
    /// The full text of the last failure of a step or a call.
    failure: String,
}

impl Default for RunProgress {
    fn default() -> Self {
        Self {
            view: RunView::new(ViewDetail::Rows),
            rows: HashMap::new(),
            top: FoldedNodes::default(),
            expected: Vec::new(),
            resumed: false,
            failure: String::new(),
        }
    }
}

/// What is parts of a model that succeeded and answered nothing.
const EMPTY: &str = "the answer is empty";

impl RunProgress {
    /// Applies an event. Returns the node that it concerns.
    pub fn apply_event(&mut self, event: &Event) -> Option<usize> {
        if let EventKind::StepFailed { error, .. } | EventKind::EffectFailed { error, .. } = &event.kind {
            self.failure = error.to_string();
        }
        let about = self.view.apply_event(event)?;
        if !self.rows.contains_key(&about) {
            let row = self.new_row(about, event)?;
            self.rows.insert(about, row);
        }
        if self.resumed {
            self.mark_present(about);
        }
        self.say(about, event);
        let ends = match &event.kind {
            EventKind::StepFinished { .. } | EventKind::StepSkipped { .. } | EventKind::ItemFinished { .. } => true,
            EventKind::ModelFinished { .. } => {
                matches!(self.view.step_by_number(about), Some(step) if step.is_inferred)
            }
            _ => false,
        };
        if ends {
            self.fold_beside(about);
        }
        Some(about)
    }
    /// The row of a node that has just started.
    fn new_row(&mut self, number: usize, event: &Event) -> Option<ProgressRow> {
        let step = self.view.step_by_number(number)?;
        let above = self.find_parent(step);
        let label = match &event.kind {
            EventKind::ItemStarted { index, total, item } => {
                let value = match item {
                    Some(item) => preview_value(item),
                    None => String::new(),
                };
                let number = format!("{}/{total}", u64::from(*index) + 1);
                if value.is_empty() { number } else { format!("{number} {value}") }
            }
            _ => {
                let around = match above {
                    Some(above) => key_text(above.step.key.as_ref()).len(),
                    None => 0,
                };
                let below = key_text(step.key.as_ref()).get(around..).unwrap_or_default();
                let name = escape_line(&step.label);
                let is_called = matches!(above, Some(above) if above.is_agent());
                format!("{name}{}", marks(&name, below, is_called))
            }
        };
        // The title for a separate line includes the parent.
        let title = match above {
            Some(above) => format!("{} {label}", above.row.title),
            None => label.clone(),
        };
        if above.is_none() {
            let name = escape_line(&step.label).into_owned();
            self.expected.retain(|expected| *expected != name);
        }
        Some(ProgressRow { label, title, ..ProgressRow::default() })
    }
    /// Sets the text of a row. reason: a table, one arm for each event.
    fn say(&mut self, number: usize, event: &Event) {
        let (Some(step), Some(row)) = (self.view.step_by_number(number), self.rows.get_mut(&number)) else { return };
        let failed = |error: &RunError, then: &str| one_line(&format!("{}: {}{then}", error.code, error.message));
        match &event.kind {
            EventKind::StepSkipped { reason, .. } => row.text = one_line(reason),
            EventKind::StepFinished { output, items } => {
                let result = preview_value(output);
                let exited = row.exited.take();
                let is_empty = step.is_agent() && result.trim().is_empty();
                row.is_partly = is_empty || exited.is_some();
                row.text = match (exited, *items) {
                    _ if is_empty => EMPTY.to_owned(),
                    (Some(exited), _) => exited,
                    (None, Some(ItemTally { total, failed })) if failed > 0 => {
                        format!("{failed} of {total} failed  {result}")
                    }
                    (None, _) => result,
                };
            }
            EventKind::StepFailed { error, handled_as } => {
                let then = match *handled_as {
                    "fail" => String::new(),
                    "told" => " (reported to the model)".to_owned(),
                    handled_as => format!(" ({handled_as})"),
                };
                row.text = failed(error, &then);
            }
            EventKind::ItemFinished { error } => {
                row.text = match error {
                    Some(error) => failed(error, ""),
                    None => row.answer.clone(),
                };
            }
            EventKind::ModelStarted { .. } | EventKind::EffectStarted { effect: "tool" | "command", .. } => {
                row.text.clear();
                (row.is_permanent, row.delayed) = (false, false);
            }
            EventKind::ModelWaiting { provider, delay_ms, why, .. } => {
                (row.text, row.delayed) = (delay_text(provider, *delay_ms, why.as_deref()), true);
            }
            EventKind::TextDelta { text, provisional } => {
                if std::mem::take(&mut row.delayed) {
                    row.text.clear();
                }
                row.provisional = *provisional;
                row.text.push_str(text);
                let extra = row.text.chars().count().saturating_sub(TAIL);
                if extra > 0
                    && let Some((cut, _)) = row.text.char_indices().nth(extra)
                {
                    row.text.drain(..cut);
                }
            }
            EventKind::EffectFinished { value, .. } => row.exited = exited(value).map(|how| one_line(&how)),
            EventKind::ModelFinished { answer, .. } => {
                row.answer = match turn_content::parse_tool_calls(answer) {
                    Some((text, _)) => preview_value(&text),
                    None => preview_value(answer),
                };
                if step.is_inferred {
                    row.text = row.answer.clone();
                }
            }
            EventKind::EffectFailed { error, .. } if (step.is_inferred || step.is_item) && step.children.is_empty() => {
                row.text = failed(error, "");
            }
            EventKind::ModelStopped { partial, .. } => {
                row.arrived = match partial {
                    Some(text) => text.chars().count(),
                    None => 0,
                };
            }
            EventKind::RetryScheduled { error, .. } => {
                (row.text, row.retry, row.is_permanent) = (String::new(), one_line(&error.to_string()), false);
            }
            EventKind::ValidationFailed { iteration, reason } => {
                row.text = one_line(&format!("attempt {iteration} did not pass: {reason}"));
                row.retry.clone_from(&row.text);
            }
            // The question itself is shown in the prompt.
            EventKind::SignalWanted { .. } => row.text.clear(),
            _ => {}
        }
    }
    /// A node.
    pub fn find_node(&self, number: usize) -> Option<ProgressNode<'_>> {
        Some(ProgressNode { step: self.view.step_by_number(number)?, row: self.rows.get(&number)? })
    }
    /// The node around a step.
    pub fn find_parent(&self, step: &StepView) -> Option<ProgressNode<'_>> {
        self.find_node(step.parent?)
    }
    /// The nodes with their numbers, in the order in which they started.
    pub fn list_nodes(&self) -> impl Iterator<Item = (usize, ProgressNode<'_>)> {
        self.view
            .numbered_steps()
            .filter_map(|(number, step)| Some((number, ProgressNode { step, row: self.rows.get(&number)? })))
    }
    /// The full name of the step around an event.
    pub fn step_title(&self, event: &Event) -> Option<&str> {
        let around = self.view.step_around(key_text(event.key.as_ref()))?;
        Some(self.rows.get(&around)?.title.as_str())
    }
    /// Whether the step to which an event belongs asked a person.
    pub fn has_asked(&self, event: &Event) -> bool {
        let around = self.view.step_around(key_text(event.key.as_ref()));
        let step = around.and_then(|around| self.view.step_by_number(around));
        matches!(step, Some(step) if step.has_asked)
    }
    /// The only step of an item, which shares the item's row.
    pub fn only_step(&self, node: ProgressNode<'_>) -> Option<ProgressNode<'_>> {
        if !node.is_item || node.children.len() != 1 || node.row.folded.children > 0 {
            return None;
        }
        let child = self.find_node(*node.children.first()?)?;
        if child.children.is_empty() && child.state != StepState::Skipped { Some(child) } else { None }
    }
    /// The outermost large fan-out around what belongs to one of its items.
    pub fn large_around<'p>(&'p self, node: ProgressNode<'p>) -> Option<ProgressNode<'p>> {
        let (mut at, mut found) = (Some(node), None);
        while let Some(node) = at {
            let above = self.find_parent(&node);
            if node.is_item
                && let Some(above) = above
                && matches!(above.counts, Some(items) if items.total as usize > MANY)
            {
                found = Some(above);
            }
            at = above;
        }
        found
    }
    /// Folds the first of the nodes next to this one, which has just ended, if there are more than a picture can show.
    fn fold_beside(&mut self, number: usize) {
        let parent = self.view.step_by_number(number).and_then(|step| step.parent);
        let beside = self.folded_below(parent);
        beside.ended.push_back(number);
        if beside.ended.len() <= LAST {
            return;
        }
        let Some(first) = beside.ended.pop_front() else { return };
        let Some(row) = self.rows.get(&first) else { return };
        let is_permanent = row.is_permanent;
        let (mut open, mut rows) = (vec![first], 0);
        while let Some(next) = open.pop()
            && let Some(node) = self.find_node(next)
        {
            if !matches!(node.display_state(), StepState::Done | StepState::Skipped | StepState::Cancelled) {
                return;
            }
            // The only step of an item shares its row.
            rows += usize::from(!node.row.is_permanent && self.only_step(node).is_none()) + node.row.folded.rows;
            open.extend(&node.children);
        }
        for number in self.view.remove_step(first) {
            self.rows.remove(&number);
        }
        let beside = self.folded_below(parent);
        (beside.children, beside.rows) = (beside.children + 1, beside.rows + rows);
        beside.not_permanent += usize::from(!is_permanent);
    }
    /// What was folded below a node, or below none.
    fn folded_below(&mut self, parent: Option<usize>) -> &mut FoldedNodes {
        if let Some(parent) = parent
            && let Some(row) = self.rows.get_mut(&parent)
        {
            return &mut row.folded;
        }
        &mut self.top
    }
    /// The journal has been read: steps that have ended are kept, and the others start again.
    pub fn caught_up(&mut self) {
        self.resumed = true;
        self.view.caught_up();
        for (number, row) in &mut self.rows {
            row.is_past = matches!(self.view.step_by_number(*number), Some(step) if step.ended_ms.is_some());
        }
    }
    /// Something happens to a node since the run was resumed, and so to those around it.
    fn mark_present(&mut self, number: usize) {
        let mut at = Some(number);
        while let Some(number) = at {
            if let Some(row) = self.rows.get_mut(&number) {
                row.is_past = false;
            }
            at = self.view.step_by_number(number).and_then(|step| step.parent);
        }
    }
    /// The outermost kept steps.
    pub fn kept_steps(&self) -> impl Iterator<Item = ProgressNode<'_>> {
        self.list_nodes().map(|(_, node)| node).filter(|node| node.kept && !self.is_inside_kept(node))
    }
    fn is_inside_kept(&self, step: &StepView) -> bool {
        let Some(parent) = step.parent else { return false };
        matches!(self.view.step_by_number(parent), Some(parent) if parent.kept)
    }
    /// How many there are, with those that are no longer known.
    pub fn kept_count(&self) -> usize {
        let mut folded = 0;
        for (_, node) in self.list_nodes() {
            if !node.kept {
                folded += node.row.folded.children;
            }
        }
        self.kept_steps().count() + folded + self.top.children
    }
    /// The run has ended: running steps are marked as stopped. Steps that did not start are shown only if the run
    /// failed.
    pub fn mark_stopped(&mut self, went_well: bool) {
        self.view.end_open(StepState::Stopped, |_| true);
        if went_well {
            self.expected.clear();
        }
    }
    /// Marks ended steps as permanently shown. Returns whether any of them are new.
    pub fn mark_shown(&mut self) -> bool {
        let mut new = std::mem::take(&mut self.resumed) || self.top.not_permanent > 0;
        (self.top.not_permanent, self.top.rows) = (0, 0);
        for (number, row) in &mut self.rows {
            let has_ended = matches!(self.view.step_by_number(*number), Some(step) if step.ended_ms.is_some());
            new |= row.folded.not_permanent > 0 || (!row.is_permanent && has_ended);
            row.is_permanent |= has_ended;
            (row.folded.not_permanent, row.folded.rows) = (0, 0);
        }
        new
    }
    /// What went well only in part: fan-outs with failed items (`grade: 10 of 20 failed`), and answers without a word.
    pub fn partly_failed(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (_, node) in self.list_nodes() {
            if let Some(items) = node.counts
                && items.failed > 0
            {
                lines.push(format!("{}: {} of {} failed", node.row.title, items.failed, items.total));
            } else if node.is_agent() && node.display_state() == StepState::Partly {
                lines.push(format!("{}: {EMPTY}", node.row.title));
            }
        }
        lines
    }
    /// The fan-outs of which not all failed items are shown.
    pub fn more_failed(&self) -> impl Iterator<Item = &Key> {
        self.list_nodes().filter_map(|(_, node)| match node.counts {
            Some(items) if items.failed as usize > SOME => node.step.key.as_ref(),
            _ => None,
        })
    }
    /// Whether a warning only repeats the last failure.
    pub fn repeats_failure(&self, warning: &str) -> bool {
        !self.failure.is_empty() && warning.ends_with(&self.failure)
    }
}

/// A key as text, or nothing.
fn key_text(key: Option<&Key>) -> &str {
    match key {
        Some(key) => key.as_str(),
        None => "",
    }
}

/// `exit 1  ls: no such file`, if a command has failed: its exit code, and its error output.
fn exited(result: &Value) -> Option<String> {
    let (status, code) = (result.get("status")?.as_str()?, result.get("exit_code")?);
    if status != "failed" {
        return None;
    }
    let stderr = result.get("stderr").and_then(Value::as_str).unwrap_or_default();
    Some(crate::words::exit_line(code.to_text(), stderr))
}

/// What a call waits for that is delayed by a rate limit.
pub fn delay_text(provider: &str, delay_ms: Option<u64>, why: Option<&str>) -> String {
    let about = match delay_ms {
        Some(ms) => format!(", about {} s", ms.div_ceil(1_000)),
        None => String::new(),
    };
    match why {
        Some(why) => one_line(&format!("waiting until `{provider}` recovers{about}: {why}")),
        None => one_line(&format!("waiting for `[limits.{provider}]`{about}")),
    }
}

/// Formats the numbers in the part of a key below its parent, after the name of a step that is the same agent as others:
/// ` (third, pass 2, attempt 3)`. `called`: the parent is a model step, so this is a call in a turn.
fn marks(label: &str, below: &str, called: bool) -> String {
    let mut parts: Vec<String> = Vec::new();
    if !called && let Some(own) = own_label(below) {
        let own = escape_line(own);
        if own != escape_label(label) {
            parts.push(own.into_owned());
        }
    }
    for part in parse_key_parts(below) {
        parts.push(match part {
            KeyPart::Pass(n) if called => format!("turn {n}"),
            KeyPart::Item(n) if called => format!("call {}", u64::from(n) + 1),
            KeyPart::Pass(n @ 2..) => format!("pass {n}"),
            KeyPart::Item(n) => format!("item {}", u64::from(n) + 1),
            KeyPart::Iteration(n @ 2..) => format!("attempt {n}"),
            KeyPart::Try(n) => format!("try {n}"),
            KeyPart::Label(_) | KeyPart::Pass(_) | KeyPart::Iteration(_) | KeyPart::Own(_) => continue,
        });
    }
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}
