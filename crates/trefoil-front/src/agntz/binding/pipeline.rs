//! The steps of a pipeline: their keys, callees and texts.

use std::sync::Arc;

use trefoil_ir::TextRole;
use trefoil_ir::types::ValueType;

use super::binding_subject::{AgentOutcome, BindingSubject};
use super::{AgntzTexts, AgntzUnits, declarations};
use crate::agntz::ids::{AgentRef, state_key};
use crate::agntz::manifest::{OutputMap, PipelineManifest, StepTarget};
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
            StepTarget::Ref(text) => units.intended_id(AgentRef::parse(&text.value).map_or(&*text.value, |r| r.id)),
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
        let alias = (chosen.is_none() && id != &*key && !id.is_empty()).then(|| Arc::from(id));
        let before = names.steps_named(&key).first().copied();
        let slot = before.and_then(|b| names.steps.get(b)).map_or_else(|| slots.add_slot(key.clone()), |s| s.slot);
        let at = match (chosen, &step.target) {
            (Some(text), _) => text.content_span(),
            (None, StepTarget::Ref(text)) => {
                let start = text.value.find(id).unwrap_or(0);
                text.source_span(start as u32..(start + id.len()) as u32)
            }
            (None, StepTarget::Inline(agent)) => agent.id.map_or(agent.head, |t| t.content_span()),
            (None, StepTarget::Nobody) => step.span,
        };
        let when = step.when.map(|t| t.value.clone());
        let by_ref = chosen.is_none() && matches!(step.target, StepTarget::Ref(_));
        let at = reader.location_of(at);
        names.add_step(StepName { at, key, alias, id: id.into(), slot, exports: None, callee: None, when, by_ref });
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
        step.when
            .into_iter()
            .for_each(|t| texts.bind_text(reader, names, t, (at, AgntzTextPurpose::Condition, TextRole::Condition)));
        let unused = |position| {
            (
                at,
                if position == TextRole::Condition { AgntzTextPurpose::Condition } else { AgntzTextPurpose::Unused },
                position,
            )
        };
        step.misplaced_when.into_iter().for_each(|t| texts.bind_text(reader, names, t, unused(TextRole::Condition)));
        step.misplaced_input.iter().for_each(|t| texts.bind_text(reader, names, t, unused(TextRole::Data)));
        let map = step.input.as_deref().unwrap_or_default();
        for (key, value) in map {
            if let Some(declared) = name.callee.as_ref().and_then(|c| c.inputs.members.declaration_of(&key.value)) {
                name_facts::record_mention(reader, key, Some(declared));
            }
            let keys = map.iter().map(|(k, _)| &k.value);
            let reaches_model = name.callee.as_ref().is_some_and(|c| c.prompted.reaches_model(&key.value, keys));
            let purpose = if reaches_model { AgntzTextPurpose::Prompt } else { AgntzTextPurpose::Data };
            texts.bind_text(reader, names, value, (at, purpose, TextRole::Data));
        }
    }
    let until = pipeline.until.filter(|_| names.order == StepOrder::Loop);
    until.into_iter().for_each(|t| {
        texts.bind_text(reader, names, t, (PipelinePosition::End, AgntzTextPurpose::Condition, TextRole::Condition))
    });
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
        StepOrder::Once | StepOrder::Loop => names.steps.last().map_or(ValueType::Any, |s| step_type(names, s)),
    }
}

/// Where the members of a pipeline's own output are declared.
fn own_members(names: &AgntzAgentNames) -> MemberDeclarations {
    let of = |s: &StepName| s.callee.as_ref().map(|c| c.members.clone()).unwrap_or_default();
    match names.order {
        StepOrder::Parallel => {
            MemberDeclarations::from_members(names.steps.iter().map(|s| (s.key.clone(), Some(s.at), of(s))).collect())
        }
        StepOrder::Once | StepOrder::Loop => names.steps.last().map(of).unwrap_or_default(),
    }
}

/// What is known about a step's output; nothing if two steps share a key.
fn step_type(names: &AgntzAgentNames, step: &StepName) -> ValueType {
    let alone = names.steps_named(&step.key).len() == 1;
    step.callee.as_ref().filter(|_| alone).map_or(ValueType::Any, |c| c.output.clone())
}

/// The inner results that callers can read.
fn exported(names: &AgntzAgentNames) -> Vec<ExportedStep> {
    let own = names.steps.iter().enumerate();
    // A later step with the same key replaces it.
    let own = own.filter(|(i, step)| names.steps_named(&step.key).last() == Some(i)).map(|(_, step)| step);
    own.map(|step| ExportedStep {
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
            let members = entries.iter().map(|(key, inner)| {
                let schema = self::bind_output(reader, names, inner, texts);
                (key.value.clone(), schema)
            });
            ValueType::optional_fields(members.collect::<Vec<_>>())
        }
    }
}
