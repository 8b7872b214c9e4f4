//! Mistakes in SirenSpec workflows: one file for each subject, each a function that checks what was read and bound,
//! called from one list. None of them affects a run.

mod agents;
mod calls;
mod cycles;
mod edges;
mod fallbacks;
mod headers;
mod list;
mod names;
mod references;
mod subject;
mod when;

use trefoil_syntax::Diagnostic;

use subject::{CheckedWorkflow, FindingList};
use trefoil_front::sirenspec::SirenUnits;

type SirenspecFinder = fn(&CheckedWorkflow<'_>, &mut FindingList);

/// All finders.
const RULES: [SirenspecFinder; 9] = [
    edges::check_edges,
    fallbacks::check_fallbacks,
    cycles::check_cycles,
    agents::check_agents,
    headers::check_headers,
    calls::check_calls,
    names::check_workflow_names,
    list::check_lists,
    when::check_conditions,
];

/// The mistakes in everything that can be reached from entries. A file with several roles is checked in each, because
/// the available names differ.
pub fn check_sirenspec(units: &SirenUnits<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    references::check_workflow_references(units, &mut found);
    for subject in subjects(units) {
        RULES.iter().for_each(|rule| rule(&subject, &mut found));
    }
    found
}

fn subjects<'u>(units: &'u SirenUnits<'_>) -> impl Iterator<Item = CheckedWorkflow<'u>> {
    units.all.iter().filter_map(|unit| {
        let file = units.project.documents.get(unit.document)?.file;
        let (known, links) = (&*unit.known, &*unit.links);
        let (manifest, texts, children) = (&*unit.manifest, &unit.texts, unit.children.as_slice());
        Some(CheckedWorkflow { file, manifest, known, links, texts, children })
    })
}
