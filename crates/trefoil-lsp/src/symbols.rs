//! Document symbols: what a file declares, each within what it is part of.

use std::collections::{HashMap, HashSet};

use trefoil_ir::facts::{Declaration, DeclarationKind};
use trefoil_syntax::{FileId, Location, Span};

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
    let here: HashSet<Location> = own.iter().map(|d| d.at).collect();
    // By what they are part of; what is part of nothing in this file comes first.
    let mut parts: HashMap<Option<Location>, Vec<&Declaration>> = HashMap::new();
    for d in own {
        parts.entry(d.parent.filter(|p| here.contains(p) && *p != d.at)).or_default().push(d);
    }
    within(None, &parts, DEPTH)
}

fn within(parent: Option<Location>, parts: &HashMap<Option<Location>, Vec<&Declaration>>, depth: usize) -> Vec<Symbol> {
    let children = parts.get(&parent).into_iter().flatten().filter(|_| depth > 0);
    let symbol = |d: &&Declaration| Symbol {
        name: d.name.to_string(),
        kind: d.kind,
        detail: d.note.as_deref().map(str::to_owned),
        // The protocol wants the name within the whole.
        extent: d.extent.cover(d.at.span),
        selection: d.at.span,
        children: within(Some(d.at), parts, depth - 1),
    };
    children.map(symbol).collect()
}
