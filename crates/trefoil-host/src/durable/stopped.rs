//! What a run waits for that stopped before it did something which somebody has to allow.

use trefoil_machine::EntryKind;
use trefoil_runtime::RunError;
use trefoil_store::{Record, Status, Store};

use trefoil_project::error::{Error, Result};

/// Why a suspended run does nothing until somebody allows what comes next: `WOULD_REPEAT`, `REFUSED`, or `BUDGET_EXCEEDED` of a limit
/// that the command line can raise. None: it waits for answers, decisions or time, or not at all.
///
/// # Errors
///
/// [`Error::Store`] if its journal cannot be read.
pub async fn stopped(store: &dyn Store, record: &Record) -> Result<Option<RunError>> {
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
    let entries = store.entries(&record.run, last).await.map_err(Error::Store)?;
    Ok(entries.into_iter().next_back().and_then(|entry| match entry.kind {
        EntryKind::Suspended { why, .. } => why.map(|why| *why),
        EntryKind::Finished { error, .. } => error,
        _ => None,
    }))
}
