//! The trees `working` and `output` as seen from one place: seeded values, values written by nodes, and, under
//! `working`, the results of nodes. There is no tree in memory: each path is resolved separately, because the nodes
//! that wrote overlapping paths determine how it is read.

use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{BindingFault, Source, ValuePresence};
use trefoil_template::MissingCause;

use super::name_scope::SirenScope;
use super::path_targets::{AvailableValues, TreePathTarget};
use super::types;
use super::workflow_names::{self, SirenNames};
use crate::names::{
    MemberDeclarations, MissingValueReason, NameAbsence, NameEntry, NameMatch, NameResolver, PathSource,
};
use crate::sirenspec::manifest::StateTree;

/// The names under a path of a tree.
pub struct TreeNames {
    /// The reader's place.
    pub here: Arc<SirenScope>,
    /// Which tree.
    pub root: StateTree,
    /// The number of segments that name the tree.
    pub base: usize,
    /// The path so far, without those segments.
    pub path: Vec<Arc<str>>,
    /// What it resolves to.
    leads: TreePathTarget,
}

impl TreeNames {
    /// The names under `working` or `output`.
    pub fn for_tree(here: Arc<SirenScope>, root: StateTree) -> Self {
        Self { here, root, base: 1, path: Vec::new(), leads: TreePathTarget::There(AvailableValues::default()) }
    }

    /// The names under `working` without the prefix, as in templates.
    pub fn for_template(here: Arc<SirenScope>) -> Self {
        Self {
            here,
            root: StateTree::Working,
            base: 0,
            path: Vec::new(),
            leads: TreePathTarget::There(AvailableValues::default()),
        }
    }

    fn goes_on(&self, name: &str) -> Self {
        let mut path: Vec<Arc<str>> = Vec::with_capacity(self.path.len() + 1);
        path.extend_from_slice(&self.path);
        path.push(name.into());
        let leads = self.here.resolve_path(self.root, &path);
        Self { here: self.here.clone(), root: self.root, base: self.base, path, leads }
    }

    /// The names of the workflow.
    pub fn workflow_names(&self) -> &SirenNames {
        &self.here.known
    }

    /// The type and the declaration of the value: in the context of a node (whose id has this number of segments),
    /// otherwise where it is written.
    fn declared_entry(&self, node: Option<(usize, usize)>) -> NameEntry {
        let Some((node, taken)) = node else { return self.written() };
        let Some(node) = self.workflow_names().nodes.get(node) else { return self.written() };
        let (mut schema, mut members) = (node.schema.clone(), node.members.clone());
        let mut at = if taken == 1 { Some(node.at) } else { None };
        for name in self.path.get(taken..).unwrap_or_default() {
            schema = types::type_at_key(&schema, name).unwrap_or(ValueType::Any);
            (at, members) = members.get(name).unwrap_or_default();
        }
        NameEntry::new(schema).with_declaration(at)
    }

    /// The same for a written or seeded path: by its declaration, and beyond that by its type.
    fn written(&self) -> NameEntry {
        for depth in (1..=self.path.len()).rev() {
            let (declared, rest) = self.path.split_at(depth);
            let Some(key) = self.workflow_names().keys.get(self.root, declared) else { continue };
            let mut schema = key.schema.clone();
            for name in rest {
                schema = schema.part_type(name);
            }
            let at = if rest.is_empty() { Some(key.at) } else { None };
            return NameEntry::new(schema).with_declaration(at);
        }
        NameEntry::new(ValueType::Any)
    }

    /// The segments after the id of the reader, which name its swarm's agents.
    pub fn behind_id(&self) -> (usize, &[Arc<str>]) {
        let taken = match self.workflow_names().node_at(&self.path) {
            Some((_, taken)) => taken,
            None => 0,
        };
        (taken, self.path.get(taken..).unwrap_or_default())
    }

    /// The node whose id starts the path, and the number of segments in its id.
    fn named_node(&self) -> Option<(usize, usize)> {
        match self.root {
            StateTree::Working => self.workflow_names().node_at(&self.path),
            StateTree::Output => None,
        }
    }

    /// The result of a node that does not exist yet at this point.
    fn late(&self, node: usize, writes: bool, own: bool) -> PathSource {
        let (name, segment) = (self.workflow_names().node_id(node).into(), self.base + self.path.len() - 1);
        let source = Source::Missing(MissingCause::Key(segment as u16), BindingFault::Late { name, writes, own });
        PathSource { source, skip: 0 }
    }

    /// The entry of the agents.
    fn agents_entry(&self) -> NameEntry {
        let (taken, rest) = self.behind_id();
        let mut schema =
            ValueType::optional_fields([("agents".into(), workflow_names::swarm_type(self.here.swarm_agents()))]);
        let (mut members, mut at) = match self.here.reading_node() {
            Some(node) => (node.members.clone(), if taken == 1 { Some(node.at) } else { None }),
            None => (MemberDeclarations::default(), None),
        };
        for name in rest {
            schema = types::type_at_key(&schema, name).unwrap_or(ValueType::Any);
            (at, members) = members.get(name).unwrap_or_default();
        }
        let entry = NameEntry::new(schema).with_declaration(at);
        match self.here.is_lenient() && rest.len() > 1 {
            true => entry.with_missing_reason(ValuePresence::Sometimes, MissingValueReason::Skipped(None)),
            false => entry,
        }
    }
}

impl NameResolver for TreeNames {
    fn get(&self, name: &str) -> NameMatch {
        let here = &self.here;
        if (self.base, self.root, name) == (1, StateTree::Working, "_budget")
            && self.path.is_empty()
            && self.workflow_names().tree_seeds(StateTree::Working).get(name).is_none()
        {
            return NameMatch::Is(here.usage_entry(2));
        }
        let inner = self.goes_on(name);
        let entry = match &inner.leads {
            TreePathTarget::There(there) => {
                let entry = inner.declared_entry(if there.provided { None } else { there.node });
                match there.seeded || here.surely_has_result(&here.producing_nodes(there, &inner.path)) {
                    true => entry,
                    false => entry.with_missing_reason(ValuePresence::Sometimes, MissingValueReason::Skipped(None)),
                }
            }
            TreePathTarget::Agents => inner.agents_entry(),
            TreePathTarget::Own(_) => {
                let entry = inner.declared_entry(inner.named_node());
                entry.with_missing_reason(ValuePresence::Never, MissingValueReason::Own)
            }
            TreePathTarget::Late { writes, .. } => {
                let entry = inner.declared_entry(if *writes { None } else { inner.named_node() });
                entry.with_missing_reason(ValuePresence::Never, MissingValueReason::Later)
            }
            TreePathTarget::Nowhere { begins: true } => NameEntry::new(ValueType::OBJECT),
            TreePathTarget::Nowhere { begins: false } => return NameMatch::Never(NameAbsence::default()),
        };
        NameMatch::Is(entry.with_inner_names(inner))
    }

    fn all_entries(&self) -> Vec<(Arc<str>, NameEntry)> {
        let mut all = Vec::new();
        for name in self.workflow_names().next_segments(self.root, &self.path) {
            match self.get(&name) {
                NameMatch::Is(entry) | NameMatch::Maybe(entry) => all.push((name, entry)),
                NameMatch::Never(_) => {}
            }
        }
        all
    }

    fn whole_source(&self) -> Option<PathSource> {
        if self.path.is_empty() {
            return Some(PathSource { source: self.whole_tree(), skip: self.base as u16 });
        }
        Some(match &self.leads {
            TreePathTarget::There(there) => self.available_source(there),
            TreePathTarget::Agents => self.swarm_source(),
            TreePathTarget::Own(node) => self.late(*node, false, true),
            TreePathTarget::Late { node, writes } => self.late(*node, *writes, false),
            TreePathTarget::Nowhere { .. } => {
                PathSource { source: Source::missing_segment(self.base + self.path.len() - 1), skip: 0 }
            }
        })
    }
}
