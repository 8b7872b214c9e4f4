//! How two nodes of a graph run in one run.

use trefoil_check::semantic::concurrency::exclusive_steps::StepExclusions;
use trefoil_check::semantic::concurrency::{GraphConcurrency, NodeConcurrency};
use trefoil_ir::{FactDetail, NodeId, StepKind};

use super::support::Folder;

/// What is known about every two of the nodes `a` to `e`, of which `a` decides about two values.
fn meetings(edges: &[&str]) -> Vec<(String, NodeConcurrency)> {
    let nodes: String = "abcde".chars().map(|n| format!("  {n}: {{ agent: w, writes: working.{n} }}\n")).collect();
    let edges: String = edges.iter().map(|edge| format!("  - {{ {edge} }}\n")).collect();
    let text = format!(
        "version: \"0.1\"\nagents:\n  w: {{ model: \"openai:m\", system: Write. }}\nnodes:\n{nodes}edges:\n{edges}input: {{ message: x }}\n"
    );
    let folder = Folder::new(Some("sirenspec"), &[("m.yaml", &text)]);
    let document = &folder.project.documents[0];
    let linked =
        trefoil_lint::link_with_findings(document.front.compile_documents(&folder.project, &[0], FactDetail::Names));
    let program = linked.program.unwrap();
    let graph = program.steps.iter().find_map(|step| match &step.kind {
        StepKind::Graph(graph) => Some(graph),
        _ => None,
    });
    let graph = graph.unwrap();
    let label = |id: NodeId| program.steps[graph.nodes[id].step].label.clone().unwrap();
    let (meetings, apart) = (GraphConcurrency::for_graph(graph), StepExclusions::of_graph(graph));
    let pairs = graph
        .nodes
        .element_ids()
        .flat_map(|b| graph.nodes.element_ids().take_while(move |a| *a < b).map(move |a| (a, b)));
    let found = pairs.map(|(a, b)| {
        let meeting = meetings.relation_of_pair(a, b);
        // One way to prove something never refutes the other one.
        if matches!(meeting, NodeConcurrency::AtOnce | NodeConcurrency::With(_)) {
            assert!(
                !apart.as_ref().is_some_and(|apart| apart.never_both(a.index(), b.index())),
                "{edges} {} {}",
                label(a),
                label(b)
            );
        }
        (format!("{}{}", label(a), label(b)), meeting)
    });
    found.collect()
}

fn of(all: &[(String, NodeConcurrency)], pair: &str) -> NodeConcurrency {
    all.iter().find(|(name, _)| name == pair).unwrap().1.clone()
}

#[test]
fn two_nodes_meet_as_their_edges_and_conditions_say() {
    let all = meetings(&[
        "from: a, to: b, when: \"working.a == 'x'\"",
        "from: a, to: c, when: \"working.a != 'x'\"",
        "from: a, to: d",
        "from: d, to: e",
    ]);
    assert_eq!(of(&all, "bc"), NodeConcurrency::Never);
    assert_eq!(of(&all, "ab"), NodeConcurrency::InOrder { follows: false });
    assert_eq!(of(&all, "ae"), NodeConcurrency::InOrder { follows: true });
    assert_eq!(of(&all, "bd"), NodeConcurrency::With("\"x\" as `working.a`".to_owned()));
    let all =
        meetings(&["from: a, to: b", "from: a, to: c", "from: c, to: d, when: \"len(working.c) > len(working.a)\""]);
    assert_eq!(of(&all, "bc"), NodeConcurrency::AtOnce);
    assert_eq!(of(&all, "be"), NodeConcurrency::AtOnce);
    assert_eq!(of(&all, "ce"), NodeConcurrency::AtOnce);
    let all = meetings(&[
        "from: a, to: b, when: \"len(working.a) > 3\"",
        "from: a, to: c, when: \"working.a.lower() == working.b\"",
    ]);
    assert_eq!(of(&all, "bc"), NodeConcurrency::Either);
}

#[test]
fn what_one_way_proves_the_other_does_not_refute() {
    let conditions = [
        "working.a == 'x'",
        "working.a != 'x'",
        "working.a in ['x', 'y']",
        "working.a > 5",
        "not working.a > 5",
        "working.a <= 2",
        "working.b == 'x'",
        "working.a == 'x' or working.b == 'y'",
        "working.a and not working.b",
    ];
    let ways = ["from: b, to: c", "from: b, to: d", "from: b, to: e"];
    let (mut never, mut with) = (0, 0);
    for seed in 0..200usize {
        let mut edges = vec!["from: a, to: b".to_owned()];
        for (n, way) in ways.iter().enumerate() {
            // Every combination of some of the conditions, or none.
            let chosen = (seed * 7 + seed / 13 * n + n * 3) % (conditions.len() + 1);
            let when = conditions.get(chosen).map(|when| format!(", when: \"{when}\"")).unwrap_or_default();
            edges.push(format!("{way}{when}"));
        }
        let edges: Vec<&str> = edges.iter().map(String::as_str).collect();
        for (_, meeting) in meetings(&edges) {
            never += usize::from(meeting == NodeConcurrency::Never);
            with += usize::from(matches!(meeting, NodeConcurrency::With(_)));
        }
    }
    assert!(never > 20 && with > 20, "{never} {with}");
}
