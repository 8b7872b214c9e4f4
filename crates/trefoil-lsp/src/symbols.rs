//! Document symbols: the declarations of a file, nested by their containers.

use std::collections::{HashMap, HashSet};

use trefoil_ir::facts::{DeclarationKind, NameDeclaration};
use trefoil_syntax::{FileId, Location, Span};

use crate::analysis::FolderAnalysis;

/// A symbol and its children.
#[derive(Debug, Clone, PartialEq)]
pub struct OutlineSymbol {
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
    pub children: Vec<OutlineSymbol>,
}

/// Maximum nesting of symbols.
const DEPTH: usize = 32;

/// The symbols of a file, in its order.
pub fn list_symbols(analysis: &FolderAnalysis, file: FileId) -> Vec<OutlineSymbol> {
    let mut own: Vec<&NameDeclaration> = analysis.facts().declarations.iter().filter(|d| d.at.file == file).collect();
    own.sort_by_key(|d| (d.at.span.start, d.at.span.end));
    let here: HashSet<Location> = own.iter().map(|d| d.at).collect();
    // Group by container; a declaration whose container is not in this file is at the top.
    let mut parts: HashMap<Option<Location>, Vec<&NameDeclaration>> = HashMap::new();
    for d in own {
        parts.entry(d.parent.filter(|p| here.contains(p) && *p != d.at)).or_default().push(d);
    }
    child_symbols(None, &parts, DEPTH)
}

fn child_symbols(
    parent: Option<Location>,
    parts: &HashMap<Option<Location>, Vec<&NameDeclaration>>,
    depth: usize,
) -> Vec<OutlineSymbol> {
    let Some(children) = parts.get(&parent) else { return Vec::new() };
    if depth == 0 {
        return Vec::new();
    }
    let mut symbols = Vec::new();
    for declaration in children {
        symbols.push(OutlineSymbol {
            name: declaration.name.to_string(),
            kind: declaration.kind,
            detail: declaration.note.as_deref().map(str::to_owned),
            // The protocol requires that the extent contains the name.
            extent: declaration.extent.cover_both(declaration.at.span),
            selection: declaration.at.span,
            children: child_symbols(Some(declaration.at), parts, depth - 1),
        });
    }
    symbols
}
