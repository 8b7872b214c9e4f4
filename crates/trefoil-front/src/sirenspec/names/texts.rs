//! Every template of a node: the one traversal shared by ordering, binding and rules.

use trefoil_ir::TextRole;
use trefoil_syntax::FileId;
use trefoil_syntax::yaml::{self, YamlNodeKind, YamlScalar, YamlText};
use trefoil_template::Policy;

use super::node_part::NodePart;
use crate::bound_text::ParsedText;
use crate::sirenspec::manifest::{
    FactoryItems, FactoryNode, FactoryWorker, NodeKind, SirenManifest, SirenNode, SirenSwarm, SwarmSize, ToolNode,
    ToolSettings,
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
    let mut parsed = Vec::new();
    for (at, node) in manifest.nodes.iter().enumerate() {
        for NodeTemplate { text, stand, position } in of_node(manifest, node) {
            let text = ParsedText::from_template(file, text, &Policy::SIRENSPEC);
            parsed.push(ParsedNodeText { node: at, stand, position, text });
        }
    }
    parsed
}

/// The templates of a node, including those of its agent.
pub fn of_node<'m>(manifest: &SirenManifest<'m>, node: &SirenNode<'m>) -> Vec<NodeTemplate<'m>> {
    let mut all = NodeTemplates(Vec::new());
    match &node.kind {
        NodeKind::Agent(kind) => all.add(system_text(manifest, kind.agent), NodePart::Plain, TextRole::System),
        NodeKind::Swrm(swrm) => all.add_swarm(swrm, false),
        NodeKind::Factory(factory) => all.add_factory(manifest, factory),
        NodeKind::Call(call) => {
            for entry in &call.inputs {
                all.add(entry.value.as_string(), NodePart::Plain, TextRole::Data);
            }
        }
        NodeKind::Human(human) => all.add(human.prompt, NodePart::Plain, TextRole::Person),
        NodeKind::Tool(tool) => all.add_tool(tool),
        NodeKind::Broken => {}
    }
    all.0
}

fn system_text<'m>(manifest: &SirenManifest<'m>, agent: Option<&YamlText>) -> Option<&'m YamlText> {
    manifest.find_agent(&agent?.value)?.system
}

struct NodeTemplates<'m>(Vec<NodeTemplate<'m>>);

impl<'m> NodeTemplates<'m> {
    fn add(&mut self, text: Option<&'m YamlText>, stand: NodePart, position: TextRole) {
        if let Some(text) = text {
            self.0.push(NodeTemplate { text, stand, position });
        }
    }

    fn add_factory(&mut self, manifest: &SirenManifest<'m>, factory: &FactoryNode<'m>) {
        match &factory.over {
            Some(FactoryItems::List(text)) => self.add(Some(text), NodePart::Decides("for_each"), TextRole::Text),
            Some(FactoryItems::Count(SwarmSize::Text(text))) => {
                self.add(Some(text), NodePart::Decides("swarm_size"), TextRole::Text);
            }
            Some(FactoryItems::Count(SwarmSize::Fixed(_))) | None => {}
        }
        for entry in &factory.inputs {
            self.add(entry.value.as_string(), NodePart::Inputs, TextRole::Text);
        }
        match &factory.worker {
            Some(FactoryWorker::Agent(agent)) => {
                self.add(system_text(manifest, Some(agent)), NodePart::Instance, TextRole::System);
            }
            Some(FactoryWorker::Swrm(swrm)) => self.add_swarm(swrm, true),
            None => {}
        }
    }

    fn add_swarm(&mut self, swrm: &SirenSwarm<'m>, instance: bool) {
        let stand = if instance { NodePart::Instance } else { NodePart::Plain };
        for member in &swrm.members {
            self.add(member.call.prompt, stand, TextRole::User);
        }
        if let Some(synthesis) = &swrm.synthesis {
            self.add(synthesis.prompt, NodePart::Synthesis { instance }, TextRole::User);
        }
    }

    fn add_tool(&mut self, tool: &ToolNode<'m>) {
        match &tool.settings {
            Some(ToolSettings::Http { url, headers, body, .. }) => {
                self.add(*url, NodePart::Plain, TextRole::Url);
                for (_, value) in headers {
                    self.add(Some(value), NodePart::Plain, TextRole::Header);
                }
                self.add(*body, NodePart::Plain, TextRole::Text);
            }
            Some(ToolSettings::Python { module, function, args }) => {
                self.add(*module, NodePart::Plain, TextRole::Text);
                self.add(*function, NodePart::Plain, TextRole::Text);
                let mut texts = Vec::new();
                if let Some(args) = args {
                    collect_nested_texts(&args.value, &mut texts);
                }
                for text in texts {
                    self.add(Some(text), NodePart::Plain, TextRole::Data);
                }
            }
            None => {}
        }
    }
}

/// Every text in a value; keys are not templates.
fn collect_nested_texts<'m>(node: &'m yaml::YamlNode, texts: &mut Vec<&'m YamlText>) {
    match &*node.kind {
        YamlNodeKind::Scalar(YamlScalar::Str, text) => texts.push(text),
        YamlNodeKind::Scalar(..) => {}
        YamlNodeKind::Sequence(items) => {
            for item in items {
                collect_nested_texts(item, texts);
            }
        }
        YamlNodeKind::Mapping(mapping) => {
            for entry in &mapping.entries {
                collect_nested_texts(&entry.value, texts);
            }
        }
    }
}
