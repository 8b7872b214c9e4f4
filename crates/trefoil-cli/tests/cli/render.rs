//! `trefoil render`: one text with a state, and the line protocol that the test vectors use.

use serde_json::{Value, json};

use crate::world::Folder;

#[test]
fn every_vector_passes() {
    let Some(dir) = untested::shared_folder("vectors") else { return };
    let folder = Folder::new();
    let mut count = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let cases: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        let answers = folder.trefoil_with(&["render", "--jsonl"], &text);
        answers.exits(0);
        let answers = answers.lines();
        assert_eq!(answers.len(), cases.len());
        for (case, answer) in cases.iter().zip(&answers) {
            let shown = format!("{case}\n{answer}");
            if case.get("load_error").is_some() {
                assert_eq!((&answer["ok"], &answer["phase"]), (&json!(false), &json!("load")), "{shown}");
                assert!(answer["error"]["line"].is_u64() && answer["error"]["column"].is_u64(), "{shown}");
            } else if let Some(error) = case.get("error") {
                assert_eq!((&answer["ok"], &answer["phase"]), (&json!(false), &json!("run")), "{shown}");
                for key in ["expression", "namespace", "reason"] {
                    assert_eq!(answer["error"][key], error[key], "{shown}");
                }
            } else {
                assert_eq!((&answer["ok"], &answer["result"]), (&json!(true), &case["expect"]), "{shown}");
            }
            count += 1;
        }
    }
    assert!(count > 400, "only {count} vectors");
}

#[test]
fn what_is_no_question_is_answered_too() {
    let folder = Folder::new();
    let questions = "nonsense\n{}\n\n{\"dialect\":\"jinja\",\"kind\":\"template\",\"text\":\"x\"}\n\
                     {\"dialect\":\"agntz\",\"kind\":\"template\",\"text\":\"{{a}}\",\"stat\":{}}\n\
                     {\"dialect\":\"agntz\",\"kind\":\"template\",\"text\":\"{{a}}\",\"state\":{\"a\":1}}\n";
    let answers = folder.trefoil_with(&["render", "--jsonl"], questions).lines();
    assert_eq!(answers.len(), 6);
    assert!(answers[..5].iter().all(|a| a["error"]["code"] == "bad-question"), "{answers:?}");
    assert_eq!(answers[5], json!({"ok": true, "result": "1"}));
    assert!(answers[4]["error"]["message"].as_str().unwrap().contains("`stat`"), "{answers:?}");
}

#[test]
fn values_keep_their_type() {
    let folder = Folder::new();
    let ask = |kind: &str, text: &str| {
        let question = json!({"dialect": "agntz", "kind": kind, "text": text, "state": {"n": 3, "l": [1, "a"]}});
        folder.trefoil_with(&["render", "--jsonl"], &question.to_string()).lines()[0]["result"].clone()
    };
    assert_eq!(ask("template", "{{n}}"), "3");
    assert_eq!(ask("value", "{{n}}"), 3);
    assert_eq!(ask("value", "{{l}}"), json!([1, "a"]));
    assert_eq!(ask("value", "{{n}}!"), "3!");
    assert_eq!(ask("condition", "{{n}} > 2"), true);
}

#[test]
fn one_text_against_a_state() {
    let folder = Folder::new();
    folder.write("state.json", "{\"name\": \"Ann\", \"tags\": [\"a\", \"b\"]}").write("state.yaml", "name: Bea\n");
    let render = |args: &[&str]| {
        let mut all = vec!["render", "--dialect"];
        all.extend(args);
        folder.trefoil(&all)
    };
    assert_eq!(render(&["agntz", "--state", "state.json", "Hi {{name}}"]).out, "Hi Ann\n");
    assert_eq!(render(&["agntz", "--state", "state.yaml", "Hi {{name}}"]).out, "Hi Bea\n");
    assert_eq!(render(&["aegis", "--state", "state.json", "{{#each tags}}<{{this}}>{{/each}}"]).out, "<a><b>\n");
    assert_eq!(render(&["agntz", "--state", "state.json", "--value", "{{tags}}"]).out, "[\"a\",\"b\"]\n");
    assert_eq!(render(&["agntz", "--state", "state.json", "--condition", "{{name}} == Ann"]).out, "true\n");
    folder.write("escape.json", "{\"x\": \"\\u001b[1mbold\"}");
    assert_eq!(render(&["agntz", "--state", "escape.json", "{{x}}"]).out, "\u{1b}[1mbold\n");
    let marked = render(&["agntz", "--state", "state.json", "--provenance", "Hi {{name}}, {{name}}"]).out;
    assert_eq!(marked, "Hi «1:Ann», «2:Ann»\n\n  1  name  at 1:6\n  2  name  at 1:16\n");
}

#[test]
fn mistakes_exit_2_and_what_the_state_lacks_exits_1() {
    let folder = Folder::new();
    folder.write("list.json", "[1]").write("broken.json", "{\n  \"a\": }");
    folder.trefoil(&["render", "--dialect", "agntz", "{{a"]).silent(2).says(&["template-unclosed", "text:1:1"]);
    let missing = folder.trefoil(&["render", "--dialect", "sirenspec", "{{ plan.output }}"]);
    missing.silent(1).says(&["InterpolationError in '{{ plan.output }}' [plan]: Key 'plan' not found"]);
    folder.trefoil(&["render", "--dialect", "agntz", "--state", "list.json", "x"]).silent(2).says(&["a list"]);
    folder
        .trefoil(&["render", "--dialect", "agntz", "--state", "broken.json", "x"])
        .silent(2)
        .says(&["broken.json:2:"]);
    folder.trefoil(&["render", "--dialect", "agntz", "--state", "none.json", "x"]).silent(2);
    folder.trefoil(&["render", "x"]).silent(2);
}
