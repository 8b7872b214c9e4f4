//! The type of an object to which several steps add members (the Blackboard of AEGIS). It starts with constants, and each
//! step merges its own members into it, so the types of the members are known even though the object refers to itself.
//!
//! A constant is not a promise: a run may start with another value of the same kind. So only the kind counts, not the value,
//! but for the words that steps write. Members that the input does not declare are expected to be other ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_ir::types::{OtherMembers, ValueKind, ValueKinds, ValueType};
use trefoil_ir::{Program, SlotId, Source, StepKind, ValueExpression};
use trefoil_template::{Value, ValueNumber};

use super::paths::value_at_path;
use super::writers::SlotWriter;

/// The types that a member may have, and whether it exists from the start.
#[derive(Default)]
struct SharedMember {
    types: Vec<ValueType>,
    seeded: bool,
}

/// The type of a slot that starts with constants and otherwise is only merged into itself; `None` for any other slot. `slot_type`
/// and `expr_type` know the types of other slots and of expressions.
pub(super) fn shared_object(
    program: &Program,
    slot: SlotId,
    writers: &[SlotWriter<'_>],
    slot_type: impl Fn(SlotId) -> ValueType,
    expr_type: impl Fn(&ValueExpression) -> ValueType,
) -> Option<ValueType> {
    let mut members: BTreeMap<Arc<str>, SharedMember> = BTreeMap::new();
    let mut seeded = false;
    for writer in writers {
        let (layers, first) = layers_of(program, writer)?;
        seeded |= first;
        for layer in layers {
            let mut add = |name: &Arc<str>, of: &ValueType, seeded: bool| {
                let member = members.entry(name.clone()).or_default();
                member.types.push(widened(of, !seeded));
                member.seeded |= seeded;
            };
            match layer {
                ValueExpression::Read(Source::Slot(own)) if *own == slot => {}
                ValueExpression::Read(Source::Slot(other)) => {
                    let other = slot_type(*other);
                    for (name, of) in other.object_members() {
                        add(name, of, false);
                    }
                }
                ValueExpression::Const(Value::Object(all)) => {
                    for (name, value) in all.iter() {
                        add(name, &ValueType::of_value(value), first);
                    }
                }
                ValueExpression::Object(all) => {
                    for (name, expr) in all {
                        add(name, &expr_type(expr), first);
                    }
                }
                _ => return None,
            }
        }
    }
    if !seeded {
        return None;
    }
    let members = members.into_iter().map(|(name, member)| (name, ValueType::union_of(member.types), !member.seeded));
    Some(ValueType::object_of(members, OtherMembers::Beneath))
}

/// What a writer lays over the slot, and whether it is the start of the machine. `None`: it writes something else.
fn layers_of<'p>(program: &'p Program, writer: &SlotWriter<'p>) -> Option<(&'p [ValueExpression], bool)> {
    match writer {
        SlotWriter::Value(ValueExpression::Merge(layers)) => Some((layers, true)),
        SlotWriter::Result(step) => match &program.steps[*step].kind {
            StepKind::Compute(ValueExpression::Merge(layers)) => Some((layers, false)),
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
pub(super) fn seed_value<'p>(
    program: &'p Program,
    slot: SlotId,
    writers: &[SlotWriter<'p>],
    path: &[&str],
    slot_type: impl Fn(SlotId) -> ValueType,
) -> Option<&'p Value> {
    let (name, rest) = path.split_first()?;
    let mut found = None;
    for writer in writers {
        let (layers, first) = layers_of(program, writer)?;
        for layer in layers {
            match layer {
                ValueExpression::Read(Source::Slot(own)) if *own == slot => {}
                ValueExpression::Read(Source::Slot(other)) => {
                    let other = slot_type(*other);
                    if let Some(object) = other.as_object()
                        && object.members.contains_key(*name)
                    {
                        return None;
                    }
                }
                ValueExpression::Const(Value::Object(all)) if first => found = all.get(*name),
                ValueExpression::Object(all) if !all.iter().any(|(key, _)| **key == **name) => {}
                _ => return None,
            }
        }
    }
    value_at_path(found?, rest)
}

/// A type without the values of its constants, or with those that are words. Nothing is known of a constant that only marks a place: null, or empty.
/// Text that reads as a number may be compared as one.
fn widened(of: &ValueType, words: bool) -> ValueType {
    if let Some(all) = of.type_alternatives() {
        return ValueType::union_of(all.iter().map(|one| widened(one, words)));
    }
    if let Some(value) = of.constant_value() {
        return match value {
            Value::Null => ValueType::Any,
            Value::Str(text) if words && (text.is_empty() || !is_mark(text)) => of.clone(),
            Value::Str(text) if text.is_empty() => ValueType::Any,
            Value::Str(text) if is_mark(text) => ValueType::Answer,
            Value::Number(ValueNumber::Int(_) | ValueNumber::UInt(_)) => ValueType::INTEGER,
            other => ValueType::Kinds(ValueKinds::from_kind(ValueKind::from_value(other))),
        };
    }
    if let Some(list) = of.as_list() {
        return match list.first.as_slice() {
            [] if list.most == Some(0) => ValueType::LIST,
            [] => of.clone(),
            items => ValueType::list_of(ValueType::union_of(items.iter().map(|one| widened(one, words)))),
        };
    }
    match of.as_object() {
        Some(object) if object.is_closed() && object.members.is_empty() => ValueType::OBJECT,
        Some(object) if object.is_closed() => {
            let members = object.members.iter().map(|(name, inner)| (name.clone(), widened(inner, words), false));
            ValueType::object_of(members, OtherMembers::None)
        }
        _ => of.clone(),
    }
}
