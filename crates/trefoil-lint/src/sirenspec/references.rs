//! Workflow nodes whose `ref` resolves to no file or to several, or is circular.

use trefoil_syntax::{Diagnostic, Location, suggestions};

use super::subject::FindingList;
use trefoil_front::sirenspec::SirenUnits;
use trefoil_front::sirenspec::references::{LostCall, NoFile, path_stem};

const ADVICE: &str = "write the path of a file relative to this one: `./child.yaml`";

/// Checks every reference that does not resolve to a single file that can be called.
pub fn check_workflow_references(units: &SirenUnits<'_>, found: &mut FindingList) {
    for lost in &units.lost {
        let Some(document) = units.project.documents.get(lost.from) else { continue };
        found.push(finding(units, lost, Location::new(document.file, lost.reference.span)));
    }
}

fn finding(units: &SirenUnits<'_>, lost: &LostCall<'_>, at: Location) -> Diagnostic {
    let (name, documents) = (&lost.reference.value, &units.project.documents);
    match &lost.why {
        NoFile::Unknown => {
            let d = Diagnostic::new_error("unknown-reference", at, format!("no workflow at `{name}`"));
            match suggestions::nearest_name(path_stem(name), units.references.file_stems(lost.from)) {
                Some(near) => d.with_help(format!("did you mean the file of `{near}`? `ref` is relative to this file")),
                None => d.with_help(ADVICE),
            }
        }
        NoFile::Foreign => {
            Diagnostic::new_error("unknown-reference", at, format!("`{name}` is not a SirenSpec workflow"))
        }
        NoFile::Several(all) => {
            let message = format!("several workflows are named `{name}`");
            let mut d = Diagnostic::new_error("ambiguous-reference", at, message);
            for document in all.iter().filter_map(|document| documents.get(*document)) {
                d = d.with_label(Location::new(document.file, document.root.span), "one of them");
            }
            d.with_help(ADVICE)
        }
        NoFile::Ring(ring) => {
            let mut way = Vec::new();
            for document in ring.iter().filter_map(|document| documents.get(*document)) {
                way.push(format!("`{}`", document.path));
            }
            let message = format!("circular references: {}", way.join(" -> "));
            let d = Diagnostic::new_error("reference-cycle", at, message);
            d.with_help("remove one of these calls: a workflow cannot contain itself")
        }
    }
}
