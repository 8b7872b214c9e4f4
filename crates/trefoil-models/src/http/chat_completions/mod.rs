//! OpenAI's chat completions, as everybody else took them over.

mod ask;
mod read;

pub(super) use ask::body;
pub(super) use read::{answer, event};
