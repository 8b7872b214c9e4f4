//! Bodies of requests: JSON of a stranger, read by the one reader of JSON.

use std::error::Error;
use std::time::Duration;

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use serde::de::DeserializeOwned;
use tower_http::timeout::TimeoutError;
use trefoil_template::read_json_bytes;

use crate::problem::Problem;
use crate::repeated_keys::find_repeated_key;
use crate::state::AppState;

/// The most bytes of a body that is parsed at once.
const SMALL: usize = 128 << 10;
/// The most bytes that are read of a request that is refused.
const DISCARDED: usize = 64 << 10;

/// The JSON body of a request.
pub struct JsonBody<T>(pub T);

impl<T> FromRequest<AppState> for JsonBody<T>
where
    T: DeserializeOwned + Send + 'static,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        Ok(Self(read_json_body(request, state).await?))
    }
}

/// The JSON body of a request.
///
/// # Errors
///
/// As [`read_body`], and 400 for what is not JSON, or not of this form.
pub async fn read_json_body<T>(request: Request, state: &AppState) -> Result<T, Problem>
where
    T: DeserializeOwned + Send + 'static,
{
    let bytes = read_body(request, state).await?;
    if bytes.len() <= SMALL {
        return parse_body(&bytes);
    }
    state.local.blocking_work().perform_work(move || parse_body(&bytes)).await?
}

/// The bytes of a body, within the limit of the server.
///
/// # Errors
///
/// 413 for one that is too large, 408 for one that does not come.
pub async fn read_body<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Problem> {
    Bytes::from_request(request, state).await.map_err(|rejection| {
        let status = rejection.status();
        if status == StatusCode::PAYLOAD_TOO_LARGE {
            return too_large();
        }
        if is_too_slow(&rejection) {
            let detail = "the body of the request did not arrive in time";
            return Problem::new(StatusCode::REQUEST_TIMEOUT, "BODY_TOO_SLOW", detail);
        }
        Problem::new(status, "BAD_REQUEST", format!("the body cannot be read: {}", rejection.body_text()))
    })
}

/// Reads the rest of a request that is refused, if it is short: a connection with an unread request is closed, and its client may
/// not know that yet when it sends the next one.
pub async fn discard_body(request: Request) {
    let body = axum::body::to_bytes(request.into_body(), DISCARDED);
    let _ = tokio::time::timeout(Duration::from_secs(1), body).await;
}

/// Refuses a body that says that it is too large, before it is sent.
///
/// # Errors
///
/// 413.
pub fn check_length(headers: &HeaderMap, most: usize) -> Result<(), Problem> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    match length.and_then(|length| length.parse::<u64>().ok()) {
        Some(length) if length > most as u64 => Err(too_large()),
        _ => Ok(()),
    }
}

fn too_large() -> Problem {
    let help = "put large values into files of the project, or raise `--max-body`";
    let detail = "the body of the request is too large";
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "BODY_TOO_LARGE", detail).with_help(help)
}

/// Whether the time for a body was over.
fn is_too_slow(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.is::<TimeoutError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// The value of a body; an empty one is an empty object.
///
/// # Errors
///
/// 400 for what is not JSON, or not of this form.
fn parse_body<T: DeserializeOwned>(bytes: &Bytes) -> Result<T, Problem> {
    let text: &[u8] = if bytes.is_empty() { b"{}" } else { bytes };
    let refuse = |error: serde_json::Error| match error.is_data() {
        true => Problem::bad_request(format!("the body has not the right form: {error}")),
        false => Problem::bad_request(format!("the body is not valid JSON: {error}")),
    };
    let body = read_json_bytes(text).map_err(refuse)?;
    match find_repeated_key(text).map_err(refuse)? {
        Some(place) => Err(Problem::bad_request(format!("the body has `{place}` twice"))),
        None => Ok(body),
    }
}
