//! Connections that read. They never wait for the one that writes, nor it for them.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::runtime::Handle;

use super::fault::Done;
use super::place::Place;
use crate::error::{Result, StoreError};

/// How many are kept for the next reading.
const KEPT: usize = 8;

/// Connections that read.
#[derive(Clone)]
pub struct Readers {
    place: Arc<Place>,
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl Readers {
    /// Of a file that exists.
    pub fn new(place: Place) -> Self {
        Self { place: Arc::new(place), idle: Arc::default() }
    }

    /// Reads, on a thread that may wait.
    pub async fn read<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Done<T> + Send + 'static,
    {
        let readers = self.clone();
        let read = move || readers.now(work);
        match Handle::try_current() {
            Ok(runtime) => runtime.spawn_blocking(read).await.unwrap_or(Err(StoreError::Closed)),
            Err(_) => read(),
        }
    }

    fn now<T>(&self, work: impl FnOnce(&Connection) -> Done<T>) -> Result<T> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let c = match idle {
            Some(c) => c,
            None => self.place.reader()?,
        };
        let done = work(&c);
        if done.is_ok() {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < KEPT {
                idle.push(c);
            }
        }
        done.map_err(|fault| fault.at(&self.place))
    }
}
