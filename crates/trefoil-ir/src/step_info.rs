//! What a step kind is, once for each kind, so that an analysis that only needs these answers does not name the kinds.
//!
//! | question | answer |
//! |---|---|
//! | what it is called | [`StepInfo::name`] |
//! | whether it has an activity under its own key | [`StepInfo::has_activity`] |
//! | what it adds to the keys of its children | [`StepInfo::mark`], [`Step::named_children`] |
//! | what runs in it: in which order, how often, certainly or not; whose result is its own | [`Inside`] |
//! | what it reads, and what for | [`StepKind::reads`], [`StepKind::messages`] |
//! | what it writes | [`StepKind::writes`] |
//! | which steps are in it, which flows it calls | [`walk::children`], [`walk::callees`] |
//!
//! Nothing is stored: [`StepKind::info`] copies references, so asking is as fast as a match. An analysis matches on [`Inside`],
//! or names the kinds that it has something to say about; its last arm must be right for a kind that does not exist yet, for
//! example by going through all that is inside. What is an analysis' own decision stays in it, such as the type of each result or
//! whether it is trusted; there the match names every kind. So do `walk`, `print`, `validate` and the machine.

use std::sync::Arc;

use crate::expr::Expr;
use crate::facts::Position;
use crate::ids::{FlowId, SlotId, StepId};
use crate::judge::{Judge, ValidatorKind};
use crate::step::{Arm, Attempts, Callee, ForEach, Graph, Items, Parallel, StateMachine, Step, StepKind};
use crate::walk::{self, Evaluated};

/// What a step kind is.
#[derive(Debug, Clone, Copy)]
pub struct StepInfo<'p> {
    /// What it is called in plans, and in events unless they are more exact.
    pub name: &'static str,
    /// Whether it has an activity under its own key.
    pub has_activity: bool,
    /// What is between its key and the number of a pass of its children: `@`, or `#` for iterations.
    pub mark: Option<char>,
    /// What runs in it.
    pub inside: Inside<'p>,
}

/// What runs in a step.
#[derive(Debug, Clone, Copy)]
pub enum Inside<'p> {
    /// Nothing.
    Nothing,
    /// Nothing; the result is this value.
    Value(&'p Expr),
    /// All of these in order. Result: the last one's.
    InOrder(&'p [StepId]),
    /// All of these side by side. Result: null.
    SideBySide(&'p Parallel),
    /// The first whose condition holds. Result: that one's, or null.
    OneOf {
        /// The steps with a condition.
        arms: &'p [Arm],
        /// The step if no condition holds.
        otherwise: Option<StepId>,
    },
    /// A body, at least once; what else is in the step or called by it runs with it. Result: the body's last one.
    Repeated {
        /// The repeated step.
        body: StepId,
        /// The maximum number of times.
        max: u32,
    },
    /// Nodes. Result: null.
    Graph(&'p Graph),
    /// States. Result: that of the last one.
    StateMachine(&'p StateMachine),
    /// A flow for each item. Result: the list of theirs.
    ForEach(&'p ForEach),
    /// Another flow. Result: the flow's.
    Call(&'p Callee),
}

impl StepKind {
    /// What it is.
    pub fn info(&self) -> StepInfo<'_> {
        let new = |name, has_activity, mark, inside| StepInfo { name, has_activity, mark, inside };
        let effect = |name| new(name, true, None, Inside::Nothing);
        let structure = |name, inside| new(name, false, None, inside);
        match self {
            Self::Model(_) => effect("agent"),
            Self::Tool(_) => effect("tool"),
            Self::Command(_) => effect("command"),
            Self::Human(_) => effect("human"),
            Self::Wait { .. } => effect("wait"),
            Self::Refused(_) => effect("refused"),
            Self::Compute(value) => structure("compute", Inside::Value(value)),
            Self::Sequence(steps) => structure("sequence", Inside::InOrder(steps)),
            Self::Parallel(it) => structure("parallel", Inside::SideBySide(it)),
            Self::Branch { arms, otherwise } => structure("branch", Inside::OneOf { arms, otherwise: *otherwise }),
            Self::Graph(it) => structure("graph", Inside::Graph(it)),
            Self::Loop(it) => new("loop", false, Some('@'), Inside::Repeated { body: it.body, max: it.max }),
            Self::Attempts(it) => new("attempts", false, Some('#'), Inside::Repeated { body: it.body, max: it.max }),
            Self::StateMachine(it) => new("states", false, Some('@'), Inside::StateMachine(it)),
            Self::Conversation(it) => {
                new("agent", true, Some('@'), Inside::Repeated { body: it.turn, max: it.max_turns })
            }
            Self::ForEach(it) => new("fan-out", true, None, Inside::ForEach(it)),
            Self::Call(it) => new("call", true, None, Inside::Call(&it.callee)),
        }
    }

    /// What it evaluates, in order, and what for; without the steps inside it.
    pub fn reads(&self) -> Vec<(Position, Evaluated<'_>)> {
        let mut all = Vec::new();
        let mut add = |position, evaluated| all.push((position, evaluated));
        match self {
            Self::Model(call) => {
                call.system.iter().for_each(|system| add(Position::System, Evaluated::Expr(system)));
                add(Position::User, Evaluated::Expr(&call.user));
            }
            Self::Tool(call) => add(Position::Data, Evaluated::Expr(&call.arguments)),
            Self::Command(call) => {
                call.arguments.iter().for_each(|word| add(Position::Command, Evaluated::Expr(word)));
                let others = call.env.iter().map(|(_, value)| value).chain(&call.workdir);
                others.for_each(|value| add(Position::Data, Evaluated::Expr(value)));
            }
            Self::Human(call) => add(Position::Person, Evaluated::Expr(&call.prompt)),
            Self::Compute(value) => add(Position::Data, Evaluated::Expr(value)),
            Self::Branch { arms, .. } => {
                arms.iter().for_each(|arm| add(Position::Condition, Evaluated::Cond(&arm.when)));
            }
            Self::Loop(it) => add(Position::Condition, Evaluated::Cond(&it.until)),
            Self::ForEach(each) => {
                let (Items::List(items) | Items::Count(items, _)) = &each.items;
                add(Position::Data, Evaluated::Expr(items));
                each.captures.iter().for_each(|(_, from)| add(Position::Data, Evaluated::Source(from)));
            }
            Self::Graph(graph) => {
                for edge in graph.nodes.iter().flat_map(|node| &node.incoming) {
                    edge.when.iter().for_each(|when| add(Position::Condition, Evaluated::Cond(when)));
                    edge.carry.iter().for_each(|(_, from)| add(Position::Data, Evaluated::Source(from)));
                }
            }
            Self::StateMachine(machine) => {
                for state in &machine.states {
                    state.failed.iter().for_each(|failed| add(Position::Data, Evaluated::Expr(failed)));
                    for transition in &state.transitions {
                        transition.when.iter().for_each(|when| add(Position::Condition, Evaluated::Cond(when)));
                        transition.feedback.iter().for_each(|text| add(Position::Data, Evaluated::Text(text)));
                    }
                    state.fails_when.iter().for_each(|fails| add(Position::Condition, Evaluated::Cond(fails)));
                }
            }
            Self::Attempts(it) => it.judges().for_each(|judge| add(Position::Data, Evaluated::Expr(&judge.input))),
            Self::Call(call) => {
                if let Callee::Named { name, .. } = &call.callee {
                    add(Position::Data, Evaluated::Text(name));
                }
                call.input.iter().for_each(|input| add(Position::Data, Evaluated::Expr(input)));
            }
            Self::Wait { .. } | Self::Sequence(_) | Self::Parallel(_) | Self::Conversation(_) | Self::Refused(_) => {}
        }
        all
    }

    /// The texts of [`Self::reads`] for a model or a person.
    pub fn messages(&self) -> Vec<&Expr> {
        let text = |read: (Position, _)| match read {
            (Position::System | Position::User | Position::Person, Evaluated::Expr(text)) => Some(text),
            _ => None,
        };
        self.reads().into_iter().filter_map(text).collect()
    }

    /// The slots of its own flow that it fills, apart from the one for its result.
    pub fn writes(&self) -> Vec<SlotId> {
        match self {
            Self::Graph(graph) => {
                let edges = graph.nodes.iter().flat_map(|node| &node.incoming);
                edges.filter_map(|edge| Some(edge.carry.as_ref()?.0)).collect()
            }
            Self::StateMachine(it) => [it.feedback, it.previous_error, it.visit].into_iter().flatten().collect(),
            Self::Attempts(it) => vec![it.iteration, it.previous_error],
            Self::Call(call) => call.exports.into_iter().collect(),
            Self::Model(_)
            | Self::Tool(_)
            | Self::Command(_)
            | Self::Human(_)
            | Self::Wait { .. }
            | Self::Compute(_)
            | Self::Sequence(_)
            | Self::Parallel(_)
            | Self::Branch { .. }
            | Self::Loop(_)
            | Self::ForEach(_)
            | Self::Conversation(_)
            | Self::Refused(_) => Vec::new(),
        }
    }
}

impl Inside<'_> {
    /// The steps one of which has the result of the whole, for a result that is a step's.
    pub fn results(self) -> Vec<StepId> {
        match self {
            Self::InOrder(steps) => steps.last().copied().into_iter().collect(),
            Self::OneOf { arms, otherwise } => arms.iter().map(|arm| arm.step).chain(otherwise).collect(),
            Self::Repeated { body, .. } => vec![body],
            Self::StateMachine(it) => it.states.iter().filter(|state| state.may_end()).map(|it| it.step).collect(),
            Self::Nothing
            | Self::Value(_)
            | Self::SideBySide(_)
            | Self::Graph(_)
            | Self::ForEach(_)
            | Self::Call(_) => Vec::new(),
        }
    }
}

impl Step {
    /// The steps directly inside, each with the name in its key, if that is not its label.
    pub fn named_children(&self) -> Vec<(StepId, Option<&Arc<str>>)> {
        let states = match self.kind.info().inside {
            Inside::StateMachine(machine) => machine.states.as_slice(),
            _ => &[],
        };
        let names = states.iter().map(|state| Some(&state.name)).chain(std::iter::repeat(None));
        walk::children(self).into_iter().zip(names).collect()
    }
}

impl Attempts {
    /// The judges of all validators.
    pub fn judges(&self) -> impl Iterator<Item = &Judge> {
        let judges = self.validators.iter().map(|validator| match &validator.kind {
            ValidatorKind::Judges { judges, .. } => judges.as_slice(),
            _ => &[],
        });
        judges.flatten()
    }
}

impl Callee {
    /// The flows that it may be.
    pub fn flows(&self) -> Vec<FlowId> {
        match self {
            Self::Flow(flow) => vec![*flow],
            Self::Named { flows, .. } => flows.iter().map(|(_, flow)| *flow).collect(),
        }
    }
}
