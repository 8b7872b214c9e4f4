//! The body of `POST /run`, `/run/stream` and `/runs`. What is not built yet is refused by name: nothing of a request is obeyed by half.

use std::sync::Arc;

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use trefoil_host::catalog::CatalogFlow;

use super::errors::{AgntzFailure, AgntzResult};
use super::references::{AgentReference, find_agent};
use crate::access::{Caller, KeyScope};
use crate::problem::Problem;
use crate::state::AppState;

/// How a run is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunUse {
    /// The client waits for its result.
    Attached,
    /// The client reads its stream, and can call its own tools.
    Streamed,
    /// Nobody waits for it.
    Detached,
}

/// The body.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunBody {
    agent_id: Option<String>,
    #[serde(default)]
    input: Json,
    content: Option<Json>,
    session_id: Option<Json>,
    context: Option<Json>,
    retention: Option<Json>,
    client_tools: Option<Json>,
    callback_url: Option<Json>,
    webhook_secret_name: Option<Json>,
}

/// A request that was found to be right.
pub struct AcceptedRun {
    /// The flow.
    pub flow: Arc<CatalogFlow>,
    /// The version that was asked for.
    pub version: Option<String>,
    /// The input; null: none.
    pub input: Json,
    /// Whether the flow needs tools of its client.
    pub needs_client: bool,
}

fn wrong(error: impl Into<String>) -> AgntzFailure {
    Problem::bad_request(error).into()
}

fn not_built(name: &str, why: &str) -> AgntzFailure {
    let error = format!("`{name}` is not implemented here: {why}");
    AgntzFailure::new(StatusCode::NOT_IMPLEMENTED, "NOT_IMPLEMENTED", error)
}

impl RunBody {
    /// Checks everything that can be checked before a run.
    ///
    /// # Errors
    ///
    /// What is wrong, missing, or not built.
    pub fn accept_request(self, state: &AppState, caller: &Caller, usage: RunUse) -> AgntzResult<AcceptedRun> {
        caller.require_scope(KeyScope::Run)?;
        let Some(agent) = self.agent_id.as_deref() else {
            return Err(wrong("Missing required field: agentId"));
        };
        let reference = AgentReference::parse(agent)?;
        self.check_features(usage)?;
        let offered_tools = self.offered_tools()?;
        let input = self.take_input()?;
        let flow = find_agent(state, caller, &reference.id)?;
        check_client_tools(&flow, usage, offered_tools.as_deref())?;
        let needs_client = !flow.flow.loaded_target().program.client_tools.is_empty();
        Ok(AcceptedRun { flow, version: reference.version, input, needs_client })
    }

    fn check_features(&self, usage: RunUse) -> AgntzResult<()> {
        if self.session_id.is_some() {
            return Err(not_built("sessionId", "there are no sessions"));
        }
        if self.context.is_some() {
            return Err(not_built("context", "there are no resources that it could grant"));
        }
        if self.callback_url.is_some() || self.webhook_secret_name.is_some() {
            return Err(not_built("callbackUrl", "there are no webhooks"));
        }
        let Some(retention) = &self.retention else { return Ok(()) };
        let mode = retention.get("mode");
        let is_limited = retention.get("ttlSeconds").is_some() || retention.get("artifactTtlSeconds").is_some();
        match mode.map(|mode| mode.as_str().unwrap_or_default()) {
            None | Some("result") if retention.is_object() && !is_limited => Ok(()),
            None | Some("result") => Err(wrong("`retention` is an object; with the mode `result` it has no times")),
            Some("session") => Err(not_built("retention", "there are no sessions")),
            Some("none") if usage == RunUse::Detached => {
                Err(wrong("`retention` cannot be `none` for a run that is started: nobody could get its result"))
            }
            Some("none") => Err(not_built("retention", "runs are kept as the operator has set it")),
            Some(_) => Err(wrong("the mode of `retention` is `result`, `session` or `none`")),
        }
    }

    /// The names of the client's tools.
    fn offered_tools(&self) -> AgntzResult<Option<Vec<String>>> {
        let Some(tools) = &self.client_tools else { return Ok(None) };
        match serde_json::from_value(tools.clone()) {
            Ok(names) => Ok(Some(names)),
            Err(_) => Err(wrong("`clientTools` is a list of names")),
        }
    }

    /// Text blocks are an input like any other list.
    fn take_input(self) -> AgntzResult<Json> {
        let Some(content) = self.content else { return Ok(self.input) };
        if !self.input.is_null() {
            return Err(wrong("a run has `content` or `input`, not both"));
        }
        let Json::Array(blocks) = &content else { return Err(wrong("`content` is a list of blocks")) };
        for block in blocks {
            check_block(block)?;
        }
        Ok(content)
    }
}

fn check_block(block: &Json) -> AgntzResult<()> {
    let none = Map::new();
    let members = block.as_object().unwrap_or(&none);
    let has = |name: &str| members.get(name).is_some_and(Json::is_string);
    match members.get("type").and_then(Json::as_str) {
        Some("text") if has("text") => Ok(()),
        Some(kind @ ("image" | "audio")) if has("url") || has("base64") || has("artifactId") => {
            Err(not_built("content", &format!("models get no {kind} yet, only text")))
        }
        _ => Err(wrong(
            "a block of `content` is `{\"type\": \"text\", \"text\": …}`, or an image or audio with its source",
        )),
    }
}

/// Whether the client has the tools that the flow needs.
fn check_client_tools(flow: &CatalogFlow, usage: RunUse, offered: Option<&[String]>) -> AgntzResult<()> {
    let needed = &flow.flow.loaded_target().program.client_tools;
    let missing: Vec<&str> = match offered {
        _ if needed.is_empty() => return Ok(()),
        Some(offered) => {
            let is_missing = |name: &&str| !offered.iter().any(|have| have == name);
            needed.iter().map(|tool| &*tool.name).filter(is_missing).collect()
        }
        None => needed.iter().map(|tool| &*tool.name).collect(),
    };
    if usage != RunUse::Streamed {
        let error = format!("`{}` uses tools of its client: run it with `/run/stream`", flow.name);
        return Err(AgntzFailure::new(StatusCode::BAD_REQUEST, "CLIENT_TOOLS_REQUIRE_ATTACHED_RUN", error));
    }
    if missing.is_empty() {
        return Ok(());
    }
    let error = format!("the client lacks the tools `{}`", missing.join("`, `"));
    let failure = AgntzFailure::new(StatusCode::BAD_REQUEST, "MISSING_CLIENT_TOOLS", error);
    Err(failure.with_member("details", json!(missing)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(json: Json) -> RunBody {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn what_is_not_built_is_refused_by_name() {
        let status = |json: Json| match body(json).check_features(RunUse::Attached) {
            Ok(()) => 200,
            Err(failure) => failure.status_code().as_u16(),
        };
        assert_eq!(status(json!({})), 200);
        assert_eq!(status(json!({ "retention": { "mode": "result" } })), 200);
        assert_eq!(status(json!({ "retention": { "mode": "result", "ttlSeconds": 5 } })), 400);
        assert_eq!(status(json!({ "retention": { "mode": "for ever" } })), 400);
        assert_eq!(status(json!({ "retention": { "mode": "session" } })), 501);
        for name in ["sessionId", "context", "callbackUrl", "webhookSecretName"] {
            assert_eq!(status(json!({ name: "x" })), 501, "{name}");
        }
    }

    #[test]
    fn content_of_text_is_the_input() {
        let blocks = json!([{ "type": "text", "text": "one" }]);
        assert_eq!(body(json!({ "content": blocks })).take_input().unwrap(), blocks);
        let status = |content: Json| match body(json!({ "content": content })).take_input() {
            Ok(_) => 200,
            Err(failure) => failure.status_code().as_u16(),
        };
        assert_eq!(status(json!([])), 200);
        assert_eq!(status(json!([{ "type": "image", "url": "https://example.com/a.png" }])), 501);
        for wrong in [json!([{ "type": "text" }]), json!([{ "type": "video", "url": "x" }]), json!(["text"]), json!({})]
        {
            assert_eq!(status(wrong.clone()), 400, "{wrong}");
        }
    }
}
