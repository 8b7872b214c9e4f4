//! A text of a manifest in its place: parsed once, its names bound once. Lowering takes its expression from it, editors
//! use its facts, and finders check it. Nothing is reported here.

use std::ops::Range;
use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{BoundCondition, BoundTemplate, LiteralSpelling, Source, ValueExpression};
use trefoil_syntax::{FileId, Location, Span, yaml};
use trefoil_template::{
    BlockSubject, BrokenText, Condition, LiteralIndex, LocalStart, PathSegment, Policy, Reference, ReferenceBinding,
    Template,
};

use crate::names::{BoundPath, BoundReference, NameEntry, NameMatch, NameScope, bind_path, is_there};
use crate::program_builder::{self, TemplateSources};
use crate::spelling_fixes;

/// A parsed text whose names are not bound yet.
pub struct ParsedText {
    /// The text as written.
    pub source: yaml::YamlText,
    /// The place of the scalar.
    pub at: Location,
    /// Its template language.
    pub policy: &'static Policy,
    content: ParsedContent,
}

/// A text with the names of its place.
pub struct BoundText {
    /// The text as written.
    pub source: yaml::YamlText,
    /// The place of the scalar.
    pub at: Location,
    /// Its template language.
    pub policy: &'static Policy,
    /// Its place, which provides the names.
    pub place: Arc<dyn NameScope>,
    /// The parsed text.
    pub content: ParsedContent,
    /// Its references, in the order of the text, with their bindings.
    pub uses: Vec<BoundReference>,
    root: NameEntry,
    sources: TemplateSources,
}

/// The parsed form of a text.
pub enum ParsedContent {
    /// A template.
    Template(Template),
    /// A condition.
    Condition(Condition),
    /// A template, or a condition, with mistakes.
    Broken {
        /// The mistakes, and the references that could be read.
        broken: BrokenText,
        /// Whether it should be a condition.
        condition: bool,
    },
}

/// A path of a template that starts at the item of a loop, or at the value of another block.
pub struct BoundLocal<'b> {
    /// The path in the template.
    pub local: &'b trefoil_template::LocalPath,
    /// The equivalent path from the root, where an item is the first element of its list. `None`: what the block
    /// iterates over is unknown.
    pub bound: Option<BoundPath>,
    /// The number of segments of that path that belong to the block.
    pub begin: usize,
}

impl ParsedText {
    /// A template.
    pub fn from_template(file: FileId, source: &yaml::YamlText, policy: &'static Policy) -> Self {
        let content = match Template::parse_or_broken(&source.value, policy) {
            Ok(template) => ParsedContent::Template(template),
            Err(broken) => ParsedContent::Broken { broken, condition: false },
        };
        Self { source: source.clone(), at: Location::new(file, source.span), policy, content }
    }

    /// A condition.
    pub fn from_condition(file: FileId, source: &yaml::YamlText, policy: &'static Policy) -> Self {
        let content = match Condition::parse_or_broken(&source.value, policy) {
            Ok(condition) => ParsedContent::Condition(condition),
            Err(broken) => ParsedContent::Broken { broken, condition: true },
        };
        Self { source: source.clone(), at: Location::new(file, source.span), policy, content }
    }

    /// Its references, in the order of the text. If it has mistakes, only the readable ones.
    pub fn readable_references(&self) -> &[Reference] {
        match &self.content {
            ParsedContent::Template(template) => template.references(),
            ParsedContent::Condition(condition) => condition.references(),
            ParsedContent::Broken { broken, .. } => &broken.references,
        }
    }

    /// The place in the file of a range of the decoded text.
    pub fn place_of(&self, range: Range<u32>) -> Location {
        Location::new(self.at.file, self.source.source_span(range))
    }

    /// Binds it to the names of a place.
    pub fn bind_in_scope(self, place: Arc<dyn NameScope>) -> BoundText {
        // Most texts have one or two references, but a growing vector would initially allocate room for four.
        let mut uses = Vec::with_capacity(self.readable_references().len());
        let (root, mut sources) = (place.root_entry(), TemplateSources::default());
        let mut bind = |reference: &Reference| {
            let bound = bind_path(&root, &reference.path);
            let binding = sources.bind_source((bound.source.clone(), bound.skip));
            let at = Location::new(self.at.file, self.source.source_span(reference.span.clone()));
            uses.push(BoundReference { reference: reference.clone(), at, bound });
            binding
        };
        let mut content = self.content;
        match &mut content {
            ParsedContent::Template(template) => template.bind_references(bind),
            ParsedContent::Condition(condition) => condition.bind_references(bind),
            ParsedContent::Broken { broken, .. } => {
                for reference in &broken.references {
                    bind(reference);
                }
            }
        }
        BoundText { source: self.source, at: self.at, policy: self.policy, place, content, uses, root, sources }
    }
}

impl BoundText {
    /// A template.
    pub fn from_template(
        file: FileId,
        source: &yaml::YamlText,
        policy: &'static Policy,
        place: Arc<dyn NameScope>,
    ) -> Self {
        ParsedText::from_template(file, source, policy).bind_in_scope(place)
    }

    /// A condition.
    pub fn from_condition(
        file: FileId,
        source: &yaml::YamlText,
        policy: &'static Policy,
        place: Arc<dyn NameScope>,
    ) -> Self {
        ParsedText::from_condition(file, source, policy).bind_in_scope(place)
    }

    /// The place in the file of a range of the decoded text.
    pub fn place_of(&self, range: Range<u32>) -> Location {
        Location::new(self.at.file, self.source.source_span(range))
    }

    /// The names of its place.
    pub fn root_entry(&self) -> &NameEntry {
        &self.root
    }

    /// Whether a path certainly names a value here, so it was meant as a placeholder whatever brackets it is in.
    /// `alone`: only the brackets indicate a placeholder.
    pub fn is_there(&self, path: &str, alone: bool) -> bool {
        is_there(&*self.place, &self.root, path, alone)
    }

    /// The place in the file of a literal, including quotes, and whether the file spells it as decoded.
    pub fn literal_location(&self, literal: LiteralIndex) -> Option<(Location, bool)> {
        let all = match &self.content {
            ParsedContent::Template(template) => template.expression_literal_spans(),
            ParsedContent::Condition(condition) => condition.literal_spans(),
            ParsedContent::Broken { .. } => &[],
        };
        let range = all.get(literal.0? as usize)?;
        let at = self.place_of(range.clone());
        Some((at, at.span.end - at.span.start == range.end - range.start))
    }

    /// The binding that a path would have here.
    pub fn look_up(&self, path: &[PathSegment]) -> BoundPath {
        bind_path(&self.root, path)
    }

    /// The template, if it is a valid one.
    pub fn as_template(&self) -> Option<&Template> {
        match &self.content {
            ParsedContent::Template(template) => Some(template),
            _ => None,
        }
    }

    /// The condition, if it is a valid one.
    pub fn as_condition(&self) -> Option<&Condition> {
        match &self.content {
            ParsedContent::Condition(condition) => Some(condition),
            _ => None,
        }
    }

    /// Whether it is a condition, valid or not.
    pub fn is_condition(&self) -> bool {
        matches!(self.content, ParsedContent::Condition(_) | ParsedContent::Broken { condition: true, .. })
    }

    fn spans(&self) -> Vec<Span> {
        let mut spans: Vec<Span> = self.uses.iter().map(|used| used.at.span).collect();
        if matches!(self.content, ParsedContent::Broken { .. }) {
            spans.push(self.at.span);
        }
        spans
    }

    /// The spelling of the literals with these spans.
    fn spellings(&self, literals: &[Range<u32>]) -> Vec<LiteralSpelling> {
        literals.iter().map(|range| self.spelling(range)).collect()
    }

    fn spelling(&self, literal: &Range<u32>) -> LiteralSpelling {
        let at = self.source.source_span(literal.clone());
        let text = self.source.value.get(literal.start as usize..literal.end as usize).unwrap_or_default();
        let quoted = text.starts_with(['"', '\'']);
        let first = text.split('.').next().unwrap_or_default();
        let as_decoded = at.end - at.start == literal.end - literal.start;
        LiteralSpelling {
            at,
            quoted,
            quote: if as_decoded { Some(spelling_fixes::inner_quote(self.source.style)) } else { None },
            is_name: !quoted && matches!(self.root.get(first), NameMatch::Is(_)),
        }
    }

    /// The bindings of a text with mistakes, in the order of its references. The last one is the unreadable part.
    fn bindings(&self) -> (Vec<Source>, impl FnMut(&Reference) -> ReferenceBinding) {
        let mut sources = self.sources.clone();
        let mut bindings = Vec::with_capacity(self.uses.len() + 1);
        for used in &self.uses {
            bindings.push(sources.bind_source((used.bound.source.clone(), used.bound.skip)));
        }
        bindings.push(sources.bind_source((Source::missing_segment(0), 0)));
        let mut bindings = bindings.into_iter();
        (sources.0, move |_: &Reference| bindings.next().unwrap_or_default())
    }

    /// The template for a program. For a text with mistakes, a placeholder for programs that are only checked. `None`:
    /// it is a condition.
    pub fn to_template(&self) -> Option<BoundTemplate> {
        let (template, sources) = match &self.content {
            ParsedContent::Template(template) => (template.clone(), self.sources.0.clone()),
            ParsedContent::Broken { broken, condition: false } => {
                let mut template = Template::from_broken(broken, self.policy);
                let (sources, next) = self.bindings();
                template.bind_references(next);
                (template, sources)
            }
            ParsedContent::Condition(_) | ParsedContent::Broken { .. } => return None,
        };
        Some(self.placed_template(template, sources, self.at, self.spans()))
    }

    /// A template of this text, with the places of what is in it. `spans`: those of its references.
    fn placed_template(
        &self,
        template: Template,
        sources: Vec<Source>,
        origin: Location,
        spans: Vec<Span>,
    ) -> BoundTemplate {
        let locals = template.local_paths().iter().map(|local| self.source.source_span(local.span.clone())).collect();
        let literals = template.literal_text_spans().map(|range| self.source.source_span(range)).collect();
        let written = self.spellings(template.expression_literal_spans());
        BoundTemplate { template, sources, origin, spans, locals, literals, written }
    }

    /// A placeholder or block at these bytes as a separate text. `None`: the text has mistakes, or there is no such
    /// part.
    pub fn part_template(&self, range: Range<usize>) -> Option<BoundTemplate> {
        let range = range.start as u32..range.end as u32;
        let mut template = self.as_template()?.extract_part(range.clone())?;
        let mut sources = TemplateSources::default();
        template.bind_references(|reference| {
            let source = self.sources.0.get(reference.binding.source as usize).cloned();
            sources.bind_source((source.unwrap_or(Source::missing_segment(0)), reference.binding.skip))
        });
        let references = template.references().iter();
        let spans = references.map(|reference| self.source.source_span(reference.span.clone())).collect();
        Some(self.placed_template(template, sources.0, self.place_of(range), spans))
    }

    /// Its paths that start in a block.
    pub fn local_paths(&self) -> Vec<BoundLocal<'_>> {
        let Some(template) = self.as_template() else { return Vec::new() };
        let mut whole: Vec<Option<Vec<PathSegment>>> = Vec::with_capacity(template.local_paths().len());
        let mut found = Vec::with_capacity(template.local_paths().len());
        for local in template.local_paths() {
            let subject = match local.origin {
                _ if local.start != LocalStart::This => None,
                BlockSubject::Reference(i) => template.references().get(i as usize).map(|r| r.path.clone()),
                BlockSubject::Local(i) => whole.get(i as usize).cloned().flatten(),
                BlockSubject::Computed => None,
            };
            let Some(mut path) = subject else {
                found.push(BoundLocal { local, bound: None, begin: 0 });
                whole.push(None);
                continue;
            };
            if local.each {
                path.push(PathSegment { name: "0".into(), span: 0..0 });
            }
            let begin = path.len();
            path.extend(local.path.iter().cloned());
            found.push(BoundLocal { local, bound: Some(self.look_up(&path)), begin });
            whole.push(Some(path));
        }
        found
    }

    /// The condition for a program, like [`BoundText::to_template`]. `None`: it is a template.
    pub fn to_condition(&self) -> Option<BoundCondition> {
        let (condition, sources) = match &self.content {
            ParsedContent::Condition(condition) => (condition.clone(), self.sources.0.clone()),
            ParsedContent::Broken { broken, condition: true } => {
                let mut condition = Condition::from_broken(broken, self.policy);
                let (sources, next) = self.bindings();
                condition.bind_references(next);
                (condition, sources)
            }
            ParsedContent::Template(_) | ParsedContent::Broken { .. } => return None,
        };
        let (text, written) = (self.source.value.clone(), self.spellings(condition.literal_spans()));
        Some(BoundCondition { condition, sources, origin: self.at, text, spans: self.spans(), written })
    }

    /// A text sent to a model. Literal text also keeps its place, because a trace shows where each part of a prompt is
    /// written.
    pub fn prompt_expr(&self) -> Option<ValueExpression> {
        self.to_template().map(ValueExpression::Template)
    }

    /// In a typed position, where a lone placeholder keeps its type; literal text becomes a constant.
    pub fn typed_expr(&self) -> Option<ValueExpression> {
        self.to_template().map(program_builder::as_typed)
    }

    /// The type of its value in a typed position; any type if it has mistakes.
    pub fn value_type(&self) -> ValueType {
        match (self.as_template(), self.uses.first()) {
            (None, _) => ValueType::Any,
            (Some(template), Some(used)) if template.is_single() => used.bound.value_type(),
            (Some(_), _) => ValueType::TEXT,
        }
    }
}
