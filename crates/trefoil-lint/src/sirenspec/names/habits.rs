//! Paths that would be valid in another system or another place: the intended path, if everything else is right.

use std::sync::Arc;

use super::name::NameReference;
use crate::habits::{PathHabit, WrittenFormat, path_habit};
use trefoil_front::sirenspec::manifest::{NodeKind, StateTree};
use trefoil_front::sirenspec::names::types;

/// The intended path: an input without `inputs`, a node under `nodes`, a swarm's agent without its node, a path of the
/// other tree.
pub fn intended_path(name: NameReference<'_, '_>, root: StateTree, base: usize) -> Option<String> {
    let words: Vec<&str> = name.reference().path.iter().map(|s| &*s.name).collect();
    if base == 1 {
        return other_tree(name, root, words.get(1..)?);
    }
    let (first, rest) = words.split_first()?;
    if let Some(meant) = foreign(name, first, rest) {
        return Some(meant);
    }
    if name.workflow_names().inputs.find_field(first).is_some() {
        return Some(format!("inputs.{}", words.join(".")));
    }
    if let (Some(PathHabit::Instead(path)), []) = (path_habit(WrittenFormat::Sirenspec, first), rest) {
        return Some(path.to_owned());
    }
    let meant = own_agent(name, &words).or_else(|| agent_of_node(name, first, rest));
    meant.or_else(|| behind_word(name, first, rest))
}

/// A path that exists in the other tree. The result of a node is read by its id, not through the tree of written
/// values.
fn other_tree(name: NameReference<'_, '_>, root: StateTree, words: &[&str]) -> Option<String> {
    let path = to_segments(words);
    let (other, word) = match root {
        StateTree::Working => (StateTree::Output, "output"),
        StateTree::Output => (StateTree::Working, "working"),
    };
    let known = name.workflow_names();
    if known.has_value_at(other, &path) && (other == StateTree::Output || known.node_at(&path).is_none()) {
        return Some(format!("{word}.{}", words.join(".")));
    }
    if root == StateTree::Working || name.text_position().is_condition() {
        return None;
    }
    of_node(name, words)
}

/// Names of other systems for values that exist: `secrets.TOKEN`, `state.article`, the agent of a node.
fn foreign(name: NameReference<'_, '_>, first: &str, rest: &[&str]) -> Option<String> {
    let known = name.workflow_names();
    match (first, rest) {
        ("secrets", [name]) => return Some(format!("env.{name}")),
        ("state", rest) => {
            let (root, word, path) = match rest {
                ["output", path @ ..] => (StateTree::Output, "output", path),
                ["working", path @ ..] => (StateTree::Working, "working", path),
                path => (StateTree::Working, "working", path),
            };
            let segments = to_segments(path);
            if known.has_value_at(root, &segments) && known.node_at(&segments).is_none() {
                return Some(format!("{word}.{}", path.join(".")));
            }
        }
        (name, []) if name.contains('_') && is_variable(name) => return Some(format!("env.{name}")),
        (name, []) => {
            if let Some(name) = name.strip_prefix("env:")
                && is_variable(name)
            {
                return Some(format!("env.{name}"));
            }
        }
        (_, ["output", index, ..]) if index.bytes().all(|b| b.is_ascii_digit()) => {
            if let Some(node) = known.node_of(first)
                && let Some(NodeKind::Factory(_)) = name.node_kind(node)
            {
                return Some(format!("{first}.outputs.{}", rest.get(1..)?.join(".")));
            }
        }
        _ => {}
    }
    // The id of an agent instead of that of its node.
    let manifest = name.subject.manifest;
    if manifest.find_agent(first).is_none() || known.node_of(first).is_some() {
        return None;
    }
    let mut users = Vec::new();
    for node in &manifest.nodes {
        if let NodeKind::Agent(agent_node) = &node.kind
            && let Some(agent) = agent_node.agent
            && *agent.value == *first
        {
            users.push(&*node.id.value);
        }
    }
    let [user] = users.as_slice() else { return None };
    let mut all = vec![*user];
    all.extend(rest);
    of_node(name, &all)
}

/// Whether a word is written like an environment variable.
fn is_variable(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// An agent of the swarm whose synthesis reads it.
fn own_agent(name: NameReference<'_, '_>, words: &[&str]) -> Option<String> {
    let me = name.text_position().reading_node()?;
    let agents = name.text_position().swarm_agents();
    for (at, word) in words.iter().take(2).enumerate() {
        if agents.iter().any(|(id, _)| **id == **word) {
            return Some(format!("{}.agents.{word}.{}", me.id, answer_path(words.get(at + 1..)?)));
        }
    }
    None
}

/// An agent of another node's swarm, without `agents` or with another word.
fn agent_of_node(name: NameReference<'_, '_>, first: &str, rest: &[&str]) -> Option<String> {
    let node = name.workflow_names().nodes.get(name.workflow_names().node_of(first)?)?;
    if rest.first() == Some(&"agents") {
        return None;
    }
    for (at, word) in rest.iter().take(2).enumerate() {
        if node.agents.iter().any(|(id, _)| **id == **word) {
            return Some(format!("{}.agents.{word}.{}", node.id, answer_path(rest.get(at + 1..)?)));
        }
    }
    None
}

/// The part of an agent's result that is read; by default, its whole answer.
fn answer_path(words: &[&str]) -> String {
    if words.is_empty() { "output".to_owned() } else { words.join(".") }
}

/// A node after a prefix of another system.
fn behind_word(name: NameReference<'_, '_>, first: &str, rest: &[&str]) -> Option<String> {
    if path_habit(WrittenFormat::Sirenspec, first) != Some(PathHabit::BeforeResults) {
        return None;
    }
    let (node, more) = rest.split_first()?;
    name.workflow_names().node_of(node)?;
    if more.is_empty() {
        return Some(format!("{node}.output"));
    }
    let is_written = name.workflow_names().has_value_at(StateTree::Working, &to_segments(rest));
    if is_written { Some(rest.join(".")) } else { None }
}

/// The path to the result of a node, from an id and optional further segments.
fn of_node(name: NameReference<'_, '_>, words: &[&str]) -> Option<String> {
    let (id, rest) = words.split_first()?;
    let node = name.workflow_names().nodes.get(name.workflow_names().node_of(id)?)?;
    if rest.is_empty() {
        return Some(format!("{id}.{}", node.output.join(".")));
    }
    match types::missing_segment(&node.schema, &to_segments(rest)) {
        Some(_) => None,
        None => Some(words.join(".")),
    }
}

fn to_segments(words: &[&str]) -> Vec<Arc<str>> {
    words.iter().map(|word| Arc::from(*word)).collect()
}
