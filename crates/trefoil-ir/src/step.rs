//! Steps: effects and control. One struct a kind; the machine has one file per kind.

use std::sync::Arc;

use trefoil_syntax::Location;
use trefoil_template::Value;

use crate::conversation::Conversation;
use crate::effect::{AnswerFormat, CommandCall, HumanCall, ModelCall, ToolCall};
use crate::expr::{Cond, Expr, Source, Text};
use crate::ids::{FlowId, NodeId, SlotId, StateId, StepId};
use crate::judge::Validator;
use crate::policy::{Retry, RetryOn, StepPolicy};

/// A step.
#[derive(Debug, Clone)]
pub struct Step {
    /// What it does.
    pub kind: StepKind,
    /// What the manifest calls it (agntz: the agent's id, or the state key where an id repeats; AEGIS: the state; SirenSpec: the node). Steps without a label are structure:
    /// they make no events and no key segment.
    pub label: Option<Arc<str>>,
    /// Where it is declared.
    pub origin: Location,
    /// False: skipped, the result is null.
    pub when: Option<Cond>,
    /// Where the result goes.
    pub out: Option<SlotId>,
    /// What the result becomes first; reads [`Source::Result`].
    pub shape: Option<Expr>,
    /// Retry, timeout, failure.
    pub policy: StepPolicy,
}

impl Step {
    /// Whether an answer that does not fit its schema is requested again, with what does not fit (decision C14): a call
    /// like any other. Not where a retry of the manifest's own is for that failure.
    pub fn asks_again(&self) -> bool {
        let StepKind::Model(call) = &self.kind else { return false };
        let own = |retry: &Retry| retry.on.iter().any(|on| matches!(on, RetryOn::Code(c) if **c == *MISFIT));
        matches!(call.format, AnswerFormat::Json(_)) && !self.policy.retry.as_ref().is_some_and(own)
    }
}

/// The code of the failure that an answer is which does not fit its schema.
const MISFIT: &str = "STRUCTURED_OUTPUT_INVALID";

/// The kinds of step. What is large is boxed, since every step has room for the largest.
#[derive(Debug, Clone)]
pub enum StepKind {
    /// Effect: one model call. Result: text, or JSON by its format.
    Model(Box<ModelCall>),
    /// Effect: one tool call. Result: what the tool returned.
    Tool(Box<ToolCall>),
    /// Effect: one command. Result: `{status, exit_code, stdout, stderr}`; a non-zero exit code is not a failure.
    Command(Box<CommandCall>),
    /// Effect: a person's answer. Result: its text.
    Human(Box<HumanCall>),
    /// Effect: time passes. Result: null.
    Wait {
        /// Milliseconds.
        ms: u64,
    },
    /// No effect: a value.
    Compute(Expr),
    /// One after the other. Result: the last one's.
    Sequence(Vec<StepId>),
    /// At the same time, all reading the state as it was before.
    Parallel(Parallel),
    /// The first arm that holds. Result: the arm's, or null.
    Branch {
        /// Tried in order.
        arms: Vec<Arm>,
        /// When none holds.
        otherwise: Option<StepId>,
    },
    /// A body repeated until a condition holds.
    Loop(Box<Loop>),
    /// A flow for every item of a list.
    ForEach(Box<ForEach>),
    /// Nodes and conditional edges.
    Graph(Graph),
    /// States and transitions.
    StateMachine(StateMachine),
    /// A body, validated, repeated with feedback.
    Attempts(Attempts),
    /// A model and the tools that it may call.
    Conversation(Box<Conversation>),
    /// Another flow.
    Call(Box<Call>),
    /// Recognised, and not run by this version: a run that can reach it does not start.
    Refused(Refused),
}

/// Concurrent steps. Result: null; the branches fill their own slots.
#[derive(Debug, Clone)]
pub struct Parallel {
    /// The branches.
    pub branches: Vec<StepId>,
    /// At most this many at a time.
    pub concurrency: Option<u32>,
    /// Abort: the first failure cancels the others and fails the step. Continue: a failed branch's slot stays unset.
    pub on_failure: OnItemFailure,
}

/// What one failing branch or item does to the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnItemFailure {
    /// Fails it.
    Abort,
    /// Nothing.
    Continue,
}

/// One arm of a branch.
#[derive(Debug, Clone)]
pub struct Arm {
    /// When.
    pub when: Cond,
    /// What.
    pub step: StepId,
}

/// A loop: body, then `until`; slots carry over. Key segment of the body: `@PASS`, from 1.
#[derive(Debug, Clone)]
pub struct Loop {
    /// Repeated.
    pub body: StepId,
    /// Checked after each pass.
    pub until: Cond,
    /// Reached with `until` false: fails with `MAX_ITERATIONS_EXCEEDED`.
    pub max: u32,
}

/// A fan-out. Result: the list of the instances' results in item order. Key segment: `[INDEX]`, from 0.
#[derive(Debug, Clone)]
pub struct ForEach {
    /// Over what.
    pub items: Items,
    /// Called for each.
    pub body: FlowId,
    /// The body's slots for the loop variables.
    pub item: Option<SlotId>,
    /// Position, from 0.
    pub index: SlotId,
    /// Count.
    pub total: SlotId,
    /// Slots of the body filled from the enclosing activation at the start of the fan-out; a missing source leaves its
    /// slot unset.
    pub captures: Vec<(SlotId, Source)>,
    /// At most this many at a time; none: all.
    pub concurrency: Option<u32>,
    /// Per instance, milliseconds.
    pub timeout_ms: Option<u64>,
    /// Abort: the first failure cancels the others and fails the step. Continue: its result is `failed`.
    pub on_failure: OnItemFailure,
    /// The result of a failed instance under Continue.
    pub failed: Value,
}

/// What a fan-out ranges over.
#[derive(Debug, Clone)]
pub enum Items {
    /// A list, or text that is a JSON list (one code fence around it is stripped).
    List(Expr),
    /// A number of instances, or text that reads as one; from 1 to the limit.
    Count(Expr, u32),
}

/// A graph (decision S6). Nodes whose predecessors have ended run at the same time. Result: null.
#[derive(Debug, Clone)]
pub struct Graph {
    /// In declaration order.
    pub nodes: Vec<GraphNode>,
}

/// A node of a graph.
#[derive(Debug, Clone)]
pub struct GraphNode {
    /// What it does; the step's label is the node's id.
    pub step: StepId,
    /// Edges into it; with any, at least one must be taken or it does not run.
    pub incoming: Vec<Edge>,
    /// Nodes that must have ended before (template references, file order), whether or not they ran.
    pub after: Vec<NodeId>,
    /// It runs only when this node failed.
    pub fallback_of: Vec<NodeId>,
    /// The node that runs when this one fails; this one's own edges are then not taken.
    pub fallback: Option<NodeId>,
}

/// An edge, seen from its target.
#[derive(Debug, Clone)]
pub struct Edge {
    /// The source node.
    pub from: NodeId,
    /// Evaluated when the source has ended well; none: always.
    pub when: Option<Cond>,
    /// What flows along it: when the edge is taken, this slot is filled from this source (nothing when it is missing).
    /// A join that reads such slots sees only the predecessors that led to it (decision S5).
    pub carry: Option<(SlotId, Source)>,
    /// Where it is declared.
    pub origin: Location,
}

/// States and ordered transitions (AEGIS workflows). Result: the terminal state's result slot. Key segment: `STATE@VISIT`.
#[derive(Debug, Clone)]
pub struct StateMachine {
    /// The states.
    pub states: Vec<State>,
    /// Where it starts.
    pub initial: StateId,
    /// State entries altogether; one more fails with `MAX_TRANSITIONS_EXCEEDED`.
    pub max_entries: u32,
    /// Where that is declared, if it is.
    pub max_entries_at: Option<Location>,
    /// Filled with the rendered feedback of the transition taken (unset when it has none).
    pub feedback: Option<SlotId>,
    /// Filled with the reason when a state fails, until one ends well.
    pub previous_error: Option<SlotId>,
    /// Filled with the visit of the state that is entered, from 1.
    pub visit: Option<SlotId>,
}

/// A state.
#[derive(Debug, Clone)]
pub struct State {
    /// Its name.
    pub name: Arc<str>,
    /// What it does. Its `out` slot is the state's result; when it fails, that slot becomes `failed`.
    pub step: StepId,
    /// The state's result when its step failed; reads [`Source::Failure`].
    pub failed: Option<Expr>,
    /// Visits; one more fails with `MAX_STATE_VISITS_EXCEEDED`.
    pub max_visits: u32,
    /// Where that is declared, if it is.
    pub max_visits_at: Option<Location>,
    /// Tried in order, first match wins; empty: the machine ends here. None matches: fails with `NO_TRANSITION`, and
    /// the message names the values seen.
    pub transitions: Vec<Transition>,
    /// None of the transitions can match success: where none matches and the state succeeded, the machine ends here
    /// instead of failing (decision E8).
    pub ends_unmatched: bool,
    /// What counts as a failure although the step ended well (decision E9, a command's non-zero exit code): at a terminal
    /// state it ends the run as failed, and it is no success that `ends_unmatched` could end with.
    pub fails_when: Option<Cond>,
}

impl State {
    /// Whether the machine can end here.
    pub fn may_end(&self) -> bool {
        self.transitions.is_empty() || self.ends_unmatched
    }
}

/// Which outcome of the state a transition may match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Only when the state's step ended well.
    Success,
    /// Only when it failed.
    Failure,
    /// Either.
    Both,
}

/// A transition.
#[derive(Debug, Clone)]
pub struct Transition {
    /// Which outcome.
    pub takes: Takes,
    /// None: always.
    pub when: Option<Cond>,
    /// Where to.
    pub target: StateId,
    /// Where that is named.
    pub target_at: Location,
    /// Rendered into the machine's feedback slot.
    pub feedback: Option<Text>,
    /// Where it is declared.
    pub origin: Location,
    /// As a person reads it: `score_above 0.8`.
    pub text: Arc<str>,
}

/// A body repeated until it validates (AEGIS iterations and judges). Result: the body's last. Key segment: `#ITERATION`.
#[derive(Debug, Clone)]
pub struct Attempts {
    /// Repeated.
    pub body: StepId,
    /// At most this often; then it fails with `MAX_ITERATIONS_EXCEEDED` and the last reason.
    pub max: u32,
    /// Tried in order on the body's result; the first that fails ends the iteration.
    pub validators: Vec<Validator>,
    /// Filled with the iteration, from 1.
    pub iteration: SlotId,
    /// Filled with why the last iteration failed; empty text before.
    pub previous_error: SlotId,
    /// A failing body (model error, timeout) also counts as a failed iteration instead of failing the step.
    pub retry_failures: bool,
}

/// A call of another flow in an activation of its own.
#[derive(Debug, Clone)]
pub struct Call {
    /// Which.
    pub callee: Callee,
    /// Its input; none: no explicit input.
    pub input: Option<Expr>,
    /// The caller's slot for the callee's exports.
    pub exports: Option<SlotId>,
}

/// Which flow is called.
#[derive(Debug, Clone)]
pub enum Callee {
    /// This one.
    Flow(FlowId),
    /// The one whose name the text renders to (AEGIS `agent: "{{...}}"`); an unknown name fails with `AGENT_NOT_FOUND`.
    Named {
        /// The name.
        name: Text,
        /// The choice.
        flows: Vec<(Arc<str>, FlowId)>,
    },
}

/// Something recognised and not run.
#[derive(Debug, Clone)]
pub struct Refused {
    /// The feature, as the warning names it.
    pub feature: Arc<str>,
    /// Why, and what to do.
    pub message: Arc<str>,
}
