//! Templates: parse once, render many times.

use std::ops::Range;

use crate::error::{EvalError, SyntaxError};
use crate::policy::Policy;
use crate::scope::{Binding, Reference, Scope};
use crate::value::Value;

/// A parsed template.
#[derive(Debug, Clone)]
pub struct Template {
    references: Vec<Reference>,
}

/// A range of rendered text and the reference it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// Bytes of the output.
    pub output: Range<u32>,
    /// Index into [`Template::references`].
    pub reference: u32,
}

impl Template {
    /// Parses a text; all mistakes at once.
    pub fn parse(_text: &str, _policy: &Policy) -> Result<Template, Vec<SyntaxError>> {
        todo!()
    }
    /// The references to the root, in the order of the text.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }
    /// Gives every reference its source.
    pub fn bind(&mut self, mut f: impl FnMut(&Reference) -> Binding) {
        for r in &mut self.references {
            r.binding = f(r);
        }
    }
    /// Whether the text is exactly one placeholder with nothing around it (decision A1): [`Self::value`] keeps its type.
    pub fn is_single(&self) -> bool {
        todo!()
    }
    /// The text, if it has no placeholder at all.
    pub fn literal(&self) -> Option<&str> {
        todo!()
    }
    /// Text position: a `Str`, or `Masked` where a hole is in it.
    pub fn render(&self, _scope: &dyn Scope) -> Result<Value, EvalError> {
        todo!()
    }
    /// Appends the text to a buffer; holes as `***`. The fast path: no allocation beside the buffer.
    pub fn render_into(&self, _scope: &dyn Scope, _out: &mut String) -> Result<(), EvalError> {
        todo!()
    }
    /// Text position, and which reference produced which bytes.
    pub fn trace(&self, _scope: &dyn Scope) -> Result<(Value, Vec<Provenance>), EvalError> {
        todo!()
    }
    /// Typed position: a single placeholder keeps its type, anything else is text.
    pub fn value(&self, _scope: &dyn Scope) -> Result<Value, EvalError> {
        todo!()
    }
}
