//! "Did you mean".

/// The known name that is nearest to a misspelt one, if one is nearer than the others.
pub(crate) fn closest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    // Nobody misspells a name into something this long, and the comparison takes time in proportion.
    if name.len() > 60 {
        return None;
    }
    let limit = (name.chars().count() / 3).max(1);
    let all = known.iter().map(|k| (strsim::damerau_levenshtein(&name.to_lowercase(), k), *k));
    let mut near: Vec<_> = all.filter(|(distance, _)| *distance <= limit).collect();
    near.sort_unstable();
    match near.as_slice() {
        // Which of two that are as near was meant, nobody knows.
        [(one, _), (other, _), ..] if one == other => None,
        [(_, name), ..] => Some(name),
        [] => None,
    }
}
