//! Builds a mapping: keys and values in order of appearance, duplicates, merge keys.

use crate::hash::{HashMap, HashSet};
use std::sync::Arc;

use super::rules;
use super::style::YamlStyle;
use super::tree::{YamlEntry, YamlMapping, YamlNode, YamlNodeKind, YamlScalar, YamlText};
use crate::diagnostic::Diagnostic;
use crate::span::{FileId, Location, Span};

/// Up to this many entries, a linear search is faster than hashing.
const SMALL: usize = 8;

/// The role of the next node.
#[derive(Debug)]
enum NextNode {
    Key,
    Value(YamlText, YamlScalar),
    /// The value of a key that was reported.
    Ignored,
    /// The value of the `<<` at this span.
    Merge(Span),
}

/// The entries so far.
#[derive(Debug)]
pub(super) struct MappingBuilder {
    file: FileId,
    entries: Vec<YamlEntry>,
    /// The entries that came from a merge key. An entry written in the mapping itself replaces them.
    merged: HashSet<usize>,
    /// The index of each key, used once there are many keys.
    index: HashMap<Arc<str>, usize>,
    next: NextNode,
    merge_key: Option<Span>,
}

impl MappingBuilder {
    /// Reuses an empty list that an earlier mapping returned.
    pub(super) fn new(file: FileId, entries: Vec<YamlEntry>) -> Self {
        Self {
            file,
            entries,
            merged: HashSet::default(),
            index: HashMap::default(),
            next: NextNode::Key,
            merge_key: None,
        }
    }
    pub(super) fn wants_key(&self) -> bool {
        matches!(self.next, NextNode::Key)
    }
    /// The mapping with a list of exactly its size, and the spare list for reuse.
    pub(super) fn finish_mapping(mut self) -> (YamlMapping, Vec<YamlEntry>) {
        (YamlMapping { entries: self.entries.drain(..).collect(), owner: None }, self.entries)
    }
    /// Uses a scalar as the next key. Most nodes are keys, so this avoids creating a node for each.
    pub(super) fn plain_key(&mut self, scalar: YamlScalar, text: YamlText, findings: &mut Vec<Diagnostic>) {
        self.next = self.scalar_key(scalar, text, findings);
    }
    /// Adds a node as key or value, whichever is next.
    pub(super) fn add_node(&mut self, mut node: YamlNode, findings: &mut Vec<Diagnostic>) {
        match std::mem::replace(&mut self.next, NextNode::Key) {
            NextNode::Key => self.next = self.key(node, findings),
            NextNode::Value(key, key_scalar) => {
                if let Some(YamlNodeKind::Mapping(mapping)) = Arc::get_mut(&mut node.kind) {
                    mapping.owner = Some(key.span);
                }
                self.entry(YamlEntry { key, key_scalar, value: node }, findings);
            }
            NextNode::Merge(at) => self.merge(at, &node, findings),
            NextNode::Ignored => {}
        }
    }
    fn key(&mut self, node: YamlNode, findings: &mut Vec<Diagnostic>) -> NextNode {
        let YamlNodeKind::Scalar(scalar, text) = &*node.kind else {
            let at = Location::new(self.file, node.span);
            findings.push(
                Diagnostic::new_error(rules::KEY, at, format!("a key must be text, not {}", node.kind_description()))
                    .with_help("put quotes around it if it is meant as text"),
            );
            return NextNode::Ignored;
        };
        self.scalar_key(*scalar, YamlText { span: node.span, ..text.clone() }, findings)
    }
    fn scalar_key(&mut self, scalar: YamlScalar, text: YamlText, findings: &mut Vec<Diagnostic>) -> NextNode {
        let at = Location::new(self.file, text.span);
        if text.value.is_empty() && text.style == YamlStyle::Plain && scalar == YamlScalar::Null {
            if !text.span.is_empty() {
                // An alias without an anchor, which was already reported.
                return NextNode::Ignored;
            }
            findings.push(Diagnostic::new_error(rules::KEY, at, "missing key").with_help("write `key: value`"));
            return NextNode::Ignored;
        }
        if &*text.value == "<<" && text.style == YamlStyle::Plain {
            if let Some(first) = self.merge_key.replace(text.span) {
                findings.push(
                    Diagnostic::new_error(rules::DUPLICATE_KEY, at, "the merge key `<<` appears twice in one mapping")
                        .with_label(Location::new(self.file, first), "the first one")
                        .with_help("merge several mappings with one list: `<<: [*a, *b]`"),
                );
            }
            return NextNode::Merge(text.span);
        }
        NextNode::Value(text, scalar)
    }
    fn find(&self, key: &str) -> Option<usize> {
        if self.index.is_empty() {
            self.entries.iter().position(|e| &*e.key.value == key)
        } else {
            self.index.get(key).copied()
        }
    }
    fn entry(&mut self, entry: YamlEntry, findings: &mut Vec<Diagnostic>) {
        let Some(found) = self.find(&entry.key.value) else { return self.push(entry, false) };
        match self.entries.get_mut(found) {
            Some(old) if self.merged.remove(&found) => *old = entry,
            Some(old) => {
                let found = Diagnostic::new_error(
                    rules::DUPLICATE_KEY,
                    Location::new(self.file, entry.key.span),
                    format!("the key `{}` appears twice in one mapping", displayed_key(&entry.key.value)),
                )
                .with_label(Location::new(self.file, old.key.span), "the first one")
                .with_help("remove or rename one of them");
                // Only a value whose end does not depend on its line break can be removed without looking at the text.
                let simple = |t: &YamlText| !matches!(t.style, YamlStyle::Literal | YamlStyle::Folded);
                let whole = Location::new(self.file, entry.key.span.cover_both(entry.value.span));
                findings.push(match entry.value.as_scalar() {
                    Some((_, text)) if simple(text) => found.with_suggestion("remove the second one", whole, ""),
                    _ => found,
                });
            }
            None => {}
        }
    }
    fn push(&mut self, entry: YamlEntry, merged: bool) {
        if merged {
            self.merged.insert(self.entries.len());
        }
        self.entries.push(entry);
        if self.entries.len() > SMALL {
            if self.index.is_empty() {
                self.index = self.entries.iter().enumerate().map(|(i, e)| (e.key.value.clone(), i)).collect();
            } else if let Some(last) = self.entries.last() {
                self.index.insert(last.key.value.clone(), self.entries.len() - 1);
            }
        }
    }
    /// Merges the entries of a mapping, or of each mapping in a list. Earlier entries take precedence, and entries
    /// written in this mapping take precedence over all.
    fn merge(&mut self, at: Span, node: &YamlNode, findings: &mut Vec<Diagnostic>) {
        let sources = match &*node.kind {
            YamlNodeKind::Sequence(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        for source in sources {
            match &*source.kind {
                YamlNodeKind::Mapping(mapping) => {
                    for entry in &mapping.entries {
                        if self.find(&entry.key.value).is_none() {
                            self.push(entry.clone(), true);
                        }
                    }
                }
                _ => findings.push(
                    Diagnostic::new_error(
                        rules::MERGE,
                        Location::new(self.file, if source.span.is_empty() { at } else { source.span }),
                        format!("`<<` merges a mapping, not {}", source.kind_description()),
                    )
                    .with_help("use an alias of a mapping or a list of aliases: `<<: *defaults`"),
                ),
            }
        }
    }
}

/// A key as shown in messages: on one line and of limited length.
pub(super) fn displayed_key(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(61).collect();
    if line.chars().count() > 60 { line.chars().take(60).chain(['…']).collect() } else { line }
}
