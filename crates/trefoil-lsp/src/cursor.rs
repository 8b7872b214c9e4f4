//! Locates an offset in the tree of a file and on its line.

use trefoil_syntax::Span;
use trefoil_syntax::yaml::{YamlEntry, YamlMapping, YamlNode, YamlNodeKind, YamlText};

use crate::analysis::touches_offset;

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
pub enum TreeElement<'t> {
    /// A key of a mapping.
    Key(&'t YamlText),
    /// A scalar.
    Value(&'t YamlText),
    /// Neither: the space in or after a collection.
    Between,
}

/// A position in a tree.
#[derive(Debug, Clone)]
pub struct TreePosition<'t> {
    /// The path from the root. For a key, the path of its mapping and then the key.
    pub path: Vec<PathStep>,
    /// The innermost mapping or sequence.
    pub container: &'t YamlNode,
    /// What is at the position.
    pub element: TreeElement<'t>,
}

/// Finds the position of an offset.
pub fn find_position(root: &YamlNode, offset: u32) -> TreePosition<'_> {
    let mut position = TreePosition { path: Vec::new(), container: root, element: TreeElement::Between };
    let mut node = root;
    loop {
        match &*node.kind {
            YamlNodeKind::Scalar(_, text) => {
                position.element = TreeElement::Value(text);
                return position;
            }
            YamlNodeKind::Sequence(items) => {
                position.container = node;
                let Some((i, item)) = items.iter().enumerate().find(|(_, n)| touches_offset(n.span, offset)) else {
                    return position;
                };
                position.path.push(PathStep::Item(i));
                node = item;
            }
            YamlNodeKind::Mapping(mapping) => {
                position.container = node;
                if let Some(entry) = mapping.entries.iter().find(|e| touches_offset(e.key.span, offset)) {
                    position.path.push(PathStep::Key(entry.key.value.to_string()));
                    position.element = TreeElement::Key(&entry.key);
                    return position;
                }
                let found =
                    mapping.entries.iter().find(|e| touches_offset(e.value.span, offset) && !e.value.span.is_empty());
                let Some(entry) = found else { return position };
                position.path.push(PathStep::Key(entry.key.value.to_string()));
                node = &entry.value;
            }
        }
    }
}

/// All nodes of a tree. The nodes of an anchor occur again for each of its aliases.
pub fn walk_nodes(root: &YamlNode) -> impl Iterator<Item = &YamlNode> {
    let mut stack = vec![root];
    std::iter::from_fn(move || {
        let node = stack.pop()?;
        match &*node.kind {
            YamlNodeKind::Mapping(mapping) => stack.extend(mapping.entries.iter().map(|e| &e.value)),
            YamlNodeKind::Sequence(items) => stack.extend(items),
            YamlNodeKind::Scalar(..) => {}
        }
        Some(node)
    })
}

/// The node after a step.
pub fn node_after<'t>(node: &'t YamlNode, step: &PathStep) -> Option<&'t YamlNode> {
    match step {
        PathStep::Key(key) => Some(&node.as_mapping()?.get(key)?.value),
        PathStep::Item(at) => node.as_sequence()?.get(*at),
    }
}

/// The node at the end of a path.
pub fn node_at<'t>(root: &'t YamlNode, path: &[PathStep]) -> Option<&'t YamlNode> {
    let mut node = root;
    for step in path {
        node = node_after(node, step)?;
    }
    Some(node)
}

/// The entry at the end of a path of keys.
pub fn entry_at<'t>(root: &'t YamlNode, keys: &[&str]) -> Option<&'t YamlEntry> {
    let (last, above) = keys.split_last()?;
    let mut node = root;
    for key in above {
        node = &node.as_mapping()?.get(key)?.value;
    }
    node.as_mapping()?.get(last)
}

/// The mapping below a key.
pub fn mapping_below<'t>(mapping: &'t YamlMapping, key: &str) -> Option<&'t YamlMapping> {
    mapping.get(key)?.value.as_mapping()
}

/// The items of the list below a key.
pub fn list_below<'t>(mapping: &'t YamlMapping, key: &str) -> Option<&'t [YamlNode]> {
    mapping.get(key)?.value.as_sequence()
}

/// The first entry with one of these keys, in the order of the keys.
pub fn first_entry<'t>(mapping: &'t YamlMapping, keys: &[&str]) -> Option<&'t YamlEntry> {
    keys.iter().find_map(|key| mapping.get(key))
}

/// The last key of a path.
pub fn last_key(path: &[PathStep]) -> Option<&str> {
    for step in path.iter().rev() {
        if let PathStep::Key(key) = step {
            return Some(key);
        }
    }
    None
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
pub fn line_span(text: &str, offset: u32) -> Span {
    let at = offset as usize;
    let start = match text.get(..at).unwrap_or(text).rfind(['\n', '\r']) {
        Some(line_break) => line_break + 1,
        None => 0,
    };
    let end = match text.get(at..).unwrap_or_default().find(['\n', '\r']) {
        Some(length) => at + length,
        None => text.len(),
    };
    Span::new(start as u32, (end as u32).max(start as u32))
}

/// The line break that a text uses.
pub fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text.get(..at).unwrap_or_default().ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// The indentation of a line.
pub fn leading_blanks(line: &str) -> &str {
    line.get(..line.len() - line.trim_start_matches([' ', '\t']).len()).unwrap_or_default()
}
