//! The errors of a store, with help.

use std::path::{Path, PathBuf};

use trefoil_machine::receipt::GivenAnswer;

/// The result type of a store.
pub type StoreResult<T, E = StoreError> = std::result::Result<T, E>;

/// Why an operation of a store failed. Data that was stored before is not affected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process keeps it locked.
    #[error("the store `{}` is locked: another process has been writing to it for more than {waited_ms} ms", path.display())]
    Locked {
        /// The store.
        path: PathBuf,
        /// How long this process waited.
        waited_ms: u64,
    },
    /// Its disk is full, or it has reached its largest size.
    #[error("the store `{}` is full: {why}", path.display())]
    Full {
        /// The store.
        path: PathBuf,
        /// The message from SQLite.
        why: String,
    },
    /// It is read-only.
    #[error("the store `{}` is read-only", path.display())]
    ReadOnly {
        /// The store.
        path: PathBuf,
    },
    /// It does not exist yet.
    #[error("no store at `{}` yet", path.display())]
    Missing {
        /// Its path.
        path: PathBuf,
    },
    /// It was written after its last checkpoint, and a reader without write access cannot merge the two.
    #[error("the store `{}` cannot be read: part of it is in `{}`, which needs a writable folder", path.display(), log.display())]
    Log {
        /// The store.
        path: PathBuf,
        /// The write-ahead log.
        log: PathBuf,
    },
    /// Its file was taken away while it was in use.
    #[error("the store `{}` was deleted, moved, replaced or cut while it was in use, so what was written last may be lost", path.display())]
    Replaced {
        /// The store.
        path: PathBuf,
    },
    /// It was changed while it was read without locks.
    #[error("the store `{}` changed while it was read", path.display())]
    Changed {
        /// The store.
        path: PathBuf,
    },
    /// It was written by a later version of Trefoil.
    #[error("the store `{}` was written by a later version: its format is {found}, but this version supports only up to {known}", path.display())]
    Newer {
        /// The store.
        path: PathBuf,
        /// The version of its format.
        found: i64,
        /// The last version that this build knows.
        known: i64,
    },
    /// It was written by a build before the first format.
    #[error("the store `{}` was written by an earlier build, and this version cannot use it", path.display())]
    Earlier {
        /// The store.
        path: PathBuf,
    },
    /// A message answers a question that has an answer already, or that is not open any more.
    #[error("`{key}` is {}", by.as_ref().map_or("not asked any more".to_owned(), GivenAnswer::settled_text))]
    Answered {
        /// The key of the question.
        key: String,
        /// The answer that it has and that nothing has acted on yet.
        by: Option<GivenAnswer>,
    },
    /// SQLite's name for a database in memory.
    #[error("the store `:memory:` would be lost when the process ends")]
    Memory,
    /// The file is not a store.
    #[error("`{}` is not a Trefoil store: {why}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The file is damaged.
    #[error("the store `{}` is damaged: {why}", path.display())]
    Corrupt {
        /// The store.
        path: PathBuf,
        /// The damage.
        why: String,
    },
    /// It cannot be opened or created.
    #[error("the store `{}` cannot be opened: {why}", path.display())]
    Open {
        /// The store.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// Its server cannot be reached, or rejects the login.
    #[error("the store `{}` cannot be reached: {why}", path.display())]
    Unreachable {
        /// The store.
        path: PathBuf,
        /// The message from the server or the network.
        why: String,
    },
    /// Its server does not let this user do it.
    #[error("the server of the store `{}` denies it to this user: {why}", path.display())]
    Denied {
        /// The store.
        path: PathBuf,
        /// The message from the server.
        why: String,
    },
    /// It is named by an address that is not one of Postgres.
    #[error("the address of the store is not supported: {why}")]
    Address {
        /// The reason, without any part of the address that may be a password.
        why: String,
    },
    /// Its server reported an error.
    #[error("the server of the store `{}` reports: {why}", path.display())]
    Server {
        /// The store.
        path: PathBuf,
        /// The message.
        why: String,
    },
    /// This build supports only files.
    #[error("the store `{}` cannot be used: this build of trefoil has no Postgres client", path.display())]
    NoServer {
        /// The store.
        path: PathBuf,
    },
    /// A server cannot be copied to a file.
    #[error("the store `{}` is not a file, so it cannot be copied to one", path.display())]
    NoBackup {
        /// The store.
        path: PathBuf,
    },
    /// No store is configured, and there is no home folder.
    #[error("no folder for the store: this user has no home folder")]
    NoHome,
    /// Reading or writing failed.
    #[error("the store `{}` failed: {why}", path.display())]
    Io {
        /// The store.
        path: PathBuf,
        /// The message from SQLite.
        why: String,
    },
    /// The run does not exist.
    #[error("unknown run `{run}`")]
    NoRun {
        /// Its id.
        run: String,
    },
    /// Several ids start with these characters.
    #[error("several ids start with `{start}`: {}", runs.join(", "))]
    Ambiguous {
        /// The characters.
        start: String,
        /// Some of them.
        runs: Vec<String>,
    },
    /// A run of this id exists.
    #[error("a run `{run}` already exists")]
    RunExists {
        /// Its id.
        run: String,
    },
    /// The content of the run has been removed.
    #[error("the content of run `{run}` was removed when it ended, because it was started with `--no-content`")]
    NoContent {
        /// Its id.
        run: String,
    },
    /// The run has ended.
    #[error("the run `{run}` has ended")]
    Ended {
        /// Its id.
        run: String,
    },
    /// Another process works on it.
    #[error("the run `{run}` is in progress in another process, `{owner}`")]
    Held {
        /// Its id.
        run: String,
        /// The owner of its lease.
        owner: String,
        /// The expiry of the lease, unless it is renewed: milliseconds since 1970-01-01 UTC.
        until: u64,
    },
    /// This process does not own it, or no longer does.
    #[error("this process has lost its lease on the run `{run}`")]
    NotHeld {
        /// Its id.
        run: String,
    },
    /// Entries of a journal have no gaps and no repetitions.
    #[error("entry {found} of `{run}` was written, but the next one is {expected}")]
    Sequence {
        /// The run's id.
        run: String,
        /// The number of the next entry.
        expected: u64,
        /// The number of the entry that was passed.
        found: u64,
    },
    /// An entry or a value cannot be read.
    #[error("entry {seq} of `{run}` cannot be read: {why}")]
    Entry {
        /// The run's id.
        run: String,
        /// The entry's number.
        seq: u64,
        /// Why not.
        why: String,
    },
    /// An entry cannot be written.
    #[error("entry {seq} cannot be written: {why}")]
    Unwritable {
        /// The entry's number.
        seq: u64,
        /// Why not.
        why: String,
    },
    /// A document cannot be written as it is.
    #[error("a document of `{collection}` cannot be written: {why}")]
    Document {
        /// Its collection.
        collection: String,
        /// Why not.
        why: String,
    },
    /// It lacks a table that an earlier build did not have, and this process could not add it.
    #[error("the store `{}` has no table for documents: an earlier version created it, and {why}", path.display())]
    Lacking {
        /// The store.
        path: PathBuf,
        /// Why it was not added.
        why: &'static str,
    },
    /// A cursor that is not from this store.
    #[error("`{cursor}` is not a cursor of this list")]
    Cursor {
        /// The cursor.
        cursor: String,
    },
    /// The target of a backup exists.
    #[error("`{}` already exists", path.display())]
    Exists {
        /// The target.
        path: PathBuf,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// How to fix it.
    pub fn help_text(&self) -> Option<&'static str> {
        Some(match self {
            Self::Locked { .. } => "wait until that process has finished, or use another store with `--store PATH`",
            Self::Full { .. } => "delete runs that are not needed any more, or use another disk",
            Self::ReadOnly { path } if is_server(path) => {
                "use the address of the primary server, because this one accepts no changes; or use another store with `--store PATH`"
            }
            Self::ReadOnly { .. } => "make the file and its folder writable, or use another store with `--store PATH`",
            Self::Missing { .. } => "pass another path with `--store PATH`; the first run creates the store",
            Self::Log { .. } => "copy both files to a writable folder, and pass the copy with `--store PATH`",
            Self::Replaced { .. } => "move the file back, or use another store with `--store PATH`",
            Self::Changed { .. } => "try again, or make the folder of the store writable",
            Self::Newer { .. } => "update trefoil, or use another store with `--store PATH`",
            Self::Earlier { path } if is_server(path) => {
                "drop its schema with `DROP SCHEMA trefoil CASCADE`, or use another store with `--store PATH`"
            }
            Self::Earlier { .. } => {
                "move the file away, so that the next run creates a new one, or use another store with `--store PATH`"
            }
            Self::Memory => "store nothing with `--ephemeral`, or write `./:memory:` for a file of that name",
            Self::Foreign { .. } => "pass another file with `--store PATH`",
            Self::Corrupt { .. } => "look for what is damaged, or use another store with `--store PATH`",
            Self::Open { path, .. } if is_server(path) => {
                "check the address; its options are `host`, `port`, `user`, `password`, `dbname`, `sslmode`, `sslrootcert`, \
                 `connect_timeout`, `application_name` and `options`"
            }
            Self::Open { .. } | Self::Io { .. } => {
                "check the path and the disk, or use another store with `--store PATH`"
            }
            Self::Unreachable { .. } => {
                "check that the server is running, and the host, user, password (`PGPASSWORD`) and database; or use another store \
                 with `--store PATH`"
            }
            Self::Denied { .. } => {
                "let an administrator run `GRANT CREATE ON DATABASE ... TO ...` before the first start, or, if the tables exist, \
                 `GRANT USAGE ON SCHEMA trefoil TO ...` and `GRANT ALL ON ALL TABLES IN SCHEMA trefoil TO ...`"
            }
            Self::Address { .. } => {
                "write `postgres://USER@HOST/DATABASE`, or `./` before the name of a file that looks like an address"
            }
            Self::Server { .. } => "see the log of the server, or use another store with `--store PATH`",
            Self::NoServer { .. } => "use a build with the feature `postgres`, or a file with `--store PATH`",
            Self::NoBackup { .. } => "back up the database with `pg_dump`",
            Self::NoHome => "set a file with `--store PATH` or `TREFOIL_STORE`",
            Self::NoRun { .. } => "list the runs of the store",
            Self::NoContent { .. } => "its record is what is left",
            Self::Ambiguous { .. } => "use more characters of the id",
            Self::Held { .. } => "wait until it ends, or cancel it",
            Self::NotHeld { .. } => "another process is continuing it",
            Self::Exists { .. } => "choose a file that does not exist",
            Self::Entry { .. } => "look for what is damaged",
            Self::Lacking { path, .. } if is_server(path) => {
                "let the owner of its tables run `trefoil store migrate` with this version, and then \
                 `GRANT ALL ON ALL TABLES IN SCHEMA trefoil TO ...` for the other users"
            }
            Self::Lacking { .. } => "free space on its disk, and open it again",
            Self::Answered { .. } => "see what the run waits for now",
            Self::RunExists { .. }
            | Self::Ended { .. }
            | Self::Sequence { .. }
            | Self::Unwritable { .. }
            | Self::Document { .. }
            | Self::Cursor { .. }
            | Self::Closed => return None,
        })
    }

    /// Whether the store itself cannot be used, so that the run could start without a store.
    pub fn is_of_the_store(&self) -> bool {
        matches!(
            self,
            Self::Locked { .. }
                | Self::Full { .. }
                | Self::ReadOnly { .. }
                | Self::Missing { .. }
                | Self::Log { .. }
                | Self::Changed { .. }
                | Self::Replaced { .. }
                | Self::Newer { .. }
                | Self::Earlier { .. }
                | Self::Memory
                | Self::Foreign { .. }
                | Self::Corrupt { .. }
                | Self::Open { .. }
                | Self::Io { .. }
                | Self::Unreachable { .. }
                | Self::Denied { .. }
                | Self::Address { .. }
                | Self::Server { .. }
                | Self::NoServer { .. }
                | Self::NoHome
        )
    }

    /// Whether it may work later without anybody changing anything: its server or its disk is not available now, or
    /// another process keeps it locked.
    pub fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. } | Self::Locked { .. } | Self::Full { .. } | Self::Changed { .. } | Self::Io { .. }
        )
    }
}

/// Whether the store is named by the address of a server.
fn is_server(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.starts_with("postgres://") || path.starts_with("postgresql://"))
}
