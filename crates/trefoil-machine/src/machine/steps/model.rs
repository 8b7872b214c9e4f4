//! Model calls: composes the messages, applies guardrails to the user message, reads the answer.

use std::sync::Arc;

use trefoil_ir::{AnswerFormat, Guard, ModelCall, Step, ValueExpression};
use trefoil_template::Value;

use super::conversation;
use crate::answer;
use crate::blocks;
use crate::error::RunError;
use crate::guard::cap::{self, CapAction};
use crate::guard::{self, CheckSubject, CheckedText, Verdict};
use crate::machine::eval::{EvalStop, text_of};
use crate::machine::frame::{FrameId, MismatchedAnswer, StepStart};
use crate::machine::turn::MachineTurn;
use crate::provenance::{self, Origin, OriginKind, TextPart};
use crate::request::{MessageRole, ModelMessage, ModelRequest, Request};

/// Requests the call.
pub fn start_model_call(turn: &mut MachineTurn<'_>, f: FrameId, call: &ModelCall) -> Result<StepStart, EvalStop> {
    let context = turn.eval_context(f, None, None);
    let mut system = None;
    if let Some(expr) = &call.system {
        let text = text_of(&context.eval_uncounted(expr)?);
        if text.as_str() != Some("") {
            system = Some((expr, text));
        }
    }
    let asked = context.eval_uncounted(&call.user)?;
    // Content blocks are passed unchanged; guardrails check text.
    let asked = if call.guards.is_empty() && blocks::parse_blocks(&asked).is_some() { asked } else { text_of(&asked) };
    let user = (&call.user, asked);
    let system = match system {
        Some(message) => Some(check_guards(turn, f, call, message, CheckSubject::Prompt)?),
        None => None,
    };
    let user = check_guards(turn, f, call, user, CheckSubject::Input)?;
    let messages = compose_messages(turn, f, call, system, user);
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

/// A text, with the origins of its parts if the run records provenance.
type TextWithParts = (Value, Vec<TextPart>);

fn compose_messages(
    turn: &MachineTurn<'_>,
    f: FrameId,
    call: &ModelCall,
    system: Option<TextWithParts>,
    user: TextWithParts,
) -> Vec<ModelMessage> {
    let message = |role, (content, parts): TextWithParts| ModelMessage { parts, ..ModelMessage::new(role, content) };
    let constant_parts = |text: &str| if turn.core.traces { provenance::constant_parts(text) } else { Vec::new() };
    let constant = |text: &Arc<str>| (Value::Str(text.clone()), constant_parts(text));
    let mut messages = Vec::with_capacity(call.examples.len() * 2 + 2);
    if let Some(system) = system {
        messages.push(message(MessageRole::System, system));
    }
    for example in &call.examples {
        messages.push(message(MessageRole::User, constant(&example.input)));
        messages.push(message(MessageRole::Assistant, constant(&example.output)));
    }
    messages.push(message(MessageRole::User, user));
    conversation::append_turns(turn, f, &mut messages);
    if let Some(frame) = turn.core.frames.get(f)
        && let Some(extras) = &frame.extras
        && let Some(misfit) = &extras.misfit
    {
        let mut parts = Vec::new();
        if turn.core.traces {
            let origin = Origin::from_kind(OriginKind::Step(frame.base.clone()));
            parts.push(TextPart { len: misfit.answer.to_text().len() as u32, origin });
        }
        messages.push(message(MessageRole::Assistant, (misfit.answer.clone(), parts)));
        let demand = format!("{}. Answer again, with only JSON that matches the schema.", misfit.why);
        let parts = constant_parts(&demand);
        messages.push(message(MessageRole::User, (Value::from(demand), parts)));
    }
    messages
}

/// A message after the guards.
fn check_guards(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    call: &ModelCall,
    (expr, text): (&ValueExpression, Value),
    side: CheckSubject,
) -> Result<TextWithParts, EvalStop> {
    let context = turn.eval_context(f, None, None);
    let CheckedText { text: checked, verdicts } =
        guard::check_message(&call.guards, side, text.clone(), &|| context.placeholder_parts(expr, &text));
    let refusal = verdicts.last().and_then(Verdict::rejection_error);
    let mut parts = Vec::new();
    if turn.core.traces && refusal.is_none() {
        parts = provenance::realign_parts(context.message_parts(expr, &text), &text.to_text(), &checked.to_text());
    }
    for verdict in verdicts {
        turn.emit_verdict(f, verdict);
    }
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
    if let Some(refusal) = report_caps(turn, f, call, CapAction::Reject) {
        return Err(refusal.into());
    }
    if conversation::record_tool_calls(turn, f, text) {
        return Ok(Value::Null);
    }
    let mut error = match answer::parse_answer(&call.format, text, &turn.prepared.schemas) {
        Ok(value) => return Ok(value),
        Err(error) => error.with_answer(&text.to_text()),
    };
    error.sent = match turn.extras_of_mut(f) {
        Some(extras) => extras.sent.take(),
        None => None,
    };
    if step.asks_again()
        && let Some(frame) = turn.core.frames.get_mut(f)
    {
        let extras = frame.extras.get_or_insert_default();
        if extras.misfit.is_some() {
            error.message.push_str("; the model was called twice");
        } else {
            extras.misfit = Some(MismatchedAnswer { answer: text.clone(), why: error.message.clone() });
            extras.asks_again = true;
        }
    }
    Err(error.into())
}

/// Reports the verdicts of the usage limits that have this action; returns the first rejection.
pub fn report_caps(turn: &mut MachineTurn<'_>, f: FrameId, call: &ModelCall, action: CapAction) -> Option<RunError> {
    let mut refusal = None;
    for verdict in cap::check_usage_caps(&call.guards, turn.core.usage, action) {
        if refusal.is_none() {
            refusal = verdict.rejection_error();
        }
        turn.emit_verdict(f, verdict);
    }
    refusal
}

fn schema(turn: &MachineTurn<'_>, call: &ModelCall) -> Option<(Arc<str>, Value)> {
    let id = match &call.format {
        AnswerFormat::Json(id) => *id,
        _ => call.guards.iter().find_map(|guard| if let Guard::Schema(id) = guard { Some(*id) } else { None })?,
    };
    let schema = &turn.program.schemas[id];
    Some((schema.name.clone(), schema.json.clone()))
}
