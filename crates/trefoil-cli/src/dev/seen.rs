//! Records the steps of a run and their outputs, to compare them with the next run.

use std::sync::{Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use tokio::sync::mpsc::UnboundedSender;
use trefoil_machine::event::Waiting;
use trefoil_runtime::{Event, EventKind, EventSink};
use trefoil_template::Value;

use super::Happening;

/// A sink that records the steps of a run.
#[derive(Default)]
pub struct Seen {
    told: Mutex<Told>,
    /// Receives an event whenever a model call, a tool or a command has ended.
    ended: Option<UnboundedSender<Happening>>,
}

/// What was recorded.
#[derive(Default, Clone)]
pub struct Told {
    /// The steps by key, in order: their names and outputs.
    pub steps: IndexMap<String, SeenStep>,
    /// Open questions.
    pub asks: Vec<Waiting>,
    /// The work in progress by key.
    pub going: IndexMap<String, Going>,
}

/// Work in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Going {
    /// A model call.
    Model,
    /// A call of the tool with this name.
    Tool(String),
    /// A command.
    Command,
}

/// A step.
#[derive(Clone)]
pub struct SeenStep {
    /// Its name.
    pub label: String,
    /// Its output, if it has one yet.
    pub output: Option<Value>,
}

impl Seen {
    /// Reports the ends of model calls, tools and commands to `ended`.
    pub fn telling(ended: UnboundedSender<Happening>) -> Self {
        Self { told: Mutex::default(), ended: Some(ended) }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything recorded so far.
    pub fn so_far(&self) -> Told {
        self.told().clone()
    }
}

impl EventSink for Seen {
    fn event(&self, event: &Event) {
        let Some(key) = &event.key else { return };
        let mut told = self.told();
        let name = || key.to_string();
        match &event.kind {
            EventKind::StepStarted { label, .. } => {
                told.steps.entry(name()).or_insert_with(|| SeenStep { label: label.to_string(), output: None });
            }
            EventKind::StepFinished { output, .. } => {
                if let Some(step) = told.steps.get_mut(key.as_str()) {
                    step.output = Some(output.clone());
                }
            }
            EventKind::SignalWanted { .. } => {
                told.asks.retain(|one| one.key != *key);
                told.asks.extend(Waiting::for_person(event));
            }
            EventKind::ModelStarted { .. } => {
                told.going.insert(name(), Going::Model);
            }
            EventKind::EffectStarted { effect: "tool", detail } => {
                let tool = detail.get("name").map(|name| name.to_text().to_string());
                told.going.insert(name(), Going::Tool(tool.unwrap_or_default()));
            }
            EventKind::EffectStarted { effect: "command", .. } => {
                told.going.insert(name(), Going::Command);
            }
            EventKind::EffectFinished { .. }
            | EventKind::EffectFailed { .. }
            | EventKind::ModelFinished { .. }
            | EventKind::ModelStopped { .. } => {
                told.asks.retain(|one| one.key != *key);
                if told.going.shift_remove(key.as_str()).is_some() {
                    self.ended.iter().for_each(|ended| drop(ended.send(Happening::Ended)));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_step_made_last_is_what_it_made() {
        let seen = Seen::default();
        let tell = |kind| {
            seen.event(&Event { seq: 0, at_ms: 0, run: "r".into(), key: Some("a".into()), location: None, kind });
        };
        tell(EventKind::StepStarted { label: "a".into(), kind: "agent" });
        assert!(seen.so_far().steps["a"].output.is_none());
        for output in ["one", "two"] {
            tell(EventKind::StepFinished { output: output.into(), items: None });
        }
        assert_eq!(seen.so_far().steps["a"].output, Some("two".into()));
    }
}
