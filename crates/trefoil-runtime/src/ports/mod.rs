//! The ports: everything the driver needs from the world. In-memory implementations live beside them.

mod clock;
mod fakes;
mod memory;
mod random;
mod secrets;
mod shared;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use async_trait::async_trait;
use trefoil_template::{HoleKind, Value};

use trefoil_ir::{StepId, ToolKind};
use trefoil_machine::event::Event;
use trefoil_machine::journal::Entry;
use trefoil_machine::key::Key;
use trefoil_machine::request::{
    CommandRequest, Finish, HumanRequest, ModelRequest, ToolRequest, ToolSpec, ToolUse, Usage,
};

use crate::allowance::Part;
use crate::driver::Cancel;

pub use clock::{SystemClock, VirtualClock};
pub use fakes::{FnModel, NoHumans, NoTools, echo};
pub use memory::{CollectEvents, MemoryJournal, NoEvents, NoJournal};
pub use random::{SeededRandom, SystemRandom};
pub use secrets::{EnvSecrets, MapSecrets, Secret, env_file};

/// Answers model calls.
#[async_trait]
pub trait ModelProvider: Send + Sync {
    /// One call. `request` has no holes left. Text goes to `delta` as it arrives when `request.stream`. Dropping the
    /// future cancels the call. No retries inside: the machine does those, and counts them.
    // The lifetime is written out: left to the macro, the text would have to outlive the call.
    async fn call(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError>;
    /// Whether it is told what `env.*` and `secrets.*` stand for. One that makes its answers up from what it reads is not:
    /// its requests keep `***`, so that no answer carries a value into the journal (decision C8).
    fn sees_holes(&self) -> bool {
        true
    }
    /// Whether it may call the tools that a request offers. One that never does is not told about them, and nobody asks them what
    /// they are.
    fn calls_tools(&self) -> bool {
        true
    }
    /// How outputs name the model that will answer: `openai:gpt-x`, `embedded`, `scripted`.
    fn label(&self, request: &ModelRequest) -> String;
}

/// Which activity of which run: whoever serves several runs, or may be asked the same twice, goes by it. An activity that
/// was under way when its process ended is asked for again, by a later execution.
#[derive(Debug, Clone, Copy)]
pub struct CallSite<'a> {
    /// The run's id.
    pub run: &'a str,
    /// How often the run has been gone on with: 0 in the process that began it.
    pub execution: u32,
    /// The activity's key, unique in the run.
    pub key: &'a Key,
    /// The step.
    pub step: StepId,
    /// The labels of the enclosing steps, outermost first.
    pub labels: &'a [Arc<str>],
    /// Where the provider says what the call has used so far.
    pub meter: &'a Meter,
    /// The arguments of a tool hold values of the environment or secrets: not for anybody who asks.
    pub discloses: bool,
}

/// What a call under way has used as far as its provider has said: what counts when the call never ends, because it is
/// stopped or runs into a time limit.
#[derive(Debug, Default)]
pub struct Meter {
    come: Mutex<(Option<Usage>, String)>,
    part: Option<Part>,
    stop: OnceLock<Cancel>,
    secrets: Mutex<Vec<Secret>>,
}

impl Meter {
    /// Of a call of a tool, which may use a part of what its run may use.
    pub(crate) fn of(part: Part) -> Self {
        Self { part: Some(part), ..Self::default() }
    }
    /// What a run that the call starts may use: see [`Options::within`](crate::Options::within).
    pub fn part(&self) -> Option<&Part> {
        self.part.as_ref()
    }
    /// The call has come by a secret: it is hidden wherever it comes back in this run, in every form, this call's own end included.
    pub fn hide(&self, secret: &str) {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner).extend(Secret::new(secret));
    }
    /// The secrets that the call has come by since they were last asked for.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        std::mem::take(&mut *self.secrets.lock().unwrap_or_else(PoisonError::into_inner))
    }
    /// A tool that has something to bring to an end asks for this switch. When the call is stopped, it is used, and the call is
    /// given a moment instead of being dropped.
    pub fn stop(&self) -> &Cancel {
        self.stop.get_or_init(Cancel::new)
    }
    /// The switch, if the tool asked for it.
    pub(crate) fn winds_down(&self) -> Option<&Cancel> {
        self.stop.get()
    }
    /// So much, until now. A call that is not told yet counts as one whose usage is unknown.
    pub fn tell(&self, usage: Usage) {
        self.come.lock().unwrap_or_else(PoisonError::into_inner).0 = Some(usage);
    }
    /// This text has come, as it may be shown.
    pub fn say(&self, text: &str) {
        self.come.lock().unwrap_or_else(PoisonError::into_inner).1.push_str(text);
    }
    /// The text that has come.
    pub fn text(&self) -> String {
        self.come.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }
    /// What was said last.
    pub fn read(&self) -> Usage {
        self.told().unwrap_or_else(Usage::unknown)
    }
    /// What was said last, if anything was: a tool that asks no model says nothing.
    pub fn told(&self) -> Option<Usage> {
        self.come.lock().unwrap_or_else(PoisonError::into_inner).0
    }
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    /// The text.
    pub text: String,
    /// The tools that it wants called, in its order; what comes of them goes into the next call.
    pub calls: Vec<ToolUse>,
    /// Tokens.
    pub usage: Usage,
    /// The model's own name for itself, when it says so.
    pub model: Option<String>,
    /// Why it stopped, when it says so. Anything but [`Finish::Stop`] makes the call a failed one: the driver does that,
    /// so a provider hands over what it got.
    pub finish: Option<Finish>,
    /// The provider's own name for the request.
    pub request_id: Option<String>,
    /// Another model answered than the one that was asked.
    pub instead: Option<Box<Instead>>,
}

/// A model that answered instead of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instead {
    /// Which, as [`ModelProvider::label`] names models.
    pub by: String,
    /// Why those before it did not, one line.
    pub why: String,
}

impl ModelAnswer {
    /// A whole answer of a model that says nothing about itself.
    pub fn new(text: impl Into<String>, usage: Usage) -> Self {
        Self { text: text.into(), calls: Vec::new(), usage, model: None, finish: None, request_id: None, instead: None }
    }
}

/// Why a model did not answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// Which sort.
    pub kind: ModelErrorKind,
    /// One line, without credentials.
    pub message: String,
    /// The provider asked to wait this long.
    pub retry_after_ms: Option<u64>,
    /// What had come until then: a call that broke off has been paid for. None: nothing was used.
    pub came: Option<Box<ModelAnswer>>,
    /// What to do about it, where the provider knows better than the code of the failure says.
    pub help: Option<String>,
    /// What was sent, in a line: where it went and how much it was, never what it says.
    pub sent: Option<String>,
}

impl ModelError {
    /// A failure before anything came.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after_ms: None, came: None, help: None, sent: None }
    }
}

/// Sorts of model errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// The provider answered with this HTTP status.
    Status(u16),
    /// The account has no credit left: to ask again does not help.
    Credit,
    /// No connection, or it broke.
    Network,
    /// The call took too long.
    Timeout,
    /// The answer was not what the protocol promises.
    Protocol,
    /// Wrong set-up: unknown provider, missing key.
    Setup,
}

/// Runs tools.
#[async_trait]
pub trait ToolHost: Send + Sync {
    /// Whether a tool of this name and kind can be called. Without a name: whether its tools can be listed.
    fn offers(&self, name: &str, kind: &ToolKind) -> bool;
    /// One call.
    async fn call(&self, at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError>;
    /// The tools of a kind, as they describe themselves: those of an MCP server, or all local ones. Those that a manifest
    /// describes itself are none of them. `at` is the site of the call that wants to know.
    async fn list(&self, _at: CallSite<'_>, _kind: &ToolKind) -> Result<Vec<ToolSpec>, ToolError> {
        Ok(Vec::new())
    }
    /// Whether calling it twice is the same as calling it once (decision C15). One that was under way when its process ended
    /// is then called again without asking.
    fn is_idempotent(&self, _request: &ToolRequest) -> bool {
        false
    }
}

/// Why a tool did not return.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ToolError {
    /// It took too long.
    #[error("timed out")]
    Timeout,
    /// It failed.
    #[error("{0}")]
    Failed(String),
    /// A limit of the run that calls it would be passed. That run ends with `BUDGET_EXCEEDED`, whatever the step does with failures.
    #[error("{0}")]
    Limit(String),
    /// No connection, or it broke.
    #[error("{0}")]
    Network(String),
    /// It answered, with an HTTP status that means a failure.
    #[error("{message}")]
    Status {
        /// The status.
        status: u16,
        /// What to say: `answered with 404: no such item`.
        message: String,
        /// How long it asks to wait before the next call.
        retry_after_ms: Option<u64>,
    },
}

/// Runs commands. Exists only where the operator allowed it.
#[async_trait]
pub trait CommandHost: Send + Sync {
    /// Runs it to its end; dropping the future kills it and what it started.
    async fn run(&self, at: CallSite<'_>, request: &CommandRequest) -> Result<CommandOutput, ToolError>;
}

/// What a command left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// Its exit code (128 + signal when killed).
    pub exit_code: i64,
    /// Its standard output, as UTF-8 with replacement characters.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// Asks people, and keeps questions for those that are not here.
#[async_trait]
pub trait HumanInbox: Send + Sync {
    /// Asks, and waits for the answer if somebody can give it here and now. Asked again for a question that was put down
    /// before, by any process, it says what has come of it.
    async fn ask(&self, at: CallSite<'_>, request: &HumanRequest) -> Asked;
    /// A tool or a command was under way when its process ended, and doing it twice may do harm. What has somebody decided?
    /// Nothing so far: the run waits for it.
    async fn decided(&self, _at: CallSite<'_>) -> Option<Decided> {
        None
    }
    /// The next that comes in for a run from elsewhere. Dropping the future loses nothing.
    async fn arrived(&self, _run: &str) -> Arrived {
        std::future::pending().await
    }
    /// What came in for an activity is in the journal, or nobody waits for it any more: it need not be kept.
    async fn taken(&self, _run: &str, _key: &Key) {}
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// The answer.
    Answer(String),
    /// There is nobody to ask: the step's own default applies, or it fails.
    Nobody,
    /// The question is kept. The answer arrives some time ([`HumanInbox::arrived`]), in this process or in a later one.
    Later,
}

impl From<Option<String>> for Asked {
    fn from(answer: Option<String>) -> Self {
        answer.map_or(Self::Nobody, Self::Answer)
    }
}

/// What is to become of an activity of which nobody knows whether it was done.
#[derive(Debug, Clone, PartialEq)]
pub enum Decided {
    /// Do it again.
    Retry,
    /// It failed, with `UNKNOWN_OUTCOME`.
    Fail,
    /// It was done. This is what it returned; of a command, what it wrote to its standard output.
    Done(Value),
}

/// What comes in for a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrived {
    /// A person's answer to the question of that key.
    Answer(Key, String),
    /// What becomes of the activity of that key.
    Decided(Key, Decided),
    /// Somebody asks the run to stop.
    Cancel,
}

/// Keeps entries. Appending is done when the entries are as durable as this journal makes them.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Appends, in order.
    async fn append(&self, run: &str, entries: &[Entry]) -> Result<(), JournalError>;
    /// Entries of a run, in order, from a number on: as many as this journal likes to hand over at a time, and none when
    /// there are no more. An error for a run that it does not have.
    async fn read(&self, run: &str, from: u64) -> Result<Vec<Entry>, JournalError>;
    /// Whether it keeps anything. For one that does not, nothing is worked out that only a journal wants.
    fn keeps(&self) -> bool {
        true
    }
    /// Whether it keeps [drafts](Draft).
    fn keeps_drafts(&self) -> bool {
        false
    }
    /// Keeps what has come of answers that have not ended, each in place of what it had of it. They are evidence of what was
    /// paid for if the process is killed, and not a part of the journal: nothing rests on them, so nobody waits for a disk, and
    /// what fails is not said. A draft goes when the end of its activity is appended.
    async fn keep_drafts(&self, _run: &str, _drafts: &[Draft]) {}
    /// The drafts that it has of a run.
    async fn drafts(&self, _run: &str) -> Vec<Draft> {
        Vec::new()
    }
}

/// What has come of an answer that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The model call.
    pub key: Key,
    /// The text, as it may be shown.
    pub text: String,
}

/// Why a journal did not take or give entries.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct JournalError {
    /// One line.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl JournalError {
    /// A failure that nobody knows a way around.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None }
    }
}

/// Tells the time.
#[async_trait]
pub trait Clock: Send + Sync {
    /// Milliseconds since some fixed point; never goes back.
    fn now_ms(&self) -> u64;
    /// Returns after so many milliseconds.
    async fn sleep(&self, ms: u64);
    /// Milliseconds since 1970-01-01 UTC, as far as this machine knows; may go back.
    fn wall_ms(&self) -> u64;
}

/// Makes run ids and seeds.
pub trait Random: Send + Sync {
    /// The next number.
    fn next(&self) -> u64;
}

/// Fills holes.
pub trait Secrets: Send + Sync {
    /// The content of `env.NAME` or `secrets.NAME`, if set.
    fn get(&self, kind: HoleKind, name: &str) -> Option<Secret>;
    /// Why it cannot be told whether it is set.
    fn problem(&self, kind: HoleKind, name: &str) -> Option<String> {
        let _ = (kind, name);
        None
    }
}

/// Watches runs. Must not block.
pub trait EventSink: Send + Sync {
    /// One event.
    fn event(&self, event: &Event);
    /// A run is continued: all events until now were told from its journal, and what follows happens now.
    fn caught_up(&self) {}
    /// Whether it wants any: putting events together costs time.
    fn wants_events(&self) -> bool {
        true
    }
    /// Whether it wants to know where each part of a prompt came from. Working that out costs time, so it is asked for.
    fn wants_provenance(&self) -> bool {
        false
    }
}

/// All ports of a driver.
#[derive(Clone)]
#[allow(missing_docs, reason = "each is the port of its name")]
pub struct Ports {
    pub models: Arc<dyn ModelProvider>,
    pub tools: Arc<dyn ToolHost>,
    pub commands: Option<Arc<dyn CommandHost>>,
    pub humans: Arc<dyn HumanInbox>,
    pub journal: Arc<dyn Journal>,
    pub clock: Arc<dyn Clock>,
    pub random: Arc<dyn Random>,
    pub secrets: Arc<dyn Secrets>,
    pub events: Arc<dyn EventSink>,
}
