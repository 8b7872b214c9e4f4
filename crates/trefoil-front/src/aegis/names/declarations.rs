//! The declarations of a unit, as facts for editors.

use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{BrokenTransition, DeclarationKind, ImpossibleCondition};
use trefoil_syntax::yaml::YamlNode;
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
    let record = |from: Location, to: Option<Location>| {
        reader.record_facts(|facts| facts.add_broken_transition(BrokenTransition { from, to }));
    };
    if let Some(initial) = &workflow.initial
        && names.state_index(&initial.value).is_none()
    {
        record(reader.location_of(workflow.identity.span), similar_state(names, &initial.value));
    }
    for (state, named) in workflow.states.iter().zip(&names.states) {
        for target in &state.lost {
            let to = match names.state_index(target) {
                Some(state) => state_place(names, state),
                None => similar_state(names, target),
            };
            record(named.span, to);
        }
        for transition in state.written_transitions() {
            match &transition.target {
                Some(target) if names.state_index(&target.value).is_some() => {}
                Some(target) => record(named.span, similar_state(names, &target.value)),
                None => record(named.span, None),
            }
        }
    }
}

/// The place of the state whose name resembles a word.
fn similar_state(names: &WorkflowNames, word: &str) -> Option<Location> {
    let near = suggestions::find_near_match(word, names.state_names())?;
    state_place(names, names.state_index(near.name)?)
}

fn state_place(names: &WorkflowNames, state: usize) -> Option<Location> {
    Some(names.states.get(state)?.span)
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
    let output = match &workflow.output_schema {
        Some(schema) => schema.of.clone(),
        None => ValueType::Any,
    };
    if !workflow.identity.name.is_empty() {
        let note = format!("a workflow of {}", name_facts::count_phrase(workflow.states.len(), "state"));
        let place = (whole, workflow.whole, None);
        record_declaration(reader, DeclarationKind::Workflow, workflow.identity.name.clone(), place, output, &note);
    }
    properties(reader, workflow.input_schema.as_ref(), DeclarationKind::Input, whole);
    properties(reader, workflow.output_schema.as_ref(), DeclarationKind::Property, whole);
    declare_output(reader, workflow, whole);
    for (key, _) in &workflow.context {
        let schema = match names.keys.get(&key.value) {
            Some(known) => known.schema.clone(),
            None => ValueType::Any,
        };
        let place = (reader.location_of(key.content_span()), key.span, Some(whole));
        record_declaration(reader, DeclarationKind::Key, key.value.clone(), place, schema, "in the context");
    }
    declare_states(reader, workflow, names, whole);
}

/// Records the declarations of the states, and of the keys that they write.
fn declare_states(
    reader: &ManifestReader<'_>,
    workflow: &AegisWorkflowManifest,
    names: &Arc<WorkflowNames>,
    whole: Location,
) {
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
            match names.keys.get(&key.value) {
                Some(known) if known.at != at => name_facts::names_at(reader, at, Some(known.at)),
                _ => {
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
    let Some(template) = workflow.output_template.as_ref().and_then(YamlNode::as_mapping) else { return };
    for entry in &template.entries {
        let (key, at) = (&entry.key, reader.location_of(entry.key.content_span()));
        let declared = match &workflow.output_schema {
            Some(schema) if schema.declared_properties().any(|(property, _)| *property == key.value) => {
                property_declarations(at.file, &schema.node, &schema.of).declaration_of(&key.value)
            }
            _ => None,
        };
        match declared {
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
        let model = match &agent.model {
            Some(model) => &*model.value,
            None => "default",
        };
        let place = (at, agent.whole, None);
        let note = format!("an agent on `{model}`");
        record_declaration(reader, DeclarationKind::Agent, agent.identity.name.clone(), place, ValueType::Any, &note);
    }
    let answer = agent.execution.validation.iter().find_map(|validator| match &validator.kind {
        ValidatorKindSpec::JsonSchema(schema) => Some(schema),
        _ => None,
    });
    properties(reader, answer, DeclarationKind::Property, at);
    properties(reader, agent.input_schema.as_ref(), DeclarationKind::Input, at);
}
