//! Reads responses, complete or streamed.

use serde_json::{Map, Value as Json};
use trefoil_runtime::{FinishReason, ModelError, ModelErrorKind, Usage};

use super::ChatCompletionsProtocol;
use crate::http::arguments::ArgumentPiece;
use crate::http::assembly::{CallAssembly, CallDelta, append_text};
use crate::http::endpoint::{ProtocolAnswers, StreamEvent, TextSink};
use crate::http::finish::{FinishWord, read_word};
use crate::http::members::{has_contents, list_member, number_member, text_member};
use crate::http::parts::{AnswerContent, text_at, unreadable_answer_error};
use crate::http::stream::{DoneMark, StreamTable};
use crate::http::tokens::TokenReader;
use crate::http::{PartialAnswer, PartialCall, ProviderEndpoint};

static TABLE: StreamTable = StreamTable {
    members: &["choices"],
    beside: &[
        "usage",
        "id",
        "model",
        "created",
        "object",
        "obfuscation",
        "system_fingerprint",
        "service_tier",
        "provider",
        "prompt_filter_results",
        "prompt_annotations",
        "x_groq",
        "timings",
        "citations",
        "search_results",
        // Of gateways: what they have checked, and what they have searched.
        "hook_results",
        "sources",
    ],
    done: DoneMark::Last,
    ..StreamTable::PLAIN
};

impl ProtocolAnswers for ChatCompletionsProtocol {
    fn read_answer(&self, endpoint: &ProviderEndpoint, json: &Json) -> Result<PartialAnswer, ModelError> {
        let mut partial = PartialCall::default();
        let mut is_answer = false;
        for (at, choice) in choices(json) {
            let Some(message @ Json::Object(_)) = choice.get("message") else { continue };
            is_answer = true;
            let said = read_content(endpoint, message)?;
            // If a model refuses, its refusal is a separate field and the content is empty.
            let text = if said.refusal.is_empty() { &said.text } else { &said.refusal };
            partial.push_of(endpoint, at, text, &mut |_: &str| ())?;
            if !said.refusal.is_empty() {
                partial.answer.conclude(FinishWord::Known(FinishReason::Refused));
            }
            partial.answer.doubts.extend(said.doubts);
            add_calls(self.0.thoughts, at, message, true, &mut partial.answer.calls);
            partial.note_calls(endpoint, at, false)?;
        }
        if !is_answer {
            return Err(
                endpoint.provider_error(ModelErrorKind::Protocol, "sent an answer without `choices[0].message`")
            );
        }
        read_words(endpoint, json, &mut partial)?;
        let mut answer = partial.answer;
        answer.conclude(partial.news.word);
        answer.model = text_at(json, "/model");
        answer.id = text_at(json, "/id");
        answer.usage = usage(json.get("usage"));
        Ok(answer)
    }

    fn read_event(
        &self,
        event: StreamEvent<'_>,
        partial: &mut PartialCall,
        delta: &mut TextSink<'_>,
    ) -> Result<(), ModelError> {
        let StreamEvent { endpoint, json, .. } = event;
        let thoughts = self.0.thoughts;
        if partial.answer.model.is_none() {
            partial.answer.model = text_at(json, "/model");
        }
        if partial.answer.id.is_none() {
            partial.answer.id = text_at(json, "/id");
        }
        // Usage arrives once, with the last choice or after it; an empty `usage` before that is ignored. Groq uses a
        // different field.
        let figures = match json.get("usage") {
            Some(usage @ Json::Object(_)) => Some(usage),
            _ => json.pointer("/x_groq/usage"),
        };
        if let Some(usage) = usage(figures) {
            partial.answer.usage = Some(usage);
            partial.news.usage = true;
        }
        for (at, choice) in choices(json) {
            add_whole(thoughts, endpoint, at, choice, partial, delta)?;
            let piece = choice.get("delta").unwrap_or(&Json::Null);
            let mut said = read_content(endpoint, piece)?;
            if piece.is_null() {
                // The older completions have `text`.
                said.add_all(AnswerContent::without_calls(endpoint, choice.get("text"))?);
            }
            partial.push_of(endpoint, at, &said.text, delta)?;
            if partial.push_of(endpoint, at, &said.refusal, delta)? {
                partial.answer.conclude(FinishWord::Known(FinishReason::Refused));
            }
            partial.answer.doubts.extend(said.doubts);
            let thought = said.thought | add_calls(thoughts, at, piece, false, &mut partial.answer.calls);
            partial.note_calls(endpoint, at, thought)?;
        }
        read_words(endpoint, json, partial)
    }

    fn stream_table(&self) -> &'static StreamTable {
        &TABLE
    }
}

/// Reads the content of a message or of a piece.
fn read_content(endpoint: &ProviderEndpoint, message: &Json) -> Result<AnswerContent, ModelError> {
    if !message.is_object() && !message.is_null() {
        return Err(unreadable_answer_error(endpoint, "a message that is no object"));
    }
    let mut said = AnswerContent::without_calls(endpoint, message.get("content"))?;
    let refusal = AnswerContent::without_calls(endpoint, message.get("refusal"))?;
    said.refusal.push_str(&(refusal.text + &refusal.refusal));
    for name in ["audio", "images", "text", "output_text"] {
        if let Some(part) = message.get(name)
            && has_contents(part)
        {
            said.doubts.leave_out_part(name);
        }
    }
    Ok(said)
}

/// Reads why the choices of an answer or an event are over.
fn read_words(endpoint: &ProviderEndpoint, json: &Json, partial: &mut PartialCall) -> Result<(), ModelError> {
    let mut is_said = false;
    for (at, choice) in choices(json) {
        let word = read_word(endpoint, choice.get("finish_reason"))?;
        // OpenRouter: the word of the provider behind it, which may say more.
        let native = match read_word(endpoint, choice.get("native_finish_reason")) {
            Ok(Some(FinishWord::Known(
                reason @ (FinishReason::Length | FinishReason::Filtered | FinishReason::Refused),
            ))) => Some(FinishWord::Known(reason)),
            _ => None,
        };
        if let Some(word) = FinishWord::pick_worse(native, word) {
            partial.answer.choices.note_word(endpoint, at, word)?;
            is_said = true;
        }
    }
    partial.news.word = if is_said { partial.answer.choices.finish_word() } else { None };
    let beside = read_word(endpoint, json.get("finish_reason"))?;
    partial.news.word = FinishWord::pick_worse(partial.news.word.take(), beside);
    Ok(())
}

/// The choices with their numbers.
fn choices(json: &Json) -> impl Iterator<Item = (u64, &Json)> {
    let choices = (0..).zip(list_member(json, "choices"));
    choices.map(|(place, choice)| (number_member(choice, "index").unwrap_or(place), choice))
}

/// Adds the tool calls of a complete message, or of a streamed piece. Returns whether there was a thought.
fn add_calls(thoughts: &[&str], choice: u64, message: &Json, whole: bool, calls: &mut CallAssembly) -> bool {
    for (place, call) in (0..).zip(list_member(message, "tool_calls")) {
        // A piece has the index of its call; in a complete message, each item is a call.
        let at: Option<u64> = if whole { Some(place) } else { number_member(call, "index") };
        let function = call.get("function").unwrap_or(&Json::Null);
        let piece = calls.add_delta(&CallDelta {
            // Each choice counts its own calls.
            index: at.map(|at| at.saturating_add(choice.saturating_mul(1 << 32))),
            id: text_member(call, "id").unwrap_or_default(),
            name: text_member(function, "name").unwrap_or_default(),
            arguments: ArgumentPiece::from_member(function.get("arguments")),
        });
        if let (Some(piece), Some(extra @ Json::Object(_))) = (piece, call.get("extra_content")) {
            piece.beside.insert("extra_content".to_owned(), extra.clone());
        }
    }
    // The older form of a single call.
    if let Some(call) = message.get("function_call") {
        let name = text_member(call, "name").unwrap_or_default();
        let arguments = ArgumentPiece::from_member(call.get("arguments"));
        calls.add_delta(&CallDelta { index: None, id: "", name, arguments });
    }
    for name in thoughts {
        if let Some(more) = message.get(*name)
            && !more.is_null()
        {
            add(&mut calls.beside, name, more);
        }
    }
    THOUGHTS.iter().chain(thoughts).any(|name| match message.get(*name) {
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

/// Adds a choice that has all of the answer instead of a piece, as if it were not streamed; some servers send it so. Beside
/// pieces it repeats what they have brought.
fn add_whole(
    thoughts: &[&str],
    endpoint: &ProviderEndpoint,
    at: u64,
    choice: &Json,
    partial: &mut PartialCall,
    delta: &mut TextSink<'_>,
) -> Result<(), ModelError> {
    let begun = !partial.answer.text.is_empty() || !partial.answer.calls.is_empty();
    let message = match choice.get("message") {
        None | Some(Json::Null) => return Ok(()),
        Some(message) => message,
    };
    // Whether it is a piece or all so far cannot be told, unless it is the last one.
    let is_last = matches!(choice.get("finish_reason"), Some(word) if !word.is_null());
    let said = read_content(endpoint, message)?;
    let whole = if said.refusal.is_empty() { &said.text } else { &said.refusal };
    if let Some(piece @ Json::Object(_)) = choice.get("delta") {
        let is_rest = is_last && whole.starts_with(&partial.answer.text);
        if (begun && !is_rest) || brings_more(endpoint, piece) {
            return Ok(());
        }
    }
    if !whole.is_empty() && partial.answer.choices.takes_text(at) {
        let rest = match whole.strip_prefix(&partial.answer.text) {
            Some(rest) if is_last || partial.answer.text.is_empty() => rest,
            _ => {
                let what = "sent several messages in one stream";
                return Err(endpoint.provider_error(ModelErrorKind::Protocol, what));
            }
        };
        partial.push_of(endpoint, at, rest, delta)?;
        if !said.refusal.is_empty() {
            partial.answer.conclude(FinishWord::Known(FinishReason::Refused));
        }
    } else {
        partial.push_of(endpoint, at, whole, delta)?;
    }
    partial.answer.doubts.extend(said.doubts);
    let mut calls = CallAssembly::default();
    let thought = said.thought | add_calls(thoughts, at, message, true, &mut calls);
    if !calls.is_empty() {
        calls.end_all();
        partial.answer.calls.update_all(calls);
    }
    partial.note_calls(endpoint, at, thought)
}

/// Whether a piece has text or calls.
fn brings_more(endpoint: &ProviderEndpoint, piece: &Json) -> bool {
    let is_text = matches!(read_content(endpoint, piece), Ok(said) if !said.text.is_empty());
    is_text || piece.get("tool_calls").is_some()
}

/// `None` if the response has no usage.
fn usage(json: Option<&Json>) -> Option<Usage> {
    let Some(Json::Object(_)) = json else { return None };
    let mut tokens = TokenReader::new(json);
    let (input, output) = (tokens.read_number("/prompt_tokens"), tokens.read_number("/completion_tokens"));
    let cached =
        tokens.read_number("/prompt_tokens_details/cached_tokens").max(tokens.read_number("/prompt_cache_hit_tokens"));
    let written = tokens.read_number("/prompt_tokens_details/cache_write_tokens");
    tokens.into_usage([input, output], cached, written)
}
