//! The limits of a run, one row for each kind: what it counts, its option, and how an amount is written. Whatever stores, compares, shares,
//! raises or prints limits goes over the kinds, so a new one is a variant here, and the compiler asks for the rest.

use serde::{Deserialize, Serialize};
use trefoil_ir::prices::parse_dollars;
use trefoil_template::limits::RUN_CALLS;

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitKind {
    /// Model calls.
    Calls,
    /// Micro-dollars.
    Cost,
    /// Tokens.
    Tokens,
}

impl LimitKind {
    /// In the order in which they are compared and written.
    pub const ALL: [Self; 3] = [Self::Calls, Self::Cost, Self::Tokens];

    /// The option of the command line that sets it. `None`: only manifests have such a limit.
    pub const fn option_name(self) -> Option<&'static str> {
        match self {
            Self::Calls => Some("--max-calls"),
            Self::Cost => Some("--max-cost"),
            Self::Tokens => None,
        }
    }

    /// An amount as its option takes it.
    pub fn format_amount(self, amount: u64) -> String {
        match self {
            Self::Calls | Self::Tokens => amount.to_string(),
            // In dollars, with cents.
            Self::Cost => {
                let (dollars, rest) = (amount / 1_000_000, format!("{:06}", amount % 1_000_000));
                format!("{dollars}.{:0<2}", rest.trim_end_matches('0'))
            }
        }
    }

    /// Reads what its option takes.
    ///
    /// # Errors
    ///
    /// What to write.
    pub fn parse_amount(self, text: &str) -> Result<u64, String> {
        match self {
            Self::Calls | Self::Tokens => text.parse().map_err(|_| "write a whole number".to_owned()),
            Self::Cost => parse_dollars(text).ok_or_else(|| "write a number of dollars: `0.50`".to_owned()),
        }
    }

    /// The limit of a run for which none was set: `none` on the command line.
    pub const fn of_default(self) -> u64 {
        match self {
            Self::Calls => RUN_CALLS,
            Self::Tokens | Self::Cost => u64::MAX,
        }
    }
}

/// An amount of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound(serialize = "T: Serialize + Default + PartialEq", deserialize = "T: Deserialize<'de> + Default"))]
#[must_use]
pub struct PerKind<T> {
    /// Model calls.
    #[serde(rename = "max_calls", default, skip_serializing_if = "is_default")]
    pub calls: T,
    /// Tokens.
    #[serde(rename = "max_tokens", default, skip_serializing_if = "is_default")]
    pub tokens: T,
    /// Micro-dollars. A call of unknown cost counts as its expected cost, and a limit requires the prices of all models.
    #[serde(rename = "max_cost_micro", default, skip_serializing_if = "is_default")]
    pub cost_micro: T,
}

/// The limits of a run. `None`: no limit.
pub type RunLimits = PerKind<Option<u64>>;
/// Usage, as limits count it.
pub type UsedAmounts = PerKind<u64>;

fn is_default<T: Default + PartialEq>(amount: &T) -> bool {
    *amount == T::default()
}

impl<T: Copy> PerKind<T> {
    /// One for each kind.
    pub fn from_fn(amount: impl Fn(LimitKind) -> T) -> Self {
        use LimitKind as K;
        Self { calls: amount(K::Calls), tokens: amount(K::Tokens), cost_micro: amount(K::Cost) }
    }

    /// The one of a kind.
    pub fn get(&self, kind: LimitKind) -> T {
        match kind {
            LimitKind::Calls => self.calls,
            LimitKind::Tokens => self.tokens,
            LimitKind::Cost => self.cost_micro,
        }
    }

    fn with(self, other: Self, both: impl Fn(T, T) -> T) -> Self {
        Self::from_fn(|kind| both(self.get(kind), other.get(kind)))
    }
}

impl RunLimits {
    /// Nothing is limited.
    pub const NONE: Self = Self { calls: None, tokens: None, cost_micro: None };

    /// Only one of a kind.
    pub fn for_kind(kind: LimitKind, limit: u64) -> Self {
        Self::from_fn(|each| if each == kind { Some(limit) } else { None })
    }

    /// Those that are set, each with its kind.
    pub fn limit_rows(self) -> impl Iterator<Item = (LimitKind, u64)> {
        LimitKind::ALL.into_iter().filter_map(move |kind| Some((kind, self.get(kind)?)))
    }

    /// These limits, and the others where nothing is set.
    pub fn with_defaults(self, other: Self) -> Self {
        self.with(other, Option::or)
    }

    /// The lower ones.
    pub fn lower_limits(self, other: Self) -> Self {
        self.with(other, lower_limit)
    }

    /// What is enough for both.
    pub fn higher_limits(self, other: Self) -> Self {
        self.with(other, Ord::max)
    }

    /// Those that differ from the ones before.
    pub fn changed_from(self, before: Self) -> Self {
        self.with(before, |own, before| if own == before { None } else { own })
    }

    /// Without those that only lift a limit that did not exist before.
    pub fn without_lifts(self, before: Self) -> Self {
        Self::from_fn(|kind| match self.get(kind) {
            Some(limit) if before.get(kind).is_some() || limit != kind.of_default() => Some(limit),
            _ => None,
        })
    }

    /// The first limit that this usage exceeds.
    pub fn first_exceeded(self, used: UsedAmounts) -> Option<(LimitKind, u64)> {
        self.limit_rows().find(|(kind, limit)| used.get(*kind) > *limit)
    }

    /// The limit with which a run can continue. `needed`: what was used, and what is certain to be needed. It is twice the limit, and at
    /// least what is needed and a quarter more, so that the run does not stop again.
    pub fn with_raised_limit(kind: LimitKind, limit: u64, needed: u64) -> Self {
        let enough = needed.saturating_add(needed.div_ceil(4));
        Self::for_kind(kind, limit.saturating_mul(2).max(enough).min(i64::MAX as u64))
    }

    /// These limits with more, where there are some.
    pub fn with_more(self, more: UsedAmounts) -> Self {
        Self::from_fn(|kind| Some(self.get(kind)?.saturating_add(more.get(kind)).min(i64::MAX as u64)))
    }
}

/// The lower of two limits, each of which may not exist.
pub(crate) fn lower_limit(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        _ => one.or(other),
    }
}

impl UsedAmounts {
    /// The sum.
    pub fn sum_with(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    /// The lower of each kind.
    pub fn minimum_with(self, other: Self) -> Self {
        self.with(other, Ord::min)
    }

    /// This often.
    pub fn multiply_by(self, times: u64) -> Self {
        Self::from_fn(|kind| self.get(kind).saturating_mul(times))
    }

    /// The rest.
    pub fn excess_over(self, other: Self) -> Self {
        self.with(other, u64::saturating_sub)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raised_limit_is_a_number_that_its_option_takes() {
        let raised = |kind, limit, needed| RunLimits::with_raised_limit(kind, limit, needed).get(kind).unwrap();
        assert_eq!(raised(LimitKind::Calls, 4, 5), 8);
        assert_eq!(raised(LimitKind::Calls, 0, 3), 4);
        assert_eq!(raised(LimitKind::Calls, 50, 201), 252);
        for (micro, shown) in [(1, "0.000001"), (20_000, "0.02"), (500_000, "0.50"), (2_000_000, "2.00")] {
            assert_eq!(LimitKind::Cost.format_amount(micro), shown);
        }
        for kind in LimitKind::ALL {
            assert_eq!(kind.parse_amount(&kind.format_amount(1_234_567)), Ok(1_234_567), "{kind:?}");
        }
    }
}
