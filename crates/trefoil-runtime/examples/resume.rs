//! What resuming costs: `cargo run --release -p trefoil-runtime --example resume -- [fan-out|loop] [CALLS] [ROUNDS]`.
//!
//! The journal of a run of 50,000 model calls that was cut off is in memory as JSON, in pages of 1,000 entries as a store has them. A
//! watcher discards the events. The run ends when it makes its next call. The time is the least of all rounds, on the processor.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "a program that measures and prints"
)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use testbed::Build;
use tokio::sync::Notify;
use trefoil_ir::{OnItemFailure, StepKind};
use trefoil_machine::event::Event;
use trefoil_machine::request::{ModelRequest, Usage};
use trefoil_machine::{Entry, PreparedProgram};
use trefoil_runtime::ports::{
    CallSite, EventSink, InboxMessageId, JournalError, MapSecrets, ModelAnswer, ModelError, ModelProvider, NoHumans,
    NoTools, SeededRandom, SystemClock,
};
use trefoil_runtime::{DriverOptions, Journal, Ports, driver};
use trefoil_template::Value;

/// The allocator of the command line.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PAGE: usize = 1_000;

/// Answers so many calls, and never the next one.
struct Answers {
    left: AtomicUsize,
    stuck: Arc<Notify>,
}

#[async_trait]
impl ModelProvider for Answers {
    async fn call_model(
        &self,
        _at: CallSite<'_>,
        _request: &ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        if self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_err() {
            self.stuck.notify_one();
            std::future::pending::<()>().await;
        }
        let usage = Usage { input_tokens: 12, output_tokens: 3, ..Usage::default() };
        Ok(ModelAnswer::new("a short answer", usage))
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "bench".to_owned()
    }
}

/// Entries as JSON.
#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl Lines {
    fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

#[async_trait]
impl Journal for Lines {
    async fn append_entries(
        &self,
        _run: &str,
        entries: &[Entry],
        _letters: &[InboxMessageId],
    ) -> Result<(), JournalError> {
        let lines = entries.iter().map(|entry| serde_json::to_string(entry).expect("an entry is JSON"));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(lines);
        Ok(())
    }
    async fn read_entries(&self, _run: &str, from: u64) -> Result<Vec<Entry>, JournalError> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let page = lines.iter().skip(from as usize).take(PAGE);
        Ok(page.map(|line| serde_json::from_str(line).expect("an entry")).collect())
    }
}

/// Discards events, after they were built.
struct Discards;

impl EventSink for Discards {
    fn receive_event(&self, _event: &Event) {}
}

/// A loop, or a fan-out with 64 items at a time.
fn program(shape: &str, calls: usize) -> Arc<PreparedProgram> {
    let mut build = Build::new();
    let body = if shape == "loop" {
        let one = build.model("one", "{{input}}");
        build.out(one, "result");
        build.repeat("again", one, "result == \"never\"", calls as u32 + 10)
    } else {
        build.begin_item();
        let one = build.model("one", "{{item}}");
        let body = build.flow("body", one, None);
        let all = build.for_each("all", "{{input}}", body, OnItemFailure::Abort);
        if let StepKind::ForEach(each) = &mut build.at(all).kind {
            each.concurrency = Some(64);
        }
        all
    };
    let main = build.flow("main", body, None);
    PreparedProgram::new(build.program(main))
}

fn ports(journal: Arc<dyn Journal>, answers: usize, stuck: Arc<Notify>) -> Ports {
    Ports {
        models: Arc::new(Answers { left: AtomicUsize::new(answers), stuck }),
        tools: Arc::new(NoTools),
        commands: None,
        humans: Arc::new(NoHumans),
        journal,
        clock: Arc::new(SystemClock::new()),
        random: Arc::new(SeededRandom::new(1)),
        secrets: Arc::new(MapSecrets::new()),
        events: Arc::new(Discards),
    }
}

/// Time that this thread has spent on a processor.
fn on_processor() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = text.split_whitespace().next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.expect("the system says how long a thread has run"))
}

/// Works on the run until it makes a call that nobody answers.
async fn until_stuck(run: impl Future, stuck: &Notify) {
    tokio::select! {
        _ = run => panic!("the run has ended"),
        () = stuck.notified() => {}
    }
}

fn main() {
    let argument = |at: usize| std::env::args().nth(at);
    let number = |at, otherwise| argument(at).map_or(otherwise, |text| text.parse().expect("a number"));
    let (calls, rounds) = (number(2, 50_000), number(3, 6));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    for shape in ["fan-out", "loop"] {
        if argument(1).is_some_and(|wanted| wanted != shape) {
            continue;
        }
        let prepared = program(shape, calls);
        let input: Value = match shape {
            "loop" => "a topic".into(),
            _ => (0..calls as u32 + 200).map(Value::from).collect(),
        };
        let (journal, stuck) = (Arc::new(Lines::default()), Arc::new(Notify::new()));
        let options = || DriverOptions { run: Some("r".to_owned()), ..DriverOptions::default() };
        let first = ports(journal.clone(), calls, stuck.clone());
        let run = driver::run_prepared(prepared.clone(), Some(input), first, options());
        runtime.block_on(until_stuck(run, &stuck));
        let entries = journal.count();
        let mut best = Duration::MAX;
        for _ in 0..rounds {
            let stuck = Arc::new(Notify::new());
            let copy = Lines(Mutex::new(journal.0.lock().unwrap_or_else(PoisonError::into_inner).clone()));
            let again = ports(Arc::new(copy), 0, stuck.clone());
            let began = on_processor();
            runtime.block_on(until_stuck(driver::resume_prepared(prepared.clone(), "r", again, options()), &stuck));
            best = best.min(on_processor() - began);
        }
        println!("{shape:<8} {entries:>9} entries {:>8.1} ms", best.as_secs_f64() * 1e3);
    }
}
