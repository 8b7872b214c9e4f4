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
    let text = |key: &str| mapping.get(key).and_then(|e| e.value.as_string()).map(|t| &*t.value);
    let unit = manifest::unit_kind(root);
    let keys: &[&str] = match text("apiVersion") {
        Some(version) if version.starts_with(OWNER) => match other_kind(root) {
            true => &[],
            false => &["apiVersion", "kind"],
        },
        // Misspelt, but everything else is right.
        Some(version) if unit.is_some() && suggestions::nearest_name(version, [manifest::API_VERSION]).is_some() => {
            &["kind"]
        }
        // Missing, so the keys under `spec` decide.
        None if mapping.get("apiVersion").is_none() && is_shaped(root, unit) => &["kind"],
        _ => &[],
    };
    let found = keys.iter().filter_map(|key| mapping.get(key));
    found.map(|e| DialectEvidence { key: e.key.value.to_string(), span: e.key.span }).collect()
}

/// A description of a document that belongs to the format but is not a unit.
pub fn companion_kind(root: &YamlNode) -> Option<&'static str> {
    let version = root.as_mapping()?.get("apiVersion")?.value.as_string()?;
    let own = version.value.starts_with(OWNER) && other_kind(root);
    own.then_some("an AEGIS configuration file, not an agent or a workflow")
}

/// Whether `kind` is neither the kind of a unit nor a misspelling of one.
fn other_kind(root: &YamlNode) -> bool {
    let kind = root.as_mapping().and_then(|m| m.get("kind")).and_then(|e| e.value.as_string());
    kind.is_some_and(|kind| {
        let word = kind.value.starts_with(|c: char| c.is_ascii_uppercase());
        word && suggestions::nearest_name(&kind.value, KINDS).is_none() && manifest::looks_like(root).is_none()
    })
}

fn is_shaped(root: &YamlNode, unit: Option<AegisUnitKind>) -> bool {
    let spec = root.as_mapping().and_then(|m| m.get("spec")).and_then(|e| e.value.as_mapping());
    let has = |key: &str| spec.is_some_and(|spec| spec.get(key).is_some());
    match unit {
        Some(AegisUnitKind::Agent) => has("task") && has("runtime"),
        Some(AegisUnitKind::Workflow) => has("states"),
        None => false,
    }
}
