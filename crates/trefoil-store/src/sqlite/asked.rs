//! Which runs have asked models for what: for whoever looks for answers of earlier runs.
//!
//! What a run asks for is noted when somebody looks for answers for the first time after its end, so no step of a run writes to one
//! page more. Runs whose content is not kept are not noted.

use rusqlite::{Connection, params};
use trefoil_machine::ContentKey;

use super::entries::id;
use super::fault::Done;
use super::int;

/// Entries that are read in one transaction: others write in between.
const ENTRIES: i64 = 20_000;
/// Runs that go on, or were interrupted, and are read each time: the newest.
const OPEN: i64 = 16;
/// Half of a content key finds it. Whoever looks compares all of it.
const HALF: usize = 16;

/// Notes what runs that have ended have asked for, the newest first. Whether there are more.
pub fn note_some(c: &Connection) -> Done<bool> {
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

/// Notes what the newest runs that have not ended have asked for so far.
pub fn note_open(c: &Connection) -> Done<()> {
    let mut select =
        c.prepare_cached("SELECT no FROM run WHERE ended IS NULL AND content = 0 ORDER BY no DESC LIMIT ?1")?;
    let open = select.query_map([OPEN], |row| row.get(0))?.collect::<Result<Vec<i64>, _>>()?;
    open.into_iter().try_for_each(|no| note(c, no))
}

/// The run goes on: what it will have asked for is noted after its end.
pub fn goes_on(c: &Connection, no: i64) -> Done<()> {
    c.prepare_cached("UPDATE run SET noted = 0 WHERE no = ?1 AND noted = 1")?.execute([no])?;
    Ok(())
}

/// Nothing of what it asked for can be found any more.
pub fn forget(c: &Connection, no: i64) -> Done<()> {
    c.prepare_cached("DELETE FROM asked WHERE run = ?1")?.execute([no])?;
    Ok(())
}

/// Calls that were made, and answers of earlier runs that were used. In texts, quotes are escaped: no answer looks like either.
fn note(c: &Connection, no: i64) -> Done<()> {
    c.prepare_cached(
        "INSERT OR IGNORE INTO asked (content, run) \
         SELECT unhex(substr(content, 1, ?4)), ?1 FROM ( \
           SELECT coalesce(json_extract(body, '$.entry.scheduled.content'), \
             json_extract(body, '$.entry.completed.about.from.content')) AS content \
           FROM entry WHERE id BETWEEN ?2 AND ?3 \
             AND (instr(body, '\"sort\":\"model\"') > 0 OR instr(body, '\"from\":{\"run\":') > 0)) \
         WHERE content IS NOT NULL",
    )?
    .execute(params![no, id(no, 0), id(no, u64::MAX), (HALF * 2) as i64])?;
    Ok(())
}

/// The runs that may have an answer, the newest first.
pub fn runs(c: &Connection, content: ContentKey, limit: usize) -> Done<Vec<String>> {
    let half = content.0.get(..HALF).unwrap_or_default();
    let mut select = c.prepare_cached(
        "SELECT run.id FROM asked JOIN run ON run.no = asked.run \
         WHERE asked.content = ?1 AND run.content = 0 ORDER BY asked.run DESC LIMIT ?2",
    )?;
    let runs = select.query_map(params![half, int(limit as u64)], |row| row.get(0))?;
    Ok(runs.collect::<Result<_, _>>()?)
}
