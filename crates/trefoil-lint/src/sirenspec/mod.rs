//! What people get wrong in SirenSpec workflows: one file a subject, each a function over what was read and bound, called from
//! one list. Nothing here changes what a workflow does.

mod agents;
mod answers;
mod calls;
mod count;
mod cycles;
mod edges;
mod fallbacks;
mod instances;
mod list;
mod names;
mod subject;
mod swarm;
mod texts;
mod when;
mod writes;

use std::cell::RefCell;

use trefoil_syntax::Diagnostic;
use trefoil_syntax::hash::{HashMap, HashSet};

use subject::Subject;
use trefoil_front::Reader;
use trefoil_front::sirenspec::Units;

type Rule = fn(&Subject<'_, '_>);

/// Everything that is looked for.
const RULES: [Rule; 14] = [
    texts::check,
    edges::check,
    fallbacks::check,
    cycles::check,
    agents::check,
    calls::check,
    writes::check,
    names::check,
    list::check,
    count::check,
    instances::check,
    swarm::check,
    when::check,
    answers::check,
];

/// The mistakes in everything that entries lead to. What a file says is reported once, however it is called.
pub fn check(units: &Units<'_>) -> Vec<Diagnostic> {
    let mut by_document: HashMap<usize, HashSet<Diagnostic>> = HashMap::default();
    let mut found = Vec::new();
    for unit in &units.all {
        let Some(document) = units.project.documents.get(unit.document) else { continue };
        let findings = RefCell::default();
        let reader = &Reader::of(units.project, document, &findings);
        let (known, links) = (&*unit.known, &*unit.links);
        let (manifest, texts, children) = (&*unit.manifest, &unit.texts, unit.children.as_slice());
        let subject = Subject { reader, manifest, known, links, texts, children };
        RULES.iter().for_each(|rule| rule(&subject));
        let told = by_document.entry(unit.document).or_default();
        let all = findings.into_inner().diagnostics.into_sorted();
        found.extend(all.into_iter().filter(|d| told.insert(d.clone())));
    }
    found
}
