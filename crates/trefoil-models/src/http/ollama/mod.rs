//! Ollama's chat API: <https://docs.ollama.com/api/chat>. Calls have no ids; streams are JSON lines.

mod answer;
mod request;

/// The field with the model's thoughts before its tool calls, which must be sent back.
const THOUGHTS: &str = "thinking";

/// The protocol.
pub(super) struct OllamaProtocol;
