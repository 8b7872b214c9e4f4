//! Conditions that read nothing, in whole or in part, and repeated parts. Usually the braces around a name are missing,
//! or a second comparison was left out.

use trefoil_ir::solve::TestTree;
use trefoil_ir::{Cond, Spelling};
use trefoil_syntax::{Diagnostic, Location, Severity};
use trefoil_template::{Comparison, Expression, Found, Reference, Scope, Value};

use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::conditions::{self, Decides, Decision, lone, spelling};

pub(super) const RULE: Rule = Rule {
    name: "constant-condition",
    group: Group::Types,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("constant_condition.md"),
    run: Run::Program(run),
};

fn run(cx: &mut Context<'_>) {
    for decision in conditions::all(cx.model) {
        let cond = decision.cond;
        if cond.condition.is_constant() {
            whole(cx, &decision);
        } else {
            parts(cx, cond, cond.condition.expression());
        }
    }
}

/// A condition that reads nothing.
fn whole(cx: &mut Context<'_>, Decision { cond, of, .. }: &Decision<'_>) {
    let text = cond.text.trim();
    if let Some(quoted) = all(cond.condition.expression()).into_iter().find(|l| is_quoted_placeholder(cond, l.0)) {
        let (placeholder, written) = (quoted.0.to_text(), spelling(cond, quoted.1));
        let message = format!("`'{placeholder}'` is text, because of the quotes: the condition is always the same");
        let d = cx.finding(place(cond, written), message).help(format!("remove the quotes around `{placeholder}`"));
        return cx.report(match written.filter(|s| s.quote.is_some() && !is_plain(cond)) {
            Some(s) => d.fix(format!("write `{placeholder}`"), Location::new(cond.origin.file, s.at), &*placeholder),
            None => d,
        });
    }
    let holds = cond.condition.evaluate(&Nothing).unwrap_or(false);
    let always = match (of, holds) {
        (Decides::Step, true) => "the step always runs",
        (Decides::Step, false) => "the step never runs",
        (Decides::Loop, true) => "the loop ends after its first iteration",
        (Decides::Loop, false) => "the loop never ends before its limit",
        (Decides::Edge, true) => "the edge is always taken",
        (Decides::Edge, false) => "the edge is never taken",
        (Decides::Transition, true) => "the transition is always taken",
        (Decides::Transition, false) => "the transition is never taken",
    };
    // A literal `true` is a common way to mark something as unconditional.
    let meant = *of != Decides::Loop && text.eq_ignore_ascii_case("true");
    let d = cx.finding(cond.origin, format!("`{text}` reads no value, so {always}"));
    let d = if meant { Diagnostic { severity: Severity::Info, ..d } } else { d };
    let d = match braces(cond, cond.condition.expression(), d) {
        Ok(d) => d,
        Err(d) if holds => d.help("remove the condition, or compare a value"),
        Err(d) => d.help(format!("compare a value, as in `{}`", cond.condition.words().example)),
    };
    cx.report(d);
}

/// Checks the operands of `and` and `or`: lone literals, comparisons of literals, and repetitions.
fn parts(cx: &mut Context<'_>, cond: &Cond, expression: &Expression) {
    match expression {
        Expression::And(all) | Expression::Or(all) => {
            alone(cx, cond, all);
            let claims: Vec<_> = all.iter().map(|part| TestTree::of(part, true).about(&|r| path(cond, r))).collect();
            let same = |at: usize| claims.get(at).is_some_and(|c| c.is_some() && claims.iter().take(at).any(|b| b == c));
            let literal = |at: usize| all.get(at).is_some_and(|part| lone(part).is_some());
            if (0..all.len()).any(|at| same(at) && !literal(at)) {
                let message = "this part of the condition has no effect: it is a repetition";
                let d = cx.finding(cond.origin, message);
                cx.report(d.help("compare with another value, or remove one of the two"));
            }
            all.iter().filter(|part| lone(part).is_none()).for_each(|part| parts(cx, cond, part));
        }
        Expression::Not(inner) => parts(cx, cond, inner),
        Expression::Compare(operands, _) if operands.iter().all(|o| lone(o).is_some()) => {
            let holds = cond.condition.with(expression.clone()).evaluate(&Nothing).unwrap_or(false);
            let literals = all(expression);
            let first = literals.iter().filter_map(|l| spelling(cond, l.1));
            let at = first.clone().find(|s| s.is_name).or_else(|| first.clone().next());
            let message = format!("this comparison reads no value, so it is always {holds}");
            let d = cx.finding(place(cond, at), message);
            cx.report(braces(cond, expression, d).unwrap_or_else(|d| d.help("compare a value")));
        }
        _ => {}
    }
}

/// Lone literals as operands; their truth is known.
fn alone(cx: &mut Context<'_>, cond: &Cond, all: &[Expression]) {
    let Some(first) = all.iter().position(|part| lone(part).is_some()) else { return };
    let before = all.get(..first).unwrap_or_default().iter().rev();
    // One finding for several in a row.
    let row = all.iter().skip(first).map_while(lone).flatten().collect::<Vec<_>>();
    let Some((value, at)) = row.first() else { return };
    let always = value.truthy().unwrap_or(true);
    let message = format!("`{}` is not compared with anything, so it is always {always}", value.to_text());
    let d = cx.finding(place(cond, spelling(cond, *at)), message);
    let words = cond.condition.words();
    let name = spelling(cond, *at).filter(|s| s.is_name);
    cx.report(match before.filter_map(|part| meant(cond, part, &row)).next() {
        _ if name.is_some() => d.help(format!("write a name in braces: `{}`", words.reads(&value.to_text()))),
        Some(meant) => d.help(format!("write `{meant}`")),
        None => d.help(format!("write a comparison on each side: `{}`", words.example)),
    });
}

/// The intended comparison, made from the one before and the literals after it: `working.x in ("a", "b")`, `{{x}} ==
/// b`.
fn meant(cond: &Cond, before: &Expression, more: &[(&Value, Option<u32>)]) -> Option<String> {
    let (inner, turned) = match before {
        Expression::Not(inner) => (&**inner, true),
        other => (other, false),
    };
    let Expression::Compare(operands, comparisons) = inner else { return None };
    let ([Expression::Reference(r), right], [comparison]) = (operands.as_slice(), comparisons.as_slice()) else {
        return None;
    };
    let words = cond.condition.words();
    let path = words.reads(&cond.condition.references().get(*r as usize).map(Reference::dotted)?);
    let equal = match comparison {
        Comparison::Equal | Comparison::In => Some(!turned),
        Comparison::NotEqual | Comparison::NotIn => Some(turned),
        _ => None,
    };
    match (equal, words.one_of) {
        (Some(equal), true) => {
            let mut values = lone(right)?;
            values.extend(more);
            let list: Vec<String> = values.iter().map(|(v, _)| v.to_json().to_string()).collect();
            Some(format!("{path} {}in ({})", if equal { "" } else { "not " }, list.join(", ")))
        }
        _ => {
            let (value, at) = more.first()?;
            let quotes = if spelling(cond, *at).is_some_and(|s| s.quoted) { "'" } else { "" };
            Some(format!("{path} {} {quotes}{}{quotes}", comparison.sign(), value.to_text()))
        }
    }
}

/// Adds a suggestion to put braces around a word that may be a name. `Err`: the finding is unchanged, because names
/// need no braces or no word may be a name.
fn braces(cond: &Cond, expression: &Expression, d: Diagnostic) -> Result<Diagnostic, Diagnostic> {
    let words = cond.condition.words();
    let literals = all(expression);
    let mut bare = literals.iter().filter_map(|(v, at)| Some((v.as_str()?, spelling(cond, *at)?))).filter(|l| !l.1.quoted);
    let Some((word, written)) = bare.clone().find(|(_, s)| s.is_name).or_else(|| bare.next()) else { return Err(d) };
    let placeholder = words.reads(word);
    if placeholder == word {
        return Err(d);
    }
    let d = d.help(format!("write a name in braces: `{placeholder}`"));
    if !written.is_name || written.quote.is_none() {
        return Ok(d);
    }
    let message = format!("write `{placeholder}`");
    if !is_plain(cond) {
        return Ok(d.fix(message, Location::new(cond.origin.file, written.at), placeholder));
    }
    // At the start of an unquoted scalar, braces would be YAML.
    let start = (written.at.start - cond.origin.span.start) as usize;
    let (before, after) = (cond.text.get(..start), cond.text.get(start + word.len()..));
    let (Some(before), Some(after)) = (before, after) else { return Ok(d) };
    if cond.text.contains(['"', '\\', '\n']) {
        return Ok(d);
    }
    Ok(d.fix(message, cond.origin, format!("\"{before}{placeholder}{after}\"")))
}

/// Whether a literal is a placeholder that is only text because of its quotes.
fn is_quoted_placeholder(cond: &Cond, literal: &Value) -> bool {
    let (Some(text), reads) = (literal.as_str(), cond.condition.words().reads("")) else { return false };
    let (open, close) = reads.split_at(reads.len() / 2);
    let inner = text.strip_prefix(open).and_then(|t| t.strip_suffix(close)).filter(|_| !open.is_empty());
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    inner.map(str::trim).is_some_and(|path| !path.is_empty() && path.chars().all(part))
}

/// The literals of an expression, in order.
fn all(expression: &Expression) -> Vec<(&Value, Option<u32>)> {
    match expression {
        Expression::Literal(value, at) => vec![(value, at.0)],
        Expression::And(of) | Expression::Or(of) | Expression::List(of) | Expression::Compare(of, _) => {
            of.iter().flat_map(all).collect()
        }
        Expression::Not(inner) => all(inner),
        _ => Vec::new(),
    }
}

fn path(cond: &Cond, reference: u32) -> Option<String> {
    cond.condition.references().get(reference as usize).map(Reference::dotted)
}

/// Whether a scalar is unquoted and on one line.
fn is_plain(cond: &Cond) -> bool {
    (cond.origin.span.end - cond.origin.span.start) as usize == cond.text.len()
}

fn place(cond: &Cond, written: Option<&Spelling>) -> Location {
    written.map_or(cond.origin, |s| Location::new(cond.origin.file, s.at))
}

/// A scope without values.
struct Nothing;

impl Scope for Nothing {
    fn source(&self, _: u32) -> Found<'_> {
        Found::Owned(Value::Null)
    }
}
