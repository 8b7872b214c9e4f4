//! Which project files the user has trusted: a list of SHA-256 hashes and paths in the format of `sha256sum`, in the
//! user's configuration folder. A changed file is not trusted any more.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use trefoil_syntax::SourceFile;

use crate::file_access::{self, FileAccess};
use crate::private_files;
use crate::project_file::{find_project, project_bytes};

/// The name of the list.
pub(super) const LIST: &str = "trusted";
/// The maximum size of the list in bytes.
const BYTES: u64 = 1 << 20;

/// Whether a project file is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustStanding {
    /// Trusted in its current state.
    Trusted,
    /// Trusted once, but changed since.
    Changed,
    /// Never trusted.
    Unknown,
}

/// Why trust could not be stored or removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// There is no project file.
    #[error("the project of `{0}` has no `trefoil.toml`")]
    NoProject(String),
    /// Anybody could have changed the project file.
    #[error("anybody can write to the folder of `{0}`, so it cannot be trusted; remove that permission: `chmod o-w`")]
    Exposed(String),
    /// There is no folder in which to store it.
    #[error("no configuration folder: set `TREFOIL_CONFIG_DIR`")]
    NoFolder,
    /// A file could not be read or written.
    #[error("`{0}`: {1}")]
    File(String, String),
}

/// The list of trusted project files.
#[derive(Debug, Default)]
pub struct Trust {
    folder: Option<PathBuf>,
    hashes: BTreeMap<PathBuf, String>,
}

impl Trust {
    /// The list in a configuration folder. If it cannot be read, nothing is trusted.
    pub fn open(folder: Option<PathBuf>) -> Self {
        let mut hashes = BTreeMap::new();
        if let Some(folder) = &folder
            && let Ok(bytes) = file_access::read_named_file(&folder.join(LIST), BYTES)
            && let Ok(text) = String::from_utf8(bytes)
        {
            for line in text.lines() {
                if let Some((hash, path)) = line.split_once("  ") {
                    hashes.insert(PathBuf::from(path), hash.to_owned());
                }
            }
        }
        Self { folder, hashes }
    }

    /// Whether the project file with these bytes is trusted. `path` has no links.
    pub fn file_standing(&self, path: &Path, bytes: &[u8]) -> TrustStanding {
        match self.hashes.get(path) {
            Some(known) if *known == hash(bytes) => TrustStanding::Trusted,
            Some(_) => TrustStanding::Changed,
            None => TrustStanding::Unknown,
        }
    }

    /// Whether a file was trusted in any state.
    pub(super) fn is_listed(&self, path: &Path) -> bool {
        self.hashes.contains_key(path)
    }

    /// All project files that were trusted, with their current state.
    pub fn list_files(&self) -> Vec<(&Path, TrustStanding)> {
        let mut files = Vec::new();
        for path in self.hashes.keys() {
            let standing = match project_bytes(&FileAccess::Disk, path) {
                Ok(bytes) => self.file_standing(path, &bytes),
                Err(_) => TrustStanding::Changed,
            };
            files.push((path.as_path(), standing));
        }
        files
    }

    /// Trusts the project file of a folder in its current state; returns its path and its text.
    pub fn add_folder(&mut self, folder: &Path) -> Result<(PathBuf, SourceFile), TrustError> {
        let path = project_file(folder)?;
        let failed = |why: file_access::AccessRefusal| TrustError::File(path.display().to_string(), why.reason_text());
        let bytes = project_bytes(&FileAccess::Disk, &path).map_err(failed)?;
        self.hashes.insert(path.clone(), hash(&bytes));
        self.save()?;
        let text = SourceFile::from_bytes(path.display().to_string(), bytes);
        Ok((path, text))
    }

    /// Removes trust; returns the path, and whether the file was trusted.
    pub fn remove(&mut self, folder: &Path) -> Result<(PathBuf, bool), TrustError> {
        // The file may have been deleted.
        let gone = file_access::resolve_links(folder).join(file_access::PROJECT_FILE);
        let path = project_file(folder).unwrap_or(gone);
        let was = self.hashes.remove(&path).is_some();
        self.save()?;
        Ok((path, was))
    }

    fn save(&self) -> Result<(), TrustError> {
        let folder = self.folder.as_deref().ok_or(TrustError::NoFolder)?;
        let path = folder.join(LIST);
        let failed = |error: std::io::Error| TrustError::File(path.display().to_string(), error.to_string());
        let mut text = String::new();
        for (path, hash) in &self.hashes {
            let _ = writeln!(text, "{hash}  {}", path.display());
        }
        // Half a list would remove trust.
        private_files::replace_private_file(&path, text.as_bytes()).map_err(failed)
    }
}

/// The project file that applies to a folder, without links.
fn project_file(folder: &Path) -> Result<PathBuf, TrustError> {
    let none = || TrustError::NoProject(folder.display().to_string());
    let Some(real) = file_access::folder_real(folder) else { return Err(none()) };
    let Some(found) = find_project(&FileAccess::Disk, &real) else {
        return Err(match file_access::find_exposed_file(&real, file_access::PROJECT_FILE) {
            Some(path) => TrustError::Exposed(path.display().to_string()),
            None => none(),
        });
    };
    // A line of the list contains one path.
    match found.path.to_str() {
        Some(text) if !text.contains(['\n', '\r']) => Ok(found.path),
        _ => Err(TrustError::File(
            found.path.display().to_string(),
            "its path has characters that cannot be stored".to_owned(),
        )),
    }
}

fn hash(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
