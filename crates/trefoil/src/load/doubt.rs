//! Which corrections of names are in doubt: two spellings differ, and the one that is declared may be the slip.
//!
//! A front end sees one place that names nothing, and the nearest name that is there. Only with all places in view can be
//! said which of the two is the odd one out, so this is decided here, over the texts of everything that was loaded. What is
//! in doubt stays a suggestion; nothing becomes surer.

use std::collections::{BTreeSet, HashMap};

use trefoil_syntax::{Diagnostic, Edit, FileId, Files, Fix, Label, Location, Span};

/// Findings about names that people give. Those about words of a format have the format itself as a witness.
const OF_NAMES: &[&str] = &["unresolved-name", "unknown-property", "unknown-reference", "unknown-input"];

/// Takes the safety from fixes that replace one name by another where the other may be the wrong one. Where that is
/// likely, the declaration is what is changed instead; still only if a person says so.
pub fn doubt(found: &mut Vec<Diagnostic>, files: &Files) {
    let mut places: HashMap<(String, String), BTreeSet<Location>> = HashMap::new();
    for (wrong, right, at) in found.iter().filter_map(|d| correction(d, files)) {
        places.entry((wrong, right)).or_default().insert(at);
    }
    if places.is_empty() {
        return;
    }
    let names = places.keys().flat_map(|(a, b)| [a.as_str(), b.as_str()]);
    let mut counts: HashMap<&str, (usize, Option<Location>)> = names.map(|name| (name, (0, None))).collect();
    for (id, file) in files.iter() {
        for (start, word) in words(file.text()) {
            if let Some((count, first)) = counts.get_mut(word) {
                let span = Span::new(start as u32, (start + word.len()) as u32);
                *count += 1;
                first.get_or_insert(Location::new(id, span));
            }
        }
    }
    let mut turned: HashMap<Turned, usize> = HashMap::new();
    let mut kept: Vec<Diagnostic> = Vec::with_capacity(found.len());
    for mut d in std::mem::take(found) {
        let Some((wrong, right, at)) = correction(&d, files) else {
            kept.push(d);
            continue;
        };
        let of = |name: &str| counts.get(name).copied().unwrap_or_default();
        let ((all, _), (declared, place)) = (of(&wrong), of(&right));
        // A tool cannot be called like an id with hyphens, so the other spelling stands in the file as well.
        let hyphens = d.rule == "unknown-reference" && wrong.replace('_', "-") == right;
        let form = camel(&wrong) == right || hyphens;
        let key = (wrong, right);
        let mended = places.get(&key).map_or(0, BTreeSet::len);
        let sure = form || all <= mended && (mended <= 1 || declared != 1);
        let once = place.filter(|_| declared == 1);
        if !sure && turn(&mut d, at, once, &key) {
            // All that read the other name are told of where it is declared, in one finding.
            let first = *turned.entry((d.rule, d.file.zip(d.span), d.message.clone())).or_insert(kept.len());
            if let Some(first) = kept.get_mut(first) {
                first.also(d.labels);
                continue;
            }
        }
        kept.push(d);
    }
    *found = kept;
}

/// What findings that are now about one declaration have in common.
type Turned = (&'static str, Option<(FileId, Span)>, String);

/// A correction that is in doubt: what is changed is the other name, if it is written only in this `place`. Whether the finding
/// is about that place then.
fn turn(d: &mut Diagnostic, at: Location, place: Option<Location>, (wrong, right): &(String, String)) -> bool {
    let was_safe = d.fix.as_ref().is_some_and(|f| f.safe);
    if let Some(fix) = &mut d.fix {
        fix.safe = false;
    }
    let Some(place) = place else { return false };
    let told = d.labels.iter().position(|l| l.location == place);
    let label = told.map(|i| d.labels.remove(i));
    let moved = label.is_some();
    if let Some(label) = label {
        // The finding is about that place then.
        let used = if d.rule == "unknown-input" { "given" } else { "read" };
        let here = if label.message.contains(right) { label.message } else { format!("`{right}` is declared") };
        d.message = format!("{here}, but `{wrong}` is {used}");
        d.help = Some(format!("did you mean `{wrong}`?"));
        (d.file, d.span) = (Some(place.file), Some(place.span));
        d.labels.push(Label { location: at, message: format!("{used} here") });
    } else if was_safe {
        let help = d.help.take().unwrap_or_default();
        d.help = Some(format!("{help} or is that one misspelled? it appears only once").trim_start().to_owned());
    } else {
        return false;
    }
    let edits = vec![Edit { location: place, text: wrong.clone() }];
    d.fix = Some(Box::new(Fix { message: format!("write `{wrong}` there"), edits, safe: false }));
    moved
}

/// The name that a fix replaces, the one that it writes, and where.
fn correction(d: &Diagnostic, files: &Files) -> Option<(String, String, Location)> {
    let (at, new) = single(d.fix.as_deref().filter(|_| OF_NAMES.contains(&d.rule))?)?;
    let wrong = files.get(at.file)?.text().get(at.span.start as usize..at.span.end as usize)?;
    Some((bare(wrong)?.to_owned(), bare(new)?.to_owned(), at))
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

/// The words of a text, and where they start.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let parts = text.split(|c| !is_of_a_word(c)).map(|word| {
        let trimmed = word.trim_start_matches('-');
        // A part of the text: its place is told by the addresses.
        (trimmed.as_ptr() as usize - text.as_ptr() as usize, trimmed.trim_end_matches('-'))
    });
    parts.filter(|(_, word)| !word.is_empty())
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
