//! Problems: what a client gets instead of a result, as RFC 9457 has it, with the code and the place in the manifest.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::Value as Json;
use trefoil_host::AnswerRefusal;
use trefoil_host::served_folder::ServedFolder;
use trefoil_machine::event::QuestionClosure;
use trefoil_project::input::INPUT_INVALID;
use trefoil_project::{Error, FoundErrors};
use trefoil_store::StoreError;
use trefoil_syntax::FindingSeverity;
use trefoil_template::read_json_bytes;
use utoipa::ToSchema;

use crate::api::Finding;
use crate::request_log::ResponseCode;

/// The result of a handler.
pub type ApiResult<T> = Result<T, Problem>;

/// Why a request failed (RFC 9457).
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Problem {
    /// `urn:trefoil:problem:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The stable code.
    pub code: String,
    /// What happened, in one sentence.
    pub detail: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Everything that is wrong, each with its place in the manifest: as `trefoil check --format json` has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Finding>)]
    pub errors: Vec<Json>,
    /// Seconds after which the same request may succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// The file as it is now, which is not the one that the client knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<Box<CurrentFile>>,
}

/// A file as it is now.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CurrentFile {
    /// Its version.
    pub version: String,
    /// Its text; absent: it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Problem {
    /// A problem with this status and code.
    pub fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:trefoil:problem:{code}"),
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            code: code.to_owned(),
            detail: detail.into(),
            help: None,
            errors: Vec::new(),
            retry_after: None,
            current: None,
        }
    }
    /// The request itself is wrong.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BAD_REQUEST", detail)
    }
    /// Something that is named does not exist.
    pub fn not_found(code: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, detail)
    }
    /// The request does not fit how things stand.
    pub fn new_conflict(code: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, detail)
    }
    /// Why a stream of events ends before its run.
    pub fn of_stream(error: &Error) -> Self {
        match error {
            Error::NotStarted(found) if found.is_of_store() => store_unavailable(),
            Error::Store(error) if error.is_temporary() || error.is_of_the_store() => store_unavailable(),
            other => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "STREAM_FAILED", other.to_string()),
        }
    }
    /// The run does not exist, or is not for this caller: both look the same.
    pub fn unknown_run(run: &str) -> Self {
        Self::not_found("RUN_NOT_FOUND", format!("there is no run `{run}`"))
    }
    /// With paths as clients of the server may see them.
    pub fn hide_folder(&mut self, folder: &ServedFolder) {
        self.detail = folder.hide_folder(&self.detail);
        self.help = self.help.as_deref().map(|help| folder.hide_folder(help));
        self.errors.iter_mut().for_each(|error| hide_folder(error, folder));
    }
    /// With what to do.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
    /// With the file as it is now.
    #[must_use]
    pub fn with_current(mut self, current: Option<CurrentFile>) -> Self {
        self.current = current.map(Box::new);
        self
    }
    /// With the seconds after which the same request may succeed.
    #[must_use]
    pub fn with_retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }
    /// The HTTP status.
    pub fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
    /// With its headers, and this body instead of its own.
    pub fn into_response_with(self, body: &Json, content_type: &'static str) -> Response {
        let status = self.status_code();
        let mut response = (status, body.to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(ResponseCode(self.code.clone()));
        // For interfaces that have another form for problems.
        response.extensions_mut().insert(self);
        response
    }

    /// With findings about manifests, an input, or what a run lacks.
    fn with_findings(mut self, found: &FoundErrors) -> Self {
        self.errors = findings_json(found);
        // A warning comes first if it is further up in the file, and is not why.
        let all = found.found_diagnostics();
        let first = all.iter().find(|one| one.severity == FindingSeverity::Error).or(all.first());
        if let Some(first) = first {
            self.help.clone_from(&first.help);
            self.detail = match found.found_diagnostics().len() {
                1 => first.message.clone(),
                n => format!("{}, and {} more", first.message, n - 1),
            };
        }
        self
    }
}

/// The most bytes of a refusal of the framework.
const REFUSAL: usize = 4_096;

/// A refusal of the framework, which is text, as a problem.
pub async fn shape_problem(response: Response) -> Response {
    let status = response.status();
    let is_text = match response.headers().get(header::CONTENT_TYPE) {
        Some(named) => named.as_bytes().starts_with(b"text/plain"),
        None => true,
    };
    if !(status.is_client_error() || status.is_server_error()) || !is_text {
        return response;
    }
    let text = axum::body::to_bytes(response.into_body(), REFUSAL).await.unwrap_or_default();
    let code = match status {
        StatusCode::NOT_FOUND => "NOT_FOUND",
        StatusCode::METHOD_NOT_ALLOWED => "METHOD_NOT_ALLOWED",
        StatusCode::NOT_ACCEPTABLE => "NOT_ACCEPTABLE",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "UNSUPPORTED_MEDIA_TYPE",
        _ if status.is_client_error() => "BAD_REQUEST",
        _ => "INTERNAL",
    };
    Problem::new(status, code, String::from_utf8_lossy(&text)).into_response()
}

/// Takes the folder away from all paths in JSON.
pub fn hide_folder(json: &mut Json, folder: &ServedFolder) {
    match json {
        Json::String(text) => *text = folder.hide_folder(text),
        Json::Array(items) => items.iter_mut().for_each(|item| hide_folder(item, folder)),
        Json::Object(members) => members.values_mut().for_each(|member| hide_folder(member, folder)),
        _ => {}
    }
}

/// Findings as `trefoil check --format json` has them.
pub fn findings_json(found: &FoundErrors) -> Vec<Json> {
    let mut report: Json = read_json_bytes(found.to_json().as_bytes()).unwrap_or_default();
    match report.get_mut("diagnostics").map(Json::take) {
        Some(Json::Array(all)) => all,
        _ => Vec::new(),
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_value(&self).unwrap_or_default();
        self.into_response_with(&body, "application/problem+json")
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Load(found) => {
                let problem = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "MANIFEST_INVALID", "the flow does not load");
                problem.with_findings(&found)
            }
            Error::NotStarted(found) if found.is_of_store() => store_unavailable(),
            Error::NotStarted(found) => {
                let is_input = found.found_diagnostics().iter().any(|d| d.rule == INPUT_INVALID);
                let problem = if is_input {
                    Self::new(StatusCode::BAD_REQUEST, "INPUT_INVALID", "the flow does not accept the input")
                } else {
                    Self::new(StatusCode::UNPROCESSABLE_ENTITY, "CANNOT_RUN", "the run cannot start")
                };
                problem.with_findings(&found)
            }
            Error::Failed(failure) if failure.error_code() == "JOURNAL_ERROR" => store_unavailable(),
            Error::Failed(failure) => {
                let code = failure.error_code().to_owned();
                Self::new(StatusCode::SERVICE_UNAVAILABLE, &code, failure.error_message()).with_retry_after(1)
            }
            Error::Store(error) => error.into(),
            Error::Input(_) | Error::Output { .. } => Self::bad_request(error.to_string()),
            other => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", other.to_string()),
        }
    }
}

/// What the store says of itself (its path, its server) is not for clients.
fn store_unavailable() -> Problem {
    let detail = "the store of the runs cannot be used at the moment; nothing of the request was acknowledged";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "STORE_UNAVAILABLE", detail).with_retry_after(2)
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let detail = error.to_string();
        let problem = match &error {
            StoreError::NoRun { .. } => Self::not_found("RUN_NOT_FOUND", detail),
            StoreError::Ended { .. } => Self::new_conflict("RUN_ENDED", detail),
            StoreError::Held { .. } => Self::new_conflict("RUN_HELD", detail).with_retry_after(1),
            StoreError::NoContent { .. } => Self::new(StatusCode::GONE, "CONTENT_REMOVED", detail),
            StoreError::Answered { .. } => Self::new_conflict("ALREADY_ANSWERED", detail),
            StoreError::Cursor { .. } => Self::bad_request(detail),
            _ if error.is_temporary() || error.is_of_the_store() => {
                return store_unavailable();
            }
            _ => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", detail),
        };
        match error.help_text() {
            Some(help) => problem.with_help(help),
            None => problem,
        }
    }
}

impl From<AnswerRefusal> for Problem {
    fn from(refusal: AnswerRefusal) -> Self {
        let detail = refusal.to_string();
        match refusal {
            AnswerRefusal::NotAccepted(words) => {
                let problem = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "ANSWER_NOT_ACCEPTED", detail);
                match words.is_empty() {
                    true => problem,
                    false => problem.with_help(format!("answer with one of `{}`", words.join("`, `"))),
                }
            }
            AnswerRefusal::ResultWithoutDone => Self::bad_request(detail),
            AnswerRefusal::Settled(Some(QuestionClosure::Late)) => Self::new_conflict("ANSWER_LATE", detail),
            AnswerRefusal::Settled(_) => Self::new_conflict("ALREADY_ANSWERED", detail),
            AnswerRefusal::RunStopped => Self::new_conflict("NOT_ASKED", detail),
            AnswerRefusal::RunEnded => Self::new_conflict("RUN_ENDED", detail),
            AnswerRefusal::Unreadable(why) => Error::from(why).into(),
        }
    }
}
