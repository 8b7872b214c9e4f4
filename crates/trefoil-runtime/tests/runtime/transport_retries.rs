//! Retries without a policy in the manifest: calls without an answer are repeated twice, on the run's clock.

use expect_test::expect;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use trefoil_ir::{Retry, RetryBackoff, RetryOn};
use trefoil_runtime::{Event, EventKind, ModelError};

use crate::world::{World, status};
use testbed::Build;

/// A model that fails this many times, then answers.
fn failing(times: u32, error: impl Fn() -> ModelError + Send + Sync + 'static) -> (World, Arc<AtomicU32>) {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let world =
        World::model(
            move |_, _| {
                if counted.fetch_add(1, Ordering::SeqCst) < times { Err(error()) } else { Ok("yes".to_owned()) }
            },
        );
    (world, calls)
}

fn delays(world: &World) -> Vec<u64> {
    let kinds = world.kinds().into_iter();
    kinds
        .filter_map(|k| if let EventKind::RetryScheduled { delay_ms, .. } = k { Some(delay_ms) } else { None })
        .collect()
}

#[test]
fn a_busy_provider_is_asked_twice_more_and_it_stays_one_call() {
    let mut b = Build::new();
    let say = b.model("a", "x");
    let main = b.flow("main", say, None);
    let (world, calls) = failing(2, || status(429));
    let outcome = world.run(&b.program(main), "x");
    assert!(outcome.result.is_ok());
    assert_eq!((calls.load(Ordering::SeqCst), outcome.calls), (3, 1));
    let delays = delays(&world);
    assert!((800..=1200).contains(&delays[0]) && (1600..=2400).contains(&delays[1]), "{delays:?}");
}

#[test]
fn it_ends_there_and_other_failures_are_not_tried_again() {
    for (code, tries) in [(503, 3), (408, 3), (400, 1), (401, 1)] {
        let mut b = Build::new();
        let say = b.model("a", "x");
        let main = b.flow("main", say, None);
        let (world, calls) = failing(u32::MAX, move || status(code));
        assert_eq!(world.run(&b.program(main), "x").result.unwrap_err().code, "MODEL_ERROR");
        assert_eq!(calls.load(Ordering::SeqCst), tries, "status {code}");
    }
}

#[test]
fn what_the_manifest_says_about_tries_is_all_there_is() {
    let mut b = Build::new();
    let say = b.model("a", "x");
    b.at(say).policy.retry = Some(Retry {
        max_attempts: 2,
        backoff: RetryBackoff::Constant,
        base_delay_ms: 5,
        max_delay_ms: 5,
        jitter: false,
        on: vec![RetryOn::Guardrail],
    });
    let main = b.flow("main", say, None);
    let (world, calls) = failing(1, || status(429));
    assert!(world.run(&b.program(main), "x").result.is_err());
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[test]
fn nobody_waits_longer_than_the_step_may_take() {
    let mut b = Build::new();
    let say = b.model("a", "x");
    b.at(say).policy.timeout_ms = Some(60_000);
    let main = b.flow("main", say, None);
    let (world, calls) = failing(1, || ModelError { retry_after_ms: Some(3_600_000), ..status(429) });
    let error = world.run(&b.program(main), "x").result.unwrap_err();
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    expect!["status 429; the requested wait is 3600s, but the step has 60s left"].assert_eq(&error.message);
    assert_eq!(delays(&world), Vec::<u64>::new());
}

#[test]
fn the_tries_of_a_call_without_a_name_are_announced_once_with_the_step_around_it() {
    let mut b = Build::new();
    let inner = b.model("", "x");
    let agent = b.flow("agent", inner, None);
    let outer = b.call("essay", agent, "x");
    let main = b.flow("main", outer, None);
    let (world, _) = failing(2, || status(429));
    assert!(world.run(&b.program(main), "x").result.is_ok());
    let told = |e: Event| match e.kind {
        EventKind::RetryScheduled { attempt, .. } => Some((e.key.unwrap().0.to_string(), attempt)),
        _ => None,
    };
    let told: Vec<_> = world.events.collected_events().into_iter().filter_map(told).collect();
    assert_eq!(told, [("essay".to_owned(), 2), ("essay".to_owned(), 3)]);
}
