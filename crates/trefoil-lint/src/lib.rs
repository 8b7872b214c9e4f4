//! Finders of mistakes in what front ends have read and bound: one folder for each dialect, one file for each subject,
//! one list in each folder. A finder reads data and returns findings; none affects a run.
//!
//! Mistakes that follow from the program alone, in any dialect, are found by `trefoil-check`.

mod aegis;
mod agntz;
mod habits;
mod sirenspec;
mod swallowed;
mod text;

use trefoil_front::{
    CompileFindings, CompiledUnits, DialectCompilation, FrontEnd, LinkedDocuments, LoweredDocument, Project,
};
use trefoil_syntax::Diagnostic;

/// Findings, in the order in which they were found.
pub(crate) type FindingList = Vec<Diagnostic>;

/// The mistakes in everything that was compiled.
pub fn find_mistakes(compiled: &DialectCompilation<'_>) -> Vec<Diagnostic> {
    let mut found = FindingList::new();
    for bound in compiled.units.bound_texts() {
        text::find_text_mistakes(bound, &mut found);
    }
    found.extend(match &compiled.units {
        CompiledUnits::Agntz(units) => agntz::check_agntz(units),
        CompiledUnits::Aegis(units) => aegis::check_aegis(units),
        CompiledUnits::Sirenspec(units) => sirenspec::check_sirenspec(units),
    });
    let format = match &compiled.units {
        CompiledUnits::Agntz(_) => "agntz",
        CompiledUnits::Aegis(_) => "aegis",
        CompiledUnits::Sirenspec(_) => "sirenspec",
    };
    for block in &compiled.found.blocks {
        found.extend(swallowed::find_swallowed_keys(block, format));
    }
    found
}

/// The program of compiled documents, with all findings.
pub fn link_with_findings(compiled: DialectCompilation<'_>) -> LinkedDocuments {
    let found = find_mistakes(&compiled);
    compiled.link_program(found)
}

/// Compiles one document as the entry of a program. All findings go to `findings`; returns a program only if none of
/// them is an error.
pub fn lower_document(
    front: &dyn FrontEnd,
    project: &Project,
    document: usize,
    findings: &mut CompileFindings,
) -> Option<LoweredDocument> {
    let linked = link_with_findings(front.compile_documents(project, &[document], findings.facts.detail_level()));
    let lowered = linked.runnable_program();
    findings.diagnostics.extend(linked.found);
    findings.facts.merge_from(linked.facts);
    lowered
}
