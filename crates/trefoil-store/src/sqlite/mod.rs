//! A store in one SQLite file: bundled SQLite, a write-ahead log, one writing connection, and readers that never wait.
//!
//! `schema.sql` defines the layout. SQLite 3.7.0 to 3.51.2 can damage a database if two connections checkpoint and
//! write at the same time, so the system's library is never used, and older `sqlite3` tools must not open a store in
//! use.

/// The run whose results a run reuses, in its first entry.
macro_rules! base {
    () => {
        "CASE WHEN json_valid(entry.body) THEN json_extract(entry.body, '$.entry.started.basis.run') END"
    };
}

mod blobs;
mod claims;
mod documents;
mod drafts;
mod entries;
mod fault;
mod format;
mod inbox_messages;
mod integrity;
mod lists;
mod open_files;
mod opening;
mod owner_locks;
mod read_only;
mod readers;
mod removal;
mod request_index;
mod run_search;
mod runs;
mod shared_permits;
mod spending;
mod store_file;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::Connection;
use tokio::sync::Notify;
use trefoil_machine::{ContentKey, Entry};
use trefoil_runtime::limits::shared_limits::{
    PermitAnswer, PermitLease, PermitRequest, PermitWait, ReturnSignal, ReturnedPermit,
};
use trefoil_runtime::ports::Draft;

use crate::batch::EntryBatch;
use crate::blob::ContentHash;
use crate::document::{Document, StoredDocument};
use crate::error::{StoreError, StoreResult};
use crate::inbox::{InboxMessage, PostedMessage};
use crate::lease::{Claim, ClaimShare, Lease};
use crate::list::{RunCursor, RunFilter, RunPage, SpendingFilter};
use crate::packed_blob::PackedBlob;
use crate::port::{NewRun, Store};
use crate::record::{Record, RunSpending, Status};
use crate::upkeep::{PruneResult, RunRetention, StoreHealth, StoreSize};

use fault::SqliteResult;
use owner_locks::{GoneOwners, OwnerLocks};
use readers::SqliteReaders;
use store_file::StoreFile;
use writer::{CommitThread, SqliteWriter, run_checkpoint};

pub use store_file::{PATIENCE, StoreDurability, StoreOptions};

/// Runs deleted in one transaction; other writers get their turn between transactions.
const REMOVED: usize = 100;
/// Maximum number of indexing transactions in one call. The rest is indexed in the next call.
const NOTED: usize = 3;
/// Pages that are returned to the disk in one transaction.
const PAGES: u32 = 2_000;

/// A store in one file.
///
/// [`Store::create_run`] and [`Store::append_batch`] may commit on the caller's thread ([`tokio::task::block_in_place`]), so on a runtime
/// with several threads they must not be called inside a `LocalSet`.
pub struct SqliteStore {
    // Fields are dropped in this order: the last connection to close moves the log into the database.
    readers: SqliteReaders,
    /// `None` if the store is read-only.
    writer: Option<SqliteWriter>,
    alive: Arc<OwnerLocks>,
    /// Shared permits that this process has given back.
    /// Something has happened in this process that may let a run go on.
    work: Arc<Notify>,
    permit_returns: ReturnSignal,
    file: StoreFile,
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.file.path).finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens a store; creates it, readable for this user only, if the file does not exist and [`StoreOptions::create`] says so.
    pub fn open(path: impl Into<PathBuf>, options: StoreOptions) -> StoreResult<Self> {
        let file = StoreFile { path: path.into(), options };
        let writer = SqliteWriter::open(file.clone())?;
        Ok(Self {
            readers: SqliteReaders::new(file.clone()),
            writer: Some(writer),
            alive: Arc::new(OwnerLocks::new(&file)),
            permit_returns: ReturnSignal::default(),
            work: Arc::default(),
            file,
        })
    }

    /// Opens a store for reading: creates and changes nothing, and needs no write access to the file or its folder.
    /// Operations that would change the store fail with [`StoreError::ReadOnly`].
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] if there is no store yet.
    pub fn open_to_read(path: impl Into<PathBuf>, options: StoreOptions) -> StoreResult<Self> {
        let file = StoreFile { path: path.into(), options };
        Ok(Self {
            readers: SqliteReaders::for_read_only(file.clone())?,
            writer: None,
            alive: Arc::new(OwnerLocks::new(&file)),
            permit_returns: ReturnSignal::default(),
            work: Arc::default(),
            file,
        })
    }

    fn writer(&self) -> StoreResult<&SqliteWriter> {
        self.writer.as_ref().ok_or_else(|| StoreError::ReadOnly { path: self.file.path.clone() })
    }

    /// Its file.
    pub fn file_path(&self) -> &Path {
        &self.file.path
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn create_run(&self, run: NewRun) -> StoreResult<Option<Lease>> {
        let writer = self.writer()?;
        if let Some(claim) = &run.claim {
            self.alive.is_here(&claim.owner);
            self.alive.add_lease();
        }
        let claimed = run.claim.is_some();
        let ends = run.batch.end.is_some();
        let values = PackedBlob::from_batch(&run.batch);
        let created = writer.write(CommitThread::Here, move |c| runs::create_run(c, &run, values)).await;
        if !claimed && created.is_ok() {
            self.work.notify_one();
        }
        if claimed && (matches!(created, Err(StoreError::RunExists { .. })) || created.is_ok() && ends) {
            self.alive.subtract_lease();
        }
        created
    }

    async fn append_batch(&self, lease: &Lease, batch: EntryBatch) -> StoreResult<()> {
        let (lease, values) = (lease.clone(), PackedBlob::from_batch(&batch));
        let ends = batch.end.is_some();
        let appended =
            self.writer()?.write(CommitThread::Here, move |c| runs::append_batch(c, &lease, &batch, values)).await;
        if appended.is_ok() && ends {
            self.alive.subtract_lease();
        }
        appended
    }

    async fn store_drafts(&self, lease: &Lease, drafts: Vec<Draft>) -> StoreResult<()> {
        let lease = lease.clone();
        self.writer()?.write_lazily(move |c| drafts::store_drafts(c, &lease, &drafts)).await
    }

    async fn read_drafts(&self, run: &str) -> StoreResult<Vec<Draft>> {
        let run = run.to_owned();
        self.readers.run_read(move |c| drafts::of_run(c, &run)).await
    }

    async fn read_entries(&self, run: &str, from: u64) -> StoreResult<Vec<Entry>> {
        let run = run.to_owned();
        self.readers.run_read(move |c| entries::read_entry_page(c, &run, from)).await
    }

    async fn index_requests(&self) -> StoreResult<()> {
        let writer = self.writer()?;
        for _ in 0..NOTED {
            if !writer.write(CommitThread::There, request_index::note_some).await? {
                break;
            }
        }
        writer.write(CommitThread::There, request_index::note_open).await
    }

    async fn runs_with_request(&self, content: ContentKey, limit: usize) -> StoreResult<Vec<String>> {
        self.readers.run_read(move |c| request_index::runs_with_request(c, content, limit)).await
    }

    async fn record(&self, run: &str) -> StoreResult<Record> {
        let run = run.to_owned();
        self.read_with_owners(move |c, departed| lists::read_record(c, &run, departed)).await
    }

    async fn list_runs(&self, filter: &RunFilter, after: Option<RunCursor>, limit: usize) -> StoreResult<RunPage> {
        let filter = filter.clone();
        self.read_with_owners(move |c, departed| lists::list_page(c, departed, &filter, after, limit)).await
    }

    async fn count_by_status(&self) -> StoreResult<Vec<(Status, u64)>> {
        self.read_with_owners(lists::count_by_status).await
    }

    async fn spending_since(&self, filter: &SpendingFilter, since: u64) -> StoreResult<RunSpending> {
        let filter = filter.clone();
        self.read_with_owners(move |c, departed| spending::sum_since(c, departed, &filter, since)).await
    }

    async fn set_label(&self, run: &str, key: &str, value: Option<&str>) -> StoreResult<()> {
        let (run, key, value) = (run.to_owned(), key.to_owned(), value.map(str::to_owned));
        self.writer()?.write(CommitThread::There, move |c| runs::label_run(c, &run, &key, value.as_deref())).await
    }

    async fn read_blob(&self, hash: ContentHash) -> StoreResult<Option<Vec<u8>>> {
        self.readers.run_read(move |c| blobs::get(c, hash)).await
    }

    async fn claim_run(&self, run: &str, claim: Claim) -> StoreResult<Lease> {
        self.writer()?;
        self.alive.is_here(&claim.owner);
        self.alive.add_lease();
        let (id, alive) = (run.to_owned(), self.alive.clone());
        let claimed =
            self.writer()?.write(CommitThread::There, move |c| claims::claim_run(c, &id, &claim, &alive)).await;
        if let Ok((_, Some(ended))) = &claimed {
            let name = ended.clone();
            if let Ok(false) = self.readers.run_read(move |c| runs::has_any(c, &name)).await {
                // If this fails, its lock stays, and whoever looks next forgets it.
                let _ = self.forget_owner(ended).await;
            }
        }
        let claimed = claimed.map(|(lease, _)| lease);
        if let Err(StoreError::Held { .. } | StoreError::NoRun { .. } | StoreError::Ended { .. }) = &claimed {
            self.alive.subtract_lease();
        }
        claimed
    }

    async fn renew_leases(&self, leases: Vec<Lease>, until: u64) -> StoreResult<Vec<String>> {
        self.writer()?.write(CommitThread::There, move |c| runs::renew_leases(c, &leases, until)).await
    }

    async fn release_run(&self, lease: &Lease) -> StoreResult<()> {
        let lease = lease.clone();
        let released = self.writer()?.write(CommitThread::There, move |c| runs::release_run(c, &lease)).await;
        if released.is_ok() {
            self.alive.subtract_lease();
            self.work.notify_one();
        }
        released
    }

    async fn release_others(&self, owner: &str, held: Vec<String>) -> StoreResult<usize> {
        let owner = owner.to_owned();
        let released =
            self.writer()?.write(CommitThread::There, move |c| runs::release_others(c, &owner, &held)).await?;
        if released > 0 {
            self.work.notify_one();
        }
        Ok(released)
    }

    async fn reclaim_runs(&self, now: u64) -> StoreResult<usize> {
        let mut taken = 0;
        self.expire_results(now).await?;
        self.expire_documents(now).await?;
        for owner in self.readers.run_read(runs::list_owners).await? {
            let before = match self.alive.is_alive(&owner) {
                Some(true) => continue,
                Some(false) => None,
                None => Some(now),
            };
            let name = owner.clone();
            taken +=
                self.writer()?.write(CommitThread::There, move |c| runs::release_runs_of(c, &name, before)).await?;
            if before.is_none() {
                self.forget_owner(&owner).await?;
            }
        }
        Ok(taken)
    }

    async fn claimable_runs(&self, now: u64, limit: usize) -> StoreResult<Vec<String>> {
        let share = ClaimShare { most: limit, ..ClaimShare::default() };
        self.readers.run_read(move |c| claims::claimable_runs(c, now, &share, "")).await
    }

    async fn claim_some(&self, claim: Claim, share: ClaimShare) -> StoreResult<Vec<Lease>> {
        let (now, owner) = (claim.now, claim.owner.clone());
        let found = self.readers.run_read(move |c| claims::claimable_runs(c, now, &share, &owner)).await?;
        let mut leases = Vec::new();
        for run in found {
            match self.claim_run(&run, claim.clone()).await {
                Ok(lease) => leases.push(lease),
                Err(StoreError::Held { .. } | StoreError::Ended { .. } | StoreError::NoRun { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(leases)
    }

    async fn evict_owner(&self, run: &str) -> StoreResult<Option<String>> {
        let run = run.to_owned();
        self.writer()?.write(CommitThread::There, move |c| claims::evict_owner(c, &run)).await
    }

    async fn forget_result(&self, run: &str) -> StoreResult<()> {
        let (id, run) = (run.to_owned(), run.to_owned());
        if self.readers.run_read(move |c| removal::has_result(c, &id)).await? {
            self.writer()?.write(CommitThread::There, move |c| removal::delete_result(c, &run)).await?;
        }
        Ok(())
    }

    async fn post_message(&self, run: &str, message: InboxMessage) -> StoreResult<u64> {
        let run = run.to_owned();
        let posted =
            self.writer()?.write(CommitThread::There, move |c| inbox_messages::post_message(c, &run, &message)).await;
        self.work.notify_one();
        posted
    }

    async fn read_inbox(&self, run: &str) -> StoreResult<Vec<PostedMessage>> {
        let run = run.to_owned();
        self.readers.run_read(move |c| inbox_messages::of_run(c, &run)).await
    }

    async fn messages_for_owner(&self, owner: &str, after: u64) -> StoreResult<Vec<PostedMessage>> {
        let owner = owner.to_owned();
        self.readers.run_read(move |c| inbox_messages::of_owner(c, &owner, after)).await
    }

    async fn read_document(&self, collection: &str, name: &str, now: u64) -> StoreResult<Option<Document>> {
        let (collection, name) = (collection.to_owned(), name.to_owned());
        self.readers.run_read(move |c| documents::read_document(c, &collection, &name, now)).await
    }

    async fn write_document(&self, document: Document) -> StoreResult<Option<u64>> {
        let (writer, now) = (self.writer()?, self.clock().wall_ms());
        let document = StoredDocument::from_document(document)?;
        writer.write(CommitThread::There, move |c| documents::write_document(c, &document, now)).await
    }

    async fn list_documents(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
        now: u64,
    ) -> StoreResult<Vec<Document>> {
        let (collection, after) = (collection.to_owned(), after.unwrap_or_default().to_owned());
        self.readers.run_read(move |c| documents::list_documents(c, &collection, &after, limit, now)).await
    }

    async fn delete_document(&self, collection: &str, name: &str) -> StoreResult<bool> {
        let (collection, name, now) = (collection.to_owned(), name.to_owned(), self.clock().wall_ms());
        self.writer()?.write(CommitThread::There, move |c| documents::delete_document(c, &collection, &name, now)).await
    }

    async fn take_shared_permit(
        &self,
        request: &PermitRequest,
        lease: PermitLease,
        returned: Vec<ReturnedPermit>,
    ) -> StoreResult<PermitAnswer> {
        let seen = self.permit_returns.seen_returns();
        let writer = self.writer()?;
        // So that others see if this process ends without giving its permits back.
        self.alive.is_here(&lease.holder);
        let (request, alive, returns) = (request.clone(), self.alive.clone(), !returned.is_empty());
        let take = move |c: &Connection| shared_permits::take_permit(c, &request, &lease, &returned, &alive);
        let answer = writer.write_lazily(take).await?;
        if returns {
            self.permit_returns.note_return();
        }
        Ok(answer.with_seen(seen))
    }

    async fn return_shared_permits(&self, subject: &str, returned: Vec<ReturnedPermit>) -> StoreResult<()> {
        let subject = subject.to_owned();
        let done = self.writer()?.write_lazily(move |c| shared_permits::return_permits(c, &subject, &returned)).await;
        self.permit_returns.note_return();
        done
    }

    async fn renew_shared_permits(&self, subject: &str, ids: Vec<u64>, until: u64) -> StoreResult<()> {
        let subject = subject.to_owned();
        self.writer()?.write_lazily(move |c| shared_permits::renew_permits(c, &subject, &ids, until)).await
    }

    async fn wait_for_shared_permit(&self, wait: &PermitWait) {
        let pause = shared_permits::pause_before_asking(wait);
        let _ = tokio::time::timeout(pause, self.permit_returns.wait_past(wait.seen)).await;
    }

    async fn delete_run(&self, run: &str, now: u64) -> StoreResult<()> {
        let run = run.to_owned();
        self.writer()?.write(CommitThread::There, move |c| removal::delete_run(c, &run, now)).await?;
        self.give_back().await
    }

    async fn prune_runs(&self, retention: &RunRetention) -> StoreResult<PruneResult> {
        let before = self.measure_size().await?.disk;
        self.expire_results(self.clock().wall_ms()).await?;
        let mut all = PruneResult::default();
        loop {
            let retention = retention.clone();
            let gone = self
                .writer()?
                .write(CommitThread::There, move |c| removal::delete_some(c, &retention, REMOVED))
                .await?;
            if gone.runs == 0 {
                break;
            }
            all.runs += gone.runs;
            all.failed += gone.failed;
        }
        self.writer()?.write(CommitThread::There, removal::delete_unused).await?;
        self.give_back().await?;
        // The file shrinks when the log is moved into it. A concurrent reader may delay that.
        self.writer()?.run_alone(|c| Ok(run_checkpoint(c, "TRUNCATE")?)).await?;
        Ok(PruneResult { bytes: before.saturating_sub(self.measure_size().await?.disk), ..all })
    }

    async fn prune_some(&self, retention: &RunRetention) -> StoreResult<PruneResult> {
        self.expire_results(self.clock().wall_ms()).await?;
        let due = retention.clone();
        if !self.readers.run_read(move |c| removal::is_due(c, &due)).await? {
            return Ok(PruneResult::default());
        }
        let retention = retention.clone();
        let gone =
            self.writer()?.write(CommitThread::There, move |c| removal::delete_some(c, &retention, REMOVED)).await?;
        if gone.runs > 0 {
            self.writer()?.write(CommitThread::There, |c| removal::give_back(c, PAGES)).await?;
        }
        Ok(gone)
    }

    async fn check_writable(&self) -> StoreResult<()> {
        self.writer()?.check_writable().await
    }

    async fn check_integrity(&self) -> StoreResult<StoreHealth> {
        match self.readers.run_read(integrity::check_integrity).await {
            // The file is too damaged to be read completely.
            Err(StoreError::Corrupt { why, .. }) => Ok(StoreHealth { problems: vec![why], ..StoreHealth::default() }),
            health => health,
        }
    }

    async fn measure_size(&self) -> StoreResult<StoreSize> {
        let length = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
        let disk = length(&self.file.path) + length(&self.file.wal_path());
        let (runs, used) = self.readers.run_read(removal::used_space).await?;
        Ok(StoreSize { runs, disk, used })
    }

    async fn backup_to(&self, to: &Path) -> StoreResult<()> {
        let to = to.to_owned();
        if std::fs::symlink_metadata(&to).is_ok() {
            return Err(StoreError::Exists { path: to });
        }
        let mut part = to.clone().into_os_string();
        part.push(".part");
        let part = PathBuf::from(part);
        let failed = {
            let path = to.clone();
            move |error: std::io::Error| StoreError::Io { path: path.clone(), why: error.to_string() }
        };
        // Removes the remains of an interrupted backup.
        let _ = std::fs::remove_file(&part);
        opening::private_file(&part).map_err(&failed)?;
        let file = part.clone();
        let copied = self.readers.run_read(move |c| {
            // Only the copy is written.
            c.execute_batch("PRAGMA query_only = OFF")?;
            let copied = c.execute("VACUUM INTO ?1", [file.to_string_lossy()]);
            c.execute_batch("PRAGMA query_only = ON")?;
            Ok(copied.map(drop)?)
        });
        let kept = match copied.await {
            // SQLite does not sync the copy to the disk.
            Ok(()) => std::fs::File::open(&part)
                .and_then(|file| file.sync_all())
                .and_then(|()| std::fs::hard_link(&part, &to))
                .map_err(failed),
            Err(error) => Err(error),
        };
        let _ = std::fs::remove_file(&part);
        kept
    }

    /// What other processes do is found by the next look.
    async fn wait_for_work(&self, at_most: Duration) {
        let _ = tokio::time::timeout(at_most, self.work.notified()).await;
    }

    fn display_location(&self) -> String {
        self.file.path.display().to_string()
    }
}

impl SqliteStore {
    /// Reads what depends on which processes have ended.
    async fn read_with_owners<T, F>(&self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, &GoneOwners) -> SqliteResult<T> + Send + 'static,
    {
        let (alive, now) = (self.alive.clone(), self.clock().wall_ms());
        self.readers.run_read(move |c| work(c, &alive.find_departed(c, now)?)).await
    }

    /// Forgets an owner that has ended and has no runs any more. What its lock says is recorded before the lock is removed.
    async fn forget_owner(&self, owner: &str) -> StoreResult<()> {
        let name = owner.to_owned();
        self.writer()?.write_lazily(move |c| shared_permits::remove_holder(c, &name)).await?;
        self.alive.remove_lock(owner);
        Ok(())
    }

    /// Deletes results that nobody has come for.
    async fn expire_results(&self, now: u64) -> StoreResult<()> {
        while self.readers.run_read(move |c| removal::has_old_result(c, now)).await? {
            self.writer()?.write(CommitThread::There, move |c| removal::old_results(c, now, REMOVED)).await?;
        }
        Ok(())
    }

    /// Deletes some documents that have expired, by the caller's clock and by this one.
    async fn expire_documents(&self, now: u64) -> StoreResult<()> {
        let now = now.min(self.clock().wall_ms());
        if self.readers.run_read(move |c| documents::has_expired(c, now)).await? {
            self.writer()?.write(CommitThread::There, move |c| documents::delete_expired(c, now, REMOVED)).await?;
        }
        Ok(())
    }

    /// Returns free pages to the disk, some at a time.
    async fn give_back(&self) -> StoreResult<()> {
        while self.writer()?.write(CommitThread::There, |c| removal::give_back(c, PAGES)).await? {}
        Ok(())
    }
}

/// A count or a time as SQLite stores it.
fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The reverse of [`int`].
fn uint(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
