//! The steps of a run and their outputs, to compare them with the next run; and the ends of its calls.

use indexmap::IndexMap;
use tokio::sync::mpsc::UnboundedSender;
use trefoil_runtime::{Event, EventKind, EventSink};
use trefoil_template::Value;
use trefoil_view::run_view::{RunView, StepState, StepView};

use super::DevEvent;

/// The steps by key, in order.
pub type StepOutputs = IndexMap<String, LabelledOutput>;

/// A step.
#[derive(Clone)]
pub struct LabelledOutput {
    /// Its name.
    pub label: String,
    /// Its last output, if it has one yet.
    pub output: Option<Value>,
}

/// The steps of a run that have started.
pub fn collect_step_outputs(view: &RunView) -> StepOutputs {
    let mut all = StepOutputs::new();
    let is_own = |step: &StepView| !step.is_inferred && !step.is_item && step.state != StepState::Skipped;
    for (_, step) in view.numbered_steps().filter(|(_, step)| is_own(step)) {
        let Some(key) = &step.key else { continue };
        let known = all.entry(key.to_string());
        let known = known.or_insert_with(|| LabelledOutput { label: step.label.to_string(), output: None });
        known.output = step.output.clone().or(known.output.take());
    }
    all
}

/// Reports whenever a call of a run has ended.
pub struct CallEndSink(pub UnboundedSender<DevEvent>);

impl EventSink for CallEndSink {
    fn receive_event(&self, event: &Event) {
        if let EventKind::EffectFinished { .. }
        | EventKind::EffectFailed { .. }
        | EventKind::ModelFinished { .. }
        | EventKind::ModelStopped { .. } = &event.kind
        {
            let _ = self.0.send(DevEvent::Ended);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_step_made_last_is_what_it_made() {
        let mut view = RunView::default();
        let mut tell = |kind| {
            let key = Some("a".into());
            view.apply_event(&Event { seq: 0, at_ms: 0, run: "r".into(), key, location: None, kind });
            collect_step_outputs(&view)["a"].output.clone()
        };
        let start = || EventKind::StepStarted { label: "a".into(), kind: "agent" };
        assert_eq!(tell(start()), None);
        for output in ["one", "two"] {
            assert_eq!(tell(EventKind::StepFinished { output: output.into(), items: None }), Some(output.into()));
        }
        assert_eq!(tell(start()), Some("two".into()));
    }
}
