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
    own_agent(name, &words).or_else(|| agent_of_node(name, first, rest)).or_else(|| behind_word(name, first, rest))
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
    (root == StateTree::Output && !name.text_position().is_condition()).then(|| of_node(name, words)).flatten()
}

/// Names of other systems for values that exist: `secrets.TOKEN`, `state.article`, the agent of a node.
fn foreign(name: NameReference<'_, '_>, first: &str, rest: &[&str]) -> Option<String> {
    let known = name.workflow_names();
    let variable =
        |name: &str| name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_') && !name.is_empty();
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
        (name, []) if name.contains('_') && variable(name) => return Some(format!("env.{name}")),
        (name, []) => {
            if let Some(name) = name.strip_prefix("env:").filter(|name| variable(name)) {
                return Some(format!("env.{name}"));
            }
        }
        (_, ["output", index, ..]) if index.bytes().all(|b| b.is_ascii_digit()) => {
            let node = known.node_of(first).and_then(|at| name.node_kind(at));
            if matches!(node, Some(NodeKind::Factory(_))) {
                return Some(format!("{first}.outputs.{}", rest.get(1..)?.join(".")));
            }
        }
        _ => {}
    }
    // The id of an agent instead of that of its node.
    let manifest = name.subject.manifest;
    manifest.find_agent(first).filter(|_| known.node_of(first).is_none())?;
    let mut users = manifest
        .nodes
        .iter()
        .filter(|n| matches!(&n.kind, NodeKind::Agent(node) if node.agent.is_some_and(|agent| *agent.value == *first)));
    let user = users.next().filter(|_| users.next().is_none())?;
    let all: Vec<&str> = std::iter::once(&*user.id.value).chain(rest.iter().copied()).collect();
    of_node(name, &all)
}

/// An agent of the swarm whose synthesis reads it.
fn own_agent(name: NameReference<'_, '_>, words: &[&str]) -> Option<String> {
    let me = name.text_position().reading_node()?;
    let is_own = |word: &&str| name.text_position().swarm_agents().iter().any(|(id, _)| **id == **word);
    let agent = words.iter().position(is_own).filter(|at| *at < 2)?;
    Some(format!("{}.agents.{}.{}", me.id, words.get(agent)?, answer_path(words.get(agent + 1..))))
}

/// An agent of another node's swarm, without `agents` or with another word.
fn agent_of_node(name: NameReference<'_, '_>, first: &str, rest: &[&str]) -> Option<String> {
    let node = name.workflow_names().nodes.get(name.workflow_names().node_of(first)?)?;
    let is_agent = |word: &&str| node.agents.iter().any(|(id, _)| **id == **word);
    let agent = rest.iter().take(2).position(is_agent).filter(|_| rest.first() != Some(&"agents"))?;
    Some(format!("{}.agents.{}.{}", node.id, rest.get(agent)?, answer_path(rest.get(agent + 1..))))
}

/// The part of an agent's result that is read; by default, its whole answer.
fn answer_path(words: Option<&[&str]>) -> String {
    words.filter(|words| !words.is_empty()).map_or("output".to_owned(), |words| words.join("."))
}

/// A node after a prefix of another system.
fn behind_word(name: NameReference<'_, '_>, first: &str, rest: &[&str]) -> Option<String> {
    if path_habit(WrittenFormat::Sirenspec, first) != Some(PathHabit::BeforeResults) {
        return None;
    }
    let (node, more) = rest.split_first()?;
    name.workflow_names().node_of(node)?;
    match more.is_empty() {
        true => Some(format!("{node}.output")),
        false => name.workflow_names().has_value_at(StateTree::Working, &to_segments(rest)).then(|| rest.join(".")),
    }
}

/// The path to the result of a node, from an id and optional further segments.
fn of_node(name: NameReference<'_, '_>, words: &[&str]) -> Option<String> {
    let (id, rest) = words.split_first()?;
    let node = name.workflow_names().nodes.get(name.workflow_names().node_of(id)?)?;
    if rest.is_empty() {
        return Some(format!("{id}.{}", node.output.join(".")));
    }
    types::missing_segment(&node.schema, &to_segments(rest)).is_none().then(|| words.join("."))
}

fn to_segments(words: &[&str]) -> Vec<Arc<str>> {
    words.iter().map(|word| Arc::from(*word)).collect()
}
