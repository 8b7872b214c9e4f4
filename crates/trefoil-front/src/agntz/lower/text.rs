//! Texts of a manifest as bound expressions, with the names of a scope.

use trefoil_ir::{Cond, Expr, Position};
use trefoil_syntax::yaml::Text;
use trefoil_template::{Policy, Value};

use super::compare;
use super::scope::{At, Purpose, Scope};
use super::shape::Shape;
use crate::build;
use crate::read::Reader;

/// Text position. A text with a mistake (reported) becomes null.
pub fn text(
    reader: &Reader<'_>,
    scope: &Scope<'_>,
    source: &Text,
    at: At,
    purpose: Purpose,
    position: Position,
) -> Expr {
    let mut resolve = scope.resolver(reader, at, purpose, position);
    let expr = match purpose {
        Purpose::Prompt => build::prompt_expr(reader, source, &Policy::AGNTZ, &mut resolve),
        _ => build::text_expr(reader, source, &Policy::AGNTZ, &mut resolve),
    };
    if let Some(Expr::Template(text)) = &expr {
        compare::check_tests(reader, scope, source, &text.template, at);
    }
    expr.unwrap_or(Expr::Const(Value::Null))
}

/// Typed position (decision A1), and what is known about the value. A text with a mistake (reported) becomes null.
pub fn typed(
    reader: &Reader<'_>,
    scope: &Scope<'_>,
    source: &Text,
    at: At,
    purpose: Purpose,
    position: Position,
) -> (Expr, Shape) {
    let mut resolve = scope.resolver(reader, at, purpose, position);
    let Some(expr) = build::typed_expr(reader, source, &Policy::AGNTZ, &mut resolve) else {
        return (Expr::Const(Value::Null), Shape::Any);
    };
    if let Expr::Typed(text) = &expr {
        compare::check_tests(reader, scope, source, &text.template, at);
    }
    if matches!(purpose, Purpose::Data | Purpose::Request) && position == Position::Data {
        compare::not_computed(reader, source, &expr, purpose == Purpose::Request);
    }
    let shape = match &expr {
        Expr::Typed(text) if text.template.is_single() => {
            let reference = text.template.references().first();
            reference.map_or(Shape::Any, |r| scope.look(r, at, Purpose::Condition).shape)
        }
        _ => Shape::Text,
    };
    (expr, shape)
}

/// A condition. One with a mistake (reported) is none.
pub fn condition(reader: &Reader<'_>, scope: &Scope<'_>, source: &Text, at: At) -> Option<Cond> {
    let mut resolve = scope.resolver(reader, at, Purpose::Condition, Position::Condition);
    let condition = build::condition(reader, source, &Policy::AGNTZ, &mut resolve)?;
    compare::check(reader, scope, source, &condition, at);
    Some(condition)
}
