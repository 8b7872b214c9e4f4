//! Random programs, completions in random order, and processes that end after any append. The result equals that of an
//! undisturbed run, and no completed activity is requested again. The same applies to a step that fails until the run
//! is resumed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use trefoil_ir::{Program, ToolKind};
use trefoil_machine::{
    Activity, ContentKey, Entry, EntryKind, FailureCause, PreparedProgram, Request, RunError, turn_content,
};
use trefoil_runtime::driver::{self, DriverOptions, RunOutcome};
use trefoil_runtime::ports::{
    CallSite, CommandHost, CommandOutput, InboxMessageId, Journal, JournalError, MapSecrets, NoEvents, QuestionState,
    SeededRandom, ToolError, VirtualClock,
};
use trefoil_runtime::{
    CommandRequest, HumanInbox, HumanRequest, ModelAnswer, ModelError, ModelErrorKind, ModelProvider, ModelRequest,
    OnUnknown, Ports, RecoveryPolicy, ToolHost, ToolRequest,
};
use trefoil_store::{NewRun, Owner, SqliteStore, Store, StoreDurability, StoreOptions};
use trefoil_template::Value;

use crate::machine::answer;
use crate::random::{Node, node, program};

/// Answers each request based on its content, after a delay that depends on a seed, and counts the requests.
#[derive(Default)]
struct Everybody {
    seed: u64,
    /// The step that fails while this is set.
    sick: Mutex<Option<String>>,
    asked: Mutex<BTreeMap<String, u32>>,
}

impl Everybody {
    async fn ask(&self, at: CallSite<'_>, request: Request) -> Result<Value, RunError> {
        let key = at.key.clone();
        *self.asked.lock().unwrap().entry(key.to_string()).or_default() += 1;
        let turns =
            key.as_str().bytes().fold(self.seed, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)) >> 40;
        for _ in 0..turns % 6 {
            tokio::task::yield_now().await;
        }
        if self.sick.lock().unwrap().as_deref() == Some(key.as_str()) {
            return Err(RunError::new("MODEL_ERROR", "sick").with_cause(FailureCause::Status(400)));
        }
        let labels = at.labels.to_vec().into();
        answer(&Activity { key, step: at.step, content: ContentKey([0; 32]), labels, again: false, request }).0
    }
}

#[async_trait]
impl ModelProvider for Everybody {
    async fn call_model(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        match self.ask(at, Request::Model(Box::new(request.clone()))).await {
            Ok(said) => {
                let usage = trefoil_runtime::Usage { input_tokens: 3, output_tokens: 1, ..Default::default() };
                let (text, calls) = turn_content::parse_tool_calls(&said).unwrap_or((said, Vec::new()));
                Ok(ModelAnswer { calls, ..ModelAnswer::new(text.to_text().to_string(), usage) })
            }
            Err(error) => {
                let Some(FailureCause::Status(status)) = error.cause else { panic!("{error}") };
                Err(ModelError::new(ModelErrorKind::Status(status), error.into_data().message))
            }
        }
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "test".to_owned()
    }
}

#[async_trait]
impl ToolHost for Everybody {
    fn offers_tool(&self, _name: &str, _kind: &ToolKind) -> bool {
        true
    }
    async fn call_tool(&self, at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        self.ask(at, Request::Tool(request.clone())).await.map_err(|error| ToolError::Failed(error.into_data().message))
    }
}

#[async_trait]
impl CommandHost for Everybody {
    async fn run_command(&self, at: CallSite<'_>, request: &CommandRequest) -> Result<CommandOutput, ToolError> {
        let asked = self.ask(at, Request::Command(request.clone())).await;
        asked.map_err(|error| ToolError::Failed(error.into_data().message))?;
        Ok(CommandOutput { exit_code: 0, stdout: "out".to_owned(), stderr: String::new() })
    }
}

#[async_trait]
impl HumanInbox for Everybody {
    async fn ask_question(&self, at: CallSite<'_>, request: &HumanRequest) -> QuestionState {
        match Self::ask(self, at, Request::Human(request.clone())).await {
            Ok(answer) => QuestionState::Answer(answer.to_text().to_string()),
            Err(_) => QuestionState::Nobody,
        }
    }
}

/// A journal whose process ends after a number of appends: nothing happens after that. It does not end after the run's
/// last entry, because resuming a failed run means that another result is wanted.
struct Ends<J>(J, AtomicI64);

#[async_trait]
impl<J: Journal> Journal for Ends<J> {
    async fn append_entries(
        &self,
        run: &str,
        entries: &[Entry],
        message_ids: &[InboxMessageId],
    ) -> Result<(), JournalError> {
        let left = self.1.fetch_sub(1, Ordering::SeqCst);
        if left > 0 {
            self.0.append_entries(run, entries, message_ids).await?;
        }
        if left <= 1 && !entries.iter().any(|entry| matches!(entry.kind, EntryKind::Finished { .. })) {
            self.1.store(i64::MIN, Ordering::SeqCst);
            std::future::pending::<()>().await;
        }
        Ok(())
    }
    async fn read_entries(&self, run: &str, from: u64) -> Result<Vec<Entry>, JournalError> {
        self.0.read_entries(run, from).await
    }
}

struct Case {
    program: Arc<PreparedProgram>,
    world: Arc<Everybody>,
    store: Arc<dyn Store>,
    run: String,
}

impl Case {
    fn new(store: &Arc<dyn Store>, root: Arc<Program>, seed: u64, run: String) -> Self {
        let world = Arc::new(Everybody { seed, ..Everybody::default() });
        Self { program: PreparedProgram::new(root), world, store: store.clone(), run }
    }

    fn ports(&self, journal: impl Journal + 'static) -> Ports {
        Ports {
            models: self.world.clone(),
            tools: self.world.clone(),
            commands: Some(self.world.clone()),
            humans: self.world.clone(),
            journal: Arc::new(journal),
            clock: Arc::new(VirtualClock::new()),
            random: Arc::new(SeededRandom::new(1)),
            secrets: Arc::new(MapSecrets::new()),
            events: Arc::new(NoEvents),
        }
    }

    fn options(&self) -> DriverOptions {
        let recovery = RecoveryPolicy { tools: OnUnknown::Retry, commands: OnUnknown::Retry };
        DriverOptions {
            seed: Some(11),
            run: Some(self.run.clone()),
            recovery,
            max_fruitless: Some(u32::MAX),
            ..DriverOptions::default()
        }
    }

    /// Runs one process, the first or a later one. Returns `None` if it ended after its number of appends.
    async fn process(&self, first: bool, appends: i64) -> Option<RunOutcome> {
        let owner = Owner::of_process(self.store.clone());
        let hold = match first {
            true => owner.begin_run(NewRun { run: self.run.clone(), ..NewRun::default() }),
            false => owner.resume_run(&self.run).await.unwrap(),
        };
        let journal = Arc::new(Ends(hold, AtomicI64::new(appends)));
        let (ports, options) = (self.ports(journal.clone()), self.options());
        let run = async {
            match first {
                true => driver::run_prepared(self.program.clone(), Some("in".into()), ports, options).await,
                false => driver::resume_prepared(self.program.clone(), &self.run, ports, options).await,
            }
        };
        let ended = async {
            while journal.1.load(Ordering::SeqCst) > i64::MIN / 2 {
                tokio::task::yield_now().await;
            }
        };
        let outcome = tokio::select! {
            biased;
            outcome = run => Some(outcome),
            () = ended => None,
        };
        drop(journal);
        // A dropped run is released soon.
        while self.store.record(&self.run).await.is_ok_and(|record| record.owner.is_some()) {
            tokio::task::yield_now().await;
        }
        outcome
    }

    /// The completed activities that are not to be repeated.
    async fn done(&self) -> BTreeSet<String> {
        let (mut done, mut next) = (BTreeSet::new(), 0);
        loop {
            let Ok(page) = self.store.read_entries(&self.run, next).await else { return done };
            let Some(last) = page.last() else { return done };
            next = last.seq + 1;
            for entry in page {
                match entry.kind {
                    EntryKind::Completed { key, .. } => {
                        done.insert(key.to_string());
                    }
                    EntryKind::Reopened { again, .. } => done.retain(|key| !again.iter().any(|a| a.as_str() == key)),
                    _ => {}
                }
            }
        }
    }

    /// Those of them that no later `Reopened` entry names.
    async fn done_before(&self, done: BTreeSet<String>) -> BTreeSet<String> {
        let mut again = BTreeSet::new();
        let mut next = 0;
        while let Ok(page) = self.store.read_entries(&self.run, next).await {
            let Some(last) = page.last() else { break };
            next = last.seq + 1;
            for entry in page {
                if let EntryKind::Reopened { again: keys, .. } = entry.kind {
                    again.extend(keys.iter().map(ToString::to_string));
                }
            }
        }
        done.difference(&again).cloned().collect()
    }

    /// Runs processes that end after a number of appends, then one that does not, until the run has ended.
    async fn to_the_end(&self, mut first: bool, cuts: &[i64]) -> Result<RunOutcome, TestCaseError> {
        for appends in cuts.iter().copied().chain([i64::MAX / 4]) {
            let done = self.done().await;
            self.world.asked.lock().unwrap().clear();
            let outcome = self.process(first, appends).await;
            let asked = self.world.asked.lock().unwrap().clone();
            // Activities that a `Reopened` entry names are repeated.
            let still = self.done_before(done).await;
            for key in still {
                prop_assert!(!asked.contains_key(&key), "`{}` had come back, and was asked for again", key);
            }
            first = self.store.record(&self.run).await.is_err();
            if let Some(outcome) = outcome {
                let record = self.store.record(&self.run).await.unwrap();
                prop_assert_eq!(record.spent.calls, outcome.calls, "in the record, and as the run says");
                return Ok(outcome);
            }
        }
        unreachable!("the last process is not ended")
    }
}

fn shape(outcome: &RunOutcome) -> Result<String, String> {
    outcome.result.as_ref().map(Value::canonical_text).map_err(ToString::to_string)
}

/// One program: undisturbed, with processes that end, and with a step that fails at first. Returns whether that run was
/// reopened.
async fn one(
    store: &Arc<dyn Store>,
    number: u32,
    root: &Node,
    seed: u64,
    cuts: &[i64],
    sick: u64,
) -> Result<bool, TestCaseError> {
    let root = program(root);
    let whole = Case::new(store, root.clone(), seed, format!("whole-{number}"));
    let expected = whole.process(true, i64::MAX / 4).await.unwrap();
    let keys: Vec<String> = whole.world.asked.lock().unwrap().keys().cloned().collect();
    let cut = Case::new(store, root.clone(), seed.rotate_left(17), format!("cut-{number}"));
    let ended = cut.to_the_end(true, cuts).await?;
    prop_assert_eq!(shape(&ended), shape(&expected));

    // One step fails. If that fails the run, the run is resumed after the step is repaired.
    let Some(key) = keys.get(sick as usize % keys.len().max(1)) else { return Ok(false) };
    let ill = Case::new(store, root.clone(), seed, format!("ill-{number}"));
    *ill.world.sick.lock().unwrap() = Some(key.clone());
    let failed = ill.to_the_end(true, cuts).await?;
    *ill.world.sick.lock().unwrap() = None;
    if failed.result.is_ok() || !failed.continues {
        return Ok(false);
    }
    let ended = ill.to_the_end(false, cuts).await?;
    // If the program itself handled an earlier failure, the run took another path.
    if failed.result.as_ref().is_err_and(|error| error.to_string().contains("sick")) {
        prop_assert_eq!(shape(&ended), shape(&expected), "`{}` was sick: {:?}", key, failed.result);
    }
    Ok(true)
}

#[test]
fn a_structure_that_ran_out_of_time_gets_it_again_and_keeps_what_it_has() {
    let model = Node::Model { read: 0, sort: 0, when: 0 };
    let root = Node::Bare(Box::new(Node::Parallel { branches: vec![model, Node::Human], concurrency: 1, bad: true }));
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> =
        Arc::new(SqliteStore::open(folder.path().join("runs.db"), StoreOptions::default()).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let done = runtime.block_on(one(&store, 1, &root, 0, &[5], 0));
    done.unwrap();
}

#[test]
fn a_failure_that_was_dealt_with_stays_when_what_is_around_it_runs_out_of_time() {
    let states = vec![Node::Model { read: 0, sort: 0, when: 141 }, Node::Model { read: 67, sort: 216, when: 13 }];
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> =
        Arc::new(SqliteStore::open(folder.path().join("runs.db"), StoreOptions::default()).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let root = Node::Bare(Box::new(Node::States(states)));
    let done = runtime.block_on(one(&store, 1, &root, 0, &[], 17_051_626_910_545_285_519));
    // The result may differ from that without the failure. No completed activity is requested again.
    assert!(!done.is_err_and(|error| error.to_string().contains("was asked for again")));
}

/// `few` is the number of programs, unless `TREFOIL_PROGRAMS` sets it.
#[allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "how many cases is for whoever runs the tests to say, and to see"
)]
fn whatever_happens(open: &dyn Fn() -> Arc<dyn Store>, few: u32) {
    let cases = std::env::var("TREFOIL_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(few);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    // The same programs each time, unless `TREFOIL_SEED` is set.
    let seed: u64 = std::env::var("TREFOIL_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let opened = std::cell::RefCell::new(open());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let (mut number, reopened) = (0u32, std::cell::Cell::new(0));
    let counter = std::cell::RefCell::new(&mut number);
    let cuts = prop::collection::vec(1i64..12, 0..4);
    let done = TestRunner::new_with_rng(config, rng).run(
        &(node(), any::<u64>(), cuts, any::<u64>()),
        |(root, seed, cuts, sick)| {
            let next = {
                let mut counter = counter.borrow_mut();
                **counter += 1;
                if counter.is_multiple_of(100) {
                    drop(opened.replace(open()));
                }
                **counter
            };
            let store = opened.borrow().clone();
            let again = runtime.block_on(one(&store, next, &root, seed, &cuts, sick))?;
            reopened.set(reopened.get() + u32::from(again));
            Ok(())
        },
    );
    done.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let health = runtime.block_on(open().check_integrity()).unwrap();
    assert_eq!(health.problems, Vec::<String>::new());
    println!("{cases} programs of seed {seed}, {} reopened, {} entries", reopened.get(), health.entries);
    assert!(reopened.get() > 0);
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn whatever_happens_to_processes_the_result_is_the_same_and_nothing_is_done_twice() {
        let folder = tempfile::tempdir().unwrap();
        let options = StoreOptions { durability: StoreDurability::Batch, ..StoreOptions::default() };
        // Each process keeps a file open as long as its store is open, so the store is reopened now and then.
        let open = || -> Arc<dyn Store> {
            Arc::new(SqliteStore::open(folder.path().join("runs.db"), options.clone()).unwrap())
        };
        whatever_happens(&open, 100);
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn the_same_in_postgres() {
        let Some(server) = testbed::postgres::server() else { return };
        let url = server.address(&server.database());
        whatever_happens(&|| crate::postgres::open(&url, StoreOptions::default()), 20);
    }
}
