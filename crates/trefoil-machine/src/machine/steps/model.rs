//! Model calls: messages put together, guardrails on the user message, the answer read.

use trefoil_ir::{AnswerFormat, Guard, ModelCall, Step};
use trefoil_template::Value;

use super::conversation;
use crate::answer;
use crate::event::EventKind;
use crate::guard::{self, cost_cap, token_cap};
use crate::machine::eval::{EvalStop, text_of};
use crate::machine::frame::{FrameId, Misfit};
use crate::machine::lifecycle::Started;
use crate::machine::turn::Turn;
use crate::provenance::{self, From, Origin, TextPart};
use crate::request::{Message, ModelRequest, Request, Role};

/// Asks for the call.
pub fn start(turn: &mut Turn<'_>, f: FrameId, call: &ModelCall) -> Result<Started, EvalStop> {
    let context = turn.context(f, None, None);
    let system = call.system.as_ref().map(|e| context.passing(e)).transpose()?;
    let user = text_of(&context.passing(&call.user)?);
    let system = system.map(|s| text_of(&s)).filter(|s| s.as_str() != Some(""));
    let before = user.clone();
    let checked = guard::input(&call.guards, user)?;
    let origins = turn.core.traces.then(|| {
        let of_system = call.system.as_ref().zip(system.as_ref()).map(|(expr, text)| context.parts(expr, text));
        let of_user = context.parts(&call.user, &before);
        (of_system, provenance::realign(of_user, &before.to_text(), &checked.text.to_text()))
    });
    let (of_system, of_user) = origins.map_or((None, None), |(system, user)| (system, Some(user)));
    let constant = |text: &str| turn.core.traces.then(|| provenance::constant(text));
    let mut messages = Vec::with_capacity(call.examples.len() * 2 + 2);
    let mut say = |role, content, parts: Option<Vec<provenance::TextPart>>| {
        messages.push(Message { parts: parts.unwrap_or_default(), ..Message::new(role, content) });
    };
    if let Some(system) = system {
        say(Role::System, system, of_system);
    }
    for example in &call.examples {
        say(Role::User, Value::Str(example.input.clone()), constant(&example.input));
        say(Role::Assistant, Value::Str(example.output.clone()), constant(&example.output));
    }
    say(Role::User, checked.text, of_user);
    conversation::say(turn, f, &mut messages);
    let mut say = |role, content, parts: Option<Vec<provenance::TextPart>>| {
        messages.push(Message { parts: parts.unwrap_or_default(), ..Message::new(role, content) });
    };
    if let Some(misfit) = turn.core.frames.get(f).and_then(|f| f.aside.as_deref()).and_then(|a| a.misfit.as_ref()) {
        let key = turn.core.frames.get(f).map(|f| f.base.clone());
        let origin = Origin::of(key.map_or(From::Other, From::Step));
        let text = misfit.answer.to_text();
        let part = turn.core.traces.then(|| vec![TextPart { len: text.len() as u32, origin }]);
        say(Role::Assistant, misfit.answer.clone(), part);
        let demand = format!("{}. Answer again, with only JSON that matches the schema.", misfit.why);
        let part = constant(&demand);
        say(Role::User, Value::from(demand), part);
    }
    warn(turn, f, checked.flags);
    let request = ModelRequest {
        speaker: call.speaker.clone(),
        provider: call.model.provider.clone(),
        model: call.model.name.clone(),
        messages,
        parameters: call.parameters.clone(),
        format: call.format.clone(),
        schema: schema(turn, call),
        guards: call.guards.clone(),
        stream: call.stream && !call.guards.iter().any(guard::conceals),
        provisional: call.guards.iter().any(guard::holds_back),
        tools: conversation::tools(turn, f),
    };
    // What is weighed as the request's own must not be held by anybody else.
    drop(before);
    let request = Request::Model(Box::new(request));
    if turn.may_pay(f, &request) && turn.may_call(f) {
        turn.effect(f, request);
        if let Some(ms) = call.parameters.timeout_ms {
            turn.effect_within(f, ms);
        }
    }
    Ok(Started::Running)
}

/// Reads the answer. One that does not fit its schema is kept for the call that asks for a better one (decision C14).
pub fn read(turn: &mut Turn<'_>, f: FrameId, step: &Step, call: &ModelCall, text: &Value) -> Result<Value, EvalStop> {
    for guard in &call.guards {
        match guard {
            Guard::TokenCap { max_tokens, warn: false } => token_cap::check(turn.core.usage.total(), *max_tokens)?,
            Guard::CostCap { max_micro, warn: false } => cost_cap::check(turn.core.usage.cost_micro, *max_micro)?,
            _ => {}
        }
    }
    if conversation::calls(turn, f, text) {
        return Ok(Value::Null);
    }
    let mut error = match answer::read(&call.format, text, &turn.prepared.schemas) {
        Ok(value) => return Ok(value),
        Err(error) => error.answered(&text.to_text()),
    };
    if step.asks_again()
        && let Some(aside) = turn.core.frames.get_mut(f).map(|frame| frame.aside.get_or_insert_default())
    {
        if aside.misfit.is_some() {
            error.message.push_str("; the model was asked twice");
        } else {
            aside.misfit = Some(Misfit { answer: text.clone(), why: error.message.clone() });
            aside.asks_again = true;
        }
    }
    Err(error.into())
}

/// Caps that only warn.
pub fn warn_of_caps(turn: &mut Turn<'_>, f: FrameId, call: &ModelCall) {
    let used = turn.core.usage;
    let over = call.guards.iter().filter_map(|guard| match guard {
        Guard::TokenCap { max_tokens, warn: true } => token_cap::passed(used.total(), *max_tokens),
        Guard::CostCap { max_micro, warn: true } => cost_cap::passed(used.cost_micro, *max_micro),
        _ => None,
    });
    warn(turn, f, over.collect());
}

fn warn(turn: &mut Turn<'_>, f: FrameId, messages: Vec<String>) {
    for message in messages {
        if let (Some((_, step)), Some(key)) = (turn.step_of(f), turn.core.frames.get(f).map(|f| f.base.clone())) {
            turn.note(&key, step.origin, EventKind::Warning { message });
        }
    }
}

fn schema(turn: &Turn<'_>, call: &ModelCall) -> Option<(std::sync::Arc<str>, Value)> {
    let of_guard = || call.guards.iter().find_map(|g| if let Guard::Schema(id) = g { Some(*id) } else { None });
    let id = match &call.format {
        AnswerFormat::Json(id) => Some(*id),
        _ => of_guard(),
    };
    let schema = turn.program.schema(id?)?;
    Some((schema.name.clone(), schema.json.clone()))
}
