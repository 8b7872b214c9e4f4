//! Jitter: a number that depends only on the run's seed and a key.

use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128, SipHasher13};

use crate::key::Key;

/// A number from 0 to 1: SipHash-1-3-128 of the key under the seed. Journals depend on it.
pub fn jitter_fraction(seed: u64, key: &Key) -> f64 {
    let mut to = SipHasher13::new_with_keys(seed, 0);
    for part in ["jitter", key.as_str()] {
        to.write(&(part.len() as u64).to_le_bytes());
        to.write(part.as_bytes());
    }
    // The upper 53 bits, which a float can represent.
    (to.finish128().h1 >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_what_it_is_from_version_to_version() {
        assert_eq!(jitter_fraction(7, &Key::from("a/b")), 0.686_633_367_750_822_7);
        assert_ne!(jitter_fraction(8, &Key::from("a/b")), jitter_fraction(7, &Key::from("a/b")));
    }
}
