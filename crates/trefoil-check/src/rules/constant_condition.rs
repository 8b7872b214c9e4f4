//! Conditions that read nothing, in whole or in part, and repeated parts. Usually the braces around a name are missing,
//! or a second comparison was left out.

use trefoil_ir::solver::TestTree;
use trefoil_ir::{BoundCondition, LiteralSpelling};
use trefoil_syntax::{Diagnostic, FindingSeverity, Location};
use trefoil_template::{ComparisonOperator, ConditionExpression, Reference, SourceValue, Value, ValueScope};

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::conditions::{self, ConditionPurpose, ConditionSite, literal_spelling, lone_literals};

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
    for (literal, at) in collect_literals(cond.condition.expression_tree()) {
        if is_quoted_placeholder(cond, literal) {
            let d = quoted_placeholder(cx, cond, &literal.to_text(), literal_spelling(cond, at));
            return cx.report_finding(d);
        }
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

/// A placeholder that is only text because of its quotes.
fn quoted_placeholder(
    cx: &RuleContext<'_>,
    cond: &BoundCondition,
    placeholder: &str,
    written: Option<&LiteralSpelling>,
) -> Diagnostic {
    let message = format!("`'{placeholder}'` is text, because of the quotes: the condition is always the same");
    let d = cx
        .new_finding(spelling_location(cond, written), message)
        .with_help(format!("remove the quotes around `{placeholder}`"));
    match written {
        Some(spelling) if spelling.quote.is_some() && !is_plain(cond) => {
            let at = Location::new(cond.origin.file, spelling.at);
            d.with_safe_fix(format!("write `{placeholder}`"), at, placeholder)
        }
        _ => d,
    }
}

/// Checks the operands of `and` and `or`: lone literals, comparisons of literals, and repetitions.
fn parts(cx: &mut RuleContext<'_>, cond: &BoundCondition, expression: &ConditionExpression) {
    match expression {
        ConditionExpression::And(all) | ConditionExpression::Or(all) => {
            alone(cx, cond, all);
            if has_repetition(cond, all) {
                let message = "this part of the condition has no effect: it is a repetition";
                let d = cx.new_finding(cond.origin, message);
                cx.report_finding(d.with_help("compare with another value, or remove one of the two"));
            }
            for part in all {
                if lone_literals(part).is_none() {
                    parts(cx, cond, part);
                }
            }
        }
        ConditionExpression::Not(inner) => parts(cx, cond, inner),
        ConditionExpression::Compare(operands, _) if operands.iter().all(|o| lone_literals(o).is_some()) => {
            let holds = cond.condition.with_expression(expression.clone()).evaluate_in(&EmptyScope).unwrap_or(false);
            let literals = collect_literals(expression);
            let spellings: Vec<_> = literals.iter().filter_map(|(_, at)| literal_spelling(cond, *at)).collect();
            let likely_name = spellings.iter().find(|s| s.is_name).or(spellings.first());
            let message = format!("this comparison reads no value, so it is always {holds}");
            let d = cx.new_finding(spelling_location(cond, likely_name.copied()), message);
            cx.report_finding(match braces(cond, expression, d) {
                Ok(d) => d,
                Err(d) => d.with_help("compare a value"),
            });
        }
        _ => {}
    }
}

/// Whether one of these parts that compares something says the same as one before it.
fn has_repetition(cond: &BoundCondition, all: &[ConditionExpression]) -> bool {
    let mut claims = Vec::new();
    for part in all {
        let claim = TestTree::from_expression(part, true).normalized_claim(&|r| path(cond, r));
        if claim.is_some() && claims.contains(&claim) && lone_literals(part).is_none() {
            return true;
        }
        claims.push(claim);
    }
    false
}

/// Lone literals as operands; their truth is known.
fn alone(cx: &mut RuleContext<'_>, cond: &BoundCondition, all: &[ConditionExpression]) {
    let Some(first) = all.iter().position(|part| lone_literals(part).is_some()) else { return };
    let (before, rest) = all.split_at(first);
    // One finding for several in a row.
    let row: Vec<_> = rest.iter().map_while(lone_literals).flatten().collect();
    let Some((value, at)) = row.first() else { return };
    let always = value.truth_value().unwrap_or(true);
    let message = format!("`{}` is not compared with anything, so it is always {always}", value.to_text());
    let written = literal_spelling(cond, *at);
    let d = cx.new_finding(spelling_location(cond, written), message);
    let words = cond.condition.dialect_words();
    let is_name = matches!(written, Some(spelling) if spelling.is_name);
    cx.report_finding(match before.iter().rev().find_map(|part| meant(cond, part, &row)) {
        _ if is_name => d.with_help(format!("write a name in braces: `{}`", words.read_syntax(&value.to_text()))),
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
    let ([ConditionExpression::Reference(r), right], [comparison]) = (operands.as_slice(), comparisons.as_slice())
    else {
        return None;
    };
    let words = cond.condition.dialect_words();
    let path = words.read_syntax(&path(cond, *r)?);
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
            let quotes = match literal_spelling(cond, *at) {
                Some(spelling) if spelling.quoted => "'",
                _ => "",
            };
            Some(format!("{path} {} {quotes}{}{quotes}", comparison.operator_sign(), value.to_text()))
        }
    }
}

/// Adds a suggestion to put braces around a word that may be a name. `Err`: the finding is unchanged, because names
/// need no braces or no word may be a name.
fn braces(cond: &BoundCondition, expression: &ConditionExpression, d: Diagnostic) -> Result<Diagnostic, Diagnostic> {
    let words = cond.condition.dialect_words();
    let literals = collect_literals(expression);
    let bare = unquoted_words(cond, &literals);
    let likely_name = bare.iter().find(|(_, spelling)| spelling.is_name).or(bare.first());
    let Some((word, written)) = likely_name else { return Err(d) };
    let placeholder = words.read_syntax(word);
    if placeholder == *word {
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

/// The literals that are text without quotes.
fn unquoted_words<'c>(
    cond: &'c BoundCondition,
    literals: &[(&'c Value, Option<u32>)],
) -> Vec<(&'c str, &'c LiteralSpelling)> {
    let mut bare = Vec::new();
    for (value, at) in literals {
        if let (Some(word), Some(spelling)) = (value.as_str(), literal_spelling(cond, *at))
            && !spelling.quoted
        {
            bare.push((word, spelling));
        }
    }
    bare
}

/// Whether a literal is a placeholder that is only text because of its quotes.
fn is_quoted_placeholder(cond: &BoundCondition, literal: &Value) -> bool {
    let (Some(text), reads) = (literal.as_str(), cond.condition.dialect_words().read_syntax("")) else { return false };
    let (open, close) = reads.split_at(reads.len() / 2);
    if open.is_empty() {
        return false;
    }
    let Some(path) = text.strip_prefix(open) else { return false };
    let Some(path) = path.strip_suffix(close) else { return false };
    let path = path.trim();
    !path.is_empty() && path.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// The literals of an expression, in order.
fn collect_literals(expression: &ConditionExpression) -> Vec<(&Value, Option<u32>)> {
    match expression {
        ConditionExpression::Literal(value, at) => vec![(value, at.0)],
        ConditionExpression::And(of)
        | ConditionExpression::Or(of)
        | ConditionExpression::List(of)
        | ConditionExpression::Compare(of, _) => of.iter().flat_map(collect_literals).collect(),
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
    match written {
        Some(spelling) => Location::new(cond.origin.file, spelling.at),
        None => cond.origin,
    }
}

/// A scope without values.
struct EmptyScope;

impl ValueScope for EmptyScope {
    fn source_value(&self, _: u32) -> SourceValue<'_> {
        SourceValue::Owned(Value::Null)
    }
}
