//! Mistakes in SirenSpec workflows: one file for each subject, each a function that checks what was read and bound,
//! called from one list. None of them affects a run.

mod agents;
mod answers;
mod calls;
mod count;
mod cycles;
mod edges;
mod fallbacks;
mod headers;
mod instances;
mod list;
mod names;
mod patience;
mod portability;
mod references;
mod subject;
mod swarm;
mod when;

use trefoil_syntax::Diagnostic;

use subject::{Found, Subject};
use trefoil_front::sirenspec::Units;

type Rule = fn(&Subject<'_>, &mut Found);

/// All finders.
const RULES: [Rule; 14] = [
    edges::check,
    fallbacks::check,
    cycles::check,
    agents::check,
    headers::check,
    calls::check,
    names::check,
    list::check,
    count::check,
    instances::check,
    swarm::check,
    when::check,
    answers::check,
    patience::check,
];

/// The mistakes in everything that can be reached from entries. A file with several roles is checked in each, because
/// the available names differ.
pub fn check(units: &Units<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    references::check(units, &mut found);
    for subject in subjects(units) {
        RULES.iter().for_each(|rule| rule(&subject, &mut found));
    }
    found
}

/// Differences from the published original system.
pub fn differences(units: &Units<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    subjects(units).for_each(|subject| portability::check(&subject, &mut found));
    found
}

fn subjects<'u>(units: &'u Units<'_>) -> impl Iterator<Item = Subject<'u>> {
    units.all.iter().filter_map(|unit| {
        let file = units.project.documents.get(unit.document)?.file;
        let (known, links) = (&*unit.known, &*unit.links);
        let (manifest, texts, children) = (&*unit.manifest, &unit.texts, unit.children.as_slice());
        Some(Subject { file, manifest, known, links, texts, children })
    })
}
