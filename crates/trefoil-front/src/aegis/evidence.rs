//! Whether a document is an AEGIS manifest, judging by what no other format has.
//!
//! Many formats have `kind`, `metadata` and `spec`; this `apiVersion` is unique.

use trefoil_syntax::suggestions;
use trefoil_syntax::yaml::YamlNode;

use super::manifest::{self, AegisUnitKind};
use crate::DialectEvidence;

/// The prefix of every `apiVersion` of the format.
pub const OWNER: &str = "100monkeys.ai/";

/// The values of `kind`.
const KINDS: [&str; 3] = ["Agent", "AgentManifest", "Workflow"];

/// The keys that show that it is an AEGIS manifest; empty if it is not one.
pub fn find_evidence(root: &YamlNode) -> Vec<DialectEvidence> {
    let Some(mapping) = root.as_mapping() else { return Vec::new() };
    let version = mapping.get("apiVersion").and_then(|entry| entry.value.as_string());
    let unit = manifest::unit_kind(root);
    let keys: &[&str] = match version {
        Some(version) if version.value.starts_with(OWNER) => match other_kind(root) {
            true => &[],
            false => &["apiVersion", "kind"],
        },
        // Misspelt, but everything else is right.
        Some(version)
            if unit.is_some() && suggestions::nearest_name(&version.value, [manifest::API_VERSION]).is_some() =>
        {
            &["kind"]
        }
        // Missing, so the keys under `spec` decide.
        None if mapping.get("apiVersion").is_none() && is_shaped(root, unit) => &["kind"],
        _ => &[],
    };
    let mut evidence = Vec::new();
    for key in keys {
        if let Some(entry) = mapping.get(key) {
            evidence.push(DialectEvidence { key: entry.key.value.to_string(), span: entry.key.span });
        }
    }
    evidence
}

/// A description of a document that belongs to the format but is not a unit.
pub fn companion_kind(root: &YamlNode) -> Option<&'static str> {
    let version = root.as_mapping()?.get("apiVersion")?.value.as_string()?;
    if !version.value.starts_with(OWNER) || !other_kind(root) {
        return None;
    }
    Some("an AEGIS configuration file, not an agent or a workflow")
}

/// Whether `kind` is neither the kind of a unit nor a misspelling of one.
fn other_kind(root: &YamlNode) -> bool {
    let Some(kind) = value_under(root, "kind").and_then(YamlNode::as_string) else { return false };
    kind.value.starts_with(|c: char| c.is_ascii_uppercase())
        && suggestions::nearest_name(&kind.value, KINDS).is_none()
        && manifest::looks_like(root).is_none()
}

fn value_under<'n>(root: &'n YamlNode, key: &str) -> Option<&'n YamlNode> {
    Some(&root.as_mapping()?.get(key)?.value)
}

fn is_shaped(root: &YamlNode, unit: Option<AegisUnitKind>) -> bool {
    let Some(spec) = value_under(root, "spec").and_then(YamlNode::as_mapping) else { return false };
    let has = |key: &str| spec.get(key).is_some();
    match unit {
        Some(AegisUnitKind::Agent) => has("task") && has("runtime"),
        Some(AegisUnitKind::Workflow) => has("states"),
        None => false,
    }
}
