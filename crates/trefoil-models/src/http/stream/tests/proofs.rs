//! What proves that all of an answer has arrived, where a finish reason alone does not.

use trefoil_runtime::FinishReason;

use super::*;

/// An event with this text and this reason, of one choice.
fn of_choice(protocol: Protocol, at: u64, text: &str, reason: Option<&str>) -> Json {
    match protocol {
        Protocol::Gemini => {
            let parts = if text.is_empty() { json!([]) } else { json!([{"text": text}]) };
            json!({"candidates": [{"index": at, "content": {"parts": parts}, "finishReason": reason}]})
        }
        _ => json!({"choices": [{"index": at, "delta": {"content": text}, "finish_reason": reason}]}),
    }
}

fn events(protocol: Protocol, all: &[Json]) -> String {
    all.iter().map(|event| encode_event(protocol, event)).collect()
}

#[test]
fn a_reason_in_every_piece_needs_an_end_that_is_no_closed_connection() {
    let done = "data: [DONE]\n\n";
    let mut tried = 0;
    for protocol in [Protocol::Chat, Protocol::Gemini] {
        for count in 1..5 {
            let pieces: Vec<Json> = (0..count).map(|_| of_choice(protocol, 0, "one ", Some("stop"))).collect();
            for ends in [
                events(protocol, &pieces),
                events(protocol, &pieces) + &events(protocol, &[of_choice(protocol, 0, "", Some("stop"))]),
            ] {
                let [body, closed] =
                    [End::Body, End::Closed].map(|end| read(protocol, &[ends.as_bytes()], end, &names(&[])));
                assert_eq!(body.unwrap().text, "one ".repeat(count), "{protocol:?}");
                let error = closed.unwrap_err();
                assert_eq!(error.kind, ModelErrorKind::Network, "{protocol:?} {ends}");
                let marked = ends + done;
                let closed = read(protocol, &[marked.as_bytes()], End::Closed, &names(&[]));
                assert_eq!(closed.map(|answer| answer.text).ok(), Some("one ".repeat(count)), "{protocol:?}");
                tried += 1;
            }
        }
        // Only the last piece has a reason.
        let [one, two] = [None, Some("stop")].map(|reason| of_choice(protocol, 0, "one ", reason));
        for all in
            [vec![one.clone(), two.clone()], vec![one.clone(), one.clone(), of_choice(protocol, 0, "", Some("stop"))]]
        {
            let closed = read(protocol, &[events(protocol, &all).as_bytes()], End::Closed, &names(&[]));
            assert_eq!(closed.unwrap().text, "one one ", "{protocol:?}");
            tried += 1;
        }
        // A reason that was taken back proves nothing when it comes again.
        for all in [vec![one.clone(), two.clone(), one.clone(), two.clone()], vec![one.clone(), two.clone(), two]] {
            let closed = read(protocol, &[events(protocol, &all).as_bytes()], End::Closed, &names(&[]));
            assert!(closed.is_err(), "{protocol:?} {closed:?}");
            tried += 1;
        }
    }
    assert_eq!(tried, 2 * (4 * 2 + 4));
}

#[test]
fn each_choice_with_a_part_of_the_answer_needs_an_end_of_its_own() {
    let mut tried = 0;
    for protocol in [Protocol::Chat, Protocol::Gemini] {
        let text = |at: u64| of_choice(protocol, at, if at == 0 { "one" } else { "uno" }, None);
        let end = |at: u64, word: &str| of_choice(protocol, at, "", Some(word));
        let call = |at: u64| match protocol {
            Protocol::Gemini => {
                let part = json!({"functionCall": {"name": "echo", "args": {}}});
                json!({"candidates": [{"index": at, "content": {"parts": [part]}}]})
            }
            _ => {
                let call = json!({"index": 0, "id": "A", "function": {"name": "echo", "arguments": "{}"}});
                json!({"choices": [{"index": at, "delta": {"tool_calls": [call]}}]})
            }
        };
        let table = [
            ("the end of another choice", vec![text(0), text(1), end(1, "stop")], None),
            ("of one that has nothing", vec![text(0), end(1, "stop")], None),
            ("its own", vec![text(0), text(1), end(0, "stop")], Some(("one", FinishReason::Stop, 0))),
            (
                "what cut the other",
                vec![text(0), text(1), end(0, "stop"), end(1, "length")],
                Some(("one", FinishReason::Stop, 0)),
            ),
            (
                "what cut it",
                vec![text(0), text(1), end(0, "length"), end(1, "stop")],
                Some(("one", FinishReason::Length, 0)),
            ),
            (
                "calls in another",
                vec![text(0), call(1), end(0, "stop"), end(1, "stop")],
                Some(("one", FinishReason::Tools, 1)),
            ),
            ("of the calls only", vec![text(0), call(1), end(1, "stop")], None),
            ("of the text only", vec![text(0), call(1), end(0, "stop")], None),
            ("more after it", vec![text(0), call(1), end(0, "stop"), end(1, "stop"), text(0), end(1, "stop")], None),
            (
                "all ends before",
                vec![text(0), end(0, "stop"), call(1), end(1, "stop")],
                Some(("one", FinishReason::Tools, 1)),
            ),
            ("nothing but an end", vec![end(1, "stop")], Some(("", FinishReason::Stop, 0))),
        ];
        for (name, all, expected) in table {
            let answer = read(protocol, &[events(protocol, &all).as_bytes()], End::Body, &names(&["echo"]));
            let came = answer.as_ref().ok().map(|answer| (&*answer.text, answer.finish.unwrap(), answer.calls.len()));
            assert_eq!(came, expected, "{protocol:?} {name}: {answer:?}");
            let is_second = all.iter().any(|event| event.to_string().contains("uno"));
            if let Ok(answer) = &answer {
                let told = AnswerDoubt::LeftOut("text of a second answer".to_owned());
                assert_eq!(answer.doubts, if is_second { vec![told] } else { vec![] }, "{protocol:?} {name}");
            }
            tried += 1;
        }
    }
    assert_eq!(tried, 22);
    let many: Vec<Json> = (0..200).map(|at| of_choice(Protocol::Chat, at, "", Some("stop"))).collect();
    assert!(read(Protocol::Chat, &[events(Protocol::Chat, &many).as_bytes()], End::Body, &names(&[])).is_err());
}

#[test]
fn a_second_answer_within_the_first_is_an_error() {
    let mut tried = 0;
    for (protocol, start) in [
        (Protocol::Messages, json!({"type": "message_start", "message": {"id": "m", "model": "m", "content": []}})),
        (Protocol::Cohere, json!({"type": "message-start", "id": "m", "delta": {"message": {"role": "assistant"}}})),
        (Protocol::Responses, json!({"type": "response.created", "response": {"id": "m", "status": "in_progress"}})),
    ] {
        let start = encode_event(protocol, &start);
        let [text, call] = [Act::Text, Act::Call].map(|one| act(protocol, one, 0).unwrap());
        let reason = act(protocol, Act::Reason, 1).unwrap_or_default();
        let end = reason.clone() + &act(protocol, Act::Last, 1).unwrap();
        for first in [&text, &call, &(text.clone() + &reason)] {
            let twice = format!("{start}{first}{start}{text}{end}");
            let error = read(protocol, &[twice.as_bytes()], End::Body, &names(&["echo"])).unwrap_err();
            assert_eq!(error.kind, ModelErrorKind::Network);
            assert!(error.message.ends_with("began a second answer within the first one"), "{}", error.message);
            tried += 1;
        }
        // Nothing is mixed if nothing has arrived before.
        let answer = read(protocol, &[format!("{start}{start}{text}{end}").as_bytes()], End::Body, &names(&[]));
        assert_eq!(answer.unwrap().text, "<0>", "{protocol:?}");
        let after = format!("{start}{text}{end}{start}{text}{end}");
        assert!(read(protocol, &[after.as_bytes()], End::Body, &names(&[])).is_err(), "{protocol:?}");
        tried += 2;
    }
    assert_eq!(tried, 15);
}

#[test]
fn what_follows_the_last_event_is_an_error_if_it_belongs_to_the_answer() {
    let names = names(&["echo"]);
    let mut tried = 0;
    for protocol in PROTOCOLS {
        let Some(last) = act(protocol, Act::Last, 1) else { continue };
        let start = act(protocol, Act::Text, 0).unwrap() + &act(protocol, Act::Reason, 0).unwrap_or_default() + &last;
        let late = [Act::Text, Act::Call, Act::Thought, Act::Both].into_iter().filter_map(|one| act(protocol, one, 2));
        let harmless =
            [Act::Counted, Act::Empty, Act::Reason, Act::Last].into_iter().filter_map(|one| act(protocol, one, 2));
        let garbage = ["data: {\"choi\n\n", "data: ok\n\n", "data: {\"a\": 1}\n\n", ": bye\n\n", "data: {\"tex"];
        let garbage =
            garbage.map(|text| if protocol == Protocol::Ollama { text.replace("data: ", "") } else { text.to_owned() });
        let garbage = garbage.into_iter().filter(|text| protocol != Protocol::Ollama || text.contains('{'));
        for rest in late {
            let error = read(protocol, &[(start.clone() + &rest).as_bytes()], End::Body, &names).unwrap_err();
            let said = "sent more of its answer after the end of it";
            assert!(error.kind == ModelErrorKind::Network && error.message.ends_with(said), "{protocol:?} {error:?}");
            tried += 1;
        }
        let failure = act(protocol, Act::Failure, 2).unwrap();
        assert!(read(protocol, &[(start.clone() + &failure).as_bytes()], End::Body, &names).is_err(), "{protocol:?}");
        for rest in harmless.chain(garbage) {
            let answer = read(protocol, &[(start.clone() + &rest).as_bytes()], End::Body, &names);
            assert_eq!(answer.map(|answer| answer.text), Ok("<0>".to_owned()), "{protocol:?} {rest}");
            tried += 1;
        }
    }
    assert_eq!(tried, 48);
}

#[test]
fn a_call_that_was_announced_and_never_sent_is_missing() {
    let announced = |protocol: Protocol| match protocol {
        Protocol::Chat => {
            json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "A", "type": "function"}]}}]})
        }
        Protocol::Messages => {
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "A"}})
        }
        Protocol::Responses => {
            json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "function_call", "call_id": ""}})
        }
        Protocol::Gemini => json!({"candidates": [{"content": {"parts": [{"functionCall": {}}]}}]}),
        Protocol::Cohere => {
            json!({"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": {"id": "A"}}}})
        }
        Protocol::Ollama => json!({"message": {"content": "", "tool_calls": [{"function": {}}]}, "done": false}),
    };
    for protocol in PROTOCOLS {
        let end: String = [Act::Reason, Act::Last].into_iter().filter_map(|one| act(protocol, one, 9)).collect();
        for text in [act(protocol, Act::Text, 0).unwrap(), String::new()] {
            let stream = text + &encode_event(protocol, &announced(protocol)) + &end;
            let error = read(protocol, &[stream.as_bytes()], End::Body, &names(&["echo"])).unwrap_err();
            assert!(
                matches!(error.kind, ModelErrorKind::Network | ModelErrorKind::Status(503)),
                "{protocol:?} {error:?}"
            );
        }
    }
}
