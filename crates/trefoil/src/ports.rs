//! The connections between runs and the outside: traits to implement, their data types, and in-memory implementations.
//!
//! Each trait is one part of an [`Engine`](crate::Engine), set by the method in the table. To keep access to a port,
//! pass an `Arc` of it.
//!
//! | trait | method | default |
//! |---|---|---|
//! | [`ToolHost`] | [`tool`](crate::Engine::tool), [`tools`](crate::Engine::tools) | no tools |
//! | [`ModelProvider`] | [`model`](crate::Engine::model), [`provider`](crate::Engine::provider) | the manifest's models
//! |
//! | [`HumanInbox`] | [`answer`](crate::Engine::answer), [`humans`](crate::Engine::humans) | no human answers |
//! | [`CommandHost`] | [`commands`](crate::Engine::commands) | no commands; [`CommandShell`] runs them on this machine |
//! | [`Secrets`] | [`secrets`](crate::Engine::secrets) | the environment and the flow's environment files |
//! | [`Journal`] | [`journal`](crate::Engine::journal) | nothing is stored |
//! | [`EventSink`] | [`events`](crate::Engine::events) | only the [`Run`](crate::Run) sees events |
//! | [`Clock`] | [`clock`](crate::Engine::clock) | the system's |

pub use trefoil_ir::ToolKind;
pub use trefoil_machine::event::FailedModelCall;
pub use trefoil_machine::{Flags, Reserve};
pub use trefoil_project::shell::CommandShell;
pub use trefoil_runtime::ports::{
    AnswerDoubt, CallSite, Clock, CollectEvents, CommandHost, CommandOutput, EnvSecrets, EventSink, FnModel,
    HumanInbox, Journal, JournalError, MapSecrets, MemoryJournal, Meter, ModelAnswer, ModelError, ModelErrorKind,
    ModelProvider, NoJournal, QuestionState, RawDecision, RawRunMessage, ReceivedMessage, Secrets, SubstituteModel,
    SystemClock, ToolError, ToolHost, VirtualClock, echo_model,
};
pub use trefoil_runtime::{
    CommandRequest, Effects, Entry, EntryKind, FinishReason, HostLimits, HumanRequest, MessageRole, ModelMessage,
    ModelRequest, ModelToolCall, OnUnknown, ProviderLimits, RecoveryPolicy, ToolRequest, ToolSpec, Usage,
};
pub use trefoil_template::HoleKind;
pub use trefoil_tools::PythonSettings;
pub use trefoil_tools::process::ProcessEnvironment;
