//! Findings in manifests of agents and workflows that call each other by name.

use expect_test::{Expect, expect};
use trefoil_syntax::{Diagnostic, FindingSeverity};

use super::support::{check, hold, is_of, shown};

/// The findings of several rules about the first file.
#[track_caller]
fn expect(rules: &[&str], files: &[(&str, &str)], lines: Expect) {
    let (project, all) = check(Some("aegis"), files);
    let asked = |d: &&Diagnostic| rules.iter().any(|rule| is_of(d, rule));
    let others: Vec<_> = all.iter().filter(|d| d.severity == FindingSeverity::Error && !asked(d)).collect();
    assert!(others.is_empty(), "{others:#?}");
    hold(&lines, &shown(&project, all.iter().filter(asked)));
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
    let given = |input: &str, lines: Expect| {
        let text = workflow(&format!(
            "    A: {{ kind: Subworkflow, workflow_id: child, mode: blocking, result_key: r, input: '{input}', transitions: [{{ target: END }}] }}\n"
        ));
        expect(&["wrong-input-type"], &[("w.yaml", &text), ("child.yaml", child)], lines);
    };
    given(
        "{\"title\": {{input.t}}}",
        expect![[r#"
            9:100 warning wrong-input-type: `input.t` is text and has no quotes here, so this is not valid JSON
              | ...ing, result_key: r, input: '{"title": {{input.t}}}', transitions: [
              |                                            ^^^^^^^
              help: write `{{json input.t}}`, which adds the quotes
        "#]],
    );
    given(
        "{\"title\": 5}",
        expect![[r#"
            9:5 warning wrong-input-type: `title` of `child` does not accept this value: it must be text, not a number
              | A: { kind: Subworkflo
              | ^
              at child.yaml:5:66: declared here
        "#]],
    );
    given("{\"title\": {{json input.t}}}", expect![""]);
    given("{\"title\": \"{{input.t}}\"}", expect![""]);
    given("{{input.t}}", expect![""]);
}

#[test]
fn what_is_taken_apart_is_not_printed_as_an_object() {
    let sorter =
        agent("a", "required: [by], properties: { by: { type: object, properties: { x: { type: string } } } }");
    let shown = |prompt: &str, lines: Expect| {
        let text = workflow(&format!(
            "    A: {{ kind: Agent, agent: a, input: x, transitions: [{{ target: H }}] }}\n    H: {{ kind: Human, prompt: '{prompt}', transitions: [{{ target: END }}] }}\n"
        ));
        expect(&["object-in-prompt"], &[("w.yaml", &text), ("a.yaml", &sorter)], lines);
    };
    shown("{{keys A.output.by}} {{length A.output.by}} {{lookup A.output.by \"x\"}}", expect![""]);
    shown(
        "So: {{A.output.by}}",
        expect![[r#"
            10:38 info object-in-prompt: `A.output.by` is an object, so it is printed as JSON
              | H: { kind: Human, prompt: 'So: {{A.output.by}}', transitions: [{
              |                                  ^^^^^^^^^^^
              help: its fields are `A.output.by.x`
        "#]],
    );
}

#[test]
fn a_condition_that_always_holds_is_told_itself() {
    let rules = ["never-true", "dead-transition"];
    let found = |expression: &str, lines: Expect| {
        let text = workflow(&format!(
            "    A:\n      kind: Agent\n      agent: a\n      input: x\n      transitions:\n        - {{ condition: custom, expression: \"{expression}\", target: END }}\n        - {{ condition: always, target: END }}\n"
        ));
        let sorter = agent("a", "required: [kind], properties: { kind: { type: string } }");
        expect(&rules, &[("w.yaml", &text), ("a.yaml", &sorter)], lines);
    };
    found(
        "A.output.kind != 'a' || A.output.kind != 'b'",
        expect![[r#"
            14:44 warning always-true: this condition is always true: in every case, one of its parts is
              | - { condition: custom, expression: "A.output.kind != 'a' || A.output.kind != 'b'", target: END }
              |                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              help: to exclude several values, join the comparisons with `&&`
        "#]],
    );
    found("A.output.kind == 'a' || A.output.kind == 'b'", expect![""]);
    found(
        "A.output.kind == 'a' && A.output.kind == 'b'",
        expect![[r#"
        14:11 warning dead-transition: `A.output.kind == 'a' && A.output.kind == 'b'` is never taken: its condition can never hold
          | - { condition: custom, expression: "A.output.kind == 'a' && A.output.kind == 'b'", target: END }
          |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          help: fix its condition, or remove it
    "#]],
    );
}

#[test]
fn figures_that_an_answer_does_not_have() {
    let rules = ["impossible-transition", "unknown-property"];
    let found = |schema: &str, condition: &str, lines: Expect| {
        let text = workflow(&format!(
            "    A:\n      kind: Agent\n      agent: judge\n      input: x\n      transitions:\n        - {{ condition: {condition}, target: H }}\n        - {{ condition: always, target: END }}\n    H: {{ kind: Human, prompt: '{{{{A.score}}}}', transitions: [{{ target: END }}] }}\n"
        ));
        expect(&rules, &[("w.yaml", &text), ("judge.yaml", &agent("judge", schema))], lines);
    };
    found("properties: { score: { type: number } }", "score_above, threshold: 0.5", expect![""]);
    found("properties: { score: { type: string } }", "score_above, threshold: 0.5", expect![""]);
    found(
        "properties: { rating: { type: number } }, additionalProperties: true",
        "score_above, threshold: 0.5",
        expect![""],
    );
    found("properties: { rating: { type: number } }", "score_above, threshold: 0.5", expect![""]);
    found(
        "properties: { score: { type: number } }",
        "score_and_confidence_above, threshold: 0.5, confidence: 0.5",
        expect![""],
    );
    found(
        "properties: { score: { enum: [good, bad] } }",
        "score_below, threshold: 0.5",
        expect![[r#"
            14:24 warning impossible-transition: `score_below 0.5` is never true here
              | - { condition: score_below, threshold: 0.5, ta
              |                ^^^^^^^^^^^
              at judge.yaml:12:47: declared here
              help: the `score` of the agent's answer is not a number
        "#]],
    );
    found(
        "additionalProperties: false, properties: { rating: { type: number } }",
        "score_above, threshold: 0.5",
        expect![[r#"
            14:24 warning impossible-transition: `score_above 0.5` is never true here
              | - { condition: score_above, threshold: 0.5, ta
              |                ^^^^^^^^^^^
              help: the agent's answer has no `score`: its schema does not allow one
        "#]],
    );
}

#[test]
fn the_score_of_a_consensus_is_a_share() {
    let found = |expression: &str, lines: Expect| {
        let text = workflow(&format!(
            "    A:\n      kind: ParallelAgents\n      agents: [{{ agent: a, input: x }}, {{ agent: a, input: y }}]\n      consensus: {{ strategy: weighted_average }}\n      transitions:\n        - {{ condition: custom, expression: \"{expression}\", target: END }}\n        - {{ condition: always, target: END }}\n"
        ));
        let judge = agent("a", "required: [score], properties: { score: { type: number } }");
        expect(&["never-true"], &[("w.yaml", &text), ("a.yaml", &judge)], lines);
    };
    found(
        "A.consensus.score > 75",
        expect![[r#"
        14:45 warning never-true: this comparison can never be true: `A.consensus.score` is from 0 to 1
          | - { condition: custom, expression: "A.consensus.score > 75", target: END
          |                                     ^^^^^^^^^^^^^^^^^
    "#]],
    );
    found(
        "A.consensus.confidence >= 40",
        expect![[r#"
        14:45 warning never-true: this comparison can never be true: `A.consensus.confidence` is from 0 to 1
          | - { condition: custom, expression: "A.consensus.confidence >= 40", target: END
          |                                     ^^^^^^^^^^^^^^^^^^^^^^
    "#]],
    );
    found("A.consensus.score > 0.75", expect![""]);
}

#[test]
fn a_placeholder_in_a_guard_that_is_turned_round() {
    let shown = |prompt: &str, lines: Expect| {
        let text = workflow(&format!(
            "    A: {{ kind: Human, prompt: '{prompt}', transitions: [{{ target: END }}, {{ condition: on_failure, target: A }}] }}\n"
        ));
        expect(&["no-effect"], &[("w.yaml", &text)], lines);
    };
    shown(
        "{{#unless previous_error}}Failed: {{previous_error}}{{/unless}}",
        expect![[r#"
            9:68 warning inverted-guard: `previous_error` is always empty here, because this block is used only without it
              | ...t: '{{#unless previous_error}}Failed: {{previous_error}}{{/unless}}', tran
              |                                            ^^^^^^^^^^^^^^
              help: use `{{#if previous_error}}` for text that needs the value
        "#]],
    );
    shown(
        "{{#if input.t}}Text:{{else}}{{input.t}}{{/if}}",
        expect![[r#"
            9:62 warning inverted-guard: `input.t` is always empty here, because this block is used only without it
              | ... prompt: '{{#if input.t}}Text:{{else}}{{input.t}}{{/if}}', transiti
              |                                            ^^^^^^^
              help: use `{{#if input.t}}` for text that needs the value
        "#]],
    );
    // 0 is as falsy as a missing value, but may be printed.
    shown("{{#unless input.n}}{{input.n}}{{/unless}}", expect![""]);
    shown("{{#if input.t}}{{input.t}}{{else}}{{#if input.n}}{{input.n}}{{/if}}{{/if}}", expect![""]);
    shown("{{#unless input.t}}{{input.n}}{{/unless}} {{input.t}}", expect![""]);
}

#[test]
fn a_key_that_only_later_states_write() {
    let later = |input: &str, more: &str, lines: Expect| {
        let text = workflow(&format!(
            "    A: {{ kind: System, command: 'echo {{{{{input}}}}}', transitions: [{{ target: B }}] }}
    B: {{ kind: System, command: update_blackboard, env: {{ found: '{{{{input.t}}}}', own: '{{{{own}}}}' }}, transitions: [{more}{{ target: END }}] }}\n"
        ));
        expect(&["unordered-read"], &[("w.yaml", &text)], lines);
    };
    later(
        "found",
        "",
        expect![[r#"
        9:41 warning unordered-read: nothing writes `found` before `A`, so it is always empty
          | A: { kind: System, command: 'echo {{found}}', transitions: [{
          |                                     ^^^^^
          at 10:59: written here
          help: check the transitions, or the name
        10:89 warning unordered-read: nothing writes `own` before `B`, so it is always empty
          | ...d, env: { found: '{{input.t}}', own: '{{own}}' }, transitions:
          |                                            ^^^
          at 10:81: written here
          help: check the transitions, or the name
    "#]],
    );
    later(
        "blackboard.found",
        "",
        expect![[r#"
        9:41 warning unordered-read: nothing writes `found` before `A`, so it is always empty
          | A: { kind: System, command: 'echo {{blackboard.found}}', transitions: [{
          |                                     ^^^^^^^^^^^^^^^^
          at 10:59: written here
          help: check the transitions, or the name
        10:89 warning unordered-read: nothing writes `own` before `B`, so it is always empty
          | ...d, env: { found: '{{input.t}}', own: '{{own}}' }, transitions:
          |                                            ^^^
          at 10:81: written here
          help: check the transitions, or the name
    "#]],
    );
    later("found", "{ condition: custom, expression: input.n, target: A }, ", expect![""]);
}

#[test]
fn a_key_that_the_input_may_bring_along_may_be_there() {
    let text = workflow(
        "    A: { kind: System, command: 'echo {{found}}', transitions: [{ target: B }] }
    B: { kind: System, command: update_blackboard, env: { found: '{{input.t}}' }, transitions: [{ target: END }] }\n",
    );
    let schema = "  input_schema: { type: object, required: [t, n], properties: { t: { type: string }, n: { type: number } } }\n";
    assert!(text.contains(schema), "{text}");
    let declared =
        text.replace("required: [t, n], properties: {", "required: [t], properties: { found: { type: string },");
    for text in [text.replace(schema, ""), declared] {
        expect(&["unordered-read"], &[("w.yaml", &text)], expect![""]);
    }
}

#[test]
fn what_a_mistake_brings_about_is_not_told() {
    let all = |states: &str, lines: Expect| {
        let text = workflow(states);
        let (project, all) = check(Some("aegis"), &[("w.yaml", &text)]);
        hold(&lines, &shown(&project, all.iter()));
    };
    // A value that is not a list has no length.
    all(
        "    A: { kind: ParallelAgents, agents: reviewer, consensus: { strategy: majority }, transitions: [{ target: B }] }
    B: { kind: System, command: 'echo {{A.agents.0.output}}', transitions: [{ target: END }] }\n",
        expect![[r#"
            9:40 error wrong-type: `agents` must be a list, not text
              | A: { kind: ParallelAgents, agents: reviewer, consensus: { strat
              |                                    ^^^^^^^^
              help: write `agents: [{ agent: reviewer }]`
        "#]],
    );
    // It is unknown when an invalid threshold is exceeded.
    all(
        "    A: { kind: Agent, agent: '{{input.t}}', input: x, transitions: [{ condition: score_between, min: 0.9, max: 0.7, target: B }, { target: END }] }
    B: { kind: System, command: echo b, transitions: [{ target: END }] }\n",
        expect![[r#"
            9:102 error out-of-range: `min` 0.9 is above `max` 0.7
              | ...ions: [{ condition: score_between, min: 0.9, max: 0.7, target:
              |                                            ^^^
              at 9:112: the upper bound
        "#]],
    );
    // It is also unknown when a transition without its required condition is taken.
    all(
        "    A: { kind: Human, prompt: Well?, transitions: [{ target: B }, { condition: input_equals_no, target: END }] }
    B: { kind: System, command: echo b, transitions: [] }\n",
        expect![[r#"
            5:65 warning unused-input: nothing in `w` reads the input `t`
              | ...object, required: [t, n], properties: { t: { type: string },
              |                                            ^
              help: remove it, or use it
            5:86 warning unused-input: nothing in `w` reads the input `n`
              | ... n], properties: { t: { type: string }, n: { type: number } }
              |                                            ^
              help: remove it, or use it
            9:54 warning missing-key: a transition without `condition` is always taken, so the ones after it never are
              | ...: Human, prompt: Well?, transitions: [{ target: B }, { condition:
              |                                            ^^^^^^
              at 9:80: never reached
              help: add a `condition`, or move it to the end
        "#]],
    );
    // An undefined name is not the run's input.
    all(
        "    A: { kind: System, command: make, transitions: [{ target: B }] }
    B: { kind: System, command: 'ls {{steps.A.output}}', transitions: [{ target: END }] }\n",
        expect![[r#"
            5:65 warning unused-input: nothing in `w` reads the input `t`
              | ...object, required: [t, n], properties: { t: { type: string },
              |                                            ^
              help: remove it, or use it
            5:86 warning unused-input: nothing in `w` reads the input `n`
              | ... n], properties: { t: { type: string }, n: { type: number } }
              |                                            ^
              help: remove it, or use it
            10:39 warning unresolved-name: `steps.A` is not defined
              | B: { kind: System, command: 'ls {{steps.A.output}}', transitions: [{
              |                                   ^^^^^^^^^^^^^^
              help: write `A`
              suggestion: write `A`: 10:39 "A"
        "#]],
    );
    // A built-in command is not a program with options.
    all(
        "    A: { kind: System, command: 'update_blackboard {{input.t}}', transitions: [{ target: END }] }\n",
        expect![[r#"
            9:33 error unknown-value: `update_blackboard` takes no arguments
              | A: { kind: System, command: 'update_blackboard {{input.t}}', transitions: [{ ta
              |                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              help: write `command: update_blackboard`, and the keys with their values under `env`
        "#]],
    );
}

#[test]
fn a_condition_for_another_sort_of_state() {
    let found = |state: &str, condition: &str| {
        let text = workflow(&format!(
            "    A:\n      {state}\n      transitions:\n        - {{ condition: {condition}, target: END }}\n        - {{ condition: always, target: END }}\n"
        ));
        let files = [("w.yaml", &*text), ("a.yaml", &*agent("a", "properties: { score: { type: number } }"))];
        let all = check(Some("aegis"), &files).1.into_iter().filter(|d| d.rule == "impossible-transition");
        all.map(|d| d.message).collect::<Vec<_>>()
    };
    let (command, person, asks) = (
        "kind: System\n      command: ls",
        "kind: Human\n      prompt: Go?",
        "kind: Agent\n      agent: a\n      input: x",
    );
    for (state, condition) in [
        (command, "input_equals_yes"),
        (command, "score_above, threshold: 0.5"),
        (person, "exit_code_zero"),
        (asks, "exit_code_non_zero"),
        (asks, "all_approved, threshold: 0.5"),
        (asks, "score_above, threshold: 1"),
        (asks, "confidence_above, threshold: 1"),
    ] {
        let word = condition.replace(", threshold: 1", " 1");
        let word = word.split(',').next().unwrap();
        assert_eq!(found(state, condition), [format!("`{word}` is never true here")], "{state}");
    }
    for (state, condition) in [
        (command, "exit_code_non_zero"),
        (person, "input_equals_yes"),
        (asks, "on_failure"),
        (asks, "score_below, threshold: 1"),
        (asks, "score_between, min: 0.5, max: 1"),
    ] {
        assert_eq!(found(state, condition), [""; 0], "{state}: {condition}");
    }
}

#[test]
fn a_property_that_a_schema_does_not_require_may_be_missing_in_a_text() {
    let flow = |schema: &str, text: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata:\n  name: w\n  version: '1'\n  input_schema: {schema}\nspec:\n  initial_state: A\n  states:\n    A: {{ kind: Human, prompt: \"{text}\", transitions: [{{ target: END }}] }}\n    END: {{ kind: System, command: echo }}\n"
        )
    };
    let told = |schema: &str, text: &str, expected: expect_test::Expect| {
        super::support::of_rule("maybe-undefined", "aegis", &[("w.yaml", &flow(schema, text))], expected);
    };
    let open = "{ type: object, properties: { place: { type: string } } }";
    told(
        open,
        "At {{input.place}}",
        expect_test::expect![[r#"
        10:37 info maybe-undefined: `input.place` has no value if the input does not have it: its schema does not require it
          | A: { kind: Human, prompt: "At {{input.place}}", transitions: [{
          |                                 ^^^^^^^^^^^
          help: guard it with `{{#if input.place}}`, or write `{{default input.place "..."}}`
    "#]],
    );
    told(open, "{{#if input.place}}At {{input.place}}{{/if}}", expect_test::expect![""]);
    told(
        &open.replace("{ type: string }", "{ type: string, default: home }"),
        "At {{input.place}}",
        expect_test::expect![""],
    );
    told(&open.replace("object, ", "object, required: [place], "), "At {{input.place}}", expect_test::expect![""]);
}
