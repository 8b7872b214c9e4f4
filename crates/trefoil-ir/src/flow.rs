//! Flows, and what else a program consists of.

use std::sync::Arc;

use trefoil_syntax::Location;
use trefoil_template::Value;

use crate::expr::ValueExpression;
use crate::ids::{FlowId, SchemaId, SlotId, StepId};
use crate::index_vec::IndexVec;
use crate::step::Step;
use crate::types::ValueType;

/// What a program consists of.
#[derive(Debug, Clone)]
pub struct ProgramParts {
    /// The entry flow's name.
    pub name: Arc<str>,
    /// All flows.
    pub flows: IndexVec<FlowId, FlowDefinition>,
    /// All steps of all flows.
    pub steps: IndexVec<StepId, Step>,
    /// All schemas.
    pub schemas: IndexVec<SchemaId, ProgramSchema>,
    /// The flow that a run starts.
    pub entry: FlowId,
    /// Stable hash of the sources it was lowered from; part of the journal's first entry.
    pub hash: u64,
    /// Agents that are called but not declared, each once, with the place of the first mention. Each is replaced by a
    /// flow with a plain model call. Only the embedded model may answer these calls, so the host refuses a run with any
    /// other model before its first call.
    pub missing_agents: Vec<(Arc<str>, Location)>,
    /// The tools that only the client of a run has, each once. Their calls are those of [local](crate::ToolKind::Local) tools.
    pub client_tools: Vec<ClientTool>,
}

/// A tool that the client of a run has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientTool {
    /// Its name.
    pub name: Arc<str>,
    /// How long the client may take for a call, in milliseconds. `None`: as long as the host lets it.
    pub timeout_ms: Option<u64>,
}

/// A JSON Schema (draft 2020-12, local references only) and its name in messages.
#[derive(Debug, Clone)]
pub struct ProgramSchema {
    /// The name, for providers and messages.
    pub name: Arc<str>,
    /// The schema.
    pub json: Value,
    /// Where it is declared.
    pub origin: Location,
}

/// A callable unit: an agent, pipeline or workflow, or the body of a fan-out.
#[derive(Debug, Clone)]
pub struct FlowDefinition {
    /// The id in the manifest.
    pub name: Arc<str>,
    /// The word for this kind of flow in messages: `agent`, `pipeline`, `workflow`.
    pub sort: &'static str,
    /// Where it is declared.
    pub origin: Location,
    /// Its slots.
    pub slots: IndexVec<SlotId, Slot>,
    /// How a call's input is processed.
    pub intake: Intake,
    /// Slots set before the body runs, in order.
    pub init: Vec<(SlotId, ValueExpression)>,
    /// The body.
    pub body: StepId,
    /// The result; `None`: the result of the body.
    pub output: Option<ValueExpression>,
    /// Inner results that a caller may read under the output.
    pub exports: Vec<FlowExport>,
    /// Limits for one activation, including the flows it calls.
    pub budget: Option<Budget>,
}

/// A slot and its name in the manifest, used only in traces and messages.
#[derive(Debug, Clone)]
pub struct Slot {
    /// The name.
    pub name: Arc<str>,
    /// Other paths where the manifest puts its value, or a part of it: `output.summary`.
    pub writes: Vec<Arc<str>>,
}

impl Slot {
    /// A slot with only a name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), writes: Vec::new() }
    }
}

/// An inner result that callers may read.
#[derive(Debug, Clone)]
pub struct FlowExport {
    /// The key.
    pub key: Arc<str>,
    /// The slot of its value.
    pub slot: SlotId,
    /// The path from the slot's value to the exported value.
    pub member: Vec<Arc<str>>,
    /// The slot of that step's own exports.
    pub inner: Option<SlotId>,
}

/// How a call's input is checked and stored. Invalid input fails with `INPUT_INVALID` before the body starts.
#[derive(Debug, Clone)]
pub struct Intake {
    /// The slot of the input after wrapping, defaults and checks.
    pub slot: SlotId,
    /// The key under which input that is not an object is wrapped, `{KEY: input}` (SirenSpec `message`). Without input
    /// there is no key.
    pub wrap: Option<Arc<str>>,
    /// Declared properties. Defaults are filled in. Missing properties without a default become null if `nullable` and
    /// stay missing if `optional`.
    pub fields: Vec<FlowInputField>,
    /// Whether unknown properties are an error.
    pub closed: bool,
    /// Properties that are accepted without a declaration (AEGIS `intent`).
    pub tolerated: &'static [&'static str],
    /// The schema of the whole input, checked after defaults are filled in.
    pub schema: Option<SchemaId>,
    /// A second slot for the unprocessed input (agntz `userQuery`: if the input is an object with that key, its value).
    pub raw: Option<(SlotId, Option<Arc<str>>)>,
}

impl Intake {
    /// Any input, as it comes.
    pub fn for_any_input(slot: SlotId) -> Self {
        Self { slot, wrap: None, fields: Vec::new(), closed: false, tolerated: &[], schema: None, raw: None }
    }
}

/// A declared input property.
#[derive(Debug, Clone)]
pub struct FlowInputField {
    /// Its name.
    pub name: Arc<str>,
    /// The schema of this property, for checks and for parsing `--input key=value`.
    pub schema: Value,
    /// The value if the caller passes none.
    pub default: Option<Value>,
    /// The documented type of a default that the caller can override, and its place. Not enforced in a run.
    pub usual: Option<(ValueType, Location)>,
    /// A missing value without a default is null instead of an error.
    pub nullable: bool,
    /// A missing value without a default stays missing (a JSON Schema property that is not required).
    pub optional: bool,
    /// Where it is declared.
    pub origin: Location,
}

/// Limits (SirenSpec `budget`, agntz `tokenBudget`). Compared with `>` after each completion of a model call.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// Tokens of prompts and answers together.
    pub max_tokens: Option<u64>,
    /// Milliseconds since the activation started, measured by the time stamps of completions.
    pub max_duration_ms: Option<u64>,
    /// Model calls, including retries.
    pub max_calls: Option<u64>,
    /// Where the limit of calls is declared.
    pub calls_at: Option<Location>,
    /// Micro-dollars. If exceeding it fails the run, a call that might exceed it does not start.
    pub max_cost_micro: Option<u64>,
    /// What happens when a limit is exceeded.
    pub on_exceeded: OnExceeded,
}

/// What happens when a budget is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnExceeded {
    /// The run fails with `BUDGET_EXCEEDED`.
    Abort,
    /// An event is emitted.
    Warn,
    /// Graph nodes that have not started are skipped; the flow succeeds.
    SkipRemaining,
}
