//! Advice for a path that continues after a value without that member.

use std::sync::Arc;

use trefoil_template::Value;

use super::name::NameReference;
use trefoil_front::sirenspec::manifest::{NodeKind, StateTree};

/// Advice, and the intended path if it is known.
pub struct PathAdvice {
    /// What to do.
    pub help: String,
    /// The intended path.
    pub path: Option<String>,
}

/// The advice for a path that ends after `leading` segments, at a value without members.
pub fn advise_path(
    name: NameReference<'_, '_>,
    root: StateTree,
    base: usize,
    path: &[Arc<str>],
    leading: usize,
) -> Option<PathAdvice> {
    let known = name.workflow_names();
    let (before, after) = path.split_at_checked(leading)?;
    if before.is_empty() {
        return None;
    }
    let written: Vec<&str> = name.reference().path.iter().take(base + leading).map(|s| &*s.name).collect();
    let written = written.join(".");
    if let Some(Value::List(items)) = known.seeded_value(root, before) {
        let help = match items.len().checked_sub(1) {
            Some(last) => format!("it is a list: use an index from 0 to {last}"),
            None => "the list is empty".to_owned(),
        };
        return Some(PathAdvice { help, path: None });
    }
    let look = known.look_up_path(root, before);
    let mut writes = look.writes.iter().filter_map(|write| known.writes.get(*write));
    let writer = writes.find(|write| write.path.len() == leading);
    let owner = match look.named {
        Some((node, _)) if look.in_node => node,
        _ => writer?.node,
    };
    let id = known.node_id(owner);
    if let (Some(_), None, [output], 0) = (writer, look.named, after, base)
        && output == known.nodes.get(owner)?.output.first()?
    {
        let path = format!("{id}.{output}");
        let help = format!("node `{id}` writes `{written}`: use `{{{{ {written} }}}}` or `{{{{ {path} }}}}`");
        return Some(PathAdvice { help, path: Some(path) });
    }
    let though = match is_checked(name, owner)? {
        true => ", although a `schema` guardrail checks it as an object",
        false => "",
    };
    let help = match (name.text_position().is_condition(), after) {
        (true, [length]) if matches!(&**length, "length" | "len" | "size") => format!("write `len({written})`"),
        (true, _) => format!("it is text{though}: compare all of it"),
        (false, _) => format!("it is text{though}: write `{{{{ {written} }}}}` for all of it"),
    };
    Some(PathAdvice { help, path: None })
}

/// Whether the text of a node must be JSON that matches a schema; `None`: it is not an answer.
fn is_checked(name: NameReference<'_, '_>, node: usize) -> Option<bool> {
    match name.node_kind(node)? {
        NodeKind::Agent(node) => {
            let agent = name.subject.manifest.find_agent(&node.agent?.value)?;
            Some(matches!(&agent.guardrails, Some(guardrails) if guardrails.has_schema()))
        }
        NodeKind::Human(_) => Some(false),
        _ => None,
    }
}
