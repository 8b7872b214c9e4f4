//! The fingerprint of a program: a hash of what it does.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::printer::canonical_text;
use crate::program::Program;

/// The version of the semantics. Raised when the same [canonical](canonical_text) program would run differently than before. A journal
/// written under another version is replayed only as long as every activity is the same, and the difference is
/// reported.
///
/// | | |
/// |---|---|
/// | 1 | the first |
/// | 2 | guardrails also look at what data puts into a system prompt |
pub const SEMANTICS: u32 = 2;

/// SHA-256 of the version of the semantics and the [canonical](canonical_text) form of a program. Programs with equal fingerprints run
/// alike. It does not depend on the names, layout or comments of files, nor on the computer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The bytes of the hash.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl Program {
    /// The fingerprint of the program.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint_under(SEMANTICS)
    }

    /// The fingerprint in a build with another version of the semantics.
    pub fn fingerprint_under(&self, semantics: u32) -> Fingerprint {
        let mut hash = Sha256::new();
        hash.update(format!("trefoil program, semantics {semantics}\n"));
        hash.update(canonical_text(self));
        Fingerprint(hash.finalize().into())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
