//! The declarations and types of written and seeded paths.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use trefoil_ir::ValuePresence;
use trefoil_ir::types::ValueType;
use trefoil_syntax::yaml::YamlNode as Yaml;
use trefoil_syntax::{Location, Span};

use crate::names::NameEntry;
use crate::names::{MemberDeclaration, MemberDeclarations};
use crate::sirenspec::manifest::{NodeWrite, StateTree};
use crate::types::type_of;

/// Each part of written and seeded paths, by tree.
#[derive(Default)]
pub struct TreeKeys {
    working: BTreeMap<Vec<Arc<str>>, TreeKey>,
    output: BTreeMap<Vec<Arc<str>>, TreeKey>,
}

/// A part of a written or seeded path.
pub struct TreeKey {
    /// Where it is written first.
    pub at: Location,
    /// The type of its value.
    pub schema: ValueType,
    /// The type of the first value written there.
    pub first: ValueType,
    /// Whether it exists from the start.
    pub seeded: bool,
    /// The nodes that write it.
    writers: Vec<usize>,
}

impl TreeKeys {
    fn tree_keys(&self, root: StateTree) -> &BTreeMap<Vec<Arc<str>>, TreeKey> {
        match root {
            StateTree::Working => &self.working,
            StateTree::Output => &self.output,
        }
    }

    fn of_mut(&mut self, root: StateTree) -> &mut BTreeMap<Vec<Arc<str>>, TreeKey> {
        match root {
            StateTree::Working => &mut self.working,
            StateTree::Output => &mut self.output,
        }
    }

    /// Adds the seeded values of a tree at any depth. `at` makes locations in the file.
    pub fn add_seeds(&mut self, root: StateTree, tree: &Yaml, path: &mut Vec<Arc<str>>, at: &dyn Fn(Span) -> Location) {
        let Some(mapping) = tree.as_mapping() else { return };
        for entry in &mapping.entries {
            path.push(entry.key.value.clone());
            let schema = type_of(&crate::yaml_reader::to_value(&entry.value));
            let at_key = at(entry.key.content_span());
            self.of_mut(root).insert(path.clone(), TreeKey { seeded: true, ..TreeKey::new(at_key, schema) });
            self.add_seeds(root, &entry.value, path, at);
            path.pop();
        }
    }

    /// Adds a path that a node writes. Each part is declared where it is written first.
    pub fn add_write(&mut self, write: &NodeWrite<'_>, node: usize, schema: &ValueType, at: &dyn Fn(Span) -> Location) {
        for (depth, at) in part_locations(write, at) {
            let last = depth + 1 == write.path.len();
            let schema = if last { schema.clone() } else { ValueType::OBJECT };
            let path = write.path.get(..=depth).unwrap_or_default().to_vec();
            let key = self.of_mut(write.root).entry(path).or_insert_with(|| TreeKey::new(at, schema.clone()));
            if last {
                key.writers.push(node);
                if key.schema != schema {
                    key.schema = ValueType::Any;
                }
            }
        }
    }

    /// Adds a path that the format writes implicitly for a node; its place is the node's.
    pub fn add_implied(&mut self, root: StateTree, path: Vec<Arc<str>>, node: usize, key: TreeKey) {
        self.of_mut(root).entry(path).or_insert(TreeKey { writers: vec![node], ..key });
    }

    /// The key at a path.
    pub fn get(&self, root: StateTree, path: &[Arc<str>]) -> Option<&TreeKey> {
        self.tree_keys(root).get(path)
    }

    /// The keys under a path, as members.
    pub fn members_under(&self, root: StateTree, path: &[Arc<str>]) -> Vec<MemberDeclaration> {
        let mut members = Vec::new();
        for (key_path, key) in self.keys_under(root, path) {
            if key_path.len() != path.len() + 1 {
                continue;
            }
            let name = key_path.last().cloned().unwrap_or_default();
            let inner = MemberDeclarations::from_members(self.members_under(root, key_path));
            members.push((name, Some(key.at), inner));
        }
        members
    }

    fn keys_under(&self, root: StateTree, path: &[Arc<str>]) -> impl Iterator<Item = (&Vec<Arc<str>>, &TreeKey)> {
        let all = self.tree_keys(root).range::<[Arc<str>], _>((Bound::Included(path), Bound::Unbounded));
        all.take_while(move |(p, _)| p.starts_with(path))
    }

    /// The names with a root's keys as prefix, for a place where these nodes have ended.
    pub fn visible_names(
        &self,
        root: StateTree,
        prefix: &str,
        ended: &dyn Fn(usize) -> Option<ValuePresence>,
    ) -> Vec<(Arc<str>, NameEntry)> {
        let mut names = Vec::new();
        for (path, key) in self.tree_keys(root) {
            let [name] = path.as_slice() else { continue };
            let presence = match key.seeded {
                true => Some(ValuePresence::Always),
                false => self.written_presence(root, path, ended),
            };
            if let Some(presence) = presence {
                let entry = NameEntry::new(key.schema.clone()).with_defined(presence).with_declaration(Some(key.at));
                names.push((format!("{prefix}{name}").into(), entry));
            }
        }
        names
    }

    /// The presence of what nodes have written under a path; `None`: none of them has ended.
    fn written_presence(
        &self,
        root: StateTree,
        path: &[Arc<str>],
        ended: &dyn Fn(usize) -> Option<ValuePresence>,
    ) -> Option<ValuePresence> {
        let mut first = None;
        for (_, key) in self.keys_under(root, path) {
            for writer in &key.writers {
                match ended(*writer) {
                    Some(ValuePresence::Always) => return Some(ValuePresence::Always),
                    presence => first = first.or(presence),
                }
            }
        }
        first
    }
}

impl TreeKey {
    /// A key that no node has written yet.
    pub fn new(at: Location, schema: ValueType) -> Self {
        Self { at, first: schema.clone(), schema, seeded: false, writers: Vec::new() }
    }
}

/// The parts of a written path, by depth, with their places; empty if the format implies it.
pub fn part_locations(write: &NodeWrite<'_>, at: &dyn Fn(Span) -> Location) -> Vec<(usize, Location)> {
    let Some(text) = write.text else { return Vec::new() };
    // After `working.`; a lone root is the key with its own name.
    let mut start = if &*text.value == write.root.tree_name() { 0 } else { write.root.tree_name().len() + 1 };
    let mut parts = Vec::with_capacity(write.path.len());
    for (depth, segment) in write.path.iter().enumerate() {
        let end = start + segment.len();
        parts.push((depth, at(text.source_span(start as u32..end as u32))));
        start = end + 1;
    }
    parts
}
