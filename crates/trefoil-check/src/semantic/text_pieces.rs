//! Splits texts into literal parts and inserted values.
//!
//! A template is rendered with a marker for every value, so that the result matches that of a run. Blocks that depend
//! on a value are included.

use std::sync::Arc;

use trefoil_ir::{BoundTemplate, Source, ValueExpression};
use trefoil_syntax::Location;
use trefoil_template::{ReferenceBinding, SourceValue, Value, ValueScope};

use super::paths::kept_path_in_source;

/// A part of a text.
#[derive(Debug, Clone)]
pub enum TextPiece<'p> {
    /// Literal text.
    Written(String),
    /// A value.
    Value(InsertedValue<'p>),
}

/// An inserted value.
#[derive(Debug, Clone, Copy)]
pub struct InsertedValue<'p> {
    /// The source; `None`: it is an expression that is not a template.
    pub source: Option<&'p Source>,
    /// The path as written, as a template and an index.
    pub text: Option<(&'p BoundTemplate, usize)>,
    /// Whether it is printed as JSON: text in quotes, with its own quotes escaped.
    pub as_json: bool,
}

impl InsertedValue<'_> {
    /// The place in the manifest.
    pub fn source_location(&self) -> Option<Location> {
        let (text, index) = self.text?;
        Some(Location::new(text.origin.file, *text.spans.get(index)?))
    }
    /// The segments of the path after those that the source covers.
    pub fn remaining_path(&self) -> Vec<Arc<str>> {
        let Some((text, index)) = self.text else { return Vec::new() };
        match text.template.references().get(index) {
            Some(reference) => kept_path_in_source(reference),
            None => Vec::new(),
        }
    }
    /// The path as written.
    pub fn path_text(&self) -> Option<String> {
        let (text, index) = self.text?;
        Some(text.template.references().get(index)?.dotted_path())
    }
}

struct MarkerScope(Value);

impl ValueScope for MarkerScope {
    fn source_value(&self, _: u32) -> SourceValue<'_> {
        SourceValue::Borrowed(&self.0)
    }
}

/// The pieces of a template.
pub fn template_pieces(text: &BoundTemplate) -> Vec<TextPiece<'_>> {
    let mut template = text.template.clone();
    template.bind_references(|r| ReferenceBinding { source: 0, skip: r.path.len() as u16 });
    let Ok((Value::Str(shown), values)) = template.render_with_provenance(&MarkerScope(Value::from("?"))) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    let mut done = 0;
    for value in values {
        let written = shown.get(done..value.output.start as usize).unwrap_or_default();
        if !written.is_empty() {
            all.push(TextPiece::Written(written.to_owned()));
        }
        let index = value.reference as usize;
        let as_json = shown.get(value.output.start as usize..value.output.end as usize) == Some("\"?\"");
        let source = match text.template.references().get(index) {
            Some(reference) => text.sources.get(reference.binding.source as usize),
            None => None,
        };
        all.push(TextPiece::Value(InsertedValue { source, text: Some((text, index)), as_json }));
        done = value.output.end as usize;
    }
    let rest = shown.get(done..).unwrap_or_default();
    if !rest.is_empty() {
        all.push(TextPiece::Written(rest.to_owned()));
    }
    all
}

/// The pieces of an expression that is printed as text.
pub fn expression_pieces(expr: &ValueExpression) -> Vec<TextPiece<'_>> {
    let mut all = Vec::new();
    collect(expr, &mut all);
    all
}

fn collect<'p>(expr: &'p ValueExpression, all: &mut Vec<TextPiece<'p>>) {
    match expr {
        ValueExpression::Const(value) => {
            let text = match value.as_str() {
                Some(text) => text.to_owned(),
                None => value.to_json().to_string(),
            };
            if !value.is_null() && !text.is_empty() {
                all.push(TextPiece::Written(text));
            }
        }
        ValueExpression::Template(text) | ValueExpression::Typed(text) => all.extend(template_pieces(text)),
        ValueExpression::Read(source) => {
            all.push(TextPiece::Value(InsertedValue { source: Some(source), text: None, as_json: false }))
        }
        ValueExpression::Concat(parts) => {
            for part in parts {
                collect(part, all);
            }
        }
        ValueExpression::AsText(inner)
        | ValueExpression::AsMessage(inner)
        | ValueExpression::Structured(inner)
        | ValueExpression::Verdict(inner)
        | ValueExpression::Coerce(inner, _)
        | ValueExpression::Lines(inner) => {
            collect(inner, all);
        }
        ValueExpression::Join { parts, .. } => {
            for source in parts {
                all.push(TextPiece::Value(InsertedValue { source: Some(source), text: None, as_json: false }));
            }
        }
        ValueExpression::Object(_)
        | ValueExpression::List(_)
        | ValueExpression::Merge(_)
        | ValueExpression::If { .. }
        | ValueExpression::Consensus { .. } => {
            all.push(TextPiece::Value(InsertedValue { source: None, text: None, as_json: false }));
        }
    }
}
