//! A line of the log for the end of each run, whoever has driven it here: a request, a call of MCP, the worker.

use std::sync::Arc;

use trefoil_host::service::RunEndWatch;
use trefoil_runtime::RunOutcome;
use trefoil_store::{Record, Status, Store};

use crate::request_log::{RequestLog, RunRecord};
use crate::state::AppState;

/// Writes what becomes of runs.
#[derive(Clone)]
pub struct RunLog {
    log: Arc<dyn RequestLog>,
    store: Arc<dyn Store>,
}

impl RunLog {
    /// Writes what becomes of the runs of a server from now on.
    pub fn watch_server(state: &AppState) -> Self {
        let log = Self { log: state.log.clone(), store: state.store().clone() };
        state.local.watch_ends(Arc::new(log.clone()));
        log
    }

    /// A run of another process, or an earlier one of this, goes on here.
    pub fn note_continued(&self, run: &str, flow: &str) {
        self.log.write_run(&RunRecord::new(run, flow, "continued"));
    }
}

impl RunEndWatch for RunLog {
    fn take_outcome(&self, flow: &str, outcome: &RunOutcome, is_lost: bool) {
        let code = outcome.result.as_ref().err().map(|error| error.code.clone());
        let status = match code.as_deref() {
            None => "completed",
            Some("INTERRUPTED") => "given_back",
            Some(_) if is_lost => "taken_over",
            Some("CANCELLED") => "cancelled",
            Some(_) if outcome.suspended || !outcome.waiting.is_empty() => "waiting",
            Some(_) => "failed",
        };
        let is_failure = matches!(status, "failed" | "taken_over");
        self.log.write_run(&RunRecord {
            code: code.filter(|_| is_failure),
            duration_ms: Some(outcome.duration_ms),
            cost: Some((&outcome.usage).into()),
            ..RunRecord::new(&outcome.run, flow, status)
        });
    }

    fn take_end(&self, run: &str) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (log, run) = (self.clone(), run.to_owned());
        runtime.spawn(async move {
            // Without its store, the run is not known to have ended.
            if let Ok(record) = log.store.record(&run).await {
                log.log.write_run(&stored_end(&record));
            }
        });
    }
}

/// How a run stands that is not driven here any more.
fn stored_end(record: &Record) -> RunRecord {
    let status = match record.status {
        Status::Completed => "completed",
        Status::Failed => "failed",
        Status::Cancelled => "cancelled",
        Status::Waiting => "waiting",
        _ => "given_back",
    };
    let code = record.error.as_ref().map(|(code, _)| code.clone());
    RunRecord {
        code: code.filter(|_| record.status == Status::Failed),
        duration_ms: record.ended.map(|ended| ended.saturating_sub(record.started)),
        cost: Some((&record.spent.usage).into()),
        ..RunRecord::new(&record.run, &record.flow, status)
    }
}
