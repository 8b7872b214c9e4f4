//! The result of a state: its members by kind of state, and how a run reads each.

use std::sync::Arc;

use trefoil_ir::types::{Kind, Type};
use trefoil_ir::{Defined, Source};

use super::answer::Answer;
use super::known::{Outcome, StateNames, WorkflowNames, response};
use super::spelling::path;
use super::whole;
use crate::names::Members;
use crate::names::{Entry, Found, Listed, Names, Nothing, Read, Sort, loose};

/// The members of a container's result, which are repeated under `output`.
const CONTAINER: [&str; 6] = ["status", "exit_code", "stdout", "stderr", "duration_ms", "attempts"];

/// The members of a result, in this order; `None`: those of another workflow's result.
fn names(outcome: &Outcome) -> Option<&'static [&'static str]> {
    Some(match outcome {
        Outcome::Open => return None,
        Outcome::Container => {
            &["status", "exit_code", "stdout", "stderr", "duration_ms", "attempts", "output", "error", "execution_id"]
        }
        Outcome::Containers(_) => &[
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
        Outcome::Agent => &["output", "score", "confidence", "status", "error", "execution_id"],
        Outcome::Parallel { .. } => {
            &["consensus", "agents", "score", "confidence", "output", "status", "error", "execution_id"]
        }
        Outcome::Human => &["response", "feedback", "output", "status", "error", "execution_id"],
        Outcome::Command | Outcome::Echo => {
            &["output", "stdout", "stderr", "exit_code", "status", "error", "execution_id"]
        }
        Outcome::Update => &["updated", "output", "stdout", "stderr", "exit_code", "status", "error", "execution_id"],
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
pub fn entry(names: &Arc<WorkflowNames>, state: usize, depth: u16) -> Entry {
    let inside = ResultFields { names: names.clone(), state, depth };
    let schema = names.states.get(state).map_or(Type::Any, |s| s.schema.clone());
    let (at, outcome) = (names.states.get(state).map(|s| s.at), names.outcome(state));
    Entry { schema, ..Entry::names(inside) }
        .read(Source::Slot(names.slot(state)), depth)
        .declared(at)
        .note(note(outcome))
        .sort(Sort::Step(state))
}

fn note(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Agent => "the answer of an agent",
        Outcome::Command | Outcome::Echo => "the output of a command",
        Outcome::Update => "an update of the Blackboard",
        Outcome::Human => "a person's answer",
        Outcome::Parallel { .. } => "the answers of several agents, and their consensus",
        Outcome::Container | Outcome::Containers(_) => "the output of a container",
        Outcome::Open => "the result of this state",
    }
}

/// The members of a state's result.
struct ResultFields {
    names: Arc<WorkflowNames>,
    state: usize,
    depth: u16,
}

impl Names for ResultFields {
    fn get(&self, name: &str) -> Found {
        match self.named() {
            ResultNames::Others(listed) => listed.get(name),
            ResultNames::Fields(state, names) if names.contains(&name) => Found::Is(field(state, self.depth, name)),
            ResultNames::Fields(_, names) => {
                let names = names.iter().map(|name| Arc::from(*name)).collect();
                Found::Never(Nothing { what: Some("an object"), names })
            }
        }
    }

    fn all(&self) -> Vec<(Arc<str>, Entry)> {
        match self.named() {
            ResultNames::Others(listed) => listed.all(),
            ResultNames::Fields(state, names) => {
                names.iter().map(|name| (Arc::from(*name), field(state, self.depth, name))).collect()
            }
        }
    }

    fn read(&self) -> Option<Read> {
        let state = self.names.states.get(self.state)?;
        Some(Read { source: whole::state(&state.outcome, state.slot), skip: self.depth })
    }
}

/// The members of a result.
enum ResultNames<'n> {
    /// These fields. Each is created on use.
    Fields(&'n StateNames, &'static [&'static str]),
    /// The result of another workflow.
    Others(Box<Listed>),
}

impl ResultFields {
    fn named(&self) -> ResultNames<'_> {
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
pub fn schema(state: &StateNames) -> Type {
    match names(&state.outcome) {
        Some(names) => Type::fields(names.iter().map(|name| (Arc::from(*name), field(state, 0, name).schema))),
        None => open(state).schema(),
    }
}

/// A field of a result at this depth of a path.
fn field(state: &StateNames, depth: u16, name: &str) -> Entry {
    match (&state.outcome, name) {
        (_, "execution_id") => run_id(depth),
        (Outcome::Container, "output") => container(),
        (Outcome::Container, name) if name != "error" => container_field(name),
        (_, "error" | "status") => text(),
        (Outcome::Containers(steps), "output") => {
            Listed::of(steps.iter().map(|step| (step.clone(), container()))).entry()
        }
        (Outcome::Agent, "output") => answer(state.answers.first()),
        (Outcome::Agent, what) => measure(state, depth, what),
        (Outcome::Parallel { .. }, name) => parallel(&state.answers, name),
        (Outcome::Human, "response") => any().read(response(state.slot), depth + 1),
        (Outcome::Human, "feedback") => member(state, depth, &["output", "feedback"]),
        (Outcome::Human, "output") => replied(state, depth),
        (Outcome::Update, "updated") => Entry::new(Type::list_of(Type::TEXT)),
        (Outcome::Command | Outcome::Echo | Outcome::Update, "output") => printed(state, depth),
        (_, "exit_code") => integer(),
        (_, "stdout" | "stderr") => text(),
        _ => any(),
    }
}

fn run_id(depth: u16) -> Entry {
    text().read(Source::RunId, depth + 1)
}

fn member(state: &StateNames, depth: u16, at: &[&str]) -> Entry {
    any().read(Source::Member(state.slot, path(at)), depth + 1)
}

/// Another workflow's result may have any members in addition to those of every state.
fn open(state: &StateNames) -> Listed {
    let of = state.answers.first().cloned().unwrap_or_default();
    let fields: Vec<(Arc<str>, Entry)> = of
        .schema
        .members()
        .map(|(name, schema)| {
            let (at, inner) = of.members.get(name).unwrap_or_default();
            (name.clone(), loose(Entry::new(schema.clone()).declared(at).members(inner)))
        })
        .collect();
    let closed = of.schema.as_object().is_some();
    let own = [("status", text()), ("error", text()), ("output", answer(Some(&of)))];
    let own = own.into_iter().map(|(name, entry)| (Arc::from(name), entry));
    let others = any().defined(if closed { Defined::Never } else { Defined::Always });
    Listed::of(own.chain(fields)).others(others)
}

/// A number of a verdict, read from the answer.
fn measure(state: &StateNames, depth: u16, what: &str) -> Entry {
    let number = number().read(Source::Member(state.slot, path(&["output", what])), depth + 1);
    let lacks =
        |answer: &Answer| answer.schema.kinds().is_some_and(|k| k.is(Kind::Object)) && answer.schema.never_has(what);
    number.defined(if state.answers.first().is_some_and(lacks) { Defined::Never } else { Defined::Always })
}

/// `output` of a Human state: the answer. Its members are those of an answer that is an object.
fn replied(state: &StateNames, depth: u16) -> Entry {
    let replied = Listed::default().others(any()).read_whole(response(state.slot), depth + 1);
    Entry { schema: Type::Any, ..replied.entry() }
}

/// `output` of a command: its standard output. Its members are those of printed JSON.
fn printed(state: &StateNames, depth: u16) -> Entry {
    let depth = depth + 1;
    let own = |entry: Entry| entry.read(Source::Slot(state.slot), depth);
    let printed = Listed::new([
        ("stdout", own(text())),
        ("stderr", own(text())),
        ("exit_code", own(integer())),
        ("status", own(text())),
    ]);
    let json = any().read(Source::Member(state.slot, path(&["json"])), depth);
    let printed = printed.others(json).read_whole(Source::Member(state.slot, path(&["stdout"])), depth);
    // As a whole it is printed as text.
    Entry { schema: Type::Any, ..printed.entry() }
}

fn any() -> Entry {
    loose(Entry::new(Type::Any))
}

fn text() -> Entry {
    loose(Entry::new(Type::TEXT))
}

fn integer() -> Entry {
    loose(Entry::new(Type::INTEGER))
}

fn number() -> Entry {
    loose(Entry::new(Type::NUMBER))
}

fn answer(of: Option<&Answer>) -> Entry {
    of.map_or_else(any, |answer| loose(Entry::new(answer.schema.clone()).members(answer.members.clone())))
}

fn container_field(name: &str) -> Entry {
    match name {
        "exit_code" => integer(),
        "stdout" | "stderr" => text(),
        _ => any(),
    }
}

fn container() -> Entry {
    Listed::new(CONTAINER.map(|name| (name, container_field(name)))).entry()
}

/// A field of the result of several agents. If the results of all have the same type, so do the items of its lists.
fn parallel(answers: &[Answer], name: &str) -> Entry {
    let alike = || match answers {
        [first, rest @ ..] if rest.iter().all(|a| a.schema == first.schema) => first.schema.clone(),
        _ => Type::Any,
    };
    let list = |schema: Type, of: &dyn Fn(&Answer) -> Members| {
        let each = answers.iter().enumerate().map(|(i, a)| (Arc::from(i.to_string()), None, of(a)));
        loose(Entry::new(Type::list_of(schema)).members(Members::of(each.collect())))
    };
    match name {
        "consensus" => {
            let metadata = Listed::new(METADATA.map(|name| (name, any()))).others(any()).entry();
            let consensus = Listed::new([
                ("score", number()),
                ("confidence", number()),
                ("strategy", text()),
                ("binary_valid", any()),
                ("metadata", metadata),
            ]);
            consensus.entry()
        }
        "agents" => {
            let output = |answer: &Answer| Members::of(vec![(Arc::from("output"), None, answer.members.clone())]);
            let each = [("output", alike()), ("score", Type::NUMBER), ("confidence", Type::NUMBER)];
            list(Type::fields(each.into_iter().map(|(name, schema)| (Arc::from(name), schema))), &output)
        }
        "output" => list(alike(), &|answer| answer.members.clone()),
        _ => number(),
    }
}
