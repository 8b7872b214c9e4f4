//! Binds one agent: its input, its names, its texts, and what its callers see of it.

use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{DeclarationKind, TextRole};
use trefoil_syntax::Span;
use trefoil_syntax::yaml::YamlText;

use super::binding_subject::{AgentOutcome, BindingSubject};
use super::{AgntzCallee, AgntzTexts, AgntzUnits, BoundAgent, declarations, pipeline};
use crate::agntz::manifest::{
    AgntzAgentKind, AgntzAgentManifest, HttpToolRequest, LlmAgent, LlmTool, PipelineManifest, StepTarget, ToolAgent,
    ToolInvocation,
};
use crate::agntz::names::{AgntzAgentNames, AgntzTextPurpose, EnclosingStep, PipelinePosition};
use crate::agntz::signature::{AgentInputs, AgentSignature};
use crate::name_facts;
use crate::program_builder::FlowSlots;
use crate::yaml_reader::ManifestReader;

/// The maximum depth of agents that call agents, in one file and across files.
pub const MAX_DEPTH: usize = 100;

/// Binds an agent.
pub fn bind_agent<'p>(
    units: &mut AgntzUnits<'p>,
    reader: &ManifestReader<'_>,
    agent: Arc<AgntzAgentManifest<'p>>,
    outside: Option<Arc<EnclosingStep>>,
    entry: bool,
) -> BoundAgent<'p> {
    let flow = units.flow();
    let origin = reader.location_of(agent.id.map_or(agent.head, |t| t.span));
    let at = reader.location_of(agent.id.map_or(agent.head, |t| t.content_span()));
    let subject = BindingSubject { agent: &agent, id: agent.name().into(), at };
    let mut inputs = AgentInputs::from_agent(&agent);
    inputs.members = declarations::declare_inputs(reader, &subject, outside.as_deref());
    let mut slots = FlowSlots::default();
    let input = slots.add_slot("input");
    let query = inputs.has_query.then(|| slots.add_slot("userQuery"));
    let mut names = AgntzAgentNames::new(Arc::new(inputs), input, query, outside.clone(), reader.file);
    let sends_input = matches!(&agent.kind, AgntzAgentKind::Llm(llm) if llm.prompt.is_none());
    names.raw = (sends_input && query.is_none()).then(|| slots.add_slot("raw input"));
    let mut callees: Vec<AgntzCallee<'p>> = Vec::new();
    let mut texts = AgntzTexts::default();
    if let AgntzAgentKind::Sequential(p) | AgntzAgentKind::Parallel(p) = &agent.kind {
        names.order = pipeline::step_order(p, matches!(agent.kind, AgntzAgentKind::Parallel(_)));
        pipeline::name_steps(units, reader, p, &mut names, &mut slots);
        callees = steps(units, reader, p, &mut names, &mut slots);
        declarations::declare_steps(reader, &subject, p, &names);
    }
    if let AgntzAgentKind::Llm(llm) = &agent.kind {
        callees = called(units, reader, llm);
    }
    let names = Arc::new(names);
    let outcome = match &agent.kind {
        AgntzAgentKind::Llm(llm) => model(reader, &subject, llm, &names, &mut texts),
        AgntzAgentKind::Tool(tool) => {
            tool_texts(reader, tool, &names, &mut texts);
            declarations::declare_tool(reader, &subject, tool);
            AgentOutcome::from_type(ValueType::Any)
        }
        AgntzAgentKind::Sequential(p) | AgntzAgentKind::Parallel(p) => {
            pipeline::bind_outcome(reader, &subject, p, &names, &mut texts)
        }
        AgntzAgentKind::Hosted(hosted) => {
            for (text, position) in [(hosted.instruction, TextRole::System), (hosted.prompt, TextRole::User)] {
                text.into_iter().for_each(|t| {
                    texts.bind_text(reader, &names, t, (PipelinePosition::End, AgntzTextPurpose::Prompt, position))
                });
            }
            AgentOutcome::from_type(ValueType::Any)
        }
        AgntzAgentKind::Unknown => AgentOutcome::from_type(ValueType::Any),
    };
    declarations::declare_agent(reader, &subject, outside.as_deref(), &outcome.schema);
    let calls_model = match &agent.kind {
        AgntzAgentKind::Llm(_) => true,
        _ => names.steps.iter().any(|s| s.when.is_none() && s.callee.as_ref().is_some_and(|c| c.calls_model)),
    };
    let signature = Arc::new(AgentSignature {
        calls_model,
        id: subject.id.clone(),
        members: outcome.members,
        flow,
        output: outcome.schema,
        exports: outcome.exported,
        prompted: texts.prompted.clone(),
        sends_input,
        reads_input: texts.reads_input,
        is_pipeline: matches!(agent.kind, AgntzAgentKind::Sequential(_) | AgntzAgentKind::Parallel(_)),
        inputs: names.inputs.clone(),
    });
    let id = subject.id.clone();
    BoundAgent { id, origin, at, entry, names, slots: slots.0, callees, signature, texts, agent }
}

/// The agents that the steps of a pipeline call.
fn steps<'p>(
    units: &mut AgntzUnits<'p>,
    reader: &ManifestReader<'_>,
    pipeline: &PipelineManifest<'p>,
    names: &mut AgntzAgentNames,
    slots: &mut FlowSlots,
) -> Vec<AgntzCallee<'p>> {
    // Shared, because a thousand steps in one pipeline would have a million names.
    let roots: Arc<[Arc<str>]> = names.root_names(PipelinePosition::End).into();
    let mut callees = Vec::with_capacity(pipeline.steps.len());
    for (step, name) in pipeline.steps.iter().zip(&mut names.steps) {
        let outside = || {
            let unclear = step.unclear && step.given.as_ref().is_none_or(Vec::is_empty);
            let given = step.given.as_ref().map(|all| all.iter().map(|t| (*t).clone()).collect());
            Some(Arc::new(EnclosingStep { given, unclear, step: name.at, names: roots.clone() }))
        };
        let (callee, signature) = callee(units, reader, (&step.target, step.span), outside);
        if signature.as_ref().is_some_and(|c| c.is_pipeline) {
            name.exports = Some(slots.add_slot(format!("{} (inner)", name.key)));
        }
        name.callee = signature;
        callees.push(callee);
    }
    callees
}

/// The agents that a model has as tools, in order, followed by those that it may spawn.
fn called<'p>(units: &mut AgntzUnits<'p>, reader: &ManifestReader<'_>, llm: &LlmAgent<'p>) -> Vec<AgntzCallee<'p>> {
    let targets = llm.tools.iter().filter_map(|tool| match tool {
        LlmTool::Agent { target, .. } => Some(*target),
        _ => None,
    });
    let mut document = |target| match units.resolve_reference(reader, target) {
        Some((document, _)) => AgntzCallee::Document(document),
        None => AgntzCallee::Nobody,
    };
    let mut all: Vec<_> = targets.map(&mut document).collect();
    for spawned in &llm.spawnable {
        let at = match spawned {
            StepTarget::Ref(text) => text.span,
            StepTarget::Inline(inner) => inner.head,
            StepTarget::Nobody => continue,
        };
        all.push(callee(units, reader, (spawned, at), || None).0);
    }
    all
}

fn callee<'p>(
    units: &mut AgntzUnits<'p>,
    reader: &ManifestReader<'_>,
    (target, at): (&StepTarget<'p>, Span),
    outside: impl FnOnce() -> Option<Arc<EnclosingStep>>,
) -> (AgntzCallee<'p>, Option<Arc<AgentSignature>>) {
    if units.depth >= MAX_DEPTH {
        let message = format!("agent calls are nested more than {MAX_DEPTH} levels deep");
        reader.report_error("too-deep", at, message);
        return (AgntzCallee::Nobody, None);
    }
    units.depth += 1;
    let found = match target {
        StepTarget::Ref(text) => match units.resolve_reference(reader, text) {
            Some((document, signature)) => (AgntzCallee::Document(document), Some(signature)),
            None => (AgntzCallee::Nobody, None),
        },
        StepTarget::Inline(inner) => {
            let inner: &Arc<AgntzAgentManifest<'p>> = inner;
            let bound = bind_agent(units, reader, inner.clone(), outside(), false);
            let signature = bound.signature.clone();
            (AgntzCallee::Inline(Box::new(bound)), Some(signature))
        }
        StepTarget::Nobody => (AgntzCallee::Nobody, None),
    };
    units.depth -= 1;
    found
}

fn model(
    reader: &ManifestReader<'_>,
    subject: &BindingSubject<'_, '_>,
    llm: &LlmAgent<'_>,
    names: &Arc<AgntzAgentNames>,
    texts: &mut AgntzTexts,
) -> AgentOutcome {
    let mut prompt = |t: Option<&YamlText>, position| {
        t.into_iter().for_each(|t| {
            texts.bind_text(reader, names, t, (PipelinePosition::End, AgntzTextPurpose::Prompt, position))
        });
    };
    prompt(llm.instruction, TextRole::System);
    prompt(llm.prompt, TextRole::User);
    if llm.prompt.is_none() {
        texts.prompted.add_name("userQuery");
    }
    for tool in &llm.tools {
        match tool {
            LlmTool::Http { http, .. } => request_texts(reader, http, names, texts),
            LlmTool::Mcp { tools, .. } => {
                for (_, value) in tools.iter().flatten().flat_map(|tool| &tool.params) {
                    texts.bind_text(
                        reader,
                        names,
                        value,
                        (PipelinePosition::End, AgntzTextPurpose::Data, TextRole::Data),
                    );
                }
            }
            LlmTool::Local(_) | LlmTool::Client { .. } | LlmTool::Agent { .. } => {}
        }
    }
    let declared = llm.output.as_ref().map(|output| ValueType::from_schema(&output.json));
    let written = llm.output.as_ref().and_then(|o| Some((o, o.node?))).zip(declared.as_ref());
    let members = written.map(|((output, node), of)| {
        name_facts::declare_properties(reader, node, of, output.shorthand, DeclarationKind::Property, subject.at)
    });
    let schema = match (&llm.output, declared) {
        (Some(output), Some(declared)) if output.sound => declared,
        (Some(_), _) => ValueType::Any,
        (None, _) => ValueType::Answer,
    };
    AgentOutcome { members: members.unwrap_or_default(), ..AgentOutcome::from_type(schema) }
}

/// Binds the texts of a tool call.
fn tool_texts(
    reader: &ManifestReader<'_>,
    agent: &ToolAgent<'_>,
    names: &Arc<AgntzAgentNames>,
    texts: &mut AgntzTexts,
) {
    if let Some(ToolInvocation::Http(http)) = &agent.tool {
        return request_texts(reader, http, names, texts);
    }
    if let Some(ToolInvocation::Local(params) | ToolInvocation::Mcp { params, .. }) = &agent.tool {
        for (_, value) in params {
            texts.bind_text(reader, names, value, (PipelinePosition::End, AgntzTextPurpose::Data, TextRole::Data));
        }
    }
}

fn request_texts(
    reader: &ManifestReader<'_>,
    http: &HttpToolRequest<'_>,
    names: &Arc<AgntzAgentNames>,
    texts: &mut AgntzTexts,
) {
    let mut bind = |t: &YamlText, position| {
        texts.bind_text(reader, names, t, (PipelinePosition::End, AgntzTextPurpose::Request, position))
    };
    http.url.into_iter().for_each(|t| bind(t, TextRole::Url));
    http.params.iter().for_each(|(_, t)| bind(t, TextRole::Data));
    http.headers.iter().for_each(|(_, t)| bind(t, TextRole::Header));
    if let Some(body) = &http.body {
        let mut texts = Vec::new();
        body.collect_texts(&mut texts);
        texts.into_iter().for_each(|t| bind(t, TextRole::Data));
    }
    let mut auth = Vec::new();
    if let Some(tree) = &http.auth {
        tree.collect_texts(&mut auth);
    }
    auth.into_iter().for_each(|t| bind(t, TextRole::Header));
}
