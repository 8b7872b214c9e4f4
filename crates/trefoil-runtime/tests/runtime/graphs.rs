//! Graphs: which nodes run, and when.

use serde_json::json as j;
use trefoil_ir::{Budget, GraphEdge, GraphNode, NodeId, OnExceeded, Source};
use trefoil_runtime::EventKind;

use crate::world::{World, json, status};
use testbed::build::{Build, graph_node};

/// Nodes that echo, with edges `(from, to, when)`.
fn diamond(b: &mut Build, labels: &[&str], edges: &[(u32, usize, &str)]) -> Vec<GraphNode> {
    let mut nodes: Vec<GraphNode> = labels.iter().map(|l| graph_node(b.model(l, &format!("<{l}>")))).collect();
    for (from, to, when) in edges {
        let edge = b.edge(*from, when);
        nodes[*to].incoming.push(edge);
    }
    nodes
}

fn ran(world: &World) -> Vec<String> {
    let started = world.kinds().into_iter().filter_map(|e| match e {
        EventKind::StepStarted { label, .. } => Some(label.to_string()),
        _ => None,
    });
    started.collect()
}

#[test]
fn a_join_waits_for_every_predecessor_that_can_still_run() {
    let mut b = Build::new();
    let nodes =
        diamond(&mut b, &["s", "l", "r", "j"], &[(0, 1, ""), (0, 2, "{{input}} == \"right\""), (1, 3, ""), (2, 3, "")]);
    let graph = b.graph("", nodes);
    let main = b.flow("main", graph, Some("{{l}}{{r}}{{j}}"));
    let program = b.program(main);
    let world = World::echo();
    assert_eq!(json(&world.run(&program, "right").result.unwrap()), j!("<l><r><j>"));
    assert_eq!(ran(&world), ["s", "l", "r", "j"]);
    let world = World::echo();
    assert_eq!(json(&world.run(&program, "left").result.unwrap()), j!("<l><j>"));
    assert_eq!(ran(&world), ["s", "l", "j"]);
}

#[test]
fn a_node_whose_edges_are_not_taken_is_dead_and_so_is_what_only_it_leads_to() {
    let mut b = Build::new();
    let nodes = diamond(&mut b, &["a", "b", "c"], &[(0, 1, "{{input}} == \"never\""), (1, 2, "")]);
    let graph = b.graph("", nodes);
    let main = b.flow("main", graph, None);
    let world = World::echo();
    world.run(&b.program(main), "x").result.unwrap();
    assert_eq!(ran(&world), ["a"]);
    let skipped = world.kinds().into_iter().filter(|e| matches!(e, EventKind::StepSkipped { .. })).count();
    assert_eq!(skipped, 2);
}

#[test]
fn independent_nodes_run_at_the_same_time() {
    let mut b = Build::new();
    let nodes = ["a", "b"].map(|l| graph_node(b.wait(l, 1_000)));
    let graph = b.graph("", nodes.to_vec());
    let main = b.flow("main", graph, None);
    assert_eq!(World::echo().run(&b.program(main), "x").duration_ms, 1_000);
}

#[test]
fn nodes_after_others_wait_for_them_whether_or_not_they_ran() {
    let mut b = Build::new();
    let mut nodes = diamond(&mut b, &["a", "dead", "last"], &[(0, 1, "{{input}} == \"never\"")]);
    nodes[2].after = vec![NodeId(0), NodeId(1)];
    let graph = b.graph("", nodes);
    let main = b.flow("main", graph, None);
    let world = World::echo();
    world.run(&b.program(main), "x").result.unwrap();
    assert_eq!(ran(&world), ["a", "last"]);
}

#[test]
fn a_fallback_runs_only_when_its_node_failed() {
    let run = |fails: bool| {
        let mut b = Build::new();
        let mut nodes = diamond(&mut b, &["main", "fallback", "after"], &[(0, 2, "")]);
        nodes[0].fallback = Some(NodeId(1));
        nodes[1].fallback_of = vec![NodeId(0)];
        let graph = b.graph("", nodes);
        let main = b.flow("main", graph, None);
        let world =
            World::model(move |key, user| if fails && key == "main" { Err(status(400)) } else { Ok(user.to_owned()) });
        world.run(&b.program(main), "x").result.unwrap();
        let action = world.kinds().into_iter().find_map(|e| match e {
            EventKind::StepFailed { handled_as, .. } => Some(handled_as),
            _ => None,
        });
        (ran(&world), action)
    };
    assert_eq!(run(false), (vec!["main".to_owned(), "after".to_owned()], None));
    assert_eq!(run(true), (vec!["main".to_owned(), "fallback".to_owned()], Some("fallback")));
}

#[test]
fn a_failing_node_without_fallback_fails_the_graph() {
    let mut b = Build::new();
    let nodes = diamond(&mut b, &["a", "b"], &[]);
    let graph = b.graph("", nodes);
    let main = b.flow("main", graph, None);
    let world = World::model(|key, user| if key == "b" { Err(status(400)) } else { Ok(user.to_owned()) });
    assert_eq!(world.run(&b.program(main), "x").result.unwrap_err().message, "status 400");
}

#[test]
fn edges_carry_values_only_when_they_are_taken() {
    let mut b = Build::new();
    let mut nodes = diamond(&mut b, &["a", "b", "join"], &[]);
    let (from_a, from_b) = (b.slot("from_a"), b.slot("from_b"));
    for (from, when, slot) in [(0, "", from_a), (1, "{{input}} == \"both\"", from_b)] {
        let edge = b.edge(from, when);
        nodes[2].incoming.push(GraphEdge { carry: Some((slot, Source::Result)), ..edge });
    }
    let step = b.compute("join", "{{from_a}}");
    let mut text = b.text("{{x}}{{y}}");
    text.sources = vec![Source::Slot(from_a), Source::Slot(from_b)];
    b.at(step).kind = trefoil_ir::StepKind::Compute(trefoil_ir::ValueExpression::Template(text));
    nodes[2].step = step;
    let graph = b.graph("", nodes);
    let main = b.flow("main", graph, Some("{{join}}"));
    let program = b.program(main);
    assert_eq!(json(&World::echo().run(&program, "both").result.unwrap()), j!("<a><b>"));
    assert_eq!(json(&World::echo().run(&program, "one").result.unwrap()), j!("<a>"));
}

#[test]
fn an_exceeded_budget_skips_what_has_not_started() {
    let mut b = Build::new();
    let nodes = diamond(&mut b, &["a", "b", "c"], &[(0, 1, ""), (1, 2, "")]);
    let graph = b.graph("", nodes);
    let main = b.flow("main", graph, Some("{{a}}{{b}}{{c}}"));
    b.flow_mut(main).budget = Some(Budget {
        max_tokens: None,
        max_duration_ms: None,
        max_calls: Some(1),
        calls_at: None,
        max_cost_micro: None,
        on_exceeded: OnExceeded::SkipRemaining,
    });
    let world = World::echo();
    let outcome = world.run(&b.program(main), "x");
    assert_eq!((json(&outcome.result.unwrap()), outcome.calls), (j!("<a><b>"), 2));
    let skipped = world.kinds().into_iter().find_map(|e| match e {
        EventKind::StepSkipped { label, reason } => Some((label, reason)),
        _ => None,
    });
    assert_eq!(skipped, Some(("c".into(), "budget".into())));
}
