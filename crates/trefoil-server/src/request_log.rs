//! What the server writes about each request and about the end of each run: ids, the route, the status, the time. Never a query, a
//! header, an input, a prompt, a result or a key.

use serde::Serialize;

use crate::api::CostAmount;

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

/// How a run stands that this server has driven, or drives from now on.
#[derive(Debug, Clone, Serialize)]
pub struct RunRecord {
    /// For people: `run completed`.
    pub message: String,
    /// Its id.
    pub run: String,
    /// Its flow.
    pub flow: String,
    /// `completed`, `failed`, `cancelled`, `waiting`; `continued`: from now on here; `given_back`: it goes on elsewhere, or with the next
    /// start; `taken_over`: another process has it, or the store is gone.
    pub status: &'static str,
    /// The code of its failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Milliseconds of work so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What it has cost so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostAmount>,
}

impl RunRecord {
    /// Without what it has used.
    pub fn new(run: &str, flow: &str, status: &'static str) -> Self {
        let message = format!("run {}", status.replace('_', " "));
        Self { message, run: run.to_owned(), flow: flow.to_owned(), status, code: None, duration_ms: None, cost: None }
    }
}

/// Gets what the server writes about requests and runs.
pub trait RequestLog: Send + Sync {
    /// Takes a record, at once.
    fn write_record(&self, record: &RequestRecord);
    /// Takes what became of a run, at once.
    fn write_run(&self, record: &RunRecord);
}

/// The run that a response is about, for the log.
#[derive(Debug, Clone)]
pub struct ResponseRun(pub String);

/// The code of the problem of a response, for the log.
#[derive(Debug, Clone)]
pub struct ResponseCode(pub String);
