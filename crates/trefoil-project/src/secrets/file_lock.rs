//! Files with the user's secrets are changed by one process at a time.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::private_files;

/// A lock: no other process changes the file while this value exists. The system releases it when the process ends.
#[must_use]
pub struct FileLock(#[allow(dead_code, reason = "closing it ends the lock")] File);

/// Waits until no other process changes a file. The lock is on a file next to it, because each change replaces the file itself.
pub fn lock_file(path: &Path) -> io::Result<FileLock> {
    private_files::create_private_folder(private_files::folder_of(path))?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(".lock");
    let file = private_files::open_private_file(Path::new(&beside))?;
    file.lock()?;
    Ok(FileLock(file))
}

/// Removes a file, if it exists.
pub fn remove_file(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
