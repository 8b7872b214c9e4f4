//! Builds a mapping: keys and values in order of appearance, duplicates, merge keys.

use crate::hash::{HashMap, HashSet};
use std::sync::Arc;

use super::rules;
use super::style::Style;
use super::tree::{Entry, Kind, Mapping, Node, Scalar, Text};
use crate::diagnostic::Diagnostic;
use crate::span::{FileId, Location, Span};

/// Up to this many entries, a linear search is faster than hashing.
const SMALL: usize = 8;

/// The role of the next node.
#[derive(Debug)]
enum Next {
    Key,
    Value(Text, Scalar),
    /// The value of a key that was reported.
    Ignored,
    /// The value of the `<<` at this span.
    Merge(Span),
}

/// The entries so far.
#[derive(Debug)]
pub(super) struct MappingBuilder {
    file: FileId,
    entries: Vec<Entry>,
    /// The entries that came from a merge key. An entry written in the mapping itself replaces them.
    merged: HashSet<usize>,
    /// The index of each key, used once there are many keys.
    index: HashMap<Arc<str>, usize>,
    next: Next,
    merge_key: Option<Span>,
}

impl MappingBuilder {
    /// Reuses an empty list that an earlier mapping returned.
    pub(super) fn new(file: FileId, entries: Vec<Entry>) -> Self {
        Self { file, entries, merged: HashSet::default(), index: HashMap::default(), next: Next::Key, merge_key: None }
    }
    pub(super) fn wants_key(&self) -> bool {
        matches!(self.next, Next::Key)
    }
    /// The mapping with a list of exactly its size, and the spare list for reuse.
    pub(super) fn finish(mut self) -> (Mapping, Vec<Entry>) {
        (Mapping { entries: self.entries.drain(..).collect(), owner: None }, self.entries)
    }
    /// Uses a scalar as the next key. Most nodes are keys, so this avoids creating a node for each.
    pub(super) fn plain_key(&mut self, scalar: Scalar, text: Text, findings: &mut Vec<Diagnostic>) {
        self.next = self.scalar_key(scalar, text, findings);
    }
    /// Adds a node as key or value, whichever is next.
    pub(super) fn node(&mut self, mut node: Node, findings: &mut Vec<Diagnostic>) {
        match std::mem::replace(&mut self.next, Next::Key) {
            Next::Key => self.next = self.key(node, findings),
            Next::Value(key, key_scalar) => {
                if let Some(Kind::Mapping(mapping)) = Arc::get_mut(&mut node.kind) {
                    mapping.owner = Some(key.span);
                }
                self.entry(Entry { key, key_scalar, value: node }, findings);
            }
            Next::Merge(at) => self.merge(at, &node, findings),
            Next::Ignored => {}
        }
    }
    fn key(&mut self, node: Node, findings: &mut Vec<Diagnostic>) -> Next {
        let Kind::Scalar(scalar, text) = &*node.kind else {
            let at = Location::new(self.file, node.span);
            findings.push(
                Diagnostic::error(rules::KEY, at, format!("a key must be text, not {}", node.describe()))
                    .help("put quotes around it if it is meant as text"),
            );
            return Next::Ignored;
        };
        self.scalar_key(*scalar, Text { span: node.span, ..text.clone() }, findings)
    }
    fn scalar_key(&mut self, scalar: Scalar, text: Text, findings: &mut Vec<Diagnostic>) -> Next {
        let at = Location::new(self.file, text.span);
        if text.value.is_empty() && text.style == Style::Plain && scalar == Scalar::Null {
            if !text.span.is_empty() {
                // An alias without an anchor, which was already reported.
                return Next::Ignored;
            }
            findings.push(Diagnostic::error(rules::KEY, at, "missing key").help("write `key: value`"));
            return Next::Ignored;
        }
        if &*text.value == "<<" && text.style == Style::Plain {
            if let Some(first) = self.merge_key.replace(text.span) {
                findings.push(
                    Diagnostic::error(rules::DUPLICATE_KEY, at, "the merge key `<<` appears twice in one mapping")
                        .label(Location::new(self.file, first), "the first one")
                        .help("merge several mappings with one list: `<<: [*a, *b]`"),
                );
            }
            return Next::Merge(text.span);
        }
        Next::Value(text, scalar)
    }
    fn find(&self, key: &str) -> Option<usize> {
        if self.index.is_empty() {
            self.entries.iter().position(|e| &*e.key.value == key)
        } else {
            self.index.get(key).copied()
        }
    }
    fn entry(&mut self, entry: Entry, findings: &mut Vec<Diagnostic>) {
        let Some(found) = self.find(&entry.key.value) else { return self.push(entry, false) };
        match self.entries.get_mut(found) {
            Some(old) if self.merged.remove(&found) => *old = entry,
            Some(old) => {
                let found = Diagnostic::error(
                    rules::DUPLICATE_KEY,
                    Location::new(self.file, entry.key.span),
                    format!("the key `{}` appears twice in one mapping", shown(&entry.key.value)),
                )
                .label(Location::new(self.file, old.key.span), "the first one")
                .help("remove or rename one of them");
                // Only a value whose end does not depend on its line break can be removed without looking at the text.
                let simple = |t: &Text| !matches!(t.style, Style::Literal | Style::Folded);
                let whole = Location::new(self.file, entry.key.span.cover(entry.value.span));
                findings.push(match entry.value.scalar() {
                    Some((_, text)) if simple(text) => found.suggestion("remove the second one", whole, ""),
                    _ => found,
                });
            }
            None => {}
        }
    }
    fn push(&mut self, entry: Entry, merged: bool) {
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
    fn merge(&mut self, at: Span, node: &Node, findings: &mut Vec<Diagnostic>) {
        let sources = match &*node.kind {
            Kind::Sequence(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        for source in sources {
            match &*source.kind {
                Kind::Mapping(mapping) => {
                    for entry in &mapping.entries {
                        if self.find(&entry.key.value).is_none() {
                            self.push(entry.clone(), true);
                        }
                    }
                }
                _ => findings.push(
                    Diagnostic::error(
                        rules::MERGE,
                        Location::new(self.file, if source.span.is_empty() { at } else { source.span }),
                        format!("`<<` merges a mapping, not {}", source.describe()),
                    )
                    .help("use an alias of a mapping or a list of aliases: `<<: *defaults`"),
                ),
            }
        }
    }
}

/// A key as shown in messages: on one line and of limited length.
pub(super) fn shown(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(61).collect();
    if line.chars().count() > 60 { line.chars().take(60).chain(['…']).collect() } else { line }
}
