//! Finds corrections of names that are in doubt: two spellings differ, and the declared one may be the misspelling.
//!
//! A front end sees one place with an unknown name, and the most similar existing name. Which of the two is the
//! misspelling can only be decided with all places in view, so it is decided here, with all loaded texts. A fix in
//! doubt becomes a suggestion; no fix becomes safer.

use std::collections::{BTreeSet, HashMap};

use trefoil_syntax::{Diagnostic, DiagnosticLabel, FileId, Fix, Location, SourceEdit, SourceFiles, Span};

/// Findings about names chosen by users. Names of the format itself are never in doubt.
const OF_NAMES: &[&str] = &["unresolved-name", "unknown-property", "unknown-reference", "unknown-input"];

/// Marks fixes as unsafe if they replace one name by another that may be the wrong one. If that is likely, the fix
/// changes the declaration instead; it still needs review.
pub fn mark_doubtful_fixes(found: &mut Vec<Diagnostic>, files: &SourceFiles) {
    let mut places: HashMap<(String, String), BTreeSet<Location>> = HashMap::new();
    for d in found.iter() {
        if let Some((wrong, right, at)) = correction(d, files) {
            places.entry((wrong, right)).or_default().insert(at);
        }
    }
    if places.is_empty() {
        return;
    }
    let mut counts: HashMap<&str, (usize, Option<Location>)> = HashMap::new();
    for (wrong, right) in places.keys() {
        counts.insert(wrong, (0, None));
        counts.insert(right, (0, None));
    }
    for (id, file) in files.iter() {
        for (start, word) in words(file.text()) {
            if let Some((count, first)) = counts.get_mut(word) {
                let span = Span::new(start as u32, (start + word.len()) as u32);
                *count += 1;
                first.get_or_insert(Location::new(id, span));
            }
        }
    }
    let mut turned: HashMap<TurnedFinding, usize> = HashMap::new();
    let mut kept: Vec<Diagnostic> = Vec::with_capacity(found.len());
    for mut d in std::mem::take(found) {
        let Some((wrong, right, at)) = correction(&d, files) else {
            kept.push(d);
            continue;
        };
        let of = |name: &str| counts.get(name).copied().unwrap_or_default();
        let ((all, _), (declared, place)) = (of(&wrong), of(&right));
        // The name of a tool cannot contain the hyphens of an id, so the other spelling also occurs in the file.
        let hyphens = d.rule == "unknown-reference" && wrong.replace('_', "-") == right;
        let form = camel(&wrong) == right || hyphens;
        let key = (wrong, right);
        let mended = match places.get(&key) {
            Some(places) => places.len(),
            None => 0,
        };
        let sure = form || all <= mended && (mended <= 1 || declared != 1);
        let once = if declared == 1 { place } else { None };
        if !sure && turn(&mut d, at, once, &key) {
            // All reads of the other name are reported in one finding at its declaration.
            let first = *turned.entry((d.rule, d.file.zip(d.span), d.message.clone())).or_insert(kept.len());
            if let Some(first) = kept.get_mut(first) {
                first.add_labels(d.labels);
                continue;
            }
        }
        kept.push(d);
    }
    *found = kept;
}

/// The common data of findings that were moved to one declaration.
type TurnedFinding = (&'static str, Option<(FileId, Span)>, String);

/// Turns a correction in doubt around: it changes the other name, if that is written only in this `place`. Returns
/// whether the finding is now about that place.
fn turn(d: &mut Diagnostic, at: Location, place: Option<Location>, (wrong, right): &(String, String)) -> bool {
    let was_safe = match &mut d.fix {
        Some(fix) => std::mem::replace(&mut fix.safe, false),
        None => false,
    };
    let Some(place) = place else { return false };
    let label_index = d.labels.iter().position(|label| label.location == place);
    if let Some(label_index) = label_index {
        let label = d.labels.remove(label_index);
        // The finding is now about that place.
        let used = if d.rule == "unknown-input" { "given" } else { "read" };
        let here = if label.message.contains(right) { label.message } else { format!("`{right}` is declared") };
        d.message = format!("{here}, but `{wrong}` is {used}");
        d.help = Some(format!("did you mean `{wrong}`?"));
        (d.file, d.span) = (Some(place.file), Some(place.span));
        d.labels.push(DiagnosticLabel { location: at, message: format!("{used} here") });
    } else if was_safe {
        let help = d.help.take().unwrap_or_default();
        d.help = Some(format!("{help} or is that one misspelled? it appears only once").trim_start().to_owned());
    } else {
        return false;
    }
    let edits = vec![SourceEdit { location: place, text: wrong.clone() }];
    d.fix = Some(Box::new(Fix { message: format!("write `{wrong}` there"), edits, safe: false }));
    label_index.is_some()
}

/// The name that a fix replaces, the replacement, and the place.
fn correction(d: &Diagnostic, files: &SourceFiles) -> Option<(String, String, Location)> {
    if !OF_NAMES.contains(&d.rule) {
        return None;
    }
    let (at, new) = single(d.fix.as_deref()?)?;
    let wrong = files.get(at.file)?.text().get(at.span.start as usize..at.span.end as usize)?;
    Some((bare(wrong)?.to_owned(), bare(new)?.to_owned(), at))
}

/// The place and the text of a fix with a single edit.
fn single(fix: &Fix) -> Option<(Location, &str)> {
    match fix.edits.as_slice() {
        [one] => Some((one.location, &one.text)),
        _ => None,
    }
}

/// A name without quotes, if the text is one.
fn bare(text: &str) -> Option<&str> {
    let name = text.trim_matches(['"', '\'']);
    if !name.is_empty() && name.chars().all(is_of_a_word) { Some(name) } else { None }
}

/// The words of a text, with their offsets.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let parts = text.split(|c| !is_of_a_word(c)).map(|word| {
        let trimmed = word.trim_start_matches('-');
        // A subslice of the text, whose offset follows from the addresses.
        (trimmed.as_ptr() as usize - text.as_ptr() as usize, trimmed.trim_end_matches('-'))
    });
    parts.filter(|(_, word)| !word.is_empty())
}

/// The form of an id in paths.
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
