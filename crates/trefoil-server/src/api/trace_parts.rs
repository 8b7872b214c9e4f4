//! What traces of the API have beside the events of their run, and how they are written.

use http::StatusCode;
use serde_json::Value as Json;
use trefoil_host::durable::{StoredRun, called_failure, stop_reason};
use trefoil_host::{AnswersFrom, run_about};
use trefoil_store::{Record, Status};
use trefoil_view::trace::{CalledFailure, OpenWait, Trace, TraceSubject};

use crate::problem::{ApiResult, Problem};
use crate::state::AppState;

/// The text of a large JSON. It is made beside the requests of others, which do not wait for it.
pub async fn write_json(make: impl FnOnce() -> Json + Send + 'static) -> ApiResult<String> {
    let made = tokio::task::spawn_blocking(move || make().to_string()).await;
    made.map_err(|why| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", why.to_string()))
}

/// What a trace says of the program of a run.
pub fn subject_of(stored: &StoredRun) -> TraceSubject {
    run_about(stored.flow.loaded_target(), &AnswersFrom::of_stored(&stored.current_start().answers))
}

/// Adds to the trace of a run what its events do not say: how it stands, and where it failed, if that was in another run.
pub async fn tell_standing(state: &AppState, trace: &mut Trace, record: &Record) {
    trace.set_reused_run(record.base.as_deref());
    if record.status.is_end() {
        trace.set_called_failure(find_called_failure(state, record).await);
        return;
    }
    let waiting = trace.view.open.waiting.clone();
    let stopped = trace.view.open.stopped.clone();
    let wait = match record.status {
        Status::Waiting => OpenWait { waiting, stopped },
        Status::Interrupted | Status::Pending => OpenWait { waiting, stopped: None },
        _ => OpenWait::default(),
    };
    trace.set_standing(record.status, wait, (record.spent.usage, record.spent.calls));
}

/// The failure of a called run that made a run fail.
async fn find_called_failure(state: &AppState, record: &Record) -> Option<CalledFailure> {
    if record.status != Status::Failed {
        return None;
    }
    let why = stop_reason(&**state.store(), record).await.ok()??;
    called_failure(state.store(), &record.run, &why).await
}
