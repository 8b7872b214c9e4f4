//! The usage of failed and cancelled calls counts.

use std::sync::Arc;

use expect_test::expect;
use testbed::Run;
use testbed::build::{Build, graph_node, nowhere, retry};
use trefoil_ir::{
    Budget, GraphEdge, MatchedOutcome, OnExceeded, OnItemFailure, Program, RetryOn, StateId, StateMachine,
    StateTransition, StepId, StepKind, WorkflowState,
};
use trefoil_machine::{FailureCause, Flags, Key, LimitKind, PreparedProgram, RunError, RunLimits, RunSpec, Usage};

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
    let mut run = Run::start(&PreparedProgram::new(program), None, FLAGS);
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
    let mut run = Run::start(&PreparedProgram::new(b.program(main)), None, FLAGS);
    let error = RunError::new("MODEL_ERROR", "no");
    run.complete(&Key::from("a"), Err(error), None);
    assert!(run.result.is_some());
    // Its answer was already on its way to the machine.
    let used = Usage { input_tokens: 5, ..Usage::default() };
    run.on(Key::from("b"), Ok("late".into()), Some(used));
    assert_eq!((run.machine.call_count(), run.machine.usage().total_tokens()), (3, 5));
}

#[test]
fn a_request_that_timed_out_at_the_provider_is_retried() {
    let mut b = Build::new();
    let say = b.model("say", "x");
    let main = b.flow("main", say, None);
    let mut run = Run::start(&PreparedProgram::new(b.program(main)), None, FLAGS);
    let error = RunError::new("MODEL_ERROR", "no").with_cause(FailureCause::Status(408));
    run.complete(&Key::from("say"), Err(error), None);
    assert!(run.result.is_none());
}

/// A program, made of the steps that `of` returns.
fn made(of: impl FnOnce(&mut Build) -> Vec<StepId>) -> Arc<Program> {
    let mut b = Build::new();
    let steps = of(&mut b);
    let body = b.sequence("", &steps);
    let main = b.flow("main", body, None);
    b.program(main)
}

fn state(name: &str, step: StepId, targets: &[u32]) -> WorkflowState {
    let lead = |target: &u32| StateTransition {
        takes: MatchedOutcome::Success,
        when: None,
        target: StateId(*target),
        target_at: nowhere(),
        feedback: None,
        origin: nowhere(),
        text: "".into(),
    };
    WorkflowState {
        name: name.into(),
        step,
        failed: None,
        max_visits: 9,
        max_visits_at: None,
        transitions: targets.iter().map(lead).collect(),
        ends_unmatched: false,
        fails_when: None,
    }
}

/// The raised limit of a run that may make no call.
fn raised(program: Arc<Program>) -> u64 {
    let spec = RunSpec { limits: RunLimits::for_kind(LimitKind::Calls, 0), ..RunSpec::NONE };
    let run = Run::start(&PreparedProgram::new(program), None, Flags { spec, ..FLAGS });
    run.result.unwrap().unwrap_err().raise.unwrap().calls.unwrap()
}

#[test]
fn a_raised_limit_is_enough_for_the_calls_that_are_certain_and_a_quarter_more() {
    let of_items = |calls: usize| {
        made(|b| {
            b.begin_item();
            let steps: Vec<StepId> = (0..calls).map(|n| b.model(&format!("m{n}"), "x")).collect();
            let body = b.sequence("", &steps);
            let flow = b.flow("each", body, None);
            vec![b.for_each("each", "[1, 2, 3, 4]", flow, OnItemFailure::Continue), b.model("end", "x")]
        })
    };
    let programs = [
        ("a sequence", 3, made(|b| vec![b.model("a", "x"), b.model("b", "x"), b.model("c", "x")])),
        ("a parallel step", 3, {
            made(|b| {
                let branches = [b.model("a", "x"), b.model("b", "x")];
                vec![b.parallel("", &branches, OnItemFailure::Abort), b.model("c", "x")]
            })
        }),
        ("what may be skipped", 1, {
            made(|b| {
                let may = b.model("b", "x");
                vec![b.model("a", "x"), b.when(may, "false")]
            })
        }),
        ("a branch", 3, {
            made(|b| {
                let both = [b.model("b", "x"), b.model("c", "x")];
                let (longer, shorter) = (b.sequence("", &both), b.model("d", "x"));
                vec![b.model("a", "x"), b.branch("", &[("true", longer)], Some(shorter)), b.model("e", "x")]
            })
        }),
        ("items", 5, of_items(1)),
        ("items with several calls", 9, of_items(2)),
        ("a loop", 2, {
            made(|b| {
                let body = b.model("a", "x");
                vec![b.repeat("", body, "true", 3), b.model("b", "x")]
            })
        }),
        ("a graph", 3, {
            made(|b| {
                let nodes = ["a", "b", "c", "d"].map(|label| graph_node(b.model(label, "x")));
                let [a, mut second, mut perhaps, mut last] = nodes;
                let always = |from| GraphEdge { when: None, ..Build::new().edge(from, "true") };
                second.incoming = vec![always(0)];
                perhaps.incoming = vec![Build::new().edge(0, "true")];
                last.incoming = vec![always(1)];
                vec![b.graph("", vec![a, second, perhaps, last])]
            })
        }),
        ("states", 4, {
            made(|b| {
                let [a, way, round, end] = ["a", "way", "round", "end"].map(|label| b.model(label, "x"));
                let states = vec![
                    state("A", a, &[1, 2]),
                    // It leads to the end by another state, which is not the shortest way.
                    state("WAY", way, &[2, 3]),
                    state("ROUND", round, &[0, 1]),
                    state("END", end, &[]),
                ];
                let machine = StateMachine {
                    states: states.into(),
                    initial: StateId(0),
                    max_entries: 9,
                    max_entries_at: None,
                    feedback: None,
                    previous_error: None,
                    visit: None,
                };
                vec![b.step("", StepKind::StateMachine(machine)), b.model("after", "x")]
            })
        }),
    ];
    for (what, needed, program) in programs {
        assert_eq!(raised(program), needed + u64::div_ceil(needed, 4), "{what}");
    }
}
