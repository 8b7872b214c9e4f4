//! Whether a document is a SirenSpec workflow, judging by what no other format has.
//!
//! Many formats have `agents`, `nodes`, `edges` and `version`, so their contents decide.

use trefoil_syntax::suggestions;
use trefoil_syntax::yaml::{YamlEntry, YamlMapping, YamlNode, YamlScalar};

use crate::DialectEvidence;
use crate::providers;

/// The blocks of a workflow.
const BLOCKS: [&str; 3] = ["nodes", "edges", "agents"];

/// Types of node.
const TYPES: [&str; 6] = ["agent", "swrm", "factory", "workflow", "human", "tool"];

/// The keys that show that it is a SirenSpec workflow; empty if it is not one.
pub fn find_evidence(root: &YamlNode) -> Vec<DialectEvidence> {
    let Some(mapping) = root.as_mapping() else { return Vec::new() };
    let mut blocks: Vec<&YamlEntry> = Vec::new();
    for key in BLOCKS {
        blocks.extend(mapping.get(key));
    }
    let has_nodes = block_has(mapping, "nodes", is_node);
    let has_agents = mapping.get("version").is_some() && block_has(mapping, "agents", is_agent);
    // With a version of this format: two of its blocks, whatever mistakes they contain, or nodes by id.
    let has_nodes_by_id = block_has(mapping, "nodes", |_| true);
    let has_blocks = (blocks.len() > 1 || has_nodes_by_id) && has_own_version(mapping);
    if !(has_nodes || has_agents || has_blocks) {
        blocks = misspelt(mapping).into_iter().collect();
    }
    blocks.into_iter().map(|e| DialectEvidence { key: e.key.value.to_string(), span: e.key.span }).collect()
}

/// A single block with a misspelt name, if its contents and the version match the format.
fn misspelt(mapping: &YamlMapping) -> Option<&YamlEntry> {
    if !has_own_version(mapping) {
        return None;
    }
    mapping.entries.iter().find(|e| {
        let shaped = has_entry(&e.value, is_node) || has_entry(&e.value, is_agent);
        shaped && suggestions::nearest_name(&e.key.value, BLOCKS).is_some()
    })
}

fn has_own_version(mapping: &YamlMapping) -> bool {
    matches!(mapping.get("version"), Some(entry) if is_own_version(&entry.value))
}

/// `0.1`, a version that no widespread format has.
fn is_own_version(node: &YamlNode) -> bool {
    matches!(node.as_scalar(), Some((YamlScalar::Str | YamlScalar::Float(_) | YamlScalar::Int(_), text)) if text.value.starts_with('0'))
}

fn block_has(mapping: &YamlMapping, block: &str, fits: fn(&YamlMapping) -> bool) -> bool {
    matches!(mapping.get(block), Some(entry) if has_entry(&entry.value, fits))
}

fn has_entry(node: &YamlNode, fits: fn(&YamlMapping) -> bool) -> bool {
    let Some(mapping) = node.as_mapping() else { return false };
    for entry in &mapping.entries {
        if let Some(inner) = entry.value.as_mapping()
            && fits(inner)
        {
            return true;
        }
    }
    false
}

fn text<'m>(mapping: &'m YamlMapping, key: &str) -> Option<&'m str> {
    Some(&mapping.get(key)?.value.as_string()?.value)
}

fn is_node(node: &YamlMapping) -> bool {
    let calls_agent = node.get("type").is_none() && text(node, "agent").is_some();
    let has_type = matches!(text(node, "type"), Some(sort) if TYPES.contains(&sort));
    let writes = text(node, "writes").unwrap_or_default();
    calls_agent || has_type || writes.starts_with("working.") || writes.starts_with("output.")
}

/// Whether it has a model `provider:model` and a `system` prompt.
fn is_agent(agent: &YamlMapping) -> bool {
    let Some(model) = text(agent, "model") else { return false };
    let Some((provider, _)) = providers::split_model_id(model) else { return false };
    providers::PROVIDERS.contains(&provider) && agent.get("system").is_some()
}
