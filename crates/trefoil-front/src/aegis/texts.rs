//! The texts of a unit, each bound once. Lowering takes them from here; finders of mistakes read what was named.

use std::ops::Range;
use std::sync::Arc;

use trefoil_ir::{Cond, Position, Text};
use trefoil_syntax::Span;
use trefoil_syntax::hash::HashMap;
use trefoil_syntax::yaml::{self, Kind, Node, Scalar};
use trefoil_template::Policy;

use super::manifest::agent::Agent;
use super::manifest::state::StateKind;
use super::manifest::states::system::Action;
use super::manifest::transition::Condition;
use super::manifest::workflow::Workflow;
use super::names::{Moment, PromptNames, PromptPlace, WorkflowNames};
use super::shell;
use crate::Reader;
use crate::build;
use crate::lookalike;
use crate::names::{Binder, Place, Use};

/// The bound texts of a unit. One that is written once and used twice (an alias) is bound for each moment.
#[derive(Default)]
pub struct Texts {
    texts: HashMap<(Moment, Span), Text>,
    conditions: HashMap<(Moment, Span), Cond>,
    parts: HashMap<(Moment, Span, usize), Text>,
    /// What was named, and when.
    pub uses: Vec<(Moment, Use)>,
}

impl Texts {
    /// A text; none: it is no template (reported), and stands for nothing.
    pub fn text(&self, moment: Moment, source: &yaml::Text) -> Option<Text> {
        self.texts.get(&(moment, source.span)).cloned()
    }
    /// A condition.
    pub fn condition(&self, moment: Moment, source: &yaml::Text) -> Option<Cond> {
        self.conditions.get(&(moment, source.span)).cloned()
    }
    /// A placeholder of a command, by its bytes.
    pub fn part(&self, moment: Moment, source: &yaml::Text, range: &Range<usize>) -> Option<Text> {
        self.parts.get(&(moment, source.span, range.start)).cloned()
    }

    /// Binds the texts of a workflow. Reports those that are no templates.
    pub fn of_workflow(reader: &Reader<'_>, workflow: &Workflow, names: &Arc<WorkflowNames>) -> Self {
        let mut bind = Bind { reader, names, found: Self::default() };
        for (index, state) in workflow.states.iter().enumerate() {
            bind.state(Moment::Entering(index), state.kind.as_ref());
            for transition in state.written() {
                if let Some(text) = &transition.feedback {
                    bind.text(Moment::Leaving(index), Position::Data, text);
                }
                if let Some(Condition::Custom(text)) = &transition.condition {
                    bind.condition(Moment::Deciding(index), text);
                }
            }
        }
        for entry in workflow.output_template.iter().filter_map(|n| n.mapping()).flat_map(|m| &m.entries) {
            bind.leaves(Moment::End, &entry.value);
        }
        bind.found
    }

    /// Binds the prompt of an agent.
    pub fn of_agent(reader: &Reader<'_>, agent: &Agent, names: &Arc<PromptNames>) -> Self {
        let mut found = Self::default();
        if let Some(prompt) = &agent.prompt {
            bind_text(reader, &PromptPlace(names.clone()), PROMPT, prompt, &mut found);
        }
        found
    }
}

/// The moment of an agent's prompt: it has no other text.
pub const PROMPT: Moment = Moment::Entering(0);

/// Binds a text of a place.
fn bind_text(reader: &Reader<'_>, place: &dyn Place, moment: Moment, source: &yaml::Text, found: &mut Texts) {
    let mut binder = Binder::new(place);
    if place.position() != Position::Command && place.position() != Position::Condition {
        lookalike::whole(reader, source, &binder);
    }
    let bound = build::text(reader, source, &Policy::AEGIS, &mut binder);
    found.uses.extend(binder.uses.into_iter().map(|used| (moment, used)));
    found.texts.extend(bound.map(|text| ((moment, source.span), text)));
}

/// The texts of a workflow while they are bound.
struct Bind<'a, 'd> {
    reader: &'a Reader<'d>,
    names: &'a Arc<WorkflowNames>,
    found: Texts,
}

impl Bind<'_, '_> {
    fn text(&mut self, moment: Moment, position: Position, source: &yaml::Text) {
        bind_text(self.reader, &self.names.place(moment, position), moment, source, &mut self.found);
    }

    fn condition(&mut self, moment: Moment, source: &yaml::Text) {
        let place = self.names.place(moment, Position::Condition);
        let mut binder = Binder::new(&place);
        let bound = build::condition(self.reader, source, &Policy::AEGIS, &mut binder);
        self.found.uses.extend(binder.uses.into_iter().map(|used| (moment, used)));
        self.found.conditions.extend(bound.map(|condition| ((moment, source.span), condition)));
    }

    /// The templates at the leaves of a value.
    fn leaves(&mut self, moment: Moment, node: &Node) {
        match &*node.kind {
            Kind::Scalar(Scalar::Str, source) => self.text(moment, Position::Data, source),
            Kind::Scalar(..) => {}
            Kind::Sequence(items) => items.iter().for_each(|item| self.leaves(moment, item)),
            Kind::Mapping(m) => m.entries.iter().for_each(|entry| self.leaves(moment, &entry.value)),
        }
    }

    fn state(&mut self, moment: Moment, kind: Option<&StateKind>) {
        let mut all: Vec<(Position, &yaml::Text)> = Vec::new();
        match kind {
            Some(StateKind::Agent(state)) => {
                all.extend(state.intent.iter().chain(&state.input).map(|text| (Position::Data, text)));
                all.extend(state.agent.iter().map(|name| (Position::Condition, name)));
            }
            Some(StateKind::Parallel(state)) => {
                for branch in &state.agents {
                    all.extend(branch.input.iter().map(|text| (Position::Data, text)));
                    all.push((Position::Condition, &branch.agent));
                }
            }
            Some(StateKind::Subworkflow(state)) => {
                all.extend(state.input.iter().map(|text| (Position::Data, text)));
                all.extend(state.workflow.iter().map(|name| (Position::Condition, name)));
            }
            Some(StateKind::Human(state)) => all.extend(state.prompt.iter().map(|text| (Position::Person, text))),
            Some(StateKind::Container(state)) => all.extend(state.texts.iter().map(|text| (Position::Command, text))),
            Some(StateKind::System(state)) => {
                all.extend(state.workdir.iter().map(|text| (Position::Data, text)));
                match &state.action {
                    Some(Action::Update(entries)) => {
                        entries.iter().for_each(|(_, value)| self.leaves(moment, value));
                    }
                    Some(Action::Command { command, env }) => {
                        all.extend(env.iter().map(|(_, value)| (Position::Data, value)));
                        self.command(moment, command);
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

    /// A command is bound whole, and each of its placeholders for itself: a run passes them as parameters.
    fn command(&mut self, moment: Moment, source: &yaml::Text) {
        self.text(moment, Position::Command, source);
        if self.found.text(moment, source).is_none() {
            return;
        }
        let place = self.names.place(moment, Position::Command);
        for range in shell::Command::read(&source.value).placeholders() {
            let mut binder = Binder::new(&place);
            let part = build::text_part(self.reader, source, range.clone(), &Policy::AEGIS, &mut binder);
            self.found.parts.extend(part.map(|part| ((moment, source.span, range.start), part)));
        }
    }
}
