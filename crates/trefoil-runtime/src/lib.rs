//! The runtime: ports, and the async driver that connects a coordinator to them.
//!
//! ```text
//! coordinator --actions--> driver --ports--> models, tools, commands, people, clock
//!    ^                       |
//!    +------- inputs --------+--> journal        events --> watchers
//! ```
//!
//! The coordinator (`trefoil-coordinator`) decides what is done; the driver performs it. This crate also contains in-memory
//! implementations of ports, and the suites that every implementation must pass. It knows nothing about HTTP, SQL, vendors or
//! dialects.

pub mod conformance;
pub mod connection_faults;
pub mod driver;
pub mod limits;
pub mod locks;
pub mod ports;
mod status;

pub use driver::{CancelSwitch, DriverOptions, OnUnknown, RecoveryPolicy, RunOutcome};
pub use limits::shared_limits::{SharedLimits, SharedPermit};
pub use limits::{CallPermits, HostLimits, ProviderLimits};
pub use ports::{
    AnswerDoubt, Clock, CommandHost, CommandOutput, EventSink, HumanInbox, Journal, Meter, ModelAnswer, ModelError,
    ModelErrorKind, ModelProvider, Ports, QuestionState, Random, RawDecision, RawRunMessage, Secrets, ToolError,
    ToolHost, ToolRefusal,
};
pub use status::RunStatus;
pub use trefoil_coordinator::allowance;
pub use trefoil_coordinator::{Allowance, Share};

// The types in the ports' signatures, so that an implementation of a port depends only on this crate.
pub use trefoil_machine::blocks;
pub use trefoil_machine::{
    CommandRequest, Effects, Entry, EntryKind, Event, EventKind, FinishReason, HumanRequest, Key, MessageRole,
    ModelMessage, ModelRequest, ModelToolCall, RunError, ToolRequest, ToolSpec, Usage,
};
