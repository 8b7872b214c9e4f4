//! A run that can start: everything it needs is there.

use std::sync::Arc;

use serde::Serialize;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use trefoil_ir::ModelChoice;
use trefoil_machine::{Prepared, input_faults};
use trefoil_models::plan::models_used;
use trefoil_models::{Elsewhere, Scripted};
use trefoil_runtime::driver::{Options, resume_prepared, run_prepared};
use trefoil_runtime::ports::{EnvSecrets, NoJournal, NoTools, SystemClock, SystemRandom};
use trefoil_runtime::{Cancel, Ports, RunOutcome, ToolHost};
use trefoil_syntax::{Diagnostic, Severity};
use trefoil_template::{Value, limits};

use super::models::script;
use super::tools::All;
use super::watch::{ToHandle, all};
use super::{AnswersFrom, Engine, INPUT, explain};
use crate::answers::Answers;
use crate::error::{Error, Findings, Result};
use crate::flow::Flow;
use crate::load::Loaded;
use crate::load::rules::ENV_FILE;
use crate::preflight::{Host, preflight};
use crate::run::Run;

/// A run that can start. Nothing was called yet.
pub struct Ready {
    flow: Flow,
    prepared: Arc<Prepared>,
    ports: Ports,
    run: String,
    seed: u64,
    max_calls: u64,
    answers_from: AnswersFrom,
    elsewhere: Vec<Elsewhere>,
    script: Option<Arc<Scripted>>,
    #[cfg(feature = "store")]
    owner: Option<Arc<trefoil_store::Owner>>,
}

impl Ready {
    /// For a flow, or everything that is missing.
    pub(super) fn new(engine: &Engine, flow: &Flow) -> std::result::Result<Self, Findings> {
        let (parts, loaded) = (&*engine.parts, flow.loaded());
        let mut reasons = Vec::new();
        let env_texts = env_texts(loaded, &mut reasons);
        let aimed = engine.kept.aimed(parts, flow).map_err(|why| reasons.extend(why)).ok();
        let script = aimed.as_ref().map(|aimed| script(&aimed.from)).transpose();
        let script = script.map_err(|why| reasons.push(why)).ok().flatten().flatten();
        let mut hosts: Vec<Arc<dyn ToolHost>> = Vec::new();
        if !parts.closures.is_empty() {
            hosts.push(Arc::new(parts.closures.clone()));
        }
        hosts.extend(parts.tools.clone());
        hosts.extend(script.clone().map(|script| script as Arc<dyn ToolHost>));
        let tools: Arc<dyn ToolHost> = match hosts.as_slice() {
            [] => Arc::new(NoTools),
            [one] => one.clone(),
            _ => Arc::new(All(hosts)),
        };
        let program = &loaded.program;
        let host = Host {
            tools: &*tools,
            commands: parts.commands.is_some(),
            people: parts.humans.is_some(),
            answers: &parts.answers,
            embedded: aimed.as_ref().is_some_and(|aimed| aimed.from == AnswersFrom::Embedded),
        };
        reasons.extend(preflight(program, &host));
        let models = aimed.as_ref().and_then(|aimed| aimed.provider.clone());
        let models = models.or_else(|| script.clone().map(|script| script as _));
        let (Some(aimed), Some(models), true) = (aimed, models, reasons.is_empty()) else {
            return Err(Findings::new(loaded.files.clone(), reasons));
        };
        let environment = || Arc::new(env_texts.iter().fold(EnvSecrets::new(), |env, text| env.with_env_file(text)));
        let random = parts.random.clone().unwrap_or_else(|| Arc::new(SystemRandom));
        let ports = Ports {
            models,
            tools,
            commands: parts.commands.clone(),
            humans: Arc::new(Answers::new(program, &parts.answers, parts.humans.clone())),
            journal: parts.journal.clone().unwrap_or_else(|| Arc::new(NoJournal)),
            clock: parts.clock.clone().unwrap_or_else(|| Arc::new(SystemClock::new())),
            secrets: parts.secrets.clone().unwrap_or_else(|| environment()),
            events: all(&parts.events),
            random,
        };
        Ok(Self {
            flow: flow.clone(),
            prepared: aimed.prepared.clone(),
            run: format!("{:016x}", ports.random.next()),
            ports,
            seed: parts.seed.unwrap_or(0),
            max_calls: parts.max_calls.unwrap_or(limits::RUN_CALLS),
            answers_from: aimed.from.clone(),
            elsewhere: aimed.elsewhere.clone(),
            script,
            #[cfg(feature = "store")]
            owner: parts.owner.clone(),
        })
    }

    /// What answers model calls.
    pub fn answers_from(&self) -> &AnswersFrom {
        &self.answers_from
    }
    /// Providers that are called at an address that is not the vendor's own.
    pub fn elsewhere(&self) -> &[Elsewhere] {
        &self.elsewhere
    }
    /// The script, where answers come from one.
    #[doc(hidden)]
    pub fn script(&self) -> Option<&Arc<Scripted>> {
        self.script.as_ref()
    }
    /// Whether the flow accepts an input. Calls nothing.
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
    pub fn start(mut self, input: impl Serialize) -> Result<Run> {
        let input = self.input(input)?;
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| Error::NoRuntime)?;
        #[cfg(feature = "store")]
        if let Some(owner) = &self.owner {
            self.ports.journal = Arc::new(owner.begin(super::store::new_run(&self.run, self.flow.loaded())));
        }
        let (options, handle) = self.handle();
        let task = runtime.spawn(run_prepared(self.prepared, input, self.ports, options));
        Ok(handle(task))
    }
    /// Continues a run: see [`Engine::resume`].
    ///
    /// # Errors
    ///
    /// With a store: another process works on the run, or there is no such run. [`Error::NoRuntime`] outside a tokio runtime.
    #[cfg_attr(not(feature = "store"), allow(clippy::unused_async, reason = "a store is asked for the run"))]
    pub async fn resume(mut self, run: &str) -> Result<Run> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| Error::NoRuntime)?;
        self.run = run.to_owned();
        #[cfg(feature = "store")]
        if let Some(owner) = &self.owner {
            self.ports.journal = Arc::new(owner.resume(run).await.map_err(Error::Store)?);
        }
        let (options, handle) = self.handle();
        let task = runtime.spawn(async move { resume_prepared(self.prepared, &self.run, self.ports, options).await });
        Ok(handle(task))
    }

    /// How the run is run, and what makes the handle of its task.
    fn handle(&mut self) -> (Options, impl FnOnce(JoinHandle<RunOutcome>) -> Run + use<>) {
        let (sender, events) = mpsc::unbounded_channel();
        self.ports.events = all(&[self.ports.events.clone(), Arc::new(ToHandle(sender))]);
        let (id, flow, cancel) = (self.run.as_str().into(), self.flow.clone(), Cancel::new());
        let keeps = self.ports.journal.keeps();
        let sources = if keeps { self.flow.loaded().sources() } else { Vec::new() };
        let models = models_used(&self.prepared.program).into_iter();
        let models = models.map(|(agent, model)| (agent.to_string(), named(&model))).collect();
        let options = Options {
            sources,
            answers: self.answers_from.stored(),
            models,
            seed: Some(self.seed),
            run: Some(self.run.clone()),
            max_calls: Some(self.max_calls),
            cancel: cancel.clone(),
            placeholder: self.answers_from == AnswersFrom::Embedded,
            answers_from: Some(self.answers_from.to_string()),
            ..Options::default()
        };
        (options, move |task| Run::new(id, flow, events, cancel, task))
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

/// A model as the command line takes it.
fn named(model: &ModelChoice) -> String {
    match &model.provider {
        Some(provider) => format!("{provider}:{}", model.name),
        None => model.name.to_string(),
    }
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
