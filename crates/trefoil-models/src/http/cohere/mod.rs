//! Cohere's chat, version 2: <https://docs.cohere.com/v2/reference/chat>.

mod ask;
mod read;

pub(super) use ask::body;
pub(super) use read::{answer, event};

/// What the model says about the tools that it is going to call, and wants to see again.
const PLAN: &str = "tool_plan";
