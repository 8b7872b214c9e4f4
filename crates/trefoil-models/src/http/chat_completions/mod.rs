//! OpenAI's chat completions, including the variants of compatible servers.

mod ask;
mod read;

use crate::vendors::ChatQuirks;

/// The protocol, with the deviations of a server.
pub(super) struct ChatCompletions(pub ChatQuirks);
