//! Ranges of numbers: which numbers a comparison accepts, which ones a type has.

use trefoil_template::ComparisonOperator;

/// A range of numbers. An end is `None` if the range has none, otherwise it says whether the number is in the range.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct NumberRange {
    /// The lower end.
    pub low: Option<(f64, bool)>,
    /// The upper end.
    pub high: Option<(f64, bool)>,
    /// Whether only integers are in it.
    pub whole: bool,
}

impl NumberRange {
    /// The numbers from one to another, both included.
    pub fn from_inclusive(low: Option<f64>, high: Option<f64>) -> Self {
        Self { low: low.map(|n| (n, true)), high: high.map(|n| (n, true)), whole: false }
    }
    /// The numbers for which a comparison with a number holds; `None`: they are no range.
    pub fn from_comparison(comparison: ComparisonOperator, with: f64) -> Option<Self> {
        let (low, high) = match comparison {
            ComparisonOperator::Less => (None, Some((with, false))),
            ComparisonOperator::LessEqual => (None, Some((with, true))),
            ComparisonOperator::Greater => (Some((with, false)), None),
            ComparisonOperator::GreaterEqual => (Some((with, true)), None),
            ComparisonOperator::Equal => (Some((with, true)), Some((with, true))),
            ComparisonOperator::NotEqual | ComparisonOperator::In | ComparisonOperator::NotIn => return None,
        };
        Some(Self { low, high, whole: false })
    }
    /// Whether a number is in it.
    pub fn contains(&self, n: f64) -> bool {
        let above = match self.low {
            Some((low, is_in)) => low < n || is_in && low == n,
            None => true,
        };
        let below = match self.high {
            Some((high, is_in)) => n < high || is_in && high == n,
            None => true,
        };
        above && below && (!self.whole || n.fract() == 0.0)
    }
    /// Whether the ends keep all numbers of one from the other.
    pub fn is_apart(&self, other: &Self) -> bool {
        let ends_before = |a: &Self, b: &Self| match (a.high, b.low) {
            (Some((high, is_in)), Some((low, too))) => high < low || high == low && !(is_in && too),
            _ => false,
        };
        ends_before(self, other) || ends_before(other, self)
    }
    /// Whether the ends keep all numbers of the other in this one.
    pub fn covers_range(&self, other: &Self) -> bool {
        let low = match (self.low, other.low) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some((low, is_in)), Some((inner, too))) => low < inner || low == inner && (is_in || !too),
        };
        let high = match (self.high, other.high) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some((high, is_in)), Some((inner, too))) => inner < high || high == inner && (is_in || !too),
        };
        low && high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apart_and_covering_are_what_the_numbers_say() {
        use ComparisonOperator::{Equal, Greater, GreaterEqual, Less, LessEqual};
        let ends = [0.0, 1.0, 2.0];
        let mut all = vec![NumberRange::default(), NumberRange::from_inclusive(Some(0.0), Some(1.0))];
        for how in [Less, LessEqual, Greater, GreaterEqual, Equal] {
            all.extend(ends.map(|n| NumberRange::from_comparison(how, n).unwrap()));
        }
        let tried = [-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0];
        for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
            assert_eq!(a.is_apart(b), !tried.iter().any(|n| a.contains(*n) && b.contains(*n)), "{a:?} {b:?}");
            assert_eq!(a.covers_range(b), tried.iter().all(|n| !b.contains(*n) || a.contains(*n)), "{a:?} {b:?}");
        }
    }
}
