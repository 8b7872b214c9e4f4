//! Answers always pass validators, and mostly pass judges.

use serde_json::json;
use std::sync::Arc;
use trefoil_ir::{
    Attempts, ConsensusRule, ConsensusStrategy, Judge, Program, Source, StepKind, Validator, ValidatorKind,
    ValueExpression,
};

use crate::{kinds, run};
use testbed::build::{Build, nowhere};

/// A model call with validators, with at most `max` tries.
fn judged(max: u32, validators: impl Fn(&mut Build) -> Vec<ValidatorKind>) -> Arc<Program> {
    let mut b = Build::new();
    let validators = validators(&mut b)
        .into_iter()
        .map(|kind| Validator { kind, min_score: 0.7, min_confidence: 0.5, origin: nowhere(), name: "check".into() })
        .collect();
    let body = b.model("write", "{{input}}");
    let (iteration, previous_error) = (b.slot("iteration"), b.slot("error"));
    let attempts = Attempts { body, max, validators, iteration, previous_error, retry_failures: false };
    let step = b.step("", StepKind::Attempts(attempts));
    let main = b.flow("main", step, None);
    b.program(main)
}

fn consensus(strategy: ConsensusStrategy) -> ConsensusRule {
    ConsensusRule { strategy, threshold: 0.75, min_judges: 1, n: None, agreement_factor: 0.7, confidence_factor: 0.3 }
}

/// Judges `one` and `two`, which answer with text.
fn judges(b: &mut Build, strategy: ConsensusStrategy) -> ValidatorKind {
    let judges = ["one", "two"]
        .into_iter()
        .map(|name| {
            let step = b.model(name, "Judge {{input}}");
            let flow = b.flow(name, step, None);
            let input = ValueExpression::Read(Source::Result);
            Judge { name: name.into(), flow, input, weight: 1.0, timeout_ms: None, timeout_at: None }
        })
        .collect();
    ValidatorKind::Judges { judges, consensus: consensus(strategy) }
}

#[test]
fn schemas_and_patterns_hold_at_once() {
    let program = judged(1, |b| {
        let schema = b
            .schema(json!({"type": "object", "properties": {"id": {"type": "string", "pattern": "^[A-Z]{3}$"}},
            "required": ["id"]}));
        vec![
            ValidatorKind::JsonSchema(schema),
            ValidatorKind::Regex { pattern: "[A-Z]{3}".into(), stderr: false },
            ValidatorKind::ExitCode { expected: 0 },
        ]
    });
    for seed in 0..30 {
        run(&program, seed);
    }
}

#[test]
fn a_pattern_that_the_schema_knows_nothing_of_is_put_where_there_is_room() {
    for schema in [json!({"type": "object", "required": ["a"]}), json!({"type": "object"}), json!({"type": "array"})] {
        let program = judged(1, |b| {
            let schema = b.schema(schema.clone());
            vec![ValidatorKind::JsonSchema(schema), ValidatorKind::Regex { pattern: "(pass|ok)".into(), stderr: false }]
        });
        for seed in 0..10 {
            run(&program, seed);
        }
    }
}

#[test]
fn text_is_made_to_match_and_still_says_what_it_is() {
    for pattern in ["TODO", "(?m)^RESULT: (pass|fail)$", "^#[0-9a-f]{6}$", "^done", r"\d+ items\.$"] {
        let program = judged(1, |_| vec![ValidatorKind::Regex { pattern: pattern.into(), stderr: false }]);
        for seed in 0..30 {
            run(&program, seed);
        }
    }
    let program = judged(1, |_| vec![ValidatorKind::Regex { pattern: "TODO".into(), stderr: false }]);
    let text = run(&program, 1).output;
    assert!(text.as_str().unwrap().starts_with("[embedded] write: about \"a question about tea\""), "{text}");
}

#[test]
fn judges_pass_in_the_end_and_not_always_at_once() {
    for strategy in [
        ConsensusStrategy::WeightedAverage,
        ConsensusStrategy::Majority,
        ConsensusStrategy::Unanimous,
        ConsensusStrategy::BestOfN,
    ] {
        let program = judged(4, |b| vec![judges(b, strategy)]);
        let tries = kinds(40, |seed| {
            let seen = run(&program, seed);
            seen.answers.keys().filter(|k| k.ends_with("write")).count().to_string()
        });
        assert_eq!(tries, ["1", "2", "3"], "{strategy:?}");
        let once = judged(1, |b| vec![judges(b, strategy)]);
        for seed in 0..20 {
            run(&once, seed);
        }
    }
}

#[test]
fn a_verdict_says_why() {
    let program = judged(1, |b| vec![judges(b, ConsensusStrategy::Majority)]);
    let seen = run(&program, 3);
    let (_, verdict) = seen.answers.iter().find(|(k, _)| k.ends_with("one")).expect("the judge was asked");
    let verdict: serde_json::Value = serde_json::from_str(verdict.as_str().unwrap()).unwrap();
    assert!(verdict["score"].as_f64().unwrap() >= 0.75);
    assert!(verdict["confidence"].as_f64().unwrap() >= 0.5);
    assert!(verdict["reasoning"].as_str().unwrap().starts_with("[embedded] one: about"));
}

#[test]
fn a_consensus_of_agents_takes_both_sides() {
    let mut b = Build::new();
    let (one, two) = (b.model("one", "{{input}}"), b.model("two", "{{input}}"));
    let both = b.parallel("", &[one, two], trefoil_ir::OnItemFailure::Abort);
    let ballot = |by: &str, value, weight| trefoil_ir::WeightedVerdict { by: by.into(), value, weight };
    let verdicts = vec![ballot("one", b.value("{{one}}"), 1.0), ballot("two", b.value("{{two}}"), 2.0)];
    let joined = b.step(
        "",
        StepKind::Compute(ValueExpression::Consensus {
            verdicts,
            consensus: consensus(ConsensusStrategy::WeightedAverage),
        }),
    );
    let joined = b.out(joined, "joined");
    let (yes, maybe, no) = (b.mark("yes"), b.mark("maybe"), b.mark("no"));
    let branch = b.branch("", &[("{{joined.score}} > 0.8", yes), ("{{joined.binary_valid}} == true", maybe)], Some(no));
    let body = b.sequence("", &[both, joined, branch]);
    let main = b.flow("main", body, None);
    let program = b.program(main);
    let taken = kinds(40, |seed| run(&program, seed).output.to_string());
    assert!(taken.contains(&"\"yes\"".to_owned()) && taken.contains(&"\"no\"".to_owned()), "{taken:?}");
}
