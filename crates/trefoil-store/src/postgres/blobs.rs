//! Content by its hash, and the runs that use it.

use std::sync::Arc;

use super::connection::PostgresSession;
use super::fault::PostgresResult;
use super::pool::store_error;
use crate::blob::{Blob, ContentHash};
use crate::error::StoreError;
use crate::packed_blob::{PackedBlob, unpack_bytes};

/// Stores files for a run. Most are already stored for an earlier run, so only new files are compressed.
pub async fn store_files(s: &mut PostgresSession, run: i64, files: &[Arc<Blob>]) -> PostgresResult<()> {
    if files.is_empty() {
        return Ok(());
    }
    let hashes: Vec<Vec<u8>> = files.iter().map(|file| file.hash().0.to_vec()).collect();
    let known = s.query_rows("SELECT hash FROM blob WHERE hash = ANY ($1)", &[&hashes]).await?;
    let known: Vec<Vec<u8>> = known.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    for (file, hash) in files.iter().zip(&hashes) {
        if !known.contains(hash) {
            let PackedBlob { size, packed, data, .. } = PackedBlob::from_blob(file);
            s.execute_statement(
                "INSERT INTO blob (hash, size, packed, stored, data) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
                &[hash, &size, &packed, &(data.len() as i64), &data],
            )
            .await?;
        }
    }
    s.execute_statement(
        "INSERT INTO uses (run, hash) SELECT $1, unnest($2::bytea[]) ON CONFLICT DO NOTHING",
        &[&run, &hashes],
    )
    .await?;
    Ok(())
}

/// Reads bytes by their hash.
pub async fn get(s: &mut PostgresSession, hash: ContentHash) -> PostgresResult<Option<Vec<u8>>> {
    let found = s.query_row("SELECT size, packed, data FROM blob WHERE hash = $1", &[&hash.0.as_slice()]).await?;
    let Some(row) = found else { return Ok(None) };
    match unpack_bytes(row.try_get(0)?, row.try_get(1)?, row.try_get(2)?) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(why) => store_error(damaged_error(&format!("`{hash}` cannot be unpacked: {why}"))),
    }
}

/// The error for stored data that differs from what was written.
pub fn damaged_error(why: &str) -> StoreError {
    StoreError::Corrupt { path: std::path::PathBuf::new(), why: why.to_owned() }
}
