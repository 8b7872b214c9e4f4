//! The usage of failed and cancelled calls counts.

use expect_test::expect;
use testbed::Run;
use testbed::build::{Build, retry};
use trefoil_ir::{Budget, OnExceeded, OnItemFailure, RetryOn};
use trefoil_machine::{Cause, Key, Prepared, RunError, Usage};

use crate::machine::FLAGS;

#[test]
fn a_budget_counts_what_failed_calls_used() {
    let mut b = Build::new();
    let say = b.model("say", "x");
    b.at(say).policy.retry = Some(retry(3, &[RetryOn::Status(429)]));
    let main = b.flow("main", say, None);
    b.flow_mut(main).budget = Some(Budget {
        max_tokens: Some(5),
        max_duration_ms: None,
        max_calls: None,
        calls_at: None,
        max_cost_micro: None,
        on_exceeded: OnExceeded::Abort,
    });
    let program = b.program(main);
    let mut run = Run::start(&Prepared::new(program), None, FLAGS);
    let usage = Usage { input_tokens: 6, ..Default::default() };
    let error = RunError::new("GUARDRAIL_VIOLATION", "no");
    run.complete(&Key::from("say"), Err(error), Some(usage));
    expect!["token ceiling exceeded: 6 tokens used, limit is 5"].assert_eq(&run.result.unwrap().unwrap_err().message);
}

#[test]
fn calls_that_a_failing_neighbour_cancels_count_and_so_does_what_they_are_known_to_have_used() {
    let mut b = Build::new();
    let branches = [b.model("a", "x"), b.model("b", "x"), b.model("c", "x")];
    let body = b.parallel("", &branches, OnItemFailure::Abort);
    let main = b.flow("main", body, None);
    let mut run = Run::start(&Prepared::new(b.program(main)), None, FLAGS);
    let error = RunError::new("MODEL_ERROR", "no");
    run.complete(&Key::from("a"), Err(error), None);
    assert!(run.result.is_some());
    // Its answer was already on its way to the machine.
    let used = Usage { input_tokens: 5, ..Usage::default() };
    run.on(Key::from("b"), Ok("late".into()), Some(used));
    assert_eq!((run.machine.calls(), run.machine.usage().total()), (3, 5));
}

#[test]
fn a_request_that_timed_out_at_the_provider_is_retried() {
    let mut b = Build::new();
    let say = b.model("say", "x");
    let main = b.flow("main", say, None);
    let mut run = Run::start(&Prepared::new(b.program(main)), None, FLAGS);
    let error = RunError::new("MODEL_ERROR", "no").cause(Cause::Status(408));
    run.complete(&Key::from("say"), Err(error), None);
    assert!(run.result.is_none());
}
