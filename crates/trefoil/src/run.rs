//! The handle on a run.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;
use trefoil_runtime::{Cancel, Event, RunError, RunOutcome, Usage};

use crate::error::{Error, Failure, Result};
use crate::flow::Flow;

/// A run under way.
///
/// The run has a task of its own and does not wait for anybody. Its events wait here until they are read with
/// [`event`](Self::event), or until [`output`](Self::output) or [`outcome`](Self::outcome) asks for the end alone.
///
/// Dropping the handle stops the run at once: calls are cut off, commands are killed, nothing goes on behind it. To stop a run
/// in good order, [`cancel`](Self::cancel) it: then it ends with the code `CANCELLED`, and what it has cost is known.
///
/// Should a tool or another part of the embedder panic, so does whoever asks for the outcome.
#[must_use = "dropping a run stops it"]
pub struct Run {
    id: Arc<str>,
    flow: Flow,
    events: UnboundedReceiver<Event>,
    cancel: Cancel,
    task: JoinHandle<RunOutcome>,
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "run {} of {:?}", self.id, self.flow)
    }
}

impl Run {
    pub(crate) fn new(
        id: Arc<str>,
        flow: Flow,
        events: UnboundedReceiver<Event>,
        cancel: Cancel,
        task: JoinHandle<RunOutcome>,
    ) -> Self {
        Self { id, flow, events, cancel, task }
    }

    /// The run's id.
    pub fn id(&self) -> &str {
        &self.id
    }
    /// What is run.
    pub fn flow(&self) -> &Flow {
        &self.flow
    }
    /// The next event; none: the run has ended, and all its events were read.
    pub async fn event(&mut self) -> Option<Event> {
        self.events.recv().await
    }
    /// Asks the run to stop. It ends soon after, with the code `CANCELLED`, unless it has ended by then.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
    /// What stops the run from elsewhere, while somebody waits for its end here.
    pub fn canceller(&self) -> Cancel {
        self.cancel.clone()
    }
    /// Waits for the end: how the run ended, and what it has cost. Events that were not read are lost.
    pub async fn outcome(mut self) -> RunOutcome {
        self.events.close();
        while self.events.try_recv().is_ok() {}
        match (&mut self.task).await {
            Ok(outcome) => outcome,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // Its runtime was shut down.
                Err(_) => RunOutcome {
                    run: self.id.clone(),
                    result: Err(RunError::new("CANCELLED", "the tokio runtime of the run was shut down")),
                    usage: Usage::unknown(),
                    calls: 0,
                    duration_ms: 0,
                },
            },
        }
    }
    /// Waits for the end: the output as a type of one's own.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`] where the run failed or was cancelled, [`Error::Output`] where its output does not fit the type.
    pub async fn output<T: DeserializeOwned>(self) -> Result<T> {
        let flow = self.flow.clone();
        let outcome = self.outcome().await;
        match &outcome.result {
            Ok(value) => {
                let output = value.to_json();
                T::deserialize(&output).map_err(|error| Error::Output { error, output })
            }
            Err(error) => Err(Error::Failed(Box::new(Failure::new(flow, error.clone(), outcome.clone())))),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.task.abort();
    }
}
