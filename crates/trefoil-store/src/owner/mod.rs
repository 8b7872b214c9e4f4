//! A process as the owner of runs: it holds a lease for each, renews it all the time, and gives it back at the end.
//!
//! [`Owner`] makes a journal of any store. [`Owner::begin`] and [`Owner::resume`] make the journal of one run, which gives the run
//! back when it is dropped: a driver's future that is dropped lets go of its run.

mod inbox;
mod letters;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use trefoil_machine::Entry;
use trefoil_runtime::ports::{Draft, JournalError, SystemRandom};
use trefoil_runtime::{Clock, Journal, Random as _};

use crate::batch::Batch;
use crate::error::{Result, StoreError};
use crate::inbox::Posted;
use crate::lease::{Claim, Lease};
use crate::port::{NewRun, Store};
use crate::record::Content;

pub use inbox::Inbox;
use letters::{Letters, PAUSE};

/// How long a lease holds that is not renewed, in milliseconds: how long a run whose machine is gone waits for another one.
pub const LEASE_MS: u64 = 30_000;

/// A process that runs runs.
pub struct Owner {
    store: Arc<dyn Store>,
    name: String,
    clock: Arc<dyn Clock>,
    lease_ms: u64,
    held: Mutex<BTreeMap<String, Held>>,
    letters: Letters,
    renewing: AtomicBool,
    /// Runs that are being given back.
    leaving: Mutex<Vec<JoinHandle<()>>>,
}

/// A run of this process.
enum Held {
    /// Its first append creates it.
    New(Box<NewRun>),
    /// That is on its way.
    Beginning,
    /// It is in the store.
    Leased(Lease),
}

impl std::fmt::Debug for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Owner").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Owner {
    /// A process by a name that no other process has, ever: see [`Self::name`].
    pub fn new(store: Arc<dyn Store>, name: impl Into<String>, clock: Arc<dyn Clock>) -> Arc<Self> {
        Self::with_lease(store, name, clock, LEASE_MS)
    }

    /// This process, by the store's clock.
    pub fn of_process(store: Arc<dyn Store>) -> Arc<Self> {
        Self::of_process_with_lease(store, LEASE_MS)
    }

    /// The same, with another length of leases, in milliseconds.
    pub fn of_process_with_lease(store: Arc<dyn Store>, lease_ms: u64) -> Arc<Self> {
        // Numbers of processes come again, and on other hosts.
        let name = format!("{}-{:016x}", std::process::id(), SystemRandom.next());
        let clock = store.clock();
        Self::with_lease(store, name, clock, lease_ms)
    }

    /// The same, with another length of leases, in milliseconds.
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
            letters: Letters::default(),
            renewing: AtomicBool::new(false),
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

    /// The journal of a run that begins. The run is in the store from its first entry on, with these files and labels.
    /// `run.claim` and `run.batch` are filled in here.
    pub fn begin(self: &Arc<Self>, run: NewRun) -> Hold {
        let id = run.run.clone();
        self.letters.expect(&id);
        self.held().insert(id.clone(), Held::New(Box::new(run)));
        self.keep_renewing();
        Hold { owner: self.clone(), run: id }
    }

    /// Takes over a run that was interrupted or has failed, and its journal. Any other that has ended can be read, which is all that
    /// is done with it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Held`] if a process works on it, this one included; [`StoreError::NoRun`].
    pub async fn resume(self: &Arc<Self>, run: &str) -> Result<Hold> {
        if self.held().contains_key(run) {
            let until = self.clock.wall_ms().saturating_add(self.lease_ms);
            return Err(StoreError::Held { run: run.to_owned(), owner: self.name.clone(), until });
        }
        // Whoever is dropped while the claim is on its way gives back what it may have got.
        self.held().insert(run.to_owned(), Held::Beginning);
        let hold = Hold { owner: self.clone(), run: run.to_owned() };
        let claimed = self.store.claim(run, self.claim()).await;
        self.held().remove(run);
        match claimed {
            Ok(lease) => {
                self.held().insert(run.to_owned(), Held::Leased(lease));
                self.keep_renewing();
            }
            Err(StoreError::Ended { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(hold)
    }

    /// Takes over runs that wait for a process, and their journals, but for these.
    pub async fn take(self: &Arc<Self>, except: &[String], most: usize) -> Result<Vec<Hold>> {
        let claim = Claim { failed: false, ..self.claim() };
        let leases = self.store.claim_some(claim, except, most).await?;
        let mut held = self.held();
        let holds = leases.into_iter().map(|lease| {
            let run = lease.run.clone();
            held.insert(run.clone(), Held::Leased(lease));
            Hold { owner: self.clone(), run }
        });
        let holds = holds.collect();
        drop(held);
        self.keep_renewing();
        Ok(holds)
    }

    /// Gives back all runs, and returns when the store knows. For a process that is about to end.
    pub async fn release_all(&self) -> Result<()> {
        let held = std::mem::take(&mut *self.held());
        for held in held.into_values() {
            if let Held::Leased(lease) = held {
                self.store.release(&lease).await?;
            }
        }
        let leaving = std::mem::take(&mut *self.leaving.lock().unwrap_or_else(PoisonError::into_inner));
        for task in leaving {
            // One whose runtime has ended gives nothing back: its lease runs out.
            let _ = task.await;
        }
        Ok(())
    }

    /// Adds to a run that this process holds, with more than the entries say: what it cost, that it waits, letters it has taken.
    pub async fn add(&self, run: &str, mut batch: Batch) -> Result<()> {
        let lease = match self.held().get_mut(run) {
            Some(Held::Leased(lease)) => Ok(lease.clone()),
            Some(held @ Held::New(_)) => match std::mem::replace(held, Held::Beginning) {
                Held::New(new) => Err(*new),
                _ => return Err(StoreError::NotHeld { run: run.to_owned() }),
            },
            Some(Held::Beginning) | None => return Err(StoreError::NotHeld { run: run.to_owned() }),
        };
        let ends = batch.end.is_some();
        if let Some(end) = &mut batch.end {
            end.at = Some(self.clock.wall_ms());
        }
        match lease {
            Ok(lease) => {
                batch.lease_until = Some(self.until());
                batch.taken.extend(self.letters.done(run));
                let appended = self.store.append(&lease, batch).await;
                if ends || matches!(appended, Err(StoreError::NotHeld { .. })) {
                    self.held().remove(run);
                }
                appended
            }
            Err(new) => {
                let now = self.clock.wall_ms();
                let created = self
                    .store
                    .create(NewRun { claim: Some(self.claim()), batch, now, run: run.to_owned(), ..new })
                    .await;
                let mut held = self.held();
                // One that could not be created is not held.
                held.remove(run);
                match created? {
                    Some(lease) if !ends => held.insert(run.to_owned(), Held::Leased(lease)),
                    _ => held.remove(run),
                };
                Ok(())
            }
        }
    }

    /// Entries, as far as they are kept.
    fn batch(&self, run: &str, entries: &[Entry]) -> Result<Batch> {
        Batch::of_kept(entries, self.content(run))
    }

    /// What is kept of a run that is held.
    fn content(&self, run: &str) -> Content {
        self.held().get(run).map_or(Content::All, |held| match held {
            Held::New(new) => new.content,
            Held::Leased(lease) => lease.content,
            Held::Beginning => Content::All,
        })
    }

    /// Keeps drafts. What cannot be kept is not: the next append says what is wrong with the store.
    async fn draft(&self, run: &str, drafts: &[Draft]) {
        let lease = self.held().get(run).and_then(Held::lease).cloned();
        if let Some(lease) = lease {
            let _ = self.store.draft(&lease, drafts.to_vec()).await;
        }
    }

    fn claim(&self) -> Claim {
        let now = self.clock.wall_ms();
        Claim { owner: self.name.clone(), now, until: self.until(), gone: None, failed: true }
    }

    fn until(&self) -> u64 {
        self.clock.wall_ms().saturating_add(self.lease_ms)
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<String, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a run back, soon. If there is no time left for that, its lease runs out.
    fn let_go(&self, run: &str) {
        self.letters.forget(run);
        let (Some(held), Ok(runtime)) = (self.held().remove(run), Handle::try_current()) else { return };
        let (store, run, claim) = (self.store.clone(), run.to_owned(), self.claim());
        let task = runtime.spawn(async move {
            let lease = match held {
                Held::Leased(lease) => Ok(lease),
                // Its first entry was on its way: nobody has seen the lease that came with it.
                Held::Beginning => store.claim(&run, claim).await,
                Held::New(_) => return,
            };
            if let Ok(lease) = lease {
                let _ = store.release(&lease).await;
            }
        });
        let mut leaving = self.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        leaving.retain(|task| !task.is_finished());
        leaving.push(task);
    }

    /// Leases are renewed as long as the owner lives, in a task of their own: a run may wait for a model longer than a lease
    /// holds.
    fn keep_renewing(self: &Arc<Self>) {
        if let Ok(runtime) = Handle::try_current()
            && !self.renewing.swap(true, Ordering::SeqCst)
        {
            let pause = Duration::from_millis((self.lease_ms / 3).max(1));
            runtime.spawn(renew(Arc::downgrade(self), pause));
        }
    }

    /// A letter of one of the runs that fits.
    async fn letter<T>(&self, run: &str, fits: impl Fn(&Posted) -> Option<T>) -> Option<T> {
        // A store that fails says so at the next append.
        self.letters.find(&*self.store, run, fits).await.ok().flatten()
    }

    /// The next letter of a run.
    async fn next_letter(self: &Arc<Self>, run: &str) -> Posted {
        if let Ok(runtime) = Handle::try_current()
            && !self.letters.asking.swap(true, Ordering::SeqCst)
        {
            runtime.spawn(listen(Arc::downgrade(self)));
        }
        self.letters.next(&*self.store, run).await
    }

    /// What came of letters is in the journal.
    fn taken(&self, run: &str, key: &str) {
        self.letters.taken(run, key);
    }

    async fn renew_all(&self) {
        let leases: Vec<Lease> = self.held().values().filter_map(Held::lease).cloned().collect();
        if leases.is_empty() {
            return;
        }
        // What cannot be renewed now is tried again before it runs out. What is lost is told by the next append.
        let _ = self.store.renew(leases, self.until()).await;
    }
}

impl Held {
    fn lease(&self) -> Option<&Lease> {
        match self {
            Self::Leased(lease) => Some(lease),
            Self::New(_) | Self::Beginning => None,
        }
    }
}

async fn renew(owner: Weak<Owner>, pause: Duration) {
    loop {
        tokio::time::sleep(pause).await;
        match owner.upgrade() {
            Some(owner) => owner.renew_all().await,
            None => return,
        }
    }
}

async fn listen(owner: Weak<Owner>) {
    loop {
        tokio::time::sleep(PAUSE).await;
        match owner.upgrade() {
            Some(owner) => owner.letters.ask(&*owner.store, &owner.name).await,
            None => return,
        }
    }
}

/// Every run of this process. A run that it does not hold is created if its first entry is entry 0.
#[async_trait]
impl Journal for Owner {
    async fn append(&self, run: &str, entries: &[Entry]) -> Result<(), JournalError> {
        let Some(first) = entries.first() else { return Ok(()) };
        if first.seq == 0 {
            let new = NewRun { run: run.to_owned(), ..NewRun::default() };
            self.held().entry(run.to_owned()).or_insert_with(|| Held::New(Box::new(new)));
        }
        let batch = self.batch(run, entries)?;
        Ok(self.add(run, batch).await?)
    }

    async fn read(&self, run: &str, from: u64) -> Result<Vec<Entry>, JournalError> {
        Ok(self.store.entries(run, from).await?)
    }
}

/// The journal of one run of this process. Dropped, it gives the run back.
#[derive(Debug)]
pub struct Hold {
    owner: Arc<Owner>,
    run: String,
}

impl Hold {
    /// The run's id.
    pub fn run(&self) -> &str {
        &self.run
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.owner.let_go(&self.run);
    }
}

#[async_trait]
impl Journal for Hold {
    async fn append(&self, run: &str, entries: &[Entry]) -> Result<(), JournalError> {
        if entries.is_empty() {
            return Ok(());
        }
        let batch = self.owner.batch(run, entries)?;
        Ok(self.owner.add(run, batch).await?)
    }

    async fn read(&self, run: &str, from: u64) -> Result<Vec<Entry>, JournalError> {
        Journal::read(&*self.owner, run, from).await
    }

    fn keeps_drafts(&self) -> bool {
        self.owner.content(&self.run) == Content::All
    }

    async fn keep_drafts(&self, run: &str, drafts: &[Draft]) {
        self.owner.draft(run, drafts).await;
    }

    async fn drafts(&self, run: &str) -> Vec<Draft> {
        self.owner.store.drafts(run).await.unwrap_or_default()
    }
}

/// As a run's failure says it.
impl From<StoreError> for JournalError {
    fn from(error: StoreError) -> Self {
        Self { message: error.to_string(), help: error.help().map(str::to_owned) }
    }
}
