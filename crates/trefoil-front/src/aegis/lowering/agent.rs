//! Lowers an agent to a flow: a prompt rendered for each iteration, a model call, validators.

use std::collections::HashSet;
use std::sync::Arc;

use trefoil_ir::{
    AnswerFormat, Attempts, Conversation, FlowDefinition, Intake, ModelCall, ModelChoice, ModelParameters, Offer,
    ProgramSchema, SlotId, Source, Step, StepId, StepKind, StepPolicy, ToolCall, ToolCallRules, ToolKind,
    ValueExpression,
};
use trefoil_syntax::{FileId, Location};
use trefoil_template::Value;

use super::expressions::{built_in_template, constant_text};
use super::{AegisLowering, input, validator};
use crate::aegis::manifest::agent::AegisAgentManifest;
use crate::aegis::manifest::tools::AegisTool;
use crate::aegis::names::{AegisAgentNames, FlowSlots, PromptScope, name_path};
use crate::aegis::texts::{AegisTexts, PROMPT};
use crate::names::{NameScope, bind_path};
use crate::program_builder::plain_step;
use crate::providers;

/// The maximum number of model calls in an iteration, as in the original system.
const MAX_TURNS: u32 = 50;
/// The prompt of an agent without one.
const DEFAULT_PROMPT: &str = "{{#if instruction}}Task: {{instruction}}\n\n{{/if}}{{#if input}}Input: {{input}}{{/if}}";

/// Lowers an agent.
pub fn lower_agent(
    lowering: &mut AegisLowering<'_>,
    file: FileId,
    agent: &AegisAgentManifest,
    names: &AegisAgentNames,
    texts: &AegisTexts,
) -> FlowDefinition {
    let origin = Location::new(file, agent.identity.span);
    lowering.embedded_texts.extend(names.embedded_texts.iter().cloned());
    let (intake, mut init) = take_in(lowering, file, agent, names);
    let user = prompt(file, agent, names, texts);
    let validators =
        validator::lower_validators(lowering, file, agent, names.prompt.input, agent.execution.validation.iter());
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
        init.push((iteration, ValueExpression::Const(Value::from(1i64))));
        init.push((previous_error, constant_text("")));
        if agent.deadline.is_some() {
            body = lowering.builder.add_step(Step { policy, ..plain_step(StepKind::Sequence(vec![body]), origin) });
        }
    } else {
        let max = execution.max_iterations;
        let attempts = Attempts { body, max, validators, iteration, previous_error, retry_failures: true };
        body = lowering.builder.add_step(Step { policy, ..plain_step(StepKind::Attempts(attempts), origin) });
    }
    if !agent.refused.is_empty() {
        // The refused features are steps before the others, so that a plan still shows what the agent would do.
        let mut steps = Vec::with_capacity(agent.refused.len() + 1);
        for refused in &agent.refused {
            let at = Location::new(file, refused.span);
            steps.push(lowering.builder.add_step(plain_step(StepKind::Refused(refused.to_refused()), at)));
        }
        steps.push(body);
        body = lowering.builder.add_step(plain_step(StepKind::Sequence(steps), origin));
    }
    FlowDefinition {
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
fn prompt(file: FileId, agent: &AegisAgentManifest, names: &AegisAgentNames, texts: &AegisTexts) -> ValueExpression {
    let made = match &agent.prompt {
        Some(prompt) => texts.template_text(PROMPT, prompt).map(ValueExpression::Template),
        None => {
            // The default prompt has no place in the file; its findings refer to the instruction, which it prints.
            let span = match &agent.instruction {
                Some(instruction) => instruction.span,
                None => agent.identity.span,
            };
            let at = Location::new(file, span);
            let root = PromptScope(names.prompt.clone()).root_entry();
            built_in_template(DEFAULT_PROMPT, at, &mut |reference| {
                let bound = bind_path(&root, &reference.path);
                (bound.source, bound.skip)
            })
        }
    };
    made.unwrap_or_else(|| constant_text(""))
}

/// The validation before each tool call.
fn gate(
    lowering: &mut AegisLowering<'_>,
    file: FileId,
    agent: &AegisAgentManifest,
    names: &AegisAgentNames,
    slots: &mut FlowSlots,
) -> Option<StepId> {
    let mut specs = agent.gate().peekable();
    specs.peek()?;
    let validators = validator::lower_validators(lowering, file, agent, names.prompt.input, specs);
    let origin = Location::new(file, agent.execution.tool_validation_at.unwrap_or(agent.identity.span));
    let body = lowering.builder.add_step(plain_step(StepKind::PASSED_CALL, origin));
    // No expression reads these slots.
    let (iteration, previous_error) = (slots.add_slot("(iteration)"), slots.add_slot("(previous error)"));
    let attempts = Attempts { body, max: 1, validators, iteration, previous_error, retry_failures: false };
    let label = Some("(tool_validation)".into());
    Some(lowering.builder.add_step(Step { label, ..plain_step(StepKind::Attempts(attempts), origin) }))
}

/// The model call of one iteration.
fn model(
    lowering: &mut AegisLowering<'_>,
    file: FileId,
    agent: &AegisAgentManifest,
    user: ValueExpression,
    gate: Option<StepId>,
) -> StepId {
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
        places: match execution.llm_timeout_at {
            Some(span) => vec![("timeout_ms", at(span))],
            None => Vec::new(),
        },
        format: AnswerFormat::Text,
        guards: Vec::new(),
        stream: true,
    };
    let timeout_ms = Some(execution.iteration_timeout_ms);
    let mut kind = StepKind::Model(Box::new(call));
    if !agent.tools.is_empty() {
        let turn = lowering.builder.add_step(plain_step(kind, origin));
        let mut offers = Vec::with_capacity(agent.tools.len());
        for (tool, server) in places(lowering, file, &agent.tools) {
            offers.push(offer(lowering, file, tool, server));
        }
        let calls = ToolCallRules {
            needed: execution.needs_call_at.is_some(),
            most: Some(execution.max_calls),
            most_at: execution.max_calls_at.map(at),
        };
        let talk = Conversation { turn, offers, gate, max_turns: MAX_TURNS, max_turns_at: None, calls };
        kind = StepKind::Conversation(Box::new(talk));
    }
    lowering.builder.add_step(Step {
        label: Some(agent.identity.name.clone()),
        policy: StepPolicy { timeout_ms, timeout_at: execution.iteration_timeout_at.map(at), ..StepPolicy::default() },
        ..plain_step(kind, origin)
    })
}

/// The tools with their servers. What is named twice, or also belongs to a server that is named as a whole, is offered once.
fn places<'t>(
    lowering: &AegisLowering<'_>,
    file: FileId,
    tools: &'t [AegisTool],
) -> Vec<(&'t AegisTool, Option<Arc<str>>)> {
    let mut places: Vec<_> = tools.iter().map(|tool| (tool, server(lowering, file, tool))).collect();
    let mut whole: HashSet<Arc<str>> = HashSet::new();
    for (tool, server) in &places {
        if tool.only.is_none()
            && let Some(server) = server
        {
            whole.insert(server.clone());
        }
    }
    let mut seen = HashSet::new();
    places.retain(|(tool, server)| {
        let name = if server.is_some() { tool.only.clone() } else { Some(tool.name.value.clone()) };
        let is_covered = name.is_some() && matches!(server, Some(server) if whole.contains(server));
        !is_covered && seen.insert((server.clone(), name))
    });
    places
}

/// The server of a tool, or the one that its name means.
fn server(lowering: &AegisLowering<'_>, file: FileId, tool: &AegisTool) -> Option<Arc<str>> {
    if tool.server.is_some() {
        return tool.server.clone();
    }
    let servers = lowering.project.servers.get(&file)?;
    if servers.contains(&*tool.name.value) { Some(tool.name.value.clone()) } else { None }
}

/// A tool with its name, one tool of a server, or all of them.
fn offer(lowering: &mut AegisLowering<'_>, file: FileId, tool: &AegisTool, server: Option<Arc<str>>) -> Offer {
    let origin = Location::new(file, tool.name.span);
    let (name, call) = match (&server, &tool.only) {
        (Some(server), Some(only)) => {
            (format!("mcp__{server}__{only}").into(), (only.clone(), ToolKind::for_mcp_server(server.clone())))
        }
        (Some(server), None) => {
            (format!("mcp__{server}__").into(), (Arc::from(""), ToolKind::for_mcp_server(server.clone())))
        }
        (None, _) => (tool.name.value.clone(), (tool.name.value.clone(), ToolKind::Local)),
    };
    let call = ToolCall { name: call.0, kind: call.1, arguments: ValueExpression::Read(Source::Result) };
    let step = Step { label: Some(tool.name.value.clone()), ..plain_step(StepKind::Tool(Box::new(call)), origin) };
    Offer {
        name,
        description: None,
        parameters: None,
        pinned: Vec::new(),
        member: None,
        all: server.is_some() && tool.only.is_none(),
        step: lowering.builder.add_step(step),
        origin,
    }
}

/// How the input is processed, and what is computed first.
fn take_in(
    lowering: &mut AegisLowering<'_>,
    file: FileId,
    agent: &AegisAgentManifest,
    names: &AegisAgentNames,
) -> (Intake, Vec<(SlotId, ValueExpression)>) {
    let (name, input) = (&agent.identity.name, names.prompt.input);
    let schema = agent.input_schema.as_ref();
    let Some((call, intent)) = names.called else {
        return (input::build_intake(lowering, file, name, schema, input, &["intent", "attachments"]), Vec::new());
    };
    let mut intake = Intake::for_any_input(call);
    intake.schema = schema.map(|schema| {
        lowering.builder.add_schema(ProgramSchema {
            name: format!("{name}_input").into(),
            json: input::envelope_schema(schema),
            origin: Location::new(file, schema.node.span),
        })
    });
    let init = vec![
        (input, ValueExpression::Read(Source::Member(call, name_path(&["input"])))),
        (intent, ValueExpression::Read(Source::Member(call, name_path(&["intent"])))),
    ];
    (intake, init)
}

fn model_choice(file: FileId, agent: &AegisAgentManifest, origin: Location) -> ModelChoice {
    let Some(model) = &agent.model else { return ModelChoice { provider: None, name: "default".into(), origin } };
    let origin = Location::new(file, model.span);
    // `provider:model` is a model, a lone word an alias that the operator maps to one.
    match providers::split_model_id(&model.value) {
        Some((provider, name)) => ModelChoice { provider: Some(provider.into()), name: name.into(), origin },
        None => ModelChoice { provider: None, name: model.value.clone(), origin },
    }
}

/// A flow for an agent that is not defined: its input is its prompt. Only the embedded model may answer it (the program
/// lists it).
pub fn lower_missing_agent(lowering: &mut AegisLowering<'_>, name: &Arc<str>) -> FlowDefinition {
    let origin = match lowering.builder.missing_agent_location(name) {
        Some(call) => call,
        None => lowering.directory.document_location(0),
    };
    let mut slots = FlowSlots::default();
    let input = slots.add_slot("input");
    let call = ModelCall {
        speaker: name.clone(),
        model: ModelChoice { provider: None, name: "default".into(), origin },
        system: None,
        examples: Vec::new(),
        user: ValueExpression::AsText(Box::new(ValueExpression::Read(Source::Slot(input)))),
        parameters: ModelParameters::default(),
        places: Vec::new(),
        format: AnswerFormat::Text,
        guards: Vec::new(),
        stream: true,
    };
    let body = Step { label: Some(name.clone()), ..plain_step(StepKind::Model(Box::new(call)), origin) };
    FlowDefinition {
        name: name.clone(),
        sort: "agent",
        origin,
        slots: slots.0,
        intake: Intake::for_any_input(input),
        init: Vec::new(),
        body: lowering.builder.add_step(body),
        output: None,
        exports: Vec::new(),
        budget: None,
    }
}
