//! OpenAI's Responses API: <https://platform.openai.com/docs/api-reference/responses>. Nothing is stored at the
//! provider: each request has the whole conversation, including encrypted thoughts.

mod answer;
mod request;

/// The key for the thoughts of a turn, which must be sent back with its tool calls.
const THOUGHTS: &str = "reasoning";

/// The protocol.
pub(super) struct ResponsesProtocol {
    /// Appended to a base URL without a path.
    pub path: &'static str,
}
