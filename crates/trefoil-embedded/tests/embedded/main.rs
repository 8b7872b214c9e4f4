//! The embedded model: whole runs on it, over many seeds.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may fail the test"
)]

mod branches;
mod loops;
mod validators_and_judges;
mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;
use trefoil_embedded::EmbeddedModel;
use trefoil_ir::Program;
use trefoil_runtime::ports::{CollectEvents, MapSecrets, NoHumans, NoJournal, NoTools, SeededRandom, VirtualClock};
use trefoil_runtime::{DriverOptions, Event, EventKind, Ports, RunOutcome, driver};

/// The results of a successful run.
pub struct Seen {
    /// Its output.
    pub output: Json,
    /// The labels of the steps that ran, in order, without skipped ones.
    pub ran: Vec<String>,
    /// Model answers by key.
    pub answers: BTreeMap<String, Json>,
}

/// Runs a program on the embedded model.
pub fn run(program: &Arc<Program>, seed: u64) -> Seen {
    let (outcome, events) = drive(program, seed, "a question about tea");
    let output = outcome.result.unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    let mut seen = Seen { output: output.to_json(), ran: Vec::new(), answers: BTreeMap::new() };
    for event in events {
        let key = event.key.as_ref().map(ToString::to_string).unwrap_or_default();
        match event.kind {
            EventKind::StepStarted { label, .. } => seen.ran.push(label.to_string()),
            EventKind::ModelFinished { answer, .. } => {
                seen.answers.insert(key, answer.to_json());
            }
            _ => {}
        }
    }
    seen
}

/// Runs the driver with in-memory ports.
pub fn drive(program: &Arc<Program>, seed: u64, input: &str) -> (RunOutcome, Vec<Event>) {
    let events = Arc::new(CollectEvents::new());
    let ports = Ports {
        models: Arc::new(EmbeddedModel::new(program, seed)),
        tools: Arc::new(NoTools),
        commands: None,
        humans: Arc::new(NoHumans),
        journal: Arc::new(NoJournal),
        clock: Arc::new(VirtualClock::new()),
        random: Arc::new(SeededRandom::new(1)),
        secrets: Arc::new(MapSecrets::new().with_variable("KEY", "open sesame")),
        events: events.clone(),
    };
    let options = DriverOptions { seed: Some(7), run: Some("r1".to_owned()), ..DriverOptions::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let outcome = runtime.block_on(driver::run(program.clone(), Some(input.into()), ports, options));
    (outcome, events.collected_events())
}

/// How often each value occurs over the seeds.
pub fn tally(seeds: u64, mut what: impl FnMut(u64) -> String) -> BTreeMap<String, u32> {
    let mut all = BTreeMap::new();
    for seed in 0..seeds {
        *all.entry(what(seed)).or_default() += 1;
    }
    all
}

/// The values that occur over the seeds.
pub fn kinds(seeds: u64, what: impl FnMut(u64) -> String) -> Vec<String> {
    tally(seeds, what).into_keys().collect()
}
