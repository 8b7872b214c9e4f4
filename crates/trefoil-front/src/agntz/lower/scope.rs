//! Names in one agent's templates: what they stand for, and what is wrong with them.
//!
//! Looking a name up is pure; [`Scope::resolver`] reports what came of it.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use trefoil_syntax::hash::{HashMap, HashSet};

use trefoil_ir::{Position, SlotId, Source};
use trefoil_syntax::suggest::Near;
use trefoil_syntax::{Diagnostic, FileId, Location, Severity};
use trefoil_template::{Missing, Reference, Segment};

use super::meaning::Offer;
use super::path::{Walk, walk};
use super::shape::Shape;
use super::signature::{Inputs, Outside, Prompted, Signature};
use super::{advice, namespace, order};
use crate::mend;
use crate::read::Reader;

/// The names of one agent.
pub struct Scope<'s> {
    /// Its declared input.
    pub inputs: &'s Inputs,
    /// The slot of its input.
    pub input: SlotId,
    /// The slot of `userQuery`, where there is one.
    pub query: Option<SlotId>,
    /// The slot of its input as it came, where that is what it sends.
    pub raw: Option<SlotId>,
    /// Its steps, in order; added by [`Scope::add`].
    pub steps: Vec<StepName>,
    /// Steps by key and by alias.
    by_name: HashMap<Arc<str>, Vec<usize>>,
    /// How its steps are ordered.
    pub order: Order,
    /// What is around it, if it is written inside a step.
    pub outside: Option<&'s Outside<'s>>,
    /// Set once a template reads the input.
    pub reads_input: Cell<bool>,
    /// What of the input reaches a model.
    pub prompted: RefCell<Prompted>,
    /// Where a template first reads the secret store, which this version does not have.
    pub secret: Cell<Option<Location>>,
    warned: RefCell<BTreeSet<String>>,
    /// The file it stands in.
    pub file: FileId,
    /// Its names, for editors.
    pub offer: OnceCell<Arc<Offer>>,
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
    /// What of the step names it: its `stateKey`, else the id of the agent inside, else the `ref`.
    pub at: Location,
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
    /// It goes by the id of another manifest, which is declared there.
    pub by_ref: bool,
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
    /// A part of an http request, in which single braces are placeholders of its own.
    Request,
    /// `when`, `until`.
    Condition,
    /// Part of something that is not run.
    Unused,
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
    /// The first and the last segment that are wrong; none: the path as a whole.
    pub segments: Option<(usize, usize)>,
    /// What was meant by them, and whether it is sure.
    pub meant: Option<(Arc<str>, bool)>,
    /// Another place, which may be the wrong one, and what is there.
    pub label: Option<(Location, String)>,
    /// Where what there is instead is declared.
    pub declared: Option<Location>,
}

impl Note {
    /// A finding with advice.
    pub fn new(severity: Severity, rule: &'static str, message: String, help: impl Into<Option<String>>) -> Self {
        Self { severity, rule, message, help: help.into(), segments: None, meant: None, label: None, declared: None }
    }
    /// The same about the segment of this index, with what was meant by it.
    pub fn meant(self, index: usize, near: Option<Near<'_>>) -> Self {
        // where names are not declared, what looks like a slip may be a name all the same
        let declared = self.severity == Severity::Error;
        Self { segments: Some((index, index)), meant: near.map(|n| (n.name.into(), n.sure && declared)), ..self }
    }
}

impl<'s> Scope<'s> {
    /// A scope without steps.
    pub fn new(
        inputs: &'s Inputs,
        input: SlotId,
        query: Option<SlotId>,
        outside: Option<&'s Outside<'s>>,
        file: FileId,
    ) -> Self {
        Self {
            inputs,
            input,
            query,
            raw: None,
            steps: Vec::new(),
            by_name: HashMap::default(),
            order: Order::Once,
            outside,
            reads_input: Cell::new(false),
            prompted: RefCell::default(),
            secret: Cell::default(),
            warned: RefCell::default(),
            file,
            offer: OnceCell::new(),
        }
    }

    /// Adds the next step.
    pub fn add(&mut self, step: StepName) {
        for name in std::iter::once(&step.key).chain(&step.alias) {
            self.by_name.entry(name.clone()).or_default().push(self.steps.len());
        }
        self.steps.push(step);
    }

    /// The steps that a name means, in order.
    pub fn named(&self, name: &str) -> &[usize] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// Every name that a template may begin with, except the namespaces.
    pub fn names(&self, at: At) -> Vec<Arc<str>> {
        let given = self.outside.and_then(|o| o.given.as_ref()).filter(|_| !self.inputs.declared);
        let visible = |i: usize| match (self.order, at) {
            (_, At::End) | (Order::Loop, _) => true,
            (Order::Once, At::Step(here)) => i < here,
            (Order::Parallel, At::Step(_)) => false,
        };
        let steps = self
            .steps
            .iter()
            .enumerate()
            // Of a step that calls nobody (reported) there is no name to write.
            .filter(|(i, s)| visible(*i) && !s.id.is_empty())
            .map(|(_, s)| s.key.clone());
        let mut seen = HashSet::default();
        self.inputs
            .properties
            .iter()
            .map(|p| p.name.clone())
            .chain(self.query.map(|_| Arc::from("userQuery")))
            .chain(given.into_iter().flatten().map(|n| n.value.clone()))
            .chain(steps)
            .filter(|n| seen.insert(n.clone()))
            .collect()
    }

    /// A resolver that reports.
    pub fn resolver<'r, 'd>(
        &'r self,
        reader: &'r Reader<'d>,
        at: At,
        purpose: Purpose,
        position: Position,
    ) -> Resolver<'r, 'd> {
        Resolver { scope: self, reader, at, purpose, position }
    }

    fn report(&self, reader: &Reader<'_>, place: Location, reference: &Reference, note: Note) {
        // where names are not declared, one warning a name is enough
        let repeats = note.severity == Severity::Warning && !self.warned.borrow_mut().insert(note.message.clone());
        if !repeats {
            let segment = note.segments.and_then(|(from, to)| mend::segments(reference, place, from, to));
            let mut d = Diagnostic::new(note.rule, note.severity, segment.unwrap_or(place), note.message);
            d.help = note.help;
            if let Some((at, message)) = note.label {
                d = d.label(at, message);
            }
            d = note.declared.into_iter().fold(d, |d, at| d.label(at, "what it has is declared here"));
            let elsewhere = note.declared.is_some_and(|at| at.file != self.file);
            let slip = note.segments.and_then(|(from, _)| reference.path.get(from)).map_or("", |s| &s.name);
            let confirmed = |name: &str| elsewhere || self.is_of_ref(name) || reader.confirms(name, slip);
            reader.report(match note.meant {
                Some((name, sure)) => mend::rewritten(d, segment, &name, sure && confirmed(&name)),
                None => d,
            });
        }
    }

    /// Whether a name is that of a step because another manifest has that id.
    fn is_of_ref(&self, name: &str) -> bool {
        self.named(name).iter().any(|i| self.steps.get(*i).is_some_and(|s| s.by_ref && s.callee.is_some()))
    }

    fn refuse_secret(&self, reader: &Reader<'_>, place: Location, reference: &Reference) {
        self.secret.set(self.secret.get().or(Some(place)));
        let message =
            format!("`{}` is not read by this version: a run that reaches it does not start", reference.dotted());
        let note = Note::new(Severity::Warning, "refused", message, namespace::NO_SECRETS.to_owned());
        self.report(reader, place, reference, note);
    }

    fn note_prompted(&self, source: &Source, reference: &Reference) {
        let Source::Slot(slot) = source else { return };
        if *slot == self.input || Some(*slot) == self.query {
            self.prompted.borrow_mut().add(reference.path.first().map_or("userQuery", |s| &s.name));
        }
    }

    /// What a path stands for.
    pub fn look(&self, reference: &Reference, at: At, purpose: Purpose) -> Answer {
        let path = &reference.path;
        let Some(root) = path.first() else { return self.input_answer(Shape::Any, None) };
        if let Some(answer) = namespace::look(path, purpose) {
            return answer;
        }
        let property = self.inputs.get(&root.name);
        if let Some(answer) = order::look(self, reference, at, purpose) {
            // an output that hides an input is reported where it does so; do not report its readers too
            if property.is_none() || answer.notes.iter().all(|n| n.severity != Severity::Error) {
                return answer;
            }
        }
        if let Some(property) = property {
            let Walk { shape, note, .. } = walk(path, &Shape::Schema(property.json.clone()), None);
            return self.input_answer(shape, note);
        }
        if let Some(query) = self.query.filter(|_| &*root.name == "userQuery") {
            self.reads_input.set(true);
            let notes = advice::query_is_null(self.outside).into_iter().collect();
            return Answer { source: Source::Slot(query), skip: 1, shape: Shape::Any, notes };
        }
        self.unknown(path, root, at)
    }

    fn input_answer(&self, shape: Shape, note: Option<Note>) -> Answer {
        self.reads_input.set(true);
        Answer { source: Source::Slot(self.input), skip: 0, shape, notes: note.into_iter().collect() }
    }

    fn unknown(&self, path: &[Segment], root: &Segment, at: At) -> Answer {
        let given = self.outside.filter(|_| !self.inputs.declared).and_then(|o| o.given.as_ref());
        let unclear = self.outside.is_some_and(|o| o.unclear && !self.inputs.declared);
        if unclear || given.is_some_and(|names| names.iter().any(|n| n.value == root.name)) {
            return self.input_answer(Shape::Any, None);
        }
        let note = advice::unknown(self, path, &root.name, at);
        if note.severity == Severity::Error { Answer::nothing(note) } else { self.input_answer(Shape::Any, Some(note)) }
    }
}

/// The names of a scope as the texts of one place see them.
pub struct Resolver<'r, 'd> {
    /// The scope.
    pub scope: &'r Scope<'r>,
    /// Where findings go.
    pub reader: &'r Reader<'d>,
    /// The place.
    pub at: At,
    /// What the text is for.
    pub purpose: Purpose,
    /// The same in the words of facts.
    pub position: Position,
}

impl Resolver<'_, '_> {
    /// The source of a reference; what is wrong with it is reported.
    pub fn resolve(&self, reference: &Reference, place: Location) -> (Source, u16) {
        let scope = self.scope;
        let answer = scope.look(reference, self.at, self.purpose);
        for note in answer.notes {
            scope.report(self.reader, place, reference, note);
        }
        if answer.source == Source::Secrets && self.purpose != Purpose::Unused {
            scope.refuse_secret(self.reader, place, reference);
        }
        if self.purpose == Purpose::Prompt {
            scope.note_prompted(&answer.source, reference);
        }
        (answer.source, answer.skip)
    }
}

impl Answer {
    /// The answer to a path that leads nowhere.
    pub fn nothing(note: Note) -> Self {
        Self { source: Source::Missing(Missing::Key(0)), skip: 0, shape: Shape::Any, notes: vec![note] }
    }
}
