//! How often the states of a machine can be entered, and the cost of the most expensive path through it.

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use trefoil_ir::StateMachine;

/// The maximum number of search steps for the most expensive path; beyond it, a coarser bound is used.
const STEPS: usize = 200_000;

/// The paths through a machine.
pub struct Ways {
    initial: usize,
    /// The maximum number of state entries in total.
    entries: u64,
    /// For each state, the targets of its transitions, each once.
    next: Vec<Vec<usize>>,
    /// Groups of states that lead to each other, and single states; each group after everything that it leads to.
    knots: Vec<Vec<usize>>,
    /// For each state, the number of the earliest possible entry; `None`: it is unreachable.
    first: Vec<Option<u64>>,
    visits: Vec<u64>,
}

impl Ways {
    /// The paths of a machine.
    pub fn of(machine: &StateMachine) -> Self {
        Self::with_visits(machine, u32::MAX)
    }
    /// The same if each state is entered at most once.
    pub fn once(machine: &StateMachine) -> Self {
        Self::with_visits(machine, 1)
    }
    fn with_visits(machine: &StateMachine, most: u32) -> Self {
        let count = machine.states.len();
        let targets = |s: &trefoil_ir::State| {
            let mut all: Vec<usize> = s.transitions.iter().map(|t| t.target.index()).filter(|t| *t < count).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let next = machine.states.iter().map(targets).collect();
        let limits: Vec<u64> = machine.states.iter().map(|s| u64::from(s.max_visits.min(most))).collect();
        Self::new(next, machine.initial.index(), u64::from(machine.max_entries), &limits)
    }
    fn new(next: Vec<Vec<usize>>, initial: usize, entries: u64, limits: &[u64]) -> Self {
        let mut first: Vec<Option<u64>> =
            distances(&next, initial, |_| true).into_iter().map(|d| d.map(|d| d + 1)).collect();
        if let Some(place) = first.get_mut(initial) {
            *place = Some(1);
        }
        let knots = knots(&next);
        let rounds = rounds(&next, &knots);
        let mut ways = Self { initial, entries, next, knots, first, visits: Vec::new() };
        // Every visit after the first takes as many entries as the shortest cycle.
        for (at, limit) in limits.iter().enumerate() {
            let round = rounds.get(at).copied().flatten();
            let visits = match ways.first.get(at).copied().flatten() {
                Some(first) if first <= entries => 1 + round.map_or(0, |round| (entries - first) / round.max(1)),
                _ => 0,
            };
            ways.visits.push(visits.min(*limit));
        }
        ways.feed();
        ways
    }
    /// Each visit, except that of the start, comes from a visit of a preceding state.
    fn feed(&mut self) {
        for _ in 0..self.next.len() {
            let mut fed = vec![0u64; self.next.len()];
            if let Some(place) = fed.get_mut(self.initial) {
                *place = 1;
            }
            for (targets, visits) in self.next.iter().zip(&self.visits) {
                for target in targets {
                    if let Some(place) = fed.get_mut(*target) {
                        *place = place.saturating_add(*visits);
                    }
                }
            }
            let less: Vec<u64> = self.visits.iter().zip(&fed).map(|(have, fed)| *have.min(fed)).collect();
            if less == self.visits {
                return;
            }
            self.visits = less;
        }
    }
    /// The maximum number of entries of a state.
    pub fn visits(&self, state: usize) -> u64 {
        self.visits.get(state).copied().unwrap_or_default()
    }
    /// The maximum cost of a path through the machine, given the cost of one visit of each state.
    pub fn dearest(&self, costs: &[u64]) -> u64 {
        let by_visits = self.by_visits(costs);
        self.by_entries(costs).map_or(by_visits, |n| n.min(by_visits))
    }
    /// The bound if only the total number of entries were limited, not the visits of each state.
    fn by_entries(&self, costs: &[u64]) -> Option<u64> {
        let edges: usize = self.next.iter().map(|n| n.len() + 1).sum();
        let entries = usize::try_from(self.entries).ok()?;
        if edges.saturating_mul(entries) > STEPS {
            return None;
        }
        let mut now: Vec<Option<u64>> = vec![None; self.next.len()];
        if let Some(place) = now.get_mut(self.initial).filter(|_| entries > 0) {
            *place = costs.get(self.initial).copied();
        }
        let mut best = 0;
        for _ in 0..entries {
            best = now.iter().flatten().copied().fold(best, u64::max);
            let mut then: Vec<Option<u64>> = vec![None; self.next.len()];
            for (so_far, targets) in now.iter().zip(&self.next) {
                let Some(so_far) = so_far else { continue };
                for target in targets {
                    if let (Some(place), Some(cost)) = (then.get_mut(*target), costs.get(*target)) {
                        *place = (*place).max(Some(so_far.saturating_add(*cost)));
                    }
                }
            }
            now = then;
        }
        Some(best)
    }
    /// The bound by visits: states of one group count together, as often as each may be entered; states of different
    /// paths do not.
    fn by_visits(&self, costs: &[u64]) -> u64 {
        // The longest path over the groups, each computed after those that follow it. What a state of the same group
        // adds is in the group's own sum.
        let mut best: Vec<Option<u64>> = vec![None; self.next.len()];
        for members in &self.knots {
            let targets = members.iter().filter_map(|m| self.next.get(*m)).flatten();
            let after = targets.filter_map(|t| best.get(*t).copied().flatten()).max().unwrap_or_default();
            let total = self.knot(members, costs).saturating_add(after);
            for place in members {
                if let Some(place) = best.get_mut(*place) {
                    *place = Some(total);
                }
            }
        }
        best.get(self.initial).copied().flatten().unwrap_or_default()
    }
    /// The most expensive visits of states in one group, limited by the number of entries.
    fn knot(&self, members: &[usize], costs: &[u64]) -> u64 {
        let first = members.iter().filter_map(|m| self.first.get(*m).copied().flatten()).min();
        let mut left = first.map_or(0, |first| (self.entries + 1).saturating_sub(first));
        let mut priced: Vec<(u64, u64)> =
            members.iter().map(|m| (costs.get(*m).copied().unwrap_or_default(), self.visits(*m))).collect();
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
pub fn knots(next: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut graph = DiGraph::<(), ()>::with_capacity(next.len(), next.len());
    let nodes: Vec<NodeIndex> = next.iter().map(|_| graph.add_node(())).collect();
    for (from, targets) in nodes.iter().zip(next) {
        for to in targets.iter().filter_map(|target| nodes.get(*target)) {
            graph.add_edge(*from, *to, ());
        }
    }
    let knots = kosaraju_scc(&graph).into_iter();
    knots.map(|knot| knot.into_iter().map(NodeIndex::index).collect()).collect()
}

/// For each state, the length of the shortest cycle through it; `None`: there is none. Such a cycle never leaves the
/// group.
fn rounds(next: &[Vec<usize>], knots: &[Vec<usize>]) -> Vec<Option<u64>> {
    let mut knot_of = vec![0; next.len()];
    for (knot, members) in knots.iter().enumerate() {
        for member in members {
            if let Some(place) = knot_of.get_mut(*member) {
                *place = knot;
            }
        }
    }
    let round = |(at, targets): (usize, &Vec<usize>)| {
        let own = knot_of.get(at).copied();
        let alone = own.and_then(|own| knots.get(own)).is_none_or(|members| members.len() == 1);
        match alone {
            true => targets.contains(&at).then_some(1),
            false => distances(next, at, |to| knot_of.get(to).copied() == own).get(at).copied().flatten(),
        }
    };
    next.iter().enumerate().map(round).collect()
}

/// The number of transitions from a state to each other one, at least one, using only states for which `counts` is
/// true.
fn distances(next: &[Vec<usize>], from: usize, counts: impl Fn(usize) -> bool) -> Vec<Option<u64>> {
    let mut found: Vec<Option<u64>> = vec![None; next.len()];
    let mut now = vec![from];
    let mut far = 0;
    while !now.is_empty() {
        far += 1;
        let mut then = Vec::new();
        for target in now.iter().filter_map(|s| next.get(*s)).flatten().filter(|target| counts(**target)) {
            if let Some(place) = found.get_mut(*target)
                && place.is_none()
            {
                *place = Some(far);
                then.push(*target);
            }
        }
        now = then;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Visits every path.
    fn walk(ways: &Ways, limits: &[u64], at: usize, left: u64, seen: &mut Vec<u64>, found: &mut dyn FnMut(&[u64])) {
        if left == 0 || seen[at] == limits[at] {
            return;
        }
        seen[at] += 1;
        found(seen);
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
            let graph = (0..count).map(|_| (0..count).filter(|_| next(5) < 2).collect()).collect();
            let (entries, limits) = (next(9), (0..count).map(|_| 1 + next(4)).collect::<Vec<_>>());
            let costs: Vec<u64> = (0..count).map(|_| next(6)).collect();
            let ways = Ways::new(graph, 0, entries, &limits);
            let (mut dearest, mut visits) = (0, vec![0; count]);
            walk(&ways, &limits, 0, entries, &mut vec![0; count], &mut |seen| {
                dearest = dearest.max(seen.iter().zip(&costs).map(|(n, c)| n * c).sum());
                visits.iter_mut().zip(seen).for_each(|(most, n)| *most = (*most).max(*n));
            });
            assert!(ways.dearest(&costs) >= dearest, "{:?} {entries} {limits:?} {costs:?}", ways.next);
            assert!(ways.visits.iter().zip(&visits).all(|(bound, n)| bound >= n), "{:?} {visits:?}", ways.next);
            exact += i32::from(ways.dearest(&costs) == dearest);
        }
        assert!(exact > all * 8 / 10, "{exact}");
    }
}
