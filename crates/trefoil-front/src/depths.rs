//! The depths at which documents are called: the numbers of nested calls from entries to them.

/// A set of depths below 128.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Depths(u128);

impl Depths {
    /// The depth of an entry.
    pub const ENTRY: Self = Self(1);
    /// The depths below a limit.
    pub fn below(self, limit: usize) -> Self {
        match 1u128.checked_shl(limit as u32) {
            Some(first) => Self(self.0 & (first - 1)),
            None => self,
        }
    }
    /// The depths after more calls.
    pub fn down(self, calls: usize) -> Self {
        Self(self.0.checked_shl(calls as u32).unwrap_or_default())
    }
    /// The union of both.
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// The greatest depth.
    pub fn deepest(self) -> usize {
        self.0.checked_ilog2().unwrap_or_default() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::Depths;

    #[test]
    fn a_way_that_is_too_deep_does_not_hide_a_shorter_one() {
        let both = Depths::ENTRY.and(Depths::ENTRY.down(10));
        assert_eq!(both.deepest(), 10);
        assert_eq!(both.below(10).down(1).deepest(), 1);
        assert_eq!(Depths::ENTRY.down(200), Depths::default());
        assert_eq!(both.below(500), both);
    }
}
