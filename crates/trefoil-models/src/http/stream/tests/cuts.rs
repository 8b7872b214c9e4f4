//! Streams of many servers, cut at every byte.

use serde_json::{Value as Json, json};

use super::*;

/// Streams with their text. If a server repeats its finish reason in every piece, a part of its stream cannot be told
/// from a whole one that ends in the same way; such streams are only cut in two, not off.
fn streams() -> Vec<(Protocol, String, &'static str, bool)> {
    let mut all = Vec::new();
    for protocol in PROTOCOLS {
        use Act::*;
        let mut add = |acts: &[Act], text: &'static str, steady: bool| {
            let parts: Option<Vec<String>> = acts.iter().enumerate().map(|(at, one)| act(protocol, *one, at)).collect();
            let parts = parts.map(|parts| parts.concat()).filter(|parts| !parts.is_empty());
            all.extend(parts.map(|parts| (protocol, parts, text, steady)));
        };
        add(&[Text, Text, Reason], "<0><1>", true);
        add(&[Text, Reason, Counted], "<0>", true);
        add(&[Text, Reason, Counted, Last], "<0>", true);
        add(&[TextEmpty, TextEmpty, Text, Reason], "<0><1><2>", true);
        add(&[TextEmpty, Empty, Text, Reason, Last], "<0><2>", true);
        add(&[Both, Both, Both], "<0><1><2>", false);
        add(&[Both, Both, Last], "<0><1>", false);
        add(&[Both, Counted, Both, Counted, Reason, Last], "<0><2>", false);
        add(&[Text, Reason, Text, Reason, Last], "<0><2>", false);
        add(&[Thought, Text, Call, Text, Reason], "<1><3>", true);
        add(&[Text, Call, Text, Last], "<0><2>", true);
        add(&[Text, Text, Last], "<0><1>", true);
        add(&[Text, Strange], "<0>", true);
        add(&[Call, Call, Last], "", true);
    }
    let crlf = act(Protocol::Chat, Act::Text, 0).unwrap() + &act(Protocol::Chat, Act::Reason, 1).unwrap();
    all.push((Protocol::Chat, format!("\u{feff}: hi\n\n{crlf}").replace('\n', "\r\n"), "<0>", true));
    all.extend(recorded());
    all
}

/// The forms in which the providers' own servers stream.
///
/// reason: a table of recorded events.
fn recorded() -> Vec<(Protocol, String, &'static str, bool)> {
    let named = |events: &[(&str, Json)]| -> String {
        events.iter().map(|(name, data)| format!("event: {name}\ndata: {data}\n\n")).collect()
    };
    let plain = |protocol: Protocol, events: &[Json]| -> String {
        events.iter().map(|event| encode_event(protocol, event)).collect()
    };
    let chunk = |delta: Json, reason: Json| {
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "system_fingerprint": "f",
            "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": reason}], "usage": null})
    };
    let openai = [
        chunk(json!({"role": "assistant", "content": "", "refusal": null}), Json::Null),
        chunk(json!({"content": "Grüß"}), Json::Null),
        chunk(json!({"content": " Gott 🌞"}), Json::Null),
        chunk(json!({}), json!("stop")),
        json!({"id": "chatcmpl-1", "model": "m", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 3}}),
    ];
    let mistral = [
        chunk(json!({"role": "assistant", "content": ""}), Json::Null),
        chunk(json!({"content": "Grüß Gott "}), Json::Null),
        chunk(json!({"content": "🌞"}), json!("stop")),
    ];
    let anthropic = [
        (
            "message_start",
            json!({"type": "message_start", "message": {"id": "m", "model": "c", "content": [],
            "stop_reason": null, "usage": {"input_tokens": 5, "output_tokens": 1}}}),
        ),
        (
            "content_block_start",
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        ),
        ("ping", json!({"type": "ping"})),
        (
            "content_block_delta",
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Grüß "}}),
        ),
        (
            "content_block_delta",
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Gott 🌞"}}),
        ),
        ("content_block_stop", json!({"type": "content_block_stop", "index": 0})),
        (
            "message_delta",
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
            "usage": {"output_tokens": 3}}),
        ),
        ("message_stop", json!({"type": "message_stop"})),
    ];
    let gemini = [
        json!({"candidates": [{"content": {"parts": [{"text": "Grüß "}], "role": "model"}, "index": 0}],
            "usageMetadata": {"promptTokenCount": 5, "totalTokenCount": 5}, "modelVersion": "g", "responseId": "r"}),
        json!({"candidates": [{"content": {"parts": [{"text": "Gott 🌞"}], "role": "model"}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 3, "totalTokenCount": 8}}),
    ];
    let response = json!({"id": "r", "status": "completed", "output": [{"type": "message",
        "content": [{"type": "output_text", "text": "Grüß Gott 🌞"}]}], "usage": {"input_tokens": 5, "output_tokens": 3}});
    let responses = [
        ("response.created", json!({"type": "response.created", "response": {"id": "r", "status": "in_progress"}})),
        ("response.output_text.delta", json!({"type": "response.output_text.delta", "delta": "Grüß "})),
        ("response.output_text.delta", json!({"type": "response.output_text.delta", "delta": "Gott 🌞"})),
        ("response.output_text.done", json!({"type": "response.output_text.done", "text": "Grüß Gott 🌞"})),
        ("response.completed", json!({"type": "response.completed", "response": response})),
    ];
    let cohere = [
        ("message-start", json!({"type": "message-start", "id": "x", "delta": {"message": {"role": "assistant"}}})),
        (
            "content-start",
            json!({"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "text", "text": ""}}}}),
        ),
        (
            "content-delta",
            json!({"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "Grüß Gott 🌞"}}}}),
        ),
        ("content-end", json!({"type": "content-end", "index": 0})),
        (
            "message-end",
            json!({"type": "message-end", "delta": {"finish_reason": "COMPLETE",
            "usage": {"tokens": {"input_tokens": 5, "output_tokens": 3}}}}),
        ),
    ];
    let ollama = [
        json!({"model": "m", "message": {"role": "assistant", "content": "Grüß "}, "done": false}),
        json!({"model": "m", "message": {"role": "assistant", "content": "Gott 🌞"}, "done": false}),
        json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop",
            "prompt_eval_count": 5, "eval_count": 3}),
    ];
    let text = "Grüß Gott 🌞";
    vec![
        (Protocol::Chat, plain(Protocol::Chat, &openai) + "data: [DONE]\n\n", text, true),
        (Protocol::Chat, plain(Protocol::Chat, &mistral) + "data: [DONE]\n\n", text, true),
        (Protocol::Messages, named(&anthropic), text, true),
        (Protocol::Gemini, plain(Protocol::Gemini, &gemini), text, true),
        (Protocol::Responses, named(&responses), text, true),
        (Protocol::Cohere, named(&cohere) + "data: [DONE]\n\n", text, true),
        (Protocol::Ollama, plain(Protocol::Ollama, &ollama), text, true),
    ]
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn streams_may_be_cut_at_every_byte() {
        let names = names(&["echo"]);
        let (mut two, mut off) = (0, 0);
        for (protocol, stream, text, steady) in streams() {
            let bytes = stream.as_bytes();
            let whole = read(protocol, &[bytes], End::Body, &names);
            assert_eq!(whole.as_ref().map(|answer| &*answer.text), Ok(text), "{protocol:?} {stream}");
            let calls = whole.as_ref().map(|answer| answer.calls.len());
            let one_by_one: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(read(protocol, &one_by_one, End::Body, &names), whole, "{protocol:?} {stream}");
            for cut in 0..=bytes.len() {
                let (first, second) = bytes.split_at(cut);
                assert_eq!(
                    read(protocol, &[first, second], End::Body, &names),
                    whole,
                    "{protocol:?} at {cut}: {stream}"
                );
                two += 1;
                // Between two events such a stream may be whole; within one it never is.
                let within =
                    bytes[cut..].first().is_some_and(|byte| *byte != b'\n') && !first.ends_with(b"\n") && cut > 0;
                if !steady && !within {
                    continue;
                }
                for end in ENDS {
                    off += 1;
                    // Nothing but the whole answer, or an error.
                    if let Ok(answer) = read(protocol, &[first], end, &names) {
                        let came = (Ok(&*answer.text), Ok(answer.calls.len()));
                        assert_eq!(
                            came,
                            (Ok::<_, &ModelError>(text), calls.map_err(|_| ())),
                            "{protocol:?} at {cut}, {end:?}: {stream}"
                        );
                    }
                }
            }
        }
        assert!(two > 10_000 && off > 30_000, "{two} {off}");
    }
}
