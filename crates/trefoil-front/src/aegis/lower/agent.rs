//! Lowers an agent to a flow: a prompt rendered for each iteration, a model call, validators.

use std::collections::HashSet;
use std::sync::Arc;

use trefoil_ir::{
    AnswerFormat, Attempts, Conversation, Expr, Flow, Intake, ModelCall, ModelChoice, ModelParameters, Offer, Schema,
    SlotId, Source, Step, StepId, StepKind, StepPolicy, ToolCall, ToolCallRules, ToolKind,
};
use trefoil_syntax::{FileId, Location};
use trefoil_template::Value;

use super::pieces::{built_in_template, constant};
use super::{Lowering, input, validator};
use crate::aegis::manifest::agent::Agent;
use crate::aegis::manifest::tools::Tool;
use crate::aegis::names::{AgentNames, FlowSlots, PromptPlace, path};
use crate::aegis::texts::{PROMPT, Texts};
use crate::build::plain;
use crate::names::{Place, bind};
use crate::providers;

/// The maximum number of model calls in an iteration, as in the original system.
const MAX_TURNS: u32 = 50;
/// The prompt of an agent without one.
const DEFAULT_PROMPT: &str = "{{#if instruction}}Task: {{instruction}}\n\n{{/if}}{{#if input}}Input: {{input}}{{/if}}";

/// Lowers an agent.
pub fn lower(lowering: &mut Lowering<'_>, file: FileId, agent: &Agent, names: &AgentNames, texts: &Texts) -> Flow {
    let origin = Location::new(file, agent.identity.span);
    lowering.baked.extend(names.baked.iter().cloned());
    let (intake, mut init) = take_in(lowering, file, agent, names);
    let user = prompt(file, agent, names, texts);
    let validators = validator::lower(lowering, file, agent, names.prompt.input, agent.execution.validation.iter());
    let execution = &agent.execution;
    let simple = execution.max_iterations == 1 && execution.validation.is_empty();
    let policy = StepPolicy {
        timeout_ms: agent.deadline.map(|(ms, _)| ms),
        timeout_at: agent.deadline.map(|(_, at)| Location::new(file, at)),
        ..StepPolicy::default()
    };
    let mut slots = names.slots.clone();
    let gate = gate(lowering, file, agent, names, &mut slots);
    let mut body = model(lowering, file, agent, user, gate);
    let (iteration, previous_error) = (names.prompt.iteration, names.prompt.previous_error);
    if simple {
        init.push((iteration, Expr::Const(Value::from(1i64))));
        init.push((previous_error, constant("")));
        if agent.deadline.is_some() {
            body = lowering.builder.step(Step { policy, ..plain(StepKind::Sequence(vec![body]), origin) });
        }
    } else {
        let max = execution.max_iterations;
        let attempts = Attempts { body, max, validators, iteration, previous_error, retry_failures: true };
        body = lowering.builder.step(Step { policy, ..plain(StepKind::Attempts(attempts), origin) });
    }
    if !agent.refused.is_empty() {
        // The refused features are steps before the others, so that a plan still shows what the agent would do.
        let refusals = agent.refused.iter().map(|r| plain(StepKind::Refused(r.refused()), Location::new(file, r.span)));
        let mut steps: Vec<_> = refusals.map(|step| lowering.builder.step(step)).collect();
        steps.push(body);
        body = lowering.builder.step(plain(StepKind::Sequence(steps), origin));
    }
    Flow {
        name: agent.identity.name.clone(),
        sort: "agent",
        origin,
        slots: slots.0,
        intake,
        init,
        body,
        output: None,
        exports: Vec::new(),
        budget: None,
    }
}

/// The prompt.
fn prompt(file: FileId, agent: &Agent, names: &AgentNames, texts: &Texts) -> Expr {
    let made = match &agent.prompt {
        Some(prompt) => texts.text(PROMPT, prompt).map(Expr::Template),
        None => {
            // The default prompt has no place in the file; its findings refer to the instruction, which it prints.
            let at = Location::new(file, agent.instruction.as_ref().map_or(agent.identity.span, |t| t.span));
            let root = PromptPlace(names.prompt.clone()).root();
            built_in_template(DEFAULT_PROMPT, at, &mut |reference| {
                let bound = bind(&root, &reference.path);
                (bound.source, bound.skip)
            })
        }
    };
    made.unwrap_or_else(|| constant(""))
}

/// The validation before each tool call.
fn gate(
    lowering: &mut Lowering<'_>,
    file: FileId,
    agent: &Agent,
    names: &AgentNames,
    slots: &mut FlowSlots,
) -> Option<StepId> {
    let mut specs = agent.gate().peekable();
    specs.peek()?;
    let validators = validator::lower(lowering, file, agent, names.prompt.input, specs);
    let origin = Location::new(file, agent.execution.tool_validation_at.unwrap_or(agent.identity.span));
    let body = lowering.builder.step(plain(StepKind::PASSED_CALL, origin));
    // No expression reads these slots.
    let [iteration, previous_error] = ["(iteration)", "(previous error)"].map(|name| slots.add(name));
    let attempts = Attempts { body, max: 1, validators, iteration, previous_error, retry_failures: false };
    let label = Some("(tool_validation)".into());
    Some(lowering.builder.step(Step { label, ..plain(StepKind::Attempts(attempts), origin) }))
}

/// The model call of one iteration.
fn model(lowering: &mut Lowering<'_>, file: FileId, agent: &Agent, user: Expr, gate: Option<StepId>) -> StepId {
    let execution = &agent.execution;
    let origin = Location::new(file, agent.identity.span);
    let at = |span| Location::new(file, span);
    let call = ModelCall {
        speaker: agent.identity.name.clone(),
        model: model_choice(file, agent, origin),
        system: None,
        examples: Vec::new(),
        user,
        parameters: ModelParameters {
            temperature: agent.temperature,
            timeout_ms: Some(execution.llm_timeout_ms),
            ..ModelParameters::default()
        },
        places: execution.llm_timeout_at.map(|span| ("timeout_ms", at(span))).into_iter().collect(),
        format: AnswerFormat::Text,
        guards: Vec::new(),
        stream: true,
    };
    let timeout_ms = Some(execution.iteration_timeout_ms);
    let mut kind = StepKind::Model(Box::new(call));
    if !agent.tools.is_empty() {
        let turn = lowering.builder.step(plain(kind, origin));
        let offers = places(lowering, file, &agent.tools);
        let offers = offers.into_iter().map(|(tool, server)| offer(lowering, file, tool, server)).collect();
        let calls = ToolCallRules {
            needed: execution.needs_call_at.is_some(),
            most: Some(execution.max_calls),
            most_at: execution.max_calls_at.map(at),
        };
        let talk = Conversation { turn, offers, gate, max_turns: MAX_TURNS, max_turns_at: None, calls };
        kind = StepKind::Conversation(Box::new(talk));
    }
    lowering.builder.step(Step {
        label: Some(agent.identity.name.clone()),
        policy: StepPolicy { timeout_ms, timeout_at: execution.iteration_timeout_at.map(at), ..StepPolicy::default() },
        ..plain(kind, origin)
    })
}

/// The tools with their servers. What is named twice, or also belongs to a server that is named as a whole, is offered once.
fn places<'t>(lowering: &Lowering<'_>, file: FileId, tools: &'t [Tool]) -> Vec<(&'t Tool, Option<Arc<str>>)> {
    let mut places: Vec<_> = tools.iter().map(|tool| (tool, server(lowering, file, tool))).collect();
    let whole = places.iter().filter(|(tool, _)| tool.only.is_none()).filter_map(|(_, server)| server.clone());
    let whole: HashSet<Arc<str>> = whole.collect();
    let mut seen = HashSet::new();
    places.retain(|(tool, server)| {
        let name = if server.is_some() { tool.only.clone() } else { Some(tool.name.value.clone()) };
        let is_covered = name.is_some() && server.as_ref().is_some_and(|server| whole.contains(server));
        !is_covered && seen.insert((server.clone(), name))
    });
    places
}

/// The server of a tool, or the one that its name means.
fn server(lowering: &Lowering<'_>, file: FileId, tool: &Tool) -> Option<Arc<str>> {
    let is_server = lowering.project.servers.get(&file).is_some_and(|servers| servers.contains(&*tool.name.value));
    tool.server.clone().or_else(|| is_server.then(|| tool.name.value.clone()))
}

/// A tool with its name, one tool of a server, or all of them.
fn offer(lowering: &mut Lowering<'_>, file: FileId, tool: &Tool, server: Option<Arc<str>>) -> Offer {
    let origin = Location::new(file, tool.name.span);
    let (name, call) = match (&server, &tool.only) {
        (Some(server), Some(only)) => {
            (format!("mcp__{server}__{only}").into(), (only.clone(), ToolKind::mcp(server.clone())))
        }
        (Some(server), None) => (format!("mcp__{server}__").into(), (Arc::from(""), ToolKind::mcp(server.clone()))),
        (None, _) => (tool.name.value.clone(), (tool.name.value.clone(), ToolKind::Local)),
    };
    let call = ToolCall { name: call.0, kind: call.1, arguments: Expr::Read(Source::Result) };
    let step = Step { label: Some(tool.name.value.clone()), ..plain(StepKind::Tool(Box::new(call)), origin) };
    Offer {
        name,
        description: None,
        parameters: None,
        pinned: Vec::new(),
        member: None,
        all: server.is_some() && tool.only.is_none(),
        step: lowering.builder.step(step),
        origin,
    }
}

/// How the input is processed, and what is computed first.
fn take_in(
    lowering: &mut Lowering<'_>,
    file: FileId,
    agent: &Agent,
    names: &AgentNames,
) -> (Intake, Vec<(SlotId, Expr)>) {
    let (name, input) = (&agent.identity.name, names.prompt.input);
    let schema = agent.input_schema.as_ref();
    let Some((call, intent)) = names.called else {
        return (input::intake(lowering, file, name, schema, input, &["intent", "attachments"]), Vec::new());
    };
    let mut intake = Intake::plain(call);
    intake.schema = schema.map(|schema| {
        lowering.builder.schema(Schema {
            name: format!("{name}_input").into(),
            json: input::enveloped(schema),
            origin: Location::new(file, schema.node.span),
        })
    });
    let init = vec![
        (input, Expr::Read(Source::Member(call, path(&["input"])))),
        (intent, Expr::Read(Source::Member(call, path(&["intent"])))),
    ];
    (intake, init)
}

fn model_choice(file: FileId, agent: &Agent, origin: Location) -> ModelChoice {
    let Some(model) = &agent.model else { return ModelChoice { provider: None, name: "default".into(), origin } };
    let origin = Location::new(file, model.span);
    // `provider:model` is a model, a lone word an alias that the operator maps to one.
    match providers::parts(&model.value) {
        Some((provider, name)) => ModelChoice { provider: Some(provider.into()), name: name.into(), origin },
        None => ModelChoice { provider: None, name: model.value.clone(), origin },
    }
}

/// A flow for an agent that is not defined: its input is its prompt. Only the embedded model may answer it (the program
/// lists it).
pub fn missing(lowering: &mut Lowering<'_>, name: &Arc<str>) -> Flow {
    let origin = lowering.builder.missing_agent_location(name).unwrap_or_else(|| lowering.directory.origin(0));
    let mut slots = FlowSlots::default();
    let input = slots.add("input");
    let call = ModelCall {
        speaker: name.clone(),
        model: ModelChoice { provider: None, name: "default".into(), origin },
        system: None,
        examples: Vec::new(),
        user: Expr::AsText(Box::new(Expr::Read(Source::Slot(input)))),
        parameters: ModelParameters::default(),
        places: Vec::new(),
        format: AnswerFormat::Text,
        guards: Vec::new(),
        stream: true,
    };
    let body = Step { label: Some(name.clone()), ..plain(StepKind::Model(Box::new(call)), origin) };
    Flow {
        name: name.clone(),
        sort: "agent",
        origin,
        slots: slots.0,
        intake: Intake::plain(input),
        init: Vec::new(),
        body: lowering.builder.step(body),
        output: None,
        exports: Vec::new(),
        budget: None,
    }
}
