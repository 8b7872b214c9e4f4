//! Objects that a template names as a whole, put together when they are read.

use std::sync::Arc;

use trefoil_ir::{Part, SlotId, Source};
use trefoil_template::Value;

use super::{Fixed, Names, Shape};
use crate::aegis::lower::pieces::{constant_object, path};

fn part(at: &[&str], slot: SlotId, member: &[&str]) -> Part {
    let names = |p: &[&str]| p.iter().map(|s| Arc::from(*s)).collect();
    Part { at: names(at), slot, member: names(member) }
}

/// The whole root, `this`: the Blackboard, the start input, the workflow and the results of the states.
pub(super) fn whole(names: &Names) -> Source {
    let fixed = names.fixed;
    let seed = constant_object([(Arc::from("workflow"), identity(names))]);
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
        parts.extend(measures(&state.shape, &[&state.name], state.slot));
    }
    Source::Compose { seed, parts }
}

/// `{{json STATE}}`: the result with the score beside it.
pub(super) fn state(shape: &Shape, slot: SlotId) -> Source {
    let mut parts = vec![part(&[], slot, &[])];
    parts.extend(measures(shape, &[], slot));
    Source::Compose { seed: constant_object([]), parts }
}

/// An agent's verdict has its numbers in the answer; templates find them beside it too.
fn measures(shape: &Shape, at: &[&str], slot: SlotId) -> Vec<Part> {
    if *shape != Shape::Agent {
        return Vec::new();
    }
    ["score", "confidence"]
        .into_iter()
        .map(|what| {
            let at: Vec<&str> = at.iter().copied().chain([what]).collect();
            part(&at, slot, &["output", what])
        })
        .collect()
}

/// `workflow` as a whole.
pub(super) fn workflow(names: &Names) -> Source {
    let parts = vec![part(&["context"], names.fixed.blackboard, &[]), part(&["task"], names.fixed.input, &["task"])];
    Source::Compose { seed: identity(names), parts }
}

fn identity(names: &Names) -> Value {
    constant_object([
        (Arc::from("name"), Value::Str(names.workflow.clone())),
        (Arc::from("version"), Value::Str(names.version.clone())),
    ])
}

/// `state` as a whole.
pub(super) fn feedback(fixed: Fixed) -> Source {
    let feedback = Part { at: path(["feedback"]), slot: fixed.feedback, member: Vec::new() };
    Source::Compose { seed: constant_object([]), parts: vec![feedback] }
}
