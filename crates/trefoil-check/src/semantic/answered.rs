//! Conditions on a person's answer, evaluated with a certain answer as the state's result.

use std::sync::Arc;

use trefoil_ir::{Cond, SlotId, Source, Step, StepKind, Transition};
use trefoil_template::{Binding, Found, Scope, Value, read_json};

/// Whether the transitions of a step that asks a person accept yes and no. After any other answer the question is asked
/// again, which is intended.
pub fn is_yes_or_no(step: &Step, transitions: &[Transition]) -> bool {
    let (StepKind::Human(_), Some(slot)) = (&step.kind, step.out) else { return false };
    let accepts = |answer: &str| {
        let answer = Arc::from(answer);
        transitions.iter().any(|t| t.when.as_ref().is_some_and(|when| holds_for(when, slot, &answer) == Some(true)))
    };
    accepts("yes") && accepts("no")
}

/// Whether a condition holds for this answer; `None`: it also reads something else.
pub fn holds_for(cond: &Cond, slot: SlotId, answer: &Arc<str>) -> Option<bool> {
    let mut condition = cond.condition.clone();
    let mut values = Vec::new();
    let mut known = true;
    condition.bind(|reference| {
        let source = cond.sources.get(reference.binding.source as usize);
        let rest = reference.path.iter().skip(usize::from(reference.binding.skip)).map(|s| &*s.name);
        let value = source.and_then(|source| read(source, slot, answer));
        known &= value.is_some();
        let value =
            rest.fold(value.unwrap_or(Value::Null), |value, name| value.get(name).cloned().unwrap_or(Value::Null));
        values.push(value);
        Binding { source: values.len() as u32 - 1, skip: reference.path.len() as u16 }
    });
    known.then(|| condition.evaluate(&Answered(values)).ok()).flatten()
}

/// The value of a source in the state's own result; `None`: it is another value.
fn read(source: &Source, slot: SlotId, answer: &Arc<str>) -> Option<Value> {
    match source {
        Source::Slot(read) if *read == slot => Some(result(answer)),
        Source::Member(read, path) if *read == slot => {
            Some(path.iter().fold(result(answer), |value, name| value.get(name).cloned().unwrap_or(Value::Null)))
        }
        Source::Either(first, second) => match read(first, slot, answer)? {
            Value::Null => read(second, slot, answer),
            value => Some(value),
        },
        _ => None,
    }
}

/// The result of a state with this answer.
fn result(answer: &Arc<str>) -> Value {
    let text = Value::Str(answer.clone());
    let output = read_json::<Value>(answer.trim()).ok().filter(|v| v.as_object().is_some());
    let members = [("status", Value::from("success")), ("response", text.clone()), ("output", output.unwrap_or(text))];
    Value::Object(Arc::new(members.into_iter().map(|(key, value)| (Arc::from(key), value)).collect()))
}

struct Answered(Vec<Value>);

impl Scope for Answered {
    fn source(&self, source: u32) -> Found<'_> {
        match self.0.get(source as usize) {
            Some(value) => Found::Borrowed(value),
            None => Found::Owned(Value::Null),
        }
    }
}
