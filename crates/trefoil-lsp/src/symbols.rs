//! Document symbols: the declarations of a file, nested by their containers.

use std::collections::{HashMap, HashSet};

use trefoil_ir::facts::{Declaration, DeclarationKind};
use trefoil_syntax::{FileId, Location, Span};

use crate::analysis::Analysis;

/// A symbol and its children.
#[derive(Debug, Clone, PartialEq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: DeclarationKind,
    /// A one-line description.
    pub detail: Option<String>,
    /// The range of the whole symbol.
    pub extent: Span,
    /// The range of its name.
    pub selection: Span,
    /// The symbols inside it.
    pub children: Vec<Symbol>,
}

/// Maximum nesting of symbols.
const DEPTH: usize = 32;

/// The symbols of a file, in its order.
pub fn symbols(analysis: &Analysis, file: FileId) -> Vec<Symbol> {
    let mut own: Vec<&Declaration> = analysis.facts().declarations.iter().filter(|d| d.at.file == file).collect();
    own.sort_by_key(|d| (d.at.span.start, d.at.span.end));
    let here: HashSet<Location> = own.iter().map(|d| d.at).collect();
    // Group by container; a declaration whose container is not in this file is at the top.
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
        // The protocol requires that the extent contains the name.
        extent: d.extent.cover(d.at.span),
        selection: d.at.span,
        children: within(Some(d.at), parts, depth - 1),
    };
    children.map(symbol).collect()
}
