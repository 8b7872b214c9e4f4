//! References: every place that refers to what is at an offset, in all files of the folder.

use trefoil_syntax::{FileId, Location};

use crate::analysis::{FolderAnalysis, touches_offset};

/// The references in order, including the declaration if `declaration` is set. If one text both declares something and
/// refers to something else (a step that is named by its agent), the references of both.
pub fn find_references(analysis: &FolderAnalysis, file: FileId, offset: u32, declaration: bool) -> Vec<Location> {
    let facts = analysis.facts();
    let mut meant: Vec<Location> = analysis.mentions_at(file, offset).into_iter().filter_map(|m| m.to).collect();
    let own = facts.declarations.iter().filter(|d| d.at.file == file && touches_offset(d.at.span, offset));
    meant.extend(own.map(|d| d.at));
    // A step without a name is referred to by its agent's name.
    let called = facts.mentions.iter().filter(|m| !m.template && m.to.is_some_and(|to| meant.contains(&to)));
    let steps: Vec<Location> =
        called.map(|m| m.at).filter(|at| facts.declarations.iter().any(|d| d.at == *at)).collect();
    meant.extend(steps);
    let mut out: Vec<Location> =
        facts.mentions.iter().filter(|m| m.to.is_some_and(|to| meant.contains(&to))).map(|m| m.at).collect();
    if declaration {
        out.extend(&meant);
    }
    out.sort();
    out.dedup();
    out
}
