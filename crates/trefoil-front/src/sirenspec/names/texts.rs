//! Every template of a node: the one traversal shared by ordering, binding and rules.

use trefoil_ir::Position;
use trefoil_syntax::FileId;
use trefoil_syntax::yaml::{self, Kind, Scalar, Text};
use trefoil_template::Policy;

use super::stand::Stand;
use crate::bound::Parsed;
use crate::sirenspec::manifest::{Manifest, Node, NodeKind, Over, Size, Swrm, ToolNode, ToolSettings, Worker};

/// A text with its place and purpose.
#[derive(Debug, Clone, Copy)]
pub struct Template<'m> {
    /// The text.
    pub text: &'m Text,
    /// The part of the node.
    pub stand: Stand,
    /// What it is used for.
    pub position: Position,
}

/// A parsed text of a node.
pub struct OfNode {
    /// The node.
    pub node: usize,
    /// The part of the node.
    pub stand: Stand,
    /// What it is used for.
    pub position: Position,
    /// The text.
    pub text: Parsed,
}

/// Parses the templates of all nodes before they are bound: their references determine the order of the nodes, which in
/// turn affects binding.
pub fn parse(file: FileId, manifest: &Manifest<'_>) -> Vec<OfNode> {
    let nodes = manifest.nodes.iter().enumerate();
    let templates = nodes.flat_map(|(at, node)| of_node(manifest, node).into_iter().map(move |t| (at, t)));
    let parsed = templates.map(|(node, Template { text, stand, position })| {
        let text = Parsed::template(file, text, &Policy::SIRENSPEC);
        OfNode { node, stand, position, text }
    });
    parsed.collect()
}

/// The templates of a node, including those of its agent.
pub fn of_node<'m>(manifest: &Manifest<'m>, node: &Node<'m>) -> Vec<Template<'m>> {
    let mut all = Vec::new();
    let system = |agent: Option<&Text>| agent.and_then(|id| manifest.agent(&id.value)).and_then(|agent| agent.system);
    let of = |stand, position| move |text| Template { text, stand, position };
    match &node.kind {
        NodeKind::Agent(agent) => all.extend(system(agent.agent).map(of(Stand::Plain, Position::System))),
        NodeKind::Swrm(swrm) => swarm(swrm, false, &mut all),
        NodeKind::Factory(factory) => {
            match &factory.over {
                Some(Over::List(text)) => all.push(of(Stand::Decides("for_each"), Position::Text)(text)),
                Some(Over::Count(Size::Text(text))) => {
                    all.push(of(Stand::Decides("swarm_size"), Position::Text)(text));
                }
                Some(Over::Count(Size::Fixed(_))) | None => {}
            }
            all.extend(factory.inputs.iter().filter_map(|e| e.value.string()).map(of(Stand::Inputs, Position::Text)));
            match &factory.worker {
                Some(Worker::Agent(agent)) => {
                    all.extend(system(Some(agent)).map(of(Stand::Instance, Position::System)));
                }
                Some(Worker::Swrm(swrm)) => swarm(swrm, true, &mut all),
                None => {}
            }
        }
        NodeKind::Call(call) => {
            all.extend(call.inputs.iter().filter_map(|e| e.value.string()).map(of(Stand::Plain, Position::Data)));
        }
        NodeKind::Human(human) => all.extend(human.prompt.map(of(Stand::Plain, Position::Person))),
        NodeKind::Tool(node) => tool(node, &mut all),
        NodeKind::Broken => {}
    }
    all
}

fn swarm<'m>(swrm: &Swrm<'m>, instance: bool, all: &mut Vec<Template<'m>>) {
    let stand = if instance { Stand::Instance } else { Stand::Plain };
    let user = |stand| move |text| Template { text, stand, position: Position::User };
    all.extend(swrm.members.iter().filter_map(|m| m.call.prompt).map(user(stand)));
    all.extend(swrm.synthesis.iter().filter_map(|s| s.prompt).map(user(Stand::Synthesis { instance })));
}

fn tool<'m>(node: &ToolNode<'m>, all: &mut Vec<Template<'m>>) {
    let of = |position| move |text| Template { text, stand: Stand::Plain, position };
    match &node.settings {
        Some(ToolSettings::Http { url, headers, body, .. }) => {
            all.extend(url.map(of(Position::Url)));
            all.extend(headers.iter().map(|(_, text)| *text).map(of(Position::Header)));
            all.extend(body.map(of(Position::Text)));
        }
        Some(ToolSettings::Python { module, function, args }) => {
            all.extend(module.iter().chain(function).copied().map(of(Position::Text)));
            let mut texts = Vec::new();
            args.iter().for_each(|entry| nested(&entry.value, &mut texts));
            all.extend(texts.into_iter().map(of(Position::Data)));
        }
        None => {}
    }
}

/// Every text in a value; keys are not templates.
fn nested<'m>(node: &'m yaml::Node, texts: &mut Vec<&'m Text>) {
    match &*node.kind {
        Kind::Scalar(Scalar::Str, text) => texts.push(text),
        Kind::Scalar(..) => {}
        Kind::Sequence(items) => items.iter().for_each(|item| nested(item, texts)),
        Kind::Mapping(mapping) => mapping.entries.iter().for_each(|e| nested(&e.value, texts)),
    }
}
