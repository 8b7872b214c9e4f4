//! Which runs wait for a process, in which order, and who gets them.
//!
//! Looking for work costs the same however many runs wait for people or times: each of the four sorts of claimable runs has
//! an index of its own. The order is fair to flows: a flow gets its next run when no other flow has fewer in progress.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::fault::{SqliteError, SqliteResult};
use super::owner_locks::OwnerLocks;
use super::{int, uint};
use crate::error::StoreError;
use crate::lease::{Claim, ClaimShare, Lease};
use crate::record::{Content, Status};

/// Runs of one sort that are looked at in addition to those that are wanted, so that those of one flow do not hide others.
const MORE: usize = 1_000;

/// The condition for a run that a worker may continue: no person attends to it, and it is no part of a run that has not ended.
macro_rules! for_workers {
    () => {
        "attended = 0 AND NOT EXISTS (SELECT 1 FROM run AS caller WHERE caller.id = run.parent AND caller.ended IS NULL)"
    };
}

/// The condition of the index `run_ready`.
macro_rules! ready {
    () => {
        "ended IS NULL AND owner IS NULL AND status <> 'waiting'"
    };
}

const NEXT_FLOW: &str =
    concat!("SELECT flow FROM run INDEXED BY run_ready WHERE ", ready!(), " AND flow > ?1 ORDER BY flow LIMIT 1");
const FIRST_FLOW: &str =
    concat!("SELECT flow FROM run INDEXED BY run_ready WHERE ", ready!(), " ORDER BY flow LIMIT 1");
const READY: &str = concat!(
    "SELECT no, id, flow FROM run INDEXED BY run_ready WHERE ",
    ready!(),
    " AND flow = ?1 AND ",
    for_workers!(),
    " ORDER BY no LIMIT ?2"
);
const WOKEN: &str = concat!(
    "SELECT no, id, flow FROM run INDEXED BY run_wakes WHERE wake_at <= ?1 AND ended IS NULL AND owner IS NULL AND ",
    for_workers!(),
    " ORDER BY wake_at, no LIMIT ?2"
);
const WRITTEN_TO: &str = concat!(
    "SELECT no, id, flow FROM (SELECT DISTINCT run AS to_run FROM inbox) CROSS JOIN run ON run.no = to_run \
     WHERE ended IS NULL AND owner IS NULL AND ?1 >= 0 AND ",
    for_workers!(),
    " LIMIT ?2"
);
const EXPIRED: &str = concat!(
    "SELECT no, id, flow FROM run INDEXED BY run_owner WHERE owner IS NOT NULL AND ended IS NULL AND lease_until < ?1 \
     AND (status <> 'waiting' OR wake_at <= ?1 OR EXISTS (SELECT 1 FROM inbox WHERE inbox.run = run.no)) AND ",
    for_workers!(),
    " LIMIT ?2"
);

/// Runs by number, with their ids and flows.
type ClaimableRuns = BTreeMap<i64, (String, String)>;

/// Runs that wait for a process, in the order in which they should be claimed.
pub fn claimable_runs(c: &Connection, now: u64, share: &ClaimShare, owner: &str) -> SqliteResult<Vec<String>> {
    let wanted = share.most.saturating_add(share.except.len());
    let mut found = ClaimableRuns::new();
    let mut flow: Option<String> = c.prepare_cached(FIRST_FLOW)?.query_row([], |row| row.get(0)).optional()?;
    while let Some(of) = flow {
        let rows = params![of, int(wanted as u64)];
        found.extend(c.prepare_cached(READY)?.query_map(rows, run_from_row)?.collect::<Result<Vec<_>, _>>()?);
        flow = c.prepare_cached(NEXT_FLOW)?.query_row([of], |row| row.get(0)).optional()?;
    }
    for sort in [WOKEN, WRITTEN_TO, EXPIRED] {
        let rows = params![int(now), int(wanted.saturating_add(MORE) as u64)];
        found.extend(c.prepare_cached(sort)?.query_map(rows, run_from_row)?.collect::<Result<Vec<_>, _>>()?);
    }
    found.retain(|_, (run, _)| !share.except.contains(run));
    fairly(c, found, share, owner)
}

fn run_from_row(row: &Row<'_>) -> rusqlite::Result<(i64, (String, String))> {
    Ok((row.get(0)?, (row.get(1)?, row.get(2)?)))
}

/// Orders runs by how many of their flow come before them, including those in progress.
fn fairly(c: &Connection, found: ClaimableRuns, share: &ClaimShare, owner: &str) -> SqliteResult<Vec<String>> {
    // Runs in progress of each flow: of all processes, and of this one.
    let mut busy: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut select = c.prepare_cached(
        "SELECT flow, count(*), sum(owner = ?1) FROM run INDEXED BY run_owner WHERE owner IS NOT NULL GROUP BY flow",
    )?;
    let rows = select.query_map([owner], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)))?;
    for row in rows {
        let (flow, all, own) = row?;
        let count = |n: i64| usize::try_from(n).unwrap_or(usize::MAX);
        busy.insert(flow, (count(all), count(own)));
    }
    let mut order = Vec::new();
    for (no, (run, flow)) in found {
        let (all, own) = busy.entry(flow).or_default();
        (*all, *own) = (all.saturating_add(1), own.saturating_add(1));
        if share.per_flow.is_none_or(|most| *own <= most) {
            order.push((*all, no, run));
        }
    }
    order.sort();
    Ok(order.into_iter().take(share.most).map(|(_, _, run)| run).collect())
}

/// Claims a run that is free. Also returns the former owner, if its process has ended.
pub fn claim_run(
    c: &Connection,
    run: &str,
    claim: &Claim,
    alive: &OwnerLocks,
) -> SqliteResult<(Lease, Option<String>)> {
    let found = c
        .prepare_cached("SELECT no, owner, lease_until, ended, status, epoch, content FROM run WHERE id = ?1")?
        .query_row([run], |row| {
            Ok(ClaimRow {
                no: row.get(0)?,
                owner: row.get(1)?,
                until: row.get::<_, Option<i64>>(2)?.map_or(0, uint),
                is_open: row.get::<_, Option<i64>>(3)?.is_none()
                    || claim.failed && row.get::<_, String>(4)? == Status::Failed.name(),
                epoch: row.get(5)?,
                content: row.get(6)?,
            })
        })
        .optional()?;
    let Some(it) = found else { return Err(StoreError::NoRun { run: run.to_owned() }.into()) };
    if !it.is_open {
        return Err(StoreError::Ended { run: run.to_owned() }.into());
    }
    let other = it.owner.as_ref().filter(|owner| **owner != claim.owner);
    let lives = match other {
        Some(owner) if claim.gone.as_ref() == Some(owner) => Some(false),
        Some(owner) => alive.is_alive(owner),
        None => Some(false),
    };
    let expired = it.until < claim.now;
    let free = match lives {
        Some(false) => true,
        None => expired,
        // Its clock, or this one's, may be wrong, or the machine may have slept.
        Some(true) => expired && alive.is_stuck(run, (it.epoch, it.until), claim.until.saturating_sub(claim.now)),
    };
    if let (Some(owner), false) = (other, free) {
        return Err(SqliteError::Store(StoreError::Held {
            run: run.to_owned(),
            owner: owner.clone(),
            until: it.until,
        }));
    }
    let taken_from = other.filter(|_| lives != Some(false));
    let epoch = it.epoch.saturating_add(1);
    c.prepare_cached(
        "UPDATE run SET owner = ?2, epoch = ?3, lease_until = ?4, taken_from = coalesce(?5, taken_from) WHERE no = ?1",
    )?
    .execute(params![it.no, claim.owner, epoch, int(claim.until), taken_from])?;
    let lease = Lease { run: run.to_owned(), no: it.no, epoch: uint(epoch), content: Content::of_number(it.content) };
    Ok((lease, other.filter(|_| lives == Some(false)).cloned()))
}

/// What decides whether a run can be claimed.
struct ClaimRow {
    no: i64,
    owner: Option<String>,
    until: u64,
    is_open: bool,
    epoch: i64,
    content: i64,
}

/// Takes a run away from its owner, whose appends are rejected from now on. Returns the owner.
pub fn evict_owner(c: &Connection, run: &str) -> SqliteResult<Option<String>> {
    let no = super::entries::run_number(c, run)?;
    let owner: Option<String> =
        c.prepare_cached("SELECT owner FROM run WHERE no = ?1")?.query_row([no], |row| row.get(0))?;
    if owner.is_some() {
        c.prepare_cached(&format!(
            "UPDATE run SET taken_from = owner, epoch = epoch + 1, {} WHERE no = ?1",
            super::runs::FREE
        ))?
        .execute([no])?;
    }
    Ok(owner)
}
