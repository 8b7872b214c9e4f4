//! An index of the model requests of runs, to find answers of earlier runs.
//!
//! A run's requests are indexed at the first lookup after its end, so that the steps of a run do not write an
//! additional page. Runs whose content is not kept are not indexed.

use rusqlite::{Connection, params};
use trefoil_machine::ContentKey;

use super::entries::entry_id;
use super::fault::SqliteResult;
use super::int;

/// Entries read in one transaction; other writers get their turn between transactions.
const ENTRIES: i64 = 20_000;
/// How many of the newest runs in progress (or interrupted) are indexed at every lookup.
const OPEN: i64 = 16;
/// The index has half of each content key. Callers compare the full key.
const HALF: usize = 16;

/// Indexes the requests of runs that have ended, newest first. Returns whether there are more.
pub fn note_some(c: &Connection) -> SqliteResult<bool> {
    let mut select = c.prepare_cached(
        "SELECT no, next, content FROM run INDEXED BY run_unnoted WHERE noted = 0 AND ended IS NOT NULL ORDER BY no DESC",
    )?;
    let mut rows = select.query([])?;
    let mut left = ENTRIES;
    while let Some(row) = rows.next()? {
        if left <= 0 {
            return Ok(true);
        }
        let (no, entries, content): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if content == 0 {
            note(c, no)?;
            left = left.saturating_sub(entries);
        }
        c.prepare_cached("UPDATE run SET noted = 1 WHERE no = ?1")?.execute([no])?;
    }
    Ok(false)
}

/// Indexes the requests so far of the newest runs that have not ended.
pub fn note_open(c: &Connection) -> SqliteResult<()> {
    let mut select =
        c.prepare_cached("SELECT no FROM run WHERE ended IS NULL AND content = 0 ORDER BY no DESC LIMIT ?1")?;
    let open = select.query_map([OPEN], |row| row.get(0))?.collect::<Result<Vec<i64>, _>>()?;
    open.into_iter().try_for_each(|no| note(c, no))
}

/// Marks a run that continues as not indexed, so that its new requests are indexed after its end.
pub fn goes_on(c: &Connection, no: i64) -> SqliteResult<()> {
    c.prepare_cached("UPDATE run SET noted = 0 WHERE no = ?1 AND noted = 1")?.execute([no])?;
    Ok(())
}

/// Removes a run's requests from the index.
pub fn remove_from_index(c: &Connection, no: i64) -> SqliteResult<()> {
    c.prepare_cached("DELETE FROM asked WHERE run = ?1")?.execute([no])?;
    Ok(())
}

/// Matches calls and reused answers of earlier runs. Quotes in texts are escaped, so no text matches by accident.
fn note(c: &Connection, no: i64) -> SqliteResult<()> {
    c.prepare_cached(
        "INSERT OR IGNORE INTO asked (content, run) \
         SELECT unhex(substr(content, 1, ?4)), ?1 FROM ( \
           SELECT coalesce(json_extract(body, '$.entry.scheduled.content'), \
             json_extract(body, '$.entry.completed.about.from.content')) AS content \
           FROM entry WHERE id BETWEEN ?2 AND ?3 \
             AND (instr(body, '\"sort\":\"model\"') > 0 OR instr(body, '\"from\":{\"run\":') > 0)) \
         WHERE content IS NOT NULL",
    )?
    .execute(params![no, entry_id(no, 0), entry_id(no, u64::MAX), (HALF * 2) as i64])?;
    Ok(())
}

/// The runs that may have an answer, newest first.
pub fn runs_with_request(c: &Connection, content: ContentKey, limit: usize) -> SqliteResult<Vec<String>> {
    let half = content.0.get(..HALF).unwrap_or_default();
    let mut select = c.prepare_cached(
        "SELECT run.id FROM asked JOIN run ON run.no = asked.run \
         WHERE asked.content = ?1 AND run.content = 0 ORDER BY asked.run DESC LIMIT ?2",
    )?;
    let runs = select.query_map(params![half, int(limit as u64)], |row| row.get(0))?;
    Ok(runs.collect::<Result<_, _>>()?)
}
