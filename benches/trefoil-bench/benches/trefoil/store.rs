//! The cost of storing a step: an entry of 1 KB that is on the disk when the append returns, compared with a plain
//! write that is.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use trefoil::{Engine, Flow};
use trefoil_machine::journal::{Entry, EntryKind, VERSION};
use trefoil_machine::{Key, PrivateValue};
use trefoil_store::{Claim, EntryBatch, Lease, NewRun, SqliteStore, Store as _, StoreOptions};

use super::durable::{Answers, steps, threads};
use super::long;
use crate::race::{Race, Standing};

/// Number of entries in a turn: large enough that the start and end of a run hardly count, small enough that
/// consecutive turns see the same disk.
const TURN: usize = 100;

pub fn races(out: &mut Vec<Standing>) {
    let folder = tempfile::tempdir().unwrap();
    let bytes = EntryBatch::from_entries(&[entry(0)]).unwrap().bodies.first().map(|body| body.json.clone()).unwrap();
    let mut bare = std::fs::File::create(folder.path().join("bare")).unwrap();
    let mut in_place = Kept::open(folder.path(), "in-place", tokio::runtime::Builder::new_multi_thread());
    let mut by_thread = Kept::open(folder.path(), "by-thread", tokio::runtime::Builder::new_current_thread());
    let race = Race::new("store, a step of 1 KB on the disk", "step", TURN)
        .goal("<= 1.5 of a bare write")
        .lane("append and fdatasync", || {
            for _ in 0..TURN {
                bare.write_all(bytes.as_bytes()).unwrap();
                bare.sync_data().unwrap();
            }
        })
        .lane("store, committed in place", || in_place.append())
        .lane("store, committed by its thread", || by_thread.append());
    let mut whole = Run::new(&folder.path().join("runs"));
    let race = race.lane("a run's step, its model answering at once", || whole.steps());
    let race = match LangGraph::start(&folder.path().join("langgraph")) {
        Some(mut peer) => race.lane("LangGraph's, with its SQLite checkpointer", move || peer.steps()),
        None => race,
    };
    out.push(long(race));
    eprintln!("an entry of {} bytes takes up {} bytes of the store", bytes.len(), in_place.bytes_an_entry());
}

/// Whole runs in a store.
struct Run {
    runtime: tokio::runtime::Runtime,
    engine: Engine,
    flow: Flow,
}

impl Run {
    fn new(path: &Path) -> Self {
        let engine = Engine::new()
            .provider(Answers::with_a_thousand_bytes())
            .store(SqliteStore::open(path, StoreOptions::default()).unwrap());
        Self { runtime: threads(), engine, flow: steps(TURN) }
    }
    fn steps(&mut self) {
        self.runtime
            .block_on(async { self.engine.start_run(&self.flow, "x").unwrap().wait_outcome().await.result.unwrap() });
    }
}

/// Another engine, if it is installed: `TREFOIL_BENCH_PYTHON` names a Python interpreter that has it.
struct LangGraph {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl LangGraph {
    fn start(path: &Path) -> Option<Self> {
        let Some(python) = std::env::var_os("TREFOIL_BENCH_PYTHON") else {
            eprintln!("skipped: LangGraph, because TREFOIL_BENCH_PYTHON names no Python that has it");
            return None;
        };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/trefoil/peer.py");
        let mut command = Command::new(python);
        command.arg(script).arg(path).arg(TURN.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("Python starts");
        let input = process.stdin.take().expect("it is piped");
        let output = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut peer = Self { process, input, output };
        peer.wait("ready");
        Some(peer)
    }
    fn steps(&mut self) {
        writeln!(self.input, "go").expect("it listens");
        self.wait("done");
    }
    fn wait(&mut self, wanted: &str) {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it answers");
        assert_eq!(line.trim(), wanted);
    }
}

impl Drop for LangGraph {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A run in a separate store.
struct Kept {
    runtime: tokio::runtime::Runtime,
    store: SqliteStore,
    lease: Lease,
    next: u64,
    empty: u64,
}

impl Kept {
    fn open(folder: &std::path::Path, name: &str, mut runtime: tokio::runtime::Builder) -> Self {
        let runtime = runtime.enable_time().build().unwrap();
        let store = SqliteStore::open(folder.join(name), StoreOptions::default()).unwrap();
        let claim = Some(Claim { owner: "bench".to_owned(), now: 0, until: 1, gone: None, failed: false });
        let run = NewRun { run: "bench".to_owned(), claim, ..NewRun::default() };
        let lease = runtime.block_on(store.create_run(run)).unwrap().unwrap();
        let empty = runtime.block_on(store.measure_size()).unwrap().used;
        Self { runtime, store, lease, next: 0, empty }
    }

    fn append(&mut self) {
        for _ in 0..TURN {
            let batch = EntryBatch::from_entries(&[entry(self.next)]).unwrap();
            self.runtime.block_on(self.store.append_batch(&self.lease, batch)).unwrap();
            self.next += 1;
        }
    }

    fn bytes_an_entry(&self) -> u64 {
        let used = self.runtime.block_on(self.store.measure_size()).unwrap().used;
        used.saturating_sub(self.empty) / self.next.max(1)
    }
}

fn entry(seq: u64) -> Entry {
    let value = PrivateValue::without_hidden(format!("{seq:08}").repeat(120));
    let kind = EntryKind::Completed { key: Key("main/step".into()), value, about: Box::default() };
    Entry { v: VERSION, seq, at_ms: seq, kind }
}
