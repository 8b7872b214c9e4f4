//! The trees `working` and `output` as seen from one place: seeded values, values written by nodes, and, under
//! `working`, the results of nodes. There is no tree in memory: each path is resolved separately, because the nodes
//! that wrote overlapping paths determine how it is read.

use std::sync::Arc;

use trefoil_ir::types::Type;
use trefoil_ir::{Defined, Lost, Source};
use trefoil_template::Missing;

use super::known::{self, Known};
use super::leads::{Leads, There};
use super::place::Here;
use super::types;
use crate::names::{Doubt, Entry, Found, Names, Nothing, Read};
use crate::sirenspec::manifest::Root;

/// The names under a path of a tree.
pub struct Tree {
    /// The reader's place.
    pub here: Arc<Here>,
    /// Which tree.
    pub root: Root,
    /// The number of segments that name the tree.
    pub base: usize,
    /// The path so far, without those segments.
    pub path: Vec<Arc<str>>,
    /// What it resolves to.
    leads: Leads,
}

impl Tree {
    /// The names under `working` or `output`.
    pub fn whole(here: Arc<Here>, root: Root) -> Self {
        Self { here, root, base: 1, path: Vec::new(), leads: Leads::There(There::default()) }
    }

    /// The names under `working` without the prefix, as in templates.
    pub fn bare(here: Arc<Here>) -> Self {
        Self { here, root: Root::Working, base: 0, path: Vec::new(), leads: Leads::There(There::default()) }
    }

    fn goes_on(&self, name: &str) -> Self {
        let path: Vec<Arc<str>> = self.path.iter().cloned().chain([name.into()]).collect();
        let leads = self.here.leads(self.root, &path);
        Self { here: self.here.clone(), root: self.root, base: self.base, path, leads }
    }

    /// The names of the workflow.
    pub fn known(&self) -> &Known {
        &self.here.known
    }

    /// The type and the declaration of the value: in the context of a node (whose id has this number of segments),
    /// otherwise where it is written.
    fn declared(&self, node: Option<(usize, usize)>) -> Entry {
        let node = node.and_then(|(node, taken)| Some((self.known().nodes.get(node)?, taken)));
        let Some((node, taken)) = node else { return self.written() };
        let (mut schema, mut at, mut members) =
            (node.schema.clone(), (taken == 1).then_some(node.at), node.members.clone());
        for name in self.path.get(taken..).unwrap_or_default() {
            schema = types::at(&schema, name).unwrap_or(Type::Any);
            (at, members) = members.get(name).unwrap_or_default();
        }
        Entry::new(schema).declared(at)
    }

    /// The same for a written or seeded path: by its declaration, and beyond that by its type.
    fn written(&self) -> Entry {
        let declared = |n: usize| self.known().keys.get(self.root, self.path.get(..n)?);
        let depth = (1..=self.path.len()).rev().find(|n| declared(*n).is_some()).unwrap_or(0);
        let Some(key) = declared(depth) else { return Entry::new(Type::Any) };
        let rest = self.path.get(depth..).unwrap_or_default();
        let end = rest.iter().fold(key.schema.clone(), |of, name| of.part(name));
        Entry::new(end).declared(rest.is_empty().then_some(key.at))
    }

    /// The segments after the id of the reader, which name its swarm's agents.
    pub fn behind_id(&self) -> (usize, &[Arc<str>]) {
        let taken = self.known().node_at(&self.path).map_or(0, |(_, taken)| taken);
        (taken, self.path.get(taken..).unwrap_or_default())
    }

    /// The result of a node that does not exist yet at this point.
    fn late(&self, node: usize, writes: bool, own: bool) -> Read {
        let (name, segment) = (self.known().id(node).into(), self.base + self.path.len() - 1);
        let source = Source::Missing(Missing::Key(segment as u16), Lost::Late { name, writes, own });
        Read { source, skip: 0 }
    }

    /// The entry of the agents.
    fn agents_entry(&self) -> Entry {
        let (taken, rest) = self.behind_id();
        let mut schema = Type::fields([("agents".into(), known::agents(self.here.swarm()))]);
        let mut members = self.here.node().map(|node| node.members.clone()).unwrap_or_default();
        let mut at = self.here.node().filter(|_| taken == 1).map(|node| node.at);
        for name in rest {
            schema = types::at(&schema, name).unwrap_or(Type::Any);
            (at, members) = members.get(name).unwrap_or_default();
        }
        let entry = Entry::new(schema).declared(at);
        match self.here.is_lenient() && rest.len() > 1 {
            true => entry.doubt(Defined::Sometimes, Doubt::Skipped(None)),
            false => entry,
        }
    }
}

impl Names for Tree {
    fn get(&self, name: &str) -> Found {
        let here = &self.here;
        if (self.base, self.root, name) == (1, Root::Working, "_budget")
            && self.path.is_empty()
            && self.known().seeds(Root::Working).get(name).is_none()
        {
            return Found::Is(here.spent(2));
        }
        let inner = self.goes_on(name);
        let named = || inner.known().node_at(&inner.path).filter(|_| self.root == Root::Working);
        let entry = match &inner.leads {
            Leads::There(there) => {
                let entry = inner.declared(there.node.filter(|_| !there.provided));
                match there.seeded || here.surely(&here.producers(there, &inner.path)) {
                    true => entry,
                    false => entry.doubt(Defined::Sometimes, Doubt::Skipped(None)),
                }
            }
            Leads::Agents => inner.agents_entry(),
            Leads::Own(_) => inner.declared(named()).doubt(Defined::Never, Doubt::Own),
            Leads::Late { writes, .. } => {
                inner.declared(named().filter(|_| !writes)).doubt(Defined::Never, Doubt::Later)
            }
            Leads::Nowhere { begins: true } => Entry::new(Type::OBJECT),
            Leads::Nowhere { begins: false } => return Found::Never(Nothing::default()),
        };
        Found::Is(entry.inner(inner))
    }

    fn all(&self) -> Vec<(Arc<str>, Entry)> {
        let entry = |name: Arc<str>| match self.get(&name) {
            Found::Is(entry) | Found::Maybe(entry) => Some((name, entry)),
            Found::Never(_) => None,
        };
        self.known().candidates(self.root, &self.path).into_iter().filter_map(entry).collect()
    }

    fn read(&self) -> Option<Read> {
        if self.path.is_empty() {
            return Some(Read { source: self.everything(), skip: self.base as u16 });
        }
        Some(match &self.leads {
            Leads::There(there) => self.there(there),
            Leads::Agents => self.agents(),
            Leads::Own(node) => self.late(*node, false, true),
            Leads::Late { node, writes } => self.late(*node, *writes, false),
            Leads::Nowhere { .. } => Read { source: Source::missing(self.base + self.path.len() - 1), skip: 0 },
        })
    }
}
