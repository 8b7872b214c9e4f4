//! A small connection pool. The connections run in their own runtime, so the store can be used from any runtime, and an
//! operation is finished even if its caller is dropped.
//!
//! An operation that collides with another transaction is retried, because the server has rolled it back. If the
//! connection broke, the outcome is unknown, and the retry gets [`Before::Perhaps`]; each operation decides what that
//! means for it.

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

/// Maximum number of connections. A commit waits for the server's disk; the server commits transactions of several
/// connections together.
const MOST: usize = 8;
/// How long operations are retried while the server is unreachable: shorter than a lease, and long enough for a restart
/// of the server.
const PATIENCE: Duration = Duration::from_secs(25);
/// The first pause between tries. It doubles with each try, up to `LONGEST`.
const PAUSE: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_millis(500);
/// Maximum number of retries after collisions.
const COLLISIONS: u32 = 50;

/// Whether an earlier try may have been executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// No earlier try was executed.
    No,
    /// A connection broke during an earlier try: it may have been executed, or may still be.
    Perhaps,
}

/// An operation on a connection.
pub type Doing<'s, T> = Pin<Box<dyn Future<Output = Done<T>> + Send + 's>>;

/// The connection pool of a process.
pub struct Pool {
    shared: Arc<Shared>,
    /// `None` after shutdown.
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
    /// A pool for a server. Does not connect yet.
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

    /// Runs an operation on a connection, with retries.
    pub async fn work<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'s> Fn(&'s mut Session, Before) -> Doing<'s, T> + Send + Sync + 'static,
    {
        let shared = self.shared.clone();
        let task = self.handle()?.spawn(async move { shared.work(&work, PATIENCE).await });
        task.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Blocking version without retries while the server is unreachable, for callers that are not async.
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

    /// Listens to a channel while the pool exists, and notifies `bell`.
    pub fn listen(&self, channel: &'static str, bell: Arc<Notify>) {
        let (door, Ok(runtime)) = (self.shared.door.clone(), self.handle()) else { return };
        runtime.spawn(async move {
            loop {
                let ring = bell.clone();
                // If listening fails, waiting callers query regularly anyway.
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
        // A blocking shutdown is not allowed inside an async context.
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
                        // If the operation left a transaction open, roll it back, so that it does not affect the next
                        // operation.
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
                // Connecting failed, so nothing was sent.
                Err(fault) => fault,
            };
            match fault.outcome() {
                Outcome::Failed => return Err(fault.at(&self.address)),
                Outcome::Collided if collisions < COLLISIONS => collisions += 1,
                Outcome::Collided => return Err(fault.at(&self.address)),
                Outcome::Unknown => {
                    // The idle connections are probably broken as well.
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

    /// Returns an idle connection, or opens one.
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

/// The server's clock, which all hosts share. It is computed from the last time reported by the server and this
/// machine's monotonic clock.
#[derive(Default)]
pub struct ServerClock {
    read: Mutex<Option<(Instant, u64)>>,
    own: SystemClock,
}

impl ServerClock {
    /// Reads the server's time.
    pub async fn read(&self, session: &mut Session) -> Done<()> {
        let asked = Instant::now();
        let row = session.row("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint", &[]).await?;
        let Some(now) = row.map(|row| row.try_get::<_, i64>(0)).transpose()? else { return Ok(()) };
        // The server read its clock at some moment between request and response.
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

/// Returns an error from the store itself.
pub fn refuse<T>(error: StoreError) -> Done<T> {
    Err(Fault::Store(error))
}
