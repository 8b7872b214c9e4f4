//! Closures as tools, and several tool hosts combined.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use serde::de::DeserializeOwned;
use trefoil_ir::ToolKind;
use trefoil_machine::error::RunError;
use trefoil_runtime::ports::CallSite;
use trefoil_runtime::{ToolError, ToolHost, ToolRefusal, ToolRequest, ToolSpec};
use trefoil_template::Value;

use trefoil_project::error::BoxError;

/// Closures by name, each with its specification.
#[derive(Clone, Default)]
pub(super) struct ToolClosures(BTreeMap<Arc<str>, (ToolSpec, Arc<dyn ClosureTool>)>);

#[async_trait]
trait ClosureTool: Send + Sync {
    async fn call_closure(&self, arguments: serde_json::Value) -> Result<serde_json::Value, ToolError>;
}

/// A closure and the types of its arguments and result.
struct TypedClosure<F, A, R> {
    call: F,
    types: std::marker::PhantomData<fn(A) -> R>,
}

impl ToolClosures {
    /// Adds a closure; if two have the same name, the later one is used.
    pub fn add_closure<F, A, R, W>(&mut self, spec: ToolSpec, call: F)
    where
        F: Fn(A) -> W + Send + Sync + 'static,
        W: Future<Output = Result<R, BoxError>> + Send + 'static,
        A: DeserializeOwned + Send + 'static,
        R: Serialize + Send + 'static,
    {
        let name = spec.name.clone();
        self.0.insert(name, (spec, Arc::new(TypedClosure { call, types: std::marker::PhantomData })));
    }
    /// Whether there are no closures.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[async_trait]
impl<F, A, R, W> ClosureTool for TypedClosure<F, A, R>
where
    F: Fn(A) -> W + Send + Sync + 'static,
    W: Future<Output = Result<R, BoxError>> + Send + 'static,
    A: DeserializeOwned + Send + 'static,
    R: Serialize + Send + 'static,
{
    async fn call_closure(&self, arguments: serde_json::Value) -> Result<serde_json::Value, ToolError> {
        let help = "fix the arguments of the call, or the type of the closure's argument";
        let arguments = serde_json::from_value(arguments).map_err(|error| ToolError::invalid_arguments(error, help))?;
        // If the closure returns the port's own error, keep its details.
        let result = match (self.call)(arguments).await {
            Ok(result) => result,
            Err(error) => {
                return Err(match error.downcast::<ToolError>() {
                    Ok(own) => *own,
                    Err(other) => ToolError::Failed(other.to_string()),
                });
            }
        };
        serde_json::to_value(result).map_err(|error| {
            let why = format!("the result cannot be written as JSON: {error}");
            ToolError::unusable_result(why, "let the closure return what `serde_json` can write")
        })
    }
}

#[async_trait]
impl ToolHost for ToolClosures {
    /// Only for tools that a manifest leaves to the host: it may say more to another kind of tool, such as a secret to a server.
    fn offers_tool(&self, name: &str, kind: &ToolKind) -> bool {
        *kind == ToolKind::Local && self.0.contains_key(name)
    }
    async fn call_tool(&self, _at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        match self.0.get(&request.name) {
            Some((_, tool)) if self.offers_tool(&request.name, &request.kind) => {
                let result = tool.call_closure(request.arguments.to_json()).await?;
                Ok(Value::from_json(result))
            }
            _ => Err(ToolError::Failed(format!("no implementation for the tool `{}`", request.name))),
        }
    }
    async fn list_tools(&self, _at: CallSite<'_>, kind: &ToolKind) -> Result<Vec<ToolSpec>, ToolError> {
        let all = self.0.values().map(|(spec, _)| spec.clone());
        Ok(if *kind == ToolKind::Local { all.collect() } else { Vec::new() })
    }
    fn is_idempotent(&self, request: &ToolRequest) -> bool {
        match self.0.get(&request.name) {
            Some((spec, _)) => self.offers_tool(&request.name, &request.kind) && spec.effects.is_idempotent(),
            None => false,
        }
    }
}

/// Several tool hosts; the first one that offers a tool calls it.
pub(super) struct ToolHosts {
    pub hosts: Vec<Arc<dyn ToolHost>>,
    /// Why Python functions may not run, if that is due to what the flow may do.
    pub no_python: Option<ToolRefusal>,
}

impl ToolHosts {
    fn offering_host(&self, request: &ToolRequest) -> Option<&Arc<dyn ToolHost>> {
        self.hosts.iter().find(|host| host.offers_tool(&request.name, &request.kind))
    }
}

#[async_trait]
impl ToolHost for ToolHosts {
    fn offers_tool(&self, name: &str, kind: &ToolKind) -> bool {
        self.hosts.iter().any(|host| host.offers_tool(name, kind))
    }
    async fn call_tool(&self, at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        match self.offering_host(request) {
            Some(host) => host.call_tool(at, request).await,
            None => Err(ToolError::Failed(format!("no implementation for the tool `{}`", request.name))),
        }
    }
    /// If several tools have the same name, the first one is used.
    async fn list_tools(&self, at: CallSite<'_>, kind: &ToolKind) -> Result<Vec<ToolSpec>, ToolError> {
        let mut all: Vec<ToolSpec> = Vec::new();
        for host in &self.hosts {
            for tool in host.list_tools(at, kind).await? {
                if all.iter().all(|have| have.name != tool.name) {
                    all.push(tool);
                }
            }
        }
        Ok(all)
    }
    fn is_idempotent(&self, request: &ToolRequest) -> bool {
        matches!(self.offering_host(request), Some(host) if host.is_idempotent(request))
    }
    fn recall_tool_call(&self, at: CallSite<'_>, request: &ToolRequest, error: Option<&RunError>) {
        if let Some(host) = self.offering_host(request) {
            host.recall_tool_call(at, request, error);
        }
    }
    fn tool_refusal(&self, name: &str, kind: &ToolKind, arguments: &Value) -> Option<ToolRefusal> {
        // Python functions have a host only where they may run.
        if *kind == ToolKind::Python && !self.offers_tool(name, kind) {
            let mut function = Vec::new();
            if let Some(members) = arguments.as_object() {
                for key in ["module", "function"] {
                    function.extend(members.get(key).map(|text| text.to_text().to_string()));
                }
            }
            let function = function.join(".");
            let (why, help) = match &self.no_python {
                Some(refusal) => (&*refusal.why, &*refusal.help),
                None => ("commands are not allowed in this run", "allow them with `--allow-command`"),
            };
            let why = format!("it calls the Python function `{function}`, and {why}");
            return Some(ToolRefusal { why, help: help.to_owned() });
        }
        let host = self.hosts.iter().find(|host| host.offers_tool(name, kind))?;
        host.tool_refusal(name, kind, arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trefoil_runtime::conformance::{ToolSample, check_tools};

    fn request(name: &str) -> ToolRequest {
        let arguments = [("said", Value::from("tea"))].into_iter().collect();
        ToolRequest { name: name.into(), kind: ToolKind::Local, arguments }
    }

    #[test]
    fn a_closure_gets_no_calls_of_tools_that_a_manifest_describes() {
        let mut closures = ToolClosures::default();
        closures.add_closure(ToolSpec::without_description("search"), async |(): ()| Ok(0));
        assert!(closures.offers_tool("search", &ToolKind::Local));
        for kind in [ToolKind::Http, ToolKind::Python, ToolKind::for_mcp_server("search")] {
            assert!(!closures.offers_tool("search", &kind), "{kind:?}");
        }
    }

    #[test]
    fn closures_and_several_hosts_as_one_conform() {
        let mut first = ToolClosures::default();
        first.add_closure(ToolSpec::without_description("other"), async |(): ()| Ok(0));
        let mut second = ToolClosures::default();
        second.add_closure(ToolSpec::without_description("echo"), async |said: serde_json::Value| Ok(said));
        second.add_closure(ToolSpec::without_description("broken"), async |_: serde_json::Value| {
            Err::<(), _>("no tea".into())
        });
        let sample = ToolSample {
            works: Some((request("echo"), request("echo").arguments)),
            fails: Some(request("broken")),
            unknown: request("none"),
            lists: vec!["broken", "echo"],
        };
        let both = ToolSample { lists: vec!["broken", "echo", "other"], ..sample.clone() };
        let alone: Arc<dyn ToolHost> = Arc::new(second.clone());
        let together: Arc<dyn ToolHost> =
            Arc::new(ToolHosts { hosts: vec![Arc::new(first), Arc::new(second)], no_python: None });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        for (host, sample) in [(alone, sample), (together, both)] {
            assert_eq!(runtime.block_on(check_tools(host, &sample)), Ok(()));
        }
    }
}
