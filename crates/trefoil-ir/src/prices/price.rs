//! The price of one model.

use serde::{Deserialize, Serialize};

/// The price of a model. It is stored in journals, so new fields must be optional.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPrice {
    /// The rates for tokens.
    #[serde(flatten)]
    pub rates: TokenRates,
    /// Micro-dollars for each call, in addition to its tokens.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub call: u64,
    /// Other rates for long prompts, by length.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<PriceTier>,
}

/// Micro-dollars for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRates {
    /// For input tokens.
    pub input: u64,
    /// For output tokens.
    pub output: u64,
    /// For input tokens read from the provider's cache; `None`: the input rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// For input tokens written to the cache; `None`: the input rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
}

/// Rates of a call with more than `above` input tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceTier {
    /// The maximum number of input tokens for which these rates do not apply.
    pub above: u64,
    /// The rates for all tokens of the call.
    #[serde(flatten)]
    pub rates: TokenRates,
}

/// The tokens of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallTokens {
    /// Input tokens, including cached ones.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens read from the cache.
    pub cache_read: u64,
    /// Input tokens written to the cache.
    pub cache_write: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl ModelPrice {
    /// A known price of zero.
    pub fn without_cost() -> Self {
        Self::default()
    }

    /// The cost of a call in micro-dollars, rounded up.
    pub fn call_cost(&self, tokens: CallTokens) -> u64 {
        let rates = self.rates_for(tokens.input);
        let read = tokens.cache_read.min(tokens.input);
        let written = tokens.cache_write.min(tokens.input - read);
        let fresh = tokens.input - read - written;
        let parts = [
            (fresh, rates.input),
            (read, rates.cache_read.unwrap_or(rates.input)),
            (written, rates.cache_write.unwrap_or(rates.input)),
            (tokens.output, rates.output),
        ];
        let mut millionths = 0u128;
        for (count, rate) in parts {
            millionths = millionths.saturating_add(u128::from(count) * u128::from(rate));
        }
        u64::try_from(millionths.div_ceil(1_000_000)).unwrap_or(u64::MAX).saturating_add(self.call)
    }

    /// The maximum cost of a call with at most this many tokens, whatever the provider's cache does.
    pub fn at_most(&self, input: u64, output: u64) -> u64 {
        let dearest = |input: u64| {
            let rates = self.rates_for(input);
            let rate = rates.input.max(rates.cache_read.unwrap_or(0)).max(rates.cache_write.unwrap_or(0));
            let dear = TokenRates { input: rate, cache_read: None, cache_write: None, ..rates };
            Self { rates: dear, call: self.call, tiers: Vec::new() }.call_cost(CallTokens {
                input,
                output,
                ..CallTokens::default()
            })
        };
        let mut most = dearest(input);
        for tier in &self.tiers {
            // A tier may be cheaper than the one before it, so the end of each tier is tried.
            if tier.above < input {
                most = most.max(dearest(tier.above));
            }
        }
        most
    }

    /// Whether calls cost nothing.
    pub fn is_free(&self) -> bool {
        *self == Self::without_cost()
    }

    fn rates_for(&self, input: u64) -> TokenRates {
        match self.tiers.iter().rev().find(|tier| input > tier.above) {
            Some(tier) => tier.rates,
            None => self.rates,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price() -> ModelPrice {
        let rates = TokenRates { input: 2_000_000, output: 10_000_000, cache_read: Some(200_000), cache_write: None };
        let long = TokenRates { input: 4_000_000, ..rates };
        ModelPrice { rates, call: 0, tiers: vec![PriceTier { above: 1_000, rates: long }] }
    }

    #[test]
    fn a_call_is_rounded_up_to_a_micro_dollar() {
        let price = price();
        assert_eq!(price.call_cost(CallTokens { input: 100, output: 10, ..CallTokens::default() }), 300);
        assert_eq!(price.call_cost(CallTokens { input: 100, cache_read: 99, ..CallTokens::default() }), 22);
        assert_eq!(price.call_cost(CallTokens::default()), 0);
        // More cached tokens than tokens: figures from a provider are not trusted.
        assert_eq!(price.call_cost(CallTokens { input: 10, cache_read: u64::MAX, cache_write: 5, output: 0 }), 2);
        assert_eq!(
            price.call_cost(CallTokens { input: u64::MAX, output: u64::MAX, ..CallTokens::default() }),
            u64::MAX
        );
    }

    #[test]
    fn a_tier_holds_above_its_edge_and_for_the_whole_call() {
        let price = price();
        let input = |input| price.call_cost(CallTokens { input, ..CallTokens::default() });
        assert_eq!((input(1_000), input(1_001)), (2_000, 4_004));
    }

    #[test]
    fn the_bound_covers_caches_and_shorter_prompts() {
        let mut price = price();
        price.tiers[0].rates.input = 1_000_000;
        assert_eq!(price.at_most(1_500, 0), 2_000);
        price.rates.cache_write = Some(2_500_000);
        assert_eq!(price.at_most(1_000, 1), 2_510);
    }

    #[test]
    fn a_price_is_short_in_a_journal() {
        let json = serde_json::to_string(&price()).unwrap();
        assert_eq!(
            json,
            r#"{"input":2000000,"output":10000000,"cache_read":200000,"tiers":[{"above":1000,"input":4000000,"output":10000000,"cache_read":200000}]}"#
        );
        assert_eq!(serde_json::from_str::<ModelPrice>(&json).unwrap(), price());
    }
}
