//! The names available in a workflow: nodes, written and seeded paths, input fields, with their types, slots and
//! declarations. Has no borrows, because editors use it long after the file was read.
//!
//! Knows nothing of order: [`NodeLinks`](super::links::NodeLinks) says whether a node has ended when its result is read.

use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{SlotId, Source};
use trefoil_syntax::hash::HashMap;
use trefoil_syntax::{FileId, Location, Span};
use trefoil_template::{PathSegment, Value, ValueObject};

use super::inputs::SirenInputs;
use super::keys::TreeKeys;
use super::types;
use crate::names::MemberDeclarations;
use crate::program_builder::FlowSlots;
use crate::sirenspec::manifest::StateTree;

/// The first number for the slots of a factory's instances, used until it is known what they read from the enclosing
/// workflow.
pub const INSTANCE: u32 = 1 << 30;

/// The names of a workflow.
pub struct SirenNames {
    /// Its file.
    pub file: FileId,
    /// Input fields.
    pub inputs: SirenInputs,
    /// Nodes, in file order.
    pub nodes: Vec<NodeName>,
    /// Written paths, by node.
    pub writes: Vec<WriteName>,
    /// The declarations of written and seeded paths.
    pub keys: TreeKeys,
    /// The slots of all nodes.
    pub slots: FlowSlots,
    /// The values that exist from the start.
    pub seeds: [ValueObject; 2],
    /// Whether the id of a node contains dots.
    pub dotted: bool,
    /// Nodes by their ids.
    pub by_id: HashMap<Arc<str>, usize>,
    /// Written paths by their first segment.
    pub by_head: HashMap<Arc<str>, Vec<usize>>,
}

/// A node and the slots of its results.
pub struct NodeName {
    /// Its id.
    pub id: Arc<str>,
    /// The place of its id, without quotes.
    pub at: Location,
    /// The slot of its context: `{output, ...}`.
    pub slot: SlotId,
    /// The slot of a sub-workflow's inner results.
    pub exports: Option<SlotId>,
    /// The type of the context.
    pub schema: ValueType,
    /// The declarations of the context's members.
    pub members: MemberDeclarations,
    /// The path from the context to the node's main result.
    pub output: Vec<Arc<str>>,
    /// For a swrm node: the slots of its agents' contexts.
    pub agents: Vec<(Arc<str>, SlotId)>,
    /// Whether the other agents or instances continue when one fails.
    pub lenient: bool,
    /// For a factory: the names available only in its instances.
    pub instance: Option<FactoryInstance>,
    /// A one-line description.
    pub note: Arc<str>,
}

/// The names available in a factory's instance in addition to the workflow's. Slots are numbered from [`INSTANCE`] on.
#[derive(Debug, Clone)]
pub struct FactoryInstance {
    /// The slot of the (empty) call input.
    pub intake: SlotId,
    /// The slot of the list element; `None` with `swarm_size`.
    pub item: Option<SlotId>,
    /// The slot of its index.
    pub index: SlotId,
    /// The slot of the number of items.
    pub total: SlotId,
    /// The slot of the rendered `inputs`.
    pub rendered: SlotId,
    /// The names of the inputs, with their declarations.
    pub inputs: Vec<(Arc<str>, Location)>,
    /// The agents of its swarm.
    pub agents: Vec<(Arc<str>, SlotId)>,
    /// All of these slots.
    pub slots: FlowSlots,
}

/// A path that a node writes.
pub struct WriteName {
    /// The tree.
    pub root: StateTree,
    /// The path in the tree.
    pub path: Vec<Arc<str>>,
    /// The node.
    pub node: usize,
    /// The path from the node's context to the value.
    pub member: Vec<Arc<str>>,
    /// The type of the value.
    pub schema: ValueType,
}

/// The names of a path's segments.
pub fn segment_names(path: &[PathSegment]) -> Vec<Arc<str>> {
    path.iter().map(|segment| segment.name.clone()).collect()
}

impl SirenNames {
    /// The location of a span in the file.
    pub fn location_of(&self, span: Span) -> Location {
        Location::new(self.file, span)
    }

    /// The node with this id.
    pub fn node_of(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// A node's id.
    pub fn node_id(&self, node: usize) -> &str {
        match self.nodes.get(node) {
            Some(node) => &node.id,
            None => "",
        }
    }

    /// All node ids.
    pub fn node_ids(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(|n| &*n.id)
    }

    /// Whether an input with this name is made by a factory for its instances.
    pub fn is_made(&self, input: &str) -> bool {
        for node in &self.nodes {
            if let Some(instance) = &node.instance
                && instance.inputs.iter().any(|(name, _)| &**name == input)
            {
                return true;
            }
        }
        false
    }

    /// The seeds of a tree.
    pub fn tree_seeds(&self, root: StateTree) -> &ValueObject {
        let [working, output] = &self.seeds;
        match root {
            StateTree::Working => working,
            StateTree::Output => output,
        }
    }

    /// The type of a whole tree, which callers of a sub-workflow can read.
    pub fn tree_type(&self, root: StateTree) -> ValueType {
        let mut tree = types::seed_type(&Value::Object(Arc::new(self.tree_seeds(root).clone())));
        for write in &self.writes {
            if write.root == root {
                tree = types::overlay_type(&tree, &write.path, &write.schema);
            }
        }
        tree
    }

    /// The output tree with the nodes' results under it; names in the tree take precedence.
    pub fn readable_type(&self, output: &ValueType) -> ValueType {
        if !types::is_closed(output) {
            return output.clone();
        }
        let keys = output.declared_members();
        let mut all: Vec<(Arc<str>, ValueType)> = Vec::new();
        for key in &keys {
            if let Some(member) = types::type_at_key(output, key) {
                all.push((key.clone(), member));
            }
        }
        for node in &self.nodes {
            if !keys.contains(&node.id) {
                all.push((node.id.clone(), node.result_type().unwrap_or(ValueType::Any)));
            }
        }
        ValueType::optional_fields(all)
    }

    /// The declarations of the members of the output tree and of the nodes under it.
    pub fn output_members(&self) -> MemberDeclarations {
        let mut members = self.keys.members_under(StateTree::Output, &[]);
        for node in &self.nodes {
            if self.keys.get(StateTree::Output, std::slice::from_ref(&node.id)).is_none() {
                members.push((node.id.clone(), Some(node.at), MemberDeclarations::default()));
            }
        }
        MemberDeclarations::from_members(members)
    }
}

impl NodeName {
    /// The node's main result.
    pub fn result_source(&self) -> Source {
        Source::Member(self.slot, self.output.clone())
    }

    /// The type of the node's main result; `None`: its context never has one.
    fn result_type(&self) -> Option<ValueType> {
        let mut result = self.schema.clone();
        for key in &self.output {
            result = types::type_at_key(&result, key)?;
        }
        Some(result)
    }
}

/// The type of a swarm's `agents`.
pub fn swarm_type(agents: &[(Arc<str>, SlotId)]) -> ValueType {
    ValueType::optional_fields(
        agents.iter().map(|(id, _)| (id.clone(), types::nested_type(&["output".into()], ValueType::TEXT))),
    )
}
