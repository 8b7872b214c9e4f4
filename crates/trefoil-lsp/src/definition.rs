//! Go to definition: from a name to its declaration, also in other files.

use trefoil_ir::facts::DeclarationKind;
use trefoil_syntax::{FileId, Location, Span};

use crate::analysis::FolderAnalysis;
use crate::cursor::{TreeElement, find_position};
use crate::origins;

/// The declarations of what is at an offset.
pub fn find_definitions(analysis: &FolderAnalysis, file: FileId, offset: u32) -> Vec<Location> {
    let mut out: Vec<Location> = Vec::new();
    for mention in analysis.mentions_at(file, offset) {
        out.extend(mention.to.filter(|to| !out.contains(to)));
    }
    for key in out.clone() {
        out.extend(writers(analysis, key).filter(|at| !out.contains(at)).collect::<Vec<_>>());
    }
    if out.is_empty() {
        out.extend(analysis.declaration_at(file, offset).map(|(d, _)| d.at));
    }
    if out.is_empty() {
        out.extend(origins::find_origins(analysis, file, offset));
    }
    if out.is_empty() {
        out.extend(named_file(analysis, file, offset));
    }
    out
}

/// The other places that write to a key of shared state. The facts have only the first as its declaration.
fn writers(analysis: &FolderAnalysis, key: Location) -> impl Iterator<Item = Location> {
    let facts = analysis.facts();
    let shared = facts.declarations.iter().any(|d| d.at == key && d.kind == DeclarationKind::Key);
    let others = facts.mentions.iter().filter(move |m| shared && !m.template && m.to == Some(key));
    others.map(|m| m.at)
}

/// The start of the file whose path is at an offset.
fn named_file(analysis: &FolderAnalysis, file: FileId, offset: u32) -> Option<Location> {
    let TreeElement::Value(text) = find_position(analysis.yaml_tree(file)?, offset).on else { return None };
    if !text.value.contains('.') || text.value.contains('\n') {
        return None;
    }
    let own = std::path::Path::new(analysis.source_file(file)?.name());
    // Only files that were read are known; nothing else is opened.
    let path = trefoil_project::file_access::clean_path(
        &trefoil_project::file_access::folder_real(own.parent()?)?.join(&*text.value),
    );
    Some(Location::new(analysis.find_file(&path)?, Span::new(0, 0)))
}
