//! "Did you mean".

/// The known name most similar to a misspelt one, if it is unique.
pub(crate) fn closest_name<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    // Long names are unlikely to be slips, and the time of the comparison grows with the length.
    if name.len() > 60 {
        return None;
    }
    let limit = (name.chars().count() / 3).max(1);
    let all = known.iter().map(|k| (strsim::damerau_levenshtein(&name.to_lowercase(), k), *k));
    let mut near: Vec<_> = all.filter(|(distance, _)| *distance <= limit).collect();
    near.sort_unstable();
    match near.as_slice() {
        // It is unknown which of two equally similar names was meant.
        [(one, _), (other, _), ..] if one == other => None,
        [(_, name), ..] => Some(name),
        [] => None,
    }
}
