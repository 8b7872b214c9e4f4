//! Locates an offset in the tree of a file and on its line.

use trefoil_syntax::Span;
use trefoil_syntax::yaml::{Entry, Kind, Node, Text};

use crate::analysis::touches;

/// A step of a path in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathStep {
    /// Into the value of a key.
    Key(String),
    /// Into an item of a list.
    Item(usize),
}

/// The element at an offset.
#[derive(Debug, Clone)]
pub enum On<'t> {
    /// A key of a mapping.
    Key(&'t Text),
    /// A scalar.
    Value(&'t Text),
    /// Neither: the space in or after a collection.
    Between,
}

/// A position in a tree.
#[derive(Debug, Clone)]
pub struct Spot<'t> {
    /// The path from the root. For a key, the path of its mapping and then the key.
    pub path: Vec<PathStep>,
    /// The innermost collection.
    pub within: &'t Node,
    /// The element there.
    pub on: On<'t>,
}

/// Finds the position of an offset.
pub fn spot(root: &Node, offset: u32) -> Spot<'_> {
    let mut spot = Spot { path: Vec::new(), within: root, on: On::Between };
    let mut node = root;
    loop {
        match &*node.kind {
            Kind::Scalar(_, text) => {
                spot.on = On::Value(text);
                return spot;
            }
            Kind::Sequence(items) => {
                spot.within = node;
                let Some((i, item)) = items.iter().enumerate().find(|(_, n)| touches(n.span, offset)) else {
                    return spot;
                };
                spot.path.push(PathStep::Item(i));
                node = item;
            }
            Kind::Mapping(mapping) => {
                spot.within = node;
                if let Some(entry) = mapping.entries.iter().find(|e| touches(e.key.span, offset)) {
                    spot.path.push(PathStep::Key(entry.key.value.to_string()));
                    spot.on = On::Key(&entry.key);
                    return spot;
                }
                let found = mapping.entries.iter().find(|e| touches(e.value.span, offset) && !e.value.span.is_empty());
                let Some(entry) = found else { return spot };
                spot.path.push(PathStep::Key(entry.key.value.to_string()));
                node = &entry.value;
            }
        }
    }
}

/// All nodes of a tree. Those of an anchor are there again for each of its aliases.
pub fn nodes(root: &Node) -> impl Iterator<Item = &Node> {
    let mut stack = vec![root];
    std::iter::from_fn(move || {
        let node = stack.pop()?;
        match &*node.kind {
            Kind::Mapping(mapping) => stack.extend(mapping.entries.iter().map(|e| &e.value)),
            Kind::Sequence(items) => stack.extend(items),
            Kind::Scalar(..) => {}
        }
        Some(node)
    })
}

/// The node after a step.
pub fn node_after<'t>(node: &'t Node, step: &PathStep) -> Option<&'t Node> {
    match step {
        PathStep::Key(key) => node.mapping()?.get(key).map(|e| &e.value),
        PathStep::Item(at) => node.sequence()?.get(*at),
    }
}

/// The node at the end of a path.
pub fn node_at<'t>(root: &'t Node, path: &[PathStep]) -> Option<&'t Node> {
    path.iter().try_fold(root, node_after)
}

/// The entry at the end of a path of keys.
pub fn entry_at<'t>(root: &'t Node, keys: &[&str]) -> Option<&'t Entry> {
    let (last, above) = keys.split_last()?;
    let mapping = above.iter().try_fold(root, |node, key| Some(&node.mapping()?.get(key)?.value));
    mapping?.mapping()?.get(last)
}

/// The brackets that close those which a line opens and does not close.
pub fn open_brackets(line: &str) -> Vec<char> {
    let mut open = Vec::new();
    for c in line.chars() {
        match c {
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => drop(open.pop()),
            _ => {}
        }
    }
    open.reverse();
    open
}

/// The bytes of the line that contains an offset, without its line break. As in the protocol, a lone carriage return is
/// a line break.
pub fn line(text: &str, offset: u32) -> Span {
    let at = offset as usize;
    let start = text.get(..at).unwrap_or(text).rfind(['\n', '\r']).map_or(0, |n| n + 1);
    let end = text.get(at..).and_then(|rest| rest.find(['\n', '\r'])).map_or(text.len(), |n| at + n);
    Span::new(start as u32, (end as u32).max(start as u32))
}

/// The line break that a text uses.
pub fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text.get(..at).is_some_and(|before| before.ends_with('\r')) => "\r\n",
        _ => "\n",
    }
}

/// The indentation of a line.
pub fn indent(line: &str) -> &str {
    line.get(..line.len() - line.trim_start_matches([' ', '\t']).len()).unwrap_or_default()
}
