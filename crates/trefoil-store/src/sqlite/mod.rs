//! A store in one SQLite file: bundled SQLite, a write-ahead log, one writing connection, and readers that never wait.
//!
//! `schema.sql` defines the layout. SQLite 3.7.0 to 3.51.2 can damage a database if two connections checkpoint and
//! write at the same time, so the system's library is never used, and older `sqlite3` tools must not open a store in
//! use.

/// The run whose results a run reuses, in its first entry.
macro_rules! base {
    () => {
        "CASE WHEN json_valid(entry.body) THEN json_extract(entry.body, '$.entry.started.basis.run') END"
    };
}

mod alive;
mod asked;
mod blobs;
mod check;
mod claims;
mod drafts;
mod entries;
mod fault;
mod format;
mod letters;
mod lists;
mod look;
mod open;
mod place;
mod readers;
mod remove;
mod runs;
mod same;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::Connection;
use trefoil_machine::{ContentKey, Entry};
use trefoil_runtime::ports::Draft;

use crate::batch::Batch;
use crate::blob::Hash;
use crate::error::{Result, StoreError};
use crate::inbox::{Letter, Posted};
use crate::lease::{Claim, ClaimShare, Lease};
use crate::list::{Cursor, Filter, Page};
use crate::packed::Packed;
use crate::port::{NewRun, Store};
use crate::record::{Record, Status};
use crate::upkeep::{Health, Pruned, Retention, Size};

use alive::{Alive, GoneOwners};
use fault::Done;
use place::StorePlace;
use readers::Readers;
use writer::{Where, Writer, checkpoint};

pub use place::{Durability, Options, PATIENCE};

/// Runs deleted in one transaction; other writers get their turn between transactions.
const REMOVED: usize = 100;
/// Maximum number of indexing transactions in one call. The rest is indexed in the next call.
const NOTED: usize = 3;
/// Pages that are returned to the disk in one transaction.
const PAGES: u32 = 2_000;

/// A store in one file.
///
/// [`Store::create`] and [`Store::append`] may commit on the caller's thread ([`tokio::task::block_in_place`]), so on a runtime
/// with several threads they must not be called inside a `LocalSet`.
pub struct SqliteStore {
    // Fields are dropped in this order: the last connection to close moves the log into the database.
    readers: Readers,
    /// `None` if the store is read-only.
    writer: Option<Writer>,
    alive: Arc<Alive>,
    place: StorePlace,
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.place.path).finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens a store; creates it, readable for this user only, if the file does not exist and [`Options::create`] says so.
    pub fn open(path: impl Into<PathBuf>, options: Options) -> Result<Self> {
        let place = StorePlace { path: path.into(), options };
        let writer = Writer::open(place.clone())?;
        Ok(Self {
            readers: Readers::new(place.clone()),
            writer: Some(writer),
            alive: Arc::new(Alive::new(&place)),
            place,
        })
    }

    /// Opens a store for reading: creates and changes nothing, and needs no write access to the file or its folder.
    /// Operations that would change the store fail with [`StoreError::ReadOnly`].
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] if there is no store yet.
    pub fn open_to_read(path: impl Into<PathBuf>, options: Options) -> Result<Self> {
        let place = StorePlace { path: path.into(), options };
        Ok(Self { readers: Readers::only(place.clone())?, writer: None, alive: Arc::new(Alive::new(&place)), place })
    }

    fn writer(&self) -> Result<&Writer> {
        self.writer.as_ref().ok_or_else(|| StoreError::ReadOnly { path: self.place.path.clone() })
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.place.path
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn create(&self, run: NewRun) -> Result<Option<Lease>> {
        let writer = self.writer()?;
        if let Some(claim) = &run.claim {
            self.alive.is_here(&claim.owner);
            self.alive.took();
        }
        let claimed = run.claim.is_some();
        let ends = run.batch.end.is_some();
        let values = Packed::values(&run.batch);
        let created = writer.write(Where::Here, move |c| runs::create(c, &run, values)).await;
        if claimed && (matches!(created, Err(StoreError::RunExists { .. })) || created.is_ok() && ends) {
            self.alive.gave();
        }
        created
    }

    async fn append(&self, lease: &Lease, batch: Batch) -> Result<()> {
        let (lease, values) = (lease.clone(), Packed::values(&batch));
        let ends = batch.end.is_some();
        let appended = self.writer()?.write(Where::Here, move |c| runs::append(c, &lease, &batch, values)).await;
        if appended.is_ok() && ends {
            self.alive.gave();
        }
        appended
    }

    async fn draft(&self, lease: &Lease, drafts: Vec<Draft>) -> Result<()> {
        let lease = lease.clone();
        self.writer()?.write_lazily(move |c| drafts::put(c, &lease, &drafts)).await
    }

    async fn drafts(&self, run: &str) -> Result<Vec<Draft>> {
        let run = run.to_owned();
        self.readers.read(move |c| drafts::of_run(c, &run)).await
    }

    async fn entries(&self, run: &str, from: u64) -> Result<Vec<Entry>> {
        let run = run.to_owned();
        self.readers.read(move |c| entries::page(c, &run, from)).await
    }

    async fn note_asked(&self) -> Result<()> {
        let writer = self.writer()?;
        for _ in 0..NOTED {
            if !writer.write(Where::There, asked::note_some).await? {
                break;
            }
        }
        writer.write(Where::There, asked::note_open).await
    }

    async fn asked(&self, content: ContentKey, limit: usize) -> Result<Vec<String>> {
        self.readers.read(move |c| asked::runs(c, content, limit)).await
    }

    async fn record(&self, run: &str) -> Result<Record> {
        let run = run.to_owned();
        self.look(move |c, departed| lists::record(c, &run, departed)).await
    }

    async fn list(&self, filter: &Filter, after: Option<Cursor>, limit: usize) -> Result<Page> {
        let filter = filter.clone();
        self.look(move |c, departed| lists::page(c, departed, &filter, after, limit)).await
    }

    async fn counts(&self) -> Result<Vec<(Status, u64)>> {
        self.look(lists::counts).await
    }

    async fn label(&self, run: &str, key: &str, value: Option<&str>) -> Result<()> {
        let (run, key, value) = (run.to_owned(), key.to_owned(), value.map(str::to_owned));
        self.writer()?.write(Where::There, move |c| runs::label(c, &run, &key, value.as_deref())).await
    }

    async fn blob(&self, hash: Hash) -> Result<Option<Vec<u8>>> {
        self.readers.read(move |c| blobs::get(c, hash)).await
    }

    async fn claim(&self, run: &str, claim: Claim) -> Result<Lease> {
        self.writer()?;
        self.alive.is_here(&claim.owner);
        self.alive.took();
        let (id, alive) = (run.to_owned(), self.alive.clone());
        let claimed = self.writer()?.write(Where::There, move |c| claims::claim(c, &id, &claim, &alive)).await;
        if let Ok((_, Some(ended))) = &claimed {
            let name = ended.clone();
            if let Ok(false) = self.readers.read(move |c| runs::has_any(c, &name)).await {
                self.alive.forget(ended);
            }
        }
        let claimed = claimed.map(|(lease, _)| lease);
        if let Err(StoreError::Held { .. } | StoreError::NoRun { .. } | StoreError::Ended { .. }) = &claimed {
            self.alive.gave();
        }
        claimed
    }

    async fn renew(&self, leases: Vec<Lease>, until: u64) -> Result<Vec<String>> {
        self.writer()?.write(Where::There, move |c| runs::renew(c, &leases, until)).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        let lease = lease.clone();
        let released = self.writer()?.write(Where::There, move |c| runs::release(c, &lease)).await;
        if released.is_ok() {
            self.alive.gave();
        }
        released
    }

    async fn reclaim(&self, now: u64) -> Result<usize> {
        let mut taken = 0;
        self.expire_results(now).await?;
        for owner in self.readers.read(runs::owners).await? {
            let before = match self.alive.lives(&owner) {
                Some(true) => continue,
                Some(false) => None,
                None => Some(now),
            };
            let name = owner.clone();
            taken += self.writer()?.write(Where::There, move |c| runs::take(c, &name, before)).await?;
            if before.is_none() {
                self.alive.forget(&owner);
            }
        }
        Ok(taken)
    }

    async fn claimable(&self, now: u64, limit: usize) -> Result<Vec<String>> {
        let share = ClaimShare { most: limit, ..ClaimShare::default() };
        self.readers.read(move |c| claims::claimable(c, now, &share, "")).await
    }

    async fn claim_some(&self, claim: Claim, share: ClaimShare) -> Result<Vec<Lease>> {
        let (now, owner) = (claim.now, claim.owner.clone());
        let found = self.readers.read(move |c| claims::claimable(c, now, &share, &owner)).await?;
        let mut leases = Vec::new();
        for run in found {
            match self.claim(&run, claim.clone()).await {
                Ok(lease) => leases.push(lease),
                Err(StoreError::Held { .. } | StoreError::Ended { .. } | StoreError::NoRun { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(leases)
    }

    async fn evict_owner(&self, run: &str) -> Result<Option<String>> {
        let run = run.to_owned();
        self.writer()?.write(Where::There, move |c| claims::evict_owner(c, &run)).await
    }

    async fn forget_result(&self, run: &str) -> Result<()> {
        let (id, run) = (run.to_owned(), run.to_owned());
        if self.readers.read(move |c| remove::has_result(c, &id)).await? {
            self.writer()?.write(Where::There, move |c| remove::result(c, &run)).await?;
        }
        Ok(())
    }

    async fn post(&self, run: &str, letter: Letter) -> Result<u64> {
        let run = run.to_owned();
        self.writer()?.write(Where::There, move |c| letters::post(c, &run, &letter)).await
    }

    async fn inbox(&self, run: &str) -> Result<Vec<Posted>> {
        let run = run.to_owned();
        self.readers.read(move |c| letters::of_run(c, &run)).await
    }

    async fn posted(&self, owner: &str, after: u64) -> Result<Vec<Posted>> {
        let owner = owner.to_owned();
        self.readers.read(move |c| letters::of_owner(c, &owner, after)).await
    }

    async fn delete(&self, run: &str, now: u64) -> Result<()> {
        let run = run.to_owned();
        self.writer()?.write(Where::There, move |c| remove::one(c, &run, now)).await?;
        self.give_back().await
    }

    async fn prune(&self, retention: &Retention) -> Result<Pruned> {
        let before = self.size().await?.disk;
        self.expire_results(self.clock().wall_ms()).await?;
        let mut all = Pruned::default();
        loop {
            let retention = retention.clone();
            let gone = self.writer()?.write(Where::There, move |c| remove::some(c, &retention, REMOVED)).await?;
            if gone.runs == 0 {
                break;
            }
            all.runs += gone.runs;
            all.failed += gone.failed;
        }
        self.writer()?.write(Where::There, remove::sweep).await?;
        self.give_back().await?;
        // The file shrinks when the log is moved into it. A concurrent reader may delay that.
        self.writer()?.alone(|c| Ok(checkpoint(c, "TRUNCATE")?)).await?;
        Ok(Pruned { bytes: before.saturating_sub(self.size().await?.disk), ..all })
    }

    async fn prune_some(&self, retention: &Retention) -> Result<Pruned> {
        self.expire_results(self.clock().wall_ms()).await?;
        let due = retention.clone();
        if !self.readers.read(move |c| remove::is_due(c, &due)).await? {
            return Ok(Pruned::default());
        }
        let retention = retention.clone();
        let gone = self.writer()?.write(Where::There, move |c| remove::some(c, &retention, REMOVED)).await?;
        if gone.runs > 0 {
            self.writer()?.write(Where::There, |c| remove::give_back(c, PAGES)).await?;
        }
        Ok(gone)
    }

    async fn check(&self) -> Result<Health> {
        match self.readers.read(check::all).await {
            // The file is too damaged to be read completely.
            Err(StoreError::Corrupt { why, .. }) => Ok(Health { problems: vec![why], ..Health::default() }),
            health => health,
        }
    }

    async fn size(&self) -> Result<Size> {
        let length = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
        let disk = length(&self.place.path) + length(&self.place.wal());
        let (runs, used) = self.readers.read(remove::used).await?;
        Ok(Size { runs, disk, used })
    }

    async fn backup(&self, to: &Path) -> Result<()> {
        let to = to.to_owned();
        if std::fs::symlink_metadata(&to).is_ok() {
            return Err(StoreError::Exists { path: to });
        }
        let mut part = to.clone().into_os_string();
        part.push(".part");
        let part = PathBuf::from(part);
        let failed = {
            let path = to.clone();
            move |error: std::io::Error| StoreError::Io { path: path.clone(), why: error.to_string() }
        };
        // Removes the remains of an interrupted backup.
        let _ = std::fs::remove_file(&part);
        open::private_file(&part).map_err(&failed)?;
        let file = part.clone();
        let copied = self.readers.read(move |c| {
            // Only the copy is written.
            c.execute_batch("PRAGMA query_only = OFF")?;
            let copied = c.execute("VACUUM INTO ?1", [file.to_string_lossy()]);
            c.execute_batch("PRAGMA query_only = ON")?;
            Ok(copied.map(drop)?)
        });
        let kept = match copied.await {
            // SQLite does not sync the copy to the disk.
            Ok(()) => std::fs::File::open(&part)
                .and_then(|file| file.sync_all())
                .and_then(|()| std::fs::hard_link(&part, &to))
                .map_err(failed),
            Err(error) => Err(error),
        };
        let _ = std::fs::remove_file(&part);
        kept
    }

    fn place(&self) -> String {
        self.place.path.display().to_string()
    }
}

impl SqliteStore {
    /// Reads what depends on which processes have ended.
    async fn look<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, &GoneOwners) -> Done<T> + Send + 'static,
    {
        let (alive, now) = (self.alive.clone(), self.clock().wall_ms());
        self.readers.read(move |c| work(c, &alive.departed(c, now)?)).await
    }

    /// Deletes results that nobody has come for.
    async fn expire_results(&self, now: u64) -> Result<()> {
        while self.readers.read(move |c| remove::has_old_result(c, now)).await? {
            self.writer()?.write(Where::There, move |c| remove::old_results(c, now, REMOVED)).await?;
        }
        Ok(())
    }

    /// Returns free pages to the disk, some at a time.
    async fn give_back(&self) -> Result<()> {
        while self.writer()?.write(Where::There, |c| remove::give_back(c, PAGES)).await? {}
        Ok(())
    }
}

/// A count or a time as SQLite stores it.
fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The reverse of [`int`].
fn uint(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
