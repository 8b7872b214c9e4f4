//! Bytes as they are stored: compressed if that makes them smaller.

use crate::batch::EntryBatch;
use crate::blob::{Blob, ContentHash};

/// Smaller values are stored uncompressed, so that other tools can read them in the store.
const PACK: usize = 4_096;
/// At this level, compression costs about as much as hashing.
const LEVEL: i32 = 3;

/// Bytes in their stored form.
pub struct PackedBlob {
    /// The hash of the original bytes.
    pub hash: ContentHash,
    /// The number of original bytes.
    pub size: i64,
    /// Whether `data` is compressed.
    pub packed: bool,
    /// The stored bytes.
    pub data: Vec<u8>,
}

impl PackedBlob {
    /// Compresses bytes. Done before the transaction, because other writers wait for transactions.
    pub fn from_blob(blob: &Blob) -> Self {
        let bytes = blob.content_bytes();
        let (hash, size) = (blob.hash(), i64::try_from(bytes.len()).unwrap_or(i64::MAX));
        if bytes.len() >= PACK
            && let Ok(data) = zstd::bulk::compress(bytes, LEVEL)
            && data.len() < bytes.len()
        {
            return Self { hash, size, packed: true, data };
        }
        Self { hash, size, packed: false, data: bytes.to_vec() }
    }

    /// The large values of entries.
    pub fn from_batch(batch: &EntryBatch) -> Vec<Self> {
        let mut values = Vec::new();
        for body in &batch.bodies {
            if let Some(value) = &body.value {
                values.push(Self::from_blob(value));
            }
        }
        values
    }
}

/// Returns the original bytes.
pub fn unpack_bytes(size: i64, packed: bool, data: Vec<u8>) -> Result<Vec<u8>, String> {
    if !packed {
        return Ok(data);
    }
    let size = usize::try_from(size).map_err(|_| "its size is negative".to_owned())?;
    zstd::bulk::decompress(&data, size).map_err(|error| error.to_string())
}
