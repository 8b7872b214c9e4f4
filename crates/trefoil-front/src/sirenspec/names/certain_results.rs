//! Whether a result certainly exists when a node runs: on every path to the node.

use super::links::NodeLinks;

impl NodeLinks {
    /// Whether one of these nodes certainly has a result when a node runs.
    pub fn surely_has_result(&self, node: usize, producers: &[usize]) -> bool {
        let Some(order) = &self.order else { return true };
        let sure = |p: &usize| self.always_runs(*p) && self.produces_result(*p, producers);
        if producers.iter().any(|p| order.ends_before(*p, node) && sure(p)) {
            return true;
        }
        if self.chain {
            return false;
        }
        // They may not run in every run, but on every path to here. Before the first of them has ended, no path has a
        // result.
        let rank = |at: &usize| order.rank.get(*at).copied().unwrap_or(0);
        let (Some(first), last) = (producers.iter().map(rank).min(), rank(&node)) else { return false };
        let mut on_all_ways = vec![false; (last + 1).saturating_sub(first)];
        for at_rank in first..=last {
            let Some(&at) = order.sequence.get(at_rank) else { continue };
            let mains = self.fallback_of.get(at).map(Vec::as_slice).unwrap_or_default();
            let known = |p: usize| {
                let place = rank(&p).checked_sub(first);
                place.and_then(|place| on_all_ways.get(place)).copied().unwrap_or(false)
            };
            let mut incoming = self.incoming_edges(at).peekable();
            let defined = if mains.is_empty() {
                incoming.peek().is_some()
                    && incoming
                        .all(|l| known(l.from) || (producers.contains(&l.from) && !self.skips_on_failure(l.from)))
            } else {
                mains.iter().all(|m| known(*m))
            };
            let defined = defined || producers.iter().any(|p| order.ends_before(*p, at) && sure(p));
            if let Some(place) = on_all_ways.get_mut(at_rank - first) {
                *place = defined;
            }
        }
        on_all_ways.last().copied().unwrap_or(false)
    }

    /// Whether a node that ran, or its fallback, has a result.
    fn produces_result(&self, node: usize, producers: &[usize]) -> bool {
        let mut at = node;
        for _ in 0..=self.fallback.len() {
            if !producers.contains(&at) || self.skips_on_failure(at) {
                return false;
            }
            match self.fallback.get(at).copied().flatten() {
                Some(next) => at = next,
                None => return true,
            }
        }
        false
    }

    /// Whether a node that counts as done has a result.
    pub fn leaves_result(&self, node: usize) -> bool {
        self.produces_result(node, &[node])
    }
}
