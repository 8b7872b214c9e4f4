//! Literals that were meant to be more: a comparison in a value, which is text there (decision A6), and a word that names
//! something.

use trefoil_ir::{Position, types};
use trefoil_syntax::yaml::Text;
use trefoil_syntax::{Diagnostic, Location};
use trefoil_template::{Comparison, Condition, Expression, Policy, Template, Value};

use trefoil_front::agntz::bind::AgentText;
use trefoil_front::agntz::names::{Here, Purpose};
use trefoil_front::bound::{BoundText, Content};

use super::Found;

/// Looks at a condition, or at a value and the tests of its blocks.
pub fn check(AgentText { here, bound }: &AgentText, found: &mut Found) {
    match &bound.content {
        Content::Condition(condition) => named(here, bound, condition.expression(), found),
        Content::Template(template) => {
            template.expressions().iter().for_each(|e| named(here, bound, e, found));
            let data = matches!(here.purpose, Purpose::Data | Purpose::Request) && here.position == Position::Data;
            if data && template.literal().is_none() {
                found.extend(not_computed(&bound.source, bound.at, template, here.purpose == Purpose::Request));
            }
        }
        Content::Broken { .. } => {}
    }
}

/// A word without quotes that names a value as well, where a path is compared with it.
fn named(here: &Here, bound: &BoundText, expression: &Expression, found: &mut Found) {
    match expression {
        Expression::And(parts) | Expression::Or(parts) => {
            parts.iter().for_each(|part| named(here, bound, part, found));
        }
        Expression::Compare(operands, comparisons) => {
            let ([Expression::Reference(r), Expression::Literal(word, at)]
            | [Expression::Literal(word, at), Expression::Reference(r)]) = operands.as_slice()
            else {
                return;
            };
            let equality = matches!(comparisons.as_slice(), [Comparison::Equal | Comparison::NotEqual]);
            let used = bound.uses.get(*r as usize).filter(|_| equality);
            let (Some(word), Some(used), Some((at, _))) = (word.as_str(), used, bound.written(*at)) else { return };
            let quoted = (at.span.end - at.span.start) as usize != word.len();
            let root = word.split('.').next().unwrap_or_default();
            // A step is named after the route that leads to it, and the comparison is with the route.
            let known = here.names.inputs.get(root).is_some();
            // What a schema lists is meant as it is written.
            if quoted || !known || types::choices(&used.bound.schema()).is_some() || !here.has(word) {
                return;
            }
            let message = format!("`{word}` is text here, so the value of `{word}` is not read");
            let d = Diagnostic::info("not-a-placeholder", at, message);
            found.push(d.help(format!(
                "to compare `{}` with the value, write `{{{{{word}}}}}`; to compare with the text, put it in quotes",
                used.reference.dotted()
            )));
        }
        _ => {}
    }
}

/// Warns of a value that is written like a condition: templates put values in, and compute nothing.
fn not_computed(source: &Text, at: Location, template: &Template, sent: bool) -> Option<Diagnostic> {
    const OPERATORS: [&str; 8] = ["==", "!=", ">=", "<=", "&&", "||", ">", "<"];
    let value = &*source.value;
    // Longer texts are prose or code.
    let short = value.len() <= 200 && !value.trim().contains('\n') && !value.contains("{{#");
    if !short || template.is_single() || !OPERATORS.iter().any(|o| value.contains(o)) {
        return None;
    }
    let condition = Condition::parse(value, &Policy::AGNTZ).ok()?;
    let message = format!("`{}` is text here: nothing is compared", value.trim());
    let d = Diagnostic::warning("not-computed", at, message);
    let d = d.help("compare in `when` or `until`, or let an agent answer it in its `outputSchema`");
    computes(condition.expression(), sent).then_some(d)
}

/// Whether an expression can be meant as one, and not as text with signs in it. `sent`: it goes to another system, whose own
/// language may have such signs (`age >= {{min}}`), so only what compares a value with a number or a boolean counts.
fn computes(expression: &Expression, sent: bool) -> bool {
    let reads = |e: &Expression| matches!(e, Expression::Reference(_));
    match expression {
        Expression::And(parts) => parts.iter().all(|p| !sent && reads(p) || computes(p, sent)),
        Expression::Or(parts) => parts.iter().all(|p| !sent && reads(p) || computes(p, sent)),
        Expression::Compare(operands, comparisons) => {
            let ([left, right], [comparison]) = (operands.as_slice(), comparisons.as_slice()) else { return false };
            let amount = match right {
                Expression::Literal(Value::Number(_), _) => true,
                // `3 ? yes : no`
                Expression::Literal(Value::Str(text), _) => {
                    text.starts_with(|c: char| c.is_ascii_digit()) && text.contains(" ? ")
                }
                _ => false,
            };
            let sure = amount || matches!(right, Expression::Literal(Value::Bool(_) | Value::Null, _));
            let order = matches!(comparison, Comparison::Less | Comparison::Greater);
            reads(left) && (sure || !sent && !order)
        }
        _ => false,
    }
}
