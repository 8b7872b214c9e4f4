//! Conditions on a person's answer, evaluated with a certain answer as the state's result.

use std::sync::Arc;

use trefoil_ir::solver::ConditionCases;
use trefoil_ir::{BoundCondition, SlotId, StateTransition, Step, StepKind};
use trefoil_template::{Value, read_json};

/// Whether the transitions of a step that asks a person accept yes and no. After any other answer the question is asked
/// again, which is intended.
pub fn is_yes_or_no(step: &Step, transitions: &[StateTransition]) -> bool {
    let (StepKind::Human(_), Some(slot)) = (&step.kind, step.out) else { return false };
    let accepts = |answer: &str| {
        let answer = Arc::from(answer);
        transitions.iter().any(|t| t.when.as_ref().is_some_and(|when| holds_for(when, slot, &answer) == Some(true)))
    };
    accepts("yes") && accepts("no")
}

/// Whether a condition holds for this answer; `None`: it also reads something else.
pub fn holds_for(cond: &BoundCondition, slot: SlotId, answer: &Arc<str>) -> Option<bool> {
    let result = result(answer);
    let known = |read, path: &[Arc<str>]| {
        let value = path.iter().try_fold(&result, |value, name| value.get(name));
        (read == slot).then(|| value.cloned().unwrap_or(Value::Null))
    };
    ConditionCases::new([cond], &known)?.known_outcome(0)
}

/// The result of a state with this answer.
fn result(answer: &Arc<str>) -> Value {
    let text = Value::Str(answer.clone());
    let output = read_json::<Value>(answer.trim()).ok().filter(|v| v.as_object().is_some());
    let members = [("status", Value::from("success")), ("response", text.clone()), ("output", output.unwrap_or(text))];
    Value::Object(Arc::new(members.into_iter().map(|(key, value)| (Arc::from(key), value)).collect()))
}
