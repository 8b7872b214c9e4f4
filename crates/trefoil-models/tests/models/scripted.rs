//! Scripts: the answer for each call, and errors in script files.

use expect_test::expect;
use std::time::{Duration, Instant};

use serde_json::json;
use trefoil_ir::{StepId, ToolKind};
use trefoil_models::Scripted;
use trefoil_runtime::ports::CallSite;
use trefoil_runtime::{Key, ModelErrorKind, ModelProvider, ToolError, ToolHost, ToolRequest, Usage};
use trefoil_template::Value;

use crate::program::{one_call, one_tool};
use crate::request::{ask_at, request};

const LOCAL: ToolKind = ToolKind::Local;

fn script(json: serde_json::Value) -> Scripted {
    Scripted::parse("script.json", &json.to_string()).unwrap()
}

async fn text(script: &Scripted, key: &str, labels: &[&str]) -> String {
    ask_at(script, key, labels, &request("x"))
        .await
        .0
        .map_or_else(|e| format!("{:?}: {}", e.kind, e.message), |a| a.text)
}

#[tokio::test]
async fn the_nearest_name_wins() {
    let all = ["flow/fan[1]/step!2", "flow/fan[1]/step", "step", "writer", "fan", "flow", "*"];
    for (i, expected) in all.iter().enumerate() {
        let answers: serde_json::Map<_, _> = all[i..].iter().map(|n| ((*n).to_owned(), json!(n))).collect();
        let script = script(json!({"answers": answers}));
        assert_eq!(text(&script, "flow/fan[1]/step!2", &["flow", "fan", "step"]).await, *expected);
    }
}

#[tokio::test]
async fn a_list_is_given_in_order_and_ends() {
    let script = script(
        json!({"answers": {"step": ["a", {"error": {"status": 429, "retry_after_ms": 7}}, {"json": {"n": 1}}]}}),
    );
    let labels = ["flow", "step"];
    assert_eq!(text(&script, "flow/step@1", &labels).await, "a");
    let refused = ask_at(&script, "flow/step@2", &labels, &request("x")).await.0.unwrap_err();
    assert_eq!((refused.kind, refused.retry_after_ms), (ModelErrorKind::Status(429), Some(7)));
    expect!["1 answer of the script for `step` was not used"].assert_eq(&script.unused_answers().join("\n"));
    assert_eq!(text(&script, "flow/step@2!2", &labels).await, r#"{"n":1}"#);
    assert!(script.unused_answers().is_empty());
    assert_eq!(text(&script, "flow/step@1", &labels).await, "a", "the same call gets the same answer");
    expect!["Setup: the script has no more answers for `step` (it has 3)"]
        .assert_eq(&text(&script, "flow/step@3", &labels).await);
}

#[tokio::test]
async fn usage_that_no_call_can_have_is_unknown() {
    for number in [json!(-1), json!(u64::MAX), json!((1_u64 << 53) + 1), json!(1e300)] {
        let usage = json!({"input_tokens": number, "output_tokens": 3});
        let script = script(json!({"answers": {"writer": {"text": "x", "usage": usage}}}));
        let answer = ask_at(&script, "flow/writer", &["flow", "writer"], &request("x")).await.0.unwrap();
        assert_eq!(answer.usage, Usage { output_tokens: 3, ..Usage::for_unknown_call() }, "{number}");
    }
    let usage = json!({"input_tokens": 1.5});
    let error = Scripted::parse("s.json", &json!({"answers": {"writer": {"text": "x", "usage": usage}}}).to_string());
    assert!(error.is_err());
}

#[tokio::test]
async fn a_single_answer_is_given_every_time() {
    let script = script(json!({"answers": {"writer": 42}}));
    for key in ["flow/a", "flow/b", "flow/c"] {
        assert_eq!(text(&script, key, &["flow"]).await, "42");
    }
    assert_eq!(script.label(&request("x")), "scripted");
    let mut other = request("x");
    other.speaker = "critic".into();
    let error = ask_at(&script, "flow/d", &["flow", "d"], &other).await.0.unwrap_err();
    expect!["the script has no answer for agent `critic` at `flow/d`"].assert_eq(&error.message);
}

#[tokio::test]
async fn delays_usage_and_streams() {
    let script = script(json!({"answers": {"*": [
        {"text": "one two  three", "delay_ms": 60, "usage": {"input_tokens": 5, "output_tokens": 6}}, "two words",
    ]}}));
    let mut asked = request("three words here");
    asked.stream = true;
    let begin = Instant::now();
    let (answer, heard) = ask_at(&script, "a", &[], &asked).await;
    assert!(begin.elapsed() >= Duration::from_millis(60));
    assert_eq!(heard.concat(), "one two  three");
    assert!(heard.len() > 1);
    assert_eq!(answer.unwrap().usage, Usage { input_tokens: 5, output_tokens: 6, ..Usage::default() });
    let (answer, _) = ask_at(&script, "b", &[], &asked).await;
    assert_eq!(
        answer.unwrap().usage,
        Usage { input_tokens: 3, output_tokens: 2, ..Usage::default() },
        "words for tokens"
    );
}

#[tokio::test]
async fn tools_are_answered_by_name() {
    let script = script(json!({"tools": {
        "search": {"value": {"hits": [1]}}, "mail": [{"error": "down"}, {"error": "timeout"}, 7],
    }}));
    assert!(script.offers_tool("search", &LOCAL) && !script.offers_tool("other", &LOCAL));
    let call = async |name: &str, key: &str| {
        let request = ToolRequest { name: name.into(), kind: ToolKind::Local, arguments: Value::Null };
        let (key, meter) = (Key(key.into()), trefoil_runtime::Meter::default());
        let at = CallSite {
            run: "run",
            execution: 0,
            key: &key,
            step: StepId(0),
            labels: &[],
            meter: &meter,
            discloses: false,
            limit_ms: None,
        };
        ToolHost::call_tool(&script, at, &request).await
    };
    assert_eq!(call("search", "a").await.unwrap().to_json(), json!({"hits": [1]}));
    assert_eq!(call("mail", "a").await, Err(ToolError::Failed("down".into())));
    assert_eq!(call("mail", "b").await, Err(ToolError::Timeout));
    assert_eq!(call("mail", "c").await.unwrap().to_json(), json!(7));
    assert!(matches!(call("mail", "d").await, Err(ToolError::Failed(m)) if m.contains("`mail`")));
    assert!(matches!(call("other", "a").await, Err(ToolError::Failed(m)) if m.contains("`other`")));
}

#[test]
fn mistakes_are_named_by_their_place() {
    let cases = [
        json!([]),
        json!({"answer": {}}),
        json!({"answers": 1}),
        json!({"answers": {"a": []}}),
        json!({"answers": {"a": [["x"]]}}),
        json!({"answers": {"a": [{"txt": "x"}]}}),
        json!({"answers": {"a": {"approved": true}}}),
        json!({"answers": {"a": {"text": 1}}}),
        json!({"answers": {"a": {"delay_ms": 1}}}),
        json!({"answers": {"a": {"text": "x", "delay_ms": -1}}}),
        json!({"answers": {"a": {"error": {"status": 9000}}}}),
        json!({"answers": {"a": {"error": {"kind": "magic"}}}}),
        json!({"tools": {"t": {"valeu": 1}}}),
    ];
    let told = cases.map(|script| {
        let error = Scripted::parse("s.json", &script.to_string()).unwrap_err();
        format!("{script}\n  {}\n", error.message)
    });
    expect![[r#"
        []
          s.json: the script is not a mapping
        {"answer":{}}
          s.json: unknown key `answer` in the script; did you mean `answers`?
        {"answers":1}
          s.json: `answers` is not a mapping
        {"answers":{"a":[]}}
          s.json: `answers.a` is an empty list
        {"answers":{"a":[["x"]]}}
          s.json: `answers.a[0]` is a list; use `json:` for an answer that is a list
        {"answers":{"a":[{"txt":"x"}]}}
          s.json: unknown key `txt` in `answers.a[0]`; did you mean `text`?
        {"answers":{"a":{"approved":true}}}
          s.json: unknown key `approved` in `answers.a`; use `json:` for an answer that is an object
        {"answers":{"a":{"text":1}}}
          s.json: `answers.a.text` is not text
        {"answers":{"a":{"delay_ms":1}}}
          s.json: `answers.a` needs one of `text`, `json`, `calls` and `error`
        {"answers":{"a":{"text":"x","delay_ms":-1}}}
          s.json: `answers.a.delay_ms` is not a whole number
        {"answers":{"a":{"error":{"status":9000}}}}
          s.json: `answers.a.error.status` is not an HTTP status
        {"answers":{"a":{"error":{"kind":"magic"}}}}
          s.json: `answers.a.error.kind` is not one of `network`, `timeout`, `protocol`
        {"tools":{"t":{"valeu":1}}}
          s.json: unknown key `valeu` in `tools.t`; did you mean `value`?
    "#]]
    .assert_eq(&told.concat());
    let error = Scripted::parse("s.json", "{").unwrap_err();
    expect!["s.json: invalid JSON: EOF while parsing an object at line 1 column 1"].assert_eq(&error.message);
}

const YAML: &str = r#"
answers:
  writer: First draft
  reviewer:
    - json: {approved: false, feedback: Too short.}
    - error: {status: 429, message: slow down, retry_after_ms: 10}
    - json: {approved: true}
      delay_ms: 1
      usage: {input_tokens: 100, output_tokens: 20}
  "pipeline/fan[1]/worker": |
    Only
    this item
tools:
  search: {value: {hits: []}}
"#;

#[tokio::test]
async fn a_script_in_yaml_reads_the_same() {
    let script = Scripted::parse("script.yaml", YAML).unwrap();
    assert_eq!(text(&script, "w", &["writer"]).await, "First draft");
    assert_eq!(text(&script, "r@1", &["reviewer"]).await, r#"{"approved":false,"feedback":"Too short."}"#);
    assert_eq!(text(&script, "r@2", &["reviewer"]).await, "Status(429): slow down");
    assert_eq!(text(&script, "r@2!2", &["reviewer"]).await, r#"{"approved":true}"#);
    assert_eq!(text(&script, "pipeline/fan[1]/worker", &[]).await, "Only\nthis item\n");
    assert!(script.offers_tool("search", &LOCAL));
    let error = Scripted::parse("s.yaml", "answers:\n  a: [1\n").unwrap_err();
    assert!(error.message.starts_with("s.yaml: line "), "{}", error.message);
    expect!["s.yaml: the file is empty"].assert_eq(&Scripted::parse("s.yaml", "").unwrap_err().message);
}

#[test]
fn names_that_are_nothing_in_the_program_are_told() {
    let script = script(json!({
        "answers": {"draft": "x", "writer": "x", "wirter": "x", "*": "x", "main/draft@2": "x"},
        "tools": {"serach": 1},
    }));
    expect![[r#"
        the script answers for `wirter`, but this workflow has no such step or agent; did you mean `writer`?
        the script answers for `serach`, but this workflow has no such tool"#]]
    .assert_eq(&script.unknown_names(&one_call()).join("\n"));
    let of_tool = script.unknown_names(&one_tool());
    expect![[r#"
        the script answers for `writer`, but this workflow has no such step or agent
        the script answers for `wirter`, but this workflow has no such step or agent
        the script answers for `serach`, but this workflow has no such tool; did you mean `search`?"#]]
    .assert_eq(&of_tool.join("\n"));
}
