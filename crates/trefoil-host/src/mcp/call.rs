//! A call of a flow: a run that reports its progress and may ask questions.

use std::sync::Arc;

use crate::Run;
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ProgressNotificationParam, ProtocolVersion};
use rmcp::service::RequestContext;
use tokio::sync::mpsc;
use trefoil_machine::AnswerSender;
use trefoil_runtime::{Event, EventKind};
use trefoil_view::run_view::{RunView, ViewDetail};

use super::answer_route::AnswerRoute;
use super::caller_policy::HeldCall;
use super::open_question::OpenClientQuestion;
use super::question::{ClientQuestion, QuestionReply};
use super::result::run_result;
use super::running_calls::{RegisteredRun, RunningCalls};

/// A call in progress.
pub struct ServerCall {
    run: Run,
    questions: mpsc::UnboundedReceiver<ClientQuestion>,
    /// The number of progress notifications so far, because progress must increase.
    notification_count: u32,
    view: RunView,
    /// The steps whose questions the client has declined.
    declined: Vec<String>,
    under_way: RegisteredRun,
    /// What keeps the run's place in its host.
    held: Box<dyn Send + Sync>,
    /// What others wait for, until the first event: then the run is stored.
    starting: Option<Box<dyn Send + Sync>>,
    /// Whether the run is worth something without its client: what a client that leaves has begun can be resumed.
    outlives_client: bool,
}

impl ServerCall {
    /// The call of a run with its questions.
    pub fn new(
        call: HeldCall,
        questions: mpsc::UnboundedReceiver<ClientQuestion>,
        running: &Arc<RunningCalls>,
        route: &AnswerRoute,
    ) -> Self {
        let HeldCall { run, held, starting } = call;
        let under_way = RegisteredRun::new(running, &run);
        Self {
            held,
            starting: Some(starting),
            outlives_client: route.outlives_client(),
            run,
            questions,
            notification_count: 0,
            view: RunView::new(ViewDetail::Rows),
            declined: Vec::new(),
            under_way,
        }
    }

    /// Waits for the end of the run.
    pub async fn wait_result(self, route: &AnswerRoute) -> CallToolResult {
        let Self { run, declined, under_way, held, .. } = self;
        let result = run_result(run, &declined, route).await;
        drop((under_way, held));
        result
    }

    /// Waits for the end of a run whose questions nobody answers.
    pub async fn finish_unanswered(self) {
        let Self { run, questions, under_way, held, .. } = self;
        drop(questions);
        run.wait_outcome().await;
        drop((under_way, held));
    }

    /// Waits until the run ends, or asks a question that the client cannot be asked during the call. If the client
    /// cancels the call, the run is stopped.
    pub async fn next_question(&mut self, context: &RequestContext<RoleServer>) -> Option<ClientQuestion> {
        let mut is_stopped = false;
        let mut open: Option<OpenClientQuestion> = None;
        loop {
            tokio::select! {
                biased;
                () = context.ct.cancelled(), if !is_stopped => {
                    // Before the question is dropped, so that the run does not continue without an answer.
                    self.stop(context);
                    is_stopped = true;
                }
                Some(asking) = self.questions.recv(), if !is_stopped && open.is_none() => {
                    if !asking.is_closed() && is_stateless(context) {
                        return Some(asking);
                    }
                    open = OpenClientQuestion::send_question(asking, context).await;
                }
                reply = OpenClientQuestion::wait_reply(open.as_mut()) => match (reply, open.take()) {
                    (Some(reply), Some(one)) => self.pass_reply(one.into_question(), reply, context),
                    (None, Some(one)) => one.take_back().await,
                    (_, None) => {}
                },
                event = self.run.next_event() => match event {
                    Some(event) => {
                        self.starting = None;
                        self.notify_progress(&event, context).await;
                    }
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
    pub fn pass_reply(&mut self, asking: ClientQuestion, reply: QuestionReply, context: &RequestContext<RoleServer>) {
        match reply {
            QuestionReply::Answer(answer) => asking.send_answer(answer, client_sender(context)),
            QuestionReply::Declined => self.declined.push(asking.step().to_owned()),
            QuestionReply::Unanswered => {}
        }
    }

    /// If the client cancelled the call, cancels the run. If the client disconnected, or the process is stopped, does not end it for
    /// good, if it can be resumed.
    fn stop(&self, context: &RequestContext<RoleServer>) {
        match (self.under_way.is_stopping(), self.outlives_client) {
            (true, true) => self.run.cancel_switch().interrupt_runs(),
            // Its host lets all runs end their calls first.
            (true, false) => self.run.cancel_switch().drain_runs(),
            (false, true) if context.peer.is_transport_closed() => self.run.cancel_switch().interrupt_runs(),
            (false, _) => self.run.request_cancel(),
        }
    }

    /// Sends a progress notification if the client requested them.
    async fn notify_progress(&mut self, event: &Event, context: &RequestContext<RoleServer>) {
        let Some(token) = context.meta.get_progress_token() else { return };
        self.view.apply_event(event);
        let Some(message) = line(event, &self.view) else { return };
        self.notification_count += 1;
        let progress = ProgressNotificationParam::new(token, f64::from(self.notification_count)).with_message(message);
        // A disconnected client is detected elsewhere.
        let _ = context.peer.notify_progress(progress).await;
    }
}

/// The progress text for an event. Only steps are reported, not the texts of models and tools.
fn line(event: &Event, view: &RunView) -> Option<String> {
    let key = event.key.as_ref()?.as_str();
    let label = view.step_with_key(key).map_or(key, |step| &step.label);
    match &event.kind {
        EventKind::StepStarted { .. } => Some(format!("{label} started")),
        EventKind::StepFinished { .. } => Some(format!("{label} ended")),
        EventKind::StepSkipped { .. } => Some(format!("{label} was skipped")),
        EventKind::StepFailed { error, .. } => Some(format!("{label} failed: {}", error.code)),
        EventKind::RetryScheduled { .. } => Some(format!("{label} is retried")),
        _ => None,
    }
}

/// The client as the sender of an answer: by the name that it gives itself.
fn client_sender(context: &RequestContext<RoleServer>) -> AnswerSender {
    let name = match context.client_info() {
        Some(client) => client.name,
        None => String::new(),
    };
    AnswerSender::new(&name, AnswerSender::MCP)
}

/// Since 2026-07-28, servers do not send requests to clients.
fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}
