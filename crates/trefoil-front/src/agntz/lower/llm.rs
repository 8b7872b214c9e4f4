//! Lowers `kind: llm` to a model call.

use std::sync::Arc;

use trefoil_ir::{
    AnswerFormat, Backoff, Conversation, Example, Expr, ModelCall, ModelChoice, Retry, RetryOn, Schema, Source, Step,
    StepId, StepKind, ToolCallRules,
};
use trefoil_syntax::Location;

use super::body::{Body, refused};
use super::{Lowering, offers, text};
use crate::agntz::bind::BoundAgent;
use crate::agntz::manifest::{Llm, Model};
use crate::agntz::names::AgentNames;
use crate::build::plain;

/// The default limit of model calls of an agent with tools.
const MAX_TURNS: u32 = 10;
/// Temporary provider failures, which the original system retries.
const PASSING: [u16; 5] = [429, 500, 502, 503, 504];

/// Lowers a model agent.
pub fn lower(lowering: &mut Lowering<'_, '_>, bound: &BoundAgent<'_>, llm: &Llm<'_>) -> Body {
    if let [first, ..] = llm.refusals.as_slice() {
        return Body::of(Some(refused(lowering, bound, first)));
    }
    Body::of(llm.model.as_ref().and_then(|model| call(lowering, bound, llm, model)))
}

fn answer(lowering: &mut Lowering<'_, '_>, bound: &BoundAgent<'_>, llm: &Llm<'_>) -> AnswerFormat {
    let Some(output) = &llm.output else { return AnswerFormat::Text };
    let name = format!("{}_output", bound.id).into();
    let origin = Location::new(bound.at.file, output.key);
    AnswerFormat::Json(lowering.builder.schema(Schema { name, json: output.json.clone(), origin }))
}

/// The user message of an agent without a prompt: `userQuery`, otherwise the whole input. Content blocks are passed
/// unchanged, an object as JSON.
fn input_as_message(scope: &AgentNames) -> Expr {
    let sent = |source| Expr::AsMessage(Box::new(Expr::Read(source)));
    let whole = sent(Source::Slot(scope.raw.unwrap_or(scope.input)));
    if let Some(query) = scope.query {
        return sent(Source::Slot(query));
    }
    if scope.inputs.get("userQuery").is_none() {
        return whole;
    }
    let query = Source::Member(scope.input, vec![Arc::from("userQuery")]);
    if scope.inputs.properties.len() == 1 {
        return sent(query);
    }
    Expr::If { source: query.clone(), then: Box::new(sent(query)), otherwise: Box::new(whole) }
}

fn call(lowering: &mut Lowering<'_, '_>, bound: &BoundAgent<'_>, llm: &Llm<'_>, model: &Model<'_>) -> Option<StepId> {
    let name = model.name?;
    let provider = model.provider?.value.clone();
    let format = answer(lowering, bound, llm);
    let user = llm.prompt.map(|t| text::prompt(bound, t));
    let stream = format == AnswerFormat::Text;
    let call = ModelCall {
        speaker: bound.id.clone(),
        model: ModelChoice {
            provider: Some(provider),
            name: name.value.clone(),
            origin: Location::new(bound.at.file, name.span),
        },
        system: llm.instruction.map(|t| text::prompt(bound, t)),
        examples: llm
            .examples
            .iter()
            .map(|e| Example { input: e.input.value.clone(), output: e.output.value.clone() })
            .collect(),
        user: user.unwrap_or_else(|| input_as_message(&bound.names)),
        parameters: model.parameters.clone(),
        places: model.places.clone(),
        format,
        guards: Vec::new(),
        stream,
    };
    let mut step = plain(StepKind::Model(Box::new(call)), bound.origin);
    step.label = bound.entry.then(|| bound.id.clone());
    step.policy.retry = model.max_retries.map(retry);
    let agent = &bound.agent;
    let offers = offers::lower(lowering, bound, llm);
    if offers.is_empty() {
        return Some(lowering.builder.step(step));
    }
    let max_turns = agent.max_turns.map_or(MAX_TURNS, |n| u32::try_from(n).unwrap_or(u32::MAX));
    let max_turns_at = agent.max_turns_at.map(|at| Location::new(bound.at.file, at));
    let label = step.label.take();
    let turn = lowering.builder.step(step);
    let conversation =
        Conversation { turn, offers, gate: None, max_turns, max_turns_at, calls: ToolCallRules::default() };
    let step = Step { label, ..plain(StepKind::Conversation(Box::new(conversation)), bound.origin) };
    Some(lowering.builder.step(step))
}

fn retry(retries: u32) -> Retry {
    Retry {
        max_attempts: retries.saturating_add(1),
        backoff: Backoff::Exponential,
        base_delay_ms: 1_000,
        max_delay_ms: 30_000,
        jitter: true,
        on: PASSING.into_iter().map(RetryOn::Status).chain([RetryOn::Network]).collect(),
    }
}
