//! Finds steps of a graph or a sequence that never run in the same run, because their conditions exclude each other,
//! and computes the maximum cost of steps that can run together. In doubt, steps can run together.

use trefoil_ir::solver::{NamedTest, TestTree};
use trefoil_ir::walk::children_of;
use trefoil_ir::{
    BoundCondition, FlowId, GraphNode, IndexVec, NodeId, Program, SlotId, Source, Step, StepGraph, StepId, StepKind,
};

use super::{index_or_add, outside_circles};

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
        if !nodes.iter().any(is_conditional) || nodes.len() > MOST {
            return None;
        }
        let needs = nodes.map(needs_of);
        let order = outside_circles(graph);
        if order.len() < nodes.len() {
            return None;
        }
        let mut apart = vec![vec![false; nodes.len()]; nodes.len()];
        for (rank, &a) in order.iter().enumerate() {
            for &b in order.iter().take(rank) {
                if !can_both_run(&needs, &apart, a, b) {
                    mark(&mut apart, a.index(), b.index());
                }
            }
        }
        Self::bundled(&apart)
    }
    /// For steps in sequence or in parallel, each of which runs unless its own condition is false.
    pub fn of_steps(program: &Program, flow: FlowId, steps: &[StepId]) -> Option<Self> {
        let claims: Vec<Option<StepClaim>> = steps.iter().map(|id| claim_of(&program.steps[*id])).collect();
        if claims.iter().flatten().count() < 2 || steps.len() > MOST {
            return None;
        }
        let body = program.flows[flow].body;
        // Nodes of a graph write concurrently, so nothing in the flow may write the values that the conditions read.
        let everywhere = beneath(program, body);
        let shared = everywhere.iter().any(|step| matches!(step.kind, StepKind::Graph(_)));
        let written_anywhere = written_slots(&everywhere);
        let mut written: Vec<Vec<SlotId>> = Vec::new();
        for id in steps {
            written.push(if shared { Vec::new() } else { written_slots(&beneath(program, *id)) });
        }
        let mut apart = vec![vec![false; steps.len()]; steps.len()];
        for (a, claim) in claims.iter().enumerate() {
            let Some(claim) = claim else { continue };
            if shared && have_common_slot(&written_anywhere, &claim.reads) {
                continue;
            }
            for (b, other) in claims.iter().enumerate().skip(a + 1) {
                // The value that both conditions read must not change between them.
                if let Some(written_before) = written.get(b - 1)
                    && have_common_slot(written_before, &claim.reads)
                {
                    break;
                }
                let Some(other) = other else { continue };
                let between = written.get(a..b).unwrap_or_default();
                let changes = between.iter().any(|slots| have_common_slot(slots, &other.reads))
                    || shared && have_common_slot(&written_anywhere, &other.reads);
                if !changes && claim.test.is_exclusive_with(&other.test) {
                    mark(&mut apart, a, b);
                }
            }
        }
        Self::bundled(&apart)
    }
    fn bundled(apart: &[Vec<bool>]) -> Option<Self> {
        if !apart.iter().any(|row| row.contains(&true)) {
            return None;
        }
        let mut rows: Vec<&Vec<bool>> = Vec::new();
        let mut bundle = Vec::new();
        for row in apart {
            bundle.push(index_or_add(&mut rows, row));
        }
        let mut excludes = Vec::new();
        for row in rows {
            let mut excluded = Vec::new();
            for (is_apart, bundle) in row.iter().zip(&bundle) {
                if *is_apart {
                    excluded.push(*bundle);
                }
            }
            excluded.sort_unstable();
            excluded.dedup();
            excludes.push(excluded);
        }
        Some(Self { bundle, excludes })
    }
    /// Whether two steps never run in the same run.
    pub fn never_both(&self, a: usize, b: usize) -> bool {
        let (Some(a), Some(b)) = (self.bundle.get(a), self.bundle.get(b)) else { return false };
        self.excludes(*a).contains(b)
    }
    /// The maximum cost of steps that can run together, given the cost of each; an upper bound.
    pub fn max_cost(&self, costs: &[u64]) -> u64 {
        let mut sums = vec![0u64; self.excludes.len()];
        for (cost, bundle) in costs.iter().zip(&self.bundle) {
            if let Some(sum) = sums.get_mut(*bundle) {
                *sum = sum.saturating_add(*cost);
            }
        }
        let mut left = Vec::new();
        for (bundle, sum) in sums.iter().enumerate() {
            if *sum > 0 {
                left.push(bundle);
            }
        }
        let mut tries = TRIES;
        self.dearest(&sums, left, &mut tries)
    }
    fn excludes(&self, bundle: usize) -> &[usize] {
        match self.excludes.get(bundle) {
            Some(excluded) => excluded,
            None => &[],
        }
    }
    /// The maximum for bundles; unrelated groups are computed separately.
    fn dearest(&self, sums: &[u64], mut left: Vec<usize>, tries: &mut u32) -> u64 {
        let mut all = 0u64;
        while let Some(first) = left.pop() {
            let mut knot = vec![first];
            let mut done = 0;
            while let Some(at) = knot.get(done).copied() {
                done += 1;
                let excludes = self.excludes(at);
                let mut others = Vec::new();
                for bundle in left {
                    if excludes.contains(&bundle) {
                        knot.push(bundle);
                    } else {
                        others.push(bundle);
                    }
                }
                left = others;
            }
            all = all.saturating_add(self.knot(sums, knot, tries));
        }
        all
    }
    /// The maximum for related bundles: with the bundle that excludes the most others, or without it.
    fn knot(&self, sums: &[u64], mut left: Vec<usize>, tries: &mut u32) -> u64 {
        let sum = |bundle: usize| sums.get(bundle).copied().unwrap_or_default();
        if left.len() < 2 || *tries == 0 {
            let mut all = 0u64;
            for bundle in left {
                all = all.saturating_add(sum(bundle));
            }
            return all;
        }
        *tries -= 1;
        let against = |bundle: &usize| left.iter().filter(|other| self.excludes(*bundle).contains(other)).count();
        let Some(chosen) = left.iter().copied().max_by_key(against) else { return 0 };
        left.retain(|bundle| *bundle != chosen);
        let mut rest = left.clone();
        rest.retain(|bundle| !self.excludes(chosen).contains(bundle));
        let with = sum(chosen).saturating_add(self.dearest(sums, rest, tries));
        with.max(self.dearest(sums, left, tries))
    }
}

fn mark(apart: &mut [Vec<bool>], a: usize, b: usize) {
    for (a, b) in [(a, b), (b, a)] {
        if let Some(row) = apart.get_mut(a)
            && let Some(place) = row.get_mut(b)
        {
            *place = true;
        }
    }
}

fn is_marked(apart: &[Vec<bool>], a: usize, b: usize) -> bool {
    matches!(apart.get(a), Some(row) if row.get(b) == Some(&true))
}

/// A need of a node: how another one must have ended.
struct NodeNeed {
    from: NodeId,
    end: NodeRequirement,
}

/// Whether a node does not run in every run that gets to it.
fn is_conditional(node: &GraphNode) -> bool {
    !node.fallback_of.is_empty() || node.incoming.iter().any(|edge| edge.when.is_some())
}

/// The needs of a node: one of these nodes must have succeeded (possibly with a condition) or failed.
fn needs_of(node: &GraphNode) -> Vec<NodeNeed> {
    let mut needs = Vec::new();
    for failed in &node.fallback_of {
        needs.push(NodeNeed { from: *failed, end: NodeRequirement::Failure });
    }
    if !needs.is_empty() {
        return needs;
    }
    for edge in &node.incoming {
        let end = match &edge.when {
            Some(cond) => NodeRequirement::Condition(TestTree::from_condition(cond)),
            None => NodeRequirement::Success,
        };
        needs.push(NodeNeed { from: edge.from, end });
    }
    needs
}

/// Whether two nodes may run in the same run, given the pairs of which it is known that they never do.
fn can_both_run(needs: &IndexVec<NodeId, Vec<NodeNeed>>, apart: &[Vec<bool>], a: NodeId, b: NodeId) -> bool {
    let never_both = |a: NodeId, b: NodeId| is_marked(apart, a.index(), b.index());
    // A node without needs always runs.
    match (needs[a].as_slice(), needs[b].as_slice()) {
        ([], []) => true,
        (of_a, []) => of_a.iter().any(|need| !never_both(need.from, b)),
        ([], of_b) => of_b.iter().any(|need| !never_both(a, need.from)),
        (of_a, of_b) => {
            for need in of_a {
                for other in of_b {
                    let excluded = need.from == other.from && need.end.excludes(&other.end)
                        || never_both(need.from, other.from)
                        || never_both(need.from, b)
                        || never_both(a, other.from);
                    if !excluded {
                        return true;
                    }
                }
            }
            false
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

/// The condition of a step, and the slots that it reads.
struct StepClaim {
    test: TestTree<NamedTest>,
    reads: Vec<SlotId>,
}

/// The claim of a step with a condition that reads only slots.
fn claim_of(step: &Step) -> Option<StepClaim> {
    let cond = step.when.as_ref()?;
    Some(StepClaim { test: TestTree::from_condition(cond), reads: slots(cond)? })
}

/// A step and all steps inside it, in this flow.
fn beneath(program: &Program, step: StepId) -> Vec<&Step> {
    let mut stack = vec![step];
    let mut all = Vec::new();
    while let Some(id) = stack.pop() {
        let step = &program.steps[id];
        stack.extend(children_of(step));
        all.push(step);
    }
    all
}

/// The slots of their own flow that these steps themselves fill.
fn written_slots(steps: &[&Step]) -> Vec<SlotId> {
    let mut slots = Vec::new();
    for step in steps {
        slots.extend(step.out);
        slots.extend(step.kind.filled_slots());
    }
    slots
}

fn have_common_slot(written: &[SlotId], read: &[SlotId]) -> bool {
    written.iter().any(|slot| read.contains(slot))
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
