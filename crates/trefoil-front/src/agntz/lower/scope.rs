//! Names in one agent's templates: what they stand for, and what is wrong with them.
//!
//! Looking a name up is pure; [`Scope::resolver`] reports what came of it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use trefoil_ir::{SlotId, Source};
use trefoil_syntax::{Diagnostic, Location, Severity, suggest};
use trefoil_template::{Missing, Reference, Segment};

use super::path::{Walk, walk};
use super::shape::Shape;
use super::signature::{Inputs, Outside, Signature};
use crate::read::Reader;

/// The names of one agent.
pub struct Scope<'s> {
    /// Its declared input.
    pub inputs: &'s Inputs,
    /// The slot of its input.
    pub input: SlotId,
    /// The slot of `userQuery`, where there is one.
    pub query: Option<SlotId>,
    /// Its steps, in order.
    pub steps: Vec<StepName>,
    /// How its steps are ordered.
    pub order: Order,
    /// What is around it, if it is written inside a step.
    pub outside: Option<&'s Outside<'s>>,
    /// Set once a template reads the input.
    pub reads_input: Cell<bool>,
    warned: RefCell<BTreeSet<String>>,
}

/// How steps see each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Each sees those before it.
    Once,
    /// The same, and from the second pass on all of them.
    Loop,
    /// None sees another.
    Parallel,
}

/// A step as templates name it.
pub struct StepName {
    /// Its state key.
    pub key: Arc<str>,
    /// The id, where it is another way to name the key.
    pub alias: Option<Arc<str>>,
    /// The id of the agent it calls.
    pub id: Arc<str>,
    /// The slot of its output.
    pub slot: SlotId,
    /// The slot of its inner results.
    pub exports: Option<SlotId>,
    /// What it calls, as far as that is known.
    pub callee: Option<Rc<Signature>>,
    /// The text of its `when`.
    pub when: Option<Arc<str>>,
}

/// Where a template stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// In the step of this index.
    Step(usize),
    /// After all steps (or in an agent without steps).
    End,
}

/// What a template is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Part of what a model reads.
    Prompt,
    /// An argument of a tool, the input of a step, a part of the output.
    Data,
    /// `when`, `until`.
    Condition,
}

/// What a path stands for.
pub struct Answer {
    /// Its source.
    pub source: Source,
    /// Segments that the source stands for.
    pub skip: u16,
    /// What is known about the value.
    pub shape: Shape,
    /// What there is to say.
    pub notes: Vec<Note>,
}

/// A finding about a path.
pub struct Note {
    /// How bad.
    pub severity: Severity,
    /// Which rule.
    pub rule: &'static str,
    /// What.
    pub message: String,
    /// Advice.
    pub help: Option<String>,
}

impl Note {
    /// A finding with advice.
    pub fn new(severity: Severity, rule: &'static str, message: String, help: impl Into<Option<String>>) -> Self {
        Self { severity, rule, message, help: help.into() }
    }
}

impl<'s> Scope<'s> {
    /// A scope without steps.
    pub fn new(inputs: &'s Inputs, input: SlotId, query: Option<SlotId>, outside: Option<&'s Outside<'s>>) -> Self {
        Self {
            inputs,
            input,
            query,
            steps: Vec::new(),
            order: Order::Once,
            outside,
            reads_input: Cell::new(false),
            warned: RefCell::default(),
        }
    }

    /// Every name that a template may begin with, except the namespaces.
    pub fn names(&self, at: At) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = self.inputs.properties.iter().map(|p| p.name.clone()).collect();
        if self.query.is_some() {
            names.push("userQuery".into());
        }
        if let Some(given) = self.outside.and_then(|o| o.given.as_ref()).filter(|_| !self.inputs.declared) {
            names.extend(given.iter().map(|n| Arc::from(*n)));
        }
        let visible = |i: usize| match (self.order, at) {
            (_, At::End) | (Order::Loop, _) => true,
            (Order::Once, At::Step(here)) => i < here,
            (Order::Parallel, At::Step(_)) => false,
        };
        for (_, step) in self.steps.iter().enumerate().filter(|(i, _)| visible(*i)) {
            if !names.contains(&step.key) {
                names.push(step.key.clone());
            }
        }
        names
    }

    /// A resolver that reports.
    pub fn resolver<'r>(
        &'r self,
        reader: &'r Reader<'_>,
        at: At,
        purpose: Purpose,
    ) -> impl FnMut(&Reference, Location) -> (Source, u16) + 'r {
        move |reference, place| {
            let answer = self.look(reference, at, purpose);
            for note in answer.notes {
                self.report(reader, reference, place, note);
            }
            (answer.source, answer.skip)
        }
    }

    fn report(&self, reader: &Reader<'_>, reference: &Reference, place: Location, note: Note) {
        if note.severity == Severity::Warning && note.rule == "unresolved-name" {
            // one warning a name is enough where names are not declared
            if !self.warned.borrow_mut().insert(reference.dotted()) {
                return;
            }
        }
        let mut d = Diagnostic::new(note.rule, note.severity, place, note.message);
        d.help = note.help;
        reader.report(d);
    }

    /// What a path stands for.
    pub fn look(&self, reference: &Reference, at: At, purpose: Purpose) -> Answer {
        let path = &reference.path;
        let Some(root) = path.first() else {
            return self.from_input(path, Shape::Any, Vec::new());
        };
        if let Some(answer) = super::namespace::look(path, purpose) {
            return answer;
        }
        if let Some(answer) = self.look_step(reference, root, at, purpose) {
            return answer;
        }
        if let Some(property) = self.inputs.get(&root.name) {
            self.reads_input.set(true);
            let shape = Shape::Schema(property.json.clone());
            let Walk { shape, note, .. } = walk(path, &shape, None);
            return self.from_input(path, shape, note.into_iter().collect());
        }
        if let Some(query) = self.query.filter(|_| &*root.name == "userQuery") {
            self.reads_input.set(true);
            let notes = self.query_is_null().into_iter().collect();
            return Answer { source: Source::Slot(query), skip: 1, shape: Shape::Any, notes };
        }
        self.unknown(path, root, at)
    }

    fn from_input(&self, _path: &[Segment], shape: Shape, notes: Vec<Note>) -> Answer {
        self.reads_input.set(true);
        Answer { source: Source::Slot(self.input), skip: 0, shape, notes }
    }

    fn look_step(&self, reference: &Reference, root: &Segment, at: At, purpose: Purpose) -> Option<Answer> {
        let named = |s: &StepName| s.key == root.name || s.alias.as_ref().is_some_and(|a| *a == root.name);
        let hits: Vec<usize> = (0..self.steps.len()).filter(|i| self.steps.get(*i).is_some_and(named)).collect();
        let here = match at {
            At::Step(i) => i,
            At::End => self.steps.len(),
        };
        let before = hits.iter().rev().find(|i| **i < here).copied();
        let step = self.steps.get(before.or(hits.first().copied())?)?;
        let mut notes = Vec::new();
        if self.order == Order::Parallel && at != At::End {
            notes.push(sibling(root, self.steps.get(here).is_some_and(named)));
        } else if before.is_none() {
            let note = self.not_yet(reference, root, self.steps.get(here).is_some_and(named));
            notes.extend(note.filter(|n| n.severity == Severity::Error || wants_doubts(reference, purpose)));
        } else if let [only] = hits.as_slice()
            && let Some(when) = self.steps.get(*only).and_then(|s| s.when.as_ref())
            && self.steps.get(here).and_then(|s| s.when.as_ref()) != Some(when)
            && wants_doubts(reference, purpose)
        {
            let message = format!("`{}` is null when its step is skipped", reference.dotted());
            let help = format!("the step runs only when `{when}`; `{{{{#if {}}}}}` tells the cases apart", root.name);
            notes.push(Note::new(Severity::Info, "maybe-undefined", message, help));
        }
        if notes.iter().any(|n| n.severity == Severity::Error) {
            return Some(Answer { source: Source::Missing(Missing::Key(0)), skip: 0, shape: Shape::Any, notes });
        }
        let known = step.callee.as_deref().filter(|_| hits.len() == 1);
        let shape = known.map_or(Shape::Any, |s| s.output.clone());
        let walked = walk(&reference.path, &shape, known.map(|s| s.exports.as_slice()));
        notes.extend(walked.note);
        let source = match step.exports.filter(|_| walked.layered) {
            Some(under) => Source::Layered { top: step.slot, path: Vec::new(), under },
            None => Source::Slot(step.slot),
        };
        Some(Answer { source, skip: 1, shape: walked.shape, notes })
    }

    fn not_yet(&self, reference: &Reference, root: &Segment, own: bool) -> Option<Note> {
        let name = &root.name;
        if self.order == Order::Loop {
            let message = format!("`{}` is null on the first pass: its step has not run yet", reference.dotted());
            return Some(Note::new(Severity::Info, "maybe-undefined", message, None));
        }
        let message = if own {
            format!("`{name}` is the output of this very step")
        } else {
            format!("`{name}` has not run yet here, so this is always null")
        };
        let help = "a step sees only the steps before it; with `until` it sees the others from the second pass on";
        Some(Note::new(Severity::Error, "unresolved-name", message, help.to_owned()))
    }

    /// In an agent inside a step that gives no input, `userQuery` is known to be null.
    fn query_is_null(&self) -> Option<Note> {
        self.outside.filter(|o| o.given.is_none())?;
        let message = "`userQuery` is always null: the step gives no `input`".to_owned();
        let help = "a step does not pass on what came before it: write `input: { ... }`".to_owned();
        Some(Note::new(Severity::Warning, "unresolved-name", message, help))
    }

    fn unknown(&self, path: &[Segment], root: &Segment, at: At) -> Answer {
        let name = &*root.name;
        let open = !self.inputs.closed;
        let given = self.outside.filter(|_| !self.inputs.declared);
        if let Some(Outside { given: Some(given), .. }) = given
            && given.contains(&name)
        {
            return self.from_input(path, Shape::Any, Vec::new());
        }
        let help = self.advice(name, at);
        if !open {
            let note = Note::new(Severity::Error, "unresolved-name", format!("`{name}` is not defined here"), help);
            return Answer { source: Source::Missing(Missing::Key(0)), skip: 0, shape: Shape::Any, notes: vec![note] };
        }
        let message = match given.map(|o| &o.given) {
            Some(None) => format!("`{name}` is always null: the step gives no `input`"),
            Some(Some(_)) => format!("`{name}` is always null: the step's `input` does not have it"),
            None => format!("`{name}` is not declared: it is null unless the input has it"),
        };
        self.from_input(path, Shape::Any, vec![Note::new(Severity::Warning, "unresolved-name", message, help)])
    }

    fn advice(&self, name: &str, at: At) -> String {
        let names = self.names(at);
        if let Some(step) = self.steps.iter().find(|s| &*s.id == name) {
            return format!("the output of `{name}` lands at `{}`", step.key);
        }
        if self.outside.is_some_and(|o| o.names.iter().any(|n| &**n == name)) {
            return format!(
                "an agent does not see the state of its pipeline: pass it with `input: {{ {name}: \"{{{{{name}}}}}\" }}`"
            );
        }
        let list = if names.is_empty() {
            "there are no names here".to_owned()
        } else {
            format!("there is {}", names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", "))
        };
        match suggest::nearest(name, names.iter().map(|n| &**n)) {
            Some(near) => format!("did you mean `{near}`? {list}"),
            None if !self.inputs.declared => format!("declare it under `inputSchema`; {list}"),
            None => list,
        }
    }
}

/// Whether it is worth saying that a path may be undefined: not in conditions, which are there to ask, and not inside
/// an `{{#if}}`.
fn wants_doubts(reference: &Reference, purpose: Purpose) -> bool {
    !reference.guarded && purpose != Purpose::Condition
}

fn sibling(root: &Segment, own: bool) -> Note {
    let name = &root.name;
    let message = if own {
        format!("`{name}` is the output of this very branch")
    } else {
        format!("`{name}` is a branch beside this one, so this is always null")
    };
    let help = "branches run at the same time and see the state as it was before; use a sequential pipeline";
    Note::new(Severity::Error, "unresolved-name", message, help.to_owned())
}
