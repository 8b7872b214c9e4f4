//! Which node ends before which: computed from edges or file order, fallbacks, and template reads.
//!
//! Works only on indexes and reports nothing. `links` makes its input from a manifest.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A transitive relation "ends before" on nodes `0..n`.
pub struct SirenNodeOrder {
    /// A topological order; nodes without a relation are in declaration order.
    pub sequence: Vec<usize>,
    /// The index of each node in it.
    pub rank: Vec<usize>,
    before: Vec<NodeSet>,
}

/// A set of nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct NodeSet(Vec<u64>);

impl NodeSet {
    fn new(n: usize) -> Self {
        Self(vec![0; n.div_ceil(64)])
    }
    fn insert(&mut self, at: usize) {
        if let Some(word) = self.0.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
    }
    fn contains(&self, at: usize) -> bool {
        matches!(self.0.get(at / 64), Some(word) if word & (1 << (at % 64)) != 0)
    }
    fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine |= theirs;
        }
    }
}

impl SirenNodeOrder {
    /// The order given by these pairs (first, then), or one cycle for each group of nodes that wait for each other.
    pub fn new(n: usize, pairs: &[(usize, usize)]) -> Result<Self, Vec<Vec<usize>>> {
        let mut after: Vec<Vec<usize>> = vec![Vec::new(); n];
        let mut waits = vec![0usize; n];
        for &(first, then) in pairs {
            if let (Some(list), Some(count)) = (after.get_mut(first), waits.get_mut(then)) {
                list.push(then);
                *count += 1;
            }
        }
        let mut ready: BinaryHeap<Reverse<usize>> = BinaryHeap::new();
        for (node, count) in waits.iter().enumerate() {
            if *count == 0 {
                ready.push(Reverse(node));
            }
        }
        let mut order = Self { sequence: Vec::with_capacity(n), rank: vec![0; n], before: vec![NodeSet::new(n); n] };
        while let Some(Reverse(node)) = ready.pop() {
            if let Some(rank) = order.rank.get_mut(node) {
                *rank = order.sequence.len();
            }
            order.sequence.push(node);
            let mut mine = order.before.get(node).cloned().unwrap_or_default();
            mine.insert(node);
            for &then in after.get(node).into_iter().flatten() {
                if let Some(set) = order.before.get_mut(then) {
                    set.join(&mine);
                }
                if let Some(count) = waits.get_mut(then) {
                    *count -= 1;
                    if *count == 0 {
                        ready.push(Reverse(then));
                    }
                }
            }
        }
        if order.sequence.len() == n { Ok(order) } else { Err(cycles(&after, &waits)) }
    }

    /// Whether `first` has ended when `then` starts.
    pub fn ends_before(&self, first: usize, then: usize) -> bool {
        matches!(self.before.get(then), Some(set) if set.contains(first))
    }

    /// The nodes before this one, in topological order.
    pub fn preceding_nodes(&self, then: usize) -> impl Iterator<Item = usize> {
        let upto = self.rank.get(then).copied().unwrap_or(0);
        self.sequence.iter().copied().take(upto).filter(move |first| self.ends_before(*first, then))
    }
}

/// For each group, the shortest cycle through its first node, in the direction of the edges.
fn cycles(after: &[Vec<usize>], waits: &[usize]) -> Vec<Vec<usize>> {
    let mut graph = petgraph::graph::DiGraph::<(), ()>::new();
    let nodes: Vec<_> = after.iter().map(|_| graph.add_node(())).collect();
    for (from, list) in after.iter().enumerate() {
        for &to in list {
            if let (Some(&a), Some(&b)) = (nodes.get(from), nodes.get(to)) {
                graph.add_edge(a, b, ());
            }
        }
    }
    let mut found: Vec<Vec<usize>> = Vec::new();
    for knot in petgraph::algo::tarjan_scc(&graph) {
        let knot: Vec<usize> = knot.into_iter().map(petgraph::graph::NodeIndex::index).collect();
        let Some(start) = knot.iter().copied().min() else { continue };
        let is_stuck = matches!(waits.get(start), Some(count) if *count > 0);
        if is_stuck {
            found.extend(around(after, &knot, start));
        }
    }
    found.sort();
    found
}

/// The shortest path from a node back to itself within a group, if there is one.
fn around(after: &[Vec<usize>], knot: &[usize], start: usize) -> Option<Vec<usize>> {
    let mut came: trefoil_syntax::hash::HashMap<usize, usize> = trefoil_syntax::hash::HashMap::default();
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for &next in after.get(node).into_iter().flatten() {
            if next == start {
                let mut path = vec![node];
                let mut at = node;
                while at != start {
                    at = *came.get(&at)?;
                    path.push(at);
                }
                path.reverse();
                return Some(path);
            }
            if knot.contains(&next) && !came.contains_key(&next) {
                came.insert(next, node);
                queue.push_back(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::SirenNodeOrder;

    #[test]
    fn ties_go_by_declaration() {
        let order = SirenNodeOrder::new(4, &[(3, 0), (2, 1)]).map(|o| o.sequence).unwrap_or_default();
        assert_eq!(order, [2, 1, 3, 0]);
    }

    #[test]
    fn precedence_is_transitive() {
        let order = SirenNodeOrder::new(3, &[(0, 1), (1, 2)]).ok().unwrap();
        assert!(order.ends_before(0, 2));
        assert!(!order.ends_before(2, 0));
        assert_eq!(order.preceding_nodes(2).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn every_knot_gives_its_shortest_cycle() {
        let pairs = [(0, 1), (1, 2), (2, 0), (1, 0), (3, 3), (2, 4)];
        assert_eq!(SirenNodeOrder::new(5, &pairs).err(), Some(vec![vec![0, 1], vec![3]]));
    }
}
