//! Computes one order of the nodes from edges, fallbacks, file order and template references. Also records mistakes for
//! finders to report: cycles, edges without effect.

use super::node_reads::{self, NodeRead};
use super::order::SirenNodeOrder;
use super::texts::ParsedNodeText;
use super::workflow_names::SirenNames;
use crate::sirenspec::manifest::{NodeFailurePolicy, NodeKind, SirenManifest};

/// The links between the nodes of a workflow.
#[derive(Default)]
pub struct NodeLinks {
    /// Edges between existing nodes, except those to fallbacks.
    pub edges: Vec<NodeEdge>,
    /// Edges to fallbacks, which only affect the order.
    pub idle: Vec<NodeEdge>,
    /// For each node: the node that runs when it fails.
    pub fallback: Vec<Option<usize>>,
    /// For each node: the nodes whose fallback it is.
    pub fallback_of: Vec<Vec<usize>>,
    /// For each node: nodes that must end first, in addition to those with edges to it.
    pub after: Vec<Vec<usize>>,
    /// Whether there are no edges, so that nodes run in file order.
    pub chain: bool,
    /// Which nodes end before which others; `None` if there is a cycle.
    pub order: Option<SirenNodeOrder>,
    /// Which nodes' templates read the results of which other nodes.
    pub reads: Vec<NodeRead>,
    /// The cycles, if there are any.
    pub knots: NodeCycles,
    /// For each node: its incoming edges.
    into: Vec<Vec<usize>>,
    /// For each node: whether it counts as done, without a result, when it fails.
    skips: Vec<bool>,
    /// For each node: whether it runs in every run.
    always: Vec<bool>,
}

/// An edge.
#[derive(Debug, Clone, Copy)]
pub struct NodeEdge {
    /// Its source.
    pub from: usize,
    /// Its target.
    pub to: usize,
    /// Its index in the manifest.
    pub edge: usize,
    /// It has a condition.
    pub conditional: bool,
}

/// Cycles of nodes that wait for each other.
#[derive(Default)]
pub struct NodeCycles {
    /// Cycles caused by edges and fallbacks.
    pub edges: Vec<Vec<usize>>,
    /// Cycles caused by reads in templates.
    pub reads: Vec<Vec<usize>>,
    /// If there are cycles of the second kind, the order without template reads.
    pub base: Option<SirenNodeOrder>,
}

impl NodeLinks {
    /// Computes the links.
    pub fn new(manifest: &SirenManifest<'_>, known: &SirenNames, texts: &[ParsedNodeText]) -> Self {
        let n = manifest.nodes.len();
        let mut links = Self {
            fallback: vec![None; n],
            fallback_of: vec![Vec::new(); n],
            after: vec![Vec::new(); n],
            chain: manifest.edges.is_empty(),
            into: vec![Vec::new(); n],
            skips: vec![false; n],
            always: vec![false; n],
            reads: node_reads::find_reads(known, texts),
            ..Self::default()
        };
        links.fallbacks(manifest, known);
        links.resolve_edges(manifest, known);
        let mut pairs: Vec<(usize, usize)> = links.edges.iter().map(|l| (l.from, l.to)).collect();
        for (main, fallback) in links.fallback.iter().enumerate() {
            if let Some(fallback) = fallback {
                pairs.push((main, *fallback));
            }
        }
        if links.chain {
            let chain = links.file_order();
            for (first, then) in chain.iter().zip(chain.iter().skip(1)) {
                pairs.push((*first, *then));
                if let Some(after) = links.after.get_mut(*then) {
                    after.push(*first);
                }
            }
        }
        links.part_idle_edges();
        for (at, link) in links.edges.iter().enumerate() {
            if let Some(list) = links.into.get_mut(link.to) {
                list.push(at);
            }
        }
        links.put_in_order(n, pairs);
        links.find_always();
        links
    }

    fn fallbacks(&mut self, manifest: &SirenManifest<'_>, known: &SirenNames) {
        for (at, node) in manifest.nodes.iter().enumerate() {
            let NodeKind::Agent(agent) = &node.kind else { continue };
            let target = match agent.on_failure.as_ref().or(manifest.defaults.on_failure.as_ref()) {
                Some(NodeFailurePolicy::Fallback(target)) => target,
                Some(NodeFailurePolicy::Skip) => {
                    if let Some(skips) = self.skips.get_mut(at) {
                        *skips = true;
                    }
                    continue;
                }
                _ => continue,
            };
            let Some(found) = known.node_of(&target.value) else { continue };
            if found != at
                && let (Some(fallback), Some(mains)) = (self.fallback.get_mut(at), self.fallback_of.get_mut(found))
            {
                *fallback = Some(found);
                mains.push(at);
            }
        }
    }

    fn resolve_edges(&mut self, manifest: &SirenManifest<'_>, known: &SirenNames) {
        for (edge, written) in manifest.edges.iter().enumerate() {
            if let (Some(from), Some(to)) = (known.node_of(&written.from.value), known.node_of(&written.to.value)) {
                self.edges.push(NodeEdge { from, to, edge, conditional: written.when.is_some() });
            }
        }
    }

    /// The nodes in file order, but a fallback never before its node.
    fn file_order(&self) -> Vec<usize> {
        let n = self.fallback.len();
        let mut placed = vec![false; n];
        let mut order = Vec::with_capacity(n);
        let mut place = |from: usize, order: &mut Vec<usize>| {
            let mut todo = vec![from];
            while let Some(at) = todo.pop() {
                let done = placed.get(at).copied().unwrap_or(true);
                if done || self.replaced_by(at).iter().any(|main| !placed.get(*main).copied().unwrap_or(false)) {
                    continue;
                }
                if let Some(mark) = placed.get_mut(at) {
                    *mark = true;
                }
                order.push(at);
                // A fallback that is further down in the file is visited later.
                if let Some(Some(fallback)) = self.fallback.get(at)
                    && *fallback < from
                {
                    todo.push(*fallback);
                }
            }
        };
        for at in 0..n {
            place(at, &mut order);
        }
        order
    }

    /// Separates the edges to fallbacks, because a fallback runs when its node fails, whatever edges it has.
    fn part_idle_edges(&mut self) {
        let Self { edges, idle, fallback_of, after, .. } = self;
        edges.retain(|link| {
            let stands_in = matches!(fallback_of.get(link.to), Some(mains) if !mains.is_empty());
            if stands_in {
                idle.push(*link);
                if let Some(list) = after.get_mut(link.to) {
                    list.push(link.from);
                }
            }
            !stands_in
        });
    }

    /// Computes the order from these pairs and from template reads, or records the cycles that prevent one.
    fn put_in_order(&mut self, n: usize, mut pairs: Vec<(usize, usize)>) {
        let mut by_id: Vec<(usize, usize)> = Vec::new();
        for read in &self.reads {
            if read.by_id {
                by_id.push((read.source, read.reader));
            }
        }
        let read_each_other = SirenNodeOrder::new(n, &by_id).err().unwrap_or_default();
        let base = match SirenNodeOrder::new(n, &pairs) {
            Ok(base) => base,
            Err(edges) => {
                self.knots = NodeCycles { edges, reads: read_each_other, base: None };
                return;
            }
        };
        if !read_each_other.is_empty() {
            self.knots = NodeCycles { edges: Vec::new(), reads: read_each_other, base: Some(base) };
            return;
        }
        let before = pairs.len();
        for read in &self.reads {
            // A node never waits for one that runs later. A reference by id to it is reported when the template is
            // bound; a path reads the value from before.
            let settled = base.ends_before(read.source, read.reader) || base.ends_before(read.reader, read.source);
            if settled || read.reader == read.source || self.chain {
                continue;
            }
            pairs.push((read.source, read.reader));
            if let Some(list) = self.after.get_mut(read.reader)
                && !list.contains(&read.source)
            {
                list.push(read.source);
            }
        }
        if pairs.len() == before {
            self.order = Some(base);
            return;
        }
        match SirenNodeOrder::new(n, &pairs) {
            Ok(order) => self.order = Some(order),
            Err(reads) => self.knots = NodeCycles { edges: Vec::new(), reads, base: Some(base) },
        }
    }

    fn find_always(&mut self) {
        let Some(order) = &self.order else { return };
        let mut always = vec![false; self.into.len()];
        for &node in &order.sequence {
            let mut has_incoming = false;
            let mut certain = false;
            for link in self.incoming_edges(node) {
                has_incoming = true;
                let source_runs = always.get(link.from).copied().unwrap_or(false);
                let cannot_fail_over = matches!(self.fallback.get(link.from), Some(None));
                if source_runs && !link.conditional && cannot_fail_over {
                    certain = true;
                    break;
                }
            }
            let reached = certain || !has_incoming;
            if let Some(place) = always.get_mut(node) {
                *place = reached && self.replaced_by(node).is_empty();
            }
        }
        self.always = always;
    }

    /// The nodes whose fallback a node is.
    pub fn replaced_by(&self, node: usize) -> &[usize] {
        match self.fallback_of.get(node) {
            Some(mains) => mains,
            None => &[],
        }
    }

    /// Whether the node runs in every run.
    pub fn always_runs(&self, node: usize) -> bool {
        self.always.get(node).copied().unwrap_or(false)
    }

    /// Whether the node counts as done, without a result, when it fails.
    pub fn skips_on_failure(&self, node: usize) -> bool {
        self.skips.get(node).copied().unwrap_or(false)
    }

    /// The edges into a node.
    pub fn incoming_edges(&self, node: usize) -> impl Iterator<Item = &NodeEdge> {
        self.into.get(node).into_iter().flatten().filter_map(|at| self.edges.get(*at))
    }
}
