//! The declarations of a unit, as facts for editors.

use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{BrokenTransition, DeclarationKind, ImpossibleCondition};
use trefoil_syntax::{Location, suggestions};

use super::result;
use super::workflow::written_keys;
use super::workflow_names::WorkflowNames;
use crate::ManifestReader;
use crate::aegis::manifest::agent::AegisAgentManifest;
use crate::aegis::manifest::execution::ValidatorKindSpec;
use crate::aegis::manifest::schema::JsonSchema;
use crate::aegis::manifest::workflow::AegisWorkflowManifest;
use crate::name_facts::{self, record_declaration};
use crate::names::property_declarations;

/// Records the properties of a schema.
fn properties(reader: &ManifestReader<'_>, schema: Option<&JsonSchema>, kind: DeclarationKind, parent: Location) {
    if let Some(schema) = schema {
        name_facts::declare_properties(reader, &schema.node, &schema.of, false, kind, parent);
    }
}

/// Records transitions whose target is not a state. If the target resembles a state, that one was probably meant;
/// otherwise any state may have been.
fn declare_leads(reader: &ManifestReader<'_>, workflow: &AegisWorkflowManifest, names: &WorkflowNames) {
    let near = |word: &str| names.state_index(suggestions::find_near_match(word, names.state_names())?.name);
    let place = |state: usize| names.states.get(state).map(|named| named.span);
    let lead = |from: Location, target: Option<&str>| {
        if target.is_some_and(|target| names.state_index(target).is_some()) {
            return None;
        }
        Some(BrokenTransition { from, to: target.and_then(near).and_then(place) })
    };
    let initial =
        workflow.initial.iter().filter_map(|text| lead(reader.location_of(workflow.identity.span), Some(&*text.value)));
    let states = workflow.states.iter().zip(&names.states).flat_map(|(state, named)| {
        let written = state.written_transitions().iter().map(|t| t.target.as_ref().map(|text| &*text.value));
        let lost = state.lost.iter().map(|target| Some(&**target));
        let lost = lost.map(|target| (target, true)).chain(written.map(|target| (target, false)));
        lost.filter_map(|(target, lost)| match target.and_then(|target| names.state_index(target)).filter(|_| lost) {
            Some(state) => Some(BrokenTransition { from: named.span, to: place(state) }),
            None => lead(named.span, target),
        })
    });
    initial.chain(states).for_each(|lead| reader.record_facts(|f| f.add_broken_transition(lead)));
}

/// Records conditions that can never hold for the result of their state.
fn declare_impossible(reader: &ManifestReader<'_>, workflow: &AegisWorkflowManifest, names: &WorkflowNames) {
    for (state, named) in workflow.states.iter().zip(&names.states) {
        for transition in state.written_transitions() {
            let Some(condition) = &transition.condition else { continue };
            let Some(why) = named.never_holds(condition) else { continue };
            let word = condition.display_text();
            let word = word.split(' ').next().unwrap_or_default().into();
            reader.record_facts(|f| {
                f.add_impossible_condition(ImpossibleCondition { at: reader.location_of(transition.at), word, why })
            });
        }
    }
}

/// Records the declarations of a workflow.
pub fn declare_workflow(reader: &ManifestReader<'_>, workflow: &AegisWorkflowManifest, names: &Arc<WorkflowNames>) {
    if !reader.wants_facts() {
        return;
    }
    declare_leads(reader, workflow, names);
    declare_impossible(reader, workflow, names);
    let whole = reader.location_of(workflow.identity.at);
    let output = workflow.output_schema.as_ref().map_or(ValueType::Any, |s| s.of.clone());
    if !workflow.identity.name.is_empty() {
        let note = format!("a workflow of {}", name_facts::count_phrase(workflow.states.len(), "state"));
        let place = (whole, workflow.whole, None);
        record_declaration(reader, DeclarationKind::Workflow, workflow.identity.name.clone(), place, output, &note);
    }
    properties(reader, workflow.input_schema.as_ref(), DeclarationKind::Input, whole);
    properties(reader, workflow.output_schema.as_ref(), DeclarationKind::Property, whole);
    declare_output(reader, workflow, whole);
    for (key, _) in &workflow.context {
        let schema = names.keys.get(&key.value).map_or(ValueType::Any, |k| k.schema.clone());
        let place = (reader.location_of(key.content_span()), key.span, Some(whole));
        record_declaration(reader, DeclarationKind::Key, key.value.clone(), place, schema, "in the context");
    }
    for (index, (state, named)) in workflow.states.iter().zip(&names.states).enumerate() {
        if !state.name.is_empty() {
            let entry = result::result_entry(names, index, 1);
            let place = (named.at, state.whole, Some(whole));
            record_declaration(
                reader,
                DeclarationKind::State,
                state.name.clone(),
                place,
                entry.schema,
                &entry.note.unwrap_or_default(),
            );
        }
        for (key, of) in written_keys(state, named) {
            let at = reader.location_of(key.content_span());
            match names.keys.get(&key.value).filter(|known| known.at != at) {
                Some(known) => name_facts::names_at(reader, at, Some(known.at)),
                None => {
                    let place = (at, key.span, Some(named.at));
                    record_declaration(
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
fn declare_output(reader: &ManifestReader<'_>, workflow: &AegisWorkflowManifest, whole: Location) {
    for entry in workflow.output_template.iter().filter_map(|n| n.as_mapping()).flat_map(|m| &m.entries) {
        let (key, at) = (&entry.key, reader.location_of(entry.key.content_span()));
        let schema = workflow.output_schema.as_ref().filter(|s| s.declared_properties().any(|(p, _)| *p == key.value));
        match schema.and_then(|s| property_declarations(at.file, &s.node, &s.of).declaration_of(&key.value)) {
            Some(declared) => name_facts::names_at(reader, at, Some(declared)),
            None => {
                let place = (at, name_facts::key_value_span(entry), Some(whole));
                record_declaration(
                    reader,
                    DeclarationKind::Property,
                    key.value.clone(),
                    place,
                    ValueType::Any,
                    "in the output",
                );
            }
        }
    }
}

/// Records the declarations of an agent.
pub fn declare_agent(reader: &ManifestReader<'_>, agent: &AegisAgentManifest) {
    let at = reader.location_of(agent.identity.at);
    if !agent.identity.name.is_empty() {
        let model = agent.model.as_ref().map_or("default", |m| &m.value);
        let place = (at, agent.whole, None);
        let note = format!("an agent on `{model}`");
        record_declaration(reader, DeclarationKind::Agent, agent.identity.name.clone(), place, ValueType::Any, &note);
    }
    let answer = agent.execution.validation.iter().find_map(|v| match &v.kind {
        ValidatorKindSpec::JsonSchema(schema) => Some(schema),
        _ => None,
    });
    properties(reader, answer, DeclarationKind::Property, at);
    properties(reader, agent.input_schema.as_ref(), DeclarationKind::Input, at);
}
