//! The only module through which files are read.
//!
//! There are two kinds of paths. A path named by the *operator* (a target, `--context FILE`) may be anywhere, and only
//! has to be a file of acceptable size ([`read_named_file`]). A path in a *file* (a manifest's `ref`, `env_file` or `context`, a
//! link in a folder) is untrusted: it is opened through [`AllowedFolders`], the real folders that such paths may lead into,
//! which are the file's project and the folders that the operator allows. Links are followed one step at a time, each
//! step within these folders, and the file that is opened is the one that was checked, so that it cannot be exchanged
//! in between (on Unix; on other systems it is checked just before it is opened). Nothing outside is revealed, not even
//! whether it exists.
//!
//! Files that an embedder passes in memory use the same [`FileAccess`], which then accesses nothing else.
//!
//! `cargo xtask tidy` checks that no other code reads files.

mod access;
mod memory;
mod opening;
mod path_cleaning;
mod path_state;
mod refusal;
mod resolution;

pub use access::FileAccess;
pub use memory::MemoryFiles;
pub use opening::{OpenedFile, ResolvedPath};
pub use path_cleaning::clean_path;
pub use path_state::{
    PathStamp, find_exposed_file, find_up, folder_real, is_file, is_folder, is_yaml, missing_program, name_like,
    path_exists, path_identity, read_stamp, resolve_links, yaml_files,
};
pub use refusal::{AccessRefusal, io_error_reason};
pub use resolution::{AllowedFolders, PathSteps, ResolvedEntry};

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the file with the settings of a project.
pub const PROJECT_FILE: &str = "trefoil.toml";
/// The files and folders that mark the folder of a project.
const MARKS: [&str; 2] = [PROJECT_FILE, ".git"];

/// Reads a file that the operator named. Never reads more than `limit` bytes, whatever the size of the file.
pub fn read_named_file(path: &Path, limit: u64) -> Result<Vec<u8>, AccessRefusal> {
    let meta = std::fs::metadata(path).map_err(AccessRefusal::from_io)?;
    if meta.is_dir() {
        return Err(AccessRefusal::NotAFile("it is a folder"));
    }
    if !meta.is_file() && !is_own(path) {
        return Err(AccessRefusal::NotAFile("it is neither a file nor a folder"));
    }
    if meta.len() > limit {
        return Err(AccessRefusal::TooLarge { size: meta.len(), limit });
    }
    read_limited(std::fs::File::open(path).map_err(AccessRefusal::from_io)?, meta.len(), limit)
}

/// The contents of an opened reader, up to a limit. `size` is the expected size.
pub fn read_limited(from: impl Read, size: u64, limit: u64) -> Result<Vec<u8>, AccessRefusal> {
    // One extra byte, so that the buffer does not grow just to detect the end.
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(limit)).unwrap_or_default().saturating_add(1));
    from.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(AccessRefusal::from_io)?;
    let size = bytes.len() as u64;
    if size > limit { Err(AccessRefusal::TooLarge { size, limit }) } else { Ok(bytes) }
}

/// Whether a path is an open file of this process, as a shell passes the output of another command. Other pipes may
/// never be written to, so reading them would block.
fn is_own(path: &Path) -> bool {
    ["/dev/fd", "/dev/stdin", "/proc/self/fd"].iter().any(|own| path.starts_with(own))
}

/// The project folder of the files in a real folder: the nearest folder with a mark; without one, the folder that was
/// named as a whole, if any; otherwise the folder itself.
pub fn project_of(folder: &Path, whole: Option<&Path>) -> PathBuf {
    if let Some(project) = path_state::private_ancestors(folder).find(|dir| is_project(dir)) {
        return project.to_owned();
    }
    match whole {
        Some(whole) if folder.starts_with(whole) => whole.to_owned(),
        _ => folder.to_owned(),
    }
}

/// Whether a folder is a project. A repository at or above the home folder is not, because all of the user's files
/// would be one project. Neither is a world-writable folder, because anybody could have put the mark there.
pub fn is_project(folder: &Path) -> bool {
    let [own, repository] = MARKS.map(|mark| folder.join(mark).exists());
    let contains_home = || matches!(etcetera::home_dir(), Ok(home) if resolve_links(&home).starts_with(folder));
    (own || repository && !contains_home()) && !path_state::is_everybodys(folder)
}

/// A file named in a manifest, to be read when its content is needed, by the same rules as when it was found.
#[derive(Debug, Clone)]
pub struct NamedFile {
    /// The path, for messages.
    pub path: PathBuf,
    at: PathBuf,
    allowed_folders: Arc<AllowedFolders>,
    limit: u64,
}

impl NamedFile {
    /// A file that may be read up to a limit: its name in messages, and its path.
    pub fn new(path: PathBuf, at: PathBuf, allowed_folders: Arc<AllowedFolders>, limit: u64) -> Self {
        Self { path, at, allowed_folders, limit }
    }
    /// Its text.
    pub fn text(&self) -> Result<String, AccessRefusal> {
        let bytes = self.allowed_folders.read_file(&self.at, self.limit)?;
        String::from_utf8(bytes).map_err(|_| AccessRefusal::NotAFile("it is not UTF-8 text"))
    }
}
