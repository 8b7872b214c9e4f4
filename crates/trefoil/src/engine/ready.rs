//! A run that is ready to start: nothing that it needs is missing.

use std::sync::Arc;

use serde::Serialize;
use trefoil_ir::ModelChoice;
use trefoil_machine::journal::{Basis, Changes};
use trefoil_machine::{Flags, Prepared, Reserve, SourceFile, input_faults};
use trefoil_models::plan::models_used;
use trefoil_models::{Elsewhere, Scripted};
use trefoil_runtime::driver::memo::Memo;
use trefoil_runtime::driver::{Options, run_prepared};
#[cfg(feature = "store")]
use trefoil_runtime::driver::{first_entry, resume_prepared};
use trefoil_runtime::ports::{EnvSecrets, HumanInbox, NoJournal, Random, Secrets, SystemClock, SystemRandom};
use trefoil_runtime::{Cancel, Clock, Places, Ports, Recovery, RunOutcome, Share};
use trefoil_syntax::{Diagnostic, Severity};
use trefoil_template::{Value, limits};

use super::hosts::{Hosts, is_rehearsal};
use super::models::{Aimed, script};
use super::prices;
use super::watch::{all, to_handle};
use super::{AnswersFrom, Engine, INPUT, Parts, explain};
use crate::answers::Answers;
#[cfg(feature = "store")]
use crate::durable::Lines;
use crate::error::{Error, Findings, Result};
use crate::flow::Flow;
use crate::load::Loaded;
use crate::load::rules::ENV_FILE;
use crate::preflight::{Host, preflight};
use crate::run::Run;
use crate::secrets::{self, OperatorSecrets};

/// A run that is ready to start. Nothing has been called yet.
pub struct Ready {
    flow: Flow,
    prepared: Arc<Prepared>,
    ports: Ports,
    run: String,
    seed: u64,
    /// Those that were requested.
    limits: Changes,
    /// Prices, context windows, and what is reserved.
    money: Flags,
    answers_from: AnswersFrom,
    elsewhere: Vec<Elsewhere>,
    script: Option<Arc<Scripted>>,
    /// Where model calls wait for their turn.
    places: Option<Arc<Places>>,
    recovery: Recovery,
    hosts: Hosts,
    /// What it may use of the allowance of the run whose tool it is.
    within: Option<Share>,
    /// That run.
    #[cfg(feature = "store")]
    caller: Option<String>,
    /// What an earlier run has, and how that is used.
    basis: Option<(Basis, Memo)>,
    /// Whose runs are kept.
    #[cfg(feature = "store")]
    kept: Option<Arc<trefoil_store::Owner>>,
    #[cfg(feature = "store")]
    content: trefoil_store::Content,
}

impl Ready {
    /// For a flow, or everything that is missing.
    pub(super) fn new(engine: &Engine, flow: &Flow) -> std::result::Result<Self, Findings> {
        let (parts, loaded) = (&*engine.parts, flow.loaded());
        let mut reasons = Vec::new();
        let env_texts = env_texts(loaded, &mut reasons);
        let aimed = engine.kept.aimed(parts, flow).and_then(|aimed| aimed.for_begun(parts, flow));
        let aimed = aimed.map_err(|why| reasons.extend(why)).ok();
        let script = aimed.as_ref().map(|aimed| script(&aimed.from)).transpose();
        let script = script.map_err(|why| reasons.push(why)).ok().flatten().flatten();
        let secrets = secrets_of(parts, &env_texts);
        let hosts = Hosts::of(engine, aimed.as_deref(), script.clone(), &secrets);
        let program = &loaded.program;
        let host = Host {
            tools: &*hosts.tools,
            fault: &|name| hosts.flows.as_ref()?.fault(name),
            asks: &|name| hosts.flows.as_ref().is_some_and(|flows| flows.ask(name)),
            // Of a run that is gone on with nobody knows whether it comes to a command: it stops there.
            commands: parts.commands.is_some() || parts.begun.is_some() || parts.submits,
            people: parts.humans.is_some() || engine.keeps_runs(),
            answers: &parts.answers,
            rehearsal: aimed.as_ref().is_some_and(|aimed| is_rehearsal(&aimed.from)),
            embedded: aimed.as_ref().is_some_and(|aimed| aimed.from == AnswersFrom::Embedded),
        };
        reasons.extend(preflight(program, &host));
        // Made up answers need none, and whoever runs it elsewhere has others.
        if !parts.submits && !aimed.as_ref().is_some_and(|aimed| is_rehearsal(&aimed.from)) {
            reasons.extend(secrets::missing(program, &*secrets));
        }
        let models = aimed.as_ref().and_then(|aimed| aimed.provider.clone());
        let models = models.or_else(|| script.clone().map(|script| script as _));
        let (Some(aimed), Some(models), true) = (aimed, models, reasons.is_empty()) else {
            return Err(Findings::new(loaded.files.clone(), reasons));
        };
        let random = parts.random.clone().unwrap_or_else(|| Arc::new(SystemRandom));
        let ports = Ports {
            models,
            tools: hosts.tools.clone(),
            commands: parts.commands.clone(),
            humans: Arc::new(Answers::new(program, &parts.answers, people(parts))),
            journal: parts.journal.clone().unwrap_or_else(|| Arc::new(NoJournal)),
            clock: clock(parts),
            secrets,
            events: all(&parts.events),
            random,
        };
        let money = match money(parts, &aimed, ports.clock.wall_ms()) {
            Ok(money) => money,
            Err(missing) => return Err(Findings::new(loaded.files.clone(), missing)),
        };
        // Two runs of one seed are two runs.
        let own: &dyn Random = if parts.seed.is_some() && engine.keeps_runs() { &SystemRandom } else { &*ports.random };
        let id = format!("{:016x}", own.next());
        Ok(Self {
            flow: flow.clone(),
            prepared: aimed.prepared.clone(),
            run: id,
            ports,
            seed: parts.seed.unwrap_or(0),
            limits: Changes {
                max_calls: parts.max_calls,
                max_cost_micro: parts.max_cost_micro,
                reserve: parts.reserve,
                ..Changes::default()
            },
            money,
            answers_from: aimed.from.clone(),
            elsewhere: aimed.elsewhere.clone(),
            script,
            places: (!is_rehearsal(&aimed.from)).then(|| parts.places.clone()),
            recovery: parts.recovery,
            hosts,
            #[cfg(feature = "store")]
            caller: parts.caller.clone(),
            within: parts.within.clone(),
            basis: None,
            #[cfg(feature = "store")]
            kept: parts.owner.clone(),
            #[cfg(feature = "store")]
            content: parts.content,
        })
    }

    /// The same with this id.
    #[cfg(feature = "store")]
    pub(super) fn of_id(self, run: String) -> Self {
        Self { run, ..self }
    }

    /// Uses the results of an earlier run.
    #[cfg(feature = "store")]
    pub(crate) fn based_on(self, basis: Basis, memo: Memo) -> Self {
        let stored = self.answers_from.stored();
        let made_up = match stored.split('=').next() {
            Some(kind @ ("embedded" | "scripted")) => Some(kind),
            _ => None,
        };
        Self { basis: Some((basis, memo.without_made_up(made_up))), ..self }
    }

    /// What the run will have used of earlier ones: as far as it has come, and nothing if it does not go by any.
    #[cfg(feature = "store")]
    pub fn reused(&self) -> Lines {
        let decisions = self.basis.as_ref().map(|(_, memo)| memo.decisions()).unwrap_or_default();
        Lines::of(self.flow.clone(), self.prepared.program.clone(), decisions)
    }

    /// The id that the run will have.
    #[doc(hidden)]
    pub fn run(&self) -> &str {
        &self.run
    }

    /// The source of model answers.
    pub fn answers_from(&self) -> &AnswersFrom {
        &self.answers_from
    }
    /// Providers that are called at a URL other than the vendor's default.
    pub fn elsewhere(&self) -> &[Elsewhere] {
        &self.elsewhere
    }
    /// The script, if it is the source of answers.
    #[doc(hidden)]
    pub fn script(&self) -> Option<&Arc<Scripted>> {
        self.script.as_ref()
    }
    /// Tests whether the flow accepts an input. Calls nothing.
    ///
    /// # Errors
    ///
    /// [`Error::NotStarted`] if it does not, [`Error::Input`] if the input cannot be written as JSON.
    pub fn check_input(&self, input: impl Serialize) -> Result<()> {
        self.input(input).map(|_| ())
    }
    /// Starts it: see [`Engine::start`].
    ///
    /// # Errors
    ///
    /// As [`Self::check_input`], and [`Error::NoRuntime`] outside a tokio runtime.
    pub fn start(self, input: impl Serialize) -> Result<Run> {
        let input = self.input(input)?;
        tokio::runtime::Handle::try_current().map_err(|_| Error::NoRuntime)?;
        let (ready, options) = self.kept()?;
        ready.spawn(options, |prepared, ports, options| run_prepared(prepared, input, ports, options))
    }

    /// With what is kept of the run.
    #[cfg(feature = "store")]
    fn kept(mut self) -> Result<(Self, Options)> {
        let mut options = self.options();
        match self.kept.clone() {
            Some(owner) => {
                let packed = self.flow.packed();
                (options.sources, options.bundle) = (packed.sources, Some(packed.bundle));
                let (run, parent, content) = (self.run.clone(), self.caller.clone(), self.content);
                let new = trefoil_store::NewRun { run, parent, content, files: packed.blobs, ..Default::default() };
                self.ports.journal = Arc::new(owner.begin(new));
            }
            None => options.sources = self.sources(),
        }
        Ok((self, options))
    }

    #[cfg(not(feature = "store"))]
    fn kept(self) -> Result<(Self, Options)> {
        let options = Options { sources: self.sources(), ..self.options() };
        Ok((self, options))
    }

    /// Puts the run in the store for whoever has a process for it, and returns its id. Nothing is called here.
    #[cfg(feature = "store")]
    #[doc(hidden)]
    pub async fn submit(self, input: impl Serialize) -> Result<String> {
        let input = self.input(input)?;
        let owner = self.kept.clone().ok_or(Error::NoRuntime)?;
        let packed = self.flow.packed();
        let options = Options { sources: packed.sources, bundle: Some(packed.bundle), ..self.options() };
        let first = first_entry(&self.prepared, input, &self.ports, options);
        let batch = trefoil_store::Batch::of_kept(&[first], self.content)?;
        let (run, content, now) = (self.run, self.content, owner.store().clock().wall_ms());
        let new =
            trefoil_store::NewRun { run: run.clone(), content, files: packed.blobs, batch, now, ..Default::default() };
        owner.store().create(new).await?;
        Ok(run)
    }

    /// The files of the flow, if a journal wants to know.
    fn sources(&self) -> Vec<SourceFile> {
        if self.ports.journal.keeps() { self.flow.loaded().sources() } else { Vec::new() }
    }

    /// Resumes a run from its journal.
    #[cfg(feature = "store")]
    #[doc(hidden)]
    pub async fn resume(self, run: &str) -> Result<Run> {
        let owner = self.kept.clone().ok_or(Error::NoRuntime)?;
        let hold = owner.resume(run).await?;
        self.resume_held(hold)
    }

    /// Goes on with a run that this process has taken over.
    #[cfg(feature = "store")]
    #[doc(hidden)]
    pub fn resume_held(mut self, hold: trefoil_store::Hold) -> Result<Run> {
        let run = hold.run().to_owned();
        self.run.clone_from(&run);
        self.ports.journal = Arc::new(hold);
        let options = self.options();
        self.spawn(
            options,
            |prepared, ports, options| async move { resume_prepared(prepared, &run, ports, options).await },
        )
    }

    fn spawn<W>(mut self, options: Options, begin: impl FnOnce(Arc<Prepared>, Ports, Options) -> W) -> Result<Run>
    where
        W: Future<Output = RunOutcome> + Send + 'static,
    {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| Error::NoRuntime)?;
        let (to_handle, events) = to_handle();
        self.ports.events = all(&[self.ports.events.clone(), Arc::new(to_handle)]);
        let (id, cancel) = (self.run.as_str().into(), options.cancel.clone());
        // A future that awaits another one that it was given has room for it twice.
        let (hosts, work) = (self.hosts, Box::pin(begin(self.prepared, self.ports, options)));
        let task = runtime.spawn(async move {
            let outcome = work.await;
            hosts.close().await;
            outcome
        });
        Ok(Run::new(id, self.flow, events, cancel, task))
    }

    /// How the run is run.
    fn options(&self) -> Options {
        let models = models_used(&self.prepared.program).into_iter();
        let models = models.map(|(agent, model)| (agent.to_string(), named(&model))).collect();
        let (basis, memo) = self.basis.clone().unzip();
        Options {
            basis,
            memo,
            answers: self.answers_from.stored(),
            models,
            seed: Some(self.seed),
            run: Some(self.run.clone()),
            max_calls: Some(self.limits.max_calls.unwrap_or(limits::RUN_CALLS)),
            max_cost_micro: self.limits.max_cost_micro,
            changes: self.limits.clone(),
            prices: self.money.prices.clone(),
            fallbacks: self.money.fallbacks.clone(),
            windows: self.money.windows.clone(),
            reserve: self.money.reserve,
            places: self.places.clone(),
            holes: self.hosts.holes.clone(),
            keys: self.hosts.keys.clone(),
            within: self.within.clone(),
            cancel: Cancel::new(),
            recovery: self.recovery,
            placeholder: self.answers_from == AnswersFrom::Embedded,
            answers_from: Some(self.answers_from.to_string()),
            ..Options::default()
        }
    }

    /// The input as the machine takes it; none for `()` and null.
    fn input(&self, input: impl Serialize) -> Result<Option<Value>> {
        let input = match serde_json::to_value(input).map_err(Error::Input)? {
            serde_json::Value::Null => None,
            json => Some(Value::from_json(json)),
        };
        let faults = input_faults(&self.prepared, input.as_ref());
        if faults.is_empty() {
            return Ok(input);
        }
        let reasons = faults.iter().map(|error| explain(INPUT, error)).collect();
        Err(Error::NotStarted(Findings::new(self.flow.loaded().files.clone(), reasons)))
    }
}

impl Engine {
    /// Whether questions can wait.
    fn keeps_runs(&self) -> bool {
        #[cfg(feature = "store")]
        return self.parts.owner.is_some();
        #[cfg(not(feature = "store"))]
        false
    }
}

/// A model as the command line takes it.
fn named(model: &ModelChoice) -> String {
    match &model.provider {
        Some(provider) => format!("{provider}:{}", model.name),
        None => model.name.to_string(),
    }
}

/// The environment, with these files, and the secrets.
fn secrets_of(parts: &Parts, env_texts: &[String]) -> Arc<dyn Secrets> {
    match &parts.secrets {
        Some(secrets) => secrets.clone(),
        None => {
            let environment = env_texts.iter().fold(EnvSecrets::new(), |env, text| env.with_env_file(text));
            Arc::new(OperatorSecrets::new(environment, parts.settings.secrets.clone()))
        }
    }
}

/// Who answers questions; of runs that are kept, their inbox.
fn people(parts: &Parts) -> Option<Arc<dyn HumanInbox>> {
    #[cfg(feature = "store")]
    if let Some(owner) = &parts.owner {
        return Some(Arc::new(trefoil_store::Inbox::new(owner.clone(), parts.humans.clone())));
    }
    parts.humans.clone()
}

/// What tells the time; for runs that are kept, the clock that all hosts of their store share.
fn clock(parts: &Parts) -> Arc<dyn Clock> {
    #[cfg(feature = "store")]
    let shared = parts.owner.as_ref().map(|owner| owner.store().clock());
    #[cfg(not(feature = "store"))]
    let shared = None;
    parts.clock.clone().or(shared).unwrap_or_else(|| Arc::new(SystemClock::new()))
}

/// Prices, context windows and what is reserved for a run that starts now; or what cost limits lack.
fn money(parts: &Parts, aimed: &Aimed, now: u64) -> std::result::Result<Flags, Vec<Diagnostic>> {
    // Prices stay what they were as long as the same models answer.
    let begun = parts.begun.as_deref().map(|begun| &begun.now);
    let program = &aimed.prepared.program;
    let (prices, windows, fallbacks) = match begun.filter(|begun| begun.answers == aimed.from.stored()) {
        Some(begun) => (begun.flags.prices.clone(), begun.flags.windows.clone(), begun.flags.fallbacks.clone()),
        None => {
            let others = prices::others(program, &aimed.fallbacks);
            let prices = prices::of(program, &aimed.from, &others, &parts.settings, now);
            (prices, prices::windows(program, &others), others)
        }
    };
    let reserve = match begun {
        Some(begun) => parts.reserve.unwrap_or(begun.flags.reserve),
        None => parts.reserve.or(parts.settings.reserve).unwrap_or_default(),
    };
    let strict = reserve == Reserve::Bound;
    let windows = match strict {
        // It began without.
        true if windows.is_empty() => prices::windows(program, &fallbacks),
        true => windows,
        false => Vec::new(),
    };
    let money = Flags { prices, windows, reserve, fallbacks, ..Flags::default() };
    let limited = parts.max_cost_micro.is_some()
        || begun.is_some_and(|begun| {
            begun.flags.max_cost_micro.or(begun.basis.as_ref().and_then(|basis| basis.max_cost_micro)).is_some()
        })
        || prices::limits_cost(program);
    let mut missing = if limited { prices::missing(program, &money) } else { Vec::new() };
    if limited && strict && missing.is_empty() {
        missing = prices::unbounded(program, &money);
    }
    if missing.is_empty() { Ok(money) } else { Err(missing) }
}

/// The texts of the environment files, for `env.*` and nothing else; one that cannot be read is a reason not to start.
fn env_texts(loaded: &Loaded, reasons: &mut Vec<Diagnostic>) -> Vec<String> {
    let mut texts = Vec::new();
    for file in &loaded.env_files {
        match file.text() {
            Ok(text) => texts.push(text),
            Err(why) => reasons.push(
                Diagnostic::nowhere(
                    ENV_FILE,
                    Severity::Error,
                    Some(loaded.entry),
                    format!("the environment file `{}` cannot be read: {}", file.path.display(), why.reason()),
                )
                .help("create it with one `NAME=value` per line, or remove `env_file`"),
            ),
        }
    }
    texts
}
