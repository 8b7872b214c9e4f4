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
        if let Some(to) = mention.to
            && !out.contains(&to)
        {
            out.push(to);
        }
    }
    for key in out.clone() {
        let mut writers = writers(analysis, key);
        writers.retain(|at| !out.contains(at));
        out.extend(writers);
    }
    if out.is_empty()
        && let Some((declaration, _)) = analysis.declaration_at(file, offset)
    {
        out.push(declaration.at);
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
fn writers(analysis: &FolderAnalysis, key: Location) -> Vec<Location> {
    let facts = analysis.facts();
    if !facts.declarations.iter().any(|d| d.at == key && d.kind == DeclarationKind::Key) {
        return Vec::new();
    }
    let mut writers = Vec::new();
    for mention in &facts.mentions {
        if !mention.template && mention.to == Some(key) {
            writers.push(mention.at);
        }
    }
    writers
}

/// The start of the file whose path is at an offset.
fn named_file(analysis: &FolderAnalysis, file: FileId, offset: u32) -> Option<Location> {
    let TreeElement::Value(text) = find_position(analysis.yaml_tree(file)?, offset).element else { return None };
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
