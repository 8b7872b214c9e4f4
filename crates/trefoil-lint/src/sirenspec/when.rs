//! `is` in an edge's condition, which does not compare values.

use std::ops::Range;

use trefoil_syntax::Diagnostic;

use super::subject::{CheckedWorkflow, FindingList};
use trefoil_front::bound_text::BoundText;

/// Checks every valid condition.
pub fn check_conditions(subject: &CheckedWorkflow<'_>, found: &mut FindingList) {
    for bound in subject.texts.all_texts() {
        if bound.text.as_condition().is_some_and(|condition| !condition.is_constant()) {
            identity(&bound.text, found);
        }
    }
}

/// `is` before a literal.
fn identity(text: &BoundText, found: &mut FindingList) {
    for word in identities(&text.source.value) {
        let not = text.source.value.get(word.clone()).is_some_and(|w| w.ends_with("not"));
        let meant = if not { "!=" } else { "==" };
        let at = text.place_of(word.start as u32..word.end as u32);
        let message = "`is` tests identity, and a literal is never identical to a value";
        let d =
            Diagnostic::new_warning("misleading-operator", at, message).with_help(format!("use `{meant}` to compare"));
        found.push(d.with_safe_fix(format!("write `{meant}`"), at, meant));
    }
}

/// Every `is` and `is not` before a text or a number, outside quotes.
fn identities(text: &str) -> Vec<Range<usize>> {
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
    use super::identities;

    #[test]
    fn identity_is_found_where_a_literal_follows() {
        let words = |text: &str| identities(text).into_iter().map(|r| text[r].to_owned()).collect::<Vec<_>>();
        assert_eq!(words("working.a is 'x'"), ["is"]);
        assert_eq!(words("working.a is not \"x\" and working.b is 3"), ["is not", "is"]);
        for none in ["working.a is None", "working.is == 'is 3'", "working.a is not None", "working.this == 2"] {
            assert!(words(none).is_empty(), "{none}");
        }
    }
}
