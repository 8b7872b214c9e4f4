//! Collects the names of a workflow from its manifest.

use std::sync::Arc;

use trefoil_ir::types::Type;
use trefoil_ir::{OnItemFailure, SlotId};
use trefoil_syntax::FileId;
use trefoil_syntax::hash::HashMap;

use super::child::Child;
use super::inputs::Inputs;
use super::keys::{Key, Keys};
use super::known::{INSTANCE, Instance, Known, NodeName, WriteName, agents};
use super::types;
use crate::build::FlowSlots;
use crate::names::Members;
use crate::sirenspec::manifest::{FactoryNode, Manifest, Member, Node, NodeKind, Over, Root, Swrm, Worker, Write};

impl Known {
    /// The names of a manifest; adds a slot for everything that has a value. `inputs` makes the input fields from the
    /// slot of the input.
    pub fn new(
        file: FileId,
        manifest: &Manifest<'_>,
        children: &[Option<Child>],
        inputs: impl FnOnce(SlotId) -> Inputs,
    ) -> Self {
        let mut slots = FlowSlots::default();
        let mut known = Self {
            file,
            inputs: inputs(slots.add("inputs")),
            nodes: Vec::new(),
            writes: Vec::new(),
            keys: Keys::default(),
            slots,
            seeds: [manifest.state.working.clone(), manifest.state.output.clone()],
            dotted: manifest.nodes.iter().any(|node| node.id.value.contains('.')),
            by_id: HashMap::default(),
            by_head: HashMap::default(),
        };
        for (at, node) in manifest.nodes.iter().enumerate() {
            known.by_id.insert(node.id.value.clone(), at);
            known.node(node, children.get(at).and_then(Option::as_ref));
        }
        for write in &known.writes {
            if let Some(slot) = known.nodes.get(write.node).and_then(|n| known.slots.0.find_mut(n.slot)) {
                slot.writes.push(format!("{}.{}", write.root.word(), write.path.join(".")).into());
            }
        }
        known.keys = known.declared(manifest);
        known
    }

    fn node(&mut self, node: &Node<'_>, child: Option<&Child>) {
        let at = self.nodes.len();
        let id = &node.id.value;
        let output: Vec<Arc<str>> = vec!["output".into()];
        let mut name = NodeName {
            id: id.clone(),
            at: self.at(node.id.content()),
            slot: self.slots.add(id.clone()),
            exports: None,
            schema: types::under(&output, Type::TEXT),
            members: Members::default(),
            output: output.clone(),
            agents: Vec::new(),
            lenient: false,
            instance: None,
            note: note(&node.kind).into(),
        };
        let implied = Write { root: Root::Output, path: vec![id.clone()], text: None };
        match &node.kind {
            NodeKind::Agent(agent) => self.write(at, id, agent.writes.as_ref(), &output, &Type::TEXT),
            NodeKind::Human(human) => self.write(at, id, human.writes.as_ref(), &output, &Type::TEXT),
            NodeKind::Swrm(swrm) => {
                let schema = swrm_output(swrm);
                self.write(at, id, Some(&implied), &output, &schema);
                let members = swrm.members.iter().map(|m| &m.id.value);
                name.agents = members.map(|m| (m.clone(), self.slots.add(format!("{id}.{m}")))).collect();
                name.schema = Type::fields([("output".into(), schema), ("agents".into(), agents(&name.agents))]);
                name.lenient = swrm.on_failure == OnItemFailure::Continue;
                name.members = Members::of(vec![self.agents_of(swrm)]);
            }
            NodeKind::Factory(factory) => {
                let item = match &factory.worker {
                    Some(Worker::Swrm(swrm)) => {
                        name.members = Members::of(vec![self.agents_of(swrm)]);
                        swrm_output(swrm)
                    }
                    _ => Type::TEXT,
                };
                let list = Type::list_of(item);
                self.write(at, id, factory.writes.as_ref(), &["outputs".into()], &list);
                name.schema = Type::fields([("output".into(), Type::TEXT), ("outputs".into(), list)]);
                name.instance = Some(self.instance(factory));
            }
            NodeKind::Call(call) => {
                let tree = child.map_or(Type::Any, |c| c.output.clone());
                self.write(at, id, Some(&implied), &output, &tree);
                self.write(at, id, call.writes.as_ref(), &output, &tree);
                name.exports = Some(self.slots.add(format!("{id} (inner)")));
                name.schema = types::under(&output, child.map_or(Type::Any, |c| c.readable.clone()));
                name.members =
                    Members::of(child.map(|c| ("output".into(), None, c.members.clone())).into_iter().collect());
            }
            NodeKind::Tool(tool) => {
                name.output = tool.output_key.clone();
                name.schema = types::under(&tool.output_key, Type::Any);
            }
            NodeKind::Broken => name.schema = Type::Any,
        }
        self.nodes.push(name);
    }

    /// The declarations of a swarm's agents, which are under `agents` of its node.
    fn agents_of(&self, swrm: &Swrm<'_>) -> crate::names::Member {
        let place = |m: &Member<'_>| (m.id.value.clone(), Some(self.at(m.id.content())), Members::default());
        ("agents".into(), None, Members::of(swrm.members.iter().map(place).collect()))
    }

    fn instance(&self, factory: &FactoryNode<'_>) -> Instance {
        let mut slots = FlowSlots::default();
        let mut add = |name: Arc<str>| SlotId(INSTANCE + slots.add(name).0);
        let each = matches!(factory.over, Some(Over::List(_)) | None);
        let inputs = factory.inputs.iter().map(|e| (e.key.value.clone(), self.at(e.key.content()))).collect();
        let members = match &factory.worker {
            Some(Worker::Swrm(swrm)) => swrm.members.as_slice(),
            _ => &[],
        };
        Instance {
            intake: add("call".into()),
            item: each.then(|| add("item".into())),
            index: add("index".into()),
            total: add("total".into()),
            rendered: add("inputs".into()),
            inputs,
            agents: members.iter().map(|m| (m.id.value.clone(), add(m.id.value.clone()))).collect(),
            slots,
        }
    }

    fn write(&mut self, node: usize, id: &str, write: Option<&Write<'_>>, member: &[Arc<str>], schema: &Type) {
        let Some(write) = write else { return };
        // If the node's own context has the same value at the same path, there is nothing to add.
        let own = id.split('.').chain(member.iter().map(|s| &**s));
        if write.root == Root::Working && own.eq(write.path.iter().map(|s| &**s)) {
            return;
        }
        let at = self.writes.len();
        if let Some(head) = write.path.first() {
            self.by_head.entry(head.clone()).or_default().push(at);
        }
        self.writes.push(WriteName {
            root: write.root,
            path: write.path.clone(),
            node,
            member: member.to_vec(),
            schema: schema.clone(),
        });
    }

    /// The declarations of written and seeded paths.
    fn declared(&self, manifest: &Manifest<'_>) -> Keys {
        let place = |span| self.at(span);
        let mut keys = Keys::default();
        for (root, tree) in &manifest.state.written {
            keys.seed(*root, tree, &mut Vec::new(), &place);
        }
        for (at, (node, known)) in manifest.nodes.iter().zip(&self.nodes).enumerate() {
            if let Some(write) = node.kind.writes() {
                // Writes are in the order of the nodes.
                let from = self.writes.partition_point(|w| w.node < at);
                let mut own = self.writes.iter().skip(from).take_while(|w| w.node == at);
                let found = own.find(|w| w.root == write.root && w.path == write.path);
                keys.write(write, at, &found.map_or(Type::Any, |w| w.schema.clone()), &place);
            }
            if matches!(node.kind, NodeKind::Swrm(_) | NodeKind::Call(_)) {
                let key = Key::new(known.at, known.schema.part("output"));
                keys.implied(Root::Output, vec![known.id.clone()], at, key);
            }
        }
        keys
    }
}

/// The type of a swarm's output: the synthesis's text, or the list of the agents' texts.
fn swrm_output(swrm: &Swrm<'_>) -> Type {
    if swrm.synthesis.is_some() { Type::TEXT } else { Type::list_of(Type::TEXT) }
}

/// A one-line description of a node.
fn note(kind: &NodeKind<'_>) -> String {
    match kind {
        NodeKind::Agent(kind) => match kind.agent {
            Some(agent) => format!("the answer of agent `{}`", agent.value),
            None => "an agent's answer".into(),
        },
        NodeKind::Swrm(swrm) => format!("the answers of {} agents", swrm.members.len()),
        NodeKind::Factory(_) => "the answers of the instances: `outputs` is the list, `output` is the text".into(),
        NodeKind::Call(call) => match call.reference {
            Some(reference) => format!("the output of workflow `{}`", reference.value),
            None => "the output of a workflow".into(),
        },
        NodeKind::Human(_) => "a person's answer".into(),
        NodeKind::Tool(_) => "the result of a tool".into(),
        NodeKind::Broken => "a node".into(),
    }
}
