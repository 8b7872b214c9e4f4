//! Model calls that are delayed by a host limit.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use testbed::build::Build;
use trefoil_ir::{OnItemFailure, Program};
use trefoil_machine::event::FailedModelCall;
use trefoil_runtime::ports::{CallSite, Clock as _, ModelAnswer, SubstituteModel, VirtualClock};
use trefoil_runtime::{
    CallPermits, EventKind, HostLimits, ModelError, ModelErrorKind, ModelProvider, ModelRequest, ProviderLimits, Usage,
    driver,
};

use crate::world::{World, block_on};

/// A model that takes 300 ms, and fails if requested.
#[derive(Clone, Default)]
struct Slow {
    clock: Arc<VirtualClock>,
    /// Keys of calls in order of arrival, the number in progress, and its maximum.
    asked: Arc<Mutex<(Vec<String>, usize, usize)>>,
}

struct Under<'s>(&'s Slow);

impl Drop for Under<'_> {
    fn drop(&mut self) {
        self.0.asked.lock().unwrap().1 -= 1;
    }
}

#[async_trait]
impl ModelProvider for Slow {
    async fn call_model(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        {
            let mut asked = self.asked.lock().unwrap();
            asked.0.push(at.key.0.to_string());
            asked.1 += 1;
            asked.2 = asked.2.max(asked.1);
        }
        let _under = Under(self);
        self.clock.sleep_ms(300).await;
        match request.messages.iter().any(|m| m.content.to_text().contains("fail")) {
            true => Err(ModelError::new(ModelErrorKind::Protocol, "as asked")),
            false => Ok(ModelAnswer::new("x", Usage { output_tokens: 1, ..Usage::default() })),
        }
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "slow".to_owned()
    }
}

fn at_once(calls: u32) -> HostLimits {
    HostLimits { in_flight: Some(calls), ..HostLimits::default() }
}

fn fan(labels: &[&str], prompt: &str, timeout_ms: Option<u64>) -> Arc<Program> {
    let mut b = Build::new();
    let branches: Vec<_> = labels.iter().map(|label| b.model(label, prompt)).collect();
    for branch in &branches {
        b.call_of(*branch).parameters.timeout_ms = timeout_ms;
    }
    let body = b.parallel("", &branches, OnItemFailure::Abort);
    let main = b.flow("main", body, None);
    b.program(main)
}

fn world(limits: &HostLimits) -> (World, Slow) {
    let slow = Slow::default();
    let mut world = World::new(slow.clone());
    world.ports.clock = slow.clock.clone();
    world.options.permits = Some(Arc::new(CallPermits::new(limits)));
    (world, slow)
}

#[test]
fn calls_wait_in_the_order_in_which_they_came() {
    let (world, slow) = world(&at_once(2));
    let program = fan(&["a", "b", "c", "d", "e"], "x", None);
    let ended = world.run(&program, "x");
    assert!(ended.result.is_ok(), "{ended:?}");
    assert_eq!(*slow.asked.lock().unwrap(), (["a", "b", "c", "d", "e"].map(str::to_owned).to_vec(), 0, 2));
    assert_eq!(ended.duration_ms, 900);
}

#[test]
fn the_time_limit_of_a_call_begins_with_its_turn() {
    let program = fan(&["a", "b", "c"], "x", Some(500));
    let (queued, _) = world(&at_once(1));
    let ended = queued.run(&program, "x");
    assert!(ended.result.is_ok(), "the third began after 600 ms: {ended:?}");
    let (queued, _) = world(&at_once(1));
    let late = queued.run(&fan(&["a", "b", "c"], "x", Some(200)), "x");
    assert_eq!(late.result.unwrap_err().code, "TIMEOUT", "a call that takes too long is stopped all the same");
}

#[test]
fn a_call_that_is_stopped_before_its_turn_was_not_made() {
    let (world, slow) = world(&at_once(1));
    let ended = world.run(&fan(&["a", "b", "c"], "fail", None), "x");
    assert_eq!(ended.result.unwrap_err().code, "MODEL_ERROR");
    assert_eq!(slow.asked.lock().unwrap().0, ["a"]);
    assert_eq!(ended.usage.unknown_calls, 0, "nothing is unknown of what was not begun");
}

/// Runs a program until this many calls have started. Then the run is dropped, as if its process had ended.
fn cut_off(world: &World, slow: &Slow, program: &Arc<Program>, calls: usize) {
    let run = driver::run(program.clone(), None, world.ports.clone(), world.options.clone());
    let begun = async {
        while slow.asked.lock().unwrap().0.len() < calls {
            tokio::task::yield_now().await;
        }
    };
    block_on(async {
        tokio::select! {
            biased;
            () = begun => {}
            ended = run => panic!("it is cut off before: {ended:?}"),
        }
    });
}

#[test]
fn a_call_whose_turn_has_not_come_was_not_made_when_the_process_is_gone() {
    let (world, slow) = world(&at_once(1));
    let program = fan(&["a", "b", "c"], "x", None);
    cut_off(&world, &slow, &program, 2);
    let ended = block_on(driver::resume_run(program, "r1", world.ports.clone(), world.options.clone()));
    assert!(ended.result.is_ok(), "{ended:?}");
    assert_eq!(slow.asked.lock().unwrap().0, ["a", "b", "c", "b"]);
    assert_eq!((ended.calls, ended.usage.unknown_calls), (4, 1), "only the one that had begun is unknown");
}

#[test]
fn a_call_whose_turn_has_not_come_was_not_made_when_the_run_is_interrupted() {
    let (world, slow) = world(&at_once(1));
    let program = fan(&["a", "b", "c"], "x", None);
    let ended = block_on(async {
        let run = driver::run(program.clone(), None, world.ports.clone(), world.options.clone());
        let stop = async {
            while slow.asked.lock().unwrap().0.len() < 2 {
                tokio::task::yield_now().await;
            }
            world.options.cancel.interrupt_runs();
        };
        tokio::join!(run, stop).0
    });
    assert_eq!(ended.result.unwrap_err().code, "INTERRUPTED");
    assert_eq!((ended.calls, ended.usage.unknown_calls), (2, 1));
}

#[test]
fn a_call_that_waited_for_its_turn_has_all_of_its_time_after_an_outage() {
    let (mut world, slow) = world(&at_once(1));
    let program = fan(&["a", "b", "c"], "x", Some(500));
    cut_off(&world, &slow, &program, 1);
    block_on(slow.clock.sleep_ms(10_000));
    world.options.permits = None;
    let ended = block_on(driver::resume_run(program, "r1", world.ports.clone(), world.options.clone()));
    assert!(ended.result.is_ok(), "{ended:?}");
}

#[test]
fn runs_share_the_limits_and_each_has_its_own() {
    let limits = HostLimits { in_flight: Some(3), in_flight_per_run: Some(2), ..HostLimits::default() };
    let (world, slow) = world(&limits);
    let program = fan(&["a", "b", "c", "d"], "x", None);
    let run = |id: &str| {
        let options = driver::DriverOptions { run: Some(id.to_owned()), ..world.options.clone() };
        driver::run(program.clone(), None, world.ports.clone(), options)
    };
    let (one, two) = block_on(async { tokio::join!(run("one"), run("two")) });
    assert!(one.result.is_ok() && two.result.is_ok());
    assert_eq!(slow.asked.lock().unwrap().2, 3);
    // A single run may make fewer concurrent calls.
    slow.asked.lock().unwrap().2 = 0;
    assert!(block_on(run("three")).result.is_ok());
    assert_eq!(slow.asked.lock().unwrap().2, 2);
}

#[test]
fn a_provider_has_limits_of_its_own_and_others_do_not_wait_for_it() {
    let one = ProviderLimits { in_flight: Some(1), ..ProviderLimits::default() };
    let providers = [("narrow".to_owned(), one)].into_iter().collect();
    let (world, slow) =
        world(&HostLimits { in_flight: Some(2), in_flight_per_run: None, runs_per_flow: None, providers });
    let mut b = Build::new();
    let branches = ["a", "b", "c"].map(|label| b.model(label, "x"));
    for narrow in &branches[..2] {
        b.call_of(*narrow).model.provider = Some("narrow".into());
    }
    let body = b.parallel("", &branches, OnItemFailure::Abort);
    let main = b.flow("main", body, None);
    assert!(world.run(&b.program(main), "x").result.is_ok());
    assert_eq!(slow.asked.lock().unwrap().0, ["a", "c", "b"], "the second place was free for another provider");
}

/// A model that always turns to another one, at the provider `narrow`.
struct Turning(Slow);

#[async_trait]
impl ModelProvider for Turning {
    async fn call_model(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let usage = Some(Usage { input_tokens: 70, ..Usage::default() });
        let before = vec![FailedModelCall { model: "wide:x".to_owned(), why: "busy".to_owned(), usage }];
        let instead = SubstituteModel { by: "narrow:x".to_owned(), before };
        let aimed = ModelRequest { provider: Some("narrow".into()), ..request.clone() };
        at.meter.turn_to(instead, &aimed).await;
        self.0.call_model(at, &aimed, delta).await
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "wide:x".to_owned()
    }
}

fn turning(narrow: ProviderLimits, wide: ProviderLimits) -> (World, Slow) {
    let slow = Slow::default();
    let mut world = World::new(Turning(slow.clone()));
    world.ports.clock = slow.clock.clone();
    let providers = [("narrow".to_owned(), narrow), ("wide".to_owned(), wide)].into_iter().collect();
    let limits = HostLimits { in_flight: Some(4), in_flight_per_run: None, runs_per_flow: None, providers };
    world.options.permits = Some(Arc::new(CallPermits::new(&limits)));
    (world, slow)
}

fn wide(labels: &[&str]) -> Arc<Program> {
    let mut b = Build::new();
    let branches: Vec<_> = labels.iter().map(|label| b.model(label, "x")).collect();
    for branch in &branches {
        b.call_of(*branch).model.provider = Some("wide".into());
    }
    let body = b.parallel("", &branches, OnItemFailure::Abort);
    let main = b.flow("main", body, None);
    b.program(main)
}

#[test]
fn a_fallback_model_has_the_limits_of_its_own_provider() {
    let one = ProviderLimits { in_flight: Some(1), ..ProviderLimits::default() };
    let (world, slow) = turning(one, ProviderLimits::default());
    assert!(world.run(&wide(&["a", "b", "c", "d"]), "x").result.is_ok());
    assert_eq!(slow.asked.lock().unwrap().2, 1, "one call at a time");
    // A call that waits for the other provider does not occupy its place at the first one.
    let (world, slow) = turning(one, one);
    assert!(world.run(&wide(&["a", "b", "c", "d"]), "x").result.is_ok());
    assert_eq!(slow.asked.lock().unwrap().0.len(), 4);
}

/// Runs a program until its second call waits, and returns the numbers and the events of the waits.
fn waits(world: &World, program: &Arc<Program>) -> Vec<(u64, String, EventKind)> {
    let waiting = |kind: &EventKind| matches!(kind, EventKind::ModelWaiting { .. });
    block_on(async {
        let run = driver::run(program.clone(), None, world.ports.clone(), world.options.clone());
        let stop = async {
            while !world.kinds().iter().any(waiting) {
                tokio::task::yield_now().await;
            }
            world.options.cancel.cancel_runs();
        };
        tokio::join!(run, stop).0
    });
    let seen = world.events.collected_events().into_iter().filter(|event| waiting(&event.kind));
    seen.map(|event| (event.seq, event.key.unwrap().0.to_string(), event.kind)).collect()
}

#[test]
fn what_each_model_used_counts_for_its_own_provider() {
    let tokens = |limit| ProviderLimits { tokens_per_minute: Some(limit), ..ProviderLimits::default() };
    // Each call is estimated with more than this and uses 70 tokens at the first provider.
    let (world, slow) = turning(ProviderLimits::default(), tokens(5_000));
    let mut b = Build::new();
    let steps = ["a", "b", "c", "d", "e", "f"].map(|label| b.model(label, "x"));
    for step in steps {
        b.call_of(step).model.provider = Some("wide".into());
    }
    let body = b.sequence("", &steps);
    let main = b.flow("main", body, None);
    assert!(world.run(&b.program(main), "x").result.is_ok(), "none of them waits");
    assert_eq!(slow.asked.lock().unwrap().0.len(), 6);
}

#[test]
fn watchers_are_told_which_limit_a_call_waits_for() {
    let one = ProviderLimits { requests_per_minute: Some(1), ..ProviderLimits::default() };
    let told = |(seq, key, kind): (u64, String, EventKind)| match kind {
        EventKind::ModelWaiting { agent, provider, limit, delay_ms, why: None } => {
            assert!(delay_ms.is_some_and(|ms| (50_000..=60_000).contains(&ms)), "{delay_ms:?}");
            format!("{seq} {key} {agent} {provider} {limit}")
        }
        other => panic!("{other:?}"),
    };
    // The second call of the program waits in the queue.
    let (world, _) = turning(ProviderLimits::default(), one);
    let all: Vec<String> = waits(&world, &wide(&["a", "b"])).into_iter().map(told).collect();
    assert_eq!(all, ["3 b b wide requests_per_minute"]);
    let started = world.kinds().iter().filter(|kind| matches!(kind, EventKind::ModelStarted { .. })).count();
    assert_eq!(started, 1, "it was not made");
    // And at the fallback model.
    let (world, _) = turning(one, ProviderLimits::default());
    let all: Vec<String> = waits(&world, &wide(&["a", "b"])).into_iter().map(told).collect();
    assert_eq!(all, ["4 b b narrow requests_per_minute"]);
}
