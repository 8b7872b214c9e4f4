//! One cause, one finding: what is said alike of several places of a file is reported at the first of them.
//!
//! Somebody renames a step on one side, and every text that reads it is wrong in the same way. The other places are shown
//! beside the first, and one change fixes all. This is decided last: comments and levels hold for each place.

use std::collections::HashMap;

use trefoil_check::{Group, rule};
use trefoil_syntax::{Diagnostic, FileId, Fix, Label, Location, Severity};

/// Other places that are shown; the rest are counted.
const SHOWN: usize = 5;

/// Unites the findings about names that say the same in one file.
pub fn united(found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut kept: Vec<(Diagnostic, usize)> = Vec::with_capacity(found.len());
    let mut first: HashMap<Alike, usize> = HashMap::new();
    for d in found {
        let Some(alike) = alike(&d) else {
            kept.push((d, 0));
            continue;
        };
        let at = *first.entry(alike).or_insert(kept.len());
        match kept.get_mut(at) {
            Some((one, others)) => {
                *others += 1;
                join(one, d, *others);
            }
            None => kept.push((d, 0)),
        }
    }
    kept.into_iter().map(|(d, others)| counted(d, others)).collect()
}

/// What findings of one cause have in common.
type Alike = (&'static str, Severity, FileId, String, Option<String>);

/// What a finding about a name has in common with others; none: it is about its own place.
fn alike(d: &Diagnostic) -> Option<Alike> {
    let of_names = rule(d.rule).is_some_and(|rule| rule.group == Group::Names);
    // What may be missing is guarded where it is read, each time.
    if !of_names || d.span.is_none() || d.severity < Severity::Warning || d.rule == "maybe-undefined" {
        return None;
    }
    Some((d.rule, d.severity, d.file?, d.message.clone(), d.fix.as_ref().map(|fix| fix.message.clone())))
}

/// Adds another place to a finding, and what is to be changed there.
fn join(one: &mut Diagnostic, other: Diagnostic, others: usize) {
    if let (Some(file), Some(span), true) = (other.file, other.span, others <= SHOWN) {
        one.labels.push(Label { location: Location::new(file, span), message: "and here".to_owned() });
    }
    if let (Some(fix), Some(more)) = (&mut one.fix, other.fix) {
        let Fix { edits, safe, .. } = &mut **fix;
        *safe &= more.safe;
        edits.extend(more.edits.into_iter().filter(|edit| !edits.contains(edit)).collect::<Vec<_>>());
    }
}

fn counted(mut d: Diagnostic, others: usize) -> Diagnostic {
    if others > SHOWN {
        d.message = format!("{} (and in {others} more places)", d.message);
    }
    d
}
