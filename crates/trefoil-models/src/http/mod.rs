//! Calls over HTTP: OpenAI-compatible chat completions and responses, and the interfaces of Anthropic, Google, Cohere and Ollama,
//! streamed or not.
//!
//! One request a call: no retries (the machine does those, and counts them), no redirects (they would carry the key
//! elsewhere), a proxy only where the operator's environment names one, a time limit around everything and one for streams that
//! fall silent. Nothing that is sent is rewritten: the
//! model name, the texts, the schema and the answer go through as they are.
//!
//! # Why not a model client library
//!
//! The best of them (genai 0.7.2) was read and tried first. It cuts `-low`, `-high`, `-max`, `-none`, ... off model names
//! and sends a reasoning effort instead (`qwen-max` becomes `qwen`); trims answers when they are not streamed and joins
//! text blocks with blank lines, so that the same answer differs between streaming and not; marks every schema `strict`
//! and makes its optional properties required; and repeats the body of a failed answer in its error texts and log lines.
//! Each of these is a promise of ours. What remained of it after working around them was smaller than what is here.
//!
//! # Structured output
//!
//! In each provider's own form, where the schema is within what that form holds answers to (see `schema.rs`). Otherwise, and of
//! models that cannot be held to any, the schema goes into a system message in words. So it does where a provider accepts no
//! format beside tools. The machine validates the answer in every case.

mod advice;
mod breaker;
mod chat_completions;
mod client;
mod cohere;
mod content;
mod endpoint;
mod gemini;
mod messages;
mod ollama;
mod options;
pub(crate) mod proxy;
mod responses;
mod schema;
mod sse;
mod tools;

use std::time::Duration;

use async_trait::async_trait;
use trefoil_runtime::{
    Finish, Meter, ModelAnswer, ModelError, ModelErrorKind, ModelProvider, ModelRequest, Usage, ports::CallSite,
};

pub use client::Client;
pub use endpoint::Endpoint;

use crate::limits::Limits;

/// How long a list of models may take.
const OFFERED: Duration = Duration::from_secs(20);

/// Calls one endpoint.
#[derive(Debug, Clone)]
pub struct HttpModel {
    client: Client,
    endpoint: Endpoint,
    limits: Limits,
}

impl HttpModel {
    /// A provider that calls this endpoint with the model that each request names.
    pub fn new(client: Client, endpoint: Endpoint) -> Self {
        Self { client, endpoint, limits: Limits::default() }
    }

    /// The same with the operator's time limits.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The names of the models that the server offers, which costs nothing. None: it does not say.
    ///
    /// # Errors
    ///
    /// It cannot be reached, refuses the key, or answers with something else.
    pub async fn offered(&self) -> Result<Option<Vec<String>>, ModelError> {
        let asked = async { self.client.get(&self.endpoint, self.endpoint.models_url()).await?.json().await };
        let json = match tokio::time::timeout(OFFERED, asked).await {
            Ok(Ok(json)) => json,
            // Not every server that speaks the protocol has a list.
            Ok(Err(ModelError { kind: ModelErrorKind::Status(404 | 405 | 501), .. })) => return Ok(None),
            Ok(Err(error)) => return Err(error),
            Err(_) => {
                let what = format!("did not list its models within {}s", OFFERED.as_secs());
                return Err(self.endpoint.error(ModelErrorKind::Timeout, &what));
            }
        };
        let all = json.get("data").or_else(|| json.get("models")).unwrap_or(&json).as_array();
        let name = |one: &serde_json::Value| {
            let id = one.get("id").or_else(|| one.get("name"))?.as_str()?;
            Some(id.strip_prefix("models/").unwrap_or(id).to_owned())
        };
        Ok(all.map(|all| all.iter().filter_map(name).collect()))
    }

    /// The exchange, unless its host is left alone for now.
    async fn guarded(
        &self,
        request: &ModelRequest,
        meter: &Meter,
        partial: &mut Partial,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let passage = match self.client.breakers.of(&self.endpoint.address()).enter().await {
            Ok(passage) => passage,
            Err(alone) => return Err(self.left_alone(&alone)),
        };
        let outcome = self.exchange(request, meter, partial, delta).await;
        passage.end(outcome.as_ref().err());
        outcome
    }

    fn left_alone(&self, alone: &breaker::LeftAlone) -> ModelError {
        let (failures, seconds) = (breaker::FAILURES, alone.wait.as_secs_f64().ceil());
        let what = format!(
            "is not called for another {seconds}s, because the last {failures} calls failed; the last one: {}",
            alone.why
        );
        let wait = u64::try_from(alone.wait.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
        ModelError { retry_after_ms: Some(wait), ..self.endpoint.error(ModelErrorKind::Network, &what) }
    }

    async fn exchange(
        &self,
        request: &ModelRequest,
        meter: &Meter,
        partial: &mut Partial,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let names = tools::Names::of(request);
        let body = self.endpoint.body(request, &names)?;
        let post = self.client.post(&self.endpoint, self.endpoint.call_url(request), &body);
        let response = match request.stream {
            false => post.await,
            true => {
                tokio::time::timeout(Duration::from_millis(self.limits.first_ms), post).await.unwrap_or_else(|_| {
                    // It was sent, and what becomes of it is not known.
                    partial.begun = true;
                    let what = format!("did not start to answer within {}s", self.limits.first_ms as f64 / 1000.0);
                    Err(self.endpoint.error(ModelErrorKind::Network, &what))
                })
            }
        };
        let mut response = response?.within(Duration::from_millis(self.limits.idle_ms));
        partial.begun = true;
        partial.request_id = response.request_id();
        if request.stream
            && let Some(mut events) = response.events()
        {
            while !partial.done
                && let Some(bytes) = response.chunk().await?
            {
                for event in events.push(&bytes) {
                    let event = event.map_err(|what| self.endpoint.error(ModelErrorKind::Protocol, &what))?;
                    self.endpoint.read_event(&event, partial, delta)?;
                    // What comes after the end is no part of the answer.
                    if partial.done {
                        break;
                    }
                }
                if partial.answer.usage.is_some() {
                    meter.tell(partial.answer.used_so_far());
                }
            }
            return if partial.done || partial.ended {
                Ok(std::mem::take(partial).whole(&names, self.endpoint.provider))
            } else {
                Err(self
                    .endpoint
                    .error(ModelErrorKind::Network, "closed the connection before the answer was complete"))
            };
        }
        let json = response.json().await?;
        partial.answer = self.endpoint.read_answer(&json)?;
        if request.stream && !partial.answer.text.is_empty() {
            delta(&partial.answer.text);
        }
        Ok(std::mem::take(partial).whole(&names, self.endpoint.provider))
    }
}

#[async_trait]
impl ModelProvider for HttpModel {
    async fn call(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let ms = self.limits.of_call(request.parameters.timeout_ms);
        let mut partial = Partial::default();
        let exchange = self.guarded(request, at.meter, &mut partial, delta);
        let outcome = match ms {
            None => Ok(exchange.await),
            Some(ms) => tokio::time::timeout(Duration::from_millis(ms), exchange).await.map_err(|_| ms),
        };
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(ms) => {
                partial.begun = true;
                let (limit, help) = self.limits.told(ms);
                let what = format!("did not complete its answer within {limit}");
                Err(ModelError { help: Some(help.to_owned()), ..self.endpoint.error(ModelErrorKind::Timeout, &what) })
            }
        };
        outcome.map_err(|mut error| {
            if partial.begun {
                error.came = Some(Box::new(partial.so_far()));
            }
            ModelError { sent: Some(self.endpoint.sent(request)), ..error }
        })
    }

    fn label(&self, request: &ModelRequest) -> String {
        format!("{}:{}", self.endpoint.provider, request.model)
    }
}

/// What has arrived of an answer.
#[derive(Debug, Default)]
struct Partial {
    answer: PartialAnswer,
    /// The provider has begun to answer: from here on the call costs something, whatever becomes of it.
    begun: bool,
    /// The provider's name for the request, from the headers.
    request_id: Option<String>,
    /// The model has said all; figures may still come.
    ended: bool,
    /// Nothing more comes.
    done: bool,
}

/// An answer in the making.
#[derive(Debug, Default)]
struct PartialAnswer {
    text: String,
    calls: tools::Pieces,
    /// None: the provider has said nothing about it.
    usage: Option<Usage>,
    model: Option<String>,
    finish: Option<Finish>,
    /// Its name in the body, where the headers name none.
    id: Option<String>,
}

impl PartialAnswer {
    /// What it has cost at least, while it is not whole.
    fn used_so_far(&self) -> Usage {
        Usage { unknown_calls: 1, ..self.usage.unwrap_or_default() }
    }
}

impl Partial {
    fn push(&mut self, text: &str, delta: &mut (dyn FnMut(&str) + Send)) {
        if !text.is_empty() {
            self.answer.text.push_str(text);
            delta(text);
        }
    }

    fn whole(mut self, names: &tools::Names, provider: &str) -> ModelAnswer {
        let usage = self.answer.usage.unwrap_or_else(Usage::unknown);
        let calls = std::mem::take(&mut self.answer.calls);
        // Nobody who offers no tools waits for calls.
        let calls = if names.is_empty() { Vec::new() } else { calls.calls(names, provider) };
        // Not every server that calls tools says so at the end.
        let finish = match self.answer.finish {
            None | Some(Finish::Stop) if !calls.is_empty() => Some(Finish::Tools),
            Some(Finish::Tools) if calls.is_empty() => Some(Finish::Stop),
            finish => finish,
        };
        ModelAnswer { calls, finish, ..self.with(usage) }
    }

    /// Half a tool call is none.
    fn so_far(self) -> ModelAnswer {
        let usage = self.answer.used_so_far();
        self.with(usage)
    }

    fn with(self, usage: Usage) -> ModelAnswer {
        let PartialAnswer { text, model, finish, id, .. } = self.answer;
        ModelAnswer { text, calls: Vec::new(), usage, model, finish, request_id: self.request_id.or(id), instead: None }
    }
}
