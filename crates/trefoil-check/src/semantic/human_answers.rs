//! Conditions on a person's answer, evaluated with a certain answer as the state's result.

use std::sync::Arc;

use trefoil_ir::solver::ConditionCases;
use trefoil_ir::{BoundCondition, SlotId, StateTransition, Step, StepKind};
use trefoil_template::{Value, read_json};

use super::paths::{member_names, value_at_path};

/// Whether the transitions of a step that asks a person accept yes and no. After any other answer the question is asked
/// again, which is intended.
pub fn is_yes_or_no(step: &Step, transitions: &[StateTransition]) -> bool {
    let (StepKind::Human(_), Some(slot)) = (&step.kind, step.out) else { return false };
    accept(transitions, slot, "yes") && accept(transitions, slot, "no")
}

fn accept(transitions: &[StateTransition], slot: SlotId, answer: &str) -> bool {
    let answer = Arc::from(answer);
    for transition in transitions {
        if let Some(when) = &transition.when
            && holds_for(when, slot, &answer) == Some(true)
        {
            return true;
        }
    }
    false
}

/// Whether a condition holds for this answer; `None`: it also reads something else.
pub fn holds_for(cond: &BoundCondition, slot: SlotId, answer: &Arc<str>) -> Option<bool> {
    let result = result(answer);
    let known = |read, path: &[Arc<str>]| {
        if read != slot {
            return None;
        }
        let value = value_at_path(&result, &member_names(path));
        Some(value.cloned().unwrap_or(Value::Null))
    };
    ConditionCases::new([cond], &known)?.known_outcome(0)
}

/// The result of a state with this answer.
fn result(answer: &Arc<str>) -> Value {
    let text = Value::Str(answer.clone());
    let output = match read_json::<Value>(answer.trim()) {
        Ok(object @ Value::Object(_)) => object,
        _ => text.clone(),
    };
    let members = [("status", Value::from("success")), ("response", text), ("output", output)];
    Value::Object(Arc::new(members.into_iter().map(|(key, value)| (Arc::from(key), value)).collect()))
}
