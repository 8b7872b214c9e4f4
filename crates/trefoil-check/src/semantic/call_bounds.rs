//! Worst cases: the maximum number of calls, which may depend on the number of items in a run, or be unlimited because
//! a flow calls itself.

use std::fmt;
use std::sync::Arc;

/// A fixed number, and multiples of products of unknown counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallBound {
    /// The fixed part.
    pub fixed: u64,
    /// The part that depends on the length of lists known only at run time: a factor, and the lists.
    pub per: Vec<(u64, Vec<String>)>,
    /// Whether there is no limit, because a flow that does it can call itself.
    pub endless: bool,
}

impl CallBound {
    /// A fixed number.
    pub const fn from_number(fixed: u64) -> Self {
        Self { fixed, per: Vec::new(), endless: false }
    }
    /// No limit.
    pub const fn without_limit() -> Self {
        Self { fixed: 0, per: Vec::new(), endless: true }
    }
    /// The number of items in a list.
    pub fn per_item_of(list: String) -> Self {
        Self { fixed: 0, per: vec![(1, vec![list])], endless: false }
    }
    /// Whether it is always zero.
    pub fn is_zero(&self) -> bool {
        self.fixed == 0 && self.per.is_empty() && !self.endless
    }
    /// The number, if it is fixed.
    pub fn fixed_number(&self) -> Option<u64> {
        if self.per.is_empty() && !self.endless { Some(self.fixed) } else { None }
    }
    /// The sum.
    #[must_use]
    pub fn sum_with(&self, other: &Self) -> Self {
        self.merge(other, u64::saturating_add)
    }
    /// An upper bound of both.
    #[must_use]
    pub fn max_with(&self, other: &Self) -> Self {
        self.merge(other, u64::max)
    }
    fn merge(&self, other: &Self, f: impl Fn(u64, u64) -> u64) -> Self {
        if self.endless || other.endless {
            return Self::without_limit();
        }
        let mut per = self.per.clone();
        for (n, lists) in &other.per {
            match per.iter_mut().find(|(_, have)| have == lists) {
                Some((have, _)) => *have = f(*have, *n),
                None => per.push((*n, lists.clone())),
            }
        }
        Self { fixed: f(self.fixed, other.fixed), per, endless: false }
    }
    /// Combines several bounds. `most` computes the maximum of costs; it is called separately for each part.
    fn combine(all: &[&Self], most: &dyn Fn(&[u64]) -> u64) -> Self {
        // Fast path: most programs have few of the counted things, and zeros add up to zero.
        let ask = |cost: &dyn Fn(&Self) -> u64| {
            let costs: Vec<u64> = all.iter().map(|b| cost(b)).collect();
            if costs.iter().all(|cost| *cost == 0) { 0 } else { most(&costs) }
        };
        if all.iter().any(|b| b.endless) && ask(&|b| u64::from(b.endless)) > 0 {
            return Self::without_limit();
        }
        let mut combined = Self::from_number(ask(&|b| b.fixed));
        for bound in all {
            for (_, lists) in &bound.per {
                if combined.per.iter().all(|(_, known)| known != lists) {
                    combined.per.push((ask(&|b| b.factor_of(lists)), lists.clone()));
                }
            }
        }
        combined.per.retain(|(n, _)| *n > 0);
        combined
    }
    /// The number for each item of these lists.
    fn factor_of(&self, lists: &[String]) -> u64 {
        match self.per.iter().find(|(_, known)| known == lists) {
            Some((factor, _)) => *factor,
            None => 0,
        }
    }
    /// Limits it to this number.
    #[must_use]
    pub fn up_to(&self, most: u64) -> Self {
        match self.fixed_number() {
            Some(number) => Self::from_number(number.min(most)),
            None => Self::from_number(most),
        }
    }
    /// Multiplies it.
    #[must_use]
    pub fn multiply_by(&self, other: &Self) -> Self {
        if self.is_zero() || other.is_zero() {
            return Self::default();
        }
        if self.endless || other.endless {
            return Self::without_limit();
        }
        let mut product = Self::from_number(self.fixed.saturating_mul(other.fixed));
        let mut add = |n: u64, lists: Vec<String>| {
            if n > 0 {
                product = product.sum_with(&Self { per: vec![(n, lists)], ..Self::default() });
            }
        };
        for (n, lists) in &self.per {
            add(n.saturating_mul(other.fixed), lists.clone());
        }
        for (n, lists) in &other.per {
            add(n.saturating_mul(self.fixed), lists.clone());
            for (m, more) in &self.per {
                add(n.saturating_mul(*m), [more.as_slice(), lists.as_slice()].concat());
            }
        }
        product
    }
}

impl CallBound {
    /// Formats it, with `number` for the numbers.
    pub fn in_words(&self, number: &dyn Fn(u64) -> String) -> String {
        if self.endless {
            return "no limit".to_owned();
        }
        let mut parts = Vec::new();
        if self.fixed > 0 || self.per.is_empty() {
            parts.push(number(self.fixed));
        }
        for (factor, lists) in &self.per {
            parts.push(format!("{} per item of {}", number(*factor), lists.join(" and of ")));
        }
        parts.join(" + ")
    }
}

impl fmt::Display for CallBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_words(&|n| n.to_string()))
    }
}

/// Worst cases of all effects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the effect of its name")]
pub struct CallBounds {
    pub model: CallBound,
    pub tool: CallBound,
    pub command: CallBound,
    pub human: CallBound,
    /// The model calls of each model, if models are named.
    pub models: Vec<(Arc<str>, CallBound)>,
    /// The total cost of the model calls, if prices are set.
    pub cost: CallBound,
}

impl CallBounds {
    /// Each bound with its name, for display.
    pub fn named_bounds(&self) -> [(&'static str, &CallBound); 4] {
        [("model", &self.model), ("tool", &self.tool), ("command", &self.command), ("human", &self.human)]
    }
    /// The calls of one model.
    pub fn of_model(&self, name: &str) -> CallBound {
        match self.models.iter().find(|(known, _)| **known == *name) {
            Some((_, calls)) => calls.clone(),
            None => CallBound::default(),
        }
    }
    /// Combines several. `most` computes the maximum of costs.
    #[must_use]
    pub fn combine_bounds(all: &[Self], most: &dyn Fn(&[u64]) -> u64) -> Self {
        let each = |of: fn(&Self) -> &CallBound| CallBound::combine(&all.iter().map(of).collect::<Vec<_>>(), most);
        let mut models: Vec<(Arc<str>, CallBound)> = Vec::new();
        for bounds in all {
            for (name, _) in &bounds.models {
                if models.iter().all(|(known, _)| known != name) {
                    let calls: Vec<CallBound> = all.iter().map(|c| c.of_model(name)).collect();
                    models.push((name.clone(), CallBound::combine(&calls.iter().collect::<Vec<_>>(), most)));
                }
            }
        }
        Self {
            model: each(|c| &c.model),
            tool: each(|c| &c.tool),
            command: each(|c| &c.command),
            human: each(|c| &c.human),
            cost: each(|c| &c.cost),
            models,
        }
    }
    /// Limits the number of model calls.
    #[must_use]
    pub fn up_to(mut self, most: u64) -> Self {
        self.model = self.model.up_to(most);
        for (_, calls) in &mut self.models {
            *calls = calls.up_to(most);
        }
        self
    }
    fn zip_bounds(&self, other: &Self, f: impl Fn(&CallBound, &CallBound) -> CallBound) -> Self {
        let mut models: Vec<(Arc<str>, CallBound)> = Vec::with_capacity(self.models.len());
        for (name, calls) in &self.models {
            models.push((name.clone(), f(calls, &other.of_model(name))));
        }
        for (name, calls) in &other.models {
            if self.models.iter().all(|(known, _)| known != name) {
                models.push((name.clone(), f(&CallBound::default(), calls)));
            }
        }
        Self {
            models,
            model: f(&self.model, &other.model),
            tool: f(&self.tool, &other.tool),
            command: f(&self.command, &other.command),
            human: f(&self.human, &other.human),
            cost: f(&self.cost, &other.cost),
        }
    }
    /// The sum.
    #[must_use]
    pub fn sum_with(&self, other: &Self) -> Self {
        self.zip_bounds(other, CallBound::sum_with)
    }
    /// An upper bound of both.
    #[must_use]
    pub fn max_with(&self, other: &Self) -> Self {
        self.zip_bounds(other, CallBound::max_with)
    }
    /// Multiplies it.
    #[must_use]
    pub fn multiply_by(&self, n: &CallBound) -> Self {
        self.zip_bounds(self, |a, _| a.multiply_by(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_counts_stay_visible() {
        let list = CallBound::per_item_of("{{plan}}".to_owned());
        let inner = CallBound::from_number(2).sum_with(&list);
        let all = inner.multiply_by(&CallBound::from_number(3)).sum_with(&CallBound::from_number(1));
        assert_eq!(all.to_string(), "7 + 3 per item of {{plan}}");
        assert_eq!(list.multiply_by(&list).to_string(), "1 per item of {{plan}} and of {{plan}}");
        assert_eq!(CallBound::from_number(0).multiply_by(&list).to_string(), "0");
        assert_eq!(CallBound::from_number(3).max_with(&list).to_string(), "3 + 1 per item of {{plan}}");
        let endless = CallBound::from_number(2).multiply_by(&CallBound::without_limit()).sum_with(&list);
        assert_eq!((endless.fixed_number(), endless.to_string()), (None, "no limit".to_owned()));
        assert_eq!(CallBound::from_number(0).multiply_by(&CallBound::without_limit()).fixed_number(), Some(0));
        assert_eq!(
            CallBound::from_number(u64::MAX).multiply_by(&CallBound::from_number(2)).fixed_number(),
            Some(u64::MAX)
        );
    }
}
