//! Inlay hints: the model behind the name of an agent, where a step, state or node names one.

use trefoil_ir::facts::DeclarationKind;
use trefoil_syntax::yaml::{Entry, Kind, Mapping, Node};
use trefoil_syntax::{FileId, Location, Span};

use crate::analysis::Analysis;

/// A text that is shown behind another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// Where.
    pub at: u32,
    /// What.
    pub text: String,
}

/// The hints in a part of a file.
pub fn hints(analysis: &Analysis, file: FileId, within: Span) -> Vec<Hint> {
    let mut out: Vec<Hint> = Vec::new();
    for mention in analysis.mentions_in(file).filter(|m| !m.template) {
        let at = mention.at.span.end;
        let model = || {
            let to = mention.to?;
            // Where a step declares itself here, the agent is what else stands here.
            let declaration = analysis.declaration(to).filter(|d| d.kind == DeclarationKind::Agent)?;
            model(analysis, declaration.at)
        };
        if (within.start..=within.end).contains(&at)
            && !out.iter().any(|h| h.at == at)
            && let Some(text) = model()
        {
            out.push(Hint { at, text });
        }
    }
    out.sort_by_key(|h| h.at);
    out
}

/// The model of the agent whose name stands there.
fn model(analysis: &Analysis, at: Location) -> Option<String> {
    let root = analysis.tree(at.file)?;
    let (within, entry) = find(root, at.span)?;
    // An id beside the model, a name above it, or a name in the manifest's head.
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

/// The entry whose key or value stands there, and the mapping it is in.
fn find(root: &Node, at: Span) -> Option<(&Mapping, &Entry)> {
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        match &*node.kind {
            Kind::Mapping(mapping) => {
                for entry in &mapping.entries {
                    let value = entry.value.scalar().map(|(_, t)| t.content());
                    if entry.key.content() == at || value == Some(at) {
                        return Some((mapping, entry));
                    }
                    stack.push(&entry.value);
                }
            }
            Kind::Sequence(items) => stack.extend(items),
            Kind::Scalar(..) => {}
        }
    }
    None
}
