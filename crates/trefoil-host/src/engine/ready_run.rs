//! A run that is ready to start, because nothing that it needs is missing.

use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use trefoil_ir::Program;
use trefoil_machine::guard::Verdict;
use trefoil_machine::journal::{Basis, GivenPermissions, RunSpec};
use trefoil_machine::step_path::split_value;
use trefoil_machine::{Flags, LimitKind, PreparedProgram, ProgramFile, RunLimits, input_faults};
use trefoil_models::plan::models_used;
use trefoil_models::{NonDefaultAddress, Scripted};
use trefoil_runtime::driver::memo::{AnswerLibrary, Memo};
use trefoil_runtime::driver::{DriverOptions, HiddenValues, first_entry, resume_prepared, run_prepared};
use trefoil_runtime::ports::{HumanInbox, NoJournal, Random, SystemRandom};
use trefoil_runtime::{CallPermits, CancelSwitch, Ports, RecoveryPolicy, RunOutcome, Share, SharedLimits};
use trefoil_store::{Store, check_labels};
use trefoil_syntax::{Diagnostic, FindingSeverity};
use trefoil_template::{HoleKind, Value};

use super::event_sinks::{combine_sinks, to_handle};
use super::hosts::{RunHosts, is_rehearsal};
use super::needs::{CallableFlows, RunNeeds};
use super::{AnswersFrom, Engine, EngineParts};
use crate::answers::{PreparedAnswers, find_questions, match_questions};
use crate::durable::{StoredAnswers, with_called_usage};
use crate::reuse::{EarlierCalls, StepDecisions};
use crate::run::Run;
use trefoil_project::error::{Error, FoundErrors, Result};
use trefoil_project::failure::explain_failure;
use trefoil_project::flow::Flow;
use trefoil_project::input::INPUT_INVALID;
use trefoil_project::secrets;
use trefoil_view::model_name;

/// The most mistakes in an input that are listed.
const LISTED_FAULTS: usize = 100;

/// An input that was found to be right; `None`: the run has none.
pub(crate) struct AcceptedInput(Option<Value>);

/// A run that is ready to start. Nothing has been called yet.
pub struct ReadyRun {
    flow: Flow,
    prepared: Arc<PreparedProgram>,
    ports: Ports,
    run: String,
    seed: u64,
    /// Its settings, as far as they are set for this process.
    spec: RunSpec,
    /// The steps whose tools and commands may be repeated from now on.
    rerun: Vec<String>,
    permissions: GivenPermissions,
    /// Warnings about what the run starts with.
    warnings: Vec<String>,
    /// Prices, context windows, and the kind of reservation.
    money: Flags,
    answers_from: AnswersFrom,
    elsewhere: Vec<NonDefaultAddress>,
    script: Option<Arc<Scripted>>,
    /// The queue of model calls.
    call_permits: Option<Arc<CallPermits>>,
    recovery: RecoveryPolicy,
    hosts: RunHosts,
    /// The share of the calling run's allowance, if this run is a tool call.
    within: Option<Share>,
    /// The values to hide, shared with the runs above and below this one.
    seen: Arc<HiddenValues>,
    /// The calling run.
    caller: Option<String>,
    /// The results of an earlier run, and how they are reused.
    basis: Option<(Basis, Memo)>,
    /// Where answers of any earlier runs are looked up.
    library: Option<Arc<dyn AnswerLibrary>>,
    /// What guardrails have redacted in the input in that run.
    pub(crate) input_verdicts: Vec<Verdict>,
    /// The owner of stored runs. `None`: the run is not stored.
    owner: Option<Arc<trefoil_store::Owner>>,
    content: trefoil_store::Content,
    attended: bool,
    /// Labels of the run in the store.
    labels: Vec<(String, String)>,
}

impl ReadyRun {
    /// Prepares a run of a flow. Returns everything that is missing as an error.
    // reason: a third of it is the list of the fields.
    pub(super) fn new(engine: &Engine, flow: &Flow) -> std::result::Result<Self, FoundErrors> {
        let engine = &engine.for_flow(flow.name());
        let parts = &*engine.parts;
        if let Err(fault) = check_labels(&parts.labels) {
            return Err(FoundErrors::without_file(&fault.to_string(), fault.help_text()));
        }
        let needs = RunNeeds::of_flow(engine, flow, None);
        let mut findings = FoundErrors::new(flow.loaded_target().files.clone(), needs.lacks.clone());
        // The run of a call is a part of a run for which all of them were looked at.
        let beneath = if parts.depth == 0 {
            needs.check_called_flows(engine, flow, &mut findings)
        } else {
            CallableFlows::default()
        };
        let RunNeeds { aimed, models, script, hosts, secrets, money, .. } = needs;
        let (Some(aimed), Some(models), true) = (aimed, models, findings.is_empty()) else { return Err(findings) };
        let mut elsewhere = aimed.elsewhere.clone();
        for address in beneath.elsewhere {
            if !elsewhere.contains(&address) {
                elsewhere.push(address);
            }
        }
        let random = parts.random.clone().unwrap_or_else(|| Arc::new(SystemRandom));
        let ports = Ports {
            models,
            tools: hosts.tools.clone(),
            commands: parts.command_host(),
            humans: Arc::new(PreparedAnswers::new(
                &flow.loaded_target().program,
                (&parts.answers, parts.answer_sender.clone()),
                people(parts),
            )),
            journal: parts.journal.clone().unwrap_or_else(|| Arc::new(NoJournal)),
            clock: parts.clock(),
            secrets,
            events: combine_sinks(&parts.events),
            random,
        };
        // Stored runs with the same seed need different ids.
        let own: &dyn Random = if parts.seed.is_some() && engine.keeps_runs() { &SystemRandom } else { &*ports.random };
        let id = format!("{:016x}", own.next_number());
        let seen = match &hosts.flows {
            Some(flows) => Some(flows.hidden_values().clone()),
            None => parts.seen.clone(),
        };
        let ready = Self {
            flow: flow.clone(),
            prepared: aimed.prepared.clone(),
            run: id,
            ports,
            seed: parts.seed.unwrap_or(0),
            permissions: parts.permissions.clone(),
            warnings: Vec::new(),
            spec: parts.spec,
            rerun: Vec::new(),
            money,
            answers_from: aimed.from.clone(),
            elsewhere,
            script,
            call_permits: if is_rehearsal(&aimed.from) { None } else { Some(parts.call_permits.clone()) },
            recovery: parts.recovery,
            hosts,
            caller: parts.caller.clone(),
            within: parts.within.clone(),
            seen: seen.unwrap_or_default(),
            basis: None,
            library: None,
            input_verdicts: Vec::new(),
            owner: parts.owner.clone(),
            content: parts.content,
            attended: parts.attended,
            labels: parts.labels.clone(),
        };
        for flow in &beneath.flows {
            ready.hide_values_of(flow);
        }
        ready.hides_own();
        let findings = secrets::in_answers(&ready.seen, &parts.answers);
        if findings.is_empty() {
            return Ok(ready);
        }
        Err(FoundErrors::new(flow.loaded_target().files.clone(), findings))
    }

    /// Hides its own secrets, and those of its tools and providers. The input is compared with them before the run starts.
    fn hides_own(&self) {
        let secrets = &*self.ports.secrets;
        self.seen.protect_variables(self.flow.credential_variables().iter().chain(&self.hosts.credentials).cloned());
        self.seen.hide_holes(secrets, &self.prepared.holes);
        self.seen.hide_holes(secrets, &self.hosts.holes);
        self.seen.hide_secrets(&self.hosts.keys);
    }

    /// Hides what the run of another flow may have sent somewhere from where it can come back: its secrets and environment values.
    pub(crate) fn hide_values_of(&self, flow: &Flow) {
        let (prepared, secrets) = (flow.prepared_program(), &*self.ports.secrets);
        self.seen.protect_variables(flow.credential_variables().iter().cloned());
        self.seen.hide_holes(secrets, &prepared.holes);
        // Each flow has its own environment files.
        let environment = flow.loaded_target().environment_secrets();
        let own: Vec<_> = prepared.holes.iter().filter(|(kind, _)| *kind == HoleKind::Env).cloned().collect();
        self.seen.hide_holes(&environment, &own);
    }

    /// Allows the tools and commands of these steps to be repeated, from now on.
    pub(crate) fn allow_rerun(mut self, rerun: &[String]) -> Self {
        self.rerun.extend_from_slice(rerun);
        self
    }

    /// Reuses the results of an earlier run.
    pub(crate) fn based_on(self, basis: Basis, memo: Memo) -> Self {
        let stored = self.answers_from.journal_form();
        let made_up = match stored.split('=').next() {
            Some(kind @ ("embedded" | "scripted")) => Some(kind),
            _ => None,
        };
        if let Some(flows) = &self.hosts.flows
            && !basis.answers
        {
            flows.set_earlier_calls(EarlierCalls::for_run(&memo, &basis, &self.prepared));
        }
        Self { basis: Some((basis, memo.without_made_up(made_up))), ..self }
    }

    /// Reuses the answers of any earlier runs.
    pub(crate) fn looking_up(self, basis: Basis, library: Arc<dyn AnswerLibrary>) -> Self {
        Self { library: Some(library), ..self.based_on(basis, Memo::of_answers()) }
    }

    /// Which results the run has reused so far. Empty if it is not based on an earlier run.
    pub fn step_decisions(&self) -> StepDecisions {
        let decisions = match &self.basis {
            Some((_, memo)) => memo.reuse_decisions(),
            None => Arc::default(),
        };
        let lines =
            StepDecisions::for_run(self.flow.clone(), self.prepared.program.clone(), decisions, self.seen.clone());
        match &self.hosts.flows {
            Some(flows) => lines.with_called(flows.called_decisions().clone()),
            None => lines,
        }
    }

    /// The run starts with these warnings: they belong to its events, its trace and its journal.
    pub fn with_warnings(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }

    /// Sets the id that the run will have, which no run of the store has yet.
    pub fn with_run_id(self, run: String) -> Self {
        Self { run, ..self }
    }

    /// Adds labels to the run in the store.
    pub fn with_labels(mut self, labels: Vec<(String, String)>) -> Self {
        self.labels.extend(labels);
        self
    }

    /// The id that the run will have.
    pub fn run_id(&self) -> &str {
        &self.run
    }

    /// The source of model answers.
    pub fn answers_from(&self) -> &AnswersFrom {
        &self.answers_from
    }
    /// Providers that are called at a URL other than the vendor's default.
    pub fn other_endpoints(&self) -> &[NonDefaultAddress] {
        &self.elsewhere
    }
    /// The script, if it is the source of answers.
    pub fn script(&self) -> Option<&Arc<Scripted>> {
        self.script.as_ref()
    }
    /// Tests whether the flow accepts an input. Calls nothing.
    ///
    /// # Errors
    ///
    /// [`Error::NotStarted`] if it does not, [`Error::Input`] if the input cannot be written as JSON.
    pub fn check_input(&self, input: impl Serialize) -> Result<()> {
        self.input(input)?;
        Ok(())
    }
    /// Starts it: see [`Engine::start_run`].
    ///
    /// # Errors
    ///
    /// As [`Self::check_input`], and [`Error::NoRuntime`] outside a tokio runtime.
    pub fn start_run(self, input: impl Serialize) -> Result<Run> {
        let input = self.accept_input(input)?;
        self.start_accepted(input)
    }

    /// The input for the machine, if it is right. Calls nothing.
    ///
    /// # Errors
    ///
    /// As [`Self::check_input`].
    pub(crate) fn accept_input(&self, input: impl Serialize) -> Result<AcceptedInput> {
        Ok(AcceptedInput(self.input(input)?))
    }

    /// Starts it with an input that was found to be right.
    pub(crate) fn start_accepted(self, AcceptedInput(input): AcceptedInput) -> Result<Run> {
        tokio::runtime::Handle::try_current().map_err(|_| Error::NoRuntime)?;
        let (ready, options) = self.set_up_storage()?;
        ready.spawn(options, |prepared, ports, options| run_prepared(prepared, input, ports, options))
    }

    /// Sets up the storage of the run.
    fn set_up_storage(mut self) -> Result<(Self, DriverOptions)> {
        let mut options = self.start_options();
        match self.owner.clone() {
            Some(owner) => {
                let packed = self.flow.to_packed();
                (options.sources, options.bundle) = (packed.sources, Some(packed.bundle));
                let (run, parent, content) = (self.run.clone(), self.caller.clone(), self.content);
                let (files, attended, labels) = (packed.blobs, self.attended, self.labels.clone());
                let new = trefoil_store::NewRun { run, parent, content, files, attended, labels, ..Default::default() };
                self.ports.journal = Arc::new(owner.begin_run(new));
            }
            None => options.sources = self.sources(),
        }
        Ok((self, options))
    }

    /// Stores the run for a worker to perform, and returns its id. Calls nothing.
    pub async fn submit_run(self, input: impl Serialize) -> Result<String> {
        let input = self.accept_input(input)?;
        self.submit_accepted(input).await
    }

    /// Stores it with an input that was found to be right.
    pub(crate) async fn submit_accepted(self, AcceptedInput(input): AcceptedInput) -> Result<String> {
        let owner = self.owner.clone().ok_or(Error::NoRuntime)?;
        let packed = self.flow.to_packed();
        let options = DriverOptions { sources: packed.sources, bundle: Some(packed.bundle), ..self.start_options() };
        let first = first_entry(&self.prepared, input, &self.ports, options);
        let batch = trefoil_store::EntryBatch::of_kept(&[first], self.content)?;
        let (run, content, labels, now) = (self.run, self.content, self.labels, owner.store().clock().wall_ms());
        let files = packed.blobs;
        let new = trefoil_store::NewRun { run: run.clone(), content, files, labels, batch, now, ..Default::default() };
        owner.store().create_run(new).await?;
        Ok(run)
    }

    /// The files of the flow, if the journal stores anything.
    fn sources(&self) -> Vec<ProgramFile> {
        if self.ports.journal.keeps_entries() { self.flow.loaded_target().source_hashes() } else { Vec::new() }
    }

    /// Resumes a run from its journal.
    pub async fn resume_run(self, run: &str) -> Result<Run> {
        let owner = self.owner.clone().ok_or(Error::NoRuntime)?;
        let hold = owner.resume_run(run).await?;
        self.resume_held(hold)
    }

    /// Resumes a run whose lease this process holds.
    pub fn resume_held(mut self, hold: trefoil_store::LeasedRun) -> Result<Run> {
        let run = hold.run_id().to_owned();
        self.run.clone_from(&run);
        self.ports.journal = Arc::new(hold);
        let options = self.options();
        self.spawn(
            options,
            |prepared, ports, options| async move { resume_prepared(prepared, &run, ports, options).await },
        )
    }

    fn spawn<W>(
        mut self,
        options: DriverOptions,
        begin: impl FnOnce(Arc<PreparedProgram>, Ports, DriverOptions) -> W,
    ) -> Result<Run>
    where
        W: Future<Output = RunOutcome> + Send + 'static,
    {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| Error::NoRuntime)?;
        let (to_handle, events) = to_handle();
        self.ports.events = combine_sinks(&[self.ports.events.clone(), Arc::new(to_handle)]);
        let (id, cancel) = (self.run.as_str().into(), options.cancel.clone());
        // Boxed, because a future that awaits one of its arguments reserves memory for it twice; and of one type, because
        // tokio's code for a task is compiled again for each type.
        let work: Pin<Box<dyn Future<Output = RunOutcome> + Send>> =
            Box::pin(begin(self.prepared, self.ports, options));
        let hosts = self.hosts;
        let store = self.owner.as_ref().map(|owner| owner.store().clone());
        // What comes after the run is boxed when it is needed. A future has room for all that it ever awaits, also while it waits.
        let task = runtime.spawn(async move {
            let outcome = work.await;
            Box::pin(end_run(hosts, store, outcome)).await
        });
        Ok(Run::new(id, self.flow, events, cancel, task))
    }

    /// The options for the driver if the run starts: with a limit of calls, whatever is set, and with what it reserves.
    fn start_options(&self) -> DriverOptions {
        let calls = RunLimits::for_kind(LimitKind::Calls, LimitKind::Calls.of_default());
        let spec =
            RunSpec { limits: self.spec.limits.with_defaults(calls), reserve: self.money.spec.reserve, ..self.spec };
        DriverOptions { spec, ..self.options() }
    }

    /// The options for the driver.
    fn options(&self) -> DriverOptions {
        let mut models = Vec::new();
        for (agent, model) in models_used(&self.prepared.program) {
            models.push((agent.to_string(), model_name(&model)));
        }
        let (basis, memo) = self.basis.clone().unzip();
        DriverOptions {
            basis,
            memo,
            library: self.library.clone(),
            input_verdicts: self.input_verdicts.clone(),
            answers: self.answers_from.journal_form(),
            models,
            seed: Some(self.seed),
            run: Some(self.run.clone()),
            spec: self.spec,
            rerun: self.rerun.clone(),
            permissions: self.permissions.clone(),
            warnings: self.warnings.clone(),
            prices: self.money.prices.clone(),
            fallbacks: self.money.fallbacks.clone(),
            windows: self.money.windows.clone(),
            permits: self.call_permits.clone(),
            shared_limits: self.shared_limits(),
            holes: self.hosts.holes.clone(),
            credentials: self.flow.credential_variables().iter().chain(&self.hosts.credentials).cloned().collect(),
            keys: self.hosts.keys.clone(),
            hidden_values: Some(self.seen.clone()),
            within: self.within.clone(),
            cancel: CancelSwitch::new(),
            recovery: self.recovery,
            placeholder: self.answers_from == AnswersFrom::Embedded,
            answers_from: Some(self.answers_from.to_string()),
            ..DriverOptions::default()
        }
    }

    /// The limits that hold for all processes of the store. Runs that are not stored have only those of this process.
    fn shared_limits(&self) -> Option<Arc<dyn SharedLimits>> {
        self.call_permits.as_ref()?;
        Some(Arc::new(trefoil_store::StoreLimits::new(self.owner.clone()?)))
    }

    /// The input for the machine, if it is right.
    fn input(&self, input: impl Serialize) -> Result<Option<Value>> {
        let input = convert_input(input)?;
        // What else is wrong may quote the input.
        let program = &self.prepared.program;
        let mut reasons = match &input {
            Some(input) => secrets::in_input(program, &self.seen, input),
            None => Vec::new(),
        };
        if reasons.is_empty() {
            let faults = input_faults(&self.prepared, input.as_ref());
            if faults.is_empty() {
                return Ok(input);
            }
            reasons = faults.iter().take(LISTED_FAULTS).map(|error| explain_failure(INPUT_INVALID, error)).collect();
            if let Some(more @ 1..) = faults.len().checked_sub(LISTED_FAULTS) {
                let message = format!("the input has {more} more mistakes, which are not listed");
                let severity = FindingSeverity::Error;
                reasons.push(Diagnostic::without_location(INPUT_INVALID, severity, None, message));
            }
        }
        Err(Error::NotStarted(FoundErrors::new(self.flow.loaded_target().files.clone(), reasons)))
    }
}

impl Engine {
    /// Starts a run and returns its handle. The run continues whether or not its events are read; dropping the handle
    /// stops it.
    ///
    /// The input is any value that serde can serialize; `()` and null mean no input. Must be called inside a tokio
    /// runtime.
    ///
    /// # Errors
    ///
    /// [`Error::NotStarted`] lists everything that is missing or invalid: models without a key, missing tools,
    /// questions without an answer, an input that the flow does not accept. In this case nothing was called.
    /// [`Error::Input`] and [`Error::NoRuntime`] mean that the call itself is wrong.
    pub fn start_run(&self, flow: &Flow, input: impl Serialize) -> Result<Run> {
        self.prepare_run(flow)?.start_run(input)
    }
    /// Puts a run in the engine's [store](Self::store) for a worker, and returns its id. Calls nothing. The models are
    /// chosen here; keys, secrets, permissions and people are those of the worker.
    ///
    /// # Errors
    ///
    /// [`Error::NotStarted`] if something is certain to stop the run, or there is no store; [`Error::Input`] if the input cannot be written as JSON;
    /// [`Error::Store`] if the store fails.
    pub async fn submit_run(&self, flow: &Flow, input: impl Serialize) -> Result<String> {
        let input = convert_input(input)?;
        self.kept_runs()?;
        self.clone().for_others().ready_for(flow, Some(&input)).await?.submit_run(&input).await
    }

    /// Returns everything that a run of the flow needs, or [`Error::NotStarted`] with everything that is missing. Calls
    /// nothing.
    pub fn prepare_run(&self, flow: &Flow) -> Result<ReadyRun> {
        let ready =
            ReadyRun::new(&self.for_steps_of(&flow.loaded_target().program), flow).map_err(Error::NotStarted)?;
        self.with_answers(ready)
    }

    /// With the typed answers as answers of the steps of a program, and of the flows that it calls.
    fn for_steps_of(&self, program: &Program) -> Engine {
        if self.parts.typed_answers.is_empty() {
            return self.clone();
        }
        let (asked, flows) = (find_questions(program), self.flow_tools());
        let is_known = |name: &str| match match_questions(&asked, name) {
            Ok(found) if found.is_empty() => matches!(&flows, Some(flows) if flows.may_ask(name, program)),
            Ok(_) | Err(_) => true,
        };
        self.clone().with_parts(|parts| {
            for text in std::mem::take(&mut parts.typed_answers) {
                if let Some((step, answer)) = split_value(&text, is_known) {
                    parts.answers.push((step.to_owned(), answer.to_owned()));
                }
            }
        })
    }

    /// A run about to start, with the results of earlier runs that it may use.
    fn with_answers(&self, ready: ReadyRun) -> Result<ReadyRun> {
        let request = self.parts.reuses.as_ref().filter(|_| self.parts.begun.is_none());
        let Some(basis) = request.map(|request| request.to_basis(None)) else { return Ok(ready) };
        let answers = self.answer_library(&basis)?;
        Ok(ready.looking_up(basis, answers))
    }
    /// The answers that a run uses according to its start entry.
    pub(crate) fn answer_library(&self, basis: &Basis) -> Result<Arc<dyn AnswerLibrary>> {
        let only = Some(basis.run.clone()).filter(|run| !run.is_empty());
        Ok(Arc::new(StoredAnswers::of_runs(self.kept_runs()?, only)))
    }
}

/// Converts an input for the machine. `None` for `()` and null.
fn convert_input(input: impl Serialize) -> Result<Option<Value>> {
    Ok(match serde_json::to_value(input).map_err(Error::Input)? {
        serde_json::Value::Null => None,
        json => Some(Value::from_json(json)),
    })
}

/// The inbox for questions. Stored runs use the inbox in the store.
fn people(parts: &EngineParts) -> Option<Arc<dyn HumanInbox>> {
    if let Some(owner) = &parts.owner {
        return Some(Arc::new(trefoil_store::StoreInbox::new(owner.clone(), parts.humans.clone())));
    }
    parts.humans.clone()
}

/// What a run leaves behind in this process: its hosts are closed, and what called runs have used is added.
async fn end_run(hosts: RunHosts, store: Option<Arc<dyn Store>>, mut outcome: RunOutcome) -> RunOutcome {
    hosts.close().await;
    if let Some(store) = store.filter(|_| outcome.continues || outcome.suspended) {
        add_called_usage(&*store, &mut outcome).await;
    }
    outcome
}

/// A run that has not ended does not know what called runs have used that were stopped with it. The store does, but not yet which
/// calls were cut off.
async fn add_called_usage(store: &dyn Store, outcome: &mut RunOutcome) {
    let Ok(record) = store.record(&outcome.run).await else { return };
    if let Ok(record) = with_called_usage(store, record).await {
        outcome.calls = outcome.calls.max(record.spent.calls);
        outcome.usage.add_usage(record.spent.usage.difference_from(outcome.usage));
    }
}
