//! Files below one folder, for people who are not on this machine: they see paths below the folder and never where it is, and
//! replace a text only if it is still the one that they have read.

use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;

use trefoil_runtime::locks::lock;
use trefoil_store::Blob;
use trefoil_template::limits;

use crate::file_access::{AccessRefusal, AllowedFolders, clean_path, folder_real, io_error_reason};
use crate::private_files;

/// Only one text is replaced at a time, so that two people with the same version cannot both be right.
static REPLACING: Mutex<()> = Mutex::new(());

/// The files below a folder.
#[derive(Debug, Clone)]
pub struct FolderFiles {
    /// The folder as it was named, absolute.
    named: PathBuf,
    /// The folder without links.
    real: PathBuf,
    allowed: AllowedFolders,
}

/// The content of a file at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileVersion {
    /// Its text; `None`: it is not UTF-8.
    pub text: Option<String>,
    /// What tells this content from others: its SHA-256, as 64 hexadecimal digits.
    pub version: String,
}

/// How a text compares with a file now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiskState {
    /// The file has this text.
    Same(FileVersion),
    /// The file has another text.
    Changed(FileVersion),
    /// The file does not exist any more.
    Gone,
    /// It is not below the folder, or cannot be read.
    Elsewhere,
}

/// Why a text was not replaced.
#[derive(Debug)]
pub enum SaveRefusal {
    /// The file has another content than the writer knows. `None`: it does not exist any more.
    Changed(Option<FileVersion>),
    /// The path leads out of the folder, or not to a file.
    NoAccess(AccessRefusal),
    /// The new text is longer than a file may be: the limit in bytes.
    TooLong(u64),
    /// The file cannot be written, and why.
    NotWritten(String),
}

impl FileVersion {
    fn from_bytes(bytes: Vec<u8>) -> Self {
        let blob = Blob::new(bytes);
        let text = std::str::from_utf8(blob.content_bytes()).ok().map(str::to_owned);
        Self { text, version: blob.hash().to_string() }
    }
}

impl FolderFiles {
    /// Those below a folder. `None`: there is no such folder.
    pub fn below_folder(folder: &Path) -> Option<Self> {
        let named = clean_path(&std::path::absolute(folder).ok()?);
        let real = folder_real(folder)?;
        let allowed = AllowedFolders::new([real.clone()]);
        Some(Self { named, real, allowed })
    }

    /// The folder, without links.
    pub fn real_folder(&self) -> &Path {
        &self.real
    }

    /// The path below the folder of a file of this machine, with `/` between its parts. `None`: it is not below the folder, or no
    /// client could write it.
    pub fn path_below(&self, file: &Path) -> Option<String> {
        let whole = clean_path(&std::path::absolute(file).ok()?);
        let inside = whole.strip_prefix(&self.named).or_else(|_| whole.strip_prefix(&self.real)).ok()?;
        let parts: Option<Vec<&str>> = inside.iter().map(|part| part.to_str()).collect();
        let path = parts?.join("/");
        if path.is_empty() { None } else { Some(path) }
    }

    /// The file at a path below the folder, without links, whether or not it exists.
    ///
    /// # Errors
    ///
    /// The path leads out of the folder, by its text or by a link.
    pub fn resolve_below(&self, path: &str) -> Result<PathBuf, AccessRefusal> {
        let relative = Path::new(path);
        let is_plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
        if path.is_empty() || !is_plain {
            return Err(AccessRefusal::Outside { to: relative.to_owned(), link: None });
        }
        Ok(self.allowed.resolve_path(&self.real.join(relative))?.real_path().to_owned())
    }

    /// The content of the file at a path below the folder.
    ///
    /// # Errors
    ///
    /// As [`Self::resolve_below`]; it does not exist, or is not a file.
    pub fn read_version(&self, path: &str) -> Result<FileVersion, AccessRefusal> {
        let real = self.resolve_below(path)?;
        let bytes = self.allowed.read_file(&real, limits::TEXT_FILE_BYTES)?;
        Ok(FileVersion::from_bytes(bytes))
    }

    /// How a text compares with the file at a path below the folder.
    pub fn compare_text(&self, path: &str, text: &str) -> DiskState {
        match self.read_version(path) {
            Ok(now) if now.text.as_deref() == Some(text) => DiskState::Same(now),
            Ok(now) => DiskState::Changed(now),
            Err(AccessRefusal::NotThere) => DiskState::Gone,
            Err(_) => DiskState::Elsewhere,
        }
    }

    /// Replaces the text of a file that has this version, as a whole or not at all. Returns the new version. The file keeps its
    /// permissions.
    ///
    /// # Errors
    ///
    /// The file has another content; it is not a file below the folder; it cannot be written.
    pub fn replace_text(&self, path: &str, version: &str, text: &str) -> Result<String, SaveRefusal> {
        let limit = limits::TEXT_FILE_BYTES;
        if text.len() as u64 > limit {
            return Err(SaveRefusal::TooLong(limit));
        }
        let _turn = lock(&REPLACING);
        self.require_version(path, version)?;
        let real = self.resolve_below(path).map_err(SaveRefusal::NoAccess)?;
        let new = private_files::prepare_replacement(&real, text.as_bytes());
        let new = new.map_err(|error| SaveRefusal::NotWritten(io_error_reason(&error)))?;
        // Writing took a while, and others may have changed the file meanwhile.
        self.require_version(path, version)?;
        new.put_in_place().map_err(|error| SaveRefusal::NotWritten(io_error_reason(&error)))?;
        Ok(FileVersion::from_bytes(text.as_bytes().to_vec()).version)
    }

    fn require_version(&self, path: &str, version: &str) -> Result<(), SaveRefusal> {
        match self.read_version(path) {
            Ok(now) if now.version == version => Ok(()),
            Ok(now) => Err(SaveRefusal::Changed(Some(now))),
            Err(AccessRefusal::NotThere) => Err(SaveRefusal::Changed(None)),
            Err(refusal) => Err(SaveRefusal::NoAccess(refusal)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_folder() -> (tempfile::TempDir, FolderFiles) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        std::fs::write(folder.path().join("sub/a.yaml"), "old\n").unwrap();
        let files = FolderFiles::below_folder(folder.path()).unwrap();
        (folder, files)
    }

    #[test]
    fn a_text_is_replaced_only_over_the_version_that_was_read() {
        let (folder, files) = new_folder();
        let file = folder.path().join("sub/a.yaml");
        let path = files.path_below(&file).unwrap();
        assert_eq!(path, "sub/a.yaml");
        let first = files.read_version(&path).unwrap();
        assert_eq!(first.version.len(), 64);
        let second = files.replace_text(&path, &first.version, "new\n").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new\n");
        assert_eq!(files.read_version(&path).unwrap().version, second);
        let stale = files.replace_text(&path, &first.version, "mine\n").unwrap_err();
        let SaveRefusal::Changed(Some(now)) = stale else { panic!("{stale:?}") };
        assert_eq!((now.text.as_deref(), now.version), (Some("new\n"), second.clone()));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new\n");
        std::fs::remove_file(&file).unwrap();
        let gone = files.replace_text(&path, &second, "mine\n").unwrap_err();
        assert!(matches!(gone, SaveRefusal::Changed(None)), "{gone:?}");
        assert!(!file.exists(), "a file that was deleted is not made again");
        let left: Vec<_> = std::fs::read_dir(folder.path().join("sub")).unwrap().collect();
        assert!(left.is_empty(), "no temporary file stays: {left:?}");
    }

    #[test]
    fn a_text_is_compared_with_the_file_now() {
        let (folder, files) = new_folder();
        assert!(matches!(files.compare_text("sub/a.yaml", "old\n"), DiskState::Same(_)));
        assert!(matches!(files.compare_text("sub/a.yaml", "other\n"), DiskState::Changed(_)));
        assert_eq!(files.compare_text("sub/b.yaml", ""), DiskState::Gone);
        assert_eq!(files.compare_text("../a.yaml", ""), DiskState::Elsewhere);
        assert_eq!(files.path_below(&folder.path().join("../x")), None);
        assert_eq!(files.path_below(folder.path()), None);
    }

    #[cfg(unix)]
    #[test]
    fn nothing_outside_is_read_or_written_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let (folder, files) = new_folder();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "s").unwrap();
        symlink(outside.path().join("secret"), folder.path().join("link")).unwrap();
        symlink(outside.path(), folder.path().join("room")).unwrap();
        let version = FileVersion::from_bytes(b"s".to_vec()).version;
        let absolute = outside.path().join("secret").display().to_string();
        for path in ["link", "room/secret", "../secret", "sub/../a.yaml", "./sub/a.yaml", "", &absolute] {
            assert!(files.read_version(path).is_err(), "{path}");
            let refused = files.replace_text(path, &version, "x").unwrap_err();
            assert!(matches!(refused, SaveRefusal::NoAccess(_)), "{path}: {refused:?}");
        }
        assert_eq!(std::fs::read_to_string(outside.path().join("secret")).unwrap(), "s");

        let file = folder.path().join("sub/a.yaml");
        symlink("sub/a.yaml", folder.path().join("inner")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        let version = files.read_version("inner").unwrap().version;
        files.replace_text("inner", &version, "new").unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        assert!(folder.path().join("inner").is_symlink(), "the file is replaced, not the link to it");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o440)).unwrap();
        let version = files.read_version("inner").unwrap().version;
        let refused = files.replace_text("inner", &version, "newer").unwrap_err();
        assert!(matches!(refused, SaveRefusal::NotWritten(_)), "{refused:?}");
    }
}
