//! Requests as they are stored and sent to other processes, and the input of their content keys.
//!
//! ```text
//! Request --of--> WireRequest --JSON--> a store, a worker --request--> Request
//!                      `--content--> RFC 8785 bytes --SHA-256--> ContentKey
//! ```
//!
//! These types are a contract: all later versions can read what one version writes. A new field is optional and is
//! omitted if it has its default, so that the keys of older requests do not change; any other change needs a new
//! [`VERSION`]. Nothing here depends on `Debug` or on texts for people. Values are in [their wire
//! form](trefoil_template::wire), with the names of holes and never their content.
//!
//! A request has two parts: `ask` affects the answer and is the input of the content key; `how` says who asks, how it
//! is shown and how long it may take. The name of a step is no part of `ask`: what a request is, is what it does. Golden vectors are in `tests/machine/wire`.

mod ask;
mod back;
mod canonical;
mod jcs;
mod of;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use ask::{
    AskCommand, AskDecide, AskDescribe, AskHuman, AskModel, AskTimer, AskTool, AskTools, WireEntry, WireFormat,
    WireGuard, WireTool,
};
pub use back::WireError;
pub use canonical::canonical;
pub(crate) use canonical::digest;
pub use of::changing_guards;

/// The version that this build writes. It can read this and all earlier versions.
pub const VERSION: u16 = 1;

/// One request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WireRequest {
    /// The [`VERSION`] of the writer.
    pub v: u16,
    /// The request.
    pub request: WireKind,
}

/// The kinds of [`crate::Request`], each in its two parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "each is the request of its name")]
pub enum WireKind {
    Model {
        ask: Box<AskModel>,
        #[serde(default)]
        how: HowModel,
    },
    Tool {
        ask: AskTool,
        #[serde(default, skip_serializing_if = "HowTool::is_default")]
        how: HowTool,
    },
    Command {
        ask: AskCommand,
    },
    Human {
        ask: AskHuman,
        #[serde(default)]
        how: HowHuman,
    },
    Describe {
        ask: AskDescribe,
    },
    Timer {
        ask: AskTimer,
        #[serde(default, skip_serializing_if = "HowTimer::is_default")]
        how: HowTimer,
    },
    Decide {
        ask: AskDecide,
        #[serde(default)]
        how: HowDecide,
    },
}

/// How a model call is handled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HowModel {
    /// The agent that speaks.
    #[serde(default)]
    pub speaker: Arc<str>,
    /// The name of its schema for the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_name: Option<Arc<str>>,
    /// The timeout of the call in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Whether text is shown while it arrives.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
    /// Whether text shown before the answer is complete is provisional.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub provisional: bool,
    /// The guardrails applied to the answer before it is journaled. The model does not see them, and a reused answer is
    /// checked again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<WireGuard>,
}

/// How a tool call is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HowTool {
    /// The name of a tool that has none in [`AskTool::name`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
}

impl HowTool {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How a question to a person is handled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HowHuman {
    /// The step's label.
    #[serde(default)]
    pub step: Arc<str>,
    /// The timeout in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The accepted answers, if only some are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepts: Vec<Arc<str>>,
    /// The answers with a transition of their own, if every other one is accepted as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Arc<str>>,
}

/// When a timer is due.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HowTimer {
    /// On the run's clock, in milliseconds.
    #[serde(default)]
    pub due_ms: u64,
    /// Whether it is a time limit, which is due on the work clock.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limits: bool,
}

impl HowTimer {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How a decision is shown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HowDecide {
    /// The condition as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Arc<str>>,
}
