//! Every template of a node, wherever it stands: what the ordering pass looks through.

use trefoil_syntax::yaml::{self, Kind, Scalar, Text};

use crate::sirenspec::manifest::{Manifest, Node, NodeKind, Over, Size, Swrm, ToolSettings, Worker};

/// A template of a node.
#[derive(Debug, Clone, Copy)]
pub struct Site<'m> {
    /// The template.
    pub text: &'m Text,
    /// Its own swarm's agents can be read here.
    pub synthesis: bool,
}

/// The templates of a node, those of the agent it names included.
pub fn of_node<'m>(manifest: &'m Manifest<'m>, node: &'m Node<'m>) -> Vec<Site<'m>> {
    let mut sites = Vec::new();
    match &node.kind {
        NodeKind::Agent(agent) => system(manifest, agent.agent, &mut sites),
        NodeKind::Swrm(swrm) => swarm(swrm, &mut sites),
        NodeKind::Factory(factory) => {
            match &factory.over {
                Some(Over::List(text) | Over::Count(Size::Text(text))) => plain(text, &mut sites),
                _ => {}
            }
            factory.inputs.iter().for_each(|entry| nested(&entry.value, &mut sites));
            match &factory.worker {
                Some(Worker::Agent(agent)) => system(manifest, Some(agent), &mut sites),
                Some(Worker::Swrm(swrm)) => swarm(swrm, &mut sites),
                None => {}
            }
        }
        NodeKind::Call(call) => call.inputs.iter().for_each(|entry| nested(&entry.value, &mut sites)),
        NodeKind::Human(human) => human.prompt.into_iter().for_each(|text| plain(text, &mut sites)),
        NodeKind::Tool(tool) => match &tool.settings {
            Some(ToolSettings::Http { url, headers, body, .. }) => {
                url.into_iter().chain(body).for_each(|text| plain(text, &mut sites));
                headers.iter().for_each(|(_, text)| plain(text, &mut sites));
            }
            Some(ToolSettings::Python { module, function, args }) => {
                module.into_iter().chain(function).for_each(|text| plain(text, &mut sites));
                args.iter().for_each(|entry| nested(&entry.value, &mut sites));
            }
            None => {}
        },
        NodeKind::Broken => {}
    }
    sites
}

fn plain<'m>(text: &'m Text, sites: &mut Vec<Site<'m>>) {
    sites.push(Site { text, synthesis: false });
}

fn system<'m>(manifest: &'m Manifest<'m>, agent: Option<&Text>, sites: &mut Vec<Site<'m>>) {
    let agent = agent.and_then(|id| manifest.agents.iter().find(|a| a.id.value == id.value));
    if let Some(text) = agent.and_then(|a| a.system) {
        plain(text, sites);
    }
}

fn swarm<'m>(swrm: &'m Swrm<'m>, sites: &mut Vec<Site<'m>>) {
    swrm.members.iter().filter_map(|m| m.call.prompt).for_each(|text| plain(text, sites));
    if let Some(text) = swrm.synthesis.as_ref().and_then(|s| s.prompt) {
        sites.push(Site { text, synthesis: true });
    }
}

/// Every text in a value; keys are not templates.
fn nested<'m>(node: &'m yaml::Node, sites: &mut Vec<Site<'m>>) {
    match &*node.kind {
        Kind::Scalar(Scalar::Str, text) => plain(text, sites),
        Kind::Scalar(..) => {}
        Kind::Sequence(items) => items.iter().for_each(|item| nested(item, sites)),
        Kind::Mapping(mapping) => mapping.entries.iter().for_each(|e| nested(&e.value, sites)),
    }
}
