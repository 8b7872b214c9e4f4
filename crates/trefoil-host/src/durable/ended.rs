//! The outcome of a run that has ended, from its journal.

use trefoil_machine::EntryKind;
use trefoil_runtime::{RunError, RunOutcome};
use trefoil_store::{Record, Store, StoreError};

use trefoil_project::error::Result;

/// The original outcome with its usage.
pub async fn ended(store: &dyn Store, record: Record) -> Result<RunOutcome> {
    let gone = || StoreError::NoContent { run: record.run.clone() };
    let (mut last, mut next) = (None, 0);
    loop {
        let page = store.entries(&record.run, next).await?;
        let Some(end) = page.last() else { break };
        next = end.seq.saturating_add(1);
        for entry in page {
            if let EntryKind::Finished { output, error, items: _, warnings } = entry.kind {
                last = Some((output, error, warnings));
            }
        }
    }
    let (output, error, warnings) = last.ok_or_else(gone)?;
    let output = output.unwrap_or_default();
    let hidden = output.hidden().clone();
    let result: Result<_, RunError> = error.map_or_else(|| Ok(output.into_exact()), Err);
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
