//! The depths at which documents are called: the numbers of nested calls from entries to them.

/// A set of depths below 128.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallDepths(u128);

impl CallDepths {
    /// The depth of an entry.
    pub const ENTRY: Self = Self(1);
    /// The depths below a limit.
    pub fn limited_to(self, limit: usize) -> Self {
        match 1u128.checked_shl(limit as u32) {
            Some(first) => Self(self.0 & (first - 1)),
            None => self,
        }
    }
    /// The depths after more calls.
    pub fn deepened_by(self, calls: usize) -> Self {
        Self(self.0.checked_shl(calls as u32).unwrap_or_default())
    }
    /// The union of both.
    pub fn union_with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// The greatest depth.
    pub fn max_depth(self) -> usize {
        self.0.checked_ilog2().unwrap_or_default() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::CallDepths;

    #[test]
    fn a_way_that_is_too_deep_does_not_hide_a_shorter_one() {
        let both = CallDepths::ENTRY.union_with(CallDepths::ENTRY.deepened_by(10));
        assert_eq!(both.max_depth(), 10);
        assert_eq!(both.limited_to(10).deepened_by(1).max_depth(), 1);
        assert_eq!(CallDepths::ENTRY.deepened_by(200), CallDepths::default());
        assert_eq!(both.limited_to(500), both);
    }
}
