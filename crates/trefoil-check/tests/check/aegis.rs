//! What only shows in manifests of agents and workflows that call each other by name.

use trefoil_syntax::Severity;

use super::support::{check, line};

/// The findings of some rules about the first file.
#[track_caller]
fn expect(rules: &[&str], files: &[(&str, &str)], lines: &[&str]) {
    let (project, all) = check(Some("aegis"), files);
    let others: Vec<_> = all.iter().filter(|d| d.severity == Severity::Error && !rules.contains(&d.rule)).collect();
    assert!(others.is_empty(), "{others:#?}");
    let found = all.iter().filter(|d| rules.contains(&d.rule));
    let mut found: Vec<String> = found.map(|d| format!("{} {}", d.rule, line(&project, d))).collect();
    found.sort();
    found.dedup();
    assert_eq!(found, lines);
}

/// A workflow with these states, from `A` on.
fn workflow(states: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata:\n  name: w\n  input_schema: {{ type: object, required: [t, n], properties: {{ t: {{ type: string }}, n: {{ type: number }} }} }}\nspec:\n  initial_state: A\n  states:\n{states}    END: {{ kind: System, command: echo }}\n"
    )
}

/// An agent that answers with an object of these properties.
fn agent(name: &str, properties: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{ name: {name}, version: '1' }}\nspec:\n  runtime: {{ model: smart }}\n  task: {{ instruction: Work. }}\n  execution:\n    mode: iterative\n    max_iterations: 2\n    validation:\n      - type: json_schema\n        schema: {{ type: object, {properties} }}\n"
    )
}

#[test]
fn what_a_workflow_is_given_is_held_against_what_it_takes() {
    let child = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata:\n  name: child\n  input_schema: { type: object, required: [title], properties: { title: { type: string } } }\nspec:\n  initial_state: A\n  states:\n    A: { kind: System, command: echo }\n";
    let given = |input: &str, lines: &[&str]| {
        let text = workflow(&format!(
            "    A: {{ kind: Subworkflow, workflow_id: child, mode: blocking, result_key: r, input: '{input}', transitions: [{{ target: END }}] }}\n"
        ));
        expect(&["wrong-input-type"], &[("w.yaml", &text), ("child.yaml", child)], lines);
    };
    given(
        "{\"title\": {{input.t}}}",
        &["wrong-input-type warning 9:100 `input.t` is text, and stands here without quotes: this is no JSON"],
    );
    given(
        "{\"title\": 5}",
        &["wrong-input-type warning 9:5 `title` of `child` does not take this: it is text, and this is a number"],
    );
    given("{\"title\": {{json input.t}}}", &[]);
    given("{\"title\": \"{{input.t}}\"}", &[]);
    given("{{input.t}}", &[]);
}

#[test]
fn what_is_taken_apart_is_not_printed_as_an_object() {
    let sorter =
        agent("a", "required: [by], properties: { by: { type: object, properties: { x: { type: string } } } }");
    let shown = |prompt: &str, lines: &[&str]| {
        let text = workflow(&format!(
            "    A: {{ kind: Agent, agent: a, input: x, transitions: [{{ target: H }}] }}\n    H: {{ kind: Human, prompt: '{prompt}', transitions: [{{ target: END }}] }}\n"
        ));
        expect(&["object-in-prompt"], &[("w.yaml", &text), ("a.yaml", &sorter)], lines);
    };
    shown("{{keys A.output.by}} {{length A.output.by}} {{lookup A.output.by \"x\"}}", &[]);
    shown("So: {{A.output.by}}", &["object-in-prompt info 10:38 `A.output.by` is an object and is printed as JSON"]);
}
