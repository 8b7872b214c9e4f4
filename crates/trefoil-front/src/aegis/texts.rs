//! The texts of a unit, each bound once. Used by lowering, and by finders, which check the bound names.

use std::sync::Arc;

use trefoil_ir::{BoundTemplate, TextRole};
use trefoil_syntax::hash::HashMap;
use trefoil_syntax::yaml::{self, YamlNode, YamlNodeKind, YamlScalar};
use trefoil_syntax::{FileId, Span};
use trefoil_template::Policy;

use super::manifest::agent::AegisAgentManifest;
use super::manifest::state::StateKind;
use super::manifest::states::system::SystemAction;
use super::manifest::transition::TransitionCondition;
use super::manifest::workflow::AegisWorkflowManifest;
use super::names::{OutputHandlerScope, PromptNames, PromptScope, RenderMoment, WorkflowNames};
use crate::bound_text::BoundText;
use crate::names::BoundReference;

/// The bound texts of a unit. A text that is written once and used twice (through an alias) is bound once for each
/// moment.
#[derive(Default)]
pub struct AegisTexts {
    /// Boxed, so that growing the list does not copy the texts.
    all: Vec<(RenderMoment, Box<BoundText>)>,
    by_place: HashMap<(RenderMoment, Span), usize>,
    /// Templates of messages to be sent, which are checked but not rendered.
    pub handlers: Vec<BoundText>,
}

impl AegisTexts {
    /// The text at a place.
    pub fn get(&self, moment: RenderMoment, source: &yaml::YamlText) -> Option<&BoundText> {
        let (_, text) = self.all.get(*self.by_place.get(&(moment, source.span))?)?;
        Some(text)
    }
    /// A text for a program; `None`: it is not a valid template.
    pub fn template_text(&self, moment: RenderMoment, source: &yaml::YamlText) -> Option<BoundTemplate> {
        self.get(moment, source)?.to_template()
    }
    /// The texts that a run renders, in the order in which they were bound.
    pub fn rendered_texts(&self) -> impl Iterator<Item = &BoundText> {
        self.all.iter().map(|(_, text)| &**text)
    }
    /// All texts.
    pub fn all_texts(&self) -> impl Iterator<Item = &BoundText> {
        self.rendered_texts().chain(&self.handlers)
    }
    /// The references of all texts, with their moments.
    pub fn bound_references(&self) -> impl Iterator<Item = (RenderMoment, &BoundReference)> {
        self.all.iter().flat_map(|(moment, text)| text.uses.iter().map(|used| (*moment, used)))
    }

    /// Binds the texts of a workflow.
    pub fn of_workflow(file: FileId, workflow: &AegisWorkflowManifest, names: &Arc<WorkflowNames>) -> Self {
        let mut bind = WorkflowTextBinder { file, names, found: Self::default() };
        for (index, state) in workflow.states.iter().enumerate() {
            bind.state(RenderMoment::Entering(index), state.kind.as_ref());
            bind.found.handlers.extend(handlers(file, &state.handler_templates));
            for transition in state.written_transitions() {
                if let Some(text) = &transition.feedback {
                    bind.text(RenderMoment::Leaving(index), TextRole::Text, text);
                }
                if let Some(TransitionCondition::Custom(text)) = &transition.condition {
                    bind.condition(RenderMoment::Deciding(index), text);
                }
            }
        }
        if let Some(template) = workflow.output_template.as_ref().and_then(YamlNode::as_mapping) {
            for entry in &template.entries {
                bind.leaves(RenderMoment::End, TextRole::Text, &entry.value);
            }
        }
        bind.found
    }

    /// Binds the texts of an agent.
    pub fn of_agent(file: FileId, agent: &AegisAgentManifest, names: &Arc<PromptNames>) -> Self {
        let mut found = Self { handlers: handlers(file, &agent.handler_templates), ..Self::default() };
        if let Some(prompt) = &agent.prompt {
            let place = Arc::new(PromptScope(names.clone()));
            found.add(PROMPT, BoundText::from_template(file, prompt, &Policy::AEGIS, place));
        }
        found
    }

    fn add(&mut self, moment: RenderMoment, text: BoundText) {
        self.by_place.insert((moment, text.source.span), self.all.len());
        self.all.push((moment, Box::new(text)));
    }
}

/// The moment of an agent's prompt, which is its only text.
pub const PROMPT: RenderMoment = RenderMoment::Entering(0);

fn handlers(file: FileId, templates: &[yaml::YamlText]) -> Vec<BoundText> {
    let bind = |text| BoundText::from_template(file, text, &Policy::AEGIS, Arc::new(OutputHandlerScope));
    templates.iter().map(bind).collect()
}

/// The texts of a workflow during binding.
struct WorkflowTextBinder<'a> {
    file: FileId,
    names: &'a Arc<WorkflowNames>,
    found: AegisTexts,
}

impl WorkflowTextBinder<'_> {
    fn text(&mut self, moment: RenderMoment, position: TextRole, source: &yaml::YamlText) {
        let place = Arc::new(self.names.scope_at(moment, position));
        self.found.add(moment, BoundText::from_template(self.file, source, &Policy::AEGIS, place));
    }

    fn texts<'t>(
        &mut self,
        moment: RenderMoment,
        position: TextRole,
        sources: impl IntoIterator<Item = &'t yaml::YamlText>,
    ) {
        for source in sources {
            self.text(moment, position, source);
        }
    }

    fn condition(&mut self, moment: RenderMoment, source: &yaml::YamlText) {
        let place = Arc::new(self.names.scope_at(moment, TextRole::Condition));
        self.found.add(moment, BoundText::from_condition(self.file, source, &Policy::AEGIS, place));
    }

    /// Binds the templates in the strings of a value.
    fn leaves(&mut self, moment: RenderMoment, position: TextRole, node: &YamlNode) {
        match &*node.kind {
            YamlNodeKind::Scalar(YamlScalar::Str, source) => self.text(moment, position, source),
            YamlNodeKind::Scalar(..) => {}
            YamlNodeKind::Sequence(items) => {
                for item in items {
                    self.leaves(moment, position, item);
                }
            }
            YamlNodeKind::Mapping(mapping) => {
                for entry in &mapping.entries {
                    self.leaves(moment, position, &entry.value);
                }
            }
        }
    }

    fn state(&mut self, moment: RenderMoment, kind: Option<&StateKind>) {
        match kind {
            Some(StateKind::Agent(state)) => {
                self.texts(moment, TextRole::Text, &state.intent);
                self.texts(moment, TextRole::Text, &state.input);
                self.texts(moment, TextRole::Condition, &state.agent);
            }
            Some(StateKind::Parallel(state)) => {
                for branch in &state.agents {
                    self.texts(moment, TextRole::Text, &branch.input);
                    self.text(moment, TextRole::Condition, &branch.agent);
                }
            }
            Some(StateKind::Subworkflow(state)) => {
                self.texts(moment, TextRole::Text, &state.input);
                self.texts(moment, TextRole::Condition, &state.workflow);
            }
            Some(StateKind::Human(state)) => self.texts(moment, TextRole::Person, &state.prompt),
            Some(StateKind::Container(state)) => self.texts(moment, TextRole::Command, &state.texts),
            Some(StateKind::System(state)) => match &state.action {
                Some(SystemAction::Update(entries)) => {
                    for (_, value) in entries {
                        self.leaves(moment, TextRole::Json, value);
                    }
                    self.texts(moment, TextRole::Text, &state.workdir);
                }
                Some(SystemAction::Command { command, env }) => {
                    self.texts(moment, TextRole::Text, &state.workdir);
                    self.texts(moment, TextRole::Text, env.iter().map(|(_, value)| value));
                    self.text(moment, TextRole::Command, command);
                }
                None => self.texts(moment, TextRole::Text, &state.workdir),
            },
            None => {}
        }
    }
}
