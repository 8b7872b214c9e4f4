//! Cancels a run that no process is working on.

use std::sync::Arc;

use trefoil_machine::journal::VERSION;
use trefoil_machine::{Entry, EntryKind, RunError};
use trefoil_runtime::Usage;
use trefoil_store::{EntryBatch, Owner, RunFilter, Store, StoreError, StoreResult};

use super::all_runs;

/// Ends a run with `CANCELLED`, then the runs that its tools started. Needs no models, keys or files of the run.
/// Returns the usage of the runs that it has ended.
///
/// # Errors
///
/// [`StoreError::Held`](trefoil_store::StoreError::Held) if a process is working on it.
pub async fn cancel_idle_run(store: Arc<dyn Store>, run: &str) -> StoreResult<Usage> {
    let mut usage = end_run(store.clone(), run).await?;
    let mut above = vec![run.to_owned()];
    while let Some(parent) = above.pop() {
        for child in all_runs(&*store, &RunFilter { parent: Some(parent), ..RunFilter::default() }).await? {
            if !child.status.is_end() {
                usage.add_usage(end_run(store.clone(), &child.run).await?);
            }
            above.push(child.run);
        }
    }
    Ok(usage)
}

/// Ends one run. Returns its usage, with its calls as calls beneath.
async fn end_run(store: Arc<dyn Store>, run: &str) -> StoreResult<Usage> {
    if store.record(run).await?.status.is_end() {
        return Err(StoreError::Ended { run: run.to_owned() });
    }
    let owner = Owner::of_process(store.clone());
    let hold = owner.resume_run(run).await?;
    let record = store.record(run).await?;
    let next = record.entries;
    let last = store.read_entries(run, next.saturating_sub(1)).await?.pop();
    // Nothing has worked on the run since its last entry.
    let at_ms = last.map_or(0, |last| last.at_ms);
    let error = RunError::new("CANCELLED", "the run was cancelled");
    let kinds = [
        EntryKind::CancelRequested {},
        EntryKind::Finished { output: None, error: Some(error), items: None, warnings: Vec::new() },
    ];
    let entries: Vec<Entry> = (next..).zip(kinds).map(|(seq, kind)| Entry { v: VERSION, seq, at_ms, kind }).collect();
    owner.add_batch(run, EntryBatch::from_entries(&entries)?).await?;
    drop(hold);
    Ok(Usage { calls_beneath: record.spent.calls, ..record.spent.usage })
}
