//! The ports: everything the driver needs from outside. In-memory implementations are in the same folder.

mod admission;
mod arc_ports;
mod clock;
mod fakes;
mod memory;
mod random;
mod secrets;
mod tool_digests;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use async_trait::async_trait;
use trefoil_template::{HoleKind, Value};

use trefoil_coordinator::Share;
use trefoil_coordinator::memo::FoundEntry;
pub use trefoil_coordinator::{InboxMessageId, InboxMessageIds, ReceivedMessage, SuspendedCall};
use trefoil_ir::{StepId, ToolKind};
use trefoil_machine::RunLimits;
use trefoil_machine::error::RunError;
use trefoil_machine::event::{Event, FailedModelCall};
use trefoil_machine::journal::{Entry, ToolDigest};
use trefoil_machine::key::{ContentKey, Key};
use trefoil_machine::receipt::AnswerSender;
use trefoil_machine::request::{
    CommandRequest, FinishReason, HumanRequest, ModelRequest, ModelToolCall, ToolRequest, ToolSpec, Usage,
};

use crate::driver::CancelSwitch;
use crate::limits::CallPermit;
use crate::locks::lock;

pub use admission::{CallAdmission, CallPause};
pub use clock::{SystemClock, VirtualClock};
pub use fakes::{FnModel, NoHumans, NoTools, echo_model};
pub use memory::{CollectEvents, MemoryJournal, NoEvents, NoJournal};
pub use random::{SeededRandom, SystemRandom};
use tool_digests::ToolReports;

pub use secrets::{EnvFile, EnvSecrets, MapSecrets, Secret, UnreadLine};
pub use tool_digests::{SkippedTool, ToolDigests};

/// Answers model calls.
#[async_trait]
pub trait ModelProvider: Send + Sync {
    /// Makes one call. `request` has no holes left. If `request.stream` is set, text is passed to `delta` as it
    /// arrives. Dropping the future cancels the call. Implementations do not retry: the machine does, and counts the
    /// tries.
    // The lifetime is written out: left to the macro, the text would have to outlive the call.
    async fn call_model(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError>;
    /// Waits until a call of this step may be made, because models that keep failing are not called all the time. `tell` is
    /// called if it has to wait. The driver calls this before it makes the call.
    async fn admit_call(
        &self,
        _step: StepId,
        _request: &ModelRequest,
        _tell: &(dyn Fn(CallPause) + Send + Sync),
    ) -> CallAdmission {
        CallAdmission::default()
    }
    /// Why such a call would have to wait now.
    fn call_pause(&self, _step: StepId, _request: &ModelRequest) -> Option<CallPause> {
        None
    }
    /// Whether it receives the values of `env.*` and `secrets.*`. A provider that derives its answers from its input
    /// does not: its requests keep `***`, so that no answer carries a value into the journal.
    fn sees_holes(&self) -> bool {
        true
    }
    /// Whether it may call the tools that a request offers. A provider that never does gets no tools, and their
    /// descriptions are not requested.
    fn calls_tools(&self) -> bool {
        true
    }
    /// Told of each call of a resumed run that ended in another process, while the same source answered, in their order. `error`:
    /// how it failed.
    fn recall_model_call(&self, _at: CallSite<'_>, _request: &ModelRequest, _error: Option<&RunError>) {}
    /// The name of the model in outputs: `openai:gpt-x`, `embedded`, `scripted`.
    fn label(&self, request: &ModelRequest) -> String;
}

/// Identifies an activity of a run, for implementations that serve several runs or may get the same request twice. An
/// activity that was in progress when its process ended is requested again by a later execution.
#[derive(Debug, Clone, Copy)]
pub struct CallSite<'a> {
    /// The run's id.
    pub run: &'a str,
    /// How often the run has been resumed: 0 in the process that started it.
    pub execution: u32,
    /// The activity's key, unique in the run.
    pub key: &'a Key,
    /// The step.
    pub step: StepId,
    /// The labels of the enclosing steps, outermost first.
    pub labels: &'a [Arc<str>],
    /// The meter in which the provider reports the usage so far.
    pub meter: &'a Meter,
    /// Whether the arguments of a tool contain secrets or environment values, so that they may be sent only to allowed
    /// hosts.
    pub discloses: bool,
    /// The time limit that the manifest sets for the step, in milliseconds.
    pub limit_ms: Option<u64>,
}

/// The usage that the provider of a call in progress has reported so far. It is used if the call never ends, because it
/// is stopped or times out.
#[derive(Debug, Default)]
pub struct Meter {
    come: Mutex<(Option<Usage>, String)>,
    instead: Mutex<Option<SubstituteModel>>,
    part: Option<Share>,
    stop: OnceLock<CancelSwitch>,
    secrets: Mutex<Vec<Secret>>,
    permit: OnceLock<Weak<CallPermit>>,
    tools: ToolReports,
    called: OnceLock<String>,
    shown: OnceLock<Value>,
    /// A request in one line, and whether it may have left.
    sent: Mutex<Option<(String, bool)>>,
    warnings: Mutex<Vec<String>>,
}

impl Meter {
    /// The meter of a call of a run. `part`: the share of the run's allowance, for a tool call.
    pub(crate) fn for_call(part: Option<Share>, seen: Arc<ToolDigests>) -> Self {
        Self { part, tools: ToolReports::for_run(seen), ..Self::default() }
    }
    /// Reports a digest of what a place, such as a server, says about one of its tools. `false`: earlier in the run, also
    /// before a resume, it said something else.
    #[must_use]
    pub fn report_tool_digest(&self, place: &str, tool: &str, digest: &str) -> bool {
        self.tools.add_digest(place, tool, digest)
    }
    /// Reports a tool that [`ToolHost::list_tools`] does not return although it exists, and why.
    pub fn report_skipped_tool(&self, tool: &str, why: String) {
        self.tools.add_skipped(tool, why);
    }
    /// Takes the digests that the journal does not have yet.
    pub(crate) fn take_digests(&self) -> Vec<ToolDigest> {
        self.tools.take_digests()
    }
    /// Takes the tools that are not offered.
    pub fn take_skipped(&self) -> Vec<SkippedTool> {
        self.tools.take_skipped()
    }
    /// The allowance of a run that the call starts: see [`DriverOptions::within`](crate::DriverOptions::within).
    pub fn allowance_share(&self) -> Option<&Share> {
        self.part.as_ref()
    }
    /// Hides a secret that the call has obtained, in every form and in all data that this run receives, including the call's own
    /// result.
    pub fn hide_secret(&self, secret: &str) {
        lock(&self.secrets).extend(Secret::new(secret));
    }
    /// Takes the secrets that the call has obtained since the last time.
    pub(crate) fn take_secrets(&self) -> Vec<Secret> {
        std::mem::take(&mut *lock(&self.secrets))
    }
    /// Sets the arguments of a tool as they may be shown.
    pub fn set_displayed_arguments(&self, arguments: Value) {
        let _ = self.shown.set(arguments);
    }
    /// The arguments of a tool as they may be shown: with `***` for each secret and environment value.
    pub fn displayed_arguments(&self) -> Option<&Value> {
        self.shown.get()
    }
    /// Reports a request that nothing has been sent of, in one line that may be shown. A failure shows the last request.
    pub fn plan_request(&self, what: String) {
        lock(&self.sent).replace((what, false));
    }
    /// Reports that the planned request is sent, so that some of it may leave.
    pub fn mark_sent(&self) {
        self.set_sent(true);
    }
    /// Reports that nothing of the request has left.
    pub fn mark_unsent(&self) {
        self.set_sent(false);
    }
    fn set_sent(&self, leaves: bool) {
        if let Some((_, sent)) = &mut *lock(&self.sent) {
            *sent = leaves;
        }
    }
    /// The last request of the call, which says if it was not sent.
    pub fn last_request(&self) -> Option<String> {
        let last = lock(&self.sent);
        last.as_ref().map(|(what, sent)| if *sent { what.clone() } else { format!("{what}, not sent") })
    }
    /// Reports what the user should know about the call, whether or not it succeeds.
    pub fn add_warning(&self, what: String) {
        lock(&self.warnings).push(what);
    }
    /// Takes the warnings.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.warnings))
    }
    /// Reports the run that the call has started.
    pub fn report_called_run(&self, run: &str) {
        let _ = self.called.set(run.to_owned());
    }
    /// The run that the call has started.
    pub(crate) fn called_run(&self) -> Option<String> {
        self.called.get().cloned()
    }
    /// A switch that a tool requests if it needs to clean up. When the call is stopped, the driver uses the switch and gives the
    /// call a moment to end, instead of dropping it.
    pub fn stop_switch(&self) -> &CancelSwitch {
        self.stop.get_or_init(CancelSwitch::new)
    }
    /// The switch, if the tool requested it.
    pub(crate) fn winds_down(&self) -> Option<&CancelSwitch> {
        self.stop.get()
    }
    /// Reports the usage so far. Without a report, the usage of the call is unknown.
    pub fn report_usage(&self, usage: Usage) {
        lock(&self.come).0 = Some(usage);
    }
    /// The permit of a model call, which [`Meter::turn_to`] moves to another provider.
    pub(crate) fn set_permit(&self, permit: &Arc<CallPermit>) {
        // A call has one permit.
        let _ = self.permit.set(Arc::downgrade(permit));
    }
    /// Another model is called instead of the requested one, with this request. Returns when the limits of its provider
    /// allow the call. What is reported from then on is its own.
    pub async fn turn_to(&self, instead: SubstituteModel, request: &ModelRequest) {
        let used = instead.before.last().and_then(|one| one.usage);
        let report = |usage| lock(&self.come).0 = usage;
        lock(&self.instead).replace(instead);
        if let Some(permit) = self.permit.get().and_then(Weak::upgrade) {
            // A call that is stopped while it waits here has used nothing at the other model.
            report(Some(Usage::default()));
            permit.move_to(request, used).await;
        }
        report(None);
    }
    /// The model that is called now, if it is not the requested one.
    pub fn substitute_model(&self) -> Option<SubstituteModel> {
        lock(&self.instead).clone()
    }
    /// Reports received text, as it may be shown.
    pub fn report_text(&self, text: &str) {
        lock(&self.come).1.push_str(text);
    }
    /// The text received so far.
    pub fn received_text(&self) -> String {
        lock(&self.come).1.clone()
    }
    /// The last report.
    pub fn usage_so_far(&self) -> Usage {
        self.reported_usage().unwrap_or_else(Usage::for_unknown_call)
    }
    /// The last report, if there is one: a tool that calls no model reports nothing.
    pub fn reported_usage(&self) -> Option<Usage> {
        lock(&self.come).0
    }
}

/// A model's answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelAnswer {
    /// The text.
    pub text: String,
    /// The tools that the model calls, in its order; their results are sent in the next call.
    pub calls: Vec<ModelToolCall>,
    /// Tokens.
    pub usage: Usage,
    /// The model name reported by the provider, if any.
    pub model: Option<String>,
    /// The reported finish reason, if any. With any reason other than [`FinishReason::Stop`] the driver treats the call as
    /// failed, so a provider returns the answer as received.
    pub finish: Option<FinishReason>,
    /// Why it is not certain that this is all of the answer. It is used all the same; the driver warns of each.
    pub doubts: Vec<AnswerDoubt>,
    /// The provider's request id.
    pub request_id: Option<String>,
    /// The model that answered, if it is not the requested one.
    pub instead: Option<Box<SubstituteModel>>,
    /// One line about the request: where it went and how large it was, never its content. For failures that the answer
    /// causes.
    pub sent: Option<String>,
}

/// Why it is not certain that an answer is all that the model said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerDoubt {
    /// It ended with a word whose meaning is not known.
    UnknownFinish(String),
    /// It ended without a finish reason, although its protocol has them.
    MissingFinish,
    /// A part of it, which is not text, was left out. The words say which: ``a part of the type `image` ``.
    LeftOut(String),
    /// The whole text at its end differs from the pieces before. The whole text is the answer.
    Replaced,
}

/// A model that answered instead of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubstituteModel {
    /// Its name, in the form of [`ModelProvider::label`].
    pub by: String,
    /// The models that were called before it. Their usage is not part of [`ModelAnswer::usage`]: each has a price of its own.
    pub before: Vec<FailedModelCall>,
}

impl SubstituteModel {
    /// Why the previous models did not answer, in one line.
    pub fn failure_reasons(&self) -> String {
        self.before.iter().map(|one| one.why.as_str()).collect::<Vec<_>>().join("; ")
    }
}

impl ModelAnswer {
    /// A complete answer without metadata.
    pub fn new(text: impl Into<String>, usage: Usage) -> Self {
        let text = text.into();
        Self { text, usage, ..Self::default() }
    }
}

/// Why a model did not answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// The kind of error.
    pub kind: ModelErrorKind,
    /// One line, without credentials.
    pub message: String,
    /// The wait that the provider requested.
    pub retry_after_ms: Option<u64>,
    /// The part received so far, because a call that was cut off is still paid for. `None`: nothing was used.
    pub came: Option<Box<ModelAnswer>>,
    /// More specific help than that of the error code, if the provider has any.
    pub help: Option<String>,
    /// One line about the request: where it went and how large it was, never its content.
    pub sent: Option<String>,
}

impl ModelError {
    /// A failure before anything was received.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after_ms: None, came: None, help: None, sent: None }
    }
}

/// Kinds of model errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// The provider answered with this HTTP status.
    Status(u16),
    /// The account has no credit left, so a retry does not help.
    Credit,
    /// No connection, or it broke.
    Network,
    /// The call took too long.
    Timeout,
    /// The answer violated the protocol.
    Protocol,
    /// Wrong configuration: unknown provider, missing key.
    Setup,
}

/// Runs tools.
#[async_trait]
pub trait ToolHost: Send + Sync {
    /// Whether a tool of this name and kind can be called. Without a name: whether its tools can be listed.
    fn offers_tool(&self, name: &str, kind: &ToolKind) -> bool;
    /// Makes one call.
    async fn call_tool(&self, at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError>;
    /// Lists the tools of a kind with their descriptions: those of an MCP server, or all local ones, but not tools
    /// described in a manifest. `at` is the site of the requesting call. Tools that exist but cannot be offered are reported with
    /// [`Meter::report_skipped_tool`].
    async fn list_tools(&self, _at: CallSite<'_>, _kind: &ToolKind) -> Result<Vec<ToolSpec>, ToolError> {
        Ok(Vec::new())
    }
    /// Whether calling it twice is the same as calling it once. If such a call was in progress when its process ended,
    /// it is repeated without asking.
    fn is_idempotent(&self, _request: &ToolRequest) -> bool {
        false
    }
    /// As [`ModelProvider::recall_model_call`].
    fn recall_tool_call(&self, _at: CallSite<'_>, _request: &ToolRequest, _error: Option<&RunError>) {}
    /// Why this process may not make a call, although another process may: a permission that its operator has not given. A
    /// run that goes on stops before such a call. Without a name and arguments: whether it may list the tools.
    fn tool_refusal(&self, _name: &str, _kind: &ToolKind, _arguments: &Value) -> Option<ToolRefusal> {
        None
    }
}

/// A permission that is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRefusal {
    /// Why the call may not be made.
    pub why: String,
    /// How to allow it, as an instruction.
    pub help: String,
}

/// A run that a tool call waits for, as the tool says it: no secret is masked yet.
#[derive(Debug, Clone, PartialEq)]
pub struct RawSuspension(pub SuspendedCall);

/// Why a tool did not return.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ToolError {
    /// It took too long.
    #[error("timed out")]
    Timeout,
    /// It was not ready in time, so nothing was done.
    #[error("{0}")]
    Unready(String),
    /// It failed.
    #[error("{0}")]
    Failed(String),
    /// It failed for a reason for which there is better advice than to try the call by hand.
    #[error("{why}")]
    Advised {
        /// Why.
        why: String,
        /// What to do, as an instruction.
        help: Cow<'static, str>,
    },
    /// It refuses the arguments: nothing was done, and the same call would fail again.
    #[error("invalid arguments: {why}")]
    Arguments {
        /// Why.
        why: String,
        /// What to do, as an instruction.
        help: Cow<'static, str>,
    },
    /// It was called and may have done its work, but its result cannot be used.
    #[error("{why}")]
    UnusableResult {
        /// Why.
        why: String,
        /// What to do, as an instruction.
        help: &'static str,
    },
    /// It started a run that is suspended. The calling run waits too, and makes the call again when it is resumed: the tool must
    /// then continue the same run. If the call is no longer needed, it is made again with [`Meter::stop_switch`] used: the tool must then
    /// end that run.
    #[error("the run {} is waiting", .0.0.run)]
    Suspended(Box<RawSuspension>),
    /// A limit of the calling run would be exceeded. That run ends with `BUDGET_EXCEEDED`, even if the step handles failures.
    #[error("{why}")]
    Limit {
        /// Why.
        why: String,
        /// The limit of the command line with which the calling run can continue.
        raise: Option<RunLimits>,
    },
    /// No connection: nothing was sent.
    #[error("{0}")]
    Network(String),
    /// It was called, and no complete answer arrived: the outcome is unknown.
    #[error("{0}")]
    Broken(String),
    /// It was called, and its answer cannot be used: it may have done its work.
    #[error("{0}")]
    Unusable(String),
    /// It answered, with an HTTP status that means a failure.
    #[error("{message}")]
    Status {
        /// The status.
        status: u16,
        /// The message: `answered with 404: no such item`.
        message: String,
        /// The requested wait before the next call.
        retry_after_ms: Option<u64>,
    },
}

impl ToolError {
    /// A failure, and what to do, as an instruction.
    pub fn with_advice(why: impl Into<String>, help: impl Into<Cow<'static, str>>) -> Self {
        Self::Advised { why: why.into(), help: help.into() }
    }

    /// Arguments that the tool refuses, and what to do, as an instruction.
    pub fn invalid_arguments(why: impl ToString, help: impl Into<Cow<'static, str>>) -> Self {
        Self::Arguments { why: why.to_string(), help: help.into() }
    }

    /// A call that may have done its work although its result cannot be used, and what to do, as an instruction.
    pub fn unusable_result(why: impl Into<String>, help: &'static str) -> Self {
        Self::UnusableResult { why: why.into(), help }
    }
}

/// Runs commands. Exists only if the operator allowed it.
#[async_trait]
pub trait CommandHost: Send + Sync {
    /// Runs the command to its end; dropping the future kills it and all processes that it started.
    async fn run_command(&self, at: CallSite<'_>, request: &CommandRequest) -> Result<CommandOutput, ToolError>;
    /// Why this process may not run commands, although another process may. A run that goes on stops before a command.
    fn command_refusal(&self) -> Option<ToolRefusal> {
        None
    }
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// Its exit code (128 + signal when killed).
    pub exit_code: i64,
    /// Its standard output, as UTF-8 with replacement characters.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// Asks people, and stores questions for later answers.
#[async_trait]
pub trait HumanInbox: Send + Sync {
    /// Asks a question, and waits for the answer if somebody can answer now. If the question was stored before, by any
    /// process, it returns the current state.
    async fn ask_question(&self, at: CallSite<'_>, request: &HumanRequest) -> QuestionState;
    /// Returns the decision about a tool or a command that was in progress when its process ended, and may not be safe
    /// to repeat. Without a decision, the run waits.
    async fn find_decision(&self, _at: CallSite<'_>) -> Option<ReceivedMessage<RawDecision>> {
        None
    }
    /// Returns the next message for a run from other processes. Dropping the future loses nothing. It stays in
    /// the inbox until [`Journal::append_entries`] gets its number.
    async fn next_message(&self, _run: &str) -> ReceivedMessage<RawRunMessage> {
        std::future::pending().await
    }
    /// Returns the next message if one is in the inbox now. A run that is resumed first reads all of them.
    async fn waiting_message(&self, _run: &str) -> Option<ReceivedMessage<RawRunMessage>> {
        None
    }
}

/// The state of a question.
#[derive(Debug, PartialEq, Eq)]
pub enum QuestionState {
    /// The answer.
    Answer(String),
    /// The answer, and who gave it now.
    AnswerFrom(String, AnswerSender),
    /// The answer, from messages in the inbox.
    Written(ReceivedMessage<String>),
    /// Nobody can answer: the step's default is used, or the step fails.
    Nobody,
    /// The question is stored. The answer arrives later ([`HumanInbox::next_message`]), in this process or another one.
    Later,
}

impl From<Option<String>> for QuestionState {
    fn from(answer: Option<String>) -> Self {
        answer.map_or(Self::Nobody, Self::Answer)
    }
}

/// The decision about an activity with an unknown outcome.
#[derive(Debug, Clone, PartialEq)]
pub enum RawDecision {
    /// Repeat it.
    Retry,
    /// Treat it as failed, with `UNKNOWN_OUTCOME`.
    Fail,
    /// Treat it as done, with this result; for a command, its standard output.
    Done(Value),
}

/// A message for a run.
#[derive(Debug, Clone, PartialEq)]
pub enum RawRunMessage {
    /// A person's answer to a question.
    Answer {
        /// The question's key.
        key: Key,
        /// What the person said.
        text: String,
        /// When, in milliseconds since 1970-01-01 UTC: after the question's time it does not count.
        at: u64,
    },
    /// The decision about the activity of that key.
    Decided(Key, RawDecision),
    /// The run of this id, which a tool call of the run started, can continue.
    Continue(String),
    /// A request to stop the run.
    Cancel,
    /// A message that means nothing to this build. It is deleted.
    Unknown,
}

/// Stores entries. An append returns when the entries are as durable as this journal makes them.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Appends, in order. In the same transaction, the messages that these entries act on are deleted from the run's inbox. Messages that
    /// do not exist any more are no error.
    async fn append_entries(
        &self,
        run: &str,
        entries: &[Entry],
        message_ids: &[InboxMessageId],
    ) -> Result<(), JournalError>;
    /// Reads entries of a run, in order, from a number on: one page of any size, empty at the end. An error if the run
    /// does not exist.
    async fn read_entries(&self, run: &str, from: u64) -> Result<Vec<Entry>, JournalError>;
    /// Whether it stores anything. If not, data that only a journal needs is not computed.
    fn keeps_entries(&self) -> bool {
        true
    }
    /// Whether it stores [drafts](Draft).
    fn keeps_drafts(&self) -> bool {
        false
    }
    /// Stores partial answers, each replacing the earlier draft of the same call. They are evidence of what was paid
    /// for if the process is killed, and not part of the journal: nothing depends on them, so nothing waits for the
    /// disk, and failures are not reported. A draft is deleted when the end of its activity is appended.
    async fn keep_drafts(&self, _run: &str, _drafts: &[Draft]) {}
    /// Reads the drafts of a run.
    async fn read_drafts(&self, _run: &str) -> Vec<Draft> {
        Vec::new()
    }
}

/// The part of an answer received so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The model call.
    pub key: Key,
    /// The text, as it may be shown.
    pub text: String,
}

/// Why a journal could not write or read entries.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct JournalError {
    /// One line.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
    /// Whether the run does not exist, or not any more.
    pub is_deleted: bool,
}

impl JournalError {
    /// A failure without specific help.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None, is_deleted: false }
    }
}

/// A source of answers of earlier runs.
#[async_trait]
pub trait AnswerLibrary: Send + Sync + std::fmt::Debug {
    /// The answers to a request, newest first, from all runs except `own`. Answers that cannot be read are skipped.
    async fn find_answers(&self, own: &str, content: ContentKey) -> Vec<FoundEntry>;
}

/// The clock.
#[async_trait]
pub trait Clock: Send + Sync {
    /// Milliseconds since some fixed point; never goes back.
    fn now_ms(&self) -> u64;
    /// Returns after this many milliseconds.
    async fn sleep_ms(&self, ms: u64);
    /// Milliseconds since 1970-01-01 UTC, according to this machine; may go back.
    fn wall_ms(&self) -> u64;
}

/// Makes run ids and seeds.
pub trait Random: Send + Sync {
    /// The next number.
    fn next_number(&self) -> u64;
}

/// Fills holes.
pub trait Secrets: Send + Sync {
    /// The content of `env.NAME` or `secrets.NAME`, if set.
    fn get(&self, kind: HoleKind, name: &str) -> Option<Secret>;
    /// Why it is unknown whether it is set, or why it is not although somebody tried to set it.
    fn find_problem(&self, kind: HoleKind, name: &str) -> Option<String> {
        let _ = (kind, name);
        None
    }
}

/// Watches runs. Must not block.
pub trait EventSink: Send + Sync {
    /// One event.
    fn receive_event(&self, event: &Event);
    /// One event that nobody else receives. A sink that keeps events need not copy it.
    fn receive_owned(&self, event: Event) {
        self.receive_event(&event);
    }
    /// Called when a run is resumed: all events so far were repeated from its journal, and the following ones are live.
    fn caught_up(&self) {}
    /// Whether it wants events, because building them costs time.
    fn wants_events(&self) -> bool {
        true
    }
    /// Whether it wants the origin of each part of a prompt, because computing it costs time.
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
