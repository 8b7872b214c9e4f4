//! Answers that are too long: truncated or rejected.

use super::VerdictRuling;

/// Truncates a text of more than `max` characters and appends `...`, or rejects it.
pub fn check_length(text: &str, max: usize, refuse: bool) -> Option<(VerdictRuling, String, Option<String>)> {
    let (cut, _) = text.char_indices().nth(max)?;
    let why = format!("the answer has {} characters; the limit is {max}", text.chars().count());
    match refuse {
        true => Some((VerdictRuling::Refused, why, None)),
        false => Some((VerdictRuling::Changed, why, Some(format!("{}...", text.get(..cut).unwrap_or_default())))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn characters_are_counted_not_bytes() {
        assert_eq!(check_length("äöü", 3, true), None);
        let (ruling, why, cut) = check_length("äöüx", 3, false).unwrap();
        assert_eq!((ruling, cut.as_deref()), (VerdictRuling::Changed, Some("äöü...")));
        expect!["the answer has 4 characters; the limit is 3"].assert_eq(&why);
        assert_eq!(check_length("äöüx", 3, true).unwrap().0, VerdictRuling::Refused);
    }
}
