//! Whether a document is an agntz manifest, judging by what no other format has.

use trefoil_syntax::suggestions;
use trefoil_syntax::yaml::{YamlMapping, YamlNode};

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
    let kind = written_kind(mapping);
    let has_kind = matches!(kind, Some(kind) if KINDS.contains(&kind));
    let has_id = mapping.get("id").is_some();
    let mut evidence = Vec::new();
    for entry in &mapping.entries {
        let is_evidence = match &*entry.key.value {
            "kind" if has_id => {
                has_kind || matches!(kind, Some(kind) if suggestions::nearest_name(kind, KINDS).is_some())
            }
            "instruction" if has_id => entry.value.as_string().is_some(),
            "steps" | "branches" if has_id => is_list_of_steps(&entry.value),
            "model" if has_id => has_all(&entry.value, &["provider", "name"]),
            "tool" if has_id => has_all(&entry.value, &["kind"]),
            key => !has_id && has_kind && OWN.contains(&key),
        };
        if is_evidence {
            evidence.push(DialectEvidence { key: entry.key.value.to_string(), span: entry.key.span });
        }
    }
    evidence
}

fn written_kind(mapping: &YamlMapping) -> Option<&str> {
    Some(&mapping.get("kind")?.value.as_string()?.value)
}

fn is_list_of_steps(node: &YamlNode) -> bool {
    let Some(items) = node.as_sequence() else { return false };
    items.iter().any(is_step)
}

fn is_step(node: &YamlNode) -> bool {
    let Some(mapping) = node.as_mapping() else { return false };
    OF_STEP.iter().any(|key| mapping.get(key).is_some())
}

fn has_all(node: &YamlNode, keys: &[&str]) -> bool {
    let Some(mapping) = node.as_mapping() else { return false };
    keys.iter().all(|key| mapping.get(key).is_some())
}

/// Files next to agntz manifests that are not manifests: skill files.
pub fn companion_kind(root: &YamlNode) -> Option<&'static str> {
    let mapping = root.as_mapping()?;
    let has = |key: &str| mapping.get(key).is_some();
    if has("name") && has("instructions") && !has("kind") && !has("id") {
        return Some("an agntz skill file, not an agent");
    }
    None
}
