//! How far a run is: a tree of its steps, kept up to date by its events.

use std::collections::HashMap;

use trefoil::runtime::{Event, EventKind};
use trefoil::trace::outer;

/// Characters of streamed text that are kept for showing.
const TAIL: usize = 400;

/// The tree.
#[derive(Default)]
pub struct Progress {
    /// In the order in which they began.
    pub nodes: Vec<Node>,
    /// Those that are in no other.
    pub roots: Vec<usize>,
    index: HashMap<String, usize>,
    /// Model calls so far.
    pub calls: u64,
    /// Tokens so far.
    pub tokens: u64,
    /// The run's time of the last event.
    pub at_ms: u64,
}

/// What state a step is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// At work.
    Running,
    /// Waits for its next try.
    Waiting,
    /// Asks a person.
    Asking,
    /// Ended well.
    Done,
    /// Failed.
    Failed,
    /// Passed over.
    Skipped,
}

/// A step.
pub struct Node {
    /// Its key.
    pub key: String,
    /// Its name and which pass, item or attempt it is.
    pub label: String,
    /// How it is.
    pub state: State,
    /// Who answers it.
    pub model: Option<String>,
    /// Milliseconds since the run began.
    pub started_ms: u64,
    /// The same.
    pub ended_ms: Option<u64>,
    /// Tokens of its own calls.
    pub tokens: u64,
    /// What to show behind it: streamed text, a reason, the beginning of its result.
    pub text: String,
    /// The step around it.
    pub parent: Option<usize>,
    /// The steps in it.
    pub children: Vec<usize>,
}

impl Progress {
    /// Takes an event in; the node it is about, if it is about one.
    pub fn take(&mut self, event: &Event) -> Option<usize> {
        self.at_ms = event.at_ms;
        let at = event.at_ms;
        match &event.kind {
            EventKind::StepStarted { label, .. } => Some(self.begin(event, label)),
            EventKind::StepSkipped { label, reason } => {
                let index = self.begin(event, label);
                self.change(index, |node| {
                    (node.state, node.ended_ms) = (State::Skipped, Some(at));
                    node.text = line(reason);
                })
            }
            EventKind::StepFinished { output, .. } => {
                let index = self.inner(event)?;
                self.change(index, |node| {
                    (node.state, node.ended_ms) = (State::Done, Some(at));
                    node.text = line(&output.to_text());
                })
            }
            EventKind::StepFailed { error, handled_as } => {
                let index = self.inner(event)?;
                self.change(index, |node| {
                    (node.state, node.ended_ms) = (State::Failed, Some(at));
                    let then = if *handled_as == "fail" { String::new() } else { format!(" ({handled_as})") };
                    node.text = line(&format!("{}: {}{then}", error.code, error.message));
                })
            }
            EventKind::ModelStarted { agent, model, .. } => {
                self.calls += 1;
                let index = self.inner(event).unwrap_or_else(|| self.begin(event, agent));
                self.change(index, |node| {
                    (node.state, node.model) = (State::Running, Some(model.clone()));
                    node.text.clear();
                })
            }
            EventKind::TextDelta { text, .. } => {
                let index = self.inner(event)?;
                self.change(index, |node| {
                    node.text.push_str(text);
                    let extra = node.text.chars().count().saturating_sub(TAIL);
                    if let Some((cut, _)) = node.text.char_indices().nth(extra).filter(|_| extra > 0) {
                        node.text.drain(..cut);
                    }
                })
            }
            EventKind::ModelFinished { usage, .. } => {
                self.tokens += usage.total();
                let index = self.inner(event)?;
                self.change(index, |node| node.tokens += usage.total())
            }
            EventKind::RetryScheduled { attempt, delay_ms, error } => {
                let index = self.inner(event)?;
                self.change(index, |node| {
                    node.state = State::Waiting;
                    node.text = line(&format!("try {attempt} in {delay_ms} ms: {error}"));
                })
            }
            EventKind::ValidationFailed { iteration, reason } => {
                let index = self.inner(event)?;
                self.change(index, |node| node.text = line(&format!("attempt {iteration} did not pass: {reason}")))
            }
            EventKind::SignalWanted { prompt, .. } => {
                let index = self.inner(event)?;
                self.change(index, |node| {
                    node.state = State::Asking;
                    node.text = line(prompt);
                })
            }
            EventKind::EffectStarted { .. }
            | EventKind::EffectFinished { .. }
            | EventKind::EffectFailed { .. }
            | EventKind::ItemStarted { .. }
            | EventKind::ItemFinished { .. }
            | EventKind::ModelStopped { .. }
            | EventKind::Warning { .. }
            | EventKind::RunStarted { .. }
            | EventKind::RunFinished { .. } => None,
        }
    }
    /// What is still at work when the run has ended was stopped.
    pub fn stop(&mut self) {
        let now = self.at_ms;
        for node in self.nodes.iter_mut().filter(|n| n.ended_ms.is_none()) {
            (node.state, node.ended_ms) = (State::Failed, Some(now));
            node.text = "stopped".to_owned();
        }
    }
    fn change(&mut self, index: usize, change: impl FnOnce(&mut Node)) -> Option<usize> {
        self.nodes.get_mut(index).map(change)?;
        Some(index)
    }
    fn begin(&mut self, event: &Event, label: &str) -> usize {
        let key = event.key.as_ref().map_or("", |k| &k.0);
        let parent = outer(key).and_then(|key| self.nearest(key));
        let above = parent.and_then(|p| self.nodes.get(p)).map_or(0, |p| p.key.len());
        let below = key.get(above..).unwrap_or_default();
        let index = self.nodes.len();
        self.nodes.push(Node {
            key: key.to_owned(),
            label: format!("{label}{}", marks(below)),
            state: State::Running,
            model: None,
            started_ms: event.at_ms,
            ended_ms: None,
            tokens: 0,
            text: String::new(),
            parent,
            children: Vec::new(),
        });
        self.index.insert(key.to_owned(), index);
        match parent.and_then(|p| self.nodes.get_mut(p)) {
            Some(parent) => parent.children.push(index),
            None => self.roots.push(index),
        }
        index
    }
    fn inner(&self, event: &Event) -> Option<usize> {
        self.nearest(event.key.as_ref().map_or("", |k| &k.0))
    }
    fn nearest(&self, key: &str) -> Option<usize> {
        let mut key = key;
        loop {
            if let Some(index) = self.index.get(key) {
                return Some(*index);
            }
            key = outer(key)?;
        }
    }
}

/// ` (pass 2, item 1)`: what the part of a key below the step around it says beside labels. Labels are escaped in keys.
fn marks(below: &str) -> String {
    let mut said = Vec::new();
    let mut rest = below;
    while let Some(at) = rest.find(['@', '[', '#', '!']) {
        let tail = rest.get(at..).unwrap_or_default();
        let digits: String = tail.chars().skip(1).take_while(char::is_ascii_digit).collect();
        let number: u64 = digits.parse().unwrap_or(0);
        match tail.chars().next() {
            Some('@') if number > 1 => said.push(format!("pass {number}")),
            Some('[') => said.push(format!("item {}", number + 1)),
            Some('#') if number > 1 => said.push(format!("attempt {number}")),
            Some('!') => said.push(format!("try {number}")),
            _ => {}
        }
        rest = tail.get(1 + digits.len()..).unwrap_or_default();
    }
    if said.is_empty() { String::new() } else { format!(" ({})", said.join(", ")) }
}

/// The beginning of a text on one line.
fn line(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(word.chars().filter(|c| !c.is_control()));
        if out.chars().count() > 300 {
            break;
        }
    }
    out
}
