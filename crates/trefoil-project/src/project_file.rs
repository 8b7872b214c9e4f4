//! Where a project file, `trefoil.toml`, is: the one in the folder of a manifest, or in the nearest folder above it.
//! `load/project` and `settings` read what is in it.

use std::path::{Path, PathBuf};

use crate::file_access::{AccessRefusal, FileAccess, PROJECT_FILE};

/// The rule for mistakes in a project file.
pub const RULE: &str = "project-file";

/// A project file: its path, and its displayed name.
pub(crate) struct ProjectPath {
    pub path: PathBuf,
    pub name: String,
}

/// The real folder of a file. A link has the project of its target, whatever folder it is in: otherwise a file of
/// another project could be given the permissions of this one.
pub(crate) fn manifest_folder(file_access: &FileAccess, file: &Path) -> Option<PathBuf> {
    file_access.folder_real(file_access.resolve_links(file).parent()?)
}

/// The project file of a real folder.
pub(crate) fn find_project(file_access: &FileAccess, folder: &Path) -> Option<ProjectPath> {
    let path = file_access.find_up(folder, PROJECT_FILE)?;
    let mut shown = path.as_path();
    if let Some(here) = file_access.folder_real(Path::new(""))
        && let Ok(relative) = path.strip_prefix(here)
    {
        shown = relative;
    }
    let name = shown.display().to_string();
    Some(ProjectPath { path, name })
}

/// The maximum size of a project file in bytes.
const BYTES: u64 = 1 << 20;

/// The contents of a project file. It is untrusted like any other file, so a link must not lead out of the folder.
pub(crate) fn project_bytes(file_access: &FileAccess, path: &Path) -> Result<Vec<u8>, AccessRefusal> {
    let folder = path.parent().map(Path::to_owned);
    file_access.allowed_folders(folder).read_file(path, BYTES)
}
