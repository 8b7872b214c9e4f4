//! Which file, and how it is opened.

use std::path::PathBuf;

/// What each durability may lose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// Nothing that was acknowledged, whatever happens: each commit is written through to the disk.
    #[default]
    Sync,
    /// When the machine stops (power cut, kernel panic): the last commits, never more than since the last checkpoint, and
    /// never parts of one. When only the process stops: nothing.
    Batch,
}

impl Durability {
    /// SQLite's word for it.
    pub(super) fn synchronous(self) -> &'static str {
        match self {
            Self::Sync => "FULL",
            Self::Batch => "NORMAL",
        }
    }
}

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// What must not be lost.
    pub durability: Durability,
    /// How long to wait for another process that writes, in milliseconds.
    pub busy_ms: u64,
    /// The file never becomes larger: what would make it so fails as on a full disk.
    pub max_bytes: Option<u64>,
    /// Create the file if it does not exist.
    pub create: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { durability: Durability::Sync, busy_ms: 5_000, max_bytes: None, create: true }
    }
}

/// A store's file.
#[derive(Debug, Clone)]
pub struct StorePlace {
    /// The file.
    pub path: PathBuf,
    /// How it is opened.
    pub options: Options,
}

impl StorePlace {
    /// The write-ahead log.
    pub fn wal(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push("-wal");
        name.into()
    }
}
