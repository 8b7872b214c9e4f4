//! A tree with other words in some places, for looking at a file as if a misspelt word were written correctly.

use std::sync::Arc;

use super::scalar_map::ScalarMap;
use super::style::YamlStyle;
use super::tree::{YamlEntry, YamlMapping, YamlNode, YamlNodeKind, YamlScalar, YamlText};
use crate::hash::{HashMap, HashSet};
use crate::span::Span;

/// Words by the place in the file where they are written instead: a key or a text, without its quotes.
pub type WordRespellings = HashMap<Span, Arc<str>>;

impl YamlNode {
    /// The same tree with these words. All places stay as they are.
    #[must_use]
    pub fn with_respellings(&self, words: &WordRespellings) -> Self {
        RespellingPass { words, seen: HashMap::default() }.node(self)
    }

    /// The places of the values of the keys among these, by the places of the keys.
    pub fn values_of(&self, words: &WordRespellings) -> HashMap<Span, Span> {
        let mut found = HashMap::default();
        let mut seen: HashSet<*const YamlNodeKind> = HashSet::default();
        let mut next = vec![self];
        while let Some(node) = next.pop()
            && found.len() < words.len()
        {
            if !seen.insert(Arc::as_ptr(&node.kind)) {
                continue;
            }
            match &*node.kind {
                YamlNodeKind::Scalar(..) => {}
                YamlNodeKind::Sequence(items) => next.extend(items),
                YamlNodeKind::Mapping(mapping) => {
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

impl YamlText {
    /// The place of the text alone, without quotes.
    fn word(&self) -> Span {
        if self.style == YamlStyle::Plain { self.span } else { self.content_span() }
    }
}

struct RespellingPass<'w> {
    words: &'w WordRespellings,
    /// The new kinds of nodes by their old ones, which aliases share.
    seen: HashMap<*const YamlNodeKind, Arc<YamlNodeKind>>,
}

impl RespellingPass<'_> {
    fn node(&mut self, node: &YamlNode) -> YamlNode {
        let known = Arc::as_ptr(&node.kind);
        if let Some(kind) = self.seen.get(&known) {
            return YamlNode { span: node.span, kind: kind.clone() };
        }
        let kind = match &*node.kind {
            YamlNodeKind::Scalar(YamlScalar::Str, text) => match self.text(text) {
                Some(text) => Arc::new(YamlNodeKind::Scalar(YamlScalar::Str, text)),
                None => node.kind.clone(),
            },
            YamlNodeKind::Scalar(..) => node.kind.clone(),
            YamlNodeKind::Sequence(items) => {
                Arc::new(YamlNodeKind::Sequence(items.iter().map(|item| self.node(item)).collect()))
            }
            YamlNodeKind::Mapping(mapping) => {
                // A key that is there already stays the only one, as one that comes from a merge key may be.
                let mut keys: HashSet<Arc<str>> = mapping.entries.iter().map(|entry| entry.key.value.clone()).collect();
                let entries = mapping.entries.iter().map(|entry| self.entry(entry, &mut keys)).collect();
                Arc::new(YamlNodeKind::Mapping(YamlMapping { entries, owner: mapping.owner }))
            }
        };
        self.seen.insert(known, kind.clone());
        YamlNode { span: node.span, kind }
    }

    fn entry(&mut self, entry: &YamlEntry, keys: &mut HashSet<Arc<str>>) -> YamlEntry {
        let key = match self.text(&entry.key) {
            Some(key) if keys.insert(key.value.clone()) => key,
            _ => entry.key.clone(),
        };
        YamlEntry { key, key_scalar: entry.key_scalar, value: self.node(&entry.value) }
    }

    fn text(&self, text: &YamlText) -> Option<YamlText> {
        let at = text.word();
        let value = self.words.get(&at)?;
        let map = ScalarMap::for_whole_span(value.len() as u32, at);
        Some(YamlText { value: value.clone(), span: text.span, style: text.style, map })
    }
}
