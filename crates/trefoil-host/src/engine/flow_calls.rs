//! Flows as tools of other flows, in any format. Each call is a separate run with this engine's models, tools and people. Its usage
//! counts for the calling run. If runs are stored, so is this one, under an id derived from the call: when the calling run is
//! resumed, the called run is resumed too, and does not repeat completed activities. It is subject to the limits of the calling
//! run, and is cancelled with the call. If a cancelled call is made again, it starts a new run that reuses the results of the
//! cancelled one. While the called run is suspended, the calling run waits for it.

use std::sync::Arc;

use async_trait::async_trait;
use trefoil_ir::ToolKind;
use trefoil_ir::schema::SchemaMismatch;
use trefoil_machine::PrivateValue;
use trefoil_machine::event::AwaitedActivity;
use trefoil_machine::step_path::RunPath;
use trefoil_runtime::ports::{CallSite, RawSuspension, SuspendedCall};
use trefoil_runtime::{CancelSwitch, RunOutcome, Share, ToolError, ToolHost, ToolRequest, ToolSpec, Usage};
use trefoil_store::{Status, StoreError};
use trefoil_syntax::{FindingSeverity, Location};
use trefoil_template::Value;

use super::flow_tools::{FlowHost, FlowTools, LoadedTool};
use super::{Engine, EngineParts, ReadyRun};
use crate::answers::CalledPeople;
use crate::durable::{StoredRun, call_run_id, cancel_idle_run, read_outcome};
use crate::reuse::{CalledBefore, EditedRun, NewCall, ReuseRequest, no_results};
use crate::run::Run;
use trefoil_project::codes::help::find_help;
use trefoil_project::error::{Error, FoundErrors};
use trefoil_project::secrets::IN_INPUT;
use trefoil_runtime::locks::lock;

/// Maximum depth of runs that call runs.
const DEEPEST: u32 = 5;
/// What to do if a called flow refuses its arguments.
const ARGUMENTS: &str = "fix the arguments of the call, or the input that the called flow declares";

/// Performs the calls of flows.
struct FlowCalls(Arc<FlowTools>);

impl Engine {
    /// An engine with the defaults.
    pub fn new() -> Self {
        let flow_host = FlowHost(|tools| Arc::new(FlowCalls(tools)));
        Self { parts: Arc::new(EngineParts { flow_host, ..EngineParts::default() }), cache: Arc::default() }
    }
}

impl Default for Engine {
    fn default() -> Self {
        Self::new()
    }
}

impl FlowCalls {
    fn note(&self, at: CallSite<'_>, ready: &ReadyRun) {
        lock(self.0.called_decisions()).push((at.key.clone(), ready.step_decisions()));
    }

    /// The engine of the run of a call.
    fn engine_of(&self, at: CallSite<'_>, tool: &LoadedTool) -> Engine {
        let mut parts = self.0.parts_of(tool);
        // Answers for the steps of the calling flow do not apply here, and `CALL/STEP` is a step of the flow that CALL calls.
        let path = RunPath::from_key(at.key);
        let program = &tool.flow.loaded_target().program;
        for (name, answer) in std::mem::take(&mut parts.answers) {
            if let Some(inside) = path.names_inside(&name).next() {
                parts.answers.push((inside.to_owned(), answer));
            } else if self.0.may_ask(&name, program) {
                parts.answers.push((name, answer));
            }
        }
        if let Some(people) = parts.humans.take() {
            parts.humans = Some(Arc::new(CalledPeople { call: at.key.display_name().to_owned(), people }));
        }
        parts.within = at.meter.allowance_share().cloned();
        parts.caller.replace(at.run.to_owned());
        parts.spec.limits = at.meter.allowance_share().map(Share::called_run_limits).unwrap_or_default();
        self.0.engine_with(parts)
    }

    /// Starts or resumes the run of a call. Also returns the usage of cancelled runs of the same call.
    async fn begin(
        &self,
        at: CallSite<'_>,
        tool: &LoadedTool,
        input: serde_json::Value,
    ) -> Result<(CallStart, Usage), Error> {
        let engine = self.engine_of(at, tool);
        if let Some(owner) = engine.owner() {
            let (store, mut before, mut cancelled) = (&**owner.store(), Usage::default(), None);
            for nth in 0u32.. {
                let id = call_run_id(at.run, at.key, nth);
                let begun = match store.record(&id).await {
                    // The call was made before, and the calling run has been resumed.
                    Ok(record) if record.status == Status::Completed => {
                        CallStart::Ended(Box::new(read_outcome(store, record).await?))
                    }
                    // The earlier call was stopped, and is made again.
                    Ok(record) if record.status == Status::Cancelled => {
                        before.add_usage(Usage { calls_beneath: record.spent.calls, ..record.spent.usage });
                        cancelled = Some(record.run);
                        continue;
                    }
                    Ok(record) => CallStart::Runs(self.again(&engine, at, &record.run).await?),
                    Err(StoreError::NoRun { .. }) => {
                        let ready = match cancelled {
                            Some(cancelled) => {
                                let rerun = self.rerun(at);
                                let request = ReuseRequest { rerun, ..ReuseRequest::for_whole_run(cancelled) };
                                ready_reusing(&engine, tool, &request, engine.fork_run(&request).await)?
                            }
                            None => self.first(&engine, at, tool, &input).await?,
                        };
                        self.note(at, &ready);
                        CallStart::Runs(ready.with_run_id(id).start_run(input)?)
                    }
                    Err(error) => return Err(Error::Store(error)),
                };
                at.meter.report_called_run(&call_run_id(at.run, at.key, nth));
                return Ok((begun, before));
            }
        }
        Ok((CallStart::Runs(engine.prepare_run(&tool.flow)?.start_run(input)?), Usage::default()))
    }

    /// Prepares the first run of a call.
    async fn first(
        &self,
        engine: &Engine,
        at: CallSite<'_>,
        tool: &LoadedTool,
        input: &serde_json::Value,
    ) -> Result<ReadyRun, Error> {
        let (Some(before), Some(owner)) = (self.0.before.get(), engine.owner()) else {
            return engine.prepare_run(&tool.flow);
        };
        let input = if input.is_null() { None } else { Some(Value::from_json(input.clone())) };
        let flow = &tool.flow.loaded_target().program.name;
        let call = NewCall { run: at.run, key: at.key, flow, input };
        match before.run_of(&call, &**owner.store()).await {
            CalledBefore::As(request) => {
                ready_reusing(engine, tool, &request, engine.edit_run(&tool.flow, &request).await)
            }
            // Its limits are those of the calling run, which waits until they are raised.
            CalledBefore::Never => without_results(engine, tool, &ReuseRequest::default()),
            CalledBefore::Perhaps(request) => without_results(engine, tool, &request),
        }
    }

    /// Resumes the run of a call, with what the calling run may repeat.
    async fn again(&self, engine: &Engine, at: CallSite<'_>, run: &str) -> Result<Run, Error> {
        let Some(owner) = engine.owner() else { return engine.resume_run(run).await };
        let stored = StoredRun::read_run(&**owner.store(), run).await?;
        // What calls it was compared with the files on the disk, but the store may say that something else was called.
        if engine.parts.settings.of_project && !stored.is_from_disk() {
            let message =
                format!("the files of run {run} are not those on the disk, so it has no permissions of a project");
            let help = "resume the calling run with `--no-config`, or with the edited files: `--with FILE`";
            return Err(Error::NotStarted(FoundErrors::without_file(&message, help)));
        }
        let mut rerun = self.rerun(at);
        rerun.retain(|step| !stored.may_rerun(step));
        let ready = engine.ready_again(&stored, &rerun).await?;
        self.note(at, &ready);
        ready.resume_run(run).await
    }

    /// The steps of the run of a call that may be repeated.
    fn rerun(&self, at: CallSite<'_>) -> Vec<String> {
        match self.0.before.get() {
            Some(before) => before.rerun_steps(at.key),
            None => Vec::new(),
        }
    }

    /// Describes the run of a call if it has not ended: it is suspended, or cannot continue in this process. `usage`: that of the call.
    async fn suspended(&self, outcome: &RunOutcome, usage: Usage) -> Option<SuspendedCall> {
        let error = outcome.result.as_ref().err()?;
        // A run whose journal cannot be written has not ended, and may not even be stored yet.
        let is_unwritten = error.code == "JOURNAL_ERROR";
        if !is_unwritten && !outcome.continues && outcome.waiting.is_empty() {
            return None;
        }
        let record = self.0.engine.owner()?.store().record(&outcome.run).await.ok();
        let is_open = matches!(&record, Some(record) if !record.status.is_end());
        if !is_open && !is_unwritten {
            return None;
        }
        let run = outcome.run.clone();
        let mut waiting = outcome.waiting.clone();
        for item in &mut waiting {
            item.run.get_or_insert_with(|| run.to_string());
        }
        if waiting.is_empty() {
            let key = error.key.clone().unwrap_or_else(|| "".into());
            let (step, called) = (key.without_try().to_owned(), Some(run.to_string()));
            let why = Some(Box::new(error.clone()));
            waiting.push(AwaitedActivity { key, step, sort: "run", run: called, why, ..AwaitedActivity::default() });
        }
        Some(SuspendedCall { run, waiting, wake_at: record.and_then(|record| record.wake_at), usage })
    }

    /// Cancels the run of a call that was stopped while it waited, and the runs that it has called. Their usage counts.
    async fn call_off(&self, at: CallSite<'_>) {
        let Some(owner) = self.0.engine.owner() else { return };
        for nth in 0u32.. {
            let id = call_run_id(at.run, at.key, nth);
            match owner.store().record(&id).await {
                Ok(record) if record.status == Status::Cancelled => {}
                Ok(record) if !record.status.is_end() => {
                    if let Ok(usage) = cancel_idle_run(owner.store().clone(), &id).await {
                        at.meter.report_usage(usage);
                    }
                    return;
                }
                _ => return,
            }
        }
    }

    async fn run(
        &self,
        at: CallSite<'_>,
        tool: &LoadedTool,
        input: serde_json::Value,
    ) -> Result<RunOutcome, ToolError> {
        if at.meter.stop_switch().is_cancelled() {
            self.call_off(at).await;
            return Err(ToolError::Failed("the call was stopped".to_owned()));
        }
        let (begun, before) = self.begin(at, tool, input).await.map_err(|error| not_begun(&error))?;
        let outcome = match begun {
            CallStart::Ended(outcome) => *outcome,
            CallStart::Runs(run) => until_stopped(run, at.meter.stop_switch()).await,
        };
        let mut usage = Usage { calls_beneath: outcome.calls, ..outcome.usage };
        usage.add_usage(before);
        if let Some(call) = self.suspended(&outcome, usage).await {
            return Err(ToolError::Suspended(Box::new(RawSuspension(call))));
        }
        at.meter.report_usage(usage);
        Ok(outcome)
    }
}

/// Why the run of a call did not start.
fn not_begun(error: &Error) -> ToolError {
    let (Error::Load(found) | Error::NotStarted(found)) = error else { return ToolError::Failed(error.to_string()) };
    let errors = found.found_diagnostics().iter().filter(|found| found.severity == FindingSeverity::Error);
    let Some(first) = errors.clone().next() else { return ToolError::Failed(error.to_string()) };
    let mut at = String::new();
    if let (Some(file), Some(span)) = (first.file, first.span)
        && let Some(place) = found.source_files().display_location(Location { file, span })
    {
        at = format!(" ({place})");
    }
    let more = match errors.count() {
        0 | 1 => String::new(),
        2 => ", and 1 more error".to_owned(),
        n => format!(", and {} more errors", n - 1),
    };
    let why = format!("{}{at}{more}", first.message);
    let help = first.help.clone().unwrap_or_else(|| ARGUMENTS.to_owned());
    match first.rule {
        IN_INPUT => ToolError::invalid_arguments(why, help),
        _ => ToolError::with_advice(format!("its run did not start: {why}"), help),
    }
}

/// A run of a call that reuses the results of an earlier run of it.
fn ready_reusing(
    engine: &Engine,
    tool: &LoadedTool,
    request: &ReuseRequest,
    edited: Result<EditedRun, Error>,
) -> Result<ReadyRun, Error> {
    match edited {
        // The results were deleted with the run's content, but it may have done anything.
        Err(Error::Store(StoreError::NoContent { .. })) => without_results(engine, tool, request),
        Ok(edited) => Ok(edited.ready),
        Err(error) => Err(error),
    }
}

/// A run of a call of which no earlier results can be read.
fn without_results(engine: &Engine, tool: &LoadedTool, request: &ReuseRequest) -> Result<ReadyRun, Error> {
    Ok(engine.prepare_run(&tool.flow)?.based_on(request.to_basis(None), no_results(request)))
}

/// Waits for the end of a run, and stops it if its call is stopped.
async fn until_stopped(run: Run, stop: &CancelSwitch) -> RunOutcome {
    let canceller = run.cancel_switch();
    let mut outcome = std::pin::pin!(run.wait_outcome());
    tokio::select! {
        outcome = &mut outcome => return outcome,
        () = stop.passed_on(&canceller) => {}
    }
    outcome.await
}

/// The run of a call.
enum CallStart {
    Runs(Run),
    /// The run had already ended.
    Ended(Box<RunOutcome>),
}

#[async_trait]
impl ToolHost for FlowCalls {
    fn offers_tool(&self, name: &str, kind: &ToolKind) -> bool {
        self.0.offers_tool(name, kind)
    }

    async fn call_tool(&self, at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        let tool = match self.0.get(&request.name) {
            Some(Ok(tool)) => tool,
            Some(Err(why)) => return Err(ToolError::Failed(why.clone())),
            None => return Err(ToolError::Failed(format!("no flow is the tool `{}`", request.name))),
        };
        if self.0.engine.parts.depth > DEEPEST {
            let why = format!("calls of flows are nested more than {DEEPEST} levels deep");
            return Err(ToolError::with_advice(why, "let a flow call itself only under a condition that ends it"));
        }
        let arguments = request.arguments.to_json();
        if let Some(takes) = &tool.takes
            && let Err(SchemaMismatch::Broken(errors)) = takes.check_value(&arguments)
        {
            let first = errors.iter().min_by_key(|error| error.instance_path().to_string());
            let why = first.map(ToString::to_string).unwrap_or_default();
            return Err(ToolError::invalid_arguments(why, ARGUMENTS));
        }
        let input = tool.as_tool.run_input(arguments);
        let input = input.map_err(|error| ToolError::invalid_arguments(&error.message, ARGUMENTS))?;
        // Boxed, because a flow may call itself.
        let outcome = Box::pin(self.run(at, tool, input)).await?;
        match outcome.result {
            Ok(output) => {
                // The run may have ended in an earlier process, which knew the variables.
                let output = PrivateValue::new(output, outcome.hidden);
                self.0.hidden_values().hide_parts_of(&output);
                Ok(output.into_exact())
            }
            // If a limit of the flow's own manifest was reached, only the call fails.
            Err(error) if error.raise.is_some() || (error.code == "BUDGET_EXCEEDED" && !tool.is_limited(at)) => {
                let raise = error.raise;
                Err(ToolError::Limit { why: error.into_data().message, raise })
            }
            Err(error) => {
                // The advice of its cause, because that has to be fixed.
                let why = format!("{}: {}", error.code, error.message);
                Err(match find_help(&error) {
                    Some(help) => ToolError::with_advice(why, help.to_owned()),
                    None => ToolError::Failed(why),
                })
            }
        }
    }

    async fn list_tools(&self, _at: CallSite<'_>, kind: &ToolKind) -> Result<Vec<ToolSpec>, ToolError> {
        Ok(if *kind == ToolKind::Local { self.0.tool_specs() } else { Vec::new() })
    }

    /// Always true, because a repeated call continues the same run.
    fn is_idempotent(&self, request: &ToolRequest) -> bool {
        self.offers_tool(&request.name, &request.kind)
    }
}
