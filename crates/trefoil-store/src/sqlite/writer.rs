//! The single writing connection, and the choice of the thread that commits.
//!
//! A commit takes as long as the disk, so throughput depends on who waits for whom. If nothing else is queued, an
//! append commits on the caller's thread, because a handover to another thread and back takes as long as the commit. If
//! many runs write at the same time, their jobs queue up, and a thread commits the queue as one transaction. Each job
//! has its own savepoint, so a failed job does not affect the others.
//!
//! The same thread moves the write-ahead log into the database when nothing was written for a while, or when the log is
//! large.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;

use super::fault::{Done, Fault};
use super::open::PAGE;
use super::place::StorePlace;
use super::same::SameFiles;
use crate::error::{Result, StoreError};

/// Maximum number of jobs in one transaction.
const GROUP: usize = 1_024;
/// The log is moved into the database after this long without writes.
const IDLE: Duration = Duration::from_millis(100);
/// Above this size in bytes, the log is moved even if writers have to wait.
const LARGE: i64 = 64 << 20;

/// The thread that commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// The caller's thread, if no other job is queued. It blocks for as long as the disk takes; a multi-threaded
    /// runtime compensates for that.
    Here,
    /// The writer's thread.
    There,
}

/// Kinds of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// In a transaction that is on the disk when it returns, if the store's durability requires that.
    Sure,
    /// In a transaction that reaches the disk later.
    Lazy,
    /// Outside of any transaction.
    Alone,
}

/// The writing connection.
pub struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    place: StorePlace,
    connection: Mutex<Connection>,
    files: SameFiles,
    queue: Mutex<Queue>,
    wake: Condvar,
}

struct Queue {
    jobs: VecDeque<Box<dyn Job>>,
    /// Whether commits are not in the database file yet.
    dirty: bool,
    /// Time of the last commit.
    last: Instant,
    closed: bool,
}

/// A queued job.
trait Job: Send {
    /// Does the work inside a transaction. If it fails, the caller rolls back its changes.
    fn work(&mut self, c: &Connection, place: &StorePlace) -> Result<()>;
    /// Its kind.
    fn sort(&self) -> Sort;
    /// Reports the result; an error if its changes were not committed.
    fn end(self: Box<Self>, kept: Result<()>);
}

struct Work<T, F> {
    work: Option<F>,
    done: Option<Result<T>>,
    sort: Sort,
    reply: oneshot::Sender<Result<T>>,
}

impl<T: Send, F: FnOnce(&Connection) -> Done<T> + Send> Job for Work<T, F> {
    fn work(&mut self, c: &Connection, place: &StorePlace) -> Result<()> {
        let done = match self.work.take() {
            Some(work) => work(c).map_err(|fault| fault.at(place)),
            None => Err(StoreError::Closed),
        };
        let failed = done.as_ref().err().cloned();
        self.done = Some(done);
        failed.map_or(Ok(()), Err)
    }
    fn sort(&self) -> Sort {
        self.sort
    }
    fn end(self: Box<Self>, kept: Result<()>) {
        let result = match (self.done, kept) {
            (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => Err(StoreError::Closed),
        };
        // The caller may have been dropped.
        let _ = self.reply.send(result);
    }
}

impl Writer {
    /// Opens the file.
    pub fn open(place: StorePlace) -> Result<Self> {
        let connection = place.writer()?;
        let queue = Queue { jobs: VecDeque::new(), dirty: true, last: Instant::now(), closed: false };
        let files = SameFiles::default();
        files.look(&connection, &place, PAGE)?;
        let connection = Mutex::new(connection);
        let shared = Arc::new(Shared { place, connection, files, queue: Mutex::new(queue), wake: Condvar::new() });
        let writing = shared.clone();
        let thread = std::thread::Builder::new().name("trefoil-store".to_owned()).spawn(move || writing.serve());
        let failed =
            |error: std::io::Error| StoreError::Open { path: shared.place.path.clone(), why: error.to_string() };
        let thread = Some(thread.map_err(failed)?);
        Ok(Self { shared, thread })
    }

    /// Does work in a transaction; returns after the commit.
    pub async fn write<T, F>(&self, place: Where, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Done<T> + Send + 'static,
    {
        let work = match place {
            Where::Here if may_block() => match self.shared.now(work) {
                Ok(done) => return done,
                Err(work) => work,
            },
            Where::Here | Where::There => work,
        };
        self.queue(work, Sort::Sure).await
    }

    /// Does work in a transaction without waiting for the disk. It survives the end of the process, but not of the
    /// machine.
    pub async fn write_lazily<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Done<T> + Send + 'static,
    {
        self.queue(work, Sort::Lazy).await
    }

    /// Does work outside of transactions.
    pub async fn alone<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Done<T> + Send + 'static,
    {
        self.queue(work, Sort::Alone).await
    }

    async fn queue<T, F>(&self, work: F, sort: Sort) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Done<T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        {
            let mut queue = self.shared.queue();
            queue.jobs.push_back(Box::new(Work { work: Some(work), done: None, sort, reply }));
        }
        self.shared.wake.notify_one();
        answer.await.unwrap_or(Err(StoreError::Closed))
    }
}

impl Drop for Writer {
    /// Jobs in the queue are still written.
    fn drop(&mut self) {
        self.shared.queue().closed = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has already been reported.
            let _ = thread.join();
        }
    }
}

/// Whether the current thread may wait for a disk.
fn may_block() -> bool {
    Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Commits on this thread, if no other job is queued.
    fn now<T, F: FnOnce(&Connection) -> Done<T>>(&self, work: F) -> Result<Result<T>, F> {
        if !self.queue().jobs.is_empty() {
            return Err(work);
        }
        let c = match self.connection.try_lock() {
            Ok(c) => c,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(work),
        };
        let done = tokio::task::block_in_place(|| {
            let done = transaction(&c, work).map_err(|fault| fault.at(&self.place))?;
            self.files.look(&c, &self.place, PAGE)?;
            Ok(done)
        });
        drop(c);
        self.committed();
        Ok(done)
    }

    /// Records a commit.
    fn committed(&self) {
        let mut queue = self.queue();
        queue.last = Instant::now();
        if !queue.dirty {
            queue.dirty = true;
            drop(queue);
            self.wake.notify_one();
        }
    }

    /// The loop of the writer's thread.
    fn serve(&self) {
        let mut looked = Instant::now();
        let mut queue = self.queue();
        loop {
            if queue.dirty && looked.elapsed() >= IDLE {
                let idle = queue.jobs.is_empty() && queue.last.elapsed() >= IDLE;
                queue.dirty = !idle;
                drop(queue);
                self.tidy_log(idle);
                looked = Instant::now();
                queue = self.queue();
            }
            if !queue.jobs.is_empty() {
                let jobs = next_group(&mut queue.jobs);
                drop(queue);
                // Lazy jobs alone do not cause a checkpoint, because that would wait for the disk.
                if !self.group(jobs) {
                    self.committed();
                }
                queue = self.queue();
            } else if queue.closed {
                return;
            } else if queue.dirty {
                queue = self.wake.wait_timeout(queue, IDLE).unwrap_or_else(PoisonError::into_inner).0;
            } else {
                queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Runs a group of jobs in one transaction. Returns whether all of them were lazy.
    fn group(&self, mut jobs: Vec<Box<dyn Job>>) -> bool {
        let lazy = jobs.iter().all(|job| job.sort() == Sort::Lazy);
        let c = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = match jobs.as_mut_slice() {
            [one] if one.sort() == Sort::Alone => one.work(&c, &self.place),
            jobs if lazy => self.lazily(&c, |c| together(c, jobs, &self.place)),
            jobs => transaction(&c, |c| together(c, jobs, &self.place)).map_err(|fault| fault.at(&self.place)),
        };
        let kept = kept.and_then(|()| self.files.look(&c, &self.place, PAGE));
        drop(c);
        for job in jobs {
            job.end(kept.clone());
        }
        lazy
    }

    /// Commits without waiting for the disk. The commits before it are on the disk already; a later durable commit also
    /// makes this one durable.
    fn lazily<T>(&self, c: &Connection, work: impl FnOnce(&Connection) -> Done<T>) -> Result<T> {
        let synchronous = |how: &str| Ok::<_, Fault>(c.execute_batch(&format!("PRAGMA synchronous = {how}"))?);
        let done = synchronous("NORMAL").and_then(|()| transaction(c, work));
        // SQLite rejects this only inside a transaction, and then it also rejects the next `BEGIN`.
        let restored = synchronous(self.place.options.durability.synchronous());
        done.and_then(|done| restored.map(|()| done)).map_err(|fault| fault.at(&self.place))
    }

    /// Moves the log into the database if nothing is queued or the log is large. What cannot be moved now is moved
    /// later; nothing is lost.
    fn tidy_log(&self, idle: bool) {
        let c = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if idle {
            let _ = checkpoint(&c, "PASSIVE");
        } else if checkpoint(&c, "NOOP").is_ok_and(|(_, pages, _)| pages.saturating_mul(i64::from(PAGE)) > LARGE) {
            // Long readers are not waited for, because all writers would wait, too.
            let _ = c.busy_timeout(IDLE);
            let _ = checkpoint(&c, "RESTART");
            let _ = c.busy_timeout(Duration::from_millis(self.place.options.busy_ms));
        }
        // The file has grown. If something is wrong with it, the next commit says so.
        let _ = self.files.look(&c, &self.place, PAGE);
    }
}

/// Returns whether it was busy, the pages in the log, and how many of them are in the database.
pub fn checkpoint(c: &Connection, how: &str) -> rusqlite::Result<(i64, i64, i64)> {
    c.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

fn next_group(jobs: &mut VecDeque<Box<dyn Job>>) -> Vec<Box<dyn Job>> {
    let together = jobs.iter().take(GROUP).take_while(|job| job.sort() != Sort::Alone).count();
    jobs.drain(..together.max(1)).collect()
}

/// Each job gets a savepoint, unless it is the only one.
fn together(c: &Connection, jobs: &mut [Box<dyn Job>], place: &StorePlace) -> Done<()> {
    if let [one] = jobs {
        // The transaction's rollback also undoes the job.
        return Ok(one.work(c, place)?);
    }
    for job in jobs {
        c.prepare_cached("SAVEPOINT job")?.execute([])?;
        if let Err(error) = job.work(c, place) {
            if c.is_autocommit() {
                // SQLite has rolled back the whole transaction, because the disk is full or a read failed.
                return Err(error.into());
            }
            c.prepare_cached("ROLLBACK TO job")?.execute([])?;
        }
        c.prepare_cached("RELEASE job")?.execute([])?;
    }
    Ok(())
}

/// Runs work in a transaction, which is rolled back on errors.
fn transaction<T>(c: &Connection, work: impl FnOnce(&Connection) -> Done<T>) -> Done<T> {
    c.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let done = work(c).and_then(|value| {
        c.prepare_cached("COMMIT")?.execute([])?;
        Ok(value)
    });
    if done.is_err() && !c.is_autocommit() {
        // The first error is reported, not one of the rollback.
        let _ = c.prepare_cached("ROLLBACK").and_then(|mut rollback| rollback.execute([]));
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::{Durability, Options};

    #[test]
    fn only_lazy_work_alone_does_not_wait_for_the_disk() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let synchronous = |c: &Connection| Ok(c.query_row("PRAGMA synchronous", [], |row| row.get::<_, i64>(0))?);
        let fails = |_: &Connection| Err::<i64, _>(Fault::Store(StoreError::Closed));
        for (durability, sure) in [(Durability::Sync, 2), (Durability::Batch, 1)] {
            let folder = tempfile::tempdir().unwrap();
            let options = Options { durability, ..Options::default() };
            let writer = Writer::open(StorePlace { path: folder.path().join("runs.db"), options }).unwrap();
            runtime.block_on(async {
                for place in [Where::Here, Where::There] {
                    assert_eq!(writer.write_lazily(synchronous).await.unwrap(), 1);
                    assert_eq!(writer.write(place, synchronous).await.unwrap(), sure);
                    assert!(writer.write_lazily(fails).await.is_err());
                    assert_eq!(writer.write(place, synchronous).await.unwrap(), sure);
                }
                // Queued behind another job, it is committed together with that.
                let slow = writer.write(Where::There, |_| {
                    std::thread::sleep(Duration::from_millis(50));
                    Ok(())
                });
                let together =
                    async { tokio::join!(writer.write_lazily(synchronous), writer.write(Where::There, synchronous)) };
                let (slow, (lazy, other)) = tokio::join!(slow, together);
                slow.unwrap();
                assert_eq!((lazy.unwrap(), other.unwrap()), (sure, sure));
            });
        }
    }
}
