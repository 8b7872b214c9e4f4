//! Ollama's chat API: <https://docs.ollama.com/api/chat>. Calls have no ids; streams are JSON lines.

mod ask;
mod read;

use serde_json::Value as Json;
use trefoil_runtime::{ModelError, ModelRequest};

use super::endpoint::{Endpoint, ProviderProtocol, TextSink};
use super::stream::StreamTable;
use super::tools::Names;
use super::{Partial, PartialAnswer};

/// The field with the model's thoughts before its tool calls, which must be sent back.
const THOUGHTS: &str = "thinking";

/// The protocol.
pub(super) struct Ollama;

static TABLE: StreamTable = StreamTable {
    members: &["message", "done"],
    beside: &["created_at"],
    last_member: Some("done"),
    ..StreamTable::PLAIN
};

impl ProviderProtocol for Ollama {
    fn call_path(&self, base: &str) -> String {
        if base.ends_with("/api") { format!("{base}/chat") } else { format!("{base}/api/chat") }
    }
    fn models_path(&self) -> (&'static str, Option<(&'static str, &'static str)>) {
        ("/tags", None)
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
