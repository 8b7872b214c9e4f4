//! `reference-cycle`: a chain of calls that comes back would never end.

use std::collections::BTreeSet;

use trefoil_syntax::Diagnostic;

use crate::aegis::lower::CallSite;

/// The chains of calls that come back to where they began.
pub fn cycles(calls: &[CallSite]) -> Vec<Diagnostic> {
    let edges = calls.iter().map(|call| (call.from.0, call.to.0));
    let graph = petgraph::graph::DiGraph::<(), ()>::from_edges(edges);
    let cycles = petgraph::algo::tarjan_scc(&graph)
        .into_iter()
        .filter(|scc| scc.len() > 1 || scc.iter().any(|n| graph.contains_edge(*n, *n)))
        .map(|scc| scc.into_iter().map(|n| n.index() as u32).collect::<BTreeSet<u32>>());
    cycles
        .filter_map(|cycle| {
            let inside: Vec<_> =
                calls.iter().filter(|c| cycle.contains(&c.from.0) && cycle.contains(&c.to.0)).collect();
            let (first, rest) = inside.split_first()?;
            let message = format!("`{}` comes back to itself", first.name);
            let mut d = Diagnostic::error("reference-cycle", first.at, message);
            for call in rest {
                d = d.label(call.at, format!("calls `{}`", call.name));
            }
            Some(d.help("a judge cannot be judged by itself, nor a workflow wait for itself"))
        })
        .collect()
}
