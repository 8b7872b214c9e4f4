//! The connections of a process: a few, whoever needs one waits for it. They live in a runtime of their own, so that a store can be
//! used from any runtime, and what was begun ends even if whoever asked for it is gone.
//!
//! Work that collided with that of others is done again: the server has undone it. Where the connection broke, nobody knows
//! whether the work was done, and it is tried again with that knowledge: [`Before::Perhaps`]. Each piece of work says what it makes
//! of it.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Notify, Semaphore};
use trefoil_runtime::Clock;
use trefoil_runtime::ports::SystemClock;

use super::connect::{Door, Session};
use super::fault::{Done, Fault, Outcome};
use crate::address::Address;
use crate::error::{Result, StoreError};

/// Connections at most. A commit waits for the disk of the server, which commits those of several connections together.
const MOST: usize = 8;
/// How long work is tried again while the server cannot be reached: less than a lease holds, and enough for a restart.
const PATIENCE: Duration = Duration::from_secs(25);
/// The first pause between tries; each further one is twice as long, up to the longest.
const PAUSE: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_millis(500);
/// How often work that collides is tried.
const COLLISIONS: u32 = 50;

/// Whether work may have been done before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// It was not.
    No,
    /// A connection broke while it was under way: it may have been done, and may still be.
    Perhaps,
}

/// What is done with a connection.
pub type Doing<'s, T> = Pin<Box<dyn Future<Output = Done<T>> + Send + 's>>;

/// The connections of a process.
pub struct Pool {
    shared: Arc<Shared>,
    /// None: it has ended.
    runtime: Option<Runtime>,
}

struct Shared {
    address: Address,
    door: Door,
    idle: Mutex<Vec<Session>>,
    turns: Semaphore,
    clock: Arc<ServerClock>,
}

impl Pool {
    /// To a server. Nothing is connected yet.
    pub fn new(address: Address, door: Door) -> Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("trefoil-store").enable_all().build();
        let runtime = runtime
            .map_err(|error| StoreError::Open { path: address.path(), why: format!("no thread for it: {error}") })?;
        let shared = Shared {
            address,
            door,
            idle: Mutex::default(),
            turns: Semaphore::new(MOST),
            clock: Arc::new(ServerClock::default()),
        };
        Ok(Self { shared: Arc::new(shared), runtime: Some(runtime) })
    }

    fn handle(&self) -> Result<&Handle> {
        self.runtime.as_ref().map(Runtime::handle).ok_or(StoreError::Closed)
    }

    /// Does something with a connection, as often as that takes.
    pub async fn work<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'s> Fn(&'s mut Session, Before) -> Doing<'s, T> + Send + Sync + 'static,
    {
        let shared = self.shared.clone();
        let task = self.handle()?.spawn(async move { shared.work(&work, PATIENCE).await });
        task.await.unwrap_or(Err(StoreError::Closed))
    }

    /// The same for whoever cannot wait in a future, and once: a server that is not there is told at once.
    pub fn at_once<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'s> Fn(&'s mut Session, Before) -> Doing<'s, T> + Send + Sync + 'static,
    {
        let (say, said) = std::sync::mpsc::channel();
        let shared = self.shared.clone();
        self.handle()?.spawn(async move {
            let _ = say.send(shared.work(&work, Duration::ZERO).await);
        });
        said.recv().unwrap_or(Err(StoreError::Closed))
    }

    /// Listens to a channel as long as the pool is there, and rings a bell.
    pub fn listen(&self, channel: &'static str, bell: Arc<Notify>) {
        let (door, Ok(runtime)) = (self.shared.door.clone(), self.handle()) else { return };
        runtime.spawn(async move {
            loop {
                let ring = bell.clone();
                // Whoever cannot listen asks now and then.
                let _ = door.listen(channel, move || ring.notify_waiters()).await;
                tokio::time::sleep(LONGEST * 2).await;
            }
        });
    }

    /// The server's clock.
    pub fn server_clock(&self) -> Arc<ServerClock> {
        self.shared.clock.clone()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Not everywhere may one wait for it.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Shared {
    async fn work<T, F>(&self, work: &F, patience: Duration) -> Result<T>
    where
        F: for<'s> Fn(&'s mut Session, Before) -> Doing<'s, T>,
    {
        let turn = self.turns.acquire().await.map_err(|_| StoreError::Closed)?;
        let (mut before, mut collisions, mut pause) = (Before::No, 0, PAUSE);
        let mut since: Option<Instant> = None;
        loop {
            let fault = match self.session().await {
                Ok(mut session) => match work(&mut session, before).await {
                    Ok(done) => {
                        // A transaction that was not committed has changed nothing, and must not go on.
                        if session.give_up().await {
                            self.keep(session);
                        }
                        drop(turn);
                        return Ok(done);
                    }
                    Err(fault) => {
                        if fault.outcome() == Outcome::Unknown {
                            before = Before::Perhaps;
                        } else if session.give_up().await {
                            self.keep(session);
                        }
                        fault
                    }
                },
                // Nothing was sent.
                Err(fault) => fault,
            };
            match fault.outcome() {
                Outcome::Failed => return Err(fault.at(&self.address)),
                Outcome::Collided if collisions < COLLISIONS => collisions += 1,
                Outcome::Collided => return Err(fault.at(&self.address)),
                Outcome::Unknown => {
                    // Those that are idle broke, too.
                    self.idle.lock().unwrap_or_else(PoisonError::into_inner).retain(|session| !session.is_gone());
                    if since.get_or_insert_with(Instant::now).elapsed() >= patience {
                        return Err(fault.at(&self.address));
                    }
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST);
        }
    }

    /// A connection: one that is idle, or a new one.
    async fn session(&self) -> Done<Session> {
        while let Some(session) = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            if !session.is_gone() {
                return Ok(session);
            }
        }
        let mut session = self.door.connect().await?;
        self.clock.read(&mut session).await?;
        Ok(session)
    }

    fn keep(&self, session: Session) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(session);
    }
}

/// The server's clock, which all hosts share: what it said last, and how long ago that was by this machine's own, which only goes on.
#[derive(Default)]
pub struct ServerClock {
    read: Mutex<Option<(Instant, u64)>>,
    own: SystemClock,
}

impl ServerClock {
    /// Asks the server what time it is.
    pub async fn read(&self, session: &mut Session) -> Done<()> {
        let asked = Instant::now();
        let row = session.row("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint", &[]).await?;
        let Some(now) = row.map(|row| row.try_get::<_, i64>(0)).transpose()? else { return Ok(()) };
        // It said so somewhere between the question and the answer.
        let at = asked + asked.elapsed() / 2;
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = Some((at, super::uint(now)));
        Ok(())
    }
}

#[async_trait]
impl Clock for ServerClock {
    fn now_ms(&self) -> u64 {
        self.own.now_ms()
    }
    async fn sleep(&self, ms: u64) {
        self.own.sleep(ms).await;
    }
    fn wall_ms(&self) -> u64 {
        match *self.read.lock().unwrap_or_else(PoisonError::into_inner) {
            Some((at, ms)) => ms.saturating_add(u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX)),
            None => self.own.wall_ms(),
        }
    }
}

/// What the store itself refuses.
pub fn refuse<T>(error: StoreError) -> Done<T> {
    Err(Fault::Store(error))
}
