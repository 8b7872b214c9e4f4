//! `reference-cycle`: a circular chain of calls would never end.

use std::collections::BTreeMap;

use trefoil_syntax::Diagnostic;
use trefoil_syntax::hash::HashMap;

use trefoil_front::aegis::NamedFlowCall;

/// Finds circular chains of calls.
pub fn find_call_cycles(calls: &[NamedFlowCall]) -> Vec<Diagnostic> {
    let edges = calls.iter().map(|call| (call.from.0, call.to.0));
    let graph = petgraph::graph::DiGraph::<(), ()>::from_edges(edges);
    let mut of_node: HashMap<u32, usize> = HashMap::default();
    for (ring, nodes) in petgraph::algo::kosaraju_scc(&graph).into_iter().enumerate() {
        for node in nodes {
            of_node.insert(node.index() as u32, ring);
        }
    }
    let mut inside: BTreeMap<usize, Vec<&NamedFlowCall>> = BTreeMap::new();
    for call in calls {
        if let (Some(from), Some(to)) = (of_node.get(&call.from.0), of_node.get(&call.to.0))
            && from == to
        {
            inside.entry(*from).or_default().push(call);
        }
    }
    let mut found = Vec::new();
    for calls in inside.into_values() {
        found.extend(ring(&calls));
    }
    found
}

fn ring(calls: &[&NamedFlowCall]) -> Option<Diagnostic> {
    let (first, rest) = calls.split_first()?;
    let message = format!("`{}` calls itself, directly or through others", first.name);
    let mut d = Diagnostic::new_error("reference-cycle", first.at, message);
    for call in rest {
        d = d.with_label(call.at, format!("calls `{}`", call.name));
    }
    Some(d.with_help("remove one of these calls: a judge cannot judge itself, and a workflow cannot wait for itself"))
}
