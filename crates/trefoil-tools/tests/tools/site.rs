//! Helpers to call tool hosts.

use std::sync::Arc;

use trefoil_ir::{StepId, ToolKind};
use trefoil_machine::ToolRequest;
use trefoil_machine::key::Key;
use trefoil_runtime::ports::{CallSite, Meter};
use trefoil_runtime::{ToolError, ToolHost};
use trefoil_template::Value;

/// A request.
pub fn request(kind: ToolKind, name: &str, arguments: serde_json::Value) -> ToolRequest {
    ToolRequest { name: name.into(), kind, arguments: Value::from_json(arguments) }
}

/// The place of a call. `discloses`: the arguments contain a secret.
pub fn site<'s>(key: &'s Key, meter: &'s Meter, discloses: bool) -> CallSite<'s> {
    CallSite { run: "run", execution: 0, key, step: StepId(0), labels: &[], meter, discloses, limit_ms: None }
}

/// The key of a call.
pub fn key() -> Key {
    Key(Arc::from("main/step"))
}

/// Calls a host; `discloses`: the arguments contain a secret.
pub async fn call(host: &dyn ToolHost, request: &ToolRequest, discloses: bool) -> Result<Value, ToolError> {
    host.call_tool(site(&key(), &Meter::default(), discloses), request).await
}

/// The names of a host's tools.
pub async fn list(host: &dyn ToolHost, kind: &ToolKind) -> Result<Vec<String>, ToolError> {
    let tools = host.list_tools(site(&key(), &Meter::default(), false), kind).await?;
    Ok(tools.iter().map(|tool| tool.name.to_string()).collect())
}
