//! What is known about a workflow's names, independently of a text's place: states, keys, input.

use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{SlotId, Source};
use trefoil_syntax::Location;
use trefoil_syntax::hash::HashMap;

use super::answer::UnitResult;
use super::spelling::name_path;
use super::state_order::StateOrder;
use crate::aegis::manifest::schema::JsonSchema;
use crate::names::MemberDeclarations;

/// Fields of a start input that need no declaration.
pub const ALWAYS: &[&str] = &["task", "intent", "attachments", "tenant_id", "input"];

/// Everything that texts of a workflow can name in any place.
pub struct WorkflowNames {
    /// The slots that every workflow has.
    pub fixed: WorkflowSlots,
    /// The states, in order.
    pub states: Vec<AegisStateNames>,
    pub(super) by_name: HashMap<Arc<str>, usize>,
    /// The Blackboard keys that the manifest itself writes.
    pub keys: BTreeMap<Arc<str>, BlackboardKey>,
    /// The start input.
    pub input: AegisInput,
    /// The order of the states.
    pub paths: StateOrder,
    /// The type of the Blackboard.
    pub(super) blackboard: ValueType,
    pub(super) workflow: Arc<str>,
    pub(super) version: Arc<str>,
}

/// The slots that every workflow has.
#[derive(Debug, Clone, Copy)]
pub struct WorkflowSlots {
    /// The start input as an object.
    pub input: SlotId,
    /// The start input unchanged.
    pub raw: SlotId,
    /// The Blackboard: context, start input, updates.
    pub blackboard: SlotId,
    /// `state.feedback`.
    pub feedback: SlotId,
    /// `previous_error`.
    pub previous_error: SlotId,
    /// `iteration_number`: the number of the visit.
    pub visit: SlotId,
    /// The result of the last state.
    pub result: SlotId,
}

/// The names of one state.
pub struct AegisStateNames {
    /// Its name.
    pub name: Arc<str>,
    /// The place of its name, without quotes.
    pub at: Location,
    /// The place of its name, with quotes.
    pub span: Location,
    /// The slot of its result.
    pub slot: SlotId,
    /// The form of its result.
    pub outcome: StateResultForm,
    /// The type of its result.
    pub(super) schema: ValueType,
    /// The results of the units that it calls.
    pub answers: Vec<UnitResult>,
    /// The threshold and agreement of its consensus.
    pub consensus: (Option<f64>, Option<f64>),
    /// The states with a transition to it that has feedback.
    pub given_feedback: Vec<usize>,
    /// Whether it has an answer even if no person gives one.
    pub always_answers: bool,
    /// The slots of its rounds, if it has judges.
    pub rounds: Option<RoundSlots>,
}

/// The slots of the rounds or visits of a state.
#[derive(Debug, Clone, Copy)]
pub struct RoundSlots {
    /// The number of the round or visit.
    pub number: SlotId,
    /// The reason why the last one, or the last state, failed.
    pub previous_error: SlotId,
}

/// The form of a state's result.
#[derive(Debug, Clone, PartialEq)]
pub enum StateResultForm {
    /// `{status, output}`.
    Agent,
    /// `{status, exit_code, stdout, stderr, output, json}` of a command.
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
    /// `{status, overall_success, output}` of several containers; `output` has the result of each by name.
    Containers(Vec<Arc<str>>),
    /// Any value: the result of another workflow.
    Open,
}

/// A key of the Blackboard.
pub struct BlackboardKey {
    /// Where it is written first.
    pub at: Location,
    /// The type of its value.
    pub schema: ValueType,
    /// Where its members are declared.
    pub members: MemberDeclarations,
    /// Whether it exists from the start.
    pub seeded: bool,
    /// The states that write it.
    pub writers: Vec<usize>,
}

/// The input of a run or an agent.
#[derive(Default)]
pub struct AegisInput {
    /// The declared schema.
    pub schema: Option<JsonSchema>,
    /// Where its members are declared.
    pub members: MemberDeclarations,
}

/// When a text of a workflow is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RenderMoment {
    /// When a state runs.
    Entering(usize),
    /// When a state's transition is taken.
    Leaving(usize),
    /// When a `custom` expression of a state is evaluated.
    Deciding(usize),
    /// After the workflow has ended.
    End,
}

impl StateResultForm {
    /// Whether it is the result of a System state.
    pub fn is_command(&self) -> bool {
        matches!(self, Self::Command | Self::Echo | Self::Update)
    }
}

impl RenderMoment {
    /// The state that the text belongs to.
    pub fn state_index(self) -> Option<usize> {
        match self {
            Self::Entering(state) | Self::Leaving(state) | Self::Deciding(state) => Some(state),
            Self::End => None,
        }
    }
    /// The state whose result already exists, if the text belongs to one of its transitions.
    pub fn finished_state(self) -> Option<usize> {
        match self {
            Self::Leaving(state) | Self::Deciding(state) => Some(state),
            Self::Entering(_) | Self::End => None,
        }
    }
}

impl AegisInput {
    /// Whether the schema lists all fields.
    pub fn is_complete(&self) -> bool {
        match &self.schema {
            Some(schema) => schema.of_objects() && (schema.is_closed() || schema.lists_all()),
            None => false,
        }
    }
    /// Whether a field is declared.
    pub fn declares_field(&self, field: &str) -> bool {
        match &self.schema {
            Some(schema) => schema.declared_properties().any(|(property, _)| &**property == field),
            None => false,
        }
    }
    /// The names of its fields.
    pub fn field_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.schema.iter().flat_map(|schema| schema.declared_properties().map(|(property, _)| property))
    }
}

impl WorkflowNames {
    /// The state with this name.
    pub fn state_index(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }
    /// The names of all states.
    pub fn state_names(&self) -> impl Iterator<Item = &str> {
        self.states.iter().map(|s| &*s.name)
    }
    /// A state's name.
    pub fn state_name(&self, state: usize) -> &Arc<str> {
        match self.states.get(state) {
            Some(state) => &state.name,
            None => &self.workflow,
        }
    }
    /// The form of a state's result.
    pub fn result_form(&self, state: usize) -> &StateResultForm {
        match self.states.get(state) {
            Some(state) => &state.outcome,
            None => &StateResultForm::Open,
        }
    }
    /// The type of a state's result.
    pub fn result_type(&self, state: usize) -> Option<ValueType> {
        Some(self.states.get(state)?.schema.clone())
    }
    /// A state's slot.
    pub fn state_slot(&self, state: usize) -> SlotId {
        match self.states.get(state) {
            Some(state) => state.slot,
            None => self.fixed.blackboard,
        }
    }
    /// A person's answer: the text, or the `response` of an answer that is an object.
    pub fn response_source(&self, state: usize) -> Source {
        response_in_slot(self.state_slot(state))
    }
}

/// The same for the answer in a slot.
pub fn response_in_slot(slot: SlotId) -> Source {
    Source::Either(
        Box::new(Source::Member(slot, name_path(&["output", "response"]))),
        Box::new(Source::Member(slot, name_path(&["response"]))),
    )
}
