//! Files and folders of the user that nobody else may read or change, whatever the umask.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

/// Creates a folder for this user only, with those above it, if it does not exist.
pub(crate) fn create_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Opens a file for writing; creates it for this user only, if it does not exist.
pub(crate) fn open_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Replaces or creates a file that only this user can read, and the folders above it. After a power failure, the file is
/// either the old or the new one.
pub(crate) fn replace_private_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create_private_folder(folder_of(path))?;
    write_whole(path, bytes, None)?;
    // Other systems cannot open a folder, and do not need this.
    #[cfg(unix)]
    File::open(folder_of(path))?.sync_all()?;
    Ok(())
}

/// Replaces or creates a file as a whole or not at all. Without permissions, only this user can read it.
pub(crate) fn write_whole(path: &Path, bytes: &[u8], permissions: Option<Permissions>) -> io::Result<()> {
    let mut file = create_temporary_file(path)?;
    file.write_all(bytes)?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// A text that is whole beside a file, and may take its place.
#[derive(Debug)]
pub(crate) struct PreparedReplacement {
    file: NamedTempFile,
    path: std::path::PathBuf,
}

/// Writes a text beside an existing file, with its permissions. If it does not take its place, it is removed.
pub(crate) fn prepare_replacement(path: &Path, bytes: &[u8]) -> io::Result<PreparedReplacement> {
    let permissions = std::fs::metadata(path)?.permissions();
    if permissions.readonly() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
    }
    let mut file = create_temporary_file(path)?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(permissions)?;
    file.as_file().sync_all()?;
    Ok(PreparedReplacement { file, path: path.to_owned() })
}

impl PreparedReplacement {
    /// Replaces the file.
    pub(crate) fn put_in_place(self) -> io::Result<()> {
        self.file.persist(&self.path)?;
        // Other systems cannot open a folder, and do not need this.
        #[cfg(unix)]
        File::open(folder_of(&self.path))?.sync_all()?;
        Ok(())
    }
}

/// A temporary file for this user only, in the folder of another file, which it may replace: renaming only works within a
/// file system. It is removed if it does not.
pub(crate) fn create_temporary_file(path: &Path) -> io::Result<NamedTempFile> {
    // Without its name, which means nothing to a user.
    let bare = |failed: io::Error| failed.raw_os_error().map_or(failed, io::Error::from_raw_os_error);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut named = tempfile::Builder::new();
    named.prefix(&format!(".{name}.")).suffix(".tmp").tempfile_in(folder_of(path)).map_err(bare)
}

/// The folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_is_created_is_the_users_alone() {
        let outside = tempfile::tempdir().unwrap();
        let inside = outside.path().join("a").join("b");
        create_private_folder(&inside).unwrap();
        create_private_folder(&inside).unwrap();
        open_private_file(&inside.join("lock")).unwrap();
        open_private_file(&inside.join("lock")).unwrap();
        replace_private_file(&inside.join("whole"), b"old").unwrap();
        replace_private_file(&inside.join("whole"), b"new").unwrap();
        assert_eq!(std::fs::read(inside.join("whole")).unwrap(), b"new");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!([mode(&outside.path().join("a")), mode(&inside)], [0o700; 2]);
        assert_eq!(["lock", "whole"].map(|name| mode(&inside.join(name))), [0o600; 2]);
    }
}
