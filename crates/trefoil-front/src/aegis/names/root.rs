//! The names with which a path in a workflow can start: states, Blackboard keys, and the names of the format.

use std::sync::Arc;

use trefoil_ir::types::Type;
use trefoil_ir::{Defined, Source};
use trefoil_template::{Segment, Value};

use super::board::{Keys, StartFields};
use super::known::{Moment, Outcome, WorkflowNames};
use super::paths::Before;
use super::spelling::{path, plain};
use super::{result, whole};
use crate::names::{Bound, Doubt, End, Entry, Found, Listed, Names, Nothing, Read, Sort, bind, loose};

/// The names available at a moment.
pub fn entry(names: &Arc<WorkflowNames>, moment: Moment) -> Entry {
    Entry::names(WorkflowRoot { names: names.clone(), moment, depth: 0 })
}

/// The names of a place, and the same names under `blackboard`.
struct WorkflowRoot {
    names: Arc<WorkflowNames>,
    moment: Moment,
    /// The number of segments before these names.
    depth: u16,
}

impl Names for WorkflowRoot {
    fn get(&self, name: &str) -> Found {
        let fixed = self.names.fixed;
        let here = self.depth + 1;
        Found::Is(match name {
            "blackboard" if self.depth == 0 => self.blackboard(),
            "workflow" => self.workflow(),
            "input" => self.input(),
            "state" => self.feedback(),
            "human" => self.human(),
            "execution" => Listed::new([("id", text().read(Source::RunId, here + 1))]).namespace().entry(),
            "iteration_number" => loose(Entry::new(Type::INTEGER))
                .read(Source::Slot(self.rounds().map_or(fixed.visit, |(round, _)| round)), here)
                .note("the number of this visit, or round of judges, from 1"),
            "previous_error" => text()
                .defined(Defined::Sometimes)
                .read(Source::Slot(self.rounds().map_or(fixed.previous_error, |(_, error)| error)), here)
                .note("why the last one failed"),
            _ => return self.written(name),
        })
    }

    /// The names that editors suggest; objects of the format itself are replaced by their members.
    fn all(&self) -> Vec<(Arc<str>, Entry)> {
        let states = self.names.states.iter().filter(|s| !s.name.is_empty()).map(|s| s.name.clone());
        let mut names: Vec<Arc<str>> = states.collect();
        names.extend(self.moment.done().map(|_| "state_output".into()));
        names.extend(self.names.keys.keys().cloned());
        names.push("input".into());
        names.extend(self.names.input.fields().map(|field| format!("input.{field}").into()));
        let own = ["workflow.context", "blackboard", "workflow.name", "workflow.task", "state.feedback"];
        names.extend(own.map(Arc::from));
        if self.names.states.iter().any(|s| s.outcome == Outcome::Human) {
            names.push("human.feedback".into());
        }
        names.extend(["iteration_number", "previous_error", "execution.id", "intent"].map(Arc::from));
        let root = entry(&self.names, self.moment);
        let named = |name: Arc<str>| {
            let path: Vec<Segment> = name.split('.').map(|name| Segment { name: name.into(), span: 0..0 }).collect();
            let entry = bind(&root, &path).last()?.clone();
            match (entry.sort, entry.defined) {
                (Sort::Step(_), Defined::Never) => None,
                // The author may add a value for it next.
                (_, Defined::Never) => Some((name, entry.defined(Defined::Sometimes))),
                _ => Some((name, entry)),
            }
        };
        names.into_iter().filter_map(named).collect()
    }

    fn read(&self) -> Option<Read> {
        Some(Read { source: whole::root(&self.names), skip: self.depth })
    }
}

impl WorkflowRoot {
    /// Names from the manifest, or from the caller of the run.
    fn written(&self, name: &str) -> Found {
        let names = &self.names;
        if let Some(state) = self.moment.done().filter(|_| name == "state_output") {
            let own = result::entry(names, state, self.depth + 1);
            return Found::Is(own.declared(None).note("the result of this state"));
        }
        if let Some(state) = names.index(name) {
            return Found::Is(self.state(state));
        }
        if name == "consensus"
            && !names.keys.contains_key(name)
            && let Some(state) = self.one_consensus()
        {
            let source = Source::Member(names.slot(state), path(&["consensus"]));
            return Found::Is(any().defined(Defined::Sometimes).read(source, self.depth + 1));
        }
        match self.keys(self.depth).get(name) {
            Found::Is(entry) if name == "intent" => Found::Is(entry.note("the intent passed to the run")),
            found => found,
        }
    }

    fn keys(&self, depth: u16) -> Keys {
        Keys { names: self.names.clone(), moment: self.moment, depth }
    }

    /// A state's result, and whether the state has run by then.
    fn state(&self, state: usize) -> Entry {
        let entry = result::entry(&self.names, state, self.depth + 1);
        let own = self.moment.state() == Some(state);
        if self.moment.state().is_some_and(|here| !self.names.paths.reachable(here))
            && self.moment.done() != Some(state)
        {
            return entry.defined(Defined::Sometimes);
        }
        match self.names.before(state, self.moment) {
            Before::Always => entry,
            Before::Sometimes => entry.doubt(Defined::Sometimes, Doubt::Skipped(None)),
            Before::Never if own => entry.doubt(Defined::Never, Doubt::Own),
            Before::Never => entry.doubt(Defined::Never, Doubt::Later),
        }
    }

    fn blackboard(&self) -> Entry {
        let inside = Self { names: self.names.clone(), moment: self.moment, depth: 1 };
        let schema = self.names.blackboard.clone();
        Entry { schema, ..Entry::names(inside) }.note("the context, the start input and updates")
    }

    fn workflow(&self) -> Entry {
        let (fixed, next) = (self.names.fixed, self.depth + 2);
        let constant = |text: &Arc<str>| self::text().read(Source::Const(Value::Str(text.clone())), next);
        let context = Entry { schema: self.names.blackboard.clone(), ..Entry::names(self.keys(next)) }
            .read(Source::Slot(fixed.blackboard), next)
            .note("the context, overlaid by the start input and updates");
        let task = any()
            .defined(Defined::Sometimes)
            .read(Source::Member(fixed.input, path(&["task"])), next)
            .note("the task passed to the run");
        let storage = any().defined(Defined::Never).read(Source::missing(usize::from(self.depth) + 1), 0);
        let listed = Listed::new([
            ("context", context),
            ("name", constant(&self.names.workflow).note("the name of this workflow")),
            ("version", constant(&self.names.version)),
            ("task", task),
            // Reported at its declaration.
            ("storage", storage),
        ]);
        Entry {
            schema: Type::OBJECT,
            ..listed.namespace().read_whole(whole::workflow(&self.names), self.depth + 1).entry()
        }
    }

    fn input(&self) -> Entry {
        let (names, here) = (&self.names, self.depth + 1);
        let schema = names.input.schema.as_ref().map_or(Type::Any, |s| s.of.clone());
        Entry { schema, ..Entry::names(StartFields { names: names.clone(), depth: here }) }
            .read(Source::Slot(names.fixed.raw), here)
            .note("the start input")
    }

    /// `state`: the feedback of the transition taken. As a prefix of a state's name, the word is redundant but
    /// unambiguous.
    fn feedback(&self) -> Entry {
        let (names, next) = (&self.names, self.depth + 2);
        let given = |state: usize| {
            names.states.get(state).is_none_or(|s| !s.given_feedback.is_empty()) || !names.paths.reachable(state)
        };
        let defined = if self.moment.state().is_none_or(given) { Defined::Sometimes } else { Defined::Never };
        let feedback = any().defined(defined).read(Source::Slot(names.fixed.feedback), next);
        let feedback = feedback.note("the feedback of the transition that led here");
        let state = StateRoot { names: names.clone(), feedback, depth: self.depth + 1 };
        Entry { schema: Type::OBJECT, ..Entry::names(state) }
    }

    /// The data of a person's answer: of this state, otherwise of the last declared state that has one.
    fn human(&self) -> Entry {
        let states = &self.names.states;
        let of = |state: usize| Source::Member(self.names.slot(state), path(&["output", "feedback"]));
        let is_human = |state: &usize| states.get(*state).is_some_and(|s| s.outcome == Outcome::Human);
        let all = || (0..states.len()).filter(is_human).map(of);
        let source = match self.moment.done().filter(is_human) {
            Some(own) => Some(of(own)),
            None => all().reduce(|earlier, later| Source::Either(Box::new(later), Box::new(earlier))),
        };
        let feedback = any().note("the feedback sent with a person's answer");
        let feedback = match source {
            Some(source) => feedback.defined(Defined::Sometimes).read(source, self.depth + 2),
            None => feedback.defined(Defined::Never),
        };
        Entry { schema: Type::OBJECT, ..Listed::new([("feedback", feedback)]).namespace().entry() }
    }

    /// The round slots of the state with judges to which the text belongs.
    fn rounds(&self) -> Option<(trefoil_ir::SlotId, trefoil_ir::SlotId)> {
        match self.moment {
            Moment::Entering(state) => self.names.states.get(state)?.rounds,
            _ => None,
        }
    }

    /// The state to which a bare `consensus` refers: this one, or the only one with a consensus.
    fn one_consensus(&self) -> Option<usize> {
        let states = &self.names.states;
        let parallel = |i: &usize| states.get(*i).is_some_and(|s| matches!(s.outcome, Outcome::Parallel { .. }));
        let mut all = (0..states.len()).filter(parallel);
        self.moment.done().filter(parallel).or_else(|| all.next().filter(|_| all.next().is_none()))
    }
}

/// The members of `state`.
struct StateRoot {
    names: Arc<WorkflowNames>,
    feedback: Entry,
    depth: u16,
}

impl Names for StateRoot {
    fn get(&self, name: &str) -> Found {
        match self.names.index(name) {
            _ if name == "feedback" => Found::Is(self.feedback.clone()),
            Some(state) => Found::Maybe(result::entry(&self.names, state, self.depth + 1)),
            None => Found::Never(Nothing { what: None, names: vec!["feedback".into()] }),
        }
    }

    fn all(&self) -> Vec<(Arc<str>, Entry)> {
        vec![("feedback".into(), self.feedback.clone())]
    }

    fn read(&self) -> Option<Read> {
        Some(Read { source: whole::feedback(self.names.fixed), skip: self.depth })
    }
}

/// Whether an existing path was certainly meant as a placeholder, whatever brackets it is in.
pub fn is_meant(names: &WorkflowNames, path: &[Segment], bound: &Bound) -> bool {
    let there = bound.end == End::There;
    match plain(path).as_deref() {
        Some(["workflow", "context", _, ..] | ["blackboard", _, ..]) => there,
        Some(["workflow" | "state" | "human" | "execution", _]) => there,
        Some(["input", _]) => there || names.input.schema.is_none(),
        Some([name, _, ..]) => names.index(name).is_some(),
        Some([name]) => *name == "input" || name.contains('_') && names.keys.contains_key(*name),
        _ => false,
    }
}

fn any() -> Entry {
    loose(Entry::new(Type::Any))
}

fn text() -> Entry {
    loose(Entry::new(Type::TEXT))
}
