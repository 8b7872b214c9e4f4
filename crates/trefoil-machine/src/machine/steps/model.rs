//! Model calls: composes the messages, applies guardrails to the user message, reads the answer.

use trefoil_ir::{AnswerFormat, Expr, Guard, ModelCall, Step};
use trefoil_template::Value;

use super::conversation;
use crate::answer;
use crate::blocks;
use crate::error::RunError;
use crate::guard::{self, Looked, Side, Verdict, cap};
use crate::machine::eval::{EvalStop, text_of};
use crate::machine::frame::{FrameId, Misfit, Started};
use crate::machine::turn::Turn;
use crate::provenance::{self, From, Origin, TextPart};
use crate::request::{Message, ModelRequest, Request, Role};

/// Requests the call.
pub fn start(turn: &mut Turn<'_>, f: FrameId, call: &ModelCall) -> Result<Started, EvalStop> {
    let context = turn.context(f, None, None);
    let text = |expr| Ok::<_, EvalStop>((expr, text_of(&context.passing(expr)?)));
    let system = call.system.as_ref().map(text).transpose()?.filter(|(_, text)| text.as_str() != Some(""));
    let asked = context.passing(&call.user)?;
    // Content blocks are passed unchanged; guardrails check text.
    let asked = if call.guards.is_empty() && blocks::of(&asked).is_some() { asked } else { text_of(&asked) };
    let user = (&call.user, asked);
    let system = system.map(|message| checked(turn, f, call, message, Side::Prompt)).transpose()?;
    let (user, of_user) = checked(turn, f, call, user, Side::Input)?;
    let constant = |text: &str| turn.core.traces.then(|| provenance::constant(text));
    let mut messages = Vec::with_capacity(call.examples.len() * 2 + 2);
    let mut say = |role, content, parts: Option<Vec<provenance::TextPart>>| {
        messages.push(Message { parts: parts.unwrap_or_default(), ..Message::new(role, content) });
    };
    if let Some((system, of_system)) = system {
        say(Role::System, system, of_system);
    }
    for example in &call.examples {
        say(Role::User, Value::Str(example.input.clone()), constant(&example.input));
        say(Role::Assistant, Value::Str(example.output.clone()), constant(&example.output));
    }
    say(Role::User, user, of_user);
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
    let request = Request::Model(Box::new(request));
    if turn.may_ask(f, &request) {
        turn.effect(f, request);
        if let Some(ms) = call.parameters.timeout_ms {
            turn.effect_within(f, turn.limiting(ms));
        }
    }
    Ok(Started::Running)
}

/// A message after the guards, with the origins of its parts if the run records provenance.
fn checked(
    turn: &mut Turn<'_>,
    f: FrameId,
    call: &ModelCall,
    (expr, text): (&Expr, Value),
    side: Side,
) -> Result<(Value, Option<Vec<TextPart>>), EvalStop> {
    let context = turn.context(f, None, None);
    let Looked { text: checked, verdicts } =
        guard::message(&call.guards, side, text.clone(), &|| context.placeholders(expr, &text));
    let refusal = verdicts.last().and_then(Verdict::refusal);
    let parts = (turn.core.traces && refusal.is_none())
        .then(|| provenance::realign(context.parts(expr, &text), &text.to_text(), &checked.to_text()));
    verdicts.into_iter().for_each(|verdict| turn.tell(f, verdict));
    match refusal {
        Some(refusal) => Err(refusal.into()),
        None => Ok((checked, parts)),
    }
}

/// Reads the answer. One that does not match its schema is kept for the call that asks for a better one.
pub fn read(turn: &mut Turn<'_>, f: FrameId, step: &Step, call: &ModelCall, text: &Value) -> Result<Value, EvalStop> {
    if let Some(refusal) = caps(turn, f, call, false) {
        return Err(refusal.into());
    }
    if conversation::calls(turn, f, text) {
        return Ok(Value::Null);
    }
    let mut error = match answer::read(&call.format, text, &turn.prepared.schemas) {
        Ok(value) => return Ok(value),
        Err(error) => error.answered(&text.to_text()),
    };
    let aside = turn.core.frames.get_mut(f).and_then(|frame| frame.aside.as_deref_mut());
    error.sent = aside.and_then(|aside| aside.sent.take());
    if step.asks_again()
        && let Some(aside) = turn.core.frames.get_mut(f).map(|frame| frame.aside.get_or_insert_default())
    {
        if aside.misfit.is_some() {
            error.message.push_str("; the model was called twice");
        } else {
            aside.misfit = Some(Misfit { answer: text.clone(), why: error.message.clone() });
            aside.asks_again = true;
        }
    }
    Err(error.into())
}

/// Reports the verdicts of usage limits, either of those that only warn or of those that reject; returns the first
/// rejection.
pub fn caps(turn: &mut Turn<'_>, f: FrameId, call: &ModelCall, warning: bool) -> Option<RunError> {
    let verdicts: Vec<Verdict> = cap::verdicts(&call.guards, turn.core.usage, warning).collect();
    let refusal = verdicts.iter().find_map(Verdict::refusal);
    verdicts.into_iter().for_each(|verdict| turn.tell(f, verdict));
    refusal
}

fn schema(turn: &Turn<'_>, call: &ModelCall) -> Option<(std::sync::Arc<str>, Value)> {
    let of_guard = || call.guards.iter().find_map(|g| if let Guard::Schema(id) = g { Some(*id) } else { None });
    let id = match &call.format {
        AnswerFormat::Json(id) => Some(*id),
        _ => of_guard(),
    };
    let schema = &turn.program.schemas[id?];
    Some((schema.name.clone(), schema.json.clone()))
}
