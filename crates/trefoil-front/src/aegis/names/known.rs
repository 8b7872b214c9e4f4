//! What is known of a workflow's names, wherever a text is: its states, its keys, its input.

use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_ir::{Slot, SlotId, Source};
use trefoil_syntax::Location;
use trefoil_syntax::hash::HashMap;
use trefoil_template::Value;

use super::answer::Answer;
use super::paths::Paths;
use super::spelling::path;
use crate::aegis::manifest::schema::JsonSchema;
use crate::names::Members;

/// Fields of a start input that need no declaration.
pub const ALWAYS: &[&str] = &["task", "intent", "attachments", "tenant_id", "input"];

/// Everything that texts of a workflow can name, wherever they are in it.
pub struct WorkflowNames {
    /// The slots that every workflow has.
    pub fixed: Fixed,
    /// The states, in order.
    pub states: Vec<StateNames>,
    pub(super) by_name: HashMap<Arc<str>, usize>,
    /// The keys that the manifest itself puts on the Blackboard.
    pub keys: BTreeMap<Arc<str>, BoardKey>,
    /// The start input.
    pub input: Input,
    /// Which states run before which.
    pub paths: Paths,
    /// The type of the Blackboard.
    pub(super) blackboard: Value,
    pub(super) workflow: Arc<str>,
    pub(super) version: Arc<str>,
}

/// The slots that every workflow has.
#[derive(Debug, Clone, Copy)]
pub struct Fixed {
    /// The start input as an object.
    pub input: SlotId,
    /// The start input as it came.
    pub raw: SlotId,
    /// The Blackboard: context, start input, updates.
    pub blackboard: SlotId,
    /// `state.feedback`.
    pub feedback: SlotId,
    /// `previous_error`.
    pub previous_error: SlotId,
    /// `iteration_number`: the visit.
    pub visit: SlotId,
    /// What the last state left.
    pub result: SlotId,
}

/// One state, as names see it.
pub struct StateNames {
    /// Its name.
    pub name: Arc<str>,
    /// Where the name is written, without quotes.
    pub at: Location,
    /// The same with its quotes.
    pub span: Location,
    /// Where its result is.
    pub slot: SlotId,
    /// What its result looks like.
    pub outcome: Outcome,
    /// The type of its result.
    pub(super) schema: Value,
    /// What those answer whom it calls.
    pub answers: Vec<Answer>,
    /// Threshold and agreement of its consensus.
    pub consensus: (Option<f64>, Option<f64>),
    /// The states with a transition into it that has feedback.
    pub given_feedback: Vec<usize>,
    /// Has an answer even if nobody gives one.
    pub always_answers: bool,
    /// In the rounds of a judged state: the round, and why the last one or the last state failed.
    pub rounds: Option<(SlotId, SlotId)>,
}

/// What a state's result looks like.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// `{status, output}`.
    Agent,
    /// `{status, exit_code, stdout, stderr, output, json}` of a command that runs.
    Command,
    /// The same of a plain `echo`.
    Echo,
    /// The same of `update_blackboard`, with `updated`.
    Update,
    /// `{status, response, output}`.
    Human,
    /// `{status, consensus, agents, output}`.
    Parallel {
        /// How many agents.
        agents: usize,
    },
    /// `{status, exit_code, stdout, stderr, output}` of one container.
    Container,
    /// `{status, overall_success, output}` of several, with the result of each under its name in `output`.
    Containers(Vec<Arc<str>>),
    /// Anything: what another workflow answers.
    Open,
}

/// A key of the Blackboard.
pub struct BoardKey {
    /// Where it is written first.
    pub at: Location,
    /// The type of its value.
    pub schema: Value,
    /// Where its members are declared.
    pub members: Members,
    /// There from the start.
    pub seeded: bool,
    /// The states that write it.
    pub writers: Vec<usize>,
}

/// What a run, or an agent, is started with.
#[derive(Default)]
pub struct Input {
    /// As declared.
    pub schema: Option<JsonSchema>,
    /// Where its members are declared.
    pub members: Members,
}

/// When a text of a workflow is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Moment {
    /// When a state does what it does.
    Entering(usize),
    /// When a state's transition is taken.
    Leaving(usize),
    /// When a `custom` expression of a state is asked.
    Deciding(usize),
    /// When the workflow has ended.
    End,
}

/// The slots of one flow.
#[derive(Default, Clone)]
pub struct FlowSlots(pub Vec<Slot>);

impl FlowSlots {
    /// One more.
    pub fn add(&mut self, name: impl Into<Arc<str>>) -> SlotId {
        self.0.push(Slot::new(name));
        SlotId(self.0.len() as u32 - 1)
    }
}

impl Outcome {
    /// Whether it is that of a System state.
    pub fn is_command(&self) -> bool {
        matches!(self, Self::Command | Self::Echo | Self::Update)
    }
}

impl Moment {
    /// The state that the text belongs to.
    pub fn state(self) -> Option<usize> {
        match self {
            Self::Entering(state) | Self::Leaving(state) | Self::Deciding(state) => Some(state),
            Self::End => None,
        }
    }
    /// The state whose result is there already: the text belongs to a transition of it.
    pub fn done(self) -> Option<usize> {
        match self {
            Self::Leaving(state) | Self::Deciding(state) => Some(state),
            Self::Entering(_) | Self::End => None,
        }
    }
}

impl Input {
    /// Whether its schema says all that it has.
    pub fn is_complete(&self) -> bool {
        self.schema.as_ref().is_some_and(|s| s.of_objects() && (s.closed() || s.lists_all()))
    }
    /// Whether a field is declared.
    pub fn declares(&self, field: &str) -> bool {
        self.schema.as_ref().is_some_and(|s| s.properties().any(|(p, _)| &**p == field))
    }
    /// The names of its fields.
    pub fn fields(&self) -> impl Iterator<Item = &Arc<str>> {
        self.schema.iter().flat_map(|s| s.properties().map(|(p, _)| p))
    }
}

impl WorkflowNames {
    /// The state of a name.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }
    /// The names of all states.
    pub fn state_names(&self) -> impl Iterator<Item = &str> {
        self.states.iter().map(|s| &*s.name)
    }
    /// A state's name.
    pub fn name(&self, state: usize) -> &Arc<str> {
        self.states.get(state).map_or(&self.workflow, |s| &s.name)
    }
    /// What a state's result looks like.
    pub fn outcome(&self, state: usize) -> &Outcome {
        self.states.get(state).map_or(&Outcome::Open, |s| &s.outcome)
    }
    /// A state's slot.
    pub fn slot(&self, state: usize) -> SlotId {
        self.states.get(state).map_or(self.fixed.blackboard, |s| s.slot)
    }
    /// What a person answered: the text, or the `response` of an answer that is an object.
    pub fn response(&self, state: usize) -> Source {
        response(self.slot(state))
    }
}

/// What a person answered, in a slot.
pub fn response(slot: SlotId) -> Source {
    Source::Either(
        Box::new(Source::Member(slot, path(&["output", "response"]))),
        Box::new(Source::Member(slot, path(&["response"]))),
    )
}
