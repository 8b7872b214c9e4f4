//! Pseudo-random numbers that depend only on a seed and names, and are the same on every machine.

/// Constants of 64-bit FNV-1a.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// A stable hash of a seed and names.
pub fn stable_hash(seed: u64, names: &[&str]) -> u64 {
    let mut hash = OFFSET;
    let mut eat = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    seed.to_le_bytes().into_iter().for_each(&mut eat);
    for name in names {
        name.bytes().for_each(&mut eat);
        // A separator, so that `ab`, `c` differs from `a`, `bc`.
        eat(0xff);
    }
    mix(hash)
}

/// A pseudo-random number generator (SplitMix64).
#[derive(Debug, Clone)]
pub struct SplitMixRandom(u64);

impl SplitMixRandom {
    /// Starts at a state.
    pub fn new(state: u64) -> Self {
        Self(state)
    }

    /// Another generator.
    pub fn derive_random(&mut self) -> Self {
        Self(self.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `n`; 0 if there is no choice.
    pub fn pick_below(&mut self, n: usize) -> usize {
        if n < 2 { 0 } else { (self.next() % n as u64) as usize }
    }

    /// One of these values.
    pub fn pick_one<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.pick_below(all.len()))
    }

    /// True with a probability of one in `n`.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.pick_below(n) == 0
    }

    /// A number from `low` to `high`, inclusive.
    pub fn pick_between(&mut self, low: i64, high: i64) -> i64 {
        let width = high.saturating_sub(low).max(0).saturating_add(1);
        low.saturating_add((self.next() % width as u64) as i64)
    }

    /// Shuffles a slice.
    pub fn shuffle_slice<T>(&mut self, all: &mut [T]) {
        for i in (1..all.len()).rev() {
            all.swap(i, self.pick_below(i + 1));
        }
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_on_every_machine() {
        // This value must not change: otherwise every recorded run with the embedded model would differ.
        assert_eq!(stable_hash(7, &["a", "bc"]), 8_570_881_492_494_959_622);
        assert_ne!(stable_hash(7, &["a", "bc"]), stable_hash(7, &["ab", "c"]));
        assert_ne!(stable_hash(7, &["a"]), stable_hash(8, &["a"]));
    }

    #[test]
    fn bounds_hold() {
        let mut random = SplitMixRandom::new(1);
        for _ in 0..200 {
            assert!(random.pick_below(3) < 3);
            assert!((-2..=2).contains(&random.pick_between(-2, 2)));
        }
        assert_eq!(random.pick_between(5, 4), 5);
        assert_eq!(SplitMixRandom::new(1).pick_between(i64::MIN, i64::MAX).signum().abs(), 1);
    }
}
