//! Which node's templates read what which other node leaves, and templates that read each other (decision S10).

use trefoil_syntax::{Diagnostic, Location};
use trefoil_template::{Policy, Template};

use super::names::Names;
use super::order::Order;
use super::texts;
use crate::Reader;
use crate::sirenspec::manifest::{Manifest, Root};

/// One node reads what another leaves.
pub struct Read {
    /// Who reads.
    pub reader: usize,
    /// Who leaves it.
    pub source: usize,
    /// The reference.
    pub at: Location,
    /// As written.
    pub path: String,
    /// The source is named by its id; else by a path it writes, which may have been there before.
    pub by_id: bool,
}

/// All of them.
pub fn all(reader: &Reader<'_>, manifest: &Manifest<'_>, names: &Names<'_>) -> Vec<Read> {
    let mut all = Vec::new();
    for (at, node) in manifest.nodes.iter().enumerate() {
        for text in texts::of_node(manifest, node) {
            // Mistakes in the text are reported when it is bound; what could be read of it orders nodes all the same.
            let references = match Template::examine(&text.value, &Policy::SIRENSPEC) {
                Ok(template) => template.references().to_vec(),
                Err(broken) => broken.references,
            };
            for reference in &references {
                let (root, path) = match reference.path.split_first() {
                    Some((head, rest)) => match &*head.name {
                        "inputs" | "env" | "item" | "index" | "total" | "_budget" => continue,
                        "working" => (Root::Working, rest),
                        "output" => (Root::Output, rest),
                        _ => (Root::Working, reference.path.as_slice()),
                    },
                    None => continue,
                };
                let look = names.look(root, path);
                let place = reader.at(text.source(reference.span.clone()));
                let mut add = |source: usize, by_id: bool| {
                    if source != at {
                        all.push(Read { reader: at, source, at: place, path: reference.dotted(), by_id });
                    }
                };
                if let Some((source, _)) = look.named.filter(|_| look.in_node) {
                    add(source, true);
                }
                for write in look.writes.iter().filter_map(|w| names.writes.get(*w)) {
                    if Some(write.node) != look.named.map(|(n, _)| n) || !look.in_node {
                        add(write.node, false);
                    }
                }
            }
        }
    }
    all
}

/// Nodes that read each other by id (decision S10); says whether there are any.
pub fn report_cycles(reader: &Reader<'_>, names: &Names<'_>, base: Option<&Order>, n: usize, reads: &[Read]) -> bool {
    let pairs: Vec<(usize, usize)> = reads.iter().filter(|r| r.by_id).map(|r| (r.source, r.reader)).collect();
    match Order::new(n, &pairs) {
        Ok(_) => false,
        Err(cycles) => {
            cycles.iter().for_each(|ring| cycle(reader, names, base, ring, reads));
            true
        }
    }
}

/// Reports one circle of nodes, at the reference that goes against the order which edges or the file give them.
pub fn cycle(reader: &Reader<'_>, names: &Names<'_>, base: Option<&Order>, ring: &[usize], reads: &[Read]) {
    let steps = ring.iter().zip(ring.iter().skip(1).chain(ring.first()));
    let found: Vec<&Read> =
        steps.filter_map(|(source, then)| reads.iter().find(|r| r.source == *source && r.reader == *then)).collect();
    let id = |at: usize| names.nodes.get(at).map_or("", |n| &*n.id.value);
    let against = |r: &&&Read| base.is_some_and(|order| order.precedes(r.reader, r.source));
    let unordered = |r: &&&Read| base.is_some_and(|order| !order.precedes(r.source, r.reader));
    let first = found.iter().find(against).or_else(|| found.iter().find(unordered)).or(found.first());
    let Some(first) = first else { return };
    let who: Vec<String> = ring.iter().map(|at| format!("`{}`", id(*at))).collect();
    let mut d = Diagnostic::error(
        "circular-ref",
        first.at,
        format!("InterpolationError [circular_ref]: circular template reference among the nodes {}", who.join(", ")),
    )
    .help("a node can read only what ended before it; remove one of these references");
    for read in &found {
        let what = format!("`{}` reads `{}` of `{}`", id(read.reader), read.path, id(read.source));
        d = d.label(read.at, what);
    }
    reader.report(d);
}
