//! The calls of a client: those in progress, and those that wait for an answer.
//!
//! A client with protocol 2025-11-25 or before is asked during the call. With 2026-07-28, the call returns the
//! question, and the run waits here until the client calls again with the answer. A question that the client does not
//! answer is stored with its run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ElicitRequest, ElicitResult, Extensions, InputRequest, InputRequiredResult,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio::sync::mpsc;
use trefoil_runtime::ports::{Random as _, SystemRandom};

use super::OfferedFlow;
use super::answer_route::AnswerRoute;
use super::call::ServerCall;
use super::caller_policy::{CallerPolicy, McpAction};
use super::question::{ClientQuestion, QuestionInbox, QuestionReply};
use super::result::error_result;
use super::running_calls::RunningCalls;
use trefoil_runtime::locks::lock;

/// The key of the question in a response.
const QUESTION: &str = "question";
/// How many runs of a caller may wait for its answer.
const MOST: usize = 256;

/// The calls of a server's clients.
pub struct ServerCalls {
    /// Calls that wait for an answer, by the state that the client sends back.
    parked: Mutex<HashMap<String, ParkedCall>>,
    running: Arc<RunningCalls>,
    route: AnswerRoute,
    wait: Duration,
    policy: Arc<dyn CallerPolicy>,
}

/// A call that waits for an answer.
pub struct ParkedCall {
    call: ServerCall,
    asking: ClientQuestion,
    tool: String,
    /// Who made it.
    caller: Arc<str>,
}

impl ServerCalls {
    /// No calls yet. `wait`: how long a run waits for the client's answer between two calls.
    pub fn new(route: AnswerRoute, wait: Duration, policy: Arc<dyn CallerPolicy>) -> Self {
        Self { parked: Mutex::default(), running: Arc::default(), route, wait, policy }
    }

    /// What callers may do.
    pub fn policy(&self) -> &dyn CallerPolicy {
        &*self.policy
    }

    /// Starts a run, and continues until it ends or asks a question.
    pub async fn begin_call(
        self: &Arc<Self>,
        tool: &OfferedFlow,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (asks, questions) = mpsc::unbounded_channel();
        let mut engine = (*tool.engine).clone();
        let can_ask = matches!(context.client_capabilities(), Some(can) if can.elicitation.is_some());
        if can_ask && self.policy.check_action(&context.extensions, McpAction::AnswerQuestion).is_ok() {
            engine = engine.humans(QuestionInbox { questions: asks, is_stored: self.route.is_stored() });
        }
        let input = match tool.parse_input(request.arguments) {
            Ok(input) => input,
            Err(why) => return Ok(error_result(why).into()),
        };
        match self.policy.start_call(&context.extensions, engine, tool, input).await {
            Ok(held) => {
                let call = ServerCall::new(held, questions, &self.running, &self.route);
                self.go_on(call, &request.name, &context).await
            }
            Err(why) => Ok(error_result(why).into()),
        }
    }

    /// Continues a call with the client's answer.
    pub async fn continue_call(
        self: &Arc<Self>,
        mut parked: ParkedCall,
        request: &CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = request.input_responses.as_ref().and_then(|all| all.get(QUESTION)).cloned();
        let given = given.and_then(|given| serde_json::from_value::<ElicitResult>(given).ok());
        parked.call.pass_reply(parked.asking, QuestionReply::from_result(given), &context);
        self.go_on(parked.call, &request.name, &context).await
    }

    /// The waiting call with this state, for its caller.
    pub fn taken_up(&self, tool: &str, state: &str, request: &Extensions) -> Option<ParkedCall> {
        let caller = self.policy.caller_id(request);
        let mut parked = self.lock_parked();
        let known = parked.get(state)?;
        if known.tool == tool && known.caller == caller { parked.remove(state) } else { None }
    }

    /// The process is being stopped, and its host stops the runs: questions are left open, and this waits until all calls have ended.
    pub async fn await_stop(&self) {
        self.running.note_stop();
        let parked: Vec<ParkedCall> = self.lock_parked().drain().map(|(_, call)| call).collect();
        for call in parked {
            call.finish_unanswered().await;
        }
        while !self.running.is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Interrupts all runs, and those that start later. Stored ones can be resumed.
    pub fn interrupt_runs(&self) {
        self.running.interrupt_runs();
    }

    /// Interrupts all runs, and waits until they have ended.
    pub async fn stop_runs(&self, patience: Duration) {
        self.interrupt_runs();
        let parked: Vec<ParkedCall> = self.lock_parked().drain().map(|(_, call)| call).collect();
        let ended = async {
            for call in parked {
                call.finish_unanswered().await;
            }
            while !self.running.is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let _ = tokio::time::timeout(patience, ended).await;
    }

    async fn go_on(
        self: &Arc<Self>,
        mut call: ServerCall,
        tool: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(asking) = call.next_question(context).await {
            return Ok(self.park(call, asking, tool, self.policy.caller_id(&context.extensions)));
        }
        Ok(call.wait_result(&self.route).await.into())
    }

    fn park(
        self: &Arc<Self>,
        call: ServerCall,
        asking: ClientQuestion,
        tool: &str,
        caller: Arc<str>,
    ) -> CallToolResponse {
        let Ok(form) = asking.question_form() else {
            return error_result("the question cannot be presented as a form").into();
        };
        let mut parked = self.lock_parked();
        if parked.values().filter(|parked| parked.caller == caller).count() >= MOST {
            return error_result(format!("{MOST} runs are already waiting for answers")).into();
        }
        let state = format!("{:016x}{:016x}", SystemRandom.next_number(), SystemRandom.next_number());
        let question = InputRequest::Elicitation(ElicitRequest::new(form));
        let questions = [(QUESTION.to_owned(), question)].into_iter().collect();
        parked.insert(state.clone(), ParkedCall { call, asking, tool: tool.to_owned(), caller });
        let (calls, key) = (self.clone(), state.clone());
        tokio::spawn(async move {
            tokio::time::sleep(calls.wait).await;
            let late = calls.lock_parked().remove(&key);
            if let Some(late) = late {
                late.finish_unanswered().await;
            }
        });
        InputRequiredResult::new(Some(questions), Some(state)).into()
    }

    fn lock_parked(&self) -> MutexGuard<'_, HashMap<String, ParkedCall>> {
        lock(&self.parked)
    }
}

impl ParkedCall {
    /// Nobody answers the question. Its run stores it, or goes on without an answer if it is not stored itself.
    async fn finish_unanswered(self) {
        drop(self.asking);
        self.call.finish_unanswered().await;
    }
}
