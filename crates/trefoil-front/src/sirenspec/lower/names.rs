//! What a workflow's templates and conditions can name: nodes, written and seeded paths, input fields.
//!
//! Knows nothing of order: whether a node has ended by the time somebody reads it is for `order` to say.

use std::collections::BTreeMap;
use std::sync::Arc;
use trefoil_syntax::hash::HashMap;

use trefoil_ir::{SlotId, Source};
use trefoil_syntax::yaml::Text;
use trefoil_template::{Object, Segment, Value};

use super::Child;
use super::flow::Slots;
use super::shape::Shape;
use crate::sirenspec::manifest::{Manifest, Node, NodeKind, Root, Swrm, Worker, Write};

/// The names of a workflow.
pub struct Names<'m> {
    /// Nodes, in the order of the file.
    pub nodes: Vec<NodeName<'m>>,
    /// Written paths, by node.
    pub writes: Vec<WriteName>,
    /// What is there from the start.
    seeds: [Object; 2],
    by_id: HashMap<&'m str, usize>,
    by_head: BTreeMap<(Root, Arc<str>), Vec<usize>>,
}

/// A node and where its results are.
pub struct NodeName<'m> {
    /// Its id.
    pub id: &'m Text,
    /// The slot of its context: `{output, ...}`.
    pub slot: SlotId,
    /// The slot of a sub-workflow's inner results.
    pub exports: Option<SlotId>,
    /// What is in the context.
    pub shape: Shape,
    /// From the context to the node's main result.
    pub output: Vec<Arc<str>>,
    /// Of a swrm node: the slots of its agents' contexts.
    pub members: Vec<(Arc<str>, SlotId)>,
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
    /// The value.
    pub shape: Shape,
}

/// What a path can mean.
#[derive(Debug, Default)]
pub struct Look {
    /// The node that is named, and how many segments its id takes.
    pub named: Option<(usize, usize)>,
    /// That node's context can have the rest of the path.
    pub in_node: bool,
    /// Written paths that touch this one.
    pub writes: Vec<usize>,
    /// A seeded value is there.
    pub seeded: bool,
}

impl<'m> Names<'m> {
    /// The names of a manifest; gives every node its slots.
    pub fn new(manifest: &Manifest<'m>, children: &[Option<Child>], slots: &mut Slots) -> Self {
        let mut names = Self {
            nodes: Vec::new(),
            writes: Vec::new(),
            seeds: [manifest.state.working.clone(), manifest.state.output.clone()],
            by_id: HashMap::default(),
            by_head: BTreeMap::new(),
        };
        for (at, node) in manifest.nodes.iter().enumerate() {
            names.by_id.insert(&node.id.value, at);
            names.node(node, children.get(at).and_then(Option::as_ref), slots);
        }
        names
    }

    fn node(&mut self, node: &Node<'m>, child: Option<&Child>, slots: &mut Slots) {
        let at = self.nodes.len();
        let id = &node.id.value;
        let output: Vec<Arc<str>> = vec!["output".into()];
        let mut name = NodeName {
            id: node.id,
            slot: slots.add(id.clone()),
            exports: None,
            shape: Shape::under(&output, Shape::Leaf),
            output: output.clone(),
            members: Vec::new(),
        };
        let implied = Write { root: Root::Output, path: vec![id.clone()], text: None };
        match &node.kind {
            NodeKind::Agent(agent) => self.write(at, id, agent.writes.as_ref(), &output, &Shape::Leaf),
            NodeKind::Human(human) => self.write(at, id, human.writes.as_ref(), &output, &Shape::Leaf),
            NodeKind::Swrm(swrm) => {
                let shape = swrm_output(swrm);
                self.write(at, id, Some(&implied), &output, &shape);
                name.members = swrm
                    .members
                    .iter()
                    .map(|m| (m.id.value.clone(), slots.add(format!("{id}.{}", m.id.value))))
                    .collect();
                let agents = swrm.members.iter().map(|m| (m.id.value.clone(), Shape::under(&output, Shape::Leaf)));
                name.shape =
                    Shape::Keys(vec![("output".into(), shape), ("agents".into(), Shape::Keys(agents.collect()))]);
            }
            NodeKind::Factory(factory) => {
                let item = match &factory.worker {
                    Some(Worker::Swrm(swrm)) => swrm_output(swrm),
                    _ => Shape::Leaf,
                };
                let list = Shape::List(Box::new(item));
                self.write(at, id, factory.writes.as_ref(), &["outputs".into()], &list);
                name.shape = Shape::Keys(vec![("output".into(), Shape::Leaf), ("outputs".into(), list)]);
            }
            NodeKind::Call(call) => {
                let tree = child.map_or(Shape::Any, |c| c.output.clone());
                self.write(at, id, Some(&implied), &output, &tree);
                self.write(at, id, call.writes.as_ref(), &output, &tree);
                name.exports = Some(slots.add(format!("{id} (inner)")));
                name.shape = Shape::under(&output, child.map_or(Shape::Any, |c| c.readable.clone()));
            }
            NodeKind::Tool(tool) => {
                name.output = tool.output_key.clone();
                name.shape = Shape::under(&tool.output_key, Shape::Any);
            }
            NodeKind::Broken => name.shape = Shape::Any,
        }
        self.nodes.push(name);
    }

    fn write(&mut self, node: usize, id: &str, write: Option<&Write<'_>>, member: &[Arc<str>], shape: &Shape) {
        let Some(write) = write else { return };
        // Where the node's own context has the same value at the same place, there is nothing more to see.
        let own = id.split('.').chain(member.iter().map(|s| &**s));
        if write.root == Root::Working && own.eq(write.path.iter().map(|s| &**s)) {
            return;
        }
        let at = self.writes.len();
        if let Some(head) = write.path.first() {
            self.by_head.entry((write.root, head.clone())).or_default().push(at);
        }
        self.writes.push(WriteName {
            root: write.root,
            path: write.path.clone(),
            node,
            member: member.to_vec(),
            shape: shape.clone(),
        });
    }

    /// Written paths that are where another node leaves its own result: who writes, and that node.
    pub fn taken(&self) -> impl Iterator<Item = (&WriteName, usize)> {
        self.writes.iter().filter_map(|write| {
            let [id, key, ..] = write.path.as_slice() else { return None };
            let owner = self.node_of(id).filter(|owner| write.root == Root::Working && *owner != write.node)?;
            let shape = &self.nodes.get(owner)?.shape;
            (*shape != Shape::Any && shape.at(key).is_some()).then_some((write, owner))
        })
    }

    /// Paths that are written beneath a text or another single value that is seeded, and how many segments lead there.
    pub fn beneath_seeds(&self) -> impl Iterator<Item = (&WriteName, usize)> {
        self.writes.iter().filter_map(|write| {
            let (last, above) = write.path.split_last().filter(|(_, above)| !above.is_empty())?;
            let mut value = self.seeds(write.root).get(above.first()?)?;
            for (at, segment) in above.iter().chain([last]).enumerate().skip(1) {
                match value {
                    Value::Object(members) => value = members.get(segment)?,
                    Value::Null | Value::List(_) => return None,
                    _ => return Some((write, at)),
                }
            }
            None
        })
    }

    /// The node of an id.
    pub fn node_of(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// All node ids.
    pub fn ids(&self) -> impl Iterator<Item = &'m str> {
        self.nodes.iter().map(|n| &*n.id.value)
    }

    /// The seeds of a tree.
    pub fn seeds(&self, root: Root) -> &Object {
        let [working, output] = &self.seeds;
        match root {
            Root::Working => working,
            Root::Output => output,
        }
    }

    /// The node that a path begins with: ids may hold dots, the longest wins.
    pub fn node_at(&self, path: &[Segment]) -> Option<(usize, usize)> {
        let (first, rest) = path.split_first()?;
        let mut id = first.name.to_string();
        let mut found = self.node_of(&id).map(|at| (at, 1));
        for (more, segment) in rest.iter().enumerate() {
            id.push('.');
            id.push_str(&segment.name);
            found = self.node_of(&id).map(|at| (at, more + 2)).or(found);
        }
        found
    }

    /// What a path in a tree can mean. Nodes are looked for under `working` only.
    pub fn look(&self, root: Root, path: &[Segment]) -> Look {
        let mut look = Look::default();
        if root == Root::Working
            && let Some((node, taken)) = self.node_at(path)
        {
            look.named = Some((node, taken));
            look.in_node =
                self.nodes.get(node).is_some_and(|n| n.shape.missing(path.get(taken..).unwrap_or(&[])).is_none());
        }
        if let Some(head) = path.first() {
            let touching = self.by_head.get(&(root, head.name.clone())).map(Vec::as_slice).unwrap_or_default();
            look.writes = touching.iter().copied().filter(|w| self.touches(*w, path)).collect();
        }
        look.seeded = self.seeded(root, path).is_some();
        look
    }

    fn touches(&self, write: usize, path: &[Segment]) -> bool {
        self.writes.get(write).is_some_and(|w| w.path.iter().zip(path).all(|(a, b)| *a == b.name))
    }

    /// Whether a write that touches a path can be what the path reads.
    pub fn provides(&self, write: usize, path: &[Segment]) -> bool {
        self.writes.get(write).is_some_and(|w| match path.get(w.path.len()..) {
            Some(rest) => w.shape.missing(rest).is_none(),
            None => true,
        })
    }

    /// The seeded value at a path.
    pub fn seeded(&self, root: Root, path: &[Segment]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        let mut value = self.seeds(root).get(&first.name)?;
        for segment in rest {
            value = match value {
                Value::Object(members) => members.get(&segment.name)?,
                Value::List(items) => items.get(segment.name.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        Some(value)
    }

    /// What may stand after a path's first segments: for suggestions.
    pub fn candidates(&self, root: Root, path: &[Segment]) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        if root == Root::Working {
            match self.node_at(path) {
                Some((node, taken)) => {
                    if let Some(node) = self.nodes.get(node) {
                        all.extend(node.shape.keys(path.get(taken..).unwrap_or(&[])));
                    }
                }
                None if path.is_empty() => all.extend(self.nodes.iter().map(|n| &*n.id.value)),
                None => {}
            }
        }
        let written = self.writes.iter().filter(|w| w.root == root && w.path.len() > path.len());
        all.extend(
            written
                .filter(|w| w.path.iter().zip(path).all(|(a, b)| *a == b.name))
                .filter_map(|w| w.path.get(path.len()).map(|s| &**s)),
        );
        let around = self.writes.iter().filter(|w| w.root == root && !path.is_empty() && w.path.len() <= path.len());
        for write in around.filter(|w| w.path.iter().zip(path).all(|(a, b)| *a == b.name)) {
            all.extend(write.shape.keys(path.get(write.path.len()..).unwrap_or(&[])));
        }
        match path.split_first() {
            None => all.extend(self.seeds(root).keys().map(|k| &**k)),
            Some(_) => {
                if let Some(Value::Object(members)) = self.seeded(root, path) {
                    all.extend(members.keys().map(|k| &**k));
                }
            }
        }
        all
    }

    /// The shape of a whole tree: what a sub-workflow's caller can read.
    pub fn tree(&self, root: Root) -> Shape {
        let mut shape = Shape::of(&Value::Object(Arc::new(self.seeds(root).clone())));
        for write in self.writes.iter().filter(|w| w.root == root) {
            shape.lay(&write.path, write.shape.clone());
        }
        shape
    }
}

impl NodeName<'_> {
    /// The node's main result.
    pub fn result(&self) -> Source {
        Source::Member(self.slot, self.output.clone())
    }
}

/// What a swarm gives: the synthesis's text, or the list of the agents' texts.
fn swrm_output(swrm: &Swrm<'_>) -> Shape {
    if swrm.synthesis.is_some() { Shape::Leaf } else { Shape::texts() }
}
