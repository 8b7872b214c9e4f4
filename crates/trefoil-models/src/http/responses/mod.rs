//! OpenAI's responses: <https://platform.openai.com/docs/api-reference/responses>. Nothing is kept at the provider: each request has
//! the whole conversation, thoughts included, which come and go encrypted.

mod ask;
mod read;

pub(super) use ask::body;
pub(super) use read::{answer, event};

/// What the thoughts of a turn are kept under, to be shown again with its tool calls.
const THOUGHTS: &str = "reasoning";
