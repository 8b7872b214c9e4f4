//! Deletes runs and returns their space.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::entries::id;
use super::fault::Done;
use super::{asked, int, uint};
use crate::batch::Body;
use crate::error::StoreError;
use crate::upkeep::{Pruned, Retention};

/// Deletes a run that no process works on.
pub fn one(c: &Connection, run: &str, now: u64) -> Done<()> {
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
pub fn is_due(c: &Connection, retention: &Retention) -> Done<bool> {
    let Retention { ended_before, failed_before, max_bytes } = retention;
    let ended = c
        .prepare_cached(concat!(
            "SELECT 1 FROM run WHERE ended < max(ifnull(?1, 0), ifnull(?2, 0)) \
             AND ended < CASE status WHEN 'failed' THEN ?2 ELSE ?1 END AND ",
            done!(),
            " LIMIT 1"
        ))?
        .exists(params![ended_before.map(int), failed_before.map(int)])?;
    Ok(ended || max_bytes.is_some_and(|max| used(c).is_ok_and(|(_, bytes)| bytes > max)))
}

/// Deletes some of the runs that may be deleted. Returns their number.
pub fn some(c: &Connection, retention: &Retention, limit: usize) -> Done<Pruned> {
    let Retention { ended_before, failed_before, max_bytes } = retention;
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
        while old.len() < limit && used(c)?.1 > *max {
            let first = concat!("SELECT no, status = 'failed' FROM run WHERE ", done!(), " ORDER BY ended, no LIMIT 1");
            let first = c.prepare_cached(first)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let Some(first) = first else { break };
            everything_of(c, first.0)?;
            old.push(first);
        }
    }
    let failed = old.iter().filter(|(_, failed)| *failed).count() as u64;
    Ok(Pruned { runs: old.len() as u64, failed, bytes: 0 })
}

/// Deletes the content of prompts and answers, if the run has ended and keeps its content only until then.
pub fn content(c: &Connection, no: i64) -> Done<()> {
    let due = c.prepare_cached("UPDATE run SET content = 2 WHERE no = ?1 AND content = 1")?.execute([no])?;
    if due == 0 {
        return Ok(());
    }
    // Freed pages are overwritten, too.
    c.query_row("PRAGMA secure_delete = ON", [], |_| Ok(()))?;
    let removed = bare_entries(c, no).and_then(|()| contents(c, no)).and_then(|()| asked::forget(c, no));
    c.query_row("PRAGMA secure_delete = FAST", [], |_| Ok(()))?;
    removed
}

fn bare_entries(c: &Connection, no: i64) -> Done<()> {
    let mut next = c.prepare_cached("SELECT id, body FROM entry WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT 1")?;
    let mut change = c.prepare_cached("UPDATE entry SET body = ?2, value = NULL WHERE id = ?1")?;
    let mut from = id(no, 0);
    while let Some((id, json)) = next
        .query_row([from, id(no, u64::MAX)], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))
        .optional()?
    {
        let bare = Body { seq: u64::from(id as u32), json, value: None }.bare()?;
        change.execute(params![id, bare.json])?;
        from = id + 1;
    }
    Ok(())
}

/// Deletes files and values that only this run uses.
fn contents(c: &Connection, no: i64) -> Done<()> {
    c.prepare_cached(
        "DELETE FROM blob WHERE hash IN (SELECT hash FROM uses WHERE run = ?1) \
         AND NOT EXISTS (SELECT 1 FROM uses WHERE uses.hash = blob.hash AND uses.run <> ?1)",
    )?
    .execute([no])?;
    c.prepare_cached("DELETE FROM uses WHERE run = ?1")?.execute([no])?;
    Ok(())
}

/// Labels and letters are deleted with the row; files and values, if no other run uses them.
fn everything_of(c: &Connection, no: i64) -> Done<()> {
    c.prepare_cached("DELETE FROM entry WHERE id BETWEEN ?1 AND ?2")?.execute([id(no, 0), id(no, u64::MAX)])?;
    contents(c, no)?;
    c.prepare_cached("DELETE FROM run WHERE no = ?1")?.execute([no])?;
    Ok(())
}

/// Deletes files and values that no run uses. There are none unless something went wrong.
pub fn sweep(c: &Connection) -> Done<()> {
    c.execute("DELETE FROM blob WHERE NOT EXISTS (SELECT 1 FROM uses WHERE uses.hash = blob.hash)", [])?;
    Ok(())
}

/// Returns free pages to the disk. Returns false if there are no more.
pub fn give_back(c: &Connection, pages: u32) -> Done<bool> {
    // Each row frees one page, so the statement must be stepped to its end.
    let mut vacuum = c.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
    let mut rows = vacuum.query([])?;
    while rows.next()?.is_some() {}
    Ok(pragma(c, "freelist_count")? > 0)
}

/// The number of runs, and of bytes in use.
pub fn used(c: &Connection) -> Done<(u64, u64)> {
    let pages = pragma(c, "page_count")?.saturating_sub(pragma(c, "freelist_count")?);
    let runs: i64 = c.query_row("SELECT coalesce(sum(n), 0) FROM tally", [], |row| row.get(0))?;
    Ok((uint(runs), uint(pages.saturating_mul(pragma(c, "page_size")?))))
}

fn pragma(c: &Connection, name: &str) -> Done<i64> {
    Ok(c.prepare_cached(&format!("PRAGMA {name}"))?.query_row([], |row| row.get(0))?)
}
