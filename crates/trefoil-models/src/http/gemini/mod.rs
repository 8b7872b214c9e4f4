//! Google's Gemini: <https://ai.google.dev/api/generate-content>. Names are in camel case, and the model is in the address.

mod ask;
mod read;

pub(super) use ask::{body, call_url};
pub(super) use read::{answer, event};

/// What signs a tool call, and has to come back with it.
const SIGNATURE: &str = "thoughtSignature";
