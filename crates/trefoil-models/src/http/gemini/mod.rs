//! Google's Gemini: <https://ai.google.dev/api/generate-content>. Names are in camel case, and the URL contains the
//! model.

mod answer;
mod request;

/// The signature of a tool call, which must be sent back with it.
const SIGNATURE: &str = "thoughtSignature";

/// The protocol.
pub(super) struct GeminiProtocol;
