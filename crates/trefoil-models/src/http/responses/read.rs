//! Reads responses, complete or streamed.

use serde_json::Value as Json;
use trefoil_runtime::{Finish, ModelError, ModelErrorKind};

use super::THOUGHTS;
use crate::http::arguments::ArgumentPiece;
use crate::http::assembly::{CallDelta, Pieces};
use crate::http::finish::FinishWord;
use crate::http::tokens::TokenReader;
use crate::http::{Endpoint, Partial, PartialAnswer};

/// Reads a complete answer.
pub fn answer(endpoint: &Endpoint, json: &Json) -> Result<PartialAnswer, ModelError> {
    let word = ending(endpoint, None, json)?;
    let output = json
        .get("output")
        .and_then(Json::as_array)
        .ok_or_else(|| endpoint.error(ModelErrorKind::Protocol, "sent an answer without `output`"))?;
    let mut answer = said(output);
    about(json, &mut answer);
    answer.conclude_word(word);
    Ok(answer)
}

/// The text and the calls of a complete answer.
fn said(output: &[Json]) -> PartialAnswer {
    let mut answer = PartialAnswer::default();
    let mut refusal = String::new();
    for (at, item) in (0..).zip(output) {
        for part in item.get("content").and_then(Json::as_array).into_iter().flatten() {
            let text = |name: &str| part.get(name).and_then(Json::as_str).unwrap_or_default();
            match text("type") {
                "output_text" => answer.text.push_str(text("text")),
                "refusal" => refusal.push_str(text("refusal")),
                _ => {}
            }
        }
        add_item(Some(at), item, &mut answer.calls, true);
        if is_cut(item) {
            answer.conclude(Finish::Length);
        }
    }
    if !refusal.is_empty() {
        (answer.text, answer.finish) = (refusal, Some(Finish::Refused));
    }
    answer
}

/// Reads one event of a streamed answer.
pub fn event(
    endpoint: &Endpoint,
    kind: &str,
    json: &Json,
    partial: &mut Partial,
    delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
) -> Result<(), ModelError> {
    let text = || json.get("delta").and_then(Json::as_str).unwrap_or_default();
    let index = json.get("output_index").and_then(Json::as_u64);
    match kind {
        "response.output_text.delta" => partial.push(text(), delta),
        "response.refusal.delta" => {
            partial.push(text(), delta);
            partial.answer.conclude(Finish::Refused);
        }
        "response.output_item.added" => {
            let item = json.get("item").filter(|item| is_call(item)).unwrap_or(&Json::Null);
            add_item(index, item, &mut partial.answer.calls, false);
        }
        "response.output_item.done" => {
            add_item(index, json.get("item").unwrap_or(&Json::Null), &mut partial.answer.calls, true);
        }
        "response.function_call_arguments.delta" => {
            let arguments = ArgumentPiece::of(json.get("delta"));
            partial.answer.calls.add(&CallDelta { index, id: "", name: "", arguments });
        }
        "response.function_call_arguments.done" => {
            let name = json.get("name").and_then(Json::as_str).unwrap_or_default();
            let arguments = ArgumentPiece::of(json.get("arguments"));
            if let Some(piece) = partial.answer.calls.update(&CallDelta { index, id: "", name, arguments }) {
                piece.end(true);
            }
        }
        "response.created" => about(json.get("response").unwrap_or(&Json::Null), &mut partial.answer),
        "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
            let response = json.get("response").unwrap_or(&Json::Null);
            about(response, &mut partial.answer);
            let word = ending(endpoint, kind.strip_prefix("response."), response)?;
            // Some servers send the answer, or the rest of it, only here.
            let whole = said(response.get("output").and_then(Json::as_array).map_or(&[], Vec::as_slice));
            if whole.finish == Some(Finish::Refused) {
                partial.push(whole.text.strip_prefix(&partial.answer.text).unwrap_or_default(), delta);
                partial.answer.conclude(Finish::Refused);
            } else {
                partial.complete(&whole.text, delta);
            }
            partial.answer.calls.update_all(whole.calls);
            partial.news.word = FinishWord::worse(whole.finish.map(FinishWord::Known), word);
        }
        // Parts of items, tools of the provider, and future kinds of events.
        _ => {}
    }
    Ok(())
}

/// Whether an item says that it ended too early.
fn is_cut(item: &Json) -> bool {
    item.get("status").and_then(Json::as_str) == Some("incomplete")
}

fn is_call(item: &Json) -> bool {
    item.get("type").and_then(Json::as_str) == Some("function_call")
}

/// Adds a tool call, or a thought that belongs to one. Several events have the same call, as far as it is known then;
/// `done`: it has ended.
fn add_item(index: Option<u64>, item: &Json, calls: &mut Pieces, done: bool) {
    let text = |name: &str| item.get(name).and_then(Json::as_str).unwrap_or_default();
    if is_call(item) {
        let arguments = ArgumentPiece::of(item.get("arguments"));
        let piece = calls.update(&CallDelta { index, id: text("call_id"), name: text("name"), arguments });
        if let Some(piece) = piece.filter(|_| done || is_cut(item)) {
            piece.end(!is_cut(item));
        }
    } else if text("type") == "reasoning"
        && let Json::Array(thoughts) = calls.beside.entry(THOUGHTS).or_insert_with(|| Json::Array(Vec::new()))
    {
        thoughts.push(item.clone());
    }
}

/// Reads the metadata of an answer.
fn about(json: &Json, answer: &mut PartialAnswer) {
    let text = |path: &str| json.pointer(path).and_then(Json::as_str).filter(|text| !text.is_empty());
    answer.model = text("/model").map(str::to_owned).or(answer.model.take());
    answer.id = text("/id").map(str::to_owned).or(answer.id.take());
    let mut tokens = TokenReader::new(json.get("usage"));
    let (input, output) = (tokens.read("/input_tokens"), tokens.read("/output_tokens"));
    let cached = tokens.read("/input_tokens_details/cached_tokens");
    let written = tokens.read("/input_tokens_details/cache_write_tokens");
    answer.usage = tokens.usage([input, output], cached, written).or(answer.usage);
}

/// Why an answer is over. The type of the last event says so, and the status of the response; the worse of them counts.
/// The error of a response that failed, if it has one, was found before.
fn ending(endpoint: &Endpoint, event: Option<&str>, response: &Json) -> Result<Option<FinishWord>, ModelError> {
    let status = response.get("status").and_then(Json::as_str).filter(|status| !status.is_empty());
    let filtered = response.pointer("/incomplete_details/reason").and_then(Json::as_str) == Some("content_filter");
    let read = |status: &str| match status {
        "completed" => Ok(FinishWord::Known(Finish::Stop)),
        "incomplete" if filtered => Ok(FinishWord::Known(Finish::Filtered)),
        "incomplete" => Ok(FinishWord::Known(Finish::Length)),
        "failed" => Err(endpoint.error(ModelErrorKind::Status(503), "failed without saying why")),
        "cancelled" | "canceled" | "in_progress" | "queued" => {
            let what = format!("sent an answer that is not complete: its status is `{status}`");
            Err(endpoint.error(ModelErrorKind::Network, &what))
        }
        _ => Ok(FinishWord::unknown(status)),
    };
    let words = [event, status].map(|said| said.map(read).transpose());
    let [of_event, of_status] = words;
    Ok(match (of_event?, of_status?) {
        // A type that says that all is well does not hide it.
        (Some(FinishWord::Known(Finish::Stop)), Some(unknown @ FinishWord::Unknown(_))) => Some(unknown),
        (of_event, of_status) => FinishWord::worse(of_event, of_status),
    })
}
