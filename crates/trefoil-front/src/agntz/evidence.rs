//! Whether a document is an agntz manifest, judging by what no other format has.

use trefoil_syntax::suggest;
use trefoil_syntax::yaml::{Entry, Mapping, Node};

use super::manifest::KINDS;
use crate::Evidence;

/// Keys that identify the format together with one of its kinds if the `id` is missing.
const OWN: [&str; 7] =
    ["instruction", "inputSchema", "outputSchema", "branches", "maxIterations", "spawnable", "stateKey"];

/// Keys of a step or branch; each has at least one of them.
const OF_STEP: [&str; 4] = ["ref", "agent", "stateKey", "instruction"];

/// The keys that show that it is an agntz manifest; empty if it is not one.
pub fn of(root: &Node) -> Vec<Evidence> {
    let Some(mapping) = root.mapping() else { return Vec::new() };
    let kind = mapping.get("kind").and_then(|e| e.value.string()).map(|t| &*t.value);
    let its_kind = kind.is_some_and(|kind| KINDS.contains(&kind));
    let meant = its_kind || kind.is_some_and(|kind| suggest::nearest(kind, KINDS).is_some());
    let has_id = mapping.get("id").is_some();
    let speaks = |entry: &&Entry| match &*entry.key.value {
        "kind" if has_id => meant,
        "instruction" if has_id => entry.value.string().is_some(),
        "steps" | "branches" if has_id => is_list_of_steps(&entry.value),
        "model" if has_id => has_all(&entry.value, &["provider", "name"]),
        "tool" if has_id => has_all(&entry.value, &["kind"]),
        key => !has_id && its_kind && OWN.contains(&key),
    };
    mapping.entries.iter().filter(speaks).map(|e| Evidence { key: e.key.value.to_string(), span: e.key.span }).collect()
}

fn is_list_of_steps(node: &Node) -> bool {
    let step = |m: &Mapping| OF_STEP.iter().any(|key| m.get(key).is_some());
    node.sequence().is_some_and(|items| items.iter().filter_map(Node::mapping).any(step))
}

fn has_all(node: &Node, keys: &[&str]) -> bool {
    node.mapping().is_some_and(|m| keys.iter().all(|key| m.get(key).is_some()))
}

/// Files next to agntz manifests that are not manifests: skill files.
pub fn companion(root: &Node) -> Option<&'static str> {
    let mapping = root.mapping()?;
    let has = |key: &str| mapping.get(key).is_some();
    (has("name") && has("instructions") && !has("kind") && !has("id")).then_some("an agntz skill file, not an agent")
}
