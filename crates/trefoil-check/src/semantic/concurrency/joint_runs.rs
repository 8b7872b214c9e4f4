//! Which nodes of a graph can run in the same run, although edges have conditions: tried with every kind of value that
//! the conditions distinguish. Two nodes are said to run together only if that is certain.

use std::cell::RefCell;
use std::collections::BTreeMap;

use trefoil_ir::solver::{ConditionCase, ConditionCases};
use trefoil_ir::{BoundCondition, IndexVec, NodeId, SlotId, StepGraph};

use super::index_or_add;

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
        let mut conditions: Vec<&BoundCondition> = Vec::new();
        for node in &graph.nodes {
            for edge in &node.incoming {
                conditions.extend(&edge.when);
            }
        }
        if conditions.is_empty() || conditions.len() > MOST {
            return None;
        }
        let cases = ConditionCases::new(conditions.iter().copied(), &|_, _| None)?;
        let mut texts: Vec<&str> = Vec::new();
        let mut open = Vec::new();
        for (at, cond) in conditions.iter().enumerate() {
            open.push(if cases.is_open(at) { Some(index_or_add(&mut texts, cond.text.trim())) } else { None });
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
        let mut choices = vec![None];
        choices.extend((0..texts.len()).map(Some));
        let mut sets: Vec<(IndexVec<NodeId, bool>, usize, Option<usize>)> = Vec::new();
        let mut at = 0;
        edges.cases.visit_cases(false, &mut |case| {
            for &chosen in &choices {
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
        if let Some(chosen) = chosen
            && let Some(text) = self.texts.get(*chosen)
        {
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
        for (at, is_met) in holds.iter().enumerate() {
            if !is_met || !self.is_open(at) || case.condition_holds(at) {
                continue;
            }
            for (other, is_met) in holds.iter().enumerate() {
                if *is_met && !self.is_open(other) && self.may_read_same_value(at, other) {
                    return false;
                }
            }
        }
        true
    }
    /// Whether a condition cannot be tried.
    fn is_open(&self, condition: usize) -> bool {
        matches!(self.open.get(condition), Some(Some(_)))
    }
    fn may_read_same_value(&self, condition: usize, other: usize) -> bool {
        for read in self.cases.read_by(condition) {
            for other_read in self.cases.read_by(other) {
                if let (Some(value), Some(other_value)) = (self.kin.get(read), self.kin.get(other_read))
                    && value == other_value
                {
                    return true;
                }
            }
        }
        false
    }
    /// The nodes that run in a case. `None`: the case may be impossible.
    fn nodes_running_in(&self, case: &ConditionCase<'_>, chosen: Option<usize>) -> Option<IndexVec<NodeId, bool>> {
        let mut holds = Vec::with_capacity(self.conditions.len());
        for at in 0..self.conditions.len() {
            holds.push(match self.open.get(at) {
                Some(Some(group)) => Some(*group) == chosen,
                _ => case.condition_holds(at),
            });
        }
        let mut told: Vec<usize> = Vec::new();
        for (at, is_met) in holds.iter().enumerate() {
            if !is_met {
                continue;
            }
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
        let mut outcomes = holds.into_iter();
        let mut taken: IndexVec<NodeId, Vec<bool>> = self.graph.nodes.map(|_| Vec::new());
        for (id, node) in self.graph.nodes.entries() {
            for edge in &node.incoming {
                taken[id].push(edge.when.is_none() || outcomes.next().unwrap_or(false));
            }
        }
        Some(super::find_running_nodes(self.graph, &|id, node, runs| {
            let mut edges = node.incoming.iter().zip(&taken[id]);
            node.fallback_of.is_empty()
                && (node.incoming.is_empty() || edges.any(|(edge, is_taken)| *is_taken && runs(edge.from)))
        }))
    }
}

/// For each value, the first one that shares a slot with it: `working.intent` and `working.triage.output` may be the
/// same text.
fn shared_slot_values(cases: &ConditionCases) -> Vec<usize> {
    let slots: Vec<Vec<SlotId>> = cases.values().iter().map(|read| read.source().slot_ids()).collect();
    let mut kin: Vec<usize> = Vec::with_capacity(slots.len());
    for (at, mine) in slots.iter().enumerate() {
        let first = slots.iter().take(at).position(|other| other.iter().any(|slot| mine.contains(slot)));
        let first_kin = match first {
            Some(first) => kin.get(first).copied(),
            None => None,
        };
        kin.push(first_kin.unwrap_or(at));
    }
    kin
}
