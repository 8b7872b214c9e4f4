//! A store in Postgres, for several hosts. Its layout is that of the SQLite store, plus what shared access needs.
//!
//! Only leases and epochs decide which process owns a run; there are no lock files. Leases use the server's clock, so
//! hosts with different clocks agree. An append is one statement, which changes nothing unless the lease is valid and
//! the entries are the next ones; the server can commit appends of several connections together. If the connection
//! breaks during an append, the journal is read before the retry, so no append is repeated, and none is lost after it
//! was acknowledged.
//!
//! `schema.sql` defines the layout, in its own schema `trefoil`.

/// The server's clock, in milliseconds since 1970-01-01 UTC.
macro_rules! now {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    };
}

/// Whether a lease has expired, at the time of this parameter. A lease must also have expired by the server's clock, so
/// that a host whose clock is ahead claims nothing too early. A lease that expired before a client saw the server that
/// runs now counts as valid until its owner had the time to reconnect: 15 seconds. What is older than a day is not
/// about such an outage.
macro_rules! expired {
    ($now:literal) => {
        concat!(
            "(lease_until < least(",
            $now,
            "::bigint, ",
            now!(),
            ") AND NOT EXISTS (SELECT 1 FROM server WHERE started = pg_postmaster_start_time() \
             AND clock_timestamp() < seen + interval '15 seconds' \
             AND lease_until BETWEEN (extract(epoch FROM seen) - 86400) * 1000 AND extract(epoch FROM seen) * 1000))"
        )
    };
}

/// The status of a run: one whose lease has expired is in no process, also before anybody records that.
macro_rules! seen {
    () => {
        concat!(
            "(CASE WHEN status = 'running' AND ",
            expired!("9223372036854775807"),
            " THEN 'interrupted' ELSE status END)"
        )
    };
}

/// The run whose results a run reuses, at the end of its first entry. The server does not read JSON with every character that a text may
/// have, so this is a pattern.
macro_rules! base {
    () => {
        r#"substring(entry.body FROM '"basis":\{"run":"([^"\\]*)"[^{}]*\}\}\}\}$')"#
    };
}

mod blobs;
mod claims;
mod connection;
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
mod runs;
mod tls;

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Notify, OnceCell};
use trefoil_machine::{ContentKey, Entry};
use trefoil_runtime::Clock;
use trefoil_runtime::ports::Draft;

use crate::address::ServerAddress;
use crate::batch::EntryBatch;
use crate::blob::ContentHash;
use crate::error::{StoreError, StoreResult};
use crate::inbox::{InboxMessage, PostedMessage};
use crate::lease::{Claim, ClaimShare, Lease};
use crate::list::{RunCursor, RunFilter, RunPage};
use crate::packed_blob::PackedBlob;
use crate::port::{NewRun, Store};
use crate::record::{Record, Status};
use crate::sqlite::StoreOptions;
use crate::upkeep::{PruneResult, RunRetention, StoreHealth, StoreSize};

use connection::PostgresConnector;
use pool::SessionPool;

/// A store in Postgres.
pub struct PostgresStore {
    pool: SessionPool,
    address: ServerAddress,
    /// Notified when runs may be waiting for a process.
    bell: Arc<Notify>,
    listening: OnceCell<()>,
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresStore").field("address", &self.address).finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Connects to a server; creates the tables if they do not exist and [`StoreOptions::create`] says so. Blocks until the
    /// server answers, in any context; [`StoreOptions::patience`] says how long it is waited for.
    pub fn open(address: ServerAddress, options: StoreOptions) -> StoreResult<Self> {
        let door = PostgresConnector::for_address(&address, options.durability)?;
        Self::open_with(door, address, options)
    }

    /// Opens a store for reading: the server accepts no change from these connections.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] if there is no store yet.
    pub fn open_to_read(address: ServerAddress, options: StoreOptions) -> StoreResult<Self> {
        let door = PostgresConnector::for_address(&address, options.durability)?.only_to_read();
        Self::open_with(door, address, StoreOptions { create: false, ..options })
    }

    fn open_with(door: PostgresConnector, address: ServerAddress, options: StoreOptions) -> StoreResult<Self> {
        let pool = SessionPool::new(address.clone(), door, options.waits)?;
        let to = address.clone();
        pool.at_once(options.patience, move |s, _| {
            let to = to.clone();
            Box::pin(async move { format::prepare_tables(s, &to, options.create).await })
        })?;
        Ok(Self { pool, address, bell: Arc::default(), listening: OnceCell::new() })
    }

    /// Adds the store's address to reports of damage.
    fn here<T>(&self, done: StoreResult<T>) -> StoreResult<T> {
        done.map_err(|error| match error {
            StoreError::Corrupt { why, .. } => StoreError::Corrupt { path: self.address.display_path(), why },
            error => error,
        })
    }
}

/// Runs an operation with a connection. Each try gets its own clones of the named values.
macro_rules! work {
    ($self:ident, |$s:ident, $before:pat_param| [$($own:ident),*] $work:expr) => {
        work!($self.run_operation, |$s, $before| [$($own),*] $work)
    };
    ($self:ident.$how:ident, |$s:ident, $before:pat_param| [$($own:ident),*] $work:expr) => {
        $self.here($self.pool.$how(move |$s, $before| {
            $(let $own = $own.clone();)*
            Box::pin(async move { $work.await })
        }).await)
    };
}

#[async_trait]
impl Store for PostgresStore {
    async fn create_run(&self, run: NewRun) -> StoreResult<Option<Lease>> {
        let new = Arc::new((PackedBlob::from_batch(&run.batch), run));
        work!(self, |s, before| [new] runs::create_run(s, &new.1, &new.0, before))
    }

    async fn append_batch(&self, lease: &Lease, batch: EntryBatch) -> StoreResult<()> {
        let what = Arc::new((lease.clone(), PackedBlob::from_batch(&batch), batch));
        // What it stores is paid for and would be paid for again. If another process gets the run meanwhile, the server says so.
        work!(self.run_patiently, |s, before| [what] runs::append_batch(s, &what.0, &what.2, &what.1, before))
    }

    async fn store_drafts(&self, lease: &Lease, drafts: Vec<Draft>) -> StoreResult<()> {
        let what = Arc::new((lease.clone(), drafts));
        work!(self, |s, _| [what] inbox_messages::store_drafts(s, &what.0, &what.1))
    }

    async fn read_drafts(&self, run: &str) -> StoreResult<Vec<Draft>> {
        let run = run.to_owned();
        work!(self, |s, _| [run] inbox_messages::read_drafts(s, &run))
    }

    async fn read_entries(&self, run: &str, from: u64) -> StoreResult<Vec<Entry>> {
        let run = run.to_owned();
        work!(self, |s, _| [run] entries::read_entry_page(s, &run, from))
    }

    async fn index_requests(&self) -> StoreResult<()> {
        work!(self, |s, _| [] request_index::index_requests(s))
    }

    async fn runs_with_request(&self, content: ContentKey, limit: usize) -> StoreResult<Vec<String>> {
        work!(self, |s, _| [] request_index::runs_with_request(s, content, limit))
    }

    async fn record(&self, run: &str) -> StoreResult<Record> {
        let run = run.to_owned();
        work!(self, |s, _| [run] lists::read_record(s, &run))
    }

    async fn list_runs(&self, filter: &RunFilter, after: Option<RunCursor>, limit: usize) -> StoreResult<RunPage> {
        let filter = filter.clone();
        work!(self, |s, _| [filter] lists::list_page(s, &filter, after, limit))
    }

    async fn count_by_status(&self) -> StoreResult<Vec<(Status, u64)>> {
        work!(self, |s, _| [] lists::count_by_status(s))
    }

    async fn set_label(&self, run: &str, key: &str, value: Option<&str>) -> StoreResult<()> {
        let (run, key, value) = (run.to_owned(), key.to_owned(), value.map(str::to_owned));
        work!(self, |s, _| [run, key, value] runs::label_run(s, &run, &key, value.as_deref()))
    }

    async fn read_blob(&self, hash: ContentHash) -> StoreResult<Option<Vec<u8>>> {
        work!(self, |s, _| [] blobs::get(s, hash))
    }

    async fn claim_run(&self, run: &str, claim: Claim) -> StoreResult<Lease> {
        let run = run.to_owned();
        work!(self, |s, _| [run, claim] claims::claim_run(s, &run, &claim))
    }

    async fn renew_leases(&self, leases: Vec<Lease>, until: u64) -> StoreResult<Vec<String>> {
        let (leases, clock) = (Arc::new(leases), self.pool.server_clock());
        work!(self, |s, _| [leases, clock] async {
            // This host's clock may run at a different speed.
            clock.read_time(s).await?;
            runs::renew_leases(s, &leases, until).await
        })
    }

    async fn release_run(&self, lease: &Lease) -> StoreResult<()> {
        let lease = lease.clone();
        work!(self, |s, _| [lease] runs::release_run(s, &lease))
    }

    async fn reclaim_runs(&self, now: u64) -> StoreResult<usize> {
        work!(self, |s, _| [] async {
            removal::old_results(s, now).await?;
            runs::reclaim_runs(s, now).await
        })
    }

    async fn claimable_runs(&self, now: u64, limit: usize) -> StoreResult<Vec<String>> {
        work!(self, |s, _| [] claims::claimable_runs(s, now, limit))
    }

    async fn claim_some(&self, claim: Claim, share: ClaimShare) -> StoreResult<Vec<Lease>> {
        let what = Arc::new((claim, share));
        work!(self, |s, _| [what] claims::claim_some(s, &what.0, &what.1))
    }

    async fn evict_owner(&self, run: &str) -> StoreResult<Option<String>> {
        let run = run.to_owned();
        work!(self, |s, _| [run] claims::evict_owner(s, &run))
    }

    async fn forget_result(&self, run: &str) -> StoreResult<()> {
        let run = run.to_owned();
        work!(self, |s, _| [run] removal::delete_result(s, &run))
    }

    async fn post_message(&self, run: &str, message: InboxMessage) -> StoreResult<u64> {
        let run = run.to_owned();
        work!(self, |s, before| [run, message] inbox_messages::post_message(s, &run, &message, before))
    }

    async fn read_inbox(&self, run: &str) -> StoreResult<Vec<PostedMessage>> {
        let run = run.to_owned();
        work!(self, |s, _| [run] inbox_messages::of_run(s, &run))
    }

    async fn messages_for_owner(&self, owner: &str, after: u64) -> StoreResult<Vec<PostedMessage>> {
        let owner = owner.to_owned();
        work!(self, |s, _| [owner] inbox_messages::of_owner(s, &owner, after))
    }

    async fn delete_run(&self, run: &str, now: u64) -> StoreResult<()> {
        let run = run.to_owned();
        work!(self, |s, before| [run] removal::delete_run(s, &run, now, before))
    }

    async fn prune_runs(&self, retention: &RunRetention) -> StoreResult<PruneResult> {
        let before = self.measure_size().await?.used;
        let (mut all, now) = (PruneResult::default(), self.clock().wall_ms());
        work!(self, |s, _| [] removal::old_results(s, now))?;
        loop {
            let retention = retention.clone();
            let gone = work!(self, |s, _| [retention] removal::delete_some(s, &retention))?;
            if gone.runs == 0 {
                break;
            }
            all.runs += gone.runs;
            all.failed += gone.failed;
        }
        work!(self, |s, _| [] removal::delete_unused(s))?;
        work!(self, |s, _| [] removal::give_back(s))?;
        Ok(PruneResult { bytes: before.saturating_sub(self.measure_size().await?.used), ..all })
    }

    async fn prune_some(&self, retention: &RunRetention) -> StoreResult<PruneResult> {
        let retention = retention.clone();
        let now = self.clock().wall_ms();
        work!(self, |s, _| [retention] async {
            removal::old_results(s, now).await?;
            match removal::is_due(s, &retention).await? {
                true => removal::delete_some(s, &retention).await,
                false => Ok(PruneResult::default()),
            }
        })
    }

    async fn check_integrity(&self) -> StoreResult<StoreHealth> {
        work!(self, |s, _| [] integrity::check_integrity(s))
    }

    async fn measure_size(&self) -> StoreResult<StoreSize> {
        work!(self, |s, _| [] async {
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
        // A notification may have been missed before listening started, so the first wait is short.
        let first = !self.listening.initialized();
        self.listening.get_or_init(async || self.pool.listen_channel(run_row::CHANNEL, self.bell.clone())).await;
        let at_most = if first { at_most.min(Duration::from_millis(100)) } else { at_most };
        let _ = tokio::time::timeout(at_most, self.bell.notified()).await;
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

/// Text as the server accepts it: any character except NUL.
fn text(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}
