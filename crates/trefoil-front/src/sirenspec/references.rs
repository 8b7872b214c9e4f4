//! `ref`: which file a workflow node means, and which inputs other files' workflow nodes offer this one.

use std::sync::Arc;

use trefoil_syntax::hash::HashMap;
use trefoil_syntax::yaml::{Node, Text};
use trefoil_syntax::{Diagnostic, Location, suggest};

use crate::project::resolve_path;
use crate::{Document, Project, Reader};

/// A path's last segment without its `.yaml` or `.yml`.
pub fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml")).unwrap_or(name)
}

/// Whether a `ref` is a path rather than a workflow's bare name.
pub fn is_path(reference: &str) -> bool {
    reference.starts_with('.') || reference.contains('/') || reference.ends_with(".yaml") || reference.ends_with(".yml")
}

/// Which files of a project references mean.
pub struct References<'p> {
    project: &'p Project,
    by_path: HashMap<&'p str, usize>,
    by_name: HashMap<&'p str, Vec<usize>>,
    offered: HashMap<usize, Vec<Arc<str>>>,
}

impl<'p> References<'p> {
    /// Of the SirenSpec documents of a project.
    pub fn of(project: &'p Project) -> Self {
        let (by_path, by_name, offered) = (HashMap::default(), HashMap::default(), HashMap::default());
        let mut all = Self { project, by_path, by_name, offered };
        for (at, document) in project.documents.iter().enumerate() {
            all.by_path.entry(&*document.path).or_insert(at);
            if is_siren(document) {
                all.by_name.entry(stem(&document.path)).or_default().push(at);
            }
        }
        project.documents.iter().enumerate().filter(|(_, d)| is_siren(d)).for_each(|(at, found)| all.offers(at, found));
        all
    }

    /// Notes the input fields that workflow nodes of a document give to others.
    fn offers(&mut self, at: usize, document: &Document) {
        for mapping in workflow_nodes(&document.root).filter_map(Node::mapping) {
            let reference = mapping.get("ref").and_then(|e| e.value.string());
            let Some(to) = reference.and_then(|text| self.locate(at, &text.value).first().copied()) else {
                continue;
            };
            let names = self.offered.entry(to).or_default();
            let inputs = mapping.get("inputs").and_then(|e| e.value.mapping());
            for entry in inputs.into_iter().flat_map(|m| &m.entries) {
                if !names.contains(&entry.key.value) {
                    names.push(entry.key.value.clone());
                }
            }
        }
    }

    /// The input fields that workflow nodes of the project give to a document.
    pub fn offered(&self, document: usize) -> &[Arc<str>] {
        self.offered.get(&document).map(Vec::as_slice).unwrap_or_default()
    }

    /// The document that a `ref` in a document means, or a report.
    pub fn find(&self, reader: &Reader<'_>, document: usize, reference: &Text) -> Option<usize> {
        match self.locate(document, &reference.value).as_slice() {
            [] => self.unknown(reader, document, reference),
            [one] if self.project.documents.get(*one).is_some_and(is_siren) => return Some(*one),
            [_] => {
                let message = format!("`{}` is not a SirenSpec workflow", reference.value);
                reader.error("unknown-reference", reference.span, message);
            }
            [first, ..] => {
                self.ambiguous(reader, reference, &self.locate(document, &reference.value));
                return Some(*first);
            }
        }
        None
    }

    fn unknown(&self, reader: &Reader<'_>, document: usize, reference: &Text) {
        let message = format!("no workflow at `{}`", reference.value);
        let d = Diagnostic::error("unknown-reference", reader.at(reference.span), message);
        let own = |at: &usize| *at != document && self.project.together(*at, document);
        let all = self.project.documents.iter().enumerate();
        let stems = all.filter(|(at, _)| own(at)).map(|(_, other)| stem(&other.path));
        reader.report(match suggest::nearest(stem(&reference.value), stems) {
            Some(near) => d.help(format!("did you mean the file of `{near}`? `ref` is relative to this file")),
            None => d.help("write the path of a file relative to this one: `./child.yaml`"),
        });
    }

    /// Several files of the name are equally near (decision C10).
    fn ambiguous(&self, reader: &Reader<'_>, reference: &Text, found: &[usize]) {
        let message = format!("several workflows are named `{}`", reference.value);
        let mut d = Diagnostic::error("duplicate-id", reader.at(reference.span), message);
        for document in found.iter().filter_map(|at| self.project.documents.get(*at)) {
            d = d.label(Location::new(document.file, document.root.span), "one of them");
        }
        reader.report(d.help("write the path of a file relative to this one: `./child.yaml`"));
    }

    /// The documents that a reference can mean; of a bare name those that are nearest to who names it.
    fn locate(&self, document: usize, reference: &str) -> Vec<usize> {
        if is_path(reference) {
            let base = self.project.documents.get(document).map_or("", |d| &d.path);
            return self.by_path.get(&*resolve_path(base, reference)).copied().into_iter().collect();
        }
        self.project.nearest(document, self.by_name.get(reference).map(Vec::as_slice).unwrap_or_default())
    }
}

fn is_siren(document: &Document) -> bool {
    document.front.name() == "sirenspec"
}

/// The workflow nodes of a file, unread.
pub fn workflow_nodes(root: &Node) -> impl Iterator<Item = &Node> {
    let nodes = root.mapping().and_then(|m| m.get("nodes")).and_then(|e| e.value.mapping());
    nodes.into_iter().flat_map(|m| &m.entries).map(|e| &e.value).filter(|node| {
        let kind = node.mapping().and_then(|m| m.get("type")).and_then(|e| e.value.string());
        kind.is_some_and(|text| &*text.value == "workflow")
    })
}
