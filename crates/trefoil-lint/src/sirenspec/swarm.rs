//! Agents of a swarm whose answers are not used: a synthesis gets only its prompt.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::Text;

use super::subject::{Found, Subject};
use trefoil_front::sirenspec::manifest::{Member, NodeKind, Swrm, Worker};
use trefoil_front::sirenspec::names::texts;

/// Checks every swarm, including those of factories.
pub fn check(subject: &Subject<'_>, found: &mut Found) {
    for (at, node) in subject.manifest.nodes.iter().enumerate() {
        match &node.kind {
            NodeKind::Swrm(swrm) => unread(subject, at, swrm, true, found),
            NodeKind::Factory(factory) => {
                if let Some(Worker::Swrm(swrm)) = &factory.worker {
                    unread(subject, at, swrm, false, found);
                }
            }
            _ => {}
        }
    }
}

/// `shared`: other texts can read the answers too.
fn unread(subject: &Subject<'_>, at: usize, swrm: &Swrm<'_>, shared: bool, found: &mut Found) {
    let Some(prompt) = swrm.synthesis.as_ref().and_then(|synthesis| synthesis.prompt) else { return };
    let reads = |text: &Text, member: &Member<'_>| names_agent(&text.value, &swrm.members, &member.id.value);
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
        let path = format!("{}.agents.{id}.output", subject.known.id(at));
        let message = format!("the answer of `{id}` has no effect: nothing reads `{path}`");
        let d = Diagnostic::warning("unused", subject.at(member.id.span), message);
        let d = d.label(subject.at(prompt.span), "the synthesis gets only this");
        found.push(d.help(format!("write `{{{{ {path} }}}}` in the prompt of the synthesis")));
    }
}

/// Whether a text may read the answer of an agent: through the agent's id, all `agents`, or an unknown name, which may
/// be a misspelling of it. True in doubt.
fn names_agent(text: &str, members: &[Member<'_>], id: &str) -> bool {
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
