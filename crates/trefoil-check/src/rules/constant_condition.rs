//! Conditions that read nothing, in whole or in part, and repeated parts. Usually the braces around a name are missing,
//! or a second comparison was left out.

use trefoil_ir::solver::TestTree;
use trefoil_ir::{BoundCondition, LiteralSpelling};
use trefoil_syntax::{Diagnostic, Location, FindingSeverity};
use trefoil_template::{ComparisonOperator, ConditionExpression, SourceValue, Reference, ValueScope, Value};

use crate::rule::{RuleContext, RuleGroup, Rule, RuleSource};
use crate::semantic::conditions::{self, ConditionPurpose, ConditionSite, lone_literals, literal_spelling};

pub(super) const RULE: Rule = Rule {
    name: "constant-condition",
    group: RuleGroup::Types,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("constant_condition.md"),
    run: RuleSource::Program(run),
};

fn run(cx: &mut RuleContext<'_>) {
    for decision in conditions::find_conditions(cx.model) {
        let cond = decision.cond;
        if cond.condition.is_constant() {
            whole(cx, &decision);
        } else {
            parts(cx, cond, cond.condition.expression_tree());
        }
    }
}

/// A condition that reads nothing.
fn whole(cx: &mut RuleContext<'_>, ConditionSite { cond, of, .. }: &ConditionSite<'_>) {
    let text = cond.text.trim();
    if let Some(quoted) = collect_literals(cond.condition.expression_tree()).into_iter().find(|l| is_quoted_placeholder(cond, l.0)) {
        let (placeholder, written) = (quoted.0.to_text(), literal_spelling(cond, quoted.1));
        let message = format!("`'{placeholder}'` is text, because of the quotes: the condition is always the same");
        let d = cx.new_finding(spelling_location(cond, written), message).with_help(format!("remove the quotes around `{placeholder}`"));
        return cx.report_finding(match written.filter(|s| s.quote.is_some() && !is_plain(cond)) {
            Some(s) => d.with_safe_fix(format!("write `{placeholder}`"), Location::new(cond.origin.file, s.at), &*placeholder),
            None => d,
        });
    }
    let holds = cond.condition.evaluate_in(&EmptyScope).unwrap_or(false);
    let always = match (of, holds) {
        (ConditionPurpose::Step, true) => "the step always runs",
        (ConditionPurpose::Step, false) => "the step never runs",
        (ConditionPurpose::Loop, true) => "the loop ends after its first iteration",
        (ConditionPurpose::Loop, false) => "the loop never ends before its limit",
        (ConditionPurpose::Edge, true) => "the edge is always taken",
        (ConditionPurpose::Edge, false) => "the edge is never taken",
        (ConditionPurpose::Transition, true) => "the transition is always taken",
        (ConditionPurpose::Transition, false) => "the transition is never taken",
    };
    // A literal `true` is a common way to mark something as unconditional.
    let meant = *of != ConditionPurpose::Loop && text.eq_ignore_ascii_case("true");
    let d = cx.new_finding(cond.origin, format!("`{text}` reads no value, so {always}"));
    let d = if meant { Diagnostic { severity: FindingSeverity::Info, ..d } } else { d };
    let d = match braces(cond, cond.condition.expression_tree(), d) {
        Ok(d) => d,
        Err(d) if holds => d.with_help("remove the condition, or compare a value"),
        Err(d) => d.with_help(format!("compare a value, as in `{}`", cond.condition.dialect_words().example)),
    };
    cx.report_finding(d);
}

/// Checks the operands of `and` and `or`: lone literals, comparisons of literals, and repetitions.
fn parts(cx: &mut RuleContext<'_>, cond: &BoundCondition, expression: &ConditionExpression) {
    match expression {
        ConditionExpression::And(all) | ConditionExpression::Or(all) => {
            alone(cx, cond, all);
            let claims: Vec<_> = all.iter().map(|part| TestTree::from_expression(part, true).normalized_claim(&|r| path(cond, r))).collect();
            let same = |at: usize| claims.get(at).is_some_and(|c| c.is_some() && claims.iter().take(at).any(|b| b == c));
            let literal = |at: usize| all.get(at).is_some_and(|part| lone_literals(part).is_some());
            if (0..all.len()).any(|at| same(at) && !literal(at)) {
                let message = "this part of the condition has no effect: it is a repetition";
                let d = cx.new_finding(cond.origin, message);
                cx.report_finding(d.with_help("compare with another value, or remove one of the two"));
            }
            all.iter().filter(|part| lone_literals(part).is_none()).for_each(|part| parts(cx, cond, part));
        }
        ConditionExpression::Not(inner) => parts(cx, cond, inner),
        ConditionExpression::Compare(operands, _) if operands.iter().all(|o| lone_literals(o).is_some()) => {
            let holds = cond.condition.with_expression(expression.clone()).evaluate_in(&EmptyScope).unwrap_or(false);
            let literals = collect_literals(expression);
            let first = literals.iter().filter_map(|l| literal_spelling(cond, l.1));
            let at = first.clone().find(|s| s.is_name).or_else(|| first.clone().next());
            let message = format!("this comparison reads no value, so it is always {holds}");
            let d = cx.new_finding(spelling_location(cond, at), message);
            cx.report_finding(braces(cond, expression, d).unwrap_or_else(|d| d.with_help("compare a value")));
        }
        _ => {}
    }
}

/// Lone literals as operands; their truth is known.
fn alone(cx: &mut RuleContext<'_>, cond: &BoundCondition, all: &[ConditionExpression]) {
    let Some(first) = all.iter().position(|part| lone_literals(part).is_some()) else { return };
    let before = all.get(..first).unwrap_or_default().iter().rev();
    // One finding for several in a row.
    let row = all.iter().skip(first).map_while(lone_literals).flatten().collect::<Vec<_>>();
    let Some((value, at)) = row.first() else { return };
    let always = value.truth_value().unwrap_or(true);
    let message = format!("`{}` is not compared with anything, so it is always {always}", value.to_text());
    let d = cx.new_finding(spelling_location(cond, literal_spelling(cond, *at)), message);
    let words = cond.condition.dialect_words();
    let name = literal_spelling(cond, *at).filter(|s| s.is_name);
    cx.report_finding(match before.filter_map(|part| meant(cond, part, &row)).next() {
        _ if name.is_some() => d.with_help(format!("write a name in braces: `{}`", words.read_syntax(&value.to_text()))),
        Some(meant) => d.with_help(format!("write `{meant}`")),
        None => d.with_help(format!("write a comparison on each side: `{}`", words.example)),
    });
}

/// The intended comparison, made from the one before and the literals after it: `working.x in ("a", "b")`, `{{x}} ==
/// b`.
fn meant(cond: &BoundCondition, before: &ConditionExpression, more: &[(&Value, Option<u32>)]) -> Option<String> {
    let (inner, turned) = match before {
        ConditionExpression::Not(inner) => (&**inner, true),
        other => (other, false),
    };
    let ConditionExpression::Compare(operands, comparisons) = inner else { return None };
    let ([ConditionExpression::Reference(r), right], [comparison]) = (operands.as_slice(), comparisons.as_slice()) else {
        return None;
    };
    let words = cond.condition.dialect_words();
    let path = words.read_syntax(&cond.condition.references().get(*r as usize).map(Reference::dotted_path)?);
    let equal = match comparison {
        ComparisonOperator::Equal | ComparisonOperator::In => Some(!turned),
        ComparisonOperator::NotEqual | ComparisonOperator::NotIn => Some(turned),
        _ => None,
    };
    match (equal, words.one_of) {
        (Some(equal), true) => {
            let mut values = lone_literals(right)?;
            values.extend(more);
            let list: Vec<String> = values.iter().map(|(v, _)| v.to_json().to_string()).collect();
            Some(format!("{path} {}in ({})", if equal { "" } else { "not " }, list.join(", ")))
        }
        _ => {
            let (value, at) = more.first()?;
            let quotes = if literal_spelling(cond, *at).is_some_and(|s| s.quoted) { "'" } else { "" };
            Some(format!("{path} {} {quotes}{}{quotes}", comparison.operator_sign(), value.to_text()))
        }
    }
}

/// Adds a suggestion to put braces around a word that may be a name. `Err`: the finding is unchanged, because names
/// need no braces or no word may be a name.
fn braces(cond: &BoundCondition, expression: &ConditionExpression, d: Diagnostic) -> Result<Diagnostic, Diagnostic> {
    let words = cond.condition.dialect_words();
    let literals = collect_literals(expression);
    let mut bare = literals.iter().filter_map(|(v, at)| Some((v.as_str()?, literal_spelling(cond, *at)?))).filter(|l| !l.1.quoted);
    let Some((word, written)) = bare.clone().find(|(_, s)| s.is_name).or_else(|| bare.next()) else { return Err(d) };
    let placeholder = words.read_syntax(word);
    if placeholder == word {
        return Err(d);
    }
    let d = d.with_help(format!("write a name in braces: `{placeholder}`"));
    if !written.is_name || written.quote.is_none() {
        return Ok(d);
    }
    let message = format!("write `{placeholder}`");
    if !is_plain(cond) {
        return Ok(d.with_safe_fix(message, Location::new(cond.origin.file, written.at), placeholder));
    }
    // At the start of an unquoted scalar, braces would be YAML.
    let start = (written.at.start - cond.origin.span.start) as usize;
    let (before, after) = (cond.text.get(..start), cond.text.get(start + word.len()..));
    let (Some(before), Some(after)) = (before, after) else { return Ok(d) };
    if cond.text.contains(['"', '\\', '\n']) {
        return Ok(d);
    }
    Ok(d.with_safe_fix(message, cond.origin, format!("\"{before}{placeholder}{after}\"")))
}

/// Whether a literal is a placeholder that is only text because of its quotes.
fn is_quoted_placeholder(cond: &BoundCondition, literal: &Value) -> bool {
    let (Some(text), reads) = (literal.as_str(), cond.condition.dialect_words().read_syntax("")) else { return false };
    let (open, close) = reads.split_at(reads.len() / 2);
    let inner = text.strip_prefix(open).and_then(|t| t.strip_suffix(close)).filter(|_| !open.is_empty());
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    inner.map(str::trim).is_some_and(|path| !path.is_empty() && path.chars().all(part))
}

/// The literals of an expression, in order.
fn collect_literals(expression: &ConditionExpression) -> Vec<(&Value, Option<u32>)> {
    match expression {
        ConditionExpression::Literal(value, at) => vec![(value, at.0)],
        ConditionExpression::And(of) | ConditionExpression::Or(of) | ConditionExpression::List(of) | ConditionExpression::Compare(of, _) => {
            of.iter().flat_map(collect_literals).collect()
        }
        ConditionExpression::Not(inner) => collect_literals(inner),
        _ => Vec::new(),
    }
}

fn path(cond: &BoundCondition, reference: u32) -> Option<String> {
    cond.condition.references().get(reference as usize).map(Reference::dotted_path)
}

/// Whether a scalar is unquoted and on one line.
fn is_plain(cond: &BoundCondition) -> bool {
    (cond.origin.span.end - cond.origin.span.start) as usize == cond.text.len()
}

fn spelling_location(cond: &BoundCondition, written: Option<&LiteralSpelling>) -> Location {
    written.map_or(cond.origin, |s| Location::new(cond.origin.file, s.at))
}

/// A scope without values.
struct EmptyScope;

impl ValueScope for EmptyScope {
    fn source_value(&self, _: u32) -> SourceValue<'_> {
        SourceValue::Owned(Value::Null)
    }
}
