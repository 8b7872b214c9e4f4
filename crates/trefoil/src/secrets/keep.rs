//! Stores files with the user's secrets: written as a whole or not at all, and changed by one process at a time.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use crate::private;

/// A lock: no other process changes the file while this value exists. The system releases it when the process ends.
#[must_use]
pub struct Exclusive(#[allow(dead_code, reason = "closing it ends the lock")] File);

/// Waits until no other process changes a file. The lock is on a file next to it, because each change replaces the file itself.
pub fn exclusive(path: &Path) -> io::Result<Exclusive> {
    private::folder(folder_of(path))?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(".lock");
    let file = private::file(Path::new(&beside))?;
    file.lock()?;
    Ok(Exclusive(file))
}

/// Writes a file that only the user can read. After a power failure, the file is either the old or the new one.
pub fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    private::folder(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    // Other systems cannot open a folder, and do not need this.
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    Ok(())
}

/// Removes a file, if it exists.
pub fn remove(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path).or_else(|why| if why.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(why) })
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
