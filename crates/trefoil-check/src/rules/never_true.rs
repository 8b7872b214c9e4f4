//! Comparisons that can only go one way: values of kinds that are never equal, words that a schema does not list, numbers
//! beyond a schema's limits.

use trefoil_ir::{Cond, StepKind};
use trefoil_syntax::{Location, Span, suggest};
use trefoil_template::{Comparison, Expression, Value};

use crate::rule::Context;
use crate::semantic::Model;
use crate::semantic::cases::{Truth, truth};
use crate::semantic::compare::{Compared, Side};
use trefoil_ir::types;

/// Looks on where lowering does not.
pub(super) fn run(cx: &mut Context<'_>) {
    let model = cx.model;
    let mut told: Vec<Location> = Vec::new();
    for compared in model.comparisons() {
        let Some((holds, why, help)) = settled(compared) else { continue };
        told.push(compared.at);
        let verdict = if holds { "is always true" } else { "can never be true" };
        let mut d = cx.finding(compared.at, format!("this comparison {verdict}: {why}"));
        d.help = help;
        cx.report(d);
    }
    for cond in taken(model) {
        let told = told.iter().any(|at| at.file == cond.origin.file && overlap(at.span, cond.origin.span));
        if told || cond.condition.is_constant() {
            continue;
        }
        if let Some(text) = alone(cond.condition.expression()) {
            let message = format!("`'{text}'` stands alone in this condition, and a text alone is always true");
            let or = cond.condition.words().or;
            let help = format!("write a full comparison, such as `a == 'x' {or} a == '{text}'`");
            cx.report(cx.finding(cond.origin, message).help(help));
        } else if truth(cond) == Truth::Always {
            let message = "this condition is always true: in every case, one of its parts is";
            let help = format!("to exclude several values, join the comparisons with `{}`", cond.condition.words().and);
            cx.report(cx.finding(cond.origin, message).help(help));
        }
    }
    for cond in edges(model) {
        let apart = |at: &Location| at.file != cond.origin.file || !overlap(at.span, cond.origin.span);
        if cond.condition.is_constant() || !told.iter().all(apart) {
            continue;
        }
        let (verdict, why, help) = match truth(cond) {
            Truth::Never => {
                let help = format!("if either one is enough, join them with `{}`", cond.condition.words().or);
                ("can never be true", "its parts exclude each other", help)
            }
            Truth::Always => (
                "is always true",
                "in every case, one of its parts is",
                format!("to exclude several values, join the comparisons with `{}`", cond.condition.words().and),
            ),
            Truth::Sometimes => continue,
        };
        cx.report(cx.finding(cond.origin, format!("this condition {verdict}: {why}")).help(help));
    }
    parts(cx, &told);
}

/// Parts of a condition that never hold beside an alternative, or always hold beside something else that has to. The condition
/// as a whole can still go both ways.
fn parts(cx: &mut Context<'_>, told: &[Location]) {
    let model = cx.model;
    let steps = model.reachable().iter().filter_map(|&(_, id)| model.program.step(id));
    let own = steps.flat_map(|step| match &step.kind {
        StepKind::Loop(each) => step.when.iter().chain(Some(&each.until)).collect::<Vec<_>>(),
        _ => step.when.iter().collect(),
    });
    let mut seen: Vec<Location> = Vec::new();
    for cond in own.chain(taken(model)).chain(edges(model)).collect::<Vec<_>>() {
        let at = cond.origin;
        let told = told.iter().any(|t| t.file == at.file && overlap(t.span, at.span));
        if told || seen.contains(&at) || cond.condition.is_constant() || truth(cond) != Truth::Sometimes {
            continue;
        }
        seen.push(at);
        let Some((verdict, which, of)) = settled_part(cond, cond.condition.expression()) else { continue };
        let words = cond.condition.words();
        let (message, other) = match verdict {
            Truth::Never => {
                let which = format!("alternative {which} of {of}");
                (format!("{which} in this condition can never be true: its parts exclude each other"), words.or)
            }
            _ => ("a part of this condition is always true, so it has no effect".to_owned(), words.and),
        };
        cx.report(cx.finding(cond.origin, message).help(format!("join its parts with `{other}`, or remove it")));
    }
}

/// The first part that is settled, counted from 1, and how many parts there are.
fn settled_part(cond: &Cond, expression: &Expression) -> Option<(Truth, usize, usize)> {
    let (all, settled) = match expression {
        Expression::Or(all) => (all, Truth::Never),
        Expression::And(all) => (all, Truth::Always),
        Expression::Not(inner) => return settled_part(cond, inner),
        _ => return None,
    };
    let alone = |part: &Expression| Cond { condition: cond.condition.with(part.clone()), ..cond.clone() };
    let mut joined = all.iter().enumerate().filter(|(_, part)| is_joined(part));
    joined.find_map(|(at, part)| match truth(&alone(part)) == settled {
        true => Some((settled, at + 1, all.len())),
        false => settled_part(cond, part),
    })
}

/// The conditions of edges that are made of several parts, and run.
fn edges<'p>(model: &Model<'p>) -> Vec<&'p Cond> {
    let mut found = Vec::new();
    for &(_, id) in model.reachable() {
        if let Some(StepKind::Graph(graph)) = model.program.step(id).map(|s| &s.kind) {
            found.extend(graph.nodes.iter().flat_map(|n| &n.incoming).filter_map(|e| e.when.as_ref()));
        }
    }
    found.retain(|c| match c.condition.expression() {
        // A part that is nothing but a value is told where it is read.
        Expression::And(all) | Expression::Or(all) => {
            !all.iter().any(|part| matches!(part, Expression::Literal(v) if v.as_str().is_some()))
        }
        Expression::Not(_) => true,
        _ => false,
    });
    found
}

/// The conditions of transitions that are made of several parts, as the manifest writes them.
fn taken<'p>(model: &Model<'p>) -> Vec<&'p Cond> {
    let machines = model.machines();
    let states = machines.iter().flat_map(|(machine, _)| &machine.states);
    let alive = states.filter(|s| model.reach().is_alive(s.step));
    let conds = alive.flat_map(|s| &s.transitions).filter_map(|t| t.when.as_ref());
    conds.filter(|c| is_joined(c.condition.expression()) && is_written(c)).collect()
}

/// Whether a condition is made of several parts.
pub(super) fn is_joined(expression: &Expression) -> bool {
    matches!(expression, Expression::And(_) | Expression::Or(_) | Expression::Not(_))
}

/// Whether a condition stands in the manifest as it is, not as a word that lowering knows.
pub(super) fn is_written(cond: &Cond) -> bool {
    cond.condition.references().iter().any(|r| !r.span.is_empty())
}

/// A text that is a part of its own, and so nothing but true.
fn alone(expression: &Expression) -> Option<&str> {
    let (Expression::And(parts) | Expression::Or(parts)) = expression else { return None };
    parts.iter().find_map(|part| match part {
        Expression::Literal(value) => value.as_str().filter(|text| !text.is_empty()),
        other => alone(other),
    })
}

fn overlap(a: Span, b: Span) -> bool {
    a.start < b.end && b.start < a.end
}

/// Whether it holds whatever the run brings, why, and what to write instead.
fn settled(compared: &Compared) -> Option<(bool, String, Option<String>)> {
    if compared.same {
        let always = match compared.comparison {
            Comparison::Equal => true,
            Comparison::NotEqual | Comparison::Less | Comparison::Greater => false,
            _ => return None,
        };
        return Some((always, format!("`{}` is compared with itself", compared.value.words), None));
    }
    match compared.comparison {
        Comparison::Equal | Comparison::NotEqual => {
            let (why, help) = unequal(compared)?;
            Some((compared.comparison == Comparison::NotEqual, why, help))
        }
        Comparison::In | Comparison::NotIn => None,
        _ => ordered(compared),
    }
}

fn unequal(compared: &Compared) -> Option<(String, Option<String>)> {
    let Compared { value, other, .. } = compared;
    if other.literal == Some(Value::Null) {
        // Elsewhere what is not there is null.
        if !compared.strict || compared.comparison != Comparison::Equal {
            return None;
        }
        let kinds = types::kinds(&value.schema).filter(|k| !k.is_empty() && !k.contains(&"null"))?;
        let why = format!("`{}` is {}, never null", value.words, types::spoken_kinds(&kinds));
        return Some((
            why,
            Some("to test for empty text, compare with `\"\"`".to_owned()).filter(|_| kinds == ["string"]),
        ));
    }
    let [kinds, others] = [value, other].map(|s| types::solid_kinds(&s.schema).filter(|k| !k.is_empty()));
    let (kinds, others) = (kinds?, others?);
    // Under strict rules true is 1 and false is 0.
    let alike =
        |a: &str, b: &str| a == b || (compared.strict && [a, b].iter().all(|k| ["number", "boolean"].contains(k)));
    if !kinds.iter().any(|a| others.iter().any(|b| alike(a, b))) {
        let why = format!(
            "`{}` is {}, and {} is {}",
            value.words,
            types::spoken_kinds(&kinds),
            written(other),
            types::spoken_kinds(&others)
        );
        let help = match (other.literal.as_ref().map(|l| (l, l.as_str())), kinds.as_slice()) {
            (Some((_, Some(text @ ("true" | "false")))), ["boolean"]) => Some(format!("write `{text}` without quotes")),
            (Some((_, Some(text))), ["number"]) if text.parse::<f64>().is_ok() => {
                Some(format!("write `{text}` without quotes"))
            }
            (Some((literal, None)), ["string"]) => {
                Some(format!("write `'{}'` in quotes to compare text", literal.to_text()))
            }
            _ => None,
        };
        return Some((why, help));
    }
    if let (["number"], Some(number)) = (kinds.as_slice(), other.literal.as_ref().and_then(Value::as_f64)) {
        let (low, high) = (bound(&value.schema, "minimum"), bound(&value.schema, "maximum"));
        if low.is_some_and(|low| number < low) || high.is_some_and(|high| number > high) {
            return Some((format!("`{}` is {}", value.words, range(low, high)?), None));
        }
        if number.fract() != 0.0 && types::is_integer(&value.schema) {
            return Some((format!("`{}` is a whole number", value.words), None));
        }
    }
    if let (Some(1.0), Some(text)) = (bound(&value.schema, "maxLength"), other.literal.as_ref().and_then(Value::as_str))
        && text.chars().count() > 1
    {
        let help = "compare the whole text, or test for a part with `\"...\" in`".to_owned();
        return Some((format!("`{}` is one character of a text", value.words), Some(help)));
    }
    let (choices, others) = (types::choices(&value.schema)?, types::choices(&other.schema)?);
    if others.iter().any(|o| choices.contains(o)) || choices.iter().all(Value::is_null) {
        return None;
    }
    let words: Vec<_> = choices.iter().filter(|c| !c.is_null()).map(Value::to_text).collect();
    let all = words.iter().take(12).map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ");
    let help = other.literal.as_ref().and_then(|l| {
        let near = suggest::nearest(l.as_str()?, words.iter().map(|w| &**w))?;
        Some(format!("did you mean `{near}`?"))
    });
    let is = if words.len() == 1 { "is" } else { "is one of" };
    Some((format!("`{}` {is} {all}", value.words), help))
}

/// An order that one side rules out, or that a schema's limits settle.
fn ordered(compared: &Compared) -> Option<(bool, String, Option<String>)> {
    let Compared { value, other, .. } = compared;
    let kinds = types::solid_kinds(&value.schema).filter(|k| !k.is_empty())?;
    let orderless: &[&str] = if compared.strict { &["object"] } else { &["boolean", "object", "array"] };
    if kinds.iter().all(|k| orderless.contains(k)) {
        let why = format!("`{}` is {}, which cannot be ordered", value.words, types::spoken_kinds(&kinds));
        return Some((false, why, None));
    }
    let limit = other.literal.as_ref()?.as_f64().filter(|_| kinds == ["number"])?;
    let low = bound(&value.schema, "minimum");
    let high = bound(&value.schema, "maximum");
    let never = match compared.comparison {
        Comparison::Greater => high.is_some_and(|h| h <= limit),
        Comparison::GreaterEqual => high.is_some_and(|h| h < limit),
        Comparison::Less => low.is_some_and(|l| l >= limit),
        Comparison::LessEqual => low.is_some_and(|l| l > limit),
        _ => false,
    };
    let always = match compared.comparison {
        Comparison::Greater => low.is_some_and(|l| l > limit),
        Comparison::GreaterEqual => low.is_some_and(|l| l >= limit),
        Comparison::Less => high.is_some_and(|h| h < limit),
        Comparison::LessEqual => high.is_some_and(|h| h <= limit),
        _ => false,
    };
    let always = always && !value.optional && !types::nullable(&value.schema);
    if !never && !always {
        return None;
    }
    Some((always, format!("`{}` is {}", value.words, range(low, high)?), None))
}

fn range(low: Option<f64>, high: Option<f64>) -> Option<String> {
    Some(match (low, high) {
        (Some(low), Some(high)) => format!("from {low} to {high}"),
        (Some(low), None) => format!("at least {low}"),
        (None, Some(high)) => format!("at most {high}"),
        (None, None) => return None,
    })
}

fn bound(of: &Value, key: &str) -> Option<f64> {
    of.get(key).and_then(Value::as_f64)
}

fn written(side: &Side) -> String {
    match &side.literal {
        Some(_) if side.words.is_empty() => "`\"\"`".to_owned(),
        Some(_) => format!("`{}`", side.words),
        None if side.words.is_empty() => "the other side".to_owned(),
        None => format!("`{}`", side.words),
    }
}
