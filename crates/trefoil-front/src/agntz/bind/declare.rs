//! What agents and steps declare, for editors: nothing here changes what a program does.

use trefoil_ir::{Declaration, DeclarationKind};
use trefoil_syntax::{Location, Span};
use trefoil_template::Value;

use super::subject::Subject;
use crate::agntz::manifest::{Kind, OutputMap, Pipeline, ToolAgent};
use crate::agntz::names::{AgentNames, Outside};
use crate::learn;
use crate::names::Members;
use crate::read::Reader;
use crate::types::member_type;

/// The agent, unless it is written inside of a step that goes by its id: then that is what templates name, and the step
/// is declared there.
pub fn agent(reader: &Reader<'_>, subject: &Subject<'_, '_>, outside: Option<&Outside>, output: &Value) {
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
    let declaration = Declaration {
        kind,
        name: subject.id.clone(),
        at: subject.at,
        extent: subject.agent.span,
        parent: outside.map(|o| o.step),
        schema: output.clone(),
        note: Some(note.into()),
    };
    reader.facts(|f| f.declare(declaration));
}

/// What an agent takes: the properties of its schema, else what the step around it gives.
pub fn inputs(reader: &Reader<'_>, subject: &Subject<'_, '_>, outside: Option<&Outside>) -> Members {
    let kind = DeclarationKind::Input;
    match &subject.agent.input {
        Some(schema) => match schema.node {
            Some(node) => learn::properties(reader, node, &schema.json, schema.shorthand, kind, subject.at),
            None => Members::default(),
        },
        None => {
            for text in outside.and_then(|o| o.given.as_ref()).into_iter().flatten() {
                let (at, name) = (reader.at(text.content()), text.value.clone());
                let note = Some("passed by the step".into());
                let (extent, parent) = (text.span, Some(subject.at));
                let schema = Value::Bool(true);
                reader.facts(|f| f.declare(Declaration { kind, name, at, extent, parent, schema, note }));
            }
            Members::default()
        }
    }
}

/// The steps of a pipeline, by their state keys.
pub fn steps(reader: &Reader<'_>, subject: &Subject<'_, '_>, pipeline: &Pipeline<'_>, names: &AgentNames) {
    if !reader.wants_facts() {
        return;
    }
    for (written, step) in pipeline.steps.iter().zip(&names.steps).filter(|(_, s)| !s.id.is_empty()) {
        let when = step.when.as_ref().map(|w| format!(", only when `{}`", w)).unwrap_or_default();
        let schema = step.callee.as_ref().map_or(Value::Bool(true), |c| c.output.clone());
        declare_step(
            reader,
            subject.at,
            step.at,
            written.whole,
            &step.key,
            schema,
            format!("the output of `{}`{when}", step.id),
        );
    }
}

fn declare_step(
    reader: &Reader<'_>,
    parent: Location,
    at: Location,
    extent: Span,
    name: &std::sync::Arc<str>,
    schema: Value,
    note: String,
) {
    let (kind, name, parent, note) = (DeclarationKind::Step, name.clone(), Some(parent), Some(note.into()));
    reader.facts(|f| f.declare(Declaration { kind, name, at, extent, parent, schema, note }));
}

/// A tool.
pub fn tool(reader: &Reader<'_>, subject: &Subject<'_, '_>, agent: &ToolAgent<'_>) {
    let (Some(tool), Some(name)) = (&agent.tool, agent.name) else { return };
    reader.facts(|f| {
        f.declare(Declaration {
            kind: DeclarationKind::Tool,
            name: name.value.clone(),
            at: reader.at(name.content()),
            extent: Span::new(agent.span.start.min(name.span.start), agent.span.end.max(name.span.end)),
            parent: Some(subject.at),
            schema: Value::Bool(true),
            note: Some(format!("a tool, {}", tool.sort()).into()),
        });
    });
}

/// Declares the members of an output map.
pub fn output(reader: &Reader<'_>, output: &OutputMap<'_>, schema: &Value, parent: Location) -> Members {
    let OutputMap::Map(entries) = output else { return Members::default() };
    let declared = entries.iter().map(|(key, inner)| {
        let schema = member_type(schema, &key.value);
        let (name, at) = (key.value.clone(), reader.at(key.content()));
        let end = match inner {
            OutputMap::Text(text) => text.span.end,
            OutputMap::Map(_) => key.span.end,
        };
        reader.facts(|f| {
            f.declare(Declaration {
                kind: DeclarationKind::Property,
                name: name.clone(),
                at,
                extent: Span::new(key.span.start, end.max(key.span.end)),
                parent: Some(parent),
                schema: schema.clone(),
                note: Some("part of the output".into()),
            });
        });
        (name, Some(at), self::output(reader, inner, &schema, at))
    });
    Members::of(declared.collect())
}
