//! Programs and flows.

use std::collections::BTreeSet;
use std::sync::Arc;

use trefoil_syntax::{FileId, Location};
use trefoil_template::Value;

use crate::expr::Expr;
use crate::ids::{FlowId, SchemaId, SlotId, StepId};
use crate::step::Step;

/// A whole program.
#[derive(Debug, Clone)]
pub struct Program {
    /// The entry flow's name.
    pub name: Arc<str>,
    /// All flows.
    pub flows: Vec<Flow>,
    /// All steps of all flows.
    pub steps: Vec<Step>,
    /// All schemas.
    pub schemas: Vec<Schema>,
    /// The flow a run starts.
    pub entry: FlowId,
    /// Stable hash of the sources it was lowered from; part of the journal's first entry.
    pub hash: u64,
    /// Agents that flows call and nobody declared, each once, with the place of the first mention (decision E5). Each has a
    /// flow that stands in for it, a plain model call; only the embedded model may play them, so the host refuses a run
    /// on any other model before its first call.
    pub missing_agents: Vec<(Arc<str>, Location)>,
}

impl Program {
    /// The files that its flows and steps are written in, each once, in the order of their numbers.
    pub fn files(&self) -> Vec<FileId> {
        let flows = self.flows.iter().map(|f| f.origin.file);
        let all: BTreeSet<FileId> = flows.chain(self.steps.iter().map(|s| s.origin.file)).collect();
        all.into_iter().collect()
    }
    /// The step of an id.
    pub fn step(&self, id: StepId) -> Option<&Step> {
        self.steps.get(id.index())
    }
    /// The flow of an id.
    pub fn flow(&self, id: FlowId) -> Option<&Flow> {
        self.flows.get(id.index())
    }
    /// The schema of an id.
    pub fn schema(&self, id: SchemaId) -> Option<&Schema> {
        self.schemas.get(id.index())
    }
}

/// A JSON Schema (draft 2020-12, local references only) and what it is called in messages.
#[derive(Debug, Clone)]
pub struct Schema {
    /// For providers and messages.
    pub name: Arc<str>,
    /// The schema.
    pub json: Value,
    /// Where it stands.
    pub origin: Location,
}

/// A callable unit: agent, pipeline, workflow, body of a fan-out.
#[derive(Debug, Clone)]
pub struct Flow {
    /// The id in the manifest.
    pub name: Arc<str>,
    /// What a person calls this sort of thing: `agent`, `pipeline`, `workflow`.
    pub sort: &'static str,
    /// Where it is declared.
    pub origin: Location,
    /// Its slots.
    pub slots: Vec<Slot>,
    /// How a call's input gets in.
    pub intake: Intake,
    /// Evaluated in order before the body.
    pub init: Vec<(SlotId, Expr)>,
    /// What it does.
    pub body: StepId,
    /// Its result; none: the body's.
    pub output: Option<Expr>,
    /// Inner results that a caller may read beneath the output (decisions A10, S9).
    pub exports: Vec<Export>,
    /// A ceiling for one activation, the flows it calls included.
    pub budget: Option<Budget>,
}

/// A slot and its name in the manifest (for traces and messages only).
#[derive(Debug, Clone)]
pub struct Slot {
    /// The name.
    pub name: Arc<str>,
    /// Other paths at which the manifest puts its value, or a part of it: `output.summary`.
    pub writes: Vec<Arc<str>>,
}

impl Slot {
    /// A slot with nothing but its name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), writes: Vec::new() }
    }
}

/// An inner result that callers may read.
#[derive(Debug, Clone)]
pub struct Export {
    /// The key.
    pub key: Arc<str>,
    /// The slot of its value.
    pub slot: SlotId,
    /// From the slot's value to the exported value.
    pub member: Vec<Arc<str>>,
    /// The slot of that step's own exports.
    pub inner: Option<SlotId>,
}

/// How a call's input is checked and stored. Failing it is `INPUT_INVALID` before the body starts.
#[derive(Debug, Clone)]
pub struct Intake {
    /// The slot of the input after wrapping, defaults and checks.
    pub slot: SlotId,
    /// Input that is not an object becomes `{KEY: input}` (SirenSpec `message`; no input at all gives no key).
    pub wrap: Option<Arc<str>>,
    /// Declared properties: defaults are filled in, missing ones without a default become null where `nullable`
    /// and stay missing where `optional`.
    pub fields: Vec<InputField>,
    /// Unknown properties are an error.
    pub closed: bool,
    /// Properties that are taken all the same, though nobody declares them (AEGIS `intent`).
    pub tolerated: &'static [&'static str],
    /// The schema of the whole input, checked after defaults.
    pub schema: Option<SchemaId>,
    /// A second slot for the input as it came (agntz `userQuery`: of an object, its key of that name if it has one).
    pub raw: Option<(SlotId, Option<Arc<str>>)>,
}

/// A declared input property.
#[derive(Debug, Clone)]
pub struct InputField {
    /// Its name.
    pub name: Arc<str>,
    /// Its schema (one property's), for checks and for typing `--input key=value`.
    pub schema: Value,
    /// Used when the caller leaves it out.
    pub default: Option<Value>,
    /// The type of a default that the caller overrides, and where that stands: a promise to the reader, which a run does not
    /// hold anybody to.
    pub usual: Option<(Value, Location)>,
    /// A missing value without default is null instead of an error.
    pub nullable: bool,
    /// A missing value without default stays missing (a JSON Schema's property that is not required).
    pub optional: bool,
    /// Where it is declared.
    pub origin: Location,
}

/// Ceilings (SirenSpec `budget`, agntz `tokenBudget`). Compared with `>` after each model call's completion.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// Tokens, prompt and answer together.
    pub max_tokens: Option<u64>,
    /// Milliseconds since the activation began, by the completions' time stamps.
    pub max_duration_ms: Option<u64>,
    /// Model calls, retries included.
    pub max_calls: Option<u64>,
    /// Where that is declared.
    pub calls_at: Option<Location>,
    /// Micro-dollars. A call that might pass it does not start, if passing it fails the run.
    pub max_cost_micro: Option<u64>,
    /// What then.
    pub on_exceeded: OnExceeded,
}

/// What an exceeded budget does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnExceeded {
    /// The run fails with `BUDGET_EXCEEDED`.
    Abort,
    /// An event says so.
    Warn,
    /// Graph nodes not yet started are skipped; the flow ends well.
    SkipRemaining,
}
