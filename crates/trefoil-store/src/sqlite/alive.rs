//! Detects whether the process that owns a run is alive. Each process holds a lock on a file next to the store, and the
//! operating system releases the lock however the process ends. A run of a killed process can therefore be resumed at
//! once by any process on the same disk. If this cannot be determined, the lease decides.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::open::{make_folder, private_file};
use super::place::StorePlace;
use crate::blob::Hash;

/// The lock files of the processes that use this store.
pub struct Alive {
    folder: PathBuf,
    held: Mutex<BTreeMap<String, Option<File>>>,
    /// Leases that this process has or may have: after a disk error, it is unknown whether a write took effect.
    leases: AtomicI64,
}

impl Alive {
    /// The lock files next to a store.
    pub fn new(place: &StorePlace) -> Self {
        let mut folder = place.path.clone().into_os_string();
        folder.push("-owners");
        Self { folder: folder.into(), held: Mutex::default(), leases: AtomicI64::new(0) }
    }

    /// An owner's name may have any characters, so the file is named by its hash.
    fn file(&self, owner: &str) -> PathBuf {
        self.folder.join(Hash::of(owner.as_bytes()).to_string())
    }

    /// Registers this process as an owner.
    pub fn is_here(&self, owner: &str) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
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
    pub fn took(&self) {
        self.leases.fetch_add(1, Ordering::SeqCst);
    }

    /// A lease was released, or the request failed.
    pub fn gave(&self) {
        self.leases.fetch_sub(1, Ordering::SeqCst);
    }

    /// Removes the file of an owner that has ended.
    pub fn forget(&self, owner: &str) {
        let _ = std::fs::remove_file(self.file(owner));
    }

    /// Whether an owner has certainly ended.
    pub fn is_gone(&self, owner: &str) -> bool {
        self.lives(owner) == Some(false)
    }

    /// Whether an owner is alive; `None` if this cannot be determined.
    pub fn lives(&self, owner: &str) -> Option<bool> {
        let file = File::open(self.file(owner)).ok()?;
        match file.try_lock() {
            Ok(()) => Some(false),
            Err(TryLockError::WouldBlock) => Some(true),
            Err(TryLockError::Error(_)) => None,
        }
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        // While this process has leases, the file stays, so that others can see that the process has ended.
        if self.leases.load(Ordering::SeqCst) > 0 {
            return;
        }
        let held = std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner));
        for (owner, file) in held {
            if file.is_some() {
                let _ = std::fs::remove_file(self.file(&owner));
            }
        }
        // Fails unless the folder is empty, as intended.
        let _ = std::fs::remove_dir(&self.folder);
    }
}
