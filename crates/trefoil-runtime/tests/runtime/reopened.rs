//! Runs that failed and continue from the step that failed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use expect_test::expect;
use serde_json::json as j;
use trefoil_ir::{OnItemFailure, OnTimeout, Program, Retry, RetryOn, StepKind, ValueExpression};
use trefoil_machine::{Machine, PreparedProgram};
use trefoil_runtime::ports::Journal as _;
use trefoil_runtime::{EntryKind, EventKind, RunOutcome, driver};

use crate::waiting::{Inbox, asking, numbered, resume, world};
use crate::world::{World, block_on, json, status};
use testbed::Build;
use testbed::build::retry;

/// A model that fails for the keys in a list, and records its requests.
#[derive(Clone, Default)]
struct Flaky {
    fails: Arc<Mutex<Vec<String>>>,
    asked: Arc<Mutex<BTreeMap<String, u32>>>,
}

impl Flaky {
    fn failing(keys: &[&str]) -> Self {
        let flaky = Self::default();
        flaky.fails.lock().unwrap().extend(keys.iter().map(ToString::to_string));
        flaky
    }
    fn world(&self) -> World {
        let Self { fails, asked } = self.clone();
        World::model(move |key, user| {
            *asked.lock().unwrap().entry(key.to_owned()).or_default() += 1;
            if fails.lock().unwrap().iter().any(|f| f == key) { Err(status(400)) } else { Ok(user.to_owned()) }
        })
    }
    fn mend(&self) {
        self.fails.lock().unwrap().clear();
        self.asked.lock().unwrap().clear();
    }
    fn asked(&self) -> Vec<(String, u32)> {
        self.asked.lock().unwrap().clone().into_iter().collect()
    }
}

/// Resumes a run. Checks that reading the journal later produces the same numbered events, and that the journal can be replayed.
fn go_on(world: &World, program: &Arc<Program>) -> RunOutcome {
    let seen = numbered(world).len();
    let outcome = resume(world, program);
    let told: Vec<_> = numbered(world)[seen..].to_vec();
    let again = World::echo();
    let entries = world.journal.entries("r1");
    block_on(again.journal.append_entries("r1", &entries, &[])).unwrap();
    let prepared = PreparedProgram::new(program.clone());
    block_on(driver::retell_events(prepared.clone(), "r1", again.ports.clone(), &again.options)).unwrap();
    assert_eq!(told, numbered(&again));
    for cut in 1..=entries.len() {
        Machine::replay_journal(prepared.clone(), &entries[..cut]).unwrap_or_else(|e| panic!("cut at {cut}: {e}"));
    }
    outcome
}

fn chain(b: &mut Build) -> Arc<Program> {
    let steps = [b.model("a", "1"), b.model("b", "2"), b.model("c", "3")];
    let body = b.sequence("", &steps);
    let main = b.flow("main", body, None);
    std::mem::take(b).program(main)
}

#[test]
fn only_what_failed_is_done_again_and_what_was_spent_stays_spent() {
    let program = chain(&mut Build::new());
    let flaky = Flaky::failing(&["b"]);
    let world = flaky.world();
    let failed = world.run(&program, "x");
    assert!(failed.continues);
    assert_eq!(failed.result.unwrap_err().code, "MODEL_ERROR");
    flaky.mend();
    let outcome = go_on(&world, &program);
    assert_eq!(json(&outcome.result.unwrap()), j!("3"));
    assert_eq!(flaky.asked(), [("b".to_owned(), 1), ("c".to_owned(), 1)]);
    assert_eq!(outcome.calls, failed.calls + 2);
    let kinds = world.journal.entries("r1").into_iter().map(|e| e.kind);
    let reopened: Vec<_> =
        kinds.filter_map(|k| if let EntryKind::Reopened { again, .. } = k { Some(again) } else { None }).collect();
    assert_eq!(reopened, [vec!["b".into()]]);
    // The run has succeeded, so a resume only returns the result.
    assert_eq!(json(&resume(&world, &program).result.unwrap()), j!("3"));
    assert_eq!(flaky.asked().len(), 2);
}

#[test]
fn a_run_may_fail_again_elsewhere_or_at_the_same_step() {
    let program = chain(&mut Build::new());
    let flaky = Flaky::failing(&["b"]);
    let world = flaky.world();
    world.run(&program, "x").result.unwrap_err();
    assert_eq!(go_on(&world, &program).result.unwrap_err().code, "MODEL_ERROR");
    *flaky.fails.lock().unwrap() = vec!["c".into()];
    assert_eq!(go_on(&world, &program).result.unwrap_err().key, Some("c".into()));
    flaky.mend();
    assert_eq!(json(&go_on(&world, &program).result.unwrap()), j!("3"));
    assert_eq!(flaky.asked(), [("c".to_owned(), 1)]);
}

#[test]
fn all_tries_are_made_again_and_neighbours_that_were_stopped_go_on() {
    let mut b = Build::new();
    let branches = [b.model("a", "1"), b.model("b", "2"), b.model("c", "3")];
    b.at(branches[1]).policy.retry = Some(retry(3, &[RetryOn::Status(400)]));
    let body = b.parallel("", &branches, OnItemFailure::Abort);
    let main = b.flow("main", body, None);
    let program = b.program(main);
    let flaky = Flaky::failing(&["b", "b!2", "b!3"]);
    let world = flaky.world();
    assert_eq!(world.run(&program, "x").result.unwrap_err().key, Some("b!3".into()));
    *flaky.fails.lock().unwrap() = vec!["b".into()];
    flaky.asked.lock().unwrap().clear();
    go_on(&world, &program).result.unwrap();
    assert_eq!(flaky.asked(), [("b".to_owned(), 1), ("b!2".to_owned(), 1)]);
}

#[test]
fn steps_that_a_failure_stops_get_all_of_their_tries_again() {
    // When `a` has failed for the third time, `b` is in its third try, or waits for it.
    for delay in [100, 150] {
        let mut b = Build::new();
        let branches = [b.model("a", "1"), b.model("b", "2")];
        let policy = retry(3, &[RetryOn::Status(400)]);
        b.at(branches[0]).policy.retry = Some(policy.clone());
        b.at(branches[1]).policy.retry = Some(Retry { base_delay_ms: delay, ..policy });
        let body = b.parallel("", &branches, OnItemFailure::Abort);
        let main = b.flow("main", body, None);
        let program = b.program(main);
        let flaky = Flaky::failing(&["a", "a!2", "a!3", "b", "b!2", "b!3"]);
        let world = flaky.world();
        assert_eq!(world.run(&program, "x").result.unwrap_err().key, Some("a!3".into()));
        flaky.mend();
        *flaky.fails.lock().unwrap() = vec!["b".into(), "b!2".into()];
        go_on(&world, &program).result.unwrap();
        let asked: Vec<_> = ["a", "b", "b!2", "b!3"].map(|key| (key.to_owned(), 1)).into();
        assert_eq!(flaky.asked(), asked, "delay of {delay} ms");
    }
}

#[test]
fn of_a_list_only_the_items_that_failed_are_done_again_whatever_the_order_is_now() {
    for concurrency in [1, 2, 3, 6] {
        let mut b = Build::new();
        b.begin_item();
        let say = b.model("say", "{{item}}");
        let item = b.flow("item", say, None);
        let each = b.for_each("all", "[1,2,3,4,5,6]", item, OnItemFailure::Abort);
        if let StepKind::ForEach(each) = &mut b.at(each).kind {
            each.concurrency = Some(concurrency);
        }
        let main = b.flow("main", each, None);
        let program = b.program(main);
        let flaky = Flaky::failing(&["all[3]/say"]);
        let world = flaky.world();
        world.run(&program, "x").result.unwrap_err();
        let done = world.journal.entries("r1").into_iter().filter(|e| matches!(e.kind, EntryKind::Completed { .. }));
        let done = done.count();
        flaky.mend();
        let outcome = go_on(&world, &program);
        assert_eq!(json(&outcome.result.unwrap()).as_array().unwrap().len(), 6, "{concurrency} at a time");
        assert_eq!(flaky.asked().len(), 6 - done, "{concurrency} at a time: {:?}", flaky.asked());
    }
}

#[test]
fn what_would_only_fail_again_is_refused_with_what_to_do() {
    let mut b = Build::new();
    let say = b.model("say", "x");
    let body = b.repeat("", say, "{{say}} == 1", 2);
    let main = b.flow("main", body, None);
    let program = b.program(main);
    let world = World::echo();
    let failed = world.run(&program, "x");
    assert!(!failed.continues);
    let entries = world.journal.entries("r1").len();
    let error = resume(&world, &program).result.unwrap_err();
    assert_eq!(error.code, "WOULD_REPEAT");
    expect!["the run failed with MAX_ITERATIONS_EXCEEDED in `main`, and would fail there again"]
        .assert_eq(&error.message);
    assert_eq!(world.journal.entries("r1").len(), entries, "nothing is written");
}

#[test]
fn a_limit_is_raised_and_the_run_goes_on_from_there() {
    let program = chain(&mut Build::new());
    let flaky = Flaky::default();
    let mut world = flaky.world();
    world.options.spec.limits.calls = Some(2);
    let failed = world.run(&program, "x");
    assert!(failed.continues);
    assert_eq!(failed.result.unwrap_err().code, "BUDGET_EXCEEDED");
    assert_eq!(resume(&world, &program).result.unwrap_err().code, "WOULD_REPEAT");
    flaky.mend();
    world.options.spec.limits.calls = Some(3);
    world.events = Arc::default();
    world.ports.events = world.events.clone();
    assert_eq!(json(&go_on(&world, &program).result.unwrap()), j!("3"));
    assert_eq!(flaky.asked(), [("c".to_owned(), 1)]);
}

#[test]
fn a_person_who_was_late_is_asked_again_with_all_of_the_time() {
    let mut b = Build::new();
    let ask = asking(&mut b, "ask", Some(600_000));
    if let StepKind::Human(call) = &mut b.at(ask).kind {
        call.on_timeout = OnTimeout::Fail;
    }
    let note = b.step("note", StepKind::Compute(ValueExpression::Const("thanks".into())));
    let body = b.sequence("", &[ask, note]);
    let main = b.flow("main", body, None);
    let (program, inbox) = (b.program(main), Arc::new(Inbox::default()));
    let first = world(&inbox, &[]);
    assert_eq!(first.run(&program, "x").waiting.len(), 1);
    block_on(first.ports.clock.sleep_ms(700_000));
    assert_eq!(resume(&first, &program).result.unwrap_err().code, "HUMAN_TIMEOUT");
    block_on(first.ports.clock.sleep_ms(5_000_000));
    let asked = resume(&first, &program);
    assert_eq!(asked.waiting.len(), 1, "{asked:?}");
    inbox.answers.lock().unwrap().insert("ask".into(), "yes".into());
    block_on(first.ports.clock.sleep_ms(500_000));
    assert_eq!(json(&resume(&first, &program).result.unwrap()), j!("thanks"));
    assert!(first.kinds().iter().any(|kind| matches!(kind, EventKind::RunFinished { error: None, .. })));
}
