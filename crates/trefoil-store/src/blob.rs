//! Content that is stored once even if several runs use it: program files and large values.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A value with longer JSON is stored separately by its content; its entry has only the hash.
pub const INLINE: usize = 32 * 1024;

/// A SHA-256 hash. Its text form is 64 hexadecimal digits, as in [`ProgramFile`](trefoil_machine::ProgramFile).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash(pub [u8; 32]);

impl ContentHash {
    /// Hashes bytes.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
    /// From 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

/// Bytes with their hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    hash: ContentHash,
    bytes: Vec<u8>,
}

impl Blob {
    /// Hashes the bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { hash: ContentHash::from_bytes(&bytes), bytes }
    }
    /// The hash of its bytes.
    pub fn hash(&self) -> ContentHash {
        self.hash
    }
    /// Its bytes.
    pub fn content_bytes(&self) -> &[u8] {
        &self.bytes
    }
}
