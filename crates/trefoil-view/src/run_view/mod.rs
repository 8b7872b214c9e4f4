//! The picture of a run: a pure, incremental fold of its events. Every view reads it: the trace and its page, what a stored run waits
//! for, progress, `dev`.
//!
//! Texts are masked, as in the events. [`RunHistory`] has the picture after any number of events.

mod calls;
mod event_fold;
mod history;
mod open_wait;

pub use history::RunHistory;
pub use open_wait::OpenWait;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use trefoil_machine::event::{DisplayedMessage, ItemTally, ReuseOrigin};
use trefoil_machine::guard::Verdict;
use trefoil_machine::key::{KeyMap, parent_key};
use trefoil_machine::{AnswerMetadata, AnswerReceipt};
use trefoil_runtime::{Key, RunError, RunStatus, Usage};
use trefoil_syntax::Location;
use trefoil_template::Value;

/// What is kept of each step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ViewDetail {
    /// Everything. What has no step has an inferred one.
    #[default]
    Full,
    /// The names and the states of steps and items, without prompts, answers, notes and verdicts. What is told of an item is not
    /// told of the step around it, and the steps that are open at the end of a run stay open.
    Rows,
}

/// The picture of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunView {
    detail: ViewDetail,
    /// The run's id.
    pub run: Arc<str>,
    /// The entry flow.
    pub flow: String,
    /// When it started, in milliseconds since 1970-01-01 UTC.
    pub started_at: Option<u64>,
    /// The run's input.
    pub input: Option<Value>,
    /// The input with defaults.
    pub effective_input: Option<Value>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// How it ended; `None`: it has not.
    pub end: Option<RunViewEnd>,
    /// What it waits for: open questions, and after a suspension everything.
    pub open: OpenWait,
    /// Whether it is suspended.
    pub is_suspended: bool,
    /// The calls that have begun and not ended.
    pub open_calls: KeyMap<OpenCallView>,
    /// Model calls so far, counted like in the outcome: a retry that the manifest did not request is not counted again.
    pub calls: u64,
    /// The usage so far.
    pub usage: Usage,
    /// When its last event happened, in milliseconds since its start.
    pub at_ms: u64,
    /// The steps and items by number, in the order in which they started. Each is shared with other pictures until one of them
    /// changes it.
    steps: BTreeMap<usize, Arc<StepView>>,
    next: usize,
    /// The last step of each key.
    index: HashMap<Arc<str>, usize>,
    /// The last item of each key.
    items: HashMap<Arc<str>, usize>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunViewEnd {
    /// Its output.
    pub output: Option<Value>,
    /// The failure.
    pub error: Option<RunError>,
    /// The items of the fan-outs in which some failed, and the run went on.
    pub items: Option<ItemTally>,
    /// The usage.
    pub usage: Usage,
    /// Model calls.
    pub calls: u64,
    /// The duration in milliseconds.
    pub duration_ms: u64,
}

/// An item of a fan-out.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemView {
    /// Its number, from 1.
    pub number: u32,
    /// The number of items.
    pub total: u32,
    /// Its value; `None`: the fan-out is over a number.
    pub value: Option<Value>,
}

/// The items of a fan-out so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ItemCounts {
    /// All items.
    pub total: u32,
    /// Items that have ended, including failed ones.
    pub ended: u32,
    /// Items that failed.
    pub failed: u32,
}

/// The state of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StepState {
    /// Not started.
    Expected,
    /// In progress.
    #[default]
    Running,
    /// In progress, and waits for its next try.
    Retrying,
    /// In progress, and asks a person.
    Asking,
    /// The suspended run waits for it.
    Waiting,
    /// Succeeded.
    Done,
    /// Succeeded, but some of its items failed.
    Partly,
    /// Failed.
    Failed,
    /// Skipped.
    Skipped,
    /// A step around it or next to it ended first, or the run was cancelled.
    Cancelled,
    /// The run ended before it.
    Stopped,
    /// The process of the run ended.
    Interrupted,
}

impl StepState {
    /// Its word in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Expected => "expected",
            Self::Running | Self::Retrying | Self::Asking => "running",
            Self::Waiting => "waiting",
            Self::Done | Self::Partly => "done",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
            Self::Stopped => "stopped",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether it is in progress, as far as its process is.
    pub fn is_running(self) -> bool {
        self.name() == Self::Running.name()
    }

    /// Whether it was ended before its own end.
    pub fn is_stopped(self) -> bool {
        matches!(self, Self::Cancelled | Self::Stopped | Self::Interrupted)
    }
}

/// A step, or an item of a fan-out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepView {
    /// Its key.
    pub key: Option<Key>,
    /// Its name in the manifest.
    pub label: Arc<str>,
    /// `agent`, `tool`, ...
    pub kind: &'static str,
    /// Whether no event reports its start and its end: it was made for what has no step.
    pub is_inferred: bool,
    /// Whether it is an item of a fan-out.
    pub is_item: bool,
    /// The step or item around it when it started.
    pub parent: Option<usize>,
    /// The steps and items directly inside it.
    pub children: BTreeSet<usize>,
    /// The number of tries.
    pub tries: u32,
    /// When its next try starts. If it ended before that, the last try did not start.
    pub retry_ms: Option<u64>,
    /// How the items of its fan-out ended.
    pub items: Option<ItemTally>,
    /// The items of its fan-out so far.
    pub counts: Option<ItemCounts>,
    /// The item that it is, or that directly contains it, if any.
    pub item: Option<ItemView>,
    /// Its place.
    pub location: Option<Location>,
    /// Its state.
    pub state: StepState,
    /// When it started, in milliseconds since the start of the run.
    pub started_ms: u64,
    /// When it ended, in milliseconds since the start of the run.
    pub ended_ms: Option<u64>,
    /// Its result.
    pub output: Option<Value>,
    /// The model that answers it.
    pub model: Option<String>,
    /// The usage of its own calls.
    pub usage: Usage,
    /// Whether it asked a person.
    pub has_asked: bool,
    /// Whether it had ended before the run was resumed, or has results from an earlier run.
    pub kept: bool,
    /// Whether it made a call, or a step inside it did.
    called: bool,
    /// Whether a step inside it is kept.
    keeps: bool,
    /// Why it failed, and how the run handled it.
    pub error: Option<(RunError, &'static str)>,
    /// Why it was skipped.
    pub reason: Option<String>,
    /// Its calls, one for each try.
    pub calls: Vec<Arc<CallView>>,
    /// Retries, iterations that did not pass, warnings.
    pub notes: Vec<(u64, String)>,
    /// The verdicts of guardrails and validators, with milliseconds since the start of the run.
    pub verdicts: Vec<(u64, Verdict)>,
    /// Who gave its last answer, or decided last about what it called.
    pub given_by: Option<Box<AnswerReceipt>>,
}

impl StepView {
    /// Whether it is a model step. The steps inside it are calls by the model.
    pub fn is_agent(&self) -> bool {
        self.kind == "agent" && !self.is_inferred
    }
}

/// A model call, tool call, command or question to a person.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallView {
    /// Its key.
    pub key: Option<Key>,
    /// `model`, `tool`, `command`, `human`, ...
    pub effect: &'static str,
    /// The agent that speaks.
    pub agent: Option<String>,
    /// The model that answers.
    pub model: Option<String>,
    /// What was sent.
    pub messages: Vec<DisplayedMessage>,
    /// Other data that was sent.
    pub parameters: Option<Value>,
    /// The received part of an incomplete answer.
    pub partial: Option<String>,
    /// Other data that the provider returned.
    pub answer_metadata: AnswerMetadata,
    /// Arguments, script or question.
    pub detail: Option<Value>,
    /// The answer.
    pub answer: Option<Value>,
    /// The failure.
    pub error: Option<RunError>,
    /// The usage.
    pub usage: Option<Usage>,
    /// If nothing was called: the earlier run with the result.
    pub reused_from: Option<Box<ReuseOrigin>>,
    /// Who gave the answer, or decided about an unknown outcome.
    pub given_by: Option<Box<AnswerReceipt>>,
    /// When it started, in milliseconds since the start of the run.
    pub started_ms: u64,
    /// The duration in milliseconds.
    pub duration_ms: Option<u64>,
}

/// A call that has begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenCallView {
    /// A model call.
    Model {
        /// Whether it is in the number of calls.
        counted: bool,
    },
    /// A call of the tool with this name.
    Tool(String),
    /// A command.
    Command,
}

impl RunView {
    /// An empty picture.
    pub fn new(detail: ViewDetail) -> Self {
        Self { detail, ..Self::default() }
    }

    /// The steps and items with their numbers, in the order in which they started.
    pub fn numbered_steps(&self) -> impl Iterator<Item = (usize, &StepView)> {
        self.steps.iter().map(|(number, step)| (*number, &**step))
    }

    /// The numbers of the steps and items that are not as they were in an earlier picture of the same run, with those around them, of
    /// which a view may say something about what is inside.
    pub fn changed_steps(&self, before: &Self) -> BTreeSet<usize> {
        let mut changed = BTreeSet::new();
        for (number, step) in &self.steps {
            // A step that nobody changed is shared with the earlier picture.
            if matches!(before.steps.get(number), Some(known) if Arc::ptr_eq(known, step)) {
                continue;
            }
            let mut around = Some(*number);
            while let Some(number) = around
                && changed.insert(number)
            {
                around = self.step_by_number(number).and_then(|step| step.parent);
            }
        }
        changed
    }

    /// A step or item by its number.
    pub fn step_by_number(&self, number: usize) -> Option<&StepView> {
        self.steps.get(&number).map(|step| &**step)
    }

    /// The last step with exactly this key.
    pub fn step_with_key(&self, key: &str) -> Option<&StepView> {
        self.step_by_number(*self.index.get(key)?)
    }

    /// The number of the innermost step around a key; of rows, also of an item.
    pub fn step_around(&self, key: &str) -> Option<usize> {
        self.around(key, self.detail == ViewDetail::Rows)
    }

    fn around(&self, mut key: &str, with_items: bool) -> Option<usize> {
        loop {
            let item = if with_items { self.items.get(key) } else { None };
            if let Some(number) = self.index.get(key).max(item) {
                return Some(*number);
            }
            key = parent_key(key)?;
        }
    }

    /// How the run stands.
    pub fn status(&self) -> RunStatus {
        match &self.end {
            Some(end) => RunStatus::of_end(end.error.as_ref()),
            None if self.is_suspended => RunStatus::Waiting,
            None => RunStatus::Running,
        }
    }

    /// The items of the fan-outs in which some failed, and the run went on.
    pub fn failed_items(&self) -> Option<ItemTally> {
        if let Some(end) = &self.end {
            return end.items;
        }
        let mut all = ItemTally::default();
        for (_, step) in self.numbered_steps() {
            if let Some(items) = step.items
                && let Some(failed) = items.with_failed()
            {
                all.add_items(failed);
            }
        }
        all.with_failed()
    }
}
