//! Finders of mistakes in what front ends have read and bound: one folder for each dialect, one file for each subject,
//! one list in each folder. A finder reads data and returns findings; none affects a run.
//!
//! Mistakes that follow from the program alone, in any dialect, are found by `trefoil-check`.

mod aegis;
mod agntz;
mod sirenspec;
mod swallowed;
mod text;

use trefoil_front::{Compiled, CompiledUnits, Findings, FrontEnd, Linked, Lowered, Project};
use trefoil_syntax::Diagnostic;

/// Findings, in the order in which they were found.
pub(crate) type Found = Vec<Diagnostic>;

/// The mistakes in everything that was compiled.
pub fn find(compiled: &Compiled<'_>) -> Vec<Diagnostic> {
    let mut found = Found::new();
    compiled.units.texts().into_iter().for_each(|bound| text::find(bound, &mut found));
    found.extend(match &compiled.units {
        CompiledUnits::Agntz(units) => agntz::check(units),
        CompiledUnits::Aegis(units) => aegis::check(units),
        CompiledUnits::Sirenspec(units) => sirenspec::check(units),
    });
    let format = match &compiled.units {
        CompiledUnits::Agntz(_) => "agntz",
        CompiledUnits::Aegis(_) => "aegis",
        CompiledUnits::Sirenspec(_) => "sirenspec",
    };
    found.extend(compiled.found.blocks.iter().flat_map(|block| swallowed::keys(block, format)));
    found
}

/// The findings of rules that are off by default.
pub fn find_if_asked(compiled: &Compiled<'_>) -> Vec<Diagnostic> {
    match &compiled.units {
        CompiledUnits::Sirenspec(units) => sirenspec::differences(units),
        CompiledUnits::Agntz(_) | CompiledUnits::Aegis(_) => Vec::new(),
    }
}

/// The program of compiled documents, with all findings.
pub fn linked(compiled: Compiled<'_>) -> Linked {
    let found = find(&compiled);
    compiled.link(found)
}

/// Compiles one document as the entry of a program. All findings go to `findings`; returns a program only if none of
/// them is an error.
pub fn lower(front: &dyn FrontEnd, project: &Project, document: usize, findings: &mut Findings) -> Option<Lowered> {
    let linked = linked(front.compile(project, &[document], findings.facts.detail()));
    let lowered = linked.sound();
    findings.diagnostics.extend(linked.found);
    findings.facts.merge(linked.facts);
    lowered
}
