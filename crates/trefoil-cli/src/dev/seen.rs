//! Records the steps of a run and their outputs, to compare them with the next run.

use std::sync::{Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use trefoil_machine::event::Waiting;
use trefoil_runtime::{Event, EventKind, EventSink};
use trefoil_template::Value;

/// A sink that records the steps of a run.
#[derive(Default)]
pub struct Seen(Mutex<Told>);

/// What was recorded.
#[derive(Default, Clone)]
pub struct Told {
    /// The steps by key, in order: their names and outputs.
    pub steps: IndexMap<String, SeenStep>,
    /// Open questions.
    pub asks: Vec<Waiting>,
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
    fn told(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
                told.steps.entry(name()).or_insert_with(|| SeenStep { label: label.clone(), output: None });
            }
            EventKind::StepFinished { output, .. } => {
                if let Some(step) = told.steps.get_mut(key.as_str()) {
                    step.output = Some(output.clone());
                }
            }
            EventKind::SignalWanted { label, prompt, accepts, .. } => {
                told.asks.retain(|one| one.key != *key);
                let (step, prompt, accepts) = (label.clone(), Some(prompt.clone()), accepts.clone());
                told.asks.push(Waiting {
                    key: key.clone(),
                    step,
                    sort: "human",
                    run: None,
                    prompt,
                    call: None,
                    accepts,
                    why: None,
                });
            }
            EventKind::EffectFinished { .. } | EventKind::EffectFailed { .. } => {
                told.asks.retain(|one| one.key != *key);
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
        tell(EventKind::StepStarted { label: "a".to_owned(), kind: "agent" });
        assert!(seen.so_far().steps["a"].output.is_none());
        for output in ["one", "two"] {
            tell(EventKind::StepFinished { output: output.into(), items: None });
        }
        assert_eq!(seen.so_far().steps["a"].output, Some("two".into()));
    }
}
