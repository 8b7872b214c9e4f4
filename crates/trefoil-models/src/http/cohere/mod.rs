//! Cohere's chat API, version 2: <https://docs.cohere.com/v2/reference/chat>.

mod ask;
mod read;

use serde_json::Value as Json;
use trefoil_runtime::{ModelError, ModelRequest};

use super::endpoint::{Endpoint, ProviderProtocol, TextSink};
use super::stream::StreamTable;
use super::tools::Names;
use super::{Partial, PartialAnswer};

/// The field with the model's plan for its tool calls, which must be sent back.
const PLAN: &str = "tool_plan";

/// The protocol.
pub(super) struct Cohere;

static TABLE: StreamTable = StreamTable {
    kinds: &["message-", "content-", "tool-", "citation-"],
    first: &["message-start"],
    last: &["message-end"],
    ..StreamTable::TYPED
};

impl ProviderProtocol for Cohere {
    fn call_path(&self, base: &str) -> String {
        if base.ends_with("/v2") { format!("{base}/chat") } else { format!("{base}/v2/chat") }
    }
    fn models_path(&self) -> (&'static str, Option<(&'static str, &'static str)>) {
        ("/v1/models", Some(("page_size", "1000")))
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
        kind: &str,
        json: &Json,
        partial: &mut Partial,
        delta: &mut TextSink<'_>,
    ) -> Result<(), ModelError> {
        read::event(endpoint, kind, json, partial, delta)
    }
    fn stream_table(&self) -> &'static StreamTable {
        &TABLE
    }
}
