//! Failures in the form of agntz: `{error, code, details?, location?, runId?}`, where `error` is a text. Places are relative to the
//! folder that is served.

use std::path::Path;

use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde_json::{Map, Value as Json, json};
use trefoil_host::AnswerRefusal;
use trefoil_host::served_folder::ServedFolder;
use trefoil_project::Error;
use trefoil_runtime::RunError;
use trefoil_store::StoreError;
use trefoil_syntax::SourceFiles;

use crate::problem::{Problem, hide_folder};
use crate::state::AppState;

/// The result of a handler.
pub type AgntzResult<T> = Result<T, AgntzFailure>;

/// Why a request failed. [`shape_agntz_error`] makes its body.
#[derive(Debug, Clone)]
pub struct AgntzFailure(Box<FailureParts>);

#[derive(Debug, Clone)]
struct FailureParts {
    problem: Problem,
    /// Members beside `error` and `code`.
    more: Map<String, Json>,
}

impl AgntzFailure {
    /// A failure with this status and code.
    pub fn new(status: StatusCode, code: &str, error: impl Into<String>) -> Self {
        Problem::new(status, code, error).into()
    }

    /// With another member of the body.
    #[must_use]
    pub fn with_member(mut self, name: &str, value: impl Into<Json>) -> Self {
        self.0.more.insert(name.to_owned(), value.into());
        self
    }

    /// With the run that it is about.
    #[must_use]
    pub fn with_run(self, run: &str) -> Self {
        self.with_member("runId", run)
    }

    /// A run that has failed: the client's mistake, or that of a model, or ours.
    pub fn of_run(run: &str, error: &RunError, files: &SourceFiles) -> Self {
        let (status, code) = classify_failure(&error.code);
        let text = if error.code == CANCELLED { "Run cancelled".to_owned() } else { error.message.clone() };
        let mut failure = Self::new(status, code, text).with_run(run);
        if let Some(location) = error.location
            && let Some(file) = files.get(location.file)
        {
            let at = file.line_column(location.span.start);
            failure =
                failure.with_member("location", json!({ "file": file.name(), "line": at.line, "column": at.column }));
        }
        match &error.help {
            Some(help) => failure.with_member("help", help.as_str()),
            None => failure,
        }
    }

    /// The HTTP status.
    pub fn status_code(&self) -> StatusCode {
        self.0.problem.status_code()
    }

    /// The text and the code, for a stream that has begun.
    pub fn to_frame(&self, folder: &Path) -> Json {
        let mut body = self.body(folder);
        if let Some(members) = body.as_object_mut() {
            members.remove("details");
        }
        body
    }

    /// The body, with places inside this folder.
    fn body(&self, folder: &Path) -> Json {
        let FailureParts { problem, more } = &*self.0;
        let mut body = more.clone();
        if !problem.errors.is_empty() {
            let first = problem.errors.iter().find(|finding| finding.get("line").is_some_and(Json::is_number));
            if let Some(first) = first {
                let at = |name: &str| first.get(name).cloned().unwrap_or_default();
                let location = json!({ "file": at("file"), "line": at("line"), "column": at("column") });
                body.entry("location").or_insert(location);
            }
            body.entry("details").or_insert_with(|| Json::Array(problem.errors.clone()));
        }
        if let Some(help) = &problem.help {
            body.entry("help").or_insert_with(|| Json::String(help.clone()));
        }
        body.insert("error".to_owned(), Json::String(problem.detail.clone()));
        body.insert("code".to_owned(), Json::String(problem.code.clone()));
        let mut body = Json::Object(body);
        hide_folder(&mut body, &ServedFolder::from_path(folder));
        body
    }

    fn into_body_response(self, folder: &Path) -> Response {
        let body = self.body(folder);
        self.0.problem.into_response_with(&body, "application/json")
    }
}

/// The code of a run that was cancelled.
const CANCELLED: &str = "CANCELLED";

/// The status of a run that has failed, and the code that clients of agntz know.
fn classify_failure(code: &str) -> (StatusCode, &str) {
    match code {
        CANCELLED => (StatusCode::CONFLICT, "INVOCATION_CANCELLED"),
        "INPUT_INVALID" => (StatusCode::BAD_REQUEST, code),
        "MODEL_ERROR" | "TOOL_ERROR" | "COMMAND_FAILED" | "STRUCTURED_OUTPUT_INVALID" => {
            (StatusCode::BAD_GATEWAY, code)
        }
        "TIMEOUT" | "TOOL_TIMEOUT" | "HUMAN_TIMEOUT" => (StatusCode::GATEWAY_TIMEOUT, code),
        "JOURNAL_ERROR" | "NONDETERMINISM" => (StatusCode::INTERNAL_SERVER_ERROR, code),
        // The flow has ended like this, by its own rules and limits.
        _ => (StatusCode::UNPROCESSABLE_ENTITY, code),
    }
}

impl From<Problem> for AgntzFailure {
    fn from(problem: Problem) -> Self {
        Self(Box::new(FailureParts { problem, more: Map::new() }))
    }
}

impl From<Error> for AgntzFailure {
    fn from(error: Error) -> Self {
        Problem::from(error).into()
    }
}

impl From<StoreError> for AgntzFailure {
    fn from(error: StoreError) -> Self {
        Problem::from(error).into()
    }
}

impl From<AnswerRefusal> for AgntzFailure {
    fn from(refusal: AnswerRefusal) -> Self {
        Problem::from(refusal).into()
    }
}

impl IntoResponse for AgntzFailure {
    fn into_response(self) -> Response {
        // The folder is not known here.
        let mut response = self.status_code().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Gives a response the form of agntz, if it is an error.
pub async fn shape_agntz_error(state: &AppState, mut response: Response) -> Response {
    let status = response.status();
    let failure = match (response.extensions_mut().remove(), response.extensions_mut().remove::<Problem>()) {
        (Some(failure), _) => failure,
        (None, Some(problem)) => AgntzFailure::from(problem),
        (None, None) if status.is_client_error() && !is_json(&response) => {
            // What the router itself refuses is a short text.
            let (parts, body) = response.into_parts();
            let bytes = axum::body::to_bytes(body, 10_000).await.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            response = Response::from_parts(parts, axum::body::Body::empty());
            let text = if text.is_empty() { status.to_string() } else { text };
            AgntzFailure::new(status, "BAD_REQUEST", text)
        }
        (None, None) => return response,
    };
    let mut shaped = failure.into_body_response(&state.engines.folder);
    let extensions = std::mem::take(response.extensions_mut());
    shaped.extensions_mut().extend(extensions);
    shaped
}

fn is_json(response: &Response) -> bool {
    match response.headers().get(header::CONTENT_TYPE) {
        Some(kind) => kind.to_str().is_ok_and(|kind| kind.contains("json")),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_relative_to_the_folder_that_is_served() {
        let problem = Problem {
            errors: vec![
                json!({ "file": "/srv/flows/a.yaml", "line": 3, "column": 7, "message": "in /srv/flows/a.yaml" }),
            ],
            ..Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "CANNOT_RUN", "no")
        };
        let body = AgntzFailure::from(problem).body(Path::new("/srv/flows"));
        assert_eq!(body["location"], json!({ "file": "a.yaml", "line": 3, "column": 7 }));
        assert_eq!(body["details"][0]["message"], "in a.yaml");
        assert_eq!((&body["error"], &body["code"]), (&json!("no"), &json!("CANNOT_RUN")));
    }
}
