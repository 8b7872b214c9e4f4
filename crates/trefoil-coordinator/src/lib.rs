//! The coordinator: decides everything that a run decides above the machine, without IO and without async.
//!
//! ```text
//! host --inputs--> coordinator --commands, completions--> machine
//!   ^                  |
//!   +---- actions -----+
//! ```
//!
//! What is stored, performed, queued, reused, asked again, recovered, suspended and told is decided here. A *host* performs the
//! [actions](HostAction), and reports what came of them as [inputs](RunInput): it is a loop that has no decision in it. What a host
//! knows at once are [facts](HostFacts). Values are masked before they come in, and what is to be told goes out as [notices](Notice),
//! which the host masks.

mod action;
pub mod allowance;
mod facts;
pub mod inbox_messages;
mod input;
pub mod memo;
mod notice;
mod outbox;
pub mod outcome;
mod queue;
pub mod recovery;
pub mod reopening;
mod run;
mod state;

pub use action::{HostAction, JournalAppend, RunEndReport, StartWork, WorkId};
pub use allowance::{Allowance, Share};
pub use facts::HostFacts;
pub use inbox_messages::{InboxMessageId, InboxMessageIds, ReceivedMessage};
pub use input::{
    AdmittedCalls, EndedActivity, EndedWork, IncomingValue, OutcomeDecision, RunInput, RunMessage, StopRequest,
    SuspendedCall, WorkOutcome,
};
pub use memo::Memo;
pub use notice::{Notice, SuspendedRun};
pub use outcome::RunOutcome;
pub use recovery::{OnUnknown, RecoveryPolicy};
pub use run::{ResumedRun, RunCoordinator, RunResumption, RunSettings};
pub use state::{CoordinatorState, TurnPhase, UnexpectedInput};

/// Version of the engine, for journals.
pub const ENGINE: &str = env!("CARGO_PKG_VERSION");
