//! Each finish reason that some server sends has one meaning, in every protocol, whether the answer is streamed or not.

use trefoil_runtime::FinishReason;

use super::*;

/// What is made of an answer with some text, depending on its finish reason.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ReadOutcome {
    /// A complete answer that ended for this reason.
    Complete(FinishReason),
    /// Accepted, with a warning that names the unknown reason.
    Unknown,
    /// Accepted, with a warning that there is no reason. Only if the end of the stream is marked in another way.
    Absent,
    /// An error: the server says that the answer failed.
    Failed,
    /// An error: the reason says that the answer is not finished.
    Ongoing,
    /// An error: the reason announces a tool call that has not arrived.
    Missing,
}

const STOP: ReadOutcome = ReadOutcome::Complete(FinishReason::Stop);
const TRUNCATED: ReadOutcome = ReadOutcome::Complete(FinishReason::Length);
const FILTERED: ReadOutcome = ReadOutcome::Complete(FinishReason::Filtered);
const REFUSED: ReadOutcome = ReadOutcome::Complete(FinishReason::Refused);

/// Finish reasons of many servers, separated by spaces, with the expected outcome.
const FINISH_REASONS: &[(&str, ReadOutcome)] = &[
    ("stop Stop STOP eos eos_token eosFound end_turn endTurn stop_sequence STOP_SEQUENCE COMPLETE completed", STOP),
    ("stopStringFound end_of_text endoftext normal FINISH_REASON_STOP FinishReason.STOP REASON_STOP", STOP),
    ("length LENGTH max_tokens MAX_TOKENS maxTokens max-tokens max_output_tokens max_new_tokens max_length", TRUNCATED),
    ("model_length model_context_window_exceeded context_length_exceeded contextLengthReached token_limit", TRUNCATED),
    (
        "finish_length limit tokens maximum_tokens maxPredictedTokensReached REASON_MAX_LEN REASON_MAX_CONTEXT",
        TRUNCATED,
    ),
    ("truncated incomplete ERROR_LIMIT FinishReason.MAX_TOKENS", TRUNCATED),
    (
        "content_filter content-filter content_filtered contentFiltered sensitive safety SAFETY blocked BLOCKLIST",
        FILTERED,
    ),
    ("recitation LANGUAGE SPII MODEL_ARMOR prohibited_content guardrail_intervened ERROR_TOXIC IMAGE_SAFETY", FILTERED),
    ("moderation policy_violation", FILTERED),
    ("refusal refused", REFUSED),
    (
        "error ERROR abort aborted cancelled canceled USER_CANCEL userStopped network_error timeout TIMEOUT",
        ReadOutcome::Failed,
    ),
    (
        "time_limit OTHER failed failure preempted interrupted disconnect disconnected overloaded server_error",
        ReadOutcome::Failed,
    ),
    (
        "internal_error pause_turn repetition insufficient_system_resource load unload modelUnloaded",
        ReadOutcome::Failed,
    ),
    ("MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS malformed_model_output", ReadOutcome::Failed),
    ("in_progress IN_PROGRESS inProgress queued not_finished running", ReadOutcome::Ongoing),
    ("tool_calls tool_call TOOL_CALL tool_use toolUse function_call tool-calls requires_action", ReadOutcome::Missing),
    ("banana something_new 7up", ReadOutcome::Unknown),
    ("null None NULL none undefined unspecified FINISH_REASON_UNSPECIFIED nil ~ unknown", ReadOutcome::Absent),
];

/// Classifies the result of reading an answer.
fn outcome_of(answer: &Result<ModelAnswer, ModelError>) -> ReadOutcome {
    match answer {
        Err(error) if error.message.contains("announced") => ReadOutcome::Missing,
        Err(error) if error.message.contains("it says") => ReadOutcome::Ongoing,
        Err(_) => ReadOutcome::Failed,
        Ok(answer) => match answer.doubts.as_slice() {
            [] => ReadOutcome::Complete(answer.finish.unwrap()),
            [AnswerDoubt::UnknownFinish(_)] => ReadOutcome::Unknown,
            [AnswerDoubt::MissingFinish] => ReadOutcome::Absent,
            other => panic!("{other:?}"),
        },
    }
}

/// An answer with the text `one` and this finish reason: as the events of a stream, and not streamed.
fn answer_with_reason(protocol: Protocol, word: &Json) -> (Vec<Json>, Json) {
    let text = json!([{"type": "text", "text": "one"}]);
    let (end, whole) = match protocol {
        Protocol::Chat => (
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": word}]}),
            json!({"choices": [{"message": {"content": "one"}, "finish_reason": word}]}),
        ),
        Protocol::Messages => (
            json!({"type": "message_delta", "delta": {"stop_reason": word}}),
            json!({"content": text, "stop_reason": word}),
        ),
        Protocol::Gemini => (
            json!({"candidates": [{"content": {"parts": []}, "finishReason": word}]}),
            json!({"candidates": [{"content": {"parts": [{"text": "one"}]}, "finishReason": word}]}),
        ),
        Protocol::Cohere => (
            json!({"type": "message-end", "delta": {"finish_reason": word}}),
            json!({"message": {"content": text}, "finish_reason": word}),
        ),
        Protocol::Ollama => (
            json!({"message": {"content": ""}, "done": true, "done_reason": word}),
            json!({"message": {"content": "one"}, "done": true, "done_reason": word}),
        ),
        Protocol::Responses => {
            let output = json!([{"type": "message", "content": [{"type": "output_text", "text": "one"}]}]);
            let whole = json!({"status": word, "output": output});
            (json!({"type": "response.completed", "response": whole}), whole)
        }
    };
    (vec![text_event(protocol, "one"), end], whole)
}

fn text_event(protocol: Protocol, text: &str) -> Json {
    json_of(&act(protocol, Act::Text, 0).unwrap().replace("<0>", text))
}

/// A stream of these events, with the last event of its protocol if it has one.
fn stream_of(protocol: Protocol, events: &[Json]) -> String {
    let last = if REASON_BEFORE_LAST.contains(&protocol) { act(protocol, Act::Last, 9) } else { None };
    events.iter().map(|event| encode_event(protocol, event)).chain(last).collect()
}

#[test]
fn each_word_means_the_same_in_all_protocols() {
    let (names, none) = (names(&["echo"]), names(&[]));
    let mut checked = 0;
    for (words, expected) in FINISH_REASONS {
        for word in words.split(' ') {
            for protocol in PROTOCOLS {
                let (events, whole) = answer_with_reason(protocol, &json!(word));
                for offered in [&names, &none] {
                    let answer = read(protocol, &[stream_of(protocol, &events).as_bytes()], End::Body, offered);
                    let is_marked = !matches!(protocol, Protocol::Gemini | Protocol::Responses);
                    match expected {
                        // The last event of this protocol says that the answer is completed.
                        ReadOutcome::Absent if protocol == Protocol::Responses => {
                            assert_eq!(outcome_of(&answer), STOP, "{word}")
                        }
                        // Without a reason, nothing marks the end of this stream.
                        ReadOutcome::Absent if !is_marked => {
                            assert_eq!(outcome_of(&answer), ReadOutcome::Failed, "{word}")
                        }
                        ReadOutcome::Ongoing if protocol == Protocol::Gemini => assert!(answer.is_err(), "{word}"),
                        expected => assert_eq!(outcome_of(&answer), *expected, "{protocol:?} {word} {answer:?}"),
                    }
                    let answer = read_whole(protocol, &whole, offered);
                    assert_eq!(outcome_of(&answer), *expected, "{protocol:?} {word}, whole: {answer:?}");
                    checked += 2;
                }
            }
        }
    }
    assert!(checked > 2_500, "{checked}");
}

#[test]
fn a_reason_in_an_object_or_a_list_is_read_and_other_values_are_none() {
    let table = [
        (json!({"type": "length", "length": 10}), TRUNCATED),
        (json!({"reason": "content_filter"}), FILTERED),
        (json!(["stop", "length"]), TRUNCATED),
        (json!([]), ReadOutcome::Absent),
        (json!({}), ReadOutcome::Absent),
        (json!(1), ReadOutcome::Absent),
        (json!(false), ReadOutcome::Absent),
        (json!(" length "), TRUNCATED),
    ];
    for protocol in PROTOCOLS {
        for (word, expected) in &table {
            let (_, whole) = answer_with_reason(protocol, word);
            assert_eq!(outcome_of(&read_whole(protocol, &whole, &names(&[]))), *expected, "{protocol:?} {word}");
        }
    }
}

#[test]
fn what_an_answer_says_of_its_state_counts_beside_its_finish_reason() {
    let truncated = json!({"reason": "max_output_tokens"});
    let filtered = json!({"reason": "content_filter"});
    let failed = ReadOutcome::Failed;
    // Its status, its details, and what they make of it: streamed, and whole.
    let table = [
        (json!("completed"), json!(null), STOP, STOP),
        (json!("completed"), json!({}), STOP, STOP),
        (json!("completed"), json!({"reason": null}), STOP, STOP),
        (json!("COMPLETED"), json!({"reason": ""}), STOP, STOP),
        (json!("completed"), truncated.clone(), TRUNCATED, TRUNCATED),
        (json!("completed"), filtered.clone(), FILTERED, FILTERED),
        (json!("completed"), json!({"reason": "something_new"}), TRUNCATED, TRUNCATED),
        (json!("completed"), json!({"reason": "stop"}), TRUNCATED, TRUNCATED),
        (json!(null), truncated, TRUNCATED, TRUNCATED),
        (json!("incomplete"), json!(null), TRUNCATED, TRUNCATED),
        (json!("incomplete"), filtered, FILTERED, FILTERED),
        (json!("cancelled"), json!(null), failed, failed),
        (json!("failed"), json!(null), failed, failed),
        // Each piece of a stream may say it.
        (json!("in_progress"), json!(null), STOP, ReadOutcome::Ongoing),
        (json!("queued"), json!(null), STOP, ReadOutcome::Ongoing),
    ];
    let mut checked = 0;
    for protocol in PROTOCOLS {
        let known = if protocol == Protocol::Responses { "completed" } else { "stop" };
        for (status, details, streamed, whole) in &table {
            let (mut events, mut body) = answer_with_reason(protocol, &json!(known));
            let last = if protocol == Protocol::Responses { &mut events[1]["response"] } else { &mut events[1] };
            for json in [last, &mut body] {
                json["status"] = status.clone();
                json["incomplete_details"] = details.clone();
            }
            let answer = read(protocol, &[stream_of(protocol, &events).as_bytes()], End::Body, &names(&[]));
            // The last event of this protocol has the state of the whole answer.
            let streamed = if protocol == Protocol::Responses { whole } else { streamed };
            assert_eq!(outcome_of(&answer), *streamed, "{protocol:?} {status} {details}: {answer:?}");
            let answer = read_whole(protocol, &body, &names(&[]));
            assert_eq!(outcome_of(&answer), *whole, "{protocol:?} {status} {details}, whole: {answer:?}");
            checked += 2;
        }
    }
    assert_eq!(checked, 6 * 15 * 2);
}

#[test]
fn the_word_of_a_provider_behind_a_gateway_and_one_beside_the_choices_count() {
    let choice = |native: &str| json!({"index": 0, "delta": {}, "message": {"content": "one"}, "finish_reason": "stop", "native_finish_reason": native});
    for (native, expected) in [
        ("MAX_TOKENS", TRUNCATED),
        ("SAFETY", FILTERED),
        ("refusal", REFUSED),
        ("stop", STOP),
        ("completed", STOP),
        ("tool_calls", STOP),
        ("something_new", STOP),
        ("error", STOP),
    ] {
        let json = json!({"choices": [choice(native)]});
        let streamed = stream_of(Protocol::Chat, &[text_event(Protocol::Chat, "one"), json.clone()]);
        assert_eq!(
            outcome_of(&read(Protocol::Chat, &[streamed.as_bytes()], End::Body, &names(&[]))),
            expected,
            "{native}"
        );
        assert_eq!(outcome_of(&read_whole(Protocol::Chat, &json, &names(&[]))), expected, "{native}");
    }
    let beside = json!({"choices": [], "finish_reason": "length"});
    let streamed = stream_of(Protocol::Chat, &[text_event(Protocol::Chat, "one"), beside]);
    assert_eq!(outcome_of(&read(Protocol::Chat, &[streamed.as_bytes()], End::Body, &names(&[]))), TRUNCATED);
}
