//! Chat completions: a run, and its result as the message of an assistant.

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value as Json, json};
use trefoil_host::service::StartedRun;

use super::chat_head::ChatHead;
use super::chat_stream::stream_chat;
use super::errors::{OpenAiError, mark_started};
use super::request::ChatRequest;
use super::run_ending::{AbandonedRun, RunAnswer, await_ending};
use crate::access::{Caller, KeyScope};
use crate::api::idempotency_key;
use crate::request_body::read_json_body;
use crate::start::{LabelledStart, StartRequest, begin_run};
use crate::state::AppState;

/// Runs a flow and answers with its result.
pub async fn complete_chat(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, OpenAiError> {
    caller.require_scope(KeyScope::Run)?;
    let idempotency_key = idempotency_key(request.headers())?;
    let chat: Json = read_json_body(request, &state).await?;
    let chat = ChatRequest::parse(chat)?;
    let flow = state.find_flow(&caller, &chat.model)?;
    let (stream, include_usage, labels) = (chat.stream, chat.include_usage, chat.labels.clone());
    let input = chat.flow_input(&flow)?;
    let is_repeatable = idempotency_key.is_some();
    let model = flow.name.clone();
    let start = LabelledStart { labels, idempotency_key, ..LabelledStart::default() };
    let StartedRun { run, outcome } = begin_run(&state, &caller, StartRequest { flow, input, start }).await?;
    let abandoned = AbandonedRun::of_run(&state, &run, is_repeatable);
    let head = ChatHead { run, created: state.store().clock().wall_ms() / 1_000, model, include_usage };
    if stream {
        let run = head.run.clone();
        return stream_chat(&state, &caller, head, outcome, abandoned)
            .await
            .map_err(|problem| OpenAiError::from(problem).with_run(&run));
    }
    let ended = await_ending(&state, &head.run, outcome).await;
    abandoned.keep_running();
    let response = JsonResponse(completion_json(&head, ended?)).into_response();
    Ok(mark_started(response, head.run))
}

fn completion_json(head: &ChatHead, answer: RunAnswer) -> Json {
    json!({
        "id": head.answer_id(),
        "object": "chat.completion",
        "created": head.created,
        "model": head.model,
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": answer.text, "refusal": null },
            "logprobs": null,
            "finish_reason": "stop",
        }],
        "usage": answer.usage,
    })
}
