//! Flows as tools of other flows, whatever their formats. A call is a run of its own, with what this engine has: its models, its
//! tools, its people. What it uses counts for the run that calls it. Where runs are kept, so is this one, under an id that the call
//! gives it: when the calling run is continued, it continues too, and what it has done is not done again. It is within the limits
//! of the run that calls it, and is cancelled with the call.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use trefoil_ir::schema::{Checker, Misfit};
use trefoil_ir::{OnExceeded, Program, ToolKind};
use trefoil_machine::Effects;
use trefoil_models::ModelOverride;
use trefoil_models::plan::names;
use trefoil_runtime::ports::CallSite;
use trefoil_runtime::{Cancel, RunOutcome, Share, ToolError, ToolHost, ToolRequest, ToolSpec, Usage};
#[cfg(feature = "store")]
use trefoil_store::Status;
use trefoil_template::Value;

use super::{AnswersFrom, Engine, Parts};
use crate::answers::{Meant, meant, questions};
use crate::as_tool::AsTool;
use crate::error::Error;
use crate::flow::Flow;
use crate::load::LoadOptions;
use crate::plan::beneath::{FlowCalled, tools_of};
use crate::run::Run;
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
    /// What it takes; none: whatever a run of it takes.
    takes: Option<Checker>,
}

impl FlowTools {
    /// Those of the operator's settings. One that does not load says why when it is called.
    pub fn new(engine: &Engine) -> Self {
        let tools = engine.parts.settings.flows.iter().map(|tool| (tool.clone(), OnceLock::new())).collect();
        let engine = engine.clone().with(|parts| {
            parts.events.clear();
            (parts.journal, parts.begun) = (None, None);
            // The called flow has models of its own, as it had when the run began.
            if std::mem::take(&mut parts.models_of_run) {
                parts.models.clear();
            }
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

    /// Whether an answer given beforehand may be for a step of one of these flows.
    pub fn ask(&self, name: &str) -> bool {
        let flows = self.tools.iter().filter_map(|one| self.loaded(one).as_ref().ok());
        flows.into_iter().any(|tool| meant(&questions(&tool.flow.loaded().program), name) != Meant::Nobody)
    }

    /// What the run of a flow has: the models chosen for steps of others are not for it.
    fn parts_of(&self, tool: &Loaded) -> Parts {
        let mut parts = (*self.engine.parts).clone();
        let program = &tool.flow.loaded().program;
        parts.models.retain(|model| !matches!(model, ModelOverride::For { name, .. } if !names(program, name)));
        parts
    }

    /// The engine of the run of a call.
    fn engine_of(&self, at: CallSite<'_>, tool: &Loaded) -> Engine {
        let mut parts = self.parts_of(tool);
        // Those for the steps of the flow that calls are not for this one.
        parts.answers.retain(|(name, _)| self.ask(name));
        parts.within = at.meter.part().cloned();
        #[cfg(feature = "store")]
        parts.caller.replace(at.run.to_owned());
        let left = at.meter.part().and_then(Share::money);
        parts.max_cost_micro = parts.max_cost_micro.into_iter().chain(left).min();
        Engine { parts: Arc::new(parts), kept: self.engine.kept.clone() }
    }

    /// Begins the run of a call, or goes on with it; and what runs of the same call have used that were cancelled.
    async fn begin(&self, at: CallSite<'_>, tool: &Loaded, input: serde_json::Value) -> Result<(Begun, Usage), Error> {
        let engine = self.engine_of(at, tool);
        #[cfg(feature = "store")]
        if let Some(owner) = engine.owner() {
            let (store, mut before) = (&**owner.store(), Usage::default());
            for nth in 0u32.. {
                let id = id(at, nth);
                let begun = match store.record(&id).await {
                    // It was called before, and whoever called it is continued.
                    Ok(record) if record.status == Status::Completed => {
                        Begun::Ended(Box::new(crate::durable::ended(store, record).await?))
                    }
                    // The call was stopped then, and is made again.
                    Ok(record) if record.status == Status::Cancelled => {
                        before.add(Usage { calls_beneath: record.spent.calls, ..record.spent.usage });
                        continue;
                    }
                    Ok(record) => Begun::Runs(engine.resume(&record.run).await?),
                    Err(_) => Begun::Runs(engine.ready(&tool.flow)?.of_id(id).start(input)?),
                };
                return Ok((begun, before));
            }
        }
        Ok((Begun::Runs(engine.ready(&tool.flow)?.start(input)?), Usage::default()))
    }

    async fn run(&self, at: CallSite<'_>, tool: &Loaded, input: serde_json::Value) -> Result<RunOutcome, ToolError> {
        let (begun, before) =
            self.begin(at, tool, input).await.map_err(|error| ToolError::Failed(error.to_string()))?;
        let outcome = match begun {
            #[cfg(feature = "store")]
            Begun::Ended(outcome) => *outcome,
            Begun::Runs(run) => until_stopped(run, at.meter.stop()).await,
        };
        let mut usage = Usage { calls_beneath: outcome.calls, ..outcome.usage };
        usage.add(before);
        at.meter.tell(usage);
        Ok(outcome)
    }
}

/// How a run ends that is cancelled with the call that it is of.
async fn until_stopped(run: Run, stop: &Cancel) -> RunOutcome {
    let canceller = run.canceller();
    let mut outcome = std::pin::pin!(run.outcome());
    tokio::select! {
        outcome = &mut outcome => return outcome,
        () = stop.cancelled() => canceller.cancel(),
    }
    outcome.await
}

/// The run of a call.
enum Begun {
    Runs(Run),
    /// It had ended before.
    #[cfg(feature = "store")]
    Ended(Box<RunOutcome>),
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
        let takes = Checker::new(&serde_json::Value::Object(as_tool.parameters.clone())).ok();
        Ok(Self { flow, as_tool, spec, takes })
    }

    /// Whether a limit that its run has come to is one of its own manifest, as far as can be told.
    fn is_limited(&self, at: CallSite<'_>) -> bool {
        let fails = |flow: &trefoil_ir::Flow| flow.budget.as_ref().is_some_and(|b| b.on_exceeded == OnExceeded::Abort);
        self.flow.loaded().program.flows.iter().any(fails) && !at.meter.part().is_some_and(Share::was_refused)
    }
}

/// The id of the run of a call: always the same one, until it is cancelled.
#[cfg(feature = "store")]
fn id(at: CallSite<'_>, nth: u32) -> String {
    use sha2::{Digest as _, Sha256};
    let mut of = format!("{}/{}", at.run, at.key.0);
    if nth > 0 {
        of.push_str(&format!("~{nth}"));
    }
    let digest = Sha256::digest(of);
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
            return Err(ToolError::Failed(format!("calls of flows are nested more than {DEEPEST} levels deep")));
        }
        let arguments = request.arguments.to_json();
        if let Some(Err(Misfit::Broken(errors))) = tool.takes.as_ref().map(|takes| takes.check(&arguments)) {
            let first = errors.iter().min_by_key(|error| error.instance_path().to_string());
            let why = first.map(ToString::to_string).unwrap_or_default();
            return Err(ToolError::Failed(format!("invalid arguments: {why}")));
        }
        let input = tool.as_tool.input(arguments);
        let input = input.map_err(|error| ToolError::Failed(format!("invalid arguments: {}", error.message)))?;
        // In a box: a flow may call itself.
        let outcome = Box::pin(self.run(at, tool, input)).await?;
        let run = &outcome.run;
        match outcome.result {
            Ok(output) => Ok(output),
            Err(_) if !outcome.waiting.is_empty() => Err(ToolError::Failed(format!(
                "its run {run} is waiting for a person: answer with `trefoil runs answer {run}`, then resume the run that called it"
            ))),
            // Its own manifest's limits are its own business.
            Err(error) if error.code == "BUDGET_EXCEEDED" && !tool.is_limited(at) => {
                Err(ToolError::Limit(error.message))
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

/// The flows that a program can call as tools, and those that they can call. One that does not load calls nothing.
pub(super) fn called(engine: &Engine, program: &Program) -> Vec<FlowCalled> {
    let Some(flows) = of(engine) else { return Vec::new() };
    let mut found: Vec<FlowCalled> = Vec::new();
    let mut left: Vec<Arc<str>> = tools_of(program).into_iter().cloned().collect();
    while let Some(name) = left.pop() {
        let Some(Ok(tool)) = flows.get(&name).filter(|_| found.iter().all(|one| one.tool != name)) else { continue };
        let engine = Engine { parts: Arc::new(flows.parts_of(tool)), kept: flows.engine.kept.clone() };
        let loaded = tool.flow.loaded();
        let mut program = loaded.program.clone();
        // What keeps it from running is reported when a run is to start.
        let answering = engine.aim(&mut program).unwrap_or_else(|_| AnswersFrom::AsWritten.into());
        left.extend(tools_of(&program).into_iter().cloned());
        found.push(FlowCalled {
            tool: name,
            money: engine.money(&program, &answering),
            files: loaded.files.clone(),
            program,
        });
    }
    found
}

/// Those of an engine that has any.
pub(super) fn of(engine: &Engine) -> Option<Arc<FlowTools>> {
    (!engine.parts.settings.flows.is_empty()).then(|| Arc::new(FlowTools::new(engine)))
}
