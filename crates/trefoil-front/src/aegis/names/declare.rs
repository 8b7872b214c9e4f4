//! The declarations of a unit, as facts for editors.

use std::sync::Arc;

use trefoil_ir::types::Type;
use trefoil_ir::{DeclarationKind, Impossible, Lead};
use trefoil_syntax::{Location, suggest};

use super::known::WorkflowNames;
use super::result;
use super::workflow::writes;
use crate::Reader;
use crate::aegis::manifest::agent::Agent;
use crate::aegis::manifest::execution::ValidatorKindSpec;
use crate::aegis::manifest::schema::JsonSchema;
use crate::aegis::manifest::workflow::Workflow;
use crate::learn::{self, declare};
use crate::names::places;

/// Records the properties of a schema.
fn properties(reader: &Reader<'_>, schema: Option<&JsonSchema>, kind: DeclarationKind, parent: Location) {
    if let Some(schema) = schema {
        learn::properties(reader, &schema.node, &schema.of, false, kind, parent);
    }
}

/// Records transitions whose target is not a state. If the target resembles a state, that one was probably meant;
/// otherwise any state may have been.
fn declare_leads(reader: &Reader<'_>, workflow: &Workflow, names: &WorkflowNames) {
    let near = |word: &str| names.index(suggest::near(word, names.state_names())?.name);
    let place = |state: usize| names.states.get(state).map(|named| named.span);
    let lead = |from: Location, target: Option<&str>| {
        if target.is_some_and(|target| names.index(target).is_some()) {
            return None;
        }
        Some(Lead { from, to: target.and_then(near).and_then(place) })
    };
    let initial =
        workflow.initial.iter().filter_map(|text| lead(reader.at(workflow.identity.span), Some(&*text.value)));
    let states = workflow.states.iter().zip(&names.states).flat_map(|(state, named)| {
        let written = state.written().iter().map(|t| t.target.as_ref().map(|text| &*text.value));
        let lost = state.lost.iter().map(|target| Some(&**target));
        let lost = lost.map(|target| (target, true)).chain(written.map(|target| (target, false)));
        lost.filter_map(|(target, lost)| match target.and_then(|target| names.index(target)).filter(|_| lost) {
            Some(state) => Some(Lead { from: named.span, to: place(state) }),
            None => lead(named.span, target),
        })
    });
    initial.chain(states).for_each(|lead| reader.facts(|f| f.lead(lead)));
}

/// Records conditions that can never hold for the result of their state.
fn declare_impossible(reader: &Reader<'_>, workflow: &Workflow, names: &WorkflowNames) {
    for (state, named) in workflow.states.iter().zip(&names.states) {
        for transition in state.written() {
            let Some(condition) = &transition.condition else { continue };
            let Some(why) = named.never_holds(condition) else { continue };
            let word = condition.describe();
            let word = word.split(' ').next().unwrap_or_default().into();
            reader.facts(|f| f.impossible(Impossible { at: reader.at(transition.at), word, why }));
        }
    }
}

/// Records the declarations of a workflow.
pub fn declare_workflow(reader: &Reader<'_>, workflow: &Workflow, names: &Arc<WorkflowNames>) {
    if !reader.wants_facts() {
        return;
    }
    declare_leads(reader, workflow, names);
    declare_impossible(reader, workflow, names);
    let whole = reader.at(workflow.identity.at);
    let output = workflow.output_schema.as_ref().map_or(Type::Any, |s| s.of.clone());
    if !workflow.identity.name.is_empty() {
        let note = format!("a workflow of {}", learn::counted(workflow.states.len(), "state"));
        let place = (whole, workflow.whole, None);
        declare(reader, DeclarationKind::Workflow, workflow.identity.name.clone(), place, output, &note);
    }
    properties(reader, workflow.input_schema.as_ref(), DeclarationKind::Input, whole);
    properties(reader, workflow.output_schema.as_ref(), DeclarationKind::Property, whole);
    declare_output(reader, workflow, whole);
    for (key, _) in &workflow.context {
        let schema = names.keys.get(&key.value).map_or(Type::Any, |k| k.schema.clone());
        let place = (reader.at(key.content()), key.span, Some(whole));
        declare(reader, DeclarationKind::Key, key.value.clone(), place, schema, "in the context");
    }
    for (index, (state, named)) in workflow.states.iter().zip(&names.states).enumerate() {
        if !state.name.is_empty() {
            let entry = result::entry(names, index, 1);
            let place = (named.at, state.whole, Some(whole));
            declare(
                reader,
                DeclarationKind::State,
                state.name.clone(),
                place,
                entry.schema,
                &entry.note.unwrap_or_default(),
            );
        }
        for (key, of) in writes(state, named) {
            let at = reader.at(key.content());
            match names.keys.get(&key.value).filter(|known| known.at != at) {
                Some(known) => learn::names_at(reader, at, Some(known.at)),
                None => {
                    let place = (at, key.span, Some(named.at));
                    declare(
                        reader,
                        DeclarationKind::Key,
                        key.value.clone(),
                        place,
                        of.schema,
                        "written to the Blackboard",
                    );
                }
            }
        }
    }
}

/// The keys of the output, declared in the schema if it has them.
fn declare_output(reader: &Reader<'_>, workflow: &Workflow, whole: Location) {
    for entry in workflow.output_template.iter().filter_map(|n| n.mapping()).flat_map(|m| &m.entries) {
        let (key, at) = (&entry.key, reader.at(entry.key.content()));
        let schema = workflow.output_schema.as_ref().filter(|s| s.properties().any(|(p, _)| *p == key.value));
        match schema.and_then(|s| places(at.file, &s.node, &s.of).place(&key.value)) {
            Some(declared) => learn::names_at(reader, at, Some(declared)),
            None => {
                let place = (at, learn::whole(entry), Some(whole));
                declare(reader, DeclarationKind::Property, key.value.clone(), place, Type::Any, "in the output");
            }
        }
    }
}

/// Records the declarations of an agent.
pub fn declare_agent(reader: &Reader<'_>, agent: &Agent) {
    let at = reader.at(agent.identity.at);
    if !agent.identity.name.is_empty() {
        let model = agent.model.as_ref().map_or("default", |m| &m.value);
        let place = (at, agent.whole, None);
        let note = format!("an agent on `{model}`");
        declare(reader, DeclarationKind::Agent, agent.identity.name.clone(), place, Type::Any, &note);
    }
    let answer = agent.execution.validation.iter().find_map(|v| match &v.kind {
        ValidatorKindSpec::JsonSchema(schema) => Some(schema),
        _ => None,
    });
    properties(reader, answer, DeclarationKind::Property, at);
    properties(reader, agent.input_schema.as_ref(), DeclarationKind::Input, at);
}
