//! Binds one agent: its input, its names, its texts, and what its callers see of it.

use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{DeclarationKind, TextRole};
use trefoil_syntax::Span;
use trefoil_syntax::yaml::YamlText;

use super::binding_subject::{AgentOutcome, BindingSubject};
use super::{AgntzCallee, AgntzTexts, AgntzUnits, BoundAgent, declarations, pipeline};
use crate::agntz::manifest::{
    AgntzAgentKind, AgntzAgentManifest, HttpToolRequest, LlmAgent, LlmTool, PipelineManifest, PipelineStep, StepTarget,
    ToolAgent, ToolInvocation,
};
use crate::agntz::names::{AgntzAgentNames, AgntzTextPurpose, EnclosingStep, PipelinePosition, StepName};
use crate::agntz::signature::{AgentInputs, AgentSignature};
use crate::name_facts;
use crate::names::MemberDeclarations;
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
    let (origin, at) = match agent.id {
        Some(id) => (id.span, id.content_span()),
        None => (agent.head, agent.head),
    };
    let (origin, at) = (reader.location_of(origin), reader.location_of(at));
    let subject = BindingSubject { agent: &agent, id: agent.name().into(), at };
    let mut inputs = AgentInputs::from_agent(&agent);
    inputs.members = declarations::declare_inputs(reader, &subject, outside.as_deref());
    let mut slots = FlowSlots::default();
    let input = slots.add_slot("input");
    let query = if inputs.has_query { Some(slots.add_slot("userQuery")) } else { None };
    let mut names = AgntzAgentNames::new(Arc::new(inputs), input, query, outside.clone(), reader.file);
    let sends_input = matches!(&agent.kind, AgntzAgentKind::Llm(llm) if llm.prompt.is_none());
    if sends_input && query.is_none() {
        names.raw = Some(slots.add_slot("raw input"));
    }
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
    let outcome = agent_outcome(reader, &subject, &names, &mut texts);
    declarations::declare_agent(reader, &subject, outside.as_deref(), &outcome.schema);
    let calls_model = match &agent.kind {
        AgntzAgentKind::Llm(_) => true,
        _ => names.steps.iter().any(always_calls_model),
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

/// Binds the texts of an agent and determines its result.
fn agent_outcome(
    reader: &ManifestReader<'_>,
    subject: &BindingSubject<'_, '_>,
    names: &Arc<AgntzAgentNames>,
    texts: &mut AgntzTexts,
) -> AgentOutcome {
    match &subject.agent.kind {
        AgntzAgentKind::Llm(llm) => model(reader, subject, llm, names, texts),
        AgntzAgentKind::Tool(tool) => {
            tool_texts(reader, tool, names, texts);
            declarations::declare_tool(reader, subject, tool);
            AgentOutcome::from_type(ValueType::Any)
        }
        AgntzAgentKind::Sequential(p) | AgntzAgentKind::Parallel(p) => {
            pipeline::bind_outcome(reader, subject, p, names, texts)
        }
        AgntzAgentKind::Hosted(hosted) => {
            bind_prompts(reader, names, (hosted.instruction, hosted.prompt), texts);
            AgentOutcome::from_type(ValueType::Any)
        }
        AgntzAgentKind::Unknown => AgentOutcome::from_type(ValueType::Any),
    }
}

fn always_calls_model(step: &StepName) -> bool {
    step.when.is_none() && matches!(&step.callee, Some(callee) if callee.calls_model)
}

/// Binds the texts of the system message and of the user message.
fn bind_prompts(
    reader: &ManifestReader<'_>,
    names: &Arc<AgntzAgentNames>,
    (instruction, prompt): (Option<&YamlText>, Option<&YamlText>),
    texts: &mut AgntzTexts,
) {
    for (text, role) in [(instruction, TextRole::System), (prompt, TextRole::User)] {
        if let Some(text) = text {
            texts.bind_text(reader, names, text, (PipelinePosition::End, AgntzTextPurpose::Prompt, role));
        }
    }
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
        let outside = || Some(enclosing_step(step, name, &roots));
        let (callee, signature) = callee(units, reader, (&step.target, step.span), outside);
        if matches!(&signature, Some(callee) if callee.is_pipeline) {
            name.exports = Some(slots.add_slot(format!("{} (inner)", name.key)));
        }
        name.callee = signature;
        callees.push(callee);
    }
    callees
}

/// What an agent in a step knows about the step. `names` are those of the pipeline.
fn enclosing_step(step: &PipelineStep<'_>, name: &StepName, names: &Arc<[Arc<str>]>) -> Arc<EnclosingStep> {
    let gives_nothing = match &step.given {
        Some(given) => given.is_empty(),
        None => true,
    };
    Arc::new(EnclosingStep {
        given: step.given.as_ref().map(|given| given.iter().copied().cloned().collect()),
        unclear: step.unclear && gives_nothing,
        step: name.at,
        names: names.clone(),
    })
}

/// The agents that a model has as tools, in order, followed by those that it may spawn.
fn called<'p>(units: &mut AgntzUnits<'p>, reader: &ManifestReader<'_>, llm: &LlmAgent<'p>) -> Vec<AgntzCallee<'p>> {
    let mut all = Vec::new();
    for tool in &llm.tools {
        let LlmTool::Agent { target, .. } = tool else { continue };
        all.push(match units.resolve_reference(reader, target) {
            Some((document, _)) => AgntzCallee::Document(document),
            None => AgntzCallee::Nobody,
        });
    }
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
    bind_prompts(reader, names, (llm.instruction, llm.prompt), texts);
    if llm.prompt.is_none() {
        texts.prompted.add_name("userQuery");
    }
    for tool in &llm.tools {
        match tool {
            LlmTool::Http { http, .. } => request_texts(reader, http, names, texts),
            LlmTool::Mcp { tools, .. } => {
                for tool in tools.iter().flatten() {
                    bind_values(reader, &tool.params, names, texts);
                }
            }
            LlmTool::Local(_) | LlmTool::Client { .. } | LlmTool::Agent { .. } => {}
        }
    }
    let Some(output) = &llm.output else { return AgentOutcome::from_type(ValueType::Answer) };
    let declared = ValueType::from_schema(&output.json);
    let members = match output.node {
        Some(node) => {
            let kind = DeclarationKind::Property;
            name_facts::declare_properties(reader, node, &declared, output.shorthand, kind, subject.at)
        }
        None => MemberDeclarations::default(),
    };
    let schema = if output.sound { declared } else { ValueType::Any };
    AgentOutcome { members, ..AgentOutcome::from_type(schema) }
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
        bind_values(reader, params, names, texts);
    }
}

fn bind_values(
    reader: &ManifestReader<'_>,
    params: &[(&YamlText, &YamlText)],
    names: &Arc<AgntzAgentNames>,
    texts: &mut AgntzTexts,
) {
    for (_, value) in params {
        texts.bind_text(reader, names, value, (PipelinePosition::End, AgntzTextPurpose::Data, TextRole::Data));
    }
}

fn request_texts(
    reader: &ManifestReader<'_>,
    http: &HttpToolRequest<'_>,
    names: &Arc<AgntzAgentNames>,
    texts: &mut AgntzTexts,
) {
    let mut bind = |text: &YamlText, role| {
        texts.bind_text(reader, names, text, (PipelinePosition::End, AgntzTextPurpose::Request, role))
    };
    if let Some(url) = http.url {
        bind(url, TextRole::Url);
    }
    for (_, value) in &http.params {
        bind(value, TextRole::Data);
    }
    for (_, value) in &http.headers {
        bind(value, TextRole::Header);
    }
    for (tree, role) in [(&http.body, TextRole::Data), (&http.auth, TextRole::Header)] {
        let mut templates = Vec::new();
        if let Some(tree) = tree {
            tree.collect_texts(&mut templates);
        }
        for template in templates {
            bind(template, role);
        }
    }
}
