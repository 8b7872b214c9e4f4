//! Drafts: partial answers of calls that have not ended.

use rusqlite::{Connection, params};
use trefoil_machine::Key;
use trefoil_runtime::ports::Draft;

use super::entries::run_number;
use super::fault::SqliteResult;
use super::int;
use crate::batch::EntryBatch;
use crate::lease::Lease;

/// Stores drafts if the lease is valid and the run keeps all its content.
pub fn store_drafts(c: &Connection, lease: &Lease, drafts: &[Draft]) -> SqliteResult<()> {
    let mut put = c.prepare_cached(
        "INSERT INTO draft (run, key, text) SELECT no, ?3, ?4 FROM run \
         WHERE no = ?1 AND epoch = ?2 AND owner IS NOT NULL AND content = 0 \
         ON CONFLICT DO UPDATE SET text = excluded.text",
    )?;
    for Draft { key, text } in drafts {
        put.execute(params![lease.no, int(lease.epoch), key.as_str(), text])?;
    }
    Ok(())
}

/// The drafts of a run.
pub fn of_run(c: &Connection, run: &str) -> SqliteResult<Vec<Draft>> {
    let no = run_number(c, run)?;
    let mut select = c.prepare_cached("SELECT key, text FROM draft WHERE run = ?1 ORDER BY key")?;
    let drafts = select.query_map([no], |row| {
        let key: String = row.get(0)?;
        Ok(Draft { key: Key(key.into()), text: row.get(1)? })
    })?;
    Ok(drafts.collect::<Result<_, _>>()?)
}

/// Removes the drafts of calls that have ended.
pub fn delete_ended(c: &Connection, no: i64, batch: &EntryBatch) -> SqliteResult<()> {
    if batch.end.is_some() {
        c.prepare_cached("DELETE FROM draft WHERE run = ?1")?.execute([no])?;
        return Ok(());
    }
    for key in &batch.answered {
        c.prepare_cached("DELETE FROM draft WHERE run = ?1 AND key = ?2")?.execute(params![no, key.as_str()])?;
    }
    Ok(())
}
