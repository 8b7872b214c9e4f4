//! What the server writes about each request: ids, the route, the status, the time. Never a query, a header, an input, a prompt,
//! a result or a key.

use serde::Serialize;

/// What is known of a request when it was answered.
#[derive(Debug, Clone, Serialize)]
pub struct RequestRecord {
    /// The id of the request, which its response has in `x-request-id`.
    pub request: String,
    /// The method.
    pub method: String,
    /// The route as it is declared: `/api/v1/runs/{run}`.
    pub route: String,
    /// The status of the response.
    pub status: u16,
    /// Milliseconds until the response began.
    pub ms: u64,
    /// The run that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The id of the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The code of the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// Gets what the server writes about requests.
pub trait RequestLog: Send + Sync {
    /// Takes a record, at once.
    fn write_record(&self, record: &RequestRecord);
}

/// The run that a response is about, for the log.
#[derive(Debug, Clone)]
pub struct ResponseRun(pub String);

/// The code of the problem of a response, for the log.
#[derive(Debug, Clone)]
pub struct ResponseCode(pub String);
