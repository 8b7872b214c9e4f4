//! Reduces a failing input: fewer lines, then fewer characters, while it fails in the same place.

use fuzz_targets::Target;

use crate::watch::holds;

/// Maximum number of calls of a search.
const CALLS: usize = 3000;

/// The smallest input found that fails in the same place.
pub(crate) fn smallest(target: &Target, input: &[u8]) -> Vec<u8> {
    let place = |input: &[u8]| holds(target, input).err().map(|why| why.lines().next().unwrap_or_default().to_owned());
    let Some(wanted) = place(input) else { return input.to_vec() };
    let mut left = CALLS;
    let mut fails = |parts: &[String]| {
        left = left.saturating_sub(1);
        left > 0 && place(parts.concat().as_bytes()).as_ref() == Some(&wanted)
    };
    let text = String::from_utf8_lossy(input);
    if !fails(&[text.to_string()]) {
        return input.to_vec();
    }
    let lines = reduce(text.split_inclusive('\n').map(str::to_owned).collect(), &mut fails);
    let characters = lines.concat().chars().map(String::from).collect();
    reduce(characters, &mut fails).concat().into_bytes()
}

/// Removes ever smaller groups of parts.
fn reduce(mut parts: Vec<String>, fails: &mut dyn FnMut(&[String]) -> bool) -> Vec<String> {
    let mut size = parts.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < parts.len() {
            let mut without = parts.clone();
            without.drain(at..(at + size).min(parts.len()));
            if fails(&without) {
                parts = without;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    parts
}
