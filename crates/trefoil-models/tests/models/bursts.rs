//! Fan-outs over a provider that fails for a while: each ends within the tries of its calls, soon after the provider is back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use testbed::build::{Build, retry};
use trefoil_ir::{OnItemFailure, Program, Retry, RetryOn};
use trefoil_models::Registry;
use trefoil_runtime::ports::{CollectEvents, MapSecrets, NoHumans, NoJournal, NoTools, SeededRandom, SystemClock};
use trefoil_runtime::{CallPermits, DriverOptions, EventKind, Ports, RunOutcome, driver};
use trefoil_template::Value;

use crate::server::{Reply, Server};

/// A fan-out with one call for each item. `tries`: those of its retry policy.
fn fan_out(tries: Option<u32>) -> Arc<Program> {
    let mut b = Build::new();
    b.begin_item();
    let say = b.model("say", "{{item}}");
    let call = b.call_of(say);
    (call.model.provider, call.stream) = (Some("openai".into()), false);
    b.at(say).policy.retry = tries.map(|tries| Retry { base_delay_ms: 1_000, ..retry(tries, &[RetryOn::Status(503)]) });
    let body = b.flow("item", say, Some("{{say}}"));
    let all = b.for_each("all", "{{input}}", body, OnItemFailure::Abort);
    let main = b.flow("main", all, Some("{{all}}"));
    b.program(main)
}

/// A provider that fails: the first calls of each item, or all calls for some time.
struct Failing {
    calls: usize,
    time: Duration,
}

struct Burst {
    outcome: RunOutcome,
    took: Duration,
    /// The largest number of requests of an item.
    tries: usize,
    /// The number of all requests.
    requests: usize,
    /// The number of calls that waited for the provider.
    waits: usize,
}

async fn burst(items: usize, failing: Failing, tries: Option<u32>) -> Burst {
    let (start, counts) = (Instant::now(), Arc::new(Mutex::new(HashMap::<String, usize>::new())));
    let counted = counts.clone();
    let server = Server::start_with(move |body: &Json| {
        let item = body["messages"][0]["content"].as_str().unwrap_or_default().to_owned();
        let mut counts = counted.lock().unwrap();
        let count = counts.entry(item).or_default();
        *count += 1;
        match *count <= failing.calls || start.elapsed() < failing.time {
            true => Reply::Whole(503, vec![], json!({"error": {"message": "overloaded"}}).to_string()),
            false => Reply::json(json!({"choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}]})),
        }
    })
    .await;
    let env = [("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", &server.url)];
    let registry = Registry::new(env.map(|(k, v)| (k.to_owned(), v.to_owned())));
    let events = Arc::new(CollectEvents::new());
    let ports = Ports {
        models: registry.by_name(),
        tools: Arc::new(NoTools),
        commands: None,
        humans: Arc::new(NoHumans),
        journal: Arc::new(NoJournal),
        clock: Arc::new(SystemClock::new()),
        random: Arc::new(SeededRandom::new(1)),
        secrets: Arc::new(MapSecrets::new()),
        events: events.clone(),
    };
    let options = DriverOptions { permits: Some(Arc::new(CallPermits::default())), ..DriverOptions::default() };
    let input: Value = (0..items).map(|item| Value::from(format!("item {item}"))).collect();
    let outcome = driver::run(fan_out(tries), Some(input), ports, options).await;
    let is_pause = |kind: &EventKind| matches!(kind, EventKind::ModelWaiting { limit: "circuit_breaker", .. });
    let waits = events.collected_events().iter().filter(|event| is_pause(&event.kind)).count();
    let counts = counts.lock().unwrap();
    let (tries, requests) = (counts.values().copied().max().unwrap_or_default(), counts.values().sum());
    Burst { outcome, took: start.elapsed(), tries, requests, waits }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_fails_when_the_tries_of_a_call_have_failed() {
    let down = burst(8, Failing { calls: 0, time: Duration::from_secs(600) }, None).await;
    let error = down.outcome.result.unwrap_err();
    assert_eq!(error.code, "MODEL_ERROR");
    assert!(error.message.contains("answered with 503: overloaded"), "{}", error.message);
    assert!(down.tries <= 3 && down.took < Duration::from_secs(30), "{} tries, {:?}", down.tries, down.took);
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_burst_of_failures_costs_no_more_tries_and_no_more_time_than_the_provider_needs() {
        for items in [8, 64, 512] {
            let after = |calls, ms| burst(items, Failing { calls, time: Duration::from_millis(ms) }, None);
            // Each call fails once, or twice; the provider is down for a moment, or for longer than a second.
            let all = [after(1, 0).await, after(2, 0).await, after(0, 100).await, after(0, 1_500).await];
            for (at, burst) in all.iter().enumerate() {
                let told = format!("{items} items, case {at}: {:?}, {} requests", burst.took, burst.requests);
                assert!(burst.outcome.result.is_ok(), "{told}: {:?}", burst.outcome.result);
                assert!(burst.tries <= 3, "{told}: {} tries", burst.tries);
                // Two waits of one and two seconds, on a busy machine.
                assert!(burst.took < Duration::from_secs(60), "{told}");
            }
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn calls_wait_for_a_provider_that_is_down_for_long_and_follow_when_it_is_back() {
        let failing = || Failing { calls: 0, time: Duration::from_secs(14) };
        let waiting = burst(64, failing(), Some(20)).await;
        assert!(waiting.outcome.result.is_ok(), "{:?}", waiting.outcome.result);
        assert!(waiting.waits > 0, "the breaker opens");
        assert!(waiting.took < Duration::from_secs(60), "{:?}", waiting.took);
        // Without it, each call would have failed 14 times.
        assert!(waiting.requests < 64 * 14, "{} requests", waiting.requests);
    }
}
