//! Flows as tools of other flows, in any format. Each call is a separate run with this engine's models, tools and people. Its usage
//! counts for the calling run. If runs are stored, so is this one, under an id derived from the call: when the calling run is
//! resumed, the called run is resumed too, and does not repeat completed activities. It is subject to the limits of the calling
//! run, and is cancelled with the call. If a cancelled call is made again, it starts a new run that reuses the results of the
//! cancelled one. While the called run is suspended, the calling run waits for it.

use std::sync::PoisonError;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use trefoil_ir::schema::{Checker, Misfit};
use trefoil_ir::{OnExceeded, Program, ToolKind};
use trefoil_machine::Key;
use trefoil_machine::event::Waiting;
use trefoil_machine::journal::Basis;
use trefoil_machine::{Effects, PrivateValue};
use trefoil_models::ModelOverride;
use trefoil_models::plan::names;
use trefoil_runtime::driver::memo::Memo;

use trefoil_runtime::driver::SeenValues;
use trefoil_runtime::ports::CallSite;
use trefoil_runtime::ports::SuspendedCall;
use trefoil_runtime::{Cancel, RunOutcome, Share, ToolError, ToolHost, ToolRequest, ToolSpec, Usage};
use trefoil_store::{Status, StoreError};
use trefoil_template::Value;

use super::Ready;
use super::called_before::{Before, Call, CalledBefore, labels};
use super::{AnswersFrom, Engine, Parts};
use crate::answers::{Meant, meant, questions};
use crate::as_tool::AsTool;
use crate::durable::{Edit, Edited, LinesOfCalls, Stored};
use crate::error::Error;
use crate::flow::Flow;
use crate::load::LoadOptions;
use crate::plan::called_flows::{FlowCalled, tools_of};
use crate::run::Run;
use crate::settings::FlowTool;

/// Maximum depth of runs that call runs.
const DEEPEST: u32 = 5;

/// Flows that are tools.
pub(crate) struct FlowTools {
    engine: Engine,
    /// The tools. Each flow is loaded when it is first needed.
    tools: Vec<(FlowTool, OnceLock<Result<Loaded, String>>)>,
    /// The values to hide that the calling run and all runs beneath it share.
    seen: Arc<SeenValues>,
    /// The calls of the earlier runs whose results the calling run reuses. Empty if it reuses none.
    before: OnceLock<Before>,
    /// What the called runs have reused.
    lines: LinesOfCalls,
}

/// A flow that can be called.
struct Loaded {
    flow: Flow,
    as_tool: AsTool,
    spec: ToolSpec,
    /// Validates the arguments. `None`: the run itself validates its input.
    takes: Option<Checker>,
}

impl FlowTools {
    /// The flows in the operator's settings. A flow that does not load fails when it is called.
    pub fn new(engine: &Engine) -> Self {
        let tools = engine.parts.settings.flows.iter().map(|tool| (tool.clone(), OnceLock::new())).collect();
        let seen = engine.parts.seen.clone().unwrap_or_default();
        let engine = engine.clone().with(|parts| {
            parts.seen = Some(seen.clone());
            parts.events.clear();
            (parts.journal, parts.begun) = (None, None);
            // A called flow chooses its own models, as it did when the run started.
            if std::mem::take(&mut parts.models_of_run) {
                parts.models.clear();
            }
            parts.depth += 1;
        });
        Self { engine, tools, seen, before: OnceLock::new(), lines: LinesOfCalls::default() }
    }

    /// What the called runs have reused.
    pub fn lines(&self) -> &LinesOfCalls {
        &self.lines
    }

    fn note(&self, at: CallSite<'_>, ready: &Ready) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push((at.key.clone(), ready.reused()));
    }

    /// The values to hide that the calling run shares with those that it calls.
    pub fn seen(&self) -> &Arc<SeenValues> {
        &self.seen
    }

    /// Sets the calls of the earlier runs whose results the calling run reuses.
    pub fn reuse(&self, before: Before) {
        let _ = self.before.set(before);
    }

    /// Why the flow with this name does not load.
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

    /// Whether an answer given in advance may be for a step of one of these flows.
    pub fn ask(&self, name: &str) -> bool {
        let flows = self.tools.iter().filter_map(|one| self.loaded(one).as_ref().ok());
        flows.into_iter().any(|tool| meant(&questions(&tool.flow.loaded().program), name) != Meant::Nobody)
    }

    /// The parts for the run of a flow, without model overrides for steps of other flows.
    fn parts_of(&self, tool: &Loaded) -> Parts {
        let mut parts = (*self.engine.parts).clone();
        let program = &tool.flow.loaded().program;
        parts.models.retain(|model| !matches!(model, ModelOverride::For { name, .. } if !names(program, name)));
        parts
    }

    /// The engine of the run of a call.
    fn engine_of(&self, at: CallSite<'_>, tool: &Loaded) -> Engine {
        let mut parts = self.parts_of(tool);
        // Answers for the steps of the calling flow do not apply here.
        parts.answers.retain(|(name, _)| self.ask(name));
        parts.within = at.meter.part().cloned();
        parts.caller.replace(at.run.to_owned());
        let left = at.meter.part().and_then(Share::money);
        parts.max_cost_micro = parts.max_cost_micro.into_iter().chain(left).min();
        Engine { parts: Arc::new(parts), kept: self.engine.kept.clone() }
    }

    /// Starts or resumes the run of a call. Also returns the usage of cancelled runs of the same call.
    async fn begin(&self, at: CallSite<'_>, tool: &Loaded, input: serde_json::Value) -> Result<(Begun, Usage), Error> {
        let engine = self.engine_of(at, tool);
        if let Some(owner) = engine.owner() {
            let (store, mut before, mut cancelled) = (&**owner.store(), Usage::default(), None);
            for nth in 0u32.. {
                let id = id_of(at.run, at.key, nth);
                let begun = match store.record(&id).await {
                    // The call was made before, and the calling run has been resumed.
                    Ok(record) if record.status == Status::Completed => {
                        Begun::Ended(Box::new(crate::durable::ended(store, record).await?))
                    }
                    // The earlier call was stopped, and is made again.
                    Ok(record) if record.status == Status::Cancelled => {
                        before.add(Usage { calls_beneath: record.spent.calls, ..record.spent.usage });
                        cancelled = Some(record.run);
                        continue;
                    }
                    Ok(record) => Begun::Runs(self.again(&engine, at, &record.run).await?),
                    Err(StoreError::NoRun { .. }) => {
                        let ready = match cancelled {
                            Some(cancelled) => {
                                let edit = Edit { rerun: self.rerun(at), ..Edit::default() };
                                reusing(&engine, tool, &cancelled, engine.fork(&cancelled, &edit).await)?
                            }
                            None => self.first(&engine, at, tool, &input).await?,
                        };
                        self.note(at, &ready);
                        Begun::Runs(ready.of_id(id).start(input)?)
                    }
                    Err(error) => return Err(Error::Store(error)),
                };
                at.meter.calls(&id_of(at.run, at.key, nth));
                return Ok((begun, before));
            }
        }
        Ok((Begun::Runs(engine.ready(&tool.flow)?.start(input)?), Usage::default()))
    }

    /// Prepares the first run of a call.
    async fn first(
        &self,
        engine: &Engine,
        at: CallSite<'_>,
        tool: &Loaded,
        input: &serde_json::Value,
    ) -> Result<Ready, Error> {
        let (Some(before), Some(owner)) = (self.before.get(), engine.owner()) else { return engine.ready(&tool.flow) };
        let input = Some(Value::from_json(input.clone())).filter(|input| !input.is_null());
        let call = Call { run: at.run, key: at.key, flow: &tool.flow.loaded().program.name, input };
        match before.run_of(&call, &**owner.store()).await {
            CalledBefore::As(run, again) => {
                let edit = before.edit(again, at.key, at.labels);
                reusing(engine, tool, &run, engine.edit(&run, &tool.flow, &edit).await)
            }
            // Its limits are those of the calling run, which waits until they are raised.
            CalledBefore::Never => Ok(engine.ready(&tool.flow)?.based_on(Basis::default(), Memo::default())),
            CalledBefore::Perhaps(basis) => {
                let basis = Basis { rerun: self.rerun(at), ..basis };
                let memo = Memo::default().cut_off().rerunning(basis.rerun.iter().cloned());
                Ok(engine.ready(&tool.flow)?.based_on(basis, memo))
            }
        }
    }

    /// Resumes the run of a call, with what the calling run may repeat.
    async fn again(&self, engine: &Engine, at: CallSite<'_>, run: &str) -> Result<Run, Error> {
        let Some(owner) = engine.owner() else { return engine.resume(run).await };
        let stored = Stored::read(&**owner.store(), run).await?;
        // What calls it was compared with the files on the disk, but the store may say that something else was called.
        if engine.parts.settings.of_project && !stored.is_from_disk() {
            let message =
                format!("the files of run {run} are not those on the disk, so it has no permissions of a project");
            let help = "resume the calling run with `--no-config`, or with the edited files: `--with FILE`";
            return Err(Error::NotStarted(crate::error::Findings::said(&message, help)));
        }
        let rerun = self.rerun(at).into_iter().filter(|step| !stored.may_rerun(step)).collect::<Vec<_>>();
        let ready = engine.ready_again(&stored, &rerun).await?;
        self.note(at, &ready);
        ready.resume(run).await
    }

    /// The steps of the run of a call that may be repeated.
    fn rerun(&self, at: CallSite<'_>) -> Vec<String> {
        self.before.get().map(|before| before.rerun(at.key, at.labels)).unwrap_or_default()
    }

    /// Describes the run of a call if it has not ended: it is suspended, or cannot continue in this process. `usage`: that of the call.
    async fn suspended(&self, outcome: &RunOutcome, usage: Usage) -> Option<SuspendedCall> {
        let error = outcome.result.as_ref().err()?;
        // A run whose journal cannot be written has not ended, and may not even be stored yet.
        let is_unwritten = error.code == "JOURNAL_ERROR";
        if !is_unwritten && !outcome.continues && outcome.waiting.is_empty() {
            return None;
        }
        let record = self.engine.owner()?.store().record(&outcome.run).await.ok();
        if record.as_ref().is_none_or(|record| record.status.is_end()) && !is_unwritten {
            return None;
        }
        let run = outcome.run.clone();
        let mut waiting = outcome.waiting.clone();
        for one in &mut waiting {
            one.run.get_or_insert_with(|| run.to_string());
        }
        if waiting.is_empty() {
            let key = error.key.clone().unwrap_or_else(|| "".into());
            let (step, of) = (key.without_try().to_owned(), Some(run.to_string()));
            let why = Some(Box::new(error.clone()));
            waiting.push(Waiting {
                key,
                step,
                sort: "run",
                run: of,
                prompt: None,
                call: None,
                accepts: Vec::new(),
                deadline: None,
                why,
                calls: Vec::new(),
                settled: None,
            });
        }
        Some(SuspendedCall { run, waiting, wake_at: record.and_then(|record| record.wake_at), usage })
    }

    /// Cancels the run of a call that was stopped while it waited, and the runs that it has called. Their usage counts.
    async fn call_off(&self, at: CallSite<'_>) {
        let Some(owner) = self.engine.owner() else { return };
        for nth in 0u32.. {
            let id = id_of(at.run, at.key, nth);
            match owner.store().record(&id).await {
                Ok(record) if record.status == Status::Cancelled => {}
                Ok(record) if !record.status.is_end() => {
                    if let Ok(usage) = crate::durable::cancel(owner.store().clone(), &id).await {
                        at.meter.tell(usage);
                    }
                    return;
                }
                _ => return,
            }
        }
    }

    async fn run(&self, at: CallSite<'_>, tool: &Loaded, input: serde_json::Value) -> Result<RunOutcome, ToolError> {
        if at.meter.stop().is_cancelled() {
            self.call_off(at).await;
            return Err(ToolError::Failed("the call was stopped".to_owned()));
        }
        let (begun, before) =
            self.begin(at, tool, input).await.map_err(|error| ToolError::Failed(error.to_string()))?;
        let outcome = match begun {
            Begun::Ended(outcome) => *outcome,
            Begun::Runs(run) => until_stopped(run, at.meter.stop()).await,
        };
        let mut usage = Usage { calls_beneath: outcome.calls, ..outcome.usage };
        usage.add(before);
        if let Some(call) = self.suspended(&outcome, usage).await {
            return Err(ToolError::Suspended(Box::new(call)));
        }
        at.meter.tell(usage);
        Ok(outcome)
    }
}

/// A run of a call that reuses the results of an earlier run of it.
fn reusing(engine: &Engine, tool: &Loaded, run: &str, edited: Result<Edited, Error>) -> Result<Ready, Error> {
    match edited {
        // The results were deleted with the run's content, but it may have done anything.
        Err(Error::Store(StoreError::NoContent { .. })) => {
            let basis = Basis { run: run.to_owned(), ..Basis::default() };
            Ok(engine.ready(&tool.flow)?.based_on(basis, Memo::default().cut_off()))
        }
        edited => edited.map(|edited| edited.ready),
    }
}

/// Waits for the end of a run, and stops it if its call is stopped.
async fn until_stopped(run: Run, stop: &Cancel) -> RunOutcome {
    let canceller = run.canceller();
    let mut outcome = std::pin::pin!(run.outcome());
    tokio::select! {
        outcome = &mut outcome => return outcome,
        () = stop.passed_on(&canceller) => {}
    }
    outcome.await
}

/// The run of a call.
enum Begun {
    Runs(Run),
    /// The run had already ended.
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
        let as_tool = flow.as_tool();
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

    /// Whether the limit that ended the flow's run is probably one of its own manifest.
    fn is_limited(&self, at: CallSite<'_>) -> bool {
        let fails = |flow: &trefoil_ir::Flow| flow.budget.as_ref().is_some_and(|b| b.on_exceeded == OnExceeded::Abort);
        self.flow.loaded().program.flows.iter().any(fails) && !at.meter.part().is_some_and(Share::was_refused)
    }
}

/// The id of the run of a call. `nth`: the number of cancelled runs of the same call.
pub(super) fn id_of(run: &str, key: &Key, nth: u32) -> String {
    use sha2::{Digest as _, Sha256};
    let mut of = format!("{run}/{}", key.0);
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
        // Boxed, because a flow may call itself.
        let outcome = Box::pin(self.run(at, tool, input)).await?;
        match outcome.result {
            Ok(output) => {
                // The run may have ended in an earlier process, which knew the variables.
                let output = PrivateValue::new(output, outcome.hidden);
                self.seen.learn(&output);
                Ok(output.into_exact())
            }
            // If a limit of the flow's own manifest was reached, only the call fails.
            Err(error) if error.code == "BUDGET_EXCEEDED" && !tool.is_limited(at) => {
                let raise = error.raise();
                Err(ToolError::Limit { why: error.into_data().message, raise })
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

    /// Always true, because a repeated call continues the same run.
    fn is_idempotent(&self, request: &ToolRequest) -> bool {
        self.offers(&request.name, &request.kind)
    }
}

/// The flows that a program can call as tools, directly or through other flows. Flows that do not load are skipped.
pub(super) fn called(engine: &Engine, program: &Program) -> Vec<FlowCalled> {
    let Some(flows) = of(engine) else { return Vec::new() };
    let mut found: Vec<FlowCalled> = Vec::new();
    let mut left: Vec<Arc<str>> = tools_of(program).into_iter().cloned().collect();
    while let Some(name) = left.pop() {
        let Some(Ok(tool)) = flows.get(&name).filter(|_| found.iter().all(|one| one.tool != name)) else { continue };
        let engine = Engine { parts: Arc::new(flows.parts_of(tool)), kept: flows.engine.kept.clone() };
        let loaded = tool.flow.loaded();
        let mut program = loaded.program.clone();
        // Problems with its models are reported when a run starts.
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

/// The flow tools of an engine, if it has any.
pub(super) fn of(engine: &Engine) -> Option<Arc<FlowTools>> {
    (!engine.parts.settings.flows.is_empty()).then(|| Arc::new(FlowTools::new(engine)))
}

impl FlowTools {
    /// The flow of a tool. `None`: the tool is not a flow, or its flow does not load.
    pub fn flow(&self, name: &str) -> Option<&Flow> {
        self.get(name)?.as_ref().ok().map(|tool| &tool.flow)
    }

    /// Whether one of these flows has a step with this label.
    pub fn have_step(&self, label: &str) -> bool {
        let flows = self.tools.iter().filter_map(|one| self.loaded(one).as_ref().ok());
        flows.into_iter().any(|tool| labels(&tool.flow.loaded().program).any(|known| known == label))
    }

    /// Whether a flow can call one of these.
    pub fn are_called_by(&self, flow: &Flow) -> bool {
        tools_of(&flow.loaded().program).into_iter().any(|name| self.tools.iter().any(|(tool, _)| tool.name == **name))
    }

    /// The flow of a tool, and the engine that a run of it would have. `limited`: the run that calls it has had a cost limit
    /// since it began.
    pub fn run_of(&self, name: &str, limited: bool) -> Option<(Flow, Engine)> {
        let tool = self.get(name)?.as_ref().ok()?;
        let mut parts = self.parts_of(tool);
        parts.answers.retain(|(name, _)| self.ask(name));
        parts.max_cost_micro = parts.max_cost_micro.or(limited.then_some(u64::MAX));
        Some((tool.flow.clone(), Engine { parts: Arc::new(parts), kept: self.engine.kept.clone() }))
    }

    /// The input of the run that a call starts. `None`: the tool is not a flow, or its flow does not take these arguments.
    pub fn input_of(&self, request: &ToolRequest) -> Option<Value> {
        let tool = self.get(&request.name)?.as_ref().ok()?;
        tool.as_tool.input(request.arguments.to_json()).ok().map(Value::from_json)
    }
}

impl Engine {
    /// Whether its runs are called by other runs.
    pub(crate) fn is_called(&self) -> bool {
        self.parts.depth > 0
    }

    /// The flows of the settings as tools, if there are any.
    pub(crate) fn flow_tools(&self) -> Option<Arc<FlowTools>> {
        of(self)
    }
}
