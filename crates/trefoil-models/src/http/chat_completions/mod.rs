//! OpenAI's chat completions, including the variants of compatible servers.

mod answer;
mod request;

use crate::vendors::ChatQuirks;

/// The protocol, with the deviations of a server.
pub(super) struct ChatCompletionsProtocol(pub ChatQuirks);
