//! The agents and workflows that a unit calls, and the names it mentions, for editors.

use trefoil_syntax::Span;
use trefoil_syntax::yaml::Text;

use super::directory::Directory;
use super::manifest::Unit;
use super::manifest::agent::Agent;
use super::manifest::execution::ValidatorKindSpec;
use super::manifest::state::StateKind;
use super::manifest::workflow::Workflow;
use super::names::{Moment, WorkflowNames};
use super::texts::Texts;
use crate::Reader;
use crate::bound::BoundText;
use crate::learn;

/// A call by name.
pub struct Callee<'m> {
    /// The kind of unit that is called.
    pub unit: Unit,
    /// Its name.
    pub name: &'m Text,
    /// The input; `None`: not written.
    pub input: Option<&'m Text>,
    /// The span of the intent, if there is one.
    pub intent: Option<Span>,
    /// Whether it is called as a judge.
    pub judges: bool,
    /// Whether its answer counts as a verdict.
    pub verdict: bool,
}

impl<'m> Callee<'m> {
    fn judge(name: &'m Text) -> Self {
        Self { unit: Unit::Agent, name, input: None, intent: None, judges: true, verdict: true }
    }

    /// The calls of a workflow whose names are not templates.
    pub fn of_workflow(workflow: &'m Workflow, texts: &Texts) -> Vec<Self> {
        let mut all = Vec::new();
        for (index, state) in workflow.states.iter().enumerate() {
            let literal = |name: &Text| {
                texts
                    .get(Moment::Entering(index), name)
                    .and_then(BoundText::as_template)
                    .is_some_and(|t| t.literal().is_some())
            };
            let call = |unit, name: &'m Text, input: &'m Option<Text>, intent| {
                let input = input.as_ref();
                literal(name).then_some(Self { unit, name, input, intent, judges: false, verdict: false })
            };
            match &state.kind {
                Some(StateKind::Agent(state)) => {
                    let intent = state.intent.as_ref().map(|text| text.span);
                    all.extend(state.agent.iter().filter_map(|name| call(Unit::Agent, name, &state.input, intent)));
                    all.extend(state.judges.iter().map(|judge| Self::judge(&judge.agent)));
                }
                Some(StateKind::Parallel(state)) => {
                    let branches = state.agents.iter();
                    let calls = branches.filter_map(|b| call(Unit::Agent, &b.agent, &b.input, None));
                    all.extend(calls.map(|call| Self { verdict: state.judges.is_empty(), ..call }));
                    all.extend(state.judges.iter().map(|judge| Self::judge(&judge.agent)));
                }
                Some(StateKind::Subworkflow(state)) => {
                    let workflow = state.workflow.iter();
                    all.extend(workflow.filter_map(|name| call(Unit::Workflow, name, &state.input, None)));
                }
                _ => {}
            }
        }
        all
    }

    /// The judges of an agent.
    pub fn of_agent(agent: &'m Agent) -> Vec<Self> {
        let validators = agent.execution.validation.iter().chain(agent.gate());
        let judges = validators.flat_map(|validator| match &validator.kind {
            ValidatorKindSpec::Judges { judges, .. } => judges.as_slice(),
            _ => &[],
        });
        judges.map(Self::judge).collect()
    }
}

/// Records which units a unit mentions.
pub fn mention(reader: &Reader<'_>, callees: &[Callee<'_>], directory: &Directory<'_>) {
    for callee in callees {
        let declared = directory.find(callee.unit, &callee.name.value).first().and_then(|d| directory.place(*d));
        learn::names(reader, callee.name, declared);
    }
}

/// Records which states a workflow mentions: the initial one, and the targets of transitions.
pub fn mention_states(reader: &Reader<'_>, workflow: &Workflow, names: &WorkflowNames) {
    let targets = workflow.states.iter().flat_map(|s| s.written()).filter_map(|t| t.target.as_ref());
    for text in workflow.initial.iter().chain(targets) {
        let state = names.index(&text.value).and_then(|state| names.states.get(state));
        learn::names(reader, text, state.map(|state| state.at));
    }
}
