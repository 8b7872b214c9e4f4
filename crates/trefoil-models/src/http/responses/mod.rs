//! OpenAI's Responses API: <https://platform.openai.com/docs/api-reference/responses>. Nothing is stored at the
//! provider: each request has the whole conversation, including encrypted thoughts.

mod ask;
mod read;

pub(super) use ask::body;
pub(super) use read::{answer, event};

/// The key for the thoughts of a turn, which must be sent back with its tool calls.
const THOUGHTS: &str = "reasoning";
