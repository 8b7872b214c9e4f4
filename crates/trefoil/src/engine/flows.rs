//! Flows as tools of other flows, whatever their formats. A call is a run of its own, with what this engine has: its models, its
//! tools, its people. What it uses counts for the run that calls it. Where runs are kept, so is this one, under an id that the call
//! gives it: when the calling run is continued, it continues too, and what it has done is not done again.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use trefoil_ir::ToolKind;
use trefoil_machine::Effects;
use trefoil_runtime::ports::CallSite;
use trefoil_runtime::{RunOutcome, ToolError, ToolHost, ToolRequest, ToolSpec};
#[cfg(feature = "store")]
use trefoil_store::Status;
use trefoil_template::Value;

use super::Engine;
use crate::as_tool::AsTool;
use crate::error::Error;
use crate::flow::Flow;
use crate::load::LoadOptions;
use crate::settings::FlowTool;

/// How deep runs may call runs.
const DEEPEST: u32 = 5;

/// Flows that are tools.
pub(super) struct FlowTools {
    engine: Engine,
    /// Each is loaded when it is first needed.
    tools: Vec<(FlowTool, OnceLock<Result<Loaded, String>>)>,
}

/// A flow that can be called.
struct Loaded {
    flow: Flow,
    as_tool: AsTool,
    spec: ToolSpec,
}

impl FlowTools {
    /// Those of the operator's settings. One that does not load says why when it is called.
    pub fn new(engine: &Engine) -> Self {
        let tools = engine.parts.settings.flows.iter().map(|tool| (tool.clone(), OnceLock::new())).collect();
        let engine = engine.clone().with(|parts| {
            parts.events.clear();
            // Those are for the steps of the flow that calls.
            parts.answers.clear();
            (parts.journal, parts.begun) = (None, None);
            parts.depth += 1;
        });
        Self { engine, tools }
    }

    /// What is wrong with the flow of this name.
    pub fn fault(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_ref().err().map(String::as_str)
    }

    fn get(&self, name: &str) -> Option<&Result<Loaded, String>> {
        self.tools.iter().find(|(tool, _)| tool.name == name).map(|one| self.loaded(one))
    }

    fn loaded<'t>(
        &self,
        (tool, loaded): &'t (FlowTool, OnceLock<Result<Loaded, String>>),
    ) -> &'t Result<Loaded, String> {
        loaded.get_or_init(|| Loaded::of(&self.engine, tool))
    }

    async fn run(&self, at: CallSite<'_>, tool: &Loaded, input: serde_json::Value) -> Result<RunOutcome, ToolError> {
        let failed = |error: Error| ToolError::Failed(error.to_string());
        let ready = self.engine.ready(&tool.flow).map_err(failed)?;
        #[cfg(feature = "store")]
        if let Some(owner) = self.engine.owner() {
            let (store, id) = (&**owner.store(), id(at));
            return match store.record(&id).await {
                // It was called before, and whoever called it is continued.
                Ok(record) if matches!(record.status, Status::Completed | Status::Cancelled) => {
                    crate::durable::ended(store, record).await.map_err(failed)
                }
                Ok(record) => Ok(self.engine.resume(&record.run).await.map_err(failed)?.outcome().await),
                Err(_) => Ok(ready.of_id(id).start(input).map_err(failed)?.outcome().await),
            };
        }
        #[cfg(not(feature = "store"))]
        let _ = at;
        Ok(ready.start(input).map_err(failed)?.outcome().await)
    }
}

impl Loaded {
    fn of(engine: &Engine, tool: &FlowTool) -> Result<Self, String> {
        let settings = &engine.parts.settings;
        let options =
            LoadOptions { allowed: settings.allowed.clone(), supplied: settings.supplied(), ..LoadOptions::default() };
        let loaded = crate::load::load(&tool.flow, &options).map_err(|report| {
            let first = report.diagnostics.into_iter().find(|d| d.severity == trefoil_syntax::Severity::Error);
            let why = first.map(|d| d.message).unwrap_or_default();
            format!("its flow `{}` does not load: {why} (see `trefoil check {}`)", tool.flow, tool.flow)
        })?;
        let flow = Flow::from(loaded);
        let as_tool = AsTool::of(&flow);
        let description = tool.description.clone().unwrap_or_else(|| as_tool.description.clone());
        let spec = ToolSpec {
            name: tool.name.as_str().into(),
            description: description.into(),
            parameters: Value::from_json(serde_json::Value::Object(as_tool.parameters.clone())),
            effects: Effects::Writes,
        };
        Ok(Self { flow, as_tool, spec })
    }
}

/// The id of the run of a call: always the same one.
#[cfg(feature = "store")]
fn id(at: CallSite<'_>) -> String {
    use sha2::{Digest as _, Sha256};
    let digest = Sha256::digest(format!("{}/{}", at.run, at.key.0));
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[async_trait]
impl ToolHost for FlowTools {
    fn offers(&self, name: &str, kind: &ToolKind) -> bool {
        *kind == ToolKind::Local && self.tools.iter().any(|(tool, _)| tool.name == name)
    }

    async fn call(&self, at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        let tool = match self.get(&request.name) {
            Some(Ok(tool)) => tool,
            Some(Err(why)) => return Err(ToolError::Failed(why.clone())),
            None => return Err(ToolError::Failed(format!("no flow is the tool `{}`", request.name))),
        };
        if self.engine.parts.depth > DEEPEST {
            return Err(ToolError::Failed(format!("flows call each other more than {DEEPEST} levels deep")));
        }
        let input = tool.as_tool.input(request.arguments.to_json());
        // In a box: a flow may call itself.
        let outcome = Box::pin(self.run(at, tool, input)).await?;
        at.meter.tell(outcome.usage);
        match outcome.result {
            Ok(output) => Ok(output),
            Err(_) if !outcome.waiting.is_empty() => {
                let run = &outcome.run;
                Err(ToolError::Failed(format!(
                    "its run {run} waits for somebody: answer with `trefoil runs answer {run}`, then resume the run that called it"
                )))
            }
            Err(error) => Err(ToolError::Failed(format!("{}: {}", error.code, error.message))),
        }
    }

    async fn list(&self, _at: CallSite<'_>, kind: &ToolKind) -> Result<Vec<ToolSpec>, ToolError> {
        if *kind != ToolKind::Local {
            return Ok(Vec::new());
        }
        Ok(self.tools.iter().filter_map(|one| self.loaded(one).as_ref().ok()).map(|tool| tool.spec.clone()).collect())
    }

    /// The run of a call continues where it was.
    fn is_idempotent(&self, _request: &ToolRequest) -> bool {
        true
    }
}

/// Those of an engine that has any.
pub(super) fn of(engine: &Engine) -> Option<Arc<FlowTools>> {
    (!engine.parts.settings.flows.is_empty()).then(|| Arc::new(FlowTools::new(engine)))
}
