//! The values of a template's or condition's references: one arm for each [`Source`].

use std::sync::Arc;

use trefoil_ir::{ComposedPart, Source};
use trefoil_template::{Found, HoleKind, Missing, Object, Question, Reference, Scope, Value};

use super::Context;
use crate::machine::activation::member;

/// The scope of one template or condition.
pub struct EvalScope<'a> {
    context: &'a Context<'a>,
    sources: &'a [Source],
    references: &'a [Reference],
}

impl<'a> EvalScope<'a> {
    /// A scope for these sources and references.
    pub fn new(context: &'a Context<'a>, sources: &'a [Source], references: &'a [Reference]) -> Self {
        Self { context, sources, references }
    }
}

impl Scope for EvalScope<'_> {
    fn source(&self, index: u32) -> Found<'_> {
        match self.sources.get(index as usize) {
            Some(Source::Slot(slot)) => {
                if let Some(value) = self.context.activations.read(self.context.activation, *slot) {
                    return Found::Borrowed(value);
                }
                Found::Missing(Missing::Key(self.skip(index)))
            }
            Some(source) => find(self.context, source, self.skip(index)),
            None => Found::Missing(Missing::Key(0)),
        }
    }

    fn decided(&self, question: &Question) -> Option<bool> {
        self.context.decision(question)
    }
}

impl EvalScope<'_> {
    /// The index of the missing segment if a source has no value: the first one after those that the source covers.
    fn skip(&self, index: u32) -> u16 {
        let reference = self.references.iter().find(|r| r.binding.source == index);
        reference.map_or(0, |r| r.binding.skip.min((r.path.len() as u16).saturating_sub(1)))
    }
}

/// The value of a source.
pub fn find<'a>(context: &'a Context<'_>, source: &'a Source, skip: u16) -> Found<'a> {
    let slot = |slot| context.activations.read(context.activation, slot);
    let missing = || Found::Missing(Missing::Key(skip));
    match source {
        Source::Slot(id) => slot(*id).map_or_else(missing, Found::Borrowed),
        Source::Member(id, path) => slot(*id).and_then(|v| member(v, path)).map_or_else(missing, Found::Borrowed),
        Source::Layered { top, path, under } => {
            let Some(top) = slot(*top).and_then(|v| member(v, path)) else { return missing() };
            match slot(*under) {
                Some(under) if !under.is_null() => Found::Layered { top: top.clone(), under: under.clone() },
                _ => Found::Borrowed(top),
            }
        }
        Source::Either(first, second) => {
            Found::Either(Box::new(find(context, first, skip)), Box::new(find(context, second, skip)))
        }
        Source::Compose { seed, parts } => Found::Owned(composed(context, seed, parts)),
        Source::Const(value) => Found::Borrowed(value),
        Source::Environment => Found::Opaque(HoleKind::Env),
        Source::Secrets => Found::Opaque(HoleKind::Secret),
        Source::RunId => Found::Owned(Value::Str(context.run.clone())),
        Source::Spent(slots) => Found::Owned(spent(context, slots)),
        Source::Result => context.result.map_or_else(missing, Found::Borrowed),
        Source::Failure => context.failure.map_or_else(missing, |text| Found::Owned(Value::from(text))),
        Source::Missing(why, _) => Found::Missing(why.clone()),
    }
}

/// A found value as an owned value, without a rest of the path.
pub fn whole(found: Found<'_>) -> Option<Value> {
    match found {
        Found::Borrowed(value) => Some(value.clone()),
        Found::Owned(value) | Found::Layered { top: value, .. } => Some(value),
        Found::Either(first, second) => whole(*first).or_else(|| whole(*second)),
        Found::Opaque(_) | Found::Missing(_) => None,
    }
}

/// An object composed of slots.
pub fn composed(context: &Context<'_>, seed: &Value, parts: &[ComposedPart]) -> Value {
    let mut root = seed.clone();
    for part in parts {
        let value = context.activations.read(context.activation, part.slot);
        let Some(value) = value.and_then(|v| member(v, &part.member)) else { continue };
        lay(&mut root, &part.at, value);
    }
    root
}

/// Puts a value at a path of an object. A value in the way that is not an object is replaced.
fn lay(root: &mut Value, at: &[Arc<str>], value: &Value) {
    let mut members = match std::mem::take(root) {
        Value::Object(object) => Arc::unwrap_or_clone(object),
        _ => Object::default(),
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

fn spent(context: &Context<'_>, slots: &[trefoil_ir::SlotId]) -> Value {
    let call = context.activations.call(context.activation);
    let tokens = call.map_or(0, |call| match slots {
        [] => call.used.and(call.kept).tokens,
        slots => call
            .spent
            .iter()
            .filter(|(slot, _)| slots.contains(slot))
            .fold(0u64, |all, (_, tokens)| all.saturating_add(*tokens)),
    });
    [("total_tokens", Value::from(tokens)), ("estimated_usd", Value::from(0.0))].into_iter().collect()
}
