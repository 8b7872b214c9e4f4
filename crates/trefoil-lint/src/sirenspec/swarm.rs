//! Agents of a swarm whose answers are not used: a synthesis gets only its prompt.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::YamlText;

use super::subject::{CheckedWorkflow, FindingList};
use trefoil_front::sirenspec::manifest::{FactoryWorker, NodeKind, SirenSwarm, SwarmMember};
use trefoil_front::sirenspec::names::texts;

/// Checks every swarm, including those of factories.
pub fn check_swarms(subject: &CheckedWorkflow<'_>, found: &mut FindingList) {
    for (at, node) in subject.manifest.nodes.iter().enumerate() {
        match &node.kind {
            NodeKind::Swrm(swrm) => unread(subject, at, swrm, true, found),
            NodeKind::Factory(factory) => {
                if let Some(FactoryWorker::Swrm(swrm)) = &factory.worker {
                    unread(subject, at, swrm, false, found);
                }
            }
            _ => {}
        }
    }
}

/// `shared`: other texts can read the answers too.
fn unread(subject: &CheckedWorkflow<'_>, at: usize, swrm: &SirenSwarm<'_>, shared: bool, found: &mut FindingList) {
    let Some(prompt) = swrm.synthesis.as_ref().and_then(|synthesis| synthesis.prompt) else { return };
    let reads = |text: &YamlText, member: &SwarmMember<'_>| names_agent(&text.value, &swrm.members, &member.id.value);
    if swrm.members.iter().all(|member| reads(prompt, member)) {
        return;
    }
    let mut all = vec![prompt];
    if shared {
        let manifest = subject.manifest;
        let nodes = manifest.nodes.iter().flat_map(|node| texts::of_node(manifest, node)).map(|t| t.text);
        let texts = nodes.chain(manifest.edges.iter().filter_map(|edge| edge.when));
        all.extend(texts.filter(|text| text.value.contains("agents")));
    }
    for member in swrm.members.iter().filter(|member| !all.iter().any(|text| reads(text, member))) {
        let id = &member.id.value;
        let path = format!("{}.agents.{id}.output", subject.known.node_id(at));
        let message = format!("the answer of `{id}` has no effect: nothing reads `{path}`");
        let d = Diagnostic::new_warning("unused", subject.location_of(member.id.span), message);
        let d = d.with_label(subject.location_of(prompt.span), "the synthesis gets only this");
        found.push(d.with_help(format!("write `{{{{ {path} }}}}` in the prompt of the synthesis")));
    }
}

/// Whether a text may read the answer of an agent: through the agent's id, all `agents`, or an unknown name, which may
/// be a misspelling of it. True in doubt.
fn names_agent(text: &str, members: &[SwarmMember<'_>], id: &str) -> bool {
    // It cannot be decided whether a path contains an id with dots.
    if id.contains('.') {
        return true;
    }
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    text.split(|c| !word(c)).map(|path| path.trim_matches('.')).filter(|path| path.contains('.')).any(|path| {
        let behind = path.split_once("agents").map(|(_, rest)| rest.trim_start_matches('.').split('.').next());
        let behind = behind.map(|name| name.unwrap_or_default());
        path.split('.').any(|segment| segment == id)
            || behind.is_some_and(|name| !members.iter().any(|m| *m.id.value == *name))
    })
}
