//! A store in Postgres, for several hosts. Its layout is that of the SQLite store, plus what shared access needs.
//!
//! Only leases and epochs decide which process owns a run; there are no lock files. Leases use the server's clock, so
//! hosts with different clocks agree. An append is one statement, which changes nothing unless the lease is valid and
//! the entries are the next ones; the server can commit appends of several connections together. If the connection
//! breaks during an append, the journal is read before the retry, so no append is repeated, and none is lost after it
//! was acknowledged.
//!
//! `schema.sql` defines the layout, in its own schema `trefoil`.

/// SQL: the time of the server's clock, in milliseconds since 1970-01-01 UTC.
macro_rules! server_now {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    };
}

/// SQL: a row, with when a client first saw it, if the server was started less than 15 seconds before. So long do leases count that
/// expired while it was down.
macro_rules! restarted_server {
    () => {
        "server WHERE started = pg_postmaster_start_time() AND clock_timestamp() < seen + interval '15 seconds'"
    };
}

/// SQL: whether a lease has expired at the time in `$now`, a parameter or a number.
///
/// It must also have expired by the server's clock; otherwise a host whose clock is ahead could claim a run too early. After a
/// restart of the server, leases that expired during the outage count as valid for 15 seconds, so that their owners can
/// reconnect and renew them: the table `server` has the start of the server, and when a client first connected after it.
/// Leases that expired more than a day before that have nothing to do with the outage.
macro_rules! lease_expired {
    ($now:literal) => {
        concat!(
            "(lease_until < least(",
            $now,
            "::bigint, ",
            server_now!(),
            ") AND NOT EXISTS (SELECT 1 FROM ",
            restarted_server!(),
            " AND lease_until BETWEEN (extract(epoch FROM seen) - 86400) * 1000 AND extract(epoch FROM seen) * 1000))"
        )
    };
}

/// SQL: the status of a run as it is shown. A running run whose lease has expired is shown as interrupted, because no process
/// works on it, even if its row does not say so yet.
macro_rules! shown_status {
    () => {
        concat!(
            "(CASE WHEN status = 'running' AND ",
            lease_expired!("9223372036854775807"),
            " THEN 'interrupted' ELSE status END)"
        )
    };
}

/// SQL: the id of the run whose results a run reuses, from the end of its first entry. This is a pattern, because the JSON
/// functions of the server reject some characters that a text may have.
macro_rules! basis_run {
    () => {
        r#"substring(entry.body FROM '"basis":\{"run":"([^"\\]*)"[^{}]*\}\}\}\}$')"#
    };
}

mod blobs;
mod claims;
mod connection;
mod documents;
mod entries;
mod fault;
mod format;
mod inbox_messages;
mod integrity;
mod lists;
mod pool;
mod removal;
mod request_index;
mod run_row;
mod run_search;
mod runs;
mod shared_permits;
mod spending;
mod tls;

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::{Notify, OnceCell};
use trefoil_machine::{ContentKey, Entry};
use trefoil_runtime::Clock;
use trefoil_runtime::limits::shared_limits::{
    PermitAnswer, PermitLease, PermitRequest, PermitWait, ReturnSignal, ReturnedPermit,
};
use trefoil_runtime::ports::Draft;

use crate::address::ServerAddress;
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
use crate::sqlite::StoreOptions;
use crate::upkeep::{PruneResult, RunRetention, StoreHealth, StoreSize};

use connection::PostgresConnector;
use format::TableAccess;
use pool::SessionPool;

/// A store in Postgres.
pub struct PostgresStore {
    pool: SessionPool,
    address: ServerAddress,
    /// Notified when runs may be waiting for a worker.
    runs_waiting: Arc<Notify>,
    /// Told of shared permits that a process has given back.
    permit_returns: Arc<ReturnSignal>,
    /// Set when this store listens to notifications of the server.
    listening: OnceCell<()>,
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresStore").field("address", &self.address).finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Connects to a server; creates the tables if they do not exist and [`StoreOptions::create`] is set. Blocks until the
    /// server answers, also in async code, but not longer than [`StoreOptions::patience`].
    pub fn open(address: ServerAddress, options: StoreOptions) -> StoreResult<Self> {
        let connector = PostgresConnector::for_address(&address, options.durability)?;
        let access = if options.create { TableAccess::Create } else { TableAccess::Add };
        Self::open_with(connector, address, options, access)
    }

    /// Opens a store for reading: the server accepts no change from these connections.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] if there is no store yet.
    pub fn open_to_read(address: ServerAddress, options: StoreOptions) -> StoreResult<Self> {
        let connector = PostgresConnector::for_address(&address, options.durability)?.only_to_read();
        Self::open_with(connector, address, options, TableAccess::Read)
    }

    fn open_with(
        connector: PostgresConnector,
        address: ServerAddress,
        options: StoreOptions,
        access: TableAccess,
    ) -> StoreResult<Self> {
        let pool = SessionPool::new(address.clone(), connector, options.waits)?;
        let to = address.clone();
        pool.run_blocking(options.patience, move |s, _| {
            let to = to.clone();
            Box::pin(async move { format::prepare_tables(s, &to, access).await })
        })?;
        Ok(Self {
            pool,
            address,
            runs_waiting: Arc::default(),
            permit_returns: Arc::default(),
            listening: OnceCell::new(),
        })
    }

    /// Listens to the notifications of the server from now on. Returns how long a wait may be: a notification may have been missed
    /// before listening started, so the first wait is short.
    async fn listen(&self, at_most: Duration) -> Duration {
        let is_first_wait = !self.listening.initialized();
        let listen = async || {
            let (runs, permits) = (self.runs_waiting.clone(), self.permit_returns.clone());
            self.pool.listen_channels(&[run_row::CHANNEL, shared_permits::CHANNEL], move |channel| match channel {
                shared_permits::CHANNEL => permits.note_return(),
                _ => runs.notify_waiters(),
            });
        };
        self.listening.get_or_init(listen).await;
        if is_first_wait { at_most.min(Duration::from_millis(100)) } else { at_most }
    }

    /// Adds the store's address to reports of damage, and of what the tables lack.
    fn with_address<T>(&self, result: StoreResult<T>) -> StoreResult<T> {
        result.map_err(|error| match error {
            StoreError::Corrupt { why, .. } => StoreError::Corrupt { path: self.address.display_path(), why },
            StoreError::Lacking { why, .. } => StoreError::Lacking { path: self.address.display_path(), why },
            error => error,
        })
    }
}

/// Runs an operation with a connection of the pool, and retries it if the connection breaks. Each try gets its own clones of the
/// values in brackets. `s`: the session. `earlier_try`: whether an earlier try may have changed something already.
macro_rules! with_session {
    ($self:ident, |$s:ident, $earlier_try:pat_param| [$($captured:ident),*] $operation:expr) => {
        with_session!($self.run_operation, |$s, $earlier_try| [$($captured),*] $operation)
    };
    ($self:ident.$method:ident, |$s:ident, $earlier_try:pat_param| [$($captured:ident),*] $operation:expr) => {
        $self.with_address($self.pool.$method(move |$s, $earlier_try| {
            $(let $captured = $captured.clone();)*
            Box::pin(async move { $operation.await })
        }).await)
    };
}

/// When an operation was asked for. It may wait for a connection, or for the server to be back, and be tried again: a lease has
/// its whole length from when it is written, or it could have expired already.
#[derive(Clone, Copy)]
pub(crate) struct AskedTime(Instant);

impl AskedTime {
    fn now() -> Self {
        Self(Instant::now())
    }

    /// A time that was computed when the operation was asked for, moved by what has passed since.
    pub(crate) fn move_time(self, at: u64) -> u64 {
        at.saturating_add(u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn later_claim(self, claim: Claim) -> Claim {
        Claim { now: self.move_time(claim.now), until: self.move_time(claim.until), ..claim }
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn create_run(&self, run: NewRun) -> StoreResult<Option<Lease>> {
        let (blobs, run, asked) = (Arc::new(PackedBlob::from_batch(&run.batch)), Arc::new(run), AskedTime::now());
        with_session!(self, |s, earlier_try| [run, blobs] runs::create_run(s, &run, &blobs, (earlier_try, asked)))
    }

    async fn append_batch(&self, lease: &Lease, batch: EntryBatch) -> StoreResult<()> {
        let (lease, blobs) = (lease.clone(), Arc::new(PackedBlob::from_batch(&batch)));
        let batch = Arc::new(batch);
        // Retries for as long as the caller waits: the model calls in these entries are paid for, and would be paid for again. If
        // another process has claimed the run meanwhile, the append fails.
        with_session!(self.run_patiently, |s, earlier_try| [lease, batch, blobs] runs::append_batch(s, &lease, &batch, &blobs, earlier_try))
    }

    async fn store_drafts(&self, lease: &Lease, drafts: Vec<Draft>) -> StoreResult<()> {
        let (lease, drafts) = (lease.clone(), Arc::new(drafts));
        with_session!(self, |s, _| [lease, drafts] inbox_messages::store_drafts(s, &lease, &drafts))
    }

    async fn read_drafts(&self, run: &str) -> StoreResult<Vec<Draft>> {
        let run = run.to_owned();
        with_session!(self, |s, _| [run] inbox_messages::read_drafts(s, &run))
    }

    async fn read_entries(&self, run: &str, from: u64) -> StoreResult<Vec<Entry>> {
        let run = run.to_owned();
        with_session!(self, |s, _| [run] entries::read_entry_page(s, &run, from))
    }

    async fn index_requests(&self) -> StoreResult<()> {
        with_session!(self, |s, _| [] request_index::index_requests(s))
    }

    async fn runs_with_request(&self, content: ContentKey, limit: usize) -> StoreResult<Vec<String>> {
        with_session!(self, |s, _| [] request_index::runs_with_request(s, content, limit))
    }

    async fn record(&self, run: &str) -> StoreResult<Record> {
        let run = run.to_owned();
        with_session!(self, |s, _| [run] lists::read_record(s, &run))
    }

    async fn list_runs(&self, filter: &RunFilter, after: Option<RunCursor>, limit: usize) -> StoreResult<RunPage> {
        let filter = filter.clone();
        with_session!(self, |s, _| [filter] lists::list_page(s, &filter, after, limit))
    }

    async fn count_by_status(&self) -> StoreResult<Vec<(Status, u64)>> {
        with_session!(self, |s, _| [] lists::count_by_status(s))
    }

    async fn spending_since(&self, filter: &SpendingFilter, since: u64) -> StoreResult<RunSpending> {
        let filter = filter.clone();
        with_session!(self, |s, _| [filter] spending::sum_since(s, &filter, since))
    }

    async fn set_label(&self, run: &str, key: &str, value: Option<&str>) -> StoreResult<()> {
        let (run, key, value) = (run.to_owned(), key.to_owned(), value.map(str::to_owned));
        with_session!(self, |s, _| [run, key, value] runs::label_run(s, &run, &key, value.as_deref()))
    }

    async fn read_blob(&self, hash: ContentHash) -> StoreResult<Option<Vec<u8>>> {
        with_session!(self, |s, _| [] blobs::get(s, hash))
    }

    async fn claim_run(&self, run: &str, claim: Claim) -> StoreResult<Lease> {
        let (run, asked) = (run.to_owned(), AskedTime::now());
        with_session!(self, |s, _| [run, claim] claims::claim_run(s, &run, &asked.later_claim(claim)))
    }

    async fn renew_leases(&self, leases: Vec<Lease>, until: u64) -> StoreResult<Vec<String>> {
        let (leases, clock, asked) = (Arc::new(leases), self.pool.server_clock(), AskedTime::now());
        with_session!(self, |s, _| [leases, clock] async {
            // This host's clock may run at a different speed.
            clock.read_time(s).await?;
            runs::renew_leases(s, &leases, asked.move_time(until)).await
        })
    }

    async fn release_run(&self, lease: &Lease) -> StoreResult<()> {
        let lease = lease.clone();
        with_session!(self, |s, _| [lease] runs::release_run(s, &lease))
    }

    async fn release_others(&self, owner: &str, held: Vec<String>) -> StoreResult<usize> {
        let owner = owner.to_owned();
        with_session!(self, |s, _| [owner, held] runs::release_others(s, &owner, &held))
    }

    async fn reclaim_runs(&self, now: u64) -> StoreResult<usize> {
        with_session!(self, |s, _| [] async {
            removal::old_results(s, now).await?;
            documents::delete_expired(s, now).await?;
            runs::reclaim_runs(s, now).await
        })
    }

    async fn claimable_runs(&self, now: u64, limit: usize) -> StoreResult<Vec<String>> {
        with_session!(self, |s, _| [] claims::claimable_runs(s, now, limit))
    }

    async fn claim_some(&self, claim: Claim, share: ClaimShare) -> StoreResult<Vec<Lease>> {
        let (share, asked) = (Arc::new(share), AskedTime::now());
        with_session!(self, |s, _| [claim, share] claims::claim_some(s, &asked.later_claim(claim), &share))
    }

    async fn evict_owner(&self, run: &str) -> StoreResult<Option<String>> {
        let run = run.to_owned();
        with_session!(self, |s, _| [run] claims::evict_owner(s, &run))
    }

    async fn forget_result(&self, run: &str) -> StoreResult<()> {
        let run = run.to_owned();
        with_session!(self, |s, _| [run] removal::delete_result(s, &run))
    }

    async fn post_message(&self, run: &str, message: InboxMessage) -> StoreResult<u64> {
        let run = run.to_owned();
        with_session!(self, |s, earlier_try| [run, message] inbox_messages::post_message(s, &run, &message, earlier_try))
    }

    async fn read_inbox(&self, run: &str) -> StoreResult<Vec<PostedMessage>> {
        let run = run.to_owned();
        with_session!(self, |s, _| [run] inbox_messages::of_run(s, &run))
    }

    async fn messages_for_owner(&self, owner: &str, after: u64) -> StoreResult<Vec<PostedMessage>> {
        let owner = owner.to_owned();
        with_session!(self, |s, _| [owner] inbox_messages::of_owner(s, &owner, after))
    }

    async fn read_document(&self, collection: &str, name: &str, now: u64) -> StoreResult<Option<Document>> {
        let (collection, name) = (collection.to_owned(), name.to_owned());
        with_session!(self, |s, _| [collection, name] documents::read_document(s, &collection, &name, now))
    }

    async fn write_document(&self, document: Document) -> StoreResult<Option<u64>> {
        let document = Arc::new(StoredDocument::from_document(document)?);
        with_session!(self, |s, earlier_try| [document] documents::write_document(s, &document, earlier_try))
    }

    async fn list_documents(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
        now: u64,
    ) -> StoreResult<Vec<Document>> {
        let (collection, after) = (collection.to_owned(), after.unwrap_or_default().to_owned());
        with_session!(self, |s, _| [collection, after] documents::list_documents(s, &collection, &after, limit, now))
    }

    async fn delete_document(&self, collection: &str, name: &str) -> StoreResult<bool> {
        let (collection, name) = (collection.to_owned(), name.to_owned());
        with_session!(self, |s, earlier_try| [collection, name] documents::delete_document(s, &collection, &name, earlier_try))
    }

    async fn take_shared_permit(
        &self,
        request: &PermitRequest,
        lease: PermitLease,
        returned: Vec<ReturnedPermit>,
    ) -> StoreResult<PermitAnswer> {
        let (seen, asked) = (self.permit_returns.seen_returns(), AskedTime::now());
        let (request, returned) = (Arc::new(request.clone()), Arc::new(returned));
        // Retries as long as an append: the call is not made before its entry is stored.
        let answer = with_session!(self.run_patiently, |s, earlier_try| [request, lease, returned] async {
            let lease = PermitLease { holder: lease.holder, now: asked.move_time(lease.now), until: asked.move_time(lease.until) };
            shared_permits::take_permit(s, &request, &lease, &returned, earlier_try).await
        })?;
        Ok(answer.with_seen(seen))
    }

    async fn return_shared_permits(&self, subject: &str, returned: Vec<ReturnedPermit>) -> StoreResult<()> {
        let (subject, returned) = (subject.to_owned(), Arc::new(returned));
        with_session!(self, |s, earlier_try| [subject, returned] shared_permits::return_permits(s, &subject, &returned, earlier_try))
    }

    async fn renew_shared_permits(&self, subject: &str, ids: Vec<u64>, until: u64) -> StoreResult<()> {
        let (subject, ids, asked) = (subject.to_owned(), Arc::new(ids), AskedTime::now());
        with_session!(self, |s, _| [subject, ids] shared_permits::renew_permits(s, &subject, &ids, asked.move_time(until)))
    }

    async fn wait_for_shared_permit(&self, wait: &PermitWait) {
        let pause = self.listen(shared_permits::pause_before_asking(wait)).await;
        let _ = tokio::time::timeout(pause, self.permit_returns.wait_past(wait.seen)).await;
    }

    async fn delete_run(&self, run: &str, now: u64) -> StoreResult<()> {
        let run = run.to_owned();
        with_session!(self, |s, earlier_try| [run] removal::delete_run(s, &run, now, earlier_try))
    }

    async fn prune_runs(&self, retention: &RunRetention) -> StoreResult<PruneResult> {
        let before = self.measure_size().await?.used;
        let (mut total, now) = (PruneResult::default(), self.clock().wall_ms());
        with_session!(self, |s, _| [] removal::old_results(s, now))?;
        loop {
            let retention = retention.clone();
            let deleted = with_session!(self, |s, _| [retention] removal::delete_some(s, &retention))?;
            if deleted.runs == 0 {
                break;
            }
            total.runs += deleted.runs;
            total.failed += deleted.failed;
        }
        with_session!(self, |s, _| [] removal::delete_unused(s))?;
        with_session!(self, |s, _| [] removal::give_back(s))?;
        Ok(PruneResult { bytes: before.saturating_sub(self.measure_size().await?.used), ..total })
    }

    async fn prune_some(&self, retention: &RunRetention) -> StoreResult<PruneResult> {
        let retention = retention.clone();
        let now = self.clock().wall_ms();
        with_session!(self, |s, _| [retention] async {
            removal::old_results(s, now).await?;
            if removal::is_due(s, &retention).await? {
                removal::delete_some(s, &retention).await
            } else {
                Ok(PruneResult::default())
            }
        })
    }

    async fn check_integrity(&self) -> StoreResult<StoreHealth> {
        with_session!(self, |s, _| [] integrity::check_integrity(s))
    }

    async fn measure_size(&self) -> StoreResult<StoreSize> {
        with_session!(self, |s, _| [] async {
            let (runs, used) = removal::used_space(s).await?;
            Ok(StoreSize { runs, disk: removal::disk_usage(s).await?, used })
        })
    }

    async fn backup_to(&self, _to: &Path) -> StoreResult<()> {
        Err(StoreError::NoBackup { path: self.address.display_path() })
    }

    fn display_location(&self) -> String {
        self.address.to_string()
    }

    fn clock(&self) -> Arc<dyn Clock> {
        self.pool.server_clock()
    }

    async fn wait_for_work(&self, at_most: Duration) {
        let at_most = self.listen(at_most).await;
        let _ = tokio::time::timeout(at_most, self.runs_waiting.notified()).await;
    }
}

/// A count or a time as the server stores it.
fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The reverse of [`int`].
fn uint(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Text as the server accepts it: NUL is replaced, because Postgres cannot store it.
fn text(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}
