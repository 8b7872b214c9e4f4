//! The machine: decides what a run does next, as a pure function of its program, its input and the completions so far.
//!
//! ```text
//! program, input --> machine --commands--> coordinator
//!                      ^                       |
//!                      +----- completions -----+--> journal entries
//! ```
//!
//! Synchronous and deterministic: no clock, randomness, environment, IO, threads, async or hash-order iteration.
//! Everything from outside is a journal entry before the machine gets it. Knows nothing about HTTP, SQL, vendors or
//! dialects.

pub mod blocks;
pub mod clock;
pub mod content;
pub mod deadline;
pub mod error;
pub mod key;
pub mod moment;
pub mod parameters;
pub mod private;
pub mod provenance;
pub mod receipt;
pub mod request;
pub mod run_limits;
pub mod step_path;
pub mod turn_content;

pub mod event;
pub mod journal;

pub mod guard;
pub mod schemas;
pub mod text;

pub mod machine;

pub mod answer;

pub use clock::{DueTime, RunClock, RunMs, WorkMs};
pub use error::{FailureCause, InterpolationFailure, RunError, RunErrorData};
pub use event::{AnswerMetadata, Event, EventKind, FailedModelCall};
pub use journal::{
    ActivityMetadata, CostBudget, Entry, EntryKind, Flags, ProgramFile, ProgramIdentity, Reserve, RunSpec, RunStart,
};
pub use key::{ContentKey, Key};
pub use machine::{
    ActivityCompletion, DifferenceKind, Machine, MachineCommand, MachineEvent, MachineOutput, NoObserver,
    PreparedProgram, Replay, ReplayDifference, ReplayNotice, ReplayObserver, ReplayedRun, effective_input,
    input_faults,
};
pub use private::{HiddenParts, PrivateValue};
pub use receipt::{AnswerReceipt, AnswerSender};
pub use request::{
    Activity, CommandRequest, Effects, FinishReason, HumanRequest, MessageRole, ModelMessage, ModelRequest,
    ModelToolCall, Request, ToolRequest, ToolSpec, Usage,
};
pub use run_limits::{LimitKind, RunLimits, UsedAmounts};
