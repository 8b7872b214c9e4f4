//! Ollama's chat: <https://docs.ollama.com/api/chat>. Calls have no ids, streams are JSON lines.

mod ask;
mod read;

pub(super) use ask::body;
pub(super) use read::{answer, event};

/// What the model thought before it called tools, and wants to see again.
const THOUGHTS: &str = "thinking";
