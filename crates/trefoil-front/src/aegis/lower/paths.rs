//! Which states have run before which: always, on some ways, never.

/// The order of states, from transitions whose targets exist.
pub(super) struct Paths {
    reachable: Vec<bool>,
    /// Per state: ran before it on every way in.
    always: Vec<Vec<bool>>,
    /// Per state: ran before it on some way in.
    sometimes: Vec<Vec<bool>>,
    edges: Vec<Vec<usize>>,
    terminal: Vec<bool>,
}

/// When something has run before a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    /// Whatever way was taken.
    Always,
    /// Depends on the way.
    Sometimes,
    /// On no way.
    Never,
}

impl Paths {
    /// `edges[s]` are the targets of state `s`; a state is terminal when nothing is meant to lead out of it.
    pub fn new(initial: usize, edges: Vec<Vec<usize>>, terminal: Vec<bool>) -> Self {
        let n = edges.len();
        let mut reachable = vec![false; n];
        let mut stack = vec![initial];
        while let Some(s) = stack.pop() {
            if let Some(seen) = reachable.get_mut(s)
                && !std::mem::replace(seen, true)
            {
                stack.extend(edges.get(s).into_iter().flatten().copied());
            }
        }
        let mut incoming = vec![Vec::new(); n];
        for (s, targets) in edges.iter().enumerate() {
            for t in targets {
                if reachable.get(s) == Some(&true)
                    && let Some(list) = incoming.get_mut(*t)
                {
                    list.push(s);
                }
            }
        }
        let always = solve(n, initial, &incoming, true);
        let sometimes = solve(n, initial, &incoming, false);
        Self { reachable, always, sometimes, edges, terminal }
    }

    /// Whether any way leads there.
    pub fn reachable(&self, state: usize) -> bool {
        self.reachable.get(state) == Some(&true)
    }

    /// Whether `earlier` has run when `state` is entered.
    pub fn before(&self, earlier: usize, state: usize) -> Before {
        let has = |sets: &[Vec<bool>]| sets.get(state).and_then(|set| set.get(earlier)) == Some(&true);
        match (has(&self.always), has(&self.sometimes)) {
            (true, _) => Before::Always,
            (false, true) => Before::Sometimes,
            (false, false) => Before::Never,
        }
    }

    /// Whether a state has run when the workflow has ended.
    pub fn at_end(&self, earlier: usize) -> Before {
        let mut seen = [false, false];
        for (end, _) in self.terminal.iter().enumerate().filter(|(s, t)| **t && self.reachable(*s)) {
            match if end == earlier { Before::Always } else { self.before(earlier, end) } {
                Before::Always => seen[0] = true,
                Before::Sometimes => return Before::Sometimes,
                Before::Never => seen[1] = true,
            }
        }
        match seen {
            [true, false] => Before::Always,
            [true, true] => Before::Sometimes,
            _ => Before::Never,
        }
    }

    /// Reachable states from which no terminal state can be reached.
    pub fn endless(&self) -> Vec<usize> {
        let n = self.edges.len();
        let mut ends: Vec<bool> = self.terminal.clone();
        loop {
            let grown: Vec<usize> = (0..n)
                .filter(|s| ends.get(*s) == Some(&false))
                .filter(|s| self.edges.get(*s).into_iter().flatten().any(|t| ends.get(*t) == Some(&true)))
                .collect();
            if grown.is_empty() {
                break;
            }
            for s in grown {
                if let Some(end) = ends.get_mut(s) {
                    *end = true;
                }
            }
        }
        (0..n).filter(|s| self.reachable(*s) && ends.get(*s) == Some(&false)).collect()
    }
}

/// The fixed point of "what ran before": the intersection over the ways in, or the union.
fn solve(n: usize, initial: usize, incoming: &[Vec<usize>], all: bool) -> Vec<Vec<bool>> {
    let mut sets = vec![vec![all; n]; n];
    if let Some(first) = sets.get_mut(initial) {
        *first = vec![false; n];
    }
    let mut changed = true;
    while changed {
        changed = false;
        for s in 0..n {
            // The run begins at the initial state: nothing has run before it on that way.
            let mut next = vec![all && s != initial; n];
            for from in incoming.get(s).into_iter().flatten() {
                let Some(before) = sets.get(*from) else { continue };
                for (i, value) in next.iter_mut().enumerate() {
                    let ran = before.get(i) == Some(&true) || i == *from;
                    *value = if all { *value && ran } else { *value || ran };
                }
            }
            if let Some(set) = sets.get_mut(s)
                && *set != next
            {
                *set = next;
                changed = true;
            }
        }
    }
    sets
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "tests")]
mod tests {
    use super::{Before, Paths};

    /// 0 -> 1 -> 2 -> 0 and 2 -> 3; 4 stands apart.
    fn looped() -> Paths {
        let edges = vec![vec![1], vec![2], vec![0, 3], vec![], vec![3]];
        Paths::new(0, edges, vec![false, false, false, true, false])
    }

    #[test]
    fn a_loop_makes_later_states_sometimes_earlier() {
        let paths = looped();
        assert_eq!(paths.before(2, 0), Before::Sometimes, "2 runs before 0 only on the second round");
        assert_eq!(paths.before(0, 2), Before::Always);
        assert_eq!(paths.before(1, 1), Before::Sometimes, "a state precedes itself only on a revisit");
        assert_eq!(paths.before(3, 1), Before::Never);
    }

    #[test]
    fn what_nothing_leads_to_is_unreachable_and_does_not_count() {
        let paths = looped();
        assert!(!paths.reachable(4));
        assert_eq!(paths.before(4, 3), Before::Never);
    }

    #[test]
    fn at_the_end_counts_every_terminal_state() {
        let paths = Paths::new(0, vec![vec![1, 2], vec![], vec![]], vec![false, true, true]);
        assert_eq!(paths.at_end(0), Before::Always);
        assert_eq!(paths.at_end(1), Before::Sometimes);
        assert_eq!(looped().at_end(1), Before::Always);
    }

    #[test]
    fn states_without_a_way_out_are_found() {
        let paths = Paths::new(0, vec![vec![1, 3], vec![2], vec![1], vec![]], vec![false, false, false, true]);
        assert_eq!(paths.endless(), [1, 2]);
        assert!(looped().endless().is_empty());
    }
}
