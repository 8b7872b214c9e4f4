//! "Did you mean": the valid name closest to a wrong one. Characters that look equal count as equal.

use crate::lookalikes::seen_letters;

/// A candidate that was possibly meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NearMatch<'a> {
    /// The candidate.
    pub name: &'a str,
    /// The number of characters that are wrong, missing, extra or swapped.
    pub distance: usize,
    /// Whether it was almost certainly meant: no other candidate is as close, the word is long enough to be a slip
    /// rather than another word, and the two do not differ only in a number (`review_1`, `review_2`).
    pub sure: bool,
}

/// The candidate closest to `word`, if it is close enough to suggest.
pub fn nearest_name<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    find_near_match(word, candidates).map(|near| near.name)
}

/// The maximum length of a compared name in characters. Longer names are not typed by hand.
const LONGEST: usize = 80;
/// The maximum number of compared names. Thousands of wrong names in one file are not slips.
const MOST: usize = 500;

/// Like [`nearest_name`], with the distance.
pub fn find_near_match<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<NearMatch<'a>> {
    let length = word.chars().take(LONGEST + 1).count();
    let limit = match length {
        0 => return None,
        1..=2 => 1,
        3..=5 => 2,
        n if n > LONGEST => return None,
        n => n / 3,
    };
    let lower: Vec<char> = seen_letters(word).collect();
    let mut distances = EditDistance::from_word(&lower);
    let mut best: Option<NearMatch<'a>> = None;
    for name in candidates.into_iter().take(MOST) {
        let Some(distance) = distances.distance_to(name, limit) else { continue };
        if !may_be_slip(word, length, name, distance) {
            continue;
        }
        match &mut best {
            Some(best) if best.distance == distance => best.sure &= best.name == name,
            Some(best) if best.distance < distance => {}
            _ => {
                let sure =
                    distance <= 2 && length >= 3 * distance && !are_counted(word, name) && !are_measured(word, name);
                best = Some(NearMatch { name, distance, sure });
            }
        }
    }
    best
}

/// Whether a word of this length can be a slip of a name at this distance.
fn may_be_slip(word: &str, length: usize, name: &str, distance: usize) -> bool {
    if distance >= name.chars().count().max(2) {
        return false;
    }
    // A single letter is a slip of nothing longer, unless it was typed twice.
    if length != 1 && name.chars().nth(1).is_none() && !name.chars().all(|one| word.chars().all(|w| w == one)) {
        return false;
    }
    // In a short word, a difference of half the characters makes another word, unless letters are only missing.
    distance < 2 || length > 4 || within(word, name) || within(name, word)
}

/// The edit distance from one word to others: characters wrong, missing, extra, or swapped. Ignores case and what cannot be seen.
struct EditDistance<'w> {
    word: &'w [char],
    /// The letters of the word.
    letters: u64,
    other: Vec<char>,
    /// The row before the last one, the last row, and the current one.
    rows: [Vec<usize>; 3],
}

impl<'w> EditDistance<'w> {
    fn from_word(word: &'w [char]) -> Self {
        Self { word, letters: letters(word), other: Vec::new(), rows: Default::default() }
    }

    /// The distance to a name, if it is within the limit.
    fn distance_to(&mut self, name: &str, limit: usize) -> Option<usize> {
        // A character has at most four bytes.
        if name.len() > 4 * (self.word.len() + limit) || name.len() + limit < self.word.len() {
            return None;
        }
        self.other.clear();
        self.other.extend(seen_letters(name));
        let (word, other) = (self.word, &self.other);
        // Each letter that only one of them has is a slip.
        let others = letters(other);
        let alone = |one: u64, other: u64| (one & !other).count_ones() as usize;
        if word.len().abs_diff(other.len()).max(alone(self.letters, others)).max(alone(others, self.letters)) > limit {
            return None;
        }
        let [before, last, row] = &mut self.rows;
        last.clear();
        last.extend(0..=other.len());
        before.clear();
        before.resize(other.len() + 1, 0);
        let mut above: Option<char> = None;
        for (i, w) in word.iter().enumerate() {
            row.clear();
            row.push(i + 1);
            let mut least = i + 1;
            let mut left = i + 1;
            let mut previous: Option<char> = None;
            let cells = last.iter().zip(last.iter().skip(1)).zip(other.iter()).enumerate();
            for (j, ((diagonal, up), o)) in cells {
                let mut cell = (diagonal + usize::from(w != o)).min(up + 1).min(left + 1);
                // Two neighbouring characters are swapped.
                if previous == Some(*w)
                    && above == Some(*o)
                    && w != o
                    && let Some(swapped) = j.checked_sub(1).and_then(|j| before.get(j))
                {
                    cell = cell.min(swapped + 1);
                }
                row.push(cell);
                least = least.min(cell);
                left = cell;
                previous = Some(*o);
            }
            // Values do not decrease from row to row, but a swap refers to the row before the last one.
            if least > limit + 1 {
                return None;
            }
            above = Some(*w);
            std::mem::swap(before, last);
            std::mem::swap(last, row);
        }
        let distance = *last.last()?;
        if distance <= limit { Some(distance) } else { None }
    }
}

/// The set of a word's letters. Several may share a place, which only hides differences.
fn letters(word: &[char]) -> u64 {
    let mut set = 0;
    for c in word {
        set |= 1 << (u32::from(*c) & 63);
    }
    set
}

/// Whether two names look like members of a series rather than a name and a slip: they have different numbers, or
/// different last parts of one character (`agent-a`, `agent-b`, `agent`).
fn are_counted(one: &str, other: &str) -> bool {
    let numbers = |name: &str| name.chars().filter(char::is_ascii_digit).collect::<String>();
    let ends = match (counted_stem(one), counted_stem(other)) {
        (Some(a), Some(b)) => a.eq_ignore_ascii_case(b) && !one.eq_ignore_ascii_case(other),
        (Some(a), None) => a.eq_ignore_ascii_case(other),
        (None, Some(b)) => b.eq_ignore_ascii_case(one),
        (None, None) => false,
    };
    ends || numbers(one) != numbers(other)
}

/// The part of a name before a last part of one character.
fn counted_stem(name: &str) -> Option<&str> {
    match name.rsplit_once(['-', '_']) {
        Some((stem, last)) if last.chars().count() == 1 => Some(stem),
        _ => None,
    }
}

/// Whether two names end in different units (`max_ms`, `max_s`). A number meant for one is wrong for the other.
fn are_measured(one: &str, other: &str) -> bool {
    const UNITS: [&str; 7] = ["ms", "s", "sec", "secs", "seconds", "minutes", "hours"];
    let unit = |name: &str| {
        let (_, last) = name.rsplit_once('_')?;
        UNITS.into_iter().find(|unit| last.eq_ignore_ascii_case(unit))
    };
    matches!((unit(one), unit(other)), (Some(a), Some(b)) if a != b)
}

/// Whether all letters of one word occur in another, in the same order.
fn within(word: &str, longer: &str) -> bool {
    let mut rest = longer.chars().flat_map(char::to_lowercase);
    word.chars().flat_map(char::to_lowercase).all(|c| rest.any(|other| other == c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_slips() {
        for (one, other, distance) in [
            ("kitten", "sitting", Some(3)),
            ("", "abc", Some(3)),
            ("model", "Mdoel", Some(1)),
            ("abcd", "badc", Some(2)),
            ("über", "uber", Some(1)),
            ("a", "abcdefgh", None),
            ("same", "same", Some(0)),
        ] {
            let word: Vec<char> = one.chars().collect();
            assert_eq!(EditDistance::from_word(&word).distance_to(other, 3), distance, "{one} {other}");
        }
    }

    #[test]
    fn very_long_names_and_very_many_take_no_time() {
        let began = std::time::Instant::now();
        let long = "x".repeat(1 << 20);
        assert!(find_near_match(&long, [long.as_str()]).is_none());
        let all: Vec<String> = (0..100_000).map(|n| format!("declared_{n}")).collect();
        for n in 0..200 {
            find_near_match(&format!("undefined{n}"), all.iter().map(String::as_str));
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(60), "{:?}", began.elapsed());
    }

    #[test]
    fn sure_is_what_only_a_slip_can_be() {
        let sure =
            |word: &str, all: &[&'static str]| find_near_match(word, all.iter().copied()).map(|n| (n.name, n.sure));
        assert_eq!(sure("PUT", &["GET"]), None, "another word");
        assert_eq!(sure("max_duration_ms", &["max_duration_s"]), Some(("max_duration_s", false)), "another unit");
        assert_eq!(sure("instrction", &["instruction", "id"]), Some(("instruction", true)));
        assert_eq!(sure("Model", &["model"]), Some(("model", true)));
        assert_eq!(sure("role", &["tool", "name"]), None);
        assert_eq!(sure("stepx", &["steps", "stepy"]), Some(("steps", false)), "two are as near");
        assert_eq!(sure("tol", &["tool"]), Some(("tool", true)));
        assert_eq!(sure("tl", &["tool"]), None);
        assert_eq!(sure("r\u{435}\u{441}i\u{440}\u{435}", &["recipe"]), Some(("recipe", true)), "Cyrillic letters");
        assert_eq!(sure("to\u{200b}ol", &["tool"]), Some(("tool", true)), "an invisible character");
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
