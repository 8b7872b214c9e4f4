//! The event stream of a run, the same for all watchers. Texts are masked.

use std::fmt;
use std::sync::Arc;

use trefoil_syntax::Location;
use trefoil_template::Value;

use crate::deadline::AnswerDeadline;
use crate::error::RunError;
use crate::guard::Verdict;
use crate::key::{Key, own_activity};
use crate::private::PrivateValue;
use crate::provenance::OriginSpan;
use crate::receipt::{AnswerReceipt, GivenAnswer};
use crate::request::{FinishReason, MessageRole, ModelToolCall, Usage};
use crate::run_limits::UsedAmounts;
use crate::step_path::join_path;
use crate::text::shorten_text;

/// Maximum number of characters of a detail in an event's line.
const DETAIL: usize = 120;

/// One event.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Event {
    /// The run.
    pub run: std::sync::Arc<str>,
    /// From 0, without gaps within a run, and the same live, after a resume and when read later. Events that are not in
    /// the journal (streamed text, a note for this process) have the number of the event before them.
    pub seq: u64,
    /// Milliseconds on the run's [work clock](crate::clock): since it started, without the time in which no process had it.
    pub at_ms: u64,
    /// The structural key of the step or activity, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    /// The step's location in its manifest.
    #[serde(skip)]
    pub location: Option<Location>,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// How the items of a fan-out ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ItemTally {
    /// How many there were.
    pub total: u32,
    /// How many of them failed.
    pub failed: u32,
}

impl ItemTally {
    /// Adds the items of another fan-out.
    pub fn add_items(&mut self, other: Self) {
        self.total = self.total.saturating_add(other.total);
        self.failed = self.failed.saturating_add(other.failed);
    }
    /// These, if any of them failed.
    pub fn with_failed(self) -> Option<Self> {
        if self.failed > 0 { Some(self) } else { None }
    }
}

/// `9 of 200 items failed`: the same words in every view.
impl fmt::Display for ItemTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items = if self.total == 1 { "item" } else { "items" };
        write!(f, "{} of {} {items} failed", self.failed, self.total)
    }
}

/// A message as it was sent, masked.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct DisplayedMessage {
    /// The role.
    pub role: MessageRole,
    /// The text.
    pub content: Arc<str>,
    /// The origin of each part, if the watcher wants it. Locations become file names only where events are written, so this is not
    /// part of the serialized event.
    #[serde(skip)]
    pub spans: Vec<OriginSpan>,
    /// The tools that the model called in this turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ModelToolCall>,
    /// The call that this is the result of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<Arc<str>>,
}

/// Whether it is empty.
fn nothing(value: &Value) -> bool {
    !matches!(value, Value::Object(members) if !members.is_empty())
}

/// The provider's metadata for an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct AnswerMetadata {
    /// The model name reported by the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    /// The model that was called, as `PROVIDER:NAME`, if it is not the requested one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
    /// The models that were called before it and did not answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<FailedModelCall>,
    /// The finish reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishReason>,
    /// The provider's request id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// A model that did not answer, so that another one was called.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FailedModelCall {
    /// The model, as `PROVIDER:NAME`.
    pub model: String,
    /// Why it did not answer, in one line.
    pub why: String,
    /// Its usage, which is a part of that of the call. `None`: nothing was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl AnswerMetadata {
    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// The origin of a result that was reused instead of making a call.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ReuseOrigin {
    /// The earlier run.
    pub run: String,
    /// The activity's key there, if it is different.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    /// For a model call: its usage when it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// What a suspended run waits for.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct AwaitedActivity {
    /// The activity.
    pub key: Key,
    /// Its step's label.
    pub step: String,
    /// `human`: a person's answer. `tool` or `command`: a decision, because its outcome is unknown. `run`: a run that the
    /// activity, a tool call, has started.
    pub sort: &'static str,
    /// The run that waits, if it is not this run but one that its tools have started. The key and the step belong to that run,
    /// unless the sort is `run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The call of a tool or command: `name` and `arguments`, or `script` and `arguments`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<Value>,
    /// The accepted answers, if not every answer is accepted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepts: Vec<String>,
    /// The answers with a transition of their own, if every other one is accepted as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// Until when it has to be answered, and what happens otherwise.
    #[serde(flatten)]
    pub deadline: Option<AnswerDeadline>,
    /// For the sort `run`: what that run stopped before, and why, if it has stopped and asks nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Box<RunError>>,
    /// The tool calls that lead from this run to the run that waits, the outermost first. Empty if it is this run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Key>,
    /// Why nobody can answer it any more, although the run has not continued yet. `None` while it can be answered, and in events.
    #[serde(skip)]
    pub settled: Option<QuestionClosure>,
}

/// Why a question or decision is not open any more, although nothing has acted on that yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionClosure {
    /// This answer, or decision, is in the inbox.
    Answered(GivenAnswer),
    /// Its time has ended.
    Late,
}

/// Maximum number of characters of an answer in a line about its question.
const ANSWER: usize = 80;
/// Maximum number of characters of a call next to its question.
const CALL: usize = 200;

impl AwaitedActivity {
    /// The question in an event.
    pub fn for_person(event: &Event) -> Option<Self> {
        let EventKind::SignalWanted { label, prompt, accepts, choices, deadline, .. } = &event.kind else {
            return None;
        };
        Some(Self {
            key: event.key.clone()?,
            step: label.clone(),
            sort: "human",
            prompt: Some(prompt.clone()),
            accepts: accepts.clone(),
            choices: choices.clone(),
            deadline: deadline.clone(),
            ..Self::default()
        })
    }
    /// The same for the run whose tool call has started the run that waits. `more`: what that run needs after the call. A limit that is
    /// to be raised must be enough for that, too.
    #[must_use]
    pub fn for_caller(mut self, call: &Key, more: UsedAmounts) -> Self {
        self.calls.insert(0, call.clone());
        if let Some(why) = &mut self.why
            && let Some(raise) = &mut why.raise
        {
            *raise = raise.with_more(more);
        }
        self
    }
    /// With the answer that is in the inbox, as it stands at this moment.
    #[must_use]
    pub fn with_inbox_answer(self, answer: Option<GivenAnswer>, at: u64) -> Self {
        let settled = match (answer, &self.deadline) {
            // An answer that was given in time counts, whenever the run continues.
            (Some(answer), _) => Some(QuestionClosure::Answered(answer)),
            (None, Some(deadline)) if deadline.is_over(at) => Some(QuestionClosure::Late),
            (None, _) => None,
        };
        Self { settled, ..self }
    }
    /// The path of the step in this run: that of the call, and that of the step there.
    pub fn step_path(&self) -> String {
        let mut path = String::new();
        for key in self.calls.iter().chain([&self.key]) {
            path = join_path(&path, own_activity(key.as_str()));
        }
        path
    }
    /// What it waits for, on one line. `name`: how the step is named.
    pub fn describe_question(&self, name: &str) -> String {
        let calls = self.calls.iter().map(Key::display_name).collect::<Vec<_>>().join("/");
        let calls = if calls.is_empty() { calls } else { format!(", called by `{calls}`") };
        let origin = match &self.run {
            Some(run) => format!(" (run {run}{calls})"),
            None => String::new(),
        };
        match (&self.prompt, &self.why) {
            (Some(prompt), _) => {
                let prompt = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
                let until = match (&self.settled, &self.deadline) {
                    (Some(QuestionClosure::Answered(given)), _) => {
                        format!(" ({})", given.describe_answer("answered", &shorten_text(&given.text, ANSWER)))
                    }
                    (Some(QuestionClosure::Late), Some(deadline)) => format!(" ({})", deadline.missed_message()),
                    (None, Some(deadline)) => format!(" ({deadline})"),
                    (_, None) => String::new(),
                };
                format!("`{name}`{origin} asks: {prompt}{until}")
            }
            (None, Some(why)) if self.sort == "run" => match &self.run {
                Some(run) => format!("the run {run} has {}", why.stopped_before()),
                None => format!("the run has {}", why.stopped_before()),
            },
            (None, _) if self.sort == "run" => format!("`{name}`{origin} has stopped before its end"),
            (None, _) => {
                let called = match self.called() {
                    Some(tool) => format!(", `{tool}`,"),
                    None => String::new(),
                };
                let asks = match &self.settled {
                    Some(QuestionClosure::Answered(given)) => {
                        given.describe_answer("decided", &shorten_text(&given.text, ANSWER))
                    }
                    _ => "did it finish?".to_owned(),
                };
                format!("`{name}`{origin}: it is unknown whether this {}{called} was done; {asks}", self.sort)
            }
        }
    }
    /// Whether its outcome is unknown, so that somebody has to decide.
    pub fn is_unknown(&self) -> bool {
        self.prompt.is_none() && self.sort != "run"
    }
    /// The arguments of a tool or command, on one line: nobody can say whether it was done without them.
    pub fn called_with(&self) -> Option<String> {
        let call = self.call.as_ref()?;
        let mut line = String::new();
        if let Some(script) = call.get("script") {
            line = format!("{} ", script.to_text());
        }
        if let Some(arguments) = call.get("arguments")
            && !matches!(arguments, Value::List(items) if items.is_empty())
        {
            line.push_str(&arguments.to_text());
        }
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        if line.is_empty() { None } else { Some(shorten_text(&line, CALL)) }
    }
    /// The tool that was called, if the step does not have its name.
    fn called(&self) -> Option<&str> {
        let name = self.call.as_ref()?.get("name")?.as_str()?;
        if self.step.ends_with(name) { None } else { Some(name) }
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// The run started.
    RunStarted {
        /// The entry flow.
        flow: String,
        /// When it was started, in milliseconds since 1970-01-01 UTC: the same whenever the event is repeated.
        #[serde(skip)]
        at: u64,
        /// Its input.
        input: Option<Value>,
        /// The input with defaults; only for watchers that want provenance.
        #[serde(skip_serializing_if = "Option::is_none")]
        effective_input: Option<Value>,
        /// The source of model answers, if there is only one: `embedded model`, `answers from FILE`, `openai:gpt-x`.
        #[serde(skip_serializing_if = "Option::is_none")]
        answers_from: Option<String>,
        /// Whether the answers are placeholders from the embedded model.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        placeholder: bool,
    },
    /// A labelled step started.
    StepStarted {
        /// Its label.
        label: Arc<str>,
        /// Its kind: `agent`, `tool`, `command`, `human`, `parallel`, ...
        kind: &'static str,
    },
    /// A labelled step was skipped.
    StepSkipped {
        /// Its label.
        label: String,
        /// The values in its `when` and the condition's text, `branch not taken` with the values, or `budget`.
        reason: String,
    },
    /// A labelled step succeeded.
    StepFinished {
        /// Its result.
        output: Value,
        /// The counts of its fan-out, if it has one: failed items did not fail the step.
        #[serde(skip_serializing_if = "Option::is_none")]
        items: Option<ItemTally>,
    },
    /// An item of a fan-out (or a branch that may fail alone) started. The key is the item's.
    ItemStarted {
        /// Its position, from 0.
        index: u32,
        /// How many there are.
        total: u32,
        /// The item, masked. `None`: the fan-out is over a number.
        #[serde(skip_serializing_if = "Option::is_none")]
        item: Option<Value>,
    },
    /// An item ended.
    ItemFinished {
        /// Why it failed, if it did.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<RunError>,
    },
    /// A labelled step failed.
    StepFailed {
        /// Why.
        error: RunError,
        /// How the run handles it: `fail`, `skip`, `default`, `fallback`.
        handled_as: &'static str,
    },
    /// A model call started (one per try).
    ModelStarted {
        /// The agent.
        agent: Arc<str>,
        /// `provider:model` as resolved, `embedded` or `scripted`.
        model: String,
        /// The messages as sent, masked.
        messages: Vec<DisplayedMessage>,
        /// The parameters sent with them: temperature, limits, the name of a schema.
        #[serde(skip_serializing_if = "nothing")]
        parameters: Value,
        /// Whether this is another try of a call that is already counted.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
    /// A model call waits for a rate limit of a provider, or because the provider keeps failing. Not in the journal.
    ModelWaiting {
        /// The agent.
        agent: String,
        /// The provider.
        provider: String,
        /// The limit, by its name in the settings, or `circuit_breaker`.
        limit: &'static str,
        /// About how many milliseconds it waits, if known.
        #[serde(skip_serializing_if = "Option::is_none")]
        delay_ms: Option<u64>,
        /// How the last call of the provider failed, if that is the reason.
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// Text of the running call arrived.
    TextDelta {
        /// The text.
        text: String,
        /// Whether a guardrail has not checked the whole answer yet, so the workflow may never see this text.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        provisional: bool,
    },
    /// A model call ended.
    ModelFinished {
        /// The answer.
        answer: Value,
        /// Its usage.
        usage: Usage,
        /// Milliseconds.
        duration_ms: u64,
        /// The provider's metadata.
        #[serde(flatten)]
        answer_metadata: Box<AnswerMetadata>,
        /// The earlier run that the answer was reused from. No call was made.
        #[serde(skip_serializing_if = "Option::is_none")]
        reused_from: Option<Box<ReuseOrigin>>,
    },
    /// A model call was stopped: a parallel step failed, a limit was reached, or the run was cancelled.
    ModelStopped {
        /// Its known usage.
        usage: Usage,
        /// The text received so far.
        #[serde(skip_serializing_if = "Option::is_none")]
        partial: Option<String>,
        /// The model that was called, if it is not the requested one.
        #[serde(flatten)]
        answer_metadata: Box<AnswerMetadata>,
    },
    /// A tool call, command or decision started.
    EffectStarted {
        /// `tool`, `command`, `decide`, `timer`.
        effect: &'static str,
        /// Arguments or script, masked.
        detail: Value,
        /// Who decided that it is repeated, if its outcome was unknown and somebody decided about it.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::receipt::serialize_displayed")]
        given_by: Option<Box<AnswerReceipt>>,
    },
    /// An effect succeeded.
    EffectFinished {
        /// Its result.
        value: Value,
        /// Milliseconds.
        duration_ms: u64,
        /// The earlier run that the result was reused from. Nothing was performed.
        #[serde(skip_serializing_if = "Option::is_none")]
        reused_from: Option<Box<ReuseOrigin>>,
        /// The run that the tool started.
        #[serde(skip_serializing_if = "Option::is_none")]
        called: Option<String>,
        /// Who gave the answer, or who decided that it was done.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::receipt::serialize_displayed")]
        given_by: Option<Box<AnswerReceipt>>,
    },
    /// An effect failed.
    EffectFailed {
        /// Why.
        error: RunError,
        /// Milliseconds.
        duration_ms: u64,
        /// The usage of a model call. `None` if nothing was used.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// The text of a model call received so far.
        #[serde(skip_serializing_if = "Option::is_none")]
        partial: Option<String>,
        /// The provider's metadata of a model call.
        #[serde(flatten)]
        answer_metadata: Box<AnswerMetadata>,
        /// The run that the tool started.
        #[serde(skip_serializing_if = "Option::is_none")]
        called: Option<String>,
        /// Who decided that it failed.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::receipt::serialize_displayed")]
        given_by: Option<Box<AnswerReceipt>>,
    },
    /// A failed step will be retried.
    RetryScheduled {
        /// The number of the next try, from 2.
        attempt: u32,
        /// Milliseconds until then.
        delay_ms: u64,
        /// Why the last try failed.
        error: RunError,
    },
    /// The result of an iteration is not valid.
    ValidationFailed {
        /// The number of the iteration, from 1.
        iteration: u32,
        /// Why.
        reason: String,
    },
    /// A guardrail or a validator checked a text.
    Verdict(Verdict),
    /// A person is asked.
    SignalWanted {
        /// The step's label.
        label: String,
        /// The question.
        prompt: String,
        /// The accepted answers, if not every answer is accepted.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        accepts: Vec<String>,
        /// The answers with a transition of their own, if every other one is accepted as well.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        choices: Vec<String>,
        /// The previous answer, which was not accepted.
        #[serde(skip_serializing_if = "Option::is_none")]
        refused: Option<String>,
        /// Until when it has to be answered, and what happens otherwise.
        #[serde(flatten)]
        deadline: Option<AnswerDeadline>,
    },
    /// A problem that does not stop the run.
    Warning {
        /// The message.
        message: String,
    },
    /// The run can only wait, and its process ends. It continues when it is resumed.
    RunSuspended {
        /// What the run is waiting for, by key.
        waiting: Vec<AwaitedActivity>,
        /// The time at which the run can continue without an answer, in milliseconds since 1970-01-01 UTC; in JSON as text.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::moment::serialize_optional_moment")]
        wake_at: Option<u64>,
        /// What the run stopped before, and why, if somebody has to allow it.
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<RunError>,
    },
    /// The run was resumed.
    RunResumed {
        /// How often the run has been resumed, including this time.
        execution: u32,
    },
    /// The run ended.
    RunFinished {
        /// Its output. In JSON, as it may be shown.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::private::serialize_visible")]
        output: Option<PrivateValue>,
        /// Or why it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<RunError>,
        /// The items of the fan-outs in which some failed, and the run went on.
        #[serde(skip_serializing_if = "Option::is_none")]
        items: Option<ItemTally>,
        /// Total usage.
        usage: Usage,
        /// Model calls.
        calls: u64,
        /// Milliseconds.
        duration_ms: u64,
    },
}

impl EventKind {
    /// The name of the event, as `event` in JSON. Names do not change between versions.
    pub fn name(&self) -> &'static str {
        match self {
            Self::RunStarted { .. } => "run_started",
            Self::StepStarted { .. } => "step_started",
            Self::StepSkipped { .. } => "step_skipped",
            Self::StepFinished { .. } => "step_finished",
            Self::ItemStarted { .. } => "item_started",
            Self::ItemFinished { .. } => "item_finished",
            Self::StepFailed { .. } => "step_failed",
            Self::ModelStarted { .. } => "model_started",
            Self::ModelWaiting { .. } => "model_waiting",
            Self::TextDelta { .. } => "text_delta",
            Self::ModelFinished { .. } => "model_finished",
            Self::ModelStopped { .. } => "model_stopped",
            Self::EffectStarted { .. } => "effect_started",
            Self::EffectFinished { .. } => "effect_finished",
            Self::EffectFailed { .. } => "effect_failed",
            Self::RetryScheduled { .. } => "retry_scheduled",
            Self::ValidationFailed { .. } => "validation_failed",
            Self::Verdict(_) => "verdict",
            Self::SignalWanted { .. } => "signal_wanted",
            Self::Warning { .. } => "warning",
            Self::RunSuspended { .. } => "run_suspended",
            Self::RunResumed { .. } => "run_resumed",
            Self::RunFinished { .. } => "run_finished",
        }
    }

    /// The details for people, in addition to the name.
    fn detail(&self) -> Option<String> {
        Some(match self {
            Self::RunStarted { flow, .. } => flow.clone(),
            Self::StepStarted { kind, .. } => (*kind).to_owned(),
            Self::StepSkipped { reason, .. } | Self::ValidationFailed { reason, .. } => reason.clone(),
            Self::StepFinished { output, .. } => output.to_text().to_string(),
            Self::ItemStarted { index, total, .. } => format!("{} of {total}", u64::from(*index) + 1),
            Self::StepFailed { error, .. } | Self::EffectFailed { error, .. } => error.to_string(),
            Self::ItemFinished { error } => error.as_ref()?.to_string(),
            Self::ModelStarted { model, .. } => model.clone(),
            Self::ModelWaiting { provider, limit, .. } => format!("`{limit}` of `{provider}`"),
            Self::TextDelta { text, .. } => text.clone(),
            Self::ModelFinished { answer, .. } => answer.to_text().to_string(),
            Self::ModelStopped { .. } => return None,
            Self::EffectStarted { effect, .. } => (*effect).to_owned(),
            Self::EffectFinished { value, .. } => value.to_text().to_string(),
            Self::RetryScheduled { attempt, delay_ms, error } => format!("try {attempt} in {delay_ms} ms: {error}"),
            Self::Verdict(verdict) => verdict.to_string(),
            Self::SignalWanted { prompt, .. } => prompt.clone(),
            Self::Warning { message } => message.clone(),
            Self::RunSuspended { waiting, .. } => waiting.iter().map(|w| &*w.step).collect::<Vec<_>>().join(", "),
            Self::RunResumed { execution } => format!("execution {execution}"),
            Self::RunFinished { output, error, items, .. } => match (output, error, items) {
                (_, Some(error), _) => error.to_string(),
                (Some(output), None, Some(items)) => format!("{items}: {}", output.visible_value().to_text()),
                (Some(output), None, None) => output.visible_value().to_text().to_string(),
                (None, None, _) => return None,
            },
        })
    }
}

/// One line for people: the event, its key, and the start of its details.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        if let Some(key) = &self.key {
            write!(f, " {}", strip_controls(&key.0))?;
        }
        match self.kind.detail() {
            Some(detail) => write!(f, ": {}", strip_controls(&shorten_text(&detail, DETAIL))),
            None => Ok(()),
        }
    }
}

/// Text without control characters and line breaks.
fn strip_controls(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::CheckSubject;

    #[test]
    fn an_event_is_one_line_of_its_name_its_step_and_a_detail() {
        let failed = RunError::new("TOOL_ERROR", "no\nsuch\u{1b}[2J city");
        let kind = EventKind::StepFailed { error: failed, handled_as: "fail" };
        let event = Event { run: "r".into(), seq: 1, at_ms: 2, key: Some(Key("a/b".into())), location: None, kind };
        assert_eq!(event.to_string(), "step_failed a/b: TOOL_ERROR: no such [2J city");
        let kind = EventKind::TextDelta { text: "x".repeat(1000), provisional: false };
        assert!(Event { key: None, kind, ..event }.to_string().len() < 200);
    }

    #[test]
    fn names_are_those_of_the_json() {
        let failed = || RunError::new("TOOL_ERROR", "y");
        let kinds = [
            EventKind::RunStarted {
                flow: String::new(),
                at: 0,
                input: None,
                effective_input: None,
                answers_from: None,
                placeholder: false,
            },
            EventKind::StepStarted { label: "".into(), kind: "agent" },
            EventKind::StepSkipped { label: String::new(), reason: String::new() },
            EventKind::StepFinished { output: Value::Null, items: None },
            EventKind::ItemStarted { index: 0, total: 1, item: None },
            EventKind::ItemFinished { error: None },
            EventKind::StepFailed { error: failed(), handled_as: "fail" },
            EventKind::ModelStarted {
                agent: "".into(),
                model: String::new(),
                messages: Vec::new(),
                parameters: Value::Null,
                again: false,
            },
            EventKind::ModelWaiting {
                agent: String::new(),
                provider: String::new(),
                limit: "requests_per_minute",
                delay_ms: None,
                why: None,
            },
            EventKind::TextDelta { text: String::new(), provisional: false },
            EventKind::ModelFinished {
                answer: Value::Null,
                usage: Usage::default(),
                duration_ms: 0,
                answer_metadata: Box::default(),
                reused_from: None,
            },
            EventKind::ModelStopped { usage: Usage::default(), partial: None, answer_metadata: Box::default() },
            EventKind::EffectStarted { effect: "tool", detail: Value::Null, given_by: None },
            EventKind::EffectFinished {
                value: Value::Null,
                duration_ms: 0,
                reused_from: None,
                called: None,
                given_by: None,
            },
            EventKind::EffectFailed {
                error: failed(),
                duration_ms: 0,
                usage: None,
                partial: None,
                answer_metadata: Box::default(),
                called: None,
                given_by: None,
            },
            EventKind::RetryScheduled { attempt: 2, delay_ms: 0, error: failed() },
            EventKind::ValidationFailed { iteration: 1, reason: String::new() },
            EventKind::SignalWanted {
                label: String::new(),
                prompt: String::new(),
                accepts: Vec::new(),
                choices: Vec::new(),
                refused: None,
                deadline: None,
            },
            EventKind::Verdict(Verdict::without_finding("injection", CheckSubject::Input)),
            EventKind::Warning { message: String::new() },
            EventKind::RunSuspended { waiting: Vec::new(), wake_at: None, why: None },
            EventKind::RunResumed { execution: 1 },
            EventKind::RunFinished {
                output: None,
                error: None,
                items: None,
                usage: Usage::default(),
                calls: 0,
                duration_ms: 0,
            },
        ];
        for kind in kinds {
            assert_eq!(serde_json::to_value(&kind).unwrap()["event"], kind.name());
        }
    }
}
