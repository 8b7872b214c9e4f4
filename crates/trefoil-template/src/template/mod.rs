//! Templates: parse once, render many times.
//!
//! `scan` finds tags; `plain` (agntz, SirenSpec) and `handlebars` (AEGIS) read them; `build` makes the program;
//! `render` runs it; `part` extracts a placeholder or a block from it. `otherwise` recognises the fallback syntax of
//! other languages.

mod address;
pub(crate) mod builder;
mod foreign_fallbacks;
pub(crate) mod frame;
mod handlebars;
mod part;
pub(crate) mod program;
mod renderer;
pub(crate) mod scanner;
mod simple_tags;

use std::ops::Range;
use std::sync::Arc;

use crate::error::{BrokenText, EvalError, SyntaxError};
use crate::expression::ConditionExpression;
use crate::policy::{BlockSyntax, Policy};
use crate::scope::{Reference, ReferenceBinding, ValueScope};
use crate::value::Value;
pub use frame::{BlockSubject, LocalPath, LocalStart};
use program::{TemplateOperation, TemplateProgram};
use renderer::{PartSink, PieceSink, RenderSink, TemplateRenderer};

/// A parsed template. Cloning copies its references but shares its program.
#[derive(Debug, Clone)]
pub struct Template {
    program: Arc<TemplateProgram>,
    references: Vec<Reference>,
}

/// A range of rendered text, and the reference it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceProvenance {
    /// The bytes of the output; a hole counts as `***`.
    pub output: Range<u32>,
    /// Index into [`Template::references`].
    pub reference: u32,
}

/// A part of rendered text and its origin. The parts of a text are in order, without gaps and not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedPart {
    /// The length in bytes; a hole counts as `***`.
    pub len: u32,
    /// The origin.
    pub from: PartOrigin,
}

/// The origin of a part of rendered text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartOrigin {
    /// The literal with this index: see [`Template::literal_text_spans`].
    Literal(u32),
    /// The value of the reference with this index.
    Reference(u32),
    /// Something inside the value of a reference over which a loop of the template iterates.
    Inside {
        /// The path in the loop: index into [`Template::local_paths`].
        local: u32,
        /// The reference over which the loop iterates.
        reference: u32,
        /// The path from its value to the printed value.
        path: Vec<Arc<str>>,
    },
    /// The default text of the filter of this reference.
    Default(u32),
    /// Computed by a helper from this reference, if it has one.
    Computed(Option<u32>),
}

impl Template {
    /// Parses a text; reports all mistakes at once.
    pub fn parse(text: &str, policy: &Policy) -> Result<Template, Vec<SyntaxError>> {
        Self::parse_or_broken(text, policy).map_err(|broken| broken.errors)
    }

    /// Like [`Self::parse`], but a text with mistakes also yields the references found in it, so that names can be
    /// checked in the same pass.
    pub fn parse_or_broken(text: &str, policy: &Policy) -> Result<Template, BrokenText> {
        let mut builder = builder::TemplateBuilder::new(text, policy);
        if text.len() > crate::limits::TEMPLATE_BYTES {
            let message = format!("the template is larger than {} KB", crate::limits::TEMPLATE_BYTES >> 10);
            builder.mistakes.add_mistake("template-too-large", 0..0, message);
            return Err(builder.into_broken());
        }
        match policy.blocks {
            BlockSyntax::None | BlockSyntax::If => simple_tags::parse(&mut builder),
            BlockSyntax::Handlebars => handlebars::parse(&mut builder),
        }
        builder.finish_template()
    }

    /// The parsed program.
    pub(crate) fn program(&self) -> &TemplateProgram {
        &self.program
    }

    /// A placeholder for a text with mistakes, in a program that is only checked and never run. It prints the parts
    /// that could be read, and an unknown value (its last reference).
    pub fn from_broken(broken: &BrokenText, policy: &Policy) -> Template {
        let mut references = broken.references.clone();
        references.push(Reference::for_unreadable_path());
        let print = |i| TemplateOperation::Print { operand: program::TemplateOperand::Reference(i), json: false };
        let ops: Vec<TemplateOperation> = (0..references.len() as u32).map(print).collect();
        let single = ops.len() == 1;
        let (text, literals, pieces, expressions, written, locals, strays) = Default::default();
        let program = TemplateProgram {
            policy: *policy,
            single,
            text,
            literals,
            pieces,
            ops,
            expressions,
            written,
            locals,
            strays,
        };
        Template { program: Arc::new(program), references }
    }

    /// The references to the root, in the order of the text.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// The paths that are looked up in the template's own loops, in the order of the text. They are not bound.
    pub fn local_paths(&self) -> &[LocalPath] {
        &self.program.locals
    }

    /// Whether a missing value is an error rather than empty text.
    pub fn is_strict(&self) -> bool {
        self.program.policy.undefined == crate::policy::UndefinedHandling::Error
    }

    /// The spans of paths that only a block would define (`@index`, `../name`, `this.name`) and that are outside any
    /// block. They have no value.
    pub fn stray_paths(&self) -> &[Range<u32>] {
        &self.program.strays
    }

    /// The expressions in it (tests of blocks, helper calls), in the order of the text; not plain paths.
    pub fn inner_expressions(&self) -> &[ConditionExpression] {
        &self.program.expressions
    }

    /// The spans of the literals in its expressions, including quotes.
    pub fn expression_literal_spans(&self) -> &[Range<u32>] {
        &self.program.written
    }

    /// The indexes of the references over which an `each` iterates.
    pub fn looped_references(&self) -> impl Iterator<Item = usize> {
        self.program.ops.iter().filter_map(|op| match op {
            TemplateOperation::Each { operand: program::TemplateOperand::Reference(i), .. } => Some(*i as usize),
            _ => None,
        })
    }

    /// The grammar, which determines how its tests compare.
    pub fn condition_grammar(&self) -> crate::policy::ConditionGrammar {
        self.program.policy.conditions
    }

    /// The terms of its language.
    pub fn dialect_words(&self) -> &'static crate::policy::DialectWords {
        self.program.policy.words
    }

    /// Gives every reference its source.
    pub fn bind_references(&mut self, mut f: impl FnMut(&Reference) -> ReferenceBinding) {
        for r in &mut self.references {
            r.binding = f(r);
        }
    }

    /// Whether the text is exactly one placeholder, so that [`Self::render_value`] keeps its type.
    pub fn is_single(&self) -> bool {
        self.program.single
    }

    /// The text, if it has no placeholder at all.
    pub fn literal_text(&self) -> Option<&str> {
        match self.program.ops.as_slice() {
            [] => Some(""),
            [TemplateOperation::Text { start, end }] => Some(self.program.text_range(*start, *end)),
            _ => None,
        }
    }

    /// In a text position: a `Str`, or `Masked` if it contains a hole.
    pub fn render_text(&self, scope: &dyn ValueScope) -> Result<Value, EvalError> {
        let mut out = PieceSink::<false>::default();
        self.run(scope, &mut out)?;
        Ok(out.into_value().0)
    }

    /// Appends the text to a buffer, with holes as `***`. The fast path: allocates nothing except in the buffer.
    pub fn render_into(&self, scope: &dyn ValueScope, out: &mut String) -> Result<(), EvalError> {
        self.run(scope, out)
    }

    /// In a text position, with the reference that produced each range of bytes.
    pub fn render_with_provenance(
        &self,
        scope: &dyn ValueScope,
    ) -> Result<(Value, Vec<ReferenceProvenance>), EvalError> {
        let mut out = PieceSink::<true>::default();
        self.run(scope, &mut out)?;
        Ok(out.into_value())
    }

    /// In a typed position: a single placeholder keeps its type; anything else is text.
    pub fn render_value(&self, scope: &dyn ValueScope) -> Result<Value, EvalError> {
        match self.program.ops.as_slice() {
            [TemplateOperation::Print { operand, json }] if self.program.single => {
                self.renderer(scope, &mut String::new()).lone_value(*operand, *json)
            }
            _ => self.render_text(scope),
        }
    }

    /// In a text position, with the origin of each part.
    pub fn render_parts(&self, scope: &dyn ValueScope) -> Result<(Value, Vec<RenderedPart>), EvalError> {
        let mut out = PartSink::default();
        self.run(scope, &mut out)?;
        Ok(out.into_value())
    }

    /// In a web address. Values after the host are percent-encoded (RFC 3986, 2.3), and a value cannot end the host, so
    /// values cannot change the structure of the address. A text that is one placeholder renders as its value.
    pub fn render_url(&self, scope: &dyn ValueScope) -> Result<Value, EvalError> {
        if self.is_single() {
            return self.render_text(scope);
        }
        let mut out = address::UrlBuilder::default();
        self.run(scope, &mut out)?;
        Ok(out.into_value())
    }

    /// The spans in the source of the literal texts, in order. A literal composed of several pieces (around an escape
    /// or a comment) spans from its first piece to its last.
    pub fn literal_text_spans(&self) -> impl Iterator<Item = Range<u32>> {
        self.program.literals.iter().map(|(_, range)| range.clone())
    }

    fn run<S: RenderSink>(&self, scope: &dyn ValueScope, out: &mut S) -> Result<(), EvalError> {
        self.renderer(scope, out).run_program()
    }

    fn renderer<'a, S: RenderSink>(&'a self, scope: &'a dyn ValueScope, out: &'a mut S) -> TemplateRenderer<'a, S> {
        TemplateRenderer { program: &self.program, references: &self.references, scope, out, passes: 0 }
    }
}
