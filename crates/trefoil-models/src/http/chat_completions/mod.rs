//! OpenAI's chat completions, including the variants of compatible servers.

mod ask;
mod read;

pub(super) use ask::body;
pub(super) use read::{answer, event};
