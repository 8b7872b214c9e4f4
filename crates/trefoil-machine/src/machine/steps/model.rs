//! Model calls: composes the messages, applies guardrails to the user message, reads the answer.

use trefoil_ir::{AnswerFormat, Guard, ModelCall, Step, ValueExpression};
use trefoil_template::Value;

use super::conversation;
use crate::answer;
use crate::blocks;
use crate::error::RunError;
use crate::guard::{self, CheckSubject, CheckedText, Verdict, cap};
use crate::machine::eval::{EvalStop, text_of};
use crate::machine::frame::{FrameId, MismatchedAnswer, StepStart};
use crate::machine::turn::MachineTurn;
use crate::provenance::{self, Origin, OriginKind, TextPart};
use crate::request::{MessageRole, ModelMessage, ModelRequest, Request};

/// Requests the call.
pub fn start_model_call(turn: &mut MachineTurn<'_>, f: FrameId, call: &ModelCall) -> Result<StepStart, EvalStop> {
    let context = turn.eval_context(f, None, None);
    let text = |expr| Ok::<_, EvalStop>((expr, text_of(&context.eval_uncounted(expr)?)));
    let system = call.system.as_ref().map(text).transpose()?.filter(|(_, text)| text.as_str() != Some(""));
    let asked = context.eval_uncounted(&call.user)?;
    // Content blocks are passed unchanged; guardrails check text.
    let asked = if call.guards.is_empty() && blocks::parse_blocks(&asked).is_some() { asked } else { text_of(&asked) };
    let user = (&call.user, asked);
    let system = system.map(|message| check_guards(turn, f, call, message, CheckSubject::Prompt)).transpose()?;
    let (user, of_user) = check_guards(turn, f, call, user, CheckSubject::Input)?;
    let constant = |text: &str| turn.core.traces.then(|| provenance::constant_parts(text));
    let mut messages = Vec::with_capacity(call.examples.len() * 2 + 2);
    let mut say = |role, content, parts: Option<Vec<provenance::TextPart>>| {
        messages.push(ModelMessage { parts: parts.unwrap_or_default(), ..ModelMessage::new(role, content) });
    };
    if let Some((system, of_system)) = system {
        say(MessageRole::System, system, of_system);
    }
    for example in &call.examples {
        say(MessageRole::User, Value::Str(example.input.clone()), constant(&example.input));
        say(MessageRole::Assistant, Value::Str(example.output.clone()), constant(&example.output));
    }
    say(MessageRole::User, user, of_user);
    conversation::append_turns(turn, f, &mut messages);
    let mut say = |role, content, parts: Option<Vec<provenance::TextPart>>| {
        messages.push(ModelMessage { parts: parts.unwrap_or_default(), ..ModelMessage::new(role, content) });
    };
    if let Some(misfit) = turn.core.frames.get(f).and_then(|f| f.aside.as_deref()).and_then(|a| a.misfit.as_ref()) {
        let key = turn.core.frames.get(f).map(|f| f.base.clone());
        let origin = Origin::from_kind(key.map_or(OriginKind::Other, OriginKind::Step));
        let text = misfit.answer.to_text();
        let part = turn.core.traces.then(|| vec![TextPart { len: text.len() as u32, origin }]);
        say(MessageRole::Assistant, misfit.answer.clone(), part);
        let demand = format!("{}. Answer again, with only JSON that matches the schema.", misfit.why);
        let part = constant(&demand);
        say(MessageRole::User, Value::from(demand), part);
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
        stream: call.stream && !call.guards.iter().any(guard::is_concealing),
        provisional: call.guards.iter().any(guard::holds_back),
        tools: conversation::turn_tools(turn, f),
    };
    let request = Request::Model(Box::new(request));
    if turn.may_ask(f, &request) {
        turn.request_effect(f, request);
        if let Some(ms) = call.parameters.timeout_ms {
            turn.effect_within(f, turn.limit_timer(ms));
        }
    }
    Ok(StepStart::Running)
}

/// A message after the guards, with the origins of its parts if the run records provenance.
fn check_guards(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    call: &ModelCall,
    (expr, text): (&ValueExpression, Value),
    side: CheckSubject,
) -> Result<(Value, Option<Vec<TextPart>>), EvalStop> {
    let context = turn.eval_context(f, None, None);
    let CheckedText { text: checked, verdicts } =
        guard::check_message(&call.guards, side, text.clone(), &|| context.placeholder_parts(expr, &text));
    let refusal = verdicts.last().and_then(Verdict::rejection_error);
    let parts = (turn.core.traces && refusal.is_none())
        .then(|| provenance::realign_parts(context.message_parts(expr, &text), &text.to_text(), &checked.to_text()));
    verdicts.into_iter().for_each(|verdict| turn.emit_verdict(f, verdict));
    match refusal {
        Some(refusal) => Err(refusal.into()),
        None => Ok((checked, parts)),
    }
}

/// Reads the answer. One that does not match its schema is kept for the call that asks for a better one.
pub fn read_model_answer(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    step: &Step,
    call: &ModelCall,
    text: &Value,
) -> Result<Value, EvalStop> {
    if let Some(refusal) = report_caps(turn, f, call, false) {
        return Err(refusal.into());
    }
    if conversation::record_tool_calls(turn, f, text) {
        return Ok(Value::Null);
    }
    let mut error = match answer::parse_answer(&call.format, text, &turn.prepared.schemas) {
        Ok(value) => return Ok(value),
        Err(error) => error.with_answer(&text.to_text()),
    };
    let aside = turn.core.frames.get_mut(f).and_then(|frame| frame.aside.as_deref_mut());
    error.sent = aside.and_then(|aside| aside.sent.take());
    if step.asks_again()
        && let Some(aside) = turn.core.frames.get_mut(f).map(|frame| frame.aside.get_or_insert_default())
    {
        if aside.misfit.is_some() {
            error.message.push_str("; the model was called twice");
        } else {
            aside.misfit = Some(MismatchedAnswer { answer: text.clone(), why: error.message.clone() });
            aside.asks_again = true;
        }
    }
    Err(error.into())
}

/// Reports the verdicts of usage limits, either of those that only warn or of those that reject; returns the first
/// rejection.
pub fn report_caps(turn: &mut MachineTurn<'_>, f: FrameId, call: &ModelCall, warning: bool) -> Option<RunError> {
    let verdicts: Vec<Verdict> = cap::check_usage_caps(&call.guards, turn.core.usage, warning).collect();
    let refusal = verdicts.iter().find_map(Verdict::rejection_error);
    verdicts.into_iter().for_each(|verdict| turn.emit_verdict(f, verdict));
    refusal
}

fn schema(turn: &MachineTurn<'_>, call: &ModelCall) -> Option<(std::sync::Arc<str>, Value)> {
    let of_guard = || call.guards.iter().find_map(|g| if let Guard::Schema(id) = g { Some(*id) } else { None });
    let id = match &call.format {
        AnswerFormat::Json(id) => Some(*id),
        _ => of_guard(),
    };
    let schema = &turn.program.schemas[id?];
    Some((schema.name.clone(), schema.json.clone()))
}
