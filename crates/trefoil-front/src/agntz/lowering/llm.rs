//! Lowers `kind: llm` to a model call.

use std::sync::Arc;

use trefoil_ir::{
    AnswerFormat, Conversation, ModelCall, ModelCallExample, ModelChoice, ProgramSchema, Retry, RetryBackoff, RetryOn,
    Source, Step, StepId, StepKind, ToolCallRules, ValueExpression,
};
use trefoil_syntax::Location;

use super::body::{AgntzFlowBody, entry_label, refused_step};
use super::{AgntzLowering, offers, text};
use crate::agntz::binding::BoundAgent;
use crate::agntz::manifest::{AgntzExample, AgntzModel, LlmAgent};
use crate::agntz::names::AgntzAgentNames;
use crate::program_builder::plain_step;

/// The default limit of model calls of an agent with tools.
const MAX_TURNS: u32 = 10;
/// Temporary provider failures, which the original system retries.
const PASSING: [u16; 5] = [429, 500, 502, 503, 504];

/// Lowers a model agent.
pub fn lower_llm(lowering: &mut AgntzLowering<'_, '_>, bound: &BoundAgent<'_>, llm: &LlmAgent<'_>) -> AgntzFlowBody {
    if let [first, ..] = llm.refusals.as_slice() {
        return AgntzFlowBody::from_step(Some(refused_step(lowering, bound, first)));
    }
    let Some(model) = &llm.model else { return AgntzFlowBody::from_step(None) };
    AgntzFlowBody::from_step(call(lowering, bound, llm, model))
}

fn answer(lowering: &mut AgntzLowering<'_, '_>, bound: &BoundAgent<'_>, llm: &LlmAgent<'_>) -> AnswerFormat {
    let Some(output) = &llm.output else { return AnswerFormat::Text };
    let name = format!("{}_output", bound.id).into();
    let origin = Location::new(bound.at.file, output.key);
    AnswerFormat::Json(lowering.builder.add_schema(ProgramSchema { name, json: output.json.clone(), origin }))
}

/// The user message of an agent without a prompt: `userQuery`, otherwise the whole input. Content blocks are passed
/// unchanged, an object as JSON.
fn input_as_message(scope: &AgntzAgentNames) -> ValueExpression {
    let sent = |source| ValueExpression::AsMessage(Box::new(ValueExpression::Read(source)));
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
    ValueExpression::If { source: query.clone(), then: Box::new(sent(query)), otherwise: Box::new(whole) }
}

fn call(
    lowering: &mut AgntzLowering<'_, '_>,
    bound: &BoundAgent<'_>,
    llm: &LlmAgent<'_>,
    model: &AgntzModel<'_>,
) -> Option<StepId> {
    let name = model.name?;
    let provider = model.provider?.value.clone();
    let format = answer(lowering, bound, llm);
    let user = match llm.prompt {
        Some(prompt) => text::prompt_expression(bound, prompt),
        None => input_as_message(&bound.names),
    };
    let stream = format == AnswerFormat::Text;
    let call = ModelCall {
        speaker: bound.id.clone(),
        model: ModelChoice {
            provider: Some(provider),
            name: name.value.clone(),
            origin: Location::new(bound.at.file, name.span),
        },
        system: llm.instruction.map(|t| text::prompt_expression(bound, t)),
        examples: llm.examples.iter().map(lower_example).collect(),
        user,
        parameters: model.parameters.clone(),
        places: model.places.clone(),
        format,
        guards: Vec::new(),
        stream,
    };
    let mut step = plain_step(StepKind::Model(Box::new(call)), bound.origin);
    step.label = entry_label(bound);
    step.policy.retry = model.max_retries.map(retry);
    let agent = &bound.agent;
    let offers = offers::lower_offers(lowering, bound, llm);
    if offers.is_empty() {
        return Some(lowering.builder.add_step(step));
    }
    let max_turns = match agent.max_turns {
        Some(turns) => u32::try_from(turns).unwrap_or(u32::MAX),
        None => MAX_TURNS,
    };
    let max_turns_at = agent.max_turns_at.map(|at| Location::new(bound.at.file, at));
    let label = step.label.take();
    let turn = lowering.builder.add_step(step);
    let conversation =
        Conversation { turn, offers, gate: None, max_turns, max_turns_at, calls: ToolCallRules::default() };
    let step = Step { label, ..plain_step(StepKind::Conversation(Box::new(conversation)), bound.origin) };
    Some(lowering.builder.add_step(step))
}

fn lower_example(example: &AgntzExample<'_>) -> ModelCallExample {
    ModelCallExample { input: example.input.value.clone(), output: example.output.value.clone() }
}

fn retry(retries: u32) -> Retry {
    let mut on: Vec<RetryOn> = PASSING.into_iter().map(RetryOn::Status).collect();
    on.push(RetryOn::Network);
    Retry {
        max_attempts: retries.saturating_add(1),
        backoff: RetryBackoff::Exponential,
        base_delay_ms: 1_000,
        max_delay_ms: 30_000,
        jitter: true,
        on,
    }
}
