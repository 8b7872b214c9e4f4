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

mod asked;
mod blobs;
mod check;
mod claims;
mod connect;
mod entries;
mod fault;
mod format;
mod letters;
mod lists;
mod pool;
mod remove;
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

use crate::address::Address;
use crate::batch::Batch;
use crate::blob::Hash;
use crate::error::{Result, StoreError};
use crate::inbox::{Letter, Posted};
use crate::lease::{Claim, ClaimShare, Lease};
use crate::list::{Cursor, Filter, Page};
use crate::packed::Packed;
use crate::port::{NewRun, Store};
use crate::record::{Record, Status};
use crate::sqlite::Options;
use crate::upkeep::{Health, Pruned, Retention, Size};

use connect::Door;
use pool::Pool;

/// A store in Postgres.
pub struct PostgresStore {
    pool: Pool,
    address: Address,
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
    /// Connects to a server; creates the tables if they do not exist and [`Options::create`] says so. Blocks until the
    /// server answers, in any context; [`Options::patience`] says how long it is waited for.
    pub fn open(address: Address, options: Options) -> Result<Self> {
        let door = Door::to(&address, options.durability)?;
        Self::through(door, address, options)
    }

    /// Opens a store for reading: the server accepts no change from these connections.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] if there is no store yet.
    pub fn open_to_read(address: Address, options: Options) -> Result<Self> {
        let door = Door::to(&address, options.durability)?.only_to_read();
        Self::through(door, address, Options { create: false, ..options })
    }

    fn through(door: Door, address: Address, options: Options) -> Result<Self> {
        let pool = Pool::new(address.clone(), door, options.waits)?;
        let to = address.clone();
        pool.at_once(options.patience, move |s, _| {
            let to = to.clone();
            Box::pin(async move { format::prepare(s, &to, options.create).await })
        })?;
        Ok(Self { pool, address, bell: Arc::default(), listening: OnceCell::new() })
    }

    /// Adds the store's address to reports of damage.
    fn here<T>(&self, done: Result<T>) -> Result<T> {
        done.map_err(|error| match error {
            StoreError::Corrupt { why, .. } => StoreError::Corrupt { path: self.address.path(), why },
            error => error,
        })
    }
}

/// Runs an operation with a connection. Each try gets its own clones of the named values.
macro_rules! work {
    ($self:ident, |$s:ident, $before:pat_param| [$($own:ident),*] $work:expr) => {
        work!($self.work, |$s, $before| [$($own),*] $work)
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
    async fn create(&self, run: NewRun) -> Result<Option<Lease>> {
        let new = Arc::new((Packed::values(&run.batch), run));
        work!(self, |s, before| [new] runs::create(s, &new.1, &new.0, before))
    }

    async fn append(&self, lease: &Lease, batch: Batch) -> Result<()> {
        let what = Arc::new((lease.clone(), Packed::values(&batch), batch));
        // What it stores is paid for and would be paid for again. If another process gets the run meanwhile, the server says so.
        work!(self.insist, |s, before| [what] runs::append(s, &what.0, &what.2, &what.1, before))
    }

    async fn draft(&self, lease: &Lease, drafts: Vec<Draft>) -> Result<()> {
        let what = Arc::new((lease.clone(), drafts));
        work!(self, |s, _| [what] letters::draft(s, &what.0, &what.1))
    }

    async fn drafts(&self, run: &str) -> Result<Vec<Draft>> {
        let run = run.to_owned();
        work!(self, |s, _| [run] letters::drafts(s, &run))
    }

    async fn entries(&self, run: &str, from: u64) -> Result<Vec<Entry>> {
        let run = run.to_owned();
        work!(self, |s, _| [run] entries::page(s, &run, from))
    }

    async fn note_asked(&self) -> Result<()> {
        work!(self, |s, _| [] asked::note(s))
    }

    async fn asked(&self, content: ContentKey, limit: usize) -> Result<Vec<String>> {
        work!(self, |s, _| [] asked::runs(s, content, limit))
    }

    async fn record(&self, run: &str) -> Result<Record> {
        let run = run.to_owned();
        work!(self, |s, _| [run] lists::record(s, &run))
    }

    async fn list(&self, filter: &Filter, after: Option<Cursor>, limit: usize) -> Result<Page> {
        let filter = filter.clone();
        work!(self, |s, _| [filter] lists::page(s, &filter, after, limit))
    }

    async fn counts(&self) -> Result<Vec<(Status, u64)>> {
        work!(self, |s, _| [] lists::counts(s))
    }

    async fn label(&self, run: &str, key: &str, value: Option<&str>) -> Result<()> {
        let (run, key, value) = (run.to_owned(), key.to_owned(), value.map(str::to_owned));
        work!(self, |s, _| [run, key, value] runs::label(s, &run, &key, value.as_deref()))
    }

    async fn blob(&self, hash: Hash) -> Result<Option<Vec<u8>>> {
        work!(self, |s, _| [] blobs::get(s, hash))
    }

    async fn claim(&self, run: &str, claim: Claim) -> Result<Lease> {
        let run = run.to_owned();
        work!(self, |s, _| [run, claim] claims::claim(s, &run, &claim))
    }

    async fn renew(&self, leases: Vec<Lease>, until: u64) -> Result<Vec<String>> {
        let (leases, clock) = (Arc::new(leases), self.pool.server_clock());
        work!(self, |s, _| [leases, clock] async {
            // This host's clock may run at a different speed.
            clock.read(s).await?;
            runs::renew(s, &leases, until).await
        })
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        let lease = lease.clone();
        work!(self, |s, _| [lease] runs::release(s, &lease))
    }

    async fn reclaim(&self, now: u64) -> Result<usize> {
        work!(self, |s, _| [] async {
            remove::old_results(s, now).await?;
            runs::reclaim(s, now).await
        })
    }

    async fn claimable(&self, now: u64, limit: usize) -> Result<Vec<String>> {
        work!(self, |s, _| [] claims::claimable(s, now, limit))
    }

    async fn claim_some(&self, claim: Claim, share: ClaimShare) -> Result<Vec<Lease>> {
        let what = Arc::new((claim, share));
        work!(self, |s, _| [what] claims::claim_some(s, &what.0, &what.1))
    }

    async fn evict_owner(&self, run: &str) -> Result<Option<String>> {
        let run = run.to_owned();
        work!(self, |s, _| [run] claims::evict_owner(s, &run))
    }

    async fn forget_result(&self, run: &str) -> Result<()> {
        let run = run.to_owned();
        work!(self, |s, _| [run] remove::result(s, &run))
    }

    async fn post(&self, run: &str, letter: Letter) -> Result<u64> {
        let run = run.to_owned();
        work!(self, |s, before| [run, letter] letters::post(s, &run, &letter, before))
    }

    async fn inbox(&self, run: &str) -> Result<Vec<Posted>> {
        let run = run.to_owned();
        work!(self, |s, _| [run] letters::of_run(s, &run))
    }

    async fn posted(&self, owner: &str, after: u64) -> Result<Vec<Posted>> {
        let owner = owner.to_owned();
        work!(self, |s, _| [owner] letters::of_owner(s, &owner, after))
    }

    async fn delete(&self, run: &str, now: u64) -> Result<()> {
        let run = run.to_owned();
        work!(self, |s, before| [run] remove::one(s, &run, now, before))
    }

    async fn prune(&self, retention: &Retention) -> Result<Pruned> {
        let before = self.size().await?.used;
        let (mut all, now) = (Pruned::default(), self.clock().wall_ms());
        work!(self, |s, _| [] remove::old_results(s, now))?;
        loop {
            let retention = retention.clone();
            let gone = work!(self, |s, _| [retention] remove::some(s, &retention))?;
            if gone.runs == 0 {
                break;
            }
            all.runs += gone.runs;
            all.failed += gone.failed;
        }
        work!(self, |s, _| [] remove::sweep(s))?;
        work!(self, |s, _| [] remove::give_back(s))?;
        Ok(Pruned { bytes: before.saturating_sub(self.size().await?.used), ..all })
    }

    async fn prune_some(&self, retention: &Retention) -> Result<Pruned> {
        let retention = retention.clone();
        let now = self.clock().wall_ms();
        work!(self, |s, _| [retention] async {
            remove::old_results(s, now).await?;
            match remove::is_due(s, &retention).await? {
                true => remove::some(s, &retention).await,
                false => Ok(Pruned::default()),
            }
        })
    }

    async fn check(&self) -> Result<Health> {
        work!(self, |s, _| [] check::all(s))
    }

    async fn size(&self) -> Result<Size> {
        work!(self, |s, _| [] async {
            let (runs, used) = remove::used(s).await?;
            Ok(Size { runs, disk: remove::disk(s).await?, used })
        })
    }

    async fn backup(&self, _to: &Path) -> Result<()> {
        Err(StoreError::NoBackup { path: self.address.path() })
    }

    fn place(&self) -> String {
        self.address.to_string()
    }

    fn clock(&self) -> Arc<dyn Clock> {
        self.pool.server_clock()
    }

    async fn stirred(&self, at_most: Duration) {
        // A notification may have been missed before listening started, so the first wait is short.
        let first = !self.listening.initialized();
        self.listening.get_or_init(async || self.pool.listen(run_row::CHANNEL, self.bell.clone())).await;
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
