//! Anthropic's Messages API.

mod ask;
mod read;

/// The key for the thoughts of a turn, which must be sent back with its tool calls.
const THOUGHTS: &str = "thinking";

/// The protocol.
pub(super) struct Messages;
