//! The names with which a path in a workflow can start: states, Blackboard keys, and the names of the format.

use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{Source, ValuePresence};
use trefoil_template::{PathSegment, Value};

use super::blackboard::{BlackboardKeys, StartFields};
use super::spelling::{name_path, plain_names};
use super::state_order::StatePrecedence;
use super::workflow_names::{RenderMoment, StateResultForm, WorkflowNames};
use super::{composed_objects, result};
use crate::names::{
    BoundPath, FixedObject, MissingValueReason, NameAbsence, NameEntry, NameKind, NameMatch, NameResolver,
    PathResolution, PathSource, allow_other_members, bind_path,
};

/// The names available at a moment.
pub fn root_entry(names: &Arc<WorkflowNames>, moment: RenderMoment) -> NameEntry {
    NameEntry::from_names(WorkflowRoot { names: names.clone(), moment, depth: 0 })
}

/// The names of a place, and the same names under `blackboard`.
struct WorkflowRoot {
    names: Arc<WorkflowNames>,
    moment: RenderMoment,
    /// The number of segments before these names.
    depth: u16,
}

impl NameResolver for WorkflowRoot {
    fn get(&self, name: &str) -> NameMatch {
        let fixed = self.names.fixed;
        let here = self.depth + 1;
        NameMatch::Is(match name {
            "blackboard" if self.depth == 0 => self.blackboard(),
            "workflow" => self.workflow(),
            "input" => self.input(),
            "state" => self.feedback(),
            "human" => self.human(),
            "execution" => {
                FixedObject::new([("id", text().with_source(Source::RunId, here + 1))]).as_namespace().into_entry()
            }
            "iteration_number" => allow_other_members(NameEntry::new(ValueType::INTEGER))
                .with_source(Source::Slot(self.rounds().map_or(fixed.visit, |(round, _)| round)), here)
                .with_note("the number of this visit, or round of judges, from 1"),
            "previous_error" => text()
                .with_defined(ValuePresence::Sometimes)
                .with_source(Source::Slot(self.rounds().map_or(fixed.previous_error, |(_, error)| error)), here)
                .with_note("why the last one failed"),
            _ => return self.written(name),
        })
    }

    /// The names that editors suggest; objects of the format itself are replaced by their members.
    fn all_entries(&self) -> Vec<(Arc<str>, NameEntry)> {
        let states = self.names.states.iter().filter(|s| !s.name.is_empty()).map(|s| s.name.clone());
        let mut names: Vec<Arc<str>> = states.collect();
        names.extend(self.moment.finished_state().map(|_| "state_output".into()));
        names.extend(self.names.keys.keys().cloned());
        names.push("input".into());
        names.extend(self.names.input.field_names().map(|field| format!("input.{field}").into()));
        let own = ["workflow.context", "blackboard", "workflow.name", "workflow.task", "state.feedback"];
        names.extend(own.map(Arc::from));
        if self.names.states.iter().any(|s| s.outcome == StateResultForm::Human) {
            names.push("human.feedback".into());
        }
        names.extend(["iteration_number", "previous_error", "execution.id", "intent"].map(Arc::from));
        let root = root_entry(&self.names, self.moment);
        let named = |name: Arc<str>| {
            let path: Vec<PathSegment> =
                name.split('.').map(|name| PathSegment { name: name.into(), span: 0..0 }).collect();
            let entry = bind_path(&root, &path).last()?.clone();
            match (entry.sort, entry.defined) {
                (NameKind::Step(_), ValuePresence::Never) => None,
                // The author may add a value for it next.
                (_, ValuePresence::Never) => Some((name, entry.with_defined(ValuePresence::Sometimes))),
                _ => Some((name, entry)),
            }
        };
        names.into_iter().filter_map(named).collect()
    }

    fn whole_source(&self) -> Option<PathSource> {
        Some(PathSource { source: composed_objects::compose_root(&self.names), skip: self.depth })
    }
}

impl WorkflowRoot {
    /// Names from the manifest, or from the caller of the run.
    fn written(&self, name: &str) -> NameMatch {
        let names = &self.names;
        if let Some(state) = self.moment.finished_state().filter(|_| name == "state_output") {
            let own = result::result_entry(names, state, self.depth + 1);
            return NameMatch::Is(own.with_declaration(None).with_note("the result of this state"));
        }
        if let Some(state) = names.state_index(name) {
            return NameMatch::Is(self.state(state));
        }
        if name == "consensus"
            && !names.keys.contains_key(name)
            && let Some(state) = self.one_consensus()
        {
            let source = Source::Member(names.state_slot(state), name_path(&["consensus"]));
            return NameMatch::Is(any().with_defined(ValuePresence::Sometimes).with_source(source, self.depth + 1));
        }
        match self.keys(self.depth).get(name) {
            NameMatch::Is(entry) if name == "intent" => NameMatch::Is(entry.with_note("the intent passed to the run")),
            found => found,
        }
    }

    fn keys(&self, depth: u16) -> BlackboardKeys {
        BlackboardKeys { names: self.names.clone(), moment: self.moment, depth }
    }

    /// A state's result, and whether the state has run by then.
    fn state(&self, state: usize) -> NameEntry {
        let entry = result::result_entry(&self.names, state, self.depth + 1);
        let own = self.moment.state_index() == Some(state);
        if self.moment.state_index().is_some_and(|here| !self.names.paths.is_reachable(here))
            && self.moment.finished_state() != Some(state)
        {
            return entry.with_defined(ValuePresence::Sometimes);
        }
        match self.names.precedence_at(state, self.moment) {
            StatePrecedence::Always => entry,
            StatePrecedence::Sometimes => {
                entry.with_missing_reason(ValuePresence::Sometimes, MissingValueReason::Skipped(None))
            }
            StatePrecedence::Never if own => entry.with_missing_reason(ValuePresence::Never, MissingValueReason::Own),
            StatePrecedence::Never => entry.with_missing_reason(ValuePresence::Never, MissingValueReason::Later),
        }
    }

    fn blackboard(&self) -> NameEntry {
        let inside = Self { names: self.names.clone(), moment: self.moment, depth: 1 };
        let schema = self.names.blackboard.clone();
        NameEntry { schema, ..NameEntry::from_names(inside) }.with_note("the context, the start input and updates")
    }

    fn workflow(&self) -> NameEntry {
        let (fixed, next) = (self.names.fixed, self.depth + 2);
        let constant = |text: &Arc<str>| self::text().with_source(Source::Const(Value::Str(text.clone())), next);
        let context = NameEntry { schema: self.names.blackboard.clone(), ..NameEntry::from_names(self.keys(next)) }
            .with_source(Source::Slot(fixed.blackboard), next)
            .with_note("the context, overlaid by the start input and updates");
        let task = any()
            .with_defined(ValuePresence::Sometimes)
            .with_source(Source::Member(fixed.input, name_path(&["task"])), next)
            .with_note("the task passed to the run");
        let storage = any()
            .with_defined(ValuePresence::Never)
            .with_source(Source::missing_segment(usize::from(self.depth) + 1), 0);
        let listed = FixedObject::new([
            ("context", context),
            ("name", constant(&self.names.workflow).with_note("the name of this workflow")),
            ("version", constant(&self.names.version)),
            ("task", task),
            // Reported at its declaration.
            ("storage", storage),
        ]);
        NameEntry {
            schema: ValueType::OBJECT,
            ..listed
                .as_namespace()
                .read_whole(composed_objects::compose_workflow(&self.names), self.depth + 1)
                .into_entry()
        }
    }

    fn input(&self) -> NameEntry {
        let (names, here) = (&self.names, self.depth + 1);
        let schema = names.input.schema.as_ref().map_or(ValueType::Any, |s| s.of.clone());
        NameEntry { schema, ..NameEntry::from_names(StartFields { names: names.clone(), depth: here }) }
            .with_source(Source::Slot(names.fixed.raw), here)
            .with_note("the start input")
    }

    /// `state`: the feedback of the transition taken. As a prefix of a state's name, the word is redundant but
    /// unambiguous.
    fn feedback(&self) -> NameEntry {
        let (names, next) = (&self.names, self.depth + 2);
        let given = |state: usize| {
            names.states.get(state).is_none_or(|s| !s.given_feedback.is_empty()) || !names.paths.is_reachable(state)
        };
        let defined =
            if self.moment.state_index().is_none_or(given) { ValuePresence::Sometimes } else { ValuePresence::Never };
        let feedback = any().with_defined(defined).with_source(Source::Slot(names.fixed.feedback), next);
        let feedback = feedback.with_note("the feedback of the transition that led here");
        let state = StateRoot { names: names.clone(), feedback, depth: self.depth + 1 };
        NameEntry { schema: ValueType::OBJECT, ..NameEntry::from_names(state) }
    }

    /// The data of a person's answer: of this state, otherwise of the last declared state that has one.
    fn human(&self) -> NameEntry {
        let states = &self.names.states;
        let of = |state: usize| Source::Member(self.names.state_slot(state), name_path(&["output", "feedback"]));
        let is_human = |state: &usize| states.get(*state).is_some_and(|s| s.outcome == StateResultForm::Human);
        let all = || (0..states.len()).filter(is_human).map(of);
        let source = match self.moment.finished_state().filter(is_human) {
            Some(own) => Some(of(own)),
            None => all().reduce(|earlier, later| Source::Either(Box::new(later), Box::new(earlier))),
        };
        let feedback = any().with_note("the feedback sent with a person's answer");
        let feedback = match source {
            Some(source) => feedback.with_defined(ValuePresence::Sometimes).with_source(source, self.depth + 2),
            None => feedback.with_defined(ValuePresence::Never),
        };
        NameEntry {
            schema: ValueType::OBJECT,
            ..FixedObject::new([("feedback", feedback)]).as_namespace().into_entry()
        }
    }

    /// The round slots of the state with judges to which the text belongs.
    fn rounds(&self) -> Option<(trefoil_ir::SlotId, trefoil_ir::SlotId)> {
        match self.moment {
            RenderMoment::Entering(state) => self.names.states.get(state)?.rounds,
            _ => None,
        }
    }

    /// The state to which a bare `consensus` refers: this one, or the only one with a consensus.
    fn one_consensus(&self) -> Option<usize> {
        let states = &self.names.states;
        let parallel =
            |i: &usize| states.get(*i).is_some_and(|s| matches!(s.outcome, StateResultForm::Parallel { .. }));
        let mut all = (0..states.len()).filter(parallel);
        self.moment.finished_state().filter(parallel).or_else(|| all.next().filter(|_| all.next().is_none()))
    }
}

/// The members of `state`.
struct StateRoot {
    names: Arc<WorkflowNames>,
    feedback: NameEntry,
    depth: u16,
}

impl NameResolver for StateRoot {
    fn get(&self, name: &str) -> NameMatch {
        match self.names.state_index(name) {
            _ if name == "feedback" => NameMatch::Is(self.feedback.clone()),
            Some(state) => NameMatch::Maybe(result::result_entry(&self.names, state, self.depth + 1)),
            None => NameMatch::Never(NameAbsence { what: None, names: vec!["feedback".into()] }),
        }
    }

    fn all_entries(&self) -> Vec<(Arc<str>, NameEntry)> {
        vec![("feedback".into(), self.feedback.clone())]
    }

    fn whole_source(&self) -> Option<PathSource> {
        Some(PathSource { source: composed_objects::compose_feedback(self.names.fixed), skip: self.depth })
    }
}

/// Whether an existing path was certainly meant as a placeholder, whatever brackets it is in.
pub fn is_meant(names: &WorkflowNames, path: &[PathSegment], bound: &BoundPath) -> bool {
    let there = bound.end == PathResolution::There;
    match plain_names(path).as_deref() {
        Some(["workflow", "context", _, ..] | ["blackboard", _, ..]) => there,
        Some(["workflow" | "state" | "human" | "execution", _]) => there,
        Some(["input", _]) => there || names.input.schema.is_none(),
        Some([name, _, ..]) => names.state_index(name).is_some(),
        Some([name]) => *name == "input" || name.contains('_') && names.keys.contains_key(*name),
        _ => false,
    }
}

fn any() -> NameEntry {
    allow_other_members(NameEntry::new(ValueType::Any))
}

fn text() -> NameEntry {
    allow_other_members(NameEntry::new(ValueType::TEXT))
}
