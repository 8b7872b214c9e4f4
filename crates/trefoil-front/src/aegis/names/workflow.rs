//! The names of a workflow, from its manifest.

use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_syntax::yaml::YamlText;
use trefoil_syntax::{FileId, Location};

use super::answer::UnitResult;
use super::state_order::{StateOrder, StatePrecedence};
use super::workflow_names::{
    AegisInput, AegisStateNames, BlackboardKey, RenderMoment, RoundSlots, StateResultForm, WorkflowNames, WorkflowSlots,
};
use super::{blackboard, result};
use crate::aegis::directory::AegisDirectory;
use crate::aegis::manifest::schema::JsonSchema;
use crate::aegis::manifest::state::{AegisState, StateKind};
use crate::aegis::manifest::states::system::SystemAction;
use crate::aegis::manifest::transition;
use crate::aegis::manifest::workflow::AegisWorkflowManifest;
use crate::aegis::shell;
use crate::names::{MemberDeclarations, property_declarations};
use crate::program_builder::FlowSlots;
use crate::types::type_of;

impl WorkflowNames {
    /// The names of a workflow; adds a slot for each of its states.
    pub fn from_manifest(
        file: FileId,
        workflow: &AegisWorkflowManifest,
        directory: &AegisDirectory<'_>,
        slots: &mut FlowSlots,
    ) -> Self {
        let fixed = WorkflowSlots {
            input: slots.add_slot("input"),
            raw: slots.add_slot("input"),
            blackboard: slots.add_slot("blackboard"),
            feedback: slots.add_slot("state.feedback"),
            previous_error: slots.add_slot("previous_error"),
            visit: slots.add_slot("iteration_number"),
            result: slots.add_slot("result"),
        };
        let given = with_feedback(workflow);
        let mut states = Vec::with_capacity(workflow.states.len());
        for state in &workflow.states {
            let answers = UnitResult::of_state(directory, state.kind.as_ref());
            let given_feedback = given.get(&state.name).cloned().unwrap_or_default();
            states.push(state_names(file, state, answers, given_feedback, slots));
        }
        // If two states have the same name (reported), the first one is used.
        let by_name = states.iter().enumerate().rev().map(|(index, state)| (state.name.clone(), index)).collect();
        let keys = keys(file, workflow, &states);
        let mut names = Self {
            fixed,
            blackboard: blackboard::type_of_keys(&keys),
            keys,
            states,
            by_name,
            input: AegisInput::from_schema(file, workflow.input_schema.as_ref()),
            paths: StateOrder::new(0, &[], Vec::new()),
            workflow: workflow.identity.name.clone(),
            version: workflow.identity.version.clone().unwrap_or_else(|| "1.0.0".into()),
        };
        names.paths = paths(workflow, &names);
        names
    }

    /// Whether a state has run by a moment.
    pub fn precedence_at(&self, state: usize, moment: RenderMoment) -> StatePrecedence {
        match moment {
            RenderMoment::Leaving(here) | RenderMoment::Deciding(here) if here == state => StatePrecedence::Always,
            RenderMoment::Entering(here) | RenderMoment::Leaving(here) | RenderMoment::Deciding(here) => {
                self.paths.precedence_of(state, here)
            }
            RenderMoment::End => self.paths.at_end(state),
        }
    }
}

impl AegisInput {
    /// The declared input.
    pub fn from_schema(file: FileId, schema: Option<&JsonSchema>) -> Self {
        let members = match schema {
            Some(schema) => property_declarations(file, &schema.node, &schema.of),
            None => MemberDeclarations::default(),
        };
        Self { schema: schema.cloned(), members }
    }
}

fn state_names(
    file: FileId,
    state: &AegisState,
    answers: Vec<UnitResult>,
    given_feedback: Vec<usize>,
    slots: &mut FlowSlots,
) -> AegisStateNames {
    let mut named = AegisStateNames {
        name: state.name.clone(),
        at: Location::new(file, state.at),
        span: Location::new(file, state.span),
        slot: slots.add_slot(state.name.clone()),
        outcome: StateResultForm::Open,
        schema: ValueType::Any,
        answers,
        consensus: (None, None),
        given_feedback,
        always_answers: false,
        rounds: None,
    };
    match &state.kind {
        Some(StateKind::Agent(agent)) => {
            named.outcome = StateResultForm::Agent;
            if !agent.judges.is_empty() {
                let number = slots.add_slot(format!("{}.iteration_number", state.name));
                let previous_error = slots.add_slot(format!("{}.previous_error", state.name));
                named.rounds = Some(RoundSlots { number, previous_error });
            }
        }
        Some(StateKind::System(system)) => {
            named.outcome = match &system.action {
                Some(SystemAction::Update(_)) => StateResultForm::Update,
                Some(SystemAction::Command { command, .. }) if shell::is_plain_echo(&command.value) => {
                    StateResultForm::Echo
                }
                _ => StateResultForm::Command,
            };
        }
        Some(StateKind::Human(human)) => {
            named.outcome = StateResultForm::Human;
            named.always_answers = human.default_response.is_some();
        }
        Some(StateKind::Parallel(parallel)) => {
            named.outcome = StateResultForm::Parallel { agents: parallel.agents.len() };
            if let Some(consensus) = &parallel.consensus {
                named.consensus = (consensus.threshold, consensus.agreement);
            }
        }
        Some(StateKind::Container(container)) => {
            named.outcome = match &container.steps {
                Some(steps) => StateResultForm::Containers(steps.clone()),
                None => StateResultForm::Container,
            };
        }
        Some(StateKind::Subworkflow(_)) | None => {}
    }
    named.schema = result::result_type(&named);
    named
}

/// The states with transitions that have feedback, by target.
fn with_feedback(workflow: &AegisWorkflowManifest) -> BTreeMap<Arc<str>, Vec<usize>> {
    let mut given: BTreeMap<Arc<str>, Vec<usize>> = BTreeMap::new();
    for (from, state) in workflow.states.iter().enumerate() {
        for transition in state.written_transitions() {
            if transition.feedback.is_some()
                && let Some(target) = &transition.target
            {
                given.entry(target.value.clone()).or_default().push(from);
            }
        }
    }
    given
}

/// The keys of the Blackboard: those of the context, and those that states write.
fn keys(
    file: FileId,
    workflow: &AegisWorkflowManifest,
    states: &[AegisStateNames],
) -> BTreeMap<Arc<str>, BlackboardKey> {
    let mut keys: BTreeMap<Arc<str>, BlackboardKey> = BTreeMap::new();
    for (key, value) in &workflow.context {
        let at = Location::new(file, key.content_span());
        let (schema, members) = (type_of(value), MemberDeclarations::default());
        keys.insert(key.value.clone(), BlackboardKey { at, schema, members, seeded: true, writers: Vec::new() });
    }
    for (writer, (state, named)) in workflow.states.iter().zip(states).enumerate() {
        for (key, of) in written_keys(state, named) {
            if let Some(known) = keys.get_mut(&key.value) {
                known.writers.push(writer);
                (known.schema, known.members) = (ValueType::Any, MemberDeclarations::default());
                continue;
            }
            let (at, UnitResult { schema, members }) = (Location::new(file, key.content_span()), of);
            keys.insert(key.value.clone(), BlackboardKey { at, schema, members, seeded: false, writers: vec![writer] });
        }
    }
    keys
}

/// The keys that a state writes, with the types of their values.
pub fn written_keys<'s>(state: &'s AegisState, named: &AegisStateNames) -> Vec<(&'s YamlText, UnitResult)> {
    match &state.kind {
        Some(StateKind::System(system)) => match &system.action {
            Some(SystemAction::Update(entries)) => {
                entries.iter().map(|(key, _)| (key, UnitResult::default())).collect()
            }
            _ => Vec::new(),
        },
        Some(StateKind::Subworkflow(sub)) => match &sub.result_key {
            Some(key) => vec![(key, named.answers.first().cloned().unwrap_or_default())],
            None => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn paths(workflow: &AegisWorkflowManifest, names: &WorkflowNames) -> StateOrder {
    let initial = match &workflow.initial {
        Some(text) => names.state_index(&text.value).unwrap_or(0),
        None => 0,
    };
    let count = workflow.states.len();
    let mut edges = Vec::with_capacity(count);
    let mut terminal = Vec::with_capacity(count);
    if workflow.is_pipeline() {
        for next in 1..=count {
            let is_last = next == count;
            edges.push(if is_last { Vec::new() } else { vec![next] });
            terminal.push(is_last);
        }
        return StateOrder::new(initial, &edges, terminal);
    }
    for state in &workflow.states {
        let transitions = state.written_transitions();
        let mut targets = Vec::with_capacity(transitions.len());
        // A transition to an unknown state is reported separately; the intended state is unknown.
        let mut has_unknown = false;
        for transition in transitions {
            match transition.target.as_ref().and_then(|target| names.state_index(&target.value)) {
                Some(target) => targets.push(target),
                None => has_unknown = true,
            }
        }
        edges.push(targets);
        terminal.push(transitions.is_empty() || has_unknown || transition::leave_success_open(transitions));
    }
    StateOrder::new(initial, &edges, terminal)
}
