//! Expressions, texts and steps that lowering makes itself, and texts bound to what a step just answered.

use std::sync::Arc;

use trefoil_ir::{Expr, Source, Step, StepId, StepKind, Text};
use trefoil_syntax::{Location, yaml};
use trefoil_template::{Binding, Object, Policy, Reference, Template, Value};

use crate::build::{self, plain};
use crate::learn::Resolve;
use crate::{Builder, Reader};

/// A constant text.
pub(super) fn constant(text: impl Into<Arc<str>>) -> Expr {
    Expr::Const(Value::Str(text.into()))
}

/// What the step answered.
pub(super) fn result() -> Expr {
    Expr::Read(Source::Result)
}

/// An object expression.
pub(super) fn object(entries: impl IntoIterator<Item = (&'static str, Expr)>) -> Expr {
    Expr::Object(entries.into_iter().map(|(k, e)| (Arc::from(k), e)).collect())
}

/// A constant object.
pub(super) fn constant_object(entries: impl IntoIterator<Item = (Arc<str>, Value)>) -> Value {
    Value::Object(Arc::new(entries.into_iter().collect::<Object>()))
}

/// A path of names.
pub(super) fn path<const N: usize>(names: [&str; N]) -> Vec<Arc<str>> {
    names.into_iter().map(Arc::from).collect()
}

/// A member of what the step answered, with its type.
pub(super) fn result_member(name: &str, origin: Location) -> Option<Expr> {
    let mut template = Template::parse(&format!("{{{{{name}}}}}"), &Policy::AEGIS).ok()?;
    template.bind(|_| Binding { source: 0, skip: 0 });
    let spans = template.references().iter().map(|_| origin.span).collect();
    Some(Expr::Typed(Text {
        template,
        sources: vec![Source::Result],
        origin,
        spans,
        locals: Vec::new(),
        literals: Vec::new(),
    }))
}

/// A template that no manifest wrote.
pub(super) fn built_in_template(
    text: &str,
    origin: Location,
    resolve: &mut dyn FnMut(&Reference) -> (Source, u16),
) -> Option<Expr> {
    let mut template = Template::parse(text, &Policy::AEGIS).ok()?;
    let mut sources = build::Sources::default();
    template.bind(|r| sources.bind(resolve(r)));
    let spans = template.references().iter().map(|_| origin.span).collect();
    Some(Expr::Template(Text { template, sources: sources.0, origin, spans, locals: Vec::new(), literals: Vec::new() }))
}

/// A text position of a manifest.
pub(super) fn text(reader: &Reader<'_>, source: &yaml::Text, resolve: &mut dyn Resolve) -> Option<Expr> {
    crate::lookalike::whole(reader, source, resolve);
    build::text_expr(reader, source, &Policy::AEGIS, resolve)
}

/// What a model is sent.
pub(super) fn prompt(reader: &Reader<'_>, source: &yaml::Text, resolve: &mut dyn Resolve) -> Option<Expr> {
    crate::lookalike::whole(reader, source, resolve);
    build::prompt_expr(reader, source, &Policy::AEGIS, resolve)
}

/// A step that only computes.
pub(super) fn compute(builder: &mut Builder, value: Expr, out: trefoil_ir::SlotId, origin: Location) -> StepId {
    builder.step(Step { out: Some(out), ..plain(StepKind::Compute(value), origin) })
}
