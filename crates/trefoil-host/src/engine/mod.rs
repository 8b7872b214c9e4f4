//! The engine, which starts runs. Wires the defaults; everything can be replaced.

mod answers_from;
mod event_sinks;
mod flow_calls;
mod flow_rights;
mod flow_tools;
mod hosts;
mod models;
mod needs;
mod obstacles;
mod prices;
mod ready_run;
mod store;
mod tools;

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use trefoil_machine::journal::GivenPermissions;
use trefoil_machine::{AnswerSender, LimitKind, Reserve, RunSpec, RunStart};
use trefoil_models::{ModelOverride, ModelTimeLimits, PlanError, Registry};
use trefoil_runtime::ports::{SeededRandom, SystemClock};
use trefoil_runtime::{
    CallPermits, Clock, CommandHost, EventSink, HostLimits, HumanInbox, Journal, ModelProvider, Random, RecoveryPolicy,
    Secrets, ToolHost, ToolSpec,
};
use trefoil_tools::PythonSettings;

use crate::reuse::{EarlierRuns, ReuseRequest};
use trefoil_project::error::BoxError;
use trefoil_project::secrets::AllowedVariables;
use trefoil_project::settings::Settings;

pub use answers_from::AnswersFrom;
pub(crate) use event_sinks::{EventReader, combine_sinks as all_sinks};
pub use flow_rights::{CommandGrant, FlowRights};
pub(crate) use flow_tools::FlowTools;
pub use models::AnswerSource;
pub(crate) use models::{chosen_models, program_of};
pub use obstacles::add_findings;
pub(crate) use ready_run::AcceptedInput;
pub use ready_run::ReadyRun;

use flow_rights::HeldRights;
use flow_tools::FlowHost;
use models::EngineCache;
use tools::ToolClosures;

/// The rule for models that cannot be called.
pub const MODEL: &str = "missing-model";
/// The rule for a script of answers that cannot be read.
pub const SCRIPT: &str = "invalid-script";
/// The rule for a cost limit that cannot be enforced, because the price of a model is unknown.
pub const PRICE: &str = "unknown-price";
/// The rule for a strict cost limit that cannot be enforced, because the maximum cost of a call is unknown.
pub const BOUND: &str = "unknown-bound";

/// Starts runs of [flows](trefoil_project::Flow).
///
/// Configure an engine with its methods, then use it: `start` takes `&self`, and clones are cheap and share cached
/// results. By default, the manifest's models are called with the keys in the process's environment; there are no
/// tools, no commands and no human answers, and no journal is kept.
///
/// A flow is prepared once. Its schemas and patterns are compiled when they are first needed, and reused by every later
/// run of the flow.
///
/// ```
/// use trefoil::{Engine, Flow};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> trefoil::Result<()> {
/// let hello = Flow::from_text("hello.yaml", "id: hello\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninstruction: Say hello.\n")?;
/// let engine = Engine::new().model("embedded");
/// let text: String = engine.start_run(&hello, ())?.wait_output().await?;
/// assert!(text.starts_with("[embedded] hello"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct Engine {
    parts: Arc<EngineParts>,
    /// Cached results for these parts. Changing a part starts a new cache.
    cache: Arc<EngineCache>,
}

/// A run to resume.
struct ResumeStart {
    /// Its start entry, which identifies its program.
    first: RunStart,
    /// The same with the models that answer now.
    now: RunStart,
}

/// The parts of an engine.
#[derive(Clone, Default)]
struct EngineParts {
    provider: Option<Arc<dyn ModelProvider>>,
    models: Vec<ModelOverride>,
    wrong_models: Vec<PlanError>,
    /// Whether the models are those with which a run started, rather than chosen for this engine.
    models_of_run: bool,
    /// The models are for several flows: those of names that a flow does not have concern others.
    shares_models: bool,
    placeholders: bool,
    registry: Option<Registry>,
    settings: Settings,
    /// Whether the operator has settings. A program that embeds the library has none, and advice must not name them.
    has_settings: bool,
    /// What the command line allows, for the journal.
    permissions: GivenPermissions,
    limits: ModelTimeLimits,
    closures: ToolClosures,
    tools: Option<Arc<dyn ToolHost>>,
    http: Option<trefoil_tools::guard::GuardRules>,
    python: Option<PythonSettings>,
    commands: Option<Arc<dyn CommandHost>>,
    humans: Option<Arc<dyn HumanInbox>>,
    answers: Vec<(String, String)>,
    /// The same as typed, before the steps are known.
    typed_answers: Vec<String>,
    /// Who gives these answers.
    answer_sender: Option<AnswerSender>,
    journal: Option<Arc<dyn Journal>>,
    clock: Option<Arc<dyn Clock>>,
    secrets: Option<Arc<dyn Secrets>>,
    /// The variables of the environment that flows may read, if not all.
    allowed_env: Vec<AllowedVariables>,
    /// What single flows may do.
    rights: Option<Arc<FlowRights>>,
    /// The rules that hold for its runs.
    held: HeldRights,
    events: Vec<Arc<dyn EventSink>>,
    seed: Option<u64>,
    random: Option<Arc<dyn Random>>,
    /// The settings of its runs.
    spec: RunSpec,
    /// Shared by engines with other parts, because a host limit applies to all runs.
    call_permits: Arc<CallPermits>,
    recovery: RecoveryPolicy,
    /// The run to resume.
    begun: Option<Arc<ResumeStart>>,
    /// Whether its runs are for other processes, so that their requirements are not checked here.
    submits: bool,
    /// The nesting depth of the runs that call the runs of this engine.
    depth: u32,
    /// The share of the calling run's allowance that its runs may use.
    within: Option<trefoil_runtime::Share>,
    /// The values to hide that its runs share with the calling run.
    seen: Option<Arc<trefoil_runtime::driver::HiddenValues>>,
    /// The calling run.
    caller: Option<String>,
    /// Performs the calls of flows that are tools.
    flow_host: FlowHost,
    owner: Option<Arc<trefoil_store::Owner>>,
    content: trefoil_store::Content,
    /// Whether workers leave its runs alone.
    attended: bool,
    /// The labels of its runs.
    labels: Vec<(String, String)>,
    /// The earlier runs that it remembers, if it does.
    earlier: Option<Arc<EarlierRuns>>,
    /// What its runs reuse without being asked: answers of earlier runs.
    reuses: Option<ReuseRequest>,
}

impl EngineParts {
    /// The clock. Stored runs use the clock that all hosts of the store share.
    fn clock(&self) -> Arc<dyn Clock> {
        let shared = self.owner.as_ref().map(|owner| owner.store().clock());
        self.clock.clone().or(shared).unwrap_or_else(|| Arc::new(SystemClock::new()))
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

impl Engine {
    fn with_parts(mut self, change: impl FnOnce(&mut EngineParts)) -> Self {
        change(Arc::make_mut(&mut self.parts));
        Self { parts: self.parts, cache: Arc::default() }
    }

    /// Adds a tool: an async closure from its arguments to its result, both converted by serde. If two tools have the
    /// same name, the later one is used.
    ///
    /// An error fails the step that called the tool, subject to the step's retries and its `on failure`. Any error type
    /// works, so `?` works in the closure, and so does [`ToolError::Timeout`](trefoil_runtime::ToolError::Timeout).
    /// Arguments that do not match the closure's type also fail the step.
    ///
    /// The future that the closure returns must not borrow from the closure, so clone captured values.
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
    ///
    /// A closure returns a [`BoxError`], into which `?` converts every error type, so that its own type need not be written:
    ///
    /// ```
    /// # use trefoil::Engine;
    /// async fn double(number: String) -> Result<u32, std::num::ParseIntError> {
    ///     Ok(number.parse::<u32>()? * 2)
    /// }
    ///
    /// let engine = Engine::new().tool("double", async |number: String| Ok(double(number).await?));
    /// ```
    pub fn tool<A, R, F, W>(self, name: impl Into<String>, tool: F) -> Self
    where
        F: Fn(A) -> W + Send + Sync + 'static,
        W: Future<Output = std::result::Result<R, BoxError>> + Send + 'static,
        A: DeserializeOwned + Send + 'static,
        R: Serialize + Send + 'static,
    {
        self.with_parts(|parts| parts.closures.add_closure(ToolSpec::without_description(name.into()), tool))
    }
    /// Adds a tool with a specification: the description for models, the JSON Schema of the arguments, and whether it
    /// is safe to call twice.
    pub fn described_tool<A, R, F, W>(self, spec: ToolSpec, tool: F) -> Self
    where
        F: Fn(A) -> W + Send + Sync + 'static,
        W: Future<Output = std::result::Result<R, BoxError>> + Send + 'static,
        A: DeserializeOwned + Send + 'static,
        R: Serialize + Send + 'static,
    {
        self.with_parts(|parts| parts.closures.add_closure(spec, tool))
    }
    /// Sets a tool host for names that were not added with [`tool`](Self::tool).
    pub fn tools(self, tools: impl ToolHost + 'static) -> Self {
        self.with_parts(|parts| parts.tools = Some(Arc::new(tools)))
    }
    /// Sets the model instead of those in the manifests: `"provider:name"`, `"embedded"` or `"scripted=FILE"` for every
    /// call; `"NAME=provider:name"` for an alias, an agent or a step. May be called more than once. With an invalid
    /// value, runs do not start.
    pub fn model<M>(self, model: M) -> Self
    where
        M: TryInto<ModelOverride>,
        M::Error: Into<PlanError>,
    {
        self.with_parts(|parts| match model.try_into() {
            Ok(model) => parts.models.push(model),
            Err(error) => parts.wrong_models.push(error.into()),
        })
    }
    /// Sets your own model provider, which answers every call.
    pub fn provider(self, provider: impl ModelProvider + 'static) -> Self {
        self.with_parts(|parts| parts.provider = Some(Arc::new(provider)))
    }
    /// Sets the providers' URLs and keys. Default: those in the process's environment at the first run.
    pub fn registry(self, registry: Registry) -> Self {
        self.with_parts(|parts| parts.registry = Some(registry))
    }
    /// Sets the time limits of model calls.
    pub fn model_time_limits(self, limits: ModelTimeLimits) -> Self {
        self.with_parts(|parts| parts.limits = limits)
    }
    /// Limits the number of concurrent model calls and their rate, for all runs of this engine, of its clones and of
    /// engines derived from them. Default: 64 concurrent calls. Further calls wait in a queue. The embedded model and
    /// scripted answers do not wait. If runs are [stored](Self::store), the limits of providers hold for all processes and
    /// engines that share the store.
    pub fn host_limits(self, limits: &HostLimits) -> Self {
        let call_permits = Arc::new(CallPermits::new(limits));
        self.with_parts(|parts| parts.call_permits = call_permits)
    }
    /// Names what the command line allows, so that the commands that continue a run can name it, too. Allows nothing.
    pub fn permissions(self, permissions: GivenPermissions) -> Self {
        self.with_parts(|parts| parts.permissions = permissions)
    }
    /// Sets the operator's settings for models and providers. [`Self::model`] and the environment override them.
    pub fn settings(self, settings: Settings) -> Self {
        let limits = settings.limits.clone();
        let engine = self.with_parts(|parts| (parts.settings, parts.has_settings) = (settings, true));
        limits.iter().fold(engine, Self::host_limits)
    }
    /// Whether the embedded model is used automatically if no provider is configured. Only for callers that show that
    /// the answers are placeholders. Default: a flow whose models cannot be called does not start.
    pub fn allow_placeholders(self, placeholders: bool) -> Self {
        self.with_parts(|parts| parts.placeholders = placeholders)
    }
    /// Allows the HTTP tools of manifests, within these rules. Default: no HTTP tools. If the embedded model or a script
    /// answers, they call only hosts that the rules allow by name.
    pub fn http(self, rules: trefoil_tools::guard::GuardRules) -> Self {
        self.with_parts(|parts| parts.http = Some(rules))
    }
    /// Allows the Python functions of manifests, with this interpreter. Default: none. A manifest can name any module
    /// that the interpreter finds.
    pub fn python(self, python: PythonSettings) -> Self {
        self.with_parts(|parts| parts.python = Some(python))
    }
    /// Sets the host that runs commands. Default: none, and a flow that can reach a command does not start.
    pub fn commands(self, commands: impl CommandHost + 'static) -> Self {
        self.with_parts(|parts| parts.commands = Some(Arc::new(commands)))
    }
    /// Sets the inbox that answers questions. Default: only [`Self::answer`].
    pub fn humans(self, humans: impl HumanInbox + 'static) -> Self {
        self.with_parts(|parts| parts.humans = Some(Arc::new(humans)))
    }
    /// Sets the answer of a human step, by its key or its label. Several answers for one step are used in order; the
    /// last one is repeated.
    pub fn answer(self, step: impl Into<String>, answer: impl Into<String>) -> Self {
        self.with_parts(|parts| parts.answers.push((step.into(), answer.into())))
    }
    /// Sets answers of human steps as they are typed: `STEP=VALUE`. A name with `=` is the longest that a step of the flow has.
    pub fn typed_answers(self, answers: impl IntoIterator<Item = String>) -> Self {
        self.with_parts(|parts| parts.typed_answers.extend(answers))
    }
    /// Sets who gives the answers of [`Self::answer`] and [`Self::typed_answers`]: the journal keeps it with each of them. Default:
    /// without a name, [given before the run](AnswerSender::BEFORE_RUN).
    pub fn answer_sender(self, sender: AnswerSender) -> Self {
        self.with_parts(|parts| parts.answer_sender = Some(sender))
    }
    /// Sets the journal that stores the entries of runs. Default: none.
    pub fn journal(self, journal: impl Journal + 'static) -> Self {
        self.with_parts(|parts| parts.journal = Some(Arc::new(journal)))
    }
    /// Sets the decision about tools and commands whose outcome is unknown, because they were running when a process
    /// ended.
    pub fn recovery_policy(self, recovery: RecoveryPolicy) -> Self {
        self.with_parts(|parts| parts.recovery = recovery)
    }
    /// Sets the clock.
    pub fn clock(self, clock: impl Clock + 'static) -> Self {
        self.with_parts(|parts| parts.clock = Some(Arc::new(clock)))
    }
    /// Sets the source of `env.*` and `secrets.*`. Default: the process's environment and the flow's environment files.
    pub fn secrets(self, secrets: impl Secrets + 'static) -> Self {
        self.with_parts(|parts| parts.secrets = Some(Arc::new(secrets)))
    }
    /// Lets flows read only these variables of the environment. Default: all, because whoever starts a run here has them anyway. For
    /// servers, whose flows run for others.
    pub fn allow_environment(self, names: Vec<String>) -> Self {
        let (who, setting) = ("flows".to_owned(), "`[serve] env`".to_owned());
        self.with_parts(|parts| parts.allowed_env = vec![AllowedVariables { names, who, setting }])
    }
    /// Lets a model that was chosen for a name concern only the flows that have this name. Default: it is an error, because it is a
    /// mistake where there is only one flow. For servers, which must find names that no flow has.
    pub fn share_models(self) -> Self {
        self.with_parts(|parts| parts.shares_models = true)
    }
    /// Adds a watcher that receives the events of every run, in addition to the run's handle. May be called more than
    /// once.
    pub fn events(self, events: impl EventSink + 'static) -> Self {
        self.with_parts(|parts| parts.events.push(Arc::new(events)))
    }
    /// Sets the maximum number of model calls of a run, which ends with `BUDGET_EXCEEDED` at the limit. Default:
    /// 10,000.
    pub fn max_calls(self, calls: u64) -> Self {
        self.with_parts(|parts| parts.spec.limits.calls = Some(calls))
    }
    /// As the maximum cost: none, even if the earlier run that is resumed or forked has one.
    pub const NO_COST_LIMIT: u64 = LimitKind::Cost.of_default();
    /// Sets the maximum cost of a run in micro-dollars; the run ends with `BUDGET_EXCEEDED` at the limit. Default: no
    /// limit. The expected cost of a call is reserved before it starts, so only calls in progress can exceed the limit.
    /// A run does not start if the price of one of its models is unknown. [`NO_COST_LIMIT`](Self::NO_COST_LIMIT) lifts the limit of an earlier run that
    /// is resumed or forked.
    pub fn max_cost_micro(self, micro_dollars: u64) -> Self {
        self.with_parts(|parts| parts.spec.limits.cost_micro = Some(micro_dollars))
    }
    /// Sets the amount that a cost limit reserves for a call before it starts: its expected cost, or its maximum cost,
    /// so that the limit is never exceeded. Default: the operator's setting, or the expected cost. A resumed run keeps
    /// its original setting.
    pub fn reserve(self, reserve: Reserve) -> Self {
        self.with_parts(|parts| parts.spec.reserve = Some(reserve))
    }
    /// Sets what a spec sets: what [`max_calls`](Self::max_calls), [`max_cost_micro`](Self::max_cost_micro) and
    /// [`reserve`](Self::reserve) set one by one.
    pub fn run_spec(self, spec: RunSpec) -> Self {
        self.with_parts(|parts| parts.spec = spec.with_defaults(parts.spec))
    }
    /// Sets the seed of the embedded model, of retry delays and of the ids of runs without a store. By default, ids
    /// differ between processes, and the seed is 0 otherwise. Runs in a store always have unique ids.
    pub fn random_seed(self, seed: u64) -> Self {
        self.with_parts(|parts| {
            parts.seed = Some(seed);
            parts.random = Some(Arc::new(SeededRandom::new(seed)));
        })
    }
}
