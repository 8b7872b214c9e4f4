//! Finish reasons. Gateways pass on the words of other providers, so all protocols share one vocabulary:
//! <https://platform.openai.com/docs/api-reference/chat/object>,
//! <https://docs.anthropic.com/en/api/handling-stop-reasons>, <https://ai.google.dev/api/generate-content#FinishReason>,
//! <https://docs.cohere.com/v2/reference/chat#response.body.finish_reason>.

use serde_json::Value as Json;
use trefoil_runtime::{Finish, ModelError, ModelErrorKind};

use super::Endpoint;

/// A finish reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FinishWord {
    /// One that says why the answer is over.
    Known(Finish),
    /// A word without a known meaning. By itself it ends nothing.
    Unknown(Box<str>),
}

/// The longest unknown word that is kept.
const WORD_CHARS: usize = 60;

impl FinishWord {
    /// A word without a known meaning, as it may be shown.
    pub fn unknown(text: &str) -> Self {
        Self::Unknown(text.trim().chars().take(WORD_CHARS).collect())
    }

    /// Whether it says why the answer is over.
    pub fn is_known(&self) -> bool {
        matches!(self, Self::Known(_))
    }

    /// Of two words for one answer, the one that says more of what is wrong with it.
    pub fn worse(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(Self::Known(one)), Some(Self::Known(other))) => Some(Self::Known(worse(one, other))),
            (Some(Self::Known(finish)), _) | (_, Some(Self::Known(finish))) => Some(Self::Known(finish)),
            (one, other) => one.or(other),
        }
    }
}

/// Of two reasons, the less harmless one; the later one if both are as harmless.
pub(super) fn worse(one: Finish, other: Finish) -> Finish {
    let rank = |finish: Finish| match finish {
        Finish::Stop | Finish::Tools => 0,
        Finish::Length => 1,
        Finish::Filtered => 2,
        Finish::Refused => 3,
    };
    if rank(one) > rank(other) { one } else { other }
}

/// What a word means.
#[derive(Debug, Clone, Copy)]
enum Meaning {
    /// The answer goes on.
    Absent,
    /// The answer is over.
    End(Finish),
    /// The model or its server failed.
    Failure,
}

/// In lower case, without the name of an enumeration.
const WORDS: &[(&str, Meaning)] = &[
    ("", Meaning::Absent),
    ("null", Meaning::Absent),
    ("none", Meaning::Absent),
    ("nil", Meaning::Absent),
    ("undefined", Meaning::Absent),
    ("unspecified", Meaning::Absent),
    ("stop", Meaning::End(Finish::Stop)),
    ("eos", Meaning::End(Finish::Stop)),
    ("eos_token", Meaning::End(Finish::Stop)),
    ("end_turn", Meaning::End(Finish::Stop)),
    ("stop_sequence", Meaning::End(Finish::Stop)),
    ("complete", Meaning::End(Finish::Stop)),
    ("tool_calls", Meaning::End(Finish::Tools)),
    ("tool_call", Meaning::End(Finish::Tools)),
    ("tool_use", Meaning::End(Finish::Tools)),
    ("function_call", Meaning::End(Finish::Tools)),
    ("length", Meaning::End(Finish::Length)),
    ("max_tokens", Meaning::End(Finish::Length)),
    ("max_output_tokens", Meaning::End(Finish::Length)),
    ("model_length", Meaning::End(Finish::Length)),
    ("model_context_window_exceeded", Meaning::End(Finish::Length)),
    // Cohere: the limit of the context.
    ("error_limit", Meaning::End(Finish::Length)),
    ("content_filter", Meaning::End(Finish::Filtered)),
    ("content_filtered", Meaning::End(Finish::Filtered)),
    ("guardrail_intervened", Meaning::End(Finish::Filtered)),
    ("error_toxic", Meaning::End(Finish::Filtered)),
    ("safety", Meaning::End(Finish::Filtered)),
    ("recitation", Meaning::End(Finish::Filtered)),
    ("language", Meaning::End(Finish::Filtered)),
    ("blocklist", Meaning::End(Finish::Filtered)),
    ("prohibited_content", Meaning::End(Finish::Filtered)),
    ("spii", Meaning::End(Finish::Filtered)),
    ("model_armor", Meaning::End(Finish::Filtered)),
    ("refusal", Meaning::End(Finish::Refused)),
    ("error", Meaning::Failure),
    ("timeout", Meaning::Failure),
    ("abort", Meaning::Failure),
    ("aborted", Meaning::Failure),
    ("cancelled", Meaning::Failure),
    ("canceled", Meaning::Failure),
    ("user_cancel", Meaning::Failure),
    // Anthropic: a long turn that is to be asked for again.
    ("pause_turn", Meaning::Failure),
    // Google: it stopped for an unknown reason.
    ("other", Meaning::Failure),
    // Ollama: the model was loaded or unloaded, and not asked.
    ("load", Meaning::Failure),
    ("unload", Meaning::Failure),
    ("insufficient_system_resource", Meaning::Failure),
    ("malformed_function_call", Meaning::Failure),
    ("malformed_response", Meaning::Failure),
    ("malformed_model_output", Meaning::Failure),
    ("malformed_tool_use", Meaning::Failure),
    ("unexpected_tool_call", Meaning::Failure),
    ("too_many_tool_calls", Meaning::Failure),
    ("missing_thought_signature", Meaning::Failure),
];

/// Whether there is a word other than those that say that there is none.
pub(super) fn is_word(json: Option<&Json>) -> bool {
    let text = json.and_then(Json::as_str);
    text.is_some_and(|text| !matches!(look_up(text).1, Some(Meaning::Absent)))
}

/// A word as the table has it, and its meaning.
fn look_up(text: &str) -> (String, Option<Meaning>) {
    let word = text.trim().to_ascii_lowercase();
    let names = ["finish_reason_", "finishreason.", "block_reason_"];
    let word = names.iter().find_map(|name| word.strip_prefix(name)).unwrap_or(&word).to_owned();
    let meaning = WORDS.iter().find(|(known, _)| *known == word).map(|(_, meaning)| *meaning);
    (word, meaning)
}

/// Reads a finish reason. `None`: none was given, or one that says that there is none.
pub(super) fn read_word(endpoint: &Endpoint, json: Option<&Json>) -> Result<Option<FinishWord>, ModelError> {
    let Some(text) = json.and_then(Json::as_str) else { return Ok(None) };
    let (word, meaning) = look_up(text);
    match meaning {
        Some(Meaning::Absent) => Ok(None),
        Some(Meaning::End(finish)) => Ok(Some(FinishWord::Known(finish))),
        Some(Meaning::Failure) => {
            let what = format!("stopped in the middle of its answer: `{}`", text.trim());
            Err(endpoint.error(ModelErrorKind::Status(503), &what))
        }
        // Google's reasons for images that it does not show.
        None if word.starts_with("image_") => Ok(Some(FinishWord::Known(Finish::Filtered))),
        None => Ok(Some(FinishWord::unknown(text))),
    }
}
