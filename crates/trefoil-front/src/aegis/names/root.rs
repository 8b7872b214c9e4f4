//! The names with which a path in a workflow can start: states, Blackboard keys, and the names of the format.

use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{SlotId, Source, ValuePresence};
use trefoil_template::{PathSegment, Value};

use super::blackboard::{BlackboardKeys, StartFields};
use super::spelling::{name_path, plain_names};
use super::state_order::StatePrecedence;
use super::workflow_names::{AegisStateNames, RenderMoment, StateResultForm, WorkflowNames};
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
                .with_source(Source::Slot(self.rounds().0), here)
                .with_note("the number of this visit, or round of judges, from 1"),
            "previous_error" => text()
                .with_defined(ValuePresence::Sometimes)
                .with_source(Source::Slot(self.rounds().1), here)
                .with_note("why the last one failed"),
            _ => return self.written(name),
        })
    }

    /// The names that editors suggest; objects of the format itself are replaced by their members.
    fn all_entries(&self) -> Vec<(Arc<str>, NameEntry)> {
        let mut names: Vec<Arc<str>> = Vec::new();
        for state in &self.names.states {
            if !state.name.is_empty() {
                names.push(state.name.clone());
            }
        }
        if self.moment.finished_state().is_some() {
            names.push("state_output".into());
        }
        names.extend(self.names.keys.keys().cloned());
        names.push("input".into());
        for field in self.names.input.field_names() {
            names.push(format!("input.{field}").into());
        }
        for name in ["workflow.context", "blackboard", "workflow.name", "workflow.task", "state.feedback"] {
            names.push(name.into());
        }
        if self.names.states.iter().any(|s| s.outcome == StateResultForm::Human) {
            names.push("human.feedback".into());
        }
        for name in ["iteration_number", "previous_error", "execution.id", "intent"] {
            names.push(name.into());
        }
        let root = root_entry(&self.names, self.moment);
        let mut entries = Vec::with_capacity(names.len());
        for name in names {
            let path: Vec<PathSegment> =
                name.split('.').map(|name| PathSegment { name: name.into(), span: 0..0 }).collect();
            let Some(entry) = bind_path(&root, &path).last().cloned() else { continue };
            match (entry.sort, entry.defined) {
                (NameKind::Step(_), ValuePresence::Never) => {}
                // The author may add a value for it next.
                (_, ValuePresence::Never) => entries.push((name, entry.with_defined(ValuePresence::Sometimes))),
                _ => entries.push((name, entry)),
            }
        }
        entries
    }

    fn whole_source(&self) -> Option<PathSource> {
        Some(PathSource { source: composed_objects::compose_root(&self.names), skip: self.depth })
    }
}

impl WorkflowRoot {
    /// Names from the manifest, or from the caller of the run.
    fn written(&self, name: &str) -> NameMatch {
        let names = &self.names;
        if name == "state_output"
            && let Some(state) = self.moment.finished_state()
        {
            let result = result::result_entry(names, state, self.depth + 1);
            return NameMatch::Is(result.with_declaration(None).with_note("the result of this state"));
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
        if let Some(here) = self.moment.state_index()
            && !self.names.paths.is_reachable(here)
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
        let schema = match &names.input.schema {
            Some(schema) => schema.of.clone(),
            None => ValueType::Any,
        };
        NameEntry { schema, ..NameEntry::from_names(StartFields { names: names.clone(), depth: here }) }
            .with_source(Source::Slot(names.fixed.raw), here)
            .with_note("the start input")
    }

    /// `state`: the feedback of the transition taken. As a prefix of a state's name, the word is redundant but
    /// unambiguous.
    fn feedback(&self) -> NameEntry {
        let (names, next) = (&self.names, self.depth + 2);
        let defined = match self.moment.state_index() {
            Some(state) if self.never_has_feedback(state) => ValuePresence::Never,
            _ => ValuePresence::Sometimes,
        };
        let feedback = any().with_defined(defined).with_source(Source::Slot(names.fixed.feedback), next);
        let feedback = feedback.with_note("the feedback of the transition that led here");
        let state = StateRoot { names: names.clone(), feedback, depth: self.depth + 1 };
        NameEntry { schema: ValueType::OBJECT, ..NameEntry::from_names(state) }
    }

    /// Whether a state can be reached, but no transition to it has feedback.
    fn never_has_feedback(&self, state: usize) -> bool {
        let Some(named) = self.names.states.get(state) else { return false };
        named.given_feedback.is_empty() && self.names.paths.is_reachable(state)
    }

    /// The data of a person's answer: of this state, otherwise of the last declared state that has one.
    fn human(&self) -> NameEntry {
        let feedback = any().with_note("the feedback sent with a person's answer");
        let feedback = match self.human_feedback() {
            Some(source) => feedback.with_defined(ValuePresence::Sometimes).with_source(source, self.depth + 2),
            None => feedback.with_defined(ValuePresence::Never),
        };
        NameEntry {
            schema: ValueType::OBJECT,
            ..FixedObject::new([("feedback", feedback)]).as_namespace().into_entry()
        }
    }

    /// The `feedback` in that answer.
    fn human_feedback(&self) -> Option<Source> {
        let feedback_of = |state: &AegisStateNames| Source::Member(state.slot, name_path(&["output", "feedback"]));
        if let Some(here) = self.moment.finished_state()
            && let Some(state) = self.names.states.get(here)
            && state.outcome == StateResultForm::Human
        {
            return Some(feedback_of(state));
        }
        let mut feedback = None;
        for state in &self.names.states {
            if state.outcome != StateResultForm::Human {
                continue;
            }
            feedback = Some(match feedback {
                Some(earlier) => Source::Either(Box::new(feedback_of(state)), Box::new(earlier)),
                None => feedback_of(state),
            });
        }
        feedback
    }

    /// The slots of the number of the round or visit, and of why the last one failed: those of the rounds, in a text of
    /// a state with judges.
    fn rounds(&self) -> (SlotId, SlotId) {
        if let RenderMoment::Entering(index) = self.moment
            && let Some(state) = self.names.states.get(index)
            && let Some(rounds) = state.rounds
        {
            return rounds;
        }
        (self.names.fixed.visit, self.names.fixed.previous_error)
    }

    /// The state to which a bare `consensus` refers: this one, or the only one with a consensus.
    fn one_consensus(&self) -> Option<usize> {
        let has_consensus = |state: &AegisStateNames| matches!(state.outcome, StateResultForm::Parallel { .. });
        if let Some(here) = self.moment.finished_state()
            && let Some(state) = self.names.states.get(here)
            && has_consensus(state)
        {
            return Some(here);
        }
        let mut only = None;
        for (index, state) in self.names.states.iter().enumerate() {
            if !has_consensus(state) {
                continue;
            }
            if only.is_some() {
                return None;
            }
            only = Some(index);
        }
        only
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
