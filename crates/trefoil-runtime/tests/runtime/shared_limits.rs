//! Limits of providers that several processes share: each has its own queue, and all of them have the same shared limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use testbed::build::Build;
use trefoil_ir::{OnItemFailure, Program};
use trefoil_runtime::driver::{self, DriverOptions};
use trefoil_runtime::limits::provider_subject;
use trefoil_runtime::limits::shared_limits::{
    MemoryLimits, PermitAnswer, PermitRequest, PermitWait, ReturnedPermit, SharedLimits,
};
use trefoil_runtime::ports::{CallSite, SystemClock};
use trefoil_runtime::{
    CallPermits, EventKind, HostLimits, ModelAnswer, ModelError, ModelProvider, ModelRequest, ProviderLimits,
    SharedPermit, Usage,
};

use crate::world::{World, block_on};

/// A provider that takes some milliseconds, and counts calls and those in progress.
#[derive(Clone)]
struct Counting {
    took: Duration,
    counts: Arc<(AtomicUsize, AtomicUsize, AtomicUsize)>,
}

struct InProgress<'c>(&'c AtomicUsize);

impl Drop for InProgress<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl ModelProvider for Counting {
    async fn call_model(
        &self,
        _at: CallSite<'_>,
        _request: &ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let (calls, now, most) = &*self.counts;
        calls.fetch_add(1, Ordering::SeqCst);
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let _now = InProgress(now);
        tokio::time::sleep(self.took).await;
        Ok(ModelAnswer::new("x", Usage { output_tokens: 10, ..Usage::default() }))
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "counting".to_owned()
    }
}

impl Counting {
    fn new(took_ms: u64) -> Self {
        Self { took: Duration::from_millis(took_ms), counts: Arc::default() }
    }
    fn calls(&self) -> usize {
        self.counts.0.load(Ordering::SeqCst)
    }
    fn most(&self) -> usize {
        self.counts.2.load(Ordering::SeqCst)
    }
}

fn memory() -> Arc<MemoryLimits> {
    Arc::new(MemoryLimits::new(Arc::new(SystemClock::new())))
}

/// Concurrent calls of one provider.
fn fan(calls: usize) -> Arc<Program> {
    let mut b = Build::new();
    let branches: Vec<_> = (0..calls).map(|n| b.model(&format!("call{n}"), "x")).collect();
    for branch in &branches {
        b.call_of(*branch).model.provider = Some("narrow".into());
    }
    let body = b.parallel("", &branches, OnItemFailure::Abort);
    let main = b.flow("main", body, None);
    b.program(main)
}

/// A process with a queue of its own.
fn process(model: &Counting, limits: ProviderLimits, shared: Arc<dyn SharedLimits>) -> World {
    let mut world = World::new(model.clone());
    world.ports.clock = Arc::new(SystemClock::new());
    let providers = [("narrow".to_owned(), limits)].into_iter().collect();
    let limits = HostLimits { providers, ..HostLimits::default() };
    world.options.permits = Some(Arc::new(CallPermits::new(&limits)));
    world.options.shared_limits = Some(shared);
    world
}

async fn run(world: &World, program: &Arc<Program>, id: &str) {
    let options = DriverOptions { run: Some(id.to_owned()), ..world.options.clone() };
    let ended = driver::run(program.clone(), None, world.ports.clone(), options).await;
    assert!(ended.result.is_ok(), "{ended:?}");
}

#[test]
fn processes_together_make_no_more_calls_than_one_may() {
    let (model, shared) = (Counting::new(3), memory());
    let two = ProviderLimits { in_flight: Some(2), ..ProviderLimits::default() };
    let processes = [0, 1, 2].map(|_| process(&model, two, shared.clone()));
    let program = fan(12);
    block_on(async {
        let [one, two, three] = &processes;
        tokio::join!(run(one, &program, "one"), run(two, &program, "two"), run(three, &program, "three"));
    });
    assert_eq!((model.calls(), model.most()), (36, 2));
}

/// Counts requests, and what is not given back.
#[derive(Debug)]
struct Watched {
    limits: Arc<MemoryLimits>,
    asked: AtomicUsize,
    returned: AtomicUsize,
}

#[async_trait]
impl SharedLimits for Watched {
    fn new_request_id(&self) -> u64 {
        self.limits.new_request_id()
    }
    async fn take_permit(&self, request: &PermitRequest) -> PermitAnswer {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.limits.take_permit(request).await
    }
    async fn wait_for_permit(&self, wait: &PermitWait) {
        self.limits.wait_for_permit(wait).await;
    }
    fn return_permit(&self, returned: ReturnedPermit) {
        self.returned.fetch_add(1, Ordering::SeqCst);
        self.limits.return_permit(returned);
    }
}

impl Watched {
    fn new() -> Arc<Self> {
        Arc::new(Self { limits: memory(), asked: AtomicUsize::new(0), returned: AtomicUsize::new(0) })
    }
    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
    fn returned(&self) -> usize {
        self.returned.load(Ordering::SeqCst)
    }
}

#[test]
fn nothing_is_asked_for_a_provider_without_limits() {
    let (model, shared) = (Counting::new(1), Watched::new());
    let world = process(&model, ProviderLimits::default(), shared.clone());
    block_on(run(&world, &fan(5), "free"));
    assert_eq!((model.calls(), shared.asked()), (5, 0));
}

#[test]
fn a_process_that_is_alone_asks_once_for_each_call() {
    let (model, shared) = (Counting::new(2), Watched::new());
    let two = ProviderLimits { in_flight: Some(2), ..ProviderLimits::default() };
    block_on(run(&process(&model, two, shared.clone()), &fan(20), "alone"));
    assert_eq!((model.most(), shared.asked(), shared.returned()), (2, 20, 20));
}

#[test]
fn only_one_call_of_a_process_is_in_the_queue_of_all_processes() {
    let (model, shared) = (Counting::new(2), memory());
    let one = ProviderLimits { in_flight: Some(4), ..ProviderLimits::default() };
    let new = || SharedPermit::for_subject(shared.clone(), provider_subject("narrow"), one, 0);
    block_on(async {
        // Another process has all permits.
        let mut held = [new(), new(), new(), new()];
        for permit in &mut held {
            assert_eq!(permit.try_take().await, None);
        }
        let world = process(&model, one, shared.clone());
        let program = fan(20);
        let run = run(&world, &program, "waits");
        let look = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let wait = new().try_take().await.unwrap();
            assert_eq!((wait.ahead, model.calls()), (1, 0));
            drop(held);
        };
        tokio::join!(run, look);
    });
    assert_eq!(model.calls(), 20);
}

#[test]
fn a_call_that_is_stopped_while_it_waits_leaves_the_queue() {
    let (model, shared) = (Counting::new(1), memory());
    let one = ProviderLimits { in_flight: Some(1), ..ProviderLimits::default() };
    let new = || SharedPermit::for_subject(shared.clone(), provider_subject("narrow"), one, 0);
    block_on(async {
        let mut held = new();
        assert_eq!(held.try_take().await, None);
        let world = process(&model, one, shared.clone());
        let stop = async {
            tokio::time::sleep(Duration::from_millis(30)).await;
            assert_eq!(new().try_take().await.unwrap().ahead, 1, "it waits");
            world.options.cancel.cancel_runs();
        };
        let program = fan(3);
        let run = driver::run(program, None, world.ports.clone(), world.options.clone());
        let (ended, ()) = tokio::join!(run, stop);
        assert_eq!(ended.result.unwrap_err().code, "CANCELLED");
        assert_eq!(new().try_take().await.unwrap().ahead, 0, "it is gone");
        drop(held);
        assert_eq!(new().try_take().await, None);
    });
    assert_eq!(model.calls(), 0);
}

#[test]
fn what_calls_have_used_counts_for_all_processes() {
    let (model, shared) = (Counting::new(1), memory());
    // Each call is expected to use more than half of this, and uses 10 tokens.
    let limits = ProviderLimits { tokens_per_minute: Some(6_000), ..ProviderLimits::default() };
    let processes = [0, 1].map(|_| process(&model, limits, shared.clone()));
    block_on(async {
        for n in 0..10 {
            run(&processes[n % 2], &fan(1), &format!("run-{n}")).await;
        }
        let mut rest = SharedPermit::for_subject(shared.clone(), provider_subject("narrow"), limits, 5_900);
        assert_eq!(rest.try_take().await, None, "ten calls have used 100 tokens");
        let mut more = SharedPermit::for_subject(shared.clone(), provider_subject("narrow"), limits, 1);
        assert_eq!(more.try_take().await.unwrap().limit, "tokens_per_minute");
    });
}

#[test]
fn all_calls_that_wait_for_a_rate_say_so_and_how_long_the_first_waits() {
    let (model, shared) = (Counting::new(1), memory());
    let limits = ProviderLimits { requests_per_minute: Some(1), ..ProviderLimits::default() };
    let world = process(&model, limits, shared);
    let waits = || -> Vec<Option<u64>> {
        let delay = |kind: &EventKind| match kind {
            EventKind::ModelWaiting { limit: "requests_per_minute", delay_ms, .. } => Some(*delay_ms),
            _ => None,
        };
        world.kinds().iter().filter_map(delay).collect()
    };
    block_on(async {
        let stop = async {
            while waits().len() < 3 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            world.options.cancel.cancel_runs();
        };
        let program = fan(4);
        let run = driver::run(program, None, world.ports.clone(), world.options.clone());
        tokio::join!(run, stop);
    });
    let mut waits = waits();
    waits.sort();
    assert!(waits[..2].iter().all(Option::is_none) && waits[2].is_some_and(|ms| ms > 50_000), "{waits:?}");
    assert_eq!(model.calls(), 1);
}

/// Nobody can say what all processes do.
#[derive(Debug)]
struct Unreachable;

#[async_trait]
impl SharedLimits for Unreachable {
    fn new_request_id(&self) -> u64 {
        1
    }
    async fn take_permit(&self, _request: &PermitRequest) -> PermitAnswer {
        PermitAnswer::Unavailable { why: "the store is full".to_owned() }
    }
    async fn wait_for_permit(&self, _wait: &PermitWait) {
        panic!("there is nothing to wait for");
    }
    fn return_permit(&self, _returned: ReturnedPermit) {
        panic!("there is nothing to give back");
    }
}

#[test]
fn if_nobody_can_say_the_limits_of_the_process_hold_and_the_run_warns() {
    let model = Counting::new(3);
    let two = ProviderLimits { in_flight: Some(2), requests_per_minute: Some(6), tokens_per_minute: None };
    let world = process(&model, two, Arc::new(Unreachable));
    let ended = block_on(driver::run(fan(6), None, world.ports.clone(), world.options.clone()));
    assert!(ended.result.is_ok(), "{ended:?}");
    assert_eq!((model.calls(), model.most()), (6, 2));
    let warning = |kind| if let EventKind::Warning { message } = kind { Some(message) } else { None };
    let warnings: Vec<String> = world.kinds().into_iter().filter_map(warning).collect();
    assert_eq!(warnings, vec!["the limits of the provider held for this process only: the store is full"; 6]);
    // The seventh call in a minute waits here, too.
    let run =
        driver::run(fan(1), None, world.ports.clone(), DriverOptions { run: Some("r2".to_owned()), ..world.options });
    block_on(async { tokio::time::timeout(Duration::from_millis(200), run).await.unwrap_err() });
}
