//! Answers that are too long: truncated or rejected.

use super::Ruling;

/// Truncates a text of more than `max` characters and appends `...`, or rejects it.
pub fn check(text: &str, max: usize, refuse: bool) -> Option<(Ruling, String, Option<String>)> {
    let (cut, _) = text.char_indices().nth(max)?;
    let why = format!("the answer has {} characters; the limit is {max}", text.chars().count());
    match refuse {
        true => Some((Ruling::Refused, why, None)),
        false => Some((Ruling::Changed, why, Some(format!("{}...", text.get(..cut).unwrap_or_default())))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn characters_are_counted_not_bytes() {
        assert_eq!(check("äöü", 3, true), None);
        let (ruling, why, cut) = check("äöüx", 3, false).unwrap();
        assert_eq!((ruling, cut.as_deref()), (Ruling::Changed, Some("äöü...")));
        expect!["the answer has 4 characters; the limit is 3"].assert_eq(&why);
        assert_eq!(check("äöüx", 3, true).unwrap().0, Ruling::Refused);
    }
}
