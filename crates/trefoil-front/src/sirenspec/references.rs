//! `ref`: the file that a workflow node refers to, and the inputs that workflow nodes of other files pass to this one.

use std::sync::Arc;

use trefoil_syntax::hash::HashMap;
use trefoil_syntax::yaml::{YamlEntry, YamlMapping, YamlNode, YamlText};

use crate::project::resolve_path;
use crate::{ManifestDocument, Project};

/// A path's last segment without its `.yaml` or `.yml`.
pub fn path_stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.strip_suffix(".yaml") {
        Some(stem) => stem,
        None => name.strip_suffix(".yml").unwrap_or(name),
    }
}

/// Whether a `ref` is a path rather than the bare name of a workflow.
pub fn is_path(reference: &str) -> bool {
    reference.starts_with('.') || reference.contains('/') || reference.ends_with(".yaml") || reference.ends_with(".yml")
}

/// A `ref` that does not resolve to a single file that can be called.
pub struct LostCall<'p> {
    /// The document that contains it.
    pub from: usize,
    /// As it is written.
    pub reference: &'p YamlText,
    /// The reason.
    pub why: NoFile,
}

/// Why a `ref` does not resolve to a single file that can be called.
pub enum NoFile {
    /// The file does not exist.
    Unknown,
    /// The file is not a SirenSpec workflow.
    Foreign,
    /// Several files are equally near.
    Several(Vec<usize>),
    /// It closes this cycle of calls: the documents from the called one back to itself.
    Ring(Vec<usize>),
}

/// An index of a project's files for references.
pub struct SirenReferences<'p> {
    project: &'p Project,
    by_path: HashMap<&'p str, usize>,
    by_name: HashMap<&'p str, Vec<usize>>,
    offered: HashMap<usize, Vec<Arc<str>>>,
}

impl<'p> SirenReferences<'p> {
    /// The index of a project's SirenSpec documents.
    pub fn for_project(project: &'p Project) -> Self {
        let (by_path, by_name, offered) = (HashMap::default(), HashMap::default(), HashMap::default());
        let mut all = Self { project, by_path, by_name, offered };
        for (at, document) in project.documents.iter().enumerate() {
            all.by_path.entry(&*document.path).or_insert(at);
            if is_siren(document) {
                all.by_name.entry(path_stem(&document.path)).or_default().push(at);
            }
        }
        for (at, document) in project.documents.iter().enumerate() {
            if is_siren(document) {
                all.offers(at, document);
            }
        }
        all
    }

    /// Records the input fields that workflow nodes of a document pass to others.
    fn offers(&mut self, at: usize, document: &ManifestDocument) {
        for node in workflow_nodes(&document.root) {
            let Some(reference) = reference_entry(node) else { continue };
            let Some(reference) = reference.value.as_string() else { continue };
            let Some(to) = self.locate(at, &reference.value).first().copied() else { continue };
            let Some(inputs) = passed_inputs(node) else { continue };
            let names = self.offered.entry(to).or_default();
            for entry in &inputs.entries {
                if !names.contains(&entry.key.value) {
                    names.push(entry.key.value.clone());
                }
            }
        }
    }

    /// The input fields that workflow nodes of the project pass to a document.
    pub fn offered_inputs(&self, document: usize) -> &[Arc<str>] {
        match self.offered.get(&document) {
            Some(names) => names,
            None => &[],
        }
    }

    /// The document that a `ref` refers to. Of several, none: what follows from one of them is not reported.
    pub fn resolve_reference(&self, document: usize, reference: &str) -> Result<usize, NoFile> {
        let found = self.locate(document, reference);
        match found.as_slice() {
            [] => Err(NoFile::Unknown),
            [only] => match self.project.documents.get(*only) {
                Some(document) if is_siren(document) => Ok(*only),
                _ => Err(NoFile::Foreign),
            },
            _ => Err(NoFile::Several(found)),
        }
    }

    /// The names by which a document can call others.
    pub fn file_stems(&self, document: usize) -> impl Iterator<Item = &'p str> {
        let project = self.project;
        let own = move |at: &usize| *at != document && project.is_same_project(*at, document);
        project.documents.iter().enumerate().filter(move |(at, _)| own(at)).map(|(_, other)| path_stem(&other.path))
    }

    /// The documents that a reference can refer to; for a bare name, those nearest to the referring document.
    fn locate(&self, document: usize, reference: &str) -> Vec<usize> {
        if is_path(reference) {
            let base = match self.project.documents.get(document) {
                Some(document) => &*document.path,
                None => "",
            };
            return self.by_path.get(&*resolve_path(base, reference)).copied().into_iter().collect();
        }
        let Some(named) = self.by_name.get(reference) else { return Vec::new() };
        self.project.nearest_documents(document, named)
    }
}

fn is_siren(document: &ManifestDocument) -> bool {
    document.front.name() == "sirenspec"
}

/// The workflow nodes of a file, as raw nodes.
pub fn workflow_nodes(root: &YamlNode) -> impl Iterator<Item = &YamlNode> {
    let nodes: &[YamlEntry] = match node_mapping(root) {
        Some(nodes) => &nodes.entries,
        None => &[],
    };
    nodes.iter().map(|entry| &entry.value).filter(|node| matches!(node_type(node), Some("workflow")))
}

fn node_mapping(root: &YamlNode) -> Option<&YamlMapping> {
    root.as_mapping()?.get("nodes")?.value.as_mapping()
}

fn node_type(node: &YamlNode) -> Option<&str> {
    Some(&node.as_mapping()?.get("type")?.value.as_string()?.value)
}

/// The `ref` of a workflow node.
pub fn reference_entry(node: &YamlNode) -> Option<&YamlEntry> {
    node.as_mapping()?.get("ref")
}

fn passed_inputs(node: &YamlNode) -> Option<&YamlMapping> {
    node.as_mapping()?.get("inputs")?.value.as_mapping()
}
