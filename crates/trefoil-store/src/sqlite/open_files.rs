//! Whether the file that is written is still the one that others would open.
//!
//! On most systems a file in use can be deleted, moved, replaced or cut, and writing to it goes on without an error: into a file
//! that nobody will find. So every commit is followed by a look at the names.

use std::fs::Metadata;
use std::sync::Mutex;

use rusqlite::Connection;

use super::store_file::StoreFile;
use crate::error::{StoreError, StoreResult};
use trefoil_runtime::locks::lock;

/// The files of an open store, as they were last seen.
#[derive(Default)]
pub struct OpenFileCheck(Mutex<OpenFileState>);

#[derive(Default)]
struct OpenFileState {
    file: Option<DiskFileId>,
    log: Option<DiskFileId>,
    bytes: u64,
    /// Whether the last look failed.
    is_lost: bool,
}

/// What identifies a file, whatever its name. Without such numbers, only its existence counts.
#[derive(PartialEq)]
struct DiskFileId(u64, u64);

impl DiskFileId {
    #[cfg(unix)]
    fn from_metadata(file: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self(file.dev(), file.ino())
    }
    #[cfg(not(unix))]
    fn from_metadata(_: &Metadata) -> Self {
        Self(0, 0)
    }
}

impl OpenFileCheck {
    /// Before a commit: fails if the files were lost at the last look and have not come back. Only the first commit after a loss is
    /// done and fails; those after it are not even begun.
    pub fn check_lost(&self, c: &Connection, file: &StoreFile, page: u32) -> StoreResult<()> {
        if lock(&self.0).is_lost { self.check_files(c, file, page) } else { Ok(()) }
    }

    /// Fails if the names of the files are not those of the first look any more. Needs no connection.
    pub fn check_names(&self, file: &StoreFile) -> StoreResult<()> {
        let seen = lock(&self.0);
        let replaced = || StoreError::Replaced { path: file.path.clone() };
        let metadata = std::fs::metadata(&file.path).map_err(|_| replaced())?;
        let log_metadata = std::fs::metadata(file.wal_path()).ok();
        let is_known = |seen: &Option<DiskFileId>, found: Option<&Metadata>| {
            seen.is_none() || *seen == found.map(DiskFileId::from_metadata)
        };
        let is_same_file = is_known(&seen.file, Some(&metadata)) && is_known(&seen.log, log_metadata.as_ref());
        if is_same_file && metadata.len() > 0 { Ok(()) } else { Err(replaced()) }
    }

    /// Fails if the files of the store are not those of the first look any more.
    pub fn check_files(&self, c: &Connection, file: &StoreFile, page: u32) -> StoreResult<()> {
        let mut seen = lock(&self.0);
        let found = seen.look_at_files(c, file, page);
        seen.is_lost = found.is_err();
        found
    }
}

impl OpenFileState {
    fn look_at_files(&mut self, c: &Connection, file: &StoreFile, page: u32) -> StoreResult<()> {
        let seen = self;
        let replaced = || StoreError::Replaced { path: file.path.clone() };
        let metadata = std::fs::metadata(&file.path).map_err(|_| replaced())?;
        let log_metadata = std::fs::metadata(file.wal_path()).ok();
        let bytes = metadata.len();
        let is_cut = bytes < seen.bytes && is_cut(c, file, bytes, page);
        let is_same_file =
            is_same(&mut seen.file, Some(&metadata)) && is_same(&mut seen.log, log_metadata.as_ref()) && bytes > 0;
        if !is_same_file || is_cut {
            return Err(replaced());
        }
        seen.bytes = bytes;
        Ok(())
    }
}

fn is_same(seen: &mut Option<DiskFileId>, file: Option<&Metadata>) -> bool {
    match (&seen, file.map(DiskFileId::from_metadata)) {
        (Some(seen), found) => Some(seen) == found.as_ref(),
        (None, found) => {
            *seen = found;
            true
        }
    }
}

/// Whether a file that has become shorter lacks pages. SQLite may have shortened it: then pages that the writer knows of are in the
/// log. A connection without a cache finds out. The file itself is not opened, because closing it would end SQLite's locks on it.
fn is_cut(c: &Connection, file: &StoreFile, bytes: u64, page: u32) -> bool {
    let pages = match c.query_row("PRAGMA page_count", [], |row| row.get::<_, i64>(0)) {
        Ok(pages) => super::uint(pages),
        Err(_) => u64::MAX,
    };
    if pages.saturating_mul(u64::from(page)) <= bytes {
        return false;
    }
    let Ok(reader) = file.open_reader() else { return true };
    let found = reader.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    !matches!(found, Ok(found) if found == "ok")
}
