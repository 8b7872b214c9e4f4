//! A tree with other words in some places, for looking at a file as if a misspelt word were written correctly.

use std::sync::Arc;

use super::map::ScalarMap;
use super::style::Style;
use super::tree::{Entry, Kind, Mapping, Node, Scalar, Text};
use crate::hash::{HashMap, HashSet};
use crate::span::Span;

/// Words by the place in the file where they are written instead: a key or a text, without its quotes.
pub type Respellings = HashMap<Span, Arc<str>>;

impl Node {
    /// The same tree with these words. All places stay as they are.
    #[must_use]
    pub fn respelt(&self, words: &Respellings) -> Self {
        Respelling { words, seen: HashMap::default() }.node(self)
    }

    /// The places of the values of the keys among these, by the places of the keys.
    pub fn values_of(&self, words: &Respellings) -> HashMap<Span, Span> {
        let mut found = HashMap::default();
        let mut seen: HashSet<*const Kind> = HashSet::default();
        let mut next = vec![self];
        while let Some(node) = next.pop().filter(|_| found.len() < words.len()) {
            if !seen.insert(Arc::as_ptr(&node.kind)) {
                continue;
            }
            match &*node.kind {
                Kind::Scalar(..) => {}
                Kind::Sequence(items) => next.extend(items),
                Kind::Mapping(mapping) => {
                    for entry in &mapping.entries {
                        let key = entry.key.word();
                        if words.contains_key(&key) {
                            found.insert(key, entry.value.span);
                        }
                        next.push(&entry.value);
                    }
                }
            }
        }
        found
    }
}

impl Text {
    /// The place of the text alone, without quotes.
    fn word(&self) -> Span {
        if self.style == Style::Plain { self.span } else { self.content() }
    }
}

struct Respelling<'w> {
    words: &'w Respellings,
    /// The new kinds of nodes by their old ones, which aliases share.
    seen: HashMap<*const Kind, Arc<Kind>>,
}

impl Respelling<'_> {
    fn node(&mut self, node: &Node) -> Node {
        let known = Arc::as_ptr(&node.kind);
        if let Some(kind) = self.seen.get(&known) {
            return Node { span: node.span, kind: kind.clone() };
        }
        let kind = match &*node.kind {
            Kind::Scalar(Scalar::Str, text) => match self.text(text) {
                Some(text) => Arc::new(Kind::Scalar(Scalar::Str, text)),
                None => node.kind.clone(),
            },
            Kind::Scalar(..) => node.kind.clone(),
            Kind::Sequence(items) => Arc::new(Kind::Sequence(items.iter().map(|item| self.node(item)).collect())),
            Kind::Mapping(mapping) => {
                // A key that is there already stays the only one, as one that comes from a merge key may be.
                let mut keys: HashSet<Arc<str>> = mapping.entries.iter().map(|entry| entry.key.value.clone()).collect();
                let entries = mapping.entries.iter().map(|entry| self.entry(entry, &mut keys)).collect();
                Arc::new(Kind::Mapping(Mapping { entries, owner: mapping.owner }))
            }
        };
        self.seen.insert(known, kind.clone());
        Node { span: node.span, kind }
    }

    fn entry(&mut self, entry: &Entry, keys: &mut HashSet<Arc<str>>) -> Entry {
        let key = self.text(&entry.key).filter(|key| keys.insert(key.value.clone()));
        let key = key.unwrap_or_else(|| entry.key.clone());
        Entry { key, key_scalar: entry.key_scalar, value: self.node(&entry.value) }
    }

    fn text(&self, text: &Text) -> Option<Text> {
        let at = text.word();
        let value = self.words.get(&at)?;
        let map = ScalarMap::whole(value.len() as u32, at);
        Some(Text { value: value.clone(), span: text.span, style: text.style, map })
    }
}
