//! What people get wrong in manifests: finders of mistakes over what front ends have read and bound, one folder a dialect, one
//! file a subject, one list each. A finder reads data and gives findings; none changes what a run does.
//!
//! Everything that follows from the program alone, for every dialect, is for `trefoil-check` to find.

mod aegis;
mod agntz;
pub mod rules;
mod sirenspec;
mod swallowed;
mod text;

use trefoil_front::{Compiled, CompiledUnits, Findings, FrontEnd, Linked, Lowered, Project};
use trefoil_syntax::Diagnostic;

/// Findings, in the order of finding.
pub(crate) type Found = Vec<Diagnostic>;

/// The mistakes in everything that was compiled.
pub fn find(compiled: &Compiled<'_>) -> Vec<Diagnostic> {
    let mut found = match &compiled.units {
        CompiledUnits::Agntz(units) => agntz::check(units),
        CompiledUnits::Aegis(units) => aegis::check(units),
        CompiledUnits::Sirenspec(units) => sirenspec::check(units),
    };
    found.extend(compiled.found.blocks.iter().flat_map(swallowed::keys));
    found
}

/// What the rules have to say that are off unless they are asked for.
pub fn find_if_asked(compiled: &Compiled<'_>) -> Vec<Diagnostic> {
    match &compiled.units {
        CompiledUnits::Sirenspec(units) => sirenspec::differences(units),
        CompiledUnits::Agntz(_) | CompiledUnits::Aegis(_) => Vec::new(),
    }
}

/// Documents as the entries of one program, with all that is found in them.
pub fn linked(compiled: Compiled<'_>) -> Linked {
    let found = find(&compiled);
    compiled.link(found)
}

/// One document as the entry of a program. All findings go to `findings`; a program comes back only when none of them is an
/// error.
pub fn lower(front: &dyn FrontEnd, project: &Project, document: usize, findings: &mut Findings) -> Option<Lowered> {
    let linked = linked(front.compile(project, &[document], findings.facts.detail()));
    let lowered = linked.sound();
    findings.diagnostics.extend(linked.found);
    findings.facts.merge(linked.facts);
    lowered
}
