//! Conversations: a model's turns, with the results of its tool calls in each, until it calls no tool.

use trefoil_ir::{Conversation, ToolKind};
use trefoil_template::Value;

use super::super::eval::EvalStop;
use super::super::frame::{FrameId, FrameOutcome, FrameState, MachineTask, StepStart};
use super::super::progress::{ConversationCall, ConversationTurn, RunningConversation, ToolCallArguments};
use super::super::turn::MachineTurn;
use super::offers;
use super::pins;
use crate::error::RunError;
use crate::event::EventKind;
use crate::key::Key;
use crate::provenance::{Origin, OriginKind, TextPart};
use crate::request::{MessageRole, ModelMessage, ModelToolCall, Request, ToolSpec};
use crate::turn_content;

/// The index of the turn among the children; its calls follow, and then their gates.
const TURN: u32 = 0;
/// The index of the first call's gate.
const GATE: u32 = TURN + 1 + Conversation::MOST_CALLS;
/// Failures that end the conversation, because they concern the caller of the run rather than the model.
const END_ALL: &[&str] = &[
    "BUDGET_EXCEEDED",
    "CANCELLED",
    "GUARDRAIL_VIOLATION",
    "LIMIT_EXCEEDED",
    "REFUSED",
    "SECRET_IN_PROMPT",
    "UNKNOWN_OUTCOME",
];

/// What the model hears about an answer without any tool call, where one is needed.
const REMINDER: &str = "You have not called any tool. This task requires a tool call: call a tool, then answer.";

/// The call that a gate checks, as `{tool, arguments}`, for the body of the gate.
pub fn held_call(turn: &MachineTurn<'_>, f: FrameId) -> Option<Value> {
    let gate = turn.core.frames.get(f)?.parent?;
    let frame = turn.core.frames.get(gate)?;
    let at = frame.child_index.checked_sub(GATE)? as usize;
    let call = &around(turn, gate)?.said.last()?.calls.get(at)?.what;
    Some([("tool", Value::Str(call.name.clone())), ("arguments", call.arguments.clone())].into_iter().collect())
}

/// The arguments for the step of a frame, if a model called it.
pub fn given_arguments(turn: &MachineTurn<'_>, f: FrameId) -> Option<ToolCallArguments> {
    turn.core.frames.get(f)?.extras.as_deref()?.given.clone()
}

/// Whether the failure of a call ends the conversation instead of being passed to the model.
pub fn ends_all(error: &RunError) -> bool {
    END_ALL.contains(&&*error.code)
}

/// Requests the descriptions of tools that the manifest does not describe, and starts.
pub fn start_conversation(turn: &mut MachineTurn<'_>, f: FrameId, it: &Conversation) -> Result<StepStart, EvalStop> {
    let wanted = offers::description_requests(turn.program, it);
    if wanted.is_empty() {
        begin(turn, f, it, &[])?;
        return Ok(StepStart::Running);
    }
    turn.request_effect(f, Request::Describe(wanted));
    Ok(StepStart::Running)
}

/// The descriptions of the tools have arrived.
pub fn receive_descriptions(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    it: &Conversation,
    listed: &Value,
) -> Result<(), EvalStop> {
    let listed = offers::parse_descriptions(turn.program, it, listed);
    begin(turn, f, it, &listed)
}

fn begin(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    it: &Conversation,
    listed: &[(ToolKind, Vec<ToolSpec>)],
) -> Result<(), EvalStop> {
    let offered = offers::offered_tools(turn.program, it, listed);
    pins::check_pins(turn, f, it, listed)?;
    if let Some(frame) = turn.core.frames.get_mut(f) {
        frame.doing =
            FrameState::Conversation(Box::new(RunningConversation { offered, ..RunningConversation::default() }));
    }
    ask(turn, f, it)
}

/// Starts the next turn.
fn ask(turn: &mut MachineTurn<'_>, f: FrameId, it: &Conversation) -> Result<(), EvalStop> {
    let Some(talk) = talk(turn, f) else { return Ok(()) };
    talk.turn += 1;
    let number = talk.turn;
    turn.spawn_step(f, TURN, it.turn, None, |path| {
        path.push_pass(number);
    })
}

/// The tools that the model of a turn may call.
pub fn turn_tools(turn: &MachineTurn<'_>, f: FrameId) -> Vec<ToolSpec> {
    let Some(talk) = around(turn, f) else { return Vec::new() };
    talk.offered.iter().map(|tool| tool.spec.clone()).collect()
}

/// Adds the turns so far to the messages of the next.
pub fn append_turns(turn: &MachineTurn<'_>, f: FrameId, messages: &mut Vec<ModelMessage>) {
    let Some(talk) = around(turn, f) else { return };
    let whole = |content: &Value, by: &Key| {
        let part = || TextPart {
            len: content.to_text().len() as u32,
            origin: Origin::from_kind(OriginKind::Step(by.clone())),
        };
        if turn.core.traces { vec![part()] } else { Vec::new() }
    };
    for ConversationTurn { text, calls, by } in &talk.said {
        let called = calls.iter().map(|call| call.what.clone()).collect();
        let parts = whole(text, by);
        messages.push(ModelMessage { parts, calls: called, ..ModelMessage::new(MessageRole::Assistant, text.clone()) });
        if calls.is_empty() {
            messages.push(ModelMessage::new(MessageRole::User, REMINDER.into()));
        }
        for ConversationCall { what, told, by } in calls {
            let answers = Some(what.id.clone());
            messages.push(ModelMessage {
                parts: whole(told, by),
                answers,
                ..ModelMessage::new(MessageRole::Tool, told.clone())
            });
        }
    }
}

/// Records the tool calls that a turn requests; returns whether there are any.
pub fn record_tool_calls(turn: &mut MachineTurn<'_>, f: FrameId, answer: &Value) -> bool {
    let Some(wants) = turn_content::parse_tool_calls(answer) else { return false };
    let Some(parent) = turn.parent_of(f) else { return false };
    let Some(talk) = talk(turn, parent) else { return false };
    talk.wants.replace(wants).is_none()
}

/// A turn or a call has ended.
pub fn end_conversation_child(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    it: &Conversation,
    child_index: u32,
    outcome: &FrameOutcome,
) -> Result<(), EvalStop> {
    let by = turn.ended_child(f, child_index).cloned();
    let Some(talk) = talk(turn, f) else { return Ok(()) };
    match (child_index, outcome) {
        (TURN, FrameOutcome::Done(answer)) => match talk.wants.take() {
            Some((text, calls)) => return call(turn, f, it, text, calls),
            None if it.calls.needed && talk.made == 0 && !talk.offered.is_empty() => {
                return remind(turn, f, it, answer.text_value());
            }
            None => turn.push_task(MachineTask::Settle(f, outcome.clone())),
        },
        (TURN, FrameOutcome::Failed(_)) => turn.push_task(MachineTask::Settle(f, outcome.clone())),
        (_, FrameOutcome::Failed(error)) if ends_all(error) => turn.push_task(MachineTask::Settle(f, outcome.clone())),
        (GATE.., FrameOutcome::Done(_)) => {
            let at = child_index - GATE;
            if let Some(held) = talk.held.iter().position(|(held, ..)| *held == at) {
                let (_, offer, given) = talk.held.swap_remove(held);
                return make(turn, f, it, at, offer, given);
            }
        }
        (child_index, outcome) => {
            let call = if child_index >= GATE { child_index - GATE + TURN + 1 } else { child_index };
            let told = match outcome {
                FrameOutcome::Done(value) => value.text_value(),
                FrameOutcome::Failed(error) => failure(&error.message),
            };
            talk.left = talk.left.saturating_sub(1);
            let at = (call - TURN - 1) as usize;
            if let Some(said) = talk.said.last_mut()
                && let Some(called) = said.calls.get_mut(at)
            {
                called.told = told;
                if let Some(by) = by {
                    called.by = by;
                }
            }
            if talk.left == 0 {
                return ask(turn, f, it);
            }
        }
    }
    Ok(())
}

/// The key of a turn of a conversation.
fn turn_key(turn: &mut MachineTurn<'_>, conversation: &Key, number: u32) -> Key {
    turn.core.keys.build_key(conversation, |path| {
        path.push_pass(number);
    })
}

/// Returns an answer without any tool call once, where one is needed.
fn remind(turn: &mut MachineTurn<'_>, f: FrameId, it: &Conversation, text: Value) -> Result<(), EvalStop> {
    let Some(key) = turn.key_of(f) else { return Ok(()) };
    let Some(talk) = talk(turn, f) else { return Ok(()) };
    let number = talk.turn;
    if std::mem::replace(&mut talk.reminded, true) || number >= it.max_turns {
        return Err(RunError::new("TOOL_CALL_MISSING", "the model answered without calling a tool").into());
    }
    let by = turn_key(turn, &key, number);
    if let Some(talk) = self::talk(turn, f) {
        talk.said.push(ConversationTurn { text, calls: Vec::new(), by });
    }
    ask(turn, f, it)
}

/// Starts the calls of a turn concurrently.
fn call(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    it: &Conversation,
    text: Value,
    wanted: Vec<ModelToolCall>,
) -> Result<(), EvalStop> {
    let Some((_, step)) = turn.step_of(f) else { return Ok(()) };
    let Some(key) = turn.key_of(f) else { return Ok(()) };
    let Some(talk) = talk(turn, f) else { return Ok(()) };
    let number = talk.turn;
    if number >= it.max_turns {
        let message = format!("after {number} turns, the model still calls tools");
        let mut error = RunError::new("MAX_STEPS_EXCEEDED", message);
        error.location = it.max_turns_at;
        return Err(error.into());
    }
    let made = talk.made.saturating_add(wanted.len());
    talk.made = made;
    if let Some(most) = it.calls.most
        && made > most as usize
    {
        let message = format!("the model requested {made} tool calls; at most {most} are allowed");
        let mut error = RunError::new("MAX_STEPS_EXCEEDED", message);
        error.location = it.calls.most_at;
        return Err(error.into());
    }
    let by = turn_key(turn, &key, number);
    let Some(talk) = self::talk(turn, f) else { return Ok(()) };
    let mut begun = Vec::new();
    let mut notes = Vec::new();
    let mut calls = Vec::with_capacity(wanted.len());
    for (at, what) in wanted.into_iter().enumerate() {
        let is_one_too_many = at >= Conversation::MOST_CALLS as usize;
        let given = if is_one_too_many {
            Err(format!("no more than {} tools are called in one turn", Conversation::MOST_CALLS))
        } else {
            offers::resolve_call(it, &talk.offered, &what)
        };
        let told = match given {
            Ok((offer, given)) => {
                begun.push((at as u32, offer, given));
                Value::Null
            }
            Err(why) => {
                notes.push(format!("the model called `{}`: {why}; this is reported to the model", what.name));
                failure(&why)
            }
        };
        calls.push(ConversationCall { what, told, by: by.clone() });
    }
    talk.left = begun.len();
    talk.said.push(ConversationTurn { text, calls, by: by.clone() });
    for message in notes {
        turn.emit_event(&by, step.origin, EventKind::Warning { message });
    }
    if begun.is_empty() {
        return ask(turn, f, it);
    }
    // Reversed, because the top of the stack runs first.
    for (at, offer, given) in begun.into_iter().rev() {
        let Some(gate) = it.gate else {
            make(turn, f, it, at, offer, given)?;
            continue;
        };
        if let Some(talk) = self::talk(turn, f) {
            talk.held.push((at, offer, given));
        }
        turn.spawn_step(f, GATE + at, gate, None, |path| {
            path.push_pass(number).push_item(at);
        })?;
    }
    Ok(())
}

/// Starts a call.
fn make(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    it: &Conversation,
    at: u32,
    offer: usize,
    given: ToolCallArguments,
) -> Result<(), EvalStop> {
    let Some(offer) = it.offers.get(offer) else { return Ok(()) };
    let Some(talk) = talk(turn, f) else { return Ok(()) };
    let number = talk.turn;
    turn.spawn_step(f, TURN + 1 + at, offer.step, None, |path| {
        path.push_pass(number).push_item(at);
    })?;
    if let Some(frame) = turn.core.frames.get(f)
        && let Some(spawned) = frame.first_child
        && let Some(frame) = turn.core.frames.get_mut(spawned)
    {
        frame.extras.get_or_insert_default().given = Some(given);
    }
    Ok(())
}

/// The text for the model about a failed call.
fn failure(why: &str) -> Value {
    let error: Value = [("error", Value::from(why))].into_iter().collect();
    error.text_value()
}

fn talk<'t>(turn: &'t mut MachineTurn<'_>, f: FrameId) -> Option<&'t mut RunningConversation> {
    match &mut turn.core.frames.get_mut(f)?.doing {
        FrameState::Conversation(talk) => Some(talk),
        _ => None,
    }
}

/// The conversation that contains a turn.
fn around<'t>(turn: &'t MachineTurn<'_>, f: FrameId) -> Option<&'t RunningConversation> {
    let parent = turn.core.frames.get(f)?.parent?;
    match &turn.core.frames.get(parent)?.doing {
        FrameState::Conversation(talk) => Some(talk),
        _ => None,
    }
}
