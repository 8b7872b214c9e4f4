//! Steps: effects and control flow. One struct for each kind; the machine has one file for each kind.

use std::sync::Arc;

use trefoil_syntax::Location;
use trefoil_template::Value;

use crate::conversation::Conversation;
use crate::effect::{AnswerFormat, CommandCall, HumanCall, ModelCall, ToolCall};
use crate::expr::{BoundCondition, BoundTemplate, Source, ValueExpression};
use crate::ids::{FlowId, NodeId, SlotId, StateId, StepId};
use crate::index_vec::IndexVec;
use crate::judge::Validator;
use crate::policy::{Retry, RetryOn, StepPolicy};
use crate::types::ValueType;

/// A step.
#[derive(Debug, Clone)]
pub struct Step {
    /// What it does.
    pub kind: StepKind,
    /// The name in the manifest (agntz: the agent's id, or the state key if an id repeats; AEGIS: the state; SirenSpec:
    /// the node), which no other step of the flow has. Steps without a label are structure: they cause no events and have no
    /// key segment.
    pub label: Option<Arc<str>>,
    /// Where it is declared.
    pub origin: Location,
    /// If false, the step is skipped and its result is null.
    pub when: Option<BoundCondition>,
    /// The slot for the result.
    pub out: Option<SlotId>,
    /// Converts the result before it is stored; reads [`Source::Result`].
    pub shape: Option<ValueExpression>,
    /// Retries, timeout, failure.
    pub policy: StepPolicy,
}

impl Step {
    /// The name of the step in events and traces.
    pub fn span_name(&self) -> Option<&Arc<str>> {
        let label = self.label.as_ref()?;
        match &self.kind {
            StepKind::Call(call) => Some(call.span.as_ref().unwrap_or(label)),
            _ => Some(label),
        }
    }
    /// Whether an answer that does not match its schema is requested again, with the mismatch. Such a request counts as
    /// a call. Not done if a retry in the manifest covers that failure.
    pub fn asks_again(&self) -> bool {
        let StepKind::Model(call) = &self.kind else { return false };
        let own = |retry: &Retry| retry.on.iter().any(|on| matches!(on, RetryOn::Code(c) if **c == *MISFIT));
        matches!(call.format, AnswerFormat::Json(_)) && !self.policy.retry.as_ref().is_some_and(own)
    }
}

/// The error code of an answer that does not match its schema.
const MISFIT: &str = "STRUCTURED_OUTPUT_INVALID";

/// The kinds of step. Large variants are boxed, because every step takes the space of the largest.
#[derive(Debug, Clone)]
pub enum StepKind {
    /// Effect: one model call. Result: text, or JSON, depending on its format.
    Model(Box<ModelCall>),
    /// Effect: one tool call. Result: what the tool returned.
    Tool(Box<ToolCall>),
    /// Effect: one command. Result: `{status, exit_code, stdout, stderr}`; a non-zero exit code is not a failure.
    Command(Box<CommandCall>),
    /// Effect: a person's answer. Result: the text of the answer.
    Human(Box<HumanCall>),
    /// Effect: a delay. Result: null.
    Wait {
        /// Milliseconds.
        ms: u64,
    },
    /// No effect. Result: a computed value.
    Compute(ValueExpression),
    /// Steps in sequence. Result: the last one's.
    Sequence(Vec<StepId>),
    /// Concurrent steps, which all read the state from before the step.
    Parallel(ParallelSteps),
    /// The first arm whose condition holds. Result: the arm's, or null.
    Branch {
        /// The arms, in order.
        arms: Vec<BranchArm>,
        /// The step if no condition holds.
        otherwise: Option<StepId>,
    },
    /// A body repeated until a condition holds.
    Loop(Box<StepLoop>),
    /// A flow for each item of a list.
    ForEach(Box<ForEach>),
    /// Nodes and conditional edges.
    Graph(StepGraph),
    /// States and transitions.
    StateMachine(StateMachine),
    /// A body that is validated, and repeated with feedback.
    Attempts(Attempts),
    /// A model and the tools that it may call.
    Conversation(Box<Conversation>),
    /// Another flow.
    Call(Box<SubflowCall>),
    /// Recognised but not supported yet. A run that can reach it does not start.
    Refused(UnsupportedFeature),
}

impl StepKind {
    /// The body of the check before a tool call of a model: returns the call unchanged.
    pub const PASSED_CALL: Self = Self::Compute(ValueExpression::Read(Source::Result));
}

/// Concurrent steps. Result: null; the branches fill their own slots.
#[derive(Debug, Clone)]
pub struct ParallelSteps {
    /// The branches.
    pub branches: Vec<StepId>,
    /// The maximum number of concurrent branches.
    pub concurrency: Option<u32>,
    /// Abort: the first failure cancels the others and fails the step. Continue: a failed branch's slot stays unset.
    pub on_failure: OnItemFailure,
}

/// What the failure of one branch or item does to the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnItemFailure {
    /// The step fails.
    Abort,
    /// The other branches or items continue.
    Continue,
}

/// One arm of a branch.
#[derive(Debug, Clone)]
pub struct BranchArm {
    /// The condition.
    pub when: BoundCondition,
    /// The step.
    pub step: StepId,
}

/// A loop: the body, then `until`; slots keep their values between passes. Key segment of the body: `@PASS`, from 1.
#[derive(Debug, Clone)]
pub struct StepLoop {
    /// The repeated step.
    pub body: StepId,
    /// Checked after each pass.
    pub until: BoundCondition,
    /// The maximum number of passes. If `until` is still false then, the step fails with `MAX_ITERATIONS_EXCEEDED`.
    pub max: u32,
}

/// A fan-out. Result: the list of the instances' results in item order. Key segment: `[INDEX]`, from 0.
#[derive(Debug, Clone)]
pub struct ForEach {
    /// The items.
    pub items: FanOutItems,
    /// The flow called for each item.
    pub body: FlowId,
    /// The body's slot for the item.
    pub item: Option<SlotId>,
    /// The body's slot for the index, from 0.
    pub index: SlotId,
    /// The body's slot for the number of items.
    pub total: SlotId,
    /// Slots of the body that are filled from the enclosing activation when the fan-out starts. If the source is
    /// missing, the slot stays unset.
    pub captures: Vec<(SlotId, Source)>,
    /// The maximum number of concurrent instances; `None`: all.
    pub concurrency: Option<u32>,
    /// The timeout of one instance in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Abort: the first failure cancels the others and fails the step. Continue: the result of a failed instance is
    /// `failed`.
    pub on_failure: OnItemFailure,
    /// The result of a failed instance with Continue.
    pub failed: Value,
}

/// The items of a fan-out.
#[derive(Debug, Clone)]
pub enum FanOutItems {
    /// A list, or text that is a JSON list (one surrounding code fence is stripped).
    List(ValueExpression),
    /// A number of instances, or text that is a number; from 1 to the limit.
    Count(ValueExpression, u32),
}

/// A graph. Nodes whose predecessors have ended run concurrently. Result: null.
#[derive(Debug, Clone)]
pub struct StepGraph {
    /// The nodes, in declaration order.
    pub nodes: IndexVec<NodeId, GraphNode>,
}

/// A node of a graph.
#[derive(Debug, Clone)]
pub struct GraphNode {
    /// What it does; the step's label is the node's id.
    pub step: StepId,
    /// Its incoming edges. If it has any, at least one must be taken, or the node does not run.
    pub incoming: Vec<GraphEdge>,
    /// Nodes that must end before it (because of template references or file order), whether or not they ran.
    pub after: Vec<NodeId>,
    /// The nodes whose fallback it is. If there are any, it runs only when one of them fails.
    pub fallback_of: Vec<NodeId>,
    /// The node that runs when this one fails; this node's own edges are then not taken.
    pub fallback: Option<NodeId>,
}

/// An edge, seen from its target.
#[derive(Debug, Clone)]
pub struct GraphEdge {
    /// The source node.
    pub from: NodeId,
    /// Evaluated when the source succeeds; `None`: always taken.
    pub when: Option<BoundCondition>,
    /// The value that the edge passes on: when the edge is taken, this slot is filled from this source (stays unset if
    /// the source is missing). A join that reads such slots sees only the predecessors that led to it.
    pub carry: Option<(SlotId, Source)>,
    /// Where it is declared.
    pub origin: Location,
}

/// States and ordered transitions (AEGIS workflows). Result: the terminal state's result slot. Key segment: `STATE@VISIT`.
#[derive(Debug, Clone)]
pub struct StateMachine {
    /// The states.
    pub states: IndexVec<StateId, WorkflowState>,
    /// The initial state.
    pub initial: StateId,
    /// The maximum number of state entries in total; one more fails with `MAX_TRANSITIONS_EXCEEDED`.
    pub max_entries: u32,
    /// Where the maximum is declared, if it is.
    pub max_entries_at: Option<Location>,
    /// The slot for the rendered feedback of the transition taken (unset if it has none).
    pub feedback: Option<SlotId>,
    /// The slot for the reason when a state fails, until one succeeds.
    pub previous_error: Option<SlotId>,
    /// The slot for the number of the visit to the entered state, from 1.
    pub visit: Option<SlotId>,
}

/// A state.
#[derive(Debug, Clone)]
pub struct WorkflowState {
    /// Its name.
    pub name: Arc<str>,
    /// The step of the state. Its `out` slot is the state's result; if the step fails, that slot becomes `failed`.
    pub step: StepId,
    /// The state's result if its step failed; reads [`Source::Failure`].
    pub failed: Option<ValueExpression>,
    /// The maximum number of visits; one more fails with `MAX_STATE_VISITS_EXCEEDED`.
    pub max_visits: u32,
    /// Where the maximum is declared, if it is.
    pub max_visits_at: Option<Location>,
    /// The transitions in order; the first match is taken. If the list is empty, the machine ends here. If none
    /// matches, it fails with `NO_TRANSITION`, and the message names the tested values.
    pub transitions: Vec<StateTransition>,
    /// Whether the machine ends here, instead of failing, if the state succeeded and no transition matches. True if no
    /// transition can match success.
    pub ends_unmatched: bool,
    /// When the state counts as failed although the step succeeded (a command's non-zero exit code). In a terminal
    /// state, it fails the run; and `ends_unmatched` does not apply.
    pub fails_when: Option<BoundCondition>,
}

impl WorkflowState {
    /// Whether the machine can end here.
    pub fn may_end(&self) -> bool {
        self.transitions.is_empty() || self.ends_unmatched
    }
}

/// Which outcomes of the state a transition can match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchedOutcome {
    /// Only success of the state's step.
    Success,
    /// Only its failure.
    Failure,
    /// Either.
    Both,
}

/// A transition.
#[derive(Debug, Clone)]
pub struct StateTransition {
    /// The outcomes that it can match.
    pub takes: MatchedOutcome,
    /// The condition; `None`: always.
    pub when: Option<BoundCondition>,
    /// The target state.
    pub target: StateId,
    /// Where the target is named.
    pub target_at: Location,
    /// Rendered into the state machine's feedback slot.
    pub feedback: Option<BoundTemplate>,
    /// Where it is declared.
    pub origin: Location,
    /// The condition as shown to people: `score_above 0.8`.
    pub text: Arc<str>,
}

/// A body repeated until its result is valid (AEGIS iterations and judges). Result: the body's last one. Key segment:
/// `#ITERATION`.
#[derive(Debug, Clone)]
pub struct Attempts {
    /// The repeated step.
    pub body: StepId,
    /// The maximum number of iterations. Then it fails with `MAX_ITERATIONS_EXCEEDED` and the last reason.
    pub max: u32,
    /// The validators of the body's result, in order; the first that fails ends the iteration.
    pub validators: Vec<Validator>,
    /// The slot for the number of the iteration, from 1.
    pub iteration: SlotId,
    /// The slot for the reason why the last iteration failed; empty text before.
    pub previous_error: SlotId,
    /// Whether a failure of the body (model error, timeout) is a failed iteration instead of failing the step.
    pub retry_failures: bool,
}

/// A call of another flow in a separate activation.
#[derive(Debug, Clone)]
pub struct SubflowCall {
    /// The called flow.
    pub callee: FlowCallee,
    /// Its input; `None`: no explicit input.
    pub input: Option<ValueExpression>,
    /// The caller's slot for the callee's exports.
    pub exports: Option<SlotId>,
    /// The name of the step in events and traces, if it is not its label: several steps of agntz may be one agent.
    pub span: Option<Arc<str>>,
}

/// Which flow is called.
#[derive(Debug, Clone)]
pub enum FlowCallee {
    /// A fixed flow.
    Flow(FlowId),
    /// The flow whose name the text renders to (AEGIS `agent: "{{...}}"`); an unknown name fails with
    /// `AGENT_NOT_FOUND`.
    Named {
        /// The name.
        name: BoundTemplate,
        /// The possible flows.
        flows: Vec<(Arc<str>, FlowId)>,
    },
}

/// A feature that is recognised but not supported yet.
#[derive(Debug, Clone, Default)]
pub struct UnsupportedFeature {
    /// The name of the feature in the warning.
    pub feature: Arc<str>,
    /// The reason, and what to do.
    pub message: Arc<str>,
    /// The type of its result, if it is known.
    pub returns: Option<ValueType>,
    /// The time limits of its parts: a name, milliseconds, and where the limit is declared.
    pub limits: Vec<(Arc<str>, u64, Location)>,
}
