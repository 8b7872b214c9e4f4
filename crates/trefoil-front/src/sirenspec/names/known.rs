//! What a workflow's texts can name: nodes, written and seeded paths, input fields; with their types, their slots and the
//! places where they are declared. Without borrows: an editor asks long after the file was read.
//!
//! Knows nothing of order: whether a node has ended by the time somebody reads it is for [`Links`](super::links::Links).

use std::sync::Arc;

use trefoil_ir::{Slot, SlotId, Source, types as ir};
use trefoil_syntax::hash::HashMap;
use trefoil_syntax::{FileId, Location, Span};
use trefoil_template::{Object, Segment, Value};

use super::inputs::Inputs;
use super::keys::Keys;
use super::types;
use crate::names::Members;
use crate::sirenspec::manifest::Root;

/// Slots of a factory's instances are numbered from here on, as long as it is not known what they read of the workflow
/// around them.
pub const INSTANCE: u32 = 1 << 30;

/// The names of a workflow.
pub struct Known {
    /// Its file.
    pub file: FileId,
    /// Input fields.
    pub inputs: Inputs,
    /// Nodes, in the order of the file.
    pub nodes: Vec<NodeName>,
    /// Written paths, by node.
    pub writes: Vec<WriteName>,
    /// Where written and seeded paths are declared.
    pub keys: Keys,
    /// The slots of all of them.
    pub slots: Vec<Slot>,
    /// What is there from the start.
    pub seeds: [Object; 2],
    /// Some id of a node has dots.
    pub dotted: bool,
    /// Nodes by their ids.
    pub by_id: HashMap<Arc<str>, usize>,
    /// Written paths by their first segment.
    pub by_head: HashMap<Arc<str>, Vec<usize>>,
}

/// A node and where its results are.
pub struct NodeName {
    /// Its id.
    pub id: Arc<str>,
    /// Where that is written, without quotes.
    pub at: Location,
    /// The slot of its context: `{output, ...}`.
    pub slot: SlotId,
    /// The slot of a sub-workflow's inner results.
    pub exports: Option<SlotId>,
    /// The type of the context.
    pub schema: Value,
    /// The places where the names of the context are declared.
    pub members: Members,
    /// From the context to the node's main result.
    pub output: Vec<Arc<str>>,
    /// Of a swrm node: the slots of its agents' contexts.
    pub agents: Vec<(Arc<str>, SlotId)>,
    /// One failing agent leaves the others to continue.
    pub lenient: bool,
    /// Of a factory: what only its instances can name.
    pub instance: Option<Instance>,
    /// One line about it.
    pub note: Arc<str>,
}

/// What the texts of a factory's instance can name beside what the workflow has. Slots are numbered from [`INSTANCE`] on.
#[derive(Debug, Clone)]
pub struct Instance {
    /// The slot of the (empty) call input.
    pub intake: SlotId,
    /// The list element; none with `swarm_size`.
    pub item: Option<SlotId>,
    /// Its position.
    pub index: SlotId,
    /// How many there are.
    pub total: SlotId,
    /// The rendered `inputs`.
    pub rendered: SlotId,
    /// Their names, and where they are declared.
    pub inputs: Vec<(Arc<str>, Location)>,
    /// The agents of its swarm.
    pub agents: Vec<(Arc<str>, SlotId)>,
    /// All of these slots.
    pub slots: Vec<Slot>,
}

/// A path that a node writes.
pub struct WriteName {
    /// The tree.
    pub root: Root,
    /// Where in it.
    pub path: Vec<Arc<str>>,
    /// Who writes.
    pub node: usize,
    /// From the node's context to the value.
    pub member: Vec<Arc<str>>,
    /// The type of the value.
    pub schema: Value,
}

/// The names of a path's segments.
pub fn words(path: &[Segment]) -> Vec<Arc<str>> {
    path.iter().map(|segment| segment.name.clone()).collect()
}

impl Known {
    /// A place of the file.
    pub fn at(&self, span: Span) -> Location {
        Location::new(self.file, span)
    }

    /// The node of an id.
    pub fn node_of(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// A node's id.
    pub fn id(&self, node: usize) -> &str {
        self.nodes.get(node).map_or("", |n| &*n.id)
    }

    /// All node ids.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(|n| &*n.id)
    }

    /// Whether an input of this name is one that a factory makes for its instances.
    pub fn is_made(&self, input: &str) -> bool {
        self.nodes.iter().filter_map(|n| n.instance.as_ref()).any(|i| i.inputs.iter().any(|(name, _)| &**name == input))
    }

    /// The seeds of a tree.
    pub fn seeds(&self, root: Root) -> &Object {
        let [working, output] = &self.seeds;
        match root {
            Root::Working => working,
            Root::Output => output,
        }
    }

    /// The type of a whole tree: what a sub-workflow's caller can read.
    pub fn tree(&self, root: Root) -> Value {
        let seeds = types::of(&Value::Object(Arc::new(self.seeds(root).clone())));
        let writes = self.writes.iter().filter(|w| w.root == root);
        writes.fold(seeds, |tree, write| types::lay(&tree, &write.path, &write.schema))
    }

    /// The output tree with the nodes' results under it: a name that the tree has wins.
    pub fn readable(&self, output: &Value) -> Value {
        if !types::is_closed(output) {
            return output.clone();
        }
        let keys = ir::declares(output);
        let mut all: Vec<(Arc<str>, Value)> =
            keys.iter().filter_map(|key| Some((key.clone(), types::at(output, key)?))).collect();
        for node in self.nodes.iter().filter(|node| !keys.contains(&node.id)) {
            let result = node.output.iter().try_fold(node.schema.clone(), |of, key| types::at(&of, key));
            all.push((node.id.clone(), result.unwrap_or(ir::any())));
        }
        types::object(all)
    }

    /// Where callers find what is in the output tree, and the nodes under it.
    pub fn members(&self) -> Members {
        let mut members = self.keys.inside(Root::Output, &[]);
        let hidden = |n: &&NodeName| self.keys.get(Root::Output, std::slice::from_ref(&n.id)).is_none();
        members.extend(self.nodes.iter().filter(hidden).map(|n| (n.id.clone(), Some(n.at), Members::default())));
        Members::of(members)
    }
}

impl NodeName {
    /// The node's main result.
    pub fn result(&self) -> Source {
        Source::Member(self.slot, self.output.clone())
    }
}

/// The type of a swarm's `agents`.
pub fn agents(agents: &[(Arc<str>, SlotId)]) -> Value {
    types::object(agents.iter().map(|(id, _)| (id.clone(), types::under(&["output".into()], types::text()))))
}
