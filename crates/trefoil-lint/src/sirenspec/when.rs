//! What is odd about an edge's condition although it is a sentence of the language: it reads nothing, or says `is` where
//! two values are compared.

use std::ops::Range;

use trefoil_syntax::yaml::Text;
use trefoil_syntax::{Diagnostic, Severity};
use trefoil_template::{Comparison, Condition, Expression, Found, Scope, Value};

use super::subject::Subject;
use trefoil_front::{Reader, mend};

/// Looks at every condition that could be read.
pub fn check(subject: &Subject<'_, '_>) {
    for bound in subject.texts.all() {
        if let Some(cond) = bound.text.as_condition() {
            one(subject.reader, &bound.text.source, cond);
        }
    }
}

fn one(reader: &Reader<'_>, text: &Text, cond: &Condition) {
    if cond.is_constant() {
        constant(reader, text, cond);
        return;
    }
    parts(reader, text, cond, cond.expression());
    for word in identity(&text.value) {
        let not = text.value.get(word.clone()).is_some_and(|w| w.ends_with("not"));
        let meant = if not { "!=" } else { "==" };
        let at = reader.at(text.source(word.start as u32..word.end as u32));
        let message = "`is` tests identity, and a literal is never identical to a value";
        let d = Diagnostic::warning("condition-bad-operator", at, message).help(format!("use `{meant}` to compare"));
        reader.report(d.fix(format!("write `{meant}`"), at, meant));
    }
}

/// Looks at what is joined with `and` and `or`: literals alone, the same part twice; and at texts after `in`.
fn parts(reader: &Reader<'_>, text: &Text, cond: &Condition, expression: &Expression) {
    let at = |literal: &str| mend::literal(text, reader.file, literal).map_or(reader.at(text.span), |(at, _)| at);
    match expression {
        Expression::And(all) | Expression::Or(all) => {
            let mut told = false;
            for (i, part) in all.iter().enumerate() {
                parts(reader, text, cond, part);
                let before = all.get(..i).unwrap_or_default();
                if let Some(words) = alone(part) {
                    let first = words.first().and_then(Value::as_str).map_or(reader.at(text.span), at);
                    let shown: Vec<_> = words.iter().map(Value::to_text).collect();
                    let message =
                        format!("`{}` is not compared with anything, so it is always true", shown.join("`, `"));
                    let d = Diagnostic::warning("constant-condition", first, message);
                    let help = before.iter().rev().find_map(|b| joined(cond, b, &words));
                    let d = match help {
                        Some(meant) => d.help(format!("write `{meant}`")),
                        None => d.help("write the comparison again before it"),
                    };
                    // One finding for all in a row.
                    if !std::mem::replace(&mut told, true) {
                        reader.report(d);
                    }
                } else if before.iter().any(|b| alike(cond, b, part)) {
                    let message = "this part of the condition has no effect: it is a repetition";
                    let d = Diagnostic::warning("constant-condition", reader.at(text.span), message);
                    reader.report(d.help("compare with another value, or remove one of the two"));
                }
            }
        }
        Expression::Not(inner) => parts(reader, text, cond, inner),
        Expression::Compare(operands, comparisons) => {
            for (pair, comparison) in operands.windows(2).zip(comparisons) {
                let [left, Expression::Literal(Value::Str(whole))] = pair else { continue };
                if !matches!(comparison, Comparison::In | Comparison::NotIn)
                    || matches!(left, Expression::Literal(_))
                    || is_item(cond, left)
                {
                    continue;
                }
                let message = format!("`in` with the text `{whole}` accepts every part of it, even an empty one");
                let d = Diagnostic::warning("condition-bad-operator", at(whole), message);
                reader.report(d.help(format!("for a list of one write `(\"{whole}\",)`, or compare with `==`")));
            }
        }
        _ => {}
    }
}

/// The values of a part that compares nothing.
fn alone(part: &Expression) -> Option<Vec<Value>> {
    match part {
        Expression::Literal(value) => {
            let holds = value.as_str().is_some_and(|t| !t.is_empty()) || value.as_list().is_some_and(|l| !l.is_empty());
            holds.then(|| value.as_list().map_or_else(|| vec![value.clone()], <[Value]>::to_vec))
        }
        Expression::List(items) if !items.is_empty() => items
            .iter()
            .map(|item| match item {
                Expression::Literal(value) => Some(value.clone()),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

/// The comparison that was meant: `working.x in ("a", "b")`.
fn joined(cond: &Condition, before: &Expression, more: &[Value]) -> Option<String> {
    let (inner, turned) = match before {
        Expression::Not(inner) => (&**inner, true),
        other => (other, false),
    };
    let Expression::Compare(operands, comparisons) = inner else { return None };
    let ([Expression::Reference(r), right], [comparison]) = (operands.as_slice(), comparisons.as_slice()) else {
        return None;
    };
    let not = match comparison {
        Comparison::Equal | Comparison::In => turned,
        Comparison::NotEqual | Comparison::NotIn => !turned,
        _ => return None,
    };
    let mut values = alone(right)?;
    values.extend(more.iter().cloned());
    let list: Vec<String> = values.iter().map(|v| v.to_json().to_string()).collect();
    let path = cond.references().get(*r as usize)?.dotted();
    Some(format!("{path} {}in ({})", if not { "not " } else { "" }, list.join(", ")))
}

/// Whether two parts are the same comparison.
fn alike(cond: &Condition, one: &Expression, other: &Expression) -> bool {
    let path = |r: &u32| cond.references().get(*r as usize).map(trefoil_template::Reference::dotted);
    let all =
        |a: &[Expression], b: &[Expression]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(cond, a, b));
    match (one, other) {
        (Expression::Reference(a), Expression::Reference(b)) => path(a) == path(b),
        (Expression::Literal(a), Expression::Literal(b)) => a == b,
        (Expression::List(a), Expression::List(b)) => all(a, b),
        (Expression::Compare(a, c), Expression::Compare(b, d)) => c == d && all(a, b),
        (Expression::Call(f, a), Expression::Call(g, b)) => f == g && all(a, b),
        (Expression::Not(a), Expression::Not(b)) => alike(cond, a, b),
        _ => false,
    }
}

fn constant(reader: &Reader<'_>, text: &Text, cond: &Condition) {
    let holds = cond.evaluate(&Nothing).unwrap_or(false);
    // A `true` that is written out is how some mark the edge that is always taken.
    let meant = holds && text.value.trim().eq_ignore_ascii_case("true");
    let severity = if meant { Severity::Info } else { Severity::Warning };
    let (always, help) = match holds {
        true => ("always", "remove `when` if the edge is always taken"),
        false => ("never", "compare a value that a node wrote: `working.intent == \"refund\"`"),
    };
    let message = format!("`{}` reads no value, so the edge is {always} taken", text.value.trim());
    reader.report(Diagnostic::new("constant-condition", severity, reader.at(text.span), message).help(help));
}

/// Nothing is there to be read.
struct Nothing;

impl Scope for Nothing {
    fn source(&self, _: u32) -> Found<'_> {
        Found::Owned(Value::Null)
    }
}

/// Every `is` and `is not` in front of a text or a number, outside of quotes.
fn identity(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut quote = None;
    let mut word: Option<usize> = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (quote, c) {
            (Some(open), _) => {
                if c == open {
                    quote = None;
                }
                continue;
            }
            (None, '"' | '\'') => quote = Some(c),
            _ => {}
        }
        if c.is_alphanumeric() || matches!(c, '_' | '.') {
            word.get_or_insert(at);
            continue;
        }
        let Some(start) = word.take() else { continue };
        if text.get(start..at) != Some("is") {
            continue;
        }
        let rest = text.get(at..).unwrap_or_default();
        let not = rest.trim_start().strip_prefix("not").filter(|r| r.starts_with([' ', '"', '\'']));
        let (end, operand) = match not {
            Some(after) => (text.len() - after.len(), after),
            None => (at, rest),
        };
        if operand.trim_start().starts_with(|c: char| matches!(c, '"' | '\'' | '-') || c.is_ascii_digit()) {
            found.push(start..end);
        }
    }
    found
}

/// Whether a value is an item of another, which is never empty: one character of a text.
fn is_item(cond: &Condition, value: &Expression) -> bool {
    match value {
        Expression::Index(..) => true,
        Expression::Reference(r) => {
            let last = cond.references().get(*r as usize).and_then(|r| r.path.last());
            last.is_some_and(|s| s.name.bytes().all(|b| b.is_ascii_digit()))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::identity;

    #[test]
    fn identity_is_found_where_a_literal_follows() {
        let words = |text: &str| identity(text).into_iter().map(|r| text[r].to_owned()).collect::<Vec<_>>();
        assert_eq!(words("working.a is 'x'"), ["is"]);
        assert_eq!(words("working.a is not \"x\" and working.b is 3"), ["is not", "is"]);
        for none in ["working.a is None", "working.is == 'is 3'", "working.a is not None", "working.this == 2"] {
            assert!(words(none).is_empty(), "{none}");
        }
    }
}
