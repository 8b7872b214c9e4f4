//! What a run that has not ended has used, with the runs that it has called.

use trefoil_store::{Filter, Record, Result, Store};

use crate::durable::all_runs;

/// The same record, with what called runs have used that have not ended. A run's journal has their usage when they have ended; the
/// outcome of a run that waits for them has it before.
///
/// # Errors
///
/// If the records of the called runs cannot be read.
pub async fn with_open_calls(store: &dyn Store, mut record: Record) -> Result<Record> {
    let mut open = if record.status.is_end() { Vec::new() } else { vec![record.run.clone()] };
    while let Some(run) = open.pop() {
        for called in all_runs(store, &Filter { parent: Some(run), ..Filter::default() }).await? {
            if !called.status.is_end() {
                record.spent.calls += called.spent.calls;
                record.spent.usage.add(called.spent.usage);
                open.push(called.run);
            }
        }
    }
    Ok(record)
}
