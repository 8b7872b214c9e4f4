//! The runtime: ports, and the async driver that joins the machine to them.
//!
//! ```text
//! machine --commands--> driver --ports--> models, tools, commands, people, clock
//!    ^                    |
//!    +--- completions ----+--> journal        events --> whoever watches
//! ```
//!
//! What a run does next is the machine's to say (`trefoil-machine`); here it is done. Implementations of ports in memory
//! live beside them, and so do the suites that every implementation must pass. Knows nothing about HTTP, SQL, vendors or
//! dialects.

pub mod allowance;
pub mod conformance;
pub mod driver;
pub mod limits;
pub mod ports;

pub use allowance::{Allowance, Share};
pub use driver::{Cancel, OnUnknown, Options, Recovery, RunOutcome};
pub use limits::{HostLimits, Places, ProviderLimits};
pub use ports::{
    Arrived, Asked, Clock, CommandHost, CommandOutput, Decided, EventSink, HumanInbox, Journal, Meter, ModelAnswer,
    ModelError, ModelErrorKind, ModelProvider, Ports, Random, Secrets, ToolError, ToolHost,
};

// What ports take and give: who implements one needs this crate only.
pub use trefoil_machine::blocks;
pub use trefoil_machine::{
    CommandRequest, Effects, Entry, EntryKind, Event, EventKind, Finish, HumanRequest, Key, Message, ModelRequest,
    Role, RunError, ToolRequest, ToolSpec, ToolUse, Usage,
};
