//! The type of an object to which several steps add members (the Blackboard of AEGIS). It starts with constants, and each
//! step merges its own members into it, so the types of the members are known even though the object refers to itself.
//!
//! A constant is not a promise: a run may start with another value of the same kind. So only the kind counts, not the value,
//! but for the words that steps write. Members that the input does not declare are expected to be other ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_ir::{Expr, Program, SlotId, Source, StepKind, types};
use trefoil_template::{Number, Value};

use super::writers::Writer;

/// The types that a member may have, and whether it exists from the start.
#[derive(Default)]
struct SharedMember {
    types: Vec<Value>,
    seeded: bool,
}

/// The type of a slot that starts with constants and otherwise is only merged into itself; `None` for any other slot. `slot_type`
/// and `expr_type` know the types of other slots and of expressions.
pub(super) fn shared_object(
    program: &Program,
    slot: SlotId,
    writers: &[Writer<'_>],
    slot_type: impl Fn(SlotId) -> Value,
    expr_type: impl Fn(&Expr) -> Value,
) -> Option<Value> {
    let mut members: BTreeMap<Arc<str>, SharedMember> = BTreeMap::new();
    let mut seeded = false;
    for writer in writers {
        let (layers, first) = layers_of(program, writer)?;
        seeded |= first;
        for layer in layers {
            let mut add = |name: &Arc<str>, schema: &Value, seeded: bool| {
                let member = members.entry(name.clone()).or_default();
                member.types.push(widened(schema, !seeded));
                member.seeded |= seeded;
            };
            match layer {
                Expr::Read(Source::Slot(own)) if *own == slot => {}
                Expr::Read(Source::Slot(other)) => {
                    let other = slot_type(*other);
                    let declared = other.get("properties").and_then(Value::as_object);
                    declared.into_iter().flatten().for_each(|(name, schema)| add(name, schema, false));
                }
                Expr::Const(Value::Object(all)) => {
                    all.iter().for_each(|(name, value)| add(name, &types::of_value(value), first));
                }
                Expr::Object(all) => all.iter().for_each(|(name, e)| add(name, &expr_type(e), first)),
                _ => return None,
            }
        }
    }
    let members = members.into_iter().map(|(name, member)| (name, types::union(member.types), !member.seeded));
    seeded.then(|| types::laid_over(members))
}

/// What a writer lays over the slot, and whether it is the start of the machine. `None`: it writes something else.
fn layers_of<'p>(program: &'p Program, writer: &Writer<'p>) -> Option<(&'p [Expr], bool)> {
    match writer {
        Writer::Value(Expr::Merge(layers)) => Some((layers, true)),
        Writer::Result(step) => match &program.step(*step)?.kind {
            StepKind::Compute(Expr::Merge(layers)) => Some((layers, false)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a text only marks a place, or reads as a number.
fn is_mark(text: &str) -> bool {
    text.is_empty() || text.trim().parse::<f64>().is_ok()
}

/// The value of a member that the start of a machine sets, unless a run starts with another one: no step writes it, and the
/// input does not declare it.
pub(super) fn seed<'p>(
    program: &'p Program,
    slot: SlotId,
    writers: &[Writer<'p>],
    path: &[&str],
    slot_type: impl Fn(SlotId) -> Value,
) -> Option<&'p Value> {
    let (name, rest) = path.split_first()?;
    let mut found = None;
    for writer in writers {
        let (layers, first) = layers_of(program, writer)?;
        for layer in layers {
            match layer {
                Expr::Read(Source::Slot(own)) if *own == slot => {}
                Expr::Read(Source::Slot(other)) => {
                    let other = slot_type(*other);
                    let declared = other.get("properties").and_then(Value::as_object);
                    if declared.is_some_and(|all| all.contains_key(*name)) {
                        return None;
                    }
                }
                Expr::Const(Value::Object(all)) if first => found = all.get(*name),
                Expr::Object(all) if !all.iter().any(|(key, _)| **key == **name) => {}
                _ => return None,
            }
        }
    }
    rest.iter().try_fold(found?, |value, name| value.get(name))
}

/// A type without the values of its constants, or with those that are words. Nothing is known of a constant that only marks a place: null, or empty.
/// Text that reads as a number may be compared as one.
fn widened(schema: &Value, words: bool) -> Value {
    if let Some(all) = types::alternatives(schema) {
        return types::union(all.iter().map(|one| widened(one, words)));
    }
    if let Some(value) = schema.get("const") {
        return match value {
            Value::Null => types::any(),
            Value::Str(text) if words && (text.is_empty() || !is_mark(text)) => schema.clone(),
            Value::Str(text) if text.is_empty() => types::any(),
            Value::Str(text) if is_mark(text) => types::answer(),
            Value::Number(Number::Int(_) | Number::UInt(_)) => types::of_kind("integer"),
            other => types::of_kind(types::kind(other)),
        };
    }
    if let Some(items) = schema.get("prefixItems").and_then(Value::as_list) {
        return match items {
            [] => types::of_kind("array"),
            items => types::list(types::union(items.iter().map(|one| widened(one, words)))),
        };
    }
    match schema.get("properties").and_then(Value::as_object) {
        Some(all) if schema.get("additionalProperties") == Some(&Value::Bool(false)) => match all.is_empty() {
            true => types::of_kind("object"),
            false => types::object(all.iter().map(|(name, inner)| (name.clone(), widened(inner, words), false)), true),
        },
        _ => schema.clone(),
    }
}
