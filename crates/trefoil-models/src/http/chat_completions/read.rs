//! Reads responses, complete or streamed.

use serde_json::{Map, Value as Json};
use trefoil_runtime::{Finish, ModelError, ModelErrorKind, Usage};

use crate::http::arguments::ArgumentPiece;
use crate::http::assembly::{CallDelta, Pieces, append_text};
use crate::http::finish::{FinishWord, read_word};
use crate::http::tokens::TokenReader;
use crate::http::{Endpoint, Partial, PartialAnswer};
use crate::vendors::Protocol;

/// Reads a complete answer. One answer was requested, so several choices are its parts: some gateways put the text in one
/// and the tool calls in another.
pub fn answer(endpoint: &Endpoint, json: &Json) -> Result<PartialAnswer, ModelError> {
    let mut answer = PartialAnswer { id: text_at(json, "/id"), ..PartialAnswer::default() };
    let mut is_answer = false;
    for (choice, message) in choices(json).filter_map(|(at, choice)| Some(((at, choice), choice.get("message")?))) {
        let (at, choice) = choice;
        is_answer = true;
        let refusal = text(message.get("refusal")).filter(|text| !text.is_empty());
        if refusal.is_some() {
            answer.conclude(Finish::Refused);
        } else {
            answer.conclude_word(read_word(endpoint, choice.get("finish_reason"))?);
        }
        // If a model refuses, its refusal is a separate field and the content is empty.
        if answer.text.is_empty() {
            answer.text = refusal.or_else(|| text(message.get("content"))).unwrap_or_default();
        }
        add_calls(endpoint, at, message, true, &mut answer.calls);
    }
    if !is_answer {
        return Err(endpoint.error(ModelErrorKind::Protocol, "sent an answer without `choices[0].message`"));
    }
    answer.model = text_at(json, "/model");
    answer.usage = usage(json.get("usage"));
    Ok(answer)
}

/// The choices with their numbers.
fn choices(json: &Json) -> impl Iterator<Item = (u64, &Json)> {
    let all = json.get("choices").and_then(Json::as_array).into_iter().flatten();
    all.zip(0..).map(|(choice, at)| (choice.get("index").and_then(Json::as_u64).unwrap_or(at), choice))
}

/// Adds the tool calls of a complete message, or of a streamed piece. Returns whether there was a thought.
fn add_calls(endpoint: &Endpoint, choice: u64, message: &Json, whole: bool, calls: &mut Pieces) -> bool {
    let text = |of: Option<&'_ Json>| of.and_then(Json::as_str).unwrap_or_default().to_owned();
    let all = message.get("tool_calls").and_then(Json::as_array).into_iter().flatten();
    for (one, place) in all.zip(0..) {
        // A piece has the index of its call; in a complete message, each item is a call.
        let at = if whole { Some(place) } else { one.get("index").and_then(Json::as_u64) };
        let piece = calls.add(&CallDelta {
            // Each choice counts its own calls.
            index: at.map(|at: u64| at.saturating_add(choice.saturating_mul(1 << 32))),
            id: &text(one.get("id")),
            name: &text(one.pointer("/function/name")),
            arguments: ArgumentPiece::of(one.pointer("/function/arguments")),
        });
        let extra = one.get("extra_content").filter(|extra| extra.is_object());
        if let (Some(piece), Some(extra)) = (piece, extra) {
            piece.beside.insert("extra_content".to_owned(), extra.clone());
        }
    }
    // The older form of a single call.
    if let Some(one) = message.get("function_call") {
        let (name, arguments) = (text(one.get("name")), ArgumentPiece::of(one.get("arguments")));
        calls.add(&CallDelta { index: None, id: "", name: &name, arguments });
    }
    let Protocol::ChatCompletions(quirks) = endpoint.protocol else { return false };
    for name in quirks.thoughts {
        if let Some(more) = message.get(*name).filter(|more| !more.is_null()) {
            add(&mut calls.beside, name, more);
        }
    }
    THOUGHTS.iter().chain(quirks.thoughts).any(|name| match message.get(*name) {
        Some(Json::String(text)) => !text.is_empty(),
        Some(Json::Array(all)) => !all.is_empty(),
        _ => false,
    })
}

/// Members in which servers send thoughts. They are not part of the answer, but an answer with them is not over.
const THOUGHTS: &[&str] = &["reasoning", "reasoning_content", "reasoning_details"];

/// Appends texts and lists; other values replace the previous one.
fn add(to: &mut Map<String, Json>, name: &str, more: &Json) {
    match (to.get_mut(name), more) {
        (_, Json::String(more)) => append_text(to, name, more),
        (Some(Json::Array(all)), Json::Array(more)) => all.extend(more.iter().cloned()),
        _ => drop(to.insert(name.to_owned(), more.clone())),
    }
}

/// Reads one event of a streamed answer.
pub fn event(
    endpoint: &Endpoint,
    json: &Json,
    partial: &mut Partial,
    delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
) -> Result<(), ModelError> {
    partial.answer.model = partial.answer.model.take().or_else(|| text_at(json, "/model"));
    partial.answer.id = partial.answer.id.take().or_else(|| text_at(json, "/id"));
    // Usage arrives once, with the last choice or after it; an empty `usage` before that is ignored. Groq uses a
    // different field.
    let figures = json.get("usage").filter(|usage| usage.is_object()).or_else(|| json.pointer("/x_groq/usage"));
    if let Some(usage) = usage(figures) {
        partial.answer.usage = Some(usage);
        partial.news.usage = true;
    }
    for (at, choice) in choices(json) {
        add_whole(endpoint, at, choice, partial, delta)?;
        let piece = choice.get("delta").unwrap_or(&Json::Null);
        // The older completions have `text`.
        let older = choice.get("text").filter(|_| piece.is_null());
        for (name, part) in [("content", piece.get("content").or(older)), ("refusal", piece.get("refusal"))] {
            let Some(text) = text(part).filter(|text| !text.is_empty()) else { continue };
            // One answer was requested: the text of another choice is not part of it.
            if *partial.answer.text_choice.get_or_insert(at) == at {
                partial.push(&text, delta);
            }
            if name == "refusal" {
                partial.answer.conclude(Finish::Refused);
            }
        }
        partial.news.thought |= add_calls(endpoint, at, piece, false, &mut partial.answer.calls);
        let word = read_word(endpoint, choice.get("finish_reason"))?;
        let earlier = partial.news.word.take();
        partial.news.word = match partial.answer.text_choice {
            Some(of_text) if of_text != at => earlier.or(word),
            _ => FinishWord::worse(earlier, word),
        };
    }
    Ok(())
}

/// Adds a choice that has all of the answer instead of a piece, as if it were not streamed; some servers send it so. Beside
/// pieces it repeats what they have brought.
fn add_whole(
    endpoint: &Endpoint,
    at: u64,
    choice: &Json,
    partial: &mut Partial,
    delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
) -> Result<(), ModelError> {
    let begun = !partial.answer.text.is_empty() || !partial.answer.calls.is_empty();
    let Some(message) = choice.get("message").filter(|message| message.is_object()) else { return Ok(()) };
    let piece = choice.get("delta").filter(|piece| piece.is_object());
    let has_more = |piece: &Json| {
        text(piece.get("content")).is_some_and(|text| !text.is_empty()) || piece.get("tool_calls").is_some()
    };
    if piece.is_some_and(|piece| begun || has_more(piece)) {
        return Ok(());
    }
    let refusal = text(message.get("refusal")).filter(|text| !text.is_empty());
    let is_refused = refusal.is_some();
    let whole = refusal.or_else(|| text(message.get("content"))).unwrap_or_default();
    if !whole.is_empty() && *partial.answer.text_choice.get_or_insert(at) == at {
        // Whether it is a piece or all so far cannot be told, unless it is the last one.
        let is_last = choice.get("finish_reason").is_some_and(|word| !word.is_null());
        let rest = whole.strip_prefix(&partial.answer.text).filter(|_| is_last || partial.answer.text.is_empty());
        let torn = || endpoint.error(ModelErrorKind::Protocol, "sent several messages in one stream");
        partial.push(rest.ok_or_else(torn)?, delta);
    }
    if is_refused {
        partial.answer.conclude(Finish::Refused);
    }
    let mut calls = Pieces::default();
    partial.news.thought |= add_calls(endpoint, at, message, true, &mut calls);
    if !calls.is_empty() {
        calls.end_all();
        partial.answer.calls.update_all(calls);
    }
    Ok(())
}

fn text_at(json: &Json, pointer: &str) -> Option<String> {
    json.pointer(pointer)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A text, a part that has one, or those of a list of parts (Mistral's reasoning models).
fn text(content: Option<&Json>) -> Option<String> {
    match content? {
        Json::String(text) => Some(text.clone()),
        Json::Object(part) => {
            let kind = part.get("type").and_then(Json::as_str);
            let is_text = matches!(kind, None | Some("text" | "output_text"));
            part.get("text").filter(|_| is_text)?.as_str().map(str::to_owned)
        }
        Json::Array(parts) => Some(parts.iter().filter_map(|part| text(Some(part))).collect()),
        _ => None,
    }
}

/// `None` if the response has no usage.
fn usage(json: Option<&Json>) -> Option<Usage> {
    json.filter(|json| json.is_object())?;
    let mut tokens = TokenReader::new(json);
    let (input, output) = (tokens.read("/prompt_tokens"), tokens.read("/completion_tokens"));
    let cached = tokens.read("/prompt_tokens_details/cached_tokens").max(tokens.read("/prompt_cache_hit_tokens"));
    let written = tokens.read("/prompt_tokens_details/cache_write_tokens");
    tokens.usage([input, output], cached, written)
}
