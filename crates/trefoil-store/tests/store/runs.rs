//! Real runs that are stored, interrupted and resumed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use testbed::Build;
use trefoil_ir::{OnItemFailure, Program};
use trefoil_runtime::ports::{CallSite, MapSecrets, NoEvents, NoHumans, NoTools, SeededRandom, SystemClock};
use trefoil_runtime::{
    Clock, DriverOptions as RunOptions, Journal, ModelAnswer, ModelError, ModelProvider, ModelRequest, Ports,
    RunOutcome, Usage, driver,
};
use trefoil_store::{LeasedRun, NewRun, Owner, RunFilter, SqliteStore, Status, Store, StoreError, StoreOptions};

/// Echoes requests, counts them, and never answers one of them.
#[derive(Default)]
pub struct Counting {
    pub calls: Mutex<BTreeMap<String, u32>>,
    pub stuck: Option<&'static str>,
}

#[async_trait]
impl ModelProvider for Counting {
    async fn call_model(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        *self.calls.lock().unwrap().entry(at.key.to_string()).or_default() += 1;
        if self.stuck == Some(at.key.as_str()) {
            std::future::pending::<()>().await;
        }
        let text = request.messages.last().unwrap().content.to_text().to_string();
        let usage = Usage { input_tokens: 10, output_tokens: 3, ..Usage::default() };
        Ok(ModelAnswer::new(text, usage))
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "counting".to_owned()
    }
}

impl Counting {
    pub fn calls(&self) -> BTreeMap<String, u32> {
        self.calls.lock().unwrap().clone()
    }
}

/// `a`, then `b` and `c` at the same time, then `d`.
fn program() -> Arc<Program> {
    let mut b = Build::new();
    let (first, last) = (b.model("a", "{{input}} one"), b.model("d", "{{b}} and {{c}}"));
    let branches = [b.model("b", "{{a}} two"), b.model("c", "{{a}} three")];
    let middle = b.parallel("", &branches, OnItemFailure::Abort);
    let body = b.sequence("", &[first, middle, last]);
    let main = b.flow("main", body, None);
    b.program(main)
}

pub fn ports(models: Arc<Counting>, journal: impl Journal + 'static) -> Ports {
    Ports {
        models,
        tools: Arc::new(NoTools),
        commands: None,
        humans: Arc::new(NoHumans),
        journal: Arc::new(journal),
        clock: Arc::new(SystemClock::new()),
        random: Arc::new(SeededRandom::new(1)),
        secrets: Arc::new(MapSecrets::new()),
        events: Arc::new(NoEvents),
    }
}

pub fn owner(path: &Path, name: &str) -> Arc<Owner> {
    let store = SqliteStore::open(path, StoreOptions::default()).unwrap();
    Owner::new(Arc::new(store), name, Arc::new(SystemClock::new()))
}

pub fn begin(owner: &Arc<Owner>, run: &str) -> LeasedRun {
    owner.begin_run(NewRun { run: run.to_owned(), ..NewRun::default() })
}

async fn start(models: Arc<Counting>, hold: LeasedRun) -> RunOutcome {
    let options = RunOptions { seed: Some(7), run: Some(hold.run_id().to_owned()), ..RunOptions::default() };
    driver::run(program(), Some("in".into()), ports(models, hold), options).await
}

async fn resume(models: Arc<Counting>, hold: LeasedRun) -> RunOutcome {
    let run = hold.run_id().to_owned();
    driver::resume_run(program(), &run, ports(models, hold), RunOptions::default()).await
}

/// Polls until the condition is true; the test runner's time limit ends a test that waits forever.
pub async fn until(so: impl AsyncFn() -> bool) {
    while !so().await {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[test]
fn a_run_that_is_dropped_while_it_begins_is_given_back() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let owner = owner(&folder.path().join("runs.db"), "only");
        for n in 0.. {
            let run = format!("r{n}");
            let hold = begin(&owner, &run);
            let entries = [crate::world::started(&run)];
            let written = tokio::time::timeout(Duration::ZERO, hold.append_entries(&run, &entries, &[])).await.is_ok();
            drop(hold);
            let given_back = until(async || owner.store().record(&run).await.is_ok_and(|r| r.owner.is_none()));
            tokio::time::timeout(Duration::from_secs(20), given_back).await.unwrap();
            // Otherwise, its first entry was on its way to the writer's thread, as intended.
            if !written {
                break;
            }
        }
    });
}

#[test]
fn a_run_that_is_dropped_while_it_is_taken_over_is_given_back() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let first = owner(&path, "first");
        let second = owner(&path, "second");
        for n in 0.. {
            let run = format!("r{n}");
            begin(&first, &run).append_entries(&run, &[crate::world::started(&run)], &[]).await.unwrap();
            until(async || first.store().record(&run).await.unwrap().owner.is_none()).await;
            let claimed = tokio::time::timeout(Duration::ZERO, second.resume_run(&run)).await;
            let at_once = claimed.is_ok();
            drop(claimed);
            let was = async || second.store().record(&run).await.unwrap();
            tokio::time::timeout(Duration::from_secs(20), until(async || was().await.epoch > 1)).await.unwrap();
            let given_back = until(async || was().await.owner.is_none());
            tokio::time::timeout(Duration::from_secs(20), given_back).await.unwrap();
            // Otherwise, the claim was on its way to the writer's thread, as intended.
            if !at_once {
                break;
            }
        }
    });
}

#[test]
fn a_run_that_was_dropped_midway_continues_from_the_file_and_repeats_no_call_that_came_back() {
    for runtime in crate::world::runtimes() {
        runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("runs.db");
            let whole = start(Arc::default(), begin(&owner(&path, "whole"), "whole")).await;
            for (stuck, came_back) in [("a", 0), ("b", 2), ("c", 2), ("d", 3)] {
                let first = Arc::new(Counting { stuck: Some(stuck), ..Counting::default() });
                let before = owner(&path, "before");
                let store = before.store();
                let task = tokio::spawn(start(first.clone(), begin(&before, stuck)));
                until(async || first.calls().contains_key(stuck)).await;
                until(async || completed(&**store, stuck).await.len() == came_back).await;
                task.abort();
                assert!(task.await.unwrap_err().is_cancelled());
                until(async || store.record(stuck).await.unwrap().owner.is_none()).await;
                let done = completed(&**store, stuck).await;
                drop(before);

                let (after, second) = (owner(&path, "after"), Arc::new(Counting::default()));
                let outcome = resume(second.clone(), after.resume_run(stuck).await.unwrap()).await;
                assert_eq!(outcome.result, whole.result, "stuck at {stuck}");
                // The usage of a call whose end was not recorded is unknown.
                let unpriced_calls = whole.usage.unpriced_calls + 1;
                let usage = Usage { unknown_calls: 1, unpriced_calls, ..whole.usage };
                assert_eq!((outcome.calls, outcome.usage), (whole.calls + 1, usage), "stuck at {stuck}");
                assert!(done.iter().all(|key| !second.calls().contains_key(key)), "stuck at {stuck}: {done:?}");
                assert_eq!(second.calls().len() + done.len(), 4, "stuck at {stuck}");
                let record = after.store().record(stuck).await.unwrap();
                assert_eq!((record.status, record.spent.calls, record.spent.usage), (Status::Completed, 5, usage));
                assert_eq!(after.store().check_integrity().await.unwrap().problems, Vec::<String>::new());
            }
        });
    }
}

/// The completed activities, according to the journal.
async fn completed(store: &dyn Store, run: &str) -> Vec<String> {
    let entries = match store.read_entries(run, 0).await {
        Err(StoreError::NoRun { .. }) => Vec::new(),
        entries => entries.unwrap(),
    };
    let keys = entries.iter().filter_map(|entry| match &entry.kind {
        trefoil_runtime::EntryKind::Completed { key, .. } => Some(key.to_string()),
        _ => None,
    });
    keys.collect()
}

#[test]
fn a_run_that_has_ended_says_how_and_nothing_is_written() {
    let [several, _] = crate::world::runtimes();
    several.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let owner = owner(&folder.path().join("runs.db"), "one");
        let whole = start(Arc::default(), begin(&owner, "r")).await;
        let before = owner.store().record("r").await.unwrap();
        let models = Arc::new(Counting::default());
        let again = resume(models.clone(), owner.resume_run("r").await.unwrap()).await;
        assert_eq!((again.result, again.calls), (whole.result, whole.calls));
        assert_eq!(models.calls().len(), 0);
        assert_eq!(owner.store().record("r").await.unwrap(), before);
    });
}

#[test]
fn a_run_is_one_process_s_and_who_has_lost_it_cannot_write() {
    let [several, _] = crate::world::runtimes();
    several.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let first = owner(&path, "first");
        let stuck = Arc::new(Counting { stuck: Some("a"), ..Counting::default() });
        let task = tokio::spawn(start(stuck.clone(), begin(&first, "r")));
        until(async || stuck.calls().contains_key("a")).await;
        let second = owner(&path, "second");
        assert!(matches!(second.resume_run("r").await, Err(StoreError::Held { owner, .. }) if owner == "first"));
        assert!(matches!(first.resume_run("r").await, Err(StoreError::Held { .. })));
        // The clock of another process is a day ahead, so every lease has expired there. It sees no renewal for its own lease, 0.2 s.
        let later = Owner::with_lease(second.store().clone(), "later", Arc::new(Later(SystemClock::new())), 200);
        assert!(matches!(later.resume_run("r").await, Err(StoreError::Held { owner, .. }) if owner == "first"));
        tokio::time::sleep(std::time::Duration::from_millis(250)).await;
        let hold = later.resume_run("r").await.unwrap();
        let lost = first.add_batch("r", trefoil_store::EntryBatch::default()).await;
        assert!(matches!(lost, Err(StoreError::NotHeld { .. })), "{lost:?}");
        let outcome = resume(Arc::default(), hold).await;
        assert!(outcome.result.is_ok());
        task.abort();
    });
}

struct Later(SystemClock);

#[async_trait]
impl Clock for Later {
    fn now_ms(&self) -> u64 {
        self.0.now_ms()
    }
    fn wall_ms(&self) -> u64 {
        self.0.wall_ms() + 86_400_000
    }
    async fn sleep_ms(&self, ms: u64) {
        self.0.sleep_ms(ms).await;
    }
}

#[test]
fn a_lease_is_renewed_as_long_as_its_run_waits() {
    let [several, _] = crate::world::runtimes();
    several.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::open(folder.path().join("runs.db"), StoreOptions::default()).unwrap());
        let clock = Arc::new(SystemClock::new());
        let owner = Owner::with_lease(store.clone(), "short", clock.clone(), 300);
        let stuck = Arc::new(Counting { stuck: Some("a"), ..Counting::default() });
        let task = tokio::spawn(start(stuck.clone(), begin(&owner, "r")));
        until(async || stuck.calls().contains_key("a")).await;
        let (_, first) = store.record("r").await.unwrap().owner.unwrap();
        until(async || store.record("r").await.unwrap().owner.unwrap().1 > first).await;
        task.abort();
        // The run is released at once.
        until(async || store.claimable_runs(clock.wall_ms(), 10).await.unwrap() == ["r"]).await;
    });
}

/// As if the machine had slept: nothing renews the lease, and nobody else wants the run.
#[test]
fn a_process_that_stood_still_longer_than_its_lease_goes_on_with_its_run() {
    let [_, single] = crate::world::runtimes();
    single.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::open(folder.path().join("runs.db"), StoreOptions::default()).unwrap());
        let clock = Arc::new(SystemClock::new());
        let owner = Owner::with_lease(store.clone(), "still", clock.clone(), 300);
        let stuck = Arc::new(Counting { stuck: Some("a"), ..Counting::default() });
        let task = tokio::spawn(start(stuck.clone(), begin(&owner, "r")));
        until(async || stuck.calls().contains_key("a")).await;
        let (_, lease) = store.record("r").await.unwrap().owner.unwrap();
        // Blocks the only thread, so that the renewal waits, too.
        while clock.wall_ms() <= lease {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let share = trefoil_store::ClaimShare { most: 10, ..Default::default() };
        assert!(owner.take_runs(share).await.unwrap().is_empty(), "it has the run already");
        owner.add_batch("r", trefoil_store::EntryBatch::default()).await.unwrap();
        task.abort();
    });
}

#[test]
fn a_hundred_runs_at_the_same_time_are_all_kept() {
    for runtime in crate::world::runtimes() {
        runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let owner = owner(&folder.path().join("runs.db"), "many");
            let tasks = (0..100).map(|n| tokio::spawn(start(Arc::default(), begin(&owner, &format!("run-{n}")))));
            let tasks: Vec<_> = tasks.collect();
            for task in tasks {
                assert!(task.await.unwrap().result.is_ok());
            }
            let store = owner.store();
            let page = store
                .list_runs(&RunFilter { status: vec![Status::Completed], ..RunFilter::default() }, None, 1_000)
                .await
                .unwrap();
            assert_eq!(page.runs.len(), 100);
            assert!(page.runs.iter().all(|run| run.spent.calls == 4 && run.entries == page.runs[0].entries));
            assert_eq!(store.check_integrity().await.unwrap().problems, Vec::<String>::new());
        });
    }
}
