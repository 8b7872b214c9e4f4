//! "Did you mean": the nearest of the names that would have been right.

/// A candidate that may have been meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Near<'a> {
    /// The candidate.
    pub name: &'a str,
    /// How many characters are wrong, missing, too many or swapped.
    pub distance: usize,
    /// Whether it is surely the one: no other candidate is as near, the word is not so short that another word is likelier
    /// than a slip, and the two are not told apart by a count (`review_1`, `review_2`).
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
            _ => {
                let sure =
                    distance <= 2 && length >= 3 * distance && !are_counted(word, name) && !are_measured(word, name);
                best = Some(Near { name, distance, sure });
            }
        }
    }
    best
}

/// Whether two names are those of neighbours in a row rather than one name and a slip: their numbers differ, or a part of
/// one character at the end (`agent-a`, `agent-b`, `agent`).
fn are_counted(one: &str, other: &str) -> bool {
    let numbers = |name: &str| name.chars().filter(char::is_ascii_digit).collect::<String>();
    let stem = |name: &str| {
        let cut = name.rsplit_once(['-', '_']).filter(|(_, last)| last.chars().count() == 1);
        cut.map(|(stem, _)| stem.to_owned())
    };
    let (a, b) = (stem(one), stem(other));
    let ends = match (&a, &b) {
        (Some(a), Some(b)) => a.eq_ignore_ascii_case(b) && !one.eq_ignore_ascii_case(other),
        (Some(a), None) => a.eq_ignore_ascii_case(other),
        (None, Some(b)) => b.eq_ignore_ascii_case(one),
        (None, None) => false,
    };
    ends || numbers(one) != numbers(other)
}

/// Whether two names end in different units (`max_ms`, `max_s`): a number behind one of them is not that of the other.
fn are_measured(one: &str, other: &str) -> bool {
    const UNITS: [&str; 7] = ["ms", "s", "sec", "secs", "seconds", "minutes", "hours"];
    let unit = |name: &str| {
        name.rsplit_once('_').and_then(|(_, last)| UNITS.into_iter().find(|u| last.eq_ignore_ascii_case(u)))
    };
    unit(one).zip(unit(other)).is_some_and(|(a, b)| a != b)
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
        assert_eq!(sure("PUT", &["GET"]), None, "another word");
        assert_eq!(sure("max_duration_ms", &["max_duration_s"]), Some(("max_duration_s", false)), "another unit");
        assert_eq!(sure("instrction", &["instruction", "id"]), Some(("instruction", true)));
        assert_eq!(sure("Model", &["model"]), Some(("model", true)));
        assert_eq!(sure("role", &["tool", "name"]), None);
        assert_eq!(sure("stepx", &["steps", "stepy"]), Some(("steps", false)), "two are as near");
        assert_eq!(sure("tol", &["tool"]), Some(("tool", true)));
        assert_eq!(sure("tl", &["tool"]), None);
        assert_eq!(sure("this", &["tags"]), None, "another word");
        assert_eq!(sure("mdl", &["model"]), Some(("model", false)), "too short for two slips");
        assert_eq!(sure("revew_1", &["review_1", "notes"]), Some(("review_1", true)));
        for (word, near) in
            [("review_2", "review_1"), ("draft2", "draft"), ("agent-b", "agent-a"), ("agent-b", "agent")]
        {
            assert_eq!(sure(word, &[near]), Some((near, false)), "another one of a row");
        }
    }
}
