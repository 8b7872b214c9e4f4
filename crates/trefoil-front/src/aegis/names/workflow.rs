//! The names of a workflow, from its manifest.

use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_ir::types::Type;
use trefoil_syntax::yaml::Text;
use trefoil_syntax::{FileId, Location};

use super::answer::Answer;
use super::known::{BoardKey, Fixed, Input, Moment, Outcome, StateNames, WorkflowNames};
use super::paths::{Before, Paths};
use super::{board, result};
use crate::aegis::directory::Directory;
use crate::aegis::manifest::schema::JsonSchema;
use crate::aegis::manifest::state::{State, StateKind};
use crate::aegis::manifest::states::system::Action;
use crate::aegis::manifest::transition;
use crate::aegis::manifest::workflow::Workflow;
use crate::aegis::shell;
use crate::build::FlowSlots;
use crate::names::{Members, places};
use crate::types::type_of;

impl WorkflowNames {
    /// The names of a workflow; adds a slot for each of its states.
    pub fn of(file: FileId, workflow: &Workflow, directory: &Directory<'_>, slots: &mut FlowSlots) -> Self {
        let fixed = Fixed {
            input: slots.add("input"),
            raw: slots.add("input"),
            blackboard: slots.add("blackboard"),
            feedback: slots.add("state.feedback"),
            previous_error: slots.add("previous_error"),
            visit: slots.add("iteration_number"),
            result: slots.add("result"),
        };
        let given = with_feedback(workflow);
        let states: Vec<StateNames> = workflow
            .states
            .iter()
            .map(|state| {
                let answers = Answer::of_state(directory, state.kind.as_ref());
                let given_feedback = given.get(&state.name).cloned().unwrap_or_default();
                named(file, state, answers, given_feedback, slots)
            })
            .collect();
        // If two states have the same name (reported), the first one is used.
        let by_name = states.iter().enumerate().rev().map(|(i, s)| (s.name.clone(), i)).collect();
        let keys = keys(file, workflow, &states);
        let mut names = Self {
            fixed,
            blackboard: board::type_of_keys(&keys),
            keys,
            states,
            by_name,
            input: Input::of(file, workflow.input_schema.as_ref()),
            paths: Paths::new(0, &[], Vec::new()),
            workflow: workflow.identity.name.clone(),
            version: workflow.identity.version.clone().unwrap_or_else(|| "1.0.0".into()),
        };
        names.paths = paths(workflow, &names);
        names
    }

    /// Whether a state has run by a moment.
    pub fn before(&self, state: usize, moment: Moment) -> Before {
        match moment {
            Moment::Leaving(here) | Moment::Deciding(here) if here == state => Before::Always,
            Moment::Entering(here) | Moment::Leaving(here) | Moment::Deciding(here) => self.paths.before(state, here),
            Moment::End => self.paths.at_end(state),
        }
    }
}

impl Input {
    /// The declared input.
    pub fn of(file: FileId, schema: Option<&JsonSchema>) -> Self {
        let members = schema.map(|s| places(file, &s.node, &s.of)).unwrap_or_default();
        Self { schema: schema.cloned(), members }
    }
}

fn named(
    file: FileId,
    state: &State,
    answers: Vec<Answer>,
    given_feedback: Vec<usize>,
    slots: &mut FlowSlots,
) -> StateNames {
    let mut named = StateNames {
        name: state.name.clone(),
        at: Location::new(file, state.at),
        span: Location::new(file, state.span),
        slot: slots.add(state.name.clone()),
        outcome: Outcome::Open,
        schema: Type::Any,
        answers,
        consensus: (None, None),
        given_feedback,
        always_answers: false,
        rounds: None,
    };
    match &state.kind {
        Some(StateKind::Agent(agent)) => {
            named.outcome = Outcome::Agent;
            if !agent.judges.is_empty() {
                let round = slots.add(format!("{}.iteration_number", state.name));
                named.rounds = Some((round, slots.add(format!("{}.previous_error", state.name))));
            }
        }
        Some(StateKind::System(system)) => {
            named.outcome = match &system.action {
                Some(Action::Update(_)) => Outcome::Update,
                Some(Action::Command { command, .. }) if shell::is_plain_echo(&command.value) => Outcome::Echo,
                _ => Outcome::Command,
            };
        }
        Some(StateKind::Human(human)) => {
            named.outcome = Outcome::Human;
            named.always_answers = human.default_response.is_some();
        }
        Some(StateKind::Parallel(parallel)) => {
            named.outcome = Outcome::Parallel { agents: parallel.agents.len() };
            named.consensus = parallel.consensus.as_ref().map_or((None, None), |c| (c.threshold, c.agreement));
        }
        Some(StateKind::Container(container)) => {
            named.outcome = container.steps.clone().map_or(Outcome::Container, Outcome::Containers);
        }
        Some(StateKind::Subworkflow(_)) | None => {}
    }
    named.schema = result::schema(&named);
    named
}

/// The states with transitions that have feedback, by target.
fn with_feedback(workflow: &Workflow) -> BTreeMap<Arc<str>, Vec<usize>> {
    let mut given: BTreeMap<Arc<str>, Vec<usize>> = BTreeMap::new();
    for (from, state) in workflow.states.iter().enumerate() {
        let speaking = state.transitions.iter().flatten().filter(|t| t.feedback.is_some());
        for target in speaking.filter_map(|t| t.target.as_ref()) {
            given.entry(target.value.clone()).or_default().push(from);
        }
    }
    given
}

/// The keys of the Blackboard: those of the context, and those that states write.
fn keys(file: FileId, workflow: &Workflow, states: &[StateNames]) -> BTreeMap<Arc<str>, BoardKey> {
    let mut keys: BTreeMap<Arc<str>, BoardKey> = BTreeMap::new();
    for (key, value) in &workflow.context {
        let at = Location::new(file, key.content());
        let (schema, members) = (type_of(value), Members::default());
        keys.insert(key.value.clone(), BoardKey { at, schema, members, seeded: true, writers: Vec::new() });
    }
    for (writer, (state, named)) in workflow.states.iter().zip(states).enumerate() {
        for (key, of) in writes(state, named) {
            if let Some(known) = keys.get_mut(&key.value) {
                known.writers.push(writer);
                (known.schema, known.members) = (Type::Any, Members::default());
                continue;
            }
            let (at, Answer { schema, members }) = (Location::new(file, key.content()), of);
            keys.insert(key.value.clone(), BoardKey { at, schema, members, seeded: false, writers: vec![writer] });
        }
    }
    keys
}

/// The keys that a state writes, with the types of their values.
pub fn writes<'s>(state: &'s State, named: &StateNames) -> Vec<(&'s Text, Answer)> {
    match &state.kind {
        Some(StateKind::System(system)) => match &system.action {
            Some(Action::Update(entries)) => entries.iter().map(|(key, _)| (key, Answer::default())).collect(),
            _ => Vec::new(),
        },
        Some(StateKind::Subworkflow(sub)) => {
            let answer = || named.answers.first().cloned().unwrap_or_default();
            sub.result_key.iter().map(|key| (key, answer())).collect()
        }
        _ => Vec::new(),
    }
}

fn paths(workflow: &Workflow, names: &WorkflowNames) -> Paths {
    let initial = workflow.initial.as_ref().map_or(Some(0), |text| names.index(&text.value)).unwrap_or(0);
    let count = workflow.states.len();
    if workflow.is_pipeline() {
        let edges: Vec<_> = (0..count).map(|i| if i + 1 < count { vec![i + 1] } else { Vec::new() }).collect();
        return Paths::new(initial, &edges, (0..count).map(|i| i + 1 == count).collect());
    }
    let targets = |s: &State| -> Vec<Option<usize>> {
        s.written().iter().map(|t| names.index(&t.target.as_ref()?.value)).collect()
    };
    let targets: Vec<_> = workflow.states.iter().map(targets).collect();
    let edges: Vec<Vec<usize>> = targets.iter().map(|all| all.iter().flatten().copied().collect()).collect();
    // A transition to an unknown state is reported separately; the intended state is unknown.
    let terminal = targets
        .iter()
        .zip(&workflow.states)
        .map(|(all, state)| all.is_empty() || all.contains(&None) || transition::leave_success_open(state.written()));
    Paths::new(initial, &edges, terminal.collect())
}
