//! AEGIS `custom`: paths, helper calls, comparisons, `&&`, `||`, `!`, parentheses. `{{ }}` around any part is optional.

use crate::error::sign_of;
use crate::expression::{Comparison, Expression};
use crate::handlebars::{Codes, Cursor, helper};
use crate::template::build::TemplateBuilder;

const CODES: Codes = Codes {
    path: "condition-bad-path",
    helper: "condition-unknown-name",
    arguments: "condition-syntax",
    syntax: "condition-syntax",
    deep: "condition-too-deep",
};

/// Reads the whole source.
pub(super) fn parse(b: &mut TemplateBuilder<'_>) -> Option<Expression> {
    let end = b.source.len();
    let mut c = Cursor { b, at: 0, end, depth: 0, codes: &CODES, group: Some(group) };
    let expression = either(&mut c)?;
    if c.at < c.end {
        stray(&mut c);
        return None;
    }
    Some(expression)
}

fn either(c: &mut Cursor<'_, '_>) -> Option<Expression> {
    joined(c, "||", both, Expression::Or)
}

fn both(c: &mut Cursor<'_, '_>) -> Option<Expression> {
    joined(c, "&&", negated, Expression::And)
}

fn joined<'c, 't>(
    c: &mut Cursor<'c, 't>,
    operator: &str,
    part: fn(&mut Cursor<'c, 't>) -> Option<Expression>,
    make: fn(Vec<Expression>) -> Expression,
) -> Option<Expression> {
    let first = part(c)?;
    let mut parts = vec![first];
    while c.eat(operator) {
        parts.push(part(c)?);
    }
    if parts.len() == 1 { parts.pop() } else { Some(make(parts)) }
}

fn negated(c: &mut Cursor<'_, '_>) -> Option<Expression> {
    c.skip_space();
    let at = c.at;
    if c.rest().starts_with("!=") || !c.eat("!") {
        return comparison(c);
    }
    if !c.enter(at) {
        return None;
    }
    let inner = negated(c)?;
    c.depth -= 1;
    Some(Expression::Not(Box::new(inner)))
}

const COMPARISONS: [(&str, Comparison); 6] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessEqual),
    (">=", Comparison::GreaterEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

fn comparison(c: &mut Cursor<'_, '_>) -> Option<Expression> {
    let left = operand(c)?;
    let Some(found) = operator(c)? else { return Some(left) };
    let right = operand(c)?;
    let at = c.at;
    if operator(c)?.is_some() {
        c.b.mistakes
            .add("condition-bad-operator", at..c.at, "two comparisons without `&&` or `||` between them")
            .help("write `a < b && b < c`");
        return None;
    }
    Some(Expression::Compare(vec![left, right], vec![found]))
}

/// The next token as a comparison, if it is one.
fn operator(c: &mut Cursor<'_, '_>) -> Option<Option<Comparison>> {
    let at = c.at;
    let wrong = [("===", "=="), ("!==", "!="), ("=>", ">="), ("=<", "<="), ("<>", "!=")];
    if let Some((wrong, right)) = wrong.into_iter().find(|(wrong, _)| c.rest().starts_with(wrong)) {
        let message = format!("unknown operator `{wrong}`");
        c.b.mistakes
            .add("condition-bad-operator", at..at + wrong.len(), message)
            .meant(right)
            .help(format!("write `{right}`"));
        return None;
    }
    Some(COMPARISONS.into_iter().find(|(text, _)| c.eat(text)).map(|(_, comparison)| comparison))
}

/// A group, a helper call, a literal or a path, with surrounding whitespace.
fn operand(c: &mut Cursor<'_, '_>) -> Option<Expression> {
    c.skip_space();
    let name = c.peek_name();
    let after = c.at + name.len();
    let value = if helper(name).is_some() && takes_argument(c, after) {
        let span = c.at..after;
        c.at = after;
        c.call(name, span)?
    } else if let (true, Some(meant)) = (takes_argument(c, after), crate::handlebars::closest(name)) {
        let span = c.at..after;
        c.b.mistakes
            .add(CODES.helper, span, format!("unknown helper `{name}`"))
            .meant(meant)
            .help(format!("did you mean `{meant}`?"));
        return None;
    } else if c.at_argument() {
        c.argument()?
    } else {
        stray(c);
        return None;
    };
    c.skip_space();
    Some(value)
}

fn takes_argument(c: &mut Cursor<'_, '_>, after: usize) -> bool {
    let before = std::mem::replace(&mut c.at, after);
    c.skip_space();
    let takes = c.at > after && c.at_argument() || c.rest().starts_with('(');
    c.at = before;
    takes
}

/// `( ... )` or `{{ ... }}`.
fn group(c: &mut Cursor<'_, '_>) -> Option<Expression> {
    let open = c.at;
    if !c.enter(open) {
        return None;
    }
    let (opening, closing) = if c.eat("(") {
        ("(", ")")
    } else if c.eat("{{{") {
        ("{{{", "}}}")
    } else if c.eat("{{") {
        ("{{", "}}")
    } else {
        stray(c);
        return None;
    };
    if matches!(c.peek(), Some('#' | '/')) {
        c.b.mistakes
            .add("condition-unsupported", open..c.end, "blocks are not allowed in conditions")
            .help("write only what would come after `#if`, for example `blackboard.n < 3`");
        return None;
    }
    let inner = either(c)?;
    if !c.eat(closing) {
        if c.at < c.end {
            stray(c);
        } else {
            c.b.mistakes
                .add("condition-syntax", open..c.end, format!("`{opening}` is not closed"))
                .help(format!("end it with `{closing}`"));
        }
        return None;
    }
    c.depth -= 1;
    Some(inner)
}

/// Reports an unexpected token where a value, an operator or the end is expected.
fn stray(c: &mut Cursor<'_, '_>) {
    let word = c.peek_name();
    let rest = c.rest();
    let Some(first) = rest.chars().next() else {
        let at = c.b.source.trim_end().len();
        c.b.mistakes.add("condition-syntax", at..at, "a value is missing at the end");
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
    let noted = c.b.mistakes.add(code, c.at..c.at + len, message);
    if let Some(sign) = sign_of(help) {
        noted.meant(sign);
    }
    noted.help(help);
}
