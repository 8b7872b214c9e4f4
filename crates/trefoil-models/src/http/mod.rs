//! Calls over HTTP: OpenAI-compatible chat completions and responses, and the APIs of Anthropic, Google, Cohere and
//! Ollama, streamed or not.
//!
//! Each call is one request: no retries (the machine makes and counts them), no redirects (they would send the key
//! elsewhere), a proxy only if the operator's environment names one, a time limit for the call and one for silent
//! streams. The model name, texts, schema and answer are passed on unchanged.
//!
//! # Why not a model client library
//!
//! The best one (genai 0.7.2) was tried first. It removes `-low`, `-high`, `-max`, `-none`, ... from model names and
//! sends a reasoning effort instead (`qwen-max` becomes `qwen`). It trims answers that are not streamed and joins text
//! blocks with blank lines, so that the same answer differs between streaming and not. It marks every schema `strict`
//! and makes its optional properties required. It repeats the body of an error response in its error texts and log
//! lines. Each of these would break a guarantee of Trefoil. The part that remained after working around them was
//! smaller than this module.
//!
//! # Structured output
//!
//! A schema is sent in the provider's own form if it is within the subset that the provider supports (see `schema.rs`).
//! Otherwise it becomes text in a system message. The same applies to models that support no schemas, and to providers
//! that reject a response format together with tools. The machine validates the answer in every case.

mod advice;
mod arguments;
mod assembly;
mod body;
mod breaker;
mod chat_completions;
mod choices;
mod client;
mod cohere;
mod content;
mod endpoint;
mod evidence;
mod finish;
mod gemini;
mod members;
mod messages;
mod ollama;
mod options;
mod parts;
pub(crate) mod proxy;
mod reading;
mod refusal;
mod responses;
mod schema;
mod sse;
mod stream;
mod tokens;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value as Json;
use trefoil_ir::StepId;
use trefoil_runtime::{
    AnswerDoubt, FinishReason, Meter, ModelAnswer, ModelError, ModelErrorKind, ModelProvider, ModelRequest, Usage,
    ports::{CallAdmission, CallPause, CallSite},
};

use trefoil_template::{HalfJoiner, join_halves};

pub use client::ModelHttpClient;
pub use endpoint::ProviderEndpoint;

use crate::credential::ProviderCredential;
use crate::limits::ModelTimeLimits;
use crate::vendors::{ProprietaryApi, VendorProtocol};
use assembly::{CallAssembly, CallFault};
use choices::AnswerChoices;
use endpoint::ProviderProtocol;
use finish::FinishWord;
use parts::AnswerDoubts;
use stream::{EventContribution, StreamInput, StreamState};

/// Time limit for a list of models.
const OFFERED: Duration = Duration::from_secs(20);

/// The list of protocols: how each is spoken.
fn spoken(protocol: VendorProtocol) -> Arc<dyn ProviderProtocol> {
    match protocol {
        VendorProtocol::ChatCompletions(quirks) => Arc::new(chat_completions::ChatCompletionsProtocol(quirks)),
        VendorProtocol::Responses { path } => Arc::new(responses::ResponsesProtocol { path }),
        VendorProtocol::Messages => Arc::new(messages::MessagesProtocol),
        VendorProtocol::Own(ProprietaryApi::Gemini, _) => Arc::new(gemini::GeminiProtocol),
        VendorProtocol::Own(ProprietaryApi::Cohere, _) => Arc::new(cohere::CohereProtocol),
        VendorProtocol::Own(ProprietaryApi::Ollama, _) => Arc::new(ollama::OllamaProtocol),
    }
}

/// The endpoint of a provider at a base URL (`https://host/v1`).
pub fn create_endpoint(
    provider: &'static str,
    protocol: VendorProtocol,
    base_url: &str,
    credential: Option<ProviderCredential>,
) -> Result<ProviderEndpoint, ModelError> {
    ProviderEndpoint::new(provider, spoken(protocol), base_url, credential)
}

/// Calls one endpoint.
#[derive(Debug, Clone)]
pub struct HttpModel {
    client: ModelHttpClient,
    endpoint: ProviderEndpoint,
    limits: ModelTimeLimits,
}

impl HttpModel {
    /// Creates a provider that calls this endpoint with the model that each request names.
    pub fn new(client: ModelHttpClient, endpoint: ProviderEndpoint) -> Self {
        Self { client, endpoint, limits: ModelTimeLimits::default() }
    }

    /// Sets the operator's time limits.
    #[must_use]
    pub fn with_limits(self, limits: ModelTimeLimits) -> Self {
        Self { limits, ..self }
    }

    /// The names of the models that the server offers. The request is free. `None` if the server has no list.
    ///
    /// # Errors
    ///
    /// Fails if the server cannot be reached, rejects the key, or sends another response.
    pub async fn list_models(&self) -> Result<Option<Vec<String>>, ModelError> {
        let asked = async { self.client.send_get(&self.endpoint, self.endpoint.models_url()).await?.read_json().await };
        let json = match tokio::time::timeout(OFFERED, asked).await {
            Ok(Ok(json)) => json,
            // Some compatible servers have no list.
            Ok(Err(ModelError { kind: ModelErrorKind::Status(404 | 405 | 501), .. })) => return Ok(None),
            Ok(Err(error)) => return Err(error),
            Err(_) => {
                let what = format!("did not list its models within {}s", OFFERED.as_secs());
                return Err(self.endpoint.provider_error(ModelErrorKind::Timeout, &what));
            }
        };
        let list = json.get("data").or(json.get("models")).unwrap_or(&json);
        let Json::Array(models) = list else { return Ok(None) };
        let mut names = Vec::new();
        for model in models {
            if let Some(Json::String(id)) = model.get("id").or(model.get("name")) {
                names.push(id.strip_prefix("models/").unwrap_or(id).to_owned());
            }
        }
        Ok(Some(names))
    }

    /// Makes the call, and tells the circuit breakers of its host and of its model how it ended.
    async fn observed(
        &self,
        request: &ModelRequest,
        meter: &Meter,
        partial: &mut PartialCall,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let passage = self.client.breakers.begin_call(self.breakers(request));
        let outcome = self.exchange(request, meter, partial, delta).await;
        let failures = match &outcome {
            Ok(_) => [None, None],
            // It says nothing about the model.
            Err(error) if matches!(error.kind, ModelErrorKind::Setup | ModelErrorKind::Timeout) => return outcome,
            Err(error) => {
                let is_of_host = breaker::is_unreachable(error) && !partial.begun;
                [is_of_host, breaker::counts_as_failure(error)].map(|counts| if counts { Some(error) } else { None })
            }
        };
        passage.record_outcome(failures);
        outcome
    }

    /// Several providers and models may share a host, and its other models may well answer.
    fn breakers(&self, request: &ModelRequest) -> breaker::BreakerNames {
        let host = self.endpoint.origin_text();
        let model = format!("{host} {}:{}", self.endpoint.provider, request.model);
        [host, model]
    }

    async fn exchange(
        &self,
        request: &ModelRequest,
        meter: &Meter,
        partial: &mut PartialCall,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let names = tools::ToolWireNames::from_tools(&request.tools);
        let body = self.endpoint.protocol.request_body(&self.endpoint, request, &names)?;
        let post = self.client.send_post(&self.endpoint, self.endpoint.call_url(request), &body);
        let response = if request.stream {
            match tokio::time::timeout(Duration::from_millis(self.limits.first_ms), post).await {
                Ok(response) => response?,
                Err(_) => {
                    // The request was sent, so the outcome is unknown.
                    partial.begun = true;
                    let what = format!("did not start to answer within {}s", self.limits.first_ms as f64 / 1000.0);
                    return Err(self.endpoint.provider_error(ModelErrorKind::Network, &what));
                }
            }
        } else {
            post.await?
        };
        let mut response = response.with_idle_limit(Duration::from_millis(self.limits.idle_ms));
        partial.begun = true;
        partial.request_id = response.request_id();
        if request.stream
            && let Some(events) = response.event_decoder().await?
        {
            partial.answer.calls = CallAssembly::for_tools(&names);
            self.read_stream(response, events, meter, partial, delta).await?;
        } else {
            let json = response.read_json().await?;
            partial.answer = self.endpoint.read_answer(&json)?;
            if request.stream && !partial.answer.text.is_empty() {
                delta(&partial.answer.text);
            }
        }
        self.settle(partial, &names)
    }

    /// The answer, unless it says that it is not over, or its tool calls cannot be used.
    fn settle(&self, partial: &mut PartialCall, names: &tools::ToolWireNames) -> Result<ModelAnswer, ModelError> {
        if let Some(FinishWord::Ongoing(word)) = &partial.answer.word {
            let what = format!("sent an answer that is not complete: it says `{word}`");
            return Err(self.endpoint.provider_error(ModelErrorKind::Network, &what));
        }
        let finish = partial.answer.finish();
        let is_cut = !matches!(finish, None | Some(FinishReason::Stop | FinishReason::Tools));
        let ends_calls = finish.is_some() && !self.endpoint.protocol.has_states();
        match partial.answer.calls.find_fault(ends_calls, finish == Some(FinishReason::Tools)) {
            // Where a limit or a filter ended the answer, that is the reason.
            Some(CallFault::Torn | CallFault::Missing) if is_cut => {}
            Some(fault) if !names.is_empty() || fault == CallFault::Missing => {
                return Err(fault.to_error(&self.endpoint));
            }
            _ => {}
        }
        Ok(std::mem::take(partial).into_answer(names, self.endpoint.provider))
    }
}

#[async_trait]
impl ModelProvider for HttpModel {
    async fn call_model(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let ms = self.limits.of_call(request.parameters.timeout_ms);
        let mut partial = PartialCall::default();
        let exchange = self.observed(request, at.meter, &mut partial, delta);
        let outcome = match ms {
            None => Ok(exchange.await),
            Some(ms) => tokio::time::timeout(Duration::from_millis(ms), exchange).await.map_err(|_| ms),
        };
        let outcome = match outcome {
            Ok(outcome) => outcome,
            // The answer is complete; only its usage, or the end of the stream, did not arrive in time.
            Err(_) if partial.stream.is_finished() || partial.stream.is_complete() => {
                partial.stream.apply_input(StreamInput::Waited);
                self.settle(&mut partial, &tools::ToolWireNames::from_tools(&request.tools))
            }
            Err(ms) => {
                partial.begun = true;
                let (limit, help) = self.limits.describe_expired(ms);
                let what = format!("did not complete its answer within {limit}");
                Err(ModelError {
                    help: Some(help.to_owned()),
                    ..self.endpoint.provider_error(ModelErrorKind::Timeout, &what)
                })
            }
        };
        let sent = Some(self.endpoint.describe_request(request));
        match outcome {
            Ok(answer) => Ok(ModelAnswer { sent, ..answer }),
            Err(mut error) => {
                if partial.begun {
                    error.came = Some(Box::new(partial.so_far()));
                }
                Err(ModelError { sent, ..error })
            }
        }
    }

    async fn admit_call(
        &self,
        _step: StepId,
        request: &ModelRequest,
        tell: &(dyn Fn(CallPause) + Send + Sync),
    ) -> CallAdmission {
        self.client.breakers.admit_call(&self.breakers(request), tell).await
    }

    fn call_pause(&self, _step: StepId, request: &ModelRequest) -> Option<CallPause> {
        self.client.breakers.find_pause(&self.breakers(request))
    }

    fn label(&self, request: &ModelRequest) -> String {
        format!("{}:{}", self.endpoint.provider, request.model)
    }
}

/// The state of a call.
#[derive(Debug, Default)]
struct PartialCall {
    answer: PartialAnswer,
    /// The provider has started to answer, so the call has a cost even if it fails.
    begun: bool,
    /// The provider's id of the request, from the headers.
    request_id: Option<String>,
    /// Joins the pieces of the text that is shown. `answer` has them as they arrived.
    joiner: HalfJoiner,
    /// What the current event has brought so far.
    news: EventContribution,
    /// How far a streamed answer is.
    stream: StreamState,
}

/// The part of an answer that has arrived.
#[derive(Debug, Default)]
struct PartialAnswer {
    text: String,
    calls: CallAssembly,
    /// `None` if the provider has not reported any usage.
    usage: Option<Usage>,
    model: Option<String>,
    /// Why it is over, since the last part of it.
    word: Option<FinishWord>,
    /// The id in the body, used if the headers have none.
    id: Option<String>,
    /// Its choices, in protocols that may have several.
    choices: AnswerChoices,
    /// The part of the text that arrives now, in protocols that number them, and where it starts.
    part: ([Option<u64>; 2], usize),
    /// What of it was left out.
    doubts: AnswerDoubts,
}

impl PartialAnswer {
    /// A lower bound of the usage of an incomplete answer.
    fn used_so_far(&self) -> Usage {
        Usage { unknown_calls: 1, ..self.usage.unwrap_or_default() }
    }

    /// Notes why the answer is over. If several reasons arrive, a harmless one does not hide another.
    fn conclude(&mut self, word: impl Into<Option<FinishWord>>) {
        self.word = FinishWord::pick_later(self.word.take(), word.into());
    }

    /// Why it is over, if the reason is known.
    fn finish(&self) -> Option<FinishReason> {
        match self.word {
            Some(FinishWord::Known(finish)) => Some(finish),
            _ => None,
        }
    }

    /// Notes which part of the text arrives now.
    fn begin_part(&mut self, part: [Option<u64>; 2]) {
        let is_other = self.part.0.iter().zip(part).any(|(one, other)| other.is_some() && *one != other);
        if is_other {
            self.part = (part, self.text.len());
        }
    }

    /// Why it is not certain that this is all of it.
    fn take_doubts(&mut self) -> Vec<AnswerDoubt> {
        let mut doubts = Vec::new();
        match &self.word {
            Some(FinishWord::Unknown(word)) => doubts.push(AnswerDoubt::UnknownFinish(word.to_string())),
            None => doubts.push(AnswerDoubt::MissingFinish),
            Some(_) => {}
        }
        doubts.extend(std::mem::take(&mut self.doubts).into_all());
        doubts
    }
}

impl PartialCall {
    /// Appends a piece of text. All protocols append here.
    fn push(&mut self, text: &str, delta: &mut (dyn FnMut(&str) + Send)) {
        if !text.is_empty() {
            self.news.content = true;
            self.answer.text.push_str(text);
            let shown = self.joiner.push(text);
            if !shown.is_empty() {
                delta(&shown);
            }
        }
    }

    /// Takes the whole text, from an event that has all of it; no text says nothing about the pieces. What was shown
    /// cannot be taken back; the answer is what the server says that it is.
    fn complete(&mut self, whole: &str, delta: &mut (dyn FnMut(&str) + Send)) {
        self.answer.part.1 = 0;
        self.complete_part(whole, delta);
    }

    /// The same for the part of the text that arrives now.
    fn complete_part(&mut self, whole: &str, delta: &mut (dyn FnMut(&str) + Send)) {
        let from = self.answer.part.1;
        let pieces = self.answer.text.get(from..).unwrap_or_default();
        if let Some(rest) = whole.strip_prefix(pieces) {
            self.push(rest, delta);
        } else if !whole.is_empty() {
            let [pieces, whole] = [pieces, whole].map(|text| join_halves(text.to_owned()));
            if pieces.trim() != whole.trim() {
                self.answer.doubts.note_doubt(AnswerDoubt::Replaced);
            }
            self.news.content = true;
            self.answer.text.truncate(from);
            self.answer.text.push_str(&whole);
        }
    }

    /// What the event that was just read has brought. A finish reason counts for the answer only until more of it arrives.
    fn take_news(&mut self) -> EventContribution {
        let mut news = std::mem::take(&mut self.news);
        news.content |= self.answer.calls.take_growth();
        if news.is_progress() && self.answer.finish() != Some(FinishReason::Refused) {
            self.answer.word = self.answer.word.take().filter(FinishWord::is_ongoing);
        }
        self.answer.conclude(news.word.clone());
        news.word = news.word.filter(|word| !word.is_ongoing());
        news
    }

    /// The answer, when everything has arrived.
    fn into_answer(mut self, names: &tools::ToolWireNames, provider: &str) -> ModelAnswer {
        if self.stream.is_usage_partial() && self.answer.usage.is_some() {
            self.answer.usage = Some(self.answer.used_so_far());
        }
        let usage = self.answer.usage.unwrap_or_else(Usage::for_unknown_call);
        let calls = std::mem::take(&mut self.answer.calls);
        // Calls are not made if the request offered no tools.
        if names.is_empty() && !calls.is_empty() {
            self.answer.doubts.leave_out("a tool call that nobody asked for");
        }
        let calls = if names.is_empty() { Vec::new() } else { calls.into_calls(names, provider) };
        let doubts = self.answer.take_doubts();
        // Some servers do not report `tool_calls` as the finish reason.
        let finish = match self.answer.finish() {
            None | Some(FinishReason::Stop) if !calls.is_empty() => Some(FinishReason::Tools),
            Some(FinishReason::Tools) if calls.is_empty() => Some(FinishReason::Stop),
            finish => finish,
        };
        ModelAnswer { calls, finish, doubts, ..self.with(usage) }
    }

    /// An incomplete answer has no tool calls.
    fn so_far(self) -> ModelAnswer {
        let usage = self.answer.used_so_far();
        self.with(usage)
    }

    fn with(self, usage: Usage) -> ModelAnswer {
        let finish = self.answer.finish();
        let PartialAnswer { text, model, id, .. } = self.answer;
        let request_id = self.request_id.or(id);
        ModelAnswer { request_id, model, finish, ..ModelAnswer::new(join_halves(text), usage) }
    }
}
