//! The steps of a pipeline: their keys, callees and texts.

use std::sync::Arc;

use trefoil_ir::Position;
use trefoil_ir::types::Type;

use super::subject::{AgentOutcome, Subject};
use super::{Texts, Units, declare};
use crate::agntz::ids::{AgentRef, state_key};
use crate::agntz::manifest::{OutputMap, Pipeline, Target};
use crate::agntz::names::{AgentNames, At, Order, Purpose, StepName};
use crate::agntz::signature::Exported;
use crate::build::FlowSlots;
use crate::learn;
use crate::names::Members;
use crate::read::Reader;

/// The order in which the steps of a pipeline run.
pub fn order(pipeline: &Pipeline<'_>, parallel: bool) -> Order {
    match (parallel, pipeline.until) {
        (true, _) => Order::Parallel,
        (false, Some(_)) => Order::Loop,
        (false, None) => Order::Once,
    }
}

/// Determines the names of the steps.
pub fn name(
    units: &Units<'_>,
    reader: &Reader<'_>,
    pipeline: &Pipeline<'_>,
    names: &mut AgentNames,
    slots: &mut FlowSlots,
) {
    for (i, step) in pipeline.steps.iter().enumerate() {
        let id = match &step.target {
            Target::Ref(text) => units.meant(AgentRef::parse(&text.value).map_or(&*text.value, |r| r.id)),
            Target::Inline(agent) => agent.name(),
            Target::Nobody => "",
        };
        let chosen = step.chosen_key();
        let key: Arc<str> = match chosen {
            Some(text) => text.value.clone(),
            // steps without a callee (reported) must not collide with each other
            None if id.is_empty() => format!("step {}", i + 1).into(),
            None => state_key(id).into(),
        };
        let alias = (chosen.is_none() && id != &*key && !id.is_empty()).then(|| Arc::from(id));
        let before = names.named(&key).first().copied();
        let slot = before.and_then(|b| names.steps.get(b)).map_or_else(|| slots.add(key.clone()), |s| s.slot);
        let at = match (chosen, &step.target) {
            (Some(text), _) => text.content(),
            (None, Target::Ref(text)) => {
                let start = text.value.find(id).unwrap_or(0);
                text.source(start as u32..(start + id.len()) as u32)
            }
            (None, Target::Inline(agent)) => agent.id.map_or(agent.head, |t| t.content()),
            (None, Target::Nobody) => step.span,
        };
        let when = step.when.map(|t| t.value.clone());
        let by_ref = chosen.is_none() && matches!(step.target, Target::Ref(_));
        let at = reader.at(at);
        names.add(StepName { at, key, alias, id: id.into(), slot, exports: None, callee: None, when, by_ref });
    }
}

/// Binds the texts of a pipeline, and determines its result.
pub fn outcome(
    reader: &Reader<'_>,
    subject: &Subject<'_, '_>,
    pipeline: &Pipeline<'_>,
    names: &Arc<AgentNames>,
    texts: &mut Texts,
) -> AgentOutcome {
    for (index, (step, name)) in pipeline.steps.iter().zip(&names.steps).enumerate() {
        let at = At::Step(index);
        step.when.into_iter().for_each(|t| texts.bind(reader, names, t, (at, Purpose::Condition, Position::Condition)));
        let unused = |position| {
            (at, if position == Position::Condition { Purpose::Condition } else { Purpose::Unused }, position)
        };
        step.misplaced_when.into_iter().for_each(|t| texts.bind(reader, names, t, unused(Position::Condition)));
        step.misplaced_input.iter().for_each(|t| texts.bind(reader, names, t, unused(Position::Data)));
        let map = step.input.as_deref().unwrap_or_default();
        for (key, value) in map {
            if let Some(declared) = name.callee.as_ref().and_then(|c| c.inputs.members.place(&key.value)) {
                learn::names(reader, key, Some(declared));
            }
            let keys = map.iter().map(|(k, _)| &k.value);
            let reaches_model = name.callee.as_ref().is_some_and(|c| c.prompted.reaches(&key.value, keys));
            let purpose = if reaches_model { Purpose::Prompt } else { Purpose::Data };
            texts.bind(reader, names, value, (at, purpose, Position::Data));
        }
    }
    let until = pipeline.until.filter(|_| names.order == Order::Loop);
    until.into_iter().for_each(|t| texts.bind(reader, names, t, (At::End, Purpose::Condition, Position::Condition)));
    let (schema, members) = match &pipeline.output {
        Some(map) => {
            let schema = self::output(reader, names, map, texts);
            let members = declare::output(reader, map, &schema, subject.at);
            (schema, members)
        }
        None => (own_output(names), own_members(names)),
    };
    AgentOutcome { exported: exported(names), members, ..AgentOutcome::of(schema) }
}

/// The type of a pipeline's own output: that of its last step, or an object of all branches.
fn own_output(names: &AgentNames) -> Type {
    match names.order {
        Order::Parallel => Type::fields(names.steps.iter().map(|s| (s.key.clone(), step_type(names, s)))),
        Order::Once | Order::Loop => names.steps.last().map_or(Type::Any, |s| step_type(names, s)),
    }
}

/// Where the members of a pipeline's own output are declared.
fn own_members(names: &AgentNames) -> Members {
    let of = |s: &StepName| s.callee.as_ref().map(|c| c.members.clone()).unwrap_or_default();
    match names.order {
        Order::Parallel => Members::of(names.steps.iter().map(|s| (s.key.clone(), Some(s.at), of(s))).collect()),
        Order::Once | Order::Loop => names.steps.last().map(of).unwrap_or_default(),
    }
}

/// What is known about a step's output; nothing if two steps share a key.
fn step_type(names: &AgentNames, step: &StepName) -> Type {
    let alone = names.named(&step.key).len() == 1;
    step.callee.as_ref().filter(|_| alone).map_or(Type::Any, |c| c.output.clone())
}

/// The inner results that callers can read.
fn exported(names: &AgentNames) -> Vec<Exported> {
    let own = names.steps.iter().enumerate();
    // A later step with the same key replaces it.
    let own = own.filter(|(i, step)| names.named(&step.key).last() == Some(i)).map(|(_, step)| step);
    own.map(|step| Exported {
        key: step.key.clone(),
        alias: step.alias.clone(),
        schema: step_type(names, step),
        at: Some(step.at),
        members: step.callee.as_ref().map(|c| c.members.clone()).unwrap_or_default(),
        inner: step.callee.clone().filter(|c| c.is_pipeline),
    })
    .collect()
}

/// Binds the texts of an output map and determines its type.
pub fn output(reader: &Reader<'_>, names: &Arc<AgentNames>, output: &OutputMap<'_>, texts: &mut Texts) -> Type {
    match output {
        OutputMap::Text(source) => {
            texts.bind(reader, names, source, (At::End, Purpose::Data, Position::Data));
            texts.value_type(source, At::End)
        }
        OutputMap::Map(entries) => {
            let members = entries.iter().map(|(key, inner)| {
                let schema = self::output(reader, names, inner, texts);
                (key.value.clone(), schema)
            });
            Type::fields(members.collect::<Vec<_>>())
        }
    }
}
