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
        let smaller = (bytes.len() >= PACK).then(|| zstd::bulk::compress(bytes, LEVEL).ok()).flatten();
        let smaller = smaller.filter(|packed| packed.len() < bytes.len());
        let (packed, size) = (smaller.is_some(), i64::try_from(bytes.len()).unwrap_or(i64::MAX));
        Self { hash: blob.hash(), size, packed, data: smaller.unwrap_or_else(|| bytes.to_vec()) }
    }

    /// The large values of entries.
    pub fn from_batch(batch: &EntryBatch) -> Vec<Self> {
        batch.bodies.iter().filter_map(|body| body.value.as_ref()).map(Self::from_blob).collect()
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
