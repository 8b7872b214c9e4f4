//! Content that is not only text: what is text is read, what is known not to be is left out, and what may be is an error.

use super::*;

/// What content makes of an answer.
#[derive(Debug, Clone, PartialEq)]
enum Came {
    Text(&'static str),
    /// This text, and a warning that names the type of what was left out.
    Without(&'static str, &'static str),
    Refused,
    Error,
}

/// Content in its streamed and in its whole form, where the protocol has such content.
fn forms(protocol: Protocol, content: &Json) -> Option<(Vec<Json>, Json)> {
    let is_list = content.is_array();
    let list = if is_list { content.clone() } else { json!([content]) };
    Some(match protocol {
        Protocol::Chat => (
            vec![json!({"choices": [{"index": 0, "delta": {"content": content}}]})],
            json!({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}),
        ),
        Protocol::Ollama => (
            vec![json!({"message": {"content": content}, "done": false})],
            json!({"message": {"content": content}, "done": true, "done_reason": "stop"}),
        ),
        Protocol::Cohere => (
            list.as_array()?
                .iter()
                .map(|part| json!({"type": "content-start", "index": 0, "delta": {"message": {"content": part}}}))
                .collect(),
            json!({"message": {"content": content}, "finish_reason": "COMPLETE"}),
        ),
        Protocol::Messages => (
            list.as_array()?
                .iter()
                .zip(0..)
                .map(|(block, at)| json!({"type": "content_block_start", "index": at, "content_block": block}))
                .collect(),
            json!({"content": list, "stop_reason": "end_turn"}),
        ),
        Protocol::Responses => {
            let item = json!({"type": "message", "content": list});
            let whole = json!({"status": "completed", "output": [item]});
            (vec![json!({"type": "response.output_item.done", "output_index": 0, "item": item})], whole)
        }
        Protocol::Gemini => (
            vec![json!({"candidates": [{"content": {"parts": list}}]})],
            json!({"candidates": [{"content": {"parts": list}, "finishReason": "STOP"}]}),
        ),
    })
}

fn came(answer: Result<ModelAnswer, ModelError>) -> (String, Vec<String>, bool) {
    match answer {
        Ok(answer) => {
            let told = answer.doubts.iter().map(|doubt| match doubt {
                AnswerDoubt::LeftOut(what) => what.clone(),
                other => panic!("{other:?}"),
            });
            (answer.text, told.collect(), answer.finish == Some(trefoil_runtime::FinishReason::Refused))
        }
        Err(error) => {
            assert_eq!(error.kind, ModelErrorKind::Protocol, "{error:?}");
            assert!(error.message.ends_with("so its answer cannot be read"), "{}", error.message);
            (error.message, vec!["error".to_owned()], false)
        }
    }
}

#[test]
fn no_content_is_left_out_in_silence() {
    use Came::{Error, Refused, Text, Without};
    let table = [
        (json!("one"), Text("one")),
        (json!(null), Text("")),
        (json!([]), Text("")),
        (json!({}), Text("")),
        (json!(["one", " two"]), Text("one two")),
        (json!([{"type": "text", "text": "one"}, {"type": "output_text", "text": " two"}]), Text("one two")),
        (json!([{"text": "one", "annotations": []}, {"text": " two"}]), Text("one two")),
        (json!({"type": "text", "text": {"value": "one", "annotations": []}}), Text("one")),
        (json!({"type": "text", "text": null}), Text("")),
        // Thoughts, calls, and what the text refers to.
        (json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "one"}]), Text("one")),
        (json!([{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "one"}]), Text("one")),
        (json!([{"type": "reasoning", "summary": []}, {"type": "text", "text": "one"}]), Text("one")),
        (json!([{"thought": true, "text": "hm"}, {"text": "one"}]), Text("one")),
        (json!([{"type": "text", "text": "one"}, {"type": "reference", "reference_ids": [1]}]), Text("one")),
        (json!([{"type": "server_tool_use", "name": "s", "input": {}}, {"type": "text", "text": "one"}]), Text("one")),
        (
            json!([{"type": "web_search_tool_result", "content": [{"a": 1}]}, {"type": "text", "text": "one"}]),
            Text("one"),
        ),
        // What is not text is named.
        (json!([{"text": "one"}, {"type": "image_url", "image_url": {"url": "x"}}]), Without("one", "image_url")),
        (json!([{"type": "image", "source": {"data": "x"}}, {"text": "one"}]), Without("one", "image")),
        (json!([{"text": "one"}, {"inlineData": {"data": "x"}}]), Without("one", "inlineData")),
        (json!([{"text": "one"}, {"type": "something_new", "number": 1}]), Without("one", "something_new")),
        (json!([{"text": "one"}, {"something_new": 1}]), Without("one", "something_new")),
        (json!([{"text": "one"}, {"type": "audio", "transcript": "x"}]), Without("one", "audio")),
        // What may be text is not lost.
        (json!([{"text": "one"}, {"type": "something_new", "text": "two"}]), Error),
        (json!([{"text": "one"}, {"type": "something_new", "content": [{"text": "two"}]}]), Error),
        (json!([{"text": "one"}, {"something_new": "two"}]), Error),
        (json!([{"text": "one"}, {"something_new": {"text": "two"}}]), Error),
        (json!([{"type": "text", "text": 7}]), Error),
        (json!([{"type": "text", "text": ["one"]}]), Error),
        (json!([{"text": "one"}, 7]), Error),
        (json!(7), Error),
        (json!(true), Error),
        (json!([{"type": "refusal", "refusal": "no"}]), Refused),
    ];
    let mut tried = 0;
    for protocol in PROTOCOLS {
        for (content, expected) in &table {
            let (mut events, whole) = forms(protocol, content).unwrap();
            // A refusal is a part of the content in these protocols only.
            if *expected == Refused && !matches!(protocol, Protocol::Chat | Protocol::Responses) {
                continue;
            }
            events.extend(act(protocol, Act::Reason, 9).map(|event| json_of(&event)));
            let stream: String = events.iter().map(|event| encode_event(protocol, event)).collect();
            let stream = stream + &act(protocol, Act::Last, 9).unwrap_or_default();
            for answer in [
                read(protocol, &[stream.as_bytes()], End::Body, &names(&[])),
                read_whole(protocol, &whole, &names(&[])),
            ] {
                // What ends without any content may be no answer.
                if matches!(expected, Text("")) {
                    assert!(answer.is_err() || came(answer).1.is_empty(), "{protocol:?} {content}");
                    continue;
                }
                let said = came(answer);
                let named = |kind: &str| vec![format!("a part of the type `{kind}`")];
                let is_right = match expected {
                    Text(text) => said == ((*text).to_owned(), vec![], false),
                    Without(text, kind) => said == ((*text).to_owned(), named(kind), false),
                    Refused => said == ("no".to_owned(), vec![], true),
                    Error => said.1 == ["error"],
                };
                assert!(is_right, "{protocol:?} {content}: {expected:?} {said:?}");
                tried += 1;
            }
        }
    }
    assert!(tried > 300, "{tried}");
}

#[test]
fn pieces_of_an_unknown_type_with_text_are_an_error() {
    let piece = |delta: Json| json!({"type": "content_block_delta", "index": 0, "delta": delta});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}});
    let table = [
        (json!({"type": "text_delta", "text": "one"}), Ok("one")),
        (json!({"text": "one"}), Ok("one")),
        (json!({"type": "citations_delta", "citation": {"cited_text": "x"}}), Ok("")),
        (json!({"type": "signature_delta", "signature": "x"}), Ok("")),
        (json!({"type": "compaction_delta", "content": "what was said before"}), Ok("")),
        (json!({"type": "strange_delta", "text": "one"}), Err(())),
        (json!({"type": "text_delta", "text": 7}), Err(())),
    ];
    for (delta, expected) in table {
        let stream: String =
            [piece(delta.clone()), end.clone()].iter().map(|event| encode_event(Protocol::Messages, event)).collect();
        let answer = read(Protocol::Messages, &[stream.as_bytes()], End::Body, &names(&[]));
        assert_eq!(answer.map(|answer| answer.text).map_err(|_| ()), expected.map(str::to_owned), "{delta}");
    }
    // Items of the Responses API.
    let text = json!({"type": "message", "content": [{"type": "output_text", "text": "one"}]});
    for (item, told) in [
        (json!({"type": "web_search_call", "id": "w", "status": "completed"}), None),
        (json!({"type": "image_generation_call", "result": "x"}), Some("image_generation_call")),
        (json!({"type": "mcp_approval_request", "name": "x"}), Some("mcp_approval_request")),
        (json!({"type": "something_new", "id": "s"}), Some("something_new")),
    ] {
        let whole = json!({"status": "completed", "output": [item, text]});
        let told: Vec<String> = told.into_iter().map(|kind| format!("a part of the type `{kind}`")).collect();
        assert_eq!(
            came(read_whole(Protocol::Responses, &whole, &names(&[]))),
            ("one".to_owned(), told, false),
            "{item}"
        );
    }
    let strange = json!({"status": "completed", "output": [{"type": "something_new", "text": "two"}, text]});
    assert!(read_whole(Protocol::Responses, &strange, &names(&[])).is_err());
}

#[test]
fn calls_that_nobody_asked_for_are_named() {
    for protocol in PROTOCOLS {
        let stream: String = [Act::Text, Act::Call, Act::Reason, Act::Last]
            .into_iter()
            .filter_map(|one| act(protocol, one, 0))
            .collect();
        let answer = read(protocol, &[stream.as_bytes()], End::Body, &names(&[])).unwrap();
        let told = AnswerDoubt::LeftOut("a tool call that nobody asked for".to_owned());
        assert_eq!((&*answer.text, answer.calls.len(), answer.doubts), ("<0>", 0, vec![told]), "{protocol:?}");
    }
}

#[test]
fn text_at_another_place_is_read_or_named_or_an_error() {
    let named = |what: &str| Ok(("one".to_owned(), vec![what.to_owned()]));
    let plain = |text: &str| Ok((text.to_owned(), Vec::new()));
    let event = |kind: &str| format!("text in an event of the type `{kind}`");
    let table = [
        (
            Protocol::Responses,
            json!({"type": "response.something.delta", "delta": "two"}),
            named(&event("response.something.delta")),
        ),
        (Protocol::Responses, json!({"type": "response.reasoning_text.delta", "delta": "hm"}), plain("one")),
        (Protocol::Responses, json!({"type": "response.audio.transcript.delta", "delta": "hm"}), plain("one")),
        (Protocol::Responses, json!({"type": "response.output_text.delta", "delta": {"text": "two"}}), plain("onetwo")),
        (Protocol::Responses, json!({"type": "response.output_text.delta", "delta": 7}), Err(())),
        (Protocol::Messages, json!({"type": "something_new", "text": "two"}), named(&event("something_new"))),
        (Protocol::Messages, json!({"type": "something_new", "data": {"text": "two"}}), plain("one")),
        (Protocol::Cohere, json!({"type": "content-delta", "delta": {"text": "two"}}), named(&event("content-delta"))),
        (Protocol::Cohere, json!({"type": "content-delta", "delta": {"message": {"content": "two"}}}), plain("onetwo")),
        (
            Protocol::Cohere,
            json!({"type": "citation-start", "delta": {"message": {"citations": {"text": "one"}}}}),
            plain("one"),
        ),
        (Protocol::Gemini, json!({"candidates": [{"content": "two"}]}), plain("onetwo")),
        (Protocol::Gemini, json!({"candidates": [{"content": {"role": "model"}}]}), plain("one")),
        (Protocol::Chat, json!({"choices": [{"delta": "two"}]}), Err(())),
        (Protocol::Chat, json!({"choices": [{"message": "two"}]}), Err(())),
        (Protocol::Chat, json!({"choices": [{"delta": {"text": "two"}}]}), named("a part of the type `text`")),
        (
            Protocol::Chat,
            json!({"choices": [{"delta": {"images": [{"url": "x"}]}}]}),
            named("a part of the type `images`"),
        ),
        (
            Protocol::Chat,
            json!({"choices": [{"delta": {"audio": {"data": "x"}}}]}),
            named("a part of the type `audio`"),
        ),
        (Protocol::Chat, json!({"choices": [{"delta": {"audio": null, "images": [], "text": ""}}]}), plain("one")),
        (Protocol::Chat, json!({"choices": [{"delta": {"content": [{"type": "tool_use", "name": "echo"}]}}]}), Err(())),
        (
            Protocol::Cohere,
            json!({"type": "content-start", "delta": {"message": {"content": {"type": "tool_use"}}}}),
            Err(()),
        ),
        (Protocol::Ollama, json!({"message": {"content": [{"type": "tool_call"}]}, "done": false}), Err(())),
        (Protocol::Ollama, json!({"message": "two", "done": false}), Err(())),
        (Protocol::Ollama, json!({"message": null, "done": false}), plain("one")),
    ];
    for (protocol, event, expected) in table {
        let text = act(protocol, Act::Text, 0).unwrap().replace("<0>", "one");
        let end: String = [Act::Reason, Act::Last].into_iter().filter_map(|one| act(protocol, one, 9)).collect();
        let stream = text + &encode_event(protocol, &event) + &end;
        let answer = read(protocol, &[stream.as_bytes()], End::Body, &names(&[]));
        let came = answer.map(|answer| came(Ok(answer))).map(|(text, told, _)| (text, told)).map_err(|_| ());
        assert_eq!(came, expected, "{protocol:?} {event}");
    }
    // Some gateways put the start of the text into the first event.
    let start = json!({"type": "message_start", "message": {"content": [{"type": "text", "text": "on"}]}});
    let stream = encode_event(Protocol::Messages, &start)
        + &act(Protocol::Messages, Act::Text, 0).unwrap().replace("<0>", "e")
        + &act(Protocol::Messages, Act::Reason, 0).unwrap();
    assert_eq!(read(Protocol::Messages, &[stream.as_bytes()], End::Body, &names(&[])).unwrap().text, "one");
}
