//! A score is a number from 0 to 1. Whatever else a judge answers matches no score condition, and somebody is told.

use serde_json::json;

use super::world::World;

/// A state with one condition, and perhaps `always` after it.
fn judged(condition: &str, always: bool, answer: &str) -> (Result<String, String>, Vec<String>) {
    let always = if always { ", { condition: always, target: NO }" } else { "" };
    let world = World::new(
        &format!(
            "  initial_state: J\n  states:\n    J: {{ kind: Agent, agent: j, input: x, transitions: [{{ {condition}, target: YES }}{always}] }}\n    YES: {{ kind: System, command: echo yes }}\n    NO: {{ kind: System, command: echo no }}\n"
        ),
        &["j"],
    );
    let answer = answer.to_owned();
    let ended = world.run(json!("x"), move |_, _, _| Ok(answer.clone()));
    let result = match &ended.result {
        Ok(value) => Ok(value.to_json().as_str().unwrap_or_default().trim().to_owned()),
        Err(error) => Err(format!("{}: {}", error.code, error.message)),
    };
    (result, ended.warnings)
}

const ABOVE: &str = "condition: score_above, threshold: 0.8";
const BELOW: &str = "condition: score_below, threshold: 0.3";
const BETWEEN: &str = "condition: score_between, min: 0, max: 1";
const CONFIDENT: &str = "condition: confidence_above, threshold: 0.5";
const BOTH: &str = "condition: score_and_confidence_above, threshold: 0.5, confidence: 0.5";

#[test]
fn only_a_number_from_0_to_1_is_a_score() {
    // condition, answer, whether it matches, what is said if not.
    let cases = [
        (ABOVE, r#"{"score": 0.81}"#, Some(true), ""),
        (ABOVE, r#"{"score": 1}"#, Some(true), ""),
        (ABOVE, r#"{"score": 0.8}"#, Some(false), ""),
        (ABOVE, r#"{"score": 85}"#, None, "`J` has no score: `J.score` is 85, not a number from 0 to 1"),
        (ABOVE, r#"{"score": 1.02}"#, None, "`J` has no score: `J.score` is 1.02, not a number from 0 to 1"),
        (
            ABOVE,
            r#"{"score": "0.85"}"#,
            None,
            "`J` has no score: `J.score` is the text \"0.85\", not a number from 0 to 1",
        ),
        (ABOVE, r#"{"score": true}"#, None, "`J` has no score: `J.score` is true, not a number from 0 to 1"),
        (ABOVE, r#"{"score": null}"#, None, "`J` has no score: `J.score` is missing"),
        (ABOVE, r#"{"grade": 1}"#, None, "`J` has no score: `J.score` is missing"),
        (ABOVE, "fine", None, "`J` has no score: `J.score` is missing, because the answer is text, not JSON"),
        (BELOW, r#"{"score": 0}"#, Some(true), ""),
        (BELOW, r#"{"score": -2}"#, None, "`J` has no score: `J.score` is -2, not a number from 0 to 1"),
        (BELOW, "{}", None, "`J` has no score: `J.score` is missing"),
        (BETWEEN, r#"{"score": 1}"#, Some(true), ""),
        (BETWEEN, r#"{"score": "1"}"#, None, "`J` has no score: `J.score` is the text \"1\", not a number from 0 to 1"),
        (CONFIDENT, r#"{"confidence": 0.9}"#, Some(true), ""),
        (
            CONFIDENT,
            r#"{"confidence": 90}"#,
            None,
            "`J` has no confidence: `J.confidence` is 90, not a number from 0 to 1",
        ),
        (BOTH, r#"{"score": 0.9, "confidence": 0.9}"#, Some(true), ""),
        (
            BOTH,
            r#"{"score": 0.9, "confidence": 9}"#,
            None,
            "`J` has no confidence: `J.confidence` is 9, not a number from 0 to 1",
        ),
    ];
    for (condition, answer, expected, told) in cases {
        let (result, warnings) = judged(condition, true, answer);
        let branch = if expected == Some(true) { "yes" } else { "no" };
        assert_eq!(result.as_deref(), Ok(branch), "{condition} {answer}");
        let told: Vec<&str> = Some(told).into_iter().filter(|told| !told.is_empty()).collect();
        assert_eq!(warnings, told, "{condition} {answer}");
        let (result, warnings) = judged(condition, false, answer);
        assert!(warnings.is_empty(), "{warnings:?}");
        match expected {
            Some(true) => assert_eq!(result.as_deref(), Ok("yes"), "{answer}"),
            // The failure says what was there.
            _ => {
                let why = result.unwrap_err();
                let seen = told.first().map(|told| told.split_once(": ").unwrap().1).unwrap_or("`J.score` is 0.8");
                assert!(why.starts_with("NO_TRANSITION") && why.contains(seen), "{answer}: {why}");
            }
        }
    }
}

#[test]
fn a_verdict_among_other_things_has_a_score() {
    for answer in [
        "My verdict: {\"score\": 0.95}",
        "<think>Is it {\"score\": 0.1}?</think>{\"score\": 0.95}",
        "\u{feff}{\"score\": 0.95}",
        "```json\n{\"score\": 0.95}\n```\nThat is all.",
        "Criteria: {\"weights\": [1, 2]}\n{\"score\": 0.95, \"reasoning\": \"fine\"}",
    ] {
        assert_eq!(judged(ABOVE, true, answer), (Ok("yes".to_owned()), Vec::new()), "{answer}");
    }
    // Two verdicts are none.
    let (result, warnings) = judged(ABOVE, true, "{\"score\": 0.95} or {\"score\": 0.1}");
    assert_eq!((result.as_deref(), warnings.len()), (Ok("no"), 1));
}

#[test]
fn without_score_conditions_an_answer_stays_as_it_is() {
    let world = World::new(
        "  initial_state: A\n  states:\n    A: { kind: Agent, agent: a, input: x, transitions: [{ condition: always, target: END }] }\n    END: { kind: System, command: \"echo '{{A.output}}'\" }\n",
        &["a"],
    );
    let ended = world.run(json!("x"), |_, _, _| Ok("My verdict: {\"score\": 0.95}".into()));
    assert_eq!(ended.text(), "My verdict: {\"score\": 0.95}\n");
    assert!(ended.warnings.is_empty());
}
