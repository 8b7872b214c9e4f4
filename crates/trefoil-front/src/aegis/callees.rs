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
}

impl<'m> AegisCallee<'m> {
    fn judge(name: &'m YamlText) -> Self {
        Self { unit: AegisUnitKind::Agent, name, input: None, intent: None, judges: true }
    }

    fn call(unit: AegisUnitKind, name: &'m YamlText, input: Option<&'m YamlText>) -> Self {
        Self { unit, name, input, intent: None, judges: false }
    }

    /// The calls of a workflow whose names are not templates.
    pub fn of_workflow(workflow: &'m AegisWorkflowManifest, texts: &AegisTexts) -> Vec<Self> {
        let mut calls = Vec::new();
        for (index, state) in workflow.states.iter().enumerate() {
            let moment = RenderMoment::Entering(index);
            match &state.kind {
                Some(StateKind::Agent(state)) => {
                    if let Some(name) = &state.agent
                        && is_literal(texts, moment, name)
                    {
                        let intent = state.intent.as_ref().map(|text| text.span);
                        calls.push(Self { intent, ..Self::call(AegisUnitKind::Agent, name, state.input.as_ref()) });
                    }
                    for judge in &state.judges {
                        calls.push(Self::judge(&judge.agent));
                    }
                }
                Some(StateKind::Parallel(state)) => {
                    for branch in &state.agents {
                        if is_literal(texts, moment, &branch.agent) {
                            calls.push(Self::call(AegisUnitKind::Agent, &branch.agent, branch.input.as_ref()));
                        }
                    }
                    for judge in &state.judges {
                        calls.push(Self::judge(&judge.agent));
                    }
                }
                Some(StateKind::Subworkflow(state)) => {
                    if let Some(name) = &state.workflow
                        && is_literal(texts, moment, name)
                    {
                        calls.push(Self::call(AegisUnitKind::Workflow, name, state.input.as_ref()));
                    }
                }
                _ => {}
            }
        }
        calls
    }

    /// The judges of an agent.
    pub fn of_agent(agent: &'m AegisAgentManifest) -> Vec<Self> {
        let mut calls = Vec::new();
        for validator in agent.execution.validation.iter().chain(agent.gate()) {
            if let ValidatorKindSpec::Judges { judges, .. } = &validator.kind {
                for judge in judges {
                    calls.push(Self::judge(judge));
                }
            }
        }
        calls
    }
}

/// Whether the name of a callee is not a template.
fn is_literal(texts: &AegisTexts, moment: RenderMoment, name: &YamlText) -> bool {
    let template = texts.get(moment, name).and_then(BoundText::as_template);
    matches!(template, Some(template) if template.literal_text().is_some())
}

/// Records which units a unit mentions.
pub fn record_mentions(reader: &ManifestReader<'_>, callees: &[AegisCallee<'_>], directory: &AegisDirectory<'_>) {
    for callee in callees {
        let documents = directory.find_documents(callee.unit, &callee.name.value);
        let declared = documents.first().and_then(|document| directory.name_location(*document));
        name_facts::record_mention(reader, callee.name, declared);
    }
}

/// Records which states a workflow mentions: the initial one, and the targets of transitions.
pub fn mention_states(reader: &ManifestReader<'_>, workflow: &AegisWorkflowManifest, names: &WorkflowNames) {
    let mention = |text: &YamlText| {
        let state = names.state_index(&text.value).and_then(|state| names.states.get(state));
        name_facts::record_mention(reader, text, state.map(|state| state.at));
    };
    if let Some(initial) = &workflow.initial {
        mention(initial);
    }
    for state in &workflow.states {
        for transition in state.written_transitions() {
            if let Some(target) = &transition.target {
                mention(target);
            }
        }
    }
}
