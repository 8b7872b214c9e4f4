//! Workspace symbols: finds declarations in all files of a folder by a part of their name.

use trefoil_ir::facts::DeclarationKind;
use trefoil_syntax::Location;

use crate::analysis::FolderAnalysis;

/// A search result.
#[derive(Debug, Clone, PartialEq)]
pub struct SymbolMatch {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: DeclarationKind,
    /// The location of its name.
    pub at: Location,
    /// The name of its container.
    pub container: Option<String>,
    /// The quality of the match; lower is better.
    rank: u8,
}

/// The declarations whose names contain the letters of a query in order, ignoring case, best first. An empty query
/// matches everything.
pub fn find_symbols(analysis: &FolderAnalysis, query: &str) -> Vec<SymbolMatch> {
    let query: String = query.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect();
    let mut found: Vec<SymbolMatch> = Vec::new();
    for declaration in &analysis.facts().declarations {
        let Some(rank) = rank(&declaration.name, &query) else { continue };
        let mut container = None;
        if let Some(parent) = declaration.parent
            && let Some(parent) = analysis.declaration_of_name(parent)
        {
            container = Some(parent.name.to_string());
        }
        let name = declaration.name.to_string();
        found.push(SymbolMatch { name, kind: declaration.kind, at: declaration.at, container, rank });
    }
    found.sort_by(|a, b| (a.rank, &a.name, a.at).cmp(&(b.rank, &b.name, b.at)));
    found
}

fn rank(name: &str, query: &str) -> Option<u8> {
    let name = name.to_lowercase();
    if name == query {
        return Some(0);
    }
    if let Some(at) = name.find(query) {
        return Some(if at == 0 { 1 } else { 2 });
    }
    let mut left = query.chars().peekable();
    for c in name.chars() {
        left.next_if_eq(&c);
    }
    if left.peek().is_none() { Some(3) } else { None }
}

#[cfg(test)]
mod tests {
    use super::rank;

    #[test]
    fn letters_in_their_order_are_enough() {
        assert_eq!(rank("web-researcher", "webr"), Some(3));
        assert_eq!(rank("web-researcher", "research"), Some(2));
        assert_eq!(rank("WRITE", "write"), Some(0));
        assert_eq!(rank("writer", ""), Some(1));
        assert_eq!(rank("writer", "rw"), None);
    }
}
