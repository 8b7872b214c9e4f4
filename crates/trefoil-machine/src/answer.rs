//! How a model's answer is interpreted.

use serde::de::IgnoredAny;
use serde_json::error::Category;
use trefoil_ir::AnswerFormat;
use trefoil_template::Value;

use crate::error::RunError;
use crate::schemas::Schemas;
use crate::text::{fenced, strip_fence};

/// The maximum number of places in a prose answer where JSON is searched. Each attempt may read the whole text.
const MAX_LOOKS: usize = 32;
/// The maximum length in bytes of a prose answer that is searched.
const MAX_PROSE: usize = 1 << 20;

/// Reads an answer. The failure is `STRUCTURED_OUTPUT_INVALID`.
pub fn read(format: &AnswerFormat, answer: &Value, schemas: &Schemas) -> Result<Value, RunError> {
    let Some(text) = answer.as_str() else { return Ok(answer.clone()) };
    match format {
        AnswerFormat::Text => Ok(answer.clone()),
        AnswerFormat::JsonOrText => Ok(structure(text).unwrap_or_else(|| answer.clone())),
        AnswerFormat::Json(schema) => {
            let fits = |value: &Value| schemas.check(*schema, value);
            let inner = fenced(text).unwrap_or_else(|| text.trim());
            let why = match Value::parse(inner) {
                Ok(value) => match fits(&value) {
                    Ok(()) => return Ok(value),
                    Err(why) => misfit(&why),
                },
                Err(e) => match within(inner).as_slice() {
                    [one] => match fits(one) {
                        Ok(()) => return Ok(one.clone()),
                        Err(why) => format!("the JSON in the answer does not match the schema: {why}"),
                    },
                    [] => not_json(inner, &e),
                    several => {
                        let mut fit = several.iter().filter(|value| fits(value).is_ok());
                        match (fit.next(), fit.next()) {
                            (Some(one), None) => return Ok(one.clone()),
                            (None, _) => {
                                "the answer has several pieces of JSON, and none matches the schema".to_owned()
                            }
                            _ => "the answer has several pieces of JSON that match the schema".to_owned(),
                        }
                    }
                },
            };
            Err(RunError::new("STRUCTURED_OUTPUT_INVALID", why))
        }
    }
}

/// The error message for an answer that does not match its schema.
pub fn misfit(why: &str) -> String {
    format!("the answer does not match the schema: {why}")
}

/// The error message for an answer that is not JSON.
pub fn not_json(text: &str, error: &serde_json::Error) -> String {
    let begins = strip_fence(text).starts_with(['{', '[', '"']);
    match error.classify() {
        _ if text.trim().is_empty() => "the answer is empty".to_owned(),
        // The syntax is valid, but the data is not.
        Category::Data => format!("the answer is not readable JSON: {error}"),
        Category::Eof if begins => "the JSON in the answer is incomplete".to_owned(),
        Category::Syntax if begins => {
            format!("the answer is not valid JSON: line {}, column {}", error.line(), error.column())
        }
        _ => "the answer is text, not JSON".to_owned(),
    }
}

/// The JSON object or list in a text, without a surrounding code fence.
pub fn structure(text: &str) -> Option<Value> {
    let inner = strip_fence(text);
    if !inner.starts_with(['{', '[']) {
        return None;
    }
    Value::parse(inner).ok()
}

/// The JSON objects and lists in a prose text, except nested ones.
fn within(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut rest = if text.len() <= MAX_PROSE { text } else { "" };
    for _ in 0..MAX_LOOKS {
        let Some(at) = rest.find(['{', '[']) else { break };
        let from = rest.get(at..).unwrap_or_default();
        let mut values = serde_json::Deserializer::from_str(from).into_iter::<IgnoredAny>();
        let end = values.next().and_then(Result::ok).map(|_| values.byte_offset());
        let value = end.and_then(|end| Value::parse(from.get(..end)?).ok());
        rest = from.get(end.filter(|_| value.is_some()).unwrap_or(1)..).unwrap_or_default();
        found.extend(value);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_in_prose_is_found_and_braces_that_are_none_are_passed_over() {
        let found = |text: &str| within(text).iter().map(|value| value.to_json().to_string()).collect::<Vec<_>>();
        assert_eq!(found("Sure! {\"a\": [1]} is it."), ["{\"a\":[1]}"]);
        assert_eq!(found("{x} and {\"a\": 1}, see [1]"), ["{\"a\":1}", "[1]"]);
        assert_eq!(found("a { b [ c"), Vec::<String>::new());
        assert_eq!(found(&"[".repeat(100_000)), Vec::<String>::new());
    }
}
