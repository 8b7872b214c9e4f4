//! Every step kind, through the driver.

use serde_json::json as j;
use trefoil_ir::OnItemFailure;

use crate::build::Build;
use crate::world::{World, json, status};

#[test]
fn a_sequence_hands_results_on_and_ends_with_the_last() {
    let mut b = Build::new();
    let steps = [b.model("draft", "Write about {{input}}"), b.model("review", "Review: {{draft}}")];
    let body = b.sequence("", &steps);
    let main = b.flow("main", body, None);
    let world = World::echo();
    let outcome = world.run(&b.program(main), "tea");
    assert_eq!(json(&outcome.result.unwrap()), j!("Review: Write about tea"));
    assert_eq!(outcome.calls, 2);
}

#[test]
fn a_called_flow_has_slots_of_its_own() {
    let mut b = Build::new();
    let inner = b.model("say", "<{{input}}>");
    let callee = b.flow("callee", inner, None);
    let call = b.call("outer", callee, "{{input}}!");
    let main = b.flow("main", call, Some("{{outer}}"));
    let outcome = World::echo().run(&b.program(main), "hi");
    assert_eq!(json(&outcome.result.unwrap()), j!("<hi!>"));
}

#[test]
fn a_fan_out_keeps_the_order_of_its_items() {
    let mut b = Build::new();
    b.begin_item();
    let say = b.model("say", "{{index}}/{{total}} {{item}}");
    let body = b.flow("body", say, None);
    let each = b.for_each("all", "{{input}}", body, OnItemFailure::Abort);
    let main = b.flow("main", each, None);
    let outcome = World::echo().run(&b.program(main), vec!["a".into(), "b".into()]);
    assert_eq!(json(&outcome.result.unwrap()), j!(["0/2 a", "1/2 b"]));
}

#[test]
fn a_failing_model_fails_the_run_with_its_place() {
    let mut b = Build::new();
    let say = b.model("say", "{{input}}");
    let main = b.flow("main", say, None);
    let world = World::model(|_, _| Err(status(500)));
    let error = world.run(&b.program(main), "x").result.unwrap_err();
    assert_eq!((error.code.as_str(), error.message.as_str()), ("MODEL_ERROR", "status 500"));
    assert_eq!(&*error.key.unwrap().0, "say");
}
