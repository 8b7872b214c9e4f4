//! Nodes that overwrite a value: another node's result, or a seeded text.

use trefoil_ir::types as ir;
use trefoil_syntax::Diagnostic;
use trefoil_template::Value;

use super::subject::{Found, Subject};
use trefoil_front::sirenspec::manifest::Root;
use trefoil_front::sirenspec::names::known::WriteName;
use trefoil_front::sirenspec::names::types;

/// Looks at every written path.
pub fn check(subject: &Subject<'_>, found: &mut Found) {
    for write in &subject.known.writes {
        taken_path(subject, write, found);
        replaced_seed(subject, write, found);
    }
}

/// A node that writes where another node puts its result, which templates then no longer read (decision S4). One that stands
/// in for the other does so on purpose.
fn taken_path(subject: &Subject<'_>, write: &WriteName, found: &mut Found) {
    let [id, key, ..] = write.path.as_slice() else { return };
    let owner = subject.known.node_of(id).filter(|owner| write.root == Root::Working && *owner != write.node);
    let Some((at, other)) = owner.and_then(|at| Some((at, subject.known.nodes.get(at)?))) else { return };
    let stands_in = subject.links.fallback_of.get(write.node).is_some_and(|mains| mains.contains(&at));
    if stands_in || other.schema == ir::any() || types::at(&other.schema, key).is_none() {
        return;
    }
    let (Some(at), Some(node)) = (written_at(subject, write), subject.known.nodes.get(write.node)) else { return };
    let (path, own, id) = (write.path.join("."), &node.id, &other.id);
    let message = format!("`{own}` overwrites the result of `{id}`: afterwards `{path}` is what `{own}` wrote");
    let help = format!("write `working.{own}.{}`, or another path of its own", node.output.join("."));
    let d = Diagnostic::warning("write-conflict", at, message).label(other.at, "this node").help(help);
    found.push(d);
}

/// A node that writes under a seeded text, which is then lost.
fn replaced_seed(subject: &Subject<'_>, write: &WriteName, found: &mut Found) {
    let (Some(depth), Some(at)) = (beneath_seed(subject, write), written_at(subject, write)) else { return };
    let (root, seed) = (write.root.word(), write.path.get(..depth).unwrap_or_default().join("."));
    let message = format!("writing here replaces the seeded value `{root}.{seed}`");
    let d = Diagnostic::warning("write-conflict", at, message);
    found.push(d.help("write to a path that is not under a text value"));
}

/// How many segments lead to a seeded text, or another single value, that a node writes under.
fn beneath_seed(subject: &Subject<'_>, write: &WriteName) -> Option<usize> {
    let (first, rest) = write.path.split_first()?;
    let mut value = subject.known.seeds(write.root).get(first)?;
    for (at, segment) in rest.iter().enumerate() {
        match value {
            Value::Object(members) => value = members.get(segment)?,
            Value::Null | Value::List(_) => return None,
            _ => return Some(at + 1),
        }
    }
    None
}

/// Where a path is written; none: the format implies it.
fn written_at(subject: &Subject<'_>, write: &WriteName) -> Option<trefoil_syntax::Location> {
    let text = subject.manifest.nodes.get(write.node)?.kind.writes()?.text?;
    Some(subject.at(text.span))
}
