//! The texts of a unit, each bound once. Used by lowering, and by finders, which check the bound names.

use std::sync::Arc;

use trefoil_ir::{Position, Text};
use trefoil_syntax::hash::HashMap;
use trefoil_syntax::yaml::{self, Kind, Node, Scalar};
use trefoil_syntax::{FileId, Span};
use trefoil_template::Policy;

use super::manifest::agent::Agent;
use super::manifest::state::StateKind;
use super::manifest::states::system::Action;
use super::manifest::transition::Condition;
use super::manifest::workflow::Workflow;
use super::names::{HandlerPlace, Moment, PromptNames, PromptPlace, WorkflowNames};
use crate::bound::BoundText;
use crate::names::Use;

/// The bound texts of a unit. A text that is written once and used twice (through an alias) is bound once for each
/// moment.
#[derive(Default)]
pub struct Texts {
    /// Boxed, so that growing the list does not copy the texts.
    all: Vec<(Moment, Box<BoundText>)>,
    by_place: HashMap<(Moment, Span), usize>,
    /// Templates of messages to be sent, which are checked but not rendered.
    pub handlers: Vec<BoundText>,
}

impl Texts {
    /// The text at a place.
    pub fn get(&self, moment: Moment, source: &yaml::Text) -> Option<&BoundText> {
        let (_, text) = self.all.get(*self.by_place.get(&(moment, source.span))?)?;
        Some(text)
    }
    /// A text for a program; `None`: it is not a valid template.
    pub fn text(&self, moment: Moment, source: &yaml::Text) -> Option<Text> {
        self.get(moment, source)?.text()
    }
    /// The texts that a run renders, in the order in which they were bound.
    pub fn bound(&self) -> impl Iterator<Item = &BoundText> {
        self.all.iter().map(|(_, text)| &**text)
    }
    /// All texts.
    pub fn all(&self) -> impl Iterator<Item = &BoundText> {
        self.bound().chain(&self.handlers)
    }
    /// The references of all texts, with their moments.
    pub fn uses(&self) -> impl Iterator<Item = (Moment, &Use)> {
        self.all.iter().flat_map(|(moment, text)| text.uses.iter().map(|used| (*moment, used)))
    }

    /// Binds the texts of a workflow.
    pub fn of_workflow(file: FileId, workflow: &Workflow, names: &Arc<WorkflowNames>) -> Self {
        let mut bind = Bind { file, names, found: Self::default() };
        for (index, state) in workflow.states.iter().enumerate() {
            bind.state(Moment::Entering(index), state.kind.as_ref());
            bind.found.handlers.extend(handlers(file, &state.handler_templates));
            for transition in state.written() {
                if let Some(text) = &transition.feedback {
                    bind.text(Moment::Leaving(index), Position::Text, text);
                }
                if let Some(Condition::Custom(text)) = &transition.condition {
                    bind.condition(Moment::Deciding(index), text);
                }
            }
        }
        for entry in workflow.output_template.iter().filter_map(|n| n.mapping()).flat_map(|m| &m.entries) {
            bind.leaves(Moment::End, Position::Text, &entry.value);
        }
        bind.found
    }

    /// Binds the texts of an agent.
    pub fn of_agent(file: FileId, agent: &Agent, names: &Arc<PromptNames>) -> Self {
        let mut found = Self { handlers: handlers(file, &agent.handler_templates), ..Self::default() };
        if let Some(prompt) = &agent.prompt {
            let place = Arc::new(PromptPlace(names.clone()));
            found.add(PROMPT, BoundText::template(file, prompt, &Policy::AEGIS, place));
        }
        found
    }

    fn add(&mut self, moment: Moment, text: BoundText) {
        self.by_place.insert((moment, text.source.span), self.all.len());
        self.all.push((moment, Box::new(text)));
    }
}

/// The moment of an agent's prompt, which is its only text.
pub const PROMPT: Moment = Moment::Entering(0);

fn handlers(file: FileId, templates: &[yaml::Text]) -> Vec<BoundText> {
    let bind = |text| BoundText::template(file, text, &Policy::AEGIS, Arc::new(HandlerPlace));
    templates.iter().map(bind).collect()
}

/// The texts of a workflow during binding.
struct Bind<'a> {
    file: FileId,
    names: &'a Arc<WorkflowNames>,
    found: Texts,
}

impl Bind<'_> {
    fn text(&mut self, moment: Moment, position: Position, source: &yaml::Text) {
        let place = Arc::new(self.names.place(moment, position));
        self.found.add(moment, BoundText::template(self.file, source, &Policy::AEGIS, place));
    }

    fn condition(&mut self, moment: Moment, source: &yaml::Text) {
        let place = Arc::new(self.names.place(moment, Position::Condition));
        self.found.add(moment, BoundText::condition(self.file, source, &Policy::AEGIS, place));
    }

    /// Binds the templates in the strings of a value.
    fn leaves(&mut self, moment: Moment, position: Position, node: &Node) {
        match &*node.kind {
            Kind::Scalar(Scalar::Str, source) => self.text(moment, position, source),
            Kind::Scalar(..) => {}
            Kind::Sequence(items) => items.iter().for_each(|item| self.leaves(moment, position, item)),
            Kind::Mapping(m) => m.entries.iter().for_each(|entry| self.leaves(moment, position, &entry.value)),
        }
    }

    fn state(&mut self, moment: Moment, kind: Option<&StateKind>) {
        let mut all: Vec<(Position, &yaml::Text)> = Vec::new();
        match kind {
            Some(StateKind::Agent(state)) => {
                all.extend(state.intent.iter().chain(&state.input).map(|text| (Position::Text, text)));
                all.extend(state.agent.iter().map(|name| (Position::Condition, name)));
            }
            Some(StateKind::Parallel(state)) => {
                for branch in &state.agents {
                    all.extend(branch.input.iter().map(|text| (Position::Text, text)));
                    all.push((Position::Condition, &branch.agent));
                }
            }
            Some(StateKind::Subworkflow(state)) => {
                all.extend(state.input.iter().map(|text| (Position::Text, text)));
                all.extend(state.workflow.iter().map(|name| (Position::Condition, name)));
            }
            Some(StateKind::Human(state)) => all.extend(state.prompt.iter().map(|text| (Position::Person, text))),
            Some(StateKind::Container(state)) => all.extend(state.texts.iter().map(|text| (Position::Command, text))),
            Some(StateKind::System(state)) => {
                all.extend(state.workdir.iter().map(|text| (Position::Text, text)));
                match &state.action {
                    Some(Action::Update(entries)) => {
                        entries.iter().for_each(|(_, value)| self.leaves(moment, Position::Json, value));
                    }
                    Some(Action::Command { command, env }) => {
                        all.extend(env.iter().map(|(_, value)| (Position::Text, value)));
                        all.push((Position::Command, command));
                    }
                    None => {}
                }
            }
            None => {}
        }
        for (position, source) in all {
            self.text(moment, position, source);
        }
    }
}
