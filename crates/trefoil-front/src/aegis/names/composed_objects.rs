//! Objects that a template can print as a whole; they are composed when they are read.

use std::sync::Arc;

use trefoil_ir::{ComposedPart, SlotId, Source};
use trefoil_template::{Value, ValueObject};

use super::spelling::name_path;
use super::workflow_names::{StateResultForm, WorkflowNames, WorkflowSlots};

fn part(at: &[&str], slot: SlotId, member: &[&str]) -> ComposedPart {
    ComposedPart { at: name_path(at), slot, member: name_path(member) }
}

fn object(entries: impl IntoIterator<Item = (Arc<str>, Value)>) -> Value {
    Value::Object(Arc::new(entries.into_iter().collect::<ValueObject>()))
}

/// The whole root, `this`: the Blackboard, the start input, the workflow and the results of the states.
pub fn compose_root(names: &WorkflowNames) -> Source {
    let fixed = names.fixed;
    let seed = object([(Arc::from("workflow"), identity(names))]);
    let mut parts = vec![
        part(&[], fixed.blackboard, &[]),
        part(&["workflow", "context"], fixed.blackboard, &[]),
        part(&["workflow", "task"], fixed.input, &["task"]),
        part(&["input"], fixed.raw, &[]),
        part(&["state", "feedback"], fixed.feedback, &[]),
        part(&["previous_error"], fixed.previous_error, &[]),
    ];
    for state in &names.states {
        parts.push(part(&[&state.name], state.slot, &[]));
        parts.extend(measures(&state.outcome, &[&state.name], state.slot));
    }
    Source::Compose { seed, parts }
}

/// `{{json STATE}}`: the result, with the score added.
pub fn compose_state(outcome: &StateResultForm, slot: SlotId) -> Source {
    let mut parts = vec![part(&[], slot, &[])];
    parts.extend(measures(outcome, &[], slot));
    Source::Compose { seed: object([]), parts }
}

/// The numbers of a verdict are in the agent's answer; templates also find them next to it.
fn measures(outcome: &StateResultForm, at: &[&str], slot: SlotId) -> Vec<ComposedPart> {
    if *outcome != StateResultForm::Agent {
        return Vec::new();
    }
    let of = |what: &str| part(&at.iter().copied().chain([what]).collect::<Vec<_>>(), slot, &["output", what]);
    ["score", "confidence"].into_iter().map(of).collect()
}

/// `workflow` as a whole.
pub fn compose_workflow(names: &WorkflowNames) -> Source {
    let parts = vec![part(&["context"], names.fixed.blackboard, &[]), part(&["task"], names.fixed.input, &["task"])];
    Source::Compose { seed: identity(names), parts }
}

fn identity(names: &WorkflowNames) -> Value {
    object([
        (Arc::from("name"), Value::Str(names.workflow.clone())),
        (Arc::from("version"), Value::Str(names.version.clone())),
    ])
}

/// `state` as a whole.
pub fn compose_feedback(fixed: WorkflowSlots) -> Source {
    Source::Compose { seed: object([]), parts: vec![part(&["feedback"], fixed.feedback, &[])] }
}
