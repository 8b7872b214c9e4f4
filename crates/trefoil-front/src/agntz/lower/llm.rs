//! `kind: llm` to a model call (decision A17).

use std::sync::Arc;

use trefoil_ir::{
    AnswerFormat, Backoff, DeclarationKind, Example, Expr, ModelCall, ModelChoice, ModelParameters, Position, Retry,
    RetryOn, Schema, Source, StepId, StepKind, types,
};
use trefoil_syntax::yaml::Text;
use trefoil_template::Value;

use super::Lowering;
use super::agent::{Body, Subject, refused, warn_refused};
use super::text::{self, Scope};
use crate::agntz::lint::braces;
use crate::agntz::manifest::{Llm, Model};
use crate::agntz::names::{AgentNames, At, Purpose};
use crate::build::plain;
use crate::learn;
use crate::read::Reader;

/// Provider failures that may pass, as the original system retries them.
const PASSING: [u16; 5] = [429, 500, 502, 503, 504];

/// Lowers a model agent.
pub fn lower(
    lowering: &mut Lowering<'_>,
    reader: &Reader<'_>,
    subject: &Subject<'_, '_>,
    llm: &Llm<'_>,
    scope: &mut Scope,
) -> Body {
    let mut prompt = |t: &Text, position| text::text(reader, scope, t, At::End, Purpose::Prompt, position);
    let system = llm.instruction.map(|t| prompt(t, Position::System));
    let user = llm.prompt.map(|t| prompt(t, Position::User));
    for (source, key) in [(llm.instruction, "instruction"), (llm.prompt, "prompt")] {
        source.into_iter().for_each(|t| braces::check(reader, &scope.names, t, At::End, key));
    }
    let user = user.unwrap_or_else(|| {
        scope.prompted.add("userQuery");
        input_as_message(&scope.names)
    });
    for inner in &llm.inner_texts {
        text::text(reader, scope, inner, At::End, Purpose::Unused, Position::Data);
    }
    for http in &llm.inner_http {
        http.url.map(|t| text::text(reader, scope, t, At::End, Purpose::Unused, Position::Url));
        braces::request(reader, &scope.names, http);
    }
    for inner in &llm.inner_refs {
        lowering.find(reader, inner);
    }
    let (format, shape) = answer(lowering, reader, subject, llm);
    let declared = llm.output.as_ref().and_then(|o| Some((o, o.node?)));
    let members = declared.map(|(output, node)| {
        learn::properties(reader, node, &output.json, output.shorthand, DeclarationKind::Property, subject.at)
    });
    let body = |step| Body { members: members.unwrap_or_default(), ..Body::of(step, shape) };
    let [first, others @ ..] = llm.refusals.as_slice() else {
        let step = llm.model.as_ref().and_then(|m| call(lowering, reader, subject, llm, m, (system, user, format)));
        return body(step);
    };
    others.iter().for_each(|r| warn_refused(reader, r));
    body(Some(refused(lowering, reader, subject, first)))
}

fn answer(
    lowering: &mut Lowering<'_>,
    reader: &Reader<'_>,
    subject: &Subject<'_, '_>,
    llm: &Llm<'_>,
) -> (AnswerFormat, Value) {
    let Some(output) = &llm.output else { return (AnswerFormat::Text, types::answer()) };
    let name = format!("{}_output", subject.id).into();
    let schema = lowering.builder.schema(Schema { name, json: output.json.clone(), origin: reader.at(output.key) });
    let shape = if output.sound { output.json.clone() } else { types::any() };
    (AnswerFormat::Json(schema), shape)
}

/// The user message of an agent without a prompt: what `userQuery` names, else the input as it came, an object as JSON.
fn input_as_message(scope: &AgentNames) -> Expr {
    let as_text = |source| Expr::AsText(Box::new(Expr::Read(source)));
    let whole = as_text(Source::Slot(scope.raw.unwrap_or(scope.input)));
    if let Some(query) = scope.query {
        return as_text(Source::Slot(query));
    }
    if scope.inputs.get("userQuery").is_none() {
        return whole;
    }
    let query = Source::Member(scope.input, vec![Arc::from("userQuery")]);
    if scope.inputs.properties.len() == 1 {
        return as_text(query);
    }
    Expr::If { source: query.clone(), then: Box::new(as_text(query)), otherwise: Box::new(whole) }
}

fn call(
    lowering: &mut Lowering<'_>,
    reader: &Reader<'_>,
    subject: &Subject<'_, '_>,
    llm: &Llm<'_>,
    model: &Model<'_>,
    (system, user, format): (Option<Expr>, Expr, AnswerFormat),
) -> Option<StepId> {
    let name = model.name?;
    let stream = format == AnswerFormat::Text;
    let call = ModelCall {
        speaker: subject.id.clone(),
        model: ModelChoice {
            provider: Some(model.provider?.value.clone()),
            name: name.value.clone(),
            origin: reader.at(name.span),
        },
        system,
        examples: llm
            .examples
            .iter()
            .map(|e| Example { input: e.input.value.clone(), output: e.output.value.clone() })
            .collect(),
        user,
        parameters: parameters(model),
        places: model.places.clone(),
        format,
        guards: Vec::new(),
        stream,
    };
    let mut step = plain(StepKind::Model(Box::new(call)), subject.origin);
    step.label = subject.entry.then(|| subject.id.clone());
    step.policy.retry = model.max_retries.filter(|n| *n > 0).map(retry);
    Some(lowering.builder.step(step))
}

fn parameters(model: &Model<'_>) -> ModelParameters {
    ModelParameters {
        temperature: model.temperature,
        top_p: model.top_p,
        top_k: model.top_k,
        max_tokens: model.max_tokens,
        presence_penalty: model.presence_penalty,
        frequency_penalty: model.frequency_penalty,
        seed: model.seed,
        stop: model.stop.iter().map(|t| t.value.clone()).collect(),
        provider_options: model.options.clone().filter(|o| !matches!(o, Value::Null)),
        timeout_ms: None,
    }
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
