//! OpenAI's chat completions, including the variants of compatible servers.

mod ask;
mod read;

use serde_json::Value as Json;
use trefoil_runtime::{ModelError, ModelRequest};

use super::endpoint::{Endpoint, ProviderProtocol, TextSink, openai_path};
use super::stream::{DoneMark, StreamTable};
use super::tools::Names;
use super::{Partial, PartialAnswer};
use crate::vendors::ChatQuirks;

/// The protocol, with the deviations of a server.
pub(super) struct ChatCompletions(pub ChatQuirks);

static TABLE: StreamTable = StreamTable {
    members: &["choices"],
    beside: &[
        "usage",
        "id",
        "model",
        "created",
        "object",
        "obfuscation",
        "system_fingerprint",
        "service_tier",
        "provider",
        "prompt_filter_results",
        "prompt_annotations",
        "x_groq",
        "timings",
        "citations",
        "search_results",
        // Of gateways: what they have checked, and what they have searched.
        "hook_results",
        "sources",
    ],
    done: DoneMark::Last,
    ..StreamTable::PLAIN
};

impl ProviderProtocol for ChatCompletions {
    fn call_path(&self, base: &str) -> String {
        openai_path(base, self.0.path, "chat/completions")
    }
    fn models_path(&self) -> (&'static str, Option<(&'static str, &'static str)>) {
        ("/models", None)
    }
    fn body(&self, endpoint: &Endpoint, request: &ModelRequest, names: &Names) -> Result<Json, ModelError> {
        ask::body(endpoint, request, names, &self.0)
    }
    fn answer(&self, endpoint: &Endpoint, json: &Json) -> Result<PartialAnswer, ModelError> {
        read::answer(self.0.thoughts, endpoint, json)
    }
    fn event(
        &self,
        endpoint: &Endpoint,
        _kind: &str,
        json: &Json,
        partial: &mut Partial,
        delta: &mut TextSink<'_>,
    ) -> Result<(), ModelError> {
        read::event(self.0.thoughts, endpoint, json, partial, delta)
    }
    fn stream_table(&self) -> &'static StreamTable {
        &TABLE
    }
}
