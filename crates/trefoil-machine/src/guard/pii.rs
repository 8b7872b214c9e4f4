//! Personal data: e-mail addresses, phone numbers, social security numbers, card numbers. The patterns take linear
//! time.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use trefoil_ir::{PiiAction, PiiEntity};

use super::{CheckSubject, VerdictRuling};

/// A pattern of this file; the tests that use it check that it compiles.
macro_rules! pattern {
    ($name:ident, $text:literal) => {
        static $name: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($text).ok());
    };
}

pattern!(EMAIL, r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}");
pattern!(PHONE, r"(?:\+\d{1,3}[-. ]?)?(?:\(\d{3}\)[-. ]?|\b\d{3}[-. ])\d{3}[-. ]\d{4}\b|\+\d{1,3}[-. ]?\d{7,12}\b");
pattern!(SSN, r"\b\d{3}-\d{2}-\d{4}\b");
pattern!(CARD, r"\b\d(?:[ -]?\d){12,18}\b");

/// All matches in a text: their spans and kinds.
pub fn find_personal_data(text: &str, entities: &[PiiEntity]) -> Vec<(Range<usize>, String)> {
    let mut found = Vec::new();
    for &entity in entities {
        let pattern = match entity {
            PiiEntity::Email => &EMAIL,
            PiiEntity::Phone => &PHONE,
            PiiEntity::Ssn => &SSN,
            PiiEntity::CreditCard => &CARD,
        };
        let Some(pattern) = pattern.as_ref() else { continue };
        let hits = pattern.find_iter(text).filter(|m| entity != PiiEntity::CreditCard || luhn(m.as_str()));
        found.extend(hits.map(|m| (m.range(), name(entity).to_owned())));
    }
    found
}

/// The ruling for a match.
pub fn action_ruling(action: PiiAction) -> VerdictRuling {
    match action {
        PiiAction::Block => VerdictRuling::Refused,
        PiiAction::Flag => VerdictRuling::Flagged,
        PiiAction::Redact => VerdictRuling::Changed,
    }
}

/// The message about matches: their kinds, never the data.
pub fn personal_data_message<'f>(found: impl Iterator<Item = &'f str>, of: CheckSubject) -> String {
    let mut names: Vec<&str> = found.collect();
    names.sort_unstable();
    names.dedup();
    format!("personal data in the {}: `{}`", of.name(), names.join("`, `"))
}

/// The text with each match replaced; overlapping matches are merged.
pub fn redact_matches(text: &str, found: &[(Range<usize>, String)], replacement: &str) -> String {
    let mut spans: Vec<Range<usize>> = found.iter().map(|(span, _)| span.clone()).collect();
    spans.sort_by_key(|s| (s.start, s.end));
    replace_ranges(text, &spans, replacement)
}

/// The text with each range replaced. They are in order; overlapping ones are merged.
pub fn replace_ranges(text: &str, spans: &[Range<usize>], replacement: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for span in spans {
        if span.start >= done {
            out.push_str(text.get(done..span.start).unwrap_or_default());
            out.push_str(replacement);
        }
        done = done.max(span.end);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

fn name(entity: PiiEntity) -> &'static str {
    match entity {
        PiiEntity::Email => "email",
        PiiEntity::Phone => "phone",
        PiiEntity::Ssn => "ssn",
        PiiEntity::CreditCard => "credit_card",
    }
}

/// The check sum of card numbers.
fn luhn(text: &str) -> bool {
    let digits = text.chars().rev().filter_map(|c| c.to_digit(10));
    let sum: u32 = digits.enumerate().map(|(at, d)| if at % 2 == 0 { d } else { d * 2 / 10 + d * 2 % 10 }).sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    const ALL: [PiiEntity; 4] = [PiiEntity::Email, PiiEntity::Phone, PiiEntity::Ssn, PiiEntity::CreditCard];

    fn redacted(text: &str) -> String {
        redact_matches(text, &find_personal_data(text, &ALL), "[X]")
    }

    #[test]
    fn each_sort_is_found() {
        assert_eq!(redacted("mail a.b+c@mail.example.co.uk now"), "mail [X] now");
        assert_eq!(redacted("call (555) 123-4567 or +49 30 1234567"), "call [X] or +49 30 1234567");
        assert_eq!(redacted("call 555-123-4567."), "call [X].");
        assert_eq!(redacted("ssn 078-05-1120"), "ssn [X]");
        assert_eq!(redacted("card 4111 1111 1111 1111!"), "card [X]!");
    }

    #[test]
    fn numbers_that_only_look_like_cards_stay() {
        assert_eq!(redacted("order 4111 1111 1111 1112"), "order 4111 1111 1111 1112");
    }

    #[test]
    fn a_long_text_without_an_address_takes_no_time_to_speak_of() {
        // The original system's pattern takes quadratic time, so a megabyte of text would not finish.
        let text = "a.".repeat(500_000);
        assert!(find_personal_data(&text, &ALL).is_empty());
        let text = "a@".repeat(500_000);
        assert!(find_personal_data(&text, &ALL).is_empty());
    }

    #[test]
    fn the_sorts_are_named_in_order() {
        let found = find_personal_data("x@y.org 078-05-1120", &[PiiEntity::Ssn, PiiEntity::Email]);
        let words = personal_data_message(found.iter().map(|(_, what)| &**what), CheckSubject::Input);
        expect!["personal data in the input: `email`, `ssn`"].assert_eq(&words);
    }
}
