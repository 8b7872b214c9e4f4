//! Streams of all protocols, whole, cut at every byte, and ended in every way. No network: bytes go straight to the
//! decoder.

mod calls;
mod cuts;
mod ends;
mod finish_reasons;
mod parts;
mod proofs;
mod shapes;

use std::sync::OnceLock;

use serde_json::{Value as Json, json};
use trefoil_runtime::{AnswerDoubt, ModelAnswer, ToolSpec};

use super::*;
use crate::address::ProviderAddress;
use crate::http::assembly::CallAssembly;
use crate::http::tools::ToolWireNames;
use crate::http::{ModelHttpClient, create_endpoint};
use crate::vendors::{VendorProtocol, find_vendor};

/// The protocols of providers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Protocol {
    Chat,
    Responses,
    Messages,
    Gemini,
    Cohere,
    Ollama,
}

const PROTOCOLS: [Protocol; 6] =
    [Protocol::Chat, Protocol::Responses, Protocol::Messages, Protocol::Gemini, Protocol::Cohere, Protocol::Ollama];

/// Protocols that send the finish reason before the last event of a stream.
const REASON_BEFORE_LAST: [Protocol; 3] = [Protocol::Chat, Protocol::Messages, Protocol::Gemini];

/// The end of a stream.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Body,
    Closed,
    Cut,
    Silence,
}

const ENDS: [End; 4] = [End::Body, End::Closed, End::Cut, End::Silence];

fn model(protocol: Protocol) -> &'static HttpModel {
    static MODELS: OnceLock<Vec<(Protocol, HttpModel)>> = OnceLock::new();
    let all = || {
        let client = ModelHttpClient::new().unwrap();
        PROTOCOLS.map(|protocol| (protocol, new_model(protocol, client.clone()))).into()
    };
    MODELS.get_or_init(all).iter().find(|(of, _)| *of == protocol).map(|(_, model)| model).unwrap()
}

fn new_model(protocol: Protocol, client: ModelHttpClient) -> HttpModel {
    let name = match protocol {
        Protocol::Chat | Protocol::Responses => "openai",
        Protocol::Messages => "anthropic",
        Protocol::Gemini => "google",
        Protocol::Cohere => "cohere",
        Protocol::Ollama => "ollama",
    };
    let vendor_protocol = match protocol {
        Protocol::Responses => VendorProtocol::Responses { path: "/v1" },
        _ => find_vendor(name).unwrap().protocol.for_address(&ProviderAddress::parse("http://h").unwrap()),
    };
    let endpoint = create_endpoint(name, vendor_protocol, "http://h", None).unwrap();
    HttpModel::new(client, endpoint)
}

/// Names of tools that a request offers.
fn names(tools: &[&str]) -> ToolWireNames {
    ToolWireNames::from_tools(&tools.iter().map(|name| ToolSpec::without_description(*name)).collect::<Vec<_>>())
}

/// Reads a stream that arrives in these chunks. Whatever is not over at the end is an error.
fn read(protocol: Protocol, chunks: &[&[u8]], end: End, names: &ToolWireNames) -> Result<ModelAnswer, ModelError> {
    let model = model(protocol);
    let mut decoder =
        if protocol == Protocol::Ollama { sse::SseDecoder::of_lines() } else { sse::SseDecoder::default() };
    let mut partial = PartialCall::default();
    partial.answer.calls = CallAssembly::for_tools(names);
    for chunk in chunks {
        let events = decoder.push(chunk);
        partial.stream.note_part(decoder.is_open());
        model.read_events(events, &mut partial, &mut |_| ())?;
    }
    match end {
        End::Body => model.finish_events(&mut decoder, StreamInput::BodyEnd, &mut partial, &mut |_| ())?,
        End::Closed => model.finish_events(&mut decoder, StreamInput::Closed, &mut partial, &mut |_| ())?,
        End::Cut => partial.stream.apply_input(StreamInput::Broken),
        End::Silence => partial.stream.apply_input(StreamInput::Waited),
    }
    model.verdict(&partial)?;
    model.settle(&mut partial, names)
}

/// Reads an answer that is not streamed.
fn read_whole(protocol: Protocol, json: &Json, names: &ToolWireNames) -> Result<ModelAnswer, ModelError> {
    let model = model(protocol);
    let answer = model.endpoint.read_answer(json)?;
    model.settle(&mut PartialCall { answer, ..PartialCall::default() }, names)
}

/// The text that a server sends for an event.
fn encode_event(protocol: Protocol, event: &Json) -> String {
    if protocol == Protocol::Ollama { format!("{event}\n") } else { format!("data: {event}\n\n") }
}

/// The data of an event.
fn json_of(event: &str) -> Json {
    trefoil_template::read_json(event.trim().trim_start_matches("data: ")).unwrap()
}

/// What a server may send.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Act {
    /// A piece of text.
    Text,
    /// A piece of text with a finish reason.
    Both,
    /// A finish reason alone.
    Reason,
    /// Nothing, with a reason that is none.
    Empty,
    /// Text, with a reason that is none.
    TextEmpty,
    /// An unknown reason alone.
    Strange,
    /// Usage alone.
    Counted,
    /// A tool call.
    Call,
    /// A thought.
    Thought,
    /// An error.
    Failure,
    /// The last event.
    Last,
}

const ACTS: [Act; 11] = [
    Act::Text,
    Act::Both,
    Act::Reason,
    Act::Empty,
    Act::TextEmpty,
    Act::Strange,
    Act::Counted,
    Act::Call,
    Act::Thought,
    Act::Failure,
    Act::Last,
];

/// Reasons that are none, in turn.
const NONE: [&str; 5] = ["", "null", "NULL", "FINISH_REASON_UNSPECIFIED", " none "];

/// The events of an act; `at` tells the pieces apart.
///
/// reason: a table of six protocols.
fn act(protocol: Protocol, act: Act, at: usize) -> Option<String> {
    let text = format!("<{at}>");
    let text = if matches!(act, Act::Text | Act::Both | Act::TextEmpty) { text } else { String::new() };
    let none = NONE[at % NONE.len()];
    let reason = match (act, protocol) {
        (Act::Both | Act::Reason, Protocol::Chat) => json!("stop"),
        (Act::Both | Act::Reason, Protocol::Messages) => json!("end_turn"),
        (Act::Both | Act::Reason, Protocol::Gemini) => json!("STOP"),
        (Act::Empty | Act::TextEmpty, _) => json!(none),
        (Act::Strange, _) => json!("something_new"),
        (Act::Both | Act::Reason, _) => return None,
        _ => Json::Null,
    };
    let error = json!({"error": {"message": "out of memory", "code": 500}});
    let id = format!("c{at}");
    let events = match (protocol, act) {
        (Protocol::Chat | Protocol::Gemini | Protocol::Ollama, Act::Failure) => vec![error],
        (Protocol::Chat, Act::Last) => return Some("data: [DONE]\n\n".to_owned()),
        (Protocol::Chat, Act::Counted) => {
            vec![json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 3}})]
        }
        (Protocol::Chat, Act::Call) => {
            let call = json!({"index": at, "id": id, "function": {"name": "echo", "arguments": "{}"}});
            vec![json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": null}]})]
        }
        (Protocol::Chat, Act::Thought) => vec![json!({"choices": [{"delta": {"reasoning_content": "hm"}}]})],
        (Protocol::Chat, _) => {
            vec![json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}]})]
        }
        (Protocol::Gemini, Act::Last) => return None,
        (Protocol::Gemini, Act::Counted) => {
            vec![json!({"usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 3}})]
        }
        (Protocol::Gemini, Act::Call) => {
            vec![json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": "echo", "args": {}}}]}}]})]
        }
        (Protocol::Gemini, Act::Thought) => {
            vec![json!({"candidates": [{"content": {"parts": [{"text": "hm", "thought": true}]}}]})]
        }
        (Protocol::Gemini, _) => {
            vec![json!({"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": reason}]})]
        }
        (Protocol::Messages, Act::Failure) => {
            vec![json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})]
        }
        (Protocol::Messages, Act::Last) => vec![json!({"type": "message_stop"})],
        (Protocol::Messages, Act::Counted) => {
            vec![json!({"type": "message_delta", "delta": {}, "usage": {"input_tokens": 5, "output_tokens": 3}})]
        }
        (Protocol::Messages, Act::Call) => {
            let block = json!({"type": "tool_use", "id": id, "name": "echo", "input": {}});
            let delta = json!({"type": "input_json_delta", "partial_json": "{}"});
            vec![
                json!({"type": "content_block_start", "index": at, "content_block": block}),
                json!({"type": "content_block_delta", "index": at, "delta": delta}),
            ]
        }
        (Protocol::Messages, Act::Thought) => {
            let block = json!({"type": "thinking", "thinking": "hm"});
            vec![json!({"type": "content_block_start", "index": at, "content_block": block})]
        }
        // Its reasons are events without text.
        (Protocol::Messages, Act::Both) => return None,
        (Protocol::Messages, _) => {
            let piece =
                json!({"type": "content_block_delta", "index": at, "delta": {"type": "text_delta", "text": text}});
            let reason = json!({"type": "message_delta", "delta": {"stop_reason": reason}});
            match act {
                Act::Text => vec![piece],
                Act::TextEmpty => vec![piece, reason],
                _ => vec![reason],
            }
        }
        (Protocol::Responses, Act::Failure) => vec![json!({"type": "error", "code": "server_error", "message": "no"})],
        (Protocol::Responses, Act::Last) => {
            vec![json!({"type": "response.completed", "response": {"status": "completed"}})]
        }
        (Protocol::Responses, Act::Text) => vec![json!({"type": "response.output_text.delta", "delta": text})],
        (Protocol::Responses, Act::Call) => {
            let item = json!({"type": "function_call", "call_id": id, "name": "echo", "arguments": "{}"});
            vec![json!({"type": "response.output_item.done", "output_index": at, "item": item})]
        }
        (Protocol::Cohere, Act::Failure) => vec![json!({"id": "x", "message": "The server had an error"})],
        (Protocol::Cohere, Act::Last) => vec![json!({"type": "message-end", "delta": {"finish_reason": "COMPLETE"}})],
        (Protocol::Cohere, Act::Text) => {
            vec![json!({"type": "content-delta", "delta": {"message": {"content": {"text": text}}}})]
        }
        (Protocol::Cohere, Act::Call) => {
            let call = json!({"id": id, "function": {"name": "echo", "arguments": "{}"}});
            vec![json!({"type": "tool-call-start", "index": at, "delta": {"message": {"tool_calls": call}}})]
        }
        (Protocol::Ollama, Act::Last) => vec![json!({"message": {"content": ""}, "done": true, "done_reason": "stop"})],
        (Protocol::Ollama, Act::Text) => vec![json!({"message": {"content": text}, "done": false})],
        (Protocol::Ollama, Act::Call) => {
            let call = json!({"function": {"name": "echo", "arguments": {}}});
            vec![json!({"message": {"content": "", "tool_calls": [call]}, "done": false})]
        }
        (Protocol::Ollama, Act::Thought) => vec![json!({"message": {"content": "", "thinking": "hm"}, "done": false})],
        (Protocol::Responses | Protocol::Cohere | Protocol::Ollama, _) => return None,
    };
    Some(events.iter().map(|event| encode_event(protocol, event)).collect())
}
