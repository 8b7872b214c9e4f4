//! Checks what exists at paths named by the operator, without reading it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Whether a path is a folder.
pub fn is_folder(path: &Path) -> bool {
    path.is_dir()
}

/// What a path is on the disk: another folder with the same name has another identity. `None`: it does not exist, or the system
/// does not tell.
pub fn path_identity(path: &Path) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let meta = std::fs::metadata(path).ok()?;
        Some((meta.dev(), meta.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// Whether a path is a file.
pub fn is_file(path: &Path) -> bool {
    path.is_file()
}

/// Whether a path exists.
pub fn path_exists(path: &Path) -> bool {
    path.exists()
}

/// Why a program that the operator names cannot be started, as far as that is known without starting it: it is not in `PATH`, or,
/// if its name is a path, not in the folder in which it starts.
#[allow(clippy::disallowed_methods, reason = "the operator's programs are searched in `PATH`")]
pub fn missing_program(name: &str, folder: Option<&Path>) -> Option<String> {
    let is_program =
        |path: &Path| is_executable(path) || is_executable(&path.with_added_extension(std::env::consts::EXE_EXTENSION));
    if name.contains(['/', std::path::MAIN_SEPARATOR]) {
        let inside = name.strip_prefix("./").unwrap_or(name);
        let path = match folder {
            Some(folder) => folder.join(inside),
            None => PathBuf::from(name),
        };
        if is_program(&path) {
            return None;
        }
        let why = if path_exists(&path) { "cannot be executed" } else { "does not exist" };
        return Some(format!("`{}` {why}", path.display()));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    for folder in std::env::split_paths(&folders) {
        if is_program(&folder.join(name)) {
            return None;
        }
    }
    Some(format!("`{name}` is in no folder of `PATH`"))
}

fn is_executable(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    {
        path.is_file()
    }
}

/// A path with links resolved. If the file does not exist (an unsaved buffer), the links of its folder are resolved.
pub fn resolve_links(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent().and_then(folder_real), path.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}

/// A folder with links resolved; the empty path is the current folder.
pub fn folder_real(folder: &Path) -> Option<PathBuf> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    folder.canonicalize().ok()
}

/// The file with this name in the folder or in the nearest one above it that belongs to the same project.
pub fn find_up(folder: &Path, name: &str) -> Option<PathBuf> {
    for dir in private_ancestors(folder) {
        let path = dir.join(name);
        if path.exists() {
            return Some(path);
        }
        if super::is_project(dir) {
            return None;
        }
    }
    None
}

/// A folder and those above it, up to the first world-writable one. Anybody could have put a file there, and could have put
/// there what is below it: that does not belong to what is above.
pub fn private_ancestors(folder: &Path) -> impl Iterator<Item = &Path> {
    folder.ancestors().take_while(|dir| !is_everybodys(dir))
}

/// The file with this name that would have been found, if a folder were not world-writable.
pub fn find_exposed_file(folder: &Path, name: &str) -> Option<PathBuf> {
    let path = folder.ancestors().find(|dir| is_everybodys(dir))?.join(name);
    if path.exists() { Some(path) } else { None }
}

/// What tells whether a path has changed since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathStamp {
    /// It does not exist.
    Missing,
    /// When a file was last changed, and its size.
    File(Option<SystemTime>, u64),
    /// The manifests, project files and folders in a folder. Others may write to the same folder, such as the store.
    Folder(BTreeSet<OsString>),
}

/// The current state of a path.
pub fn read_stamp(path: &Path) -> PathStamp {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    match path.metadata() {
        Err(_) => PathStamp::Missing,
        Ok(meta) if meta.is_dir() => {
            let mut names = BTreeSet::new();
            for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
                if has_manifest_extension(&entry.path()) || matches!(entry.file_type(), Ok(sort) if !sort.is_file()) {
                    names.insert(entry.file_name());
                }
            }
            PathStamp::Folder(names)
        }
        Ok(meta) => PathStamp::File(meta.modified().ok(), meta.len()),
    }
}

/// Whether a file may be a manifest or a project file.
fn has_manifest_extension(path: &Path) -> bool {
    let Some(extension) = path.extension() else { return false };
    let Some(extension) = extension.to_str() else { return false };
    ["yaml", "yml", "toml"].contains(&&*extension.to_lowercase())
}

/// The most similar name in the folder of a mistyped path.
pub fn name_like(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let is_current = folder.as_os_str().is_empty();
    let entries = std::fs::read_dir(if is_current { Path::new(".") } else { folder }).ok()?;
    let mut names = Vec::new();
    for entry in entries.flatten().take(1000) {
        names.extend(entry.file_name().into_string());
    }
    let near = trefoil_syntax::suggestions::nearest_name(name, names.iter().map(String::as_str))?;
    Some(if is_current { near.to_owned() } else { folder.join(near).display().to_string() })
}

/// The YAML files directly in a folder, up to a maximum number.
pub fn yaml_files(folder: &Path, most: usize) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).filter(|path| is_yaml(path)).take(most).collect()
}

/// Whether the name of a file ends with `.yaml` or `.yml`.
pub fn is_yaml(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    extension.eq_ignore_ascii_case("yaml") || extension.eq_ignore_ascii_case("yml")
}

/// Whether a folder is world-writable, like `/tmp`.
#[cfg(unix)]
pub fn is_everybodys(folder: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    folder.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o002 != 0)
}

/// Whether a folder is world-writable.
#[cfg(not(unix))]
pub fn is_everybodys(_: &Path) -> bool {
    false
}
