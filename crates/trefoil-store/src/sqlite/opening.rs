//! Opening the file: permissions, file type, connection settings.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::fault::SqliteResult;
use super::store_file::{StoreFile, StoreOptions};
use crate::error::{StoreError, StoreResult};

/// Page size of new stores in bytes. A step of a run writes a few whole pages, so small pages save most of what is written.
pub const PAGE: u32 = 4_096;

impl StoreFile {
    /// Opens the writing connection; creates the file if it does not exist.
    pub fn open_writer(&self) -> StoreResult<Connection> {
        self.create()?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let began = Instant::now();
        loop {
            match self.prepare(flags).map_err(|fault| self.unwritable(fault.at_file(self))) {
                // SQLite does not wait if another process changes the journal mode at the same time.
                Err(StoreError::Locked { .. }) if began.elapsed() < Duration::from_millis(self.options.busy_ms) => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                opened => return opened,
            }
        }
    }

    /// If the file itself can be opened, the files that SQLite needs next to it could not be created.
    fn unwritable(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Open { path, .. } if std::fs::File::open(&path).is_ok() => StoreError::ReadOnly { path },
            error => error,
        }
    }

    fn prepare(&self, flags: OpenFlags) -> SqliteResult<Connection> {
        let c = Connection::open_with_flags(&self.path, flags)?;
        let format = self.check_before_use(&c, || {
            set_safety_pragmas(&c)?;
            if c.is_readonly("main")? {
                return Err(StoreError::ReadOnly { path: self.path.clone() }.into());
            }
            set_busy_timeout(&c, &self.options)?;
            self.read_format(&c)
        })?;
        keep_log(&c, false)?;
        if format == 0 {
            // Both settings take effect only before anything is written.
            c.execute_batch(&format!("PRAGMA page_size = {PAGE}; PRAGMA auto_vacuum = INCREMENTAL;"))?;
        }
        c.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        self.settings(&c)?;
        self.create_tables(&c)?;
        Ok(c)
    }

    /// Decides whether to use a file: if not, closing the connection leaves it and its log as they are.
    pub fn check_before_use<T>(&self, c: &Connection, check: impl FnOnce() -> SqliteResult<T>) -> SqliteResult<T> {
        keep_log(c, true)?;
        let checked = check();
        if checked.is_err() {
            drop_empty_log(c, &self.wal_path());
        }
        checked
    }

    /// Applies the settings of every connection.
    fn settings(&self, c: &Connection) -> SqliteResult<()> {
        let synchronous = self.options.durability.synchronous_mode();
        // The writer checkpoints when it is idle. On macOS, fsync alone does not reach the disk.
        c.execute_batch(&format!(
            "PRAGMA synchronous = {synchronous}; PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 0; \
             PRAGMA journal_size_limit = 67108864; PRAGMA fullfsync = 1; PRAGMA checkpoint_fullfsync = 1;"
        ))?;
        // Deleted content is overwritten in its pages, as far as this costs no additional writes.
        c.query_row("PRAGMA secure_delete = FAST", [], |_| Ok(()))?;
        if let Some(bytes) = self.options.max_bytes {
            let page: i64 = c.query_row("PRAGMA page_size", [], |row| row.get(0))?;
            let pages = i64::try_from(bytes).unwrap_or(i64::MAX) / page.max(1);
            c.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
        }
        c.set_prepared_statement_cache_capacity(64);
        Ok(())
    }

    /// Opens a reading connection for a process that also writes.
    pub fn open_reader(&self) -> StoreResult<Connection> {
        let open = || -> SqliteResult<Connection> {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let c = Connection::open_with_flags(&self.path, flags)?;
            set_safety_pragmas(&c)?;
            set_busy_timeout(&c, &self.options)?;
            c.set_prepared_statement_cache_capacity(64);
            Ok(c)
        };
        open().map_err(|fault| fault.at_file(self))
    }

    /// Creates the file readable only by its user, because it contains prompts and answers. The write-ahead log gets
    /// the same mode.
    fn create(&self) -> StoreResult<()> {
        let failed = |error: std::io::Error| {
            let path = self.path.clone();
            match error.kind() {
                std::io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { path },
                std::io::ErrorKind::StorageFull => StoreError::Full { path, why: error.to_string() },
                _ => StoreError::Open { path, why: error.to_string() },
            }
        };
        self.is_openable()?;
        if !self.options.create {
            return self.is_store();
        }
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            make_folder(folder).map_err(failed)?;
        }
        match private_file(&self.path) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }
}

/// Sets whether closing the last connection leaves the log where it is, and does not move it into the file.
fn keep_log(c: &Connection, keep: bool) -> rusqlite::Result<()> {
    c.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep).map(drop)
}

/// Before a connection that [keeps the log](keep_log) is closed: an empty log is removed. The connection may have created it.
pub fn drop_empty_log(c: &Connection, log: &Path) {
    if std::fs::metadata(log).is_ok_and(|log| log.len() == 0) {
        let _ = keep_log(c, false);
    }
}

/// Settings against a file from somebody else: its schema may call only harmless functions.
pub fn set_safety_pragmas(c: &Connection) -> rusqlite::Result<()> {
    c.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")
}

/// Sets how long a connection waits for locks.
pub fn set_busy_timeout(c: &Connection, options: &StoreOptions) -> rusqlite::Result<()> {
    c.busy_timeout(Duration::from_millis(options.busy_ms))
}

/// Creates a file that only its user may read.
pub fn private_file(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Creates a folder that only its user may access, if it does not exist.
pub fn make_folder(folder: &Path) -> std::io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if folder.exists() {
        return Err(std::io::Error::other(format!("`{}` is not a folder", folder.display())));
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
