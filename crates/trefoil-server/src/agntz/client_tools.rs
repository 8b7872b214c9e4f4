//! Tools that the client of a streamed run has: the run asks for a result on the stream, and waits for it. Only in this process: the
//! stream ends with it, and so does the run.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use serde_json::{Map, Value as Json, json};
use tokio::sync::mpsc;
use trefoil_host::catalog::CatalogFlow;
use trefoil_ir::ToolKind;
use trefoil_machine::Key;
use trefoil_machine::moment::rfc3339_ms;
use trefoil_runtime::ports::CallSite;
use trefoil_runtime::{Clock, ToolError, ToolHost, ToolRequest};
use trefoil_template::Value;

use super::errors::{AgntzFailure, AgntzResult};
use super::run_fold::{key_id, tool_call_id};
use super::run_request::AcceptedRun;
use crate::access::{Caller, KeyScope};
use crate::client_tool_board::{ClientResult, ClientToolBoard, ResultReceipt};
use crate::problem::Problem;
use crate::request_body::JsonBody;
use crate::state::AppState;

/// How long a client may take if the manifest does not say it.
const DEFAULT_WAIT: Duration = Duration::from_secs(30);
/// The most requests of a run that the client has not seen yet.
const QUEUE: usize = 64;
/// The longest output in characters of JSON.
const LONGEST: usize = 40_000;

/// A request to a client.
pub struct ClientToolRequest {
    run: String,
    id: String,
    call: String,
    name: String,
    input: Json,
    deadline_ms: u64,
}

impl ClientToolRequest {
    /// The data of its frame.
    pub fn to_json(&self, seq: u64) -> Json {
        json!({
            "type": "client-tool-request",
            "runId": self.run,
            "rootRunId": self.run,
            "requestId": self.id,
            "toolCallId": self.call,
            "name": self.name,
            "input": self.input,
            "deadlineAt": rfc3339_ms(self.deadline_ms),
            "seq": seq,
        })
    }
}

/// The tools of the client of one run.
struct ClientToolHost {
    state: AppState,
    clock: Arc<dyn Clock>,
    /// Their names and how long the client may take.
    tools: HashMap<Arc<str>, Duration>,
    requests: mpsc::Sender<ClientToolRequest>,
}

/// A call that waits. If it is dropped, its run was cancelled.
struct WaitingToolCall<'b> {
    board: &'b ClientToolBoard,
    key: (String, String),
}

impl Drop for WaitingToolCall<'_> {
    fn drop(&mut self) {
        self.board.close_request(&self.key);
    }
}

#[async_trait]
impl ToolHost for ClientToolHost {
    fn offers_tool(&self, name: &str, kind: &ToolKind) -> bool {
        *kind == ToolKind::Local && self.tools.contains_key(name)
    }

    async fn call_tool(&self, at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        let Some(wait) = self.tools.get(&*request.name) else {
            return Err(ToolError::Failed(format!("the client has no tool `{}`", request.name)));
        };
        let deadline = Instant::now() + *wait;
        let key = (at.run.to_owned(), request_id(at.key, at.execution));
        let asked = ClientToolRequest {
            run: at.run.to_owned(),
            id: key.1.clone(),
            call: tool_call_id(at.key),
            name: request.name.to_string(),
            input: request.arguments.to_json(),
            deadline_ms: self.clock.wall_ms() + wait.as_millis() as u64,
        };
        let result = self.state.client_tools.open_request(key.clone(), deadline);
        let _waiting = WaitingToolCall { board: &self.state.client_tools, key };
        let answer = async {
            self.requests.send(asked).await.map_err(|_| ToolError::Failed("the client has left".to_owned()))?;
            match result.await {
                Ok(Ok(output)) => Ok(Value::from_json(output)),
                Ok(Err(why)) => Err(ToolError::Failed(why)),
                Err(_) => Err(ToolError::Failed("the client has left".to_owned())),
            }
        };
        tokio::time::timeout_at(deadline.into(), answer).await.unwrap_or(Err(ToolError::Timeout))
    }
}

/// The id of a request. A call that is made again is another request.
fn request_id(key: &Key, execution: u32) -> String {
    key_id("req_", &format!("{key}!{execution}", key = key.as_str()))
}

/// Gives the run the tools of its client. Workers leave it alone, because they have no such client.
pub fn with_client_tools(state: &AppState, accepted: &mut AcceptedRun) -> mpsc::Receiver<ClientToolRequest> {
    let (requests, receiver) = mpsc::channel(QUEUE);
    if !accepted.needs_client {
        return receiver;
    }
    let mut tools = HashMap::new();
    for tool in &accepted.flow.flow.loaded_target().program.client_tools {
        let wait = tool.timeout_ms.map_or(DEFAULT_WAIT, Duration::from_millis);
        tools.insert(tool.name.clone(), wait);
    }
    let host = ClientToolHost { state: state.clone(), clock: state.store().clock(), tools, requests };
    let flow = &accepted.flow;
    accepted.flow = Arc::new(CatalogFlow {
        name: flow.name.clone(),
        target: flow.target.clone(),
        is_root: flow.is_root,
        flow: flow.flow.clone(),
        engine: Arc::new((*flow.engine).clone().leave_to_people().tools(host)),
        broken_edit: None,
        prevented: None,
    });
    receiver
}

/// Takes the result of a client's tool.
pub async fn take_result(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path((run, request)): Path<(String, String)>,
    JsonBody(body): JsonBody<Map<String, Json>>,
) -> AgntzResult<Response> {
    caller.require_scope(KeyScope::Run)?;
    let result = read_result(body)?;
    let record = state.find_run(&caller, &run).await?;
    let status = match state.client_tools.take_result(&(record.run, request), result) {
        ResultReceipt::Accepted => StatusCode::ACCEPTED,
        ResultReceipt::Repeated => StatusCode::OK,
        ResultReceipt::Unknown => return Err(Problem::not_found("NOT_FOUND", "the run has no such request").into()),
        ResultReceipt::Gone => {
            let error = "the request has expired, or its run was cancelled";
            return Err(AgntzFailure::new(StatusCode::GONE, "REQUEST_GONE", error));
        }
    };
    Ok((status, JsonResponse(json!({ "status": "accepted" }))).into_response())
}

fn read_result(mut body: Map<String, Json>) -> AgntzResult<ClientResult> {
    let wrong = |error: &str| Err(Problem::bad_request(error).into());
    match (body.remove("output"), body.remove("error"), body.is_empty()) {
        (Some(output), None, true) => match output.to_string().chars().nth(LONGEST) {
            Some(_) => wrong("`output` is longer than 40,000 characters"),
            None => Ok(Ok(output)),
        },
        (None, Some(Json::String(error)), true) => Ok(Err(error)),
        (None, Some(_), true) => wrong("`error` is a text"),
        _ => wrong("a result has `output` or `error`, and nothing else"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_an_output_or_an_error() {
        let read = |json: Json| read_result(json.as_object().cloned().unwrap()).ok();
        assert_eq!(read(json!({ "output": null })), Some(Ok(Json::Null)));
        assert_eq!(read(json!({ "error": "no" })), Some(Err("no".to_owned())));
        for wrong in [json!({}), json!({ "output": 1, "error": "x" }), json!({ "error": null }), json!({ "error": {} })]
        {
            assert_eq!(read(wrong.clone()), None, "{wrong}");
        }
        assert!(read(json!({ "output": "x".repeat(39_998) })).is_some());
        assert!(read(json!({ "output": "x".repeat(39_999) })).is_none());
    }
}
