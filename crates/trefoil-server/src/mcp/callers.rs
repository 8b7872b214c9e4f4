//! What the keys of the server's callers let them do over the protocol.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use http::request::Parts;
use rmcp::model::Extensions;
use serde_json::Value as Json;
use trefoil_host::engine::Engine;
use trefoil_host::mcp::{CallerPolicy, HeldCall, McpAction, OfferedFlow};
use trefoil_host::served_folder::ServedFolder;

use super::id_of;
use crate::access::{Caller, KeyScope};
use crate::problem::Problem;
use crate::start::{LabelledStart, StartDecision};
use crate::state::AppState;

const NO_CALLER: &str = "it is not known who sends this request";

/// The scope that a key needs. To begin, take up and end a session, and to ask whether the server lives, it needs none.
fn needed_scope(action: McpAction) -> KeyScope {
    match action {
        McpAction::ListTools => KeyScope::Read,
        McpAction::CallTool => KeyScope::Run,
        // Without it, a question stays open, and its call says where to answer.
        McpAction::AnswerQuestion => KeyScope::Answer,
    }
}

/// The callers of the server, by the keys of their requests.
pub struct HttpCallers {
    /// What all handlers share.
    pub state: AppState,
}

/// Who sends a request; `identify_caller` has found out.
fn caller_of(request: &Extensions) -> Option<&Caller> {
    request.get::<Parts>()?.extensions.get::<Caller>()
}

#[async_trait]
impl CallerPolicy for HttpCallers {
    fn caller_id(&self, request: &Extensions) -> Arc<str> {
        caller_of(request).map_or_else(|| "".into(), id_of)
    }

    fn may_use_flow(&self, request: &Extensions, flow: &str) -> bool {
        caller_of(request).is_some_and(|caller| caller.may_use_flow(flow))
    }

    fn check_action(&self, request: &Extensions, action: McpAction) -> Result<(), String> {
        let Some(caller) = caller_of(request) else { return Err(NO_CALLER.to_owned()) };
        caller.require_scope(needed_scope(action)).map_err(|problem| problem_text(&problem))
    }

    async fn start_call(
        &self,
        request: &Extensions,
        engine: Engine,
        flow: &OfferedFlow,
        input: Json,
    ) -> Result<HeldCall, String> {
        let folder = ServedFolder::from_path(&self.state.engines.folder);
        let error_text = |error: trefoil_project::Error| folder.hide_folder(&error.to_string());
        self.check_action(request, McpAction::CallTool)?;
        let Some(caller) = caller_of(request) else { return Err(NO_CALLER.to_owned()) };
        let decided = LabelledStart::default().prepare_start(&self.state, caller, flow.flow.name()).await;
        let prepared = match decided.map_err(|problem| problem_text(&problem))? {
            StartDecision::New(prepared) => prepared,
            // Only a request with an idempotency key is known.
            StartDecision::Known(started) => return Err(format!("the run {} was started before", started.run)),
        };
        let ready = prepared.limit_engine(engine).prepare_run(&flow.flow).map_err(error_text)?;
        let held = self.state.local.hold_run(prepared.apply_to(ready), input).await;
        let (run, held) = held.map_err(error_text)?;
        self.state.metrics.runs_started.fetch_add(1, Ordering::Relaxed);
        Ok(HeldCall { run, held: Box::new(held), starting: Box::new(prepared) })
    }
}

fn problem_text(problem: &Problem) -> String {
    match &problem.help {
        Some(help) => format!("{}: {help}", problem.detail),
        None => problem.detail.clone(),
    }
}
