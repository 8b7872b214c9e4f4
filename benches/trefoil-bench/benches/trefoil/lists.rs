//! Lists over a million runs.

use std::sync::Arc;

use trefoil_machine::journal::{Entry, EntryKind, ProgramIdentity, RunStart, VERSION};
use trefoil_machine::{Flags, PrivateValue, RunError};
use trefoil_store::{EntryBatch, NewRun, RunFilter, SqliteStore, Status, Store, StoreDurability, StoreOptions};

use super::durable::threads;
use super::short;
use crate::race::{Race, Standing};

const RUNS: u64 = 1_000_000;
/// Number of runs written concurrently, which the store groups into transactions.
const AT_ONCE: u64 = 1_000;

pub fn races(out: &mut Vec<Standing>) {
    let place = tempfile::tempdir().unwrap();
    let runtime = threads();
    let options = StoreOptions { durability: StoreDurability::Batch, ..StoreOptions::default() };
    let store = Arc::new(SqliteStore::open(place.path().join("runs.db"), options).unwrap());
    runtime.block_on(fill(&store, RUNS));
    let flow = Some("flow-7".to_owned());
    let failed = vec![Status::Failed];
    let filters = [
        ("the newest 50", RunFilter::default()),
        ("failed ones", RunFilter { status: failed.clone(), ..RunFilter::default() }),
        ("of one flow", RunFilter { flow: flow.clone(), ..RunFilter::default() }),
        ("failed ones of one flow", RunFilter { flow, status: failed, ..RunFilter::default() }),
        (
            "of one hour",
            RunFilter {
                since: Some(RUNS / 2 * 1_000),
                until: Some(RUNS / 2 * 1_000 + 3_600_000),
                ..RunFilter::default()
            },
        ),
        ("with a word that many have", RunFilter { text: Some("timed out".to_owned()), ..RunFilter::default() }),
        ("with a word that none has", RunFilter { text: Some("nowhere".to_owned()), ..RunFilter::default() }),
    ];
    let mut race = Race::new("a page of 50 of 1,000,000 runs", "list", 1);
    for (name, filter) in filters {
        let (store, runtime) = (&store, &runtime);
        race = race.lane(name, move || runtime.block_on(store.list_runs(&filter, None, 50)).unwrap().runs.len());
    }
    let race = race.lane("how many of each status", || runtime.block_on(store.count_by_status()).unwrap());
    out.push(short(race));
}

/// Puts so many finished runs into a store.
pub async fn fill(store: &Arc<SqliteStore>, runs: u64) {
    for first in (0..runs).step_by(AT_ONCE as usize) {
        let creating: Vec<_> = (first..first + AT_ONCE)
            .map(|n| {
                let store = store.clone();
                tokio::spawn(async move { store.create_run(run(n)).await.unwrap() })
            })
            .collect();
        for one in creating {
            one.await.unwrap();
        }
    }
}

/// A finished run that started a second after the previous one.
fn run(n: u64) -> NewRun {
    let (id, at) = (format!("run-{n:07}"), n * 1_000);
    let program = ProgramIdentity {
        fingerprint: format!("{:064x}", n % 100),
        flow: format!("flow-{}", n % 100),
        ..ProgramIdentity::default()
    };
    let started = EntryKind::Started(Box::new(RunStart {
        run: id.clone(),
        at,
        program,
        input: Some(PrivateValue::without_hidden("x")),
        warnings: Vec::new(),
        flags: Flags::default(),
        answers: "host".to_owned(),
        models: Vec::new(),
        basis: None,
        permissions: Default::default(),
    }));
    let error = n.is_multiple_of(20).then(|| RunError::new("MODEL_TIMEOUT", "the model timed out after 60 s"));
    let output = error.is_none().then(|| PrivateValue::without_hidden("done"));
    let finished = EntryKind::Finished { output, error, items: None, warnings: Vec::new() };
    let entries = [started, finished].into_iter().enumerate();
    let entries: Vec<Entry> =
        entries.map(|(seq, kind)| Entry { v: VERSION, seq: seq as u64, at_ms: seq as u64, kind }).collect();
    NewRun { run: id, batch: EntryBatch::from_entries(&entries).unwrap(), now: at, ..NewRun::default() }
}
