//! Converts a response to a value.

use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use trefoil_runtime::ToolError;
use trefoil_template::{Value, json_nodes, limits, read_json_bytes};

use crate::guard::HttpAnswer;

/// Maximum length of an error response that is quoted.
const LONGEST_MESSAGE: usize = 300;

/// The body: JSON if its type says so and it is valid, otherwise text. A status that is not a success is a failure.
pub fn response_value(answer: HttpAnswer) -> Result<Value, ToolError> {
    let status = answer.status;
    let text = String::from_utf8_lossy(&answer.body);
    if !status.is_success() {
        let mut said = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((end, _)) = said.char_indices().nth(LONGEST_MESSAGE) {
            said.truncate(end);
            said.push('…');
        }
        let message = match (said.as_str(), status.canonical_reason()) {
            ("", None) => format!("answered with {}", status.as_u16()),
            ("", Some(reason)) => format!("answered with {}: {reason}", status.as_u16()),
            (said, _) => format!("answered with {}: {said}", status.as_u16()),
        };
        if answer.is_of_get_after {
            return Err(ToolError::Unusable(format!("it redirects, and that address {message}")));
        }
        let retry_after_ms = retry_after(&answer.headers);
        return Err(ToolError::Status { status: status.as_u16(), message, retry_after_ms });
    }
    let kind = answer.headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if !is_json(kind) {
        return Ok(Value::from(text.into_owned()));
    }
    if answer.body.len() > limits::ANSWER_NODES && json_nodes(&answer.body) > limits::ANSWER_NODES {
        return Err(ToolError::unusable_result(
            format!("the answer has more than {} values", limits::ANSWER_NODES),
            "ask for less, for example with a filter or a page size",
        ));
    }
    Ok(read_json_bytes(&answer.body).map_or_else(|_| Value::from(text.into_owned()), Value::from_json))
}

/// Parses `retry-after`: seconds, or a date (RFC 9110, 10.2.3).
fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(u64::from(seconds) * 1000);
    }
    let until = httpdate::parse_http_date(text).ok()?;
    let wait = until.duration_since(std::time::SystemTime::now()).unwrap_or_default();
    u64::try_from(wait.as_millis()).ok()
}

/// `application/json`, `text/json` and `application/...+json`, with any parameters.
fn is_json(kind: &str) -> bool {
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(essence.as_str(), "application/json" | "text/json") || essence.ends_with("+json")
}
