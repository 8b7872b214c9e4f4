//! A run of agntz: a run of ours, or an agent inside it.

use serde_json::Value as Json;
use trefoil_runtime::{RunError, Usage};

/// A run, or an agent inside it.
#[derive(Debug, Clone, Default)]
pub struct RunPart {
    /// Its id.
    pub id: String,
    /// The agent.
    pub agent: String,
    /// The part around it.
    pub parent: Option<usize>,
    /// How many are around it.
    pub depth: u32,
    /// When it started, in milliseconds since 1970-01-01 UTC.
    pub started: u64,
    /// When it ended.
    pub ended: Option<u64>,
    /// How it ended; `None`: it has not.
    pub end: Option<PartEnd>,
    /// What it and the parts inside it have used.
    pub usage: Usage,
    /// The models that have answered, each once: `provider/name`.
    pub models: Vec<String>,
    /// The calls of tools that have ended.
    pub tool_calls: Vec<Json>,
    /// Why its last answer ended, and the provider's id of it.
    pub last_answer: (Option<String>, Option<String>),
    /// The number of its last turn.
    pub turn: u32,
    /// The tool calls of that turn, if it has not ended.
    pub open_turn: Option<Vec<Json>>,
}

/// How a part ended.
#[derive(Debug, Clone)]
pub enum PartEnd {
    /// With this output.
    Completed(Json),
    /// With this failure.
    Failed(Box<RunError>),
    /// It was cancelled.
    Cancelled,
}
