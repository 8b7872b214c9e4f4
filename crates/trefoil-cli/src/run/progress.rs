//! The progress of a run: a tree of its steps and fan-out items, updated by events.

use std::borrow::Cow;

use trefoil_machine::key::{KeyPart, own_label, parts, segment};
use trefoil_machine::said;
use trefoil_runtime::{Event, EventKind, Usage};
use trefoil_template::Value;
use trefoil_view::trace::outer;

use super::nodes::{Items, Nodes, ProgressNode, StepState};
use crate::words::{line, preview, safe};

/// Number of characters of streamed text that are kept.
const TAIL: usize = 400;

/// The tree.
#[derive(Default)]
pub struct Progress {
    /// The nodes.
    pub nodes: Nodes,
    /// Names of outermost steps that have not started.
    pub expected: Vec<String>,
    /// Model calls so far, counted like in the outcome: a retry that the manifest did not request is not counted again.
    pub calls: u64,
    /// Tokens so far.
    pub usage: Usage,
    /// The run's time at the last event.
    pub at_ms: u64,
    /// Whether the run was resumed and no permanent picture shows it yet.
    pub resumed: bool,
    /// The full text of the last failure of a step or a call.
    failure: String,
}

/// What is said of a model that succeeded and answered nothing.
const EMPTY: &str = "the answer is empty";

impl Progress {
    /// Applies an event. Returns the node that it concerns.
    pub fn take(&mut self, event: &Event) -> Option<usize> {
        self.at_ms = event.at_ms;
        if let EventKind::StepFailed { error, .. } | EventKind::EffectFailed { error, .. } = &event.kind {
            self.failure = error.to_string();
        }
        let step = self.step(event).or_else(|| self.item(event));
        let about = step.or_else(|| self.call(event)).or_else(|| self.wait(event));
        let ends = match &event.kind {
            EventKind::StepFinished { .. } | EventKind::StepSkipped { .. } | EventKind::ItemFinished { .. } => true,
            EventKind::ModelFinished { .. } => about.and_then(|index| self.nodes.get(index)).is_some_and(|n| n.alone),
            _ => false,
        };
        if let Some(index) = about.filter(|_| ends || matches!(event.kind, EventKind::StepFailed { .. })) {
            self.nodes.settle(index);
        }
        if let Some(index) = about.filter(|_| ends) {
            self.nodes.fold_beside(index);
        }
        about
    }
    /// Applies the start or end of a step.
    fn step(&mut self, event: &Event) -> Option<usize> {
        let at = event.at_ms;
        match &event.kind {
            EventKind::StepStarted { label, .. } => Some(self.begin(event, &safe(label))),
            EventKind::StepSkipped { label, reason } => {
                let index = self.begin(event, &safe(label));
                self.change(index, |node| node.end(StepState::Skipped, at, line(reason)))
            }
            EventKind::StepFinished { output, items } => {
                let index = self.inner(event)?;
                let failed = items.filter(|items| items.failed > 0);
                let state = if failed.is_some() { StepState::Partly } else { StepState::Done };
                let told = failed.map(|i| format!("{} of {} failed  ", i.failed, i.total)).unwrap_or_default();
                let result = preview(output);
                self.close(index);
                if let Some(node) = self.nodes.get_mut(index) {
                    node.items = node.items.or(items.map(Items::of));
                }
                self.change(index, |node| match (node.is_agent && result.trim().is_empty(), node.exited.take()) {
                    (true, _) => node.end(StepState::Partly, at, EMPTY.to_owned()),
                    (false, Some(exited)) => node.end(StepState::Partly, at, exited),
                    (false, None) => node.end(state, at, told + &result),
                })
            }
            EventKind::StepFailed { error, handled_as } => {
                let index = self.inner(event)?;
                self.close(index);
                if *handled_as == "cancel" {
                    return self.change(index, |node| {
                        node.end(StepState::Cancelled, at, "cancelled".to_owned());
                        node.again = true;
                    });
                }
                let again = *handled_as == "fail";
                let then = match *handled_as {
                    "fail" => String::new(),
                    "told" => " (reported to the model)".to_owned(),
                    handled_as => format!(" ({handled_as})"),
                };
                let text = line(&format!("{}: {}{then}", error.code, error.message));
                self.change(index, |node| {
                    node.end(StepState::Failed, at, text);
                    (node.error, node.again) = (Some(error.clone()), again);
                })
            }
            _ => None,
        }
    }
    /// Applies the start or end of an item of a fan-out.
    fn item(&mut self, event: &Event) -> Option<usize> {
        let at = event.at_ms;
        match &event.kind {
            EventKind::ItemStarted { index, total, item } => {
                let around = self.inner(event);
                if let Some(around) = around.and_then(|i| self.nodes.get_mut(i)) {
                    around.items.get_or_insert_default().total = *total;
                }
                let value = item.as_ref().map(preview).unwrap_or_default();
                let number = format!("{}/{total}", u64::from(*index) + 1);
                let label = if value.is_empty() { number } else { format!("{number} {value}") };
                let node = self.begin(event, &label);
                self.change(node, |node| node.item = true)
            }
            EventKind::ItemFinished { error } => {
                let index = self.inner(event)?;
                if let Some(around) = self.nodes.get(index).and_then(|n| n.parent).and_then(|p| self.nodes.get_mut(p)) {
                    let items = around.items.get_or_insert_default();
                    items.ended += 1;
                    items.failed += u32::from(error.is_some());
                }
                self.close(index);
                self.change(index, |node| match error {
                    Some(error) => {
                        node.end(StepState::Failed, at, line(&format!("{}: {}", error.code, error.message)));
                        node.error = Some(error.clone());
                    }
                    None => node.end(StepState::Done, at, node.answer.clone()),
                })
            }
            _ => None,
        }
    }
    /// Applies events of calls to models, tools and commands. reason: a table, one arm for each event.
    fn call(&mut self, event: &Event) -> Option<usize> {
        let at = event.at_ms;
        match &event.kind {
            EventKind::ModelStarted { agent, model, again, .. } => {
                self.calls += u64::from(!again);
                let index = self.called_by(event, agent);
                self.change(index, |node| {
                    node.resume();
                    (node.calling, node.counted) = (true, !again);
                    node.model = Some(model.clone());
                })
            }
            EventKind::EffectStarted { effect: "tool" | "command", .. } => {
                let index = self.inner(event)?;
                self.change(index, |node| {
                    node.resume();
                    node.calling = true;
                })
            }
            EventKind::ModelWaiting { agent, provider, delay_ms, why, .. } => {
                let index = self.called_by(event, agent);
                self.change(index, |node| {
                    // The wait before its next try is over.
                    if node.state == StepState::Waiting {
                        node.resume();
                    }
                    (node.text, node.delayed) = (delayed(provider, *delay_ms, why.as_deref()), true);
                })
            }
            EventKind::TextDelta { text, provisional } => {
                let index = self.inner(event)?;
                self.change(index, |node| {
                    if std::mem::take(&mut node.delayed) {
                        node.text.clear();
                    }
                    node.provisional = *provisional;
                    node.text.push_str(text);
                    let extra = node.text.chars().count().saturating_sub(TAIL);
                    if let Some((cut, _)) = node.text.char_indices().nth(extra).filter(|_| extra > 0) {
                        node.text.drain(..cut);
                    }
                })
            }
            EventKind::EffectFinished { reused_from, value, .. } => {
                let index = self.inner(event)?;
                self.change(index, |node| {
                    node.came(reused_from.is_some());
                    node.exited = exited(value).map(|how| line(&how));
                })
            }
            EventKind::ModelFinished { answer, usage, told, reused_from, .. } => {
                let index = self.used(event, *usage)?;
                let reused = reused_from.is_some();
                let uncounted = self.nodes.get(index).is_some_and(|node| reused && node.counted);
                self.calls = self.calls.saturating_sub(u64::from(uncounted));
                self.change(index, |node| {
                    node.came(reused);
                    if let Some(by) = &told.instead {
                        node.model = Some(by.clone());
                    }
                    node.answer = preview(&said::calls(answer).map_or_else(|| answer.clone(), |(text, _)| text));
                    if node.alone {
                        node.end(StepState::Done, at, node.answer.clone());
                    }
                })
            }
            // A failed call may have used tokens.
            EventKind::EffectFailed { error, usage, .. } => {
                let index = self.used(event, usage.unwrap_or_default())?;
                self.change(index, |node| node.called |= std::mem::take(&mut node.calling));
                // A step's own failure is reported by its own event.
                let node = self.nodes.get(index).filter(|node| node.alone || node.item)?;
                let index = node.children.is_empty().then_some(index)?;
                let text = line(&format!("{}: {}", error.code, error.message));
                self.change(index, |node| node.end(StepState::Failed, at, text))
            }
            EventKind::ModelStopped { usage, partial, .. } => {
                let index = self.used(event, *usage)?;
                let arrived = partial.as_ref().map_or(0, |text| text.chars().count());
                self.change(index, |node| node.arrived = arrived)
            }
            _ => None,
        }
    }
    /// Records that a step waits for its next try or for a person.
    fn wait(&mut self, event: &Event) -> Option<usize> {
        use EventKind::{RetryScheduled, SignalWanted, ValidationFailed};
        let is_wait = matches!(event.kind, RetryScheduled { .. } | ValidationFailed { .. } | SignalWanted { .. });
        let (at, index) = (event.at_ms, self.inner(event).filter(|_| is_wait)?);
        self.change(index, |node| match &event.kind {
            EventKind::RetryScheduled { attempt, delay_ms, error } => {
                (node.state, node.tries, node.ended_ms, node.told) = (StepState::Waiting, *attempt, None, false);
                node.retry_ms = Some(at.saturating_add(*delay_ms));
                node.text = line(&error.to_string());
            }
            EventKind::ValidationFailed { iteration, reason } => {
                node.text = line(&format!("attempt {iteration} did not pass: {reason}"));
            }
            // The question itself is shown in the prompt.
            EventKind::SignalWanted { .. } => {
                (node.state, node.asked) = (StepState::Asking, true);
                node.text.clear();
            }
            _ => {}
        })
    }
    /// Adds the usage of a call to the run and to its step.
    fn used(&mut self, event: &Event, usage: Usage) -> Option<usize> {
        self.usage.add(usage);
        let index = self.inner(event)?;
        self.change(index, |node| node.usage.add(usage))
    }
    /// The journal has been read: steps that have ended are kept, and the others start again.
    pub fn caught_up(&mut self) {
        self.resumed = true;
        for node in self.nodes.values_mut() {
            // What failed or stopped with the run is about to start again.
            node.kept = node.ended_ms.is_some() && !node.again;
        }
    }
    /// The outermost kept steps.
    pub fn kept(&self) -> impl Iterator<Item = &ProgressNode> {
        let outermost = |node: &&ProgressNode| {
            node.kept && node.parent.and_then(|parent| self.nodes.get(parent)).is_none_or(|parent| !parent.kept)
        };
        self.nodes.values().filter(outermost)
    }
    /// How many there are, with those that are no longer known.
    pub fn kept_count(&self) -> usize {
        let folded = self.nodes.values().filter(|node| !node.kept).map(|node| node.folded.children);
        self.kept().count() + folded.sum::<usize>() + self.nodes.top().children
    }
    /// The run has ended: running steps are marked as stopped. Steps that did not start are shown only if the run
    /// failed.
    pub fn stop(&mut self, went_well: bool) {
        let now = self.at_ms;
        for node in self.nodes.values_mut().filter(|n| n.ended_ms.is_none()) {
            node.end(StepState::Cancelled, now, "stopped".to_owned());
        }
        if went_well {
            self.expected.clear();
        }
    }
    /// The run only waits: what is not done is not stopped either. `rests`: asking somebody, or not started.
    pub fn suspend(&mut self, rests: &StepState) {
        for node in self.nodes.values_mut().filter(|n| n.ended_ms.is_none() && n.state == StepState::Running) {
            node.state = rests.clone();
        }
    }
    /// The process of the run has ended without it: whatever was running is not running any more.
    pub fn interrupt(&mut self) {
        let now = self.at_ms;
        for node in self.nodes.values_mut().filter(|n| n.ended_ms.is_none() && n.state == StepState::Running) {
            node.end(StepState::Cancelled, now, "interrupted".to_owned());
            node.cut_off = true;
        }
    }
    /// Marks ended steps as permanently shown. Returns whether any of them are new.
    pub fn tell(&mut self) -> bool {
        let ended = self.nodes.tell();
        std::mem::take(&mut self.resumed) || ended
    }
    /// The only step of an item, which shares the item's row.
    pub fn only(&self, node: &ProgressNode) -> Option<&ProgressNode> {
        self.nodes.only(node)
    }
    /// What went well only in part: fan-outs with failed items (`grade: 10 of 20 failed`), and answers without a word.
    pub fn partly_failed(&self) -> Vec<String> {
        let told = |node: &ProgressNode| match node.items.filter(|items| items.failed > 0) {
            Some(items) => Some(format!("{}: {} of {} failed", node.title, items.failed, items.total)),
            None => (node.is_agent && node.state == StepState::Partly).then(|| format!("{}: {EMPTY}", node.title)),
        };
        self.nodes.values().filter_map(told).collect()
    }
    /// Whether a warning only repeats the last failure.
    pub fn repeats_failure(&self, warning: &str) -> bool {
        !self.failure.is_empty() && warning.ends_with(&self.failure)
    }
    /// The node with this key, or its nearest ancestor.
    pub fn nearest(&self, key: &str) -> Option<usize> {
        let mut key = key;
        loop {
            if let Some(index) = self.nodes.with_key(key) {
                return Some(index);
            }
            key = outer(key)?;
        }
    }
    /// Marks the unfinished steps below an ended step as cancelled.
    fn close(&mut self, index: usize) {
        let now = self.at_ms;
        let mut open: Vec<usize> = self.nodes.get(index).into_iter().flat_map(|n| &n.children).copied().collect();
        while let Some(index) = open.pop() {
            let Some(node) = self.nodes.get_mut(index) else { continue };
            if node.ended_ms.is_none() {
                open.extend(&node.children);
                node.end(StepState::Cancelled, now, "cancelled".to_owned());
            }
        }
    }
    fn change(&mut self, index: usize, change: impl FnOnce(&mut ProgressNode)) -> Option<usize> {
        self.nodes.get_mut(index).map(change)?;
        Some(index)
    }
    fn begin(&mut self, event: &Event, label: &str) -> usize {
        let key = event.key.as_ref().map_or("", |k| &k.0);
        let parent = outer(key).and_then(|key| self.nearest(key));
        let above = parent.and_then(|p| self.nodes.get(p));
        let item = matches!(event.kind, EventKind::ItemStarted { .. });
        let below = key.get(above.map_or(0, |p| p.key.len())..).unwrap_or_default();
        let called = above.is_some_and(|p| p.is_agent);
        let marks = if item { String::new() } else { marks(label, below, called) };
        // The title for a separate line includes the parent.
        let title = match above {
            Some(above) => format!("{} {label}{marks}", above.title),
            None => format!("{label}{marks}"),
        };
        // A step inside has started, so the try that its ancestors waited for has started.
        let mut around = parent;
        while let Some(node) = around.and_then(|index| self.nodes.get_mut(index)) {
            if node.state == StepState::Waiting {
                node.resume();
            }
            around = node.parent;
        }
        let index = self.nodes.push(ProgressNode {
            key: key.to_owned(),
            label: format!("{label}{marks}"),
            is_agent: matches!(event.kind, EventKind::StepStarted { kind: AGENT, .. }),
            title,
            started_ms: event.at_ms,
            tries: 1,
            parent,
            ..ProgressNode::default()
        });
        if parent.is_none() {
            self.expected.retain(|name| name != label);
        }
        index
    }
    pub fn title(&self, event: &Event) -> Option<&str> {
        self.nodes.get(self.inner(event)?).map(|node| node.title.as_str())
    }

    /// The node of a model call: its step, or a separate one.
    fn called_by(&mut self, event: &Event, agent: &str) -> usize {
        self.inner(event).unwrap_or_else(|| {
            let index = self.begin(event, &safe(agent));
            self.change(index, |node| node.alone = true);
            index
        })
    }
    fn inner(&self, event: &Event) -> Option<usize> {
        self.nearest(event.key.as_ref().map_or("", |k| &k.0))
    }
}

/// `exit 1  ls: no such file`, if a command has failed: its exit code, and its error output.
fn exited(result: &Value) -> Option<String> {
    let (status, code) = (result.get("status")?.as_str()?, result.get("exit_code")?);
    let stderr = result.get("stderr").and_then(Value::as_str).unwrap_or_default();
    (status == "failed").then(|| format!("exit {}: {}", code.to_text(), stderr.trim()))
}

/// What a call waits for that is delayed by a rate limit.
pub fn delayed(provider: &str, delay_ms: Option<u64>, why: Option<&str>) -> String {
    let about = delay_ms.map(|ms| format!(", about {} s", ms.div_ceil(1_000))).unwrap_or_default();
    match why {
        Some(why) => line(&format!("waiting until `{provider}` recovers{about}: {why}")),
        None => line(&format!("waiting for `[limits.{provider}]`{about}")),
    }
}

/// The kind of model steps in events. The steps inside them are calls by the model.
const AGENT: &str = "agent";

/// Formats the numbers in the part of a key below its parent, after the name of a step that is the same agent as others:
/// ` (third, pass 2, attempt 3)`. `called`: the parent is a model step, so this is a call in a turn.
fn marks(label: &str, below: &str, called: bool) -> String {
    let other = own_label(below).map(safe).filter(|own| !called && *own != segment(label));
    let said: Vec<String> = other
        .map(Cow::into_owned)
        .into_iter()
        .chain(parts(below).filter_map(|part| match part {
            KeyPart::Pass(n) if called => Some(format!("turn {n}")),
            KeyPart::Item(n) if called => Some(format!("call {}", u64::from(n) + 1)),
            KeyPart::Pass(n @ 2..) => Some(format!("pass {n}")),
            KeyPart::Item(n) => Some(format!("item {}", u64::from(n) + 1)),
            KeyPart::Iteration(n @ 2..) => Some(format!("attempt {n}")),
            KeyPart::Try(n) => Some(format!("try {n}")),
            KeyPart::Label(_) | KeyPart::Pass(_) | KeyPart::Iteration(_) | KeyPart::Own(_) => None,
        }))
        .collect();
    if said.is_empty() { String::new() } else { format!(" ({})", said.join(", ")) }
}
