//! Finds steps of a graph or a sequence that never run in the same run, because their conditions exclude each other,
//! and computes the maximum cost of steps that can run together. In doubt, steps can run together.

use trefoil_ir::solver::{NamedTest, TestTree};
use trefoil_ir::walk::children_of;
use trefoil_ir::{
    BoundCondition, FlowId, IndexVec, NodeId, Program, SlotId, Source, Step, StepGraph, StepId, StepKind,
};

use super::outside_circles;

/// The maximum number of steps that are compared.
const MOST: usize = 400;
/// The number of combinations tried for the maximum; beyond it, a coarser bound is used.
const TRIES: u32 = 2000;

/// The exclusions between steps that are counted together.
pub struct StepExclusions {
    /// The bundle of each step: steps in one bundle exclude the same other steps.
    bundle: Vec<usize>,
    /// For each bundle, the bundles that it excludes.
    excludes: Vec<Vec<usize>>,
}

impl StepExclusions {
    /// For the nodes of a graph.
    pub fn of_graph(graph: &StepGraph) -> Option<Self> {
        let nodes = &graph.nodes;
        let conditional =
            nodes.iter().any(|n| !n.fallback_of.is_empty() || n.incoming.iter().any(|e| e.when.is_some()));
        if !conditional || nodes.len() > MOST {
            return None;
        }
        // The needs of a node: one of these nodes must have succeeded (possibly with a condition) or failed.
        let needs: IndexVec<NodeId, Vec<(NodeId, NodeRequirement)>> = nodes.map(|n| {
            if n.fallback_of.is_empty() {
                let need = |c: Option<&BoundCondition>| {
                    c.map_or(NodeRequirement::Success, |c| NodeRequirement::Condition(TestTree::from_condition(c)))
                };
                n.incoming.iter().map(|e| (e.from, need(e.when.as_ref()))).collect()
            } else {
                n.fallback_of.iter().map(|n| (*n, NodeRequirement::Failure)).collect()
            }
        });
        let order = outside_circles(graph);
        if order.len() < nodes.len() {
            return None;
        }
        let mut apart = vec![vec![false; nodes.len()]; nodes.len()];
        for (rank, &a) in order.iter().enumerate() {
            for &b in order.iter().take(rank) {
                let (of_a, of_b) = (&needs[a], &needs[b]);
                let known =
                    |a: NodeId, b: NodeId| apart.get(a.index()).and_then(|row| row.get(b.index())) == Some(&true);
                let both = |(from, need): &(NodeId, NodeRequirement),
                            (other_from, other): &(NodeId, NodeRequirement)| {
                    let excluded = from == other_from && need.excludes(other)
                        || known(*from, *other_from)
                        || known(*from, b)
                        || known(a, *other_from);
                    !excluded
                };
                // A node without needs always runs.
                let together = match (of_a.is_empty(), of_b.is_empty()) {
                    (true, true) => true,
                    (false, true) => of_a.iter().any(|(from, _)| !known(*from, b)),
                    (true, false) => of_b.iter().any(|(from, _)| !known(a, *from)),
                    (false, false) => of_a.iter().any(|n| of_b.iter().any(|o| both(n, o))),
                };
                if !together {
                    mark(&mut apart, a.index(), b.index());
                }
            }
        }
        Self::bundled(&apart)
    }
    /// For steps in sequence or in parallel, each of which runs unless its own condition is false.
    pub fn of_steps(program: &Program, flow: FlowId, steps: &[StepId]) -> Option<Self> {
        let all: Vec<&Step> = steps.iter().map(|s| &program.steps[*s]).collect();
        let claims: Vec<Option<(TestTree<NamedTest>, Vec<SlotId>)>> =
            all.iter().map(|s| s.when.as_ref().and_then(|c| Some((TestTree::from_condition(c), slots(c)?)))).collect();
        if claims.iter().flatten().count() < 2 || steps.len() > MOST {
            return None;
        }
        let body = program.flows[flow].body;
        // Nodes of a graph write concurrently, so nothing in the flow may write the values that the conditions read.
        let everywhere = beneath(program, &[body]);
        let shared = everywhere.iter().any(|s| matches!(s.kind, StepKind::Graph(_)));
        let written_anywhere: Vec<SlotId> = everywhere.iter().flat_map(|s| writes(s)).collect();
        let written: Vec<Vec<SlotId>> = steps
            .iter()
            .map(|s| if shared { Vec::new() } else { beneath(program, &[*s]).iter().flat_map(|s| writes(s)).collect() })
            .collect();
        let mut apart = vec![vec![false; steps.len()]; steps.len()];
        for (a, one) in claims.iter().enumerate() {
            let Some((one, reads)) = one else { continue };
            if shared && reads.iter().any(|s| written_anywhere.contains(s)) {
                continue;
            }
            for (b, other) in claims.iter().enumerate().skip(a + 1) {
                // The value that both conditions read must not change between them.
                if written.get(b - 1).is_some_and(|w| w.iter().any(|s| reads.contains(s))) {
                    break;
                }
                let Some((other, others)) = other else { continue };
                let between = written.iter().take(b).skip(a).flatten();
                let elsewhere = written_anywhere.iter().filter(|_| shared);
                let stays = between.chain(elsewhere).all(|s| !others.contains(s));
                if stays && one.is_exclusive_with(other) {
                    mark(&mut apart, a, b);
                }
            }
        }
        Self::bundled(&apart)
    }
    fn bundled(apart: &[Vec<bool>]) -> Option<Self> {
        if !apart.iter().flatten().any(|a| *a) {
            return None;
        }
        let mut rows: Vec<&Vec<bool>> = Vec::new();
        let mut bundle = Vec::new();
        for row in apart {
            let at = rows.iter().position(|r| *r == row).unwrap_or_else(|| {
                rows.push(row);
                rows.len() - 1
            });
            bundle.push(at);
        }
        let excludes = rows
            .iter()
            .map(|row| {
                let mut all: Vec<usize> =
                    row.iter().zip(&bundle).filter(|(apart, _)| **apart).map(|(_, bundle)| *bundle).collect();
                all.sort_unstable();
                all.dedup();
                all
            })
            .collect();
        Some(Self { bundle, excludes })
    }
    /// Whether two steps never run in the same run.
    pub fn never_both(&self, a: usize, b: usize) -> bool {
        let bundle = |at: usize| self.bundle.get(at).copied();
        bundle(a).zip(bundle(b)).is_some_and(|(a, b)| self.excludes(a).contains(&b))
    }
    /// The maximum cost of steps that can run together, given the cost of each; an upper bound.
    pub fn max_cost(&self, costs: &[u64]) -> u64 {
        let mut sums = vec![0u64; self.excludes.len()];
        for (cost, bundle) in costs.iter().zip(&self.bundle) {
            if let Some(sum) = sums.get_mut(*bundle) {
                *sum = sum.saturating_add(*cost);
            }
        }
        let left: Vec<usize> = sums.iter().enumerate().filter(|(_, sum)| **sum > 0).map(|(at, _)| at).collect();
        let mut tries = TRIES;
        self.dearest(&sums, left, &mut tries)
    }
    fn excludes(&self, at: usize) -> &[usize] {
        self.excludes.get(at).map(Vec::as_slice).unwrap_or_default()
    }
    /// The maximum for bundles; unrelated groups are computed separately.
    fn dearest(&self, sums: &[u64], mut left: Vec<usize>, tries: &mut u32) -> u64 {
        let mut all = 0u64;
        while let Some(one) = left.pop() {
            let mut knot = vec![one];
            let mut done = 0;
            while let Some(at) = knot.get(done).copied() {
                done += 1;
                let excludes = self.excludes(at);
                let (of_knot, others) = left.into_iter().partition::<Vec<_>, _>(|o| excludes.contains(o));
                knot.extend(of_knot);
                left = others;
            }
            all = all.saturating_add(self.knot(sums, knot, tries));
        }
        all
    }
    /// The maximum for related bundles: with the bundle that excludes the most others, or without it.
    fn knot(&self, sums: &[u64], mut left: Vec<usize>, tries: &mut u32) -> u64 {
        let sum = |at: usize| sums.get(at).copied().unwrap_or_default();
        if left.len() < 2 || *tries == 0 {
            return left.iter().fold(0, |all, at| all.saturating_add(sum(*at)));
        }
        *tries -= 1;
        let against = |at: &usize| left.iter().filter(|o| self.excludes(*at).contains(o)).count();
        let Some(at) = left.iter().copied().max_by_key(against) else { return 0 };
        left.retain(|o| *o != at);
        let rest = left.iter().copied().filter(|o| !self.excludes(at).contains(o)).collect();
        let with = sum(at).saturating_add(self.dearest(sums, rest, tries));
        with.max(self.dearest(sums, left, tries))
    }
}

fn mark(apart: &mut [Vec<bool>], a: usize, b: usize) {
    for (a, b) in [(a, b), (b, a)] {
        if let Some(place) = apart.get_mut(a).and_then(|row| row.get_mut(b)) {
            *place = true;
        }
    }
}

/// How another node must have ended.
enum NodeRequirement {
    Success,
    Condition(TestTree<NamedTest>),
    Failure,
}

impl NodeRequirement {
    /// Whether two needs of the same node exclude each other.
    fn excludes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Failure, Self::Failure) => false,
            (Self::Failure, _) | (_, Self::Failure) => true,
            (Self::Condition(a), Self::Condition(b)) => a.is_exclusive_with(b),
            _ => false,
        }
    }
}

/// The slots that a condition reads; `None`: it reads something else that may change.
fn slots(cond: &BoundCondition) -> Option<Vec<SlotId>> {
    let mut all = Vec::new();
    for source in &cond.sources {
        let mut stays = true;
        source.visit_alternatives(&mut |one| {
            stays &= !matches!(
                one,
                Source::Environment | Source::Secrets | Source::Spent(_) | Source::Result | Source::Failure
            );
        });
        if !stays {
            return None;
        }
        all.extend(source.slot_ids());
    }
    Some(all)
}

/// These steps and all steps inside them, in this flow.
fn beneath<'p>(program: &'p Program, steps: &[StepId]) -> Vec<&'p Step> {
    let mut stack = steps.to_vec();
    let mut all = Vec::new();
    while let Some(id) = stack.pop() {
        let step = &program.steps[id];
        stack.extend(children_of(step));
        all.push(step);
    }
    all
}

/// The slots of its own flow that a step itself fills.
fn writes(step: &Step) -> impl Iterator<Item = SlotId> {
    step.out.into_iter().chain(step.kind.filled_slots())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dearest_steps_that_can_run_together() {
        let mut seed = 11u64;
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for _ in 0..500 {
            let count = 2 + next(8) as usize;
            let mut rows = vec![vec![false; count]; count];
            for (a, b) in (0..count).flat_map(|a| (0..a).map(move |b| (a, b))) {
                if next(3) == 0 {
                    mark(&mut rows, a, b);
                }
            }
            let costs: Vec<u64> = (0..count).map(|_| next(5)).collect();
            let fits = |set: usize| {
                let has = |n: usize| set >> n & 1 == 1;
                (0..count).all(|a| (0..count).all(|b| !(has(a) && has(b) && rows[a][b])))
            };
            let price = |set: usize| (0..count).filter(|n| set >> n & 1 == 1).map(|n| costs[n]).sum::<u64>();
            let dearest = (0..1 << count).filter(|s| fits(*s)).map(price).max().unwrap();
            let most = StepExclusions::bundled(&rows).map_or(costs.iter().sum(), |apart| apart.max_cost(&costs));
            assert_eq!(most, dearest, "{rows:?} {costs:?}");
        }
    }

    #[test]
    fn many_branches_take_no_time() {
        // Forty places at which the run takes one of four branches.
        let rows: Vec<Vec<bool>> =
            (0..160).map(|a: usize| (0..160).map(|b: usize| a != b && a / 4 == b / 4).collect()).collect();
        let costs: Vec<u64> = (0..160).map(|n| n % 4).collect();
        assert_eq!(StepExclusions::bundled(&rows).unwrap().max_cost(&costs), 120);
    }
}
