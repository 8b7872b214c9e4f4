//! Google's Gemini: <https://ai.google.dev/api/generate-content>. Names are in camel case, and the URL contains the
//! model.

mod ask;
mod read;

use reqwest::Url;
use reqwest::header::HeaderName;
use serde_json::Value as Json;
use trefoil_runtime::{ModelError, ModelRequest};

use super::endpoint::{Endpoint, ProviderProtocol, TextSink};
use super::stream::StreamTable;
use super::tools::Names;
use super::{Partial, PartialAnswer};

/// The signature of a tool call, which must be sent back with it.
const SIGNATURE: &str = "thoughtSignature";

/// The protocol.
pub(super) struct Gemini;

static TABLE: StreamTable = StreamTable {
    members: &["candidates", "promptFeedback", "usageMetadata"],
    beside: &["responseId", "modelVersion", "createTime"],
    ..StreamTable::PLAIN
};

impl ProviderProtocol for Gemini {
    fn call_path(&self, base: &str) -> String {
        // The model and the method are added for each request.
        if base.is_empty() { "/v1beta/models".to_owned() } else { format!("{base}/models") }
    }
    fn models_path(&self) -> (&'static str, Option<(&'static str, &'static str)>) {
        ("/models", Some(("pageSize", "1000")))
    }
    fn call_url(&self, url: &Url, request: &ModelRequest) -> Url {
        ask::call_url(url, request)
    }
    fn key_header(&self, key: &str) -> (HeaderName, String) {
        (HeaderName::from_static("x-goog-api-key"), key.to_owned())
    }
    fn body(&self, endpoint: &Endpoint, request: &ModelRequest, names: &Names) -> Result<Json, ModelError> {
        ask::body(endpoint, request, names)
    }
    fn answer(&self, endpoint: &Endpoint, json: &Json) -> Result<PartialAnswer, ModelError> {
        read::answer(endpoint, json)
    }
    fn event(
        &self,
        endpoint: &Endpoint,
        _kind: &str,
        json: &Json,
        partial: &mut Partial,
        delta: &mut TextSink<'_>,
    ) -> Result<(), ModelError> {
        read::event(endpoint, json, partial, delta)
    }
    fn stream_table(&self) -> &'static StreamTable {
        &TABLE
    }
}
