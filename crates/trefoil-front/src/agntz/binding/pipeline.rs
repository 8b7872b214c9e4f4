//! The steps of a pipeline: their keys, callees and texts.

use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{SlotId, TextRole};
use trefoil_syntax::Span;
use trefoil_syntax::yaml::YamlText;

use super::binding_subject::{AgentOutcome, BindingSubject};
use super::{AgntzTexts, AgntzUnits, declarations};
use crate::agntz::ids::{referenced_id, state_key};
use crate::agntz::manifest::{OutputMap, PipelineManifest, PipelineStep, StepTarget};
use crate::agntz::names::{AgntzAgentNames, AgntzTextPurpose, PipelinePosition, StepName, StepOrder};
use crate::agntz::signature::ExportedStep;
use crate::name_facts;
use crate::names::MemberDeclarations;
use crate::program_builder::FlowSlots;
use crate::yaml_reader::ManifestReader;

/// The order in which the steps of a pipeline run.
pub fn step_order(pipeline: &PipelineManifest<'_>, parallel: bool) -> StepOrder {
    match (parallel, pipeline.until) {
        (true, _) => StepOrder::Parallel,
        (false, Some(_)) => StepOrder::Loop,
        (false, None) => StepOrder::Once,
    }
}

/// Determines the names of the steps.
pub fn name_steps(
    units: &AgntzUnits<'_>,
    reader: &ManifestReader<'_>,
    pipeline: &PipelineManifest<'_>,
    names: &mut AgntzAgentNames,
    slots: &mut FlowSlots,
) {
    for (i, step) in pipeline.steps.iter().enumerate() {
        let id = match &step.target {
            StepTarget::Ref(text) => units.intended_id(referenced_id(&text.value)),
            StepTarget::Inline(agent) => agent.name(),
            StepTarget::Nobody => "",
        };
        let chosen = step.chosen_key();
        let key: Arc<str> = match chosen {
            Some(text) => text.value.clone(),
            // steps without a callee (reported) must not collide with each other
            None if id.is_empty() => format!("step {}", i + 1).into(),
            None => state_key(id).into(),
        };
        let has_alias = chosen.is_none() && id != &*key && !id.is_empty();
        let alias = if has_alias { Some(Arc::from(id)) } else { None };
        let slot = match slot_of_key(names, &key) {
            Some(slot) => slot,
            None => slots.add_slot(key.clone()),
        };
        let when = step.when.map(|t| t.value.clone());
        let by_ref = chosen.is_none() && matches!(step.target, StepTarget::Ref(_));
        let at = reader.location_of(name_span(step, chosen, id));
        names.add_step(StepName { at, key, alias, id: id.into(), slot, exports: None, callee: None, when, by_ref });
    }
}

/// The slot of an earlier step with this key.
fn slot_of_key(names: &AgntzAgentNames, key: &str) -> Option<SlotId> {
    let first = names.steps_named(key).first()?;
    Some(names.steps.get(*first)?.slot)
}

/// The place of the text that names a step: the chosen key, otherwise the id of its agent.
fn name_span(step: &PipelineStep<'_>, chosen: Option<&YamlText>, id: &str) -> Span {
    match (chosen, &step.target) {
        (Some(text), _) => text.content_span(),
        (None, StepTarget::Ref(text)) => {
            let start = text.value.find(id).unwrap_or(0);
            text.source_span(start as u32..(start + id.len()) as u32)
        }
        (None, StepTarget::Inline(agent)) => match agent.id {
            Some(id) => id.content_span(),
            None => agent.head,
        },
        (None, StepTarget::Nobody) => step.span,
    }
}

/// Binds the texts of a pipeline, and determines its result.
pub fn bind_outcome(
    reader: &ManifestReader<'_>,
    subject: &BindingSubject<'_, '_>,
    pipeline: &PipelineManifest<'_>,
    names: &Arc<AgntzAgentNames>,
    texts: &mut AgntzTexts,
) -> AgentOutcome {
    for (index, (step, name)) in pipeline.steps.iter().zip(&names.steps).enumerate() {
        let at = PipelinePosition::Step(index);
        for condition in [step.when, step.misplaced_when].into_iter().flatten() {
            texts.bind_text(reader, names, condition, (at, AgntzTextPurpose::Condition, TextRole::Condition));
        }
        for text in &step.misplaced_input {
            texts.bind_text(reader, names, text, (at, AgntzTextPurpose::Unused, TextRole::Data));
        }
        let map = step.input.as_deref().unwrap_or_default();
        for (key, value) in map {
            let mut purpose = AgntzTextPurpose::Data;
            if let Some(callee) = &name.callee {
                if let Some(declared) = callee.inputs.members.declaration_of(&key.value) {
                    name_facts::record_mention(reader, key, Some(declared));
                }
                if callee.prompted.reaches_model(&key.value, map.iter().map(|(key, _)| &key.value)) {
                    purpose = AgntzTextPurpose::Prompt;
                }
            }
            texts.bind_text(reader, names, value, (at, purpose, TextRole::Data));
        }
    }
    if let Some(until) = pipeline.until
        && names.order == StepOrder::Loop
    {
        let purpose = (PipelinePosition::End, AgntzTextPurpose::Condition, TextRole::Condition);
        texts.bind_text(reader, names, until, purpose);
    }
    let (schema, members) = match &pipeline.output {
        Some(map) => {
            let schema = self::bind_output(reader, names, map, texts);
            let members = declarations::declare_output(reader, map, &schema, subject.at);
            (schema, members)
        }
        None => (own_output(names), own_members(names)),
    };
    AgentOutcome { exported: exported(names), members, ..AgentOutcome::from_type(schema) }
}

/// The type of a pipeline's own output: that of its last step, or an object of all branches.
fn own_output(names: &AgntzAgentNames) -> ValueType {
    match names.order {
        StepOrder::Parallel => {
            ValueType::optional_fields(names.steps.iter().map(|s| (s.key.clone(), step_type(names, s))))
        }
        StepOrder::Once | StepOrder::Loop => match names.steps.last() {
            Some(last) => step_type(names, last),
            None => ValueType::Any,
        },
    }
}

/// Where the members of a pipeline's own output are declared.
fn own_members(names: &AgntzAgentNames) -> MemberDeclarations {
    match names.order {
        StepOrder::Parallel => {
            let branches = names.steps.iter().map(|step| (step.key.clone(), Some(step.at), step_members(step)));
            MemberDeclarations::from_members(branches.collect())
        }
        StepOrder::Once | StepOrder::Loop => match names.steps.last() {
            Some(last) => step_members(last),
            None => MemberDeclarations::default(),
        },
    }
}

fn step_members(step: &StepName) -> MemberDeclarations {
    match &step.callee {
        Some(callee) => callee.members.clone(),
        None => MemberDeclarations::default(),
    }
}

/// What is known about a step's output; nothing if two steps share a key.
fn step_type(names: &AgntzAgentNames, step: &StepName) -> ValueType {
    match &step.callee {
        Some(callee) if names.steps_named(&step.key).len() == 1 => callee.output.clone(),
        _ => ValueType::Any,
    }
}

/// The inner results that callers can read.
fn exported(names: &AgntzAgentNames) -> Vec<ExportedStep> {
    let mut exported = Vec::new();
    for (index, step) in names.steps.iter().enumerate() {
        // A later step with the same key replaces it.
        if names.steps_named(&step.key).last() != Some(&index) {
            continue;
        }
        let inner = match &step.callee {
            Some(callee) if callee.is_pipeline => Some(callee.clone()),
            _ => None,
        };
        exported.push(ExportedStep {
            key: step.key.clone(),
            alias: step.alias.clone(),
            schema: step_type(names, step),
            at: Some(step.at),
            members: step_members(step),
            inner,
        });
    }
    exported
}

/// Binds the texts of an output map and determines its type.
pub fn bind_output(
    reader: &ManifestReader<'_>,
    names: &Arc<AgntzAgentNames>,
    output: &OutputMap<'_>,
    texts: &mut AgntzTexts,
) -> ValueType {
    match output {
        OutputMap::Text(source) => {
            texts.bind_text(reader, names, source, (PipelinePosition::End, AgntzTextPurpose::Data, TextRole::Data));
            texts.value_type(source, PipelinePosition::End)
        }
        OutputMap::Map(entries) => {
            let mut members = Vec::with_capacity(entries.len());
            for (key, inner) in entries {
                members.push((key.value.clone(), self::bind_output(reader, names, inner, texts)));
            }
            ValueType::optional_fields(members)
        }
    }
}
