//! Files of the user's secrets: written whole or not at all, and changed by one process at a time.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Nobody else changes a file while this exists. The system ends it with its process.
#[must_use]
pub struct Exclusive(#[allow(dead_code, reason = "closing it ends the lock")] File);

/// Waits until no other process changes a file. The lock is on a file next to it, because each change replaces the file itself.
pub fn exclusive(path: &Path) -> io::Result<Exclusive> {
    std::fs::create_dir_all(folder_of(path))?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(".lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(beside)?;
    file.lock()?;
    Ok(Exclusive(file))
}

/// Writes a file that only the user can read. After a power failure it is the old or the new one.
pub fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    // Other systems cannot open a folder, and keep its entries anyway.
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
