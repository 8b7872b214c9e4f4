//! The results of the runs that a run has reused itself. An engine can remember them, because every run of a session that edits a flow
//! and runs it again needs those of all runs before it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use trefoil_machine::journal::Basis;
use trefoil_runtime::RunError;
use trefoil_runtime::driver::DriverOptions;
use trefoil_runtime::driver::memo::{Memo, read_memo};
use trefoil_runtime::ports::NoEvents;
use trefoil_store::{Record, Store};

use crate::durable::{StoredRun, prepared_program, reading_ports};
use trefoil_runtime::locks::lock;

/// The maximum number of runs that are remembered.
const MOST: usize = 256;

/// An earlier run.
#[derive(Clone)]
pub(super) struct EarlierRun {
    /// Its own results.
    pub results: Memo,
    /// The run that it reused.
    pub basis: Option<Box<Basis>>,
}

/// Ended runs by id, each with the number of its entries.
#[derive(Default)]
pub(crate) struct EarlierRuns(Mutex<HashMap<String, (u64, EarlierRun)>>);

impl EarlierRuns {
    /// The run of a record, unless it has continued since or its content was removed.
    fn get(&self, record: &Record) -> Option<EarlierRun> {
        let all = lock(&self.0);
        let (entries, run) = all.get(&record.run)?;
        if *entries == record.entries && record.content.keeps_prompts() { Some(run.clone()) } else { None }
    }

    fn put(&self, record: Record, run: EarlierRun) {
        let mut all = lock(&self.0);
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(record.run, (record.entries, run));
    }
}

/// Reads the results of a run alone, unless they are known. `None`: it was deleted, or this version cannot replay it.
pub(super) async fn earlier_run(store: &Arc<dyn Store>, known: Option<&EarlierRuns>, run: &str) -> Option<EarlierRun> {
    let record = store.record(run).await.ok()?;
    if let Some(found) = known.and_then(|known| known.get(&record)) {
        return Some(found);
    }
    let stored = StoredRun::read_run(&**store, run).await.ok()?;
    let results = own_results(store.clone(), &stored).await.ok()?;
    let found = EarlierRun { results, basis: stored.started.basis };
    if let Some(known) = known
        && record.status.is_end()
    {
        known.put(record, found.clone());
    }
    Some(found)
}

/// The results of a run alone.
pub(super) async fn own_results(store: Arc<dyn Store>, stored: &StoredRun) -> std::result::Result<Memo, RunError> {
    let ports = reading_ports(store, &stored.started, Arc::new(NoEvents));
    read_memo(prepared_program(stored), &stored.started.run, ports, &DriverOptions::default()).await
}
