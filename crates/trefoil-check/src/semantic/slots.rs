//! Sets of slots, one bit each.

/// A set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Slots(Vec<u64>);

impl Slots {
    /// Everything up to `n`, or nothing.
    pub fn new(n: usize, full: bool) -> Self {
        Self(vec![if full { u64::MAX } else { 0 }; n.div_ceil(64)])
    }
    /// Whether it is in.
    pub fn has(&self, i: usize) -> bool {
        self.0.get(i / 64).is_some_and(|word| word >> (i % 64) & 1 == 1)
    }
    /// Puts it in.
    pub fn add(&mut self, i: usize) {
        if let Some(word) = self.0.get_mut(i / 64) {
            *word |= 1 << (i % 64);
        }
    }
    /// Takes it out.
    pub fn remove(&mut self, i: usize) {
        if let Some(word) = self.0.get_mut(i / 64) {
            *word &= !(1 << (i % 64));
        }
    }
    /// Takes in what is in the other.
    pub fn unite(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }
    /// What is in, and not in the other.
    pub fn beyond(&self, other: &Self) -> Vec<usize> {
        let mut found = Vec::new();
        for (at, word) in self.0.iter().enumerate() {
            let mut left = word & !other.0.get(at).copied().unwrap_or(0);
            while left != 0 {
                found.push(at * 64 + left.trailing_zeros() as usize);
                left &= left - 1;
            }
        }
        found
    }
    /// Keeps what is also in the other.
    pub fn intersect(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word &= other;
        }
    }
}

/// What is set at a place: on every way there, and on some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// On every way.
    pub must: Slots,
    /// On some way.
    pub may: Slots,
}

impl State {
    /// Nothing is set.
    pub fn nothing(n: usize) -> Self {
        Self { must: Slots::new(n, false), may: Slots::new(n, false) }
    }
    /// Sets a slot.
    pub fn set(&mut self, i: usize) {
        self.must.add(i);
        self.may.add(i);
    }
    /// Sets a slot on some ways.
    pub fn perhaps(&mut self, i: usize) {
        self.may.add(i);
    }
    /// Unsets a slot.
    pub fn unset(&mut self, i: usize) {
        self.must.remove(i);
        self.may.remove(i);
    }
    /// Either way leads here.
    pub fn join(&mut self, other: &Self) {
        self.must.intersect(&other.must);
        self.may.unite(&other.may);
    }
    /// Both have happened.
    pub fn both(&mut self, other: &Self) {
        self.must.unite(&other.must);
        self.may.unite(&other.may);
    }
}
