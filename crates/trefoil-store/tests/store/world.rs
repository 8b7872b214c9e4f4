//! Runs without programs: entries, and stores for them.

use std::path::Path;

use trefoil_machine::journal::{Entry, EntryKind, ProgramIdentity, RunStart, VERSION};
use trefoil_machine::{Flags, Key, PrivateValue};
use trefoil_store::{Claim, EntryBatch, Lease, NewRun, SqliteStore, Store, StoreOptions, StoreResult};

pub fn runtimes() -> [tokio::runtime::Runtime; 2] {
    // One commits on the caller's thread, the other one on the writer's thread.
    let mut several = tokio::runtime::Builder::new_multi_thread();
    let mut one = tokio::runtime::Builder::new_current_thread();
    [several.worker_threads(2), &mut one].map(|builder| builder.enable_time().build().unwrap())
}

/// Runs a test on both kinds of runtime.
pub fn on_both(test: impl AsyncFn()) {
    for runtime in runtimes() {
        runtime.block_on(test());
    }
}

pub fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, StoreOptions { busy_ms: 50, ..StoreOptions::default() }).unwrap()
}

pub fn claim(owner: &str) -> Claim {
    Claim { owner: owner.to_owned(), now: 1_000, until: 9_000, gone: None, failed: false }
}

pub fn started(run: &str) -> Entry {
    let program = ProgramIdentity { flow: "main".to_owned(), ..ProgramIdentity::default() };
    let started = RunStart {
        run: run.to_owned(),
        at: 1_000,
        program,
        input: None,
        warnings: Vec::new(),
        flags: Flags::default(),
        answers: String::new(),
        models: Vec::new(),
        basis: None,
        permissions: Default::default(),
    };
    Entry { v: VERSION, seq: 0, at_ms: 0, kind: EntryKind::Started(Box::new(started)) }
}

/// An entry with `bytes` bytes of text.
pub fn step(seq: u64, bytes: usize) -> Entry {
    let value = PrivateValue::without_hidden(format!("{seq:08}").repeat(bytes / 8));
    Entry {
        v: VERSION,
        seq,
        at_ms: seq,
        kind: EntryKind::Completed { key: Key("a".into()), value, about: Box::default() },
    }
}

pub async fn create(store: &SqliteStore, run: &str) -> StoreResult<Lease> {
    let batch = EntryBatch::from_entries(&[started(run)])?;
    let new = NewRun { run: run.to_owned(), claim: Some(claim("test")), batch, ..NewRun::default() };
    Ok(store.create_run(new).await?.unwrap())
}

pub async fn append(store: &SqliteStore, lease: &Lease, entry: Entry) -> StoreResult<()> {
    store.append_batch(lease, EntryBatch::from_entries(&[entry])?).await
}

/// All entries of a run.
pub async fn entries(store: &SqliteStore, run: &str) -> StoreResult<Vec<Entry>> {
    let mut all: Vec<Entry> = Vec::new();
    loop {
        let page = store.read_entries(run, all.len() as u64).await?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page);
    }
}
