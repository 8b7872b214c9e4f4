//! The names with which a path in a workflow can start: states, Blackboard keys, and the names of the format. Also says which
//! of them have a value at a certain moment of the workflow, and from which slot a run reads it.

use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{Source, ValuePresence};
use trefoil_template::{PathSegment, Value};

use super::blackboard::{BlackboardKeys, StartFields};
use super::spelling::{name_path, plain_names};
use super::state_order::StatePrecedence;
use super::workflow_names::{AegisStateNames, RenderMoment, RoundSlots, StateResultForm, WorkflowNames};
use super::{composed_objects, result};
use crate::names::{
    BoundPath, FixedObject, MissingValueReason, NameAbsence, NameEntry, NameKind, NameMatch, NameResolver,
    PathResolution, PathSource, allow_other_members, bind_path,
};

/// The names available at a moment.
pub fn root_entry(names: &Arc<WorkflowNames>, moment: RenderMoment) -> NameEntry {
    NameEntry::from_names(WorkflowRoot { names: names.clone(), moment, depth: 0 })
}

/// The names at a moment. The same names are also under `blackboard`.
struct WorkflowRoot {
    names: Arc<WorkflowNames>,
    moment: RenderMoment,
    /// The number of segments before these names: 1 under `blackboard`, otherwise 0.
    depth: u16,
}

impl NameResolver for WorkflowRoot {
    fn get(&self, name: &str) -> NameMatch {
        // The number of segments up to and including the name.
        let name_depth = self.depth + 1;
        NameMatch::Is(match name {
            "blackboard" if self.depth == 0 => self.blackboard_entry(),
            "workflow" => self.workflow_entry(),
            "input" => self.input_entry(),
            "state" => self.state_feedback_entry(),
            "human" => self.human_entry(),
            "execution" => {
                let id = text_entry().with_source(Source::RunId, name_depth + 1);
                FixedObject::new([("id", id)]).as_namespace().into_entry()
            }
            "iteration_number" => allow_other_members(NameEntry::new(ValueType::INTEGER))
                .with_source(Source::Slot(self.round_slots().number), name_depth)
                .with_note("the number of this visit, or round of judges, from 1"),
            "previous_error" => text_entry()
                .with_defined(ValuePresence::Sometimes)
                .with_source(Source::Slot(self.round_slots().previous_error), name_depth)
                .with_note("why the last one failed"),
            _ => return self.find_workflow_name(name),
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
    /// A name that the workflow defines (a state, a Blackboard key), or that the caller of the run passes.
    fn find_workflow_name(&self, name: &str) -> NameMatch {
        let names = &self.names;
        if name == "state_output"
            && let Some(state) = self.moment.finished_state()
        {
            let result = result::result_entry(names, state, self.depth + 1);
            return NameMatch::Is(result.with_declaration(None).with_note("the result of this state"));
        }
        if let Some(state) = names.state_index(name) {
            return NameMatch::Is(self.state_entry(state));
        }
        if name == "consensus"
            && !names.keys.contains_key(name)
            && let Some(state) = self.bare_consensus_state()
        {
            let source = Source::Member(names.state_slot(state), name_path(&["consensus"]));
            return NameMatch::Is(
                any_entry().with_defined(ValuePresence::Sometimes).with_source(source, self.depth + 1),
            );
        }
        match self.blackboard_keys(self.depth).get(name) {
            NameMatch::Is(entry) if name == "intent" => NameMatch::Is(entry.with_note("the intent passed to the run")),
            found => found,
        }
    }

    fn blackboard_keys(&self, depth: u16) -> BlackboardKeys {
        BlackboardKeys { names: self.names.clone(), moment: self.moment, depth }
    }

    /// A state's result, and whether the state has run by the moment.
    fn state_entry(&self, state: usize) -> NameEntry {
        let entry = result::result_entry(&self.names, state, self.depth + 1);
        let is_own = self.moment.state_index() == Some(state);
        // No path leads to an unreachable state, so nothing is known about what has run before it.
        if let Some(current) = self.moment.state_index()
            && !self.names.paths.is_reachable(current)
            && self.moment.finished_state() != Some(state)
        {
            return entry.with_defined(ValuePresence::Sometimes);
        }
        match self.names.precedence_at(state, self.moment) {
            StatePrecedence::Always => entry,
            StatePrecedence::Sometimes => {
                entry.with_missing_reason(ValuePresence::Sometimes, MissingValueReason::Skipped(None))
            }
            StatePrecedence::Never if is_own => {
                entry.with_missing_reason(ValuePresence::Never, MissingValueReason::Own)
            }
            StatePrecedence::Never => entry.with_missing_reason(ValuePresence::Never, MissingValueReason::Later),
        }
    }

    fn blackboard_entry(&self) -> NameEntry {
        let inner_names = Self { names: self.names.clone(), moment: self.moment, depth: 1 };
        let schema = self.names.blackboard.clone();
        NameEntry { schema, ..NameEntry::from_names(inner_names) }.with_note("the context, the start input and updates")
    }

    fn workflow_entry(&self) -> NameEntry {
        let fixed = self.names.fixed;
        let member_depth = self.depth + 2;
        let constant =
            |text: &Arc<str>| text_entry().with_source(Source::Const(Value::Str(text.clone())), member_depth);
        let context = NameEntry {
            schema: self.names.blackboard.clone(),
            ..NameEntry::from_names(self.blackboard_keys(member_depth))
        }
        .with_source(Source::Slot(fixed.blackboard), member_depth)
        .with_note("the context, overlaid by the start input and updates");
        let task = any_entry()
            .with_defined(ValuePresence::Sometimes)
            .with_source(Source::Member(fixed.input, name_path(&["task"])), member_depth)
            .with_note("the task passed to the run");
        let storage = any_entry()
            .with_defined(ValuePresence::Never)
            .with_source(Source::missing_segment(usize::from(self.depth) + 1), 0);
        let members = FixedObject::new([
            ("context", context),
            ("name", constant(&self.names.workflow).with_note("the name of this workflow")),
            ("version", constant(&self.names.version)),
            ("task", task),
            // A workflow that declares storage is reported at the declaration.
            ("storage", storage),
        ]);
        let whole = composed_objects::compose_workflow(&self.names);
        let entry = members.as_namespace().read_whole(whole, self.depth + 1).into_entry();
        NameEntry { schema: ValueType::OBJECT, ..entry }
    }

    fn input_entry(&self) -> NameEntry {
        let names = &self.names;
        let name_depth = self.depth + 1;
        let schema = match &names.input.schema {
            Some(schema) => schema.of.clone(),
            None => ValueType::Any,
        };
        NameEntry { schema, ..NameEntry::from_names(StartFields { names: names.clone(), depth: name_depth }) }
            .with_source(Source::Slot(names.fixed.raw), name_depth)
            .with_note("the start input")
    }

    /// `state`: the feedback of the transition taken, as `state.feedback`. `state.NAME` is read as the result of that
    /// state: the prefix is redundant, but the meaning is clear.
    fn state_feedback_entry(&self) -> NameEntry {
        let names = &self.names;
        let defined = match self.moment.state_index() {
            Some(state) if self.never_has_feedback(state) => ValuePresence::Never,
            _ => ValuePresence::Sometimes,
        };
        let feedback =
            any_entry().with_defined(defined).with_source(Source::Slot(names.fixed.feedback), self.depth + 2);
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
    fn human_entry(&self) -> NameEntry {
        let feedback = any_entry().with_note("the feedback sent with a person's answer");
        let feedback = match self.human_feedback_source() {
            Some(source) => feedback.with_defined(ValuePresence::Sometimes).with_source(source, self.depth + 2),
            None => feedback.with_defined(ValuePresence::Never),
        };
        let entry = FixedObject::new([("feedback", feedback)]).as_namespace().into_entry();
        NameEntry { schema: ValueType::OBJECT, ..entry }
    }

    /// Where a run reads `human.feedback`. Of several states, the last declared one that has a value is read.
    fn human_feedback_source(&self) -> Option<Source> {
        let feedback_of = |state: &AegisStateNames| Source::Member(state.slot, name_path(&["output", "feedback"]));
        if let Some(finished) = self.moment.finished_state()
            && let Some(state) = self.names.states.get(finished)
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

    /// The slots that `iteration_number` and `previous_error` read: in a text of a state with judges, those of its rounds,
    /// otherwise those of the visits of states.
    fn round_slots(&self) -> RoundSlots {
        if let RenderMoment::Entering(index) = self.moment
            && let Some(state) = self.names.states.get(index)
            && let Some(rounds) = state.rounds
        {
            return rounds;
        }
        RoundSlots { number: self.names.fixed.visit, previous_error: self.names.fixed.previous_error }
    }

    /// The state to which a `consensus` without a state's name refers: the one that has finished, or the only one with a
    /// consensus.
    fn bare_consensus_state(&self) -> Option<usize> {
        let has_consensus = |state: &AegisStateNames| matches!(state.outcome, StateResultForm::Parallel { .. });
        if let Some(finished) = self.moment.finished_state()
            && let Some(state) = self.names.states.get(finished)
            && has_consensus(state)
        {
            return Some(finished);
        }
        let mut found = None;
        for (index, state) in self.names.states.iter().enumerate() {
            if !has_consensus(state) {
                continue;
            }
            if found.is_some() {
                return None;
            }
            found = Some(index);
        }
        found
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

/// Whether a path in a text was certainly meant as a placeholder, whatever brackets it is in. Ordinary words in
/// brackets may be prose, so a path counts only if it starts with a name of the format or with a state, or if it is a key with
/// an underscore.
pub fn is_meant(names: &WorkflowNames, path: &[PathSegment], bound: &BoundPath) -> bool {
    let is_resolved = bound.end == PathResolution::There;
    match plain_names(path).as_deref() {
        Some(["workflow", "context", _, ..] | ["blackboard", _, ..]) => is_resolved,
        Some(["workflow" | "state" | "human" | "execution", _]) => is_resolved,
        Some(["input", _]) => is_resolved || names.input.schema.is_none(),
        Some([name, _, ..]) => names.state_index(name).is_some(),
        Some([name]) => *name == "input" || name.contains('_') && names.keys.contains_key(*name),
        _ => false,
    }
}

/// A value of any type.
fn any_entry() -> NameEntry {
    allow_other_members(NameEntry::new(ValueType::Any))
}

/// A text, in which members are not reported as unknown.
fn text_entry() -> NameEntry {
    allow_other_members(NameEntry::new(ValueType::TEXT))
}
