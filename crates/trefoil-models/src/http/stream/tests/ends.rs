//! What makes an answer complete, and what does not.

use std::fmt::Write as _;

use trefoil_template::read_json;

use super::*;

/// What the rules say of a whole sequence, read at once: whether it is a complete answer.
fn is_complete(protocol: Protocol, acts: &[Act], end: End) -> bool {
    let last = acts.iter().position(|act| *act == Act::Last).unwrap_or(acts.len());
    let before = &acts[..last];
    // An error is one wherever it is.
    if acts.contains(&Act::Failure) {
        return false;
    }
    let is_word = |act: &Act| matches!(act, Act::Both | Act::Reason | Act::Strange);
    let is_content = |act: &Act| matches!(act, Act::Text | Act::Both | Act::TextEmpty | Act::Call);
    let is_part = |act: &Act| is_content(act) || *act == Act::Thought;
    if last < acts.len() && acts[last..].iter().any(is_part) {
        return false;
    }
    if last < acts.len() {
        // What ends without a reason, and without anything before, is no answer.
        return !REASON_BEFORE_LAST.contains(&protocol) || before.iter().any(|act| is_word(act) || is_content(act));
    }
    let more = before.iter().rposition(is_part);
    let after = &before[more.map_or(0, |at| at + 1)..];
    let stands = after.iter().any(is_word) || more.is_some_and(|at| is_word(&before[at]));
    if !REASON_BEFORE_LAST.contains(&protocol) || !stands {
        return false;
    }
    match end {
        End::Body => true,
        // The first reason is known, and has content before it, of which nothing else had a reason; nothing follows.
        End::Closed => before.iter().position(is_word).is_some_and(|first| {
            let has_content = before[..first].iter().any(is_content);
            has_content && Some(first) >= more && before[first] != Act::Strange
        }),
        // The first reason came alone, is known, and has all of the answer before it.
        End::Cut | End::Silence => {
            let first = before.iter().position(is_word);
            before.iter().any(is_content) && first > more && first.is_some_and(|at| before[at] == Act::Reason)
        }
    }
}

/// Why it is not certain that a complete answer is whole: what stands for a finish reason since its last part.
fn doubts_of(protocol: Protocol, acts: &[Act]) -> Vec<AnswerDoubt> {
    let is_part = |act: &Act| matches!(act, Act::Text | Act::Both | Act::TextEmpty | Act::Call | Act::Thought);
    let last = acts.iter().rposition(is_part).unwrap_or_default();
    let after = &acts[last..];
    match () {
        () if after.contains(&Act::Strange) => vec![AnswerDoubt::UnknownFinish("something_new".to_owned())],
        () if !REASON_BEFORE_LAST.contains(&protocol)
            || after.iter().any(|act| matches!(act, Act::Both | Act::Reason)) =>
        {
            Vec::new()
        }
        () => vec![AnswerDoubt::MissingFinish],
    }
}

#[test]
fn the_last_event_may_lack_its_line_breaks_but_not_a_part() {
    let names = names(&[]);
    for protocol in PROTOCOLS {
        let text = act(protocol, Act::Text, 0).unwrap();
        let end = act(protocol, Act::Last, 1).or_else(|| act(protocol, Act::Reason, 1)).unwrap();
        let whole = format!("{text}{end}");
        let bare = whole.trim_end();
        for (stream, is_whole) in
            [(whole.as_str(), true), (&format!("{bare}\n"), true), (bare, true), (&bare[..bare.len() - 1], false)]
        {
            let answer = read(protocol, &[stream.as_bytes()], End::Body, &names);
            assert_eq!(answer.is_ok(), is_whole, "{protocol:?} {stream}: {answer:?}");
            // A connection that breaks says nothing about its last line.
            let answer = read(protocol, &[bare.as_bytes()], End::Cut, &names);
            assert!(answer.is_err(), "{protocol:?} {answer:?}");
        }
    }
}

#[test]
fn a_comment_after_the_finish_reason_tears_nothing() {
    let names = names(&[]);
    for protocol in REASON_BEFORE_LAST {
        let start = act(protocol, Act::Text, 0).unwrap() + &act(protocol, Act::Reason, 1).unwrap();
        for rest in
            [": keep-alive", ": keep-alive\n", ": keep-alive\n\n", "\n", "  ", "data:\n\n", "event: ping\ndata: {}\n\n"]
        {
            for end in ENDS {
                let answer = read(protocol, &[start.as_bytes(), rest.as_bytes()], end, &names);
                assert_eq!(answer.unwrap().text, "<0>", "{protocol:?} {rest} {end:?}");
            }
        }
    }
}

#[test]
fn an_event_named_error_is_an_error_in_every_protocol() {
    let names = names(&[]);
    for protocol in PROTOCOLS.into_iter().filter(|protocol| *protocol != Protocol::Ollama) {
        let text = act(protocol, Act::Text, 0).unwrap();
        let reason = act(protocol, Act::Reason, 1).unwrap_or_default();
        for data in ["{}", "{\"reason\":\"gone\"}", "{\"message\":\"upstream\",\"code\":502}", "\"no\""] {
            let stream = format!("{text}{reason}event: error\ndata: {data}\n\n");
            assert!(read(protocol, &[stream.as_bytes()], End::Body, &names).is_err(), "{protocol:?} {data}");
        }
    }
}

#[test]
fn a_gateways_mark_of_the_end_completes_nothing_that_its_protocol_does_not() {
    let names = names(&[]);
    for protocol in PROTOCOLS {
        let done = if protocol == Protocol::Ollama { "[DONE]\n" } else { "data: [DONE]\n\n" };
        let text = act(protocol, Act::Text, 0).unwrap();
        let answer = read(protocol, &[text.as_bytes(), done.as_bytes()], End::Silence, &names);
        assert_eq!(answer.is_ok(), protocol == Protocol::Chat, "{protocol:?} {answer:?}");
        if let Some(reason) = act(protocol, Act::Reason, 1) {
            let answer = read(protocol, &[text.as_bytes(), reason.as_bytes(), done.as_bytes()], End::Silence, &names);
            assert_eq!(answer.unwrap().text, "<0>", "{protocol:?}");
        }
    }
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn a_torn_event_leaves_an_answer_incomplete_unless_its_last_event_came_before() {
        let names = names(&["echo"]);
        let (mut torn, mut over) = (0, 0);
        for protocol in PROTOCOLS {
            let [text, call] = [Act::Text, Act::Call].map(|one| act(protocol, one, 0).unwrap());
            let reasons = [Act::Reason, Act::Both, Act::Strange].into_iter().filter_map(|one| act(protocol, one, 1));
            let next = ACTS.into_iter().filter_map(|one| act(protocol, one, 2)).collect::<Vec<_>>();
            let mut broken: Vec<Vec<u8>> = vec![
                b"Internal Server Error".to_vec(),
                b"data: {\"a\":\"\xc3".to_vec(),
                b"data: \xff\n\n".to_vec(),
                b"data: {\"choi\n\n".to_vec(),
                b"event: message_stop\n".to_vec(),
                b"<html>\n".to_vec(),
            ];
            for event in &next {
                // Without its line breaks an event may be whole.
                let whole = event.trim_end().len();
                broken.extend((1..whole).map(|cut| event.as_bytes()[..cut].to_vec()));
            }
            let mut starts: Vec<String> =
                reasons.flat_map(|reason| [&text, &call].map(|of| format!("{of}{reason}"))).collect();
            starts.push(text.clone());
            for start in starts {
                for rest in &broken {
                    for end in ENDS {
                        // A line that begins and does not end is not waited for; what the server would have sent is lost.
                        let answer = read(protocol, &[start.as_bytes(), rest], end, &names);
                        assert!(answer.is_err(), "{protocol:?} {start} {} {end:?}", String::from_utf8_lossy(rest));
                        torn += 1;
                    }
                }
            }
            let Some(last) = act(protocol, Act::Last, 1) else { continue };
            for rest in &broken {
                let said = String::from_utf8_lossy(rest);
                let answer = read(protocol, &[text.as_bytes(), last.as_bytes(), rest], End::Body, &names);
                // Only what is whole counts then: an error, or a part of the answer.
                let is_error =
                    protocol != Protocol::Ollama && (said.starts_with("Internal") || said.starts_with("<html>"));
                let first = said.lines().next().unwrap_or_default().trim_start_matches("data: ");
                let is_part = read_json::<Json>(first).is_ok();
                assert_eq!(answer.is_err(), is_error || is_part, "{protocol:?} {said} {answer:?}");
                over += 1;
            }
        }
        assert!(torn > 45_000 && over > 2_000, "{torn} {over}");
    }

    #[test]
    fn an_answer_is_complete_only_by_the_rules_of_its_protocol() {
        let names = names(&["echo"]);
        let (mut tried, mut complete) = (0, 0);
        for protocol in PROTOCOLS {
            let possible: Vec<Act> = ACTS.into_iter().filter(|one| act(protocol, *one, 0).is_some()).collect();
            let longest = match protocol {
                Protocol::Chat => 4,
                Protocol::Messages | Protocol::Gemini => 3,
                Protocol::Responses | Protocol::Cohere | Protocol::Ollama => 5,
            };
            let mut sequences: Vec<Vec<Act>> = vec![Vec::new()];
            for _ in 0..longest {
                let longer = sequences.iter().flat_map(|s| possible.iter().map(|one| [s.as_slice(), &[*one]].concat()));
                sequences = longer.collect();
                for acts in &sequences {
                    let bytes: String =
                        acts.iter().enumerate().filter_map(|(at, one)| act(protocol, *one, at)).collect();
                    for end in ENDS {
                        let answer = read(protocol, &[bytes.as_bytes()], end, &names);
                        // A stream without any event of its protocol is another one.
                        let is_foreign = protocol == Protocol::Chat && acts.first() == Some(&Act::Last);
                        let expected = is_complete(protocol, acts, end) && !is_foreign;
                        assert_eq!(answer.is_ok(), expected, "{protocol:?} {acts:?} {end:?}: {answer:?}");
                        if let Ok(answer) = answer {
                            complete += 1;
                            let until = acts.iter().position(|a| *a == Act::Last).unwrap_or(acts.len());
                            let mut text = String::new();
                            for (at, one) in acts[..until].iter().enumerate() {
                                if matches!(one, Act::Text | Act::Both | Act::TextEmpty) {
                                    let _ = write!(text, "<{at}>");
                                }
                            }
                            let calls = acts[..until].iter().filter(|a| **a == Act::Call).count();
                            assert_eq!(
                                (answer.text, answer.calls.len()),
                                (text, calls),
                                "{protocol:?} {acts:?} {end:?}"
                            );
                            assert_eq!(answer.doubts, doubts_of(protocol, acts), "{protocol:?} {acts:?} {end:?}");
                        }
                        tried += 1;
                    }
                }
            }
        }
        assert!(tried > 95_000 && complete > 12_000, "{tried} {complete}");
    }
}
