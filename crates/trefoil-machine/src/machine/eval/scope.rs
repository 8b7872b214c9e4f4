//! The values of a template's or condition's references: one arm for each [`Source`].

use std::sync::Arc;

use trefoil_ir::{ComposedPart, Source};
use trefoil_template::{HoleKind, HoleQuestion, MissingCause, Reference, SourceValue, Value, ValueObject, ValueScope};

use super::EvalContext;
use crate::machine::activation::value_member;

/// The scope of one template or condition.
pub struct EvalScope<'a> {
    context: &'a EvalContext<'a>,
    sources: &'a [Source],
    references: &'a [Reference],
}

impl<'a> EvalScope<'a> {
    /// A scope for these sources and references.
    pub fn new(context: &'a EvalContext<'a>, sources: &'a [Source], references: &'a [Reference]) -> Self {
        Self { context, sources, references }
    }
}

impl ValueScope for EvalScope<'_> {
    fn source_value(&self, index: u32) -> SourceValue<'_> {
        match self.sources.get(index as usize) {
            Some(Source::Slot(slot)) => {
                if let Some(value) = self.context.activations.read_slot(self.context.activation, *slot) {
                    return SourceValue::Borrowed(value);
                }
                SourceValue::Missing(MissingCause::Key(self.skip(index)))
            }
            Some(source) => find_source(self.context, source, self.skip(index)),
            None => SourceValue::Missing(MissingCause::Key(0)),
        }
    }

    fn known_answer(&self, question: &HoleQuestion) -> Option<bool> {
        self.context.decision(question)
    }
}

impl EvalScope<'_> {
    /// The index of the missing segment if a source has no value: the first one after those that the source covers.
    fn skip(&self, index: u32) -> u16 {
        match self.references.iter().find(|reference| reference.binding.source == index) {
            Some(reference) => reference.binding.skip.min((reference.path.len() as u16).saturating_sub(1)),
            None => 0,
        }
    }
}

/// The value of a source.
pub fn find_source<'a>(context: &'a EvalContext<'_>, source: &'a Source, skip: u16) -> SourceValue<'a> {
    let slot = |slot| context.activations.read_slot(context.activation, slot);
    let member = |id, path: &[Arc<str>]| value_member(slot(id)?, path);
    let missing = || SourceValue::Missing(MissingCause::Key(skip));
    let borrowed = |value: Option<&'a Value>| match value {
        Some(value) => SourceValue::Borrowed(value),
        None => missing(),
    };
    match source {
        Source::Slot(id) => borrowed(slot(*id)),
        Source::Member(id, path) => borrowed(member(*id, path)),
        Source::Layered { top, path, under } => {
            let Some(top) = member(*top, path) else { return missing() };
            match slot(*under) {
                Some(under) if !under.is_null() => SourceValue::Layered { top: top.clone(), under: under.clone() },
                _ => SourceValue::Borrowed(top),
            }
        }
        Source::Either(first, second) => SourceValue::Either(
            Box::new(find_source(context, first, skip)),
            Box::new(find_source(context, second, skip)),
        ),
        Source::Compose { seed, parts } => SourceValue::Owned(compose_slots(context, seed, parts)),
        Source::Const(value) => SourceValue::Borrowed(value),
        Source::Environment => SourceValue::Opaque(HoleKind::Env),
        Source::Secrets => SourceValue::Opaque(HoleKind::Secret),
        Source::RunId => SourceValue::Owned(Value::Str(context.run.clone())),
        Source::Spent(slots) => SourceValue::Owned(spent(context, slots)),
        Source::Result => borrowed(context.result),
        Source::Failure => match context.failure {
            Some(text) => SourceValue::Owned(Value::from(text)),
            None => missing(),
        },
        Source::Missing(why, _) => SourceValue::Missing(why.clone()),
    }
}

/// A found value as an owned value, without a rest of the path.
pub fn found_value(found: SourceValue<'_>) -> Option<Value> {
    match found {
        SourceValue::Borrowed(value) => Some(value.clone()),
        SourceValue::Owned(value) | SourceValue::Layered { top: value, .. } => Some(value),
        SourceValue::Either(first, second) => found_value(*first).or_else(|| found_value(*second)),
        SourceValue::Opaque(_) | SourceValue::Missing(_) => None,
    }
}

/// An object composed of slots.
pub fn compose_slots(context: &EvalContext<'_>, seed: &Value, parts: &[ComposedPart]) -> Value {
    let mut root = seed.clone();
    for part in parts {
        let Some(value) = context.activations.read_slot(context.activation, part.slot) else { continue };
        let Some(value) = value_member(value, &part.member) else { continue };
        lay(&mut root, &part.at, value);
    }
    root
}

/// Puts a value at a path of an object. A value in the way that is not an object is replaced.
fn lay(root: &mut Value, at: &[Arc<str>], value: &Value) {
    let mut members = match std::mem::take(root) {
        Value::Object(object) => Arc::unwrap_or_clone(object),
        _ => ValueObject::default(),
    };
    match at {
        [] => {
            if let Value::Object(laid) = value {
                members.extend(laid.iter().map(|(key, member)| (key.clone(), member.clone())));
            }
        }
        [name] => {
            members.insert(name.clone(), value.clone());
        }
        [name, rest @ ..] => lay(members.entry(name.clone()).or_default(), rest, value),
    }
    *root = Value::from(members);
}

fn spent(context: &EvalContext<'_>, slots: &[trefoil_ir::SlotId]) -> Value {
    let mut total: u64 = 0;
    if let Some(call) = context.activations.flow_call(context.activation) {
        if slots.is_empty() {
            total = call.used.sum_with(call.kept).tokens;
        }
        for (slot, tokens) in &call.spent {
            if slots.contains(slot) {
                total = total.saturating_add(*tokens);
            }
        }
    }
    [("total_tokens", Value::from(total)), ("estimated_usd", Value::from(0.0))].into_iter().collect()
}
