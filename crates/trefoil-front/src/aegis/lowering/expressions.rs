//! Expressions, texts and steps made by lowering itself, and texts bound to the result of the current step.

use std::sync::Arc;

use trefoil_ir::{BoundTemplate, Source, Step, StepId, StepKind, ValueExpression};
use trefoil_syntax::Location;
use trefoil_template::{Policy, Reference, Template, Value, ValueObject};

use crate::ProgramBuilder;
use crate::program_builder::{self, plain_step};

/// A constant text.
pub fn constant_text(text: impl Into<Arc<str>>) -> ValueExpression {
    ValueExpression::Const(Value::Str(text.into()))
}

/// The result of the current step.
pub fn current_result() -> ValueExpression {
    ValueExpression::Read(Source::Result)
}

/// An object expression.
pub fn object_expression(entries: impl IntoIterator<Item = (&'static str, ValueExpression)>) -> ValueExpression {
    ValueExpression::Object(entries.into_iter().map(|(k, e)| (Arc::from(k), e)).collect())
}

/// A constant object.
pub fn constant_object(entries: impl IntoIterator<Item = (Arc<str>, Value)>) -> Value {
    Value::Object(Arc::new(entries.into_iter().collect::<ValueObject>()))
}

/// A member of the current result, with its type.
pub fn result_member(name: &str, origin: Location) -> Option<ValueExpression> {
    program_builder::result_member(name, &Policy::AEGIS, origin).map(ValueExpression::Typed)
}

/// A template that is not from a manifest.
pub fn built_in_template(
    text: &str,
    origin: Location,
    resolve: &mut dyn FnMut(&Reference) -> (Source, u16),
) -> Option<ValueExpression> {
    let mut template = Template::parse(text, &Policy::AEGIS).ok()?;
    let mut sources = program_builder::TemplateSources::default();
    template.bind_references(|r| sources.bind_source(resolve(r)));
    let spans = template.references().iter().map(|_| origin.span).collect();
    Some(ValueExpression::Template(BoundTemplate {
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
pub fn compute_step(
    builder: &mut ProgramBuilder,
    value: ValueExpression,
    out: trefoil_ir::SlotId,
    origin: Location,
) -> StepId {
    builder.add_step(Step { out: Some(out), ..plain_step(StepKind::Compute(value), origin) })
}
