//! Events that are not pieces of an answer: errors in the form of any server, signs of life, and what says that an answer
//! is not whole.

use trefoil_runtime::FinishReason;

use super::*;

/// Errors, with their words.
fn errors() -> Vec<(Json, &'static str)> {
    vec![
        (json!({"type": "server_error", "message": "boom", "code": 500}), "boom"),
        (json!({"type": "overloaded_error", "message": "boom"}), "boom"),
        (json!({"__type": "ThrottlingException", "message": "boom"}), "boom"),
        (json!({"code": 500, "msg": "boom"}), "boom"),
        (json!({"code": "E42", "message": "boom"}), "boom"),
        (json!({"error_code": 336_100, "error_msg": "boom"}), "boom"),
        (json!({"errcode": 40_001, "errmsg": "boom"}), "boom"),
        (json!({"base_resp": {"status_code": 1013, "status_msg": "boom"}}), "boom"),
        (json!({"success": false, "errors": [{"code": 7000, "message": "boom"}]}), "boom"),
        (json!({"success": false}), "success"),
        (json!({"errors": ["boom"]}), "boom"),
        (json!({"detail": [{"msg": "boom"}]}), "boom"),
        (json!({"detail": "boom"}), "boom"),
        (json!({"status": "failed", "reason": "boom"}), "boom"),
        (json!({"status": 502}), "502"),
        (json!({"error": "boom"}), "boom"),
        (json!({"error": {"message": "boom", "code": 500}}), "boom"),
        (json!([{"error": {"message": "boom", "code": 503}}]), "boom"),
        (json!({"choices": [{"index": 0, "delta": {"error": {"message": "boom"}}}]}), "boom"),
        (json!({"choices": [{"index": 0, "delta": {}}, {"index": 1, "error": {"message": "boom"}}]}), "boom"),
        (json!({"choices": [{"index": 0, "message": {"error": {"message": "boom"}}}]}), "boom"),
        // No error that anyone knows, but no event of any protocol either.
        (json!({"reason": "boom"}), "boom"),
        (json!("boom"), "boom"),
        (json!(502), "502"),
        (json!(["boom"]), "boom"),
    ]
}

/// The events that end an answer.
fn end(protocol: Protocol) -> String {
    [Act::Reason, Act::Last].into_iter().filter_map(|one| act(protocol, one, 9)).collect()
}

#[test]
fn an_event_that_is_not_of_the_protocol_ends_the_call_with_its_words() {
    let names = names(&["echo"]);
    let mut tried = 0;
    for protocol in PROTOCOLS {
        let [text, call] = [Act::Text, Act::Call].map(|one| act(protocol, one, 0).unwrap());
        let reason = act(protocol, Act::Reason, 1).unwrap_or_default();
        for (error, words) in errors() {
            let event = encode_event(protocol, &error);
            for start in [text.clone(), call.clone(), text.clone() + &reason, call.clone() + &reason] {
                let stream = format!("{start}{event}{}", end(protocol));
                for cut in [0, start.len(), start.len() + 1, start.len() + event.len() - 1, stream.len()] {
                    let (first, second) = stream.as_bytes().split_at(cut);
                    let told = read(protocol, &[first, second], End::Body, &names).unwrap_err();
                    assert!(told.message.contains(words), "{protocol:?} {error}: {}", told.message);
                    tried += 1;
                }
            }
        }
    }
    assert_eq!(tried, 6 * 25 * 4 * 5);
}

#[test]
fn events_that_say_nothing_about_the_answer_change_nothing() {
    let names = names(&[]);
    let everywhere = [
        "data: {}\n\n",
        "data: null\n\n",
        "data:\n\n",
        ": OPENROUTER PROCESSING\n\n",
        "event: ping\ndata: {\"time\": 1}\n\n",
        "data: {\"type\": \"keepalive\", \"sequence_number\": 7}\n\n",
        "event: heartbeat\ndata: {}\n\n",
        "retry: 3000\n\n",
        "id: 7\n\n",
    ];
    let chat = [
        json!({"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}),
        json!({"prompt_filter_results": [], "id": "", "model": ""}),
        json!({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}),
        json!({"object": "chat.completion.chunk", "choices": null}),
        json!({"usage": {"prompt_tokens": 5, "completion_tokens": 3}}),
        json!({"x_groq": {"id": "r"}}),
        json!({"obfuscation": "abc"}),
        json!({"timings": {"prompt_n": 1}}),
        json!({"hook_results": {"before_request_hooks": [{"verdict": true}]}}),
        json!({"sources": [{"source": {"name": "a page"}, "document": ["a text"]}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": null}], "base_resp": {"status_code": 0, "status_msg": ""}}),
        json!({"choices": [], "code": 0, "msg": "ok", "success": true}),
    ];
    // Clients must ignore types that they do not know.
    let typed = [
        json!({"type": "ping"}),
        json!({"type": "something_new", "data": {"a": 1}}),
        json!({"type": "response.something.new", "error": null, "code": "import os"}),
        json!({"type": "notice", "message": "The model is busy."}),
    ];
    let gemini = [json!({"responseId": "r"}), json!({"modelVersion": "m"}), json!({"usageMetadata": {}})];
    let ollama = [json!({"model": "m", "created_at": "now", "done": false}), json!({"created_at": "now"}), json!({})];
    let mut tried = 0;
    for protocol in PROTOCOLS {
        let own: &[Json] = match protocol {
            Protocol::Chat => &chat,
            Protocol::Responses | Protocol::Messages | Protocol::Cohere => &typed,
            Protocol::Gemini => &gemini,
            Protocol::Ollama => &ollama,
        };
        let mut all: Vec<String> = own.iter().map(|event| encode_event(protocol, event)).collect();
        all.extend(everywhere.iter().filter(|_| protocol != Protocol::Ollama).map(|event| (*event).to_owned()));
        let text = [0, 1].map(|at| act(protocol, Act::Text, at).unwrap());
        for event in all {
            let parts = [&text[0], &text[1], &end(protocol)];
            for at in 0..3 {
                let stream: String =
                    (0..3).flat_map(|i| [if i == at { &event } else { "" }, parts[i].as_str()]).collect();
                for end in [End::Body, End::Silence] {
                    if end == End::Silence && protocol == Protocol::Gemini {
                        continue;
                    }
                    let answer = read(protocol, &[stream.as_bytes()], end, &names);
                    assert_eq!(answer.map(|answer| answer.text), Ok("<0><1>".into()), "{protocol:?} {event} at {at}");
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 300, "{tried}");
}

/// Reads a stream of these events.
fn events(protocol: Protocol, all: &[Json], tail: &str) -> Result<ModelAnswer, ModelError> {
    let stream: String = all.iter().map(|event| encode_event(protocol, event)).chain([tail.to_owned()]).collect();
    read(protocol, &[stream.as_bytes()], End::Body, &names(&["echo"]))
}

/// What came of a stream: its text and finish, or the kind of its error.
fn outcome(answer: Result<ModelAnswer, ModelError>) -> String {
    match answer {
        Ok(answer) => format!("{} {:?}", answer.text, answer.finish),
        Err(error) => format!("{:?}", error.kind),
    }
}

#[test]
fn the_type_of_the_last_event_and_the_status_of_a_response_must_agree() {
    let text = json!({"type": "response.output_text.delta", "delta": "one"});
    let statuses =
        ["completed", "incomplete", "failed", "cancelled", "in_progress", "queued", "something_new", "", "-"];
    let mut tried = 0;
    for kind in ["completed", "incomplete", "failed", "cancelled"] {
        for status in statuses {
            let mut response = json!({"status": status, "output": []});
            if status == "-" {
                response.as_object_mut().unwrap().remove("status");
            }
            let expected = match (kind, status) {
                ("failed", _) => "Status(503)",
                ("cancelled", _) => "Status(503)",
                (_, "failed" | "cancelled") => "Status(503)",
                (_, "in_progress" | "queued") => "Network",
                ("incomplete", _) | (_, "incomplete") => "one Some(Length)",
                // What it means is not known.
                (_, "something_new") => "one None",
                _ => "one Some(Stop)",
            };
            let last = json!({"type": format!("response.{kind}"), "response": response});
            assert_eq!(outcome(events(Protocol::Responses, &[text.clone(), last], "")), expected, "{kind} {status}");
            tried += 1;
        }
        let bare = json!({"type": format!("response.{kind}")});
        let whole = outcome(events(Protocol::Responses, &[text.clone(), bare], ""));
        assert_eq!(whole == "one Some(Stop)", kind == "completed", "{kind}: {whole}");
        let item =
            json!({"type": "message", "status": "incomplete", "content": [{"type": "output_text", "text": "one"}]});
        let last = json!({"type": format!("response.{kind}"), "response": {"status": kind, "output": [item]}});
        assert_ne!(outcome(events(Protocol::Responses, &[text.clone(), last], "")), "one Some(Stop)", "{kind}");
        tried += 2;
    }
    assert_eq!(tried, 44);
}

#[test]
fn a_whole_response_replaces_pieces_of_which_some_were_lost() {
    let piece = |text: &str| json!({"type": "response.output_text.delta", "delta": text});
    let table = [
        (vec!["one-", "two-", "three"], "one-two-three", "one-two-three", false),
        (vec!["one-"], "one-two-three", "one-two-three", false),
        (vec![], "one-two-three", "one-two-three", false),
        (vec!["one-", "two"], "", "one-two", false),
        // Only spaces differ.
        (vec!["one-", "two\n"], "one-two", "one-two", false),
        (vec!["one-", "\u{1f31e}"], "one-\u{1f31e}", "one-\u{1f31e}", false),
        (vec!["one-", "three"], "one-two-three", "one-two-three", true),
        (vec!["two-", "three"], "one-two-three", "one-two-three", true),
        (vec!["one-", "two-"], "one-", "one-", true),
        (vec!["one-", "two-"], "four", "four", true),
    ];
    for (pieces, whole, expected, is_doubtful) in table {
        let output = match whole {
            "" => json!([]),
            _ => json!([{"type": "message", "content": [{"type": "output_text", "text": whole}]}]),
        };
        let last = json!({"type": "response.completed", "response": {"status": "completed", "output": output}});
        let done = json!({"type": "response.output_text.done", "text": whole});
        let without = json!({"type": "response.completed", "response": {"status": "completed", "output": []}});
        for rest in [vec![last], vec![done, without]] {
            let all: Vec<Json> = pieces.iter().map(|text| piece(text)).chain(rest).collect();
            let answer = events(Protocol::Responses, &all, "").unwrap();
            let doubts = if is_doubtful { vec![AnswerDoubt::Replaced] } else { vec![] };
            assert_eq!((&*answer.text, answer.doubts), (expected, doubts), "{all:?}");
        }
    }
}

#[test]
fn a_whole_answer_in_a_stream_is_read_as_if_it_were_not_streamed() {
    const DONE: &str = "data: [DONE]\n\n";
    let chunk = |choice: Json| json!({"choices": [choice]});
    let stop = chunk(json!({"index": 0, "delta": {}, "finish_reason": "stop"}));
    let of = |content: Json| {
        chunk(json!({"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}))
    };
    let delta = |content: Json| chunk(json!({"index": 0, "delta": {"content": content}}));
    let call = json!({"id": "A", "type": "function", "function": {"name": "echo", "arguments": ""}});
    let contents = [
        json!("whole"),
        json!({"text": "whole"}),
        json!({"type": "text", "text": "whole"}),
        json!(["who", {"text": "le"}]),
        json!([{"type": "text", "text": "who"}, {"type": "thinking", "thinking": []}, {"type": "text", "text": "le"}]),
        json!([{"type": "output_text", "text": "whole"}]),
    ];
    for content in contents {
        assert_eq!(outcome(events(Protocol::Chat, &[of(content.clone())], DONE)), "whole Some(Stop)", "{content}");
        assert_eq!(outcome(events(Protocol::Chat, &[delta(content.clone()), stop.clone()], DONE)), "whole Some(Stop)");
        let json = of(content);
        let whole = model(Protocol::Chat).endpoint.read_answer(&json).unwrap();
        assert_eq!(whole.text, "whole", "{json}");
    }
    let older = |text: &str| chunk(json!({"index": 0, "text": text, "finish_reason": null}));
    assert_eq!(outcome(events(Protocol::Chat, &[older("ha"), older("ha"), stop.clone()], DONE)), "haha Some(Stop)");
    // Beside pieces, or after them, it repeats what they have brought.
    let both = |text: &str, more: &str| {
        chunk(json!({"index": 0, "message": {"content": text}, "delta": {"content": more}, "finish_reason": null}))
    };
    let pieces = [both("who", "who"), both("whole", "le"), of(json!("whole"))];
    assert_eq!(outcome(events(Protocol::Chat, &pieces, DONE)), "whole Some(Stop)");
    // What only the last one has is not lost.
    let mut last = both("whole and more", "");
    last["choices"][0]["finish_reason"] = json!("stop");
    assert_eq!(outcome(events(Protocol::Chat, &[both("whole", "whole"), last], DONE)), "whole and more Some(Stop)");
    // Messages in a row are neither pieces nor the whole.
    let message = |text: &str| chunk(json!({"index": 0, "message": {"content": text}}));
    for texts in [["ha", "ha"], ["who", "le"]] {
        assert_eq!(outcome(events(Protocol::Chat, &texts.map(message), DONE)), "Protocol");
    }
    let calls =
        chunk(json!({"index": 0, "message": {"content": null, "tool_calls": [call]}, "finish_reason": "tool_calls"}));
    assert_eq!(events(Protocol::Chat, &[calls], DONE).unwrap().calls.len(), 1);
    let refusal = chunk(json!({"index": 0, "message": {"content": null, "refusal": "no"}, "finish_reason": "stop"}));
    assert_eq!(outcome(events(Protocol::Chat, &[refusal], DONE)), "no Some(Refused)");
}

#[test]
fn what_ends_without_a_reason_and_without_content_is_no_answer() {
    let done = "data: [DONE]\n\n";
    let role = json!({"choices": [{"index": 0, "delta": {"role": "assistant"}}]});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 0}});
    for all in [vec![role.clone()], vec![usage.clone()], vec![role, usage]] {
        let error = events(Protocol::Chat, &all, done).unwrap_err();
        assert_eq!(error.message, "`openai` ended its answer without an answer");
    }
    for (protocol, last) in [
        (Protocol::Messages, json!({"type": "message_stop"})),
        (Protocol::Cohere, json!({"type": "message-end", "delta": {}})),
        (Protocol::Ollama, json!({"done": true})),
    ] {
        assert_eq!(outcome(events(protocol, &[last], "")), "Network", "{protocol:?}");
    }
}

#[test]
fn of_several_finish_reasons_the_one_that_says_more_counts_and_unfinished_ones_are_errors() {
    let choice = |index: u64, word: &str| json!({"index": index, "delta": {}, "finish_reason": word});
    let text = json!({"choices": [{"index": 0, "delta": {"content": "one"}}]});
    let done = "data: [DONE]\n\n";
    for (words, finish) in [
        (["stop", "length"], FinishReason::Length),
        (["length", "stop"], FinishReason::Length),
        (["stop", "content_filter"], FinishReason::Filtered),
    ] {
        let together = json!({"choices": [choice(0, words[0]), choice(0, words[1])]});
        assert_eq!(events(Protocol::Chat, &[text.clone(), together], done).unwrap().finish, Some(finish), "{words:?}");
        let apart = words.map(|word| json!({"choices": [choice(0, word)]}));
        let [first, second] = apart;
        assert_eq!(
            events(Protocol::Chat, &[text.clone(), first, second], done).unwrap().finish,
            Some(finish),
            "{words:?}"
        );
    }
    let other = json!({"choices": [choice(0, "stop"), choice(1, "length")]});
    assert_eq!(events(Protocol::Chat, &[text.clone(), other], done).unwrap().finish, Some(FinishReason::Stop));
    let mut tried = 0;
    for word in [
        "error",
        "USER_CANCEL",
        "ERROR",
        "TIMEOUT",
        "pause_turn",
        "OTHER",
        "load",
        "unload",
        "cancelled",
        "canceled",
        "abort",
    ] {
        for protocol in [Protocol::Chat, Protocol::Messages, Protocol::Gemini, Protocol::Cohere, Protocol::Ollama] {
            let (piece, last) = (act(protocol, Act::Text, 0).unwrap(), reason(protocol, word));
            let stream = format!(
                "{piece}{}{}",
                encode_event(protocol, &last),
                if protocol == Protocol::Chat { done } else { "" }
            );
            assert!(read(protocol, &[stream.as_bytes()], End::Body, &names(&[])).is_err(), "{protocol:?} {word}");
            tried += 1;
        }
    }
    assert_eq!(tried, 55);
    assert_eq!(outcome(events(Protocol::Cohere, &[reason(Protocol::Cohere, "ERROR_LIMIT")], "")), " Some(Length)");
}

/// An event with a finish reason.
fn reason(protocol: Protocol, word: &str) -> Json {
    match protocol {
        Protocol::Chat => json!({"choices": [{"index": 0, "delta": {}, "finish_reason": word}]}),
        Protocol::Messages => json!({"type": "message_delta", "delta": {"stop_reason": word}}),
        Protocol::Gemini => json!({"candidates": [{"finishReason": word}]}),
        Protocol::Cohere => json!({"type": "message-end", "delta": {"finish_reason": word}}),
        Protocol::Ollama => json!({"message": {"content": ""}, "done": true, "done_reason": word}),
        Protocol::Responses => json!({"type": format!("response.{word}")}),
    }
}
