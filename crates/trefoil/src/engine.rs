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
use trefoil_embedded::Embedded;
use trefoil_ir::Program;
use trefoil_machine::{Prepared, input_faults};
use trefoil_models::{Asked, Elsewhere, Limits, ModelOverride, ModelPlan, Registry, Scripted, plan::models_used};
use trefoil_runtime::ToolRequest;
use trefoil_runtime::driver::{Options, run_prepared};
use trefoil_runtime::ports::{EnvSecrets, MemoryJournal, NoEvents, NoTools, SeededRandom, SystemClock, SystemRandom};
use trefoil_runtime::{
    Cancel, Clock, CommandHost, Event, EventSink, HumanInbox, Journal, Key, ModelProvider, Ports, Random, RunError,
    RunOutcome, Secrets, ToolError, ToolHost,
};
use trefoil_syntax::{Diagnostic, Location, Severity};
use trefoil_template::{Value, limits};

use crate::answers::Answers;
use crate::load::rules::ENV_FILE;
use crate::load::{Loaded, plain};
use crate::preflight::{Host, preflight};
use crate::settings::Settings;

/// The rule of an input that the entry flow does not take.
pub const INPUT: &str = "input-invalid";
/// The rule of models that cannot be asked.
pub const MODEL: &str = "missing-model";

/// Rule name and what it says.
pub const RULES: &[(&str, &str)] = &[
    (INPUT, "the input is not what the entry takes"),
    (MODEL, "a model cannot be asked: its key is not set, its alias has no model, or its provider is not known"),
];

/// Runs programs. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    parts: Arc<EngineBuilder>,
}

/// An engine being put together.
#[derive(Default)]
pub struct EngineBuilder {
    provider: Option<Arc<dyn ModelProvider>>,
    models: Vec<ModelOverride>,
    placeholders: bool,
    registry: Option<Registry>,
    settings: Settings,
    limits: Limits,
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

impl EngineBuilder {
    /// What the operator's files say of models and providers. What is chosen by [`Self::model`] and set in the environment
    /// comes first.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }
    /// Which model answers, instead of what the manifests name: every call, or those of an alias, an agent or a step. May be
    /// called more than once.
    #[must_use]
    pub fn model(mut self, model: ModelOverride) -> Self {
        self.models.push(model);
        self
    }
    /// Whether the embedded model may answer unasked where no provider is set up at all. Only for somebody who shows that the
    /// answers are placeholders (decision C13). Without: a program whose models cannot be asked does not start.
    #[must_use]
    pub fn placeholders(mut self, placeholders: bool) -> Self {
        self.placeholders = placeholders;
        self
    }
    /// The providers' addresses and keys. Without: those in the process's environment.
    #[must_use]
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registry = Some(registry);
        self
    }
    /// How long a model call may take.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
    /// A model provider of one's own.
    #[must_use]
    pub fn provider(mut self, provider: Arc<dyn ModelProvider>) -> Self {
        self.provider = Some(provider);
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
    /// [`limits::RUN_CALLS`] without.
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
    /// Providers that are called at an address that is not the vendor's own: said before the first call.
    pub elsewhere: Vec<Elsewhere>,
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
        let mut program = loaded.program.clone();
        let mut reasons = Vec::new();
        let env_texts = env_texts(loaded, &mut reasons);
        let seed = parts.seed.unwrap_or(0);
        let Source { from: answers_from, provider, script, elsewhere } = self.source(&mut program, seed);
        let program = Arc::new(program);
        let provider = provider.map_err(|why| reasons.extend(why)).ok();
        let tools: Arc<dyn ToolHost> = match (&parts.tools, &script) {
            (Some(own), Some(script)) => Arc::new(Either(own.clone(), script.clone())),
            (Some(own), None) => own.clone(),
            (None, Some(script)) => script.clone(),
            (None, None) => Arc::new(NoTools),
        };
        reasons.extend(preflight(
            &program,
            &Host {
                tools: &*tools,
                commands: parts.commands.is_some(),
                people: parts.humans.is_some(),
                answers: &parts.answers,
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
        Ok(Ready { prepared: Prepared::new(program), ports, seed, max_calls, answers_from, elsewhere, script })
    }

    /// Decides what answers, and writes it into a program without running it: what [`Self::ready`] would use.
    pub fn aim(&self, program: &mut Program) -> Result<(AnswersFrom, Vec<Elsewhere>), Vec<Diagnostic>> {
        let source = self.source(program, 0);
        source.provider.map(|_| (source.from, source.elsewhere))
    }

    /// The models of the operator's files that this program has a use for, then those that were chosen for this run. One that
    /// was chosen for every call leaves nothing to the files.
    fn chosen(&self, program: &Program) -> Vec<ModelOverride> {
        let parts = &self.parts;
        let by_name = |model: &ModelOverride| match model {
            ModelOverride::For { name, .. } => trefoil_models::plan::names(program, name),
            _ => false,
        };
        let settled = parts.models.iter().any(|model| !matches!(model, ModelOverride::For { .. }));
        let of_files = parts.settings.models.iter().filter(|model| !settled && by_name(model));
        of_files.chain(&parts.models).cloned().collect()
    }

    fn source(&self, program: &mut Program, seed: u64) -> Source {
        let parts = &self.parts;
        if let Some(own) = &parts.provider {
            return Source::of(AnswersFrom::Provider, own.clone());
        }
        // The operator's environment and nothing that a manifest names: an `env_file` is for `env.*`.
        let registry = parts.registry.clone().unwrap_or_else(Registry::from_env);
        let registry = registry.with_limits(parts.limits);
        let says = &parts.settings.addresses;
        let registry =
            says.iter().fold(registry, |r, (provider, address, file)| r.with_address(provider, address, file));
        let chosen = self.chosen(program);
        let asked = Asked { chosen: &chosen, placeholders: parts.placeholders };
        let plan = match ModelPlan::decide(program, &registry, asked) {
            Ok(plan) => plan,
            Err(errors) => {
                let reasons = errors.into_iter().map(|e| missing(e.place, e.message, e.help)).collect();
                return Source { provider: Err(reasons), ..Source::of(AnswersFrom::AsWritten, registry.by_name()) };
            }
        };
        match plan {
            ModelPlan::Embedded => Source::of(AnswersFrom::Embedded, Arc::new(Embedded::new(program, seed))),
            ModelPlan::AsWritten => Source::real(AnswersFrom::AsWritten, &registry, program),
            ModelPlan::Named { provider, model } => {
                Source::real(AnswersFrom::One(format!("{provider}:{model}")), &registry, program)
            }
            ModelPlan::Scripted(path) => match Scripted::read(&path) {
                Ok(script) => {
                    let script = Arc::new(script);
                    Source { script: Some(script.clone()), ..Source::of(AnswersFrom::Script(path), script) }
                }
                Err(error) => {
                    let provider = Err(vec![missing(None, error.message, None)]);
                    Source { provider, ..Source::of(AnswersFrom::Script(path), registry.by_name()) }
                }
            },
        }
    }
}

/// Who answers.
struct Source {
    from: AnswersFrom,
    provider: Result<Arc<dyn ModelProvider>, Vec<Diagnostic>>,
    script: Option<Arc<Scripted>>,
    elsewhere: Vec<Elsewhere>,
}

impl Source {
    fn of(from: AnswersFrom, provider: Arc<dyn ModelProvider>) -> Self {
        Self { from, provider: Ok(provider), script: None, elsewhere: Vec::new() }
    }
    fn real(from: AnswersFrom, registry: &Registry, program: &Program) -> Self {
        let mut elsewhere: Vec<Elsewhere> = Vec::new();
        for (_, model) in models_used(program) {
            let found = model.provider.as_deref().and_then(|provider| registry.elsewhere(provider));
            elsewhere.extend(found.filter(|found| !elsewhere.contains(found)));
        }
        Self { elsewhere, ..Self::of(from, registry.by_name()) }
    }
}

fn missing(place: Option<Location>, message: String, help: Option<String>) -> Diagnostic {
    let d = match place {
        Some(at) => Diagnostic::error(MODEL, at, message),
        None => Diagnostic::nowhere(MODEL, Severity::Error, None, message),
    };
    Diagnostic { help, ..d }
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
