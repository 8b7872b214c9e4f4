//! From edges, fallbacks, the order of the file and template references to one order of the nodes (decision S6). What is wrong
//! with it is kept for those who tell: cycles, edges that do not count.

use super::known::Known;
use super::order::Order;
use super::reads::{self, NodeRead};
use super::texts::OfNode;
use crate::sirenspec::manifest::{Manifest, NodeKind, OnFailure};

/// How the nodes of a workflow hang together.
#[derive(Default)]
pub struct Links {
    /// The edges whose ends there are, without those into fallbacks.
    pub edges: Vec<Link>,
    /// Edges into fallbacks: only their order counts.
    pub idle: Vec<Link>,
    /// Per node: the node that runs when it fails.
    pub fallback: Vec<Option<usize>>,
    /// Per node: the nodes in whose place it runs.
    pub fallback_of: Vec<Vec<usize>>,
    /// Per node: nodes that have to end first, beside its edges.
    pub after: Vec<Vec<usize>>,
    /// No edges: the order of the file.
    pub chain: bool,
    /// Who ends before whom; none when there is a cycle.
    pub order: Option<Order>,
    /// Which node's templates read what which other node leaves.
    pub reads: Vec<NodeRead>,
    /// The cycles, where there are any.
    pub knots: Knots,
    /// Per node: the edges into it.
    into: Vec<Vec<usize>>,
    /// Per node: it counts as done when it fails, without a result.
    skips: Vec<bool>,
    /// Per node: it runs in every run.
    always: Vec<bool>,
}

/// An edge.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    /// Its source.
    pub from: usize,
    /// Its target.
    pub to: usize,
    /// Its place in the manifest.
    pub edge: usize,
    /// It has a condition.
    pub conditional: bool,
}

/// Nodes that wait for each other.
#[derive(Default)]
pub struct Knots {
    /// By edges and fallbacks.
    pub edges: Vec<Vec<usize>>,
    /// By what templates read.
    pub reads: Vec<Vec<usize>>,
    /// The order without what templates read, where there are such knots.
    pub base: Option<Order>,
}

impl Links {
    /// Works it all out.
    pub fn new(manifest: &Manifest<'_>, known: &Known, texts: &[OfNode]) -> Self {
        let n = manifest.nodes.len();
        let mut links = Self {
            fallback: vec![None; n],
            fallback_of: vec![Vec::new(); n],
            after: vec![Vec::new(); n],
            chain: manifest.edges.is_empty(),
            into: vec![Vec::new(); n],
            skips: vec![false; n],
            always: vec![false; n],
            reads: reads::all(known, texts),
            ..Self::default()
        };
        links.fallbacks(manifest, known);
        links.resolve_edges(manifest, known);
        let mut pairs: Vec<(usize, usize)> = links.edges.iter().map(|l| (l.from, l.to)).collect();
        for (main, fallback) in links.fallback.iter().enumerate() {
            pairs.extend(fallback.map(|f| (main, f)));
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

    fn fallbacks(&mut self, manifest: &Manifest<'_>, known: &Known) {
        for (at, node) in manifest.nodes.iter().enumerate() {
            let NodeKind::Agent(agent) = &node.kind else { continue };
            let target = match agent.on_failure.as_ref().or(manifest.defaults.on_failure.as_ref()) {
                Some(OnFailure::Fallback(target)) => target,
                Some(OnFailure::Skip) => {
                    if let Some(skips) = self.skips.get_mut(at) {
                        *skips = true;
                    }
                    continue;
                }
                _ => continue,
            };
            let Some(found) = known.node_of(&target.value).filter(|found| *found != at) else { continue };
            if let (Some(f), Some(of)) = (self.fallback.get_mut(at), self.fallback_of.get_mut(found)) {
                *f = Some(found);
                of.push(at);
            }
        }
    }

    fn resolve_edges(&mut self, manifest: &Manifest<'_>, known: &Known) {
        for (edge, written) in manifest.edges.iter().enumerate() {
            if let (Some(from), Some(to)) = (known.node_of(&written.from.value), known.node_of(&written.to.value)) {
                self.edges.push(Link { from, to, edge, conditional: written.when.is_some() });
            }
        }
    }

    /// The nodes in the order of the file, a fallback never before the node it stands in for.
    fn file_order(&self) -> Vec<usize> {
        let n = self.fallback.len();
        let mut placed = vec![false; n];
        let mut order = Vec::with_capacity(n);
        let mut place = |from: usize, order: &mut Vec<usize>| {
            let mut todo = vec![from];
            while let Some(at) = todo.pop() {
                let mains = self.fallback_of.get(at).map(Vec::as_slice).unwrap_or_default();
                let done = placed.get(at).copied().unwrap_or(true);
                if done || mains.iter().any(|m| !placed.get(*m).copied().unwrap_or(false)) {
                    continue;
                }
                if let Some(mark) = placed.get_mut(at) {
                    *mark = true;
                }
                order.push(at);
                // One that the file has further down has its turn yet.
                todo.extend(self.fallback.get(at).copied().flatten().filter(|f| *f < from));
            }
        };
        for at in 0..n {
            place(at, &mut order);
        }
        order
    }

    /// A fallback runs when its node failed, whatever leads to it.
    fn part_idle_edges(&mut self) {
        let Self { edges, idle, fallback_of, after, .. } = self;
        edges.retain(|link| {
            let stands_in = fallback_of.get(link.to).is_some_and(|mains| !mains.is_empty());
            if stands_in {
                idle.push(*link);
                after.get_mut(link.to).into_iter().for_each(|list| list.push(link.from));
            }
            !stands_in
        });
    }

    /// The order of these pairs and of what templates read, or what keeps the nodes from having one.
    fn put_in_order(&mut self, n: usize, mut pairs: Vec<(usize, usize)>) {
        let by_id: Vec<(usize, usize)> = self.reads.iter().filter(|r| r.by_id).map(|r| (r.source, r.reader)).collect();
        let read_each_other = Order::new(n, &by_id).err().unwrap_or_default();
        let base = match Order::new(n, &pairs) {
            Ok(base) => base,
            Err(edges) => {
                self.knots = Knots { edges, reads: read_each_other, base: None };
                return;
            }
        };
        if !read_each_other.is_empty() {
            self.knots = Knots { edges: Vec::new(), reads: read_each_other, base: Some(base) };
            return;
        }
        let before = pairs.len();
        for read in &self.reads {
            // What runs later is not waited for: by id that is an error where the template is bound, by path the
            // reader sees what was there before.
            let settled = base.precedes(read.source, read.reader) || base.precedes(read.reader, read.source);
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
        match Order::new(n, &pairs) {
            Ok(order) => self.order = Some(order),
            Err(reads) => self.knots = Knots { edges: Vec::new(), reads, base: Some(base) },
        }
    }

    fn find_always(&mut self) {
        let Some(order) = &self.order else { return };
        let mut always = vec![false; self.into.len()];
        for &node in &order.sequence {
            let stands_in = self.fallback_of.get(node).is_some_and(|of| !of.is_empty());
            let mut incoming = self.incoming(node).peekable();
            let reached = incoming.peek().is_none()
                || incoming.any(|l| {
                    let source = always.get(l.from).copied().unwrap_or(false);
                    source && !l.conditional && self.fallback.get(l.from).is_some_and(Option::is_none)
                });
            drop(incoming);
            if let Some(place) = always.get_mut(node) {
                *place = reached && !stands_in;
            }
        }
        self.always = always;
    }

    /// Whether the node runs in every run.
    pub fn runs(&self, node: usize) -> bool {
        self.always.get(node).copied().unwrap_or(false)
    }

    /// Whether the node counts as done when it fails, without a result.
    pub fn skips(&self, node: usize) -> bool {
        self.skips.get(node).copied().unwrap_or(false)
    }

    /// The edges into a node.
    pub fn incoming(&self, node: usize) -> impl Iterator<Item = &Link> {
        self.into.get(node).into_iter().flatten().filter_map(|at| self.edges.get(*at))
    }
}
