//! From text to tree.

use super::tree::Node;
use crate::diagnostic::Diagnostic;
use crate::file::{FileId, SourceFile};

/// What a hostile file may cost.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of a file.
    pub bytes: usize,
    /// Nesting of collections.
    pub depth: usize,
    /// Nodes after alias expansion.
    pub nodes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 16 << 20, depth: 128, nodes: 1_000_000 }
    }
}

/// What came of a file: a tree when there is one, and what is wrong.
#[derive(Debug, Clone, Default)]
pub struct Parsed {
    /// The root, unless the text is not YAML or is empty.
    pub root: Option<Node>,
    /// What is wrong, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses one document.
pub fn parse(_id: FileId, _file: &SourceFile, _limits: &Limits) -> Parsed {
    todo!()
}
