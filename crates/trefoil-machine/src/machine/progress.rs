//! What a frame remembers while its step or flow runs: one type for each kind that has a state. Only data; what happens
//! with it is in `steps`.

use std::sync::Arc;

use trefoil_ir::{IndexVec, NodeId, SlotId, StateId};
use trefoil_template::Value;

use super::activation::ActivationId;
use super::consensus::MissingVerdict;
use super::graph_plan::GraphPlan;
use super::trail::OriginTrail;
use super::verdict::JudgeVerdict;
use crate::key::Key;
use crate::request::{ModelToolCall, ToolSpec};
use crate::schemas::ForeignSchema;

/// The data of a call, and its progress.
#[derive(Debug, Default)]
pub struct RunningFlow {
    /// The input; `None`: no explicit input.
    pub input: Option<Value>,
    /// Slots filled before the input is processed: loop variables.
    pub filled: Vec<(SlotId, Value)>,
    /// The same, shared by all instances of a fan-out.
    pub captured: Option<Arc<[(SlotId, Value)]>>,
    /// The origins of these values, if the run records provenance.
    pub trails: Option<Box<CallTrails>>,
    /// The time limit in milliseconds.
    pub time_limit: Option<u64>,
    /// Whether the input was processed.
    pub taken_in: bool,
    /// How many expressions of `init` were evaluated.
    pub next_init: usize,
}

/// The origins of the values of a call.
#[derive(Debug, Default)]
pub struct CallTrails {
    /// The origin of the input.
    pub input: OriginTrail,
    /// The origins of slots filled before the input is processed.
    pub marks: Vec<(SlotId, OriginTrail)>,
}

impl CallTrails {
    /// For a call with only an input.
    pub fn of_input(input: OriginTrail) -> Option<Box<Self>> {
        input.is_some().then(|| Box::new(Self { input, marks: Vec::new() }))
    }
}

/// The origins of the items and captured values of a fan-out.
#[derive(Debug)]
pub struct ItemTrails {
    pub items: OriginTrail,
    pub captured: Vec<(SlotId, OriginTrail)>,
}

/// Instances in progress.
#[derive(Debug)]
pub struct RunningItems {
    pub items: Option<Arc<Vec<Value>>>,
    pub total: u32,
    pub captured: Arc<[(SlotId, Value)]>,
    /// The origins of the items and captured values.
    pub trails: Option<Arc<ItemTrails>>,
    pub results: Vec<Value>,
    pub next: u32,
    pub running: u32,
    pub failed: u32,
    /// Whether a task that starts the next instance is on the stack.
    pub pumping: bool,
}

/// Branches in progress.
#[derive(Debug)]
pub struct RunningBranches {
    /// The writes of each branch; `None`: not started, or failed.
    pub overlays: Vec<Option<ActivationId>>,
    pub next: usize,
    pub running: u32,
    pub failed: u32,
    /// Whether a task that starts the next branch is on the stack.
    pub pumping: bool,
}

/// Nodes in progress.
#[derive(Debug)]
pub struct RunningNodes {
    pub plan: Arc<GraphPlan>,
    pub nodes: IndexVec<NodeId, RunningNode>,
    pub running: u32,
}

/// A node in progress.
#[derive(Debug, Clone, Default)]
pub struct RunningNode {
    pub waits_for: u32,
    pub taken: bool,
    /// The values read by the conditions of its incoming edges that did not hold.
    pub saw: Vec<String>,
    pub failed: bool,
    pub ended: bool,
}

impl RunningNodes {
    /// Notifies the nodes that wait for a node that it has ended.
    pub fn release_waiting(&mut self, ended: NodeId, ready: &mut Vec<NodeId>) {
        for &waiting in &self.plan.waiting[ended] {
            let node = &mut self.nodes[waiting];
            node.waits_for = node.waits_for.saturating_sub(1);
            if node.waits_for == 0 {
                ready.push(waiting);
            }
        }
    }

    pub fn has_failed(&self, node: NodeId) -> bool {
        self.nodes[node].failed
    }
}

/// The state of a running state machine.
#[derive(Debug)]
pub struct RunningStates {
    pub entries: u32,
    pub visits: IndexVec<StateId, u32>,
}

/// The iteration in progress.
#[derive(Debug)]
pub struct RunningAttempt {
    pub iteration: u32,
    pub result: Value,
    pub validator: u32,
    pub judges: Vec<Option<Result<JudgeVerdict, MissingVerdict>>>,
    pub left: usize,
}

/// A conversation in progress.
#[derive(Debug, Default)]
pub struct RunningConversation {
    /// The number of the current turn, from 1.
    pub turn: u32,
    /// The tools that the model may call.
    pub offered: Vec<OfferedTool>,
    /// The turns that called tools.
    pub said: Vec<ConversationTurn>,
    /// The tool calls requested by the turn that has just ended.
    pub wants: Option<(Value, Vec<ModelToolCall>)>,
    /// Calls that have not passed the gate yet, by their index in the turn.
    pub held: Vec<(u32, usize, ToolCallArguments)>,
    /// Calls in progress.
    pub left: usize,
    /// The calls so far.
    pub made: usize,
    /// Whether an answer without any call was returned.
    pub reminded: bool,
}

/// A turn that called tools, or one that should have.
#[derive(Debug)]
pub struct ConversationTurn {
    pub text: Value,
    pub calls: Vec<ConversationCall>,
    /// The key of the turn, for provenance.
    pub by: Key,
}

/// A tool call, and its result for the model.
#[derive(Debug)]
pub struct ConversationCall {
    pub what: ModelToolCall,
    pub told: Value,
    pub by: Key,
}

/// A model's arguments for a tool call.
#[derive(Debug, Clone)]
pub struct ToolCallArguments {
    /// The tool's name for the model.
    pub called: Arc<str>,
    /// The tool's own name, if its step offers several tools.
    pub tool: Option<Arc<str>>,
    /// An object.
    pub arguments: Value,
}

/// A tool as described to the model.
#[derive(Debug)]
pub struct OfferedTool {
    /// The description.
    pub spec: ToolSpec,
    /// The index of its offer.
    pub offer: usize,
    /// Its own name, if the offer is for several tools.
    pub tool: Option<Arc<str>>,
    /// The schema of its parameters.
    pub takes: ForeignSchema,
}
