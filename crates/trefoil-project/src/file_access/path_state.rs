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
        std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
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
pub fn is_there(path: &Path) -> bool {
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
        let path = folder.map_or_else(|| PathBuf::from(name), |folder| folder.join(inside));
        let why = if is_there(&path) { "cannot be executed" } else { "does not exist" };
        return (!is_program(&path)).then(|| format!("`{}` {why}", path.display()));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).any(|folder| is_program(&folder.join(name)));
    (!found).then(|| format!("`{name}` is in no folder of `PATH`"))
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
    let nearest = private_ancestors(folder)
        .map(|dir| (dir, dir.join(name)))
        .find(|(dir, path)| path.exists() || super::is_project(dir));
    nearest.map(|(_, path)| path).filter(|path| path.exists())
}

/// A folder and those above it, up to the first world-writable one. Anybody could have put a file there, and could have put
/// there what is below it: that does not belong to what is above.
pub fn private_ancestors(folder: &Path) -> impl Iterator<Item = &Path> {
    folder.ancestors().take_while(|dir| !is_everybodys(dir))
}

/// The file with this name that would have been found, if a folder were not world-writable.
pub fn find_exposed_file(folder: &Path, name: &str) -> Option<PathBuf> {
    folder.ancestors().find(|dir| is_everybodys(dir)).map(|dir| dir.join(name)).filter(|path| path.exists())
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
            let concerns = |entry: &std::fs::DirEntry| {
                let extension = entry.path().extension().and_then(|e| e.to_str()).unwrap_or_default().to_lowercase();
                ["yaml", "yml", "toml"].contains(&&*extension) || entry.file_type().is_ok_and(|sort| !sort.is_file())
            };
            let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
            PathStamp::Folder(entries.filter(concerns).map(|entry| entry.file_name()).collect())
        }
        Ok(meta) => PathStamp::File(meta.modified().ok(), meta.len()),
    }
}

/// The most similar name in the folder of a mistyped path.
pub fn name_like(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let dir = path.parent().filter(|p| !p.as_os_str().is_empty());
    let names: Vec<String> = std::fs::read_dir(dir.unwrap_or(Path::new(".")))
        .ok()?
        .flatten()
        .take(1000)
        .filter_map(|e| e.file_name().into_string().ok())
        .collect();
    let near = trefoil_syntax::suggestions::nearest_name(name, names.iter().map(String::as_str))?;
    Some(dir.map_or_else(|| near.to_owned(), |d| d.join(near).display().to_string()))
}

/// The YAML files directly in a folder, up to a maximum number.
pub fn yaml_files(folder: &Path, most: usize) -> Vec<PathBuf> {
    let yaml = |path: &PathBuf| {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        extension.eq_ignore_ascii_case("yaml") || extension.eq_ignore_ascii_case("yml")
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(yaml).take(most).collect()
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
