//! A call of a flow: a run that reports its progress and may ask questions.
//!
//! A client with protocol 2025-11-25 or before is asked during the call. With 2026-07-28, the call returns the
//! question, and the run waits here until the client calls again with the answer.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitResult, InputRequest,
    InputRequiredResult, MetaObject, ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio::sync::mpsc;
use trefoil::{Cancel, Error, Event, EventKind, Run};
use trefoil_runtime::ports::{Random as _, SystemRandom};
use trefoil_template::Value;

use super::question::{Asker, Asking};
use super::{Offered, told};

/// The key of the question in a response.
const QUESTION: &str = "question";
/// How long a run waits for the client's answer, and how many runs may wait.
const WAIT: Duration = Duration::from_secs(30 * 60);
const MOST: usize = 256;

/// The calls of a client.
#[derive(Default)]
pub struct Calls {
    /// Calls that wait for an answer, by the state that the client sends back.
    parked: Mutex<HashMap<String, Parked>>,
    /// Calls in progress.
    running: Mutex<HashMap<String, Cancel>>,
}

/// A call that waits for an answer.
pub struct Parked {
    call: Call,
    asking: Asking,
    tool: String,
    since: Instant,
}

/// A call in progress.
struct Call {
    run: Run,
    questions: mpsc::UnboundedReceiver<Asking>,
    /// The number of progress notifications so far, because progress must increase.
    told: u32,
}

/// The next event of a call.
enum Next {
    Ended,
    Asks(Asking),
}

impl Calls {
    /// Starts a run, and continues until it ends or asks a question.
    pub async fn begin(
        &self,
        tool: &Offered,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (asks, questions) = mpsc::unbounded_channel();
        let mut engine = (*tool.engine).clone();
        if context.client_capabilities().is_some_and(|can| can.elicitation.is_some()) {
            engine = engine.humans(Asker(asks));
        }
        let input = match tool.input(request.arguments) {
            Ok(input) => input,
            Err(why) => return Ok(told(why).into()),
        };
        match engine.start(&tool.flow, input) {
            Ok(run) => self.go_on(Call { run, questions, told: 0 }, &request.name, &context).await,
            Err(error) => Ok(told(error.to_string()).into()),
        }
    }

    /// Continues a call with the client's answer.
    pub async fn answered(
        &self,
        parked: Parked,
        request: &CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = request.input_responses.as_ref().and_then(|all| all.get(QUESTION)).cloned();
        let given = given.and_then(|given| serde_json::from_value::<ElicitResult>(given).ok());
        parked.asking.answered(given);
        self.go_on(parked.call, &request.name, &context).await
    }

    /// The waiting call with this state.
    pub fn taken_up(&self, tool: &str, state: &str) -> Option<Parked> {
        let mut parked = self.parked.lock().unwrap_or_else(PoisonError::into_inner);
        parked.retain(|_, one| one.since.elapsed() < WAIT);
        let is_it = parked.get(state).is_some_and(|one| one.tool == tool);
        is_it.then(|| parked.remove(state)).flatten()
    }

    /// Interrupts all runs, and waits until they have ended.
    pub async fn stop(&self, patience: Duration) {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.running.lock().unwrap_or_else(PoisonError::into_inner).values().for_each(Cancel::interrupt);
        let began = Instant::now();
        while began.elapsed() < patience && !self.running.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn go_on(
        &self,
        mut call: Call,
        tool: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let under_way = UnderWay::new(self, &call.run);
        loop {
            match call.next(context).await {
                Next::Ended => break,
                Next::Asks(asking) if is_stateless(context) => {
                    drop(under_way);
                    return Ok(self.park(call, asking, tool));
                }
                Next::Asks(asking) => {
                    let form = asking.form().map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
                    tokio::select! {
                        said = context.peer.create_elicitation(form) => asking.answered(said.ok()),
                        // Stop the run before the question is dropped, so that the run does not continue without an
                        // answer.
                        () = context.ct.cancelled() => call.stop(context),
                    }
                }
            }
        }
        let result = result(call.run).await;
        drop(under_way);
        Ok(result.into())
    }

    fn park(&self, call: Call, asking: Asking, tool: &str) -> CallToolResponse {
        let Ok(form) = asking.form() else { return told("the question cannot be presented as a form").into() };
        let mut parked = self.parked.lock().unwrap_or_else(PoisonError::into_inner);
        parked.retain(|_, one| one.since.elapsed() < WAIT);
        if parked.len() >= MOST {
            return told(format!("{MOST} runs are already waiting for answers")).into();
        }
        let state = format!("{:016x}{:016x}", SystemRandom.next(), SystemRandom.next());
        let question = InputRequest::Elicitation(ElicitRequest::new(form));
        let questions = [(QUESTION.to_owned(), question)].into_iter().collect();
        parked.insert(state.clone(), Parked { call, asking, tool: tool.to_owned(), since: Instant::now() });
        InputRequiredResult::new(Some(questions), Some(state)).into()
    }
}

/// Registers the run as one that is stopped when the client disconnects.
struct UnderWay<'c>(&'c Calls, String);

impl<'c> UnderWay<'c> {
    fn new(calls: &'c Calls, run: &Run) -> Self {
        let id = run.id().to_owned();
        calls.running.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), run.canceller());
        Self(calls, id)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
    }
}

impl Call {
    /// Waits until the run ends or asks a question. If the client cancels the call, the run is stopped.
    async fn next(&mut self, context: &RequestContext<RoleServer>) -> Next {
        let mut is_stopped = false;
        loop {
            tokio::select! {
                biased;
                () = context.ct.cancelled(), if !is_stopped => {
                    self.stop(context);
                    is_stopped = true;
                }
                Some(asking) = self.questions.recv(), if !is_stopped => return Next::Asks(asking),
                event = self.run.event() => match event {
                    Some(event) => self.tell(&event, context).await,
                    None => return Next::Ended,
                },
            }
        }
    }

    /// If the client cancelled the call, cancels the run. If the client disconnected, only interrupts it, so that a
    /// stored run can be resumed.
    fn stop(&self, context: &RequestContext<RoleServer>) {
        match context.peer.is_transport_closed() {
            true => self.run.canceller().interrupt(),
            false => self.run.cancel(),
        }
    }

    /// Sends a progress notification if the client requested them.
    async fn tell(&mut self, event: &Event, context: &RequestContext<RoleServer>) {
        let Some(token) = context.meta.get_progress_token() else { return };
        let Some(message) = line(event) else { return };
        self.told += 1;
        let progress = ProgressNotificationParam::new(token, f64::from(self.told)).with_message(message);
        // A disconnected client is detected elsewhere.
        let _ = context.peer.notify_progress(progress).await;
    }
}

/// The progress text for an event. Only steps are reported, not the texts of models and tools.
fn line(event: &Event) -> Option<String> {
    let key = &event.key.as_ref()?.0;
    match &event.kind {
        EventKind::StepStarted { label, .. } => Some(format!("{label} started")),
        EventKind::StepFinished { .. } => Some(format!("{key} ended")),
        EventKind::StepSkipped { label, .. } => Some(format!("{label} was skipped")),
        EventKind::StepFailed { error, .. } => Some(format!("{key} failed: {}", error.code)),
        EventKind::RetryScheduled { .. } => Some(format!("{key} is retried")),
        _ => None,
    }
}

/// Since 2026-07-28, servers do not send requests to clients.
fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// The result of a run.
async fn result(run: Run) -> CallToolResult {
    let id = run.id().to_owned();
    let mut result = match run.output::<serde_json::Value>().await {
        Ok(output) => {
            let text = Value::from_json(output.clone()).to_text().to_string();
            let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
            result.structured_content = output.is_object().then_some(output);
            result
        }
        Err(Error::Failed(failure)) if !failure.outcome().waiting.is_empty() => {
            let waiting = &failure.outcome().waiting;
            let open = waiting.iter().map(|one| crate::run::waiting::line(one, waiting));
            let open = open.collect::<Vec<_>>().join("; ");
            told(format!(
                "the run is waiting for a person: {open}. Answer with `trefoil runs answer {id}`, then continue with `trefoil resume {id}`"
            ))
        }
        Err(error) => told(error.to_string()),
    };
    let mut meta = MetaObject::new();
    meta.insert("trefoil/run".to_owned(), id.into());
    result.meta = Some(meta);
    result
}
