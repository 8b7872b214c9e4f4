//! OpenAI's Responses API: <https://platform.openai.com/docs/api-reference/responses>. Nothing is stored at the
//! provider: each request has the whole conversation, including encrypted thoughts.

mod ask;
mod read;

use serde_json::Value as Json;
use trefoil_runtime::{ModelError, ModelRequest};

use super::endpoint::{Endpoint, ProviderProtocol, TextSink, openai_path};
use super::stream::StreamTable;
use super::tools::Names;
use super::{Partial, PartialAnswer};

/// The key for the thoughts of a turn, which must be sent back with its tool calls.
const THOUGHTS: &str = "reasoning";

/// The protocol.
pub(super) struct Responses {
    /// Appended to a base URL without a path.
    pub path: &'static str,
}

static TABLE: StreamTable = StreamTable {
    kinds: &["response."],
    silent: &[
        "response.output_text.done",
        "response.output_text.annotation",
        "response.refusal.done",
        "response.function_call",
        "response.reasoning",
        "response.custom_tool_call",
        "response.mcp",
        "response.code_interpreter",
        "response.audio",
        "response.image",
    ],
    first: &["response.created"],
    last: &["response.completed", "response.incomplete", "response.failed", "response.cancelled"],
    ..StreamTable::TYPED
};

impl ProviderProtocol for Responses {
    fn call_path(&self, base: &str) -> String {
        openai_path(base, self.path, "responses")
    }
    fn models_path(&self) -> (&'static str, Option<(&'static str, &'static str)>) {
        ("/models", None)
    }
    fn has_states(&self) -> bool {
        true
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
