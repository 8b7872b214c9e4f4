//! The names of a workflow's templates (decisions E6, E7, C9): each is bound to its source, and what no run can define
//! is reported.

mod answer;
mod check;
mod known;
mod meaning;
mod root;
mod state;

use std::collections::BTreeSet;
use std::sync::Arc;
use trefoil_syntax::hash::HashMap;

use trefoil_ir::{SlotId, Source};
use trefoil_syntax::Location;
use trefoil_template::{Missing, Reference, Value};

use super::paths::Paths;
use super::pieces::path;
use crate::Reader;
use crate::aegis::manifest::schema::JsonSchema;
pub(super) use answer::Answer;
pub use check::ALWAYS;
pub(super) use known::{Known, declare_inputs, input_names};
pub(super) use meaning::{TAGS, plain_path};

/// What a state's result looks like.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
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

impl Shape {
    /// Whether it is a System state.
    pub fn is_command(&self) -> bool {
        matches!(self, Self::Command | Self::Echo | Self::Update)
    }
}

/// The slots that every workflow has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fixed {
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
}

/// One state, as names see it.
pub(super) struct Named {
    pub name: Arc<str>,
    pub slot: SlotId,
    pub shape: Shape,
    /// Threshold and agreement of its consensus.
    pub consensus: (Option<f64>, Option<f64>),
    /// The states with a transition into it that has feedback.
    pub given_feedback: Vec<usize>,
    /// Has an answer even when nobody gives one.
    pub answers: bool,
    /// In the rounds of a judged state: the round, and why the last one or the last state failed.
    pub rounds: Option<(SlotId, SlotId)>,
}

/// Everything that templates of a workflow can name.
pub(super) struct Names {
    pub fixed: Fixed,
    pub states: Vec<Named>,
    pub by_name: HashMap<Arc<str>, usize>,
    /// Keys that the manifest itself puts on the Blackboard.
    pub keys: BTreeSet<Arc<str>>,
    pub workflow: Arc<str>,
    pub version: Arc<str>,
    pub schema: Option<JsonSchema>,
}

/// Where a template stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In what a state does.
    Entering(usize),
    /// In what a state's transition says.
    Leaving(usize),
    /// In a `custom` expression of a state.
    Deciding(usize),
    /// In the workflow's output.
    End,
}

/// A workflow while its texts are bound.
pub(super) struct Scene<'a, 'd> {
    pub reader: &'a Reader<'d>,
    pub names: &'a Names,
    pub paths: &'a Paths,
    /// Where names are declared, for editors.
    pub known: &'a Arc<Known>,
    /// Whether anything reads `state.feedback`, or everything at once.
    pub reads_feedback: &'a std::cell::Cell<bool>,
    /// The states that read something else that may be another on each visit.
    pub varied: &'a std::cell::RefCell<BTreeSet<usize>>,
    pub spans: &'a [Location],
}

impl Names {
    /// The state of a name.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }
    /// The names of all states.
    pub fn state_names(&self) -> impl Iterator<Item = &str> {
        self.states.iter().map(|s| &*s.name)
    }
    fn state(&self, state: usize) -> Option<&Named> {
        self.states.get(state)
    }
    /// A state's name.
    pub fn name(&self, state: usize) -> &Arc<str> {
        self.state(state).map_or(&self.workflow, |s| &s.name)
    }
    /// A state's shape.
    pub fn shape(&self, state: usize) -> &Shape {
        self.state(state).map_or(&Shape::Open, |s| &s.shape)
    }
    /// A state's slot.
    pub fn slot(&self, state: usize) -> SlotId {
        self.state(state).map_or(self.fixed.blackboard, |s| s.slot)
    }
    /// Threshold and agreement that a state's consensus declares.
    pub fn consensus(&self, state: usize) -> (Option<f64>, Option<f64>) {
        self.state(state).map_or((None, None), |s| s.consensus)
    }
    /// What a person answered: the text, or the `response` of an answer that is an object.
    pub fn response(&self, state: usize) -> Source {
        let slot = self.slot(state);
        Source::Either(
            Box::new(Source::Member(slot, path(["output", "response"]))),
            Box::new(Source::Member(slot, path(["response"]))),
        )
    }
}

impl Scene<'_, '_> {
    /// Where a state is declared.
    pub fn state_at(&self, state: usize) -> Location {
        self.spans.get(state).copied().unwrap_or(self.reader.at(trefoil_syntax::Span::default()))
    }

    /// The source of a reference, and how many segments it stands for.
    pub fn resolve(&self, place: Place, reference: &Reference, at: Location) -> (Source, u16) {
        let segments: Vec<&str> = reference.path.iter().map(|s| &*s.name).collect();
        let look = Look { scene: self, place, at, reference };
        look.up(&segments)
    }
}

/// One look-up.
struct Look<'s, 'a, 'd> {
    scene: &'s Scene<'a, 'd>,
    place: Place,
    at: Location,
    reference: &'s Reference,
}

impl Look<'_, '_, '_> {
    fn up(&self, segments: &[&str]) -> (Source, u16) {
        let names = self.scene.names;
        let fixed = names.fixed;
        let of = |skip: u16, (source, more): (Source, u16)| (source, skip + more);
        match segments {
            [] | ["blackboard"] => {
                self.scene.reads_feedback.set(true);
                (root::whole(names), segments.len() as u16)
            }
            ["blackboard", rest @ ..] => match rest {
                [key, ..] if is_special(key) || names.index(key).is_some() => of(1, self.up(rest)),
                [key, ..] => {
                    self.check_key(key, rest);
                    (Source::Slot(fixed.blackboard), 1)
                }
                [] => (root::whole(names), 1),
            },
            ["workflow", rest @ ..] => of(1, self.workflow(rest)),
            ["input"] => (Source::Slot(fixed.raw), 1),
            ["input", field, ..] => {
                self.check_field(field, segments.len() - 1);
                (Source::Slot(fixed.input), 1)
            }
            ["state", "feedback", ..] => {
                self.scene.reads_feedback.set(true);
                self.check_feedback();
                (Source::Slot(fixed.feedback), 2)
            }
            ["state"] => {
                self.scene.reads_feedback.set(true);
                (root::feedback(fixed), 1)
            }
            ["state", other, rest @ ..] if names.index(other).is_some() => {
                self.without(segments.len(), &[other], other);
                self.up_from(1, other, rest)
            }
            ["state", other, ..] => self.unknown(1, &format!("`state` has no `{other}`"), "write `state.feedback`"),
            ["human", "feedback", ..] => {
                self.varies();
                of(2, (self.human_feedback(), 0))
            }
            ["human", rest @ ..] => {
                let what = rest.first().map_or("human".to_owned(), |f| format!("human.{f}"));
                self.unknown(1, &format!("`{what}` is always empty"), "write `human.feedback`")
            }
            ["execution", "id", ..] => (Source::RunId, 2),
            ["execution", ..] => self.unknown(1, "of `execution` only the `id` is known", "write `execution.id`"),
            ["iteration_number", ..] => {
                self.varies();
                (Source::Slot(self.rounds().map_or(fixed.visit, |(round, _)| round)), 1)
            }
            ["previous_error", ..] => {
                self.varies();
                (Source::Slot(self.rounds().map_or(fixed.previous_error, |(_, error)| error)), 1)
            }
            ["state_output", rest @ ..] if matches!(self.place, Place::Deciding(_) | Place::Leaving(_)) => {
                let (Place::Deciding(state) | Place::Leaving(state)) = self.place else {
                    return (Source::Missing(Missing::Key(0)), 0);
                };
                of(1, self.state(state, rest))
            }
            [name, rest @ ..] => {
                if let Some(state) = names.index(name) {
                    self.check_order(state);
                    return of(1, self.state(state, rest));
                }
                if *name == "consensus"
                    && !names.keys.contains("consensus")
                    && let Some(state) = self.one_consensus()
                {
                    return (Source::Member(names.slot(state), path(["consensus"])), 1);
                }
                if let Some(key) = rest.first().copied().filter(|key| self.is_prefixed(name, key)) {
                    match names.index(key) {
                        Some(_) => self.without(segments.len(), &[key], key),
                        None if is_special(key) => self.without(segments.len(), &[key], key),
                        None if key == "task" => self.without(segments.len(), &["workflow", key], key),
                        None => self.without(segments.len(), &["workflow", "context", key], key),
                    }
                    return (Source::Missing(Missing::Key(0)), 0);
                }
                self.check_key(name, segments);
                (Source::Slot(fixed.blackboard), 0)
            }
        }
    }

    /// Notes that the state reads what may be another on each visit.
    fn varies(&self) {
        if let Place::Entering(state) = self.place {
            self.scene.varied.borrow_mut().insert(state);
        }
    }

    /// A result below a word that stands before no result.
    fn up_from(&self, skip: u16, name: &str, rest: &[&str]) -> (Source, u16) {
        let Some(state) = self.scene.names.index(name) else { return (Source::Missing(Missing::Key(skip)), 0) };
        let (source, more) = self.state(state, rest);
        (source, skip + 1 + more)
    }

    /// Whether a root is a word that other systems put before results, or before the context, and this one does not.
    fn is_prefixed(&self, root: &str, key: &str) -> bool {
        let names = self.scene.names;
        if names.keys.contains(root) || names.schema.as_ref().is_some_and(|s| s.properties().any(|(p, _)| &**p == root))
        {
            return false;
        }
        let of_states = ["states", "steps", "nodes", "outputs", "output", "results", "result", "agents", "tasks"];
        let of_context = ["context", "ctx", "vars", "variables", "env", "spec"];
        (of_states.contains(&root) && (names.index(key).is_some() || is_special(key)))
            || (of_context.contains(&root) && (names.keys.contains(key) || key == "task"))
    }

    fn workflow(&self, rest: &[&str]) -> (Source, u16) {
        let names = self.scene.names;
        match rest {
            [] => (root::workflow(names), 0),
            ["context", inner @ ..] => {
                if let [key, ..] = inner {
                    self.check_key(key, inner);
                }
                (Source::Slot(names.fixed.blackboard), 1)
            }
            ["name", ..] => (Source::Const(Value::Str(names.workflow.clone())), 1),
            ["version", ..] => (Source::Const(Value::Str(names.version.clone())), 1),
            ["task", ..] => (Source::Member(names.fixed.input, path(["task"])), 1),
            // Reported where `storage` is declared.
            ["storage", ..] => (Source::Missing(Missing::Key(1)), 0),
            [other, ..] => self.unknown(
                0,
                &format!("`workflow` has no `{other}`"),
                &format!(
                    "a field of the start input is `input.{other}`, one of the context `workflow.context.{other}`"
                ),
            ),
        }
    }

    /// The rounds of the judged state that the template stands in.
    fn rounds(&self) -> Option<(SlotId, SlotId)> {
        match self.place {
            Place::Entering(state) => self.scene.names.state(state)?.rounds,
            _ => None,
        }
    }

    /// The state that a bare `consensus` means: this one, or the only one that has any.
    fn one_consensus(&self) -> Option<usize> {
        let states = &self.scene.names.states;
        let parallel = |i: &usize| states.get(*i).is_some_and(|s| matches!(s.shape, Shape::Parallel { .. }));
        if let Place::Leaving(state) | Place::Deciding(state) = self.place
            && parallel(&state)
        {
            return Some(state);
        }
        let mut all = (0..states.len()).filter(parallel);
        all.next().filter(|_| all.next().is_none())
    }

    /// What came with a person's answer: this state's, else that of the last one declared that has any.
    fn human_feedback(&self) -> Source {
        let states = &self.scene.names.states;
        let of = |slot: SlotId| Source::Member(slot, path(["output", "feedback"]));
        if let Place::Leaving(state) | Place::Deciding(state) = self.place
            && let Some(own) = states.get(state).filter(|s| s.shape == Shape::Human)
        {
            return of(own.slot);
        }
        let humans = states.iter().filter(|s| s.shape == Shape::Human).map(|s| of(s.slot));
        match humans.reduce(|earlier, later| Source::Either(Box::new(later), Box::new(earlier))) {
            Some(source) => source,
            None => {
                self.warn("`human.feedback` is always empty: no state asks a person", "");
                Source::Missing(Missing::Key(0))
            }
        }
    }
}

/// Names that are not keys of the Blackboard.
fn is_special(name: &str) -> bool {
    RESERVED.contains(&name)
}

pub(super) use crate::aegis::manifest::RESERVED;
