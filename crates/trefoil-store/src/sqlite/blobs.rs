//! Bytes by content: packed when that makes them smaller, and known to the runs that use them.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::fault::Done;
use crate::batch::Batch;
use crate::blob::{Blob, Hash};
use crate::error::StoreError;

/// Smaller ones are kept as they are: a tool that opens the file can read them.
const PACK: usize = 4_096;
/// The level at which packing costs about as much as hashing.
const LEVEL: i32 = 3;

/// Bytes as they are kept.
pub struct Packed {
    hash: Hash,
    size: usize,
    packed: bool,
    data: Vec<u8>,
}

impl Packed {
    /// How bytes are kept. Worked out before the transaction, which others wait for.
    pub fn of(blob: &Blob) -> Self {
        let bytes = blob.bytes();
        let smaller = (bytes.len() >= PACK).then(|| zstd::bulk::compress(bytes, LEVEL).ok()).flatten();
        let smaller = smaller.filter(|packed| packed.len() < bytes.len());
        let packed = smaller.is_some();
        Self { hash: blob.hash(), size: bytes.len(), packed, data: smaller.unwrap_or_else(|| bytes.to_vec()) }
    }

    /// The large values of entries.
    pub fn values(batch: &Batch) -> Vec<Self> {
        batch.bodies.iter().filter_map(|body| body.value.as_ref()).map(Self::of).collect()
    }

    /// Keeps them for a run.
    pub fn put(&self, c: &Connection, run: i64) -> Done<()> {
        let hash = self.hash.0.as_slice();
        let size = i64::try_from(self.size).unwrap_or(i64::MAX);
        c.prepare_cached("INSERT OR IGNORE INTO blob (hash, size, packed, data) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![hash, size, self.packed, self.data])?;
        uses(c, run, self.hash)
    }
}

/// Keeps a file for a run. Most files are those of an earlier run, so it is packed only when it is new.
pub fn keep(c: &Connection, run: i64, file: &Blob) -> Done<()> {
    let known = "SELECT 1 FROM blob WHERE hash = ?1";
    let known = c.prepare_cached(known)?.query_row([file.hash().0.as_slice()], |_| Ok(())).optional()?;
    match known {
        Some(()) => uses(c, run, file.hash()),
        None => Packed::of(file).put(c, run),
    }
}

fn uses(c: &Connection, run: i64, hash: Hash) -> Done<()> {
    let insert = "INSERT OR IGNORE INTO uses (run, hash) VALUES (?1, ?2)";
    c.prepare_cached(insert)?.execute(params![run, hash.0.as_slice()])?;
    Ok(())
}

/// Bytes by their hash.
pub fn get(c: &Connection, hash: Hash) -> Done<Option<Vec<u8>>> {
    let mut found = c.prepare_cached("SELECT size, packed, data FROM blob WHERE hash = ?1")?;
    let row = found.query_row([hash.0.as_slice()], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, Vec<u8>>(2)?)));
    let Some((size, packed, data)) = row.optional()? else { return Ok(None) };
    Ok(Some(unpack(size, packed, data).map_err(|why| damaged(c, &format!("`{hash}` cannot be unpacked: {why}")))?))
}

/// The bytes again.
pub fn unpack(size: i64, packed: bool, data: Vec<u8>) -> Result<Vec<u8>, String> {
    if !packed {
        return Ok(data);
    }
    let size = usize::try_from(size).map_err(|_| "its size is negative".to_owned())?;
    zstd::bulk::decompress(&data, size).map_err(|error| error.to_string())
}

/// Something in the file is not as it was written.
pub fn damaged(c: &Connection, why: &str) -> StoreError {
    StoreError::Corrupt { path: c.path().unwrap_or_default().into(), why: why.to_owned() }
}
