//! The calls of a client: those in progress, and those that wait for an answer.
//!
//! A client with protocol 2025-11-25 or before is asked during the call. With 2026-07-28, the call returns the
//! question, and the run waits here until the client calls again with the answer. A question that the client does not
//! answer is stored with its run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ElicitRequest, ElicitResult, InputRequest, InputRequiredResult,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio::sync::mpsc;
use trefoil_runtime::ports::{Random as _, SystemRandom};

use super::OfferedFlow;
use super::call::ServerCall;
use super::question::{ClientQuestion, QuestionInbox, QuestionReply};
use super::result::error_result;
use super::running_calls::RunningCalls;
use crate::command::RunOptions;
use trefoil_runtime::locks::lock;

/// The key of the question in a response.
const QUESTION: &str = "question";
/// How many runs may wait for the client's answer.
const MOST: usize = 256;

/// The calls of a client.
pub struct ServerCalls {
    /// Calls that wait for an answer, by the state that the client sends back.
    parked: Mutex<HashMap<String, ParkedCall>>,
    running: Arc<RunningCalls>,
    /// The options of commands; `None`: runs are not stored.
    options: Option<RunOptions>,
    wait: Duration,
}

/// A call that waits for an answer.
pub struct ParkedCall {
    call: ServerCall,
    asking: ClientQuestion,
    tool: String,
}

impl ServerCalls {
    /// No calls yet. `options`: those of commands that continue runs; `None`: runs are not stored. `wait`: how long a run waits
    /// for the client's answer.
    pub fn new(options: Option<RunOptions>, wait: Duration) -> Self {
        Self { parked: Mutex::default(), running: Arc::default(), options, wait }
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
        if matches!(context.client_capabilities(), Some(can) if can.elicitation.is_some()) {
            engine = engine.humans(QuestionInbox { questions: asks, is_stored: self.options.is_some() });
        }
        let input = match tool.parse_input(request.arguments) {
            Ok(input) => input,
            Err(why) => return Ok(error_result(why).into()),
        };
        match engine.start_run(&tool.flow, input) {
            Ok(run) => self.go_on(ServerCall::new(run, questions, &self.running), &request.name, &context).await,
            Err(error) => Ok(error_result(error.to_string()).into()),
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

    /// The waiting call with this state.
    pub fn taken_up(&self, tool: &str, state: &str) -> Option<ParkedCall> {
        let mut parked = self.lock_parked();
        if parked.get(state)?.tool == tool { parked.remove(state) } else { None }
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
            return Ok(self.park(call, asking, tool));
        }
        let options = self.options.clone().unwrap_or_default();
        Ok(call.wait_result(&options).await.into())
    }

    fn park(self: &Arc<Self>, call: ServerCall, asking: ClientQuestion, tool: &str) -> CallToolResponse {
        let Ok(form) = asking.question_form() else {
            return error_result("the question cannot be presented as a form").into();
        };
        let mut parked = self.lock_parked();
        if parked.len() >= MOST {
            return error_result(format!("{MOST} runs are already waiting for answers")).into();
        }
        let state = format!("{:016x}{:016x}", SystemRandom.next_number(), SystemRandom.next_number());
        let question = InputRequest::Elicitation(ElicitRequest::new(form));
        let questions = [(QUESTION.to_owned(), question)].into_iter().collect();
        parked.insert(state.clone(), ParkedCall { call, asking, tool: tool.to_owned() });
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
