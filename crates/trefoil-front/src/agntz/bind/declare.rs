//! The declarations of agents and steps, for editors. They do not affect the program.

use trefoil_ir::DeclarationKind;
use trefoil_ir::types::Type;
use trefoil_syntax::{Location, Span};

use super::subject::Subject;
use crate::agntz::manifest::{Kind, OutputMap, Pipeline, ToolAgent};
use crate::agntz::names::{AgentNames, Outside};
use crate::learn::{self, declare};
use crate::names::Members;
use crate::read::Reader;

/// Declares the agent, unless it is written inside a step that is named by the agent's id: then templates name the
/// step, and the step is the declaration.
pub fn agent(reader: &Reader<'_>, subject: &Subject<'_, '_>, outside: Option<&Outside>, output: &Type) {
    if subject.agent.id.is_none() || outside.is_some_and(|o| o.step == subject.at) {
        return;
    }
    let (kind, note) = match &subject.agent.kind {
        Kind::Llm(llm) => {
            let word = |t: Option<&trefoil_syntax::yaml::Text>| t.map_or_else(|| "?".into(), |t| t.value.clone());
            let model = llm.model.as_ref().map(|m| format!(" on `{}/{}`", word(m.provider), word(m.name)));
            (DeclarationKind::Agent, format!("an agent{}", model.unwrap_or_default()))
        }
        Kind::Tool(_) => (DeclarationKind::Agent, "a tool call".into()),
        Kind::Sequential(p) => {
            (DeclarationKind::Workflow, format!("a pipeline of {}", crate::learn::counted(p.steps.len(), "step")))
        }
        Kind::Parallel(p) => (DeclarationKind::Workflow, format!("{} branches in parallel", p.steps.len())),
        Kind::Hosted(_) | Kind::Unknown => (DeclarationKind::Agent, "an agent".into()),
    };
    let place = (subject.at, subject.agent.span, outside.map(|o| o.step));
    declare(reader, kind, subject.id.clone(), place, output.clone(), &note);
}

/// Declares the inputs of an agent: the properties of its schema, otherwise what the enclosing step passes.
pub fn inputs(reader: &Reader<'_>, subject: &Subject<'_, '_>, outside: Option<&Outside>) -> Members {
    let kind = DeclarationKind::Input;
    match &subject.agent.input {
        Some(schema) => match schema.node {
            Some(node) => {
                learn::properties(reader, node, &Type::declared(&schema.json), schema.shorthand, kind, subject.at)
            }
            None => Members::default(),
        },
        None => {
            for text in outside.and_then(|o| o.given.as_ref()).into_iter().flatten() {
                let place = (reader.at(text.content()), text.span, Some(subject.at));
                declare(reader, kind, text.value.clone(), place, Type::Any, "passed by the step");
            }
            Members::default()
        }
    }
}

/// Declares the steps of a pipeline, by their state keys.
pub fn steps(reader: &Reader<'_>, subject: &Subject<'_, '_>, pipeline: &Pipeline<'_>, names: &AgentNames) {
    if !reader.wants_facts() {
        return;
    }
    for (written, step) in pipeline.steps.iter().zip(&names.steps).filter(|(_, s)| !s.id.is_empty()) {
        let when = step.when.as_ref().map(|w| format!(", only when `{}`", w)).unwrap_or_default();
        let schema = step.callee.as_ref().map_or(Type::Any, |c| c.output.clone());
        let place = (step.at, written.whole, Some(subject.at));
        let note = format!("the output of `{}`{when}", step.id);
        declare(reader, DeclarationKind::Step, step.key.clone(), place, schema, &note);
    }
}

/// Declares a tool.
pub fn tool(reader: &Reader<'_>, subject: &Subject<'_, '_>, agent: &ToolAgent<'_>) {
    let (Some(tool), Some(name)) = (&agent.tool, agent.name) else { return };
    let place = (reader.at(name.content()), agent.span.cover(name.span), Some(subject.at));
    let note = format!("a tool, {}", tool.sort());
    declare(reader, DeclarationKind::Tool, name.value.clone(), place, Type::Any, &note);
}

/// Declares the members of an output map.
pub fn output(reader: &Reader<'_>, output: &OutputMap<'_>, schema: &Type, parent: Location) -> Members {
    let OutputMap::Map(entries) = output else { return Members::default() };
    let declared = entries.iter().map(|(key, inner)| {
        let schema = schema.part(&key.value);
        let (name, at) = (key.value.clone(), reader.at(key.content()));
        let end = match inner {
            OutputMap::Text(text) => text.span.end,
            OutputMap::Map(_) => key.span.end,
        };
        let place = (at, Span::new(key.span.start, end.max(key.span.end)), Some(parent));
        declare(reader, DeclarationKind::Property, name.clone(), place, schema.clone(), "part of the output");
        (name, Some(at), self::output(reader, inner, &schema, at))
    });
    Members::of(declared.collect())
}
