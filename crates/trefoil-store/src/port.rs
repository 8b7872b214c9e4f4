//! The interface of a store.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use trefoil_machine::{ContentKey, Entry};
use trefoil_runtime::Clock;
use trefoil_runtime::limits::shared_limits::{PermitAnswer, PermitLease, PermitRequest, PermitWait, ReturnedPermit};
use trefoil_runtime::ports::{Draft, SystemClock};

use crate::batch::EntryBatch;
use crate::blob::{Blob, ContentHash};
use crate::document::Document;
use crate::error::StoreResult;
use crate::inbox::{InboxMessage, PostedMessage};
use crate::lease::{Claim, ClaimShare, Lease};
use crate::list::{RunCursor, RunFilter, RunPage, SpendingFilter};
use crate::record::{Content, Record, RunSpending, Status};
use crate::upkeep::{PruneResult, RunRetention, StoreHealth, StoreSize};

/// A new run to store.
#[derive(Debug, Clone, Default)]
pub struct NewRun {
    /// Its id.
    pub run: String,
    /// The run that started it.
    pub parent: Option<String>,
    /// Labels, by key: see [`check_labels`](crate::check_labels). A run that another one has started also has the labels that this
    /// one has then.
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
    pub batch: EntryBatch,
    /// Milliseconds since 1970-01-01 UTC: its start time, if its entries do not contain it.
    pub now: u64,
}

/// Stores runs. All times are milliseconds since 1970-01-01 UTC and come from the caller, who uses [`Store::clock`].
#[async_trait]
pub trait Store: Send + Sync {
    /// Adds a run with its first entries. Returns its lease, or `None` if it is not claimed yet.
    async fn create_run(&self, run: NewRun) -> StoreResult<Option<Lease>>;
    /// Appends entries and updates the run's record, in one transaction; only the holder of the lease may do this.
    /// Returns when they are as durable as this store makes them. An entry that ends the run releases the lease. If a
    /// run with [`Content::UntilEnd`] is completed or cancelled, the same transaction removes all of its content but the result: see
    /// [`StoredEntry::without_content`](crate::StoredEntry::without_content), [`Content::Result`].
    async fn append_batch(&self, lease: &Lease, batch: EntryBatch) -> StoreResult<()>;
    /// Stores partial answers, each replacing the earlier draft of the same call; only the holder of the lease may do
    /// this. Drafts survive the end of the process, but not necessarily a power failure, because nothing waits for the
    /// disk. Entries that end an answer, or mark it as lost, delete its draft. Runs that do not keep all
    /// [content](Content) have no drafts.
    async fn store_drafts(&self, lease: &Lease, drafts: Vec<Draft>) -> StoreResult<()>;
    /// Reads the drafts of a run.
    async fn read_drafts(&self, run: &str) -> StoreResult<Vec<Draft>>;
    /// Reads entries from a number on, in order: one page of any size, empty at the end.
    async fn read_entries(&self, run: &str, from: u64) -> StoreResult<Vec<Entry>>;

    /// Indexes model requests, so that [`runs_with_request`](Self::runs_with_request) finds them: those of runs that have ended since the last
    /// call, newest first, and of the newest runs in progress. A large store that was never indexed is indexed in
    /// several calls.
    async fn index_requests(&self) -> StoreResult<()>;
    /// Runs that may have a model's answer to this request, newest first. Runs whose [content](Content) is not kept are
    /// not included.
    async fn runs_with_request(&self, content: ContentKey, limit: usize) -> StoreResult<Vec<String>>;

    /// Reads the record of a run.
    async fn record(&self, run: &str) -> StoreResult<Record>;
    /// Lists runs, newest first, after a cursor.
    async fn list_runs(&self, filter: &RunFilter, after: Option<RunCursor>, limit: usize) -> StoreResult<RunPage>;
    /// The number of runs with each status. Cheap enough for a page that is refreshed often.
    async fn count_by_status(&self) -> StoreResult<Vec<(Status, u64)>>;
    /// What runs that started at this time or later have used so far. A run that another one has started is a part of that one: the
    /// flow, the labels and the start of the run at the top decide. Runs that were deleted are not included. Costs what it takes to read
    /// the records of the runs.
    async fn spending_since(&self, filter: &SpendingFilter, since: u64) -> StoreResult<RunSpending>;
    /// Sets a label of a run; `None` removes it.
    async fn set_label(&self, run: &str, key: &str, value: Option<&str>) -> StoreResult<()>;
    /// Reads bytes by their hash; `None`: the store does not have them.
    async fn read_blob(&self, hash: ContentHash) -> StoreResult<Option<Vec<u8>>>;

    /// Claims a run that has no owner, or whose owner's lease has expired, or whose owner is known to have ended. If the owner is known
    /// to live, its lease must not have been renewed for its length twice. Appends of the former owner are rejected from now on.
    async fn claim_run(&self, run: &str, claim: Claim) -> StoreResult<Lease>;
    /// Renews leases. Returns the runs whose leases were lost.
    async fn renew_leases(&self, leases: Vec<Lease>, until: u64) -> StoreResult<Vec<String>>;
    /// Releases a run, unless another process has claimed it since.
    async fn release_run(&self, lease: &Lease) -> StoreResult<()>;
    /// Releases the runs of an owner except those that it still holds: it has lost track of the others when the store failed. Returns
    /// their number.
    async fn release_others(&self, owner: &str, held: Vec<String>) -> StoreResult<usize>;
    /// Releases runs whose processes have ended or whose leases have expired, so that they are [`Status::Interrupted`], as whoever reads
    /// their records sees anyway. Returns their number. Deletes results that have waited for [`UNSEEN_MS`](crate::UNSEEN_MS), and some documents that have expired.
    async fn reclaim_runs(&self, now: u64) -> StoreResult<usize>;
    /// Lists runs that can be resumed: they have no owner, and are pending, interrupted, are due, or have messages. Runs that
    /// another run has started are not included before that one has ended: it continues them itself, within its limits. Runs that
    /// [a person attends to](NewRun::attended) are not included. The order is fair to flows: one that has many runs in progress or
    /// waiting does not delay the first runs of others.
    async fn claimable_runs(&self, now: u64, limit: usize) -> StoreResult<Vec<String>>;
    /// Claims some of the [claimable](Self::claimable_runs) runs. Runs that another process claims first are skipped.
    async fn claim_some(&self, claim: Claim, share: ClaimShare) -> StoreResult<Vec<Lease>>;
    /// Takes a run away from its owner, whose appends are rejected from now on. Returns the owner, if there was one.
    async fn evict_owner(&self, run: &str) -> StoreResult<Option<String>>;
    /// Deletes the result of a run whose content is not kept: somebody has seen it. Does nothing to other runs.
    async fn forget_result(&self, run: &str) -> StoreResult<()>;

    /// Puts a message in a run's inbox. Returns its number. A message that [answers](InboxMessage::is_answer) is refused with
    /// [`StoreError::Answered`](crate::StoreError::Answered) if the question has another message, or if an entry about its activity was
    /// appended since the message's [writer](InboxMessage::as_of) saw it; the same transaction decides that.
    async fn post_message(&self, run: &str, message: InboxMessage) -> StoreResult<u64>;
    /// A run's messages, oldest first.
    async fn read_inbox(&self, run: &str) -> StoreResult<Vec<PostedMessage>>;
    /// The messages for all runs of an owner, after a number, so that a process receives requests from others.
    async fn messages_for_owner(&self, owner: &str, after: u64) -> StoreResult<Vec<PostedMessage>>;

    /// Reads a document. One that has expired is not there. A store of an earlier build that is only read has none.
    async fn read_document(&self, collection: &str, name: &str, now: u64) -> StoreResult<Option<Document>>;
    /// Writes a document, if its [version](Document::version) is that of the stored one. Returns the new version; `None`: somebody else
    /// wrote or deleted it first, or it has expired.
    ///
    /// # Errors
    ///
    /// [`StoreError::Document`](crate::StoreError::Document) if its name or its value is too long,
    /// [`StoreError::Lacking`](crate::StoreError::Lacking) if this user may not add the table for it.
    async fn write_document(&self, document: Document) -> StoreResult<Option<u64>>;
    /// Lists the documents of a collection, by the bytes of their names, after a name. At most `limit`, and fewer if they are large: the
    /// list has ended when it is empty.
    async fn list_documents(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
        now: u64,
    ) -> StoreResult<Vec<Document>>;
    /// Deletes a document. Returns whether it was there.
    async fn delete_document(&self, collection: &str, name: &str) -> StoreResult<bool>;

    /// Asks for a permit of limits that all processes of the store share: see [`SharedLimits`](trefoil_runtime::SharedLimits). Before
    /// that, gives other permits of the same subject back. One transaction decides. A permit whose lease has expired, or whose process
    /// is known to have ended, is free. None of these operations on permits waits for the disk.
    async fn take_shared_permit(
        &self,
        request: &PermitRequest,
        lease: PermitLease,
        returned: Vec<ReturnedPermit>,
    ) -> StoreResult<PermitAnswer>;
    /// Gives permits of a subject back, or places in the queue, and corrects what was counted with what was used.
    async fn return_shared_permits(&self, subject: &str, returned: Vec<ReturnedPermit>) -> StoreResult<()>;
    /// Renews permits of a subject, by the numbers of their requests.
    async fn renew_shared_permits(&self, subject: &str, ids: Vec<u64>, until: u64) -> StoreResult<()>;
    /// Returns when asking again for a permit may help, at the latest after about a second. Only a hint.
    async fn wait_for_shared_permit(&self, wait: &PermitWait);

    /// Deletes a run and all data used only by it. A run with an owner is not deleted.
    async fn delete_run(&self, run: &str, now: u64) -> StoreResult<()>;
    /// Deletes old runs that have ended, and frees their space. A run that another one has called is deleted only after that one.
    async fn prune_runs(&self, retention: &RunRetention) -> StoreResult<PruneResult>;
    /// Deletes some of the runs past their retention period, if there are any. Very cheap if there are none: for callers that
    /// are about to do something else.
    async fn prune_some(&self, retention: &RunRetention) -> StoreResult<PruneResult>;
    /// Whether it can be written to, as far as that is known without writing: its file is where it was, and the last write did not
    /// fail for want of space. Cheap, for whoever asks every few seconds.
    ///
    /// # Errors
    ///
    /// What a write would fail with.
    async fn check_writable(&self) -> StoreResult<()> {
        self.count_by_status().await.map(drop)
    }
    /// Verifies everything and returns the problems.
    async fn check_integrity(&self) -> StoreResult<StoreHealth>;
    /// The size of the store.
    async fn measure_size(&self) -> StoreResult<StoreSize>;
    /// Copies the store to a new file, even while runs are in progress. The file appears when it is complete and on the disk.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoBackup`](crate::StoreError::NoBackup) if the store is not a file.
    async fn backup_to(&self, to: &Path) -> StoreResult<()>;

    /// Its path or URL for people, without a password.
    fn display_location(&self) -> String;
    /// The clock for leases and for waiting runs: the same for all hosts that share the store.
    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(SystemClock::new())
    }
    /// Returns when there may be a new run that waits for a process, at the latest after `at_most`. This is only a hint;
    /// callers query the runs anyway.
    async fn wait_for_work(&self, at_most: Duration) {
        tokio::time::sleep(at_most).await;
    }
}

/// An `Arc` of a store is a store, so that callers can keep access to it.
#[async_trait]
impl<T: Store + ?Sized> Store for Arc<T> {
    async fn create_run(&self, run: NewRun) -> StoreResult<Option<Lease>> {
        T::create_run(self, run).await
    }
    async fn append_batch(&self, lease: &Lease, batch: EntryBatch) -> StoreResult<()> {
        T::append_batch(self, lease, batch).await
    }
    async fn store_drafts(&self, lease: &Lease, drafts: Vec<Draft>) -> StoreResult<()> {
        T::store_drafts(self, lease, drafts).await
    }
    async fn read_drafts(&self, run: &str) -> StoreResult<Vec<Draft>> {
        T::read_drafts(self, run).await
    }
    async fn read_entries(&self, run: &str, from: u64) -> StoreResult<Vec<Entry>> {
        T::read_entries(self, run, from).await
    }
    async fn index_requests(&self) -> StoreResult<()> {
        T::index_requests(self).await
    }
    async fn runs_with_request(&self, content: ContentKey, limit: usize) -> StoreResult<Vec<String>> {
        T::runs_with_request(self, content, limit).await
    }
    async fn record(&self, run: &str) -> StoreResult<Record> {
        T::record(self, run).await
    }
    async fn list_runs(&self, filter: &RunFilter, after: Option<RunCursor>, limit: usize) -> StoreResult<RunPage> {
        T::list_runs(self, filter, after, limit).await
    }
    async fn count_by_status(&self) -> StoreResult<Vec<(Status, u64)>> {
        T::count_by_status(self).await
    }
    async fn spending_since(&self, filter: &SpendingFilter, since: u64) -> StoreResult<RunSpending> {
        T::spending_since(self, filter, since).await
    }
    async fn set_label(&self, run: &str, key: &str, value: Option<&str>) -> StoreResult<()> {
        T::set_label(self, run, key, value).await
    }
    async fn read_blob(&self, hash: ContentHash) -> StoreResult<Option<Vec<u8>>> {
        T::read_blob(self, hash).await
    }
    async fn claim_run(&self, run: &str, claim: Claim) -> StoreResult<Lease> {
        T::claim_run(self, run, claim).await
    }
    async fn renew_leases(&self, leases: Vec<Lease>, until: u64) -> StoreResult<Vec<String>> {
        T::renew_leases(self, leases, until).await
    }
    async fn release_run(&self, lease: &Lease) -> StoreResult<()> {
        T::release_run(self, lease).await
    }
    async fn release_others(&self, owner: &str, held: Vec<String>) -> StoreResult<usize> {
        T::release_others(self, owner, held).await
    }
    async fn reclaim_runs(&self, now: u64) -> StoreResult<usize> {
        T::reclaim_runs(self, now).await
    }
    async fn claimable_runs(&self, now: u64, limit: usize) -> StoreResult<Vec<String>> {
        T::claimable_runs(self, now, limit).await
    }
    async fn claim_some(&self, claim: Claim, share: ClaimShare) -> StoreResult<Vec<Lease>> {
        T::claim_some(self, claim, share).await
    }
    async fn evict_owner(&self, run: &str) -> StoreResult<Option<String>> {
        T::evict_owner(self, run).await
    }
    async fn forget_result(&self, run: &str) -> StoreResult<()> {
        T::forget_result(self, run).await
    }
    async fn post_message(&self, run: &str, message: InboxMessage) -> StoreResult<u64> {
        T::post_message(self, run, message).await
    }
    async fn read_inbox(&self, run: &str) -> StoreResult<Vec<PostedMessage>> {
        T::read_inbox(self, run).await
    }
    async fn messages_for_owner(&self, owner: &str, after: u64) -> StoreResult<Vec<PostedMessage>> {
        T::messages_for_owner(self, owner, after).await
    }
    async fn read_document(&self, collection: &str, name: &str, now: u64) -> StoreResult<Option<Document>> {
        T::read_document(self, collection, name, now).await
    }
    async fn write_document(&self, document: Document) -> StoreResult<Option<u64>> {
        T::write_document(self, document).await
    }
    async fn list_documents(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
        now: u64,
    ) -> StoreResult<Vec<Document>> {
        T::list_documents(self, collection, after, limit, now).await
    }
    async fn delete_document(&self, collection: &str, name: &str) -> StoreResult<bool> {
        T::delete_document(self, collection, name).await
    }

    async fn take_shared_permit(
        &self,
        request: &PermitRequest,
        lease: PermitLease,
        returned: Vec<ReturnedPermit>,
    ) -> StoreResult<PermitAnswer> {
        T::take_shared_permit(self, request, lease, returned).await
    }
    async fn return_shared_permits(&self, subject: &str, returned: Vec<ReturnedPermit>) -> StoreResult<()> {
        T::return_shared_permits(self, subject, returned).await
    }
    async fn renew_shared_permits(&self, subject: &str, ids: Vec<u64>, until: u64) -> StoreResult<()> {
        T::renew_shared_permits(self, subject, ids, until).await
    }
    async fn wait_for_shared_permit(&self, wait: &PermitWait) {
        T::wait_for_shared_permit(self, wait).await;
    }
    async fn delete_run(&self, run: &str, now: u64) -> StoreResult<()> {
        T::delete_run(self, run, now).await
    }
    async fn prune_runs(&self, retention: &RunRetention) -> StoreResult<PruneResult> {
        T::prune_runs(self, retention).await
    }
    async fn prune_some(&self, retention: &RunRetention) -> StoreResult<PruneResult> {
        T::prune_some(self, retention).await
    }
    async fn check_writable(&self) -> StoreResult<()> {
        T::check_writable(self).await
    }
    async fn check_integrity(&self) -> StoreResult<StoreHealth> {
        T::check_integrity(self).await
    }
    async fn measure_size(&self) -> StoreResult<StoreSize> {
        T::measure_size(self).await
    }
    async fn backup_to(&self, to: &Path) -> StoreResult<()> {
        T::backup_to(self, to).await
    }
    fn display_location(&self) -> String {
        T::display_location(self)
    }
    fn clock(&self) -> Arc<dyn Clock> {
        T::clock(self)
    }
    async fn wait_for_work(&self, at_most: Duration) {
        T::wait_for_work(self, at_most).await;
    }
}
