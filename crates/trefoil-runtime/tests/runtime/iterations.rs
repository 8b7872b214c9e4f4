//! Iterations with validators and judges (AEGIS).

use expect_test::expect;
use serde_json::json as j;
use trefoil_ir::{
    Attempts, ConsensusRule, ConsensusStrategy, FlowId, Judge, Source, StepKind, Validator, ValidatorKind,
    ValueExpression,
};
use trefoil_runtime::{EventKind, RunOutcome};

use crate::world::{World, json, status};
use testbed::build::{Build, nowhere};

fn validator(kind: ValidatorKind, min_score: f64) -> Validator {
    Validator { kind, min_score, min_confidence: 0.0, origin: nowhere(), name: "semantic".into() }
}

fn judges(flow: FlowId, count: usize, strategy: ConsensusStrategy, min_judges: u32) -> ValidatorKind {
    let judge = |n: usize| Judge {
        name: format!("judge{n}").into(),
        flow,
        input: ValueExpression::Read(Source::Result),
        weight: 1.0,
        timeout_ms: Some(1_000),
        timeout_at: None,
    };
    let consensus =
        ConsensusRule { strategy, threshold: 0.7, min_judges, n: None, agreement_factor: 0.7, confidence_factor: 0.3 };
    ValidatorKind::Judges { judges: (1..=count).map(judge).collect(), consensus }
}

/// Iterates a model that answers `ITERATION: PREVIOUS ERROR`, at most three times.
fn run(
    make: impl FnOnce(&mut Build, FlowId) -> Vec<Validator>,
    answer: impl Fn(&str, &str) -> Result<String, trefoil_runtime::ModelError> + Send + Sync + 'static,
) -> (RunOutcome, Vec<String>) {
    let mut b = Build::new();
    let say = b.model("", "{{input}}");
    let judge = b.flow("judge", say, None);
    let body = b.model("", "{{iteration}}: {{error}}");
    let validators = make(&mut b, judge);
    let attempts = Attempts {
        body,
        max: 3,
        validators,
        iteration: b.slot("iteration"),
        previous_error: b.slot("error"),
        retry_failures: true,
    };
    let body = b.step("agent", StepKind::Attempts(attempts));
    let main = b.flow("main", body, None);
    let world = World::model(answer);
    let outcome = world.run(&b.program(main), "x");
    let reasons = world.kinds().into_iter().filter_map(|e| match e {
        EventKind::ValidationFailed { reason, .. } => Some(reason),
        _ => None,
    });
    (outcome, reasons.collect())
}

fn regex(pattern: &str) -> Validator {
    let kind = ValidatorKind::Regex { pattern: pattern.into(), stderr: false };
    Validator { name: "regex".into(), ..validator(kind, 1.0) }
}

#[test]
fn the_reason_of_a_failed_iteration_reaches_the_next() {
    let (outcome, reasons) = run(|_, _| vec![regex("^2: ")], |_, user| Ok(user.to_owned()));
    expect!["`regex` did not pass: `^2: ` is not found in the answer"].assert_eq(&reasons.join("\n"));
    assert_eq!(json(&outcome.result.unwrap()), j!(format!("2: {}", reasons[0])));
}

#[test]
fn iterations_that_never_validate_fail_with_the_last_reason() {
    let (outcome, reasons) = run(|_, _| vec![regex("^never$")], |_, user| Ok(user.to_owned()));
    let error = outcome.result.unwrap_err();
    assert_eq!(error.code, "MAX_ITERATIONS_EXCEEDED");
    expect!["none of 3 iterations passed validation; the last one: `regex` did not pass: `^never$` is not found in the answer"]
        .assert_eq(&error.message);
    assert_eq!(reasons.len(), 3);
}

#[test]
fn a_failing_body_counts_as_an_iteration() {
    let answer =
        |key: &str, user: &str| if key.starts_with("agent#1") { Err(status(500)) } else { Ok(user.to_owned()) };
    let (outcome, reasons) = run(|_, _| vec![], answer);
    assert_eq!(json(&outcome.result.unwrap()), j!("2: status 500"));
    assert_eq!(reasons, ["status 500"]);
}

#[test]
fn a_schema_is_checked_inside_a_code_fence() {
    let answer = |key: &str, _: &str| {
        Ok(if key == "agent#1" { "no json".into() } else { "```json\n{\"a\": 1}\n```".to_owned() })
    };
    let make = |b: &mut Build, _| {
        let schema = b.schema(j!({"type": "object", "required": ["a"]}));
        vec![validator(ValidatorKind::JsonSchema(schema), 1.0)]
    };
    let (outcome, reasons) = run(make, answer);
    assert!(outcome.result.is_ok());
    expect!["`semantic` did not pass: the answer is text, not JSON"].assert_eq(&reasons.join("\n"));
}

#[test]
fn the_judges_reasoning_becomes_the_previous_error() {
    let answer = |key: &str, user: &str| {
        Ok(match key {
            "agent#1/judge1" => "{\"score\": 0.2, \"reasoning\": \"too thin\"}".to_owned(),
            _ if key.contains("judge") => "{\"score\": 0.9, \"confidence\": 0.7}".to_owned(),
            _ => user.to_owned(),
        })
    };
    let (outcome, _) =
        run(|_, judge| vec![validator(judges(judge, 1, ConsensusStrategy::WeightedAverage, 1), 0.7)], answer);
    let expected = "2: `semantic` did not pass: score 0.2 is below 0.7: too thin";
    assert_eq!(json(&outcome.result.unwrap()), j!(expected));
    assert_eq!(outcome.calls, 4);
}

#[test]
fn judges_vote_and_too_few_verdicts_fail_the_iteration() {
    let answer = |key: &str, user: &str| {
        Ok(match key {
            "agent#1/judge1" | "agent#1/judge2" => "no verdict".to_owned(),
            "agent#2/judge1" => "{\"score\": 0.1}".to_owned(),
            _ if key.contains("judge") => "{\"score\": 0.9}".to_owned(),
            _ => user.to_owned(),
        })
    };
    let (outcome, reasons) =
        run(|_, judge| vec![validator(judges(judge, 3, ConsensusStrategy::Majority, 2), 0.7)], answer);
    assert!(outcome.result.is_ok());
    expect!["`semantic` did not pass: only 1 of 2 required verdicts arrived; `judge1`, `judge2`: the answer is not a verdict"].assert_eq(&reasons.join("\n"));
}

#[test]
fn a_judge_that_is_alone_is_taken_at_its_word() {
    let answer = |key: &str, user: &str| {
        Ok(match key {
            "agent#1/judge1" => "{\"score\": 0.9, \"confidence\": 0.5}".to_owned(),
            _ if key.contains("judge") => "{\"score\": 0.9, \"confidence\": 0.7}".to_owned(),
            _ => user.to_owned(),
        })
    };
    let make = |_: &mut Build, judge| {
        let judges = judges(judge, 1, ConsensusStrategy::WeightedAverage, 1);
        vec![Validator { min_confidence: 0.6, ..validator(judges, 0.7) }]
    };
    let (outcome, reasons) = run(make, answer);
    assert!(outcome.result.is_ok());
    assert_eq!(reasons, ["`semantic` did not pass: confidence 0.5 is below 0.6"]);
}
