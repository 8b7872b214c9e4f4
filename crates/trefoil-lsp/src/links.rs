//! Document links: paths in a manifest to files of the project.

use std::path::PathBuf;

use trefoil_project::file_access;
use trefoil_syntax::yaml::{YamlNodeKind, YamlText};
use trefoil_syntax::{FileId, Span};

use crate::analysis::FolderAnalysis;

/// Keys whose values are paths, in any dialect. For other keys, only files that were read are linked, because a word
/// with a dot need not be a path.
const PATHS: &[&str] = &["env_file", "path", "ref", "file", "schema_file"];

/// A path and its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathLink {
    /// The path as it is written.
    pub span: Span,
    /// The file.
    pub target: PathBuf,
}

/// The links of a file, in its order.
pub fn find_links(analysis: &FolderAnalysis, file: FileId) -> Vec<PathLink> {
    let Some(root) = analysis.manifest_tree(file) else { return Vec::new() };
    let mut out = Vec::new();
    let mut stack = vec![(root, "")];
    while let Some((node, key)) = stack.pop() {
        match &*node.kind {
            YamlNodeKind::Mapping(mapping) => stack.extend(mapping.entries.iter().map(|e| (&e.value, &*e.key.value))),
            YamlNodeKind::Sequence(items) => stack.extend(items.iter().map(|n| (n, key))),
            YamlNodeKind::Scalar(_, text) => {
                if let Some(target) = link_target(analysis, file, text, PATHS.contains(&key)) {
                    out.push(PathLink { span: text.content_span(), target });
                }
            }
        }
    }
    out.sort_by_key(|l| l.span);
    out.dedup();
    out
}

/// The target of a path: a file that was read, or one in the folder of this file or below it.
pub fn link_target(analysis: &FolderAnalysis, file: FileId, text: &YamlText, is_path: bool) -> Option<PathBuf> {
    let written = &*text.value;
    if !written.contains(['.', '/']) || written.contains(['\n', '{', ':']) || written.starts_with('/') {
        return None;
    }
    let own = std::path::Path::new(analysis.source_file(file)?.name());
    let folder = file_access::folder_real(own.parent()?)?;
    let path = file_access::clean_path(&folder.join(written));
    if analysis.find_file(&path).is_some() {
        return Some(path);
    }
    // Nothing outside the folder is accessed, not even to test whether it exists or through a symbolic link.
    if !is_path || !path.starts_with(&folder) || !file_access::is_file(&path) {
        return None;
    }
    let real = file_access::resolve_links(&path);
    if real.starts_with(&folder) { Some(real) } else { None }
}
