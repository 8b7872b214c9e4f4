//! The operator's cost limit. A call of these programs has an expected cost of 1,000 micro-dollars: 1,000 tokens of an
//! answer.

use std::sync::Arc;

use expect_test::expect;
use testbed::Run;
use testbed::build::Build;
use trefoil_ir::prices::{ModelPrice, TokenRates};
use trefoil_ir::{Budget, Guard, OnExceeded, OnItemFailure, Program};
use trefoil_machine::event::EventKind;
use trefoil_machine::{
    Flags, Key, LimitKind, NoObserver, PreparedProgram, Replay, Request, Reserve, RunError, RunLimits, RunSpec, Usage,
};
use trefoil_syntax::{FileId, Location, Span};
use trefoil_template::Value;

use crate::machine::FLAGS;

fn bound(flags: Flags) -> Flags {
    Flags { spec: RunSpec { reserve: Some(Reserve::Bound), ..flags.spec }, ..flags }
}

fn limited(max_cost_micro: u64) -> Flags {
    let rates = TokenRates { output: 1_000_000, ..TokenRates::default() };
    let prices = vec![("test".to_owned(), ModelPrice { rates, ..ModelPrice::default() })];
    let spec = RunSpec { limits: RunLimits::for_kind(LimitKind::Cost, max_cost_micro), ..RunSpec::NONE };
    Flags { spec, prices, ..FLAGS }
}

fn cost(micro: u64) -> Option<Usage> {
    Some(Usage { output_tokens: micro, cost_micro: micro, ..Usage::default() })
}

fn chain(steps: &[&str]) -> Arc<Program> {
    let mut b = Build::new();
    let steps: Vec<_> = steps.iter().map(|label| b.model(label, "x")).collect();
    let body = b.sequence("", &steps);
    let main = b.flow("main", body, None);
    b.program(main)
}

fn error(run: &Run) -> String {
    let error = run.result.as_ref().unwrap().as_ref().unwrap_err();
    assert_eq!(error.code, "BUDGET_EXCEEDED");
    error.message.clone()
}

#[test]
fn what_calls_in_progress_may_cost_is_set_aside() {
    let mut b = Build::new();
    let branches = [b.model("a", "x"), b.model("b", "x"), b.model("c", "x")];
    let body = b.parallel("", &branches, OnItemFailure::Abort);
    let main = b.flow("main", body, None);
    let prepared = PreparedProgram::new(b.program(main));
    let run = Run::start(&prepared, None, limited(2_999));
    expect![
        "cost limit reached: $0 of $0.003 spent, calls in progress may cost $0.002, and the next call may cost $0.001"
    ]
    .assert_eq(&error(&run));
    assert!(Run::start(&prepared, None, limited(3_000)).result.is_none());
}

#[test]
fn a_call_that_might_pass_the_limit_does_not_start_and_one_that_cost_more_than_expected_is_told() {
    let prepared = PreparedProgram::new(chain(&["a", "b"]));
    let mut run = Run::start(&prepared, None, limited(1_500));
    run.complete(&Key::from("a"), Ok("x".into()), cost(500));
    assert!(run.result.is_none(), "500 and 1,000 are within the limit");
    let told = run.on(Key::from("b"), Ok("x".into()), cost(1_100)).events;
    let warned =
        told.iter().filter_map(|e| if let EventKind::Warning { message } = &e.kind { Some(&**message) } else { None });
    assert_eq!(warned.collect::<Vec<_>>(), ["cost limit exceeded: $0.0016 spent, limit is $0.0015"]);
    let mut run = Run::start(&prepared, None, limited(1_500));
    run.complete(&Key::from("a"), Ok("x".into()), cost(501));
    expect!["cost limit reached: $0.000501 of $0.0015 spent, and the next call may cost $0.001"]
        .assert_eq(&error(&run));
    assert_eq!(run.machine.call_count(), 1);
}

#[test]
fn a_call_of_unknown_cost_counts_as_what_was_expected() {
    let prepared = PreparedProgram::new(chain(&["a", "b"]));
    let mut run = Run::start(&prepared, None, limited(1_999));
    run.complete(&Key::from("a"), Ok("x".into()), Some(Usage::for_unknown_call().with_price(None)));
    expect!["cost limit reached: $0.001 of $0.002 spent, and the next call may cost $0.001"].assert_eq(&error(&run));
}

#[test]
fn a_replay_decides_as_the_run_did_with_the_prices_of_its_journal() {
    let prepared = PreparedProgram::new(chain(&["a", "b", "c"]));
    let mut run = Run::start(&prepared, None, limited(2_500));
    run.complete(&Key::from("a"), Ok("x".into()), cost(900));
    run.complete(&Key::from("b"), Ok("x".into()), cost(900));
    let said = error(&run);
    let (first, rest) = run.entries.split_first().unwrap();
    let mut replay = Replay::from_first_entry(prepared, first, &mut NoObserver).unwrap();
    for entry in rest {
        replay.replay_entry(entry, &mut NoObserver).unwrap();
    }
    let resumed = replay.finish_replay(&mut NoObserver).unwrap();
    assert_eq!(resumed.finished.unwrap().unwrap_err().message, said);
}

/// Two calls in a flow with a limit of 1,500 micro-dollars.
fn budgeted(on_exceeded: OnExceeded) -> Arc<Program> {
    let mut b = Build::new();
    let steps = [b.model("a", "x"), b.model("b", "x")];
    let body = b.sequence("", &steps);
    let main = b.flow("main", body, None);
    b.flow_mut(main).budget = Some(Budget {
        max_tokens: None,
        max_duration_ms: None,
        max_calls: None,
        calls_at: None,
        max_cost_micro: Some(1_500),
        on_exceeded,
    });
    b.program(main)
}

#[test]
fn the_limit_of_a_flow_holds_before_the_call_where_passing_it_fails_the_run() {
    let flags = Flags { spec: RunSpec::NONE, ..limited(0) };
    let mut run = Run::start(&PreparedProgram::new(budgeted(OnExceeded::Abort)), None, flags.clone());
    run.complete(&Key::from("a"), Ok("x".into()), cost(501));
    expect!["cost limit reached: $0.000501 of $0.0015 spent, and the next call may cost $0.001"]
        .assert_eq(&error(&run));

    let mut run = Run::start(&PreparedProgram::new(budgeted(OnExceeded::Warn)), None, flags.clone());
    run.complete(&Key::from("a"), Ok("x".into()), cost(1_500));
    let told = run.on(Key::from("b"), Ok("x".into()), cost(1)).events;
    let warned =
        told.iter().filter_map(|e| if let EventKind::Warning { message } = &e.kind { Some(&**message) } else { None });
    assert_eq!(warned.collect::<Vec<_>>(), ["cost limit exceeded: $0.00151 spent, limit is $0.0015"]);

    let mut run = Run::start(&PreparedProgram::new(budgeted(OnExceeded::Abort)), None, flags);
    run.complete(&Key::from("a"), Ok("x".into()), cost(2_000));
    expect!["cost limit exceeded: $0.002 spent, limit is $0.0015"].assert_eq(&error(&run));
}

#[test]
fn a_limit_of_a_flow_is_told_where_the_step_is_that_it_ends() {
    let flags = Flags { spec: RunSpec::NONE, ..limited(0) };
    let at = |start| Location::new(FileId(0), Span::new(start, start + 1));
    let ends = |max_calls, max_cost_micro, costs: &[u64]| {
        let mut b = Build::new();
        let steps = [b.model("a", "x"), b.model("b", "x")];
        for (step, start) in steps.into_iter().zip([10, 20]) {
            b.at(step).origin = at(start);
        }
        let body = b.sequence("", &steps);
        let main = b.flow("main", body, None);
        b.flow_mut(main).budget = Some(Budget {
            max_tokens: None,
            max_duration_ms: None,
            max_calls,
            calls_at: None,
            max_cost_micro,
            on_exceeded: OnExceeded::Abort,
        });
        let mut run = Run::start(&PreparedProgram::new(b.program(main)), None, flags.clone());
        for (key, micro) in ["a", "b"].into_iter().zip(costs) {
            run.complete(&Key::from(key), Ok("x".into()), cost(*micro));
        }
        error(&run);
        let error = run.result.unwrap().unwrap_err();
        assert_eq!((error.key.clone(), error.location), (Some(Key::from("b")), Some(at(20))));
    };
    // Before the call, and after one that cost more than expected.
    ends(None, Some(1_500), &[501]);
    ends(None, Some(1_500), &[500, 2_000]);
    // As many calls as are allowed.
    ends(Some(1), None, &[1]);
}

#[test]
fn a_cap_on_money_refuses_the_answer_that_passes_it() {
    let mut b = Build::new();
    let say = b.model("say", "x");
    b.call_of(say).guards = vec![Guard::CostCap { max_micro: 10, warn: false }];
    let main = b.flow("main", say, None);
    let prepared = PreparedProgram::new(b.program(main));
    let ends = |micro| {
        let mut run = Run::start(&prepared, None, FLAGS);
        run.complete(&Key::from("say"), Ok("x".into()), cost(micro));
        run.result.unwrap()
    };
    assert!(ends(10).is_ok());
    let error = ends(11).unwrap_err();
    assert_eq!(
        (&*error.code, &*error.message),
        ("GUARDRAIL_VIOLATION", "cost cap exceeded: $0.000011 spent, limit is $0.00001")
    );
}

#[test]
fn under_a_limit_no_call_is_made_whose_price_nobody_knows() {
    let prepared = PreparedProgram::new(chain(&["a"]));
    let flags = Flags { prices: Vec::new(), ..limited(1_000_000) };
    let run = Run::start(&prepared, None, flags);
    expect!["a cost limit cannot be enforced: the price of `test` is unknown"].assert_eq(&error(&run));
}

/// The usage of the longest possible call: a token for every byte, and an answer of 100 tokens.
fn at_the_bound(request: &Request, flags: &Flags) -> Usage {
    let Request::Model(request) = request else { panic!("{request:?}") };
    let input = request.messages.iter().map(|m| m.content.to_text().len() as u64 + 8).sum();
    let usage = Usage { input_tokens: input, output_tokens: 100, ..Usage::default() };
    usage.with_price(flags.model_price(None, &request.model))
}

/// Twenty branches of two calls each with maximum cost: the total cost, and how the run ended.
fn all_at_the_bound(flags: Flags) -> (u64, Result<(), RunError>) {
    let mut b = Build::new();
    let branches: Vec<_> = (0..20)
        .map(|n| {
            let steps = [b.model(&format!("a{n}"), "a prompt"), b.model(&format!("b{n}"), "a longer prompt, twice")];
            b.sequence(&format!("s{n}"), &steps)
        })
        .collect();
    let body = b.parallel("", &branches, OnItemFailure::Abort);
    let main = b.flow("main", body, None);
    let mut run = Run::start(&PreparedProgram::new(b.program(main)), None, flags.clone());
    while run.result.is_none() {
        let next = run.pending.first().unwrap();
        let (key, usage) = (next.key.clone(), at_the_bound(&next.request, &flags));
        run.complete(&key, Ok("x".into()), Some(usage));
    }
    (run.machine.usage().cost_micro, run.result.unwrap().map(|_| ()))
}

#[test]
fn under_a_strict_limit_twenty_calls_at_once_that_cost_what_they_can_never_pass_it() {
    let rates = TokenRates { input: 1_000_000, output: 5_000_000, ..TokenRates::default() };
    let flags = |limit, reserve| Flags {
        spec: RunSpec { limits: RunLimits::for_kind(LimitKind::Cost, limit), reserve: Some(reserve), ..RunSpec::NONE },
        prices: vec![("test".to_owned(), ModelPrice { rates, ..ModelPrice::default() })],
        windows: vec![("test".to_owned(), 100)],
        ..FLAGS
    };
    let (whole, _) = all_at_the_bound(flags(u64::MAX, Reserve::Bound));
    let mut ends = 0;
    for limit in (whole / 3..whole + 10_000).step_by(97) {
        let (spent, ended) = all_at_the_bound(flags(limit, Reserve::Bound));
        assert!(spent <= limit, "{spent} of {limit}");
        ends += u32::from(ended.is_ok());
    }
    assert!(ends > 0, "a limit that is high enough lets the run end");
    let small = Flags { windows: vec![("test".to_owned(), 1)], ..flags(whole / 5 * 3, Reserve::Bound) };
    let (spent, _) = all_at_the_bound(small);
    assert!(spent > whole / 5 * 3, "with too small a bound it is passed: {spent}");
}

#[test]
fn a_call_whose_most_nobody_knows_is_not_made_under_a_strict_limit() {
    let prepared = PreparedProgram::new(chain(&["a"]));
    let flags = bound(limited(1_000_000));
    let run = Run::start(&prepared, None, flags.clone());
    expect!["a strict cost limit cannot be enforced: the maximum cost of a call of `test` is unknown"]
        .assert_eq(&error(&run));
    let known = Flags { windows: vec![("test".to_owned(), 100)], ..flags.clone() };
    assert!(Run::start(&prepared, None, known).result.is_none());
    let free = Flags { prices: vec![("test".to_owned(), ModelPrice::without_cost())], ..flags };
    assert!(Run::start(&prepared, None, free).result.is_none());
}

#[test]
fn provider_options_leave_only_the_window_as_a_bound() {
    let most = |options: Option<&str>, max_tokens| {
        let mut b = Build::new();
        let say = b.model("say", "x");
        b.call_of(say).parameters.max_tokens = max_tokens;
        b.call_of(say).parameters.provider_options = options.map(|_| [("x", Value::from(true))].into_iter().collect());
        let main = b.flow("main", say, None);
        let windows = vec![("test".to_owned(), 5_000)];
        let run = Run::start(&PreparedProgram::new(b.program(main)), None, Flags { windows, ..bound(limited(0)) });
        error(&run)
    };
    expect!["cost limit reached: $0 of $0 spent, and the next call may cost $0.0001"].assert_eq(&most(None, Some(100)));
    expect!["cost limit reached: $0 of $0 spent, and the next call may cost $0.005"].assert_eq(&most(None, None));
    expect!["cost limit reached: $0 of $0 spent, and the next call may cost $0.005"]
        .assert_eq(&most(Some("x"), Some(100)));
}
