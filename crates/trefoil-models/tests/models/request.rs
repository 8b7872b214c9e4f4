//! Requests for tests.

use std::sync::{Arc, Mutex};

#[cfg(feature = "http")]
use serde_json::Value as Json;
use trefoil_ir::{AnswerFormat, ModelParameters, StepId};
use trefoil_runtime::ports::CallSite;
use trefoil_runtime::{Key, MessageRole, ModelAnswer, ModelError, ModelMessage, ModelProvider, ModelRequest};
use trefoil_template::Value;

/// A request with one user message.
pub fn request(user: &str) -> ModelRequest {
    ModelRequest {
        speaker: "writer".into(),
        provider: None,
        model: "model-x".into(),
        messages: vec![message(MessageRole::User, user)],
        parameters: ModelParameters::default(),
        format: AnswerFormat::Text,
        schema: None,
        guards: Vec::new(),
        stream: false,
        provisional: false,
        tools: Vec::new(),
    }
}

/// A message.
pub fn message(role: MessageRole, text: &str) -> ModelMessage {
    ModelMessage::new(role, Value::from(text))
}

/// A schema as requests carry it.
#[cfg(feature = "http")]
pub fn schema(name: &str, json: Json) -> Option<(Arc<str>, Value)> {
    Some((name.into(), Value::from_json(json)))
}

/// Calls a provider; returns the answer and the texts streamed before it.
pub async fn ask(
    provider: &dyn ModelProvider,
    request: &ModelRequest,
) -> (Result<ModelAnswer, ModelError>, Vec<String>) {
    ask_at(provider, "flow/writer", &["flow", "writer"], request).await
}

/// Like [`ask`], for a call at a certain place of a program.
pub async fn ask_at(
    provider: &dyn ModelProvider,
    key: &str,
    labels: &[&str],
    request: &ModelRequest,
) -> (Result<ModelAnswer, ModelError>, Vec<String>) {
    let key = Key(key.into());
    let labels: Vec<Arc<str>> = labels.iter().map(|l| (*l).into()).collect();
    let at = CallSite {
        run: "run",
        execution: 0,
        key: &key,
        step: StepId(0),
        labels: &labels,
        meter: &trefoil_runtime::Meter::default(),
        discloses: false,
        limit_ms: None,
    };
    let heard = Mutex::new(Vec::new());
    let answer = provider.call_model(at, request, &mut |text| heard.lock().unwrap().push(text.to_owned())).await;
    (answer, heard.into_inner().unwrap())
}
