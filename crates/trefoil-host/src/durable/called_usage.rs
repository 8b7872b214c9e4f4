//! What a run has used, with the runs that it has called.

use std::collections::{BTreeMap, HashMap};

use trefoil_machine::{Entry, EntryKind, Key};
use trefoil_runtime::Usage;
use trefoil_store::{Record, RunFilter, Status, Store, StoreError, StoreResult};

use super::{all_runs, call_run_id, each_entry};

/// The same record, with what called runs have used beyond what the run's own journal has of them. A journal gets the usage of a
/// call when that ends: it lacks that of a call in progress, of one that was made again after a failure, and of one that was
/// cancelled with its run.
///
/// # Errors
///
/// If the journal or the records of the called runs cannot be read.
pub async fn with_called_usage(store: &dyn Store, mut record: Record) -> StoreResult<Record> {
    if matches!(record.status, Status::Completed | Status::Failed) {
        return Ok(record);
    }
    let called = all_runs(store, &RunFilter { parent: Some(record.run.clone()), ..RunFilter::default() }).await?;
    if called.is_empty() {
        return Ok(record);
    }
    let mut used: HashMap<String, Usage> = HashMap::new();
    for called in called {
        // Boxed, because a called run may have called others.
        let called = Box::pin(with_called_usage(store, called)).await?;
        let usage = Usage { calls_beneath: called.spent.calls, ..called.spent.usage };
        used.insert(called.run, usage);
    }
    // What the journal has of each call: a call that was made again has several ends.
    let mut calls: BTreeMap<Key, Usage> = BTreeMap::new();
    let each = |entry: Entry| match entry.kind {
        EntryKind::Scheduled { key, sort, .. } if sort == "tool" => drop(calls.entry(key).or_default()),
        EntryKind::Completed { key, about, .. } | EntryKind::Failed { key, about, .. } => {
            if let Some(known) = calls.get_mut(&key) {
                known.add_usage(about.usage.unwrap_or_default());
            }
        }
        _ => {}
    };
    match each_entry(store, &record.run, each).await {
        // Its record is what is left, or what this version can read.
        Err(StoreError::NoContent { .. } | StoreError::Entry { .. }) => return Ok(record),
        read => read?,
    }
    for (key, known) in calls {
        let mut all = Usage::default();
        for usage in (0u32..).map_while(|nth| used.get(&call_run_id(&record.run, &key, nth))) {
            all.add_usage(*usage);
        }
        let more = all.difference_from(known);
        record.spent.calls += more.calls_beneath;
        record.spent.usage.add_usage(Usage { calls_beneath: 0, ..more });
    }
    Ok(record)
}
