//! What a step kind is, once for each kind, so that an analysis that only needs these answers does not name the kinds.
//!
//! | question | answer |
//! |---|---|
//! | what it is called | [`StepInfo::name`] |
//! | whether it has an activity under its own key | [`StepInfo::has_activity`] |
//! | what it adds to the keys of its children | [`StepInfo::mark`], [`Step::named_children`] |
//! | what runs in it: in which order, how often, certainly or not; whose result is its own | [`StepContents`] |
//! | what it reads, and what for | [`StepKind::list_reads`], [`StepKind::message_texts`] |
//! | what it writes | [`StepKind::filled_slots`] |
//! | which steps are in it, which flows it calls | [`walk::children_of`], [`walk::callees_of`] |
//!
//! Nothing is stored: [`StepKind::step_info`] copies references, so asking is as fast as a match. An analysis matches on [`StepContents`],
//! or names the kinds that it has something to say about; its last arm must be right for a kind that does not exist yet, for
//! example by going through all that is inside. What is an analysis' own decision stays in it, such as the type of each result or
//! whether it is trusted; there the match names every kind. So do `walk`, `print`, `validate` and the machine.

use std::sync::Arc;

use crate::expr::ValueExpression;
use crate::facts::TextRole;
use crate::ids::{FlowId, SlotId, StepId};
use crate::judge::{Judge, ValidatorKind};
use crate::step::{
    Attempts, BranchArm, FanOutItems, FlowCallee, ForEach, ParallelSteps, StateMachine, Step, StepGraph, StepKind,
};
use crate::walk::{self, EvaluatedPart};

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
    pub inside: StepContents<'p>,
}

/// What runs in a step.
#[derive(Debug, Clone, Copy)]
pub enum StepContents<'p> {
    /// Nothing.
    Nothing,
    /// Nothing; the result is this value.
    Value(&'p ValueExpression),
    /// All of these in order. Result: the last one's.
    InOrder(&'p [StepId]),
    /// All of these side by side. Result: null.
    SideBySide(&'p ParallelSteps),
    /// The first whose condition holds. Result: that one's, or null.
    OneOf {
        /// The steps with a condition.
        arms: &'p [BranchArm],
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
    Graph(&'p StepGraph),
    /// States. Result: that of the last one.
    StateMachine(&'p StateMachine),
    /// A flow for each item. Result: the list of theirs.
    ForEach(&'p ForEach),
    /// Another flow. Result: the flow's.
    Call(&'p FlowCallee),
}

impl StepKind {
    /// What it is.
    pub fn step_info(&self) -> StepInfo<'_> {
        let new = |name, has_activity, mark, inside| StepInfo { name, has_activity, mark, inside };
        let effect = |name| new(name, true, None, StepContents::Nothing);
        let structure = |name, inside| new(name, false, None, inside);
        match self {
            Self::Model(_) => effect("agent"),
            Self::Tool(_) => effect("tool"),
            Self::Command(_) => effect("command"),
            Self::Human(_) => effect("human"),
            Self::Wait { .. } => effect("wait"),
            Self::Refused(_) => effect("refused"),
            Self::Compute(value) => structure("compute", StepContents::Value(value)),
            Self::Sequence(steps) => structure("sequence", StepContents::InOrder(steps)),
            Self::Parallel(it) => structure("parallel", StepContents::SideBySide(it)),
            Self::Branch { arms, otherwise } => {
                structure("branch", StepContents::OneOf { arms, otherwise: *otherwise })
            }
            Self::Graph(it) => structure("graph", StepContents::Graph(it)),
            Self::Loop(it) => new("loop", false, Some('@'), StepContents::Repeated { body: it.body, max: it.max }),
            Self::Attempts(it) => {
                new("attempts", false, Some('#'), StepContents::Repeated { body: it.body, max: it.max })
            }
            Self::StateMachine(it) => new("states", false, Some('@'), StepContents::StateMachine(it)),
            Self::Conversation(it) => {
                new("agent", true, Some('@'), StepContents::Repeated { body: it.turn, max: it.max_turns })
            }
            Self::ForEach(it) => new("fan-out", true, None, StepContents::ForEach(it)),
            Self::Call(it) => new("call", true, None, StepContents::Call(&it.callee)),
        }
    }

    /// What it evaluates, in order, and what for; without the steps inside it.
    pub fn list_reads(&self) -> Vec<(TextRole, EvaluatedPart<'_>)> {
        let mut all = Vec::new();
        let mut add = |position, evaluated| all.push((position, evaluated));
        match self {
            Self::Model(call) => {
                call.system.iter().for_each(|system| add(TextRole::System, EvaluatedPart::Expr(system)));
                add(TextRole::User, EvaluatedPart::Expr(&call.user));
            }
            Self::Tool(call) => add(TextRole::Data, EvaluatedPart::Expr(&call.arguments)),
            Self::Command(call) => {
                call.arguments.iter().for_each(|word| add(TextRole::Command, EvaluatedPart::Expr(word)));
                for (_, value) in &call.env {
                    add(TextRole::Data, EvaluatedPart::Expr(value));
                }
                if let Some(workdir) = &call.workdir {
                    add(TextRole::Data, EvaluatedPart::Expr(workdir));
                }
            }
            Self::Human(call) => add(TextRole::Person, EvaluatedPart::Expr(&call.prompt)),
            Self::Compute(value) => add(TextRole::Data, EvaluatedPart::Expr(value)),
            Self::Branch { arms, .. } => {
                arms.iter().for_each(|arm| add(TextRole::Condition, EvaluatedPart::Cond(&arm.when)));
            }
            Self::Loop(it) => add(TextRole::Condition, EvaluatedPart::Cond(&it.until)),
            Self::ForEach(each) => {
                let (FanOutItems::List(items) | FanOutItems::Count(items, _)) = &each.items;
                add(TextRole::Data, EvaluatedPart::Expr(items));
                each.captures.iter().for_each(|(_, from)| add(TextRole::Data, EvaluatedPart::Source(from)));
            }
            Self::Graph(graph) => {
                for node in graph.nodes.iter() {
                    for edge in &node.incoming {
                        if let Some(when) = &edge.when {
                            add(TextRole::Condition, EvaluatedPart::Cond(when));
                        }
                        if let Some((_, from)) = &edge.carry {
                            add(TextRole::Data, EvaluatedPart::Source(from));
                        }
                    }
                }
            }
            Self::StateMachine(machine) => {
                for state in &machine.states {
                    state.failed.iter().for_each(|failed| add(TextRole::Data, EvaluatedPart::Expr(failed)));
                    for transition in &state.transitions {
                        transition.when.iter().for_each(|when| add(TextRole::Condition, EvaluatedPart::Cond(when)));
                        transition.feedback.iter().for_each(|text| add(TextRole::Data, EvaluatedPart::Text(text)));
                    }
                    state.fails_when.iter().for_each(|fails| add(TextRole::Condition, EvaluatedPart::Cond(fails)));
                }
            }
            Self::Attempts(it) => {
                it.all_judges().for_each(|judge| add(TextRole::Data, EvaluatedPart::Expr(&judge.input)))
            }
            Self::Call(call) => {
                if let FlowCallee::Named { name, .. } = &call.callee {
                    add(TextRole::Data, EvaluatedPart::Text(name));
                }
                call.input.iter().for_each(|input| add(TextRole::Data, EvaluatedPart::Expr(input)));
            }
            Self::Wait { .. } | Self::Sequence(_) | Self::Parallel(_) | Self::Conversation(_) | Self::Refused(_) => {}
        }
        all
    }

    /// The texts of [`Self::list_reads`] for a model or a person.
    pub fn message_texts(&self) -> Vec<&ValueExpression> {
        let mut texts = Vec::new();
        for (role, evaluated) in self.list_reads() {
            if let (TextRole::System | TextRole::User | TextRole::Person, EvaluatedPart::Expr(text)) = (role, evaluated)
            {
                texts.push(text);
            }
        }
        texts
    }

    /// The slots of its own flow that it fills, apart from the one for its result.
    pub fn filled_slots(&self) -> Vec<SlotId> {
        match self {
            Self::Graph(graph) => {
                let mut slots = Vec::new();
                for node in graph.nodes.iter() {
                    for edge in &node.incoming {
                        slots.extend(edge.carry.as_ref().map(|(slot, _)| *slot));
                    }
                }
                slots
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

impl StepContents<'_> {
    /// The steps one of which has the result of the whole, for a result that is a step's.
    pub fn result_steps(self) -> Vec<StepId> {
        match self {
            Self::InOrder(steps) => steps.last().copied().into_iter().collect(),
            Self::OneOf { arms, otherwise } => {
                let mut steps: Vec<StepId> = arms.iter().map(|arm| arm.step).collect();
                steps.extend(otherwise);
                steps
            }
            Self::Repeated { body, .. } => vec![body],
            Self::StateMachine(machine) => {
                let mut steps = Vec::new();
                for state in machine.states.iter() {
                    if state.may_end() {
                        steps.push(state.step);
                    }
                }
                steps
            }
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
        let states = match self.kind.step_info().inside {
            StepContents::StateMachine(machine) => machine.states.as_slice(),
            _ => &[],
        };
        let mut children = Vec::new();
        for (at, child) in walk::children_of(self).into_iter().enumerate() {
            children.push((child, states.get(at).map(|state| &state.name)));
        }
        children
    }
}

impl Attempts {
    /// The judges of all validators.
    pub fn all_judges(&self) -> impl Iterator<Item = &Judge> {
        let judges = self.validators.iter().map(|validator| match &validator.kind {
            ValidatorKind::Judges { judges, .. } => judges.as_slice(),
            _ => &[],
        });
        judges.flatten()
    }
}

impl FlowCallee {
    /// The flows that it may be.
    pub fn possible_flows(&self) -> Vec<FlowId> {
        match self {
            Self::Flow(flow) => vec![*flow],
            Self::Named { flows, .. } => flows.iter().map(|(_, flow)| *flow).collect(),
        }
    }
}
