//! Collects the names of a workflow from its manifest.

use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{OnItemFailure, SlotId};
use trefoil_syntax::FileId;
use trefoil_syntax::hash::HashMap;

use super::callee::SirenCallee;
use super::inputs::SirenInputs;
use super::keys::{TreeKey, TreeKeys};
use super::types;
use super::workflow_names::{FactoryInstance, INSTANCE, NodeName, SirenNames, WriteName, swarm_type};
use crate::names::MemberDeclarations;
use crate::program_builder::FlowSlots;
use crate::sirenspec::manifest::{
    FactoryItems, FactoryNode, FactoryWorker, NodeKind, NodeWrite, SirenManifest, SirenNode, SirenSwarm, StateTree,
    SwarmMember,
};

impl SirenNames {
    /// The names of a manifest; adds a slot for everything that has a value. `inputs` makes the input fields from the
    /// slot of the input.
    pub fn new(
        file: FileId,
        manifest: &SirenManifest<'_>,
        children: &[Option<SirenCallee>],
        inputs: impl FnOnce(SlotId) -> SirenInputs,
    ) -> Self {
        let mut slots = FlowSlots::default();
        let mut known = Self {
            file,
            inputs: inputs(slots.add_slot("inputs")),
            nodes: Vec::new(),
            writes: Vec::new(),
            keys: TreeKeys::default(),
            slots,
            seeds: [manifest.state.working.clone(), manifest.state.output.clone()],
            dotted: manifest.nodes.iter().any(|node| node.id.value.contains('.')),
            by_id: HashMap::default(),
            by_head: HashMap::default(),
        };
        for (at, node) in manifest.nodes.iter().enumerate() {
            known.by_id.insert(node.id.value.clone(), at);
            let child = match children.get(at) {
                Some(Some(child)) => Some(child),
                _ => None,
            };
            known.node(node, child);
        }
        for write in &known.writes {
            if let Some(node) = known.nodes.get(write.node)
                && let Some(slot) = known.slots.0.find_element_mut(node.slot)
            {
                slot.writes.push(format!("{}.{}", write.root.tree_name(), write.path.join(".")).into());
            }
        }
        known.keys = known.declared(manifest);
        known
    }

    fn node(&mut self, node: &SirenNode<'_>, child: Option<&SirenCallee>) {
        let at = self.nodes.len();
        let id = &node.id.value;
        let output: Vec<Arc<str>> = vec!["output".into()];
        let mut name = NodeName {
            id: id.clone(),
            at: self.location_of(node.id.content_span()),
            slot: self.slots.add_slot(id.clone()),
            exports: None,
            schema: types::nested_type(&output, ValueType::TEXT),
            members: MemberDeclarations::default(),
            output: output.clone(),
            agents: Vec::new(),
            lenient: false,
            instance: None,
            note: note(&node.kind).into(),
        };
        let implied = NodeWrite { root: StateTree::Output, path: vec![id.clone()], text: None };
        match &node.kind {
            NodeKind::Agent(agent) => self.write(at, id, agent.writes.as_ref(), &output, &ValueType::TEXT),
            NodeKind::Human(human) => self.write(at, id, human.writes.as_ref(), &output, &ValueType::TEXT),
            NodeKind::Swrm(swrm) => {
                let schema = swrm_output(swrm);
                self.write(at, id, Some(&implied), &output, &schema);
                for member in &swrm.members {
                    let member = &member.id.value;
                    name.agents.push((member.clone(), self.slots.add_slot(format!("{id}.{member}"))));
                }
                name.schema = ValueType::optional_fields([
                    ("output".into(), schema),
                    ("agents".into(), swarm_type(&name.agents)),
                ]);
                name.lenient = swrm.on_failure == OnItemFailure::Continue;
                name.members = MemberDeclarations::from_members(vec![self.agents_of(swrm)]);
            }
            NodeKind::Factory(factory) => {
                let item = match &factory.worker {
                    Some(FactoryWorker::Swrm(swrm)) => {
                        name.members = MemberDeclarations::from_members(vec![self.agents_of(swrm)]);
                        swrm_output(swrm)
                    }
                    _ => ValueType::TEXT,
                };
                let list = ValueType::list_of(item);
                self.write(at, id, factory.writes.as_ref(), &["outputs".into()], &list);
                name.schema =
                    ValueType::optional_fields([("output".into(), ValueType::TEXT), ("outputs".into(), list)]);
                name.instance = Some(self.instance(factory));
            }
            NodeKind::Call(call) => {
                let (tree, readable) = match child {
                    Some(child) => (child.output.clone(), child.readable.clone()),
                    None => (ValueType::Any, ValueType::Any),
                };
                self.write(at, id, Some(&implied), &output, &tree);
                self.write(at, id, call.writes.as_ref(), &output, &tree);
                name.exports = Some(self.slots.add_slot(format!("{id} (inner)")));
                name.schema = types::nested_type(&output, readable);
                if let Some(child) = child {
                    let members = vec![("output".into(), None, child.members.clone())];
                    name.members = MemberDeclarations::from_members(members);
                }
            }
            NodeKind::Tool(tool) => {
                name.output = tool.output_key.clone();
                name.schema = types::nested_type(&tool.output_key, ValueType::Any);
            }
            NodeKind::Broken => name.schema = ValueType::Any,
        }
        self.nodes.push(name);
    }

    /// The declarations of a swarm's agents, which are under `agents` of its node.
    fn agents_of(&self, swrm: &SirenSwarm<'_>) -> crate::names::MemberDeclaration {
        let place = |m: &SwarmMember<'_>| {
            (m.id.value.clone(), Some(self.location_of(m.id.content_span())), MemberDeclarations::default())
        };
        ("agents".into(), None, MemberDeclarations::from_members(swrm.members.iter().map(place).collect()))
    }

    fn instance(&self, factory: &FactoryNode<'_>) -> FactoryInstance {
        let mut slots = FlowSlots::default();
        let mut add = |name: Arc<str>| SlotId(INSTANCE + slots.add_slot(name).0);
        let each = matches!(factory.over, Some(FactoryItems::List(_)) | None);
        let inputs =
            factory.inputs.iter().map(|e| (e.key.value.clone(), self.location_of(e.key.content_span()))).collect();
        let members = match &factory.worker {
            Some(FactoryWorker::Swrm(swrm)) => swrm.members.as_slice(),
            _ => &[],
        };
        FactoryInstance {
            intake: add("call".into()),
            item: if each { Some(add("item".into())) } else { None },
            index: add("index".into()),
            total: add("total".into()),
            rendered: add("inputs".into()),
            inputs,
            agents: members.iter().map(|m| (m.id.value.clone(), add(m.id.value.clone()))).collect(),
            slots,
        }
    }

    fn write(&mut self, node: usize, id: &str, write: Option<&NodeWrite<'_>>, member: &[Arc<str>], schema: &ValueType) {
        let Some(write) = write else { return };
        // If the node's own context has the same value at the same path, there is nothing to add.
        let own = id.split('.').chain(member.iter().map(|s| &**s));
        if write.root == StateTree::Working && own.eq(write.path.iter().map(|s| &**s)) {
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
    fn declared(&self, manifest: &SirenManifest<'_>) -> TreeKeys {
        let place = |span| self.location_of(span);
        let mut keys = TreeKeys::default();
        for (root, tree) in &manifest.state.written {
            keys.add_seeds(*root, tree, &mut Vec::new(), &place);
        }
        for (at, (node, known)) in manifest.nodes.iter().zip(&self.nodes).enumerate() {
            if let Some(write) = node.kind.node_write() {
                // Writes are in the order of the nodes.
                let from = self.writes.partition_point(|w| w.node < at);
                let mut own = self.writes.iter().skip(from).take_while(|w| w.node == at);
                let schema = match own.find(|w| w.root == write.root && w.path == write.path) {
                    Some(own) => &own.schema,
                    None => &ValueType::Any,
                };
                keys.add_write(write, at, schema, &place);
            }
            if matches!(node.kind, NodeKind::Swrm(_) | NodeKind::Call(_)) {
                let key = TreeKey::new(known.at, known.schema.part_type("output"));
                keys.add_implied(StateTree::Output, vec![known.id.clone()], at, key);
            }
        }
        keys
    }
}

/// The type of a swarm's output: the synthesis's text, or the list of the agents' texts.
fn swrm_output(swrm: &SirenSwarm<'_>) -> ValueType {
    if swrm.synthesis.is_some() { ValueType::TEXT } else { ValueType::list_of(ValueType::TEXT) }
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
