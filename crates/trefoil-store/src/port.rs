//! What a store does.

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
use crate::lease::{Claim, Lease};
use crate::list::{Cursor, Filter, Page};
use crate::record::{Content, Record, Status};
use crate::upkeep::{Health, Pruned, Retention, Size};

/// A run that is to be kept from now on.
#[derive(Debug, Clone, Default)]
pub struct NewRun {
    /// Its id.
    pub run: String,
    /// The run that started it.
    pub parent: Option<String>,
    /// Labels, by key.
    pub labels: Vec<(String, String)>,
    /// The files that its program was made of. Those that the store has already are kept once.
    pub files: Vec<Arc<Blob>>,
    /// What is kept of its prompts and answers.
    pub content: Content,
    /// Who runs it; nobody: it is pending until it is claimed.
    pub claim: Option<Claim>,
    /// Its first entries.
    pub batch: Batch,
    /// Milliseconds since 1970-01-01 UTC: when it began, if its entries do not say.
    pub now: u64,
}

/// Keeps runs. All times are milliseconds since 1970-01-01 UTC and come from the caller, who goes by [`Store::clock`].
#[async_trait]
pub trait Store: Send + Sync {
    /// Adds a run with its first entries. None: nobody has claimed it yet.
    async fn create(&self, run: NewRun) -> Result<Option<Lease>>;
    /// Adds entries, with what they change in the run's record, in one transaction, for whoever holds the lease. Returns when
    /// they are as durable as this store makes them. An entry that ends the run gives up the lease. If [`Content::UntilEnd`] is
    /// kept of a run that completes or is cancelled, the same transaction removes all content of it: see [`Body::bare`](crate::Body::bare).
    async fn append(&self, lease: &Lease, batch: Batch) -> Result<()>;
    /// Keeps what has come of answers that have not ended, for whoever holds the lease, each in place of what was kept of it
    /// before. It survives the end of the process, if need be not that of the machine: nobody waits for a disk. Entries that end
    /// an answer, or say that it is lost, remove its draft. Nothing is kept of a run of which not all [content](Content) is.
    async fn draft(&self, lease: &Lease, drafts: Vec<Draft>) -> Result<()>;
    /// The drafts of a run.
    async fn drafts(&self, run: &str) -> Result<Vec<Draft>>;
    /// Entries from a number on, in order: as many as the store likes to hand over at a time, none when there are no more.
    async fn entries(&self, run: &str, from: u64) -> Result<Vec<Entry>>;

    /// Takes note of what model calls were made for, so that [`asked`](Self::asked) finds them: of runs that have ended since it was
    /// called last, the newest first, and of the newest that have not. In a large store that was never asked, not all of it at once.
    async fn note_asked(&self) -> Result<()>;
    /// Runs that may have the answer of a model to that, the newest first. None of a run whose [content](Content) is not kept.
    async fn asked(&self, content: ContentKey, limit: usize) -> Result<Vec<String>>;

    /// A run at a glance.
    async fn record(&self, run: &str) -> Result<Record>;
    /// Runs, newest first, after a cursor.
    async fn list(&self, filter: &Filter, after: Option<Cursor>, limit: usize) -> Result<Page>;
    /// How many runs have each status. Cheap enough for a page that is looked at often.
    async fn counts(&self) -> Result<Vec<(Status, u64)>>;
    /// Sets a label of a run; none takes it away.
    async fn label(&self, run: &str, key: &str, value: Option<&str>) -> Result<()>;
    /// Bytes by their hash; none: the store does not have them.
    async fn blob(&self, hash: Hash) -> Result<Option<Vec<u8>>>;

    /// Takes a run over: one that nobody runs, or whose owner has let its lease run out, or is known to have ended. What its
    /// former owner appends from now on is refused.
    async fn claim(&self, run: &str, claim: Claim) -> Result<Lease>;
    /// Lengthens leases. Returns the runs whose leases were lost.
    async fn renew(&self, leases: Vec<Lease>, until: u64) -> Result<Vec<String>>;
    /// Gives a run back. One that somebody else has claimed since stays theirs.
    async fn release(&self, lease: &Lease) -> Result<()>;
    /// Takes runs from processes that have ended, or whose leases have run out: they are [`Status::Pending`] then. Returns how many
    /// that were. For whoever lists runs, or looks for some to go on with.
    async fn reclaim(&self, now: u64) -> Result<usize>;
    /// Runs that wait for a process: nobody holds them, and they are pending, were interrupted, are due, or have letters.
    async fn claimable(&self, now: u64, limit: usize) -> Result<Vec<String>>;

    /// Puts a letter in a run's inbox. Returns its number.
    async fn post(&self, run: &str, letter: Letter) -> Result<u64>;
    /// A run's letters, oldest first.
    async fn inbox(&self, run: &str) -> Result<Vec<Posted>>;
    /// The letters for all runs of an owner, after a number: how a process learns what others want from its runs.
    async fn posted(&self, owner: &str, after: u64) -> Result<Vec<Posted>>;

    /// Removes a run with all that only it uses. One that a process works on is refused.
    async fn delete(&self, run: &str, now: u64) -> Result<()>;
    /// Removes runs that have ended, and gives back their space.
    async fn prune(&self, retention: &Retention) -> Result<Pruned>;
    /// Removes some of the runs that need not be kept, if there are any. Costs next to nothing where there are none: for whoever
    /// is about to do something else.
    async fn prune_some(&self, retention: &Retention) -> Result<Pruned>;
    /// Reads everything and says what is wrong.
    async fn check(&self) -> Result<Health>;
    /// How large it is.
    async fn size(&self) -> Result<Size>;
    /// Copies it, as it is now, to a new file. Runs go on meanwhile. The file is there when it is whole and on the disk.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoBackup`](crate::StoreError::NoBackup) if it is not a file itself.
    async fn backup(&self, to: &Path) -> Result<()>;

    /// Where it is, as people are told: without a password.
    fn place(&self) -> String;
    /// The clock that leases go by, and whoever asks for runs that wait: the same for all hosts that share the store.
    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(SystemClock::new())
    }
    /// Returns when a run may have come that waits for a process, at the latest after a while. It is a hint: whoever waits for
    /// runs asks for them anyway.
    async fn stirred(&self, at_most: Duration) {
        tokio::time::sleep(at_most).await;
    }
}

/// Whoever hands a store over may keep it, too.
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
