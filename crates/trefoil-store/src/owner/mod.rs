//! A process as the owner of runs: it holds a lease on each, renews it regularly, and releases it at the end.
//!
//! [`Owner`] makes a journal of any store. [`Owner::begin_run`] and [`Owner::resume_run`] return the journal of one run, which
//! releases the run when it is dropped. Dropping a driver's future therefore releases its run.

mod inbox;
mod inbox_messages;
mod lost_runs;
mod store_limits;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use trefoil_machine::Entry;
use trefoil_runtime::ports::{Draft, InboxMessageId, JournalError, ReceivedMessage, SystemRandom};
use trefoil_runtime::{Clock, Journal, Random as _};

use crate::batch::EntryBatch;
use crate::error::{StoreError, StoreResult};
use crate::inbox::PostedMessage;
use crate::lease::{Claim, ClaimShare, Lease};
use crate::port::{NewRun, Store};
use crate::record::Content;
use trefoil_runtime::locks::lock;

pub use inbox::StoreInbox;
use inbox_messages::{OwnerInbox, PAUSE};
use lost_runs::LostRuns;
use store_limits::OwnerPermits;
pub use store_limits::StoreLimits;

/// How long a lease lasts without renewal, in milliseconds. If a machine fails, its runs wait this long before another
/// one can claim them.
pub const LEASE_MS: u64 = 30_000;

/// Time until a renewal that failed or took long is repeated.
const RENEW_AGAIN: Duration = Duration::from_millis(500);

/// A process that owns runs.
pub struct Owner {
    store: Arc<dyn Store>,
    name: String,
    clock: Arc<dyn Clock>,
    lease_ms: u64,
    held: Mutex<BTreeMap<String, OwnedRunState>>,
    inbox: OwnerInbox,
    permits: OwnerPermits,
    renewing: AtomicBool,
    /// Runs that this process owns in the store and does not hold.
    lost: LostRuns,
    /// Tasks that are releasing runs, or giving permits back.
    leaving: Mutex<Vec<JoinHandle<()>>>,
}

/// A run that this process owns.
enum OwnedRunState {
    /// Not in the store yet: its first append creates it.
    New(Box<NewRun>),
    /// It is being created or claimed.
    Beginning,
    /// It is in the store, and this process has its lease.
    Leased(Lease),
}

impl std::fmt::Debug for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Owner").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Owner {
    /// An owner with a name that no other process ever has: see [`Self::name`].
    pub fn new(store: Arc<dyn Store>, name: impl Into<String>, clock: Arc<dyn Clock>) -> Arc<Self> {
        Self::with_lease(store, name, clock, LEASE_MS)
    }

    /// An owner for this process, with the store's clock.
    pub fn of_process(store: Arc<dyn Store>) -> Arc<Self> {
        Self::of_process_with_lease(store, LEASE_MS)
    }

    /// Like [`Self::of_process`], with a lease time in milliseconds.
    pub fn of_process_with_lease(store: Arc<dyn Store>, lease_ms: u64) -> Arc<Self> {
        // Process ids are reused, and other hosts have the same ones.
        let name = format!("{}-{:016x}", std::process::id(), SystemRandom.next_number());
        let clock = store.clock();
        Self::with_lease(store, name, clock, lease_ms)
    }

    /// Like [`Self::new`], with a lease time in milliseconds.
    pub fn with_lease(
        store: Arc<dyn Store>,
        name: impl Into<String>,
        clock: Arc<dyn Clock>,
        lease_ms: u64,
    ) -> Arc<Self> {
        Arc::new(Self {
            store,
            name: name.into(),
            clock,
            lease_ms,
            held: Mutex::default(),
            inbox: OwnerInbox::default(),
            permits: OwnerPermits::default(),
            renewing: AtomicBool::new(false),
            lost: LostRuns::default(),
            leaving: Mutex::default(),
        })
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The name of the process.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether this process works on a run.
    pub fn holds_run(&self, run: &str) -> bool {
        self.lock_held().contains_key(run)
    }

    /// The journal of a new run. The run is in the store from its first entry on, with these files and labels. This
    /// method fills in `run.claim` and `run.batch`.
    pub fn begin_run(self: &Arc<Self>, run: NewRun) -> LeasedRun {
        let id = run.run.clone();
        self.inbox.expect_run(&id);
        self.lock_held().insert(id.clone(), OwnedRunState::New(Box::new(run)));
        self.keep_renewing();
        LeasedRun { owner: self.clone(), run: id }
    }

    /// Claims a run that was interrupted or has failed, and returns its journal. A run that has ended otherwise can
    /// only be read.
    ///
    /// # Errors
    ///
    /// [`StoreError::Held`] if a process works on it, possibly this one; [`StoreError::NoRun`].
    pub async fn resume_run(self: &Arc<Self>, run: &str) -> StoreResult<LeasedRun> {
        if self.lock_held().contains_key(run) {
            let until = self.clock.wall_ms().saturating_add(self.lease_ms);
            return Err(StoreError::Held { run: run.to_owned(), owner: self.name.clone(), until });
        }
        // If this future is dropped while the claim is in progress, `hold` releases the lease that may have been
        // acquired.
        self.lock_held().insert(run.to_owned(), OwnedRunState::Beginning);
        let hold = LeasedRun { owner: self.clone(), run: run.to_owned() };
        // Also if the claim fails: it may have been done.
        self.keep_renewing();
        let claimed = self.lost.watch_claim(self.store.claim_run(run, self.claim())).await;
        self.lock_held().remove(run);
        match claimed {
            Ok(lease) => {
                self.lock_held().insert(run.to_owned(), OwnedRunState::Leased(lease));
            }
            Err(StoreError::Ended { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(hold)
    }

    /// Claims runs that wait for a process, and returns their journals.
    pub async fn take_runs(self: &Arc<Self>, mut share: ClaimShare) -> StoreResult<Vec<LeasedRun>> {
        let claim = Claim { failed: false, ..self.claim() };
        // If this process stood still, its leases have expired and nobody else may have claimed their runs: it still works on them.
        share.except.extend(self.lock_held().keys().cloned());
        self.keep_renewing();
        let _claiming = self.lost.begin_claims().await;
        let leases = self.lost.watch_claim(self.store.claim_some(claim, share)).await?;
        let mut held = self.lock_held();
        let holds = leases.into_iter().map(|lease| {
            let run = lease.run.clone();
            held.insert(run.clone(), OwnedRunState::Leased(lease));
            LeasedRun { owner: self.clone(), run }
        });
        let holds = holds.collect();
        drop(held);
        Ok(holds)
    }

    /// Releases all runs and gives all permits back, and returns when the store has recorded that. For a process that is about to
    /// end.
    pub async fn release_all(&self) -> StoreResult<()> {
        let held = std::mem::take(&mut *self.lock_held());
        for held in held.into_values() {
            if let OwnedRunState::Leased(lease) = held {
                self.store.release_run(&lease).await?;
            }
        }
        self.permits.return_all(&*self.store).await;
        let leaving = std::mem::take(&mut *lock(&self.leaving));
        for task in leaving {
            // A task whose runtime has ended releases nothing; its lease expires.
            let _ = task.await;
        }
        Ok(())
    }

    /// Appends to a run that this process owns. The batch may have more than entries: cost, a waiting status, processed
    /// messages.
    pub async fn add_batch(&self, run: &str, mut batch: EntryBatch) -> StoreResult<()> {
        let lease = match self.lock_held().get_mut(run) {
            Some(OwnedRunState::Leased(lease)) => Ok(lease.clone()),
            Some(held @ OwnedRunState::New(_)) => match std::mem::replace(held, OwnedRunState::Beginning) {
                OwnedRunState::New(new) => Err(*new),
                _ => return Err(StoreError::NotHeld { run: run.to_owned() }),
            },
            Some(OwnedRunState::Beginning) | None => return Err(StoreError::NotHeld { run: run.to_owned() }),
        };
        let ends = batch.end.is_some();
        if let Some(end) = &mut batch.end {
            end.at = Some(self.clock.wall_ms());
        }
        match lease {
            Ok(lease) => {
                batch.lease_until = Some(self.lease_end());
                let appended = self.store.append_batch(&lease, batch).await;
                if ends || matches!(appended, Err(StoreError::NotHeld { .. })) {
                    self.lock_held().remove(run);
                }
                appended
            }
            Err(new) => {
                let now = self.clock.wall_ms();
                let new = NewRun { claim: Some(self.claim()), batch, now, run: run.to_owned(), ..new };
                let created = self.lost.watch_claim(self.store.create_run(new)).await;
                let mut held = self.lock_held();
                // If it could not be created, this process does not hold it.
                held.remove(run);
                match created? {
                    Some(lease) if !ends => held.insert(run.to_owned(), OwnedRunState::Leased(lease)),
                    _ => held.remove(run),
                };
                Ok(())
            }
        }
    }

    /// Appends entries, and deletes the messages that they act on.
    async fn add_for(&self, run: &str, entries: &[Entry], message_ids: &[InboxMessageId]) -> StoreResult<()> {
        let batch = self.batch(run, entries)?;
        let taken = message_ids.iter().map(|id| id.0).collect();
        self.add_batch(run, EntryBatch { taken, ..batch }).await?;
        self.inbox.mark_taken(run, message_ids);
        Ok(())
    }

    /// Builds a batch from entries, limited to the content that the run keeps.
    fn batch(&self, run: &str, entries: &[Entry]) -> StoreResult<EntryBatch> {
        EntryBatch::of_kept(entries, self.content(run))
    }

    /// How much content a run keeps.
    fn content(&self, run: &str) -> Content {
        match self.lock_held().get(run) {
            Some(OwnedRunState::New(new)) => new.content,
            Some(OwnedRunState::Leased(lease)) => lease.content,
            Some(OwnedRunState::Beginning) | None => Content::All,
        }
    }

    /// Stores drafts. Failures are ignored, because the next append reports what is wrong with the store.
    async fn draft(&self, run: &str, drafts: &[Draft]) {
        let lease = self.lock_held().get(run).and_then(OwnedRunState::lease).cloned();
        if let Some(lease) = lease {
            let _ = self.store.store_drafts(&lease, drafts.to_vec()).await;
        }
    }

    fn claim(&self) -> Claim {
        let now = self.clock.wall_ms();
        Claim { owner: self.name.clone(), now, until: self.lease_end(), gone: None, failed: true }
    }

    fn lease_end(&self) -> u64 {
        self.clock.wall_ms().saturating_add(self.lease_ms)
    }

    fn lock_held(&self) -> MutexGuard<'_, BTreeMap<String, OwnedRunState>> {
        lock(&self.held)
    }

    /// Releases a run in a separate task. If the process ends first, the lease expires.
    fn let_go(&self, run: &str) {
        self.inbox.forget_run(run);
        let (Some(held), Ok(runtime)) = (self.lock_held().remove(run), Handle::try_current()) else { return };
        let (store, run, claim, lost) = (self.store.clone(), run.to_owned(), self.claim(), self.lost.clone());
        self.spawn_leaving(&runtime, async move {
            let lease = match held {
                OwnedRunState::Leased(lease) => Ok(lease),
                // Its first append or claim was in progress, so this process does not know the lease.
                OwnedRunState::Beginning => lost.watch_claim(store.claim_run(&run, claim)).await,
                OwnedRunState::New(_) => return,
            };
            if let Ok(lease) = lease {
                let _ = lost.watch_claim(store.release_run(&lease)).await;
            }
        });
    }

    /// Starts a task that [`Self::release_all`] waits for.
    fn spawn_leaving(&self, runtime: &Handle, task: impl Future<Output = ()> + Send + 'static) {
        let task = runtime.spawn(task);
        let mut leaving = lock(&self.leaving);
        leaving.retain(|task| !task.is_finished());
        leaving.push(task);
    }

    /// Renews leases in a separate task while the owner lives, because a run may wait for a model longer than a lease
    /// lasts.
    fn keep_renewing(self: &Arc<Self>) {
        if let Ok(runtime) = Handle::try_current()
            && !self.renewing.swap(true, Ordering::SeqCst)
        {
            let pause = Duration::from_millis((self.lease_ms / 3).max(1));
            runtime.spawn(renew(Arc::downgrade(self), pause));
        }
    }

    /// A matching message of a run.
    async fn find_message<T>(
        &self,
        run: &str,
        fits: impl Fn(&PostedMessage) -> Option<T>,
    ) -> Option<ReceivedMessage<T>> {
        // If the store fails, the next append reports it.
        self.inbox.find_message(&*self.store, run, fits).await.ok().flatten()
    }

    /// The next message of a run.
    async fn next_message(self: &Arc<Self>, run: &str) -> PostedMessage {
        if let Ok(runtime) = Handle::try_current()
            && !self.inbox.asking.swap(true, Ordering::SeqCst)
        {
            runtime.spawn(listen(Arc::downgrade(self)));
        }
        self.inbox.next_message(&*self.store, run).await
    }

    /// The next message of a run, if there is one now.
    async fn message_now(&self, run: &str) -> Option<PostedMessage> {
        // If the store fails, the next append reports it.
        self.inbox.next_now(&*self.store, run).await.ok().flatten()
    }

    /// Returns whether the leases were renewed. The next append reports a lost lease.
    async fn renew_all(&self) -> bool {
        let leases: Vec<Lease> = self.lock_held().values().filter_map(OwnedRunState::lease).cloned().collect();
        let are_renewed = leases.is_empty() || self.store.renew_leases(leases, self.lease_end()).await.is_ok();
        self.permits.renew_all(&*self.store, self.lease_end()).await && are_renewed
    }

    /// Releases the runs that it owns in the store without holding them. Returns whether the store has recorded that.
    async fn release_lost(&self) -> bool {
        let Some(_turn) = self.lost.begin_release().await else { return true };
        let held = self.lock_held().keys().cloned().collect();
        let released = self.store.release_others(&self.name, held).await.is_ok();
        if !released {
            self.lost.suspect_loss();
        }
        released
    }
}

impl OwnedRunState {
    fn lease(&self) -> Option<&Lease> {
        match self {
            Self::Leased(lease) => Some(lease),
            Self::New(_) | Self::Beginning => None,
        }
    }
}

async fn renew(owner: Weak<Owner>, pause: Duration) {
    let mut next = pause;
    let Some(lost) = owner.upgrade().map(|owner| owner.lost.clone()) else { return };
    loop {
        tokio::select! {
            () = tokio::time::sleep(next) => {}
            // Not at once: the store that has failed may fail again.
            () = lost.wait_loss() => tokio::time::sleep(pause.min(RENEW_AGAIN)).await,
        }
        let Some(owner) = owner.upgrade() else { return };
        let began = Instant::now();
        owner.release_lost().await;
        // After an outage, leases are renewed at once, and for their whole time: others may already wait for them.
        let renewed = owner.renew_all().await && began.elapsed() < pause;
        next = if renewed { pause } else { pause.min(RENEW_AGAIN) };
    }
}

async fn listen(owner: Weak<Owner>) {
    loop {
        tokio::time::sleep(PAUSE).await;
        match owner.upgrade() {
            Some(owner) => owner.inbox.query_store(&*owner.store, &owner.name).await,
            None => return,
        }
    }
}

/// The journals of all runs of this process. A run that it does not own is created by an append that starts with entry
/// 0.
#[async_trait]
impl Journal for Owner {
    async fn append_entries(
        &self,
        run: &str,
        entries: &[Entry],
        message_ids: &[InboxMessageId],
    ) -> Result<(), JournalError> {
        let Some(first) = entries.first() else { return Ok(()) };
        if first.seq == 0 {
            let new = NewRun { run: run.to_owned(), ..NewRun::default() };
            self.lock_held().entry(run.to_owned()).or_insert_with(|| OwnedRunState::New(Box::new(new)));
        }
        Ok(self.add_for(run, entries, message_ids).await?)
    }

    async fn read_entries(&self, run: &str, from: u64) -> Result<Vec<Entry>, JournalError> {
        Ok(self.store.read_entries(run, from).await?)
    }
}

/// The journal of one run of this process. Dropping it releases the run.
#[derive(Debug)]
pub struct LeasedRun {
    owner: Arc<Owner>,
    run: String,
}

impl LeasedRun {
    /// The run's id.
    pub fn run_id(&self) -> &str {
        &self.run
    }
}

impl Drop for LeasedRun {
    fn drop(&mut self) {
        self.owner.let_go(&self.run);
    }
}

#[async_trait]
impl Journal for LeasedRun {
    async fn append_entries(
        &self,
        run: &str,
        entries: &[Entry],
        message_ids: &[InboxMessageId],
    ) -> Result<(), JournalError> {
        if entries.is_empty() {
            return Ok(());
        }
        Ok(self.owner.add_for(run, entries, message_ids).await?)
    }

    async fn read_entries(&self, run: &str, from: u64) -> Result<Vec<Entry>, JournalError> {
        Journal::read_entries(&*self.owner, run, from).await
    }

    fn keeps_drafts(&self) -> bool {
        self.owner.content(&self.run) == Content::All
    }

    async fn keep_drafts(&self, run: &str, drafts: &[Draft]) {
        self.owner.draft(run, drafts).await;
    }

    async fn read_drafts(&self, run: &str) -> Vec<Draft> {
        self.owner.store.read_drafts(run).await.unwrap_or_default()
    }
}

/// The error with which the run fails.
impl From<StoreError> for JournalError {
    fn from(error: StoreError) -> Self {
        let is_deleted = matches!(error, StoreError::NoRun { .. });
        Self { message: error.to_string(), help: error.help_text().map(str::to_owned), is_deleted }
    }
}
