//! Reads a provider's errors: as the body of an error response, as the body of a success response, or within a stream.
//!
//! Gateways pass on errors of many providers in any protocol, so all protocols share one table of codes. An error in a
//! success response without a known code counts as a failure of the server, which is worth a retry: errors that the request
//! caused usually have a code.

use reqwest::StatusCode;
use serde_json::Value as Json;
use trefoil_runtime::{ModelError, ModelErrorKind};
use trefoil_template::read_json;

use super::evidence::find_error;
use super::members::{list_member, text_member};
use super::{ProviderEndpoint, advice};

/// Maximum length of a server's message in an error.
const LONGEST_MESSAGE: usize = 300;
/// Longer waits that a server requests are cut to one day, which is more than any call may wait.
pub(super) const LONGEST_WAIT_MS: f64 = 86_400_000.0;
/// What an error in a success response without a known code counts as.
const UNKNOWN_CODE: ModelErrorKind = ModelErrorKind::Status(503);

/// Members of an error that may have its code, in the order of precedence.
const CODE_MEMBERS: &[&str] = &["code", "status", "status_code", "statusCode", "error_code", "type", "__type"];

/// In the table of codes, in place of a status: the account has no credit.
const NO_CREDIT: u16 = 0;

/// Parts of codes, in snake case, and the HTTP statuses that they mean. The first match counts.
///
/// OpenAI (<https://platform.openai.com/docs/guides/error-codes>), Anthropic (<https://docs.anthropic.com/en/api/errors>),
/// Google's canonical codes (<https://cloud.google.com/apis/design/errors>), Amazon's exceptions, and those of gateways.
const CODE_STATUSES: &[(&str, u16)] = &[
    ("insufficient_quota", NO_CREDIT),
    ("insufficient_balance", NO_CREDIT),
    ("insufficient_credit", NO_CREDIT),
    ("insufficient_funds", NO_CREDIT),
    ("exceeded_current_quota", NO_CREDIT),
    ("credit_balance", NO_CREDIT),
    ("billing", NO_CREDIT),
    ("payment_required", 402),
    ("vector_store_timeout", 500),
    ("overloaded_error", 529),
    ("overloaded", 503),
    ("over_capacity", 503),
    ("no_capacity", 503),
    ("unavailable", 503),
    ("not_ready", 503),
    ("bad_gateway", 502),
    ("upstream", 502),
    ("cancelled", 503),
    ("aborted", 503),
    ("timeout", 504),
    ("timed_out", 504),
    ("deadline_exceeded", 504),
    ("rate_limit", 429),
    ("too_many_requests", 429),
    ("resource_exhausted", 429),
    ("throttl", 429),
    ("quota", 429),
    ("api_key", 401),
    ("authentication", 401),
    ("unauthenticated", 401),
    ("unauthorized", 401),
    ("permission", 403),
    ("forbidden", 403),
    ("access_denied", 403),
    ("unsupported_country", 403),
    ("not_found", 404),
    ("request_too_large", 413),
    ("payload_too_large", 413),
    ("context_length", 400),
    ("bad_request", 400),
    ("failed_precondition", 400),
    ("out_of_range", 400),
    ("unprocessable", 400),
    ("validation", 400),
    ("invalid", 400),
    ("unsupported", 400),
    ("unknown_parameter", 400),
    ("missing_required", 400),
    ("max_length", 400),
    ("content_filter", 400),
    ("content_policy", 400),
    ("image", 400),
    ("not_implemented", 501),
    ("unimplemented", 501),
    ("server_error", 500),
    ("internal", 500),
    ("api_error", 500),
    ("data_loss", 500),
    ("unknown", 500),
];

/// The error of a response with an error status.
pub(super) fn error_of_status(endpoint: &ProviderEndpoint, status: StatusCode, body: &str) -> ModelError {
    let status_kind = ModelErrorKind::Status(status.as_u16());
    let json: Option<Json> = read_json(body).ok();
    let error = json.as_ref().map(|json| json.get("error").unwrap_or(json));
    let body_kind = match error {
        Some(error) if status.is_client_error() => more_precise_kind(error),
        _ => None,
    };
    let right_status = match body_kind {
        Some(ModelErrorKind::Status(other)) if other != status.as_u16() => format!(" instead of {other}"),
        _ => String::new(),
    };
    let reason = match response_message(&endpoint.mask_credential(body)) {
        Some(message) => message,
        None => status.canonical_reason().unwrap_or_default().to_owned(),
    };
    let message = format!("answered with {}{right_status}: {reason}", status.as_u16());
    let retry_after_ms = match error {
        Some(error) => retry_delay(error),
        None => None,
    };
    let help = advice::find_advice(endpoint.provider, status_kind, body);
    ModelError { retry_after_ms, help, ..endpoint.provider_error(body_kind.unwrap_or(status_kind), &message) }
}

/// What the body of an error says that is more precise than its status: that the key is invalid, or that the account has no credit.
/// Other codes only repeat the status.
fn more_precise_kind(error: &Json) -> Option<ModelErrorKind> {
    if let Some(kind) = detail_meaning(error) {
        return Some(kind);
    }
    match code_meaning(error) {
        Some(ModelErrorKind::Credit) => Some(ModelErrorKind::Credit),
        _ => None,
    }
}

/// Fails if a success response, or an event of a stream, is an error. `event`: the name of the event, or empty.
pub(super) fn check_for_error(endpoint: &ProviderEndpoint, event: &str, json: &Json) -> Result<(), ModelError> {
    match find_error(event, json) {
        Some(error) => Err(error_of_json(endpoint, error)),
        None => Ok(()),
    }
}

/// The error that this JSON describes, from a success response or a stream.
pub(super) fn error_of_json(endpoint: &ProviderEndpoint, error: &Json) -> ModelError {
    let kind = detail_meaning(error).or_else(|| code_meaning(error)).unwrap_or(UNKNOWN_CODE);
    let body = error.to_string();
    let message = response_message(&endpoint.mask_credential(&body)).unwrap_or_default();
    // The advice about missing credit is that for status 429, with which providers report it.
    let advice_kind = match kind {
        ModelErrorKind::Credit => ModelErrorKind::Status(429),
        kind => kind,
    };
    let help = advice::find_advice(endpoint.provider, advice_kind, &body);
    let error_without_help = endpoint.provider_error(kind, &format!("answered with an error: {message}"));
    ModelError { retry_after_ms: retry_delay(error), help, ..error_without_help }
}

/// The meaning of an error's code. A number counts before a word, wherever it is: it is more precise.
fn code_meaning(error: &Json) -> Option<ModelErrorKind> {
    let mut codes: Vec<&Json> = CODE_MEMBERS.iter().filter_map(|name| error.get(*name)).collect();
    if error.is_string() {
        codes.push(error);
    }
    for code in &codes {
        if let Some(status) = status_number(code) {
            return Some(ModelErrorKind::Status(status));
        }
    }
    for code in codes {
        if let Json::String(word) = code
            && let Some(kind) = word_meaning(word)
        {
            return Some(kind);
        }
    }
    None
}

/// The error status in a code: `429` as a number or as text, or `429 Too Many Requests`. Other numbers are codes of the provider.
fn status_number(code: &Json) -> Option<u16> {
    let number = match code {
        Json::String(text) => {
            let text = text.trim();
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            let (digits, rest) = text.split_at(end);
            if rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.') {
                return None;
            }
            digits.parse().ok()?
        }
        other => {
            let number = other.as_f64()?;
            if number.fract() != 0.0 || !(0.0..1000.0).contains(&number) {
                return None;
            }
            number as u16
        }
    };
    if (400..600).contains(&number) { Some(number) } else { None }
}

/// What a code that is a word means, in any spelling: `rate_limit`, `RateLimit`, `rate-limit`. Sentences are not codes.
fn word_meaning(word: &str) -> Option<ModelErrorKind> {
    if word.len() > 80 || word.trim().contains(char::is_whitespace) {
        return None;
    }
    let mut snake = String::new();
    let mut was_lower = false;
    for c in word.trim().chars() {
        if was_lower && c.is_uppercase() {
            snake.push('_');
        }
        was_lower = c.is_lowercase();
        snake.push(if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
    }
    let (_, status) = CODE_STATUSES.iter().find(|(part, _)| snake.contains(part))?;
    Some(if *status == NO_CREDIT { ModelErrorKind::Credit } else { ModelErrorKind::Status(*status) })
}

/// Google reports an invalid key as an invalid request, and says in the details what it is.
fn detail_meaning(error: &Json) -> Option<ModelErrorKind> {
    for detail in list_member(error, "details") {
        if text_member(detail, "reason") == Some("API_KEY_INVALID") {
            return Some(ModelErrorKind::Status(401));
        }
    }
    None
}

/// The message of an error response, in one line.
fn response_message(body: &str) -> Option<String> {
    let json = read_json::<Json>(body);
    let text = match &json {
        Ok(json) => find_message(json).unwrap_or(body),
        // HTML pages have no useful message.
        Err(_) if body.trim_start().starts_with('<') => return None,
        Err(_) => body,
    };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        return None;
    }
    Some(match line.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or(&line)),
        None => line,
    })
}

/// Whether this JSON has an error message, wherever the server puts it.
pub(super) fn has_message(json: &Json) -> bool {
    find_message(json).is_some()
}

/// Where servers of all protocols put the message of an error, as JSON pointers. The first one that is a text counts.
const MESSAGE_POINTERS: &[&str] = &[
    "/error/message",
    "/error",
    "/message",
    "/msg",
    "/detail",
    "/detail/0/msg",
    "/detail/message",
    "/error_message",
    "/error_msg",
    "/errmsg",
    "/errors/0/message",
    "/errors/0",
    "/errors",
    "/base_resp/status_msg",
    "/0/error/message",
    "",
];

fn find_message(json: &Json) -> Option<&str> {
    for pointer in MESSAGE_POINTERS {
        if let Some(Json::String(text)) = json.pointer(pointer)
            && !text.is_empty()
        {
            return Some(text);
        }
    }
    None
}

/// The wait in milliseconds that an error requests, where Google puts it: `{"details": [{"retryDelay": "34s"}]}`.
fn retry_delay(error: &Json) -> Option<u64> {
    let details = list_member(error, "details");
    let seconds = details.iter().find_map(|detail| text_member(detail, "retryDelay")?.strip_suffix('s'))?;
    let ms = seconds.parse::<f64>().ok()? * 1000.0;
    if ms >= 0.0 { Some(ms.min(LONGEST_WAIT_MS).ceil() as u64) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ModelErrorKind::{Credit, Status};
    use serde_json::json;

    #[test]
    fn each_code_means_its_status_in_every_spelling() {
        let table = [
            (json!({"code": 429}), Status(429)),
            (json!({"code": "429"}), Status(429)),
            (json!({"code": 429.0}), Status(429)),
            (json!({"status": "503 Service Unavailable"}), Status(503)),
            (json!({"status_code": 502, "type": "invalid_request_error"}), Status(502)),
            (json!({"statusCode": 400, "code": "server_error"}), Status(400)),
            (json!("429 Too Many Requests"), Status(429)),
            (json!("503"), Status(503)),
            (json!("overloaded_error"), Status(529)),
            // OpenAI.
            (json!({"code": "rate_limit_exceeded", "type": "tokens"}), Status(429)),
            (json!({"code": "insufficient_quota", "type": "insufficient_quota"}), Credit),
            (json!({"code": "billing_hard_limit_reached"}), Credit),
            (json!({"code": null, "type": "server_error"}), Status(500)),
            (json!({"code": "invalid_api_key", "type": "invalid_request_error"}), Status(401)),
            (json!({"code": "model_not_found"}), Status(404)),
            (json!({"code": "context_length_exceeded"}), Status(400)),
            (json!({"code": "unknown_parameter"}), Status(400)),
            (json!({"code": "unsupported_country_region_territory"}), Status(403)),
            (json!({"code": "vector_store_timeout"}), Status(500)),
            (json!({"code": "invalid_prompt"}), Status(400)),
            (json!({"code": "image_too_small"}), Status(400)),
            (json!({"code": "empty_image_file"}), Status(400)),
            (json!({"code": "content_filter"}), Status(400)),
            // Anthropic.
            (json!({"type": "invalid_request_error"}), Status(400)),
            (json!({"type": "authentication_error"}), Status(401)),
            (json!({"type": "billing_error"}), Credit),
            (json!({"type": "permission_error"}), Status(403)),
            (json!({"type": "not_found_error"}), Status(404)),
            (json!({"type": "request_too_large"}), Status(413)),
            (json!({"type": "rate_limit_error"}), Status(429)),
            (json!({"type": "api_error"}), Status(500)),
            (json!({"type": "timeout_error"}), Status(504)),
            (json!({"type": "overloaded_error"}), Status(529)),
            // Google.
            (json!({"status": "INVALID_ARGUMENT"}), Status(400)),
            (json!({"status": "FAILED_PRECONDITION"}), Status(400)),
            (json!({"status": "UNAUTHENTICATED"}), Status(401)),
            (json!({"status": "PERMISSION_DENIED"}), Status(403)),
            (json!({"status": "NOT_FOUND"}), Status(404)),
            (json!({"status": "RESOURCE_EXHAUSTED"}), Status(429)),
            (json!({"status": "INTERNAL"}), Status(500)),
            (json!({"status": "UNAVAILABLE"}), Status(503)),
            (json!({"status": "DEADLINE_EXCEEDED"}), Status(504)),
            (json!({"code": 400, "details": [{"reason": "API_KEY_INVALID"}]}), Status(401)),
            // Others, and gateways.
            (json!({"__type": "ThrottlingException"}), Status(429)),
            (json!({"type": "ServiceUnavailableException"}), Status(503)),
            (json!({"code": "ModelTimeoutException"}), Status(504)),
            (json!({"type": "ValidationException"}), Status(400)),
            (json!({"type": "InternalServerException"}), Status(500)),
            (json!({"type": "BadRequestError"}), Status(400)),
            (json!({"type": "exceeded_current_quota_error"}), Credit),
            (json!({"type": "engine_overloaded_error"}), Status(529)),
            (json!({"code": "server-overloaded"}), Status(503)),
            (json!({"error_code": "TOO_MANY_REQUESTS"}), Status(429)),
            (json!({"code": "upstream_error"}), Status(502)),
            // No known code.
            (json!({"code": 7}), UNKNOWN_CODE),
            (json!({"code": "1302"}), UNKNOWN_CODE),
            (json!({"code": "3.5"}), UNKNOWN_CODE),
            (json!({"code": "429x"}), UNKNOWN_CODE),
            (json!({"code": "E_FOO"}), UNKNOWN_CODE),
            (json!({"message": "the rate_limit was reached"}), UNKNOWN_CODE),
            (json!("upstream connect error or invalid header"), UNKNOWN_CODE),
            (json!(true), UNKNOWN_CODE),
        ];
        for (error, kind) in table {
            assert_eq!(
                detail_meaning(&error).or_else(|| code_meaning(&error)).unwrap_or(UNKNOWN_CODE),
                kind,
                "{error}"
            );
        }
    }

    #[test]
    fn the_message_is_found_in_every_shape() {
        assert_eq!(response_message(r#"{"error":{"message":"slow\ndown"}}"#).as_deref(), Some("slow down"));
        assert_eq!(response_message(r#"{"error":"model not found"}"#).as_deref(), Some("model not found"));
        assert_eq!(response_message(r#"{"detail":"no"}"#).as_deref(), Some("no"));
        for body in [
            r#"{"code":500,"msg":"no"}"#,
            r#"{"error_code":336100,"error_msg":"no"}"#,
            r#"{"base_resp":{"status_code":1013,"status_msg":"no"}}"#,
            r#"{"success":false,"errors":[{"code":7000,"message":"no"}]}"#,
            r#"{"errors":["no"]}"#,
            r#"{"detail":[{"msg":"no"}]}"#,
        ] {
            assert_eq!(response_message(body).as_deref(), Some("no"), "{body}");
        }
        assert_eq!(response_message(r#""no""#).as_deref(), Some("no"));
        assert_eq!(response_message("upstream is gone").as_deref(), Some("upstream is gone"));
        assert_eq!(response_message("<html>502</html>"), None);
        assert_eq!(response_message(""), None);
        assert_eq!(response_message(&"x".repeat(1000)).unwrap().chars().count(), LONGEST_MESSAGE + 1);
    }

    #[test]
    fn google_says_in_the_body_how_long_to_wait() {
        let info = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"});
        assert_eq!(retry_delay(&json!({"code": 429, "details": [{"@type": "other"}, info]})), Some(34_500));
        for other in [json!({"details": [{"retryDelay": "-1s"}]}), json!("no"), json!({})] {
            assert_eq!(retry_delay(&other), None);
        }
    }
}
