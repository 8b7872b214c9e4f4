//! Sources of run ids and seeds.

use std::hash::BuildHasher as _;
#[allow(clippy::disallowed_types, reason = "this is the random port: the hasher's keys come from the system")]
use std::hash::RandomState;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Random;

/// The same numbers for the same seed (SplitMix64).
#[derive(Debug)]
pub struct SeededRandom {
    state: AtomicU64,
}

impl SeededRandom {
    /// A source with this seed.
    pub fn new(seed: u64) -> Self {
        Self { state: AtomicU64::new(seed) }
    }
}

impl Random for SeededRandom {
    fn next_number(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Different numbers in every process. Good for ids and seeds, not for anything that must stay secret.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    #[allow(clippy::disallowed_types, reason = "this is the random port: the hasher's keys come from the system")]
    fn next_number(&self) -> u64 {
        RandomState::new().hash_one(0u8)
    }
}
