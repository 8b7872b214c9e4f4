//! Inlay hints: show the model after the name of an agent in a step, state or node.

use std::collections::{HashMap, HashSet};

use trefoil_ir::facts::DeclarationKind;
use trefoil_syntax::yaml::{YamlEntry, YamlMapping, YamlNode};
use trefoil_syntax::{FileId, Location, Span};

use crate::analysis::FolderAnalysis;
use crate::cursor::walk_nodes;

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
    let mut told = HashSet::new();
    let mut trees = TreeEntryIndex::default();
    for mention in analysis.mentions_in(file).filter(|m| !m.template) {
        let at = mention.at.span.end;
        let mut model = || {
            let to = mention.to?;
            // A step that is named by its agent is declared here, too; look for the agent.
            let declaration = analysis.declaration_of_name(to).filter(|d| d.kind == DeclarationKind::Agent)?;
            trees.model(analysis, declaration.at)
        };
        if (within.start..=within.end).contains(&at)
            && !told.contains(&at)
            && let Some(text) = model()
        {
            told.insert(at);
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
        // The model is next to the agent's id, below its name, or in the manifest's `spec`.
        let own = within.get("model").or_else(|| entry.value.as_mapping()?.get("model")).or_else(|| {
            let spec = root.as_mapping()?.get("spec")?.value.as_mapping()?;
            spec.get("runtime")?.value.as_mapping()?.get("model")
        });
        let text = |e: &YamlEntry| e.value.as_scalar().map(|(_, t)| t.value.to_string());
        let own = own?;
        if let Some(parts) = own.value.as_mapping() {
            return Some(format!("{}:{}", text(parts.get("provider")?)?, text(parts.get("name")?)?));
        }
        text(own).filter(|t| !t.is_empty())
    }
}

/// All entries of a tree by the places of their keys and values, with the mapping that contains each.
fn entries(root: &YamlNode) -> HashMap<Span, (&YamlMapping, &YamlEntry)> {
    let mut all = HashMap::new();
    for mapping in walk_nodes(root).filter_map(YamlNode::as_mapping) {
        for entry in &mapping.entries {
            let value = entry.value.as_scalar().map(|(_, t)| t.content_span());
            for at in [Some(entry.key.content_span()), value].into_iter().flatten() {
                all.entry(at).or_insert((mapping, entry));
            }
        }
    }
    all
}
