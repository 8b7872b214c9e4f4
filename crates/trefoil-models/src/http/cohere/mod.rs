//! Cohere's chat API, version 2: <https://docs.cohere.com/v2/reference/chat>.

mod answer;
mod request;

/// The field with the model's plan for its tool calls, which must be sent back.
const PLAN: &str = "tool_plan";

/// The protocol.
pub(super) struct CohereProtocol;
