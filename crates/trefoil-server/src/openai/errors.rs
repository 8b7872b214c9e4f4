//! Problems in the form that OpenAI's clients know: `{"error": {"message", "type", "param", "code"}}`.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value as Json, json};
use trefoil_host::served_folder::ServedFolder;

use crate::problem::Problem;
use crate::request_log::{ResponseCode, ResponseRun};

/// What an OpenAI client gets instead of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenAiError {
    status: StatusCode,
    code: String,
    /// The part of the request that is wrong: `messages[0].content`.
    param: Option<String>,
    message: String,
    /// Seconds after which the same request may succeed.
    retry_after: Option<u64>,
    /// The run that the request has started.
    run: Option<String>,
}

impl OpenAiError {
    /// An error with this status and code.
    pub fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        Self { status, code: code.to_owned(), param: None, message: message.into(), retry_after: None, run: None }
    }

    /// A part of the request is wrong.
    pub fn of_part(param: impl Into<String>, code: &str, message: impl Into<String>) -> Self {
        Self { param: Some(param.into()), ..Self::new(StatusCode::BAD_REQUEST, code, message) }
    }

    /// The request has started a run, so sending it again would start another one.
    #[must_use]
    pub fn with_run(self, run: &str) -> Self {
        Self { run: Some(run.to_owned()), ..self }
    }

    /// The error as JSON, for a response or a stream.
    pub fn to_json(&self) -> Json {
        let sort = match self.status.as_u16() {
            403 => "permission_error",
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        json!({ "error": { "message": self.message, "type": sort, "param": self.param, "code": self.code } })
    }
}

impl IntoResponse for OpenAiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.to_json().to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(ResponseCode(self.code.clone()));
        if let Some(run) = &self.run {
            response = mark_started(response, run.clone());
        }
        // The folder is not known here.
        response.extensions_mut().insert(self);
        response
    }
}

/// Marks the response to a request that has started a run: clients must not send it again by themselves.
pub fn mark_started(mut response: Response, run: String) -> Response {
    response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
    response.extensions_mut().insert(ResponseRun(run));
    response
}

impl From<Problem> for OpenAiError {
    fn from(problem: Problem) -> Self {
        let status = problem.status_code();
        let (code, param) = match (status.as_u16(), &*problem.code) {
            (401, _) => ("invalid_api_key", None),
            (_, "FLOW_NOT_FOUND") => ("model_not_found", Some("model")),
            (_, "NOT_FOUND") => ("unknown_url", None),
            (_, "INPUT_INVALID") => ("INPUT_INVALID", Some("messages")),
            (_, code) => (code, None),
        };
        let mut message = problem.detail.clone();
        if problem.errors.len() > 1 {
            // There is no place for a list, so the message has all of them.
            let mut all = Vec::new();
            for error in &problem.errors {
                all.push(error.get("message").and_then(Json::as_str).unwrap_or_default());
            }
            message = all.join("; ");
        }
        // The advice about inputs is for the command line.
        if let Some(help) = &problem.help
            && param != Some("messages")
        {
            message = format!("{message} ({help})");
        }
        let param = param.map(str::to_owned);
        let code = code.to_owned();
        Self { status, code, param, message, retry_after: problem.retry_after, run: None }
    }
}

/// A response with a problem of our own form, in OpenAI's, and with paths as clients may see them.
pub fn shape_openai_error(mut response: Response, folder: &ServedFolder) -> Response {
    let of_handler = response.extensions_mut().remove::<OpenAiError>();
    let refused = response.extensions_mut().remove::<Problem>().map(OpenAiError::from);
    match of_handler.or(refused) {
        Some(mut error) => {
            error.message = folder.hide_folder(&error.message);
            error.into_response()
        }
        None => response,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_keeps_its_code_unless_clients_know_another_one() {
        let shaped = |problem: Problem| OpenAiError::from(problem).to_json()["error"].clone();
        let key = shaped(Problem::new(StatusCode::UNAUTHORIZED, "KEY_MISSING", "no key"));
        assert_eq!(
            (key["code"].as_str(), key["type"].as_str()),
            (Some("invalid_api_key"), Some("invalid_request_error"))
        );
        let flow = shaped(Problem::not_found("FLOW_NOT_FOUND", "there is no flow `x`").with_help("the flows are `a`"));
        assert_eq!((flow["code"].as_str(), flow["param"].as_str()), (Some("model_not_found"), Some("model")));
        assert_eq!(flow["message"], "there is no flow `x` (the flows are `a`)");
        let store = shaped(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "STORE_UNAVAILABLE", "no store"));
        assert_eq!((store["code"].as_str(), store["type"].as_str()), (Some("STORE_UNAVAILABLE"), Some("server_error")));
        assert_eq!(store["param"], Json::Null);
    }

    #[test]
    fn only_what_has_started_nothing_may_be_sent_again() {
        let error = OpenAiError::new(StatusCode::CONFLICT, "waiting_for_person", "it waits");
        assert!(error.clone().into_response().headers().get("x-should-retry").is_none());
        assert_eq!(error.with_run("r1").into_response().headers()["x-should-retry"], "false");
    }
}
