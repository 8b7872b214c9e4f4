//! Tool calls in pieces, as servers tear them.

use serde_json::{Value as Json, json};

use super::*;

/// The calls of a stream, as `name(arguments)`.
fn calls(protocol: Protocol, events: &[Json]) -> String {
    let end = [Act::Reason, Act::Last].into_iter().filter_map(|one| act(protocol, one, 0));
    called(protocol, &events.iter().map(|event| encode_event(protocol, event)).chain(end).collect::<String>())
}

/// The calls of this stream.
fn called(protocol: Protocol, stream: &str) -> String {
    match read(protocol, &[stream.as_bytes()], End::Body, &names(&["echo", "get_time", "get_date"])) {
        Ok(answer) => {
            let shown = |call: &trefoil_runtime::ModelToolCall| format!("{}({})", call.name, call.arguments.to_json());
            answer.calls.iter().map(shown).collect::<Vec<_>>().join(" ")
        }
        Err(error) => format!("{:?}", error.kind),
    }
}

const A: &str = r#"{"text":"a"}"#;
const B: &str = r#"{"text":"b"}"#;

/// A shape in each line: its name, the pieces of its calls (`INDEX/ID/NAME/ARGUMENTS`, `-`: missing, `~`: empty), and the
/// calls. `one` and `two` are calls of `echo` with [`A`], and with [`A`] and [`B`].
const SHAPES: &str = r#"as OpenAI: 0/A/echo/ 0/-/-/{"text": 0/-/-/"a"} => one
the name in every piece: 0/A/echo/ 0/-/echo/{"text": 0/-/echo/"a"} => one
id and name in every piece: 0/A/echo/ 0/A/echo/{"text": 0/A/echo/"a"} => one
the same without an index: -/A/echo/ -/A/echo/{"text": -/A/echo/"a"} => one
the name in every piece, no keys: -/-/echo/ -/-/echo/{"text": -/-/echo/"a"} => one
another id with the arguments: 0/A/echo/ 0/B/-/{"text": 0/B/-/"a"} => one
a new id in every piece: 0/A/echo/ 0/B/-/{"text": 0/C/-/"a"} => one
a new id and the name in every piece: 0/A/echo/ 0/B/echo/{"text": 0/C/echo/"a"} => one
another index for the arguments: 0/A/echo/ 1/-/-/{"text": 2/-/-/"a"} => one
another index and another id: 0/A/echo/ 1/B/-/{"text": 1/B/-/"a"} => one
the same id under other indexes: 0/A/echo/ 1/A/-/{"text": 2/A/-/"a"} => one
empty ids and names: 0/A/echo/ 0/~/~/{"text": 0/~/~/"a"} => one
the name last: 0/A/-/{"text": 0/-/-/"a"} 0/-/echo/ => one
the name last, without an index before: -/A/-/{"text": -/-/-/"a"} 0/-/echo/ => one
the name in parts: 0/A/ec/ 0/-/ho/ 0/-/-/{"text":"a"} => one
repeated as a whole: 0/A/echo/{"text": 0/-/-/"a"} 0/A/echo/{"text":"a"} => one
an empty piece afterwards: 0/A/echo/{"text":"a"} 0/-/-/ 1/~/-/ => one
an empty piece before: 0/-/-/ 0/A/echo/{"text":"a"} => one
two, interleaved: 0/A/echo/{"text" 1/B/echo/{"text" 0/-/-/:"a"} 1/-/-/:"b"} => two
two, all starts first: 0/A/echo/ 1/B/echo/ 0/-/-/{"text":"a"} 1/-/-/{"text":"b"} => two
two under one index: 0/A/echo/{"text":"a"} 0/B/echo/{"text":"b"} => two
two under one index, in pieces: 0/A/echo/{"text": 0/A/-/"a"} 0/B/echo/ 0/B/-/{"text":"b"} => two
two under one index, without ids: 0/-/echo/{"text":"a"} 0/-/echo/{"text":"b"} => two
two without any keys: -/-/echo/{"text":"a"} -/-/echo/{"text":"b"} => two
two without any keys, in pieces: -/-/echo/ -/-/-/{"text":"a"} -/-/echo/{"text": -/-/-/"b"} => two
two without indexes: -/A/echo/{"text": -/-/-/"a"} -/B/echo/{"text":"b"} => two
two without indexes, the ids in every piece: -/A/echo/ -/B/echo/ -/A/-/{"text":"a"} -/B/-/{"text":"b"} => two
two with one id: 0/A/echo/{"text":"a"} 1/A/echo/{"text":"b"} => two
two with one id, in pieces: 0/A/echo/ 1/A/echo/ 0/A/-/{"text":"a"} 1/A/-/{"text":"b"} => two
two, the arguments always under the first index: 0/A/echo/{"text":"a"} 1/B/echo/ 0/-/-/{"text":"b"} => two
two without arguments: 0/A/get_time/ 1/B/get_date/ => get_time({}) get_date({})
two without arguments under one index: 0/-/get_time/ 0/-/get_date/ => get_time({}) get_date({})
the same without arguments twice: 0/A/get_time/{} 0/B/get_time/{} => get_time({}) get_time({})
arguments encoded twice: 0/A/echo/"{\"te 0/-/-/xt\":\"a\"}" => one
torn arguments: 0/A/echo/{"text": => echo("{\"text\":")
torn arguments, then another: 0/A/echo/{"te 1/B/echo/{"text":"b"} => echo("{\"te") echo({"text":"b"})
only arguments: 0/A/-/{"text":"a"} => Status(503)
a call, then only arguments: 0/A/echo/{"text":"a"} 1/B/-/{"text":"b"} => Status(503)
announced, and nothing more: 0/A/-/ => Network
nothing at all: 0/~/-/ =>
an unknown name: 0/A/rm/{} => rm({})
"#;

/// Index, id, name, arguments.
type Piece<'a> = (Option<u64>, Option<&'a str>, Option<&'a str>, &'a str);

fn piece(text: &str) -> Piece<'_> {
    let mut fields = text.splitn(4, '/');
    let mut field = || match fields.next().unwrap() {
        "-" => None,
        "~" => Some(""),
        other => Some(other),
    };
    (field().map(|index| index.parse().unwrap()), field(), field(), field().unwrap_or_default())
}

#[test]
fn pieces_of_calls_find_their_calls_however_servers_count() {
    let one = r#"echo({"text":"a"})"#;
    let two = r#"echo({"text":"a"}) echo({"text":"b"})"#;
    let mut tried = 0;
    for shape in SHAPES.lines() {
        let (name, rest) = shape.split_once(": ").unwrap();
        let (pieces, expected) = rest.split_once(" =>").unwrap();
        let expected = match expected.trim() {
            "one" => one,
            "two" => two,
            other => other,
        };
        let pieces: Vec<Piece<'_>> = pieces.split(' ').map(piece).collect();
        let chat = |(index, id, name, arguments): &Piece<'_>| {
            let call = json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
            json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
        };
        let events: Vec<Json> = pieces.iter().map(chat).collect();
        assert_eq!(calls(Protocol::Chat, &events), expected, "{name}");
        // Several pieces in one event.
        let mut together = events[0].clone();
        let all: Vec<Json> = events.iter().map(|e| e["choices"][0]["delta"]["tool_calls"][0].clone()).collect();
        together["choices"][0]["delta"]["tool_calls"] = json!(all);
        assert_eq!(calls(Protocol::Chat, &[together]), expected, "{name}, in one event");
        let cohere = |(index, id, name, arguments): &Piece<'_>| {
            let kind = if name.is_some() { "tool-call-start" } else { "tool-call-delta" };
            let call = json!({"id": id, "function": {"name": name, "arguments": arguments}});
            json!({"type": kind, "index": index, "delta": {"message": {"tool_calls": call}}})
        };
        let events: Vec<Json> = pieces.iter().map(cohere).collect();
        assert_eq!(calls(Protocol::Cohere, &events), expected, "{name}, Cohere");
        tried += 3;
    }
    assert_eq!(tried, 123);
}

#[test]
fn arguments_that_are_no_text_are_not_lost() {
    let chat = |arguments: &Json| {
        let call = json!({"index": 0, "id": "A", "function": {"name": "echo", "arguments": arguments}});
        json!({"choices": [{"delta": {"tool_calls": [call]}}]})
    };
    let cohere = |arguments: &Json| {
        let call = json!({"id": "A", "function": {"name": "echo", "arguments": arguments}});
        json!({"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": call}}})
    };
    let responses = |arguments: &Json| {
        let item = json!({"type": "function_call", "call_id": "A", "name": "echo", "arguments": arguments});
        json!({"type": "response.output_item.done", "output_index": 0, "item": item})
    };
    let gemini = |arguments: &Json| json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": "echo", "args": arguments}}]}}]});
    let ollama = |arguments: &Json| json!({"message": {"content": "", "tool_calls": [{"function": {"name": "echo", "arguments": arguments}}]}, "done": false});
    let messages = |arguments: &Json| {
        let block = json!({"type": "tool_use", "id": "A", "name": "echo", "input": arguments});
        json!({"type": "content_block_start", "index": 0, "content_block": block})
    };
    type Event<'a> = &'a dyn Fn(&Json) -> Json;
    let faces: [(Protocol, Event<'_>); 6] = [
        (Protocol::Chat, &chat),
        (Protocol::Cohere, &cohere),
        (Protocol::Responses, &responses),
        (Protocol::Gemini, &gemini),
        (Protocol::Ollama, &ollama),
        (Protocol::Messages, &messages),
    ];
    let table = [
        (json!({"text": "a"}), r#"echo({"text":"a"})"#),
        (json!("{\"text\":\"a\"}"), r#"echo({"text":"a"})"#),
        (json!("\"{\\\"text\\\":\\\"a\\\"}\""), r#"echo({"text":"a"})"#),
        (json!(null), "echo({})"),
        (json!({}), "echo({})"),
        (json!(""), "echo({})"),
        (json!("\"\""), "echo({})"),
        (json!([1]), r#"echo("[1]")"#),
        (json!(7), r#"echo("7")"#),
        (json!("null"), r#"echo("null")"#),
    ];
    for (protocol, event) in faces {
        for (arguments, expected) in &table {
            assert_eq!(calls(protocol, &[event(arguments)]), *expected, "{protocol:?} {arguments}");
        }
    }
}

#[test]
fn blocks_of_anthropic_start_with_any_input() {
    let start = |input: Json| {
        let block = json!({"type": "tool_use", "id": "T", "name": "echo", "input": input});
        json!({"type": "content_block_start", "index": 1, "content_block": block})
    };
    let delta = |index: Json, part: Json| json!({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": part}});
    let one = r#"echo({"text":"a"})"#;
    for input in [json!({}), json!(null), json!(""), json!({"text": "stale"}), json!("{}")] {
        assert_eq!(calls(Protocol::Messages, &[start(input.clone()), delta(json!(1), json!(A))]), one, "{input}");
        let object = delta(json!(1), json!({"text": "a"}));
        assert_eq!(calls(Protocol::Messages, &[start(input.clone()), object]), one, "{input}, then an object");
        // Deltas without an index, or under another one.
        assert_eq!(calls(Protocol::Messages, &[start(input.clone()), delta(Json::Null, json!(A))]), one, "{input}");
        assert_eq!(calls(Protocol::Messages, &[start(input.clone()), delta(json!(7), json!(A))]), one, "{input}");
        let parts = [
            start(input),
            delta(json!(1), json!("")),
            delta(json!(1), json!(&A[..4])),
            delta(json!(1), json!(&A[4..])),
        ];
        assert_eq!(calls(Protocol::Messages, &parts), one);
    }
    assert_eq!(calls(Protocol::Messages, &[start(json!({"text": "a"}))]), one, "it counts if nothing follows");
    assert_eq!(calls(Protocol::Messages, &[start(json!({"text": "a"})), delta(json!(1), json!(""))]), one);
    assert_eq!(calls(Protocol::Messages, &[delta(json!(1), json!(A))]), "Status(503)", "a call without a name");
}

#[test]
fn the_fuller_form_of_a_call_counts_whichever_event_brings_it() {
    let item = |kind: &str, index: Json, id: &str, arguments: &str| {
        let item = json!({"type": "function_call", "id": "i", "call_id": id, "name": "echo", "arguments": arguments});
        json!({"type": format!("response.output_item.{kind}"), "output_index": index, "item": item})
    };
    let part = |kind: &str, index: Json, text: &str| {
        let name = if kind == "delta" { "delta" } else { "arguments" };
        let mut event = json!({"type": format!("response.function_call_arguments.{kind}"), "output_index": index});
        event[name] = json!(text);
        event
    };
    let completed = |all: &[(&str, &str)]| {
        let call = |(id, text): &(&str, &str)| json!({"type": "function_call", "call_id": id, "name": "echo", "arguments": text});
        let output: Vec<Json> = all.iter().map(call).collect();
        json!({"type": "response.completed", "response": {"status": "completed", "output": output}})
    };
    let (one, zero) = (r#"echo({"text":"a"})"#, json!(0));
    let two = r#"echo({"text":"a"}) echo({"text":"b"})"#;
    let table: Vec<(&str, Vec<Json>, &str)> = vec![
        ("done alone", vec![item("done", zero.clone(), "c", A)], one),
        ("added, then done", vec![item("added", zero.clone(), "c", ""), item("done", zero.clone(), "c", A)], one),
        (
            "added, deltas",
            vec![
                item("added", zero.clone(), "c", ""),
                part("delta", zero.clone(), &A[..5]),
                part("delta", zero.clone(), &A[5..]),
            ],
            one,
        ),
        ("added, arguments done", vec![item("added", zero.clone(), "c", ""), part("done", zero.clone(), A)], one),
        (
            "without indexes",
            vec![item("added", Json::Null, "c", ""), part("delta", Json::Null, A), item("done", Json::Null, "c", A)],
            one,
        ),
        (
            "done without arguments",
            vec![
                item("added", zero.clone(), "c", ""),
                part("done", zero.clone(), A),
                item("done", zero.clone(), "c", ""),
            ],
            one,
        ),
        (
            "done with an empty object",
            vec![part("done", zero.clone(), ""), item("done", zero.clone(), "c", "{}"), completed(&[("c", A)])],
            one,
        ),
        ("completed with less", vec![item("done", zero.clone(), "c", A), completed(&[("c", "{}")])], one),
        ("completed with a new id", vec![item("done", zero.clone(), "c", A), completed(&[("d", A)])], one),
        (
            "another id in each event",
            vec![item("added", zero.clone(), "c", ""), item("done", zero.clone(), "d", A), completed(&[("e", A)])],
            one,
        ),
        ("only completed", vec![completed(&[("c", A)])], one),
        ("completed with another", vec![item("done", zero.clone(), "c", A), completed(&[("c", A), ("d", B)])], two),
        (
            "two",
            vec![item("done", zero.clone(), "c", A), item("done", json!(1), "d", B), completed(&[("c", A), ("d", B)])],
            two,
        ),
        (
            "two under one index",
            vec![
                item("done", zero.clone(), "c", A),
                item("done", zero.clone(), "d", B),
                completed(&[("c", A), ("d", B)]),
            ],
            two,
        ),
        ("arguments alone", vec![part("delta", zero, A)], "Status(503)"),
    ];
    for (name, events, expected) in table {
        assert_eq!(calls(Protocol::Responses, &events), expected, "{name}");
    }
}

#[test]
fn the_calls_of_all_choices_count() {
    let call = |id: &str, text: &str| json!({"index": 0, "id": id, "function": {"name": "echo", "arguments": text}});
    let choice = |index: u64, delta: Json| json!({"index": index, "delta": delta, "finish_reason": null});
    let two = r#"echo({"text":"a"}) echo({"text":"b"})"#;
    let first = choice(0, json!({"content": "I look.", "tool_calls": [call("A", &A[..6])]}));
    let second = choice(1, json!({"content": "not this", "tool_calls": [call("B", &B[..6])]}));
    let rest =
        |index: u64, text: &str| choice(index, json!({"tool_calls": [{"index": 0, "function": {"arguments": text}}]}));
    let apart = [&first, &second, &rest(0, &A[6..]), &rest(1, &B[6..])].map(|choice| json!({"choices": [choice]}));
    assert_eq!(calls(Protocol::Chat, &apart), two);
    let together = [json!({"choices": [first, second]}), json!({"choices": [rest(0, &A[6..]), rest(1, &B[6..])]})];
    assert_eq!(calls(Protocol::Chat, &together), two);
    let stream: String = apart.iter().map(|event| encode_event(Protocol::Chat, event)).collect();
    let stream = stream + "data: [DONE]\n\n";
    assert_eq!(read(Protocol::Chat, &[stream.as_bytes()], End::Body, &names(&[])).unwrap().text, "I look.");
}

/// The events that begin a call of `echo`, with a part of its arguments.
fn begun(protocol: Protocol, arguments: &str) -> Option<Vec<Json>> {
    let function = json!({"name": "echo", "arguments": arguments});
    Some(match protocol {
        Protocol::Chat => {
            vec![
                json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "A", "function": function}]}}]}),
            ]
        }
        Protocol::Cohere => {
            let call = json!({"id": "A", "function": function});
            vec![json!({"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": call}}})]
        }
        Protocol::Messages => {
            let block = json!({"type": "tool_use", "id": "A", "name": "echo", "input": {}});
            let start = json!({"type": "content_block_start", "index": 0, "content_block": block});
            let delta = json!({"type": "input_json_delta", "partial_json": arguments});
            let piece = json!({"type": "content_block_delta", "index": 0, "delta": delta});
            if arguments.is_empty() { vec![start] } else { vec![start, piece] }
        }
        Protocol::Responses => {
            let item = json!({"type": "function_call", "call_id": "A", "name": "echo", "arguments": "", "status": "in_progress"});
            let added = json!({"type": "response.output_item.added", "output_index": 0, "item": item});
            let piece =
                json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": arguments});
            if arguments.is_empty() { vec![added] } else { vec![added, piece] }
        }
        // Their calls arrive whole.
        Protocol::Gemini | Protocol::Ollama => return None,
    })
}

#[test]
fn a_call_whose_arguments_never_ended_is_never_made() {
    let mut tried = 0;
    for protocol in PROTOCOLS {
        let last = match protocol {
            Protocol::Cohere => encode_event(protocol, &json!({"type": "message-end", "delta": {}})),
            Protocol::Gemini | Protocol::Ollama => continue,
            _ => act(protocol, Act::Last, 0).unwrap(),
        };
        for cut in 0..=A.len() {
            let events = begun(protocol, &A[..cut]).unwrap();
            let stream: String = events.iter().map(|event| encode_event(protocol, event)).collect();
            let expected = if cut == A.len() { r#"echo({"text":"a"})"# } else { "Network" };
            assert_eq!(called(protocol, &format!("{stream}{last}")), expected, "{protocol:?} {cut}");
            // The same after a call that is whole.
            let first = act(protocol, Act::Call, 7).unwrap();
            let both = called(protocol, &format!("{first}{stream}{last}"));
            assert_eq!(both == "Network", cut < A.len(), "{protocol:?} {cut}: {both}");
            // A reason that nobody knows says nothing about the calls.
            if let Some(strange) = act(protocol, Act::Strange, 1) {
                assert_eq!(called(protocol, &format!("{stream}{strange}{last}")), expected, "{protocol:?} {cut}");
            }
            tried += 1;
        }
        // Where the end is said, there are no arguments.
        let stream: String = begun(protocol, "").unwrap().iter().map(|event| encode_event(protocol, event)).collect();
        let said = match protocol {
            Protocol::Responses => {
                let item = json!({"type": "function_call", "call_id": "A", "name": "echo", "arguments": ""});
                encode_event(protocol, &json!({"type": "response.output_item.done", "output_index": 0, "item": item}))
                    + &last
            }
            Protocol::Cohere => act(protocol, Act::Last, 0).unwrap(),
            _ => act(protocol, Act::Reason, 0).unwrap() + &last,
        };
        assert_eq!(called(protocol, &format!("{stream}{said}")), "echo({})", "{protocol:?}");
    }
    assert_eq!(tried, 4 * 13);
}

#[test]
fn an_item_that_is_incomplete_is_no_call() {
    let item = |status: &str, arguments: &str| json!({"type": "function_call", "call_id": "A", "name": "echo", "arguments": arguments, "status": status});
    let done = |item: &Json| {
        encode_event(
            Protocol::Responses,
            &json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        )
    };
    let completed = |output: Json| {
        encode_event(
            Protocol::Responses,
            &json!({"type": "response.completed", "response": {"status": "completed", "output": output}}),
        )
    };
    for arguments in ["", "{}", A] {
        let (torn, whole) = (item("incomplete", arguments), item("completed", arguments));
        assert_eq!(called(Protocol::Responses, &(done(&torn) + &completed(json!([])))), "Network", "{arguments}");
        assert!(called(Protocol::Responses, &(done(&whole) + &completed(json!([])))).starts_with("echo({"));
        assert!(called(Protocol::Responses, &completed(json!([whole.clone()]))).starts_with("echo({"));
        let answer =
            read(Protocol::Responses, &[completed(json!([torn])).as_bytes()], End::Body, &names(&["echo"])).unwrap();
        assert_eq!(answer.finish, Some(trefoil_runtime::FinishReason::Length), "{arguments}");
    }
}
