//! From edges, fallbacks, the order of the file and template references to one order of the nodes, and what is wrong
//! with it: unknown ends, cycles, templates that read each other.

use std::sync::Arc;

use trefoil_syntax::{Diagnostic, Location, Span, suggest};

use super::names::Names;
use super::order::Order;
use super::reads::{self, Read};
use crate::Reader;
use crate::read::respelt;
use crate::sirenspec::manifest::{Manifest, NodeKind, OnFailure};

/// How the nodes of a workflow hang together.
pub struct Links<'m> {
    /// The edges, ends resolved.
    pub edges: Vec<Link<'m>>,
    /// Per node: the node that runs when it fails.
    pub fallback: Vec<Option<usize>>,
    /// Per node: the nodes in whose place it runs.
    pub fallback_of: Vec<Vec<usize>>,
    /// Per node: nodes that have to end first, beside its edges.
    pub after: Vec<Vec<usize>>,
    /// No edges: the order of the file.
    pub chain: bool,
    /// Who ends before whom; none when there is a cycle, which was reported.
    pub order: Option<Arc<Order>>,
    /// Per node: the edges into it.
    into: Vec<Vec<usize>>,
    /// Per node: it counts as done when it fails, without a result.
    skips: Vec<bool>,
    /// Per node: it runs in every run.
    always: Vec<bool>,
}

/// An edge.
pub struct Link<'m> {
    /// Its source.
    pub from: usize,
    /// Its target.
    pub to: usize,
    /// As the file has it.
    pub edge: &'m crate::sirenspec::manifest::Edge<'m>,
}

impl<'m> Links<'m> {
    /// Works it all out and reports what is wrong.
    pub fn new(reader: &Reader<'_>, manifest: &'m Manifest<'m>, names: &Names<'m>) -> Self {
        let n = manifest.nodes.len();
        let mut links = Self {
            edges: Vec::new(),
            fallback: vec![None; n],
            fallback_of: vec![Vec::new(); n],
            after: vec![Vec::new(); n],
            chain: manifest.edges.is_empty(),
            order: None,
            into: vec![Vec::new(); n],
            skips: vec![false; n],
            always: vec![false; n],
        };
        links.fallbacks(reader, manifest, names);
        links.resolve_edges(reader, manifest, names);
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
        links.drop_edges_into_fallbacks(reader, names);
        for (at, link) in links.edges.iter().enumerate() {
            if let Some(list) = links.into.get_mut(link.to) {
                list.push(at);
            }
        }
        let base = Order::new(n, &pairs);
        let reads = reads::all(reader, manifest, names);
        let knotted = reads::report_cycles(reader, names, base.as_ref().ok(), n, &reads);
        match base {
            Err(cycles) => links.report_edge_cycles(reader, manifest, names, &cycles),
            Ok(base) if !knotted => links.settle(reader, names, base, pairs, &reads),
            Ok(_) => {}
        }
        links.find_always();
        links
    }

    fn fallbacks(&mut self, reader: &Reader<'_>, manifest: &Manifest<'m>, names: &Names<'m>) {
        for (at, node) in manifest.nodes.iter().enumerate() {
            let NodeKind::Agent(agent) = &node.kind else { continue };
            let own = agent.on_failure.as_ref();
            let target = match own.or(manifest.defaults.on_failure.as_ref()) {
                Some(OnFailure::Fallback(target)) => target,
                Some(OnFailure::Skip) => {
                    if let Some(skips) = self.skips.get_mut(at) {
                        *skips = true;
                    }
                    continue;
                }
                _ => continue,
            };
            match names.node_of(&target.value) {
                Some(found) if found == at => {
                    // The default's own target has nothing to fall back to.
                    if own.is_some() {
                        let message = format!("`{}` cannot be its own fallback", node.id.value);
                        reader.error("reference-cycle", target.span, message);
                    }
                }
                Some(found) => {
                    if let (Some(f), Some(of)) = (self.fallback.get_mut(at), self.fallback_of.get_mut(found)) {
                        *f = Some(found);
                        of.push(at);
                    }
                }
                None => unknown_node(reader, manifest, names, target, "fallback_node"),
            }
        }
    }

    fn resolve_edges(&mut self, reader: &Reader<'_>, manifest: &'m Manifest<'m>, names: &Names<'m>) {
        for edge in &manifest.edges {
            let ends = [(edge.from, "from"), (edge.to, "to")].map(|(end, key)| {
                let found = names.node_of(&end.value);
                if found.is_none() {
                    unknown_node(reader, manifest, names, end, key);
                }
                found
            });
            if let [Some(from), Some(to)] = ends {
                self.report_twin(reader, edge, from, to);
                self.edges.push(Link { from, to, edge });
            }
        }
    }

    /// An edge that says what an earlier one says already, with the same condition.
    fn report_twin(&self, reader: &Reader<'_>, edge: &crate::sirenspec::manifest::Edge<'_>, from: usize, to: usize) {
        let when = |e: &crate::sirenspec::manifest::Edge<'_>| e.when.map(|w| w.value.trim().to_owned());
        let twin = self.edges.iter().find(|l| l.from == from && l.to == to && when(l.edge) == when(edge));
        let Some(twin) = twin else { return self.report_needless(reader, edge, from, to) };
        let message = format!("the edge from `{}` to `{}` is there already", edge.from.value, edge.to.value);
        let d = Diagnostic::warning("no-effect", reader.at(edge.node.span), message);
        reader.report(d.label(reader.at(twin.edge.node.span), "here").help("remove one of the two"));
    }

    /// A condition beside an edge that is taken without one.
    fn report_needless(
        &self,
        reader: &Reader<'_>,
        edge: &crate::sirenspec::manifest::Edge<'_>,
        from: usize,
        to: usize,
    ) {
        let mut others = self.edges.iter().filter(|l| l.from == from && l.to == to);
        let Some(other) = others.find(|l| l.edge.when.is_some() != edge.when.is_some()) else { return };
        let Some(when) = edge.when.or(other.edge.when) else { return };
        let free = if edge.when.is_none() { edge.node } else { other.edge.node };
        let message =
            format!("`when` has no effect: another edge from `{}` to `{}` has none", edge.from.value, edge.to.value);
        let d = Diagnostic::warning("no-effect", reader.at(when.span), message);
        reader.report(d.label(reader.at(free.span), "this one is always taken").help("remove one of the two"));
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
    fn drop_edges_into_fallbacks(&mut self, reader: &Reader<'_>, names: &Names<'m>) {
        let Self { edges, fallback_of, after, .. } = self;
        edges.retain(|link| {
            let mains = fallback_of.get(link.to).map(Vec::as_slice).unwrap_or_default();
            let Some(main) = mains.first().and_then(|m| names.nodes.get(*m)) else { return true };
            reader.report(
                Diagnostic::warning(
                    "no-effect",
                    reader.at(link.edge.node.span),
                    format!(
                        "the edge to `{}` has no effect: that node runs only when `{}` failed",
                        link.edge.to.value, main.id.value
                    ),
                )
                .help("the order of the two nodes still holds"),
            );
            if let Some(list) = after.get_mut(link.to) {
                list.push(link.from);
            }
            false
        });
    }

    /// Where a node says that another one runs when it fails.
    fn falls_back(&self, manifest: &Manifest<'m>, from: usize, to: usize) -> Option<Span> {
        self.fallback.get(from).copied().flatten().filter(|f| *f == to)?;
        let NodeKind::Agent(agent) = &manifest.nodes.get(from)?.kind else { return None };
        match agent.on_failure.as_ref().or(manifest.defaults.on_failure.as_ref()) {
            Some(OnFailure::Fallback(target)) => Some(target.span),
            _ => None,
        }
    }

    fn report_edge_cycles(
        &self,
        reader: &Reader<'_>,
        manifest: &Manifest<'m>,
        names: &Names<'m>,
        cycles: &[Vec<usize>],
    ) {
        for cycle in cycles {
            let ring = ring(names, cycle);
            let steps = cycle.iter().zip(cycle.iter().skip(1).chain(cycle.first()));
            let places: Vec<(Location, String)> = steps
                .filter_map(|(from, to)| {
                    if let Some(at) = self.falls_back(manifest, *from, *to) {
                        let id = |at: usize| names.nodes.get(at).map_or("", |n| &*n.id.value);
                        return Some((reader.at(at), format!("`{}` falls back to `{}`", id(*from), id(*to))));
                    }
                    let edge = self.edges.iter().find(|l| l.from == *from && l.to == *to)?;
                    let what = format!("`{}` -> `{}`", edge.edge.from.value, edge.edge.to.value);
                    Some((reader.at(edge.edge.node.span), what))
                })
                .collect();
            let start = cycle.first().and_then(|at| names.nodes.get(*at)).map(|n| reader.at(n.id.span));
            let Some(at) = places.last().map(|(at, _)| *at).or(start) else { continue };
            let mut steps = cycle.iter().zip(cycle.iter().skip(1).chain(cycle.first()));
            let falls = steps.any(|(from, to)| self.falls_back(manifest, *from, *to).is_some());
            let (what, help) = match falls {
                true => ("the edges and a `fallback_node`", "a fallback cannot run before the node that it replaces"),
                false => ("the edges", "a workflow has no loops: take one of these edges out"),
            };
            let mut d = Diagnostic::error("edge-cycle", at, format!("{what} form a cycle: {ring}")).help(help);
            for (at, what) in places.iter().rev().skip(1).rev() {
                d = d.label(*at, what.clone());
            }
            reader.report(d);
        }
    }

    /// Adds what templates read to the order.
    fn settle(
        &mut self,
        reader: &Reader<'_>,
        names: &Names<'m>,
        base: Order,
        mut pairs: Vec<(usize, usize)>,
        reads: &[Read],
    ) {
        let mut added = false;
        for read in reads {
            // What runs later is not waited for: by id that is an error where the template is bound, by path the
            // reader sees what was there before.
            let settled = base.precedes(read.source, read.reader) || base.precedes(read.reader, read.source);
            if settled || read.reader == read.source || self.chain {
                continue;
            }
            added = true;
            pairs.push((read.source, read.reader));
            if let Some(list) = self.after.get_mut(read.reader)
                && !list.contains(&read.source)
            {
                list.push(read.source);
            }
        }
        if !added {
            self.order = Some(Arc::new(base));
            return;
        }
        match Order::new(names.nodes.len(), &pairs) {
            Ok(order) => self.order = Some(Arc::new(order)),
            Err(cycles) => cycles.iter().for_each(|ring| reads::cycle(reader, names, Some(&base), ring, reads)),
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
                    source && l.edge.when.is_none() && self.fallback.get(l.from).is_some_and(Option::is_none)
                });
            drop(incoming);
            if let Some(place) = always.get_mut(node) {
                *place = reached && !stands_in;
            }
        }
        self.always = always;
    }

    /// Whether one of these nodes has surely left its result by the time a node runs.
    pub fn surely(&self, node: usize, producers: &[usize]) -> bool {
        let Some(order) = &self.order else { return true };
        let sure = |p: &usize| self.runs(*p) && self.covered(*p, producers);
        if producers.iter().any(|p| order.precedes(*p, node) && sure(p)) {
            return true;
        }
        if self.chain {
            return false;
        }
        // Not in every run, but perhaps on every way that leads here. Before the first of them has ended, on none.
        let rank = |at: &usize| order.rank.get(*at).copied().unwrap_or(0);
        let (Some(first), last) = (producers.iter().map(rank).min(), rank(&node)) else { return false };
        let mut on_all_ways = vec![false; (last + 1).saturating_sub(first)];
        for at_rank in first..=last {
            let Some(&at) = order.sequence.get(at_rank) else { continue };
            let mains = self.fallback_of.get(at).map(Vec::as_slice).unwrap_or_default();
            let known = |p: usize| {
                let place = rank(&p).checked_sub(first);
                place.and_then(|place| on_all_ways.get(place)).copied().unwrap_or(false)
            };
            let mut incoming = self.incoming(at).peekable();
            let defined = if mains.is_empty() {
                incoming.peek().is_some()
                    && incoming.all(|l| known(l.from) || (producers.contains(&l.from) && !self.skips(l.from)))
            } else {
                mains.iter().all(|m| known(*m))
            };
            let defined = defined || producers.iter().any(|p| order.precedes(*p, at) && sure(p));
            if let Some(place) = on_all_ways.get_mut(at_rank - first) {
                *place = defined;
            }
        }
        on_all_ways.last().copied().unwrap_or(false)
    }

    /// A node that ran has left its result, or its fallback has.
    fn covered(&self, node: usize, producers: &[usize]) -> bool {
        let mut at = node;
        for _ in 0..=self.fallback.len() {
            if !producers.contains(&at) || self.skips(at) {
                return false;
            }
            match self.fallback.get(at).copied().flatten() {
                Some(next) => at = next,
                None => return true,
            }
        }
        false
    }

    /// Whether a node that counts as done has left a result.
    pub fn leaves(&self, node: usize) -> bool {
        self.covered(node, &[node])
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
    pub fn incoming(&self, node: usize) -> impl Iterator<Item = &Link<'m>> {
        self.into.get(node).into_iter().flatten().filter_map(|at| self.edges.get(*at))
    }
}

fn unknown_node(
    reader: &Reader<'_>,
    manifest: &Manifest<'_>,
    names: &Names<'_>,
    text: &trefoil_syntax::yaml::Text,
    key: &str,
) {
    let mut d = Diagnostic::error(
        "unknown-reference",
        reader.at(text.span),
        format!("`{key}` refers to an unknown node `{}`", text.value),
    );
    let uses = |n: &&crate::sirenspec::manifest::Node<'_>| matches!(&n.kind, NodeKind::Agent(node) if node.agent.is_some_and(|agent| agent.value == text.value));
    let nodes: Vec<&str> = manifest.nodes.iter().filter(uses).map(|n| &*n.id.value).collect();
    if let [node] = nodes.as_slice() {
        let d = d.help(format!("`{}` is an agent; its node is `{node}`", text.value));
        let near = suggest::Near { name: node, distance: usize::MAX, sure: false };
        return reader.report(respelt(d, reader.at(text.span), text, near));
    }
    if let Some(near) = suggest::near(&text.value, names.ids()) {
        d = respelt(d.help(format!("did you mean `{}`?", near.name)), reader.at(text.span), text, near);
    } else if key == "to" && ["end", "__end__", "finish", "done"].iter().any(|w| text.value.eq_ignore_ascii_case(w)) {
        d = d.help("a node without an edge out of it is an end: take this edge out");
    } else if key == "from" && ["start", "__start__", "begin"].iter().any(|w| text.value.eq_ignore_ascii_case(w)) {
        d = d.help("a node without an edge into it is a beginning: take this edge out");
    }
    reader.report(d);
}

fn ring(names: &Names<'_>, cycle: &[usize]) -> String {
    let ids = cycle.iter().chain(cycle.first()).filter_map(|at| names.nodes.get(*at));
    ids.map(|n| format!("`{}`", n.id.value)).collect::<Vec<_>>().join(" -> ")
}
