//! Collects the names of a workflow from its manifest: what each node makes available, of which type, and in which slot.

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
use crate::names::{MemberDeclaration, MemberDeclarations};
use crate::program_builder::FlowSlots;
use crate::sirenspec::manifest::{
    FactoryItems, FactoryNode, FactoryWorker, NodeKind, NodeWrite, SirenManifest, SirenNode, SirenSwarm, StateTree,
    SwarmMember,
};

impl SirenNames {
    /// The names of a manifest; adds a slot for everything that has a value. `children`: for each node that calls a workflow, that
    /// workflow. `inputs` makes the input fields from the slot of the input.
    pub fn new(
        file: FileId,
        manifest: &SirenManifest<'_>,
        children: &[Option<SirenCallee>],
        inputs: impl FnOnce(SlotId) -> SirenInputs,
    ) -> Self {
        let mut slots = FlowSlots::default();
        let mut names = Self {
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
        for (index, node) in manifest.nodes.iter().enumerate() {
            names.by_id.insert(node.id.value.clone(), index);
            let child = match children.get(index) {
                Some(Some(child)) => Some(child),
                _ => None,
            };
            names.add_node(node, child);
        }
        for write in &names.writes {
            if let Some(node) = names.nodes.get(write.node)
                && let Some(slot) = names.slots.0.find_element_mut(node.slot)
            {
                slot.writes.push(format!("{}.{}", write.root.tree_name(), write.path.join(".")).into());
            }
        }
        names.keys = names.collect_tree_keys(manifest);
        names
    }

    /// Adds a node, its slots, and the paths that it writes. `child`: the workflow that it calls.
    fn add_node(&mut self, node: &SirenNode<'_>, child: Option<&SirenCallee>) {
        let index = self.nodes.len();
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
            note: node_description(&node.kind).into(),
        };
        // Nodes of some kinds write their output under their id even without `writes`.
        let implied_write = NodeWrite { root: StateTree::Output, path: vec![id.clone()], text: None };
        match &node.kind {
            NodeKind::Agent(agent) => self.add_write(index, id, agent.writes.as_ref(), &output, &ValueType::TEXT),
            NodeKind::Human(human) => self.add_write(index, id, human.writes.as_ref(), &output, &ValueType::TEXT),
            NodeKind::Swrm(swrm) => {
                let schema = swarm_output_type(swrm);
                self.add_write(index, id, Some(&implied_write), &output, &schema);
                for member in &swrm.members {
                    let member = &member.id.value;
                    name.agents.push((member.clone(), self.slots.add_slot(format!("{id}.{member}"))));
                }
                name.schema = ValueType::optional_fields([
                    ("output".into(), schema),
                    ("agents".into(), swarm_type(&name.agents)),
                ]);
                name.lenient = swrm.on_failure == OnItemFailure::Continue;
                name.members = MemberDeclarations::from_members(vec![self.agents_member(swrm)]);
            }
            NodeKind::Factory(factory) => {
                let item_type = match &factory.worker {
                    Some(FactoryWorker::Swrm(swrm)) => {
                        name.members = MemberDeclarations::from_members(vec![self.agents_member(swrm)]);
                        swarm_output_type(swrm)
                    }
                    _ => ValueType::TEXT,
                };
                let list_type = ValueType::list_of(item_type);
                self.add_write(index, id, factory.writes.as_ref(), &["outputs".into()], &list_type);
                name.schema =
                    ValueType::optional_fields([("output".into(), ValueType::TEXT), ("outputs".into(), list_type)]);
                name.instance = Some(self.factory_instance_names(factory));
            }
            NodeKind::Call(call) => {
                let (output_type, readable_type) = match child {
                    Some(child) => (child.output.clone(), child.readable.clone()),
                    None => (ValueType::Any, ValueType::Any),
                };
                self.add_write(index, id, Some(&implied_write), &output, &output_type);
                self.add_write(index, id, call.writes.as_ref(), &output, &output_type);
                name.exports = Some(self.slots.add_slot(format!("{id} (inner)")));
                name.schema = types::nested_type(&output, readable_type);
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

    /// The member `agents` of a swarm's node, with the declarations of the agents.
    fn agents_member(&self, swrm: &SirenSwarm<'_>) -> MemberDeclaration {
        let declare = |member: &SwarmMember<'_>| {
            let declaration = self.location_of(member.id.content_span());
            (member.id.value.clone(), Some(declaration), MemberDeclarations::default())
        };
        ("agents".into(), None, MemberDeclarations::from_members(swrm.members.iter().map(declare).collect()))
    }

    /// The names that only the instances of a factory have, and their slots.
    fn factory_instance_names(&self, factory: &FactoryNode<'_>) -> FactoryInstance {
        let mut slots = FlowSlots::default();
        let mut add_slot = |name: Arc<str>| SlotId(INSTANCE + slots.add_slot(name).0);
        let is_for_each = matches!(factory.over, Some(FactoryItems::List(_)) | None);
        let mut inputs = Vec::with_capacity(factory.inputs.len());
        for entry in &factory.inputs {
            inputs.push((entry.key.value.clone(), self.location_of(entry.key.content_span())));
        }
        let members = match &factory.worker {
            Some(FactoryWorker::Swrm(swrm)) => swrm.members.as_slice(),
            _ => &[],
        };
        FactoryInstance {
            intake: add_slot("call".into()),
            item: if is_for_each { Some(add_slot("item".into())) } else { None },
            index: add_slot("index".into()),
            total: add_slot("total".into()),
            rendered: add_slot("inputs".into()),
            inputs,
            agents: members.iter().map(|m| (m.id.value.clone(), add_slot(m.id.value.clone()))).collect(),
            slots,
        }
    }

    /// Adds a path that a node writes. `member`: the path of the written value in the node's context.
    fn add_write(
        &mut self,
        node: usize,
        id: &str,
        write: Option<&NodeWrite<'_>>,
        member: &[Arc<str>],
        schema: &ValueType,
    ) {
        let Some(write) = write else { return };
        // The node's context is at its id in the working tree. A write to the place where the value already is adds nothing.
        let context_path = id.split('.').chain(member.iter().map(|s| &**s));
        if write.root == StateTree::Working && context_path.eq(write.path.iter().map(|s| &**s)) {
            return;
        }
        if let Some(head) = write.path.first() {
            self.by_head.entry(head.clone()).or_default().push(self.writes.len());
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
    fn collect_tree_keys(&self, manifest: &SirenManifest<'_>) -> TreeKeys {
        let location_of = |span| self.location_of(span);
        let mut keys = TreeKeys::default();
        for (root, tree) in &manifest.state.written {
            keys.add_seeds(*root, tree, &mut Vec::new(), &location_of);
        }
        for (index, (node, names)) in manifest.nodes.iter().zip(&self.nodes).enumerate() {
            if let Some(write) = node.kind.node_write() {
                keys.add_write(write, index, self.written_type(index, write), &location_of);
            }
            if matches!(node.kind, NodeKind::Swrm(_) | NodeKind::Call(_)) {
                let key = TreeKey::new(names.at, names.schema.part_type("output"));
                keys.add_implied(StateTree::Output, vec![names.id.clone()], index, key);
            }
        }
        keys
    }

    /// The type of the value that a node writes to a path.
    fn written_type(&self, node: usize, write: &NodeWrite<'_>) -> &ValueType {
        // `writes` is in the order of the nodes.
        let first = self.writes.partition_point(|w| w.node < node);
        for known in self.writes.iter().skip(first) {
            if known.node != node {
                break;
            }
            if known.root == write.root && known.path == write.path {
                return &known.schema;
            }
        }
        &ValueType::Any
    }
}

/// The type of a swarm's output: the synthesis's text, or the list of the agents' texts.
fn swarm_output_type(swrm: &SirenSwarm<'_>) -> ValueType {
    if swrm.synthesis.is_some() { ValueType::TEXT } else { ValueType::list_of(ValueType::TEXT) }
}

/// A one-line description of a node, for editors.
fn node_description(kind: &NodeKind<'_>) -> String {
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
