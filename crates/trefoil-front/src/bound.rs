//! A text of a manifest where it stands: parsed once, its names bound once. Lowering takes its expression from it, editors
//! their facts, finders of mistakes what they look for. Nothing here reports.

use std::sync::Arc;

use trefoil_ir::{Cond, Expr, Position, Source, Text, Visible, types};
use trefoil_syntax::{FileId, Location, Span, yaml};
use trefoil_template::{Broken, Condition, Policy, Reference, Segment, Template, Value};

use crate::build::{self, Sources};
use crate::learn::{self, Meaning, Resolve};
use crate::lookalike::Tags;
use crate::names::{End, Entry, Place, Use, bind};
use crate::read::Reader;

/// A text with the names of its place.
pub struct BoundText {
    /// As written.
    pub source: yaml::Text,
    /// The place of the scalar.
    pub at: Location,
    /// Its language.
    pub policy: &'static Policy,
    /// Where it stands.
    pub place: Arc<dyn Place>,
    /// What it says.
    pub content: Content,
    /// Its references, in the order of the text, with what they name.
    pub uses: Vec<Use>,
    root: Entry,
    sources: Vec<Source>,
}

/// What a text says.
pub enum Content {
    /// A template.
    Template(Template),
    /// A condition.
    Condition(Condition),
    /// A template, or a condition, with mistakes.
    Broken {
        /// The mistakes, and the references that could be read.
        broken: Broken,
        /// It should be a condition.
        condition: bool,
    },
}

impl BoundText {
    /// A template.
    pub fn template(file: FileId, source: &yaml::Text, policy: &'static Policy, place: Arc<dyn Place>) -> Self {
        let mut bound = Self::of(file, source, policy, place);
        bound.content = match Template::examine(&source.value, policy) {
            Ok(mut template) => {
                let mut sources = Sources::default();
                template.bind(|reference| sources.bind(bound.bind(reference)));
                bound.sources = sources.0;
                Content::Template(template)
            }
            Err(broken) => bound.broken(broken, false),
        };
        bound
    }

    /// A condition.
    pub fn condition(file: FileId, source: &yaml::Text, policy: &'static Policy, place: Arc<dyn Place>) -> Self {
        let mut bound = Self::of(file, source, policy, place);
        bound.content = match Condition::examine(&source.value, policy) {
            Ok(mut condition) => {
                let mut sources = Sources::default();
                condition.bind(|reference| sources.bind(bound.bind(reference)));
                bound.sources = sources.0;
                Content::Condition(condition)
            }
            Err(broken) => bound.broken(broken, true),
        };
        bound
    }

    fn of(file: FileId, source: &yaml::Text, policy: &'static Policy, place: Arc<dyn Place>) -> Self {
        let broken = Broken { errors: Vec::new(), references: Vec::new() };
        Self {
            source: source.clone(),
            at: Location::new(file, source.span),
            policy,
            root: place.root(),
            place,
            content: Content::Broken { broken, condition: false },
            uses: Vec::new(),
            sources: Vec::new(),
        }
    }

    fn bind(&mut self, reference: &Reference) -> (Source, u16) {
        let bound = bind(&self.root, &reference.path);
        let found = (bound.source.clone(), bound.skip);
        let at = self.place_of(reference.span.clone());
        self.uses.push(Use { reference: reference.clone(), at, bound });
        found
    }

    fn broken(&mut self, broken: Broken, condition: bool) -> Content {
        for reference in &broken.references {
            self.bind(reference);
        }
        Content::Broken { broken, condition }
    }

    /// Where a range of the decoded text stands in the file.
    pub fn place_of(&self, range: std::ops::Range<u32>) -> Location {
        Location::new(self.at.file, self.source.source(range))
    }

    /// The template, where it is one without mistakes.
    pub fn as_template(&self) -> Option<&Template> {
        match &self.content {
            Content::Template(template) => Some(template),
            _ => None,
        }
    }

    /// The condition, where it is one without mistakes.
    pub fn as_condition(&self) -> Option<&Condition> {
        match &self.content {
            Content::Condition(condition) => Some(condition),
            _ => None,
        }
    }

    /// Whether it is a condition, with mistakes or without.
    pub fn is_condition(&self) -> bool {
        matches!(self.content, Content::Condition(_) | Content::Broken { condition: true, .. })
    }

    fn spans(&self) -> Vec<Span> {
        self.uses.iter().map(|u| u.at.span).collect()
    }

    /// As a program holds it. None: it has mistakes.
    pub fn text(&self) -> Option<Text> {
        let template = self.as_template()?;
        Some(Text {
            template: template.clone(),
            sources: self.sources.clone(),
            origin: self.at,
            spans: self.spans(),
            locals: template.locals().iter().map(|l| self.source.source(l.span.clone())).collect(),
            literals: template.literals().map(|l| self.source.source(l)).collect(),
        })
    }

    /// As a condition of a program. None: it has mistakes.
    pub fn cond(&self) -> Option<Cond> {
        Some(Cond {
            condition: self.as_condition()?.clone(),
            sources: self.sources.clone(),
            origin: self.at,
            text: self.source.value.clone(),
            spans: self.spans(),
        })
    }

    /// What a model is sent. Plain text, too, keeps its place: a trace shows where each part of a prompt is written.
    pub fn prompt_expr(&self) -> Option<Expr> {
        self.text().map(Expr::Template)
    }

    /// Typed position (decision A1); plain text becomes a constant.
    pub fn typed_expr(&self) -> Option<Expr> {
        self.text().map(build::as_typed)
    }

    /// The type of its value where it is handed on with it (decision A1); anything, where it has mistakes.
    pub fn value_type(&self) -> Value {
        match (self.as_template(), self.uses.first()) {
            (None, _) => types::any(),
            (Some(template), Some(one)) if template.is_single() => one.bound.schema(),
            (Some(_), _) => learn::text_type(),
        }
    }

    /// Notes what its names mean, for editors and the checker.
    pub fn note(&self, reader: &Reader<'_>) {
        if !reader.wants_facts() {
            return;
        }
        let look = Look(self);
        let meant = self.uses.iter().map(|one| (&one.reference, Meaning::all(one.bound.clone())));
        learn::noted(reader, &self.source, self.policy, self.is_condition(), meant, &look);
        if let Some(template) = self.as_template() {
            learn::locals(reader, &self.source, template, &look);
        }
    }
}

/// A bound text, asked for the names of its place.
pub struct Look<'b>(pub &'b BoundText);

impl Resolve for Look<'_> {
    fn bind(&mut self, reference: &Reference, _: Location) -> (Source, u16) {
        let bound = bind(&self.0.root, &reference.path);
        (bound.source, bound.skip)
    }

    fn position(&self) -> Position {
        self.0.place.position()
    }

    fn visible(&self) -> Visible {
        let root = self.0.root.clone();
        Visible::lazily(move || root.offer())
    }

    fn meanings(&self, reference: &Reference) -> Vec<Meaning> {
        Meaning::all(bind(&self.0.root, &reference.path))
    }

    fn is_there(&self, path: &str, alone: bool) -> bool {
        let path: Vec<Segment> = path.split('.').map(|name| Segment { name: name.into(), span: 0..0 }).collect();
        let bound = bind(&self.0.root, &path);
        !matches!(bound.end, End::Nothing(_)) && self.0.place.is_meant(&path, &bound, alone)
    }

    fn whole_path(&self, path: &str) -> Option<String> {
        self.0.place.whole_path(path)
    }

    fn tags(&self) -> Option<&'static Tags> {
        self.0.place.tags()
    }
}
