//! Who calls the flows of a server, and what they may do.

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::model::Extensions;
use serde_json::Value;

use super::OfferedFlow;
use crate::Run;
use crate::engine::Engine;

/// A run that was started for a call.
pub struct HeldCall {
    /// The run.
    pub run: Run,
    /// Kept until the run has ended: its place among the runs of the host.
    pub held: Box<dyn Send + Sync>,
    /// Kept until the run is stored: others may have to wait for that.
    pub starting: Box<dyn Send + Sync>,
}

/// What a client wants of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpAction {
    /// To see the tools.
    ListTools,
    /// To call one.
    CallTool,
    /// To answer the question of a call.
    AnswerQuestion,
}

/// What the callers of a server may do. `request`: what the transport knows of a request.
#[async_trait]
pub trait CallerPolicy: Send + Sync {
    /// Who sends a request. A call that waits for an answer is continued for the same caller only.
    fn caller_id(&self, request: &Extensions) -> Arc<str>;

    /// Whether the caller may see and call a flow, by its name in the catalog.
    fn may_use_flow(&self, request: &Extensions, flow: &str) -> bool;

    /// Refuses what the caller may not do, with the reason.
    fn check_action(&self, request: &Extensions, action: McpAction) -> Result<(), String>;

    /// Starts the run of a call, or says why not, for a model. `engine`: that of the flow, with the caller as the person to ask.
    async fn start_call(
        &self,
        request: &Extensions,
        engine: Engine,
        flow: &OfferedFlow,
        input: Value,
    ) -> Result<HeldCall, String>;
}

/// The policy of a server with one client, which may do everything.
pub struct OneCaller;

#[async_trait]
impl CallerPolicy for OneCaller {
    fn caller_id(&self, _request: &Extensions) -> Arc<str> {
        "".into()
    }

    fn may_use_flow(&self, _request: &Extensions, _flow: &str) -> bool {
        true
    }

    fn check_action(&self, _request: &Extensions, _action: McpAction) -> Result<(), String> {
        Ok(())
    }

    async fn start_call(
        &self,
        _request: &Extensions,
        engine: Engine,
        flow: &OfferedFlow,
        input: Value,
    ) -> Result<HeldCall, String> {
        let run = engine.start_run(&flow.flow, input).map_err(|error| error.to_string())?;
        Ok(HeldCall { run, held: Box::new(()), starting: Box::new(()) })
    }
}
