//! Which nodes of a graph can run in the same run, although edges have conditions: tried with every kind of value that
//! the conditions distinguish. Two nodes are said to run together only if that is certain.

use std::cell::RefCell;
use std::collections::BTreeMap;

use trefoil_ir::solver::{ConditionCase, ConditionCases};
use trefoil_ir::{BoundCondition, GraphEdge, IndexVec, NodeId, SlotId, StepGraph};

/// The maximum number of conditions times cases that are tried.
const MOST: usize = 40_000;

/// Sets of nodes that run together.
pub struct JointRunSets<'g> {
    edges: EdgeConditions<'g>,
    /// Each set with the number of its case, and the condition that is assumed to hold in it although it cannot be
    /// tried.
    sets: Vec<(IndexVec<NodeId, bool>, usize, Option<usize>)>,
    /// The conditions that cannot be tried, each once.
    texts: Vec<&'g str>,
    /// The values with which a set runs, computed on request.
    told: RefCell<BTreeMap<usize, String>>,
}

/// The conditions of a graph's edges.
struct EdgeConditions<'g> {
    graph: &'g StepGraph,
    conditions: Vec<&'g BoundCondition>,
    cases: ConditionCases,
    /// For each condition that cannot be tried: its index among the distinct ones.
    open: Vec<Option<usize>>,
    /// For each value: the first one that may be the same value under another name.
    kin: Vec<usize>,
}

impl<'g> JointRunSets<'g> {
    /// The sets for a graph; `None` if there are too many cases.
    pub fn for_graph(graph: &'g StepGraph) -> Option<Self> {
        let conditions: Vec<&BoundCondition> =
            graph.nodes.iter().flat_map(|n| &n.incoming).filter_map(|e| e.when.as_ref()).collect();
        if conditions.is_empty() || conditions.len() > MOST {
            return None;
        }
        let cases = ConditionCases::new(conditions.iter().copied(), &|_, _| None)?;
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
        let mut count = 0usize;
        let most = MOST / (conditions.len() * (texts.len() + 1));
        cases.visit_cases(false, &mut |_| {
            count += 1;
            count <= most
        });
        if count > most {
            return None;
        }
        let kin = shared_slot_values(&cases);
        let edges = EdgeConditions { graph, conditions, cases, open, kin };
        let mut sets: Vec<(IndexVec<NodeId, bool>, usize, Option<usize>)> = Vec::new();
        let mut at = 0;
        edges.cases.visit_cases(false, &mut |case| {
            for chosen in std::iter::once(None).chain((0..texts.len()).map(Some)) {
                if let Some(set) = edges.nodes_running_in(case, chosen)
                    && !sets.iter().any(|(known, ..)| *known == set)
                {
                    sets.push((set, at, chosen));
                }
            }
            at += 1;
            true
        });
        Some(Self { edges, sets, texts, told: RefCell::default() })
    }

    /// The values with which both nodes run, if any.
    pub fn values_for_both(&self, a: NodeId, b: NodeId) -> Option<String> {
        let found = self.sets.iter().position(|(set, ..)| set[a] && set[b])?;
        Some(self.told.borrow_mut().entry(found).or_insert_with(|| self.values(found)).clone())
    }

    fn values(&self, found: usize) -> String {
        let Some((set, number, chosen)) = self.sets.get(found) else { return String::new() };
        let mut values = String::new();
        let mut at = 0;
        self.edges.cases.visit_cases(false, &mut |case| {
            if at == *number {
                values =
                    case.describe_values(&|other| self.edges.nodes_running_in(other, *chosen).as_ref() == Some(set));
            }
            at += 1;
            at <= *number
        });
        if let Some(text) = chosen.and_then(|c| self.texts.get(c)) {
            let and = if values.is_empty() { "" } else { " and " };
            values = format!("{values}{and}`{text}`");
        }
        values
    }
}

impl EdgeConditions<'_> {
    /// Whether the condition that is assumed to hold can hold together with the rest: because the case's own values
    /// satisfy it, or because no other condition that holds reads its values.
    fn agree(&self, case: &ConditionCase<'_>, holds: &[bool]) -> bool {
        let kin = |at: usize| self.cases.read_by(at).filter_map(|read| self.kin.get(read).copied());
        let open = |at: usize| self.open.get(at).copied().flatten().is_some();
        let holding = |at: &usize| holds.get(*at) == Some(&true);
        (0..holds.len()).filter(holding).filter(|at| open(*at) && !case.condition_holds(*at)).all(|at| {
            let mut others = (0..holds.len()).filter(holding).filter(|other| !open(*other));
            !others.any(|other| kin(other).any(|k| kin(at).any(|mine| mine == k)))
        })
    }
    /// The nodes that run in a case. `None`: the case may be impossible.
    fn nodes_running_in(&self, case: &ConditionCase<'_>, chosen: Option<usize>) -> Option<IndexVec<NodeId, bool>> {
        let holds: Vec<bool> = (0..self.conditions.len())
            .map(|at| match self.open.get(at).copied().flatten() {
                Some(group) => Some(group) == chosen,
                None => case.condition_holds(at),
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
        if chosen.is_some() && !self.agree(case, &holds) {
            return None;
        }
        // The conditions are in the order of the edges.
        let mut taken = holds.into_iter();
        let mut takes = |edge: &GraphEdge| edge.when.is_none() || taken.next().unwrap_or(false);
        let edges: IndexVec<NodeId, Vec<bool>> =
            self.graph.nodes.map(|node| node.incoming.iter().map(&mut takes).collect());
        Some(super::find_running_nodes(self.graph, &|id, node, is| {
            let mut taken = node.incoming.iter().zip(&edges[id]);
            let led = taken.any(|(edge, taken)| *taken && is(edge.from));
            node.fallback_of.is_empty() && (node.incoming.is_empty() || led)
        }))
    }
}

/// For each value, the first one that shares a slot with it: `working.intent` and `working.triage.output` may be the
/// same text.
fn shared_slot_values(cases: &ConditionCases) -> Vec<usize> {
    let slots: Vec<Vec<SlotId>> = cases.values().iter().map(|read| read.source().slot_ids()).collect();
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
