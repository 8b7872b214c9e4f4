//! Opening the file: permissions, file type, connection settings, formats.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use super::check;
use super::fault::Done;
use super::place::{Options, StorePlace};
use crate::error::{Result, StoreError};

/// `TREF`: the application id by which SQLite's tools and `file` recognize a store.
pub const APPLICATION: i64 = 0x5452_4546;

/// The formats in order. A store with an earlier format is migrated to the latest one when it is opened.
const FORMATS: &[&str] = &[
    include_str!("schema.sql"),
    include_str!("format-2.sql"),
    include_str!("format-3.sql"),
    include_str!("format-4.sql"),
    include_str!("format-5.sql"),
];

impl StorePlace {
    /// Opens the writing connection; creates the file, or migrates it to the latest format.
    pub fn writer(&self) -> Result<Connection> {
        self.create()?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let began = Instant::now();
        loop {
            match self.prepare(flags).map_err(|fault| self.unwritable(fault.at(self))) {
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

    fn prepare(&self, flags: OpenFlags) -> Done<Connection> {
        let c = Connection::open_with_flags(&self.path, flags)?;
        if c.is_readonly("main")? {
            return Err(StoreError::ReadOnly { path: self.path.clone() }.into());
        }
        busy(&c, &self.options)?;
        let format = self.format(&c)?;
        if format == 0 {
            // Both settings take effect only before anything is written.
            c.execute_batch("PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL;")?;
        }
        c.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        self.settings(&c)?;
        self.migrate(&c)?;
        Ok(c)
    }

    /// Applies the settings of every connection.
    fn settings(&self, c: &Connection) -> Done<()> {
        let synchronous = self.options.durability.synchronous();
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

    /// The version of the file's format; 0 if it is empty. Fails if it is not a store, or has a later format.
    pub fn format(&self, c: &Connection) -> Done<i64> {
        // A single statement sees one state of the file: another process may be creating it.
        let (application, format, tables): (i64, i64, i64) = c.query_row(
            "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) \
             FROM pragma_application_id, pragma_user_version",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        let path = self.path.clone();
        let known = FORMATS.len() as i64;
        match (application, format) {
            (APPLICATION, found) if found > known => Err(StoreError::Newer { path, found, known }.into()),
            (APPLICATION, found) => Ok(found),
            (0, 0) if tables == 0 => Ok(0),
            _ => Err(StoreError::Foreign { path, why: "it is the database of another program".to_owned() }.into()),
        }
    }

    /// Whether the file has an earlier format.
    pub fn is_older(&self) -> Result<bool> {
        let reader = self.onlooker()?;
        let format = self.format(&reader.connection).map_err(|fault| fault.at(self))?;
        Ok(format > 0 && format < FORMATS.len() as i64)
    }

    fn migrate(&self, c: &Connection) -> Done<()> {
        let format = self.format(c)?;
        if format == FORMATS.len() as i64 {
            return Ok(());
        }
        c.execute_batch("BEGIN IMMEDIATE")?;
        let migrated = self.migrate_from(c);
        c.execute_batch(if migrated.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        migrated
    }

    fn migrate_from(&self, c: &Connection) -> Done<()> {
        // Another process may have migrated it first.
        let format = self.format(c)?;
        for format in FORMATS.iter().skip(usize::try_from(format).unwrap_or(0)) {
            c.execute_batch(format)?;
        }
        if (1..4).contains(&format) {
            check::count_open(c)?;
        }
        c.pragma_update(None, "application_id", APPLICATION)?;
        c.pragma_update(None, "user_version", FORMATS.len() as i64)?;
        Ok(())
    }

    /// Opens a reading connection for a process that also writes.
    pub fn reader(&self) -> Result<Connection> {
        let open = || -> Done<Connection> {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let c = Connection::open_with_flags(&self.path, flags)?;
            busy(&c, &self.options)?;
            c.set_prepared_statement_cache_capacity(64);
            Ok(c)
        };
        open().map_err(|fault| fault.at(self))
    }

    /// Creates the file readable only by its user, because it contains prompts and answers. The write-ahead log gets
    /// the same mode.
    fn create(&self) -> Result<()> {
        let failed = |error: std::io::Error| {
            let path = self.path.clone();
            match error.kind() {
                std::io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { path },
                std::io::ErrorKind::StorageFull => StoreError::Full { path, why: error.to_string() },
                _ => StoreError::Open { path, why: error.to_string() },
            }
        };
        if self.path.is_dir() {
            return Err(StoreError::Open { path: self.path.clone(), why: "it is a folder".to_owned() });
        }
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

/// Sets how long a connection waits for locks.
pub fn busy(c: &Connection, options: &Options) -> rusqlite::Result<()> {
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
