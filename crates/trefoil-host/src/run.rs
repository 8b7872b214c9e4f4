//! The handle of a run.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;
use trefoil_runtime::{CancelSwitch, Event, RunError, RunOutcome, Usage};

use crate::engine::{AnswersFrom, EventReader};
use trefoil_project::error::{Error, Result, RunFailure};
use trefoil_project::flow::Flow;
use trefoil_project::load::LoadedTarget;
use trefoil_view::trace::TraceSubject;

/// A run in progress.
///
/// The run is a separate task and does not wait for its handle. Its events are queued until they are read, or until
/// [`wait_output`](Self::wait_output) or [`wait_outcome`](Self::wait_outcome) is awaited, which discards them. Read them one by one with
/// [`next_event`](Self::next_event), or as a [`Stream`], so that the adapters of `futures` and `tokio-stream` work with a run.
///
/// ```
/// use futures::StreamExt as _;
/// # use trefoil::{Engine, EventKind, Flow};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> trefoil::Result<()> {
/// # let hello = Flow::from_text("hello.yaml", "id: hello\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninstruction: Say hello.\n")?;
/// let mut run = Engine::new().model("embedded").start_run(&hello, ())?;
/// let steps = run.by_ref().filter(|event| std::future::ready(matches!(event.kind, EventKind::StepStarted { .. })));
/// assert_eq!(steps.count().await, 1);
/// let text: String = run.wait_output().await?;
/// # Ok(())
/// # }
/// ```
///
/// Dropping the handle aborts the run: calls are cut off, commands are killed, and nothing continues in the background.
/// To stop a run gracefully, [`request_cancel`](Self::request_cancel) it. It then ends with the code `CANCELLED`, and its cost is
/// known.
///
/// If a tool or another part of the embedder panics, awaiting the outcome panics, too.
#[must_use = "dropping a run stops it"]
pub struct Run {
    id: Arc<str>,
    flow: Flow,
    events: EventReader,
    cancel: CancelSwitch,
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
        events: EventReader,
        cancel: CancelSwitch,
        task: JoinHandle<RunOutcome>,
    ) -> Self {
        Self { id, flow, events, cancel, task }
    }

    /// The run's id.
    pub fn id(&self) -> &str {
        &self.id
    }
    /// The flow of the run.
    pub fn flow(&self) -> &Flow {
        &self.flow
    }
    /// Returns the next event, or `None` if the run has ended and all its events were read.
    pub async fn next_event(&mut self) -> Option<Event> {
        poll_fn(|context| self.events.poll(context)).await
    }
    /// Requests that the run stops. It ends soon after with the code `CANCELLED`, unless it has already ended.
    pub fn request_cancel(&self) {
        self.cancel.cancel_runs();
    }
    /// Returns a handle that can cancel the run while its outcome is being awaited.
    pub fn cancel_switch(&self) -> CancelSwitch {
        self.cancel.clone()
    }
    /// Waits for the end and returns the outcome and the cost. Unread events are discarded.
    pub async fn wait_outcome(mut self) -> RunOutcome {
        self.events.close();
        match (&mut self.task).await {
            Ok(outcome) => outcome,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // Its tokio runtime was shut down.
                Err(_) => {
                    let error = RunError::new("CANCELLED", "the tokio runtime of the run was shut down");
                    RunOutcome { usage: Usage::for_unknown_call(), ..RunOutcome::from_failure(&self.id, error) }
                }
            },
        }
    }
    /// Waits for the end and returns the output, deserialized into `T`.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`] if the run failed or was cancelled, [`Error::Output`] if its output does not match the type.
    pub async fn wait_output<T: DeserializeOwned>(self) -> Result<T> {
        let flow = self.flow.clone();
        let outcome = self.wait_outcome().await;
        match &outcome.result {
            Ok(value) => {
                let output = value.to_json();
                T::deserialize(&output).map_err(|error| Error::Output { error, output })
            }
            Err(error) => Err(Error::Failed(Box::new(RunFailure::new(
                flow.loaded_target().files.clone(),
                error.clone(),
                outcome.clone(),
            )))),
        }
    }
}

/// The events of the run, as they happen. The stream ends with the run.
impl Stream for Run {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.events.poll(cx)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What a trace says of a run of a program whose model calls are answered like this.
pub fn run_about(loaded: &LoadedTarget, answers_from: &AnswersFrom) -> TraceSubject {
    TraceSubject {
        dialect: loaded.dialect,
        sources: loaded.source_hashes(),
        answers_from: answers_from.to_string(),
        placeholder: *answers_from == AnswersFrom::Embedded,
        ..TraceSubject::new(&loaded.program, &loaded.files)
    }
}
