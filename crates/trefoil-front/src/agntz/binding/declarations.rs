//! The declarations of agents and steps, for editors. They do not affect the program.

use trefoil_ir::DeclarationKind;
use trefoil_ir::types::ValueType;
use trefoil_syntax::yaml::YamlText;
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
    let enclosing_step = outside.map(|outside| outside.step);
    if subject.agent.id.is_none() || enclosing_step == Some(subject.at) {
        return;
    }
    let (kind, note) = match &subject.agent.kind {
        AgntzAgentKind::Llm(llm) => {
            let note = match &llm.model {
                Some(model) => {
                    format!("an agent on `{}/{}`", known_or_unknown(model.provider), known_or_unknown(model.name))
                }
                None => "an agent".into(),
            };
            (DeclarationKind::Agent, note)
        }
        AgntzAgentKind::Tool(_) => (DeclarationKind::Agent, "a tool call".into()),
        AgntzAgentKind::Sequential(p) => (
            DeclarationKind::Workflow,
            format!("a pipeline of {}", crate::name_facts::count_phrase(p.steps.len(), "step")),
        ),
        AgntzAgentKind::Parallel(p) => (DeclarationKind::Workflow, format!("{} branches in parallel", p.steps.len())),
        AgntzAgentKind::Hosted(_) | AgntzAgentKind::Unknown => (DeclarationKind::Agent, "an agent".into()),
    };
    let place = (subject.at, subject.agent.span, enclosing_step);
    record_declaration(reader, kind, subject.id.clone(), place, output.clone(), &note);
}

fn known_or_unknown(text: Option<&YamlText>) -> &str {
    match text {
        Some(text) => &text.value,
        None => "?",
    }
}

/// Declares the inputs of an agent: the properties of its schema, otherwise what the enclosing step passes.
pub fn declare_inputs(
    reader: &ManifestReader<'_>,
    subject: &BindingSubject<'_, '_>,
    outside: Option<&EnclosingStep>,
) -> MemberDeclarations {
    let kind = DeclarationKind::Input;
    if let Some(schema) = &subject.agent.input {
        let Some(node) = schema.node else { return MemberDeclarations::default() };
        let declared = ValueType::from_schema(&schema.json);
        return name_facts::declare_properties(reader, node, &declared, schema.shorthand, kind, subject.at);
    }
    if let Some(step) = outside
        && let Some(given) = &step.given
    {
        for text in given {
            let place = (reader.location_of(text.content_span()), text.span, Some(subject.at));
            record_declaration(reader, kind, text.value.clone(), place, ValueType::Any, "passed by the step");
        }
    }
    MemberDeclarations::default()
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
    for (written, step) in pipeline.steps.iter().zip(&names.steps) {
        if step.id.is_empty() {
            continue;
        }
        let schema = match &step.callee {
            Some(callee) => callee.output.clone(),
            None => ValueType::Any,
        };
        let place = (step.at, written.whole, Some(subject.at));
        let mut note = format!("the output of `{}`", step.id);
        if let Some(when) = &step.when {
            note.push_str(&format!(", only when `{when}`"));
        }
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
    let mut declared = Vec::with_capacity(entries.len());
    for (key, inner) in entries {
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
        declared.push((name, Some(at), self::declare_output(reader, inner, &schema, at)));
    }
    MemberDeclarations::from_members(declared)
}
