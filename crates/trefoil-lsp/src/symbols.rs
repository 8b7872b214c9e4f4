//! Document symbols: what a file declares, each within what it is part of.

use trefoil::ir::facts::{Declaration, DeclarationKind};
use trefoil::syntax::{FileId, Span};

use crate::analysis::Analysis;

/// A symbol and what is in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// What sort of thing.
    pub kind: DeclarationKind,
    /// One line about it.
    pub detail: Option<String>,
    /// All of it.
    pub extent: Span,
    /// Its name.
    pub selection: Span,
    /// What is in it.
    pub children: Vec<Symbol>,
}

/// How deep symbols are shown.
const DEPTH: usize = 32;

/// The symbols of a file, in its order.
pub fn symbols(analysis: &Analysis, file: FileId) -> Vec<Symbol> {
    let mut own: Vec<&Declaration> = analysis.facts().declarations.iter().filter(|d| d.at.file == file).collect();
    own.sort_by_key(|d| (d.at.span.start, d.at.span.end));
    let roots = own.iter().filter(|d| !d.parent.is_some_and(|p| own.iter().any(|o| o.at == p && o.at != d.at)));
    roots.map(|d| symbol(d, &own, DEPTH)).collect()
}

fn symbol(d: &Declaration, all: &[&Declaration], depth: usize) -> Symbol {
    let children = all.iter().filter(|c| depth > 0 && c.parent == Some(d.at) && c.at != d.at);
    Symbol {
        name: d.name.to_string(),
        kind: d.kind,
        detail: d.note.as_deref().map(str::to_owned),
        // The protocol wants the name within the whole.
        extent: d.extent.cover(d.at.span),
        selection: d.at.span,
        children: children.map(|c| symbol(c, all, depth - 1)).collect(),
    }
}
