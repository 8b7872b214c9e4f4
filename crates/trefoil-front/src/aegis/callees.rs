//! The agents and workflows that a unit calls, and the names it mentions, for editors.

use trefoil_syntax::Span;
use trefoil_syntax::yaml::YamlText;

use super::directory::AegisDirectory;
use super::manifest::AegisUnitKind;
use super::manifest::agent::AegisAgentManifest;
use super::manifest::execution::ValidatorKindSpec;
use super::manifest::state::StateKind;
use super::manifest::workflow::AegisWorkflowManifest;
use super::names::{RenderMoment, WorkflowNames};
use super::texts::AegisTexts;
use crate::ManifestReader;
use crate::bound_text::BoundText;
use crate::name_facts;

/// A call by name.
pub struct AegisCallee<'m> {
    /// The kind of unit that is called.
    pub unit: AegisUnitKind,
    /// Its name.
    pub name: &'m YamlText,
    /// The input; `None`: not written.
    pub input: Option<&'m YamlText>,
    /// The span of the intent, if there is one.
    pub intent: Option<Span>,
    /// Whether it is called as a judge.
    pub judges: bool,
    /// Whether its answer counts as a verdict.
    pub verdict: bool,
}

impl<'m> AegisCallee<'m> {
    fn judge(name: &'m YamlText) -> Self {
        Self { unit: AegisUnitKind::Agent, name, input: None, intent: None, judges: true, verdict: true }
    }

    /// The calls of a workflow whose names are not templates.
    pub fn of_workflow(workflow: &'m AegisWorkflowManifest, texts: &AegisTexts) -> Vec<Self> {
        let mut all = Vec::new();
        for (index, state) in workflow.states.iter().enumerate() {
            let literal = |name: &YamlText| {
                texts
                    .get(RenderMoment::Entering(index), name)
                    .and_then(BoundText::as_template)
                    .is_some_and(|t| t.literal_text().is_some())
            };
            let call = |unit, name: &'m YamlText, input: &'m Option<YamlText>, intent| {
                let input = input.as_ref();
                literal(name).then_some(Self { unit, name, input, intent, judges: false, verdict: false })
            };
            match &state.kind {
                Some(StateKind::Agent(state)) => {
                    let intent = state.intent.as_ref().map(|text| text.span);
                    all.extend(
                        state.agent.iter().filter_map(|name| call(AegisUnitKind::Agent, name, &state.input, intent)),
                    );
                    all.extend(state.judges.iter().map(|judge| Self::judge(&judge.agent)));
                }
                Some(StateKind::Parallel(state)) => {
                    let branches = state.agents.iter();
                    let calls = branches.filter_map(|b| call(AegisUnitKind::Agent, &b.agent, &b.input, None));
                    all.extend(calls.map(|call| Self { verdict: state.judges.is_empty(), ..call }));
                    all.extend(state.judges.iter().map(|judge| Self::judge(&judge.agent)));
                }
                Some(StateKind::Subworkflow(state)) => {
                    let workflow = state.workflow.iter();
                    all.extend(workflow.filter_map(|name| call(AegisUnitKind::Workflow, name, &state.input, None)));
                }
                _ => {}
            }
        }
        all
    }

    /// The judges of an agent.
    pub fn of_agent(agent: &'m AegisAgentManifest) -> Vec<Self> {
        let validators = agent.execution.validation.iter().chain(agent.gate());
        let judges = validators.flat_map(|validator| match &validator.kind {
            ValidatorKindSpec::Judges { judges, .. } => judges.as_slice(),
            _ => &[],
        });
        judges.map(Self::judge).collect()
    }
}

/// Records which units a unit mentions.
pub fn record_mentions(reader: &ManifestReader<'_>, callees: &[AegisCallee<'_>], directory: &AegisDirectory<'_>) {
    for callee in callees {
        let declared =
            directory.find_documents(callee.unit, &callee.name.value).first().and_then(|d| directory.name_location(*d));
        name_facts::record_mention(reader, callee.name, declared);
    }
}

/// Records which states a workflow mentions: the initial one, and the targets of transitions.
pub fn mention_states(reader: &ManifestReader<'_>, workflow: &AegisWorkflowManifest, names: &WorkflowNames) {
    let targets = workflow.states.iter().flat_map(|s| s.written_transitions()).filter_map(|t| t.target.as_ref());
    for text in workflow.initial.iter().chain(targets) {
        let state = names.state_index(&text.value).and_then(|state| names.states.get(state));
        name_facts::record_mention(reader, text, state.map(|state| state.at));
    }
}
