//! Finish reasons. Gateways pass on the words of other providers, so all protocols share one vocabulary:
//! <https://platform.openai.com/docs/api-reference/chat/object>,
//! <https://docs.anthropic.com/en/api/handling-stop-reasons>, <https://ai.google.dev/api/generate-content#FinishReason>,
//! <https://docs.cohere.com/v2/reference/chat#response.body.finish_reason>. The states of whole answers are in it, too.

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
    /// A word that says that the answer is not over.
    Ongoing(Box<str>),
}

/// The longest word that is kept.
const WORD_CHARS: usize = 60;

impl From<Finish> for FinishWord {
    fn from(finish: Finish) -> Self {
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
    pub fn worse(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(if one.rank() > other.rank() { one } else { other }),
            (one, other) => one.or(other),
        }
    }

    /// The same for a word that comes later: what goes on may end.
    pub fn after(earlier: Option<Self>, later: Option<Self>) -> Option<Self> {
        match (earlier, later) {
            (Some(Self::Ongoing(_)), Some(later)) => Some(later),
            (earlier, later) => Self::worse(earlier, later),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Known(Finish::Stop) => 0,
            // A call that was announced must have arrived.
            Self::Known(Finish::Tools) => 1,
            Self::Unknown(_) => 2,
            Self::Known(Finish::Length) => 3,
            Self::Known(Finish::Filtered) => 4,
            Self::Known(Finish::Refused) => 5,
            Self::Ongoing(_) => 6,
        }
    }
}

/// What a word means.
#[derive(Debug, Clone, Copy)]
enum Meaning {
    /// It says nothing.
    Absent,
    /// The answer is over.
    End(Finish),
    /// The answer is not over.
    Ongoing,
    /// The model or its server failed.
    Failure,
}

use Meaning::{Absent, End, Failure, Ongoing};

/// Words, without the name of an enumeration.
const WORDS: &[(&str, Meaning)] = &[
    ("", Absent),
    ("null", Absent),
    ("none", Absent),
    ("nil", Absent),
    ("undefined", Absent),
    ("unspecified", Absent),
    // Gateways whose own source gave no reason.
    ("unknown", Absent),
    ("stop", End(Finish::Stop)),
    ("stopped", End(Finish::Stop)),
    ("eos", End(Finish::Stop)),
    ("eos_token", End(Finish::Stop)),
    ("eos_found", End(Finish::Stop)),
    ("stop_string_found", End(Finish::Stop)),
    ("end_of_text", End(Finish::Stop)),
    ("end_turn", End(Finish::Stop)),
    ("end_of_turn", End(Finish::Stop)),
    ("stop_sequence", End(Finish::Stop)),
    ("stop_sequence_reached", End(Finish::Stop)),
    ("complete", End(Finish::Stop)),
    ("completed", End(Finish::Stop)),
    // Baidu.
    ("normal", End(Finish::Stop)),
    ("tool_calls", End(Finish::Tools)),
    ("tool_call", End(Finish::Tools)),
    ("tool_use", End(Finish::Tools)),
    ("function_call", End(Finish::Tools)),
    ("function_calls", End(Finish::Tools)),
    ("requires_action", End(Finish::Tools)),
    ("tokens", End(Finish::Length)),
    ("max_tokens", End(Finish::Length)),
    ("maximum_tokens", End(Finish::Length)),
    ("incomplete", End(Finish::Length)),
    // Cohere: the limit of the context.
    ("error_limit", End(Finish::Length)),
    ("error_toxic", End(Finish::Filtered)),
    ("recitation", End(Finish::Filtered)),
    ("language", End(Finish::Filtered)),
    ("spii", End(Finish::Filtered)),
    ("model_armor", End(Finish::Filtered)),
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
const PARTS: &[(&str, Meaning)] = &[
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
    ("refus", End(Finish::Refused)),
    ("filter", End(Finish::Filtered)),
    ("safety", End(Finish::Filtered)),
    ("unsafe", End(Finish::Filtered)),
    ("sensitive", End(Finish::Filtered)),
    ("block", End(Finish::Filtered)),
    ("prohibit", End(Finish::Filtered)),
    ("moderat", End(Finish::Filtered)),
    ("toxic", End(Finish::Filtered)),
    ("policy", End(Finish::Filtered)),
    ("guardrail", End(Finish::Filtered)),
    // Google's reasons for images that it does not show.
    ("image_", End(Finish::Filtered)),
    ("length", End(Finish::Length)),
    ("limit", End(Finish::Length)),
    ("truncat", End(Finish::Length)),
    ("exceed", End(Finish::Length)),
    ("max_", End(Finish::Length)),
];

/// Names of enumerations.
const NAMES: &[&str] = &["finish_reason_", "finishreason_", "stop_reason_", "block_reason_", "reason_"];

/// Whether there is a word other than those that say that there is none.
pub(super) fn is_word(json: Option<&Json>) -> bool {
    let text = json.and_then(Json::as_str);
    text.is_some_and(|text| !matches!(meaning(text), Some(Absent)))
}

/// What a word means, however it is spelled: `MAX_TOKENS`, `max-tokens`, `maxTokens`.
fn meaning(text: &str) -> Option<Meaning> {
    let snake = snake(text.trim());
    let word = NAMES.iter().find_map(|name| snake.strip_prefix(name)).unwrap_or(&snake);
    // Sentences are no words.
    let is_short = text.trim().len() <= WORD_CHARS && !text.trim().contains(char::is_whitespace);
    let letters: String = word.chars().filter(|c| *c != '_').collect();
    let is_same = |known: &str| known.chars().filter(|c| *c != '_').eq(letters.chars());
    let known = WORDS.iter().find(|(known, _)| is_same(known));
    let known = known.or_else(|| PARTS.iter().find(|(part, _)| is_short && word.contains(part)));
    known.map(|(_, meaning)| *meaning)
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
pub(super) fn read_word(endpoint: &Endpoint, json: Option<&Json>) -> Result<Option<FinishWord>, ModelError> {
    let text = match json {
        Some(Json::String(text)) => text,
        // SGLang: `{"type": "length", "length": 10}`.
        Some(Json::Object(reason)) => return read_word(endpoint, reason.get("type").or_else(|| reason.get("reason"))),
        Some(Json::Array(all)) => {
            let words = all.iter().map(|one| read_word(endpoint, Some(one)));
            return words.reduce(|one, other| Ok(FinishWord::worse(one?, other?))).unwrap_or(Ok(None));
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
            Err(endpoint.error(ModelErrorKind::Status(503), &what))
        }
        None => Ok(Some(FinishWord::Unknown(cut()))),
    }
}

/// Reads what an answer says of its own state: its status, and why it is incomplete, which counts whatever the status is.
pub(super) fn read_status(endpoint: &Endpoint, json: &Json) -> Result<Option<FinishWord>, ModelError> {
    let status = read_word(endpoint, json.get("status"))?;
    let reason = match read_word(endpoint, json.pointer("/incomplete_details/reason"))? {
        Some(FinishWord::Known(Finish::Stop | Finish::Tools) | FinishWord::Unknown(_)) => {
            Some(FinishWord::Known(Finish::Length))
        }
        reason => reason,
    };
    Ok(FinishWord::worse(status, reason))
}
