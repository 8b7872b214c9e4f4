//! Expressions, texts and steps made by lowering itself, and texts bound to the result of the current step.

use std::sync::Arc;

use trefoil_ir::{Expr, Source, Step, StepId, StepKind, Text};
use trefoil_syntax::Location;
use trefoil_template::{Object, Policy, Reference, Template, Value};

use crate::Builder;
use crate::build::{self, plain};

/// A constant text.
pub fn constant(text: impl Into<Arc<str>>) -> Expr {
    Expr::Const(Value::Str(text.into()))
}

/// The result of the current step.
pub fn result() -> Expr {
    Expr::Read(Source::Result)
}

/// An object expression.
pub fn object(entries: impl IntoIterator<Item = (&'static str, Expr)>) -> Expr {
    Expr::Object(entries.into_iter().map(|(k, e)| (Arc::from(k), e)).collect())
}

/// A constant object.
pub fn constant_object(entries: impl IntoIterator<Item = (Arc<str>, Value)>) -> Value {
    Value::Object(Arc::new(entries.into_iter().collect::<Object>()))
}

/// A member of the current result, with its type.
pub fn result_member(name: &str, origin: Location) -> Option<Expr> {
    build::result_member(name, &Policy::AEGIS, origin).map(Expr::Typed)
}

/// A template that is not from a manifest.
pub fn built_in_template(
    text: &str,
    origin: Location,
    resolve: &mut dyn FnMut(&Reference) -> (Source, u16),
) -> Option<Expr> {
    let mut template = Template::parse(text, &Policy::AEGIS).ok()?;
    let mut sources = build::Sources::default();
    template.bind(|r| sources.bind(resolve(r)));
    let spans = template.references().iter().map(|_| origin.span).collect();
    Some(Expr::Template(Text {
        template,
        sources: sources.0,
        origin,
        spans,
        locals: Vec::new(),
        literals: Vec::new(),
        written: Vec::new(),
    }))
}

/// A step that only computes.
pub fn compute(builder: &mut Builder, value: Expr, out: trefoil_ir::SlotId, origin: Location) -> StepId {
    builder.step(Step { out: Some(out), ..plain(StepKind::Compute(value), origin) })
}
