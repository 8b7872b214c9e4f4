//! The entries of journals.

use tokio_postgres::Row;
use trefoil_machine::Entry;

use super::blobs::damaged_error;
use super::connection::PostgresSession;
use super::fault::PostgresResult;
use super::pool::store_error;
use super::run_row::run_number;
use super::{int, text, uint};
use crate::batch::StoredEntry;
use crate::blob::ContentHash;
use crate::error::{StoreError, StoreResult};
use crate::packed_blob::unpack_bytes;

/// One page of entries: at most a thousand, or about 4 MB.
const PAGE: &str = "\
SELECT seq, body, value, size, packed, data FROM (
  SELECT e.seq, e.body, e.value, b.size, b.packed, b.hash,
         sum(octet_length(e.body) + coalesce(b.size, 0)) OVER (ORDER BY e.seq) - octet_length(e.body) - coalesce(b.size, 0) AS before
  FROM entry e LEFT JOIN blob b ON b.hash = e.value
  WHERE e.run = (SELECT no FROM run WHERE id = $1) AND e.seq >= $2 AND e.seq < $2 + 1000
) AS page LEFT JOIN LATERAL (SELECT data FROM blob WHERE blob.hash = page.value) AS large ON true
WHERE before < 4194304 ORDER BY seq";

/// Reads entries from a number on. If an entry cannot be read, the entries before it are returned first; the error is
/// returned when that entry is requested.
pub async fn read_entry_page(s: &mut PostgresSession, run: &str, from: u64) -> PostgresResult<Vec<Entry>> {
    // No journal is that long; the limit prevents an overflow.
    let rows = s.query_rows(PAGE, &[&text(run), &int(from.min(1 << 40))]).await?;
    if rows.is_empty() {
        run_number(s, run).await?;
        // A reader of the next entries detects a gap, so this skips it.
        let after = "SELECT min(seq) FROM entry WHERE run = (SELECT no FROM run WHERE id = $1) AND seq >= $2";
        let next = s.query_row(after, &[&text(run), &int(from.min(1 << 40))]).await?;
        return match next.map(|row| row.try_get::<_, Option<i64>>(0)).transpose()?.flatten() {
            Some(next) => Box::pin(read_entry_page(s, run, uint(next))).await,
            None => Ok(Vec::new()),
        };
    }
    let mut entries = Vec::with_capacity(rows.len());
    for row in &rows {
        match entry(run, row)? {
            Ok(entry) => entries.push(entry),
            Err(_) if !entries.is_empty() => break,
            Err(error) => return store_error(error),
        }
    }
    Ok(entries)
}

fn entry(run: &str, row: &Row) -> PostgresResult<StoreResult<Entry>> {
    let (seq, body): (i64, &str) = (row.try_get(0)?, row.try_get(1)?);
    let value = match row.try_get::<_, Option<Vec<u8>>>(2)? {
        None => None,
        Some(hash) => {
            let hash = match hash.try_into() {
                Ok(hash) => ContentHash(hash).to_string(),
                Err(_) => String::new(),
            };
            let Some(size) = row.try_get::<_, Option<i64>>(3)? else {
                return Ok(Err(damaged_error(&format!("the value `{hash}` is missing"))));
            };
            match unpack_bytes(size, row.try_get(4)?, row.try_get(5)?) {
                Ok(bytes) => Some(bytes),
                Err(why) => return Ok(Err(damaged_error(&format!("`{hash}` cannot be unpacked: {why}")))),
            }
        }
    };
    let entry = StoredEntry::decode_entry(body, value.as_deref());
    Ok(entry.map_err(|error| StoreError::Entry { run: run.to_owned(), seq: uint(seq), why: error.to_string() }))
}
