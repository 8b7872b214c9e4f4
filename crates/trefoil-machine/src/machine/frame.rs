//! Frames: one for every active step or flow call. They form a tree linked by ids; the machine never recurses over it.

use trefoil_ir::{FlowId, StepId};
use trefoil_syntax::Location;
use trefoil_template::Value;

use super::activation::ActivationId;
use super::arena::ArenaId;
use super::progress::{
    RunningAttempt, RunningBranches, RunningConversation, RunningFlow, RunningItems, RunningNodes, RunningStates,
    ToolCallArguments,
};
use crate::clock::WorkMs;
use crate::content::QuestionContent;
use crate::error::RunError;
use crate::event::ItemTally;
use crate::key::Key;
use crate::request::Usage;

/// The id of a frame.
pub type FrameId = ArenaId<Frame>;

/// What a frame runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameTarget {
    /// A step.
    Step(StepId),
    /// A call of a flow: intake, init, body, output.
    Flow(FlowId),
}

/// An active step or flow call.
#[derive(Debug)]
pub struct Frame {
    /// The frame that is notified when it ends; `None`: it is the run's entry flow.
    pub parent: Option<FrameId>,
    /// Its index among the parent's children, as counted by the parent.
    pub child_index: u32,
    /// What it runs.
    pub what: FrameTarget,
    /// The activation whose slots it reads and writes.
    pub activation: ActivationId,
    /// Its key without the try.
    pub base: Key,
    /// Its key with the try.
    pub key: Key,
    /// The number of the try, from 1.
    pub attempt: u32,
    /// The state of its kind.
    pub doing: FrameState,
    /// Whether its effect is in progress under its own key.
    pub effect: bool,
    /// The time limit or retry delay in progress.
    pub timer: Option<Key>,
    /// Whether its start was reported in an event.
    pub announced: bool,
    /// The usage of it and of everything under it that has ended.
    pub usage: Usage,
    /// The tokens of the results among them that are reused from earlier runs, which are not in `usage`.
    pub kept_tokens: u64,
    /// Its first child; children are linked through `next`.
    pub first_child: Option<FrameId>,
    /// The next child of the same parent.
    pub next: Option<FrameId>,
    /// The previous child of the same parent.
    pub previous: Option<FrameId>,
    /// Data that few frames need.
    pub extras: Option<Box<FrameExtras>>,
}

impl Frame {
    /// A frame that has not started.
    pub fn new(
        parent: Option<FrameId>,
        child_index: u32,
        what: FrameTarget,
        activation: ActivationId,
        key: Key,
    ) -> Self {
        Self {
            parent,
            child_index,
            what,
            activation,
            base: key.clone(),
            key,
            attempt: 1,
            doing: FrameState::Nothing,
            effect: false,
            timer: None,
            announced: false,
            usage: Usage::default(),
            kept_tokens: 0,
            first_child: None,
            next: None,
            previous: None,
            extras: None,
        }
    }
}

/// Data that few frames need: questions to the driver, time limits and the like.
#[derive(Debug, Default)]
pub struct FrameExtras {
    /// The answered questions with their answers.
    pub answered_questions: Vec<(QuestionContent, bool)>,
    /// The questions in progress, and the tasks that wait for them.
    pub pending_questions: Vec<PendingQuestion>,
    /// The timer of a flow call's budget.
    pub budget: Option<Key>,
    /// The timer for the effect in progress.
    pub limit: Option<Key>,
    /// When the current time limit ends.
    pub ends: Option<WorkMs>,
    /// Whether the current try belongs to the same call: the manifest did not request it, so limits of calls do not
    /// count it.
    pub same_call: bool,
    /// Whether the tool whose call just failed may be called again.
    pub repeatable: bool,
    /// How the items of this step's fan-outs ended.
    pub items: Option<ItemTally>,
    /// The model's arguments for the tool that it called.
    pub given: Option<ToolCallArguments>,
    /// A person's last answer, if no transition matches it.
    pub refused: Option<Value>,
    /// A model's answer that did not match its schema. The following calls contain it and ask for a better one.
    pub misfit: Option<MismatchedAnswer>,
    /// Whether that call is next.
    pub asks_again: bool,
    /// For an answer that does not match its schema: what was sent.
    pub sent: Option<String>,
}

/// A model's answer that did not match its schema.
#[derive(Debug)]
pub struct MismatchedAnswer {
    /// The answer.
    pub answer: Value,
    /// The mismatch.
    pub why: String,
}

/// A question in progress.
#[derive(Debug)]
pub struct PendingQuestion {
    /// The activity's key.
    pub key: Key,
    /// What it asks.
    pub question: QuestionContent,
    /// The tasks to repeat when the answer has arrived.
    pub tasks: Vec<MachineTask>,
    /// The locations of its holes, by path as written.
    pub hole_locations: Vec<(String, Location)>,
}

/// The state of a frame, by kind.
#[derive(Debug, Default)]
pub enum FrameState {
    /// Not started, between tries, or without any state.
    #[default]
    Nothing,
    /// A flow call.
    Flow(Box<RunningFlow>),
    /// The index in the sequence.
    Sequence(u32),
    /// Branches in progress.
    Parallel(Box<RunningBranches>),
    /// The number of the pass, from 1.
    Loop(u32),
    /// Instances in progress.
    ForEach(Box<RunningItems>),
    /// Nodes in progress.
    Graph(Box<RunningNodes>),
    /// The current state.
    StateMachine(Box<RunningStates>),
    /// The iteration.
    Attempts(Box<RunningAttempt>),
    /// The turns so far.
    Conversation(Box<RunningConversation>),
}

/// The result of starting a step.
pub enum StepStart {
    /// Something is in progress.
    Running,
    /// It is already done.
    Done(Value),
}

/// How a step or flow ended.
#[derive(Debug, Clone)]
pub enum FrameOutcome {
    /// Success, with this result.
    Done(Value),
    /// A failure.
    Failed(Box<RunError>),
}

/// A piece of work. Tasks are on a single stack: everything that a step causes is finished before its neighbour starts,
/// so a fan-out has no more frames than run concurrently. A task may be repeated after a question was answered, so each
/// task evaluates first and changes state afterwards.
#[derive(Debug, Clone)]
pub enum MachineTask {
    /// Evaluate `when`, then try.
    Begin(FrameId),
    /// Try, for the first time or again.
    Try(FrameId),
    /// An effect has completed.
    Completed(FrameId, FrameOutcome),
    /// A child has ended, with its index and outcome.
    Ended(FrameId, u32, FrameOutcome),
    /// Start as many children as possible.
    Pump(FrameId),
    /// Continue with this validator.
    Validate(FrameId, u32),
    /// A try has ended.
    Settle(FrameId, FrameOutcome),
}

impl MachineTask {
    /// The frame of the task.
    pub fn frame(&self) -> FrameId {
        match self {
            Self::Begin(f)
            | Self::Try(f)
            | Self::Completed(f, _)
            | Self::Ended(f, _, _)
            | Self::Pump(f)
            | Self::Validate(f, _)
            | Self::Settle(f, _) => *f,
        }
    }
}
