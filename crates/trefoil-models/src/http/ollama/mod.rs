//! Ollama's chat API: <https://docs.ollama.com/api/chat>. Calls have no ids; streams are JSON lines.

mod ask;
mod read;

pub(super) use ask::body;
pub(super) use read::{answer, event};

/// The field with the model's thoughts before its tool calls, which must be sent back.
const THOUGHTS: &str = "thinking";
