//! Every template of a node: the one traversal shared by ordering, binding and rules.

use trefoil_ir::TextRole;
use trefoil_syntax::FileId;
use trefoil_syntax::yaml::{self, YamlNodeKind, YamlScalar, YamlText};
use trefoil_template::Policy;

use super::node_part::NodePart;
use crate::bound_text::ParsedText;
use crate::sirenspec::manifest::{
    FactoryItems, FactoryWorker, NodeKind, SirenManifest, SirenNode, SirenSwarm, SwarmSize, ToolNode, ToolSettings,
};

/// A text with its place and purpose.
#[derive(Debug, Clone, Copy)]
pub struct NodeTemplate<'m> {
    /// The text.
    pub text: &'m YamlText,
    /// The part of the node.
    pub stand: NodePart,
    /// What it is used for.
    pub position: TextRole,
}

/// A parsed text of a node.
pub struct ParsedNodeText {
    /// The node.
    pub node: usize,
    /// The part of the node.
    pub stand: NodePart,
    /// What it is used for.
    pub position: TextRole,
    /// The text.
    pub text: ParsedText,
}

/// Parses the templates of all nodes before they are bound: their references determine the order of the nodes, which in
/// turn affects binding.
pub fn parse_templates(file: FileId, manifest: &SirenManifest<'_>) -> Vec<ParsedNodeText> {
    let nodes = manifest.nodes.iter().enumerate();
    let templates = nodes.flat_map(|(at, node)| of_node(manifest, node).into_iter().map(move |t| (at, t)));
    let parsed = templates.map(|(node, NodeTemplate { text, stand, position })| {
        let text = ParsedText::from_template(file, text, &Policy::SIRENSPEC);
        ParsedNodeText { node, stand, position, text }
    });
    parsed.collect()
}

/// The templates of a node, including those of its agent.
pub fn of_node<'m>(manifest: &SirenManifest<'m>, node: &SirenNode<'m>) -> Vec<NodeTemplate<'m>> {
    let mut all = Vec::new();
    let system =
        |agent: Option<&YamlText>| agent.and_then(|id| manifest.find_agent(&id.value)).and_then(|agent| agent.system);
    let of = |stand, position| move |text| NodeTemplate { text, stand, position };
    match &node.kind {
        NodeKind::Agent(agent) => all.extend(system(agent.agent).map(of(NodePart::Plain, TextRole::System))),
        NodeKind::Swrm(swrm) => swarm(swrm, false, &mut all),
        NodeKind::Factory(factory) => {
            match &factory.over {
                Some(FactoryItems::List(text)) => all.push(of(NodePart::Decides("for_each"), TextRole::Text)(text)),
                Some(FactoryItems::Count(SwarmSize::Text(text))) => {
                    all.push(of(NodePart::Decides("swarm_size"), TextRole::Text)(text));
                }
                Some(FactoryItems::Count(SwarmSize::Fixed(_))) | None => {}
            }
            all.extend(
                factory.inputs.iter().filter_map(|e| e.value.as_string()).map(of(NodePart::Inputs, TextRole::Text)),
            );
            match &factory.worker {
                Some(FactoryWorker::Agent(agent)) => {
                    all.extend(system(Some(agent)).map(of(NodePart::Instance, TextRole::System)));
                }
                Some(FactoryWorker::Swrm(swrm)) => swarm(swrm, true, &mut all),
                None => {}
            }
        }
        NodeKind::Call(call) => {
            all.extend(call.inputs.iter().filter_map(|e| e.value.as_string()).map(of(NodePart::Plain, TextRole::Data)));
        }
        NodeKind::Human(human) => all.extend(human.prompt.map(of(NodePart::Plain, TextRole::Person))),
        NodeKind::Tool(node) => tool(node, &mut all),
        NodeKind::Broken => {}
    }
    all
}

fn swarm<'m>(swrm: &SirenSwarm<'m>, instance: bool, all: &mut Vec<NodeTemplate<'m>>) {
    let stand = if instance { NodePart::Instance } else { NodePart::Plain };
    let user = |stand| move |text| NodeTemplate { text, stand, position: TextRole::User };
    all.extend(swrm.members.iter().filter_map(|m| m.call.prompt).map(user(stand)));
    all.extend(swrm.synthesis.iter().filter_map(|s| s.prompt).map(user(NodePart::Synthesis { instance })));
}

fn tool<'m>(node: &ToolNode<'m>, all: &mut Vec<NodeTemplate<'m>>) {
    let of = |position| move |text| NodeTemplate { text, stand: NodePart::Plain, position };
    match &node.settings {
        Some(ToolSettings::Http { url, headers, body, .. }) => {
            all.extend(url.map(of(TextRole::Url)));
            all.extend(headers.iter().map(|(_, text)| *text).map(of(TextRole::Header)));
            all.extend(body.map(of(TextRole::Text)));
        }
        Some(ToolSettings::Python { module, function, args }) => {
            all.extend(module.iter().chain(function).copied().map(of(TextRole::Text)));
            let mut texts = Vec::new();
            args.iter().for_each(|entry| collect_nested_texts(&entry.value, &mut texts));
            all.extend(texts.into_iter().map(of(TextRole::Data)));
        }
        None => {}
    }
}

/// Every text in a value; keys are not templates.
fn collect_nested_texts<'m>(node: &'m yaml::YamlNode, texts: &mut Vec<&'m YamlText>) {
    match &*node.kind {
        YamlNodeKind::Scalar(YamlScalar::Str, text) => texts.push(text),
        YamlNodeKind::Scalar(..) => {}
        YamlNodeKind::Sequence(items) => items.iter().for_each(|item| collect_nested_texts(item, texts)),
        YamlNodeKind::Mapping(mapping) => mapping.entries.iter().for_each(|e| collect_nested_texts(&e.value, texts)),
    }
}
