//! How often the states of a machine can be entered, and the cost of the most expensive path through it.

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use trefoil_ir::{IndexVec, StateId, StateMachine};

/// The maximum number of search steps for the most expensive path; beyond it, a coarser bound is used.
const STEPS: usize = 200_000;

/// The paths through a machine.
pub struct MachinePaths {
    initial: StateId,
    /// The maximum number of state entries in total.
    entries: u64,
    /// For each state, the targets of its transitions, each once.
    next: IndexVec<StateId, Vec<StateId>>,
    /// Groups of states that lead to each other, and single states; each group after everything that it leads to.
    knots: Vec<Vec<StateId>>,
    /// For each state, the number of the earliest possible entry; `None`: it is unreachable.
    first: IndexVec<StateId, Option<u64>>,
    visits: IndexVec<StateId, u64>,
}

impl MachinePaths {
    /// The paths of a machine.
    pub fn from_machine(machine: &StateMachine) -> Self {
        Self::with_visits(machine, u32::MAX)
    }
    /// The same if each state is entered at most once.
    pub fn with_single_visits(machine: &StateMachine) -> Self {
        Self::with_visits(machine, 1)
    }
    fn with_visits(machine: &StateMachine, most: u32) -> Self {
        let next = machine.states.map(|s| {
            let mut all: Vec<StateId> = s.transitions.iter().map(|t| t.target).collect();
            all.sort_unstable();
            all.dedup();
            all
        });
        let limits = machine.states.map(|s| u64::from(s.max_visits.min(most)));
        Self::new(next, machine.initial, u64::from(machine.max_entries), &limits)
    }
    fn new(
        next: IndexVec<StateId, Vec<StateId>>,
        initial: StateId,
        entries: u64,
        limits: &IndexVec<StateId, u64>,
    ) -> Self {
        let mut first = distances(&next, initial, |_| true);
        for number in first.iter_mut().flatten() {
            *number += 1;
        }
        first[initial] = Some(1);
        let knots = strong_components(&next);
        let rounds = rounds(&next, &knots);
        // Every visit after the first takes as many entries as the shortest cycle.
        let mut visits = IndexVec::default();
        for (id, limit) in limits.entries() {
            let possible = match (first[id], rounds[id]) {
                (Some(first), Some(round)) if first <= entries => 1 + (entries - first) / round.max(1),
                (Some(first), None) if first <= entries => 1,
                _ => 0,
            };
            visits.push(possible.min(*limit));
        }
        let mut ways = Self { initial, entries, next, knots, first, visits };
        ways.feed();
        ways
    }
    /// Each visit, except that of the start, comes from a visit of a preceding state.
    fn feed(&mut self) {
        for _ in 0..self.next.len() {
            let mut fed = self.next.map(|_| 0u64);
            fed[self.initial] = 1;
            for (targets, visits) in self.next.iter().zip(&self.visits) {
                for &target in targets {
                    fed[target] = fed[target].saturating_add(*visits);
                }
            }
            let mut less = IndexVec::default();
            for (known, fed) in self.visits.iter().zip(&fed) {
                less.push(*known.min(fed));
            }
            if less == self.visits {
                return;
            }
            self.visits = less;
        }
    }
    /// The maximum number of entries of a state.
    pub fn max_visits(&self, state: StateId) -> u64 {
        self.visits[state]
    }
    /// The maximum cost of a path through the machine, given the cost of one visit of each state.
    pub fn max_path_cost(&self, costs: &[u64]) -> u64 {
        let costs: IndexVec<StateId, u64> = costs.iter().copied().collect();
        let by_visits = self.by_visits(&costs);
        match self.by_entries(&costs) {
            Some(by_entries) => by_entries.min(by_visits),
            None => by_visits,
        }
    }
    /// The bound if only the total number of entries were limited, not the visits of each state.
    fn by_entries(&self, costs: &IndexVec<StateId, u64>) -> Option<u64> {
        let edges: usize = self.next.iter().map(|n| n.len() + 1).sum();
        let entries = usize::try_from(self.entries).ok()?;
        if edges.saturating_mul(entries) > STEPS {
            return None;
        }
        let mut now: IndexVec<StateId, Option<u64>> = self.next.map(|_| None);
        now[self.initial] = Some(costs[self.initial]);
        let mut best = 0;
        for _ in 0..entries {
            for so_far in now.iter().flatten() {
                best = best.max(*so_far);
            }
            let mut then: IndexVec<StateId, Option<u64>> = self.next.map(|_| None);
            for (so_far, targets) in now.iter().zip(&self.next) {
                let Some(so_far) = so_far else { continue };
                for &target in targets {
                    then[target] = then[target].max(Some(so_far.saturating_add(costs[target])));
                }
            }
            now = then;
        }
        Some(best)
    }
    /// The bound by visits: states of one group count together, as often as each may be entered; states of different
    /// paths do not.
    fn by_visits(&self, costs: &IndexVec<StateId, u64>) -> u64 {
        // The longest path over the groups, each computed after those that follow it. What a state of the same group
        // adds is in the group's own sum.
        let mut best = self.next.map(|_| 0u64);
        for members in &self.knots {
            let mut after = 0;
            for member in members {
                for target in &self.next[*member] {
                    after = after.max(best[*target]);
                }
            }
            let total = self.knot(members, costs).saturating_add(after);
            for member in members {
                best[*member] = total;
            }
        }
        best[self.initial]
    }
    /// The most expensive visits of states in one group, limited by the number of entries.
    fn knot(&self, members: &[StateId], costs: &IndexVec<StateId, u64>) -> u64 {
        let first = members.iter().filter_map(|m| self.first[*m]).min();
        let mut left = match first {
            Some(first) => (self.entries + 1).saturating_sub(first),
            None => 0,
        };
        let mut priced: Vec<(u64, u64)> = members.iter().map(|m| (costs[*m], self.visits[*m])).collect();
        priced.sort_unstable_by(|a, b| b.cmp(a));
        let mut sum = 0u64;
        for (cost, visits) in priced {
            let taken = visits.min(left);
            left -= taken;
            sum = sum.saturating_add(cost.saturating_mul(taken));
        }
        sum
    }
}

/// Groups of states that lead to each other, and single states; each after everything that it leads to.
pub fn strong_components(next: &IndexVec<StateId, Vec<StateId>>) -> Vec<Vec<StateId>> {
    let mut graph = DiGraph::<StateId, ()>::with_capacity(next.len(), next.len());
    let mut nodes: IndexVec<StateId, NodeIndex> = IndexVec::default();
    for id in next.element_ids() {
        nodes.push(graph.add_node(id));
    }
    for (from, targets) in next.entries() {
        for to in targets {
            graph.add_edge(nodes[from], nodes[*to], ());
        }
    }
    let mut knots = Vec::new();
    for nodes in kosaraju_scc(&graph) {
        let mut members = Vec::with_capacity(nodes.len());
        for node in nodes {
            members.extend(graph.node_weight(node));
        }
        knots.push(members);
    }
    knots
}

/// For each state, the length of the shortest cycle through it; `None`: there is none. Such a cycle never leaves the
/// group.
fn rounds(next: &IndexVec<StateId, Vec<StateId>>, knots: &[Vec<StateId>]) -> IndexVec<StateId, Option<u64>> {
    let mut knot_of: IndexVec<StateId, &[StateId]> = next.map(|_| [].as_slice());
    for knot in knots {
        for member in knot {
            knot_of[*member] = knot;
        }
    }
    let mut rounds = IndexVec::default();
    for (id, targets) in next.entries() {
        rounds.push(match knot_of[id] {
            [_] if targets.contains(&id) => Some(1),
            [_] => None,
            knot => distances(next, id, |to| std::ptr::eq(knot_of[to], knot))[id],
        });
    }
    rounds
}

/// The number of transitions from a state to each other one, at least one, using only states for which `counts` is
/// true.
fn distances(
    next: &IndexVec<StateId, Vec<StateId>>,
    from: StateId,
    counts: impl Fn(StateId) -> bool,
) -> IndexVec<StateId, Option<u64>> {
    let mut found = next.map(|_| None);
    let mut now = vec![from];
    let mut far = 0;
    while !now.is_empty() {
        far += 1;
        let mut then = Vec::new();
        for state in now {
            for &target in &next[state] {
                if counts(target) && found[target].is_none() {
                    found[target] = Some(far);
                    then.push(target);
                }
            }
        }
        now = then;
    }
    found
}

#[cfg(test)]
mod tests {
    use trefoil_ir::TypedIndex;

    use super::*;

    /// Visits every path.
    fn walk(
        ways: &MachinePaths,
        limits: &IndexVec<StateId, u64>,
        at: StateId,
        left: u64,
        seen: &mut IndexVec<StateId, u64>,
        found: &mut dyn FnMut(&[u64]),
    ) {
        if left == 0 || seen[at] == limits[at] {
            return;
        }
        seen[at] += 1;
        found(seen.as_slice());
        for next in &ways.next[at] {
            walk(ways, limits, *next, left - 1, seen, found);
        }
        seen[at] -= 1;
    }

    #[test]
    fn no_way_is_dearer_than_the_bound() {
        let mut seed = 7u64;
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let (mut exact, all) = (0, 3000);
        for _ in 0..all {
            let count = 1 + next(5) as usize;
            let graph =
                (0..count).map(|_| (0..count).filter(|_| next(5) < 2).map(StateId::from_index).collect()).collect();
            let (entries, limits) = (next(9), (0..count).map(|_| 1 + next(4)).collect());
            let costs: Vec<u64> = (0..count).map(|_| next(6)).collect();
            let ways = MachinePaths::new(graph, StateId(0), entries, &limits);
            let (mut dearest, mut visits) = (0, vec![0; count]);
            walk(&ways, &limits, StateId(0), entries, &mut limits.map(|_| 0), &mut |seen| {
                dearest = dearest.max(seen.iter().zip(&costs).map(|(n, c)| n * c).sum());
                visits.iter_mut().zip(seen).for_each(|(most, n)| *most = (*most).max(*n));
            });
            assert!(ways.max_path_cost(&costs) >= dearest, "{:?} {entries} {limits:?} {costs:?}", ways.next);
            assert!(ways.visits.iter().zip(&visits).all(|(bound, n)| bound >= n), "{:?} {visits:?}", ways.next);
            exact += i32::from(ways.max_path_cost(&costs) == dearest);
        }
        assert!(exact > all * 8 / 10, "{exact}");
    }
}
