//! The declarations of agents and steps, for editors. They do not affect the program.

use trefoil_ir::DeclarationKind;
use trefoil_ir::types::ValueType;
use trefoil_syntax::{Location, Span};

use super::binding_subject::BindingSubject;
use crate::agntz::manifest::{AgntzAgentKind, OutputMap, PipelineManifest, ToolAgent};
use crate::agntz::names::{AgntzAgentNames, EnclosingStep};
use crate::name_facts::{self, record_declaration};
use crate::names::MemberDeclarations;
use crate::yaml_reader::ManifestReader;

/// Declares the agent, unless it is written inside a step that is named by the agent's id: then templates name the
/// step, and the step is the declaration.
pub fn declare_agent(
    reader: &ManifestReader<'_>,
    subject: &BindingSubject<'_, '_>,
    outside: Option<&EnclosingStep>,
    output: &ValueType,
) {
    if subject.agent.id.is_none() || outside.is_some_and(|o| o.step == subject.at) {
        return;
    }
    let (kind, note) = match &subject.agent.kind {
        AgntzAgentKind::Llm(llm) => {
            let word = |t: Option<&trefoil_syntax::yaml::YamlText>| t.map_or_else(|| "?".into(), |t| t.value.clone());
            let model = llm.model.as_ref().map(|m| format!(" on `{}/{}`", word(m.provider), word(m.name)));
            (DeclarationKind::Agent, format!("an agent{}", model.unwrap_or_default()))
        }
        AgntzAgentKind::Tool(_) => (DeclarationKind::Agent, "a tool call".into()),
        AgntzAgentKind::Sequential(p) => (
            DeclarationKind::Workflow,
            format!("a pipeline of {}", crate::name_facts::count_phrase(p.steps.len(), "step")),
        ),
        AgntzAgentKind::Parallel(p) => (DeclarationKind::Workflow, format!("{} branches in parallel", p.steps.len())),
        AgntzAgentKind::Hosted(_) | AgntzAgentKind::Unknown => (DeclarationKind::Agent, "an agent".into()),
    };
    let place = (subject.at, subject.agent.span, outside.map(|o| o.step));
    record_declaration(reader, kind, subject.id.clone(), place, output.clone(), &note);
}

/// Declares the inputs of an agent: the properties of its schema, otherwise what the enclosing step passes.
pub fn declare_inputs(
    reader: &ManifestReader<'_>,
    subject: &BindingSubject<'_, '_>,
    outside: Option<&EnclosingStep>,
) -> MemberDeclarations {
    let kind = DeclarationKind::Input;
    match &subject.agent.input {
        Some(schema) => match schema.node {
            Some(node) => name_facts::declare_properties(
                reader,
                node,
                &ValueType::from_schema(&schema.json),
                schema.shorthand,
                kind,
                subject.at,
            ),
            None => MemberDeclarations::default(),
        },
        None => {
            for text in outside.and_then(|o| o.given.as_ref()).into_iter().flatten() {
                let place = (reader.location_of(text.content_span()), text.span, Some(subject.at));
                record_declaration(reader, kind, text.value.clone(), place, ValueType::Any, "passed by the step");
            }
            MemberDeclarations::default()
        }
    }
}

/// Declares the steps of a pipeline, by their state keys.
pub fn declare_steps(
    reader: &ManifestReader<'_>,
    subject: &BindingSubject<'_, '_>,
    pipeline: &PipelineManifest<'_>,
    names: &AgntzAgentNames,
) {
    if !reader.wants_facts() {
        return;
    }
    for (written, step) in pipeline.steps.iter().zip(&names.steps).filter(|(_, s)| !s.id.is_empty()) {
        let when = step.when.as_ref().map(|w| format!(", only when `{}`", w)).unwrap_or_default();
        let schema = step.callee.as_ref().map_or(ValueType::Any, |c| c.output.clone());
        let place = (step.at, written.whole, Some(subject.at));
        let note = format!("the output of `{}`{when}", step.id);
        record_declaration(reader, DeclarationKind::Step, step.key.clone(), place, schema, &note);
    }
}

/// Declares a tool.
pub fn declare_tool(reader: &ManifestReader<'_>, subject: &BindingSubject<'_, '_>, agent: &ToolAgent<'_>) {
    let (Some(tool), Some(name)) = (&agent.tool, agent.name) else { return };
    let place = (reader.location_of(name.content_span()), agent.span.cover_both(name.span), Some(subject.at));
    let note = format!("a tool, {}", tool.kind_word());
    record_declaration(reader, DeclarationKind::Tool, name.value.clone(), place, ValueType::Any, &note);
}

/// Declares the members of an output map.
pub fn declare_output(
    reader: &ManifestReader<'_>,
    output: &OutputMap<'_>,
    schema: &ValueType,
    parent: Location,
) -> MemberDeclarations {
    let OutputMap::Map(entries) = output else { return MemberDeclarations::default() };
    let declared = entries.iter().map(|(key, inner)| {
        let schema = schema.part_type(&key.value);
        let (name, at) = (key.value.clone(), reader.location_of(key.content_span()));
        let end = match inner {
            OutputMap::Text(text) => text.span.end,
            OutputMap::Map(_) => key.span.end,
        };
        let place = (at, Span::new(key.span.start, end.max(key.span.end)), Some(parent));
        record_declaration(
            reader,
            DeclarationKind::Property,
            name.clone(),
            place,
            schema.clone(),
            "part of the output",
        );
        (name, Some(at), self::declare_output(reader, inner, &schema, at))
    });
    MemberDeclarations::from_members(declared.collect())
}
