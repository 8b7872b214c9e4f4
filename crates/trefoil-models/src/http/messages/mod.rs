//! Anthropic's Messages API.

mod ask;
mod read;

use reqwest::header::HeaderName;
use serde_json::Value as Json;
use trefoil_runtime::{ModelError, ModelRequest};

use super::endpoint::{Endpoint, ProviderProtocol, TextSink};
use super::stream::StreamTable;
use super::tools::Names;
use super::{Partial, PartialAnswer};

/// The key for the thoughts of a turn, which must be sent back with its tool calls.
const THOUGHTS: &str = "thinking";

/// The protocol.
pub(super) struct Messages;

/// The supported version.
const VERSION: &str = "2023-06-01";

static TABLE: StreamTable = StreamTable {
    kinds: &["message_", "content_block_"],
    first: &["message_start"],
    last: &["message_stop"],
    ..StreamTable::TYPED
};

impl ProviderProtocol for Messages {
    fn call_path(&self, base: &str) -> String {
        if base.ends_with("/v1") { format!("{base}/messages") } else { format!("{base}/v1/messages") }
    }
    fn models_path(&self) -> (&'static str, Option<(&'static str, &'static str)>) {
        ("/models", Some(("limit", "1000")))
    }
    fn key_header(&self, key: &str) -> (HeaderName, String) {
        (HeaderName::from_static("x-api-key"), key.to_owned())
    }
    fn version_header(&self) -> Option<(&'static str, &'static str)> {
        Some(("anthropic-version", VERSION))
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
