//! Answers that are too long: cut, or refused.

use super::violation;
use crate::error::RunError;

/// At most `max` characters: cut with `...` after it, or refused.
pub fn check(text: String, max: usize, refuse: bool) -> Result<String, RunError> {
    let Some((cut, _)) = text.char_indices().nth(max) else { return Ok(text) };
    if refuse {
        let count = text.chars().count();
        return Err(violation(format!("the answer has {count} characters; the limit is {max}")));
    }
    Ok(format!("{}...", text.get(..cut).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn characters_are_counted_not_bytes() {
        assert_eq!(check("äöü".into(), 3, true).unwrap(), "äöü");
        assert_eq!(check("äöüx".into(), 3, false).unwrap(), "äöü...");
        expect!["the answer has 4 characters; the limit is 3"]
            .assert_eq(&check("äöüx".into(), 3, true).unwrap_err().message);
    }
}
