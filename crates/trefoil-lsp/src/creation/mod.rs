//! Actions that create something missing: the agent, workflow, state, node or file that a key names, an input that a
//! template reads, the inputs that a call omits.
//!
//! The created text loads and is minimal; the user completes it. Nothing is offered for a file that is not valid YAML
//! at the moment, because the missing definition may only be in the invalid part.

mod input;
mod insertion;
mod missing_definition;

use std::path::PathBuf;

use trefoil_syntax::{FileId, SourceEdit, Span};

use crate::analysis::{FolderAnalysis, touches_offset};
use crate::retained_findings;

/// Something that can be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreationProposal {
    /// Its description.
    pub title: String,
    /// Edits of existing files.
    pub edits: Vec<SourceEdit>,
    /// New files and their contents.
    pub files: Vec<(PathBuf, String)>,
}

/// What can be created for a part of a file.
pub fn list_creations(analysis: &FolderAnalysis, file: FileId, span: Span) -> Vec<CreationProposal> {
    let Some(front) = analysis.dialect(file) else { return Vec::new() };
    if retained_findings::is_broken(analysis, file) {
        return Vec::new();
    }
    let dialect = front.name();
    let mut out: Vec<CreationProposal> = Vec::new();
    let here = |at: Span| touches_offset(at, span.start) || span.start <= at.start && at.end <= span.end;
    for mention in analysis.mentions_in(file) {
        if !here(mention.at.span) {
            continue;
        }
        let made = match (mention.template, mention.to) {
            (false, None) => missing_definition::create_missing(analysis, dialect, mention.at),
            (false, Some(to)) => input::pass_inputs(analysis, dialect, mention.at, to),
            (true, None) => input::declare_input(analysis, dialect, mention),
            (true, Some(_)) => None,
        };
        if let Some(made) = made
            && !out.contains(&made)
        {
            out.push(made);
        }
    }
    out.extend(missing_definition::env_file(analysis, dialect, file, here));
    out
}
