//! What a state answers by itself when nobody does, while no transition is for that answer.
//!
//! The conditions are evaluated on the answer. One that reads anything else may hold.

use std::sync::Arc;

use trefoil_ir::{Cond, OnTimeout, SlotId, Source, StepKind, Takes};
use trefoil_syntax::Severity;
use trefoil_template::{Binding, Found, Scope, Value};

use crate::rule::{Context, Group, Rule, Run};

pub(super) const RULE: Rule = Rule {
    name: "unmatched-default",
    group: Group::Flow,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("unmatched_default.md"),
    run: Run::Declared(run),
};

fn run(cx: &mut Context<'_>) {
    let program = cx.model.program;
    for (machine, _) in cx.model.machines() {
        for state in &machine.states {
            let Some(step) = program.step(state.step).filter(|_| cx.model.reach().is_alive(state.step)) else {
                continue;
            };
            let (StepKind::Human(call), Some(slot)) = (&step.kind, step.out) else { continue };
            let (OnTimeout::Answer(answer), Some(at)) = (&call.on_timeout, call.answer_at) else { continue };
            let success = state.transitions.iter().filter(|t| t.takes != Takes::Failure);
            let mut conditions = success.map(|t| t.when.as_ref());
            if state.ends_unmatched
                || state.transitions.is_empty()
                || conditions.any(|when| may_hold(when, slot, answer))
            {
                continue;
            }
            let name = &state.name;
            let message =
                format!("no transition of `{name}` matches `{answer}`, so the run fails if nobody answers in time");
            let d = cx.finding(at, message);
            cx.report(d.help("add a transition for it, or one with `condition: always`"));
        }
    }
}

/// Whether a condition can hold when this is the answer.
fn may_hold(when: Option<&Cond>, slot: SlotId, answer: &Arc<str>) -> bool {
    let Some(cond) = when else { return true };
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
    !known || condition.evaluate(&Answered(values)).unwrap_or(true)
}

/// What a source of the state's own result holds; none: it is about something else.
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
    let output = serde_json::from_str::<Value>(answer.trim()).ok().filter(|v| v.as_object().is_some());
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
