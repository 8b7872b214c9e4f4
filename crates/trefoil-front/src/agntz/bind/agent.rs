//! Binds one agent: its input, its names, its texts, and what its callers see of it.

use std::sync::Arc;

use trefoil_ir::types::Type;
use trefoil_ir::{DeclarationKind, Position};
use trefoil_syntax::Span;
use trefoil_syntax::yaml::Text;

use super::subject::{AgentOutcome, Subject};
use super::{BoundAgent, Callee, Texts, Units, declare, pipeline};
use crate::agntz::manifest::{Agent, Http, Kind, Llm, Pipeline, Target, Tool, ToolAgent, ToolUse};
use crate::agntz::names::{AgentNames, At, Outside, Purpose};
use crate::agntz::signature::{Inputs, Signature};
use crate::build::FlowSlots;
use crate::learn;
use crate::read::Reader;

/// The maximum depth of agents that call agents, in one file and across files.
pub const MAX_DEPTH: usize = 100;

/// Binds an agent.
pub fn bind<'p>(
    units: &mut Units<'p>,
    reader: &Reader<'_>,
    agent: Arc<Agent<'p>>,
    outside: Option<Arc<Outside>>,
    entry: bool,
) -> BoundAgent<'p> {
    let flow = units.flow();
    let origin = reader.at(agent.id.map_or(agent.head, |t| t.span));
    let at = reader.at(agent.id.map_or(agent.head, |t| t.content()));
    let subject = Subject { agent: &agent, id: agent.name().into(), at };
    let mut inputs = Inputs::of(&agent);
    inputs.members = declare::inputs(reader, &subject, outside.as_deref());
    let mut slots = FlowSlots::default();
    let input = slots.add("input");
    let query = inputs.has_query.then(|| slots.add("userQuery"));
    let mut names = AgentNames::new(Arc::new(inputs), input, query, outside.clone(), reader.file);
    let sends_input = matches!(&agent.kind, Kind::Llm(llm) if llm.prompt.is_none());
    names.raw = (sends_input && query.is_none()).then(|| slots.add("raw input"));
    let mut callees: Vec<Callee<'p>> = Vec::new();
    let mut texts = Texts::default();
    if let Kind::Sequential(p) | Kind::Parallel(p) = &agent.kind {
        names.order = pipeline::order(p, matches!(agent.kind, Kind::Parallel(_)));
        pipeline::name(units, reader, p, &mut names, &mut slots);
        callees = steps(units, reader, p, &mut names, &mut slots);
        declare::steps(reader, &subject, p, &names);
    }
    if let Kind::Llm(llm) = &agent.kind {
        callees = called(units, reader, llm);
    }
    let names = Arc::new(names);
    let outcome = match &agent.kind {
        Kind::Llm(llm) => model(reader, &subject, llm, &names, &mut texts),
        Kind::Tool(tool) => {
            tool_texts(reader, tool, &names, &mut texts);
            declare::tool(reader, &subject, tool);
            AgentOutcome::of(Type::Any)
        }
        Kind::Sequential(p) | Kind::Parallel(p) => pipeline::outcome(reader, &subject, p, &names, &mut texts),
        Kind::Hosted(hosted) => {
            for (text, position) in [(hosted.instruction, Position::System), (hosted.prompt, Position::User)] {
                text.into_iter().for_each(|t| texts.bind(reader, &names, t, (At::End, Purpose::Prompt, position)));
            }
            AgentOutcome::of(Type::Any)
        }
        Kind::Unknown => AgentOutcome::of(Type::Any),
    };
    declare::agent(reader, &subject, outside.as_deref(), &outcome.schema);
    let calls_model = match &agent.kind {
        Kind::Llm(_) => true,
        _ => names.steps.iter().any(|s| s.when.is_none() && s.callee.as_ref().is_some_and(|c| c.calls_model)),
    };
    let signature = Arc::new(Signature {
        calls_model,
        id: subject.id.clone(),
        members: outcome.members,
        flow,
        output: outcome.schema,
        exports: outcome.exported,
        prompted: texts.prompted.clone(),
        sends_input,
        reads_input: texts.reads_input,
        is_pipeline: matches!(agent.kind, Kind::Sequential(_) | Kind::Parallel(_)),
        inputs: names.inputs.clone(),
    });
    let id = subject.id.clone();
    BoundAgent { id, origin, at, entry, names, slots: slots.0, callees, signature, texts, agent }
}

/// The agents that the steps of a pipeline call.
fn steps<'p>(
    units: &mut Units<'p>,
    reader: &Reader<'_>,
    pipeline: &Pipeline<'p>,
    names: &mut AgentNames,
    slots: &mut FlowSlots,
) -> Vec<Callee<'p>> {
    // Shared, because a thousand steps in one pipeline would have a million names.
    let roots: Arc<[Arc<str>]> = names.roots(At::End).into();
    let mut callees = Vec::with_capacity(pipeline.steps.len());
    for (step, name) in pipeline.steps.iter().zip(&mut names.steps) {
        let outside = || {
            let unclear = step.unclear && step.given.as_ref().is_none_or(Vec::is_empty);
            let given = step.given.as_ref().map(|all| all.iter().map(|t| (*t).clone()).collect());
            Some(Arc::new(Outside { given, unclear, step: name.at, names: roots.clone() }))
        };
        let (callee, signature) = callee(units, reader, (&step.target, step.span), outside);
        if signature.as_ref().is_some_and(|c| c.is_pipeline) {
            name.exports = Some(slots.add(format!("{} (inner)", name.key)));
        }
        name.callee = signature;
        callees.push(callee);
    }
    callees
}

/// The agents that a model has as tools, in order, followed by those that it may spawn.
fn called<'p>(units: &mut Units<'p>, reader: &Reader<'_>, llm: &Llm<'p>) -> Vec<Callee<'p>> {
    let targets = llm.tools.iter().filter_map(|tool| match tool {
        Tool::Agent { target, .. } => Some(*target),
        _ => None,
    });
    let mut document = |target| match units.reference(reader, target) {
        Some((document, _)) => Callee::Document(document),
        None => Callee::Nobody,
    };
    let mut all: Vec<_> = targets.map(&mut document).collect();
    for spawned in &llm.spawnable {
        let at = match spawned {
            Target::Ref(text) => text.span,
            Target::Inline(inner) => inner.head,
            Target::Nobody => continue,
        };
        all.push(callee(units, reader, (spawned, at), || None).0);
    }
    all
}

fn callee<'p>(
    units: &mut Units<'p>,
    reader: &Reader<'_>,
    (target, at): (&Target<'p>, Span),
    outside: impl FnOnce() -> Option<Arc<Outside>>,
) -> (Callee<'p>, Option<Arc<Signature>>) {
    if units.depth >= MAX_DEPTH {
        let message = format!("agent calls are nested more than {MAX_DEPTH} levels deep");
        reader.error("too-deep", at, message);
        return (Callee::Nobody, None);
    }
    units.depth += 1;
    let found = match target {
        Target::Ref(text) => match units.reference(reader, text) {
            Some((document, signature)) => (Callee::Document(document), Some(signature)),
            None => (Callee::Nobody, None),
        },
        Target::Inline(inner) => {
            let inner: &Arc<Agent<'p>> = inner;
            let bound = bind(units, reader, inner.clone(), outside(), false);
            let signature = bound.signature.clone();
            (Callee::Inline(Box::new(bound)), Some(signature))
        }
        Target::Nobody => (Callee::Nobody, None),
    };
    units.depth -= 1;
    found
}

fn model(
    reader: &Reader<'_>,
    subject: &Subject<'_, '_>,
    llm: &Llm<'_>,
    names: &Arc<AgentNames>,
    texts: &mut Texts,
) -> AgentOutcome {
    let mut prompt = |t: Option<&Text>, position| {
        t.into_iter().for_each(|t| texts.bind(reader, names, t, (At::End, Purpose::Prompt, position)));
    };
    prompt(llm.instruction, Position::System);
    prompt(llm.prompt, Position::User);
    if llm.prompt.is_none() {
        texts.prompted.add("userQuery");
    }
    for tool in &llm.tools {
        match tool {
            Tool::Http { http, .. } => request_texts(reader, http, names, texts),
            Tool::Mcp { tools, .. } => {
                for (_, value) in tools.iter().flatten().flat_map(|tool| &tool.params) {
                    texts.bind(reader, names, value, (At::End, Purpose::Data, Position::Data));
                }
            }
            Tool::Local(_) | Tool::Client { .. } | Tool::Agent { .. } => {}
        }
    }
    let declared = llm.output.as_ref().map(|output| Type::declared(&output.json));
    let written = llm.output.as_ref().and_then(|o| Some((o, o.node?))).zip(declared.as_ref());
    let members = written.map(|((output, node), of)| {
        learn::properties(reader, node, of, output.shorthand, DeclarationKind::Property, subject.at)
    });
    let schema = match (&llm.output, declared) {
        (Some(output), Some(declared)) if output.sound => declared,
        (Some(_), _) => Type::Any,
        (None, _) => Type::Answer,
    };
    AgentOutcome { members: members.unwrap_or_default(), ..AgentOutcome::of(schema) }
}

/// Binds the texts of a tool call.
fn tool_texts(reader: &Reader<'_>, agent: &ToolAgent<'_>, names: &Arc<AgentNames>, texts: &mut Texts) {
    if let Some(ToolUse::Http(http)) = &agent.tool {
        return request_texts(reader, http, names, texts);
    }
    if let Some(ToolUse::Local(params) | ToolUse::Mcp { params, .. }) = &agent.tool {
        for (_, value) in params {
            texts.bind(reader, names, value, (At::End, Purpose::Data, Position::Data));
        }
    }
}

fn request_texts(reader: &Reader<'_>, http: &Http<'_>, names: &Arc<AgentNames>, texts: &mut Texts) {
    let mut bind = |t: &Text, position| texts.bind(reader, names, t, (At::End, Purpose::Request, position));
    http.url.into_iter().for_each(|t| bind(t, Position::Url));
    http.params.iter().for_each(|(_, t)| bind(t, Position::Data));
    http.headers.iter().for_each(|(_, t)| bind(t, Position::Header));
    if let Some(body) = &http.body {
        let mut texts = Vec::new();
        body.texts(&mut texts);
        texts.into_iter().for_each(|t| bind(t, Position::Data));
    }
    let mut auth = Vec::new();
    if let Some(tree) = &http.auth {
        tree.texts(&mut auth);
    }
    auth.into_iter().for_each(|t| bind(t, Position::Header));
}
