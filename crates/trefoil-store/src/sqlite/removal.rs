//! Deletes runs and returns their space.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::entries::entry_id;
use super::fault::SqliteResult;
use super::{int, request_index, uint};
use crate::batch::StoredEntry;
use crate::error::StoreError;
use crate::record::UNSEEN_MS;
use crate::upkeep::{PruneResult, RunRetention};

/// Deletes a run that no process works on.
pub fn delete_run(c: &Connection, run: &str, now: u64) -> SqliteResult<()> {
    let found = c
        .prepare_cached("SELECT no, owner, lease_until FROM run WHERE id = ?1")?
        .query_row([run], |row| {
            Ok((row.get(0)?, row.get::<_, Option<String>>(1)?, row.get::<_, Option<i64>>(2)?.map(uint)))
        })
        .optional()?;
    let run = run.to_owned();
    match found {
        None => Err(StoreError::NoRun { run }.into()),
        Some((_, Some(owner), Some(until))) if until >= now => Err(StoreError::Held { run, owner, until }.into()),
        Some((no, ..)) => everything_of(c, no),
    }
}

/// The condition for a run that may be deleted by itself: it has ended, it is no part of a run that has called it, and no open run
/// reuses its results, directly or through others.
macro_rules! done {
    () => {
        concat!(
            "ended IS NOT NULL AND NOT EXISTS (SELECT 1 FROM run AS above WHERE above.id = run.parent) \
             AND id NOT IN (WITH RECURSIVE needed (base) AS (SELECT ",
            base!(),
            " FROM run AS open JOIN entry ON entry.id = open.no << 32 WHERE open.ended IS NULL UNION SELECT ",
            base!(),
            " FROM needed JOIN run AS earlier ON earlier.id = needed.base JOIN entry ON entry.id = earlier.no << 32) \
             SELECT base FROM needed WHERE base IS NOT NULL)"
        )
    };
}

/// Whether any run may be deleted.
pub fn is_due(c: &Connection, retention: &RunRetention) -> SqliteResult<bool> {
    let RunRetention { ended_before, failed_before, max_bytes } = retention;
    let ended = c
        .prepare_cached(concat!(
            "SELECT 1 FROM run WHERE ended < max(ifnull(?1, 0), ifnull(?2, 0)) \
             AND ended < CASE status WHEN 'failed' THEN ?2 ELSE ?1 END AND ",
            done!(),
            " LIMIT 1"
        ))?
        .exists(params![ended_before.map(int), failed_before.map(int)])?;
    if ended {
        return Ok(true);
    }
    let Some(max) = *max_bytes else { return Ok(false) };
    Ok(matches!(used_space(c), Ok((_, bytes)) if bytes > max))
}

/// Deletes some of the runs that may be deleted. Returns their number.
pub fn delete_some(c: &Connection, retention: &RunRetention, limit: usize) -> SqliteResult<PruneResult> {
    let RunRetention { ended_before, failed_before, max_bytes } = retention;
    let mut select = c.prepare_cached(concat!(
        "SELECT no, status = 'failed' FROM run WHERE ended < CASE status WHEN 'failed' THEN ?2 ELSE ?1 END AND ",
        done!(),
        " ORDER BY ended, no LIMIT ?3"
    ))?;
    let times = params![ended_before.map(int), failed_before.map(int), int(limit as u64)];
    let old = select.query_map(times, |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut old: Vec<(i64, bool)> = old.collect::<Result<_, _>>()?;
    for (no, _) in &old {
        everything_of(c, *no)?;
    }
    if let Some(max) = max_bytes
        && old.is_empty()
    {
        while old.len() < limit && used_space(c)?.1 > *max {
            let first = concat!("SELECT no, status = 'failed' FROM run WHERE ", done!(), " ORDER BY ended, no LIMIT 1");
            let first = c.prepare_cached(first)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let Some(first) = first else { break };
            everything_of(c, first.0)?;
            old.push(first);
        }
    }
    let failed = old.iter().filter(|(_, failed)| *failed).count() as u64;
    Ok(PruneResult { runs: old.len() as u64, failed, bytes: 0 })
}

/// Deletes the content of a run that has ended, if it is kept only until then. The result of a completed run stays until somebody
/// has seen it; those of the runs that it has called are in it.
pub fn delete_content(c: &Connection, no: i64) -> SqliteResult<()> {
    let due = "UPDATE run SET content = CASE status WHEN 'completed' THEN 3 ELSE 2 END WHERE no = ?1 AND content = 1 RETURNING content";
    let Some(left) = c.prepare_cached(due)?.query_row([no], |row| row.get::<_, i64>(0)).optional()? else {
        return Ok(());
    };
    let called = "SELECT no FROM run WHERE content = 3 AND parent = (SELECT id FROM run WHERE no = ?1)";
    let called: Vec<i64> = c.prepare_cached(called)?.query_map([no], |row| row.get(0))?.collect::<Result<_, _>>()?;
    with_overwrite(c, || {
        strip(c, no, left == 3)?;
        called.into_iter().try_for_each(|no| strip_result(c, no))
    })
}

/// Whether the content of a run is its result.
pub fn has_result(c: &Connection, run: &str) -> SqliteResult<bool> {
    Ok(c.prepare_cached("SELECT 1 FROM run WHERE id = ?1 AND content = 3")?.exists([run])?)
}

/// Deletes the result of a run whose content is not kept.
pub fn delete_result(c: &Connection, run: &str) -> SqliteResult<()> {
    let no = c.prepare_cached("SELECT no FROM run WHERE id = ?1 AND content = 3")?.query_row([run], |row| row.get(0));
    match no.optional()? {
        Some(no) => with_overwrite(c, || strip_result(c, no)),
        None => Ok(()),
    }
}

/// Whether there are results that nobody has come for.
pub fn has_old_result(c: &Connection, now: u64) -> SqliteResult<bool> {
    let found = "SELECT 1 FROM run INDEXED BY run_unseen WHERE content = 3 AND ended < ?1 LIMIT 1";
    Ok(c.prepare_cached(found)?.exists([int(now.saturating_sub(UNSEEN_MS))])?)
}

/// Deletes some of the results that nobody has come for.
pub fn old_results(c: &Connection, now: u64, limit: usize) -> SqliteResult<()> {
    let old = "SELECT no FROM run INDEXED BY run_unseen WHERE content = 3 AND ended < ?1 LIMIT ?2";
    let rows = params![int(now.saturating_sub(UNSEEN_MS)), int(limit as u64)];
    let old: Vec<i64> = c.prepare_cached(old)?.query_map(rows, |row| row.get(0))?.collect::<Result<_, _>>()?;
    with_overwrite(c, || old.into_iter().try_for_each(|no| strip_result(c, no)))
}

fn strip_result(c: &Connection, no: i64) -> SqliteResult<()> {
    c.prepare_cached("UPDATE run SET content = 2 WHERE no = ?1")?.execute([no])?;
    strip(c, no, false)
}

/// Deletes something that must not stay in the file: freed pages are overwritten, too.
fn with_overwrite(c: &Connection, work: impl FnOnce() -> SqliteResult<()>) -> SqliteResult<()> {
    c.query_row("PRAGMA secure_delete = ON", [], |_| Ok(()))?;
    let done = work();
    c.query_row("PRAGMA secure_delete = FAST", [], |_| Ok(()))?;
    done
}

fn strip(c: &Connection, no: i64, keeps_result: bool) -> SqliteResult<()> {
    bare_entries(c, no, keeps_result)?;
    contents(c, no)?;
    request_index::remove_from_index(c, no)
}

fn bare_entries(c: &Connection, no: i64, keeps_result: bool) -> SqliteResult<()> {
    let mut next = c.prepare_cached("SELECT id, body FROM entry WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT 1")?;
    let mut change = c.prepare_cached("UPDATE entry SET body = ?2, value = NULL WHERE id = ?1")?;
    let mut from = entry_id(no, 0);
    while let Some((id, json)) = next
        .query_row([from, entry_id(no, u64::MAX)], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))
        .optional()?
    {
        if let Some(bare) =
            (StoredEntry { seq: u64::from(id as u32), json, value: None }).without_content(keeps_result)?
        {
            change.execute(params![id, bare.json])?;
        }
        from = id + 1;
    }
    Ok(())
}

/// Deletes the files and values of a run, except values that its entries still have, unless other runs use them.
fn contents(c: &Connection, no: i64) -> SqliteResult<()> {
    let range = params![no, entry_id(no, 0), entry_id(no, u64::MAX)];
    let unused = "run = ?1 AND hash NOT IN (SELECT value FROM entry WHERE id BETWEEN ?2 AND ?3 AND value IS NOT NULL)";
    c.prepare_cached(&format!(
        "DELETE FROM blob WHERE hash IN (SELECT hash FROM uses WHERE {unused}) \
         AND NOT EXISTS (SELECT 1 FROM uses WHERE uses.hash = blob.hash AND uses.run <> ?1)"
    ))?
    .execute(range)?;
    c.prepare_cached(&format!("DELETE FROM uses WHERE {unused}"))?.execute(range)?;
    Ok(())
}

/// Labels and messages are deleted with the row; files and values, if no other run uses them.
fn everything_of(c: &Connection, no: i64) -> SqliteResult<()> {
    c.prepare_cached("DELETE FROM entry WHERE id BETWEEN ?1 AND ?2")?
        .execute([entry_id(no, 0), entry_id(no, u64::MAX)])?;
    contents(c, no)?;
    c.prepare_cached("DELETE FROM run WHERE no = ?1")?.execute([no])?;
    Ok(())
}

/// Deletes files and values that no run uses. There are none unless something went wrong.
pub fn delete_unused(c: &Connection) -> SqliteResult<()> {
    c.execute("DELETE FROM blob WHERE NOT EXISTS (SELECT 1 FROM uses WHERE uses.hash = blob.hash)", [])?;
    Ok(())
}

/// Returns free pages to the disk. Returns false if there are no more.
pub fn give_back(c: &Connection, pages: u32) -> SqliteResult<bool> {
    // Each row frees one page, so the statement must be stepped to its end.
    let mut vacuum = c.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
    let mut rows = vacuum.query([])?;
    while rows.next()?.is_some() {}
    Ok(pragma(c, "freelist_count")? > 0)
}

/// The number of runs, and of bytes in use.
pub fn used_space(c: &Connection) -> SqliteResult<(u64, u64)> {
    let pages = pragma(c, "page_count")?.saturating_sub(pragma(c, "freelist_count")?);
    let runs: i64 = c.query_row("SELECT coalesce(sum(n), 0) FROM tally", [], |row| row.get(0))?;
    Ok((uint(runs), uint(pages.saturating_mul(pragma(c, "page_size")?))))
}

fn pragma(c: &Connection, name: &str) -> SqliteResult<i64> {
    Ok(c.prepare_cached(&format!("PRAGMA {name}"))?.query_row([], |row| row.get(0))?)
}
