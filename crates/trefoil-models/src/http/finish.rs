//! Finish reasons. Gateways pass on the words of other providers, so all protocols share one vocabulary:
//! <https://platform.openai.com/docs/api-reference/chat/object>,
//! <https://docs.anthropic.com/en/api/handling-stop-reasons>, <https://ai.google.dev/api/generate-content#FinishReason>,
//! <https://docs.cohere.com/v2/reference/chat#response.body.finish_reason>. The states of whole answers are in it, too.

use serde_json::Value as Json;
use trefoil_runtime::{FinishReason, ModelError, ModelErrorKind};

use super::ProviderEndpoint;

/// A finish reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FinishWord {
    /// One that says why the answer is over.
    Known(FinishReason),
    /// A word without a known meaning. By itself it ends nothing.
    Unknown(Box<str>),
    /// A word that says that the answer is not over.
    Ongoing(Box<str>),
}

/// The longest word that is kept.
const WORD_CHARS: usize = 60;

impl From<FinishReason> for FinishWord {
    fn from(finish: FinishReason) -> Self {
        Self::Known(finish)
    }
}

impl FinishWord {
    /// Whether it says why the answer is over.
    pub fn is_known(&self) -> bool {
        matches!(self, Self::Known(_))
    }

    /// Whether it says that the answer is not over.
    pub fn is_ongoing(&self) -> bool {
        matches!(self, Self::Ongoing(_))
    }

    /// Of two words for one answer, the one that says more of what is wrong with it; the later one if both say as much.
    pub fn pick_worse(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(if one.rank() > other.rank() { one } else { other }),
            (one, other) => one.or(other),
        }
    }

    /// The same for a word that comes later: what goes on may end.
    pub fn pick_later(earlier: Option<Self>, later: Option<Self>) -> Option<Self> {
        match (earlier, later) {
            (Some(Self::Ongoing(_)), Some(later)) => Some(later),
            (earlier, later) => Self::pick_worse(earlier, later),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Known(FinishReason::Stop) => 0,
            // A call that was announced must have arrived.
            Self::Known(FinishReason::Tools) => 1,
            Self::Unknown(_) => 2,
            Self::Known(FinishReason::Length) => 3,
            Self::Known(FinishReason::Filtered) => 4,
            Self::Known(FinishReason::Refused) => 5,
            Self::Ongoing(_) => 6,
        }
    }
}

/// What a word means.
#[derive(Debug, Clone, Copy)]
enum FinishMeaning {
    /// It says nothing.
    Absent,
    /// The answer is over.
    End(FinishReason),
    /// The answer is not over.
    Ongoing,
    /// The model or its server failed.
    Failure,
}

use FinishMeaning::{Absent, End, Failure, Ongoing};

/// Words, without the name of an enumeration.
const WORDS: &[(&str, FinishMeaning)] = &[
    ("", Absent),
    ("null", Absent),
    ("none", Absent),
    ("nil", Absent),
    ("undefined", Absent),
    ("unspecified", Absent),
    // Gateways whose own source gave no reason.
    ("unknown", Absent),
    ("stop", End(FinishReason::Stop)),
    ("stopped", End(FinishReason::Stop)),
    ("eos", End(FinishReason::Stop)),
    ("eos_token", End(FinishReason::Stop)),
    ("eos_found", End(FinishReason::Stop)),
    ("stop_string_found", End(FinishReason::Stop)),
    ("end_of_text", End(FinishReason::Stop)),
    ("end_turn", End(FinishReason::Stop)),
    ("end_of_turn", End(FinishReason::Stop)),
    ("stop_sequence", End(FinishReason::Stop)),
    ("stop_sequence_reached", End(FinishReason::Stop)),
    ("complete", End(FinishReason::Stop)),
    ("completed", End(FinishReason::Stop)),
    // Baidu.
    ("normal", End(FinishReason::Stop)),
    ("tool_calls", End(FinishReason::Tools)),
    ("tool_call", End(FinishReason::Tools)),
    ("tool_use", End(FinishReason::Tools)),
    ("function_call", End(FinishReason::Tools)),
    ("function_calls", End(FinishReason::Tools)),
    ("requires_action", End(FinishReason::Tools)),
    ("tokens", End(FinishReason::Length)),
    ("max_tokens", End(FinishReason::Length)),
    ("maximum_tokens", End(FinishReason::Length)),
    ("incomplete", End(FinishReason::Length)),
    // Cohere: the limit of the context.
    ("error_limit", End(FinishReason::Length)),
    ("error_toxic", End(FinishReason::Filtered)),
    ("recitation", End(FinishReason::Filtered)),
    ("language", End(FinishReason::Filtered)),
    ("spii", End(FinishReason::Filtered)),
    ("model_armor", End(FinishReason::Filtered)),
    ("in_progress", Ongoing),
    ("queued", Ongoing),
    ("pending", Ongoing),
    ("running", Ongoing),
    ("processing", Ongoing),
    ("generating", Ongoing),
    ("not_finished", Ongoing),
    ("unfinished", Ongoing),
    ("user_stopped", Failure),
    // Anthropic: a long turn that is to be asked for again.
    ("pause_turn", Failure),
    // Google: it stopped for an unknown reason.
    ("other", Failure),
    ("no_image", Failure),
    ("malformed_function_call", Failure),
    ("malformed_response", Failure),
    ("malformed_model_output", Failure),
    ("malformed_tool_use", Failure),
    ("unexpected_tool_call", Failure),
    ("too_many_tool_calls", Failure),
    ("missing_thought_signature", Failure),
    // Ollama and LM Studio: the model was loaded or unloaded.
    ("load", Failure),
    ("unload", Failure),
    ("model_unloaded", Failure),
    ("insufficient_system_resource", Failure),
    // vLLM: the model said the same again and again.
    ("repetition", Failure),
];

/// Parts of other words, in the order of precedence. Servers invent words, but not what they speak of.
const PARTS: &[(&str, FinishMeaning)] = &[
    ("error", Failure),
    ("fail", Failure),
    ("exception", Failure),
    ("cancel", Failure),
    ("abort", Failure),
    ("interrupt", Failure),
    ("disconnect", Failure),
    ("preempt", Failure),
    ("evict", Failure),
    ("killed", Failure),
    ("overload", Failure),
    ("unavailable", Failure),
    ("timeout", Failure),
    ("timed_out", Failure),
    ("time_limit", Failure),
    ("rate_limit", Failure),
    ("refus", End(FinishReason::Refused)),
    ("filter", End(FinishReason::Filtered)),
    ("safety", End(FinishReason::Filtered)),
    ("unsafe", End(FinishReason::Filtered)),
    ("sensitive", End(FinishReason::Filtered)),
    ("block", End(FinishReason::Filtered)),
    ("prohibit", End(FinishReason::Filtered)),
    ("moderat", End(FinishReason::Filtered)),
    ("toxic", End(FinishReason::Filtered)),
    ("policy", End(FinishReason::Filtered)),
    ("guardrail", End(FinishReason::Filtered)),
    // Google's reasons for images that it does not show.
    ("image_", End(FinishReason::Filtered)),
    ("length", End(FinishReason::Length)),
    ("limit", End(FinishReason::Length)),
    ("truncat", End(FinishReason::Length)),
    ("exceed", End(FinishReason::Length)),
    ("max_", End(FinishReason::Length)),
];

/// Names of enumerations.
const NAMES: &[&str] = &["finish_reason_", "finishreason_", "stop_reason_", "block_reason_", "reason_"];

/// Whether there is a word other than those that say that there is none.
pub(super) fn is_word(json: Option<&Json>) -> bool {
    let Some(Json::String(text)) = json else { return false };
    !matches!(meaning(text), Some(Absent))
}

/// What a word means, however it is spelled: `MAX_TOKENS`, `max-tokens`, `maxTokens`.
fn meaning(text: &str) -> Option<FinishMeaning> {
    let snake = snake(text.trim());
    let word = NAMES.iter().find_map(|name| snake.strip_prefix(name)).unwrap_or(&snake);
    let letters = word.replace('_', "");
    for (known, meaning) in WORDS {
        if known.chars().filter(|c| *c != '_').eq(letters.chars()) {
            return Some(*meaning);
        }
    }
    // Sentences are no words.
    if text.trim().len() > WORD_CHARS || text.trim().contains(char::is_whitespace) {
        return None;
    }
    let (_, meaning) = PARTS.iter().find(|(part, _)| word.contains(part))?;
    Some(*meaning)
}

fn snake(text: &str) -> String {
    let mut snake = String::new();
    let mut was_lower = false;
    for c in text.chars() {
        if was_lower && c.is_uppercase() {
            snake.push('_');
        }
        was_lower = c.is_lowercase();
        snake.push(if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
    }
    snake
}

/// Reads a finish reason. `None`: none was given, or one that says that there is none.
pub(super) fn read_word(endpoint: &ProviderEndpoint, json: Option<&Json>) -> Result<Option<FinishWord>, ModelError> {
    let text = match json {
        Some(Json::String(text)) => text,
        // SGLang: `{"type": "length", "length": 10}`.
        Some(Json::Object(reason)) => return read_word(endpoint, reason.get("type").or_else(|| reason.get("reason"))),
        Some(Json::Array(all)) => {
            let mut worst = None;
            for word in all {
                worst = FinishWord::pick_worse(worst, read_word(endpoint, Some(word))?);
            }
            return Ok(worst);
        }
        _ => return Ok(None),
    };
    let cut = || text.trim().chars().take(WORD_CHARS).collect::<Box<str>>();
    match meaning(text) {
        Some(Absent) => Ok(None),
        Some(End(finish)) => Ok(Some(FinishWord::Known(finish))),
        Some(Ongoing) => Ok(Some(FinishWord::Ongoing(cut()))),
        Some(Failure) => {
            let what = format!("stopped in the middle of its answer: `{}`", cut());
            Err(endpoint.provider_error(ModelErrorKind::Status(503), &what))
        }
        None => Ok(Some(FinishWord::Unknown(cut()))),
    }
}

/// Reads what an answer says of its own state: its status, and why it is incomplete, which counts whatever the status is.
pub(super) fn read_status(endpoint: &ProviderEndpoint, json: &Json) -> Result<Option<FinishWord>, ModelError> {
    let status = read_word(endpoint, json.get("status"))?;
    let reason = match read_word(endpoint, json.pointer("/incomplete_details/reason"))? {
        Some(FinishWord::Known(FinishReason::Stop | FinishReason::Tools) | FinishWord::Unknown(_)) => {
            Some(FinishWord::Known(FinishReason::Length))
        }
        reason => reason,
    };
    Ok(FinishWord::pick_worse(status, reason))
}
