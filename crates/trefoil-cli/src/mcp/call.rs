//! A call of a flow: a run that reports its progress and may ask questions.
//!
//! A client with protocol 2025-11-25 or before is asked during the call. With 2026-07-28, the call returns the
//! question, and the run waits here until the client calls again with the answer. A question that the client does not
//! answer is stored with its run.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ElicitRequest, ElicitResult, InputRequest, InputRequiredResult,
    ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio::sync::mpsc;
use trefoil::{Cancel, Event, EventKind, Run};
use trefoil_runtime::ports::{Random as _, SystemRandom};

use super::Offered;
use super::asked::AskedClient;
use super::question::{Asker, Asking, Reply};
use super::result::{result, told};

/// The key of the question in a response.
const QUESTION: &str = "question";
/// How long a run waits for the client's answer, and how many runs may wait.
const WAIT: Duration = Duration::from_secs(30 * 60);
const MOST: usize = 256;

/// The calls of a client.
pub struct Calls {
    /// Calls that wait for an answer, by the state that the client sends back.
    parked: Mutex<HashMap<String, Parked>>,
    /// Runs in progress, also of calls that wait.
    running: Arc<Mutex<HashMap<String, Cancel>>>,
    /// Whether runs end now, because the client has left or the process is stopped.
    is_stopping: AtomicBool,
    /// The option of commands that names the store; `None`: runs are not stored.
    store: Option<String>,
    wait: Duration,
}

/// A call that waits for an answer.
pub struct Parked {
    call: Call,
    asking: Asking,
    tool: String,
}

/// A call in progress.
struct Call {
    run: Run,
    questions: mpsc::UnboundedReceiver<Asking>,
    /// The number of progress notifications so far, because progress must increase.
    told: u32,
    /// The steps whose questions the client has declined.
    declined: Vec<String>,
    _under_way: UnderWay,
}

impl Calls {
    /// No calls yet. `store`: the option of commands that names the store; `None`: runs are not stored.
    pub fn new(store: Option<String>) -> Self {
        let (parked, running, is_stopping) = (Mutex::default(), Arc::default(), AtomicBool::new(false));
        Self { parked, running, is_stopping, store, wait: wait() }
    }

    /// Starts a run, and continues until it ends or asks a question.
    pub async fn begin(
        self: &Arc<Self>,
        tool: &Offered,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (asks, questions) = mpsc::unbounded_channel();
        let mut engine = (*tool.engine).clone();
        if context.client_capabilities().is_some_and(|can| can.elicitation.is_some()) {
            engine = engine.humans(Asker { questions: asks, is_stored: self.store.is_some() });
        }
        let input = match tool.input(request.arguments) {
            Ok(input) => input,
            Err(why) => return Ok(told(why).into()),
        };
        match engine.start(&tool.flow, input) {
            Ok(run) => {
                let _under_way = self.under_way(&run);
                let call = Call { run, questions, told: 0, declined: Vec::new(), _under_way };
                self.go_on(call, &request.name, &context).await
            }
            Err(error) => Ok(told(error.to_string()).into()),
        }
    }

    /// Continues a call with the client's answer.
    pub async fn answered(
        self: &Arc<Self>,
        mut parked: Parked,
        request: &CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = request.input_responses.as_ref().and_then(|all| all.get(QUESTION)).cloned();
        let given = given.and_then(|given| serde_json::from_value::<ElicitResult>(given).ok());
        parked.call.replied(parked.asking, Reply::of(given));
        self.go_on(parked.call, &request.name, &context).await
    }

    /// The waiting call with this state.
    pub fn taken_up(&self, tool: &str, state: &str) -> Option<Parked> {
        let mut parked = self.parked();
        let is_it = parked.get(state).is_some_and(|one| one.tool == tool);
        is_it.then(|| parked.remove(state)).flatten()
    }

    /// Interrupts all runs, and those that start later. Stored ones can be resumed.
    pub fn interrupt(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        unpoisoned(&self.running).values().for_each(Cancel::interrupt);
    }

    /// Interrupts all runs, and waits until they have ended.
    pub async fn stop(&self, patience: Duration) {
        self.interrupt();
        let parked: Vec<Parked> = self.parked().drain().map(|(_, one)| one).collect();
        let ended = async {
            for one in parked {
                one.left().await;
            }
            while !unpoisoned(&self.running).is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let _ = tokio::time::timeout(patience, ended).await;
    }

    async fn go_on(
        self: &Arc<Self>,
        mut call: Call,
        tool: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(asking) = call.next(self, context).await {
            return Ok(self.park(call, asking, tool));
        }
        let store = self.store.as_deref().unwrap_or_default();
        let Call { run, declined, _under_way, .. } = call;
        Ok(result(run, &declined, store).await.into())
    }

    fn park(self: &Arc<Self>, call: Call, asking: Asking, tool: &str) -> CallToolResponse {
        let Ok(form) = asking.form() else { return told("the question cannot be presented as a form").into() };
        let mut parked = self.parked();
        if parked.len() >= MOST {
            return told(format!("{MOST} runs are already waiting for answers")).into();
        }
        let state = format!("{:016x}{:016x}", SystemRandom.next(), SystemRandom.next());
        let question = InputRequest::Elicitation(ElicitRequest::new(form));
        let questions = [(QUESTION.to_owned(), question)].into_iter().collect();
        parked.insert(state.clone(), Parked { call, asking, tool: tool.to_owned() });
        let (calls, key) = (self.clone(), state.clone());
        tokio::spawn(async move {
            tokio::time::sleep(calls.wait).await;
            let late = calls.parked().remove(&key);
            if let Some(late) = late {
                late.left().await;
            }
        });
        InputRequiredResult::new(Some(questions), Some(state)).into()
    }

    fn parked(&self) -> MutexGuard<'_, HashMap<String, Parked>> {
        unpoisoned(&self.parked)
    }

    /// Registers a run as one that is interrupted when the client disconnects.
    fn under_way(&self, run: &Run) -> UnderWay {
        let id = run.id().to_owned();
        unpoisoned(&self.running).insert(id.clone(), run.canceller());
        if self.is_stopping.load(Ordering::SeqCst) {
            run.canceller().interrupt();
        }
        UnderWay(self.running.clone(), id)
    }
}

fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long a run waits for the client's answer. The tests wait for less.
fn wait() -> Duration {
    #[cfg(debug_assertions)]
    if let Some(ms) = std::env::var("TREFOIL_MCP_WAIT_MS").ok().and_then(|ms| ms.parse().ok()) {
        return Duration::from_millis(ms);
    }
    WAIT
}

/// A run that is registered.
struct UnderWay(Arc<Mutex<HashMap<String, Cancel>>>, String);

impl Drop for UnderWay {
    fn drop(&mut self) {
        unpoisoned(&self.0).remove(&self.1);
    }
}

impl Parked {
    /// Nobody answers the question. Its run stores it, or goes on without an answer if it is not stored itself.
    async fn left(self) {
        drop(self.asking);
        let Call { run, questions, _under_way, .. } = self.call;
        drop(questions);
        run.outcome().await;
    }
}

impl Call {
    /// Waits until the run ends, or asks a question that the client cannot be asked during the call. If the client
    /// cancels the call, the run is stopped.
    async fn next(&mut self, calls: &Calls, context: &RequestContext<RoleServer>) -> Option<Asking> {
        let mut is_stopped = false;
        let mut open: Option<AskedClient> = None;
        loop {
            tokio::select! {
                biased;
                () = context.ct.cancelled(), if !is_stopped => {
                    // Before the question is dropped, so that the run does not continue without an answer.
                    self.stop(calls, context);
                    is_stopped = true;
                }
                Some(asking) = self.questions.recv(), if !is_stopped && open.is_none() => {
                    if is_stateless(context) {
                        return Some(asking);
                    }
                    open = AskedClient::ask(asking, context).await;
                }
                reply = AskedClient::reply(open.as_mut()) => match (reply, open.take()) {
                    (Some(reply), Some(one)) => self.replied(one.into_question(), reply),
                    (None, Some(one)) => one.take_back().await,
                    (_, None) => {}
                },
                event = self.run.event() => match event {
                    Some(event) => self.tell(&event, context).await,
                    None => break,
                },
            }
        }
        if let Some(open) = open {
            open.take_back().await;
        }
        None
    }

    /// Passes on what the client did with a question.
    fn replied(&mut self, asking: Asking, reply: Reply) {
        match reply {
            Reply::Answer(answer) => asking.answered(answer),
            Reply::Declined => self.declined.push(asking.step().to_owned()),
            Reply::Unanswered => {}
        }
    }

    /// If the client cancelled the call, cancels the run. If the client disconnected, only interrupts it, so that a
    /// stored run can be resumed.
    fn stop(&self, calls: &Calls, context: &RequestContext<RoleServer>) {
        match calls.is_stopping.load(Ordering::SeqCst) || context.peer.is_transport_closed() {
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
