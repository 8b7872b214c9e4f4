//! The runtime: a pure machine, its journal, its ports, and the async driver that joins them.
//!
//! ```text
//! program, input --> machine --commands--> driver --ports--> models, tools, commands, people, clock
//!                      ^                     |
//!                      +----- completions ---+--> journal        events --> whoever watches
//! ```
//!
//! The machine is synchronous and deterministic: no clock, randomness, environment, IO, threads or hash-order iteration.
//! Everything from outside is a journal entry before the machine sees it. Knows nothing about HTTP, SQL, vendors or dialects.

pub mod conformance;
pub mod driver;
pub mod embedded;
pub mod error;
pub mod event;
pub mod guard;
pub mod journal;
pub mod key;
pub mod machine;
pub mod ports;
pub mod provenance;
pub mod request;

mod text;

pub use driver::{Cancel, Options, RunOutcome};
pub use embedded::Embedded;
pub use error::{Cause, Excerpt, Interpolation, RunError};
pub use event::{Event, EventKind, Told};
pub use journal::{Entry, EntryKind, Flags};
pub use key::{ContentKey, Key};
pub use machine::{Command, Completion, Machine, Noted, Output, Prepared, Resumed};
pub use ports::{
    Clock, CommandHost, CommandOutput, EventSink, HumanInbox, Journal, Meter, ModelAnswer, ModelError, ModelErrorKind,
    ModelProvider, Ports, Random, Secrets, ToolError, ToolHost,
};
pub use request::{
    Activity, CommandRequest, Finish, HumanRequest, Message, ModelRequest, Request, Role, ToolRequest, Usage,
};
