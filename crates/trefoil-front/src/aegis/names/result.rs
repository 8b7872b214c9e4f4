//! The result of a state: its members by kind of state, and how a run reads each.

use std::sync::Arc;

use trefoil_ir::types::{ValueKind, ValueType};
use trefoil_ir::{Source, ValuePresence};

use super::answer::UnitResult;
use super::composed_objects;
use super::spelling::name_path;
use super::workflow_names::{AegisStateNames, StateResultForm, WorkflowNames, response_in_slot};
use crate::names::MemberDeclarations;
use crate::names::{
    FixedObject, NameAbsence, NameEntry, NameKind, NameMatch, NameResolver, PathSource, allow_other_members,
};

/// The members of a container's result, which are repeated under `output`.
const CONTAINER: [&str; 6] = ["status", "exit_code", "stdout", "stderr", "duration_ms", "attempts"];

/// The members of a result, in this order; `None`: those of another workflow's result.
fn names(outcome: &StateResultForm) -> Option<&'static [&'static str]> {
    Some(match outcome {
        StateResultForm::Open => return None,
        StateResultForm::Container => {
            &["status", "exit_code", "stdout", "stderr", "duration_ms", "attempts", "output", "error", "execution_id"]
        }
        StateResultForm::Containers(_) => &[
            "output",
            "results",
            "overall_success",
            "completion",
            "succeeded",
            "failed",
            "status",
            "error",
            "execution_id",
        ],
        StateResultForm::Agent => &["output", "score", "confidence", "status", "error", "execution_id"],
        StateResultForm::Parallel { .. } => {
            &["consensus", "agents", "score", "confidence", "output", "status", "error", "execution_id"]
        }
        StateResultForm::Human => &["response", "feedback", "output", "status", "error", "execution_id"],
        StateResultForm::Command | StateResultForm::Echo => {
            &["output", "stdout", "stderr", "exit_code", "status", "error", "execution_id"]
        }
        StateResultForm::Update => {
            &["updated", "output", "stdout", "stderr", "exit_code", "status", "error", "execution_id"]
        }
    })
}

/// The possible members of a consensus under `metadata`, depending on its strategy.
const METADATA: [&str; 9] = [
    "pass_votes",
    "fail_votes",
    "threshold",
    "all_pass",
    "total_judges",
    "agreement",
    "reasoning",
    "individual_outputs",
    "individual_results",
];

/// The result of a state at this depth of a path. Does not say whether it exists at a place.
pub fn result_entry(names: &Arc<WorkflowNames>, state: usize, depth: u16) -> NameEntry {
    let inside = ResultFields { names: names.clone(), state, depth };
    let (schema, at) = match names.states.get(state) {
        Some(named) => (named.schema.clone(), Some(named.at)),
        None => (ValueType::Any, None),
    };
    NameEntry { schema, ..NameEntry::from_names(inside) }
        .with_source(Source::Slot(names.state_slot(state)), depth)
        .with_declaration(at)
        .with_note(note(names.result_form(state)))
        .with_kind(NameKind::Step(state))
}

fn note(outcome: &StateResultForm) -> &'static str {
    match outcome {
        StateResultForm::Agent => "the answer of an agent",
        StateResultForm::Command | StateResultForm::Echo => "the output of a command",
        StateResultForm::Update => "an update of the Blackboard",
        StateResultForm::Human => "a person's answer",
        StateResultForm::Parallel { .. } => "the answers of several agents, and their consensus",
        StateResultForm::Container | StateResultForm::Containers(_) => "the output of a container",
        StateResultForm::Open => "the result of this state",
    }
}

/// The members of a state's result.
struct ResultFields {
    names: Arc<WorkflowNames>,
    state: usize,
    depth: u16,
}

impl NameResolver for ResultFields {
    fn get(&self, name: &str) -> NameMatch {
        match self.result_names() {
            ResultNames::Others(listed) => listed.get(name),
            ResultNames::Fields(state, names) if names.contains(&name) => NameMatch::Is(field(state, self.depth, name)),
            ResultNames::Fields(_, names) => {
                let names = names.iter().map(|name| Arc::from(*name)).collect();
                NameMatch::Never(NameAbsence { what: Some("an object"), names })
            }
        }
    }

    fn all_entries(&self) -> Vec<(Arc<str>, NameEntry)> {
        match self.result_names() {
            ResultNames::Others(listed) => listed.all_entries(),
            ResultNames::Fields(state, names) => {
                names.iter().map(|name| (Arc::from(*name), field(state, self.depth, name))).collect()
            }
        }
    }

    fn whole_source(&self) -> Option<PathSource> {
        let state = self.names.states.get(self.state)?;
        Some(PathSource { source: composed_objects::compose_state(&state.outcome, state.slot), skip: self.depth })
    }
}

/// The members of a result.
enum ResultNames<'n> {
    /// These fields. Each is created on use.
    Fields(&'n AegisStateNames, &'static [&'static str]),
    /// The result of another workflow.
    Others(Box<FixedObject>),
}

impl ResultFields {
    fn result_names(&self) -> ResultNames<'_> {
        match self.names.states.get(self.state) {
            None => ResultNames::Others(Box::default()),
            Some(state) => match names(&state.outcome) {
                Some(names) => ResultNames::Fields(state, names),
                None => ResultNames::Others(Box::new(open(state))),
            },
        }
    }
}

/// The type of a state's result.
pub fn result_type(state: &AegisStateNames) -> ValueType {
    match names(&state.outcome) {
        Some(names) => {
            ValueType::optional_fields(names.iter().map(|name| (Arc::from(*name), field(state, 0, name).schema)))
        }
        None => open(state).object_type(),
    }
}

/// A field of a result at this depth of a path.
fn field(state: &AegisStateNames, depth: u16, name: &str) -> NameEntry {
    match (&state.outcome, name) {
        (_, "execution_id") => run_id(depth),
        (StateResultForm::Container, "output") => container(),
        (StateResultForm::Container, name) if name != "error" => container_field(name),
        (_, "error" | "status") => text(),
        (StateResultForm::Containers(steps), "output") => {
            FixedObject::from_entries(steps.iter().map(|step| (step.clone(), container()))).into_entry()
        }
        (StateResultForm::Agent, "output") => answer(state.answers.first()),
        (StateResultForm::Agent, what) => measure(state, depth, what),
        (StateResultForm::Parallel { .. }, name) => parallel(&state.answers, name),
        (StateResultForm::Human, "response") => any().with_source(response_in_slot(state.slot), depth + 1),
        (StateResultForm::Human, "feedback") => member(state, depth, &["output", "feedback"]),
        (StateResultForm::Human, "output") => replied(state, depth),
        (StateResultForm::Update, "updated") => NameEntry::new(ValueType::list_of(ValueType::TEXT)),
        (StateResultForm::Command | StateResultForm::Echo | StateResultForm::Update, "output") => printed(state, depth),
        (_, "exit_code") => integer(),
        (_, "stdout" | "stderr") => text(),
        _ => any(),
    }
}

fn run_id(depth: u16) -> NameEntry {
    text().with_source(Source::RunId, depth + 1)
}

fn member(state: &AegisStateNames, depth: u16, at: &[&str]) -> NameEntry {
    any().with_source(Source::Member(state.slot, name_path(at)), depth + 1)
}

/// Another workflow's result may have any members in addition to those of every state.
fn open(state: &AegisStateNames) -> FixedObject {
    let of = state.answers.first().cloned().unwrap_or_default();
    let mut fields: Vec<(Arc<str>, NameEntry)> =
        vec![("status".into(), text()), ("error".into(), text()), ("output".into(), answer(Some(&of)))];
    for (name, schema) in of.schema.object_members() {
        let (at, inner) = of.members.get(name).unwrap_or_default();
        let entry = NameEntry::new(schema.clone()).with_declaration(at).with_members(inner);
        fields.push((name.clone(), allow_other_members(entry)));
    }
    let closed = of.schema.as_object().is_some();
    let others = any().with_defined(if closed { ValuePresence::Never } else { ValuePresence::Always });
    FixedObject::from_entries(fields).with_others(others)
}

/// A number of a verdict, read from the answer.
fn measure(state: &AegisStateNames, depth: u16, what: &str) -> NameEntry {
    let number = number().with_source(Source::Member(state.slot, name_path(&["output", what])), depth + 1);
    let is_object =
        |answer: &UnitResult| matches!(answer.schema.value_kinds(), Some(kinds) if kinds.is_only(ValueKind::Object));
    number.with_defined(match state.answers.first() {
        Some(answer) if is_object(answer) && answer.schema.never_has(what) => ValuePresence::Never,
        _ => ValuePresence::Always,
    })
}

/// `output` of a Human state: the answer. Its members are those of an answer that is an object.
fn replied(state: &AegisStateNames, depth: u16) -> NameEntry {
    let replied = FixedObject::default().with_others(any()).read_whole(response_in_slot(state.slot), depth + 1);
    NameEntry { schema: ValueType::Any, ..replied.into_entry() }
}

/// `output` of a command: its standard output. Its members are those of printed JSON.
fn printed(state: &AegisStateNames, depth: u16) -> NameEntry {
    let depth = depth + 1;
    let own = |entry: NameEntry| entry.with_source(Source::Slot(state.slot), depth);
    let printed = FixedObject::new([
        ("stdout", own(text())),
        ("stderr", own(text())),
        ("exit_code", own(integer())),
        ("status", own(text())),
    ]);
    let json = any().with_source(Source::Member(state.slot, name_path(&["json"])), depth);
    let printed = printed.with_others(json).read_whole(Source::Member(state.slot, name_path(&["stdout"])), depth);
    // As a whole it is printed as text.
    NameEntry { schema: ValueType::Any, ..printed.into_entry() }
}

fn any() -> NameEntry {
    allow_other_members(NameEntry::new(ValueType::Any))
}

fn text() -> NameEntry {
    allow_other_members(NameEntry::new(ValueType::TEXT))
}

fn integer() -> NameEntry {
    allow_other_members(NameEntry::new(ValueType::INTEGER))
}

fn number() -> NameEntry {
    allow_other_members(NameEntry::new(ValueType::NUMBER))
}

fn answer(of: Option<&UnitResult>) -> NameEntry {
    match of {
        Some(answer) => allow_other_members(NameEntry::new(answer.schema.clone()).with_members(answer.members.clone())),
        None => any(),
    }
}

fn container_field(name: &str) -> NameEntry {
    match name {
        "exit_code" => integer(),
        "stdout" | "stderr" => text(),
        _ => any(),
    }
}

fn container() -> NameEntry {
    FixedObject::new(CONTAINER.map(|name| (name, container_field(name)))).into_entry()
}

/// A field of the result of several agents. If the results of all have the same type, so do the items of its lists.
fn parallel(answers: &[UnitResult], name: &str) -> NameEntry {
    let alike = || match answers {
        [first, rest @ ..] if rest.iter().all(|answer| answer.schema == first.schema) => first.schema.clone(),
        _ => ValueType::Any,
    };
    let list = |schema: ValueType, of: &dyn Fn(&UnitResult) -> MemberDeclarations| {
        let items = answers.iter().enumerate().map(|(index, answer)| (Arc::from(index.to_string()), None, of(answer)));
        allow_other_members(
            NameEntry::new(ValueType::list_of(schema)).with_members(MemberDeclarations::from_members(items.collect())),
        )
    };
    match name {
        "consensus" => {
            let metadata = FixedObject::new(METADATA.map(|name| (name, any()))).with_others(any()).into_entry();
            let consensus = FixedObject::new([
                ("score", number()),
                ("confidence", number()),
                ("strategy", text()),
                ("binary_valid", any()),
                ("metadata", metadata),
            ]);
            consensus.into_entry()
        }
        "agents" => {
            let output = |answer: &UnitResult| {
                MemberDeclarations::from_members(vec![(Arc::from("output"), None, answer.members.clone())])
            };
            let fields = [
                ("output".into(), alike()),
                ("score".into(), ValueType::NUMBER),
                ("confidence".into(), ValueType::NUMBER),
            ];
            list(ValueType::optional_fields(fields), &output)
        }
        "output" => list(alike(), &|answer| answer.members.clone()),
        _ => number(),
    }
}
