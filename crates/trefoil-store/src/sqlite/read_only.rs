//! Read-only connections, also to files and folders without write access, and to stores that other processes write.
//!
//! SQLite reads a write-ahead log through an index file next to it (`-shm`), which even a reader must create. If it
//! cannot, the log is read into an index in memory, without locks; without a log, the file is opened as immutable. After each
//! such read, the file is checked for changes.
//!
//! What only reads changes nothing: a log that a killed process has left stays where it is.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::fault::{SqliteError, SqliteResult};
use super::format::APPLICATION;
use super::opening::{PAGE, drop_empty_log, set_busy_timeout, set_safety_pragmas};
use super::store_file::StoreFile;
use crate::error::{StoreError, StoreResult};

/// The number of bytes of the shortest database: one page of the smallest size.
const SHORTEST: u64 = 512;
/// The offset of the application id in the file.
const APPLICATION_AT: u64 = 68;

/// A read-only connection.
pub struct SqliteReader {
    /// The connection.
    pub connection: Connection,
    /// The state of the file when it was opened without locks; `None` if it was opened normally.
    frozen: Option<SqliteFileStamp>,
    /// The log, if closing the connection must not move it into the file.
    log: Option<PathBuf>,
}

impl Drop for SqliteReader {
    fn drop(&mut self) {
        self.log.iter().for_each(|log| drop_empty_log(&self.connection, log));
    }
}

/// The properties of a file that change when it is written.
#[derive(Debug, PartialEq, Eq)]
struct SqliteFileStamp {
    bytes: u64,
    changed: Option<SystemTime>,
    log: u64,
}

impl SqliteFileStamp {
    fn from_file(file: &StoreFile) -> Self {
        let metadata = std::fs::metadata(&file.path).ok();
        let log = std::fs::metadata(file.wal_path()).map_or(0, |log| log.len());
        let changed = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
        Self { bytes: metadata.map_or(0, |metadata| metadata.len()), changed, log }
    }
}

impl SqliteReader {
    /// A connection to a store that this process also writes.
    pub fn beside_writer(connection: Connection) -> Self {
        Self { connection, frozen: None, log: None }
    }

    /// Whether everything read with this connection is from one state of the file.
    pub fn is_sound(&self, file: &StoreFile) -> bool {
        self.frozen.as_ref().is_none_or(|stamp| *stamp == SqliteFileStamp::from_file(file))
    }
}

impl StoreFile {
    /// Opens a connection that only reads.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] if there is no store yet.
    pub fn open_read_only(&self) -> StoreResult<SqliteReader> {
        self.is_store()?;
        // A connection with write access removes the files that it had to create.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        match self.open_querying(&self.path, flags, false) {
            Ok(connection) => Ok(SqliteReader { connection, frozen: None, log: Some(self.wal_path()) }),
            Err(fault) if may_not_create(&fault) => self.frozen(),
            Err(fault @ SqliteError::Store(_)) => Err(fault.at_file(self)),
            Err(fault) => Err(self.as_damaged(fault.at_file(self))),
        }
    }

    /// Opens the file without locks, and without creating anything.
    fn frozen(&self) -> StoreResult<SqliteReader> {
        let stamp = SqliteFileStamp::from_file(self);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let has_log = stamp.log > 0;
        let opened = self.open_querying(Path::new(&unlocked_uri(&self.path, has_log)), flags, has_log);
        match opened {
            Err(fault @ SqliteError::Store(_)) => Err(fault.at_file(self)),
            Err(fault) => match fault.at_file(self) {
                StoreError::Open { .. } | StoreError::Io { .. } if has_log => {
                    Err(StoreError::Log { path: self.path.clone(), log: self.wal_path() })
                }
                error => Err(self.as_damaged(error)),
            },
            Ok(connection) => Ok(SqliteReader { connection, frozen: Some(stamp), log: None }),
        }
    }

    fn open_querying(&self, path: &Path, flags: OpenFlags, alone: bool) -> SqliteResult<Connection> {
        let c = Connection::open_with_flags(path, flags)?;
        self.check_before_use(&c, || {
            set_safety_pragmas(&c)?;
            c.execute_batch("PRAGMA query_only = ON")?;
            if alone {
                // Set before anything is read, this keeps the index of the log in memory.
                c.query_row("PRAGMA locking_mode = EXCLUSIVE", [], |_| Ok(()))?;
            }
            set_busy_timeout(&c, &self.options)?;
            match self.read_format(&c)? {
                0 => Err(StoreError::Missing { path: self.path.clone() }.into()),
                _ => Ok(()),
            }
        })?;
        c.set_prepared_statement_cache_capacity(64);
        Ok(c)
    }

    /// Checks that the name is not one of SQLite's own, and that the file is a regular one, if it exists: opening a pipe would
    /// wait for whoever writes to it. A change that another program has not ended would be taken back by whoever opens the file
    /// first; a store has no such journal, but for the moment in which its first page is created.
    pub fn is_openable(&self) -> StoreResult<()> {
        let path = self.path.clone();
        if path.as_os_str() == ":memory:" {
            return Err(StoreError::Memory);
        }
        match std::fs::metadata(&path) {
            Ok(file) if file.is_dir() => Err(StoreError::Open { path, why: "it is a folder".to_owned() }),
            Ok(file) if !file.is_file() => Err(StoreError::Open { path, why: "it is not a regular file".to_owned() }),
            // SQLite would take it for an empty one, and write over it.
            Ok(file)
                if (1..SHORTEST).contains(&file.len()) && !self.wal_path().exists() && !self.has_rollback_journal() =>
            {
                Err(StoreError::Foreign { path, why: "it is too short for a database".to_owned() })
            }
            Ok(file) if file.len() > u64::from(PAGE) && self.has_rollback_journal() && !self.has_application_id() => {
                Err(StoreError::Foreign { path, why: "another program has not ended a change of it".to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// Checks that the file exists, is not empty, and can be read by this user.
    pub fn is_store(&self) -> StoreResult<()> {
        self.is_openable()?;
        let path = self.path.clone();
        match File::open(&path).and_then(|file| file.metadata()) {
            Ok(file) if file.len() == 0 && !self.wal_path().exists() => Err(StoreError::Missing { path }),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(StoreError::Missing { path }),
            Err(error) => Err(StoreError::Open { path, why: error.to_string() }),
        }
    }

    /// Whether there is a rollback journal with something in it.
    fn has_rollback_journal(&self) -> bool {
        let mut name = self.path.clone().into_os_string();
        name.push("-journal");
        std::fs::metadata(name).is_ok_and(|journal| journal.len() > 0)
    }

    /// Whether the header of the file says that it is a store.
    fn has_application_id(&self) -> bool {
        let read = || -> std::io::Result<u32> {
            let mut file = File::open(&self.path)?;
            let mut number = [0; 4];
            file.seek(SeekFrom::Start(APPLICATION_AT))?;
            file.read_exact(&mut number)?;
            Ok(u32::from_be_bytes(number))
        };
        read().is_ok_and(|number| i64::from(number) == APPLICATION)
    }

    /// SQLite does not recognize a file with a damaged header as a database, although it may be a store.
    fn as_damaged(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Foreign { path, .. } if self.has_application_id() => {
                StoreError::Corrupt { path, why: "it is not a SQLite database".to_owned() }
            }
            error => error,
        }
    }
}

/// Whether SQLite failed because it could not create a file.
fn may_not_create(fault: &SqliteError) -> bool {
    let SqliteError::Sql(error) = fault else { return false };
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::DiskFull)
            | Some(ErrorCode::SystemIoFailure)
    )
}

/// The URI with which SQLite opens a file without locks: as immutable, or, because that would ignore the log, as a file of a
/// system without locks.
fn unlocked_uri(path: &Path, has_log: bool) -> String {
    let mut uri = String::from("file:");
    if path.has_root() {
        uri.push_str("//");
    }
    #[cfg(unix)]
    let bytes = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str());
    #[cfg(not(unix))]
    let text = {
        let text = path.to_string_lossy().replace('\\', "/");
        if path.has_root() { format!("/{text}") } else { text }
    };
    #[cfg(not(unix))]
    let bytes = text.as_bytes();
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b':' => uri.push(char::from(*byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    let system = if cfg!(windows) { "win32-none" } else { "unix-none" };
    if has_log { format!("{uri}?vfs={system}") } else { uri + "?immutable=1" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn no_name_of_a_file_is_read_as_something_else() {
        assert_eq!(
            unlocked_uri(Path::new("/a b/r?mode=rw#%.db"), false),
            "file:///a%20b/r%3Fmode%3Drw%23%25.db?immutable=1"
        );
        assert_eq!(unlocked_uri(Path::new("runs.db"), false), "file:runs.db?immutable=1");
        assert_eq!(unlocked_uri(Path::new("runs.db"), true), "file:runs.db?vfs=unix-none");
    }
}
