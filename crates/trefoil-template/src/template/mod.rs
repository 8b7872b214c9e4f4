//! Templates: parse once, render many times.
//!
//! `scan` finds tags, `plain` (agntz, SirenSpec) and `handlebars` (AEGIS) read them, `build` makes the program,
//! `render` runs it, `part` cuts a placeholder or a block out of it. `otherwise` knows what other languages write for a missing
//! value.

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

/// A parsed template. Cloning copies its references, not its program.
#[derive(Debug, Clone)]
pub struct Template {
    program: Arc<Program>,
    references: Vec<Reference>,
}

/// A range of rendered text and the reference it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// Bytes of the output; a hole counts as `***`.
    pub output: Range<u32>,
    /// Index into [`Template::references`].
    pub reference: u32,
}

/// A part of rendered text and what produced it. The parts of a text are in order, without gaps, none of them empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Bytes; a hole counts as `***`.
    pub len: u32,
    /// What produced it.
    pub from: Produced,
}

/// What produced a part of rendered text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Produced {
    /// The literal of this index: see [`Template::literals`].
    Literal(u32),
    /// The value of the reference of this index.
    Reference(u32),
    /// Something inside the value of a reference that a loop of the template goes over.
    Inside {
        /// The path in the loop: index into [`Template::locals`].
        local: u32,
        /// What the loop goes over.
        reference: u32,
        /// The way from there to what was printed.
        path: Vec<Arc<str>>,
    },
    /// The text that the filter of this reference has for what is missing.
    Default(u32),
    /// Worked out by a helper; the reference that it began with.
    Computed(Option<u32>),
}

impl Template {
    /// Parses a text; all mistakes at once.
    pub fn parse(text: &str, policy: &Policy) -> Result<Template, Vec<SyntaxError>> {
        Self::examine(text, policy).map_err(|broken| broken.errors)
    }

    /// The same; of a text with mistakes also what else is in it, so that its names can be checked in the same pass.
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

    /// What it is parsed into.
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    /// What stands for a text with mistakes in a program that is looked at and never run: it prints what could be read of
    /// it, and something that nobody knows (its last reference).
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

    /// The paths that are looked up in a loop of the template itself, in the order of the text. Nothing to bind.
    pub fn locals(&self) -> &[Local] {
        &self.program.locals
    }

    /// Whether what is missing is an error where this is rendered, not an empty text.
    pub fn is_strict(&self) -> bool {
        self.program.policy.undefined == crate::policy::Undefined::Error
    }

    /// The bytes of paths that name what only a block gives (`@index`, `../name`, `this.name`) and stand in none: what is
    /// looked up there is not there.
    pub fn strays(&self) -> &[Range<u32>] {
        &self.program.strays
    }

    /// The expressions in it (tests of blocks, helper calls), in the order of the text; plain paths are not among them.
    pub fn expressions(&self) -> &[Expression] {
        &self.program.expressions
    }

    /// The bytes of the literals in its expressions, with their quotes.
    pub fn written(&self) -> &[Range<u32>] {
        &self.program.written
    }

    /// The references, by index, that an `each` goes over.
    pub fn looped(&self) -> impl Iterator<Item = usize> {
        self.program.ops.iter().filter_map(|op| match op {
            Op::Each { operand: program::Operand::Reference(i), .. } => Some(*i as usize),
            _ => None,
        })
    }

    /// By whose rules its tests compare.
    pub fn grammar(&self) -> crate::policy::ConditionGrammar {
        self.program.policy.conditions
    }

    /// What its language calls things.
    pub fn words(&self) -> &'static crate::policy::Words {
        self.program.policy.words
    }

    /// Gives every reference its source.
    pub fn bind(&mut self, mut f: impl FnMut(&Reference) -> Binding) {
        for r in &mut self.references {
            r.binding = f(r);
        }
    }

    /// Whether the text is exactly one placeholder with nothing around it (decision A1): [`Self::value`] keeps its type.
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

    /// Text position: a `Str`, or `Masked` where a hole is in it.
    pub fn render(&self, scope: &dyn Scope) -> Result<Value, EvalError> {
        let mut out = Kept::<false>::default();
        self.run(scope, &mut out)?;
        Ok(out.into_value().0)
    }

    /// Appends the text to a buffer; holes as `***`. The fast path: no allocation beside the buffer.
    pub fn render_into(&self, scope: &dyn Scope, out: &mut String) -> Result<(), EvalError> {
        self.run(scope, out)
    }

    /// Text position, and which reference produced which bytes.
    pub fn trace(&self, scope: &dyn Scope) -> Result<(Value, Vec<Provenance>), EvalError> {
        let mut out = Kept::<true>::default();
        self.run(scope, &mut out)?;
        Ok(out.into_value())
    }

    /// Typed position: a single placeholder keeps its type, anything else is text.
    pub fn value(&self, scope: &dyn Scope) -> Result<Value, EvalError> {
        match self.program.ops.as_slice() {
            [Op::Print { operand, json }] if self.program.single => {
                self.renderer(scope, &mut String::new()).value(*operand, *json)
            }
            _ => self.render(scope),
        }
    }

    /// Text position, and what produced each part of it.
    pub fn parts(&self, scope: &dyn Scope) -> Result<(Value, Vec<Part>), EvalError> {
        let mut out = Parts::default();
        self.run(scope, &mut out)?;
        Ok(out.into_value())
    }

    /// The text of a web address. A value is percent-encoded after the host (RFC 3986, 2.3) and cannot end the host, so it opens no
    /// part of the address. A text that is one placeholder is its value.
    pub fn address(&self, scope: &dyn Scope) -> Result<Value, EvalError> {
        if self.is_single() {
            return self.render(scope);
        }
        let mut out = address::Address::default();
        self.run(scope, &mut out)?;
        Ok(out.into_value())
    }

    /// The literal texts, in order: the bytes of the source that each came from. One that is put together from several
    /// pieces (around an escape, a comment) is the bytes from its first to its last.
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
