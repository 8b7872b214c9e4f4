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
    let own: Vec<&YamlEntry> = BLOCKS.into_iter().filter_map(|key| mapping.get(key)).collect();
    let nodes = mapping.get("nodes").is_some_and(|e| any(&e.value, is_node));
    let agents = mapping.get("version").is_some() && mapping.get("agents").is_some_and(|e| any(&e.value, is_agent));
    // With a version of this format: two of its blocks, whatever mistakes they contain, or nodes by id.
    let by_id = mapping.get("nodes").is_some_and(|e| any(&e.value, |_| true));
    let blocks = (own.len() > 1 || by_id) && mapping.get("version").is_some_and(|e| is_own_version(&e.value));
    let found = if nodes || agents || blocks { own } else { misspelt(mapping).into_iter().collect() };
    found.into_iter().map(|e| DialectEvidence { key: e.key.value.to_string(), span: e.key.span }).collect()
}

/// A single block with a misspelt name, if its contents and the version match the format.
fn misspelt(mapping: &YamlMapping) -> Option<&YamlEntry> {
    mapping.get("version").filter(|e| is_own_version(&e.value))?;
    mapping.entries.iter().find(|e| {
        let shaped = any(&e.value, is_node) || any(&e.value, is_agent);
        shaped && suggestions::nearest_name(&e.key.value, BLOCKS).is_some()
    })
}

/// `0.1`, a version that no widespread format has.
fn is_own_version(node: &YamlNode) -> bool {
    matches!(node.as_scalar(), Some((YamlScalar::Str | YamlScalar::Float(_) | YamlScalar::Int(_), text)) if text.value.starts_with('0'))
}

fn any(node: &YamlNode, of_entry: fn(&YamlMapping) -> bool) -> bool {
    node.as_mapping().is_some_and(|m| m.entries.iter().filter_map(|e| e.value.as_mapping()).any(of_entry))
}

fn text<'m>(mapping: &'m YamlMapping, key: &str) -> Option<&'m str> {
    mapping.get(key).and_then(|e| e.value.as_string()).map(|t| &*t.value)
}

fn is_node(node: &YamlMapping) -> bool {
    let agent = node.get("type").is_none() && text(node, "agent").is_some();
    let typed = text(node, "type").is_some_and(|sort| TYPES.contains(&sort));
    let writes = text(node, "writes").is_some_and(|path| path.starts_with("working.") || path.starts_with("output."));
    agent || typed || writes
}

/// Whether it has a model `provider:model` and a `system` prompt.
fn is_agent(agent: &YamlMapping) -> bool {
    let model = text(agent, "model").and_then(providers::split_model_id);
    model.is_some_and(|(provider, _)| providers::PROVIDERS.contains(&provider)) && agent.get("system").is_some()
}
