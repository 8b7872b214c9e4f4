//! Sets of slots, one bit each.

use std::sync::Arc;

/// A set. Copies share their bits until one of them changes: most copies are kept for a look at what was set before a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SlotSet(Arc<[u64]>);

impl SlotSet {
    /// A set with all slots below `n`, or an empty one.
    pub fn new(n: usize, full: bool) -> Self {
        let word = |first: usize| match n - first {
            _ if !full => 0,
            rest @ ..64 => (1 << rest) - 1,
            _ => u64::MAX,
        };
        Self((0..n).step_by(64).map(word).collect())
    }
    /// Whether it contains a slot.
    pub fn has_slot(&self, i: usize) -> bool {
        match self.0.get(i / 64) {
            Some(word) => word >> (i % 64) & 1 == 1,
            None => false,
        }
    }
    /// Adds a slot.
    pub fn add_slot(&mut self, i: usize) {
        if !self.has_slot(i)
            && let Some(word) = Arc::make_mut(&mut self.0).get_mut(i / 64)
        {
            *word |= 1 << (i % 64);
        }
    }
    /// Removes a slot.
    pub fn remove(&mut self, i: usize) {
        if self.has_slot(i)
            && let Some(word) = Arc::make_mut(&mut self.0).get_mut(i / 64)
        {
            *word &= !(1 << (i % 64));
        }
    }
    /// Adds the slots of another set.
    pub fn union_with(&mut self, other: &Self) {
        self.combine(other, |word, other| word | other);
    }
    /// Combines each word with that of the other.
    fn combine(&mut self, other: &Self, with: impl Fn(u64, u64) -> u64) {
        let changes = self.0.iter().zip(&*other.0).any(|(word, other)| with(*word, *other) != *word);
        if changes {
            for (word, other) in Arc::make_mut(&mut self.0).iter_mut().zip(&*other.0) {
                *word = with(*word, *other);
            }
        }
    }
    /// The slots that are not in another set.
    pub fn difference_from(&self, other: &Self) -> Vec<usize> {
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
    /// Keeps only the slots that are also in another set.
    pub fn intersect_with(&mut self, other: &Self) {
        self.combine(other, |word, other| word & other);
    }
}

/// What is set at a place: on every path, and on some path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotState {
    /// On every path.
    pub must: SlotSet,
    /// On some path.
    pub may: SlotSet,
}

impl SlotState {
    /// Nothing is set.
    pub fn with_nothing_set(n: usize) -> Self {
        Self { must: SlotSet::new(n, false), may: SlotSet::new(n, false) }
    }
    /// Sets a slot on every path.
    pub fn set_always(&mut self, i: usize) {
        self.must.add_slot(i);
        self.may.add_slot(i);
    }
    /// Sets a slot on some paths.
    pub fn set_sometimes(&mut self, i: usize) {
        self.may.add_slot(i);
    }
    /// Unsets a slot.
    pub fn unset_slot(&mut self, i: usize) {
        self.must.remove(i);
        self.may.remove(i);
    }
    /// The state after one of two paths.
    pub fn merge_alternative(&mut self, other: &Self) {
        self.must.intersect_with(&other.must);
        self.may.union_with(&other.may);
    }
    /// The state after both have happened.
    pub fn merge_sequential(&mut self, other: &Self) {
        self.must.union_with(&other.must);
        self.may.union_with(&other.may);
    }
}
