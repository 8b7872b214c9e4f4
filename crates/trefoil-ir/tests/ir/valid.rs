//! Structural invariants of programs.

use expect_test::expect;
use std::sync::Arc;

use trefoil_ir::validation::validate_program;
use trefoil_ir::{NodeId, ProgramParts, SlotId, StepId, StepKind};

use testbed::build::{Build, graph_node};

fn faults(break_it: impl FnOnce(&mut ProgramParts)) -> Vec<String> {
    let mut b = Build::new();
    let nodes = [graph_node(b.model("a", "x")), graph_node(b.model("b", "{{a}}"))];
    let graph = b.graph("graph", nodes.to_vec());
    let body = b.sequence("", &[graph]);
    let main = b.flow("main", body, None);
    let mut program = Arc::unwrap_or_clone(b.program(main)).into_parts();
    break_it(&mut program);
    validate_program(&program)
}

#[test]
fn a_sound_program_has_no_faults() {
    assert_eq!(faults(|_| {}), Vec::<String>::new());
}

#[test]
fn what_does_not_exist_is_reported_with_its_step() {
    let slot = faults(|p| p.steps[StepId(0)].out = Some(SlotId(99)));
    expect!["flow `main`, step `a`: slot 99 does not exist"].assert_eq(&slot.join("\n"));
    let step = faults(|p| p.steps[StepId(3)].kind = StepKind::Sequence(vec![trefoil_ir::StepId(77)]));
    expect!["step 77 does not exist"].assert_eq(&step.join("\n"));
}

#[test]
fn a_step_has_one_place_and_nodes_do_not_wait_for_each_other() {
    let shared =
        faults(|p| p.steps[StepId(3)].kind = StepKind::Sequence(vec![trefoil_ir::StepId(2), trefoil_ir::StepId(0)]));
    expect!["step 0 is used in more than one place"].assert_eq(&shared.join("\n"));
    let cycle = faults(|p| {
        if let StepKind::Graph(graph) = &mut p.steps[StepId(2)].kind {
            graph.nodes[NodeId(0)].after = vec![NodeId(1)];
            graph.nodes[NodeId(1)].after = vec![NodeId(0)];
        }
    });
    expect!["flow `main`, step `graph`: its nodes wait for each other"].assert_eq(&cycle.join("\n"));
}
