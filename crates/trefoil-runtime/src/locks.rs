//! One way to lock a mutex, for all crates above this one.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex. What it holds is valid even if a thread has panicked that held the lock.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
