//! Which corrections of names are in doubt: two spellings differ, and the one that is declared may be the slip.
//!
//! A front end sees one place that names nothing, and the nearest name that is there. Only with all places in view can be
//! said which of the two is the odd one out, so this is decided here, over the texts of everything that was loaded. What is
//! in doubt stays a suggestion; nothing becomes surer.

use std::collections::{BTreeSet, HashMap};

use trefoil_syntax::{Diagnostic, Files, Fix, Location};

/// Findings about names that people give. Those about words of a format have the format itself as a witness.
const OF_NAMES: &[&str] = &["unresolved-name", "unknown-property", "unknown-reference", "unknown-input"];

/// Takes the safety from fixes that replace one name by another where the other may be the wrong one.
pub fn doubt(found: &mut [Diagnostic], files: &Files) {
    let text = |at: Location| files.get(at.file)?.text().get(at.span.start as usize..at.span.end as usize);
    let mut places: HashMap<(String, String), BTreeSet<Location>> = HashMap::new();
    let correction = |d: &Diagnostic| {
        let fix = d.fix.as_deref().filter(|f| f.safe && OF_NAMES.contains(&d.rule))?;
        let (at, new) = single(fix)?;
        let wrong = bare(text(at)?)?.to_owned();
        Some((wrong, bare(new)?.to_owned(), at))
    };
    for (wrong, right, at) in found.iter().filter_map(correction) {
        places.entry((wrong, right)).or_default().insert(at);
    }
    if places.is_empty() {
        return;
    }
    let mut counts: HashMap<&str, usize> =
        places.keys().flat_map(|(a, b)| [(a.as_str(), 0), (b.as_str(), 0)]).collect();
    for (_, file) in files.iter() {
        for word in words(file.text()) {
            if let Some(count) = counts.get_mut(word) {
                *count += 1;
            }
        }
    }
    let count = |name: &str| counts.get(name).copied().unwrap_or_default();
    for d in found {
        let Some((wrong, right, _)) = correction(d) else { continue };
        let (all, declared) = (count(&wrong), count(&right));
        let key = (wrong, right);
        let mended = places.get(&key).map_or(0, BTreeSet::len);
        let sure = camel(&key.0) == key.1 || all <= mended && (mended <= 1 || declared != 1);
        if let Some(fix) = d.fix.as_mut().filter(|_| !sure) {
            fix.safe = false;
        }
    }
}

/// The one place that a fix changes, and what it writes there.
fn single(fix: &Fix) -> Option<(Location, &str)> {
    match fix.edits.as_slice() {
        [one] => Some((one.location, &one.text)),
        _ => None,
    }
}

/// A name without its quotes, where it is one.
fn bare(text: &str) -> Option<&str> {
    let name = text.trim_matches(['"', '\'']);
    (!name.is_empty() && name.chars().all(is_of_a_word)).then_some(name)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_of_a_word(c)).map(|w| w.trim_matches('-')).filter(|w| !w.is_empty())
}

/// An id as paths write it: the same name in another form.
fn camel(name: &str) -> String {
    let mut up = false;
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '-' => up = true,
            c if up => {
                out.extend(c.to_uppercase());
                up = false;
            }
            c => out.push(c),
        }
    }
    out
}

fn is_of_a_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}
