//! Stored runs with an engine: concurrent runs, their size on the disk, resuming, waiting.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::Notify;
use trefoil::ports::{CallSite, HostLimits, ModelAnswer, ModelError, ModelProvider, ModelRequest, ModelToolCall};
use trefoil::store::{SqliteStore, Store as _, StoreDurability, StoreOptions};
use trefoil::{Engine, Flow};

use super::single;
use crate::race::{Race, Standing};
use crate::table;

/// Set for a process that holds waiting runs and prints their memory use.
pub const WAITING: &str = "TREFOIL_BENCH_WAITING";

/// Numbers of concurrent runs and of steps in each, large enough to be timed.
const CROWDS: [(usize, usize); 3] = [(1, 200), (100, 20), (10_000, 2)];

pub fn races(out: &mut Vec<Standing>) {
    let place = tempfile::tempdir().unwrap();
    let crowds = CROWDS.map(|(runs, steps)| {
        let mut crowd = Crowd::new(&place.path().join(format!("{runs}.db")), runs, steps);
        Race::new(format!("durable, {runs} runs at once"), "step", runs * steps)
            .lane("a step that is on the disk", move || crowd.run())
    });
    out.extend(crowds.map(single));
    out.push(bytes(&place.path().join("bytes.db")));
    out.push(bytes_of_turns(&place.path().join("turns.db")));

    let kept = [50_000, 100_000].map(|entries| Kept::new(&place.path().join(format!("{entries}-entries.db")), entries));
    let mut race = Race::new("durable, resume", "run", 1).goal("<= 0.5 s for 100,000 entries, linear");
    for one in &kept {
        race = race.lane(format!("{} entries", one.entries), || one.resume());
    }
    out.push(single(race));
    out.extend(memory());
}

/// A chain of steps.
pub fn steps(count: usize) -> Flow {
    let steps: String = (0..count)
        .map(|n| {
            format!(
                "  - agent: {{ id: s{n}, kind: llm, model: {{ provider: openai, name: m }}, instruction: Work. }}\n    \
                 input: {{ text: \"{{{{userQuery}}}}\" }}\n"
            )
        })
        .collect();
    Flow::from_text("steps.yaml", format!("id: steps\nkind: sequential\nsteps:\n{steps}")).unwrap()
}

/// Answers at once, except one call, which it never answers.
#[derive(Default)]
pub struct Answers {
    text: String,
    stuck_at: Option<usize>,
    calls: AtomicUsize,
    stuck: Arc<Notify>,
}

impl Answers {
    pub fn with_a_thousand_bytes() -> Self {
        Self { text: "x".repeat(1_000), ..Self::default() }
    }
}

#[async_trait::async_trait]
impl ModelProvider for Answers {
    async fn call_model(
        &self,
        _at: CallSite<'_>,
        _request: &ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        if self.stuck_at == Some(self.calls.fetch_add(1, Ordering::SeqCst)) {
            self.stuck.notify_one();
            std::future::pending::<()>().await;
        }
        Ok(ModelAnswer::new(self.text.clone(), Default::default()))
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "bench".to_owned()
    }
}

/// Concurrent runs of one flow in one store.
struct Crowd {
    runtime: Runtime,
    engine: Engine,
    flow: Flow,
    runs: usize,
}

impl Crowd {
    fn new(path: &Path, runs: usize, count: usize) -> Self {
        let store = SqliteStore::open(path, StoreOptions::default()).unwrap();
        let engine = Engine::new().provider(Answers::with_a_thousand_bytes()).store(store);
        Self { runtime: threads(), engine, flow: steps(count), runs }
    }
    fn run(&mut self) {
        self.runtime.block_on(async {
            let runs: Vec<_> = (0..self.runs).map(|_| self.engine.start_run(&self.flow, "x").unwrap()).collect();
            for run in runs {
                run.wait_outcome().await.result.unwrap();
            }
        });
    }
}

/// The bytes on the disk for a step with 1 KB of new state.
fn bytes(path: &Path) -> Standing {
    const STEPS: usize = 200;
    let store = Arc::new(SqliteStore::open(path, StoreOptions::default()).unwrap());
    let engine = Engine::new().provider(Answers::with_a_thousand_bytes()).store(store.clone());
    let used = threads().block_on(async {
        let empty = store.measure_size().await.unwrap().used;
        for _ in 0..10 {
            engine.start_run(&steps(STEPS), "x").unwrap().wait_outcome().await.result.unwrap();
        }
        (store.measure_size().await.unwrap().used - empty) as f64 / (10 * STEPS) as f64
    });
    let new = used - 1_000.0;
    Standing::figures(
        "durable, a step with 1,000 bytes of new state",
        "step",
        "<= 1.5 KB",
        &[("in the store", used), ("beside the state", new)],
    )
    .shown_as(table::bytes)
}

/// The bytes in the journal for a turn of an agent with a tool: its model call with the whole conversation, and its tool call.
fn bytes_of_turns(path: &Path) -> Standing {
    const TURNS: [usize; 3] = [10, 100, 400];
    let store = Arc::new(SqliteStore::open(path, StoreOptions::default()).unwrap());
    let text = "id: look\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Work.\nmaxSteps: 500\n\
                tools:\n  - { kind: local, tools: [look] }\n";
    let flow = Flow::load_options().without_checks().from_text("look.yaml", text).unwrap();
    let engine = Engine::new()
        .provider(Looks(AtomicUsize::default()))
        .tool("look", async |_: serde_json::Value| Ok(serde_json::json!({ "found": "x".repeat(200) })))
        .store(store.clone());
    let sizes = threads().block_on(async {
        let run = engine.start_run(&flow, "x").unwrap();
        let id = run.id().to_owned();
        run.wait_outcome().await.result.unwrap();
        let (mut sizes, mut next) = (TURNS.map(|turn| (turn, 0)), 0);
        loop {
            let page = store.read_entries(&id, next).await.unwrap();
            let Some(last) = page.last() else { return sizes };
            next = last.seq + 1;
            for entry in &page {
                let json = serde_json::to_string(entry).unwrap();
                for (turn, size) in &mut sizes {
                    let mark = format!("@{turn}");
                    let is_of_turn = |after: &str| !after.starts_with(|c: char| c.is_ascii_digit());
                    let mine = json.split_once(&mark).is_some_and(|(_, after)| is_of_turn(after));
                    *size += if mine { json.len() } else { 0 };
                }
            }
        }
    });
    let lanes = sizes.map(|(turn, size)| (format!("turn {turn}"), size as f64));
    let lanes: Vec<(&str, f64)> = lanes.iter().map(|(name, size)| (name.as_str(), *size)).collect();
    Standing::figures("durable, a turn of an agent with a tool", "turn", "constant", &lanes).shown_as(table::bytes)
}

/// Calls a tool in each turn but the last.
struct Looks(AtomicUsize);

#[async_trait::async_trait]
impl ModelProvider for Looks {
    async fn call_model(
        &self,
        _at: CallSite<'_>,
        _request: &ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let turn = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        let answer = ModelAnswer::new("I look for it.", Default::default());
        if turn > 400 {
            return Ok(answer);
        }
        let call = ModelToolCall::new(
            format!("call-{turn}"),
            "look",
            trefoil::Value::from_json(serde_json::json!({ "for": "tea" })),
        );
        Ok(ModelAnswer { calls: vec![call], ..answer })
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "bench".to_owned()
    }
}

/// A run that was cut off.
struct Kept {
    runtime: Runtime,
    store: Arc<SqliteStore>,
    run: String,
    entries: usize,
}

impl Kept {
    fn new(path: &Path, entries: usize) -> Self {
        let runtime = threads();
        // It is written once, and then only read.
        let options = StoreOptions { durability: StoreDurability::Batch, ..StoreOptions::default() };
        let store = Arc::new(SqliteStore::open(path, options).unwrap());
        let passes = entries / 2;
        let text = format!(
            "id: again\nkind: sequential\nuntil: \"{{{{s}}}} == never\"\nmaxIterations: {}\nsteps:\n  - agent: {{ id: s, kind: \
             llm, model: {{ provider: openai, name: m }}, instruction: Work. }}\n    input: {{ text: \"{{{{userQuery}}}}\" }}\n",
            passes + 10
        );
        let flow = Flow::from_text("again.yaml", text).unwrap();
        let stuck = Arc::new(Notify::new());
        let answers = Answers {
            text: "a short answer".to_owned(),
            stuck_at: Some(passes),
            stuck: stuck.clone(),
            ..Answers::default()
        };
        let engine = Engine::new().provider(answers).max_calls(10_000_000).store(store.clone());
        let run = runtime.block_on(async {
            let run = engine.start_run(&flow, "x").unwrap();
            let id = run.id().to_owned();
            stuck.notified().await;
            drop(run);
            engine.release_runs().await.unwrap();
            id
        });
        let kept = Self { runtime, store, run, entries };
        let has = kept.runtime.block_on(kept.store.record(&kept.run)).unwrap().entries as usize;
        assert!(has.abs_diff(entries) < 10, "{has} entries");
        kept
    }
    /// Resumes until the next model call.
    fn resume(&self) {
        let stuck = Arc::new(Notify::new());
        let answers = Answers { stuck_at: Some(0), stuck: stuck.clone(), ..Answers::default() };
        let engine = Engine::new().provider(answers).store(self.store.clone());
        self.runtime.block_on(async {
            let run = engine.resume_run(&self.run).await.unwrap();
            stuck.notified().await;
            drop(run);
            engine.release_runs().await.unwrap();
        });
    }
}

/// The memory of a run that waits for a model, measured in a separate process without other activity.
fn memory() -> Option<Standing> {
    let taken = |kept: &str| {
        let exe = std::env::current_exe().ok()?;
        let child = std::process::Command::new(exe).env(WAITING, kept).output().ok()?;
        String::from_utf8_lossy(&child.stdout).trim().parse::<f64>().ok()
    };
    let lanes = [("in memory only", taken("memory")?), ("kept in a store", taken("store")?)];
    Some(
        Standing::figures("a run that waits for its model, of 10,000", "run", "<= 4 KB beside its data", &lanes)
            .shown_as(table::bytes),
    )
}

/// Starts runs that wait, and prints the memory of each.
pub fn wait(kept: &str) {
    const FIRST: usize = 100;
    const RUNS: usize = 10_000;
    let place = tempfile::tempdir().unwrap();
    let runtime = threads();
    let calls = Arc::new(AtomicUsize::new(0));
    // All of them wait for the model, and none for a host limit.
    let limits = HostLimits { in_flight: None, ..HostLimits::default() };
    let engine = Engine::new().provider(Never(calls.clone())).host_limits(&limits);
    let engine = match kept {
        "store" => engine.store(SqliteStore::open(place.path().join("runs.db"), StoreOptions::default()).unwrap()),
        _ => engine,
    };
    let flow = steps(1);
    runtime.block_on(async {
        // One-time allocations do not count for the runs.
        let first: Vec<_> = (0..FIRST).map(|_| engine.start_run(&flow, "x").unwrap()).collect();
        settle(&calls, FIRST).await;
        let before = resident();
        // Started a few at a time: what a run needs only while it starts does not count.
        let mut runs = Vec::with_capacity(RUNS);
        while runs.len() < RUNS {
            runs.extend((0..FIRST).map(|_| engine.start_run(&flow, "x").unwrap()));
            all_wait(&calls, FIRST + runs.len()).await;
        }
        settle(&calls, FIRST + RUNS).await;
        // Unread events do not count for the runs.
        let mut context = Context::from_waker(Waker::noop());
        for run in &mut runs {
            while let Poll::Ready(Some(_)) = pin!(run.next_event()).poll(&mut context) {}
        }
        println!("{}", resident().saturating_sub(before) as f64 / RUNS as f64);
        drop((first, runs));
    });
    runtime.shutdown_background();
}

/// Never answers, and counts the calls.
struct Never(Arc<AtomicUsize>);

#[async_trait::async_trait]
impl ModelProvider for Never {
    async fn call_model(
        &self,
        _at: CallSite<'_>,
        _request: &ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        std::future::pending().await
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "never".to_owned()
    }
}

/// Returns when this many runs wait, and the threads that started them have ended.
async fn settle(calls: &AtomicUsize, runs: usize) {
    all_wait(calls, runs).await;
    tokio::time::sleep(Duration::from_secs(12)).await;
}

/// Returns when this many runs wait.
async fn all_wait(calls: &AtomicUsize, runs: usize) {
    while calls.load(Ordering::SeqCst) < runs {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The resident memory of this process in bytes.
pub fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

pub fn threads() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap()
}
