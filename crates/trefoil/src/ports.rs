//! What connects runs with the world: traits to implement, the data that goes through them, and implementations in memory.
//!
//! Each trait is one part of an [`Engine`](crate::Engine), set by the method of its name. Whoever hands one over may keep it: an
//! `Arc` of a port is that port.
//!
//! | trait | method | without |
//! |---|---|---|
//! | [`ToolHost`] | [`tool`](crate::Engine::tool), [`tools`](crate::Engine::tools) | no tools |
//! | [`ModelProvider`] | [`model`](crate::Engine::model), [`provider`](crate::Engine::provider) | the models that the manifest names |
//! | [`HumanInbox`] | [`answer`](crate::Engine::answer), [`humans`](crate::Engine::humans) | nobody is asked |
//! | [`CommandHost`] | [`commands`](crate::Engine::commands) | no commands; [`Shell`] runs them on this machine |
//! | [`Secrets`] | [`secrets`](crate::Engine::secrets) | the environment and the flow's environment files |
//! | [`Journal`] | [`journal`](crate::Engine::journal) | nothing is kept |
//! | [`EventSink`] | [`events`](crate::Engine::events) | only the [`Run`](crate::Run) sees events |
//! | [`Clock`] | [`clock`](crate::Engine::clock) | the system's |

pub use crate::shell::Shell;
pub use trefoil_ir::ToolKind;
pub use trefoil_machine::{Flags, Reserve};
pub use trefoil_runtime::ports::{
    CallSite, Clock, CollectEvents, CommandHost, CommandOutput, EnvSecrets, EventSink, FnModel, HumanInbox, Journal,
    JournalError, MapSecrets, MemoryJournal, Meter, ModelAnswer, ModelError, ModelErrorKind, ModelProvider, NoJournal,
    Secrets, SystemClock, ToolError, ToolHost, VirtualClock, echo,
};
pub use trefoil_runtime::{
    CommandRequest, Effects, Entry, EntryKind, Finish, HostLimits, HumanRequest, Message, ModelRequest, OnUnknown,
    ProviderLimits, Recovery, Role, ToolRequest, ToolSpec, ToolUse, Usage,
};
pub use trefoil_template::HoleKind;
pub use trefoil_tools::Python;
pub use trefoil_tools::process::Environment;
