//! Content by its hash, and the runs that use it.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::fault::SqliteResult;
use crate::blob::{Blob, ContentHash};
use crate::error::StoreError;
use crate::packed_blob::{PackedBlob, unpack_bytes};

/// Stores bytes for a run.
pub fn store_bytes(c: &Connection, run: i64, bytes: &PackedBlob) -> SqliteResult<()> {
    let PackedBlob { hash, size, packed, data } = bytes;
    c.prepare_cached("INSERT OR IGNORE INTO blob (hash, size, packed, data) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![hash.0.as_slice(), size, packed, data])?;
    uses(c, run, *hash)
}

/// Stores a file for a run. Most are already stored for an earlier run, so only a new file is compressed.
pub fn store_file(c: &Connection, run: i64, file: &Blob) -> SqliteResult<()> {
    let known = "SELECT 1 FROM blob WHERE hash = ?1";
    let known = c.prepare_cached(known)?.query_row([file.hash().0.as_slice()], |_| Ok(())).optional()?;
    match known {
        Some(()) => uses(c, run, file.hash()),
        None => store_bytes(c, run, &PackedBlob::from_blob(file)),
    }
}

fn uses(c: &Connection, run: i64, hash: ContentHash) -> SqliteResult<()> {
    let insert = "INSERT OR IGNORE INTO uses (run, hash) VALUES (?1, ?2)";
    c.prepare_cached(insert)?.execute(params![run, hash.0.as_slice()])?;
    Ok(())
}

/// Reads bytes by their hash.
pub fn get(c: &Connection, hash: ContentHash) -> SqliteResult<Option<Vec<u8>>> {
    let mut found = c.prepare_cached("SELECT size, packed, data FROM blob WHERE hash = ?1")?;
    let row = found.query_row([hash.0.as_slice()], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, Vec<u8>>(2)?)));
    let Some((size, packed, data)) = row.optional()? else { return Ok(None) };
    Ok(Some(
        unpack_bytes(size, packed, data)
            .map_err(|why| damaged_error(c, &format!("`{hash}` cannot be unpacked: {why}")))?,
    ))
}

/// The error for stored data that differs from what was written.
pub fn damaged_error(c: &Connection, why: &str) -> StoreError {
    StoreError::Corrupt { path: c.path().unwrap_or_default().into(), why: why.to_owned() }
}
