//! Templates: parse once, render many times.
//!
//! `scan` finds tags; `plain` (agntz, SirenSpec) and `handlebars` (AEGIS) read them; `build` makes the program;
//! `render` runs it; `part` extracts a placeholder or a block from it. `otherwise` recognises the fallback syntax of
//! other languages.

mod address;
pub(crate) mod build;
pub(crate) mod frame;
mod handlebars;
mod otherwise;
mod part;
mod plain;
pub(crate) mod program;
mod render;
pub(crate) mod scan;

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Broken, EvalError, SyntaxError};
use crate::expression::Expression;
use crate::policy::{Blocks, Policy};
use crate::scope::{Binding, Reference, Scope};
use crate::value::Value;
pub use frame::{Local, Origin, Start};
use program::{Op, Program};
use render::{Kept, Parts, Renderer, Sink};

/// A parsed template. Cloning copies its references but shares its program.
#[derive(Debug, Clone)]
pub struct Template {
    program: Arc<Program>,
    references: Vec<Reference>,
}

/// A range of rendered text, and the reference it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// The bytes of the output; a hole counts as `***`.
    pub output: Range<u32>,
    /// Index into [`Template::references`].
    pub reference: u32,
}

/// A part of rendered text and its origin. The parts of a text are in order, without gaps and not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The length in bytes; a hole counts as `***`.
    pub len: u32,
    /// The origin.
    pub from: Produced,
}

/// The origin of a part of rendered text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Produced {
    /// The literal with this index: see [`Template::literals`].
    Literal(u32),
    /// The value of the reference with this index.
    Reference(u32),
    /// Something inside the value of a reference over which a loop of the template iterates.
    Inside {
        /// The path in the loop: index into [`Template::locals`].
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
        Self::examine(text, policy).map_err(|broken| broken.errors)
    }

    /// Like [`Self::parse`], but a text with mistakes also yields the references found in it, so that names can be
    /// checked in the same pass.
    pub fn examine(text: &str, policy: &Policy) -> Result<Template, Broken> {
        let mut builder = build::TemplateBuilder::new(text, policy);
        if text.len() > crate::limits::TEMPLATE_BYTES {
            let message = format!("the template is larger than {} KB", crate::limits::TEMPLATE_BYTES >> 10);
            builder.mistakes.add("template-too-large", 0..0, message);
            return Err(builder.broken());
        }
        match policy.blocks {
            Blocks::None | Blocks::If => plain::parse(&mut builder),
            Blocks::Handlebars => handlebars::parse(&mut builder),
        }
        builder.finish()
    }

    /// The parsed program.
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    /// A placeholder for a text with mistakes, in a program that is only checked and never run. It prints the parts
    /// that could be read, and an unknown value (its last reference).
    pub fn unknown(broken: &Broken, policy: &Policy) -> Template {
        let mut references = broken.references.clone();
        references.push(Reference::unknown());
        let print = |i| Op::Print { operand: program::Operand::Reference(i), json: false };
        let ops: Vec<Op> = (0..references.len() as u32).map(print).collect();
        let single = ops.len() == 1;
        let (text, literals, pieces, expressions, written, locals, strays) = Default::default();
        let program =
            Program { policy: *policy, single, text, literals, pieces, ops, expressions, written, locals, strays };
        Template { program: Arc::new(program), references }
    }

    /// The references to the root, in the order of the text.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// The paths that are looked up in the template's own loops, in the order of the text. They are not bound.
    pub fn locals(&self) -> &[Local] {
        &self.program.locals
    }

    /// Whether a missing value is an error rather than empty text.
    pub fn is_strict(&self) -> bool {
        self.program.policy.undefined == crate::policy::Undefined::Error
    }

    /// The spans of paths that only a block would define (`@index`, `../name`, `this.name`) and that are outside any
    /// block. They have no value.
    pub fn strays(&self) -> &[Range<u32>] {
        &self.program.strays
    }

    /// The expressions in it (tests of blocks, helper calls), in the order of the text; not plain paths.
    pub fn expressions(&self) -> &[Expression] {
        &self.program.expressions
    }

    /// The spans of the literals in its expressions, including quotes.
    pub fn written(&self) -> &[Range<u32>] {
        &self.program.written
    }

    /// The indexes of the references over which an `each` iterates.
    pub fn looped(&self) -> impl Iterator<Item = usize> {
        self.program.ops.iter().filter_map(|op| match op {
            Op::Each { operand: program::Operand::Reference(i), .. } => Some(*i as usize),
            _ => None,
        })
    }

    /// The grammar, which determines how its tests compare.
    pub fn grammar(&self) -> crate::policy::ConditionGrammar {
        self.program.policy.conditions
    }

    /// The terms of its language.
    pub fn words(&self) -> &'static crate::policy::Words {
        self.program.policy.words
    }

    /// Gives every reference its source.
    pub fn bind(&mut self, mut f: impl FnMut(&Reference) -> Binding) {
        for r in &mut self.references {
            r.binding = f(r);
        }
    }

    /// Whether the text is exactly one placeholder, so that [`Self::value`] keeps its type.
    pub fn is_single(&self) -> bool {
        self.program.single
    }

    /// The text, if it has no placeholder at all.
    pub fn literal(&self) -> Option<&str> {
        match self.program.ops.as_slice() {
            [] => Some(""),
            [Op::Text { start, end }] => Some(self.program.text(*start, *end)),
            _ => None,
        }
    }

    /// In a text position: a `Str`, or `Masked` if it contains a hole.
    pub fn render(&self, scope: &dyn Scope) -> Result<Value, EvalError> {
        let mut out = Kept::<false>::default();
        self.run(scope, &mut out)?;
        Ok(out.into_value().0)
    }

    /// Appends the text to a buffer, with holes as `***`. The fast path: allocates nothing except in the buffer.
    pub fn render_into(&self, scope: &dyn Scope, out: &mut String) -> Result<(), EvalError> {
        self.run(scope, out)
    }

    /// In a text position, with the reference that produced each range of bytes.
    pub fn trace(&self, scope: &dyn Scope) -> Result<(Value, Vec<Provenance>), EvalError> {
        let mut out = Kept::<true>::default();
        self.run(scope, &mut out)?;
        Ok(out.into_value())
    }

    /// In a typed position: a single placeholder keeps its type; anything else is text.
    pub fn value(&self, scope: &dyn Scope) -> Result<Value, EvalError> {
        match self.program.ops.as_slice() {
            [Op::Print { operand, json }] if self.program.single => {
                self.renderer(scope, &mut String::new()).value(*operand, *json)
            }
            _ => self.render(scope),
        }
    }

    /// In a text position, with the origin of each part.
    pub fn parts(&self, scope: &dyn Scope) -> Result<(Value, Vec<Part>), EvalError> {
        let mut out = Parts::default();
        self.run(scope, &mut out)?;
        Ok(out.into_value())
    }

    /// In a web address. Values after the host are percent-encoded (RFC 3986, 2.3), and a value cannot end the host, so
    /// values cannot change the structure of the address. A text that is one placeholder renders as its value.
    pub fn address(&self, scope: &dyn Scope) -> Result<Value, EvalError> {
        if self.is_single() {
            return self.render(scope);
        }
        let mut out = address::Address::default();
        self.run(scope, &mut out)?;
        Ok(out.into_value())
    }

    /// The spans in the source of the literal texts, in order. A literal composed of several pieces (around an escape
    /// or a comment) spans from its first piece to its last.
    pub fn literals(&self) -> impl Iterator<Item = Range<u32>> {
        self.program.literals.iter().map(|(_, range)| range.clone())
    }

    fn run<S: Sink>(&self, scope: &dyn Scope, out: &mut S) -> Result<(), EvalError> {
        self.renderer(scope, out).render()
    }

    fn renderer<'a, S: Sink>(&'a self, scope: &'a dyn Scope, out: &'a mut S) -> Renderer<'a, S> {
        Renderer { program: &self.program, references: &self.references, scope, out, passes: 0 }
    }
}
