//! Whether a result certainly exists when a node runs: on every path to the node.

use super::links::NodeLinks;
use super::order::SirenNodeOrder;

impl NodeLinks {
    /// Whether one of these nodes certainly has a result when a node runs.
    pub fn surely_has_result(&self, node: usize, producers: &[usize]) -> bool {
        let Some(order) = &self.order else { return true };
        if self.has_sure_producer(order, node, producers) {
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
            let mains = self.replaced_by(at);
            let known = |node: usize| match rank(&node).checked_sub(first) {
                Some(place) => on_all_ways.get(place).copied().unwrap_or(false),
                None => false,
            };
            let mut incoming = self.incoming_edges(at).peekable();
            let defined = if mains.is_empty() {
                incoming.peek().is_some()
                    && incoming
                        .all(|l| known(l.from) || (producers.contains(&l.from) && !self.skips_on_failure(l.from)))
            } else {
                mains.iter().all(|m| known(*m))
            };
            let defined = defined || self.has_sure_producer(order, at, producers);
            if let Some(place) = on_all_ways.get_mut(at_rank - first) {
                *place = defined;
            }
        }
        on_all_ways.last().copied().unwrap_or(false)
    }

    /// Whether one of these nodes ends before a node, in every run and with a result.
    fn has_sure_producer(&self, order: &SirenNodeOrder, node: usize, producers: &[usize]) -> bool {
        producers
            .iter()
            .any(|p| order.ends_before(*p, node) && self.always_runs(*p) && self.produces_result(*p, producers))
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
