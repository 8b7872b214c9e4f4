//! Finish reasons and states of servers of all kinds, in all protocols, streamed and whole.

use trefoil_runtime::FinishReason;

use super::*;

/// What a word makes of an answer that has text.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdict {
    Whole(FinishReason),
    /// Used, with a warning that names the word.
    Unknown,
    /// Used where the end of the stream is marked, with a warning that there is no reason.
    Absent,
    Failed,
    /// It says that the answer goes on.
    Ongoing,
    /// It announces a call that has not arrived.
    Missing,
}

const STOP: Verdict = Verdict::Whole(FinishReason::Stop);
const CUT: Verdict = Verdict::Whole(FinishReason::Length);
const FILTERED: Verdict = Verdict::Whole(FinishReason::Filtered);
const REFUSED: Verdict = Verdict::Whole(FinishReason::Refused);

/// Words, with what sends them where that is known.
const WORDS: &[(&str, Verdict)] = &[
    ("stop Stop STOP eos eos_token eosFound end_turn endTurn stop_sequence STOP_SEQUENCE COMPLETE completed", STOP),
    ("stopStringFound end_of_text endoftext normal FINISH_REASON_STOP FinishReason.STOP REASON_STOP", STOP),
    ("length LENGTH max_tokens MAX_TOKENS maxTokens max-tokens max_output_tokens max_new_tokens max_length", CUT),
    ("model_length model_context_window_exceeded context_length_exceeded contextLengthReached token_limit", CUT),
    ("finish_length limit tokens maximum_tokens maxPredictedTokensReached REASON_MAX_LEN REASON_MAX_CONTEXT", CUT),
    ("truncated incomplete ERROR_LIMIT FinishReason.MAX_TOKENS", CUT),
    (
        "content_filter content-filter content_filtered contentFiltered sensitive safety SAFETY blocked BLOCKLIST",
        FILTERED,
    ),
    ("recitation LANGUAGE SPII MODEL_ARMOR prohibited_content guardrail_intervened ERROR_TOXIC IMAGE_SAFETY", FILTERED),
    ("moderation policy_violation", FILTERED),
    ("refusal refused", REFUSED),
    (
        "error ERROR abort aborted cancelled canceled USER_CANCEL userStopped network_error timeout TIMEOUT",
        Verdict::Failed,
    ),
    (
        "time_limit OTHER failed failure preempted interrupted disconnect disconnected overloaded server_error",
        Verdict::Failed,
    ),
    ("internal_error pause_turn repetition insufficient_system_resource load unload modelUnloaded", Verdict::Failed),
    ("MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS malformed_model_output", Verdict::Failed),
    ("in_progress IN_PROGRESS inProgress queued not_finished running", Verdict::Ongoing),
    ("tool_calls tool_call TOOL_CALL tool_use toolUse function_call tool-calls requires_action", Verdict::Missing),
    ("banana something_new 7up", Verdict::Unknown),
    ("null None NULL none undefined unspecified FINISH_REASON_UNSPECIFIED nil ~ unknown", Verdict::Absent),
];

/// What came of it.
fn verdict(answer: &Result<ModelAnswer, ModelError>) -> Verdict {
    match answer {
        Err(error) if error.message.contains("announced") => Verdict::Missing,
        Err(error) if error.message.contains("it says") => Verdict::Ongoing,
        Err(_) => Verdict::Failed,
        Ok(answer) => match answer.doubts.as_slice() {
            [] => Verdict::Whole(answer.finish.unwrap()),
            [AnswerDoubt::UnknownFinish(_)] => Verdict::Unknown,
            [AnswerDoubt::MissingFinish] => Verdict::Absent,
            other => panic!("{other:?}"),
        },
    }
}

/// The text `one` and this reason: the events of a stream, and whole.
fn ended_with(face: Face, word: &Json) -> (Vec<Json>, Json) {
    let text = json!([{"type": "text", "text": "one"}]);
    let (end, whole) = match face {
        Face::Chat => (
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": word}]}),
            json!({"choices": [{"message": {"content": "one"}, "finish_reason": word}]}),
        ),
        Face::Messages => (
            json!({"type": "message_delta", "delta": {"stop_reason": word}}),
            json!({"content": text, "stop_reason": word}),
        ),
        Face::Gemini => (
            json!({"candidates": [{"content": {"parts": []}, "finishReason": word}]}),
            json!({"candidates": [{"content": {"parts": [{"text": "one"}]}, "finishReason": word}]}),
        ),
        Face::Cohere => (
            json!({"type": "message-end", "delta": {"finish_reason": word}}),
            json!({"message": {"content": text}, "finish_reason": word}),
        ),
        Face::Ollama => (
            json!({"message": {"content": ""}, "done": true, "done_reason": word}),
            json!({"message": {"content": "one"}, "done": true, "done_reason": word}),
        ),
        Face::Responses => {
            let output = json!([{"type": "message", "content": [{"type": "output_text", "text": "one"}]}]);
            let whole = json!({"status": word, "output": output});
            (json!({"type": "response.completed", "response": whole}), whole)
        }
    };
    (vec![say(face, "one"), end], whole)
}

fn say(face: Face, text: &str) -> Json {
    json_of(&act(face, Act::Text, 0).unwrap().replace("<0>", text))
}

/// A stream of these events, with the last event of its protocol if it has one.
fn stream(face: Face, events: &[Json]) -> String {
    let last = if WORDY.contains(&face) { act(face, Act::Last, 9) } else { None };
    events.iter().map(|event| sent(face, event)).chain(last).collect()
}

#[test]
fn each_word_means_the_same_in_all_protocols() {
    let (names, none) = (names(&["echo"]), names(&[]));
    let mut tried = 0;
    for (words, expected) in WORDS {
        for word in words.split(' ') {
            for face in FACES {
                let (events, whole) = ended_with(face, &json!(word));
                for offered in [&names, &none] {
                    let answer = read(face, &[stream(face, &events).as_bytes()], End::Body, offered);
                    let is_marked = !matches!(face, Face::Gemini | Face::Responses);
                    match expected {
                        // Its event says that it is completed, and without a reason the end of a body is none.
                        Verdict::Absent if face == Face::Responses => assert_eq!(verdict(&answer), STOP, "{word}"),
                        Verdict::Absent if !is_marked => assert_eq!(verdict(&answer), Verdict::Failed, "{word}"),
                        Verdict::Ongoing if face == Face::Gemini => assert!(answer.is_err(), "{word}"),
                        expected => assert_eq!(verdict(&answer), *expected, "{face:?} {word} {answer:?}"),
                    }
                    let answer = read_whole(face, &whole, offered);
                    assert_eq!(verdict(&answer), *expected, "{face:?} {word}, whole: {answer:?}");
                    tried += 2;
                }
            }
        }
    }
    assert!(tried > 2_500, "{tried}");
}

#[test]
fn a_reason_in_an_object_or_a_list_is_read_and_other_values_are_none() {
    let table = [
        (json!({"type": "length", "length": 10}), CUT),
        (json!({"reason": "content_filter"}), FILTERED),
        (json!(["stop", "length"]), CUT),
        (json!([]), Verdict::Absent),
        (json!({}), Verdict::Absent),
        (json!(1), Verdict::Absent),
        (json!(false), Verdict::Absent),
        (json!(" length "), CUT),
    ];
    for face in FACES {
        for (word, expected) in &table {
            let (_, whole) = ended_with(face, word);
            assert_eq!(verdict(&read_whole(face, &whole, &names(&[]))), *expected, "{face:?} {word}");
        }
    }
}

#[test]
fn what_an_answer_says_of_its_state_counts_beside_its_finish_reason() {
    let cut = json!({"reason": "max_output_tokens"});
    let filtered = json!({"reason": "content_filter"});
    let failed = Verdict::Failed;
    // Its status, its details, and what they make of it: streamed, and whole.
    let table = [
        (json!("completed"), json!(null), STOP, STOP),
        (json!("completed"), json!({}), STOP, STOP),
        (json!("completed"), json!({"reason": null}), STOP, STOP),
        (json!("COMPLETED"), json!({"reason": ""}), STOP, STOP),
        (json!("completed"), cut.clone(), CUT, CUT),
        (json!("completed"), filtered.clone(), FILTERED, FILTERED),
        (json!("completed"), json!({"reason": "something_new"}), CUT, CUT),
        (json!("completed"), json!({"reason": "stop"}), CUT, CUT),
        (json!(null), cut, CUT, CUT),
        (json!("incomplete"), json!(null), CUT, CUT),
        (json!("incomplete"), filtered, FILTERED, FILTERED),
        (json!("cancelled"), json!(null), failed, failed),
        (json!("failed"), json!(null), failed, failed),
        // Each piece of a stream may say it.
        (json!("in_progress"), json!(null), STOP, Verdict::Ongoing),
        (json!("queued"), json!(null), STOP, Verdict::Ongoing),
    ];
    let mut tried = 0;
    for face in FACES {
        let known = if face == Face::Responses { "completed" } else { "stop" };
        for (status, details, streamed, whole) in &table {
            let (mut events, mut body) = ended_with(face, &json!(known));
            let last = if face == Face::Responses { &mut events[1]["response"] } else { &mut events[1] };
            for json in [last, &mut body] {
                json["status"] = status.clone();
                json["incomplete_details"] = details.clone();
            }
            let answer = read(face, &[stream(face, &events).as_bytes()], End::Body, &names(&[]));
            // The last event of this protocol has the state of the whole answer.
            let streamed = if face == Face::Responses { whole } else { streamed };
            assert_eq!(verdict(&answer), *streamed, "{face:?} {status} {details}: {answer:?}");
            let answer = read_whole(face, &body, &names(&[]));
            assert_eq!(verdict(&answer), *whole, "{face:?} {status} {details}, whole: {answer:?}");
            tried += 2;
        }
    }
    assert_eq!(tried, 6 * 15 * 2);
}

#[test]
fn the_word_of_a_provider_behind_a_gateway_and_one_beside_the_choices_count() {
    let choice = |native: &str| json!({"index": 0, "delta": {}, "message": {"content": "one"}, "finish_reason": "stop", "native_finish_reason": native});
    for (native, expected) in [
        ("MAX_TOKENS", CUT),
        ("SAFETY", FILTERED),
        ("refusal", REFUSED),
        ("stop", STOP),
        ("completed", STOP),
        ("tool_calls", STOP),
        ("something_new", STOP),
        ("error", STOP),
    ] {
        let json = json!({"choices": [choice(native)]});
        let streamed = stream(Face::Chat, &[say(Face::Chat, "one"), json.clone()]);
        assert_eq!(verdict(&read(Face::Chat, &[streamed.as_bytes()], End::Body, &names(&[]))), expected, "{native}");
        assert_eq!(verdict(&read_whole(Face::Chat, &json, &names(&[]))), expected, "{native}");
    }
    let beside = json!({"choices": [], "finish_reason": "length"});
    let streamed = stream(Face::Chat, &[say(Face::Chat, "one"), beside]);
    assert_eq!(verdict(&read(Face::Chat, &[streamed.as_bytes()], End::Body, &names(&[]))), CUT);
}
