//! Conditions that can only go one way: without a placeholder, or with a comparison that can never be true (decision A6).

use trefoil_ir::Cond;
use trefoil_syntax::yaml::Text;
use trefoil_syntax::{Diagnostic, suggest};
use trefoil_template::{Comparison, Condition, Expression, Reference, Value};

use super::advice::list;
use super::scope::{At, Purpose, Scope};
use super::shape::{Shape, spoken};
use crate::read::Reader;

/// Warns of what is constant in a condition.
pub fn check(reader: &Reader<'_>, scope: &Scope<'_>, source: &Text, cond: &Cond, at: At) {
    let condition = &cond.condition;
    if condition.is_constant() {
        let message = format!("`{}` has no placeholder, so it is always the same", source.value);
        let d = Diagnostic::warning("constant-condition", reader.at(source.span), message);
        let word = source.value.split_whitespace().next().unwrap_or("name");
        let word = word.trim_matches(|c: char| "\"'=!<>&|".contains(c));
        reader.report(d.help(format!("a name is written in braces: `{{{{{word}}}}}`")));
        return;
    }
    let visitor = Visitor { reader, scope, source, condition, at };
    visitor.visit(condition.expression());
}

struct Visitor<'v, 'd> {
    reader: &'v Reader<'d>,
    scope: &'v Scope<'v>,
    source: &'v Text,
    condition: &'v Condition,
    at: At,
}

impl Visitor<'_, '_> {
    fn visit(&self, expression: &Expression) {
        match expression {
            Expression::And(parts) | Expression::Or(parts) => parts.iter().for_each(|p| self.visit(p)),
            Expression::Not(inner) => self.visit(inner),
            Expression::Compare(operands, comparisons) => {
                for (pair, comparison) in operands.windows(2).zip(comparisons) {
                    if let [left, right] = pair
                        && matches!(comparison, Comparison::Equal | Comparison::NotEqual)
                    {
                        self.equality(left, right, *comparison == Comparison::Equal);
                    }
                }
            }
            _ => {}
        }
    }

    fn equality(&self, left: &Expression, right: &Expression, equal: bool) {
        let (reference, literal) = match (left, right) {
            (Expression::Reference(r), Expression::Literal(v)) | (Expression::Literal(v), Expression::Reference(r)) => {
                (*r, v)
            }
            _ => return,
        };
        let Some(reference) = self.condition.references().get(reference as usize) else { return };
        let shape = self.scope.look(reference, self.at, Purpose::Condition).shape;
        let Some((why, help)) = impossible(reference, &shape, literal) else { return };
        let always = if equal { "can never be true" } else { "is always true" };
        let span = self.source.source(reference.span.clone());
        let mut d = Diagnostic::warning("never-true", self.reader.at(span), format!("this comparison {always}: {why}"));
        d.help = help;
        self.reader.report(d);
    }
}

/// Why a value of this shape never equals the literal, and what to write instead.
fn impossible(reference: &Reference, shape: &Shape, literal: &Value) -> Option<(String, Option<String>)> {
    let kind = kind_of(literal)?;
    let name = reference.dotted();
    let kinds = shape.kinds().filter(|k| !k.is_empty())?;
    if !kinds.contains(&kind) {
        let is = kinds.iter().map(|k| spoken(k)).collect::<Vec<_>>().join(" or ");
        let help = match (literal.as_str(), kinds.as_slice()) {
            (Some(text @ ("true" | "false")), ["boolean"]) => Some(format!("write `{text}` without quotes")),
            (Some(text), ["number"]) if text.parse::<f64>().is_ok() => Some(format!("write `{text}` without quotes")),
            (None, ["string"]) => Some(format!("for text write `'{}'` in quotes", literal.to_text())),
            _ => None,
        };
        return Some((format!("`{name}` is {is}, and this is {}", spoken(kind)), help));
    }
    let text = literal.as_str()?;
    let choices = shape.choices()?;
    if choices.iter().any(|c| &**c == text) {
        return None;
    }
    let all = list(choices.iter().map(|c| &**c));
    let help = suggest::nearest(text, choices.iter().map(|c| &**c)).map(|near| format!("did you mean `{near}`?"));
    Some((format!("`{name}` is one of {all}"), help))
}

fn kind_of(value: &Value) -> Option<&'static str> {
    Some(match value {
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::Str(_) => "string",
        Value::List(_) => "array",
        Value::Object(_) => "object",
        Value::Null | Value::Masked(_) => return None,
    })
}
