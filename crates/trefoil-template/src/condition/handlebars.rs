//! AEGIS `custom`: paths, helper calls, comparisons, `&&`, `||`, `!`, parentheses. `{{ }}` around any part is optional.

use crate::error::sign_of;
use crate::expression::{ComparisonOperator, ConditionExpression};
use crate::handlebars::{HandlebarsCursor, MistakeCodes, find_helper};
use crate::template::builder::TemplateBuilder;

const CODES: MistakeCodes = MistakeCodes {
    path: "condition-bad-path",
    helper: "condition-unknown-name",
    arguments: "condition-syntax",
    syntax: "condition-syntax",
    deep: "condition-too-deep",
};

/// Reads the whole source.
pub(super) fn parse(b: &mut TemplateBuilder<'_>) -> Option<ConditionExpression> {
    let end = b.source.len();
    let mut c = HandlebarsCursor { b, at: 0, end, depth: 0, codes: &CODES, group: Some(group) };
    let expression = either(&mut c)?;
    if c.at < c.end {
        stray(&mut c);
        return None;
    }
    Some(expression)
}

fn either(c: &mut HandlebarsCursor<'_, '_>) -> Option<ConditionExpression> {
    joined(c, "||", both, ConditionExpression::Or)
}

fn both(c: &mut HandlebarsCursor<'_, '_>) -> Option<ConditionExpression> {
    joined(c, "&&", negated, ConditionExpression::And)
}

fn joined<'c, 't>(
    c: &mut HandlebarsCursor<'c, 't>,
    operator: &str,
    part: fn(&mut HandlebarsCursor<'c, 't>) -> Option<ConditionExpression>,
    make: fn(Vec<ConditionExpression>) -> ConditionExpression,
) -> Option<ConditionExpression> {
    let first = part(c)?;
    let mut parts = vec![first];
    while c.eat_text(operator) {
        parts.push(part(c)?);
    }
    if parts.len() == 1 { parts.pop() } else { Some(make(parts)) }
}

fn negated(c: &mut HandlebarsCursor<'_, '_>) -> Option<ConditionExpression> {
    c.skip_space();
    let at = c.at;
    if c.remaining_text().starts_with("!=") || !c.eat_text("!") {
        return comparison(c);
    }
    if !c.enter_level(at) {
        return None;
    }
    let inner = negated(c)?;
    c.depth -= 1;
    Some(ConditionExpression::Not(Box::new(inner)))
}

const COMPARISONS: [(&str, ComparisonOperator); 6] = [
    ("==", ComparisonOperator::Equal),
    ("!=", ComparisonOperator::NotEqual),
    ("<=", ComparisonOperator::LessEqual),
    (">=", ComparisonOperator::GreaterEqual),
    ("<", ComparisonOperator::Less),
    (">", ComparisonOperator::Greater),
];

fn comparison(c: &mut HandlebarsCursor<'_, '_>) -> Option<ConditionExpression> {
    let left = operand(c)?;
    let Some(found) = operator(c)? else { return Some(left) };
    let right = operand(c)?;
    let at = c.at;
    if operator(c)?.is_some() {
        c.b.mistakes
            .add_mistake("condition-bad-operator", at..c.at, "two comparisons without `&&` or `||` between them")
            .set_help("write `a < b && b < c`");
        return None;
    }
    Some(ConditionExpression::Compare(vec![left, right], vec![found]))
}

/// The next token as a comparison, if it is one.
fn operator(c: &mut HandlebarsCursor<'_, '_>) -> Option<Option<ComparisonOperator>> {
    let at = c.at;
    let wrong = [("===", "=="), ("!==", "!="), ("=>", ">="), ("=<", "<="), ("<>", "!=")];
    if let Some((wrong, right)) = wrong.into_iter().find(|(wrong, _)| c.remaining_text().starts_with(wrong)) {
        let message = format!("unknown operator `{wrong}`");
        c.b.mistakes
            .add_mistake("condition-bad-operator", at..at + wrong.len(), message)
            .set_replacement(right)
            .set_help(format!("write `{right}`"));
        return None;
    }
    Some(COMPARISONS.into_iter().find(|(text, _)| c.eat_text(text)).map(|(_, comparison)| comparison))
}

/// A group, a helper call, a literal or a path, with surrounding whitespace.
fn operand(c: &mut HandlebarsCursor<'_, '_>) -> Option<ConditionExpression> {
    c.skip_space();
    let name = c.peek_name();
    let after = c.at + name.len();
    let value = if find_helper(name).is_some() && takes_argument(c, after) {
        let span = c.at..after;
        c.at = after;
        c.parse_call(name, span)?
    } else if let (true, Some(meant)) = (takes_argument(c, after), crate::handlebars::closest_helper(name)) {
        let span = c.at..after;
        c.b.mistakes
            .add_mistake(CODES.helper, span, format!("unknown helper `{name}`"))
            .set_replacement(meant)
            .set_help(format!("did you mean `{meant}`?"));
        return None;
    } else if c.at_argument() {
        c.parse_argument()?
    } else {
        stray(c);
        return None;
    };
    c.skip_space();
    Some(value)
}

fn takes_argument(c: &mut HandlebarsCursor<'_, '_>, after: usize) -> bool {
    let before = std::mem::replace(&mut c.at, after);
    c.skip_space();
    let takes = c.at > after && c.at_argument() || c.remaining_text().starts_with('(');
    c.at = before;
    takes
}

/// `( ... )` or `{{ ... }}`.
fn group(c: &mut HandlebarsCursor<'_, '_>) -> Option<ConditionExpression> {
    let open = c.at;
    if !c.enter_level(open) {
        return None;
    }
    let (opening, closing) = if c.eat_text("(") {
        ("(", ")")
    } else if c.eat_text("{{{") {
        ("{{{", "}}}")
    } else if c.eat_text("{{") {
        ("{{", "}}")
    } else {
        stray(c);
        return None;
    };
    if matches!(c.peek_char(), Some('#' | '/')) {
        c.b.mistakes
            .add_mistake("condition-unsupported", open..c.end, "blocks are not allowed in conditions")
            .set_help("write only what would come after `#if`, for example `blackboard.n < 3`");
        return None;
    }
    let inner = either(c)?;
    if !c.eat_text(closing) {
        if c.at < c.end {
            stray(c);
        } else {
            c.b.mistakes
                .add_mistake("condition-syntax", open..c.end, format!("`{opening}` is not closed"))
                .set_help(format!("end it with `{closing}`"));
        }
        return None;
    }
    c.depth -= 1;
    Some(inner)
}

/// Reports an unexpected token where a value, an operator or the end is expected.
fn stray(c: &mut HandlebarsCursor<'_, '_>) {
    let word = c.peek_name();
    let rest = c.remaining_text();
    let Some(first) = rest.chars().next() else {
        let at = c.b.source.trim_end().len();
        c.b.mistakes.add_mistake("condition-syntax", at..at, "a value is missing at the end");
        return;
    };
    let (code, message, help) = match (word, first) {
        ("and", _) => ("condition-bad-operator", "`and` is not an operator between values".to_owned(), "write `&&`"),
        ("or", _) => ("condition-bad-operator", "`or` is not an operator between values".to_owned(), "write `||`"),
        ("is", _) => ("condition-bad-operator", "unknown operator `is`".to_owned(), "write `==`"),
        ("-", _) | (_, '+' | '*' | '/' | '%') => (
            "condition-unsupported",
            format!("`{first}`: conditions cannot do arithmetic"),
            "compute it in a state and compare its output",
        ),
        (_, '=') => ("condition-bad-operator", "unknown operator `=`".to_owned(), "write `==`"),
        (_, '&') if !rest.starts_with("&&") => {
            ("condition-bad-operator", "unknown operator `&`".to_owned(), "write `&&`")
        }
        (_, '|') if !rest.starts_with("||") => {
            ("condition-bad-operator", "unknown operator `|`".to_owned(), "write `||`")
        }
        (_, '[') => (
            "condition-bad-path",
            "`[` is not allowed in a path".to_owned(),
            "write a list item as `list.[0]` or `list.0`",
        ),
        ("", _) => {
            ("condition-syntax", format!("unexpected `{first}`"), "a value is a path, a literal or a helper call")
        }
        _ => (
            "condition-syntax",
            format!("expected an operator before `{word}`"),
            "write `==`, `&&` or `||` between them",
        ),
    };
    let len = if word.is_empty() { first.len_utf8() } else { word.len() };
    let noted = c.b.mistakes.add_mistake(code, c.at..c.at + len, message);
    if let Some(sign) = sign_of(help) {
        noted.set_replacement(sign);
    }
    noted.set_help(help);
}
