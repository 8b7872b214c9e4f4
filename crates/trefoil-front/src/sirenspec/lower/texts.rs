//! Every template of a node, wherever it stands: what the ordering pass looks through.

use trefoil_syntax::yaml::{self, Kind, Scalar, Text};

use crate::sirenspec::manifest::{Manifest, Node, NodeKind, Over, Size, Swrm, ToolSettings, Worker};

/// The templates of a node, those of the agent it names included.
pub fn of_node<'m>(manifest: &'m Manifest<'m>, node: &'m Node<'m>) -> Vec<&'m Text> {
    let mut texts = Vec::new();
    match &node.kind {
        NodeKind::Agent(agent) => system(manifest, agent.agent, &mut texts),
        NodeKind::Swrm(swrm) => swarm(swrm, &mut texts),
        NodeKind::Factory(factory) => {
            if let Some(Over::List(text) | Over::Count(Size::Text(text))) = &factory.over {
                texts.push(text);
            }
            factory.inputs.iter().for_each(|entry| nested(&entry.value, &mut texts));
            match &factory.worker {
                Some(Worker::Agent(agent)) => system(manifest, Some(agent), &mut texts),
                Some(Worker::Swrm(swrm)) => swarm(swrm, &mut texts),
                None => {}
            }
        }
        NodeKind::Call(call) => call.inputs.iter().for_each(|entry| nested(&entry.value, &mut texts)),
        NodeKind::Human(human) => texts.extend(human.prompt),
        NodeKind::Tool(tool) => match &tool.settings {
            Some(ToolSettings::Http { url, headers, body, .. }) => {
                texts.extend(url.iter().chain(body));
                texts.extend(headers.iter().map(|(_, text)| *text));
            }
            Some(ToolSettings::Python { module, function, args }) => {
                texts.extend(module.iter().chain(function));
                args.iter().for_each(|entry| nested(&entry.value, &mut texts));
            }
            None => {}
        },
        NodeKind::Broken => {}
    }
    texts
}

fn system<'m>(manifest: &'m Manifest<'m>, agent: Option<&Text>, texts: &mut Vec<&'m Text>) {
    texts.extend(agent.and_then(|id| manifest.agent(&id.value)).and_then(|agent| agent.system));
}

fn swarm<'m>(swrm: &'m Swrm<'m>, texts: &mut Vec<&'m Text>) {
    texts.extend(swrm.members.iter().filter_map(|m| m.call.prompt));
    texts.extend(swrm.synthesis.as_ref().and_then(|s| s.prompt));
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
