//! "Did you mean".

/// The known name that is nearest to a misspelt one, if one is near.
pub(crate) fn closest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    // Nobody misspells a name into something this long, and the comparison takes time in proportion.
    if name.len() > 60 {
        return None;
    }
    let limit = (name.chars().count() / 3).max(1);
    known
        .iter()
        .map(|k| (strsim::damerau_levenshtein(&name.to_lowercase(), k), *k))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, k)| k)
}
