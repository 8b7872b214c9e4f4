//! Read-only connections, also to files and folders without write access, and to stores that other processes write.
//!
//! SQLite reads a write-ahead log through an index file next to it (`-shm`), which even a reader must create. If it
//! cannot, a database without a log can still be opened as an immutable file. After each read, the file is checked for
//! changes.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::SystemTime;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::fault::{Done, Fault};
use super::open::{APPLICATION, busy};
use super::place::StorePlace;
use crate::error::{Result, StoreError};

/// The offset of the application id in the file.
const APPLICATION_AT: u64 = 68;

/// A read-only connection.
pub struct Reader {
    /// The connection.
    pub connection: Connection,
    /// The state of the file when it was opened as immutable; `None` if it was opened normally.
    frozen: Option<Stamp>,
}

/// The properties of a file that change when it is written.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    changed: Option<SystemTime>,
    log: u64,
}

impl Stamp {
    fn of(place: &StorePlace) -> Self {
        let file = std::fs::metadata(&place.path).ok();
        let log = std::fs::metadata(place.wal()).map_or(0, |log| log.len());
        let changed = file.as_ref().and_then(|file| file.modified().ok());
        Self { bytes: file.map_or(0, |file| file.len()), changed, log }
    }
}

impl Reader {
    /// A connection to a store that this process also writes.
    pub fn beside_writer(connection: Connection) -> Self {
        Self { connection, frozen: None }
    }

    /// Whether everything read with this connection is from one state of the file.
    pub fn is_sound(&self, place: &StorePlace) -> bool {
        self.frozen.as_ref().is_none_or(|stamp| *stamp == Stamp::of(place))
    }
}

impl StorePlace {
    /// Opens a connection that only reads.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] if there is no store yet.
    pub fn onlooker(&self) -> Result<Reader> {
        self.is_store()?;
        // A connection with write access removes the files that it had to create.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        match self.look(&self.path, flags) {
            Ok(connection) => Ok(Reader { connection, frozen: None }),
            Err(fault) if may_not_create(&fault) => self.frozen(),
            Err(fault) => Err(self.damaged(fault.at(self))),
        }
    }

    /// Opens the file as immutable.
    fn frozen(&self) -> Result<Reader> {
        let stamp = Stamp::of(self);
        if stamp.log > 0 {
            return Err(StoreError::Log { path: self.path.clone(), log: self.wal() });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let opened = self.look(Path::new(&unchanging(&self.path)), flags);
        let connection = opened.map_err(|fault| self.damaged(fault.at(self)))?;
        Ok(Reader { connection, frozen: Some(stamp) })
    }

    fn look(&self, path: &Path, flags: OpenFlags) -> Done<Connection> {
        let c = Connection::open_with_flags(path, flags)?;
        busy(&c, &self.options)?;
        if self.format(&c)? == 0 {
            return Err(StoreError::Missing { path: self.path.clone() }.into());
        }
        c.set_prepared_statement_cache_capacity(64);
        Ok(c)
    }

    /// Checks that the file exists, is not empty, and can be read by this user.
    pub fn is_store(&self) -> Result<()> {
        let path = self.path.clone();
        match File::open(&path).and_then(|file| file.metadata()) {
            Ok(file) if file.is_dir() => Err(StoreError::Open { path, why: "it is a folder".to_owned() }),
            Ok(file) if file.len() == 0 && !self.wal().exists() => Err(StoreError::Missing { path }),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(StoreError::Missing { path }),
            Err(error) => Err(StoreError::Open { path, why: error.to_string() }),
        }
    }

    /// SQLite does not recognize a file with a damaged header as a database, although it may be a store.
    fn damaged(&self, error: StoreError) -> StoreError {
        let known = || -> std::io::Result<bool> {
            let mut file = File::open(&self.path)?;
            let mut number = [0; 4];
            file.seek(SeekFrom::Start(APPLICATION_AT))?;
            file.read_exact(&mut number)?;
            Ok(i64::from(u32::from_be_bytes(number)) == APPLICATION)
        };
        match error {
            StoreError::Foreign { path, .. } if known().unwrap_or(false) => {
                StoreError::Corrupt { path, why: "it is not a SQLite database".to_owned() }
            }
            error => error,
        }
    }
}

/// Whether SQLite failed because it could not create a file.
fn may_not_create(fault: &Fault) -> bool {
    let Fault::Sql(error) = fault else { return false };
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::DiskFull)
            | Some(ErrorCode::SystemIoFailure)
    )
}

/// The URI with which SQLite opens a file as immutable.
fn unchanging(path: &Path) -> String {
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
    uri + "?immutable=1"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn no_name_of_a_file_is_read_as_something_else() {
        assert_eq!(unchanging(Path::new("/a b/r?mode=rw#%.db")), "file:///a%20b/r%3Fmode%3Drw%23%25.db?immutable=1");
        assert_eq!(unchanging(Path::new("runs.db")), "file:runs.db?immutable=1");
    }
}
