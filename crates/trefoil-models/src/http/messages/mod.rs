//! Anthropic's messages.

mod ask;
mod read;

pub(super) use ask::body;
pub(super) use read::{answer, event};

/// What the thoughts of a turn are kept under, to be shown again with its tool calls.
const THOUGHTS: &str = "thinking";
