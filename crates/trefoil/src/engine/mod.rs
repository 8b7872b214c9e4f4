//! The engine: what runs are made with. Wires the defaults; everything can be replaced.

mod flows;
mod hosts;
mod models;
mod prices;
mod ready;
#[cfg(feature = "store")]
mod store;
mod tools;
mod watch;

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use trefoil_ir::Program;
use trefoil_machine::{Reserve, Started};
use trefoil_models::{Limits, ModelOverride, PlanError, Registry};
use trefoil_runtime::ports::{SeededRandom, SystemClock};
use trefoil_runtime::{
    Clock, CommandHost, EventSink, HostLimits, HumanInbox, Journal, ModelProvider, Places, Random, Recovery, RunError,
    Secrets, ToolHost, ToolSpec,
};
use trefoil_syntax::{Diagnostic, Severity};
use trefoil_tools::Python;

use crate::error::{BoxError, Error, Result};
use crate::flow::Flow;
use crate::run::Run;
use crate::settings::Settings;

pub use models::{Answering, AnswersFrom};
pub use ready::Ready;
pub(crate) use watch::Events;

use models::Kept;
use tools::Closures;

/// The rule of an input that the entry flow does not take.
pub const INPUT: &str = "input-invalid";
/// The rule of models that cannot be asked.
pub const MODEL: &str = "missing-model";
/// The rule of a limit on money that cannot be held, because the price of a model is not known.
pub const PRICE: &str = "unknown-price";
/// The rule of a strict limit on money that cannot be held, because nobody knows the most that a call can cost.
pub const BOUND: &str = "unknown-bound";

/// Rule name and what it says.
pub const RULES: &[(&str, &str)] = &[
    (INPUT, "the input does not match the schema of the entry"),
    (PRICE, "a limit on money needs the price of every model, and one of them is not known"),
    (BOUND, "a strict limit on money needs the most that each call can cost, and nobody knows it for one of them"),
    (MODEL, "a model cannot be called: its key is not set, its alias has no model, or its provider is unknown"),
];

/// Starts runs of [flows](Flow).
///
/// An engine is put together by its methods and then only used: `start` takes `&self`, clones are cheap and share what was
/// worked out. Whatever is not set has a default that needs nothing: models are those that the manifest names, with the keys
/// in the process's environment; there are no tools, no commands and nobody to ask; no journal is kept.
///
/// A flow is prepared once. Its schemas and patterns are compiled when they are first needed, and every later run of the
/// flow uses them.
///
/// ```
/// use trefoil::{Engine, Flow};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> trefoil::Result<()> {
/// let hello = Flow::from_text("hello.yaml", "id: hello\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninstruction: Say hello.\n")?;
/// let engine = Engine::new().model("embedded");
/// let text: String = engine.start(&hello, ())?.output().await?;
/// assert!(text.starts_with("[embedded] hello"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Engine {
    parts: Arc<Parts>,
    /// What was worked out for these parts. Other parts start again.
    kept: Arc<Kept>,
}

/// A run that is to be gone on with.
struct Begun {
    /// How it began: what its program is.
    #[cfg(feature = "store")]
    first: Started,
    /// The same with the models that answer now.
    now: Started,
}

/// What an engine is made of.
#[derive(Clone, Default)]
struct Parts {
    provider: Option<Arc<dyn ModelProvider>>,
    models: Vec<ModelOverride>,
    wrong_models: Vec<PlanError>,
    /// The models are those that a run began with, and nobody chose them.
    models_of_run: bool,
    placeholders: bool,
    registry: Option<Registry>,
    settings: Settings,
    limits: Limits,
    closures: Closures,
    tools: Option<Arc<dyn ToolHost>>,
    http: Option<crate::http::Rules>,
    python: Option<Python>,
    commands: Option<Arc<dyn CommandHost>>,
    humans: Option<Arc<dyn HumanInbox>>,
    answers: Vec<(String, String)>,
    journal: Option<Arc<dyn Journal>>,
    clock: Option<Arc<dyn Clock>>,
    secrets: Option<Arc<dyn Secrets>>,
    events: Vec<Arc<dyn EventSink>>,
    seed: Option<u64>,
    random: Option<Arc<dyn Random>>,
    max_calls: Option<u64>,
    max_cost_micro: Option<u64>,
    reserve: Option<Reserve>,
    /// Other parts share them: a limit of the host is one for all runs.
    places: Arc<Places>,
    recovery: Recovery,
    /// The run that is to be gone on with.
    begun: Option<Arc<Begun>>,
    /// How many runs call the runs of this engine, one above the other.
    depth: u32,
    /// What its runs may use of the allowance of the run whose tool they are.
    within: Option<trefoil_runtime::Part>,
    /// That run.
    #[cfg(feature = "store")]
    caller: Option<String>,
    #[cfg(feature = "store")]
    owner: Option<Arc<trefoil_store::Owner>>,
    #[cfg(feature = "store")]
    content: trefoil_store::Content,
    /// Answers of earlier runs are used: of this one, or of all.
    #[cfg(feature = "store")]
    answers_of: Option<Option<String>>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine with the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    fn with(mut self, change: impl FnOnce(&mut Parts)) -> Self {
        change(Arc::make_mut(&mut self.parts));
        Self { parts: self.parts, kept: Arc::default() }
    }

    /// Adds a tool: an async closure from its arguments to its result, both read and written by serde. The later of two tools
    /// with one name counts.
    ///
    /// An error becomes the failure of the step that called the tool, which its retries and its `on failure` go by. Every
    /// error type will do: `?` works in the closure. So does [`ToolError::Timeout`](crate::ports::ToolError::Timeout).
    /// Arguments that do not fit the closure's type are such a failure, too.
    ///
    /// The future that the closure returns must not borrow from the closure: what it uses of its surroundings it clones.
    ///
    /// ```
    /// # use trefoil::Engine;
    /// #[derive(serde::Deserialize)]
    /// struct City {
    ///     city: String,
    /// }
    ///
    /// let known = std::sync::Arc::new(vec!["Bergen".to_owned()]);
    /// let engine = Engine::new()
    ///     .tool("length", async |city: City| Ok(city.city.len()))
    ///     .tool("known", move |city: City| {
    ///         let known = known.clone();
    ///         async move { Ok(known.contains(&city.city)) }
    ///     });
    /// ```
    #[must_use]
    pub fn tool<A, R, F, W>(self, name: impl Into<String>, tool: F) -> Self
    where
        F: Fn(A) -> W + Send + Sync + 'static,
        W: Future<Output = std::result::Result<R, BoxError>> + Send + 'static,
        A: DeserializeOwned + Send + 'static,
        R: Serialize + Send + 'static,
    {
        self.with(|parts| parts.closures.add(ToolSpec::bare(name.into()), tool))
    }
    /// The same with a description: what the models of agents read, the JSON Schema of the arguments, and whether it may be
    /// called twice.
    #[must_use]
    pub fn described_tool<A, R, F, W>(self, spec: ToolSpec, tool: F) -> Self
    where
        F: Fn(A) -> W + Send + Sync + 'static,
        W: Future<Output = std::result::Result<R, BoxError>> + Send + 'static,
        A: DeserializeOwned + Send + 'static,
        R: Serialize + Send + 'static,
    {
        self.with(|parts| parts.closures.add(spec, tool))
    }
    /// Other tools, where those of [`tool`](Self::tool) are not enough: a host is asked by name.
    #[must_use]
    pub fn tools(self, tools: impl ToolHost + 'static) -> Self {
        self.with(|parts| parts.tools = Some(Arc::new(tools)))
    }
    /// Which model answers, instead of what the manifests name: `"provider:name"`, `"embedded"` or `"scripted=FILE"` for every
    /// call; `"NAME=provider:name"` for an alias, an agent or a step. May be called more than once. What is none of these keeps
    /// runs from starting.
    #[must_use]
    pub fn model<M>(self, model: M) -> Self
    where
        M: TryInto<ModelOverride>,
        M::Error: Into<PlanError>,
    {
        self.with(|parts| match model.try_into() {
            Ok(model) => parts.models.push(model),
            Err(error) => parts.wrong_models.push(error.into()),
        })
    }
    /// A model provider of your own. It answers every call.
    #[must_use]
    pub fn provider(self, provider: impl ModelProvider + 'static) -> Self {
        self.with(|parts| parts.provider = Some(Arc::new(provider)))
    }
    /// The providers' addresses and keys. Without: those in the process's environment as it is at the first run.
    #[must_use]
    pub fn registry(self, registry: Registry) -> Self {
        self.with(|parts| parts.registry = Some(registry))
    }
    /// How long a model call may take.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        self.with(|parts| parts.limits = limits)
    }
    /// How many model calls may be under way at once, and how fast they may follow each other: for all runs of this engine, of its
    /// clones and of what they are made into. Without: 64 at once. Calls beyond that wait, in the order in which they came. The
    /// embedded model and scripted answers do not wait.
    #[must_use]
    pub fn host_limits(self, limits: &HostLimits) -> Self {
        let places = Arc::new(Places::new(limits));
        self.with(|parts| parts.places = places)
    }
    /// What the operator's files say of models and providers. What is chosen by [`Self::model`] and set in the environment
    /// comes first.
    #[doc(hidden)]
    #[must_use]
    pub fn settings(self, settings: Settings) -> Self {
        let limits = settings.limits.clone();
        let engine = self.with(|parts| parts.settings = settings);
        limits.iter().fold(engine, Self::host_limits)
    }
    /// Whether the embedded model may answer unasked where no provider is set up at all. Only for somebody who shows that the
    /// answers are placeholders (decision C13). Without: a flow whose models cannot be asked does not start.
    #[doc(hidden)]
    #[must_use]
    pub fn placeholders(self, placeholders: bool) -> Self {
        self.with(|parts| parts.placeholders = placeholders)
    }
    /// HTTP tools of manifests are called, as these rules allow. Without: no HTTP tools. Nothing is called either where the
    /// embedded model or a script answers.
    #[must_use]
    pub fn http(self, rules: crate::http::Rules) -> Self {
        self.with(|parts| parts.http = Some(rules))
    }
    /// Python functions of manifests are called, with this interpreter. Without: none. A manifest can name every module that the
    /// interpreter finds. None is called where the embedded model or a script answers.
    #[must_use]
    pub fn python(self, python: Python) -> Self {
        self.with(|parts| parts.python = Some(python))
    }
    /// Who runs commands. Without: no one, and a flow that can reach a command does not start.
    #[must_use]
    pub fn commands(self, commands: impl CommandHost + 'static) -> Self {
        self.with(|parts| parts.commands = Some(Arc::new(commands)))
    }
    /// Who answers questions. Without: nobody but [`Self::answer`].
    #[must_use]
    pub fn humans(self, humans: impl HumanInbox + 'static) -> Self {
        self.with(|parts| parts.humans = Some(Arc::new(humans)))
    }
    /// The answer of a step that asks a person, by its key or its label. Several for one step are given one after the other,
    /// the last one again and again.
    #[must_use]
    pub fn answer(self, step: impl Into<String>, answer: impl Into<String>) -> Self {
        self.with(|parts| parts.answers.push((step.into(), answer.into())))
    }
    /// Where the entries of runs are kept. Without: nowhere.
    #[must_use]
    pub fn journal(self, journal: impl Journal + 'static) -> Self {
        self.with(|parts| parts.journal = Some(Arc::new(journal)))
    }
    /// What becomes of tools and commands that were running when a process ended, of which nobody knows whether they were done.
    #[must_use]
    pub fn recovery(self, recovery: Recovery) -> Self {
        self.with(|parts| parts.recovery = recovery)
    }
    /// What tells the time.
    #[must_use]
    pub fn clock(self, clock: impl Clock + 'static) -> Self {
        self.with(|parts| parts.clock = Some(Arc::new(clock)))
    }
    /// What `env.*` stands for. Without: the process's environment and the flow's environment files.
    #[must_use]
    pub fn secrets(self, secrets: impl Secrets + 'static) -> Self {
        self.with(|parts| parts.secrets = Some(Arc::new(secrets)))
    }
    /// Somebody who watches every run, besides whoever holds its handle. May be called more than once.
    #[must_use]
    pub fn events(self, events: impl EventSink + 'static) -> Self {
        self.with(|parts| parts.events.push(Arc::new(events)))
    }
    /// How many model calls a run may make before it ends with `BUDGET_EXCEEDED`; 10,000 without.
    #[must_use]
    pub fn max_calls(self, calls: u64) -> Self {
        self.with(|parts| parts.max_calls = Some(calls))
    }
    /// How many micro-dollars a run may spend before it ends with `BUDGET_EXCEEDED`; as many as it wants without. What a call is
    /// expected to cost is set aside before it starts, so at most the calls that are under way can cost more than that. A run
    /// whose prices are not all known does not start.
    #[must_use]
    pub fn max_cost_micro(self, micro_dollars: u64) -> Self {
        self.with(|parts| parts.max_cost_micro = Some(micro_dollars))
    }
    /// What a limit on money sets aside for a call before it starts: what it is expected to cost, or the most that it can cost, so
    /// that nothing passes the limit. Without: what the operator's settings say, else what is expected. A run that continues
    /// keeps what it began with.
    #[must_use]
    pub fn reserve(self, reserve: Reserve) -> Self {
        self.with(|parts| parts.reserve = Some(reserve))
    }
    /// The seed of the embedded model, of retry delays and of the ids of runs that are not kept; without, runs have ids that
    /// differ from process to process, and the rest is as with 0. Runs in a store always have ids of their own.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        self.with(|parts| {
            parts.seed = Some(seed);
            parts.random = Some(Arc::new(SeededRandom::new(seed)));
        })
    }

    /// Starts a run and returns a handle on it. The run continues by itself, whether or not anybody looks; dropping the handle
    /// stops it.
    ///
    /// The input is anything that serde can write; `()` and null are no input. Must be called inside a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`Error::NotStarted`] with everything that is missing or does not fit: models without a key, tools that are not available,
    /// questions without an answer, an input that the flow does not take. Nothing was called then.
    /// [`Error::Input`] and [`Error::NoRuntime`] mean that the call itself is wrong.
    pub fn start(&self, flow: &Flow, input: impl Serialize) -> Result<Run> {
        self.ready(flow)?.start(input)
    }
    /// Everything that a run of the flow needs, or [`Error::NotStarted`] with everything that is missing. Calls nothing.
    pub fn ready(&self, flow: &Flow) -> Result<Ready> {
        let ready = Ready::new(self, flow).map_err(Error::NotStarted)?;
        #[cfg(feature = "store")]
        let ready = self.with_answers(ready)?;
        Ok(ready)
    }

    /// Decides what answers, and writes it into a program without running it: what [`Self::ready`] would use.
    #[doc(hidden)]
    pub fn aim(&self, program: &mut Arc<Program>) -> std::result::Result<Answering, Vec<Diagnostic>> {
        self.kept.decide(&self.parts, program)
    }

    /// What a model costs today, as `PROVIDER:NAME`.
    #[doc(hidden)]
    pub fn price(&self, model: &str) -> Option<trefoil_prices::Price> {
        let clock = self.parts.clock.clone().unwrap_or_else(|| Arc::new(SystemClock::new()));
        prices::today(model, &self.parts.settings, clock.wall_ms())
    }

    /// What the models of such a program cost today, by `PROVIDER:NAME`. Where others may answer, the dearest counts.
    #[doc(hidden)]
    pub fn prices(&self, program: &Program, answering: &Answering) -> Vec<(String, trefoil_prices::Price)> {
        let clock = self.parts.clock.clone().unwrap_or_else(|| Arc::new(SystemClock::new()));
        let others = prices::others(program, &answering.fallbacks);
        let all = prices::of(program, &answering.from, &others, &self.parts.settings, clock.wall_ms());
        prices::dearest(&all, &others)
    }
}

/// A run's failure as a finding at its place.
pub fn explain(rule: &'static str, error: &RunError) -> Diagnostic {
    let d = match error.location {
        Some(at) => Diagnostic::error(rule, at, error.message.clone()),
        None => Diagnostic::nowhere(rule, Severity::Error, None, error.message.clone()),
    };
    match &error.help {
        Some(help) => d.help(help.0.clone()),
        None => d,
    }
}

/// A failed run as a finding: code, message, step, excerpt, cause, what to do.
pub fn failed(error: &RunError) -> Diagnostic {
    use trefoil_machine::Cause;
    let mut d = explain("run-failed", error);
    let step = error.key.as_ref().filter(|key| !key.0.is_empty());
    let step = step.map(|key| format!(" in `{}`", crate::trace::without_try(&key.0))).unwrap_or_default();
    let cause = match &error.cause {
        Some(Cause::Status(status)) if !error.message.contains(&status.to_string()) => format!(" (status {status})"),
        Some(Cause::Network) => " (network error)".to_owned(),
        Some(Cause::Status(_) | Cause::Guardrail | Cause::Timeout) | None => String::new(),
    };
    d.message = format!("{}{step}: {}{cause}", error.code, error.message);
    match crate::codes::help::help(error).filter(|_| error.help.is_none()) {
        Some(help) => d.help(help),
        None => d,
    }
}
