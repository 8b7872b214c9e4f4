//! Locks that stay in use after a thread that held one has panicked.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks it, also if a thread has panicked while it held the lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
