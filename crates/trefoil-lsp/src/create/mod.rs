//! Actions that make what is missing: the agent, workflow, state, node or file that a key names, an input that a template
//! reads, the keys that a call leaves out.
//!
//! What is made loads, and is as little as can be: a person fills it. In a file that is no YAML at the moment nothing is
//! offered, because what is missing there may only be unread.

mod input;
mod insert;
mod thing;

use std::path::PathBuf;

use trefoil_syntax::{Edit, FileId, Span};

use crate::analysis::{Analysis, touches};
use crate::held;

/// Something that can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Creation {
    /// What it does.
    pub title: String,
    /// Changes of files that are there.
    pub edits: Vec<Edit>,
    /// Files that are not, with their texts.
    pub files: Vec<(PathBuf, String)>,
}

/// What can be made for a part of a file.
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
