//! Reading connections. They never wait for the writing connection, nor the reverse.

use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};

use super::fault::SqliteResult;
use super::read_only::SqliteReader;
use super::store_file::StoreFile;
use crate::error::{StoreError, StoreResult};
use trefoil_runtime::locks::lock;

/// Maximum number of connections, open or idle. Thousands of runs may want to read at once: opening a connection for
/// each would take longer than waiting for one, and need a hundred times the memory of a run.
const MOST: usize = 8;

/// A pool of reading connections.
#[derive(Clone)]
pub struct SqliteReaders {
    file: Arc<StoreFile>,
    /// Whether nothing may change the store, not even a connection with write access.
    only: bool,
    idle: Arc<Mutex<Vec<SqliteReader>>>,
    /// Limits the number of concurrent readers.
    turns: Arc<Semaphore>,
}

impl SqliteReaders {
    /// Connections to a file that this process also writes.
    pub fn new(file: StoreFile) -> Self {
        Self { file: Arc::new(file), only: false, idle: Arc::default(), turns: Arc::new(Semaphore::new(MOST)) }
    }

    /// Connections to a file that is only read. Opens the first one at once.
    pub fn for_read_only(file: StoreFile) -> StoreResult<Self> {
        let first = file.open_read_only()?;
        Ok(Self { only: true, idle: Arc::new(Mutex::new(vec![first])), ..Self::new(file) })
    }

    /// Runs a read on a thread that may block.
    pub async fn run_read<T, F>(&self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> SqliteResult<T> + Send + 'static,
    {
        // The semaphore is never closed.
        let turn = self.turns.clone().acquire_owned().await.ok();
        let readers = self.clone();
        let read = move || {
            let done = readers.now(work);
            drop(turn);
            done
        };
        let Ok(runtime) = Handle::try_current() else { return read() };
        let (done, result) = oneshot::channel();
        // Of one type for all reads, because tokio's code for a task is compiled again for each type.
        let task: Box<dyn FnOnce() + Send> = Box::new(move || {
            let _ = done.send(read());
        });
        runtime.spawn_blocking(task);
        result.await.unwrap_or(Err(StoreError::Closed))
    }

    fn now<T>(&self, work: impl FnOnce(&Connection) -> SqliteResult<T>) -> StoreResult<T> {
        let idle = lock(&self.idle).pop();
        let reader = match idle {
            Some(reader) => reader,
            None if self.only => self.file.open_read_only()?,
            None => SqliteReader::beside_writer(self.file.open_reader()?),
        };
        let done = work(&reader.connection);
        if !reader.is_sound(&self.file) {
            return Err(StoreError::Changed { path: self.file.path.clone() });
        }
        if done.is_ok() {
            let mut idle = lock(&self.idle);
            if idle.len() < MOST {
                idle.push(reader);
            }
        }
        done.map_err(|fault| fault.at_file(&self.file))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::{SqliteStore, StoreOptions};

    #[test]
    fn however_many_want_to_read_there_are_few_connections() {
        let folder = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let store = Arc::new(SqliteStore::open(folder.path().join("runs.db"), StoreOptions::default()).unwrap());
        let counts = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let readings = (0..40).map(|_| {
            let (store, counts) = (store.clone(), counts.clone());
            runtime.spawn(async move {
                let read = move |_: &Connection| {
                    counts.1.fetch_max(counts.0.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(std::time::Duration::from_millis(2));
                    counts.0.fetch_sub(1, Ordering::SeqCst);
                    Ok(())
                };
                store.readers.run_read(read).await.unwrap();
            })
        });
        for reading in readings.collect::<Vec<_>>() {
            runtime.block_on(reading).unwrap();
        }
        let most = counts.1.load(Ordering::SeqCst);
        assert!((2..=MOST).contains(&most), "{most} at once");
    }
}
