//! "Did you mean": the nearest of the names that would have been right.

/// The candidate nearest to `word`, if one is near enough to be worth a hint.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = match word.chars().count() {
        0 => return None,
        1..=2 => 1,
        3..=5 => 2,
        n => n / 3,
    };
    candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(&word.to_lowercase(), &c.to_lowercase()), c))
        .filter(|(d, c)| *d <= limit && *d < c.chars().count().max(2))
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}
