//! The file of a store, and how it is opened.

use std::path::PathBuf;
use std::time::Duration;

/// Which data may be lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StoreDurability {
    /// Nothing that was acknowledged is lost: each commit is written through to the disk.
    #[default]
    Sync,
    /// If the machine stops (power cut, kernel panic), whole commits since the last checkpoint may be lost. If only the
    /// process stops, nothing is lost.
    Batch,
}

impl StoreDurability {
    /// SQLite's name for it.
    pub(super) fn synchronous_mode(self) -> &'static str {
        match self {
            Self::Sync => "FULL",
            Self::Batch => "NORMAL",
        }
    }
}

/// How long a server that cannot be reached is waited for: shorter than a lease, and long enough for its restart.
pub const PATIENCE: Duration = Duration::from_secs(25);

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Which data may be lost.
    pub durability: StoreDurability,
    /// How long to wait for another process that writes, in milliseconds.
    pub busy_ms: u64,
    /// Maximum size of the file in bytes. A write that would exceed it fails as on a full disk.
    pub max_bytes: Option<u64>,
    /// Create the file if it does not exist.
    pub create: bool,
    /// How long to wait for a server that cannot be reached when it is opened.
    pub patience: Duration,
    /// Called with a sentence when the store starts to wait for its server.
    pub waits: Option<fn(&str)>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            durability: StoreDurability::Sync,
            busy_ms: 5_000,
            max_bytes: None,
            create: true,
            patience: Duration::ZERO,
            waits: None,
        }
    }
}

impl StoreOptions {
    /// For a process that works on runs: waits for a server that is being restarted, also when the store is opened, and
    /// retries appends as long as their runs wait for them, because what they store is paid for. Calls `waits` with a
    /// sentence when it starts to wait.
    #[must_use]
    pub fn with_patience(self, waits: fn(&str)) -> Self {
        Self { patience: PATIENCE, waits: Some(waits), ..self }
    }
}

/// The file of a store.
#[derive(Debug, Clone)]
pub struct StoreFile {
    /// The file.
    pub path: PathBuf,
    /// How it is opened.
    pub options: StoreOptions,
}

impl StoreFile {
    /// The write-ahead log.
    pub fn wal_path(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push("-wal");
        name.into()
    }
}
