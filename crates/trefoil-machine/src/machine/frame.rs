//! Frames: one for every active step or flow call. They form a tree by ids; nothing in the machine recurses over it.

use trefoil_ir::{FlowId, StepId};
use trefoil_syntax::Location;
use trefoil_template::Value;

use super::activation::ActivationId;
use super::arena::Id;
use super::steps::{attempts, conversation, for_each, graph, parallel, state_machine};
use crate::error::RunError;
use crate::event::Tally;
use crate::key::Key;
use crate::request::Usage;
use crate::wire::AskDecide;

/// Names a frame.
pub type FrameId = Id<Frame>;

/// What a frame runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A step.
    Step(StepId),
    /// A call of a flow: intake, init, body, output.
    Flow(FlowId),
}

/// An active step or flow call.
#[derive(Debug)]
pub struct Frame {
    /// Who is notified when it ends; none: the run's entry flow.
    pub parent: Option<FrameId>,
    /// Which child of the parent it is, in the parent's own counting.
    pub place: u32,
    /// What it runs.
    pub what: What,
    /// The slots it reads and writes.
    pub activation: ActivationId,
    /// Its key without the try.
    pub base: Key,
    /// Its key, the try included.
    pub key: Key,
    /// Which try, from 1.
    pub attempt: u32,
    /// What it is at.
    pub doing: Doing,
    /// Its effect is in progress under its own key.
    pub effect: bool,
    /// The time limit or retry delay that is in progress.
    pub timer: Option<Key>,
    /// It has been announced.
    pub announced: bool,
    /// Spent by it and everything beneath it that has ended.
    pub usage: Usage,
    /// First of its children, linked through `next`.
    pub first_child: Option<FrameId>,
    /// Next child of the same parent.
    pub next: Option<FrameId>,
    /// The one before.
    pub previous: Option<FrameId>,
    /// What few frames need.
    pub aside: Option<Box<Aside>>,
}

impl Frame {
    /// A frame that has not begun.
    pub fn new(parent: Option<FrameId>, place: u32, what: What, activation: ActivationId, key: Key) -> Self {
        Self {
            parent,
            place,
            what,
            activation,
            base: key.clone(),
            key,
            attempt: 1,
            doing: Doing::Nothing,
            effect: false,
            timer: None,
            announced: false,
            usage: Usage::default(),
            first_child: None,
            next: None,
            previous: None,
            aside: None,
        }
    }
}

/// What few frames need: questions to the driver, the time that a budget leaves.
#[derive(Debug, Default)]
pub struct Aside {
    /// Questions answered.
    pub decided: Vec<(AskDecide, bool)>,
    /// Questions in progress, and what continues when they are answered.
    pub asking: Vec<Asking>,
    /// The timer of a flow call's budget.
    pub budget: Option<Key>,
    /// The time limit of the effect in progress.
    pub limit: Option<Key>,
    /// When the time limit in progress runs out, in milliseconds of the run.
    pub ends_ms: Option<u64>,
    /// The try in progress is one of the same call: the manifest did not request it, so no ceiling on calls counts it.
    pub same_call: bool,
    /// The tool whose call has just failed may be called again.
    pub repeatable: bool,
    /// How the items of the fan-outs of this step ended.
    pub items: Option<Tally>,
    /// What a model gives the tool that it called.
    pub given: Option<conversation::Given>,
    /// A person's last answer that no transition takes.
    pub refused: Option<Value>,
    /// A model's answer that did not fit its schema: the calls after it show it, and ask for a better one.
    pub misfit: Option<Misfit>,
    /// That call is due.
    pub asks_again: bool,
}

/// A model's answer that did not fit its schema.
#[derive(Debug)]
pub struct Misfit {
    /// The answer.
    pub answer: Value,
    /// What does not fit.
    pub why: String,
}

/// A question in progress.
#[derive(Debug)]
pub struct Asking {
    /// The activity's key.
    pub key: Key,
    /// What it asks.
    pub question: AskDecide,
    /// What is done again then.
    pub tasks: Vec<Task>,
    /// The places of what it is about, by the path that is written there.
    pub places: Vec<(String, Location)>,
}

/// What a frame is at: the state of its kind.
#[derive(Debug, Default)]
pub enum Doing {
    /// Not begun, between tries, or without any state of its own.
    #[default]
    Nothing,
    /// A flow call.
    Flow(Box<super::steps::flow::FlowCall>),
    /// The position in the sequence.
    Sequence(u32),
    /// Branches in progress.
    Parallel(Box<parallel::RunningBranches>),
    /// The pass, from 1.
    Loop(u32),
    /// Instances in progress.
    ForEach(Box<for_each::RunningItems>),
    /// Nodes in progress.
    Graph(Box<graph::RunningNodes>),
    /// The current state.
    StateMachine(Box<state_machine::RunningStates>),
    /// The iteration.
    Attempts(Box<attempts::RunningAttempt>),
    /// The turns so far.
    Conversation(Box<conversation::Talk>),
}

/// How a step or flow ended.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// Well, with this result.
    Done(Value),
    /// With this failure.
    Failed(Box<RunError>),
}

/// A piece of work. Tasks lie on one stack: what a step sets off is finished before its neighbour begins, so that a
/// fan-out holds no more frames than run at the same time. A task may be done again after a question was answered, so
/// each evaluates first and changes things after.
#[derive(Debug, Clone)]
pub enum Task {
    /// Look at `when`, then try.
    Begin(FrameId),
    /// Try, for the first time or again.
    Try(FrameId),
    /// An effect came back.
    Completed(FrameId, Outcome),
    /// A child ended: its place, its result.
    Ended(FrameId, u32, Outcome),
    /// Start what may start.
    Pump(FrameId),
    /// Go on with the validators from this one.
    Validate(FrameId, u32),
    /// A try ended.
    Settle(FrameId, Outcome),
}

impl Task {
    /// Whose task it is.
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
