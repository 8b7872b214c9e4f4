//! Anthropic's Messages API.

mod answer;
mod request;

/// The key for the thoughts of a turn, which must be sent back with its tool calls.
const THOUGHTS: &str = "thinking";

/// The protocol.
pub(super) struct MessagesProtocol;
