//! Whether the process that holds a run still lives: it has a file locked, beside the store, and the system unlocks it whatever
//! way the process ends. So a run whose process was killed can be continued at once, by any process on the same disk, and need
//! not wait for its lease to run out. Where this cannot be told, the lease decides.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::open::{make_folder, private_file};
use super::place::StorePlace;
use crate::blob::Hash;

/// The files of the processes that act through this store.
pub struct Alive {
    folder: PathBuf,
    held: Mutex<BTreeMap<String, Option<File>>>,
    /// Leases that this process has, or may have: what was being written when the disk failed may be there or not.
    leases: AtomicI64,
}

impl Alive {
    /// Beside a store.
    pub fn new(place: &StorePlace) -> Self {
        let mut folder = place.path.clone().into_os_string();
        folder.push("-owners");
        Self { folder: folder.into(), held: Mutex::default(), leases: AtomicI64::new(0) }
    }

    /// Names are anybody's: the file is called by their hash.
    fn file(&self, owner: &str) -> PathBuf {
        self.folder.join(Hash::of(owner.as_bytes()).to_string())
    }

    /// This process acts as an owner from now on.
    pub fn is_here(&self, owner: &str) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if !held.contains_key(owner) {
            // Without a file, others wait for its leases.
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

    /// A lease was given back, or was not to be had.
    pub fn gave(&self) {
        self.leases.fetch_sub(1, Ordering::SeqCst);
    }

    /// An owner that has ended holds nothing any more.
    pub fn forget(&self, owner: &str) {
        let _ = std::fs::remove_file(self.file(owner));
    }

    /// Whether an owner has ended for certain.
    pub fn is_gone(&self, owner: &str) -> bool {
        self.lives(owner) == Some(false)
    }

    /// Whether an owner is alive; none: it cannot be told here.
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
        // Others have to see that this process has ended while anything is held by its name.
        if self.leases.load(Ordering::SeqCst) > 0 {
            return;
        }
        let held = std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner));
        for (owner, file) in held {
            if file.is_some() {
                let _ = std::fs::remove_file(self.file(&owner));
            }
        }
        // Only if nobody else has a file in it.
        let _ = std::fs::remove_dir(&self.folder);
    }
}
