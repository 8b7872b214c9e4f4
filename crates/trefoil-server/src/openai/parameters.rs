//! The parameters of a chat completion that have no effect on a flow: accepted with the value that changes nothing, which is the
//! default of OpenAI's API, or null; otherwise refused by name, because a client that sets one would get something else than it asked
//! for.

use serde_json::Value as Json;

use super::errors::OpenAiError;

/// The parameters that have a meaning here; [`super::request`] reads them.
pub const MEANT: [&str; 6] = ["messages", "metadata", "model", "stream", "stream_options", "user"];

/// A value of a parameter that says what happens anyway.
#[derive(Clone, Copy)]
enum NeutralValue {
    Number(f64),
    Word(&'static str),
    Bool(bool),
    EmptyList,
    EmptyObject,
    /// `["text"]`
    TextList,
    /// `{"type": "text"}`
    TextType,
}

use NeutralValue::{Bool, EmptyList, EmptyObject, Number, TextList, TextType, Word};

/// The other parameters of OpenAI's API, each with the values that are accepted beside null.
const NEUTRAL: [(&str, &[NeutralValue]); 31] = [
    ("audio", &[]),
    ("frequency_penalty", &[Number(0.0)]),
    ("function_call", &[Word("none"), Word("auto")]),
    ("functions", &[EmptyList]),
    ("logit_bias", &[EmptyObject]),
    ("logprobs", &[Bool(false)]),
    ("max_completion_tokens", &[]),
    ("max_tokens", &[]),
    ("modalities", &[TextList]),
    ("moderation", &[]),
    ("n", &[Number(1.0)]),
    ("parallel_tool_calls", &[Bool(true)]),
    ("prediction", &[]),
    ("presence_penalty", &[Number(0.0)]),
    ("prompt_cache_key", &[]),
    ("prompt_cache_options", &[]),
    ("prompt_cache_retention", &[]),
    ("reasoning_effort", &[]),
    ("response_format", &[TextType]),
    ("safety_identifier", &[]),
    ("seed", &[]),
    ("service_tier", &[Word("auto"), Word("default")]),
    ("stop", &[EmptyList]),
    ("store", &[Bool(false)]),
    ("temperature", &[Number(1.0)]),
    // Without tools, none is called.
    ("tool_choice", &[Word("none"), Word("auto")]),
    ("tools", &[EmptyList]),
    ("top_logprobs", &[Number(0.0)]),
    ("top_p", &[Number(1.0)]),
    ("verbosity", &[]),
    ("web_search_options", &[]),
];

impl NeutralValue {
    fn is_it(self, value: &Json) -> bool {
        match self {
            Number(number) => value.as_f64() == Some(number),
            Word(word) => value.as_str() == Some(word),
            Bool(truth) => value.as_bool() == Some(truth),
            EmptyList => matches!(value, Json::Array(items) if items.is_empty()),
            EmptyObject => matches!(value, Json::Object(members) if members.is_empty()),
            TextList => matches!(value.as_array().map(Vec::as_slice), Some([item]) if item == "text"),
            TextType => {
                matches!(value, Json::Object(members) if members.len() == 1 && value.get("type").is_some_and(|t| t == "text"))
            }
        }
    }

    /// As it is written in a message.
    fn shown_text(self) -> String {
        match self {
            Number(number) => number.to_string(),
            Word(word) => format!("\"{word}\""),
            Bool(truth) => truth.to_string(),
            EmptyList => "[]".to_owned(),
            EmptyObject => "{}".to_owned(),
            TextList => "[\"text\"]".to_owned(),
            TextType => "{\"type\": \"text\"}".to_owned(),
        }
    }
}

/// Refuses a parameter that would have to change something and cannot.
///
/// # Errors
///
/// 400 `unsupported_parameter`.
pub fn check_parameter(name: &str, value: &Json) -> Result<(), OpenAiError> {
    if MEANT.contains(&name) {
        return Ok(());
    }
    let accepted = match NEUTRAL.iter().find(|(known, _)| *known == name) {
        Some((_, accepted)) => *accepted,
        None => {
            let shown: String = name.chars().take(100).collect();
            let message = format!("there is no parameter `{shown}`");
            return Err(OpenAiError::of_part(shown, "unsupported_parameter", message));
        }
    };
    if value.is_null() || accepted.iter().any(|one| one.is_it(value)) {
        return Ok(());
    }
    let mut message = format!("`{name}` has no effect on a flow, which says itself what its models get; leave it out");
    if let Some(neutral) = accepted.first() {
        message.push_str(&format!(", or send {}", neutral.shown_text()));
    }
    Err(OpenAiError::of_part(name, "unsupported_parameter", message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn null_is_accepted_and_so_is_what_changes_nothing() {
        for (name, accepted) in NEUTRAL {
            assert!(check_parameter(name, &Json::Null).is_ok(), "{name}");
            assert!(check_parameter(name, &json!("something else")).is_err(), "{name}");
            assert!(check_parameter(name, &json!({ "x": 1 })).is_err(), "{name}");
            for value in accepted {
                let value: Json = serde_json::from_str(&value.shown_text()).unwrap();
                assert!(check_parameter(name, &value).is_ok(), "{name}: {value}");
            }
        }
        assert!(check_parameter("temperature", &json!(1)).is_ok());
        assert!(check_parameter("n", &json!(1.0)).is_ok());
        assert!(check_parameter("response_format", &json!({ "type": "text", "strict": true })).is_err());
        assert!(check_parameter("web_search_options", &json!({})).is_err());
    }

    #[test]
    fn the_page_for_users_names_each_parameter() {
        let page = include_str!("../../../../docs/api.md");
        for name in MEANT.into_iter().chain(NEUTRAL.map(|(name, _)| name)) {
            assert!(page.contains(&format!("`{name}`")), "`{name}` is not in docs/api.md");
        }
    }
}
