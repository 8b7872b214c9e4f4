//! Connections that read. They never wait for the one that writes, nor it for them.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::runtime::Handle;

use super::fault::Done;
use super::look::Reader;
use super::place::Place;
use crate::error::{Result, StoreError};

/// How many are kept for the next reading.
const KEPT: usize = 8;

/// Connections that read.
#[derive(Clone)]
pub struct Readers {
    place: Arc<Place>,
    /// Whether nothing of the store is to be changed, not even by a connection that writes.
    only: bool,
    idle: Arc<Mutex<Vec<Reader>>>,
}

impl Readers {
    /// Of a file that a connection of this process writes.
    pub fn new(place: Place) -> Self {
        Self { place: Arc::new(place), only: false, idle: Arc::default() }
    }

    /// Of a file that is only read. The first connection is opened now.
    pub fn only(place: Place) -> Result<Self> {
        let first = place.onlooker()?;
        Ok(Self { place: Arc::new(place), only: true, idle: Arc::new(Mutex::new(vec![first])) })
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
        let reader = match idle {
            Some(reader) => reader,
            None if self.only => self.place.onlooker()?,
            None => Reader::beside_writer(self.place.reader()?),
        };
        let done = work(&reader.connection);
        if !reader.is_sound(&self.place) {
            return Err(StoreError::Changed { path: self.place.path.clone() });
        }
        if done.is_ok() {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < KEPT {
                idle.push(reader);
            }
        }
        done.map_err(|fault| fault.at(&self.place))
    }
}
