//! What a host may tell a run. Values are masked before they come in.

use std::sync::Arc;

use trefoil_machine::error::RunError;
use trefoil_machine::event::AwaitedActivity;
use trefoil_machine::journal::ActivityMetadata;
use trefoil_machine::key::Key;
use trefoil_machine::private::PrivateValue;
use trefoil_machine::request::{Activity, Usage};

use crate::action::WorkId;
use crate::inbox_messages::{InboxMessageIds, ReceivedMessage};
use crate::memo::FoundAnswers;

/// What a host may tell a run.
#[derive(Debug)]
pub enum RunInput {
    /// The answers of earlier runs.
    Found(Vec<FoundAnswers>),
    /// The decision about an activity whose outcome is unknown.
    DecisionRead(Option<ReceivedMessage<OutcomeDecision>>),
    /// A message that was in the inbox. `None`: it is empty.
    InboxRead(Option<ReceivedMessage<RunMessage>>),
    /// Whether the entries are stored.
    Appended(Result<(), RunError>),
    /// Which model calls may start.
    Admitted(AdmittedCalls),
    /// Others have worked.
    MayProceed,
    /// Work has ended.
    WorkEnded(Vec<EndedWork>),
    /// The turn of a call in the queue has come.
    TurnCame,
    /// A message has arrived.
    Arrived(ReceivedMessage<RunMessage>),
    /// How the run is to stop, or that it is not.
    StopWanted(StopRequest),
    /// The moment is over that stopped calls had.
    MomentOver,
}

impl RunInput {
    /// The name, for errors.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Found(_) => "Found",
            Self::DecisionRead(_) => "DecisionRead",
            Self::InboxRead(_) => "InboxRead",
            Self::Appended(_) => "Appended",
            Self::Admitted(_) => "Admitted",
            Self::MayProceed => "MayProceed",
            Self::WorkEnded(_) => "WorkEnded",
            Self::TurnCame => "TurnCame",
            Self::Arrived(_) => "Arrived",
            Self::StopWanted(_) => "StopWanted",
            Self::MomentOver => "MomentOver",
        }
    }
}

/// The model calls that may start.
#[derive(Debug, Default)]
pub struct AdmittedCalls {
    /// Those whose turn in the queue has come, in that order.
    pub turned: Vec<Key>,
    /// Those that have just entered the queue, and do not have to wait.
    pub at_once: Vec<Key>,
}

/// Work that has ended.
#[derive(Debug)]
pub struct EndedWork {
    /// The work.
    pub work: WorkId,
    /// The key of its activity.
    pub key: Key,
    /// How.
    pub how: WorkOutcome,
}

/// How work ends.
#[derive(Debug)]
pub enum WorkOutcome {
    /// The activity has ended.
    Done(Box<EndedActivity>),
    /// It is a question that was stored. The answer arrives later.
    Kept,
    /// It is a tool call that started a run, and that run is suspended.
    Called(Box<SuspendedCall>),
}

/// An activity that has ended.
#[derive(Debug)]
pub struct EndedActivity {
    /// The activity.
    pub activity: Arc<Activity>,
    /// Its result.
    pub result: Result<PrivateValue, RunError>,
    /// Metadata of the result.
    pub about: ActivityMetadata,
    /// The messages that it comes from: the entry that ends the activity acts on them.
    pub message_ids: InboxMessageIds,
}

impl EndedActivity {
    /// Without metadata.
    pub fn without_metadata(
        activity: Arc<Activity>,
        result: Result<PrivateValue, RunError>,
        message_ids: InboxMessageIds,
    ) -> Self {
        Self { activity, result, about: ActivityMetadata::default(), message_ids }
    }
}

/// A suspended run that a tool call started.
#[derive(Debug, Clone, PartialEq)]
pub struct SuspendedCall {
    /// Its id.
    pub run: Arc<str>,
    /// What it waits for.
    pub waiting: Vec<AwaitedActivity>,
    /// When it can continue without an answer, in milliseconds since 1970-01-01 UTC.
    pub wake_at: Option<u64>,
    /// What it has used so far. The result of the call counts it again, together with the rest.
    pub usage: Usage,
}

/// Data that has come in, without secrets.
#[derive(Debug, Clone, PartialEq)]
pub struct IncomingValue {
    /// The data.
    pub value: PrivateValue,
    /// The secrets that were replaced in it: `env.NAME`, `secrets.NAME`. The keys of providers have no names.
    pub replaced: Vec<String>,
}

/// The decision about an activity with an unknown outcome.
#[derive(Debug, Clone, PartialEq)]
pub enum OutcomeDecision {
    /// Repeat it.
    Retry,
    /// Treat it as failed, with `UNKNOWN_OUTCOME`.
    Fail,
    /// Treat it as done, with this result.
    Done(IncomingValue),
}

/// A message for a run.
#[derive(Debug, Clone, PartialEq)]
pub enum RunMessage {
    /// A person's answer to a question.
    Answer {
        /// The question's key.
        key: Key,
        /// What the person said.
        answer: IncomingValue,
        /// When, in milliseconds since 1970-01-01 UTC: after the question's time it does not count.
        at: u64,
    },
    /// The decision about the activity of that key.
    Decided(Key, OutcomeDecision),
    /// The run of this id, which a tool call of the run started, can continue.
    Continue(String),
    /// A request to stop the run.
    Cancel,
    /// A message that means nothing to this build. It is deleted.
    Unknown,
}

/// How a run should stop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StopRequest {
    /// It should not.
    #[default]
    No,
    /// It ends the work in progress, and starts nothing until it may.
    Hold,
    /// It ends the work in progress, and then stops to be resumed.
    Drain,
    /// It stops now, to be resumed.
    Interrupt,
    /// It ends now.
    Cancel,
}

impl StopRequest {
    /// Whether the run stops now.
    pub fn is_now(self) -> bool {
        matches!(self, Self::Interrupt | Self::Cancel)
    }

    /// Whether nothing may start.
    pub fn is_holding(self) -> bool {
        matches!(self, Self::Hold | Self::Drain)
    }
}
