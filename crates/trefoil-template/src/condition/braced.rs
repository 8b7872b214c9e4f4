//! agntz `when` and `until`: `{{path}} == literal && ...`, no parentheses, no negation.

use crate::error::sign_of;
use std::ops::Range;

use super::literal::{self, BadLiteral, ends_bare};
use crate::expression::{ComparisonOperator, ConditionExpression};
use crate::path;
use crate::template::builder::TemplateBuilder;
use crate::template::scanner::{TagEnd, end_of_quoted, find_close};
use crate::value::Value;

const SYNTAX: &str = "condition-syntax";
const OPERATOR: &str = "condition-bad-operator";

enum BracedToken {
    Operand(ConditionExpression),
    Compare(ComparisonOperator),
    And,
    Or,
}

/// Reads the whole source.
pub(super) fn parse(b: &mut TemplateBuilder<'_>) -> Option<ConditionExpression> {
    let tokens = tokens(b);
    // After a mistake, further errors may be consequences of it.
    let mut clean = b.mistakes.is_empty();
    let mut alternatives = Vec::new();
    let mut all = Vec::new();
    let mut left: Option<ConditionExpression> = None;
    let mut comparison: Option<(ComparisonOperator, Range<usize>)> = None;
    let mut compared = false;
    let mut before: Option<Range<usize>> = None;
    let end = b.source.len();
    for (token, span) in tokens.into_iter().map(|(t, s)| (Some(t), s)).chain([(None, end..end)]) {
        match token {
            Some(BracedToken::Operand(operand)) => match (left.take(), comparison.take()) {
                (None, _) => left = Some(operand),
                (Some(a), Some((c, _))) => {
                    left = Some(ConditionExpression::Compare(vec![a, operand], vec![c]));
                    compared = true;
                }
                (Some(a), None) => {
                    if clean {
                        two_values(b, span.clone());
                        clean = false;
                    }
                    left = Some(a);
                }
            },
            Some(BracedToken::Compare(c)) => {
                if left.is_none() || comparison.is_some() {
                    report_missing_value(b, &span, before.as_ref(), "before");
                } else if compared && clean {
                    b.mistakes
                        .add_mistake(OPERATOR, span.clone(), "two comparisons without `&&` or `||` between them")
                        .set_help("write `a == b && b == c`");
                }
                comparison = Some((c, span.clone()));
            }
            joint @ (Some(BracedToken::And | BracedToken::Or) | None) => {
                if comparison.take().is_some() || left.is_none() {
                    report_missing_value(
                        b,
                        &span,
                        before.as_ref(),
                        if joint.is_some() { "before" } else { "at the end" },
                    );
                }
                all.push(left.take().unwrap_or(ConditionExpression::from_value(Value::Null)));
                compared = false;
                if !matches!(joint, Some(BracedToken::And)) {
                    alternatives.push(one_or(std::mem::take(&mut all), ConditionExpression::And));
                }
            }
        }
        before = Some(span);
    }
    Some(one_or(alternatives, ConditionExpression::Or))
}

fn one_or(
    mut list: Vec<ConditionExpression>,
    many: fn(Vec<ConditionExpression>) -> ConditionExpression,
) -> ConditionExpression {
    match list.pop() {
        Some(only) if list.is_empty() => only,
        Some(last) => {
            list.push(last);
            many(list)
        }
        None => ConditionExpression::from_value(Value::Null),
    }
}

/// Operators of other languages written as words. With `None`, the help says what to do instead.
const WORDS: &[(&str, Option<&str>)] = &[
    ("and", Some("&&")),
    ("or", Some("||")),
    ("eq", Some("==")),
    ("equals", Some("==")),
    ("is", Some("==")),
    ("ne", Some("!=")),
    ("gt", Some(">")),
    ("gte", Some(">=")),
    ("ge", Some(">=")),
    ("lt", Some("<")),
    ("lte", Some("<=")),
    ("le", Some("<=")),
    ("contains", None),
    ("in", None),
    ("includes", None),
    ("matches", None),
    ("startsWith", None),
    ("endsWith", None),
    ("like", None),
];

/// An operator of another language written as a word between two values: at the start of the second, or at the end of
/// the first.
fn word_between(b: &TemplateBuilder<'_>, second: &Range<usize>) -> Option<(Range<usize>, Option<&'static str>)> {
    let known = |word: &str| WORDS.iter().find(|(w, _)| w.eq_ignore_ascii_case(word)).map(|(_, sign)| *sign);
    let text = b.source_slice(second.clone());
    let first = text.split_whitespace().next().unwrap_or_default();
    if let Some(sign) = known(first) {
        return Some((second.start..second.start + first.len(), sign));
    }
    let before = b.source_slice(0..second.start).trim_end();
    let last = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    known(last).map(|sign| (before.len() - last.len()..before.len(), sign))
}

fn two_values(b: &mut TemplateBuilder<'_>, span: Range<usize>) {
    if let Some((word, sign)) = word_between(b, &span) {
        let message = format!("unknown operator `{}`", b.source_slice(word.clone()));
        let noted = b.mistakes.add_mistake(OPERATOR, word, message);
        match sign {
            Some(sign) => noted.set_replacement(sign).set_help(format!("write `{sign}`")),
            None => noted.set_help(
                "the operators are `==`, `!=`, `<`, `>`, `<=`, `>=`; for anything else, let an agent decide and compare its answer",
            ),
        }
        return;
    }
    b.mistakes
        .add_mistake(SYNTAX, span, "two values without an operator between them")
        .set_help("compare them (`==`, `!=`, `<`, `>`, `<=`, `>=`) or join them (`&&`, `||`); text next to `{{path}}` is not added to its value");
}

fn report_missing_value(b: &mut TemplateBuilder<'_>, span: &Range<usize>, before: Option<&Range<usize>>, place: &str) {
    let at = if span.is_empty() { before.unwrap_or(span) } else { span };
    let shown = b.source_slice(at.clone());
    let message = match place {
        "before" => format!("a value is missing before `{shown}`"),
        _ => format!("a value is missing after `{shown}`"),
    };
    let joint = matches!(shown, "&&" | "||");
    b.mistakes.add_mistake(SYNTAX, at.clone(), message).set_help(if joint {
        "add a comparison, or remove the operator"
    } else {
        "for empty text write `''`"
    });
}

/// Operators, longest first, and what to write instead of unsupported ones.
const OPERATORS: [(&str, Option<ComparisonOperator>, &str); 27] = [
    ("= >", Some(ComparisonOperator::GreaterEqual), "write `>=`"),
    ("= <", Some(ComparisonOperator::LessEqual), "write `<=`"),
    ("> =", Some(ComparisonOperator::GreaterEqual), "write `>=`"),
    ("< =", Some(ComparisonOperator::LessEqual), "write `<=`"),
    ("= =", Some(ComparisonOperator::Equal), "write `==`"),
    ("! =", Some(ComparisonOperator::NotEqual), "write `!=`"),
    ("=!", Some(ComparisonOperator::NotEqual), "write `!=`"),
    ("~=", Some(ComparisonOperator::Equal), "patterns are not supported; compare whole values with `==` or `!=`"),
    ("≥", Some(ComparisonOperator::GreaterEqual), "write `>=`"),
    ("≤", Some(ComparisonOperator::LessEqual), "write `<=`"),
    ("≠", Some(ComparisonOperator::NotEqual), "write `!=`"),
    ("===", Some(ComparisonOperator::Equal), "write `==`"),
    ("!==", Some(ComparisonOperator::NotEqual), "write `!=`"),
    ("==", Some(ComparisonOperator::Equal), ""),
    ("!=", Some(ComparisonOperator::NotEqual), ""),
    (">=", Some(ComparisonOperator::GreaterEqual), ""),
    ("<=", Some(ComparisonOperator::LessEqual), ""),
    ("=>", Some(ComparisonOperator::GreaterEqual), "write `>=`"),
    ("=<", Some(ComparisonOperator::LessEqual), "write `<=`"),
    ("<>", Some(ComparisonOperator::NotEqual), "write `!=`"),
    (">", Some(ComparisonOperator::Greater), ""),
    ("<", Some(ComparisonOperator::Less), ""),
    ("=", Some(ComparisonOperator::Equal), "write `==`"),
    ("!", None, "`!` is not supported; write `== false`, `== null` or `!=`"),
    ("&", None, "write `&&`"),
    ("|", None, "write `||`"),
    ("(", None, "`&&` binds tighter than `||`; write out the alternatives"),
];

fn tokens(b: &mut TemplateBuilder<'_>) -> Vec<(BracedToken, Range<usize>)> {
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        let rest = b.source_slice(at..b.source.len());
        at += rest.len() - rest.trim_start().len();
        let rest = rest.trim_start();
        let Some(c) = rest.chars().next() else { return tokens };
        let start = at;
        let token = if rest.starts_with("{{") {
            let (end, operand) = placeholder(b, at);
            at = end;
            Some(BracedToken::Operand(operand))
        } else if rest.starts_with("&&") || rest.starts_with("||") {
            at += 2;
            Some(if c == '&' { BracedToken::And } else { BracedToken::Or })
        } else if let Some((text, comparison, instead)) =
            OPERATORS.iter().find(|(op, ..)| rest.starts_with(op)).filter(|(op, ..)| {
                // A non-ASCII sign is text wherever text is allowed.
                op.is_ascii() || matches!(tokens.last(), Some((BracedToken::Operand(_), _)))
            })
        {
            at += text.len();
            if *text == "(" {
                b.mistakes.add_mistake(SYNTAX, start..at, "parentheses are not supported here").set_help(*instead);
            } else if !instead.is_empty() {
                let noted = b.mistakes.add_mistake(OPERATOR, start..at, format!("unknown operator `{text}`"));
                if let Some(sign) = sign_of(instead) {
                    noted.set_replacement(sign);
                }
                noted.set_help(*instead);
            }
            match *text {
                "&" => Some(BracedToken::And),
                "|" => Some(BracedToken::Or),
                _ => comparison.map(BracedToken::Compare),
            }
        } else if c == ')' || c == '{' || c == '}' {
            at += c.len_utf8();
            // The closing parenthesis matches an opening one that is already reported.
            if c != ')' || !b.source_slice(0..start).contains('(') {
                b.mistakes
                    .add_mistake(SYNTAX, start..at, format!("unexpected `{c}`"))
                    .set_help("write a path as `{{path}}`");
            }
            None
        } else if (c == '"' || c == '\'') && follows_word(b, start) {
            at += rest.find(char::is_whitespace).unwrap_or(rest.len());
            BadLiteral::Character(0, c).report_mistake(&mut b.mistakes, SYNTAX, start..at, true);
            None
        } else if c == '"' || c == '\'' {
            match end_of_quoted(b.source.as_bytes(), at, false) {
                Some(end) => {
                    at = end + 1;
                    Some(BracedToken::Operand(b.literal_expression(b.source_slice(start + 1..end), start..at)))
                }
                None => {
                    at = b.source.len();
                    BadLiteral::Unclosed.report_mistake(&mut b.mistakes, SYNTAX, start..at, true);
                    Some(BracedToken::Operand(ConditionExpression::from_value(Value::Null)))
                }
            }
        } else {
            let text = rest.get(..rest.find(ends_bare).unwrap_or(rest.len())).unwrap_or_default().trim_end();
            at += text.len();
            bare(b, start..at)
        };
        if let Some(token) = token {
            tokens.push((token, start..at));
        }
    }
}

/// Whether unquoted text ends directly before `at`.
fn follows_word(b: &TemplateBuilder<'_>, at: usize) -> bool {
    b.source_slice(0..at).chars().next_back().is_some_and(|c| !c.is_whitespace() && !ends_bare(c))
}

/// An unquoted literal. A lone `and` or `or` is read as the operator that was meant.
fn bare(b: &mut TemplateBuilder<'_>, span: Range<usize>) -> Option<BracedToken> {
    let text = b.source_slice(span.clone());
    match literal::read_literal(text) {
        Ok(value) => Some(BracedToken::Operand(b.literal_expression(value, span))),
        Err(bad) => {
            bad.report_mistake(&mut b.mistakes, OPERATOR, span, true);
            match text.split_whitespace().next() {
                Some("and") => Some(BracedToken::And),
                Some("or") => Some(BracedToken::Or),
                Some("not") => None,
                _ => Some(BracedToken::Operand(ConditionExpression::from_value(text))),
            }
        }
    }
}

/// Reads `{{path}}` at `open` and returns its end.
fn placeholder(b: &mut TemplateBuilder<'_>, open: usize) -> (usize, ConditionExpression) {
    const CODE: &str = "condition-bad-path";
    let nothing = ConditionExpression::from_value(Value::Null);
    let close = match find_close(b.source, open + 2, false) {
        TagEnd::At(close) => close,
        TagEnd::Nested(next) => {
            b.mistakes.add_mistake(SYNTAX, open..next, "`{{` has no closing `}}`");
            return (next, nothing);
        }
        TagEnd::Never => {
            b.mistakes
                .add_mistake(SYNTAX, open..b.source.len(), "`{{` has no closing `}}`")
                .set_help("write `{{path}}`");
            return (b.source.len(), nothing);
        }
    };
    let end = close + 2;
    let inner = b.source_slice(open + 2..close);
    let path = inner.trim();
    let start = open + 2 + (inner.len() - inner.trim_start().len());
    let span = start..start + path.len();
    if path.is_empty() {
        b.mistakes.add_mistake(CODE, open..end, "empty placeholder").set_help("write `{{path}}`");
        return (end, nothing);
    }
    if path.starts_with('/') && !b.mistakes.is_empty() {
        return (end, nothing);
    }
    if path.starts_with(['#', '/']) {
        b.mistakes
            .add_mistake(SYNTAX, open..end, "blocks are not allowed in conditions")
            .set_help("write `{{path}}` and compare it");
        return (end, nothing);
    }
    match path::parse_dotted(b.source, span.clone()) {
        Ok(path) => {
            let reference = b.add_reference(path, span, None);
            (end, ConditionExpression::Reference(reference))
        }
        Err(bad) => {
            bad.report_mistake(&mut b.mistakes, CODE, b.source, span, |c| {
                Some(match c {
                    '&' | '|' | '=' | '!' | '<' | '>' => "operators go outside the braces: `{{a}} == ...`".to_owned(),
                    '[' => "write `.0` for the first list item".to_owned(),
                    _ => return None,
                })
            });
            (end, nothing)
        }
    }
}
