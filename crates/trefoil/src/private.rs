//! Files and folders of the user that nobody else may read or change, whatever the umask.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Creates a folder for this user only, with those above it, if it does not exist.
pub(crate) fn folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Creates a file for this user only. It must not exist.
pub(crate) fn new_file(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().write(true).create_new(true), path)
}

/// Opens a file for writing; creates it for this user only, if it does not exist.
pub(crate) fn file(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().write(true).create(true).truncate(false), path)
}

fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_is_created_is_the_users_alone() {
        let outside = tempfile::tempdir().unwrap();
        let inside = outside.path().join("a").join("b");
        folder(&inside).unwrap();
        folder(&inside).unwrap();
        new_file(&inside.join("new")).unwrap();
        assert!(new_file(&inside.join("new")).is_err());
        file(&inside.join("lock")).unwrap();
        file(&inside.join("lock")).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!([mode(&outside.path().join("a")), mode(&inside)], [0o700; 2]);
        assert_eq!([mode(&inside.join("new")), mode(&inside.join("lock"))], [0o600; 2]);
    }
}
