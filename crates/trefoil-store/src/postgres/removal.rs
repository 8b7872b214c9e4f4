//! Deletes runs. The server reuses their disk space.

use super::connection::PostgresSession;
use super::fault::PostgresResult;
use super::pool::{EarlierTry, store_error};
use super::{int, text, uint};
use crate::batch::StoredEntry;
use crate::error::StoreError;
use crate::record::UNSEEN_MS;
use crate::upkeep::{PruneResult, RunRetention};

/// Runs deleted in one transaction; other writers get their turn between transactions.
const REMOVED: i64 = 100;

/// Deletes a run that no process works on.
pub async fn delete_run(s: &mut PostgresSession, run: &str, now: u64, before: EarlierTry) -> PostgresResult<()> {
    s.begin_transaction().await?;
    let select = concat!(
        "SELECT no, owner, lease_until, lease_until >= least($2::bigint, ",
        server_now!(),
        ") FROM run WHERE id = $1 FOR UPDATE"
    );
    let Some(row) = s.query_row(select, &[&text(run), &int(now)]).await? else {
        return match before {
            EarlierTry::Perhaps => s.commit_transaction().await,
            EarlierTry::No => store_error(StoreError::NoRun { run: run.to_owned() }),
        };
    };
    let (no, owner, until, held): (i64, Option<String>, Option<i64>, Option<bool>) =
        (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
    if let (Some(owner), Some(until), Some(true)) = (owner, until, held) {
        return store_error(StoreError::Held { run: run.to_owned(), owner, until: uint(until) });
    }
    everything_of(s, &[no]).await?;
    s.commit_transaction().await
}

/// The condition for a run that may be deleted by itself: it has ended, it is no part of a run that has called it, and no open run
/// reuses its results, directly or through others.
macro_rules! done {
    () => {
        concat!(
            "ended IS NOT NULL AND NOT EXISTS (SELECT 1 FROM run AS above WHERE above.id = run.parent) \
             AND id NOT IN (WITH RECURSIVE needed (base) AS (SELECT ",
            basis_run!(),
            " FROM run AS open JOIN entry ON entry.run = open.no AND entry.seq = 0 WHERE open.ended IS NULL UNION SELECT ",
            basis_run!(),
            " FROM needed JOIN run AS earlier ON earlier.id = needed.base JOIN entry ON entry.run = earlier.no AND entry.seq = 0) \
             SELECT base FROM needed WHERE base IS NOT NULL)"
        )
    };
}

/// Whether any run may be deleted.
pub async fn is_due(s: &mut PostgresSession, retention: &RunRetention) -> PostgresResult<bool> {
    let RunRetention { ended_before, failed_before, max_bytes } = retention;
    let due = s
        .query_row(
            concat!(
                "SELECT 1 FROM run WHERE ended < greatest($1::bigint, $2::bigint) \
                 AND ended < CASE status WHEN 'failed' THEN $2::bigint ELSE $1::bigint END AND ",
                done!(),
                " LIMIT 1"
            ),
            &[&ended_before.map(int), &failed_before.map(int)],
        )
        .await?;
    Ok(due.is_some()
        || match max_bytes {
            Some(most) => used_space(s).await?.1 > *most,
            None => false,
        })
}

/// Deletes some of the runs that may be deleted. Returns their number.
pub async fn delete_some(s: &mut PostgresSession, retention: &RunRetention) -> PostgresResult<PruneResult> {
    let RunRetention { ended_before, failed_before, max_bytes } = retention;
    s.begin_transaction().await?;
    let mut old = s
        .query_rows(
            concat!(
                "SELECT no, status = 'failed' FROM run \
                 WHERE ended < CASE status WHEN 'failed' THEN $2::bigint ELSE $1::bigint END AND ",
                done!(),
                " ORDER BY ended, no LIMIT $3 FOR UPDATE SKIP LOCKED"
            ),
            &[&ended_before.map(int), &failed_before.map(int), &REMOVED],
        )
        .await?;
    if let (Some(most), true) = (max_bytes, old.is_empty()) {
        let over = used_space(s).await?.1.saturating_sub(*most);
        if over > 0 {
            // Selects the runs that ended first, until their size is large enough. Content that other runs share is not
            // freed, so another pass may be needed.
            old = s
                .query_rows(
                    concat!("SELECT run.no, status = 'failed' FROM run JOIN ( \
                       SELECT no, sum(takes) OVER (ORDER BY ended, no) - takes AS before FROM ( \
                         SELECT no, ended, bytes + coalesce((SELECT sum(stored) FROM uses JOIN blob USING (hash) WHERE uses.run = first.no \
                           AND NOT EXISTS (SELECT 1 FROM uses other WHERE other.hash = blob.hash AND other.run <> first.no)), 0) AS takes \
                         FROM (SELECT no, ended, bytes FROM run WHERE ", done!(), " ORDER BY ended, no LIMIT $1) AS first \
                       ) AS sized ) AS ordered USING (no) \
                     WHERE before < $2::bigint ORDER BY ended, no FOR UPDATE OF run SKIP LOCKED"),
                    &[&REMOVED, &int(over)],
                )
                .await?;
        }
    }
    let mut gone = PruneResult::default();
    let mut nos = Vec::new();
    for row in &old {
        nos.push(row.try_get(0)?);
        gone.runs += 1;
        gone.failed += u64::from(row.try_get::<_, bool>(1)?);
    }
    everything_of(s, &nos).await?;
    s.commit_transaction().await?;
    Ok(gone)
}

/// Labels, messages and drafts are deleted with the row; files and values, if no other run uses them.
async fn everything_of(s: &mut PostgresSession, runs: &[i64]) -> PostgresResult<()> {
    if runs.is_empty() {
        return Ok(());
    }
    s.execute_statement("DELETE FROM entry WHERE run = ANY ($1)", &[&runs]).await?;
    contents(s, runs).await?;
    s.execute_statement("DELETE FROM run WHERE no = ANY ($1)", &[&runs]).await?;
    Ok(())
}

/// Deletes the files and values of these runs, except values that their entries still have, unless other runs use them.
async fn contents(s: &mut PostgresSession, runs: &[i64]) -> PostgresResult<()> {
    let unused = "DELETE FROM uses WHERE run = ANY ($1) AND NOT EXISTS (SELECT 1 FROM entry WHERE entry.run = uses.run \
         AND value = uses.hash) RETURNING hash";
    let unused = s.query_rows(unused, &[&runs]).await?;
    let mut hashes: Vec<Vec<u8>> = unused.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    hashes.sort();
    hashes.dedup();
    s.execute_statement(
        "DELETE FROM blob WHERE hash = ANY ($1) AND NOT EXISTS (SELECT 1 FROM uses WHERE uses.hash = blob.hash)",
        &[&hashes],
    )
    .await?;
    Ok(())
}

/// Deletes the content of a run that has ended, if it is kept only until then. The result of a completed run stays until somebody
/// has seen it; those of the runs that it has called are in it.
pub async fn delete_content(s: &mut PostgresSession, no: i64) -> PostgresResult<()> {
    let due = "UPDATE run SET content = CASE status WHEN 'completed' THEN 3 ELSE 2 END WHERE no = $1 AND content = 1 RETURNING content";
    let Some(row) = s.query_row(due, &[&no]).await? else { return Ok(()) };
    strip(s, no, row.try_get::<_, i64>(0)? == 3).await?;
    let called =
        "UPDATE run SET content = 2 WHERE content = 3 AND parent = (SELECT id FROM run WHERE no = $1) RETURNING no";
    for row in s.query_rows(called, &[&no]).await? {
        strip(s, row.try_get(0)?, false).await?;
    }
    Ok(())
}

/// Deletes the result of a run whose content is not kept.
pub async fn delete_result(s: &mut PostgresSession, run: &str) -> PostgresResult<()> {
    if s.query_row("SELECT 1 FROM run WHERE id = $1 AND content = 3", &[&text(run)]).await?.is_none() {
        return Ok(());
    }
    s.begin_transaction().await?;
    let seen = "UPDATE run SET content = 2 WHERE id = $1 AND content = 3 RETURNING no";
    if let Some(row) = s.query_row(seen, &[&text(run)]).await? {
        strip(s, row.try_get(0)?, false).await?;
    }
    s.commit_transaction().await
}

/// Deletes results that nobody has come for.
pub async fn old_results(s: &mut PostgresSession, now: u64) -> PostgresResult<()> {
    let before = int(now.saturating_sub(UNSEEN_MS));
    if s.query_row("SELECT 1 FROM run WHERE content = 3 AND ended < $1 LIMIT 1", &[&before]).await?.is_none() {
        return Ok(());
    }
    s.begin_transaction().await?;
    let old = "UPDATE run SET content = 2 WHERE no IN (SELECT no FROM run WHERE content = 3 AND ended < $1 FOR UPDATE SKIP LOCKED) \
         RETURNING no";
    for row in s.query_rows(old, &[&before]).await? {
        strip(s, row.try_get(0)?, false).await?;
    }
    s.commit_transaction().await
}

async fn strip(s: &mut PostgresSession, no: i64, keeps_result: bool) -> PostgresResult<()> {
    let mut from = -1_i64;
    loop {
        let next = "SELECT seq, body FROM entry WHERE run = $1 AND seq > $2 ORDER BY seq LIMIT 100";
        let rows = s.query_rows(next, &[&no, &from]).await?;
        if rows.is_empty() {
            break;
        }
        for row in rows {
            from = row.try_get(0)?;
            let body = StoredEntry { seq: uint(from), json: row.try_get(1)?, value: None };
            if let Some(bare) = body.without_content(keeps_result)? {
                let change = "UPDATE entry SET body = $3, value = NULL WHERE run = $1 AND seq = $2";
                s.execute_statement(change, &[&no, &from, &bare.json]).await?;
            }
        }
    }
    // Requests of this run can no longer be found by other runs.
    s.execute_statement("DELETE FROM asked WHERE run = $1", &[&no]).await?;
    contents(s, &[no]).await
}

/// Deletes files and values that no run uses. There are none unless something went wrong.
pub async fn delete_unused(s: &mut PostgresSession) -> PostgresResult<()> {
    s.execute_statement("DELETE FROM blob WHERE NOT EXISTS (SELECT 1 FROM uses WHERE uses.hash = blob.hash)", &[])
        .await?;
    Ok(())
}

/// Makes the freed space available at once. The server's autovacuum does the same later, so a user without the
/// permission can skip this.
pub async fn give_back(s: &mut PostgresSession) -> PostgresResult<()> {
    match s.execute_batch("VACUUM entry, blob, uses, run, label, inbox, draft, asked").await {
        Err(fault) if fault.retry_class() == super::fault::RetryClass::Unknown => Err(fault),
        _ => Ok(()),
    }
}

/// The number of runs, and of bytes in use.
pub async fn used_space(s: &mut PostgresSession) -> PostgresResult<(u64, u64)> {
    let row = s
        .query_row(
            "SELECT (SELECT count(*) FROM run), (SELECT coalesce(sum(bytes), 0)::bigint FROM run) \
             + (SELECT coalesce(sum(stored), 0)::bigint FROM blob)",
            &[],
        )
        .await?;
    let Some(row) = row else { return Ok((0, 0)) };
    Ok((uint(row.try_get(0)?), uint(row.try_get(1)?)))
}

/// Bytes used on the server's disk.
pub async fn disk_usage(s: &mut PostgresSession) -> PostgresResult<u64> {
    let row = s
        .query_row(
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class \
             WHERE relnamespace = 'trefoil'::regnamespace AND relkind = 'r'",
            &[],
        )
        .await?;
    Ok(match row {
        Some(row) => uint(row.try_get(0)?),
        None => 0,
    })
}
