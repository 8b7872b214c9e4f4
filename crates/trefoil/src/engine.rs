//! The engine: a program, the ports it needs, and a run. Wires the defaults; everything can be replaced.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use trefoil::{Engine, LoadOptions, Target};
//!
//! let loaded = trefoil::load(&Target::parse("flows#triage"), &LoadOptions::default()).map_err(|r| r.text())?;
//! let engine = Engine::builder().seed(7).build();
//! let outcome = engine.run(&loaded, Some("my order never came".into())).await.map_err(|not| not.text(&loaded))?;
//! println!("{}", outcome.result?.to_text());
//! # Ok(()) }
//! ```

use std::sync::Arc;

use async_trait::async_trait;
use trefoil_ir::Program;
use trefoil_models::{ModelOverride, ModelPlan, Registry, Scripted, plan::models_used};
use trefoil_runtime::ToolRequest;
use trefoil_runtime::driver::{Options, run_prepared};
use trefoil_runtime::machine::{Prepared, input_faults};
use trefoil_runtime::ports::{
    EnvSecrets, MemoryJournal, NoEvents, NoTools, SeededRandom, SystemClock, SystemRandom, env_file,
};
use trefoil_runtime::{
    Cancel, Clock, CommandHost, Embedded, Event, EventSink, HumanInbox, Journal, Key, ModelProvider, Ports, Random,
    RunError, RunOutcome, Secrets, ToolError, ToolHost,
};
use trefoil_syntax::{Diagnostic, Severity};
use trefoil_template::{Value, limits};

use crate::answers::Answers;
use crate::load::rules::ENV_FILE;
use crate::load::{Loaded, plain};
use crate::preflight::{Host, preflight};

/// The rule of an input that the entry flow does not take.
pub const INPUT: &str = "input-invalid";
/// The rule of models that cannot be asked.
pub const MODEL: &str = "missing-model";

/// Rule name and what it says.
pub const RULES: &[(&str, &str)] = &[
    (INPUT, "the input is not what the entry takes"),
    (MODEL, "a model cannot be asked: its key is not set, or its provider is unknown"),
];

/// Runs programs. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    parts: Arc<EngineBuilder>,
}

/// An engine being put together.
#[derive(Default)]
pub struct EngineBuilder {
    model: Model,
    tools: Option<Arc<dyn ToolHost>>,
    commands: Option<Arc<dyn CommandHost>>,
    humans: Option<Arc<dyn HumanInbox>>,
    answers: Vec<(String, String)>,
    journal: Option<Arc<dyn Journal>>,
    clock: Option<Arc<dyn Clock>>,
    secrets: Option<Arc<dyn Secrets>>,
    events: Vec<Arc<dyn EventSink>>,
    seed: Option<u64>,
    max_calls: Option<u64>,
}

/// Which model answers.
#[derive(Default)]
enum Model {
    /// What the keys in the environment allow.
    #[default]
    Environment,
    /// This one.
    Chosen(ModelOverride),
    /// The embedder's own.
    Provider(Arc<dyn ModelProvider>),
}

impl EngineBuilder {
    /// Which model answers every call, in place of what the manifests name.
    #[must_use]
    pub fn model(mut self, model: ModelOverride) -> Self {
        self.model = Model::Chosen(model);
        self
    }
    /// A model provider of one's own.
    #[must_use]
    pub fn provider(mut self, provider: Arc<dyn ModelProvider>) -> Self {
        self.model = Model::Provider(provider);
        self
    }
    /// The tools that can be called. Without: none, or those of a script.
    #[must_use]
    pub fn tools(mut self, tools: Arc<dyn ToolHost>) -> Self {
        self.tools = Some(tools);
        self
    }
    /// Who runs commands. Without: nobody, and a program that can reach one does not start.
    #[must_use]
    pub fn commands(mut self, commands: Arc<dyn CommandHost>) -> Self {
        self.commands = Some(commands);
        self
    }
    /// Who answers questions. Without: nobody but [`Self::answer`].
    #[must_use]
    pub fn humans(mut self, humans: Arc<dyn HumanInbox>) -> Self {
        self.humans = Some(humans);
        self
    }
    /// The answer of a step that asks a person, by its key or its label. Several for one step are given one after the other, the last one again
    /// and again.
    #[must_use]
    pub fn answer(mut self, step: impl Into<String>, answer: impl Into<String>) -> Self {
        self.answers.push((step.into(), answer.into()));
        self
    }
    /// Where entries are kept. Without: in memory.
    #[must_use]
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = Some(journal);
        self
    }
    /// What tells the time.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }
    /// What `env.*` and `secrets.*` are. Without: the process's environment and the program's environment files.
    #[must_use]
    pub fn secrets(mut self, secrets: Arc<dyn Secrets>) -> Self {
        self.secrets = Some(secrets);
        self
    }
    /// Somebody who watches. May be called more than once.
    #[must_use]
    pub fn events(mut self, events: Arc<dyn EventSink>) -> Self {
        self.events.push(events);
        self
    }
    /// How many model calls a run may make before it ends with `BUDGET_EXCEEDED`;
    /// [`limits::RUN_CALLS`](trefoil_template::limits::RUN_CALLS) without.
    #[must_use]
    pub fn max_calls(mut self, calls: u64) -> Self {
        self.max_calls = Some(calls);
        self
    }
    /// The seed of the embedded model and of retry delays; 0 without.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }
    /// Done.
    pub fn build(self) -> Engine {
        Engine { parts: Arc::new(self) }
    }
}

/// Why a run was not started. Nothing was called.
#[derive(Debug, Clone, Default)]
pub struct NotStarted {
    /// Every reason.
    pub reasons: Vec<Diagnostic>,
}

impl NotStarted {
    /// For people, without colours.
    pub fn text(&self, loaded: &Loaded) -> String {
        plain(&self.reasons, &loaded.files)
    }
}

/// A run that can start.
pub struct Ready {
    prepared: Arc<Prepared>,
    ports: Ports,
    seed: u64,
    max_calls: u64,
    /// What answers, as outputs name it.
    pub answers_from: AnswersFrom,
    script: Option<Arc<Scripted>>,
}

/// What answers model calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswersFrom {
    /// The embedded model.
    Embedded,
    /// This script.
    Script(std::path::PathBuf),
    /// This model, every call.
    One(String),
    /// The models that the manifest names.
    AsWritten,
    /// The embedder's provider.
    Provider,
}

impl std::fmt::Display for AnswersFrom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Embedded => f.write_str("embedded model"),
            Self::Script(path) => write!(f, "answers from {}", path.display()),
            Self::One(model) => f.write_str(model),
            Self::AsWritten => f.write_str("models from the manifest"),
            Self::Provider => f.write_str("own model provider"),
        }
    }
}

impl Engine {
    /// An engine to put together.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }
    /// Runs a program to its end, if it can start.
    pub async fn run(&self, loaded: &Loaded, input: Option<Value>) -> Result<RunOutcome, NotStarted> {
        let ready = self.ready(loaded)?;
        ready.check_input(input.as_ref())?;
        Ok(ready.run(input, Cancel::new()).await)
    }
    /// Everything a run needs, or everything that is missing. Calls nothing.
    pub fn ready(&self, loaded: &Loaded) -> Result<Ready, NotStarted> {
        let parts = &self.parts;
        let program = Arc::new(loaded.program.clone());
        let mut reasons = Vec::new();
        let env_texts = env_texts(loaded, &mut reasons);
        let seed = parts.seed.unwrap_or(0);
        let Source { from: answers_from, provider, script } = self.source(&program, &env_texts, seed);
        let provider = provider.map_err(|reason| reasons.push(reason)).ok();
        let tools: Arc<dyn ToolHost> = match (&parts.tools, &script) {
            (Some(own), Some(script)) => Arc::new(Either(own.clone(), script.clone())),
            (Some(own), None) => own.clone(),
            (None, Some(script)) => script.clone(),
            (None, None) => Arc::new(NoTools),
        };
        let answered: Vec<String> = parts.answers.iter().map(|(step, _)| step.clone()).collect();
        reasons.extend(preflight(
            &program,
            &Host {
                tools: &*tools,
                commands: parts.commands.is_some(),
                people: parts.humans.is_some(),
                answers: &answered,
                embedded: answers_from == AnswersFrom::Embedded,
            },
        ));
        let Some(models) = provider.filter(|_| reasons.is_empty()) else { return Err(NotStarted { reasons }) };
        let secrets = parts
            .secrets
            .clone()
            .unwrap_or_else(|| Arc::new(env_texts.iter().fold(EnvSecrets::new(), |env, text| env.with_env_file(text))));
        let random: Arc<dyn Random> = match parts.seed {
            Some(seed) => Arc::new(SeededRandom::new(seed)),
            None => Arc::new(SystemRandom),
        };
        let humans = Arc::new(Answers::new(&program, &parts.answers, parts.humans.clone()));
        let ports = Ports {
            models,
            tools,
            commands: parts.commands.clone(),
            humans,
            journal: parts.journal.clone().unwrap_or_else(|| Arc::new(MemoryJournal::new())),
            clock: parts.clock.clone().unwrap_or_else(|| Arc::new(SystemClock::new())),
            random,
            secrets,
            events: match parts.events.as_slice() {
                [] => Arc::new(NoEvents),
                [one] => one.clone(),
                all => Arc::new(Fan(all.to_vec())),
            },
        };
        let max_calls = parts.max_calls.unwrap_or(limits::RUN_CALLS);
        Ok(Ready { prepared: Prepared::new(program), ports, seed, max_calls, answers_from, script })
    }

    fn source(&self, program: &Program, env_texts: &[String], seed: u64) -> Source {
        let chosen = match &self.parts.model {
            Model::Provider(own) => return Source::of(AnswersFrom::Provider, own.clone()),
            Model::Chosen(chosen) => Some(chosen),
            Model::Environment => None,
        };
        let registry = registry(env_texts);
        let plan = match ModelPlan::decide_for(&models_used(program), &registry, chosen) {
            Ok(plan) => plan,
            Err(error) => return Source::missing(AnswersFrom::AsWritten, error.message, error.help),
        };
        match plan {
            ModelPlan::Embedded => Source::of(AnswersFrom::Embedded, Arc::new(Embedded::new(program, seed))),
            ModelPlan::AsWritten => Source::of(AnswersFrom::AsWritten, registry.by_name()),
            ModelPlan::Named { provider, model } => {
                let from = AnswersFrom::One(format!("{provider}:{model}"));
                match registry.resolve(&provider, &model) {
                    Ok(found) => Source::of(from, found),
                    Err(error) => Source::missing(from, error.message, None),
                }
            }
            ModelPlan::Scripted(path) => match Scripted::read(&path) {
                Ok(script) => {
                    let script = Arc::new(script);
                    Source { script: Some(script.clone()), ..Source::of(AnswersFrom::Script(path), script) }
                }
                Err(error) => Source::missing(AnswersFrom::Script(path), error.message, None),
            },
        }
    }
}

/// Who answers.
struct Source {
    from: AnswersFrom,
    provider: Result<Arc<dyn ModelProvider>, Diagnostic>,
    script: Option<Arc<Scripted>>,
}

impl Source {
    fn of(from: AnswersFrom, provider: Arc<dyn ModelProvider>) -> Self {
        Self { from, provider: Ok(provider), script: None }
    }
    fn missing(from: AnswersFrom, message: String, help: Option<String>) -> Self {
        let d = Diagnostic { help, ..Diagnostic::nowhere(MODEL, Severity::Error, None, message) };
        Self { from, provider: Err(d), script: None }
    }
}

/// The providers as the environment and the program's environment files set them up. The environment wins.
fn registry(env_texts: &[String]) -> Registry {
    let files = env_texts.iter().flat_map(|text| env_file(text));
    let own = std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
    Registry::new(files.chain(own))
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
                .help("create it, or remove `env_file`; it holds one `NAME=value` a line"),
            ),
        }
    }
    texts
}

impl Ready {
    /// Whether the entry takes an input. Calls nothing: the machine begins, and is asked no further.
    pub fn check_input(&self, input: Option<&Value>) -> Result<(), NotStarted> {
        let faults = input_faults(&self.prepared, input);
        if faults.is_empty() {
            return Ok(());
        }
        Err(NotStarted { reasons: faults.iter().map(|error| explain(INPUT, error)).collect() })
    }
    /// Runs to the end, or until `cancel` is used.
    pub async fn run(self, input: Option<Value>, cancel: Cancel) -> RunOutcome {
        let options = Options {
            seed: Some(self.seed),
            run: None,
            max_calls: Some(self.max_calls),
            cancel,
            answers_from: Some(self.answers_from.to_string()),
            placeholder: self.answers_from == AnswersFrom::Embedded,
        };
        run_prepared(self.prepared, input, self.ports, options).await
    }
    /// The script, where answers come from one.
    pub fn script(&self) -> Option<&Arc<Scripted>> {
        self.script.as_ref()
    }
}

/// A run's failure as a finding at its place.
pub fn explain(rule: &'static str, error: &RunError) -> Diagnostic {
    let d = match error.location {
        Some(at) => Diagnostic::error(rule, at, error.message.clone()),
        None => Diagnostic::nowhere(rule, Severity::Error, None, error.message.clone()),
    };
    match &error.help {
        Some(help) => d.help(help.clone()),
        None => d,
    }
}

/// Two tool hosts; the first that offers a tool calls it.
struct Either(Arc<dyn ToolHost>, Arc<dyn ToolHost>);

#[async_trait]
impl ToolHost for Either {
    fn offers(&self, name: &str) -> bool {
        self.0.offers(name) || self.1.offers(name)
    }
    async fn call(&self, key: &Key, request: &ToolRequest) -> Result<Value, ToolError> {
        let host = if self.0.offers(&request.name) { &self.0 } else { &self.1 };
        host.call(key, request).await
    }
}

/// Several who watch.
struct Fan(Vec<Arc<dyn EventSink>>);

impl EventSink for Fan {
    fn wants_provenance(&self) -> bool {
        self.0.iter().any(|sink| sink.wants_provenance())
    }
    fn event(&self, event: &Event) {
        for sink in &self.0 {
            sink.event(event);
        }
    }
}
