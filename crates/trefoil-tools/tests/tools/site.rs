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

/// Calls a host; `discloses`: the arguments contain a secret.
pub async fn call(host: &dyn ToolHost, request: &ToolRequest, discloses: bool) -> Result<Value, ToolError> {
    let (key, meter) = (Key(Arc::from("main/step")), Meter::default());
    let at = CallSite {
        run: "run",
        execution: 0,
        key: &key,
        step: StepId(0),
        labels: &[],
        meter: &meter,
        discloses,
        limit_ms: None,
    };
    host.call(at, request).await
}

/// The names of a host's tools.
pub async fn list(host: &dyn ToolHost, kind: &ToolKind) -> Result<Vec<String>, ToolError> {
    let (key, meter) = (Key(Arc::from("main/step")), Meter::default());
    let at = CallSite {
        run: "run",
        execution: 0,
        key: &key,
        step: StepId(0),
        labels: &[],
        meter: &meter,
        discloses: false,
        limit_ms: None,
    };
    Ok(host.list(at, kind).await?.iter().map(|tool| tool.name.to_string()).collect())
}
