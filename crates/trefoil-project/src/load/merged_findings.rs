//! One finding for each cause: equal findings in several places of a file are reported at the first one.
//!
//! If somebody renames a step in one place, every text that reads it has the same mistake. The other places become
//! labels of the first finding, and one fix changes all of them. This is done last, because comments and levels apply
//! to each place.

use std::collections::HashMap;

use trefoil_check::{RuleGroup, find_rule};
use trefoil_syntax::{Diagnostic, DiagnosticLabel, FileId, FindingSeverity, Fix, Location};

/// The maximum number of other places shown; the rest are counted.
const SHOWN: usize = 5;

/// Merges the findings about names with the same message in one file.
pub fn merge_findings(found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut kept: Vec<(Diagnostic, usize)> = Vec::with_capacity(found.len());
    let mut first: HashMap<CommonFinding, usize> = HashMap::new();
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

/// The common data of findings with one cause.
type CommonFinding = (&'static str, FindingSeverity, FileId, String, Option<String>);

/// The data that a finding about a name shares with others; `None`: it is about its own place only.
fn alike(d: &Diagnostic) -> Option<CommonFinding> {
    let of_names = matches!(find_rule(d.rule), Some(rule) if rule.group == RuleGroup::Names);
    // A value that may be missing must be guarded in each place.
    if !(of_names || d.rule == "unknown-reference")
        || d.span.is_none()
        || d.severity < FindingSeverity::Warning
        || d.rule == "maybe-undefined"
    {
        return None;
    }
    Some((d.rule, d.severity, d.file?, d.message.clone(), d.fix.as_ref().map(|fix| fix.message.clone())))
}

/// Adds another place to a finding, and its change to the fix.
fn join(one: &mut Diagnostic, other: Diagnostic, others: usize) {
    if let (Some(file), Some(span), true) = (other.file, other.span, others <= SHOWN) {
        one.labels.push(DiagnosticLabel { location: Location::new(file, span), message: "and here".to_owned() });
    }
    if let (Some(fix), Some(more)) = (&mut one.fix, other.fix) {
        let Fix { edits, safe, .. } = &mut **fix;
        *safe &= more.safe;
        let mut new = more.edits;
        new.retain(|edit| !edits.contains(edit));
        edits.extend(new);
    }
}

fn counted(mut d: Diagnostic, others: usize) -> Diagnostic {
    if others > SHOWN {
        d.message = format!("{} (and in {others} more places)", d.message);
    }
    d
}
