//! Which runs wait for a process, in which order, and who gets them.
//!
//! Looking for work costs the same however many runs wait for people or times: each of the four sorts of claimable runs has
//! an index of its own. The order is fair to flows: a flow gets its next run when no other flow has fewer in progress.

use tokio_postgres::Row;

use super::connection::PostgresSession;
use super::fault::PostgresResult;
use super::pool::store_error;
use super::run_row::notify_available;
use super::{int, text, uint};
use crate::error::StoreError;
use crate::lease::{Claim, ClaimShare, Lease};
use crate::record::Content;

/// Claims a run that is free.
const CLAIM: &str = concat!(
    "UPDATE run SET owner = $2, epoch = epoch + 1, lease_until = $3, \
     taken_from = CASE WHEN owner <> $2 AND owner IS DISTINCT FROM $5 THEN owner ELSE taken_from END WHERE id = $1 AND \
     (ended IS NULL OR ($6 AND status = 'failed')) AND (owner IS NULL OR owner = $2 OR owner = $5 OR ",
    lease_expired!("$4"),
    ") RETURNING no, epoch, content"
);

/// Claims a run that is free.
pub async fn claim_run(s: &mut PostgresSession, run: &str, claim: &Claim) -> PostgresResult<Lease> {
    let (owner, gone) = (text(&claim.owner), claim.gone.as_deref().map(text));
    let taken =
        s.query_row(CLAIM, &[&text(run), &owner, &int(claim.until), &int(claim.now), &gone, &claim.failed]).await?;
    if let Some(row) = taken {
        let (no, epoch, content): (i64, i64, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        return Ok(Lease { run: run.to_owned(), no, epoch: uint(epoch), content: Content::of_number(content) });
    }
    let found = s.query_row("SELECT owner, lease_until, ended FROM run WHERE id = $1", &[&text(run)]).await?;
    let Some(row) = found else { return store_error(StoreError::NoRun { run: run.to_owned() }) };
    let (owner, until, ended): (Option<String>, Option<i64>, Option<i64>) =
        (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    let run = run.to_owned();
    store_error(match owner {
        Some(owner) if ended.is_none() || claim.failed => {
            StoreError::Held { run, owner, until: uint(until.unwrap_or(0)) }
        }
        _ => StoreError::Ended { run },
    })
}

/// The condition for a run that a worker may continue at time `$1`: it is none of `$3`, no person attends to it, and it is no part of
/// a run that has not ended.
macro_rules! for_workers {
    () => {
        "NOT attended AND id <> ALL ($3::text[]) \
         AND NOT EXISTS (SELECT 1 FROM run AS caller WHERE caller.id = run.parent AND caller.ended IS NULL) "
    };
}

/// The condition of the index `run_ready`.
macro_rules! ready {
    () => {
        "ended IS NULL AND owner IS NULL AND status <> 'waiting' "
    };
}

/// The numbers of claimable runs, with their place in the order. `$1`: the time, `$2`: the owner, `$3`: the runs that are not
/// wanted, `$4`: how many are wanted, `$5`: how many of one flow this owner may have. Of each sort, more are looked at than are
/// wanted, because others may claim some of them at the same time.
macro_rules! ordered {
    () => {
        concat!(
            "WITH RECURSIVE flows (flow) AS ( \
               (SELECT flow FROM run WHERE ",
            ready!(),
            "ORDER BY flow LIMIT 1) UNION ALL SELECT next.flow FROM flows, LATERAL (SELECT run.flow FROM run WHERE ",
            ready!(),
            "AND run.flow > flows.flow ORDER BY run.flow LIMIT 1) AS next \
             ), found (no, flow) AS ( \
               SELECT one.no, one.flow FROM flows, LATERAL (SELECT no, flow FROM run WHERE ",
            ready!(),
            "AND run.flow = flows.flow AND ",
            for_workers!(),
            "ORDER BY no LIMIT $4::bigint + 100) AS one \
               UNION (SELECT no, flow FROM run WHERE wake_at <= $1::bigint AND ended IS NULL AND owner IS NULL AND ",
            for_workers!(),
            "ORDER BY wake_at, no LIMIT $4::bigint + 1000) \
               UNION (SELECT no, flow FROM (SELECT DISTINCT run AS to_run FROM inbox) AS letters JOIN run ON no = to_run \
                 WHERE ended IS NULL AND owner IS NULL AND ",
            for_workers!(),
            "LIMIT $4::bigint + 1000) \
               UNION (SELECT no, flow FROM run WHERE owner IS NOT NULL AND ended IS NULL AND ",
            lease_expired!("$1"),
            "AND (status <> 'waiting' OR wake_at <= $1::bigint OR EXISTS (SELECT 1 FROM inbox WHERE inbox.run = run.no)) AND ",
            for_workers!(),
            "LIMIT $4::bigint + 1000) \
             ), busy AS ( \
               SELECT flow, count(*) AS everywhere, count(*) FILTER (WHERE owner = $2) AS here \
               FROM run WHERE owner IS NOT NULL GROUP BY flow \
             ), ordered AS ( \
               SELECT found.no, row_number() OVER flow_order + coalesce(everywhere, 0) AS place, \
                 row_number() OVER flow_order + coalesce(here, 0) AS own \
               FROM found LEFT JOIN busy USING (flow) WINDOW flow_order AS (PARTITION BY found.flow ORDER BY found.no) \
             ) "
        )
    };
}

/// The condition for a run that waits for a process at time `$1`, again: another process may have claimed it since.
macro_rules! still_waits {
    () => {
        concat!(
            "ended IS NULL AND (owner IS NULL OR ",
            lease_expired!("$1"),
            ") AND ($5::bigint IS NULL OR own <= $5::bigint) "
        )
    };
}

/// Runs that wait for a process.
pub async fn claimable_runs(s: &mut PostgresSession, now: u64, limit: usize) -> PostgresResult<Vec<String>> {
    let select = concat!(
        ordered!(),
        "SELECT id FROM run JOIN ordered USING (no) WHERE ",
        still_waits!(),
        "AND $2::text IS NOT NULL ORDER BY place, no LIMIT $4::bigint"
    );
    let none: Vec<String> = Vec::new();
    let rows = s.query_rows(select, &[&int(now), &"", &none, &int(limit as u64), &None::<i64>]).await?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

/// Claims some of these runs. Concurrent callers get different runs. If the outcome of a try is unknown, the runs that
/// it may have claimed wait until their leases expire.
pub async fn claim_some(s: &mut PostgresSession, claim: &Claim, share: &ClaimShare) -> PostgresResult<Vec<Lease>> {
    let take = concat!(
        ordered!(),
        "UPDATE run SET owner = $2, epoch = epoch + 1, lease_until = $6, taken_from = coalesce(owner, taken_from) \
         WHERE no IN (SELECT run.no FROM run JOIN ordered ON ordered.no = run.no WHERE ",
        still_waits!(),
        "ORDER BY place, run.no LIMIT $4::bigint FOR UPDATE OF run SKIP LOCKED) RETURNING id, no, epoch, content"
    );
    let except: Vec<_> = share.except.iter().map(|run| text(run)).collect();
    let (most, per_flow) = (int(share.most as u64), share.per_flow.map(|most| int(most as u64)));
    let (owner, now, until) = (text(&claim.owner), int(claim.now), int(claim.until));
    let rows = s.query_rows(take, &[&now, &owner, &except, &most, &per_flow, &until]).await?;
    let lease = |row: &Row| -> PostgresResult<Lease> {
        let (run, no, epoch) = (row.try_get(0)?, row.try_get(1)?, uint(row.try_get(2)?));
        Ok(Lease { run, no, epoch, content: Content::of_number(row.try_get(3)?) })
    };
    rows.iter().map(lease).collect()
}

/// Takes a run away from its owner, whose appends are rejected from now on. Returns the owner.
pub async fn evict_owner(s: &mut PostgresSession, run: &str) -> PostgresResult<Option<String>> {
    let no = super::run_row::run_number(s, run).await?;
    let evict = "WITH had AS (SELECT no, owner FROM run WHERE no = $1 AND owner IS NOT NULL FOR UPDATE) \
         UPDATE run SET taken_from = had.owner, epoch = epoch + 1, owner = NULL, lease_until = NULL, \
         status = CASE status WHEN 'running' THEN 'interrupted' ELSE status END FROM had WHERE run.no = had.no RETURNING had.owner";
    let Some(row) = s.query_row(evict, &[&no]).await? else { return Ok(None) };
    notify_available(s).await?;
    Ok(row.try_get(0)?)
}
