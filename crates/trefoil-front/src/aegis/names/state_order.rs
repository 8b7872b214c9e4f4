//! Which states have run before which others: always, sometimes or never.

/// The order of states, computed from transitions whose targets exist.
pub struct StateOrder {
    reachable: StateSet,
    /// For each state: those that ran before it on every path.
    always: Vec<StateSet>,
    /// For each state: those that ran before it on some path.
    sometimes: Vec<StateSet>,
    terminal: Vec<bool>,
}

/// Whether something has run before a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatePrecedence {
    /// On every path.
    Always,
    /// On some paths.
    Sometimes,
    /// On no path.
    Never,
}

/// A set of states, one bit each.
#[derive(Debug, Clone, PartialEq, Eq)]
struct StateSet(Vec<u64>);

impl StateSet {
    fn new(n: usize, full: bool) -> Self {
        Self(vec![if full { u64::MAX } else { 0 }; n.div_ceil(64)])
    }
    fn has(&self, i: usize) -> bool {
        matches!(self.0.get(i / 64), Some(word) if word >> (i % 64) & 1 == 1)
    }
    /// Adds a state; returns whether it was new.
    fn add(&mut self, i: usize) -> bool {
        let new = !self.has(i);
        if let Some(word) = self.0.get_mut(i / 64) {
            *word |= 1 << (i % 64);
        }
        new
    }
    fn fill(&mut self, full: bool) {
        self.0.fill(if full { u64::MAX } else { 0 });
    }
    /// Replaces the set by the intersection with the other one, or by the union.
    fn join(&mut self, other: &Self, keep: bool) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word = if keep { *word & other } else { *word | other };
        }
    }
}

impl StateOrder {
    /// `edges[s]` are the targets of state `s`. A state is terminal if it is not meant to have transitions.
    pub fn new(initial: usize, edges: &[Vec<usize>], terminal: Vec<bool>) -> Self {
        let n = edges.len();
        let (order, reachable) = forward(initial, edges);
        let mut incoming = vec![Vec::new(); n];
        for (state, targets) in edges.iter().enumerate() {
            if !reachable.has(state) {
                continue;
            }
            for target in targets {
                if let Some(list) = incoming.get_mut(*target) {
                    list.push(state);
                }
            }
        }
        let always = solve(n, initial, &order, &incoming, true);
        let sometimes = solve(n, initial, &order, &incoming, false);
        Self { reachable, always, sometimes, terminal }
    }

    /// Whether any path leads to the state.
    pub fn is_reachable(&self, state: usize) -> bool {
        self.reachable.has(state)
    }

    /// Whether `earlier` has run when `state` is entered.
    pub fn precedence_of(&self, earlier: usize, state: usize) -> StatePrecedence {
        let has = |sets: &[StateSet]| matches!(sets.get(state), Some(set) if set.has(earlier));
        match (has(&self.always), has(&self.sometimes)) {
            (true, true) => StatePrecedence::Always,
            (_, true) => StatePrecedence::Sometimes,
            (_, false) => StatePrecedence::Never,
        }
    }

    /// Whether a state has run before the end of the workflow.
    pub fn at_end(&self, earlier: usize) -> StatePrecedence {
        let (mut with, mut without) = (false, false);
        for (end, is_terminal) in self.terminal.iter().enumerate() {
            if !*is_terminal || !self.is_reachable(end) {
                continue;
            }
            match if end == earlier { StatePrecedence::Always } else { self.precedence_of(earlier, end) } {
                StatePrecedence::Always => with = true,
                StatePrecedence::Sometimes => return StatePrecedence::Sometimes,
                StatePrecedence::Never => without = true,
            }
        }
        match (with, without) {
            (true, false) => StatePrecedence::Always,
            (true, true) => StatePrecedence::Sometimes,
            (false, _) => StatePrecedence::Never,
        }
    }
}

/// The reachable states in reverse postorder, in which the fixed point is reached fastest.
fn forward(initial: usize, edges: &[Vec<usize>]) -> (Vec<usize>, StateSet) {
    let mut seen = StateSet::new(edges.len(), false);
    let mut order = Vec::new();
    // A state, and how many of its targets were visited.
    let mut stack = Vec::new();
    if initial < edges.len() {
        seen.add(initial);
        stack.push((initial, 0));
    }
    while let Some((state, done)) = stack.pop() {
        match edges.get(state).and_then(|targets| targets.get(done)) {
            Some(target) => {
                stack.push((state, done + 1));
                if *target < edges.len() && seen.add(*target) {
                    stack.push((*target, 0));
                }
            }
            None => order.push(state),
        }
    }
    order.reverse();
    (order, seen)
}

/// The fixed point of "ran before": the intersection over all incoming paths, or the union.
fn solve(n: usize, initial: usize, order: &[usize], incoming: &[Vec<usize>], all: bool) -> Vec<StateSet> {
    let mut sets = vec![StateSet::new(n, all); n];
    let mut next = StateSet::new(n, false);
    let mut changed = true;
    while changed {
        changed = false;
        for s in order {
            // Nothing has run before the initial state on the path that starts the run.
            next.fill(all && *s != initial);
            for from in incoming.get(*s).into_iter().flatten() {
                let Some(before) = sets.get(*from) else { continue };
                // The state on this way has run as well.
                let kept = !all || next.has(*from);
                next.join(before, all);
                if kept {
                    next.add(*from);
                }
            }
            if let Some(set) = sets.get_mut(*s)
                && *set != next
            {
                set.0.clone_from(&next.0);
                changed = true;
            }
        }
    }
    sets
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "tests")]
mod tests {
    use super::{StateOrder, StatePrecedence};

    /// 0 -> 1 -> 2 -> 0 and 2 -> 3; 4 is not connected.
    fn looped() -> StateOrder {
        let edges = vec![vec![1], vec![2], vec![0, 3], vec![], vec![3]];
        StateOrder::new(0, &edges, vec![false, false, false, true, false])
    }

    #[test]
    fn a_loop_makes_later_states_sometimes_earlier() {
        let paths = looped();
        assert_eq!(paths.precedence_of(2, 0), StatePrecedence::Sometimes, "2 runs before 0 only on the second round");
        assert_eq!(paths.precedence_of(0, 2), StatePrecedence::Always);
        assert_eq!(paths.precedence_of(1, 1), StatePrecedence::Sometimes, "a state precedes itself only on a revisit");
        assert_eq!(paths.precedence_of(3, 1), StatePrecedence::Never);
    }

    #[test]
    fn what_nothing_leads_to_is_unreachable_and_does_not_count() {
        let paths = looped();
        assert!(!paths.is_reachable(4));
        assert_eq!(paths.precedence_of(4, 3), StatePrecedence::Never);
    }

    #[test]
    fn at_the_end_counts_every_terminal_state() {
        let paths = StateOrder::new(0, &[vec![1, 2], vec![], vec![]], vec![false, true, true]);
        assert_eq!(paths.at_end(0), StatePrecedence::Always);
        assert_eq!(paths.at_end(1), StatePrecedence::Sometimes);
        assert_eq!(looped().at_end(1), StatePrecedence::Always);
    }
}
