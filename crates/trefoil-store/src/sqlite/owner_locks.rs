//! Detects whether the process that owns a run is alive. Each process holds a lock on a file next to the store, and the
//! operating system releases the lock however the process ends. A run of a killed process can therefore be resumed at
//! once by any process on the same disk. If this cannot be determined, the lease decides.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, TryLockError};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::fault::SqliteResult;
use super::opening::{make_folder, private_file};
use super::store_file::StoreFile;
use super::uint;
use crate::blob::ContentHash;
use crate::record::{Content, UNSEEN_MS};
use trefoil_runtime::locks::lock;

/// A lease as it is recorded: the epoch of the run, and the expiry.
type LeaseState = (i64, u64);

/// The lock files of the processes that use this store.
pub struct OwnerLocks {
    folder: PathBuf,
    held: Mutex<BTreeMap<String, Option<File>>>,
    /// Leases that this process has or may have: after a disk error, it is unknown whether a write took effect.
    leases: AtomicI64,
    /// Leases that have expired although their owners live: as they were when they were first seen, by run.
    expired: Mutex<BTreeMap<String, (LeaseState, Instant)>>,
}

impl OwnerLocks {
    /// The lock files next to a store.
    pub fn new(file: &StoreFile) -> Self {
        let mut folder = file.path.clone().into_os_string();
        folder.push("-owners");
        Self { folder: folder.into(), held: Mutex::default(), leases: AtomicI64::new(0), expired: Mutex::default() }
    }

    /// An owner's name may have any characters, so the file is named by its hash.
    fn file(&self, owner: &str) -> PathBuf {
        self.folder.join(ContentHash::from_bytes(owner.as_bytes()).to_string())
    }

    /// Registers this process as an owner.
    pub fn is_here(&self, owner: &str) {
        let mut held = lock(&self.held);
        if !held.contains_key(owner) {
            // If the file cannot be created, other processes rely on the expiry of leases.
            let lock = || -> Option<File> {
                make_folder(&self.folder).ok()?;
                let file = private_file(&self.file(owner)).ok()?;
                file.try_lock().ok()?;
                Some(file)
            };
            held.insert(owner.to_owned(), lock());
        }
    }

    /// A lease was requested.
    pub fn add_lease(&self) {
        self.leases.fetch_add(1, Ordering::SeqCst);
    }

    /// A lease was released, or the request failed.
    pub fn subtract_lease(&self) {
        self.leases.fetch_sub(1, Ordering::SeqCst);
    }

    /// Removes the file of an owner that has ended.
    pub fn remove_lock(&self, owner: &str) {
        let _ = std::fs::remove_file(self.file(owner));
    }

    /// Whether an expired lease of an owner that lives has been seen unchanged for as long as a lease lasts. Clocks may be wrong, and
    /// whoever wakes first after a machine has slept sees only expired leases, so the time is measured by this process.
    pub fn is_stuck(&self, run: &str, lease: LeaseState, lease_ms: u64) -> bool {
        let mut expired = lock(&self.expired);
        let (seen, since) = expired.entry(run.to_owned()).or_insert_with(|| (lease, Instant::now()));
        if *seen != lease {
            (*seen, *since) = (lease, Instant::now());
        }
        let stuck = since.elapsed() >= Duration::from_millis(lease_ms);
        if stuck {
            expired.remove(run);
        }
        stuck
    }

    /// Whether an owner is alive; `None` if this cannot be determined.
    pub fn is_alive(&self, owner: &str) -> Option<bool> {
        let path = self.file(owner);
        // Opening a pipe would wait for whoever writes to it.
        std::fs::metadata(&path).ok().filter(|file| file.is_file())?;
        let file = File::open(path).ok()?;
        match file.try_lock() {
            Ok(()) => Some(false),
            Err(TryLockError::WouldBlock) => Some(true),
            Err(TryLockError::Error(_)) => None,
        }
    }
}

/// Owners of runs whose processes have ended, although nobody has recorded that: for everybody who looks, their runs are
/// interrupted.
#[derive(Default)]
pub struct GoneOwners {
    owners: BTreeSet<String>,
    now: u64,
}

impl GoneOwners {
    /// Whether a run of this owner is in no process.
    pub fn contains_owner(&self, owner: &str) -> bool {
        self.owners.contains(owner)
    }

    /// What is kept of a run. A result that nobody has come for in time is gone for everybody who looks.
    pub fn visible_content(&self, recorded: i64, ended: Option<u64>) -> Content {
        match Content::of_number(recorded) {
            Content::Result if matches!(ended, Some(ended) if ended.saturating_add(UNSEEN_MS) < self.now) => {
                Content::Removed
            }
            content => content,
        }
    }

    /// The owners as a JSON list.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.owners).unwrap_or_else(|_| "[]".to_owned())
    }
}

impl OwnerLocks {
    /// The owners that have ended, or whose leases have expired and which cannot be looked for.
    pub fn find_departed(&self, c: &Connection, now: u64) -> SqliteResult<GoneOwners> {
        let mut select =
            c.prepare_cached("SELECT owner, max(lease_until) FROM run WHERE owner IS NOT NULL GROUP BY owner")?;
        let owners = select.query_map([], |row| Ok((row.get(0)?, row.get::<_, Option<i64>>(1)?)))?;
        let mut departed = BTreeSet::new();
        for owner in owners {
            let (owner, until): (String, Option<i64>) = owner?;
            let is_alive = match self.is_alive(&owner) {
                Some(is_alive) => is_alive,
                None => matches!(until, Some(until) if uint(until) >= now),
            };
            if !is_alive {
                departed.insert(owner);
            }
        }
        Ok(GoneOwners { owners: departed, now })
    }
}

impl Drop for OwnerLocks {
    fn drop(&mut self) {
        // While this process has leases, the file stays, so that others can see that the process has ended.
        if self.leases.load(Ordering::SeqCst) > 0 {
            return;
        }
        let held = std::mem::take(&mut *lock(&self.held));
        for (owner, file) in held {
            if file.is_some() {
                let _ = std::fs::remove_file(self.file(&owner));
            }
        }
        // Fails unless the folder is empty, as intended.
        let _ = std::fs::remove_dir(&self.folder);
    }
}
