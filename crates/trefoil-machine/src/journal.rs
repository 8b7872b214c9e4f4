//! Journal entries: the only internal types that are stored. A new field is optional; a changed meaning is a new version.

use trefoil_template::Value;

use crate::error::RunError;
use crate::key::{ContentKey, Key};
use crate::request::Usage;

/// The version that this build writes.
pub const VERSION: u16 = 1;

/// One entry.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Entry {
    /// [`VERSION`] of the writer.
    pub v: u16,
    /// From 0, without gaps.
    pub seq: u64,
    /// Milliseconds since the run began, by the driver's clock. Budgets of time go by it.
    pub at_ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub kind: EntryKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EntryKind {
    /// The run began.
    Started {
        /// The run's id.
        run: String,
        /// [`trefoil_ir::Program::hash`].
        program: u64,
        /// The entry flow.
        flow: String,
        /// Its input.
        input: Option<Value>,
        /// Version of the engine.
        engine: String,
        /// What else the machine depends on.
        flags: Flags,
    },
    /// The machine asked for an activity.
    Scheduled {
        /// Which.
        key: Key,
        /// `model`, `tool`, `command`, `human`, `timer`, `decide`.
        activity: String,
        /// What it depends on.
        content: ContentKey,
    },
    /// It ended well.
    Completed {
        /// Which.
        key: Key,
        /// Its result.
        value: Value,
        /// What it used.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        usage: Option<Usage>,
    },
    /// It failed.
    Failed {
        /// Which.
        key: Key,
        /// Why.
        error: RunError,
        /// What it used all the same.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        usage: Option<Usage>,
    },
    /// Somebody asked the run to stop.
    CancelRequested,
    /// The run ended.
    Finished {
        /// Its output.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        output: Option<Value>,
        /// Or why it failed.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        error: Option<RunError>,
    },
}

/// What the machine depends on beside program, input and entries.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Flags {
    /// Seed of retry jitter.
    #[serde(default)]
    pub seed: u64,
    /// Model calls that the run may make; none: as many as it wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u64>,
}
