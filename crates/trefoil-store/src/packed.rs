//! Bytes as stores keep them: packed when that makes them smaller.

use crate::batch::Batch;
use crate::blob::{Blob, Hash};

/// Smaller ones are kept as they are: a tool that opens the store can read them.
const PACK: usize = 4_096;
/// The level at which packing costs about as much as hashing.
const LEVEL: i32 = 3;

/// Bytes as they are kept.
pub struct Packed {
    /// Of the bytes as they are.
    pub hash: Hash,
    /// How many they are.
    pub size: i64,
    /// Whether `data` is packed.
    pub packed: bool,
    /// What is kept.
    pub data: Vec<u8>,
}

impl Packed {
    /// How bytes are kept. Worked out before the transaction, which others wait for.
    pub fn of(blob: &Blob) -> Self {
        let bytes = blob.bytes();
        let smaller = (bytes.len() >= PACK).then(|| zstd::bulk::compress(bytes, LEVEL).ok()).flatten();
        let smaller = smaller.filter(|packed| packed.len() < bytes.len());
        let (packed, size) = (smaller.is_some(), i64::try_from(bytes.len()).unwrap_or(i64::MAX));
        Self { hash: blob.hash(), size, packed, data: smaller.unwrap_or_else(|| bytes.to_vec()) }
    }

    /// The large values of entries.
    pub fn values(batch: &Batch) -> Vec<Self> {
        batch.bodies.iter().filter_map(|body| body.value.as_ref()).map(Self::of).collect()
    }
}

/// The bytes again.
pub fn unpack(size: i64, packed: bool, data: Vec<u8>) -> Result<Vec<u8>, String> {
    if !packed {
        return Ok(data);
    }
    let size = usize::try_from(size).map_err(|_| "its size is negative".to_owned())?;
    zstd::bulk::decompress(&data, size).map_err(|error| error.to_string())
}
