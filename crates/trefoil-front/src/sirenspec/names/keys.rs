//! The declarations and types of written and seeded paths.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use trefoil_ir::Defined;
use trefoil_ir::types::Type;
use trefoil_syntax::yaml::Node as Yaml;
use trefoil_syntax::{Location, Span};

use crate::names::Entry;
use crate::names::{Member, Members};
use crate::sirenspec::manifest::{Root, Write};
use crate::types::type_of;

/// Each part of written and seeded paths, by tree.
#[derive(Default)]
pub struct Keys {
    working: BTreeMap<Vec<Arc<str>>, Key>,
    output: BTreeMap<Vec<Arc<str>>, Key>,
}

/// A part of a written or seeded path.
pub struct Key {
    /// Where it is written first.
    pub at: Location,
    /// The type of its value.
    pub schema: Type,
    /// The type of the first value written there.
    pub first: Type,
    /// Whether it exists from the start.
    pub seeded: bool,
    /// The nodes that write it.
    writers: Vec<usize>,
}

impl Keys {
    fn of(&self, root: Root) -> &BTreeMap<Vec<Arc<str>>, Key> {
        match root {
            Root::Working => &self.working,
            Root::Output => &self.output,
        }
    }

    fn of_mut(&mut self, root: Root) -> &mut BTreeMap<Vec<Arc<str>>, Key> {
        match root {
            Root::Working => &mut self.working,
            Root::Output => &mut self.output,
        }
    }

    /// Adds the seeded values of a tree at any depth. `at` makes locations in the file.
    pub fn seed(&mut self, root: Root, tree: &Yaml, path: &mut Vec<Arc<str>>, at: &dyn Fn(Span) -> Location) {
        for entry in tree.mapping().map(|m| m.entries.as_slice()).unwrap_or_default() {
            path.push(entry.key.value.clone());
            let schema = type_of(&crate::read::to_value(&entry.value));
            let at_key = at(entry.key.content());
            self.of_mut(root).insert(path.clone(), Key { seeded: true, ..Key::new(at_key, schema) });
            self.seed(root, &entry.value, path, at);
            path.pop();
        }
    }

    /// Adds a path that a node writes. Each part is declared where it is written first.
    pub fn write(&mut self, write: &Write<'_>, node: usize, schema: &Type, at: &dyn Fn(Span) -> Location) {
        for (depth, at) in places(write, at) {
            let last = depth + 1 == write.path.len();
            let schema = if last { schema.clone() } else { Type::OBJECT };
            let path = write.path.get(..=depth).unwrap_or_default().to_vec();
            let key = self.of_mut(write.root).entry(path).or_insert_with(|| Key::new(at, schema.clone()));
            if last {
                key.writers.push(node);
                if key.schema != schema {
                    key.schema = Type::Any;
                }
            }
        }
    }

    /// Adds a path that the format writes implicitly for a node; its place is the node's.
    pub fn implied(&mut self, root: Root, path: Vec<Arc<str>>, node: usize, key: Key) {
        self.of_mut(root).entry(path).or_insert(Key { writers: vec![node], ..key });
    }

    /// The key at a path.
    pub fn get(&self, root: Root, path: &[Arc<str>]) -> Option<&Key> {
        self.of(root).get(path)
    }

    /// The keys under a path, as members.
    pub fn inside(&self, root: Root, path: &[Arc<str>]) -> Vec<Member> {
        let direct = self.under(root, path).filter(|(p, _)| p.len() == path.len() + 1);
        let member = |(p, key): (&Vec<Arc<str>>, &Key)| {
            let name = p.last().cloned().unwrap_or_default();
            (name, Some(key.at), Members::of(self.inside(root, p)))
        };
        direct.map(member).collect()
    }

    fn under(&self, root: Root, path: &[Arc<str>]) -> impl Iterator<Item = (&Vec<Arc<str>>, &Key)> {
        let all = self.of(root).range::<[Arc<str>], _>((Bound::Included(path), Bound::Unbounded));
        all.take_while(move |(p, _)| p.starts_with(path))
    }

    /// The names with a root's keys as prefix, for a place where these nodes have ended.
    pub fn names(&self, root: Root, prefix: &str, ended: &dyn Fn(usize) -> Option<Defined>) -> Vec<(Arc<str>, Entry)> {
        let first = |(path, key): (&Vec<Arc<str>>, &Key)| {
            let [name] = path.as_slice() else { return None };
            let writers = self.under(root, path).flat_map(|(_, k)| k.writers.iter()).filter_map(|w| ended(*w));
            let defined = match key.seeded {
                true => Defined::Always,
                false => writers.min_by_key(|d| *d != Defined::Always)?,
            };
            let entry = Entry::new(key.schema.clone()).defined(defined).declared(Some(key.at));
            Some((format!("{prefix}{name}").into(), entry))
        };
        self.of(root).iter().filter_map(first).collect()
    }
}

impl Key {
    /// A key that no node has written yet.
    pub fn new(at: Location, schema: Type) -> Self {
        Self { at, first: schema.clone(), schema, seeded: false, writers: Vec::new() }
    }
}

/// The parts of a written path, by depth, with their places; empty if the format implies it.
pub fn places(write: &Write<'_>, at: &dyn Fn(Span) -> Location) -> Vec<(usize, Location)> {
    let Some(text) = write.text else { return Vec::new() };
    // After `working.`; a lone root is the key with its own name.
    let mut start = if &*text.value == write.root.word() { 0 } else { write.root.word().len() + 1 };
    let place = |segment: &Arc<str>| {
        let at = at(text.source(start as u32..(start + segment.len()) as u32));
        start += segment.len() + 1;
        at
    };
    write.path.iter().map(place).enumerate().collect()
}
