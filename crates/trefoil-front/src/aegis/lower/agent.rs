//! An agent as a flow: a prompt rendered once per iteration, a model call, validators (decisions E4, E10, E13).

use std::sync::Arc;

use trefoil_ir::{
    AnswerFormat, Attempts, Declaration, DeclarationKind, Expr, Flow, Intake, ModelCall, ModelChoice, ModelParameters,
    Schema, SlotId, Source, Step, StepKind, StepPolicy,
};
use trefoil_syntax::yaml::Text;
use trefoil_syntax::{Diagnostic, Location};
use trefoil_template::Value;

use super::names::declare_inputs;
use super::pieces::{built_in_template, constant, path};
use super::prompt::{self, PromptNames};
use super::{Lowering, Slots, input, plain_intake, validator};
use crate::aegis::manifest::agent::{Agent, ContextEntry};
use crate::aegis::manifest::execution::ValidatorKindSpec;
use crate::aegis::manifest::{self};
use crate::build::plain;
use crate::learn::{self, Members};
use crate::project::resolve_path;
use crate::{Document, Reader};

/// The prompt of an agent that writes none (decision E4).
const DEFAULT_PROMPT: &str = "{{#if instruction}}Task: {{instruction}}\n\n{{/if}}{{#if input}}Input: {{input}}{{/if}}";

/// Lowers an agent. With `intent` it is called with an object of `input` and `intent`.
pub(super) fn lower(
    lowering: &mut Lowering<'_>,
    reader: &Reader<'_>,
    document: &Document,
    intent: bool,
) -> Option<Flow> {
    let mut fields = reader.fields(&document.root, "an AEGIS manifest")?;
    manifest::header(&mut fields, manifest::Unit::Agent);
    let agent = manifest::agent::read(reader, &mut fields);
    fields.finish();

    let origin = reader.at(agent.identity.span);
    let mut slots = Slots::default();
    let input = slots.add("input");
    let iteration = slots.add("iteration_number");
    let previous_error = slots.add("previous_error");
    let (intake, mut init, intent) = take_in(lowering, reader, &agent, input, &mut slots, intent);

    let names = PromptNames {
        reader,
        input,
        intent,
        iteration,
        previous_error,
        instruction: agent.instruction.as_ref().map_or("".into(), |t| Value::Str(t.value.clone())),
        context: Value::from(context(lowering, reader, document, &agent)),
        skills: Value::from(skills(lowering)),
        schema: agent.input_schema.as_ref(),
        members: declare(reader, &agent),
    };
    let user = match &agent.prompt {
        Some(prompt) => super::pieces::prompt(reader, prompt, &mut &names),
        None => {
            // It stands nowhere; the instruction is what it shows.
            let at = agent.instruction.as_ref().map_or(origin, |t| reader.at(t.span));
            built_in_template(DEFAULT_PROMPT, at, &mut |r| names.resolve(r, at))
        }
    }
    .unwrap_or_else(|| constant(""));

    if let Some(prompt) = &agent.prompt {
        unread(reader, prompt, &user);
    }
    unread_context(reader, &agent, &user);
    if let (Some(at), Some(deadline)) = (agent.execution.iteration_timeout_at, agent.deadline_ms)
        && deadline < agent.execution.iteration_timeout_ms
    {
        let message = format!(
            "`iteration_timeout` is never reached: `security.resources.timeout` ends all iterations after {} s",
            deadline / 1_000
        );
        reader.warning("no-effect", at, message);
    }
    if let Some(instruction) = &agent.instruction {
        no_template(reader, instruction, "instruction", "put it into `prompt_template`", &prompt::names);
    }

    let execution = &agent.execution;
    let validators = validator::lower(lowering, reader, &agent, input);
    let simple = execution.max_iterations == 1 && execution.validation.is_empty();
    let timeout_ms = match agent.deadline_ms.filter(|_| simple) {
        Some(deadline) => deadline.min(execution.iteration_timeout_ms),
        None => execution.iteration_timeout_ms,
    };
    let call = ModelCall {
        speaker: agent.identity.name.clone(),
        model: model_choice(reader, &agent, origin),
        system: None,
        examples: Vec::new(),
        user,
        parameters: ModelParameters {
            temperature: agent.temperature,
            timeout_ms: Some(execution.llm_timeout_ms),
            ..ModelParameters::default()
        },
        places: execution.llm_timeout_at.map(|at| ("timeout_ms", reader.at(at))).into_iter().collect(),
        format: AnswerFormat::Text,
        guards: Vec::new(),
        stream: true,
    };
    let mut body = lowering.builder.step(Step {
        label: Some(agent.identity.name.clone()),
        policy: StepPolicy {
            timeout_ms: Some(timeout_ms),
            timeout_at: execution
                .iteration_timeout_at
                .filter(|_| timeout_ms == execution.iteration_timeout_ms)
                .map(|at| reader.at(at)),
            ..StepPolicy::default()
        },
        ..plain(StepKind::Model(Box::new(call)), origin)
    });
    if simple {
        init.push((iteration, Expr::Const(Value::from(1i64))));
        init.push((previous_error, constant("")));
    } else {
        body = lowering.builder.step(Step {
            policy: StepPolicy { timeout_ms: agent.deadline_ms, ..StepPolicy::default() },
            ..plain(
                StepKind::Attempts(Attempts {
                    body,
                    max: execution.max_iterations,
                    validators,
                    iteration,
                    previous_error,
                    retry_failures: true,
                }),
                origin,
            )
        });
    }
    if !agent.refused.is_empty() {
        // Beside the rest, so that a plan still shows what the agent would do.
        let mut steps: Vec<_> = agent
            .refused
            .iter()
            .map(|r| lowering.builder.step(plain(StepKind::Refused(r.refused()), reader.at(r.span))))
            .collect();
        steps.push(body);
        body = lowering.builder.step(plain(StepKind::Sequence(steps), origin));
    }
    Some(Flow {
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
    })
}

/// Declares the agent and what it takes, for editors; says where its inputs are declared.
fn declare(reader: &Reader<'_>, agent: &Agent) -> Members {
    let (name, at) = (agent.identity.name.clone(), reader.at(agent.identity.at));
    if !name.is_empty() {
        let model = agent.model.as_ref().map_or("default", |m| &m.value);
        let (kind, extent, note) = (DeclarationKind::Agent, agent.whole, Some(format!("an agent on `{model}`").into()));
        let (parent, schema) = (None, Value::Bool(true));
        reader.facts(|f| f.declare(Declaration { kind, name, at, extent, parent, schema, note }));
    }
    let answer = agent.execution.validation.iter().find_map(|v| match &v.kind {
        ValidatorKindSpec::JsonSchema(schema) => Some(schema),
        _ => None,
    });
    if let Some(schema) = answer {
        learn::properties(reader, &schema.node, &schema.json, false, DeclarationKind::Property, at);
    }
    agent.input_schema.as_ref().map(|schema| declare_inputs(reader, schema, at)).unwrap_or_default()
}

/// How the input gets in, what is computed first, and where the intent is.
fn take_in(
    lowering: &mut Lowering<'_>,
    reader: &Reader<'_>,
    agent: &Agent,
    input: SlotId,
    slots: &mut Slots,
    intent: bool,
) -> (Intake, Vec<(SlotId, Expr)>, Source) {
    let name = &agent.identity.name;
    if !intent {
        let intake =
            input::intake(lowering, reader, name, agent.input_schema.as_ref(), input, &["intent", "attachments"]);
        // Started by hand, an agent finds the intent beside the rest of its input.
        return (intake, Vec::new(), Source::Member(input, path(["intent"])));
    }
    let call = slots.add("call");
    let intent = slots.add("intent");
    let mut intake = plain_intake(call);
    intake.schema = agent.input_schema.as_ref().map(|schema| {
        lowering.builder.schema(Schema {
            name: format!("{name}_input").into(),
            json: input::enveloped(schema),
            origin: reader.at(schema.node.span),
        })
    });
    let init = vec![
        (input, Expr::Read(Source::Member(call, path(["input"])))),
        (intent, Expr::Read(Source::Member(call, path(["intent"])))),
    ];
    (intake, init, Source::Slot(intent))
}

/// What the agent is told, or given, and its prompt never shows.
fn unread(reader: &Reader<'_>, prompt: &Text, bound: &Expr) {
    let references = match bound {
        Expr::Template(text) => text.template.references(),
        // Without any placeholder.
        Expr::Const(text) if text.as_str().is_some_and(|t| !t.trim().is_empty()) => &[],
        _ => return,
    };
    // Everything that has a name, perhaps.
    if references.iter().any(|r| r.path.is_empty()) {
        return;
    }
    let reads = |name: &str| references.iter().any(|r| r.path.first().is_some_and(|s| &*s.name == name));
    let at = reader.at(prompt.span);
    if !reads("instruction") {
        let d = Diagnostic::warning("no-effect", at, "`instruction` has no effect: `prompt_template` does not read it");
        reader.report(d.help("write `{{instruction}}` where the model is to read it"));
    }
    if !["input", "intent", "attachments"].iter().any(|name| reads(name)) {
        let message = "`prompt_template` does not read `input`: what the agent is given never reaches its model";
        reader
            .report(Diagnostic::info("no-effect", at, message).help("write `{{input}}` where the model is to read it"));
    }
}

/// Texts for `{{context}}` that the prompt does not show.
fn unread_context(reader: &Reader<'_>, agent: &Agent, bound: &Expr) {
    let Some(ContextEntry::Text(first) | ContextEntry::File(first)) = agent.context.first() else { return };
    let shown = match bound {
        Expr::Template(text) => {
            let all = text.template.references();
            all.iter().any(|r| r.path.first().is_none_or(|root| &*root.name == "context"))
        }
        Expr::Const(text) => text.as_str().is_none_or(|t| t.trim().is_empty()),
        _ => true,
    };
    if !shown {
        let prompt = if agent.prompt.is_some() { "`prompt_template`" } else { "the default prompt" };
        let message = format!("`context` has no effect: {prompt} does not read it");
        let d = Diagnostic::warning("no-effect", reader.at(first.span), message);
        reader.report(d.help("write `{{context}}` into `prompt_template` where the model is to read it"));
    }
}

/// Placeholders in what is data: nobody fills them in. `what` is the key, `named` whether something can be meant by a path.
pub(super) fn no_template(
    reader: &Reader<'_>,
    source: &Text,
    what: &str,
    help: &'static str,
    named: &dyn Fn(&str) -> bool,
) {
    let text = &*source.value;
    for (open, _) in text.match_indices("{{") {
        let Some(len) = text.get(open..).and_then(|rest| rest.find("}}")) else { return };
        let path = text.get(open + 2..open + len).unwrap_or_default().trim();
        // In quotes it is an example of a placeholder.
        let quoted = text.get(..open).is_some_and(|before| before.ends_with(['`', '"', '\'', '\\', '{']));
        if quoted || !named(path) {
            continue;
        }
        let at = reader.at(source.source(open as u32..(open + len + 2) as u32));
        let message = format!("`{{{{{path}}}}}` stays as it is: `{what}` is no template");
        let d = Diagnostic::warning("no-effect", at, message);
        reader.report(if help.is_empty() { d } else { d.help(help) });
    }
}

fn model_choice(reader: &Reader<'_>, agent: &Agent, origin: Location) -> ModelChoice {
    match &agent.model {
        // `provider:model` is a model, a lone word an alias that the operator maps to one.
        Some(model)
            if model.value.split_once(':').is_some_and(|(provider, name)| !provider.is_empty() && !name.is_empty()) =>
        {
            let (provider, name) = model.value.split_once(':').unwrap_or_default();
            ModelChoice { provider: Some(provider.into()), name: name.into(), origin: reader.at(model.span) }
        }
        Some(alias) => ModelChoice { provider: None, name: alias.value.clone(), origin: reader.at(alias.span) },
        None => ModelChoice { provider: None, name: "default".into(), origin },
    }
}

/// `{{context}}`: what the operator gave, else the entries joined by a blank line.
fn context(lowering: &mut Lowering<'_>, reader: &Reader<'_>, document: &Document, agent: &Agent) -> Arc<str> {
    if let Some(given) = &lowering.project.context {
        let given: Arc<str> = given.as_str().into();
        lowering.baked.push(given.clone());
        return given;
    }
    let mut parts: Vec<&str> = Vec::new();
    for entry in &agent.context {
        match entry {
            ContextEntry::Text(text) => parts.push(&text.value),
            ContextEntry::File(path) => {
                let resolved = resolve_path(&document.path, &path.value);
                match lowering.project.attachments.get(&resolved) {
                    Some(text) => {
                        lowering.baked.push(text.as_str().into());
                        parts.push(text);
                    }
                    None => reader.report(
                        Diagnostic::error(
                            "unknown-reference",
                            reader.at(path.span),
                            format!("the file `{}` cannot be read", path.value),
                        )
                        .help("paths are relative to the manifest"),
                    ),
                }
            }
        }
    }
    parts.join("\n\n").into()
}

/// `{{agentskills}}`: what the operator gave.
fn skills(lowering: &mut Lowering<'_>) -> Arc<str> {
    let given: Arc<str> = lowering.project.skills.as_deref().unwrap_or_default().into();
    if !given.is_empty() {
        lowering.baked.push(given.clone());
    }
    given
}

/// An agent that nobody declares: its input is its prompt. Only the embedded model plays it (the program lists it).
pub(super) fn missing(lowering: &mut Lowering<'_>, name: &Arc<str>) -> Flow {
    let origin = lowering.builder.missing_agent_location(name).unwrap_or_else(|| lowering.directory.origin(0));
    let mut slots = Slots::default();
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
        intake: plain_intake(input),
        init: Vec::new(),
        body: lowering.builder.step(body),
        output: None,
        exports: Vec::new(),
        budget: None,
    }
}
