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
pub mod error;
pub mod key;
pub mod moment;
pub mod parameters;
pub mod private;
pub mod provenance;
pub mod request;
pub mod run_limits;
pub mod said;
pub mod step_path;

pub mod event;
pub mod journal;

pub mod guard;
pub mod schemas;
pub mod text;

pub mod machine;

pub mod answer;

pub use clock::{Due, RunClock, RunMs, WorkMs};
pub use error::{Cause, Interpolation, RunError, RunErrorData};
pub use event::{AskedBefore, Event, EventKind, Told};
pub use journal::{About, Entry, EntryKind, Flags, Identity, Reserve, RunSpec, SourceFile, Started};
pub use key::{ContentKey, Key};
pub use machine::{
    Command, Completion, Difference, Machine, Noted, Output, Past, Prepared, Replay, Resumed, Unwatched, Watcher, What,
    effective_input, input_faults,
};
pub use private::{HiddenParts, PrivateValue};
pub use request::{
    Activity, CommandRequest, Effects, Finish, HumanRequest, Message, ModelRequest, Request, Role, ToolRequest,
    ToolSpec, ToolUse, Usage,
};
pub use run_limits::{LimitKind, RunLimits, UsedAmounts};
