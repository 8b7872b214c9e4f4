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
        &["wrong-input-type warning 9:100 `input.t` is text without quotes: this is not JSON"],
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

#[test]
fn a_condition_that_always_holds_is_told_itself() {
    let rules = ["never-true", "dead-transition"];
    let found = |expression: &str, lines: &[&str]| {
        let text = workflow(&format!(
            "    A:\n      kind: Agent\n      agent: a\n      input: x\n      transitions:\n        - {{ condition: custom, expression: \"{expression}\", target: END }}\n        - {{ condition: always, target: END }}\n"
        ));
        let sorter = agent("a", "required: [kind], properties: { kind: { type: string } }");
        expect(&rules, &[("w.yaml", &text), ("a.yaml", &sorter)], lines);
    };
    found(
        "A.output.kind == 'a' || 'b'",
        &["never-true warning 14:44 `'b'` is alone in this condition: a text alone is always true"],
    );
    found(
        "A.output.kind != 'a' || A.output.kind != 'b'",
        &["never-true warning 14:44 this condition always holds: one of its parts does in every case"],
    );
    found("A.output.kind == 'a' || A.output.kind == 'b'", &[]);
    found(
        "A.output.kind == 'a' && A.output.kind == 'b'",
        &[
            "dead-transition warning 14:11 `A.output.kind == 'a' && A.output.kind == 'b'` is never taken: its condition can never hold",
        ],
    );
}

#[test]
fn figures_that_an_answer_does_not_have() {
    let rules = ["impossible-transition", "unknown-property"];
    let found = |schema: &str, condition: &str, lines: &[&str]| {
        let text = workflow(&format!(
            "    A:\n      kind: Agent\n      agent: judge\n      input: x\n      transitions:\n        - {{ condition: {condition}, target: H }}\n        - {{ condition: always, target: END }}\n    H: {{ kind: Human, prompt: '{{{{A.score}}}}', transitions: [{{ target: END }}] }}\n"
        ));
        expect(&rules, &[("w.yaml", &text), ("judge.yaml", &agent("judge", schema))], lines);
    };
    found("properties: { score: { type: number } }", "score_above, threshold: 0.5", &[]);
    found("properties: { score: { type: string } }", "score_above, threshold: 0.5", &[]);
    found("properties: { rating: { type: number } }, additionalProperties: true", "score_above, threshold: 0.5", &[]);
    found(
        "properties: { rating: { type: number } }",
        "score_above, threshold: 0.5",
        &["unknown-property warning 14:24 the agent's answer declares no `score`, and `score_above 0.5` looks at it"],
    );
    found(
        "properties: { score: { type: number } }",
        "score_and_confidence_above, threshold: 0.5, confidence: 0.5",
        &[
            "unknown-property warning 14:24 the agent's answer declares no `confidence`, and `score_and_confidence_above 0.5 0.5` looks at it",
        ],
    );
    found(
        "properties: { score: { enum: [good, bad] } }",
        "score_below, threshold: 0.5",
        &["impossible-transition warning 14:24 `score_below 0.5` can never hold here"],
    );
    found(
        "additionalProperties: false, properties: { rating: { type: number } }",
        "score_above, threshold: 0.5",
        &[
            "impossible-transition warning 14:24 `score_above 0.5` can never hold here",
            "unknown-property warning 16:34 `A.score` is always empty: the agent's answer has no `score`",
        ],
    );
}

#[test]
fn the_score_of_a_consensus_is_a_share() {
    let found = |expression: &str, lines: &[&str]| {
        let text = workflow(&format!(
            "    A:\n      kind: ParallelAgents\n      agents: [{{ agent: a, input: x }}, {{ agent: a, input: y }}]\n      consensus: {{ strategy: weighted_average }}\n      transitions:\n        - {{ condition: custom, expression: \"{expression}\", target: END }}\n        - {{ condition: always, target: END }}\n"
        ));
        let judge = agent("a", "required: [score], properties: { score: { type: number } }");
        expect(&["never-true"], &[("w.yaml", &text), ("a.yaml", &judge)], lines);
    };
    found(
        "A.consensus.score > 75",
        &["never-true warning 14:45 this comparison can never be true: `A.consensus.score` is from 0 to 1"],
    );
    found(
        "A.consensus.confidence >= 40",
        &["never-true warning 14:45 this comparison can never be true: `A.consensus.confidence` is from 0 to 1"],
    );
    found("A.consensus.score > 0.75", &[]);
}

#[test]
fn a_placeholder_in_a_guard_that_is_turned_round() {
    let shown = |prompt: &str, lines: &[&str]| {
        let text = workflow(&format!(
            "    A: {{ kind: Human, prompt: '{prompt}', transitions: [{{ target: END }}, {{ condition: on_failure, target: A }}] }}\n"
        ));
        expect(&["no-effect"], &[("w.yaml", &text)], lines);
    };
    shown(
        "{{#unless previous_error}}Failed: {{previous_error}}{{/unless}}",
        &["no-effect warning 9:68 `previous_error` is always empty here: the block asks for it to be so"],
    );
    shown(
        "{{#if input.t}}Text:{{else}}{{input.t}}{{/if}}",
        &["no-effect warning 9:62 `input.t` is always empty here: the block asks for it to be so"],
    );
    // 0 is as false as nothing is, and something to be read.
    shown("{{#unless input.n}}{{input.n}}{{/unless}}", &[]);
    shown("{{#if input.t}}{{input.t}}{{else}}{{#if input.n}}{{input.n}}{{/if}}{{/if}}", &[]);
    shown("{{#unless input.t}}{{input.n}}{{/unless}} {{input.t}}", &[]);
}
