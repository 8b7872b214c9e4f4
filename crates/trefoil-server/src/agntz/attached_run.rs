//! Runs whose client waits for them: followed to their end, and cancelled if the client leaves.

use std::time::Duration;

use http::StatusCode;
use trefoil_host::service::FeedReader;
use trefoil_machine::event::AwaitedActivity;
use trefoil_runtime::{Event, EventKind, RunStatus};

use super::errors::{AgntzFailure, AgntzResult};
use super::run_fold::RunFold;
use super::run_part::PartEnd;
use crate::api::end_run;
use crate::serving_phase::ServingPhase;
use crate::state::AppState;

/// How often a run is cancelled whose store does not answer.
const TRIES: u32 = 5;
/// How long a server that stops lets requests wait for their runs. Connections are closed a little later.
const STOP_WAIT: Duration = Duration::from_secs(3);

/// Cancels a run when it is dropped, because its client has left. A run of a server that stops goes on elsewhere.
pub struct CancelOnLeave {
    state: AppState,
    run: String,
    is_armed: bool,
}

impl CancelOnLeave {
    /// For a run that has just started. `may_return`: its client has sent an idempotency key, with which it can come back.
    pub fn new(state: &AppState, run: &str, may_return: bool) -> Self {
        Self { state: state.clone(), run: run.to_owned(), is_armed: !may_return }
    }

    /// The run has ended, or goes on without its client.
    pub fn keep_running(&mut self) {
        self.is_armed = false;
    }
}

impl Drop for CancelOnLeave {
    fn drop(&mut self) {
        if !self.is_armed || self.state.phase.is_stopping() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (state, run) = (self.state.clone(), self.run.clone());
        runtime.spawn(async move {
            for _ in 0..TRIES {
                if end_run(&state, &run, false).await.is_ok() {
                    return;
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
    }
}

/// Whether an event is the last one that a client which waits for the run gets: the end of the run, or that it needs a person.
pub fn is_last_event(event: &Event) -> bool {
    match &event.kind {
        EventKind::RunFinished { error, .. } => RunStatus::of_end(error.as_ref()) != RunStatus::Interrupted,
        EventKind::RunSuspended { waiting, why, .. } => !waiting.is_empty() || why.is_some(),
        _ => false,
    }
}

/// Waits until a run has ended, or needs a person.
///
/// # Errors
///
/// The server stops, or the run cannot be read.
pub async fn follow_run(state: &AppState, reader: &mut FeedReader, fold: &mut RunFold) -> AgntzResult<()> {
    let stop = wait_for_stop(state);
    let mut stop = std::pin::pin!(stop);
    loop {
        let next = tokio::select! {
            next = reader.next_event() => next,
            () = &mut stop => return Err(stopping_failure(fold)),
        };
        match next {
            Ok(Some(event)) => {
                fold.apply_event(event.event());
                if is_last_event(event.event()) {
                    return Ok(());
                }
            }
            Ok(None) => return Ok(()),
            Err(_) => return Err(unreadable_failure(fold)),
        }
    }
}

/// Returns when the server has been stopping for a while.
pub async fn wait_for_stop(state: &AppState) {
    state.phase.wait_phase(ServingPhase::Closing).await;
    tokio::time::sleep(STOP_WAIT).await;
}

fn run_id(fold: &RunFold) -> &str {
    fold.root_part().map(|root| root.id.as_str()).unwrap_or_default()
}

/// The server stops before the run has ended.
pub fn stopping_failure(fold: &RunFold) -> AgntzFailure {
    let run = run_id(fold);
    let error = format!("the server is stopping; the run {run} goes on, and can be read with `GET /runs/{run}`");
    AgntzFailure::new(StatusCode::SERVICE_UNAVAILABLE, "STOPPING", error).with_run(run)
}

/// The events of the run cannot be read any more.
pub fn unreadable_failure(fold: &RunFold) -> AgntzFailure {
    let error = "the store of the runs cannot be used at the moment; the run goes on";
    AgntzFailure::new(StatusCode::SERVICE_UNAVAILABLE, "STORE_UNAVAILABLE", error).with_run(run_id(fold))
}

/// Why a run that was followed has no result.
///
/// # Errors
///
/// Its failure, or what it waits for.
pub fn check_outcome(reader: &FeedReader, fold: &RunFold) -> AgntzResult<()> {
    let run = run_id(fold);
    match fold.root_part().and_then(|root| root.end.as_ref()) {
        Some(PartEnd::Completed(_)) => Ok(()),
        Some(PartEnd::Failed(error)) => Err(AgntzFailure::of_run(run, error, &reader.flow().loaded_target().files)),
        Some(PartEnd::Cancelled) => {
            let failure = AgntzFailure::new(StatusCode::CONFLICT, "INVOCATION_CANCELLED", "Run cancelled");
            Err(failure.with_run(run))
        }
        None => Err(waiting_failure(run, fold)),
    }
}

/// What a run waits for, and where to answer.
fn waiting_failure(run: &str, fold: &RunFold) -> AgntzFailure {
    let mut questions = Vec::new();
    for asked in &fold.waiting {
        questions.push(asked.describe_question(&step_name(asked)));
    }
    if let Some(why) = &fold.stopped {
        questions.push(why.stopped_before());
    }
    let error = format!(
        "the run waits for a person: {}; answer it with `POST /api/v1/runs/{run}/answers`, and read the result with \
         `GET /runs/{run}`",
        questions.join("; ")
    );
    AgntzFailure::new(StatusCode::CONFLICT, "WAITING_FOR_PERSON", error).with_run(run)
}

fn step_name(asked: &AwaitedActivity) -> String {
    asked.step_path()
}
