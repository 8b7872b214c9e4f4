//! Inlay hints: show the model after the name of an agent in a step, state or node.

use std::collections::{HashMap, HashSet};

use trefoil_ir::facts::DeclarationKind;
use trefoil_syntax::yaml::{YamlEntry, YamlMapping, YamlNode};
use trefoil_syntax::{FileId, Location, Span};

use crate::analysis::FolderAnalysis;
use crate::cursor::{entry_at, walk_nodes};

/// A text that is shown at a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelHint {
    /// Its position.
    pub at: u32,
    /// The text.
    pub text: String,
}

/// The hints in a part of a file.
pub fn list_hints(analysis: &FolderAnalysis, file: FileId, within: Span) -> Vec<ModelHint> {
    let mut out: Vec<ModelHint> = Vec::new();
    let mut hinted = HashSet::new();
    let mut trees = TreeEntryIndex::default();
    for mention in analysis.mentions_in(file) {
        let at = mention.at.span.end;
        if mention.template || !(within.start..=within.end).contains(&at) || hinted.contains(&at) {
            continue;
        }
        // A step that is named by its agent is declared here, too; look for the agent.
        if let Some(declaration) = analysis.mentioned_declaration(mention)
            && declaration.kind == DeclarationKind::Agent
            && let Some(text) = trees.model(analysis, declaration.at)
        {
            hinted.insert(at);
            out.push(ModelHint { at, text });
        }
    }
    out.sort_by_key(|h| h.at);
    out
}

/// The entries of files by the place of their key or value. Each file is indexed once.
#[derive(Default)]
struct TreeEntryIndex<'a>(HashMap<FileId, HashMap<Span, (&'a YamlMapping, &'a YamlEntry)>>);

impl<'a> TreeEntryIndex<'a> {
    /// The model of the agent whose name is at a place.
    fn model(&mut self, analysis: &'a FolderAnalysis, at: Location) -> Option<String> {
        let root = analysis.yaml_tree(at.file)?;
        let (within, entry) = self.0.entry(at.file).or_insert_with(|| entries(root)).get(&at.span)?;
        let model = model_entry(root, within, entry)?;
        if let Some(parts) = model.value.as_mapping() {
            let (provider, name) = (scalar_text(parts.get("provider")?)?, scalar_text(parts.get("name")?)?);
            return Some(format!("{provider}:{name}"));
        }
        let name = scalar_text(model)?;
        if name.is_empty() { None } else { Some(name.to_owned()) }
    }
}

/// All entries of a tree by the places of their keys and values, with the mapping that contains each.
fn entries(root: &YamlNode) -> HashMap<Span, (&YamlMapping, &YamlEntry)> {
    let mut all = HashMap::new();
    for node in walk_nodes(root) {
        let Some(mapping) = node.as_mapping() else { continue };
        for entry in &mapping.entries {
            all.entry(entry.key.content_span()).or_insert((mapping, entry));
            if let Some((_, value)) = entry.value.as_scalar() {
                all.entry(value.content_span()).or_insert((mapping, entry));
            }
        }
    }
    all
}

/// The key with the model of an agent: next to the agent's id, below its name, or in the manifest's `spec`.
fn model_entry<'t>(root: &'t YamlNode, within: &'t YamlMapping, agent: &'t YamlEntry) -> Option<&'t YamlEntry> {
    if let Some(model) = within.get("model") {
        return Some(model);
    }
    if let Some(body) = agent.value.as_mapping()
        && let Some(model) = body.get("model")
    {
        return Some(model);
    }
    entry_at(root, &["spec", "runtime", "model"])
}

fn scalar_text(entry: &YamlEntry) -> Option<&str> {
    let (_, text) = entry.value.as_scalar()?;
    Some(&text.value)
}
