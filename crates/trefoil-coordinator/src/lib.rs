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
mod input;
pub mod letters;
pub mod memo;
mod notice;
mod outbox;
pub mod outcome;
mod queue;
pub mod recovery;
pub mod reopening;
mod run;
mod state;

pub use action::{Append, HostAction, RunEnd, StartWork, WorkId};
pub use allowance::{Allowance, Share};
pub use facts::HostFacts;
pub use input::{
    AdmittedCalls, Done, EndedWork, IncomingValue, OutcomeDecision, RunInput, RunMessage, StopWanted, SuspendedCall,
    WorkEnd,
};
pub use letters::{LetterId, Letters, Received};
pub use memo::Memo;
pub use notice::{Notice, SuspendedRun};
pub use outcome::RunOutcome;
pub use recovery::{OnUnknown, Recovery};
pub use run::{ResumedRun, Resumption, RunCoordinator, RunSettings};
pub use state::{CoordinatorState, TurnPhase, UnexpectedInput};

/// Version of the engine, for journals.
pub const ENGINE: &str = env!("CARGO_PKG_VERSION");
