//! The outcome of a run that has ended or stopped, from its journal.

use trefoil_machine::{Entry, EntryKind};
use trefoil_runtime::{RunError, RunOutcome};
use trefoil_store::{Record, Status, Store, StoreError};

use super::each_entry;
use trefoil_project::error::{Error, Result};

/// The original outcome with its usage.
pub async fn read_outcome(store: &dyn Store, record: Record) -> Result<RunOutcome> {
    let mut last = None;
    let each = |entry: Entry| {
        if let EntryKind::Finished { output, error, items: _, warnings } = entry.kind {
            last = Some((output, error, warnings));
        }
    };
    each_entry(store, &record.run, each).await?;
    let Some((output, error, warnings)) = last else {
        return Err(Error::Store(StoreError::NoContent { run: record.run }));
    };
    let output = output.unwrap_or_default();
    let hidden = output.hidden_parts().clone();
    let result = match error {
        Some(error) => Err(error),
        None => Ok(output.into_exact()),
    };
    Ok(RunOutcome {
        run: record.run.as_str().into(),
        result,
        hidden,
        warnings,
        waiting: Vec::new(),
        suspended: false,
        continues: false,
        items: record.items,
        usage: record.spent.usage,
        calls: record.spent.calls,
        duration_ms: 0,
    })
}

/// Why a suspended run does nothing until somebody allows what comes next: `WOULD_REPEAT`, `REFUSED`, or `BUDGET_EXCEEDED` of a limit
/// that the command line can raise. None: it waits for answers, decisions or time, or not at all.
///
/// # Errors
///
/// [`Error::Store`] if its journal cannot be read.
pub async fn suspension_reason(store: &dyn Store, record: &Record) -> Result<Option<RunError>> {
    if record.status != Status::Waiting { Ok(None) } else { stop_reason(store, record).await }
}

/// The same, or why the run failed.
///
/// # Errors
///
/// [`Error::Store`] if its journal cannot be read.
pub async fn stop_reason(store: &dyn Store, record: &Record) -> Result<Option<RunError>> {
    if !matches!(record.status, Status::Waiting | Status::Failed) {
        return Ok(None);
    }
    // Whatever comes after a suspension or an end is a continuation.
    let last = record.entries.saturating_sub(1);
    let mut entries = store.read_entries(&record.run, last).await.map_err(Error::Store)?;
    let Some(entry) = entries.pop() else { return Ok(None) };
    Ok(match entry.kind {
        EntryKind::Suspended { why, .. } => why.map(|why| *why),
        EntryKind::Finished { error, .. } => error,
        _ => None,
    })
}
