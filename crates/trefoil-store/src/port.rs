//! The interface of a store.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use trefoil_machine::{ContentKey, Entry};
use trefoil_runtime::Clock;
use trefoil_runtime::ports::{Draft, SystemClock};

use crate::batch::Batch;
use crate::blob::{Blob, Hash};
use crate::error::Result;
use crate::inbox::{Letter, Posted};
use crate::lease::{Claim, ClaimShare, Lease};
use crate::list::{Cursor, Filter, Page};
use crate::record::{Content, Record, Status};
use crate::upkeep::{Health, Pruned, Retention, Size};

/// A new run to store.
#[derive(Debug, Clone, Default)]
pub struct NewRun {
    /// Its id.
    pub run: String,
    /// The run that started it.
    pub parent: Option<String>,
    /// Labels, by key.
    pub labels: Vec<(String, String)>,
    /// The files of its program. Files that the store already has are stored only once.
    pub files: Vec<Arc<Blob>>,
    /// How long its prompts and answers are kept.
    pub content: Content,
    /// Whether only a person continues it: workers leave it alone.
    pub attended: bool,
    /// The process that runs it; `None`: it is pending until it is claimed.
    pub claim: Option<Claim>,
    /// Its first entries.
    pub batch: Batch,
    /// Milliseconds since 1970-01-01 UTC: its start time, if its entries do not contain it.
    pub now: u64,
}

/// Stores runs. All times are milliseconds since 1970-01-01 UTC and come from the caller, who uses [`Store::clock`].
#[async_trait]
pub trait Store: Send + Sync {
    /// Adds a run with its first entries. Returns its lease, or `None` if it is not claimed yet.
    async fn create(&self, run: NewRun) -> Result<Option<Lease>>;
    /// Appends entries and updates the run's record, in one transaction; only the holder of the lease may do this.
    /// Returns when they are as durable as this store makes them. An entry that ends the run releases the lease. If a
    /// run with [`Content::UntilEnd`] is completed or cancelled, the same transaction removes all of its content but the result: see
    /// [`Body::bare`](crate::Body::bare), [`Content::Result`].
    async fn append(&self, lease: &Lease, batch: Batch) -> Result<()>;
    /// Stores partial answers, each replacing the earlier draft of the same call; only the holder of the lease may do
    /// this. Drafts survive the end of the process, but not necessarily a power failure, because nothing waits for the
    /// disk. Entries that end an answer, or mark it as lost, delete its draft. Runs that do not keep all
    /// [content](Content) have no drafts.
    async fn draft(&self, lease: &Lease, drafts: Vec<Draft>) -> Result<()>;
    /// Reads the drafts of a run.
    async fn drafts(&self, run: &str) -> Result<Vec<Draft>>;
    /// Reads entries from a number on, in order: one page of any size, empty at the end.
    async fn entries(&self, run: &str, from: u64) -> Result<Vec<Entry>>;

    /// Indexes model requests, so that [`asked`](Self::asked) finds them: those of runs that have ended since the last
    /// call, newest first, and of the newest runs in progress. A large store that was never indexed is indexed in
    /// several calls.
    async fn note_asked(&self) -> Result<()>;
    /// Runs that may have a model's answer to this request, newest first. Runs whose [content](Content) is not kept are
    /// not included.
    async fn asked(&self, content: ContentKey, limit: usize) -> Result<Vec<String>>;

    /// Reads the record of a run.
    async fn record(&self, run: &str) -> Result<Record>;
    /// Lists runs, newest first, after a cursor.
    async fn list(&self, filter: &Filter, after: Option<Cursor>, limit: usize) -> Result<Page>;
    /// The number of runs with each status. Cheap enough for a page that is refreshed often.
    async fn counts(&self) -> Result<Vec<(Status, u64)>>;
    /// Sets a label of a run; `None` removes it.
    async fn label(&self, run: &str, key: &str, value: Option<&str>) -> Result<()>;
    /// Reads bytes by their hash; `None`: the store does not have them.
    async fn blob(&self, hash: Hash) -> Result<Option<Vec<u8>>>;

    /// Claims a run that has no owner, or whose owner's lease has expired, or whose owner is known to have ended. If the owner is known
    /// to live, its lease must not have been renewed for its length twice. Appends of the former owner are rejected from now on.
    async fn claim(&self, run: &str, claim: Claim) -> Result<Lease>;
    /// Renews leases. Returns the runs whose leases were lost.
    async fn renew(&self, leases: Vec<Lease>, until: u64) -> Result<Vec<String>>;
    /// Releases a run, unless another process has claimed it since.
    async fn release(&self, lease: &Lease) -> Result<()>;
    /// Releases runs whose processes have ended or whose leases have expired, so that they are [`Status::Interrupted`], as whoever reads
    /// their records sees anyway. Returns their number. Deletes results that have waited for [`UNSEEN_MS`](crate::UNSEEN_MS).
    async fn reclaim(&self, now: u64) -> Result<usize>;
    /// Lists runs that can be resumed: they have no owner, and are pending, interrupted, are due, or have letters. Runs that
    /// another run has started are not included before that one has ended: it continues them itself, within its limits. Runs that
    /// [a person attends to](NewRun::attended) are not included. The order is fair to flows: one that has many runs in progress or
    /// waiting does not delay the first runs of others.
    async fn claimable(&self, now: u64, limit: usize) -> Result<Vec<String>>;
    /// Claims some of the [claimable](Self::claimable) runs. Runs that another process claims first are skipped.
    async fn claim_some(&self, claim: Claim, share: ClaimShare) -> Result<Vec<Lease>>;
    /// Takes a run away from its owner, whose appends are rejected from now on. Returns the owner, if there was one.
    async fn evict_owner(&self, run: &str) -> Result<Option<String>>;
    /// Deletes the result of a run whose content is not kept: somebody has seen it. Does nothing to other runs.
    async fn forget_result(&self, run: &str) -> Result<()>;

    /// Puts a letter in a run's inbox. Returns its number. A letter that [answers](Letter::answers) is refused with
    /// [`StoreError::Answered`](crate::StoreError::Answered) if the question has another letter, or if an entry about its activity was
    /// appended since the letter's [writer](Letter::as_of) saw it; the same transaction decides that.
    async fn post(&self, run: &str, letter: Letter) -> Result<u64>;
    /// A run's letters, oldest first.
    async fn inbox(&self, run: &str) -> Result<Vec<Posted>>;
    /// The letters for all runs of an owner, after a number, so that a process receives requests from others.
    async fn posted(&self, owner: &str, after: u64) -> Result<Vec<Posted>>;

    /// Deletes a run and all data used only by it. A run with an owner is not deleted.
    async fn delete(&self, run: &str, now: u64) -> Result<()>;
    /// Deletes old runs that have ended, and frees their space. A run that another one has called is deleted only after that one.
    async fn prune(&self, retention: &Retention) -> Result<Pruned>;
    /// Deletes some of the runs past their retention period, if there are any. Very cheap if there are none: for callers that
    /// are about to do something else.
    async fn prune_some(&self, retention: &Retention) -> Result<Pruned>;
    /// Verifies everything and returns the problems.
    async fn check(&self) -> Result<Health>;
    /// The size of the store.
    async fn size(&self) -> Result<Size>;
    /// Copies the store to a new file, even while runs are in progress. The file appears when it is complete and on the disk.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoBackup`](crate::StoreError::NoBackup) if the store is not a file.
    async fn backup(&self, to: &Path) -> Result<()>;

    /// Its path or URL for people, without a password.
    fn place(&self) -> String;
    /// The clock for leases and for waiting runs: the same for all hosts that share the store.
    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(SystemClock::new())
    }
    /// Returns when there may be a new run that waits for a process, at the latest after `at_most`. This is only a hint;
    /// callers query the runs anyway.
    async fn stirred(&self, at_most: Duration) {
        tokio::time::sleep(at_most).await;
    }
}

/// An `Arc` of a store is a store, so that callers can keep access to it.
#[async_trait]
impl<T: Store + ?Sized> Store for Arc<T> {
    async fn create(&self, run: NewRun) -> Result<Option<Lease>> {
        T::create(self, run).await
    }
    async fn append(&self, lease: &Lease, batch: Batch) -> Result<()> {
        T::append(self, lease, batch).await
    }
    async fn draft(&self, lease: &Lease, drafts: Vec<Draft>) -> Result<()> {
        T::draft(self, lease, drafts).await
    }
    async fn drafts(&self, run: &str) -> Result<Vec<Draft>> {
        T::drafts(self, run).await
    }
    async fn entries(&self, run: &str, from: u64) -> Result<Vec<Entry>> {
        T::entries(self, run, from).await
    }
    async fn note_asked(&self) -> Result<()> {
        T::note_asked(self).await
    }
    async fn asked(&self, content: ContentKey, limit: usize) -> Result<Vec<String>> {
        T::asked(self, content, limit).await
    }
    async fn record(&self, run: &str) -> Result<Record> {
        T::record(self, run).await
    }
    async fn list(&self, filter: &Filter, after: Option<Cursor>, limit: usize) -> Result<Page> {
        T::list(self, filter, after, limit).await
    }
    async fn counts(&self) -> Result<Vec<(Status, u64)>> {
        T::counts(self).await
    }
    async fn label(&self, run: &str, key: &str, value: Option<&str>) -> Result<()> {
        T::label(self, run, key, value).await
    }
    async fn blob(&self, hash: Hash) -> Result<Option<Vec<u8>>> {
        T::blob(self, hash).await
    }
    async fn claim(&self, run: &str, claim: Claim) -> Result<Lease> {
        T::claim(self, run, claim).await
    }
    async fn renew(&self, leases: Vec<Lease>, until: u64) -> Result<Vec<String>> {
        T::renew(self, leases, until).await
    }
    async fn release(&self, lease: &Lease) -> Result<()> {
        T::release(self, lease).await
    }
    async fn reclaim(&self, now: u64) -> Result<usize> {
        T::reclaim(self, now).await
    }
    async fn claimable(&self, now: u64, limit: usize) -> Result<Vec<String>> {
        T::claimable(self, now, limit).await
    }
    async fn claim_some(&self, claim: Claim, share: ClaimShare) -> Result<Vec<Lease>> {
        T::claim_some(self, claim, share).await
    }
    async fn evict_owner(&self, run: &str) -> Result<Option<String>> {
        T::evict_owner(self, run).await
    }
    async fn forget_result(&self, run: &str) -> Result<()> {
        T::forget_result(self, run).await
    }
    async fn post(&self, run: &str, letter: Letter) -> Result<u64> {
        T::post(self, run, letter).await
    }
    async fn inbox(&self, run: &str) -> Result<Vec<Posted>> {
        T::inbox(self, run).await
    }
    async fn posted(&self, owner: &str, after: u64) -> Result<Vec<Posted>> {
        T::posted(self, owner, after).await
    }
    async fn delete(&self, run: &str, now: u64) -> Result<()> {
        T::delete(self, run, now).await
    }
    async fn prune(&self, retention: &Retention) -> Result<Pruned> {
        T::prune(self, retention).await
    }
    async fn prune_some(&self, retention: &Retention) -> Result<Pruned> {
        T::prune_some(self, retention).await
    }
    async fn check(&self) -> Result<Health> {
        T::check(self).await
    }
    async fn size(&self) -> Result<Size> {
        T::size(self).await
    }
    async fn backup(&self, to: &Path) -> Result<()> {
        T::backup(self, to).await
    }
    fn place(&self) -> String {
        T::place(self)
    }
    fn clock(&self) -> Arc<dyn Clock> {
        T::clock(self)
    }
    async fn stirred(&self, at_most: Duration) {
        T::stirred(self, at_most).await;
    }
}
