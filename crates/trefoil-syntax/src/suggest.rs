//! "Did you mean": the nearest of the names that would have been right.

/// A candidate that may have been meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Near<'a> {
    /// The candidate.
    pub name: &'a str,
    /// How many characters are wrong, missing, too many or swapped.
    pub distance: usize,
    /// Whether it is surely the one: no other candidate is as near, and the word is not so short that another word is
    /// likelier than a slip.
    pub sure: bool,
}

/// The candidate nearest to `word`, if one is near enough to be worth a hint.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    near(word, candidates).map(|near| near.name)
}

/// The same, with how near it is.
pub fn near<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<Near<'a>> {
    let length = word.chars().count();
    let limit = match length {
        0 => return None,
        1..=2 => 1,
        3..=5 => 2,
        n => n / 3,
    };
    let mut best: Option<Near<'a>> = None;
    let candidates = candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(&word.to_lowercase(), &c.to_lowercase()), c))
        .filter(|(d, c)| *d <= limit && *d < c.chars().count().max(2))
        // Half of a short word is another word, unless nothing but letters are missing.
        .filter(|(d, c)| *d < 2 || length > 4 || within(word, c) || within(c, word));
    for (distance, name) in candidates {
        match &mut best {
            Some(best) if best.distance == distance => best.sure &= best.name == name,
            Some(best) if best.distance < distance => {}
            _ => best = Some(Near { name, distance, sure: distance <= 2 && length >= 3 * distance }),
        }
    }
    best
}

/// Whether all letters of one word stand in another, in their order.
fn within(word: &str, longer: &str) -> bool {
    let mut rest = longer.chars().flat_map(char::to_lowercase);
    word.chars().flat_map(char::to_lowercase).all(|c| rest.any(|other| other == c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sure_is_what_only_a_slip_can_be() {
        let sure = |word: &str, all: &[&'static str]| near(word, all.iter().copied()).map(|n| (n.name, n.sure));
        assert_eq!(sure("instrction", &["instruction", "id"]), Some(("instruction", true)));
        assert_eq!(sure("Model", &["model"]), Some(("model", true)));
        assert_eq!(sure("role", &["tool", "name"]), None);
        assert_eq!(sure("stepx", &["steps", "stepy"]), Some(("steps", false)), "two are as near");
        assert_eq!(sure("tol", &["tool"]), Some(("tool", true)));
        assert_eq!(sure("tl", &["tool"]), None);
        assert_eq!(sure("this", &["tags"]), None, "another word");
        assert_eq!(sure("mdl", &["model"]), Some(("model", false)), "too short for two slips");
    }
}
