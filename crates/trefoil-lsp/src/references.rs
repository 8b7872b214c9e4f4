//! References: every place that refers to what is at an offset, in all files of the folder.

use trefoil_ir::facts::Mention;
use trefoil_syntax::{FileId, Location};

use crate::analysis::{FolderAnalysis, location_touches};

/// The references in order, including the declaration if `declaration` is set. If one text both declares something and
/// refers to something else (a step that is named by its agent), the references of both.
pub fn find_references(analysis: &FolderAnalysis, file: FileId, offset: u32, declaration: bool) -> Vec<Location> {
    let facts = analysis.facts();
    let mut meant: Vec<Location> = Vec::new();
    for mention in analysis.mentions_at(file, offset) {
        meant.extend(mention.to);
    }
    for declaration in &facts.declarations {
        if location_touches(declaration.at, file, offset) {
            meant.push(declaration.at);
        }
    }
    // A step without a name is referred to by its agent's name.
    let mut steps: Vec<Location> = Vec::new();
    for mention in &facts.mentions {
        if !mention.template && refers_to_any(mention, &meant) && analysis.declaration_of_name(mention.at).is_some() {
            steps.push(mention.at);
        }
    }
    meant.extend(steps);
    let mut out: Vec<Location> = Vec::new();
    for mention in &facts.mentions {
        if refers_to_any(mention, &meant) {
            out.push(mention.at);
        }
    }
    if declaration {
        out.extend(&meant);
    }
    out.sort();
    out.dedup();
    out
}

/// Whether a mention refers to one of these declarations.
fn refers_to_any(mention: &Mention, declarations: &[Location]) -> bool {
    matches!(&mention.to, Some(to) if declarations.contains(to))
}
