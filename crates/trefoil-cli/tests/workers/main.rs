//! Many workers on one Postgres server: workers are killed at random, and the database crashes. Every run must end, and
//! no completed call may be requested again; the provider counts.
//!
//! `TREFOIL_WORKERS=1000` sets the number of runs; the default is small. Figures are printed.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test that cannot go on fails, and figures are for whoever runs it"
)]

mod limits;

#[path = "../cli/provider.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod provider;
#[path = "../cli/world.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod world;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use testbed::postgres::Server;
use trefoil::Flow;
use trefoil::store::{RunFilter, Status, Store, StoreLocation, StoreOptions};
use trefoil_host::engine::Engine;
use trefoil_machine::EntryKind;
use trefoil_project::load::{LoadOptions, load_target};
use trefoil_project::target::LoadTarget;

use provider::{KEY, Provider};
use world::Folder;

/// Number of concurrent workers.
const WORKERS: usize = 4;
/// Longer than all of this takes on a slow machine.
const LIMIT: Duration = Duration::from_secs(600);

/// Three calls in sequence, each streamed slowly.
const FLOW: &str = "\
id: main
kind: sequential
inputSchema: { n: string }
steps:
  - agent: { id: first, kind: llm, model: { provider: openai, name: m }, instruction: I., prompt: 'first {{n}} slowly now' }
    input: { n: '{{n}}' }
  - agent: { id: second, kind: llm, model: { provider: openai, name: m }, instruction: I., prompt: 'second {{text}}' }
    input: { text: '{{first}}' }
  - agent: { id: third, kind: llm, model: { provider: openai, name: m }, instruction: I., prompt: 'third {{text}}' }
    input: { text: '{{second}}' }
";

/// A store, a provider, and runs that wait in the store for answers.
struct Scene {
    /// `None`: the store is a file.
    server: Option<Server>,
    provider: Provider,
    folder: Folder,
    url: String,
    store: Arc<dyn Store>,
    runtime: tokio::runtime::Runtime,
}

/// A process that never outlives the test.
struct Worker(Child);

impl Worker {
    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Scene {
    fn new(server: Server) -> Self {
        let url = server.address(&server.database());
        Self::at(url, Some(server), Folder::new())
    }

    /// A store in a file.
    fn in_file() -> Self {
        let folder = Folder::new();
        let path = folder.path().join("runs.db").to_str().unwrap().to_owned();
        Self::at(path, None, folder)
    }

    fn at(url: String, server: Option<Server>, folder: Folder) -> Self {
        let store = StoreLocation::parse(OsStr::new(&url), |_| None).unwrap().open(StoreOptions::default()).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        folder.write("main.yaml", FLOW);
        Self { server, provider: Provider::start(), folder, url, store, runtime }
    }

    /// Puts runs in the store.
    fn submit(&self, runs: usize, name: &str) {
        let target = LoadTarget::parse(self.folder.path().join("main.yaml").to_str().unwrap());
        let flow = Flow::from(load_target(&target, &LoadOptions::default()).map_err(|_| "it does not load").unwrap());
        let engine = Engine::new().store(self.store.clone()).for_others();
        self.runtime.block_on(async {
            for n in 0..runs {
                let ready = engine.prepare_run(&flow).unwrap();
                ready.submit_run(&serde_json::json!({ "n": format!("{name}{n}") })).await.unwrap();
            }
        });
    }

    fn worker(&self, args: &[&str]) -> Worker {
        let mut command = self.folder.command(&[&["worker", "--quiet"], args].concat());
        command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_STORE", &self.url).env("OPENAI_API_KEY", KEY);
        command.env("OPENAI_BASE_URL", self.provider.address()).stdout(Stdio::null());
        command.env("TREFOIL_CONFIG_DIR", self.folder.path().join("config"));
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.folder.path().join("log")).unwrap();
        Worker(command.stderr(log).spawn().unwrap())
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn counts(&self) -> BTreeMap<&'static str, u64> {
        let counts = self.runtime.block_on(self.store.count_by_status()).unwrap();
        counts.into_iter().map(|(status, n)| (status.name(), n)).collect()
    }
}

/// A database server of this test's own.
fn server() -> Option<Server> {
    Server::start(true)
}

/// The number of runs.
fn runs(few: usize) -> usize {
    std::env::var("TREFOIL_WORKERS").ok().and_then(|n| n.parse().ok()).unwrap_or(few)
}

/// Every run has completed, and each completed call was requested once, plus once for each time that it was lost.
async fn paid_once(scene: &Scene, runs: usize) -> (usize, usize) {
    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    for prompt in scene.provider.asked_by_now() {
        *asked.entry(prompt).or_default() += 1;
    }
    let (mut after, mut seen, mut calls, mut all_lost) = (None, 0, 0, 0);
    loop {
        let page = scene.store.list_runs(&RunFilter::default(), after, 200).await.unwrap();
        for record in &page.runs {
            assert_eq!(record.status, Status::Completed, "{record:?}");
            seen += 1;
            let (mut next, mut completed, mut lost) = (0, BTreeMap::new(), BTreeMap::new());
            let mut unfinished: BTreeMap<String, usize> = BTreeMap::new();
            loop {
                let entries = scene.store.read_entries(&record.run, next).await.unwrap();
                let Some(last) = entries.last() else { break };
                next = last.seq + 1;
                for entry in entries {
                    match entry.kind {
                        EntryKind::Scheduled { key, .. } => {
                            assert!(!completed.contains_key(&key.to_string()), "`{key}` was begun after its end");
                            *unfinished.entry(key.to_string()).or_default() += 1;
                        }
                        EntryKind::Completed { key, value, .. } => {
                            let before = completed.insert(key.to_string(), value.exact_value().to_text().to_string());
                            assert_eq!(before, None, "`{key}` has two ends");
                        }
                        EntryKind::Resumed { lost: of, .. } => {
                            of.iter().for_each(|one| *lost.entry(one.key.to_string()).or_default() += 1);
                        }
                        _ => {}
                    }
                }
            }
            assert_eq!(completed.len(), 3, "{}: {completed:?}", record.run);
            for (key, answer) in &completed {
                // The provider repeats the prompt, so its answer identifies the request.
                let times = asked.get(answer).copied().unwrap_or(0);
                let lost = lost.get(key).copied().unwrap_or(0);
                assert!((1..=1 + lost).contains(&times), "`{answer}` was asked {times} times and lost {lost} times");
                calls += 1;
                all_lost += lost;
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert_eq!(seen, runs);
    let health = scene.store.check_integrity().await.unwrap();
    assert_eq!(health.problems, Vec::<String>::new());
    (calls, all_lost)
}

impl Scene {
    /// The number of runs per second with this number of workers.
    fn throughput(&self, runs: usize, workers: usize, concurrency: &str) -> f64 {
        self.submit(runs, &format!("with {workers} workers "));
        let began = Instant::now();
        let all: Vec<Worker> = (0..workers).map(|_| self.worker(&["--concurrency", concurrency, "--once"])).collect();
        for mut worker in all {
            assert!(worker.0.wait().unwrap().success(), "{}", self.log());
        }
        let counts = self.counts();
        let took = began.elapsed().as_secs_f64();
        assert_eq!(counts["pending"] + counts["interrupted"] + counts["running"], 0, "{counts:?}");
        let each = runs as f64 / took;
        eprintln!(
            "{workers} workers of {concurrency} runs each: {runs} runs of 3 calls in {took:.1} s, {each:.1} runs/s"
        );
        each
    }
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod killed_hunt {
    use super::*;

    #[test]
    fn whatever_happens_to_workers_and_the_database_every_run_ends_and_nothing_is_paid_for_twice() {
        let Some(server) = server() else { return };
        let scene = Scene::new(server);
        let runs = runs(40);
        scene.submit(runs, "run ");
        let began = Instant::now();
        let args = ["--concurrency", "4", "--lease", "2"];
        let mut workers: Vec<Worker> = (0..WORKERS).map(|_| scene.worker(&args)).collect();
        // The sequence of kills is always the same, but not their timing.
        let (mut chance, mut kills, mut next_kill, mut crashed) = (7_u64, 0, 1, false);
        loop {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            std::thread::sleep(Duration::from_millis(100 + (chance >> 33) % 400));
            let counts = scene.counts();
            let left = counts["pending"] + counts["interrupted"] + counts["running"] + counts["waiting"];
            if left == 0 {
                break;
            }
            assert!(began.elapsed() < LIMIT, "{counts:?} after {LIMIT:?}: {}", scene.log());
            if !crashed && counts["completed"] * 3 >= runs as u64 {
                crashed = true;
                let server = scene.server.as_ref().unwrap();
                server.crash();
                std::thread::sleep(Duration::from_millis(700));
                server.begin();
                continue;
            }
            // On any machine, some work is done between two kills.
            if counts["completed"] >= next_kill {
                next_kill = counts["completed"] + 1 + (chance >> 50) % 4;
                let n = (chance >> 40) as usize % WORKERS;
                workers[n].kill();
                kills += 1;
                workers[n] = scene.worker(&args);
            }
        }
        let took = began.elapsed();
        workers.iter_mut().for_each(Worker::kill);
        assert!(crashed && kills > 0, "{kills} kills");
        assert!(!scene.log().contains("panicked"), "{}", scene.log());
        let (calls, lost) = scene.runtime.block_on(paid_once(&scene, runs));
        let asked = scene.provider.asked().len();
        eprintln!(
            "{runs} runs on {WORKERS} workers, {kills} of them killed, the database crashed once: {calls} calls completed, {lost} lost on their way, \
             {asked} answered by the provider, in {:.1} s",
            took.as_secs_f64()
        );
    }

    /// Not a speed test: on a machine with few cores, the processes slow each other down, and the provider is one of them.
    #[test]
    fn more_workers_share_the_work() {
        let Some(server) = server() else { return };
        let scene = Scene::new(server);
        let runs = runs(20);
        for workers in [1, 2, 4] {
            scene.throughput(runs, workers, "16");
        }
    }

    /// If workers wait for answers, as they do with real models, each further worker adds its share.
    #[test]
    fn workers_that_wait_for_answers_add_up() {
        let Some(server) = server() else { return };
        let scene = Scene::new(server);
        scene.provider.wait_before_answers(Duration::from_millis(300));
        let runs = runs(24).min(48);
        let [one, _, four] = [1, 2, 4].map(|workers| scene.throughput(runs, workers, "2"));
        assert!(four > one * 1.5, "{one:.1} and {four:.1} runs/s");
    }
}
