//! Splits texts into literal parts and inserted values.
//!
//! A template is rendered with a marker for every value, so that the result matches that of a run. Blocks that depend
//! on a value are included.

use std::sync::Arc;

use trefoil_ir::{Expr, Source, Text};
use trefoil_syntax::Location;
use trefoil_template::{Binding, Found, Scope, Value};

/// A part of a text.
#[derive(Debug, Clone)]
pub enum Piece<'p> {
    /// Literal text.
    Written(String),
    /// A value.
    Value(Slotted<'p>),
}

/// An inserted value.
#[derive(Debug, Clone, Copy)]
pub struct Slotted<'p> {
    /// The source; `None`: it is an expression that is not a template.
    pub source: Option<&'p Source>,
    /// The path as written, as a template and an index.
    pub text: Option<(&'p Text, usize)>,
    /// Whether it is printed as JSON: text in quotes, with its own quotes escaped.
    pub as_json: bool,
}

impl Slotted<'_> {
    /// The place in the manifest.
    pub fn at(&self) -> Option<Location> {
        let (text, index) = self.text?;
        Some(Location::new(text.origin.file, *text.spans.get(index)?))
    }
    /// The segments of the path after those that the source covers.
    pub fn rest(&self) -> Vec<Arc<str>> {
        let reference = self.text.and_then(|(text, index)| text.template.references().get(index));
        let segments = reference.map(|r| r.path.iter().skip(r.binding.skip as usize).map(|s| s.name.clone()));
        segments.map(Iterator::collect).unwrap_or_default()
    }
    /// The path as written.
    pub fn path(&self) -> Option<String> {
        let (text, index) = self.text?;
        Some(text.template.references().get(index)?.dotted())
    }
}

struct Marks(Value);

impl Scope for Marks {
    fn source(&self, _: u32) -> Found<'_> {
        Found::Borrowed(&self.0)
    }
}

/// The pieces of a template.
pub fn pieces(text: &Text) -> Vec<Piece<'_>> {
    let mut template = text.template.clone();
    template.bind(|r| Binding { source: 0, skip: r.path.len() as u16 });
    let Ok((Value::Str(shown), values)) = template.trace(&Marks(Value::from("?"))) else { return Vec::new() };
    let mut all = Vec::new();
    let mut done = 0;
    for value in values {
        let written = shown.get(done..value.output.start as usize).unwrap_or_default();
        if !written.is_empty() {
            all.push(Piece::Written(written.to_owned()));
        }
        let index = value.reference as usize;
        let bound = text.template.references().get(index).map(|r| r.binding.source as usize);
        let as_json = shown.get(value.output.start as usize..value.output.end as usize) == Some("\"?\"");
        let source = bound.and_then(|b| text.sources.get(b));
        all.push(Piece::Value(Slotted { source, text: Some((text, index)), as_json }));
        done = value.output.end as usize;
    }
    let rest = shown.get(done..).unwrap_or_default();
    if !rest.is_empty() {
        all.push(Piece::Written(rest.to_owned()));
    }
    all
}

/// The pieces of an expression that is printed as text.
pub fn pieces_of(expr: &Expr) -> Vec<Piece<'_>> {
    let mut all = Vec::new();
    collect(expr, &mut all);
    all
}

fn collect<'p>(expr: &'p Expr, all: &mut Vec<Piece<'p>>) {
    match expr {
        Expr::Const(value) => {
            let text = value.as_str().map_or_else(|| value.to_json().to_string(), str::to_owned);
            if !value.is_null() && !text.is_empty() {
                all.push(Piece::Written(text));
            }
        }
        Expr::Template(text) | Expr::Typed(text) => all.extend(pieces(text)),
        Expr::Read(source) => all.push(Piece::Value(Slotted { source: Some(source), text: None, as_json: false })),
        Expr::Concat(parts) => parts.iter().for_each(|e| collect(e, all)),
        Expr::AsText(inner)
        | Expr::AsMessage(inner)
        | Expr::Structured(inner)
        | Expr::Verdict(inner)
        | Expr::Coerce(inner, _)
        | Expr::Lines(inner) => {
            collect(inner, all);
        }
        Expr::Join { parts, .. } => {
            all.extend(parts.iter().map(|s| Piece::Value(Slotted { source: Some(s), text: None, as_json: false })));
        }
        Expr::Object(_) | Expr::List(_) | Expr::Merge(_) | Expr::If { .. } | Expr::Consensus { .. } => {
            all.push(Piece::Value(Slotted { source: None, text: None, as_json: false }));
        }
    }
}
