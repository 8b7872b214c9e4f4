//! Inlay hints: show the model after the name of an agent in a step, state or node.

use std::collections::{HashMap, HashSet};

use trefoil_ir::facts::DeclarationKind;
use trefoil_syntax::yaml::{Entry, Mapping, Node};
use trefoil_syntax::{FileId, Location, Span};

use crate::analysis::Analysis;
use crate::cursor::nodes;

/// A text that is shown at a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// Its position.
    pub at: u32,
    /// The text.
    pub text: String,
}

/// The hints in a part of a file.
pub fn hints(analysis: &Analysis, file: FileId, within: Span) -> Vec<Hint> {
    let mut out: Vec<Hint> = Vec::new();
    let mut told = HashSet::new();
    let mut trees = Trees::default();
    for mention in analysis.mentions_in(file).filter(|m| !m.template) {
        let at = mention.at.span.end;
        let mut model = || {
            let to = mention.to?;
            // A step that is named by its agent is declared here, too; look for the agent.
            let declaration = analysis.declaration(to).filter(|d| d.kind == DeclarationKind::Agent)?;
            trees.model(analysis, declaration.at)
        };
        if (within.start..=within.end).contains(&at)
            && !told.contains(&at)
            && let Some(text) = model()
        {
            told.insert(at);
            out.push(Hint { at, text });
        }
    }
    out.sort_by_key(|h| h.at);
    out
}

/// The entries of files by the place of their key or value. Each file is indexed once.
#[derive(Default)]
struct Trees<'a>(HashMap<FileId, HashMap<Span, (&'a Mapping, &'a Entry)>>);

impl<'a> Trees<'a> {
    /// The model of the agent whose name is at a place.
    fn model(&mut self, analysis: &'a Analysis, at: Location) -> Option<String> {
        let root = analysis.tree(at.file)?;
        let (within, entry) = self.0.entry(at.file).or_insert_with(|| entries(root)).get(&at.span)?;
        // The model is next to the agent's id, below its name, or in the manifest's `spec`.
        let own = within.get("model").or_else(|| entry.value.mapping()?.get("model")).or_else(|| {
            let spec = root.mapping()?.get("spec")?.value.mapping()?;
            spec.get("runtime")?.value.mapping()?.get("model")
        });
        let text = |e: &Entry| e.value.scalar().map(|(_, t)| t.value.to_string());
        let own = own?;
        if let Some(parts) = own.value.mapping() {
            return Some(format!("{}:{}", text(parts.get("provider")?)?, text(parts.get("name")?)?));
        }
        text(own).filter(|t| !t.is_empty())
    }
}

/// All entries of a tree by the places of their keys and values, with the mapping that contains each.
fn entries(root: &Node) -> HashMap<Span, (&Mapping, &Entry)> {
    let mut all = HashMap::new();
    for mapping in nodes(root).filter_map(Node::mapping) {
        for entry in &mapping.entries {
            let value = entry.value.scalar().map(|(_, t)| t.content());
            for at in [Some(entry.key.content()), value].into_iter().flatten() {
                all.entry(at).or_insert((mapping, entry));
            }
        }
    }
    all
}
