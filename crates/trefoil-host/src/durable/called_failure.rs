//! The failure of a called run behind the failure of the run that called it.

use std::sync::Arc;

use trefoil_runtime::RunError;
use trefoil_store::{Status, Store};
use trefoil_view::trace::{CalledFailure, TraceSink};

use super::{StoredRun, last_call_run, send_history, stop_reason};

/// Why the run that this failure comes from has failed: that of the innermost call. `None`: it comes from no called run, or nothing is
/// stored of that.
pub async fn called_failure(store: &Arc<dyn Store>, run: &str, error: &RunError) -> Option<CalledFailure> {
    let run = last_call_run(&**store, run, error.key.as_ref()?).await?;
    let record = store.record(&run).await.ok().filter(|record| record.status == Status::Failed)?;
    let stored = StoredRun::read_run(&**store, &run).await.ok()?;
    // The place is known only from its events.
    let trace = Arc::new(TraceSink::default());
    let sent = send_history(store.clone(), &stored, trace.clone()).await.ok();
    let error = match sent.and_then(|_| trace.trace().view.end?.error) {
        Some(error) => error,
        None => stop_reason(&**store, &record).await.ok()??,
    };
    // Boxed, because a flow may call itself.
    if let Some(deeper) = Box::pin(called_failure(store, &run, &error)).await {
        return Some(deeper);
    }
    let loaded = stored.flow.loaded_target();
    Some(CalledFailure { run, error, program: loaded.program.clone(), files: loaded.files.clone() })
}
