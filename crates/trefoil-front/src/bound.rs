//! A text of a manifest in its place: parsed once, its names bound once. Lowering takes its expression from it, editors
//! use its facts, and finders check it. Nothing is reported here.

use std::ops::Range;
use std::sync::Arc;

use trefoil_ir::types::Type;
use trefoil_ir::{Cond, Expr, Source, Spelling, Text};
use trefoil_syntax::{FileId, Location, Span, yaml};
use trefoil_template::{Binding, Broken, Condition, Origin, Policy, Reference, Segment, Start, Template, Written};

use crate::build::{self, Sources};
use crate::mend;
use crate::names::{Bound, Entry, Found, Place, Use, bind, is_there};

/// A parsed text whose names are not bound yet.
pub struct Parsed {
    /// The text as written.
    pub source: yaml::Text,
    /// The place of the scalar.
    pub at: Location,
    /// Its template language.
    pub policy: &'static Policy,
    content: Content,
}

/// A text with the names of its place.
pub struct BoundText {
    /// The text as written.
    pub source: yaml::Text,
    /// The place of the scalar.
    pub at: Location,
    /// Its template language.
    pub policy: &'static Policy,
    /// Its place, which provides the names.
    pub place: Arc<dyn Place>,
    /// The parsed text.
    pub content: Content,
    /// Its references, in the order of the text, with their bindings.
    pub uses: Vec<Use>,
    root: Entry,
    sources: Sources,
}

/// The parsed form of a text.
pub enum Content {
    /// A template.
    Template(Template),
    /// A condition.
    Condition(Condition),
    /// A template, or a condition, with mistakes.
    Broken {
        /// The mistakes, and the references that could be read.
        broken: Broken,
        /// Whether it should be a condition.
        condition: bool,
    },
}

/// A path of a template that starts at the item of a loop, or at the value of another block.
pub struct Local<'b> {
    /// The path in the template.
    pub local: &'b trefoil_template::Local,
    /// The equivalent path from the root, where an item is the first element of its list. `None`: what the block
    /// iterates over is unknown.
    pub bound: Option<Bound>,
    /// The number of segments of that path that belong to the block.
    pub begin: usize,
}

impl Parsed {
    /// A template.
    pub fn template(file: FileId, source: &yaml::Text, policy: &'static Policy) -> Self {
        let content = match Template::examine(&source.value, policy) {
            Ok(template) => Content::Template(template),
            Err(broken) => Content::Broken { broken, condition: false },
        };
        Self { source: source.clone(), at: Location::new(file, source.span), policy, content }
    }

    /// A condition.
    pub fn condition(file: FileId, source: &yaml::Text, policy: &'static Policy) -> Self {
        let content = match Condition::examine(&source.value, policy) {
            Ok(condition) => Content::Condition(condition),
            Err(broken) => Content::Broken { broken, condition: true },
        };
        Self { source: source.clone(), at: Location::new(file, source.span), policy, content }
    }

    /// Its references, in the order of the text. If it has mistakes, only the readable ones.
    pub fn references(&self) -> &[Reference] {
        match &self.content {
            Content::Template(template) => template.references(),
            Content::Condition(condition) => condition.references(),
            Content::Broken { broken, .. } => &broken.references,
        }
    }

    /// The place in the file of a range of the decoded text.
    pub fn place_of(&self, range: Range<u32>) -> Location {
        Location::new(self.at.file, self.source.source(range))
    }

    /// Binds it to the names of a place.
    pub fn bind(self, place: Arc<dyn Place>) -> BoundText {
        // Most texts have one or two references, but a growing vector would initially allocate room for four.
        let mut uses = Vec::with_capacity(self.references().len());
        let (root, mut sources) = (place.root(), Sources::default());
        let mut one = |reference: &Reference| {
            let bound = bind(&root, &reference.path);
            let binding = sources.bind((bound.source.clone(), bound.skip));
            let at = Location::new(self.at.file, self.source.source(reference.span.clone()));
            uses.push(Use { reference: reference.clone(), at, bound });
            binding
        };
        let mut content = self.content;
        match &mut content {
            Content::Template(template) => template.bind(one),
            Content::Condition(condition) => condition.bind(one),
            Content::Broken { broken, .. } => broken.references.iter().for_each(|reference| {
                one(reference);
            }),
        }
        BoundText { source: self.source, at: self.at, policy: self.policy, place, content, uses, root, sources }
    }
}

impl BoundText {
    /// A template.
    pub fn template(file: FileId, source: &yaml::Text, policy: &'static Policy, place: Arc<dyn Place>) -> Self {
        Parsed::template(file, source, policy).bind(place)
    }

    /// A condition.
    pub fn condition(file: FileId, source: &yaml::Text, policy: &'static Policy, place: Arc<dyn Place>) -> Self {
        Parsed::condition(file, source, policy).bind(place)
    }

    /// The place in the file of a range of the decoded text.
    pub fn place_of(&self, range: Range<u32>) -> Location {
        Location::new(self.at.file, self.source.source(range))
    }

    /// The names of its place.
    pub fn root(&self) -> &Entry {
        &self.root
    }

    /// Whether a path certainly names a value here, so it was meant as a placeholder whatever brackets it is in.
    /// `alone`: only the brackets indicate a placeholder.
    pub fn is_there(&self, path: &str, alone: bool) -> bool {
        is_there(&*self.place, &self.root, path, alone)
    }

    /// The place in the file of a literal, including quotes, and whether the file spells it as decoded.
    pub fn written(&self, literal: Written) -> Option<(Location, bool)> {
        let all = match &self.content {
            Content::Template(template) => template.written(),
            Content::Condition(condition) => condition.written(),
            Content::Broken { .. } => &[],
        };
        let range = all.get(literal.0? as usize)?;
        let at = self.place_of(range.clone());
        Some((at, at.span.end - at.span.start == range.end - range.start))
    }

    /// The binding that a path would have here.
    pub fn look_up(&self, path: &[Segment]) -> Bound {
        bind(&self.root, path)
    }

    /// The template, if it is a valid one.
    pub fn as_template(&self) -> Option<&Template> {
        match &self.content {
            Content::Template(template) => Some(template),
            _ => None,
        }
    }

    /// The condition, if it is a valid one.
    pub fn as_condition(&self) -> Option<&Condition> {
        match &self.content {
            Content::Condition(condition) => Some(condition),
            _ => None,
        }
    }

    /// Whether it is a condition, valid or not.
    pub fn is_condition(&self) -> bool {
        matches!(self.content, Content::Condition(_) | Content::Broken { condition: true, .. })
    }

    fn spans(&self) -> Vec<Span> {
        let unknown = matches!(self.content, Content::Broken { .. }).then_some(self.at.span);
        self.uses.iter().map(|u| u.at.span).chain(unknown).collect()
    }

    /// The spelling of the literals with these spans.
    fn spellings(&self, literals: &[Range<u32>]) -> Vec<Spelling> {
        let one = |range: &Range<u32>| {
            let at = self.source.source(range.clone());
            let text = self.source.value.get(range.start as usize..range.end as usize).unwrap_or_default();
            let quoted = text.starts_with(['"', '\'']);
            let first = text.split('.').next().unwrap_or_default();
            Spelling {
                at,
                quoted,
                quote: (at.end - at.start == range.end - range.start).then(|| mend::quote(self.source.style)),
                is_name: !quoted && matches!(self.root.get(first), Found::Is(_)),
            }
        };
        literals.iter().map(one).collect()
    }

    /// The bindings of a text with mistakes, in the order of its references. The last one is the unreadable part.
    fn bindings(&self) -> (Vec<Source>, impl FnMut(&Reference) -> Binding) {
        let mut sources = self.sources.clone();
        let unknown = (Source::missing(0), 0);
        let found = self.uses.iter().map(|used| (used.bound.source.clone(), used.bound.skip));
        let all: Vec<Binding> = found.chain([unknown]).map(|found| sources.bind(found)).collect();
        let mut all = all.into_iter();
        (sources.0, move |_: &Reference| all.next().unwrap_or_default())
    }

    /// The template for a program. For a text with mistakes, a placeholder for programs that are only checked. `None`:
    /// it is a condition.
    pub fn text(&self) -> Option<Text> {
        let (template, sources) = match &self.content {
            Content::Template(template) => (template.clone(), self.sources.0.clone()),
            Content::Broken { broken, condition: false } => {
                let mut template = Template::unknown(broken, self.policy);
                let (sources, next) = self.bindings();
                template.bind(next);
                (template, sources)
            }
            Content::Condition(_) | Content::Broken { .. } => return None,
        };
        Some(Text {
            sources,
            origin: self.at,
            spans: self.spans(),
            locals: template.locals().iter().map(|l| self.source.source(l.span.clone())).collect(),
            literals: template.literals().map(|l| self.source.source(l)).collect(),
            written: self.spellings(template.written()),
            template,
        })
    }

    /// A placeholder or block at these bytes as a separate text. `None`: the text has mistakes, or there is no such
    /// part.
    pub fn part(&self, range: Range<usize>) -> Option<Text> {
        let range = range.start as u32..range.end as u32;
        let mut template = self.as_template()?.part(range.clone())?;
        let mut sources = Sources::default();
        template.bind(|reference| {
            let source = self.sources.0.get(reference.binding.source as usize).cloned();
            sources.bind((source.unwrap_or(Source::missing(0)), reference.binding.skip))
        });
        let place = |range: Range<u32>| self.source.source(range);
        let spans = template.references().iter().map(|r| place(r.span.clone())).collect();
        let locals = template.locals().iter().map(|l| place(l.span.clone())).collect();
        let literals = template.literals().map(place).collect();
        let (origin, written) = (self.place_of(range), self.spellings(template.written()));
        Some(Text { template, sources: sources.0, origin, spans, locals, literals, written })
    }

    /// Its paths that start in a block.
    pub fn locals(&self) -> Vec<Local<'_>> {
        let Some(template) = self.as_template() else { return Vec::new() };
        let mut whole: Vec<Option<Vec<Segment>>> = Vec::with_capacity(template.locals().len());
        let mut found = Vec::with_capacity(template.locals().len());
        for local in template.locals() {
            let over = match local.origin {
                Origin::Reference(i) => template.references().get(i as usize).map(|r| r.path.clone()),
                Origin::Local(i) => whole.get(i as usize).cloned().flatten(),
                Origin::Computed => None,
            };
            let way = over.filter(|_| local.start == Start::This).map(|mut way| {
                way.extend(local.each.then(|| Segment { name: "0".into(), span: 0..0 }));
                let begin = way.len();
                way.extend(local.path.iter().cloned());
                (way, begin)
            });
            let (bound, begin) = way.as_ref().map_or((None, 0), |(way, begin)| (Some(self.look_up(way)), *begin));
            found.push(Local { local, bound, begin });
            whole.push(way.map(|(way, _)| way));
        }
        found
    }

    /// The condition for a program, like [`BoundText::text`]. `None`: it is a template.
    pub fn cond(&self) -> Option<Cond> {
        let (condition, sources) = match &self.content {
            Content::Condition(condition) => (condition.clone(), self.sources.0.clone()),
            Content::Broken { broken, condition: true } => {
                let mut condition = Condition::unknown(broken, self.policy);
                let (sources, next) = self.bindings();
                condition.bind(next);
                (condition, sources)
            }
            Content::Template(_) | Content::Broken { .. } => return None,
        };
        let (text, written) = (self.source.value.clone(), self.spellings(condition.written()));
        Some(Cond { condition, sources, origin: self.at, text, spans: self.spans(), written })
    }

    /// A text sent to a model. Literal text also keeps its place, because a trace shows where each part of a prompt is
    /// written.
    pub fn prompt_expr(&self) -> Option<Expr> {
        self.text().map(Expr::Template)
    }

    /// In a typed position, where a lone placeholder keeps its type; literal text becomes a constant.
    pub fn typed_expr(&self) -> Option<Expr> {
        self.text().map(build::as_typed)
    }

    /// The type of its value in a typed position; any type if it has mistakes.
    pub fn value_type(&self) -> Type {
        match (self.as_template(), self.uses.first()) {
            (None, _) => Type::Any,
            (Some(template), Some(one)) if template.is_single() => one.bound.schema(),
            (Some(_), _) => Type::TEXT,
        }
    }
}
