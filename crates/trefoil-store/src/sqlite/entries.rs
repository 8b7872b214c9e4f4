//! The entries of journals.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use trefoil_machine::Entry;

use super::blobs::{damaged_error, get};
use super::fault::{SqliteError, SqliteResult};
use super::int;
use crate::batch::{EntryBatch, StoredEntry};
use crate::blob::ContentHash;
use crate::error::StoreError;

/// Maximum number of entries in one page.
const PAGE: usize = 1_000;
/// Approximate maximum size of a page in bytes.
const BYTES: usize = 4 << 20;

/// The id of an entry. Entries of one run are adjacent and in order.
pub fn entry_id(run: i64, seq: u64) -> i64 {
    run << 32 | int(seq.min(u64::from(u32::MAX)))
}

/// Writes entries. The caller has checked that they are the next ones.
pub fn insert_entries(c: &Connection, run: i64, batch: &EntryBatch) -> SqliteResult<()> {
    let mut insert = c.prepare_cached("INSERT INTO entry (id, body, value) VALUES (?1, ?2, ?3)")?;
    for StoredEntry { seq, json, value } in &batch.bodies {
        if *seq > u64::from(u32::MAX) {
            return Err(
                StoreError::Unwritable { seq: *seq, why: "a journal has at most 2^32 entries".to_owned() }.into()
            );
        }
        let hash = value.as_ref().map(|blob| blob.hash().0);
        insert.execute(params![entry_id(run, *seq), json, hash.as_ref().map(<[u8; 32]>::as_slice)])?;
    }
    Ok(())
}

/// The store's number of a run.
pub fn run_number(c: &Connection, run: &str) -> SqliteResult<i64> {
    let mut found = c.prepare_cached("SELECT no FROM run WHERE id = ?1")?;
    let no = found.query_row([run], |row| row.get(0)).optional()?;
    no.ok_or_else(|| StoreError::NoRun { run: run.to_owned() }.into())
}

/// Reads entries from a number on. If an entry cannot be read, the entries before it are returned first; the error is
/// returned when that entry is requested.
pub fn read_entry_page(c: &Connection, run: &str, from: u64) -> SqliteResult<Vec<Entry>> {
    let no = run_number(c, run)?;
    if from > u64::from(u32::MAX) {
        return Ok(Vec::new());
    }
    let mut select = c.prepare_cached("SELECT id, body, value FROM entry WHERE id BETWEEN ?1 AND ?2 ORDER BY id")?;
    let mut rows = select.query([entry_id(no, from), entry_id(no, u64::MAX)])?;
    let (mut entries, mut bytes) = (Vec::new(), 0);
    while entries.len() < PAGE && bytes < BYTES {
        let read = match rows.next() {
            Ok(Some(row)) => entry(c, run, row),
            Ok(None) => break,
            Err(error) => Err(SqliteError::from(error)),
        };
        match read {
            Ok((entry, size)) => {
                bytes += size;
                entries.push(entry);
            }
            Err(_) if !entries.is_empty() => break,
            Err(fault) => return Err(fault),
        }
    }
    Ok(entries)
}

/// Reads an entry and its size.
fn entry(c: &Connection, run: &str, row: &Row<'_>) -> SqliteResult<(Entry, usize)> {
    let body = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
    let value = match row.get::<_, Option<[u8; 32]>>(2)? {
        None => None,
        Some(hash) => {
            let hash = ContentHash(hash);
            Some(get(c, hash)?.ok_or_else(|| damaged_error(c, &format!("the value `{hash}` is missing")))?)
        }
    };
    let size = match &value {
        Some(value) => body.len() + value.len(),
        None => body.len(),
    };
    let entry = StoredEntry::decode_entry(body, value.as_deref()).map_err(|error| {
        let seq = u64::from(row.get::<_, i64>(0).unwrap_or(0) as u32);
        StoreError::Entry { run: run.to_owned(), seq, why: error.to_string() }
    })?;
    Ok((entry, size))
}
