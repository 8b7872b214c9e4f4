//! What is odd about an edge's condition although it is a sentence of the language: it reads nothing, or says `is` where
//! two values are compared.

use std::ops::Range;

use trefoil_ir::Cond;
use trefoil_syntax::yaml::Text;
use trefoil_syntax::{Diagnostic, Severity};
use trefoil_template::{Found, Scope, Value};

use crate::Reader;

/// Looks at a condition that could be read.
pub fn check(reader: &Reader<'_>, text: &Text, cond: &Cond) {
    if cond.condition.is_constant() {
        constant(reader, text, cond);
    }
    for word in identity(&text.value) {
        let not = text.value.get(word.clone()).is_some_and(|w| w.ends_with("not"));
        let meant = if not { "!=" } else { "==" };
        let at = reader.at(text.source(word.start as u32..word.end as u32));
        let message = "`is` asks whether two values are one and the same, and written text or numbers are not";
        let d = Diagnostic::warning("condition-bad-operator", at, message).help(format!("compare with `{meant}`"));
        reader.report(d.fix(format!("write `{meant}`"), at, meant));
    }
}

fn constant(reader: &Reader<'_>, text: &Text, cond: &Cond) {
    let holds = cond.condition.evaluate(&Nothing).unwrap_or(false);
    // A `true` that is written out is how some mark the edge that is always taken.
    let meant = holds && text.value.trim().eq_ignore_ascii_case("true");
    let severity = if meant { Severity::Info } else { Severity::Warning };
    let (always, help) = match holds {
        true => ("always", "leave `when` out for an edge that is always taken"),
        false => ("never", "compare something that a node wrote: `working.intent == \"refund\"`"),
    };
    let message = format!("`{}` reads nothing, so the edge is {always} taken", text.value.trim());
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
