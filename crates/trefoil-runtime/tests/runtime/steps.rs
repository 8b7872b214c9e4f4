//! Every step kind, through the driver.

use expect_test::expect;
use serde_json::json as j;
use trefoil_ir::{FanOutItems, FlowCallee, OnItemFailure, StepKind, ValueExpression};
use trefoil_machine::event::ItemTally;
use trefoil_runtime::EventKind;
use trefoil_template::{Policy, Value};

use crate::world::{World, json, status};
use testbed::Build;

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
    assert_eq!(outcome.usage.output_tokens, 3 + 4);
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
fn a_callee_is_found_by_its_rendered_name_or_not_at_all() {
    let run = |name: &str| {
        let mut b = Build::new();
        let inner = b.model("say", "I am {{input}}");
        let callee = b.flow("writer", inner, None);
        let call = b.call("outer", callee, "{{input}}");
        let name = b.text(name);
        if let StepKind::Call(call) = &mut b.at(call).kind {
            call.callee = FlowCallee::Named { name, flows: vec![("writer".into(), callee)] };
        }
        let main = b.flow("main", call, None);
        World::echo().run(&b.program(main), "writer").result
    };
    assert_eq!(json(&run("{{input}}").unwrap()), j!("I am writer"));
    let error = run("{{input}}s").unwrap_err();
    assert_eq!((error.code.as_str(), error.message.as_str()), ("AGENT_NOT_FOUND", "there is no pipeline `writers`"));
    assert_eq!(error.help.as_deref(), Some("did you mean `writer`?"));
}

#[test]
fn calls_that_never_end_hit_the_limit_of_depth() {
    let mut b = Build::new();
    let call = b.call("again", trefoil_ir::FlowId(0), "{{input}}");
    let main = b.flow("main", call, None);
    let error = World::echo().run(&b.program(main), "x").result.unwrap_err();
    assert_eq!(error.code, "LIMIT_EXCEEDED");
}

#[test]
fn branches_of_a_parallel_step_see_the_slots_as_they_were() {
    let mut b = Build::new();
    let first = b.compute("a", "{{input}}");
    // `compute` completes at once: without the snapshot, the second step would see the result of the first.
    let second = b.compute("b", "[{{a}}]");
    let body = b.parallel("both", &[first, second], OnItemFailure::Abort);
    let main = b.flow("main", body, Some("{{a}} {{b}}"));
    let outcome = World::echo().run(&b.program(main), "x");
    assert_eq!(json(&outcome.result.unwrap()), j!("x []"));
}

#[test]
fn a_failing_branch_cancels_its_siblings_and_nothing_runs_on() {
    let mut b = Build::new();
    let quick = b.model("quick", "x");
    let slow = b.wait("slow", 60_000);
    let body = b.parallel("both", &[slow, quick], OnItemFailure::Abort);
    let main = b.flow("main", body, None);
    let world = World::model(|_, _| Err(status(400)));
    let outcome = world.run(&b.program(main), "x");
    assert_eq!(outcome.result.unwrap_err().message, "status 400");
    assert!(outcome.duration_ms < 60_000, "it waited for the sibling");
    let cancelled = world.kinds().into_iter().any(|e| matches!(e, EventKind::StepFailed { handled_as: "cancel", .. }));
    assert!(cancelled, "the sibling's end is not announced");
}

#[test]
fn a_parallel_step_that_continues_leaves_the_failed_branch_unset() {
    let mut b = Build::new();
    let branches = [b.model("good", "fine"), b.model("broken", "x")];
    let body = b.parallel("both", &branches, OnItemFailure::Continue);
    let main = b.flow("main", body, Some("{{good}}/{{broken}}"));
    let world = World::model(|key, user| if key.ends_with("broken") { Err(status(400)) } else { Ok(user.into()) });
    assert_eq!(json(&world.run(&b.program(main), "x").result.unwrap()), j!("fine/"));
    let both = finished(&world, "both").expect("it is said how many branches failed");
    assert_eq!((both.total, both.failed), (2, 1));
}

/// The counts of a step's items, from its last event.
fn finished(world: &World, key: &str) -> Option<ItemTally> {
    world.events.collected_events().into_iter().find_map(|e| match e.kind {
        EventKind::StepFinished { items, .. } if e.key.as_ref().is_some_and(|k| &*k.0 == key) => Some(items),
        _ => None,
    })?
}

#[test]
fn a_branch_takes_the_first_arm_that_holds() {
    let run = |input: &str| {
        let mut b = Build::new();
        let (yes, other) = (b.compute("yes", "took yes"), b.compute("other", "took other"));
        let body = b.branch("gate", &[("{{input}} == \"yes\"", yes)], Some(other));
        let main = b.flow("main", body, None);
        let world = World::echo();
        let result = json(&world.run(&b.program(main), input).result.unwrap());
        let skipped = world.kinds().into_iter().find_map(|e| match e {
            EventKind::StepSkipped { label, reason } => Some(format!("{label}: {reason}")),
            _ => None,
        });
        (result, skipped.unwrap_or_default())
    };
    assert_eq!(run("yes"), (j!("took yes"), "other: branch not taken: `input` is yes".into()));
    assert_eq!(run("no"), (j!("took other"), "yes: branch not taken: `input` is no".into()));
}

#[test]
fn when_is_false_and_the_result_is_null_and_stored() {
    let mut b = Build::new();
    let say = b.model("say", "x");
    let say = b.when(say, "{{input}} == \"go\"");
    let main = b.flow("main", say, Some("{{say}}"));
    let outcome = World::echo().run(&b.program(main), "stay");
    assert_eq!((json(&outcome.result.unwrap()), outcome.calls), (j!(null), 0));
}

#[test]
fn a_loop_carries_its_slots_over_and_stops_when_until_holds() {
    let mut b = Build::new();
    let body = b.model("text", "{{text}}x");
    let repeat = b.repeat("grow", body, "{{text}} == \"xxx\"", 5);
    let main = b.flow("main", repeat, None);
    let outcome = World::echo().run(&b.program(main), "");
    assert_eq!((json(&outcome.result.unwrap()), outcome.calls), (j!("xxx"), 3));
}

#[test]
fn a_loop_that_never_ends_fails_at_its_limit() {
    let mut b = Build::new();
    let body = b.model("text", "x");
    let repeat = b.repeat("grow", body, "{{text}} == \"never\"", 2);
    let main = b.flow("main", repeat, None);
    let error = World::echo().run(&b.program(main), "").result.unwrap_err();
    assert_eq!(error.code, "MAX_ITERATIONS_EXCEEDED");
    expect![[r#"after 2 iterations, `until` is still false: `{{text}} == "never"`"#]].assert_eq(&error.message);
}

#[test]
fn a_fan_out_keeps_the_order_of_its_items() {
    let mut b = Build::new();
    b.begin_item();
    let say = b.model("say", "{{index}}/{{total}} {{item}}");
    let body = b.flow("body", say, None);
    let each = b.for_each("all", "{{input}}", body, OnItemFailure::Abort);
    let main = b.flow("main", each, None);
    let program = b.program(main);
    let outcome = World::echo().run(&program, vec!["a".into(), "b".into()]);
    assert_eq!(json(&outcome.result.unwrap()), j!(["0/2 a", "1/2 b"]));
    let outcome = World::echo().run(&program, "```json\n[\"c\"]\n```");
    assert_eq!(json(&outcome.result.unwrap()), j!(["0/1 c"]));
    assert_eq!(json(&World::echo().run(&program, "[]").result.unwrap()), j!([]));
}

#[test]
fn a_fan_out_over_what_is_no_list_says_what_it_got() {
    let mut b = Build::new();
    b.begin_item();
    let say = b.compute("say", "{{item}}");
    let body = b.flow("body", say, None);
    let each = b.for_each("all", "{{input}}", body, OnItemFailure::Abort);
    let main = b.flow("main", each, None);
    let program = b.program(main);
    let error = |input: Value| World::echo().run(&program, input).result.unwrap_err();
    let object: Value = [("a", 1)].into_iter().collect();
    assert_eq!(error(object.clone()).code, "INTERPOLATION_ERROR");
    let said = error(object).into_data().message;
    expect!["InterpolationError in '{{ input }}' [input]: Expected a JSON list but got an object"].assert_eq(&said);
    let said = error("plain".into()).into_data().message;
    assert!(said.starts_with("InterpolationError in '{{ input }}' [input]: Result is not valid JSON: "), "{said}");
}

#[test]
fn a_counted_fan_out_checks_its_count() {
    let run = |input: Value| {
        let mut b = Build::new();
        b.begin_item();
        let say = b.compute("say", "{{index}}");
        let body = b.flow("body", say, None);
        let each = b.for_each("all", "{{input}}", body, OnItemFailure::Abort);
        let count = b.value("{{input}}");
        if let StepKind::ForEach(each) = &mut b.at(each).kind {
            each.items = FanOutItems::Count(count, 100);
            each.item = None;
        }
        let main = b.flow("main", each, None);
        World::echo().run(&b.program(main), input).result
    };
    assert_eq!(json(&run(" 3 ".into()).unwrap()), j!([0, 1, 2]));
    let said = |input: Value| run(input).unwrap_err().message.split("]: ").last().map(str::to_owned).unwrap();
    expect!["swarm_size resolved to 0; must be >= 1"].assert_eq(&said(0.into()));
    expect!["swarm_size resolved to 101; exceeds MAX_SWARM_SIZE=100"].assert_eq(&said("101".into()));
    expect!["Template resolved to non-integer value: 'abc'"].assert_eq(&said("abc".into()));
}

#[test]
fn a_fan_out_that_continues_puts_its_word_for_failed_instances() {
    let mut b = Build::new();
    b.begin_item();
    let say = b.model("say", "{{item}}");
    let body = b.flow("body", say, None);
    let each = b.for_each("all", "{{input}}", body, OnItemFailure::Continue);
    if let StepKind::ForEach(each) = &mut b.at(each).kind {
        each.failed = Value::from("");
        each.concurrency = Some(1);
    }
    let main = b.flow("main", each, None);
    let world = World::model(|_, user| if user == "b" { Err(status(500)) } else { Ok(user.into()) });
    let outcome = world.run(&b.program(main), vec!["a".into(), "b".into(), "c".into()]);
    assert_eq!(json(&outcome.result.unwrap()), j!(["a", "", "c"]));
    let warned = world.events.collected_events().into_iter().find_map(|e| match e.kind {
        EventKind::Warning { message } => Some((e.key.map(|k| k.0.to_string()), message)),
        _ => None,
    });
    assert_eq!(warned, Some((Some("all[1]".into()), "item 2 failed: MODEL_ERROR: status 500".into())));
    assert_eq!(finished(&world, "all"), Some(ItemTally { total: 3, failed: 1 }));
    let items: Vec<String> = world.events.collected_events().into_iter().filter_map(|e| item(&e)).collect();
    assert_eq!(items, ["all[0] a of 3", "all[0] ok", "all[1] b of 3", "all[1] failed", "all[2] c of 3", "all[2] ok"]);
}

fn item(event: &trefoil_runtime::Event) -> Option<String> {
    let key = event.key.as_ref().map(|k| k.0.to_string()).unwrap_or_default();
    match &event.kind {
        EventKind::ItemStarted { total, item, .. } => {
            Some(format!("{key} {} of {total}", item.as_ref().map(|i| i.to_text().to_string()).unwrap_or_default()))
        }
        EventKind::ItemFinished { error } => Some(format!("{key} {}", if error.is_some() { "failed" } else { "ok" })),
        _ => None,
    }
}

#[test]
fn a_step_around_an_unnamed_fan_out_says_how_many_items_failed() {
    let mut b = Build::new();
    b.begin_item();
    let say = b.model("say", "{{item}}");
    let body = b.flow("body", say, None);
    let each = b.for_each("", "{{input}}", body, OnItemFailure::Continue);
    let inner = b.flow("inner", each, None);
    let call = b.call("outer", inner, "{{input}}");
    let main = b.flow("main", call, None);
    let world = World::model(|_, user| if user == "b" { Err(status(500)) } else { Ok(user.into()) });
    assert!(world.run(&b.program(main), vec!["a".into(), "b".into()]).result.is_ok());
    assert_eq!(finished(&world, "outer"), Some(ItemTally { total: 2, failed: 1 }));
}

#[test]
fn a_template_that_does_not_resolve_fails_its_item_alone_where_the_fan_out_continues() {
    let mut b = Build { policy: Policy::SIRENSPEC, ..Build::new() };
    b.begin_item();
    let say = b.model("say", "{{ item.a }}");
    let body = b.flow("body", say, None);
    let each = b.for_each("all", "{{ input }}", body, OnItemFailure::Continue);
    let main = b.flow("main", each, None);
    let items = [1, 2].map(|n| -> Value { [(if n == 1 { "a" } else { "b" }, n)].into_iter().collect() });
    let world = World::echo();
    let outcome = world.run(&b.program(main), items.to_vec());
    assert_eq!(json(&outcome.result.unwrap()), j!(["1", null]));
    let warned = world.kinds().into_iter().any(|e| match e {
        EventKind::Warning { message } => message.contains("item 2 failed: INTERPOLATION_ERROR"),
        _ => false,
    });
    assert!(warned);
}

#[test]
fn an_instance_has_a_time_limit_of_its_own() {
    let mut b = Build::new();
    b.begin_item();
    let wait = b.wait("wait", 5_000);
    let wait = b.when(wait, "{{item}} == \"slow\"");
    let say = b.compute("", "{{item}}");
    let body = b.sequence("", &[wait, say]);
    let body = b.flow("body", body, None);
    let each = b.for_each("all", "{{input}}", body, OnItemFailure::Continue);
    if let StepKind::ForEach(each) = &mut b.at(each).kind {
        each.timeout_ms = Some(1_000);
        each.failed = Value::from("late");
    }
    let main = b.flow("main", each, None);
    let outcome = World::echo().run(&b.program(main), vec!["quick".into(), "slow".into()]);
    assert_eq!(json(&outcome.result.unwrap()), j!(["quick", "late"]));
    assert_eq!(outcome.duration_ms, 1_000);
}

#[test]
fn captures_bring_the_callers_values_into_the_body() {
    let mut b = Build::new();
    b.begin_item();
    let topic = b.slot("topic");
    let missing = b.slot("missing");
    let say = b.compute("say", "{{topic}}{{missing}}: {{item}}");
    let body = b.flow("body", say, None);
    let each = b.for_each("all", "[1, 2]", body, OnItemFailure::Abort);
    let (input, unset) = (b.slot("input"), b.slot("never set"));
    if let StepKind::ForEach(each) = &mut b.at(each).kind {
        each.items = FanOutItems::List(ValueExpression::Const(Value::from("[1, 2]")));
        each.captures = vec![(topic, trefoil_ir::Source::Slot(input)), (missing, trefoil_ir::Source::Slot(unset))];
    }
    let main = b.flow("main", each, None);
    let outcome = World::echo().run(&b.program(main), "tea");
    assert_eq!(json(&outcome.result.unwrap()), j!(["tea: 1", "tea: 2"]));
}

#[test]
fn a_failing_model_fails_the_run_with_its_place() {
    let mut b = Build::new();
    let say = b.model("say", "{{input}}");
    let main = b.flow("main", say, None);
    let world = World::model(|_, _| Err(status(500)));
    let error = world.run(&b.program(main), "x").result.unwrap_err();
    assert_eq!((error.code.as_str(), error.message.as_str()), ("MODEL_ERROR", "status 500"));
    assert_eq!(&*error.into_data().key.unwrap().0, "say");
}

#[test]
fn waiting_takes_the_clocks_time() {
    let mut b = Build::new();
    let wait = b.wait("nap", 86_400_000);
    let main = b.flow("main", wait, None);
    let outcome = World::echo().run(&b.program(main), "x");
    assert_eq!((outcome.result.unwrap(), outcome.duration_ms), (Value::Null, 86_400_000));
}

#[test]
fn what_this_version_does_not_run_stops_a_run_before_its_first_call() {
    let mut b = Build::new();
    let say = b.model("say", "x");
    let refused = trefoil_ir::UnsupportedFeature {
        feature: "`http` tools".into(),
        message: "register a local tool".into(),
        ..trefoil_ir::UnsupportedFeature::default()
    };
    let tool = b.step("tool", StepKind::Refused(refused));
    let tool = b.when(tool, "{{input}} == \"never\"");
    let body = b.sequence("", &[say, tool]);
    let main = b.flow("main", body, None);
    let outcome = World::echo().run(&b.program(main), "x");
    let error = outcome.result.unwrap_err();
    assert_eq!((error.code.as_str(), outcome.calls), ("REFUSED", 0));
    expect!["`http` tools is not supported yet"].assert_eq(&error.message);
}

#[test]
fn exports_lie_beneath_the_output_of_a_call() {
    let mut b = Build::new();
    let writer = b.compute("writer", "a draft");
    let editor = b.compute("editor", "an edit");
    let body = b.sequence("", &[writer, editor]);
    let slots = [("writer", b.slot("writer")), ("editor", b.slot("editor"))];
    let callee = b.flow("writing", body, None);
    b.flow_mut(callee).exports = slots
        .into_iter()
        .map(|(key, slot)| trefoil_ir::FlowExport { key: key.into(), slot, member: vec![], inner: None })
        .collect();
    let call = b.call("writing", callee, "{{input}}");
    let (top, under) = (b.slot("writing"), b.slot("exports"));
    if let StepKind::Call(call) = &mut b.at(call).kind {
        call.exports = Some(under);
    }
    let mut read = b.text("{{writing}} / {{writing.writer}}");
    read.sources = vec![trefoil_ir::Source::Layered { top, path: vec![], under }; 2];
    let read = b.step("", StepKind::Compute(ValueExpression::Template(read)));
    let body = b.sequence("", &[call, read]);
    let main = b.flow("main", body, None);
    let outcome = World::echo().run(&b.program(main), "x");
    assert_eq!(json(&outcome.result.unwrap()), j!("an edit / a draft"));
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn a_hundred_thousand_items_and_a_long_chain_do_not_deepen_the_stack() {
        let mut b = Build::new();
        b.begin_item();
        let say = b.compute("say", "{{item}}");
        let body = b.flow("body", say, Some("{{say}}"));
        let each = b.for_each("all", "{{input}}", body, OnItemFailure::Abort);
        let mut chain: Vec<_> = (0..10_000).map(|_| b.compute("", "{{all}}")).collect();
        chain.insert(0, each);
        let body = b.sequence("", &chain);
        let main = b.flow("main", body, None);
        let items: Vec<Value> = (0..100_000u32).map(Value::from).collect();
        let program = b.program(main);
        let input = Value::from(items);
        // A small stack, which recursion over items or steps would overflow.
        let small = std::thread::Builder::new().stack_size(1 << 20);
        let outcome = small.spawn(move || World::echo().run(&program, input)).unwrap().join().unwrap();
        assert_eq!(outcome.result.unwrap().as_list().map(<[Value]>::len), Some(100_000));
    }
}
