//! The form of answers: lists, numbers, objects, text.

use serde_json::json;
use trefoil_embedded::EmbeddedModel;
use trefoil_ir::{AnswerFormat, FanOutItems, Guard, OnItemFailure, Source, StepKind, ValueExpression};
use trefoil_runtime::ModelProvider as _;

use crate::{drive, kinds, run};
use testbed::Build;

#[test]
fn text_that_a_fan_out_ranges_over_is_a_list() {
    let mut b = Build::new();
    b.begin_item();
    let work = b.model("work", "{{index}} {{item}}");
    let worker = b.flow("worker", work, None);
    let plan = b.model("plan", "{{input}}");
    let each = b.for_each("all", "{{plan}}", worker, OnItemFailure::Abort);
    let body = b.sequence("", &[plan, each]);
    let main = b.flow("main", body, Some("{{all}}"));
    let program = b.program(main);
    let counts = kinds(40, |seed| run(&program, seed).output.as_array().unwrap().len().to_string());
    assert_eq!(counts, ["2", "3", "4"]);
    assert_eq!(run(&program, 1).answers["plan"].as_str().unwrap().chars().next(), Some('['), "JSON, as text");
}

#[test]
fn items_have_the_members_that_are_read() {
    let mut b = Build::new();
    b.begin_item();
    let work = b.model("work", "{{item.title}}: {{item.detail.why}}");
    let worker = b.flow("worker", work, None);
    let plan = b.model("plan", "{{input}}");
    let each = b.for_each("all", "{{plan}}", worker, OnItemFailure::Abort);
    let body = b.sequence("", &[plan, each]);
    let main = b.flow("main", body, None);
    let program = b.program(main);
    let seen = run(&program, 5);
    let items: serde_json::Value = serde_json::from_str(seen.answers["plan"].as_str().unwrap()).unwrap();
    for item in items.as_array().unwrap() {
        assert!(item["title"].is_string() && item["detail"]["why"].is_string(), "{item}");
    }
}

#[test]
fn a_number_of_instances_is_small() {
    let mut b = Build::new();
    b.begin_item();
    let work = b.mark("work");
    let worker = b.flow("worker", work, None);
    let size = b.model("size", "{{input}}");
    let each = b.for_each("all", "{{size}}", worker, OnItemFailure::Abort);
    match &mut b.at(each).kind {
        StepKind::ForEach(it) => {
            let FanOutItems::List(count) = it.items.clone() else { panic!("a list") };
            it.items = FanOutItems::Count(count, 100);
            it.item = None;
        }
        other => panic!("{other:?}"),
    }
    let body = b.sequence("", &[size, each]);
    let main = b.flow("main", body, Some("{{all}}"));
    let program = b.program(main);
    let counts = kinds(40, |seed| run(&program, seed).output.as_array().unwrap().len().to_string());
    assert_eq!(counts, ["1", "2", "3"]);
}

#[test]
fn structured_text_has_the_members_that_templates_print() {
    let mut b = Build::new();
    let find = b.model("find", "{{input}}");
    b.call_of(find).format = AnswerFormat::JsonOrText;
    b.policy = trefoil_template::Policy::AEGIS;
    let fix = b.model("fix", "{{#each find.issues}}{{this.line}} {{/each}}{{find.summary}}");
    let body = b.sequence("", &[find, fix]);
    let main = b.flow("main", body, Some("{{find}}"));
    let output = run(&b.program(main), 2).output;
    assert!(output["summary"].is_string(), "{output}");
    assert!(output["issues"].as_array().unwrap().len() >= 2, "{output}");
    assert!(output["issues"][0]["line"].is_string(), "{output}");
}

#[test]
fn guards_are_kept() {
    let mut b = Build::new();
    let schema = b.schema(json!({"type": "object", "required": ["ok"], "properties": {"ok": {"const": true}}}));
    let answer = b.model("answer", "{{input}}");
    b.call_of(answer).guards = vec![Guard::Schema(schema), Guard::Length { max_chars: 400, refuse: true }];
    let short = b.model("short", "{{input}}");
    b.call_of(short).guards = vec![Guard::Length { max_chars: 20, refuse: true }];
    let body = b.sequence("", &[answer, short]);
    let main = b.flow("main", body, None);
    assert_eq!(run(&b.program(main), 2).output, json!("[embedded] short: ab"));
}

#[test]
fn plain_text_says_who_read_what() {
    let mut b = Build::new();
    let write = b.model(
        "write",
        "Please\n  write about {{input}} and about much more than anybody would want to read in one line",
    );
    let main = b.flow("main", write, None);
    let program = b.program(main);
    let (outcome, _) = drive(&program, 1, "tea");
    assert_eq!(
        outcome.result.unwrap().to_json(),
        json!(
            "[embedded] write: about \"Please write about tea and about much more than anybody would want to read in on…\""
        )
    );
    assert_eq!((outcome.usage.input_tokens, outcome.usage.output_tokens), (17, 19));
    assert_eq!(EmbeddedModel::new(&program, 1).label(&request()), "embedded");
}

fn request() -> trefoil_runtime::ModelRequest {
    trefoil_runtime::ModelRequest {
        speaker: "x".into(),
        provider: None,
        model: "m".into(),
        messages: Vec::new(),
        parameters: trefoil_ir::ModelParameters::default(),
        format: AnswerFormat::Text,
        schema: None,
        guards: Vec::new(),
        stream: false,
        provisional: false,
        tools: Vec::new(),
    }
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_one_another() {
    let mut b = Build::new();
    let rate = b.model_with(
        "rate",
        json!({"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}},
        "required": ["n", "s"]}),
    );
    let main = b.flow("main", rate, Some("{{rate}}"));
    let program = b.program(main);
    assert_eq!(run(&program, 4).output, run(&program, 4).output);
    let all = kinds(10, |seed| run(&program, seed).output.to_string());
    assert!(all.len() > 5, "{all:?}");
}

#[test]
fn a_program_that_turns_in_circles_is_still_understood() {
    // Slots that depend on each other, and a flow that calls itself: tracing must end.
    let mut b = Build::new();
    let first = b.compute("one", "{{two}}");
    let second = b.compute("two", "{{one}}");
    let model = b.model("one", "{{input}}");
    let yes = b.mark("yes");
    let branch = b.branch("", &[("{{two.x}} == 1 || {{one}} == \"a\"", yes)], None);
    let body = b.sequence("", &[first, second, model, branch]);
    let main = b.flow("main", body, None);
    let call = b.call("again", main, "{{one}}");
    b.at(call).when = None;
    let shape = ValueExpression::Read(Source::Result);
    b.at(call).shape = Some(shape);
    let rest = b.flow("rest", call, None);
    let program = b.program(rest);
    EmbeddedModel::new(&program, 1);
}

#[test]
fn it_never_hears_what_it_could_quote() {
    let mut b = Build::new();
    let say = b.model("say", "key {{env.KEY}}");
    let main = b.flow("main", say, None);
    let (outcome, events) = drive(&b.program(main), 0, "x");
    let said = outcome.result.unwrap();
    assert!(said.to_text().contains("key ***"), "it quotes the masked text: {}", said.to_text());
    assert!(!format!("{said:?} {events:?}").contains("sesame"));
}
