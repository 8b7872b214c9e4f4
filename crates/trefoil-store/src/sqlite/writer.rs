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

use super::fault::{SqliteError, SqliteResult};
use super::open_files::OpenFileCheck;
use super::opening::PAGE;
use super::store_file::StoreFile;
use crate::error::{StoreError, StoreResult};
use trefoil_runtime::locks::lock;

/// Maximum number of jobs in one transaction.
const GROUP: usize = 1_024;
/// The log is moved into the database after this long without writes.
const IDLE: Duration = Duration::from_millis(100);
/// After a write has failed because of the disk, a small one is tried no more often than this, to find out whether the next would.
const TRY_AGAIN: Duration = Duration::from_secs(5);
/// Above this size in bytes, the log is moved even if writers have to wait.
const LARGE: i64 = 64 << 20;

/// The thread that commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitThread {
    /// The caller's thread, if no other job is queued. It blocks for as long as the disk takes; a multi-threaded
    /// runtime compensates for that.
    Here,
    /// The writer's thread.
    There,
}

/// Kinds of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteJobKind {
    /// In a transaction that is on the disk when it returns, if the store's durability requires that.
    Sure,
    /// In a transaction that reaches the disk later.
    Lazy,
    /// Outside of any transaction.
    Alone,
}

/// The writing connection.
pub struct SqliteWriter {
    shared: Arc<WriterState>,
    thread: Option<JoinHandle<()>>,
}

struct WriterState {
    file: StoreFile,
    connection: Mutex<Connection>,
    files: OpenFileCheck,
    queue: Mutex<WriteQueue>,
    wake: Condvar,
    /// Why the last commit failed, and when: its disk is full, say.
    failed: Mutex<Option<(Instant, StoreError)>>,
}

struct WriteQueue {
    jobs: VecDeque<Box<dyn WriteJob>>,
    /// Whether commits are not in the database file yet.
    dirty: bool,
    /// Time of the last commit.
    last: Instant,
    closed: bool,
}

/// A queued job.
trait WriteJob: Send {
    /// Does the work inside a transaction. If it fails, the caller rolls back its changes.
    fn run_work(&mut self, c: &Connection, file: &StoreFile) -> StoreResult<()>;
    /// Its kind.
    fn job_kind(&self) -> WriteJobKind;
    /// Reports the result; an error if its changes were not committed.
    fn report_result(self: Box<Self>, kept: StoreResult<()>);
}

struct QueuedWrite<T, F> {
    work: Option<F>,
    done: Option<StoreResult<T>>,
    sort: WriteJobKind,
    reply: oneshot::Sender<StoreResult<T>>,
}

impl<T: Send, F: FnOnce(&Connection) -> SqliteResult<T> + Send> WriteJob for QueuedWrite<T, F> {
    fn run_work(&mut self, c: &Connection, file: &StoreFile) -> StoreResult<()> {
        let done = match self.work.take() {
            Some(work) => work(c).map_err(|fault| fault.at_file(file)),
            None => Err(StoreError::Closed),
        };
        let outcome = match &done {
            Ok(_) => Ok(()),
            Err(error) => Err(error.clone()),
        };
        self.done = Some(done);
        outcome
    }
    fn job_kind(&self) -> WriteJobKind {
        self.sort
    }
    fn report_result(self: Box<Self>, kept: StoreResult<()>) {
        let result = match (self.done, kept) {
            (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => Err(StoreError::Closed),
        };
        // The caller may have been dropped.
        let _ = self.reply.send(result);
    }
}

impl SqliteWriter {
    /// Opens the file.
    pub fn open(file: StoreFile) -> StoreResult<Self> {
        let connection = file.open_writer()?;
        let queue = WriteQueue { jobs: VecDeque::new(), dirty: true, last: Instant::now(), closed: false };
        let files = OpenFileCheck::default();
        files.check_files(&connection, &file, PAGE)?;
        let connection = Mutex::new(connection);
        let (queue, wake) = (Mutex::new(queue), Condvar::new());
        let shared = Arc::new(WriterState { file, connection, files, queue, wake, failed: Mutex::default() });
        let writing = shared.clone();
        let thread = std::thread::Builder::new().name("trefoil-store".to_owned()).spawn(move || writing.serve());
        let failed =
            |error: std::io::Error| StoreError::Open { path: shared.file.path.clone(), why: error.to_string() };
        let thread = Some(thread.map_err(failed)?);
        Ok(Self { shared, thread })
    }

    /// Does work in a transaction; returns after the commit.
    pub async fn write<T, F>(&self, thread: CommitThread, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> SqliteResult<T> + Send + 'static,
    {
        let work = match thread {
            CommitThread::Here if may_block() => match self.shared.commit_here(work) {
                Ok(done) => return done,
                Err(work) => work,
            },
            CommitThread::Here | CommitThread::There => work,
        };
        self.queue(work, WriteJobKind::Sure).await
    }

    /// Does work in a transaction without waiting for the disk. It survives the end of the process, but not of the
    /// machine.
    pub async fn write_lazily<T, F>(&self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> SqliteResult<T> + Send + 'static,
    {
        self.queue(work, WriteJobKind::Lazy).await
    }

    /// Does work outside of transactions.
    pub async fn run_alone<T, F>(&self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> SqliteResult<T> + Send + 'static,
    {
        self.queue(work, WriteJobKind::Alone).await
    }

    /// Fails if writes fail: the files are gone, or the last commit has failed. Then a small commit is tried now and then, because it
    /// may be the last one for long: nobody sends work to a store that is not ready.
    pub async fn check_writable(&self) -> StoreResult<()> {
        self.shared.files.check_names(&self.shared.file)?;
        let due = {
            let mut failed = lock(&self.shared.failed);
            let Some((at, error)) = &mut *failed else { return Ok(()) };
            // Files that have come back are looked at by the next commit, before it writes.
            let is_back = matches!(error, StoreError::Replaced { .. });
            if at.elapsed() < TRY_AGAIN && !is_back {
                return Err(error.clone());
            }
            *at = Instant::now();
            error.clone()
        };
        match self.write(CommitThread::There, write_nothing).await {
            Err(error) if error.is_of_the_store() => Err(error),
            Err(_) => Err(due),
            Ok(()) => Ok(()),
        }
    }

    async fn queue<T, F>(&self, work: F, sort: WriteJobKind) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> SqliteResult<T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        {
            let mut queue = self.shared.queue();
            queue.jobs.push_back(Box::new(QueuedWrite { work: Some(work), done: None, sort, reply }));
        }
        self.shared.wake.notify_one();
        answer.await.unwrap_or(Err(StoreError::Closed))
    }
}

impl Drop for SqliteWriter {
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

/// Writes a page as it is.
fn write_nothing(c: &Connection) -> SqliteResult<()> {
    let version: i64 = c.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    Ok(c.execute_batch(&format!("PRAGMA user_version = {version}"))?)
}

/// Whether the current thread may wait for a disk.
fn may_block() -> bool {
    matches!(Handle::try_current(), Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread)
}

impl WriterState {
    fn queue(&self) -> MutexGuard<'_, WriteQueue> {
        lock(&self.queue)
    }

    fn lock_connection(&self) -> MutexGuard<'_, Connection> {
        lock(&self.connection)
    }

    /// Commits on this thread, if no other job is queued.
    fn commit_here<T, F: FnOnce(&Connection) -> SqliteResult<T>>(&self, work: F) -> Result<StoreResult<T>, F> {
        if !self.queue().jobs.is_empty() {
            return Err(work);
        }
        let c = match self.connection.try_lock() {
            Ok(c) => c,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(work),
        };
        let done = tokio::task::block_in_place(|| {
            self.files.check_lost(&c, &self.file, PAGE)?;
            let done = transaction(&c, work).map_err(|fault| fault.at_file(&self.file))?;
            self.files.check_files(&c, &self.file, PAGE)?;
            Ok(done)
        });
        drop(c);
        self.note_outcome(done.as_ref().err());
        self.note_commit();
        Ok(done)
    }

    /// Records whether the disk has taken a commit. An error of another kind says nothing about it.
    fn note_outcome(&self, error: Option<&StoreError>) {
        let mut failed = lock(&self.failed);
        match error {
            None => *failed = None,
            Some(error) if error.is_of_the_store() => *failed = Some((Instant::now(), error.clone())),
            Some(_) => {}
        }
    }

    /// Records a commit.
    fn note_commit(&self) {
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
                    self.note_commit();
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
    fn group(&self, mut jobs: Vec<Box<dyn WriteJob>>) -> bool {
        let lazy = jobs.iter().all(|job| job.job_kind() == WriteJobKind::Lazy);
        let c = self.lock_connection();
        let found = self.files.check_lost(&c, &self.file, PAGE);
        let kept = match jobs.as_mut_slice() {
            _ if found.is_err() => found,
            [one] if one.job_kind() == WriteJobKind::Alone => one.run_work(&c, &self.file),
            jobs if lazy => self.lazily(&c, |c| run_together(c, jobs, &self.file)),
            jobs => transaction(&c, |c| run_together(c, jobs, &self.file)).map_err(|fault| fault.at_file(&self.file)),
        };
        let kept = kept.and_then(|()| self.files.check_files(&c, &self.file, PAGE));
        drop(c);
        self.note_outcome(kept.as_ref().err());
        for job in jobs {
            job.report_result(kept.clone());
        }
        lazy
    }

    /// Commits without waiting for the disk. The commits before it are on the disk already; a later durable commit also
    /// makes this one durable.
    fn lazily<T>(&self, c: &Connection, work: impl FnOnce(&Connection) -> SqliteResult<T>) -> StoreResult<T> {
        let synchronous = |how: &str| Ok::<_, SqliteError>(c.execute_batch(&format!("PRAGMA synchronous = {how}"))?);
        let done = match synchronous("NORMAL") {
            Ok(()) => transaction(c, work),
            Err(fault) => Err(fault),
        };
        // SQLite rejects this only inside a transaction, and then it also rejects the next `BEGIN`.
        let restored = synchronous(self.file.options.durability.synchronous_mode());
        match (done, restored) {
            (Ok(done), Ok(())) => Ok(done),
            (Err(fault), _) | (_, Err(fault)) => Err(fault.at_file(&self.file)),
        }
    }

    /// Moves the log into the database if nothing is queued or the log is large. What cannot be moved now is moved
    /// later; nothing is lost.
    fn tidy_log(&self, idle: bool) {
        let c = self.lock_connection();
        if idle {
            let _ = run_checkpoint(&c, "PASSIVE");
        } else if let Ok((_, pages, _)) = run_checkpoint(&c, "NOOP")
            && pages.saturating_mul(i64::from(PAGE)) > LARGE
        {
            // Long readers are not waited for, because all writers would wait, too.
            let _ = c.busy_timeout(IDLE);
            let _ = run_checkpoint(&c, "RESTART");
            let _ = c.busy_timeout(Duration::from_millis(self.file.options.busy_ms));
        }
        // The file has grown. If something is wrong with it, the next commit says so.
        let _ = self.files.check_files(&c, &self.file, PAGE);
    }
}

/// Returns whether it was busy, the pages in the log, and how many of them are in the database.
pub fn run_checkpoint(c: &Connection, how: &str) -> rusqlite::Result<(i64, i64, i64)> {
    c.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

fn next_group(jobs: &mut VecDeque<Box<dyn WriteJob>>) -> Vec<Box<dyn WriteJob>> {
    let together = jobs.iter().take(GROUP).take_while(|job| job.job_kind() != WriteJobKind::Alone).count();
    jobs.drain(..together.max(1)).collect()
}

/// Each job gets a savepoint, unless it is the only one.
fn run_together(c: &Connection, jobs: &mut [Box<dyn WriteJob>], file: &StoreFile) -> SqliteResult<()> {
    if let [one] = jobs {
        // The transaction's rollback also undoes the job.
        return Ok(one.run_work(c, file)?);
    }
    for job in jobs {
        c.prepare_cached("SAVEPOINT job")?.execute([])?;
        if let Err(error) = job.run_work(c, file) {
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
fn transaction<T>(c: &Connection, work: impl FnOnce(&Connection) -> SqliteResult<T>) -> SqliteResult<T> {
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
    use crate::sqlite::{StoreDurability, StoreOptions};

    #[test]
    fn only_lazy_work_alone_does_not_wait_for_the_disk() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let synchronous = |c: &Connection| Ok(c.query_row("PRAGMA synchronous", [], |row| row.get::<_, i64>(0))?);
        let fails = |_: &Connection| Err::<i64, _>(SqliteError::Store(StoreError::Closed));
        for (durability, sure) in [(StoreDurability::Sync, 2), (StoreDurability::Batch, 1)] {
            let folder = tempfile::tempdir().unwrap();
            let options = StoreOptions { durability, ..StoreOptions::default() };
            let writer = SqliteWriter::open(StoreFile { path: folder.path().join("runs.db"), options }).unwrap();
            runtime.block_on(async {
                for thread in [CommitThread::Here, CommitThread::There] {
                    assert_eq!(writer.write_lazily(synchronous).await.unwrap(), 1);
                    assert_eq!(writer.write(thread, synchronous).await.unwrap(), sure);
                    assert!(writer.write_lazily(fails).await.is_err());
                    assert_eq!(writer.write(thread, synchronous).await.unwrap(), sure);
                }
                // Queued behind another job, it is committed together with that.
                let slow = writer.write(CommitThread::There, |_| {
                    std::thread::sleep(Duration::from_millis(50));
                    Ok(())
                });
                let together = async {
                    tokio::join!(writer.write_lazily(synchronous), writer.write(CommitThread::There, synchronous))
                };
                let (slow, (lazy, other)) = tokio::join!(slow, together);
                slow.unwrap();
                assert_eq!((lazy.unwrap(), other.unwrap()), (sure, sure));
            });
        }
    }
}
