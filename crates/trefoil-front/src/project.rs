//! The files of one load, as the front ends see them.

use std::collections::{BTreeMap, BTreeSet};

use trefoil_ir::Program;
use trefoil_syntax::{FileId, Location, SourceFiles, yaml::YamlNode};

use crate::FrontEnd;

/// A parsed manifest.
#[derive(Clone)]
pub struct ManifestDocument {
    /// Its file.
    pub file: FileId,
    /// Its path, `/`-separated, relative to the project's root, without `.` and inner `..`.
    pub path: String,
    /// Its tree.
    pub root: YamlNode,
    /// Its dialect.
    pub front: &'static dyn FrontEnd,
    /// The number of its project in the load. Ids are not shared between projects.
    pub project: u32,
}

/// Everything a load has read.
#[derive(Clone, Default)]
pub struct Project {
    /// All files with their texts.
    pub files: SourceFiles,
    /// Manifests, in the order of their paths.
    pub documents: Vec<ManifestDocument>,
    /// Texts that manifests refer to (AEGIS `context` files), by path.
    pub attachments: BTreeMap<String, String>,
    /// The text that replaces every agent's own `context` (`--context FILE`).
    pub context: Option<String>,
    /// The text of `agentskills` (`--skills FILE`).
    pub skills: Option<String>,
    /// Model providers that the operator declares, in addition to the known ones.
    pub providers: Vec<String>,
    /// The names that mean an MCP server among the tools of a file's agents: those of the operator's servers that no other
    /// tool of the operator has.
    pub servers: BTreeMap<FileId, BTreeSet<String>>,
}

/// A file that a document needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededFile {
    /// What it is used for.
    pub kind: NeededFileKind,
    /// As written, relative to the document.
    pub path: String,
    /// Where it is written.
    pub location: Location,
}

/// What a needed file is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeededFileKind {
    /// Another manifest (SirenSpec sub-workflows).
    Manifest,
    /// A text (AEGIS context entries).
    Attachment,
    /// Environment variables (SirenSpec `env_file`).
    EnvFile,
}

impl NeededFileKind {
    /// The key that names such a file, for messages.
    pub fn key(self) -> &'static str {
        match self {
            Self::Manifest => "ref",
            Self::Attachment => "context",
            Self::EnvFile => "env_file",
        }
    }
}

impl Project {
    /// Of the documents with the id that another document refers to, those of its project that are nearest to it.
    pub fn nearest_documents(&self, from: usize, found: &[usize]) -> Vec<usize> {
        let Some(from) = self.documents.get(from) else { return found.to_vec() };
        let mut nearest = Vec::new();
        let mut least = usize::MAX;
        for &index in found {
            let Some(document) = self.documents.get(index) else { continue };
            if document.project != from.project {
                continue;
            }
            let distance = distance(&from.path, &document.path);
            if distance < least {
                least = distance;
                nearest.clear();
            }
            if distance == least {
                nearest.push(index);
            }
        }
        nearest
    }
    /// Whether two documents belong to one project.
    pub fn is_same_project(&self, one: usize, other: usize) -> bool {
        match (self.documents.get(one), self.documents.get(other)) {
            (Some(one), Some(other)) => one.project == other.project,
            _ => false,
        }
    }
}

/// The distance of another document: in the same folder, a number of folders above it, or anywhere else.
fn distance(from: &str, to: &str) -> usize {
    let ups = |folders: &[&str]| folders.iter().take_while(|part| **part == "..").count();
    let (from, to) = (folders(from), folders(to));
    let (from_up, to_up) = (ups(&from), ups(&to));
    if from.starts_with(&to) && (from_up == to_up || to.len() > to_up) {
        return from.len() - to.len();
    }
    if to.len() == to_up && to_up >= from_up { from.len() - from_up + to_up - from_up } else { usize::MAX }
}

/// The folders in a path.
fn folders(path: &str) -> Vec<&str> {
    match path.rsplit_once('/') {
        Some((folders, _)) => folders.split('/').collect(),
        None => Vec::new(),
    }
}

/// Converts `reference`, as written in the document at `base`, to a project path: joined, with `.` and inner `..`
/// resolved.
pub fn resolve_path(base: &str, reference: &str) -> String {
    let mut parts: Vec<&str> = if reference.starts_with('/') { Vec::new() } else { base.split('/').collect() };
    if !reference.starts_with('/') {
        parts.pop();
    }
    for segment in reference.split('/') {
        match segment {
            "" | "." => {}
            ".." if !matches!(parts.last(), None | Some(&"..")) => {
                parts.pop();
            }
            _ => parts.push(segment),
        }
    }
    let joined = parts.join("/");
    if reference.starts_with('/') { format!("/{joined}") } else { joined }
}

/// A lowered document.
#[derive(Debug, Clone)]
pub struct LoweredDocument {
    /// The program.
    pub program: Program,
    /// `env_file` paths of the program's workflows, as project paths.
    pub env_files: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn the_nearer_folder_is_the_own_one_then_those_above() {
        assert_eq!(distance("flows/a.yaml", "flows/b.yaml"), 0);
        assert_eq!(distance("flows/deep/a.yaml", "flows/b.yaml"), 1);
        assert_eq!(distance("flows/a.yaml", "b.yaml"), 1);
        assert_eq!(distance("flows/a.yaml", "../b.yaml"), 2);
        assert_eq!(distance("a.yaml", "../b.yaml"), 1);
        assert_eq!(distance("../a.yaml", "../b.yaml"), 0);
        assert_eq!(distance("../a.yaml", "../../b.yaml"), 1);
        assert_eq!(distance("a.yaml", "flows/b.yaml"), usize::MAX);
        assert_eq!(distance("../a.yaml", "b.yaml"), usize::MAX);
        assert_eq!(distance("a.yaml", "../agents/b.yaml"), usize::MAX);
    }
}
