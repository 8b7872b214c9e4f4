//! Anthropic's Messages API.

mod ask;
mod read;

pub(super) use ask::body;
pub(super) use read::{answer, event};

/// The key for the thoughts of a turn, which must be sent back with its tool calls.
const THOUGHTS: &str = "thinking";
