//! The one stream of a run that everybody who watches reads. Texts are masked.

use std::fmt;
use std::sync::Arc;

use trefoil_syntax::Location;
use trefoil_template::Value;

use crate::error::RunError;
use crate::guard::Verdict;
use crate::key::Key;
use crate::provenance::Span;
use crate::request::{Finish, Role, ToolUse, Usage};
use crate::text::shorten;

/// Characters of a detail in the line that an event is shown as.
const DETAIL: usize = 120;

/// One event.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Event {
    /// The run.
    pub run: std::sync::Arc<str>,
    /// From 0, without gaps within a run, and the same whenever the run is told. What is in no journal (text that arrives, a
    /// note for this process) has the number of the event before it.
    pub seq: u64,
    /// Milliseconds since the run began.
    pub at_ms: u64,
    /// The step's or activity's structural key, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    /// The step's place in its manifest.
    #[serde(skip)]
    pub location: Option<Location>,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// How the items of a fan-out ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Tally {
    /// How many there were.
    pub total: u32,
    /// How many of them failed.
    pub failed: u32,
}

/// A message as it was sent, masked.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ShownMessage {
    /// Who speaks.
    pub role: Role,
    /// What.
    pub content: String,
    /// Where each part of it came from, where the watcher wants it. Places become file names at the edge, so this is no
    /// part of the event as it is written.
    #[serde(skip)]
    pub spans: Vec<Span>,
    /// The tools that the model called in this turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolUse>,
    /// The call that this came of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<Arc<str>>,
}

/// Whether there is nothing in it.
fn nothing(value: &Value) -> bool {
    value.as_object().is_none_or(|members| members.is_empty())
}

/// What a provider says beside an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Told {
    /// The model's own name for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    /// Why it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<Finish>,
    /// The provider's own name for the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl Told {
    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What a suspended run waits for.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Waiting {
    /// The activity.
    pub key: Key,
    /// Its step's label.
    pub step: String,
    /// `human`: a person's answer. `tool` or `command`: somebody's decision, because nobody knows whether it was done.
    pub sort: &'static str,
    /// The question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Of a tool or command, what was asked for: `name` and `arguments`, or `script` and `arguments`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<Value>,
    /// The answers that lead on, where only some do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepts: Vec<String>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// The run began.
    RunStarted {
        /// The entry flow.
        flow: String,
        /// Its input.
        input: Option<Value>,
        /// The input with the defaults of what was not given; only for whoever wants provenance.
        #[serde(skip_serializing_if = "Option::is_none")]
        effective_input: Option<Value>,
        /// What answers model calls, where that is one thing: `embedded model`, `answers from FILE`, `openai:gpt-x`.
        #[serde(skip_serializing_if = "Option::is_none")]
        answers_from: Option<String>,
        /// The answers are placeholders of the embedded model.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        placeholder: bool,
    },
    /// A labelled step began.
    StepStarted {
        /// Its label.
        label: String,
        /// Its kind: `agent`, `tool`, `command`, `human`, `parallel`, ...
        kind: &'static str,
    },
    /// A labelled step was passed over.
    StepSkipped {
        /// Its label.
        label: String,
        /// The values that its `when` saw and the text of it, `branch not taken` with the values, `budget`.
        reason: String,
    },
    /// A labelled step ended well.
    StepFinished {
        /// Its result.
        output: Value,
        /// How its fan-out went, where it has one: what failed did not fail the step.
        #[serde(skip_serializing_if = "Option::is_none")]
        items: Option<Tally>,
    },
    /// An item of a fan-out (or a branch that may fail by itself) began. The key is the item's.
    ItemStarted {
        /// Its position, from 0.
        index: u32,
        /// How many there are.
        total: u32,
        /// What it is, masked; none: the fan-out is over a number.
        #[serde(skip_serializing_if = "Option::is_none")]
        item: Option<Value>,
    },
    /// It ended.
    ItemFinished {
        /// Why it failed, if it did.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<RunError>,
    },
    /// A labelled step failed.
    StepFailed {
        /// Why.
        error: RunError,
        /// `fail`, `skip`, `default`, `fallback`: what the run makes of it.
        handled_as: &'static str,
    },
    /// A model call began (one per try).
    ModelStarted {
        /// The agent that speaks.
        agent: String,
        /// `provider:model` as resolved; `embedded` and `scripted` say so.
        model: String,
        /// As sent, masked.
        messages: Vec<ShownMessage>,
        /// What is sent beside them: temperature, limits, the name of a schema.
        #[serde(skip_serializing_if = "nothing")]
        parameters: Value,
        /// Another try of a call that has been counted.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
    /// Text of the running call arrived.
    TextDelta {
        /// The text.
        text: String,
        /// A guardrail has yet to look at the whole answer: the workflow may never see this text.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        provisional: bool,
    },
    /// A model call ended.
    ModelFinished {
        /// The answer.
        answer: Value,
        /// What it used.
        usage: Usage,
        /// Milliseconds.
        duration_ms: u64,
        /// What the provider said beside the answer.
        #[serde(flatten)]
        told: Told,
    },
    /// A model call was stopped on its way: a neighbour failed, a limit was reached, somebody cancelled the run.
    ModelStopped {
        /// What it is known to have used.
        usage: Usage,
        /// The text that had come.
        #[serde(skip_serializing_if = "Option::is_none")]
        partial: Option<String>,
    },
    /// A tool call, command or decision began.
    EffectStarted {
        /// `tool`, `command`, `decide`, `timer`.
        effect: &'static str,
        /// As shown: arguments or script, masked.
        detail: Value,
    },
    /// It ended.
    EffectFinished {
        /// Its result.
        value: Value,
        /// Milliseconds.
        duration_ms: u64,
    },
    /// An effect failed.
    EffectFailed {
        /// Why.
        error: RunError,
        /// Milliseconds.
        duration_ms: u64,
        /// Of a model call: what it used; none where nothing was used.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// Of a model call: the text that had come.
        #[serde(skip_serializing_if = "Option::is_none")]
        partial: Option<String>,
        /// Of a model call: what the provider said beside the answer.
        #[serde(flatten)]
        told: Told,
    },
    /// It will be tried again.
    RetryScheduled {
        /// The coming try, from 2.
        attempt: u32,
        /// Milliseconds until then.
        delay_ms: u64,
        /// Why the last one failed.
        error: RunError,
    },
    /// An iteration did not validate.
    ValidationFailed {
        /// Which, from 1.
        iteration: u32,
        /// Why.
        reason: String,
    },
    /// A guardrail or a validator looked at a text.
    Verdict(Verdict),
    /// A person is asked.
    SignalWanted {
        /// The step's label.
        label: String,
        /// The question.
        prompt: String,
        /// The answers that lead on, where only some do.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        accepts: Vec<String>,
        /// The answer before, which led nowhere.
        #[serde(skip_serializing_if = "Option::is_none")]
        refused: Option<String>,
    },
    /// Something that does not stop the run.
    Warning {
        /// What.
        message: String,
    },
    /// Only waiting is left, and the process ends. Whoever resumes the run goes on with it.
    RunSuspended {
        /// What is waited for, by key.
        waiting: Vec<Waiting>,
        /// When time alone goes on with the run, in milliseconds since 1970-01-01 UTC.
        #[serde(skip_serializing_if = "Option::is_none")]
        wake_at: Option<u64>,
    },
    /// Another process goes on with the run.
    RunResumed {
        /// How often the run has been gone on with, this time included.
        execution: u32,
    },
    /// The run ended.
    RunFinished {
        /// Its output.
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
        /// Or why it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<RunError>,
        /// Spent altogether.
        usage: Usage,
        /// Model calls.
        calls: u64,
        /// Milliseconds.
        duration_ms: u64,
    },
}

impl EventKind {
    /// The name of what happened, as `event` in JSON has it. Names do not change between versions.
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

    /// What a person wants to know beside the name.
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
            Self::RunFinished { output, error, .. } => match (output, error) {
                (_, Some(error)) => error.to_string(),
                (Some(output), None) => output.to_text().to_string(),
                (None, None) => return None,
            },
        })
    }
}

/// One line for people: what happened, where, and the beginning of what there is to say about it.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        if let Some(key) = &self.key {
            write!(f, " {}", plain(&key.0))?;
        }
        match self.kind.detail() {
            Some(detail) => write!(f, ": {}", plain(&shorten(&detail, DETAIL))),
            None => Ok(()),
        }
    }
}

/// A text that moves no cursor and breaks no line.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Side;

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
                input: None,
                effective_input: None,
                answers_from: None,
                placeholder: false,
            },
            EventKind::StepStarted { label: String::new(), kind: "agent" },
            EventKind::StepSkipped { label: String::new(), reason: String::new() },
            EventKind::StepFinished { output: Value::Null, items: None },
            EventKind::ItemStarted { index: 0, total: 1, item: None },
            EventKind::ItemFinished { error: None },
            EventKind::StepFailed { error: failed(), handled_as: "fail" },
            EventKind::ModelStarted {
                agent: String::new(),
                model: String::new(),
                messages: Vec::new(),
                parameters: Value::Null,
                again: false,
            },
            EventKind::TextDelta { text: String::new(), provisional: false },
            EventKind::ModelFinished {
                answer: Value::Null,
                usage: Usage::default(),
                duration_ms: 0,
                told: Told::default(),
            },
            EventKind::ModelStopped { usage: Usage::default(), partial: None },
            EventKind::EffectStarted { effect: "tool", detail: Value::Null },
            EventKind::EffectFinished { value: Value::Null, duration_ms: 0 },
            EventKind::EffectFailed {
                error: failed(),
                duration_ms: 0,
                usage: None,
                partial: None,
                told: Told::default(),
            },
            EventKind::RetryScheduled { attempt: 2, delay_ms: 0, error: failed() },
            EventKind::ValidationFailed { iteration: 1, reason: String::new() },
            EventKind::SignalWanted { label: String::new(), prompt: String::new(), accepts: Vec::new(), refused: None },
            EventKind::Verdict(Verdict::passed("injection", Side::Input)),
            EventKind::Warning { message: String::new() },
            EventKind::RunSuspended { waiting: Vec::new(), wake_at: None },
            EventKind::RunResumed { execution: 1 },
            EventKind::RunFinished { output: None, error: None, usage: Usage::default(), calls: 0, duration_ms: 0 },
        ];
        for kind in kinds {
            assert_eq!(serde_json::to_value(&kind).unwrap()["event"], kind.name());
        }
    }
}
