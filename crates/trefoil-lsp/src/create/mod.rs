//! Actions that create something missing: the agent, workflow, state, node or file that a key names, an input that a
//! template reads, the inputs that a call omits.
//!
//! The created text loads and is minimal; the user completes it. Nothing is offered for a file that is not valid YAML
//! at the moment, because the missing definition may only be in the invalid part.

mod input;
mod insert;
mod thing;

use std::path::PathBuf;

use trefoil_syntax::{Edit, FileId, Span};

use crate::analysis::{Analysis, touches};
use crate::held;

/// Something that can be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Creation {
    /// Its description.
    pub title: String,
    /// Edits of existing files.
    pub edits: Vec<Edit>,
    /// New files and their contents.
    pub files: Vec<(PathBuf, String)>,
}

/// What can be created for a part of a file.
pub fn creations(analysis: &Analysis, file: FileId, span: Span) -> Vec<Creation> {
    let Some(front) = analysis.dialect(file).filter(|_| !held::is_broken(analysis, file)) else { return Vec::new() };
    let dialect = front.name();
    let mut out: Vec<Creation> = Vec::new();
    let here = |at: Span| touches(at, span.start) || span.start <= at.start && at.end <= span.end;
    for mention in analysis.mentions_in(file).filter(|m| here(m.at.span)) {
        let made = match (mention.template, mention.to) {
            (false, None) => thing::missing(analysis, dialect, mention.at),
            (false, Some(to)) => input::left_out(analysis, dialect, mention.at, to),
            (true, None) => input::undeclared(analysis, dialect, mention),
            (true, Some(_)) => None,
        };
        out.extend(made.filter(|m| !out.contains(m)));
    }
    out.extend(thing::env_file(analysis, dialect, file, here));
    out
}
