//! Whether a document is an agntz manifest, by its keys.

use trefoil_syntax::yaml::{Entry, Node};

use super::manifest::KINDS;
use crate::Evidence;

/// Keys that no other dialect has at its root.
const OWN: [&str; 7] =
    ["instruction", "inputSchema", "outputSchema", "branches", "maxIterations", "spawnable", "stateKey"];

/// Keys that speak for the dialect beside an `id`.
const BESIDE_ID: [&str; 4] = ["steps", "tool", "until", "prompt"];

/// The keys that speak for agntz; none: it is not an agntz manifest.
pub fn of(root: &Node) -> Vec<Evidence> {
    let Some(mapping) = root.mapping() else { return Vec::new() };
    let kind = mapping.get("kind");
    let has_id = mapping.get("id").is_some();
    let speaks = |entry: &&Entry| {
        let key = &*entry.key.value;
        let is_kind = key == "kind" && entry.value.string().is_some_and(|t| KINDS.contains(&&*t.value));
        is_kind
            || OWN.contains(&key)
            || (has_id && (BESIDE_ID.contains(&key) || (key == "kind" && kind.is_some_and(lower_case))))
    };
    mapping.entries.iter().filter(speaks).map(|e| Evidence { key: e.key.value.to_string(), span: e.key.span }).collect()
}

/// A kind that is none of ours but looks like one (`kind: lmm`); other dialects write theirs with a capital.
fn lower_case(kind: &Entry) -> bool {
    kind.value.string().is_some_and(|t| t.value.chars().next().is_some_and(|c| c.is_ascii_lowercase()))
}

/// What lies beside agntz manifests and is none: skill files.
pub fn companion(root: &Node) -> Option<&'static str> {
    let mapping = root.mapping()?;
    let has = |key: &str| mapping.get(key).is_some();
    (has("name") && has("instructions") && !has("kind") && !has("id")).then_some("an agntz skill file, not an agent")
}
