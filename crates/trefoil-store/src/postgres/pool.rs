//! Operations on pooled connections. The connections run in their own runtime, so the store can be used from any runtime, and an
//! operation is finished even if its caller is dropped.
//!
//! An operation that collides with another transaction is retried, because the server has rolled it back. If the
//! connection broke, the outcome is unknown, and the retry gets [`EarlierTry::Perhaps`]; each operation decides what that
//! means for it. A connection whose server does not respond counts as broken.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use deadpool::managed::{self, Metrics, Object, PoolError, RecycleError, RecycleResult};
use tokio::runtime::{Builder, Handle, Runtime};
use trefoil_runtime::Clock;
use trefoil_runtime::ports::SystemClock;

use super::connection::{PostgresConnector, PostgresSession};
use super::fault::{PostgresError, PostgresResult, RetryClass};
use crate::address::ServerAddress;
use crate::error::{StoreError, StoreResult};
use crate::sqlite::PATIENCE;
use trefoil_runtime::locks::lock;

/// Maximum number of connections. A commit waits for the server's disk; the server commits transactions of several
/// connections together.
const MOST: usize = 8;
/// An operation that is waited for longer than this is worth a message.
const WORTH_SAYING: Duration = Duration::from_secs(2);
/// Time between two looks at a connection that seems to be idle.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// The first pause between tries. It doubles with each try, up to `LONGEST`.
const PAUSE: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_millis(500);
/// Maximum number of retries after collisions.
const COLLISIONS: u32 = 50;

/// Whether an earlier try may have been executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlierTry {
    /// No earlier try was executed.
    No,
    /// A connection broke during an earlier try: it may have been executed, or may still be.
    Perhaps,
}

/// An operation on a connection.
pub type SessionFuture<'s, T> = Pin<Box<dyn Future<Output = PostgresResult<T>> + Send + 's>>;

/// An operation that leaves its result with its caller. It is one type for all results, so that what performs operations is compiled
/// once.
type SessionOperation = dyn for<'s> Fn(&'s mut PostgresSession, EarlierTry) -> SessionFuture<'s, ()> + Send + Sync;

/// The result of an operation, once it was performed.
struct OperationResult<T>(Arc<Mutex<Option<T>>>);

impl<T> OperationResult<T> {
    fn take(&self) -> Option<T> {
        lock(&self.0).take()
    }
}

/// Splits an operation into what is performed and its result.
fn keep_result<T, F>(work: F) -> (Box<SessionOperation>, OperationResult<T>)
where
    T: Send + 'static,
    F: for<'s> Fn(&'s mut PostgresSession, EarlierTry) -> SessionFuture<'s, T> + Send + Sync + 'static,
{
    let result = Arc::new(Mutex::new(None));
    let slot = result.clone();
    let operation: Box<SessionOperation> = Box::new(move |session, before| {
        let (doing, slot) = (work(session, before), slot.clone());
        Box::pin(async move {
            let done = doing.await?;
            *lock(&slot) = Some(done);
            Ok(())
        })
    });
    (operation, OperationResult(result))
}

/// The connection pool of a process.
pub struct SessionPool {
    shared: Arc<PoolState>,
    /// `None` after shutdown.
    runtime: Option<Runtime>,
}

struct PoolState {
    address: ServerAddress,
    connector: PostgresConnector,
    connections: managed::Pool<PoolConnector>,
    clock: Arc<ServerClock>,
    /// Called when the pool starts to wait for the server.
    waits: Option<fn(&str)>,
    waiting: AtomicBool,
}

/// How long an operation is retried while the server is unreachable.
enum RetryPatience {
    /// This long.
    For(Duration),
    /// As long as the caller waits for it, and at least [`PATIENCE`].
    While(Weak<()>),
}

impl RetryPatience {
    fn ends_after(&self, waited: Duration) -> bool {
        match self {
            Self::For(most) => waited >= *most,
            Self::While(caller) => caller.strong_count() == 0 && waited >= PATIENCE,
        }
    }
}

impl SessionPool {
    /// A pool for a server. Does not connect yet. `waits` is called with a sentence when it starts to wait for the server.
    pub fn new(address: ServerAddress, connector: PostgresConnector, waits: Option<fn(&str)>) -> StoreResult<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("trefoil-store").enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::Open {
            path: address.display_path(),
            why: format!("no thread for it: {error}"),
        })?;
        let clock = Arc::new(ServerClock::default());
        let manager = PoolConnector { connector: connector.clone(), clock: clock.clone() };
        let connections = managed::Pool::builder(manager).max_size(MOST).build();
        let connections =
            connections.map_err(|error| StoreError::Open { path: address.display_path(), why: error.to_string() })?;
        let shared = PoolState { address, connector, connections, clock, waits, waiting: AtomicBool::new(false) };
        Ok(Self { shared: Arc::new(shared), runtime: Some(runtime) })
    }

    fn handle(&self) -> StoreResult<&Handle> {
        self.runtime.as_ref().map(Runtime::handle).ok_or(StoreError::Closed)
    }

    /// Runs an operation on a connection, with retries.
    pub async fn run_operation<T, F>(&self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: for<'s> Fn(&'s mut PostgresSession, EarlierTry) -> SessionFuture<'s, T> + Send + Sync + 'static,
    {
        self.spawn(work, RetryPatience::For(PATIENCE)).await
    }

    /// Like [`Self::run_operation`], but if the user is told that the store waits ([`StoreOptions::with_patience`](crate::StoreOptions::with_patience)), retries until
    /// the caller no longer waits.
    pub async fn run_patiently<T, F>(&self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: for<'s> Fn(&'s mut PostgresSession, EarlierTry) -> SessionFuture<'s, T> + Send + Sync + 'static,
    {
        if self.shared.waits.is_none() {
            return self.run_operation(work).await;
        }
        let caller = Arc::new(());
        let done = self.spawn(work, RetryPatience::While(Arc::downgrade(&caller))).await;
        drop(caller);
        done
    }

    async fn spawn<T, F>(&self, work: F, patience: RetryPatience) -> StoreResult<T>
    where
        T: Send + 'static,
        F: for<'s> Fn(&'s mut PostgresSession, EarlierTry) -> SessionFuture<'s, T> + Send + Sync + 'static,
    {
        let (operation, result) = keep_result(work);
        self.perform(operation, patience).await?;
        result.take().ok_or(StoreError::Closed)
    }

    /// Performs an operation even if its caller stops to wait for it.
    async fn perform(&self, operation: Box<SessionOperation>, patience: RetryPatience) -> StoreResult<()> {
        let shared = self.shared.clone();
        let task = self.handle()?.spawn(async move { shared.work(&*operation, &patience).await });
        task.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Blocking version of [`Self::run_operation`], for callers that are not async. `patience` is how long it is retried.
    pub fn run_blocking<T, F>(&self, patience: Duration, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: for<'s> Fn(&'s mut PostgresSession, EarlierTry) -> SessionFuture<'s, T> + Send + Sync + 'static,
    {
        let (operation, result) = keep_result(work);
        self.perform_blocking(operation, RetryPatience::For(patience))?;
        result.take().ok_or(StoreError::Closed)
    }

    fn perform_blocking(&self, operation: Box<SessionOperation>, patience: RetryPatience) -> StoreResult<()> {
        let (sender, receiver) = std::sync::mpsc::channel();
        let shared = self.shared.clone();
        self.handle()?.spawn(async move {
            let _ = sender.send(shared.work(&*operation, &patience).await);
        });
        receiver.recv().unwrap_or(Err(StoreError::Closed))
    }

    /// Listens to channels while the pool exists, and calls `heard` with the channel of each message.
    pub fn listen_channels(&self, channels: &'static [&'static str], heard: impl Fn(&str) + Send + Sync + 'static) {
        let (connector, Ok(runtime)) = (self.shared.connector.clone(), self.handle()) else { return };
        let heard = Arc::new(heard);
        runtime.spawn(async move {
            loop {
                let heard = heard.clone();
                // If listening fails, waiting callers query regularly anyway.
                let _ = connector.listen_channels(channels, move |channel| heard(channel)).await;
                tokio::time::sleep(LONGEST * 2).await;
            }
        });
    }

    /// The server's clock.
    pub fn server_clock(&self) -> Arc<ServerClock> {
        self.shared.clock.clone()
    }
}

impl Drop for SessionPool {
    fn drop(&mut self) {
        // A blocking shutdown is not allowed inside an async context.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl PoolState {
    async fn work(&self, work: &SessionOperation, patience: &RetryPatience) -> StoreResult<()> {
        let (mut before, mut collisions, mut pause) = (EarlierTry::No, 0, PAUSE);
        let mut since: Option<Instant> = None;
        loop {
            // Not held between tries: other operations may be due sooner.
            let fault = match self.connections.get().await {
                Ok(session) => match self.tried(session, work, before).await {
                    Ok(()) => {
                        self.waiting.store(false, Ordering::Relaxed);
                        return Ok(());
                    }
                    Err(fault) => {
                        if fault.retry_class() == RetryClass::Unknown {
                            before = EarlierTry::Perhaps;
                        }
                        fault
                    }
                },
                // Connecting failed, so nothing was sent.
                Err(PoolError::Backend(fault)) => fault,
                // The pool itself has neither hooks nor time limits.
                Err(_) => return Err(StoreError::Closed),
            };
            match fault.retry_class() {
                RetryClass::Failed => return Err(fault.at_address(&self.address)),
                RetryClass::Collided if collisions < COLLISIONS => collisions += 1,
                RetryClass::Collided => return Err(fault.at_address(&self.address)),
                RetryClass::Unknown => {
                    // The idle connections are probably broken as well.
                    self.connections.retain(|session, _| !session.is_gone());
                    let waited = since.get_or_insert_with(Instant::now).elapsed();
                    if patience.ends_after(waited) {
                        return Err(fault.at_address(&self.address));
                    }
                    if waited >= WORTH_SAYING {
                        self.say(fault);
                    }
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST);
        }
    }

    /// Runs an operation once, and keeps the connection if it can still be used.
    async fn tried(
        &self,
        mut session: Object<PoolConnector>,
        work: &SessionOperation,
        before: EarlierTry,
    ) -> PostgresResult<()> {
        let backend = session.backend_id();
        let doing = async {
            let done = work(&mut session, before).await;
            let is_lost = done.as_ref().is_err_and(|fault| fault.retry_class() == RetryClass::Unknown);
            // If the operation left a transaction open, roll it back, so that it does not affect the next operation.
            let usable = !is_lost && session.give_up().await;
            (done, usable)
        };
        let done = tokio::select! {
            biased;
            done = doing => Some(done),
            () = self.lost(backend) => None,
        };
        match done {
            Some((done, true)) => done,
            Some((done, false)) => {
                drop(Object::take(session));
                done
            }
            None => {
                Object::take(session).abort_connection();
                // The idle connections are probably silent as well.
                self.connections.retain(|_, _| false);
                Err(PostgresError::Silent)
            }
        }
    }

    /// Returns when the server does not work on the request of a connection, although no answer has come: it no longer
    /// responds, or considers the request done. A long operation is not interrupted.
    async fn lost(&self, backend: i32) {
        let mut idle: Option<String> = None;
        loop {
            tokio::time::sleep(if idle.is_some() { LOOK_AGAIN } else { self.connector.connect_limit() }).await;
            let look = async { self.connector.open_session().await?.idle_since(backend).await };
            let look = tokio::time::timeout(self.connector.connect_limit(), look);
            match look.await.unwrap_or(Err(PostgresError::Silent)) {
                Ok(Some(since)) if idle.as_ref() == Some(&since) => return,
                Ok(since) => idle = since,
                // It responds, with an error. If it is about to stop, the connection breaks by itself.
                Err(fault) if fault.sql_state().is_some() => idle = None,
                Err(_) => return,
            }
        }
    }

    /// Says once that the store waits for its server.
    fn say(&self, fault: PostgresError) {
        if let Some(waits) = self.waits
            && !self.waiting.swap(true, Ordering::Relaxed)
        {
            waits(&format!("waiting until it responds again: {}", fault.at_address(&self.address)));
        }
    }
}

/// Opens the connections of the pool.
struct PoolConnector {
    connector: PostgresConnector,
    clock: Arc<ServerClock>,
}

impl managed::Manager for PoolConnector {
    type Type = PostgresSession;
    type Error = PostgresError;

    async fn create(&self) -> PostgresResult<PostgresSession> {
        let opened = async {
            let mut session = self.connector.open_session().await?;
            self.clock.read_time(&mut session).await?;
            see(&mut session).await?;
            Ok(session)
        };
        tokio::time::timeout(self.connector.connect_limit(), opened).await.unwrap_or(Err(PostgresError::Silent))
    }

    async fn recycle(&self, session: &mut PostgresSession, _metrics: &Metrics) -> RecycleResult<PostgresError> {
        if session.is_gone() { Err(RecycleError::message("the connection is closed")) } else { Ok(()) }
    }
}

/// Records that the server was seen, if nobody has since it was started. Before the tables exist, and for users who may not
/// write, there is nothing to record.
async fn see(session: &mut PostgresSession) -> PostgresResult<()> {
    let record = "INSERT INTO trefoil.server (started) VALUES (pg_postmaster_start_time()) ON CONFLICT DO NOTHING";
    match session.execute_batch(record).await {
        Err(fault) if fault.sql_state().is_none() => Err(fault),
        _ => Ok(()),
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
    pub async fn read_time(&self, session: &mut PostgresSession) -> PostgresResult<()> {
        let asked = Instant::now();
        let row = session.query_row("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint", &[]).await?;
        let Some(now) = row.map(|row| row.try_get::<_, i64>(0)).transpose()? else { return Ok(()) };
        // The server read its clock at some moment between request and response.
        let at = asked + asked.elapsed() / 2;
        *lock(&self.read) = Some((at, super::uint(now)));
        Ok(())
    }
}

#[async_trait]
impl Clock for ServerClock {
    fn now_ms(&self) -> u64 {
        self.own.now_ms()
    }
    async fn sleep_ms(&self, ms: u64) {
        self.own.sleep_ms(ms).await;
    }
    fn wall_ms(&self) -> u64 {
        match *lock(&self.read) {
            Some((at, ms)) => ms.saturating_add(u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX)),
            None => self.own.wall_ms(),
        }
    }
}

/// Returns an error from the store itself.
pub fn store_error<T>(error: StoreError) -> PostgresResult<T> {
    Err(PostgresError::Store(error))
}
