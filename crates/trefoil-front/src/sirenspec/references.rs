//! `ref`: which file a workflow node means, and which inputs other files' workflow nodes offer this one.

use std::sync::Arc;

use trefoil_syntax::yaml::{Node, Text};
use trefoil_syntax::{Diagnostic, suggest};

use crate::project::resolve_path;
use crate::{Project, Reader};

/// A path's last segment without its `.yaml` or `.yml`.
pub fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml")).unwrap_or(name)
}

/// Whether a `ref` is a path rather than a workflow's bare name.
pub fn is_path(reference: &str) -> bool {
    reference.starts_with('.') || reference.contains('/') || reference.ends_with(".yaml") || reference.ends_with(".yml")
}

/// The document that a `ref` in a document means, or a report.
pub fn find(reader: &Reader<'_>, project: &Project, document: usize, reference: &Text) -> Option<usize> {
    let base = project.documents.get(document).map_or("", |d| d.path.as_str());
    let found = locate(project, base, &reference.value);
    let siren = |at: &usize| project.documents.get(*at).is_some_and(|d| d.front.name() == "sirenspec");
    match found {
        Some(at) if siren(&at) => return Some(at),
        Some(_) => {
            let message = format!("`{}` is not a SirenSpec workflow", reference.value);
            reader.error("unknown-reference", reference.span, message);
        }
        None => {
            let mut d = Diagnostic::error(
                "unknown-reference",
                reader.at(reference.span),
                format!("there is no workflow at `{}`", reference.value),
            );
            let stems = project.documents.iter().filter(|o| o.path != base).map(|o| stem(&o.path));
            d = match suggest::nearest(stem(&reference.value), stems) {
                Some(near) => d.help(format!("did you mean the file of `{near}`? `ref` is relative to this file")),
                None => d.help("`ref` is the path of a file, relative to this one: `./child.yaml`"),
            };
            reader.report(d);
        }
    }
    None
}

fn locate(project: &Project, base: &str, reference: &str) -> Option<usize> {
    if is_path(reference) {
        return project.document(&resolve_path(base, reference));
    }
    let named = |front: &str, path: &str| front == "sirenspec" && stem(path) == reference;
    project.documents.iter().position(|d| named(d.front.name(), &d.path))
}

/// The input fields that workflow nodes of the project give to a document.
pub fn offered(project: &Project, document: usize) -> Vec<Arc<str>> {
    let mut names: Vec<Arc<str>> = Vec::new();
    for other in project.documents.iter().filter(|d| d.front.name() == "sirenspec") {
        for node in workflow_nodes(&other.root) {
            let Some(mapping) = node.mapping() else { continue };
            let reference = mapping.get("ref").and_then(|e| e.value.string());
            if reference.and_then(|text| locate(project, &other.path, &text.value)) != Some(document) {
                continue;
            }
            let inputs = mapping.get("inputs").and_then(|e| e.value.mapping());
            for entry in inputs.into_iter().flat_map(|m| &m.entries) {
                if !names.contains(&entry.key.value) {
                    names.push(entry.key.value.clone());
                }
            }
        }
    }
    names
}

/// The workflow nodes of a file, unread.
pub fn workflow_nodes(root: &Node) -> impl Iterator<Item = &Node> {
    let nodes = root.mapping().and_then(|m| m.get("nodes")).and_then(|e| e.value.mapping());
    nodes.into_iter().flat_map(|m| &m.entries).map(|e| &e.value).filter(|node| {
        let kind = node.mapping().and_then(|m| m.get("type")).and_then(|e| e.value.string());
        kind.is_some_and(|text| &*text.value == "workflow")
    })
}
