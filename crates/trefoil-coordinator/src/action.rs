//! What a host must do.

use std::sync::Arc;

use trefoil_machine::clock::RunMs;
use trefoil_machine::error::RunError;
use trefoil_machine::journal::Entry;
use trefoil_machine::key::Key;
use trefoil_machine::request::Activity;

use crate::allowance::Share;
use crate::inbox_messages::InboxMessageIds;
use crate::notice::Notice;
use crate::outcome::RunOutcome;

/// The number of a piece of work: of an activity, once for each time that it is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkId(pub u64);

/// What a host must do. The [inputs](crate::RunInput) say what it replies.
#[derive(Debug)]
pub enum HostAction {
    /// Look up answers of earlier runs to these model calls. Reply: `Found`.
    LookUp(Vec<Arc<Activity>>),
    /// Read what somebody has decided about an activity whose outcome is unknown. Reply: `DecisionRead`.
    ReadDecision(Arc<Activity>),
    /// Read the next message that is in the inbox now. Reply: `InboxRead`.
    ReadInbox,
    /// Store entries. Only then may anybody know of the notices. Reply: `Appended`.
    Append(Box<JournalAppend>),
    /// Let these model calls enter the queue. Reply, at once: `Admitted`.
    Admit(Vec<Arc<Activity>>),
    /// These calls leave the queue, or give back what they were admitted to.
    LeaveQueue(Vec<Key>),
    /// The permits of the calls that have ended may be used by other calls.
    FreePermits,
    /// Start work.
    Start(Vec<StartWork>),
    /// Stop work.
    Stop {
        /// The work.
        work: WorkId,
        /// Whether it gets a moment to end: see [`HostFacts::winds_down`](crate::HostFacts::winds_down).
        winds_down: bool,
    },
    /// Let others work. Reply: `MayProceed`.
    Yield,
    /// Wait for any of the inputs of a [working](crate::CoordinatorState::Working) run.
    Wait {
        /// Whether calls in the queue may not start.
        is_held: bool,
        /// Whether the runs that calls have started are to end their work in progress, too.
        drains: bool,
    },
    /// Wait a moment for stopped calls that have not ended. Reply: `WorkEnded` for each that ends, or `MomentOver`.
    WindDown,
    /// Drop all work.
    DropWork,
    /// Store what has been received of the answers of calls in progress.
    KeepDrafts,
    /// The run has ended here.
    End(Box<RunEndReport>),
}

/// What is stored in one transaction.
#[derive(Debug)]
pub struct JournalAppend {
    /// The entries. There are none if the run is not stored.
    pub entries: Vec<Entry>,
    /// The messages that the entries act on. They are deleted from the inbox.
    pub message_ids: InboxMessageIds,
    /// What is known then, each with the time of the entry that led to it.
    pub notices: Vec<(RunMs, Notice)>,
}

/// Work to be started.
#[derive(Debug)]
pub struct StartWork {
    /// The work.
    pub work: WorkId,
    /// What to perform.
    pub activity: Arc<Activity>,
    /// For a tool call: what runs may use that it starts.
    pub share: Option<Box<Share>>,
    /// Whether it is started to be stopped: the tool ends the run that it has started before.
    pub is_call_off: bool,
}

/// How a run ended here.
#[derive(Debug)]
pub struct RunEndReport {
    /// The outcome.
    pub outcome: RunOutcome,
    /// Whether the journal does not have the end, so that the run can go on.
    pub is_open: bool,
    /// The failure after which the run [continues](RunOutcome::continues) if it can be reopened.
    pub failure: Option<RunError>,
}
