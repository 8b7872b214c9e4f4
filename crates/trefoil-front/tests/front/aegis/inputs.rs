//! The input that a state passes compared with the one that the agent expects, and what templates read from results.

use expect_test::{Expect, expect};

use super::support::{END, agent, check, check_one, workflow};

#[test]
fn a_state_without_input_gives_what_the_run_was_started_with_or_nothing() {
    let taker =
        agent("a", "  input_schema: { type: object, required: [draft], properties: { draft: { type: string } } }\n");
    let child = workflow(END).replace("initial_state: A", "initial_state: END").replace(
        "name: w, version: '1'",
        "name: child, input_schema: { type: object, required: [title], properties: { title: { type: string } } }",
    );
    let started = |with: &str| {
        workflow("    A: { kind: Agent, agent: a, transitions: [{ target: B }] }\n    B: { kind: Subworkflow, workflow_id: child, mode: blocking, result_key: r }\n")
            .replace("version: '1'", &format!("input_schema: {{ type: object, properties: {{ {with}: {{ type: string }} }} }}"))
    };
    let files = |text: &str, expected: Expect| {
        check(&[("w.yaml", text), ("a.yaml", &taker), ("child.yaml", &child)], expected);
    };
    files(
        &started("draft"),
        expect![[r#"
            warning w.yaml 8:42 missing-input: `child` needs `title`, but does not get it (the state has no `input`) [child.yaml 3:89 required here]
        "#]],
    );
    files(
        &started("text"),
        expect![[r#"
            warning w.yaml 7:30 missing-input: `a` needs `draft`, but does not get it (without `input` the agent gets the start input, and `input_schema` does not declare it) [a.yaml 7:66 required here]
            warning w.yaml 8:42 missing-input: `child` needs `title`, but does not get it (the state has no `input`) [child.yaml 3:89 required here]
        "#]],
    );
}

#[test]
fn what_a_state_gives_is_held_against_what_the_agent_takes() {
    let taker = agent(
        "a",
        "  input_schema: { type: object, required: [draft], properties: { draft: { type: string }, tone: { type: string } } }\n",
    );
    let given = |input: &str| workflow(&format!("    A: {{ kind: Agent, agent: a, input: '{input}' }}\n"));
    for (input, expected) in [
        ("{\"draft\": {{json workflow.task}}, \"tone\": \"{{input.t}}\"}", expect![""]),
        ("{{workflow.task}}", expect![""]),
        ("{{#if input.x}}{\"draft\": 1}{{/if}}", expect![""]),
        (
            "{\"tone\": \"mild\"}",
            expect![[r#"
                warning w.yaml 7:40 missing-input: `a` needs `draft`, but does not get it [a.yaml 7:66 required here]
            "#]],
        ),
        (
            "{\"draft\": 1, \"toen\": \"mild\"}",
            expect![[r#"
                warning w.yaml 7:54 unknown-input: `a` does not declare `toen` (did you mean `tone`?) [a.yaml 7:17 its inputs] {maybe: w.yaml 7:55 "tone"}
            "#]],
        ),
        (
            "{\"draft\": {{json workflow.task}}",
            expect![[r#"
                warning w.yaml 7:40 schema-mismatch: `a` needs an object, but this is not JSON: EOF while parsing an object (write `{"draft": ..., "tone": ...}`; `{{json path}}` prints a value as JSON) [a.yaml 7:17 declared here]
            "#]],
        ),
        (
            "Review {{workflow.task}}",
            expect![[r#"
                warning w.yaml 7:40 schema-mismatch: `a` needs an object, but this is text (write `{"draft": ..., "tone": ...}`; `{{json path}}` prints a value as JSON) [a.yaml 7:17 declared here]
            "#]],
        ),
    ] {
        check(&[("w.yaml", &given(input)), ("a.yaml", &taker)], expected);
    }
    // The finding shows where the agent declares the properties that it needs.
    check(
        &[("w.yaml", &given("{}")), ("a.yaml", &taker)],
        expect![[r#"
            warning w.yaml 7:40 missing-input: `a` needs `draft`, but does not get it [a.yaml 7:66 required here]
        "#]],
    );
}

#[test]
fn results_of_containers_and_of_a_consensus_have_known_members() {
    let states = "    A: { kind: ParallelContainerRun, completion: all_succeed, steps: [{ name: unit, image: x/y, command: [a] }], transitions: [{ condition: always, target: P }] }
    P:
      kind: ParallelAgents
      agents: [{ agent: x }]
      consensus: { strategy: majority, n: 3, min_judges_required: 2 }
      transitions: [{ target: END }]
    END: { kind: System, command: \"echo '{{A.output.unit.stdout}} {{A.output.unt.stdout}} {{A.output.unit.stdot}} {{P.consensus.scroe}} {{P.consensus.metadata.pass_votes}}'\" }
";
    check_one(
        &workflow(states),
        expect![[r#"
            warning 7:5 refused: a `ParallelContainerRun` state is not supported yet: no container runtime is configured (you can check and draw this file, but not run it)
            warning 10:25 unknown-reference: no agent in this folder is named `x` (only the embedded model can stand in for it; for any other model, add its manifest to the folder)
            warning 11:40 no-effect: `n` has no effect: the strategy `majority` does not use it
            error 11:67 out-of-range: `min_judges_required` is 2, more than the number of agents (1)
            warning 13:78 unknown-property: `A.output` has no `unt` (did you mean `unit`? its properties are `unit`) {fix: "unit"}
            warning 13:107 unknown-property: `A.output.unit` has no `stdot` (did you mean `stdout`? its properties are `status`, `exit_code`, `stdout`, `stderr`, `duration_ms`, `attempts`) {fix: "stdout"}
            warning 13:129 unknown-property: `P.consensus` has no `scroe` (did you mean `score`? its properties are `score`, `confidence`, `strategy`, `binary_valid`, `metadata`) {fix: "score"}
        "#]],
    );
}

#[test]
fn what_is_declared_in_another_file_is_shown_there() {
    let judge = agent("a", 
        "  execution: { validation: [{ type: json_schema, schema: { type: object, properties: { score: { type: number, minimum: 0, maximum: 10 } } } }] }\n",
    )
    .replace("name: a", "name: judge");
    let flow = |name: &str| {
        workflow(&format!(
            "    A: {{ kind: Agent, agent: {name}, transitions: [{{ condition: score_above, threshold: 0.8, target: END }}, {{ target: END }}] }}\n{END}"
        ))
    };
    check(
        &[("w.yaml", &flow("jugde")), ("a.yaml", &judge)],
        expect![[r#"
            warning w.yaml 7:30 unknown-reference: no agent in this folder is named `jugde` (did you mean `judge`?) [a.yaml 3:19 `judge` is declared here] {fix: "judge"}
        "#]],
    );
}

#[test]
fn a_field_of_an_input_that_no_caller_passes_is_always_empty() {
    let guide = |more: &str| {
        agent("guide", more)
            .replace("instruction: Work.", "prompt_template: 'At {{input.place}}: {{instruction}}', instruction: Work.")
    };
    let tour = |input: &str| {
        workflow(&format!("    A: {{ kind: Agent, agent: guide, {input}transitions: [{{ target: END }}] }}\n{END}"))
    };
    let told = |files: &[(&str, &str)], expected: Expect| {
        let all = super::support::findings(files);
        let ours: String =
            all.lines().filter(|line| line.contains("missing-input")).map(|line| format!("{line}\n")).collect();
        crate::support::bless(&ours, &expected);
    };
    let text = tour("input: the old harbour, ");
    told(
        &[("guide.yaml", &guide("")), ("tour.yaml", &text)],
        expect![[r#"
        warning guide.yaml 6:34 missing-input: `input.place` is always empty: every call of `guide` passes text (read `{{input}}`, or declare `place` in `spec.input_schema` and pass `{"place": ...}`) [tour.yaml 7:44 passed here]
    "#]],
    );
    // An agent without a schema gets JSON as text, too.
    let json = tour("input: '{\"place\": \"harbour\"}', ");
    told(
        &[("guide.yaml", &guide("")), ("tour.yaml", &json)],
        expect![[r#"
        warning guide.yaml 6:34 missing-input: `input.place` is always empty: every call of `guide` passes text (read `{{input}}`, or declare `place` in `spec.input_schema` and pass `{"place": ...}`) [tour.yaml 7:44 passed here]
    "#]],
    );
    told(&[("guide.yaml", &guide("  input_schema: { type: object }\n")), ("tour.yaml", &json)], expect![""]);
    // Nobody calls it, somebody passes on the start input, or calls it by a placeholder.
    told(&[("guide.yaml", &guide(""))], expect![""]);
    told(
        &[("guide.yaml", &guide("")), ("tour.yaml", &text), ("more.yaml", &tour("").replace("name: w", "name: more"))],
        expect![""],
    );
    let open = text.replace("agent: guide", "agent: \"{{input.who}}\"");
    told(
        &[("guide.yaml", &guide("")), ("tour.yaml", &text), ("more.yaml", &open.replace("name: w", "name: more"))],
        expect![""],
    );
    // A judge of a state gets the text that it judges, one of a validator may get more.
    let judged = tour("judges: [{ agent: guide }], input: x, ").replace("agent: guide, judges", "agent: other, judges");
    told(
        &[("guide.yaml", &guide("")), ("tour.yaml", &judged)],
        expect![[r#"
        warning guide.yaml 6:34 missing-input: `input.place` is always empty: every call of `guide` passes text (read `{{input}}`, or declare `place` in `spec.input_schema` and pass `{"place": ...}`) [tour.yaml 7:55 judges here]
    "#]],
    );
    let validates =
        agent("v", "  execution: { validation: [{ type: semantic, judge_agent: guide, criteria: Good. }] }\n");
    told(&[("guide.yaml", &guide("")), ("tour.yaml", &text), ("v.yaml", &validates)], expect![""]);
    // A called workflow gets a text as the field `input`, and an object as it is.
    let child =
        workflow("    A: { kind: System, command: 'echo {{input.place}}' }\n").replace("name: w", "name: child");
    let calls = |input: &str| {
        workflow(&format!(
            "    A: {{ kind: Subworkflow, workflow_id: child, mode: blocking, result_key: r, input: '{input}' }}\n"
        ))
    };
    told(
        &[("child.yaml", &child), ("w.yaml", &calls("the old harbour"))],
        expect![[r#"
        warning child.yaml 7:41 missing-input: `input.place` is always empty: no call of `child` passes it (pass `{"place": ...}` as the state's `input`) [w.yaml 7:87 passed here]
    "#]],
    );
    told(
        &[("child.yaml", &child), ("w.yaml", &calls("{\"town\": \"x\"}"))],
        expect![[r#"
        warning child.yaml 7:41 missing-input: `input.place` is always empty: no call of `child` passes it (pass `{"place": ...}` as the state's `input`) [w.yaml 7:87 passed here]
    "#]],
    );
    told(&[("child.yaml", &child), ("w.yaml", &calls("{\"place\": \"x\"}"))], expect![""]);
    told(&[("child.yaml", &child), ("w.yaml", &calls("{{input}}"))], expect![""]);
}

#[test]
fn an_intent_and_optional_fields_that_no_call_passes() {
    let told = |files: &[(&str, &str)], expected: Expect| {
        let all = super::support::findings(files);
        let ours: String =
            all.lines().filter(|line| line.contains("missing-input")).map(|line| format!("{line}\n")).collect();
        crate::support::bless(&ours, &expected);
    };
    let prompt = |prompt: &str, more: &str| {
        agent("a", more).replace("instruction: Work.", &format!("instruction: Work., prompt_template: '{prompt}'"))
    };
    let state = |more: &str| {
        workflow(&format!("    A: {{ kind: Agent, agent: a, {more}transitions: [{{ target: END }}] }}\n{END}"))
    };
    let aimed = prompt("{{input}} Aim: {{intent}}", "");
    told(
        &[("a.yaml", &aimed), ("w.yaml", &state("input: x, "))],
        expect![[r#"
        warning a.yaml 6:66 missing-input: `intent` is always empty: no call of `a` passes one (write `intent: ...` in the state, or print it in `{{#if intent}}`) [w.yaml 7:40 passed here]
    "#]],
    );
    told(&[("a.yaml", &aimed), ("w.yaml", &state("input: x, intent: y, "))], expect![""]);
    // The start input may have one, and nobody calls it.
    told(&[("a.yaml", &aimed), ("w.yaml", &state(""))], expect![""]);
    told(&[("a.yaml", &aimed)], expect![""]);
    // Alone on its line, it leaves no gap.
    told(&[("a.yaml", &prompt("{{intent}}{{input}}", "")), ("w.yaml", &state("input: x, "))], expect![""]);
    let perhaps = prompt("{{input}}{{#if intent}} Aim: {{intent}}{{/if}}", "");
    told(&[("a.yaml", &perhaps), ("w.yaml", &state("input: x, "))], expect![""]);
    let declared = "  input_schema: { type: object, required: [dish], properties: { dish: { type: string }, diet: { type: string } } }\n";
    let cook = prompt("{{input.dish}} {{input.diet}}", declared);
    told(
        &[("a.yaml", &cook), ("w.yaml", &state("input: '{\"dish\": \"x\"}', "))],
        expect![[r#"
        warning a.yaml 6:66 missing-input: `input.diet` is always empty: no call of `a` passes it (pass `"diet": ...` in the state's `input`, or print it in `{{#if input.diet}}`) [w.yaml 7:40 passed here]
    "#]],
    );
    told(&[("a.yaml", &cook), ("w.yaml", &state("input: '{\"dish\": \"x\", \"diet\": \"y\"}', "))], expect![""]);
    told(&[("a.yaml", &cook), ("w.yaml", &state("input: '{{input}}', "))], expect![""]);
}
