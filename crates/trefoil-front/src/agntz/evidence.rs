//! Whether a document is an agntz manifest, judging by what no other format has.

use trefoil_syntax::suggestions;
use trefoil_syntax::yaml::{YamlEntry, YamlMapping, YamlNode};

use super::manifest::KINDS;
use crate::DialectEvidence;

/// Keys that identify the format together with one of its kinds if the `id` is missing.
const OWN: [&str; 7] =
    ["instruction", "inputSchema", "outputSchema", "branches", "maxIterations", "spawnable", "stateKey"];

/// Keys of a step or branch; each has at least one of them.
const OF_STEP: [&str; 4] = ["ref", "agent", "stateKey", "instruction"];

/// The keys that show that it is an agntz manifest; empty if it is not one.
pub fn find_evidence(root: &YamlNode) -> Vec<DialectEvidence> {
    let Some(mapping) = root.as_mapping() else { return Vec::new() };
    let kind = mapping.get("kind").and_then(|e| e.value.as_string()).map(|t| &*t.value);
    let its_kind = kind.is_some_and(|kind| KINDS.contains(&kind));
    let meant = its_kind || kind.is_some_and(|kind| suggestions::nearest_name(kind, KINDS).is_some());
    let has_id = mapping.get("id").is_some();
    let speaks = |entry: &&YamlEntry| match &*entry.key.value {
        "kind" if has_id => meant,
        "instruction" if has_id => entry.value.as_string().is_some(),
        "steps" | "branches" if has_id => is_list_of_steps(&entry.value),
        "model" if has_id => has_all(&entry.value, &["provider", "name"]),
        "tool" if has_id => has_all(&entry.value, &["kind"]),
        key => !has_id && its_kind && OWN.contains(&key),
    };
    mapping
        .entries
        .iter()
        .filter(speaks)
        .map(|e| DialectEvidence { key: e.key.value.to_string(), span: e.key.span })
        .collect()
}

fn is_list_of_steps(node: &YamlNode) -> bool {
    let step = |m: &YamlMapping| OF_STEP.iter().any(|key| m.get(key).is_some());
    node.as_sequence().is_some_and(|items| items.iter().filter_map(YamlNode::as_mapping).any(step))
}

fn has_all(node: &YamlNode, keys: &[&str]) -> bool {
    node.as_mapping().is_some_and(|m| keys.iter().all(|key| m.get(key).is_some()))
}

/// Files next to agntz manifests that are not manifests: skill files.
pub fn companion_kind(root: &YamlNode) -> Option<&'static str> {
    let mapping = root.as_mapping()?;
    let has = |key: &str| mapping.get(key).is_some();
    (has("name") && has("instructions") && !has("kind") && !has("id")).then_some("an agntz skill file, not an agent")
}
