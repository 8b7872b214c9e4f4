//! Every alternative of a program is taken for some seed.

use serde_json::json;
use trefoil_ir::{
    ComposedPart, FlowCallee, GraphEdge, GraphNode, NodeId, Source, StepGraph, StepId, StepKind, ValueExpression,
};
use trefoil_template::{Policy, Value};

use crate::{kinds, run};
use testbed::build::{Build, nowhere};

const SEEDS: u64 = 30;

#[test]
fn a_branch_on_text_takes_every_arm_and_none() {
    let mut b = Build::new();
    let classify = b.model("classify", "{{input}}");
    let (billing, tech, other) = (b.mark("billing"), b.mark("tech"), b.mark("other"));
    let arms = [("{{classify}} == \"billing\"", billing), ("{{classify}} == \"tech\"", tech)];
    let branch = b.branch("", &arms, Some(other));
    let body = b.sequence("", &[classify, branch]);
    let main = b.flow("main", body, None);
    let program = b.program(main);
    let taken = kinds(SEEDS, |seed| run(&program, seed).output.to_string());
    assert_eq!(taken, ["\"billing\"", "\"other\"", "\"tech\""]);
}

#[test]
fn an_answer_that_must_be_something_is_just_that() {
    let mut b = Build::new();
    let classify = b.model("classify", "{{input}}");
    let yes = b.mark("yes");
    let branch = b.branch("", &[("{{classify}} == \"yes\"", yes)], None);
    let body = b.sequence("", &[classify, branch]);
    let main = b.flow("main", body, Some("{{classify}}"));
    let program = b.program(main);
    let taken = kinds(SEEDS, |seed| run(&program, seed).output.to_string());
    assert_eq!(taken, ["\"other\"", "\"yes\""]);
}

#[test]
fn steps_with_conditions_on_one_enum_all_run_some_time() {
    let mut b = Build::new();
    let schema =
        json!({"type": "object", "properties": {"kind": {"enum": ["a", "b", "c", "d"]}}, "required": ["kind"]});
    let classify = b.model_with("classify", schema);
    let mut steps = vec![classify];
    for kind in ["a", "b", "c"] {
        let step = b.mark(kind);
        steps.push(b.when(step, &format!("{{{{classify.kind}}}} == \"{kind}\"")));
    }
    let body = b.sequence("", &steps);
    let main = b.flow("main", body, None);
    let program = b.program(main);
    let taken = kinds(100, |seed| run(&program, seed).ran[1..].join(" "));
    assert_eq!(taken, ["", "a", "b", "c"]);
}

#[test]
fn thresholds_are_met_and_missed() {
    let mut b = Build::new();
    let schema = json!({"type": "object", "properties": {"score": {"type": "integer", "minimum": 0, "maximum": 10}},
        "required": ["score"]});
    let rate = b.model_with("rate", schema);
    let (high, middle, low) = (b.mark("high"), b.mark("middle"), b.mark("low"));
    let branch = b.branch("", &[("{{rate.score}} >= 8", high), ("{{rate.score}} > 3", middle)], Some(low));
    let body = b.sequence("", &[rate, branch]);
    let main = b.flow("main", body, None);
    let program = b.program(main);
    let taken = kinds(SEEDS, |seed| run(&program, seed).output.to_string());
    assert_eq!(taken, ["\"high\"", "\"low\"", "\"middle\""]);
}

/// `classify`, then `kind` computed from it by `read`, then a branch on `kind`.
fn reaches(prepare: impl Fn(&mut Build) -> Vec<StepId>) {
    let mut b = Build::new();
    let mut steps = prepare(&mut b);
    let (yes, no) = (b.mark("yes"), b.mark("no"));
    steps.push(b.branch("", &[("{{kind}} == \"billing\"", yes)], Some(no)));
    let body = b.sequence("", &steps);
    let main = b.flow("main", body, None);
    let program = b.program(main);
    let taken = kinds(SEEDS, |seed| run(&program, seed).output.to_string());
    assert_eq!(taken, ["\"no\"", "\"yes\""]);
}

#[test]
fn conditions_reach_answers_through_whatever_is_between() {
    // A value computed from the answer.
    reaches(|b| vec![b.model("classify", "{{input}}"), b.compute("kind", "{{classify}}")]);
    // A called flow whose output is a property of an object.
    reaches(|b| {
        let inner = b.model("classify", "{{input}}");
        let callee = b.flow("callee", inner, None);
        let call = b.call("called", callee, "{{input}}");
        b.at(call).shape = Some(ValueExpression::Object(vec![("label".into(), ValueExpression::Read(Source::Result))]));
        let kind = b.compute("kind", "{{called.label}}");
        vec![call, kind]
    });
    // A composed object.
    reaches(|b| {
        let classify = b.model("classify", "{{input}}");
        let slot = b.slot("classify");
        let part = ComposedPart { at: vec!["deep".into(), "down".into()], slot, member: Vec::new() };
        let composed = Source::Compose { seed: Value::Null, parts: vec![part] };
        let object = b.step("", StepKind::Compute(ValueExpression::Read(composed)));
        let object = b.out(object, "object");
        let kind = b.compute("kind", "{{object.deep.down}}");
        vec![classify, object, kind]
    });
    // The exports of a flow, as properties of its output.
    reaches(|b| {
        let inner = b.model("classify", "{{input}}");
        let slot = b.slot("classify");
        let callee = b.flow("callee", inner, Some("{{nothing}}"));
        b.flow_mut(callee).exports =
            vec![trefoil_ir::FlowExport { key: "inner".into(), slot, member: Vec::new(), inner: None }];
        let call = b.call("called", callee, "{{input}}");
        let under = b.slot("under");
        match &mut b.at(call).kind {
            StepKind::Call(call) => call.exports = Some(under),
            other => panic!("{other:?}"),
        }
        let top = b.slot("called");
        let kind = b.compute("kind", "{{layered.inner}}");
        let StepKind::Compute(ValueExpression::Typed(text)) = &mut b.at(kind).kind else { panic!("a typed value") };
        text.sources = vec![Source::Layered { top, path: Vec::new(), under }];
        vec![call, kind]
    });
}

#[test]
fn conditions_on_an_input_reach_the_caller() {
    let mut b = Build::new();
    let (yes, no) = (b.mark("yes"), b.mark("no"));
    let branch = b.branch("", &[("{{input.kind}} == \"billing\"", yes)], Some(no));
    let callee = b.flow("callee", branch, None);
    let classify = b.model("classify", "{{input}}");
    let call = b.call("called", callee, "x");
    let kind = b.value("{{classify}}");
    match &mut b.at(call).kind {
        StepKind::Call(call) => call.input = Some(ValueExpression::Object(vec![("kind".into(), kind)])),
        other => panic!("{other:?}"),
    }
    let body = b.sequence("", &[classify, call]);
    let main = b.flow("main", body, None);
    let program = b.program(main);
    let taken = kinds(SEEDS, |seed| run(&program, seed).output.to_string());
    assert_eq!(taken, ["\"no\"", "\"yes\""]);
}

#[test]
fn a_name_that_a_model_gives_is_one_of_those_there_are() {
    let mut b = Build::new();
    let (one, two, three) = (b.mark("one"), b.mark("two"), b.mark("three"));
    let flows: Vec<_> = [("one", one), ("two", two), ("three", three)]
        .into_iter()
        .map(|(name, step)| (name.into(), b.flow(name, step, None)))
        .collect();
    let choose = b.model("choose", "{{input}}");
    let call = b.call("called", flows[0].1, "x");
    let name = b.text("{{choose}}");
    match &mut b.at(call).kind {
        StepKind::Call(call) => call.callee = FlowCallee::Named { name, flows },
        other => panic!("{other:?}"),
    }
    let body = b.sequence("", &[choose, call]);
    let main = b.flow("main", body, None);
    let program = b.program(main);
    let taken = kinds(SEEDS, |seed| run(&program, seed).output.to_string());
    assert_eq!(taken, ["\"one\"", "\"three\"", "\"two\""]);
}

/// A triage graph: `classify`, and a node for each edge.
fn graph(conditions: &[&str], policy: Policy) -> Vec<String> {
    let mut b = Build::new();
    b.policy = policy;
    let classify = b.model("output", "x");
    let mut nodes = vec![GraphNode {
        step: classify,
        incoming: Vec::new(),
        after: Vec::new(),
        fallback_of: Vec::new(),
        fallback: None,
    }];
    for (i, condition) in conditions.iter().enumerate() {
        let step = b.mark(&format!("n{i}"));
        let when = (!condition.is_empty()).then(|| b.cond(condition));
        let edge = GraphEdge { from: NodeId(0), when, carry: None, origin: nowhere() };
        nodes.push(GraphNode {
            step,
            incoming: vec![edge],
            after: Vec::new(),
            fallback_of: Vec::new(),
            fallback: None,
        });
    }
    let body = b.step("", StepKind::Graph(StepGraph { nodes: nodes.into() }));
    let main = b.flow("main", body, None);
    let program = b.program(main);
    kinds(40, |seed| run(&program, seed).ran[1..].join(" "))
}

#[test]
fn edges_of_a_graph_are_taken_one_at_a_time() {
    let taken = graph(&["output == 'a'", "output == 'b'", "not (output in ['a', 'b'])"], Policy::SIRENSPEC);
    assert_eq!(taken, ["n0", "n1", "n2"]);
}

#[test]
fn edges_that_hold_together_are_taken_together() {
    let taken = graph(&["'urgent' in output", "len(output) > 3", ""], Policy::SIRENSPEC);
    assert!(taken.contains(&"n0 n1 n2".to_owned()), "{taken:?}");
    assert!(taken.contains(&"n1 n2".to_owned()), "{taken:?}");
}

#[test]
fn each_call_of_one_agent_answers_for_itself() {
    // One agent in two places: a condition at one place does not affect the other.
    let mut b = Build::new();
    let say = b.model("agent", "{{input}}");
    let agent = b.flow("agent", say, None);
    let first = b.call("first", agent, "1");
    let second = b.call("second", agent, "2");
    let (yes, no) = (b.mark("yes"), b.mark("no"));
    let branch = b.branch("", &[("{{first}} == \"a\" && {{second}} == \"b\"", yes)], Some(no));
    let body = b.sequence("", &[first, second, branch]);
    let main = b.flow("main", body, None);
    let program = b.program(main);
    let taken = kinds(SEEDS, |seed| run(&program, seed).output.to_string());
    assert_eq!(taken, ["\"no\"", "\"yes\""]);
}

#[test]
fn what_an_agent_is_given_comes_from_its_own_caller() {
    // A flow that returns its input, called with two answers: only the second one decides.
    let mut b = Build::new();
    let back = b.compute("", "{{input}}");
    let same = b.flow("same", back, None);
    let (one, two) = (b.model("one", "{{input}}"), b.model("two", "{{input}}"));
    let first = b.call("first", same, "{{one}}");
    let second = b.call("second", same, "{{two}}");
    let (yes, no) = (b.mark("yes"), b.mark("no"));
    let branch = b.branch("", &[("{{second}} == \"go\"", yes)], Some(no));
    let body = b.sequence("", &[one, two, first, second, branch]);
    let main = b.flow("main", body, None);
    let program = b.program(main);
    let answers = kinds(SEEDS, |seed| {
        let seen = run(&program, seed);
        assert!(seen.answers["one"].as_str().unwrap().starts_with("[embedded] one"), "nothing is wanted of it");
        seen.answers["two"].to_string()
    });
    assert_eq!(answers, ["\"go\"", "\"other\""]);
}
