//! Which nodes of a graph run in one run although conditions stand on the edges to them: tried out on every sort of value
//! that the conditions tell apart. Says of two nodes that they can run together only where that is so for sure.

use trefoil_ir::{Cond, Graph, Source};

use super::cases::{Case, Cases};

/// Conditions times cases: more are not tried.
const MOST: usize = 40_000;

/// Sets of nodes that run together, each with the values for which they do.
pub struct Together(Vec<(Vec<bool>, String)>);

/// What the edges of a graph depend on.
struct Edges<'g> {
    graph: &'g Graph,
    conditions: Vec<&'g Cond>,
    cases: Cases,
    /// Of every condition that cannot be tried: which of those that read the same it is.
    open: Vec<Option<usize>>,
    /// For every value: the first one that may be the same value under another name.
    kin: Vec<usize>,
}

impl Together {
    /// Of a graph; none where too much would have to be tried.
    pub fn of(graph: &Graph) -> Option<Self> {
        let conditions: Vec<&Cond> =
            graph.nodes.iter().flat_map(|n| &n.incoming).filter_map(|e| e.when.as_ref()).collect();
        let cases = Cases::new(conditions.iter().copied(), &|_, _| None)?;
        let mut count = 0usize;
        cases.each(false, &mut |_| {
            count += 1;
            count <= MOST
        });
        let mut texts: Vec<&str> = Vec::new();
        let mut open = Vec::new();
        for (at, cond) in conditions.iter().enumerate() {
            open.push(cases.is_open(at).then(|| {
                let text = cond.text.trim();
                texts.iter().position(|t| *t == text).unwrap_or_else(|| {
                    texts.push(text);
                    texts.len() - 1
                })
            }));
        }
        if conditions.is_empty() || count.saturating_mul(conditions.len() * (texts.len() + 1)) > MOST {
            return None;
        }
        let kin = kin(&cases);
        let edges = Edges { graph, conditions, cases, open, kin };
        let mut found: Vec<(Vec<bool>, String)> = Vec::new();
        edges.cases.each(false, &mut |case| {
            for chosen in std::iter::once(None).chain((0..texts.len()).map(Some)) {
                let Some(set) = edges.running(case, chosen) else { continue };
                if !found.iter().any(|(known, _)| *known == set) {
                    let mut values = case.describe(&|other| edges.running(other, chosen).as_ref() == Some(&set));
                    if let Some(text) = chosen.and_then(|c| texts.get(c)) {
                        let and = if values.is_empty() { "" } else { " and " };
                        values = format!("{values}{and}`{text}`");
                    }
                    found.push((set, values));
                }
            }
            true
        });
        Some(Self(found))
    }

    /// With which values both run, if there are any.
    pub fn both(&self, a: usize, b: usize) -> Option<&str> {
        let runs = |set: &[bool], at: usize| set.get(at) == Some(&true);
        self.0.iter().find(|(set, _)| runs(set, a) && runs(set, b)).map(|(_, values)| &**values)
    }
}

impl Edges<'_> {
    /// The nodes that run in a case. None: a case that there may not be.
    fn running(&self, case: &Case<'_>, chosen: Option<usize>) -> Option<Vec<bool>> {
        let holds: Vec<bool> = (0..self.conditions.len())
            .map(|at| match self.open.get(at).copied().flatten() {
                Some(group) => Some(group) == chosen,
                None => case.holds(at),
            })
            .collect();
        let mut told: Vec<usize> = Vec::new();
        for (at, _) in holds.iter().enumerate().filter(|(_, holds)| **holds) {
            for read in self.cases.read_by(at) {
                let same = |other: &usize| *other != read && self.kin.get(*other) == self.kin.get(read);
                if told.iter().any(same) {
                    return None;
                }
                told.push(read);
            }
        }
        let mut runs: Vec<bool> =
            self.graph.nodes.iter().map(|n| n.incoming.is_empty() && n.fallback_of.is_empty()).collect();
        loop {
            let mut more = false;
            let mut condition = 0;
            for (at, node) in self.graph.nodes.iter().enumerate() {
                for edge in &node.incoming {
                    let taken = match edge.when {
                        Some(_) => {
                            condition += 1;
                            holds.get(condition - 1).copied().unwrap_or(false)
                        }
                        None => true,
                    };
                    let from = runs.get(edge.from.index()).copied().unwrap_or(false);
                    if let Some(run) = runs.get_mut(at)
                        && taken
                        && from
                        && !*run
                        && node.fallback_of.is_empty()
                    {
                        *run = true;
                        more = true;
                    }
                }
            }
            if !more {
                return Some(runs);
            }
        }
    }
}

/// For every value the first one that shares a slot with it: `working.intent` and `working.triage.output` may be one text.
fn kin(cases: &Cases) -> Vec<usize> {
    let slots: Vec<Vec<u32>> = cases.values().iter().map(|read| slots(read.source())).collect();
    let mut kin: Vec<usize> = (0..slots.len()).collect();
    for (at, mine) in slots.iter().enumerate() {
        let first = slots.iter().take(at).position(|other| other.iter().any(|s| mine.contains(s)));
        let root = first.and_then(|f| kin.get(f).copied());
        if let (Some(root), Some(place)) = (root, kin.get_mut(at)) {
            *place = root;
        }
    }
    kin
}

fn slots(source: &Source) -> Vec<u32> {
    match source {
        Source::Slot(slot) | Source::Member(slot, _) => vec![slot.0],
        Source::Layered { top, under, .. } => vec![top.0, under.0],
        Source::Either(a, b) => [slots(a), slots(b)].concat(),
        Source::Compose { parts, .. } => parts.iter().map(|p| p.slot.0).collect(),
        _ => Vec::new(),
    }
}
