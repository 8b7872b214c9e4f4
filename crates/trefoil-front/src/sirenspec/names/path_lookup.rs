//! What a path under `working` or `output` can mean in any run, independently of the order of nodes.

use std::sync::Arc;

use trefoil_template::Value;

use super::types;
use super::workflow_names::{SirenNames, WriteName};
use crate::sirenspec::manifest::StateTree;

/// What a path can mean.
#[derive(Debug, Default)]
pub struct PathLookup {
    /// The node that the path names, and the number of segments in its id.
    pub named: Option<(usize, usize)>,
    /// Whether that node's context can have the rest of the path.
    pub in_node: bool,
    /// Written paths that overlap with this one.
    pub writes: Vec<usize>,
    /// Whether there is a seeded value.
    pub seeded: bool,
}

impl SirenNames {
    /// The node whose id starts the path. Ids may contain dots; the longest match is used.
    pub fn node_at(&self, path: &[Arc<str>]) -> Option<(usize, usize)> {
        let (first, rest) = path.split_first()?;
        let mut found = self.node_of(first).map(|at| (at, 1));
        if !self.dotted {
            return found;
        }
        let mut id = first.to_string();
        for (more, segment) in rest.iter().enumerate() {
            id.push('.');
            id.push_str(segment);
            if let Some(at) = self.node_of(&id) {
                found = Some((at, more + 2));
            }
        }
        found
    }

    /// Whether a path is the start of a node's id.
    pub fn begins_id(&self, path: &[Arc<str>]) -> bool {
        let start = format!("{}.", path.join("."));
        self.dotted && self.node_ids().any(|id| id.starts_with(&start))
    }

    /// What a path in a tree can mean. Nodes are only considered under `working`.
    pub fn look_up_path(&self, root: StateTree, path: &[Arc<str>]) -> PathLookup {
        let mut look = PathLookup::default();
        if root == StateTree::Working
            && let Some((node, taken)) = self.node_at(path)
        {
            look.named = Some((node, taken));
            let rest = path.get(taken..).unwrap_or(&[]);
            if let Some(node) = self.nodes.get(node) {
                look.in_node = types::missing_segment(&node.schema, rest).is_none();
            }
        }
        if let Some(head) = path.first()
            && let Some(with_head) = self.by_head.get(head)
        {
            for write in with_head {
                if matches!(self.writes.get(*write), Some(written) if overlaps(written, root, path)) {
                    look.writes.push(*write);
                }
            }
        }
        look.seeded = self.seeded_value(root, path).is_some();
        look
    }

    /// Whether an overlapping write can provide the value that the path reads.
    pub fn provides_value(&self, write: usize, path: &[Arc<str>]) -> bool {
        let Some(write) = self.writes.get(write) else { return false };
        match path.get(write.path.len()..) {
            Some(rest) => types::missing_segment(&write.schema, rest).is_none(),
            None => true,
        }
    }

    /// Whether the path can have a value in any run.
    pub fn has_value_at(&self, root: StateTree, path: &[Arc<str>]) -> bool {
        let look = self.look_up_path(root, path);
        !path.is_empty() && (look.in_node || look.seeded || look.writes.iter().any(|w| self.provides_value(*w, path)))
    }

    /// The seeded value at a path.
    pub fn seeded_value(&self, root: StateTree, path: &[Arc<str>]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        let mut value = self.tree_seeds(root).get(first)?;
        for segment in rest {
            value = match value {
                Value::Object(members) => members.get(segment)?,
                Value::List(items) => items.get(segment.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        Some(value)
    }

    /// The possible segments after a path, for suggestions.
    pub fn next_segments(&self, root: StateTree, path: &[Arc<str>]) -> Vec<Arc<str>> {
        let mut all: Vec<Arc<str>> = Vec::new();
        if root == StateTree::Working {
            match self.node_at(path) {
                Some((node, taken)) => {
                    if let Some(node) = self.nodes.get(node) {
                        all.extend(types::keys_at(&node.schema, path.get(taken..).unwrap_or(&[])));
                    }
                }
                None if path.is_empty() => all.extend(self.nodes.iter().map(|n| n.id.clone())),
                None => {}
            }
        }
        let mut in_written_values = Vec::new();
        for write in &self.writes {
            if !overlaps(write, root, path) {
                continue;
            }
            all.extend(write.path.get(path.len()).cloned());
            if !path.is_empty() && write.path.len() <= path.len() {
                let rest = path.get(write.path.len()..).unwrap_or(&[]);
                in_written_values.extend(types::keys_at(&write.schema, rest));
            }
        }
        all.append(&mut in_written_values);
        match path.is_empty() {
            true => all.extend(self.tree_seeds(root).keys().cloned()),
            false => {
                if let Some(Value::Object(members)) = self.seeded_value(root, path) {
                    all.extend(members.keys().cloned());
                }
            }
        }
        all
    }
}

/// Whether a write is at the path, under it or above it.
fn overlaps(write: &WriteName, root: StateTree, path: &[Arc<str>]) -> bool {
    write.root == root && write.path.iter().zip(path).all(|(written, name)| written == name)
}
