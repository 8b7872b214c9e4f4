//! Documents: what servers keep by name, besides runs.

use trefoil_runtime::Random as _;
use trefoil_runtime::ports::SystemRandom;

use crate::blob::{Blob, ContentHash};
use crate::error::{StoreError, StoreResult};
use crate::packed_blob::{PackedBlob, unpack_bytes};

/// The longest name of a document or a collection, in bytes. An index entry of Postgres must have room for both.
const NAME: usize = 1_024;
/// The longest value of a document, in bytes.
const VALUE: usize = 64 << 20;
/// The longest list of documents, by the bytes of their values: a document after that is in the next list.
pub(crate) const LIST_BYTES: usize = 4 << 20;
/// The most documents in a list.
pub(crate) const LIST: usize = 1_000;

/// A JSON value with a name, in a collection. Several processes can change it: a write says which version its writer has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// What it is about: `keys`, say. Not empty, at most 1,024 bytes.
    pub collection: String,
    /// Its name, which no other document of the collection has. Not empty, at most 1,024 bytes.
    pub name: String,
    /// Of one that was read: a number that changes with each write, and that no later document of this name gets again. Of one to
    /// write: the version that its writer has seen; 0: there must be none.
    pub version: u64,
    /// JSON, at most 64 MB.
    pub value: String,
    /// From this time on, it is not there any more: milliseconds since 1970-01-01 UTC.
    pub expires: Option<u64>,
}

/// A document as it is written.
pub(crate) struct StoredDocument {
    pub collection: String,
    pub name: String,
    /// The version that the writer has seen.
    pub seen: u64,
    /// The version that it gets.
    pub version: u64,
    pub expires: Option<u64>,
    pub data: PackedBlob,
}

impl StoredDocument {
    /// Packs a document, before the transaction, and gives it its next version.
    pub fn from_document(document: Document) -> StoreResult<Self> {
        let Document { collection, name, version: seen, value, expires } = document;
        let fault = if collection.is_empty() || name.is_empty() {
            "it has no name"
        } else if collection.len() > NAME || name.len() > NAME {
            "its name is longer than 1,024 bytes"
        } else if value.len() > VALUE {
            "it is longer than 64 MB"
        } else {
            let data = PackedBlob::from_blob(&Blob::new(value.into_bytes()));
            return Ok(Self { collection, name, seen, version: next_version(), expires, data });
        };
        Err(StoreError::Document { collection, why: fault.to_owned() })
    }
}

/// A random number and not the next one: a document that was deleted and written again never has a version that somebody saw before,
/// and a process whose connection broke recognizes its own write. It is exact in JSON for every reader.
fn next_version() -> u64 {
    (SystemRandom.next_number() >> 11).max(1)
}

/// The value of a document, from its stored form.
pub(crate) fn unpack_value(size: i64, packed: bool, data: Vec<u8>) -> Result<String, String> {
    if !usize::try_from(size).is_ok_and(|size| size <= VALUE) {
        return Err("its size is impossible".to_owned());
    }
    let bytes = unpack_bytes(size, packed, data)?;
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

/// What is wrong with a stored document, if anything.
pub(crate) fn find_damage(size: i64, packed: bool, data: Vec<u8>, hash: &[u8]) -> Option<String> {
    match unpack_value(size, packed, data) {
        Err(why) => Some(format!("cannot be unpacked: {why}")),
        Ok(value) if ContentHash::from_bytes(value.as_bytes()).0 != hash => Some("is damaged".to_owned()),
        Ok(_) => None,
    }
}
