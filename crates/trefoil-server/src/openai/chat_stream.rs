//! Streams of chat completions. The text of an agent is sent as it arrives, if it is certain to be the beginning of the result;
//! otherwise the result follows in one piece, when the run has ended.

use std::pin::pin;

use axum::response::Response;
use http::StatusCode;
use serde_json::{Value as Json, json};
use tokio::sync::oneshot;
use trefoil_host::service::{AnswerText, FeedReader};
use trefoil_runtime::RunOutcome;

use super::chat_head::ChatHead;
use super::errors::{OpenAiError, mark_started};
use super::run_ending::{AbandonedRun, RunAnswer, await_ending};
use crate::access::Caller;
use crate::open_stream::OpenStream;
use crate::problem::ApiResult;
use crate::sse::{FrameSender, open_stream};
use crate::state::AppState;

/// A stream in progress.
struct ChatStream {
    state: AppState,
    head: ChatHead,
    frames: FrameSender,
    outcome: Option<oneshot::Receiver<RunOutcome>>,
    reader: FeedReader,
}

/// The client has left.
struct ClientGone;

/// Answers with a stream.
///
/// # Errors
///
/// The run cannot be followed.
pub async fn stream_chat(
    state: &AppState,
    caller: &Caller,
    head: ChatHead,
    outcome: Option<oneshot::Receiver<RunOutcome>>,
    abandoned: AbandonedRun,
) -> ApiResult<Response> {
    let reader = state.local.run_feeds().watch_run(&head.run, None).await?;
    let (frames, response) = open_stream(OpenStream::new(state, caller));
    let run = head.run.clone();
    let stream = ChatStream { state: state.clone(), head, frames, outcome, reader };
    tokio::spawn(async move {
        // If the client has left, dropping it cancels the run.
        if stream.send_answer().await.is_ok() {
            abandoned.keep_running();
        }
    });
    Ok(mark_started(response, run))
}

impl ChatStream {
    /// Sends everything.
    async fn send_answer(self) -> Result<(), ClientGone> {
        let Self { state, head, frames, outcome, mut reader } = self;
        let sender = ChunkSender { head: &head, frames: &frames };
        let sending = async {
            sender.send_delta(json!({ "role": "assistant", "content": "", "refusal": null }), None).await?;
            let mut text = AnswerText::of_program(&reader.flow().loaded_target().program);
            let mut is_live = text.comes_in_pieces();
            let mut ending = pin!(await_ending(&state, &head.run, outcome));
            let ended = loop {
                tokio::select! {
                    // What the run has said before its end comes before its end.
                    biased;
                    event = reader.next_event(), if is_live => match event {
                        Ok(Some(event)) => {
                            if let Some(piece) = text.take_piece(event.event()) {
                                sender.send_delta(json!({ "content": piece }), None).await?;
                            }
                        }
                        // The result comes as a whole.
                        Ok(None) | Err(_) => is_live = false,
                    },
                    ended = &mut ending => break ended,
                }
            };
            sender.send_end(ended, &text).await
        };
        tokio::select! {
            sent = sending => sent,
            () = frames.wait_closed() => Err(ClientGone),
        }
    }
}

/// Sends the chunks of an answer.
struct ChunkSender<'s> {
    head: &'s ChatHead,
    frames: &'s FrameSender,
}

impl ChunkSender<'_> {
    async fn send_end(&self, ended: Result<RunAnswer, OpenAiError>, text: &AnswerText) -> Result<(), ClientGone> {
        let answer = match ended {
            Ok(answer) => answer,
            Err(error) => return self.send(&error.to_json()).await,
        };
        let Some(rest) = text.take_rest(&answer.text) else {
            let message = format!(
                "the model was called again after a part of its answer was sent, and answered otherwise; run {} has the whole answer",
                self.head.run
            );
            let error = OpenAiError::new(StatusCode::BAD_GATEWAY, "answer_changed", message);
            return self.send(&error.to_json()).await;
        };
        if !rest.is_empty() {
            self.send_delta(json!({ "content": rest }), None).await?;
        }
        self.send_delta(json!({}), Some("stop")).await?;
        if self.head.include_usage {
            self.send_chunk(json!([]), answer.usage).await?;
        }
        self.send_data("[DONE]").await
    }

    async fn send_delta(&self, delta: Json, finish_reason: Option<&str>) -> Result<(), ClientGone> {
        let choice = json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason });
        self.send_chunk(json!([choice]), Json::Null).await
    }

    async fn send_chunk(&self, choices: Json, usage: Json) -> Result<(), ClientGone> {
        let mut chunk = json!({
            "id": self.head.answer_id(),
            "object": "chat.completion.chunk",
            "created": self.head.created,
            "model": self.head.model,
            "choices": choices,
        });
        if self.head.include_usage
            && let Some(members) = chunk.as_object_mut()
        {
            members.insert("usage".to_owned(), usage);
        }
        self.send(&chunk).await
    }

    async fn send(&self, message: &Json) -> Result<(), ClientGone> {
        self.send_data(&message.to_string()).await
    }

    async fn send_data(&self, data: &str) -> Result<(), ClientGone> {
        if self.frames.send_frame(None, "", data).await { Ok(()) } else { Err(ClientGone) }
    }
}
