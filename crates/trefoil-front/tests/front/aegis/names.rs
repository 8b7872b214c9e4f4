//! Names in workflow templates: the source of each value, and the findings.

use expect_test::{Expect, expect};

use super::support::{END, check, check_one, ir, load, of_workflow, workflow};

const AGENT: &str = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: a, version: '1' }\nspec: { runtime: {}, task: { instruction: Work. } }\n";

/// One state of each kind, in a row; `TEXT` is in the input of the last one.
const ALL: &str = "\
apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata: { name: flow, version: 2.0.0 }
spec:
  context: { language: de }
  initial_state: AGENT
  states:
    AGENT: { kind: Agent, agent: a, transitions: [{ target: COMMAND }] }
    COMMAND: { kind: System, command: make, transitions: [{ target: HUMAN }] }
    HUMAN: { kind: Human, prompt: ok?, transitions: [{ target: PANEL }] }
    PANEL: { kind: ParallelAgents, agents: [{ agent: a, input: x }], consensus: { strategy: majority }, transitions: [{ target: SET }] }
    SET: { kind: System, command: update_blackboard, env: { summary: x }, transitions: [{ target: LAST, feedback: well }] }
    LAST: { kind: Agent, agent: a, input: 'TEXT' }
";

/// The source of a placeholder in the last state.
fn source(placeholder: &str) -> String {
    let manifest = ALL.replace("TEXT", &format!("{{{{{placeholder}}}}}"));
    let files = [("flow.yaml", manifest.as_str()), ("a.yaml", AGENT)];
    let text = ir(&load(&files));
    let line = text.lines().skip_while(|l| !l.contains("`LAST` call")).nth(1).unwrap_or_default();
    let (_, bound) = line.split_once(" <- ").unwrap_or_else(|| panic!("{placeholder}: {line}"));
    bound.trim_end_matches(']').to_owned()
}

#[test]
fn every_name_has_its_source() {
    let cases = [
        ("AGENT.output", "$AGENT.output"),
        ("AGENT.output.a.b", "$AGENT.output.a.b"),
        ("AGENT.status", "$AGENT.status"),
        ("AGENT.score", "$AGENT.output.score"),
        ("blackboard.AGENT.output", "$AGENT.output"),
        ("COMMAND.output", "$COMMAND.stdout"),
        ("COMMAND.output.stdout", "$COMMAND.stdout"),
        ("COMMAND.output.exit_code", "$COMMAND.exit_code"),
        ("COMMAND.stderr", "$COMMAND.stderr"),
        ("COMMAND.output.field", "$COMMAND.json.field"),
        ("HUMAN.response", "($HUMAN.output.response | $HUMAN.response)"),
        ("human.feedback", "$HUMAN.output.feedback"),
        ("PANEL.consensus.metadata.pass_votes", "$PANEL.consensus.metadata.pass_votes"),
        ("PANEL.agents.0.output.x", "$PANEL.agents.0.output.x"),
        ("consensus.score", "$PANEL.consensus.score"),
        ("workflow.context.language", "$blackboard.language"),
        ("blackboard.summary", "$blackboard.summary"),
        ("summary", "$blackboard.summary"),
        ("anything.at.all", "$blackboard.anything.at.all"),
        ("intent", "$blackboard.intent"),
        ("input.a", "$input#0.a"),
        ("input", "$input#1"),
        ("workflow.task", "$input#0.task"),
        ("workflow.name", "const \"flow\""),
        ("workflow.version", "const \"2.0.0\""),
        ("state.feedback", "$state.feedback"),
        ("previous_error", "$previous_error"),
        ("iteration_number", "$iteration_number"),
        ("execution.id", "run_id"),
    ];
    for (placeholder, expected) in cases {
        assert_eq!(source(placeholder), expected, "{placeholder}");
    }
}

#[test]
fn the_whole_root_is_put_together() {
    let whole = source("json this");
    for part in ["$blackboard", "$input#1", "$AGENT", "$COMMAND", "$state.feedback"] {
        assert!(whole.contains(part), "{part} in {whole}");
    }
}

/// Compares the findings about a text in the last state.
#[track_caller]
fn about(text: &str, expected: Expect) {
    check(&[("flow.yaml", &ALL.replace("TEXT", text)), ("a.yaml", AGENT)], expected);
}

#[test]
fn what_certainly_is_empty_is_a_warning() {
    for (text, expected) in [
        (
            "{{AGNT.output}}",
            expect![[r#"
                warning flow.yaml 13:46 unresolved-name: unknown state `AGNT` (did you mean `AGENT`?) {fix: flow.yaml 13:46 "AGENT"}
            "#]],
        ),
        (
            "{{AGENT.reasoning}}",
            expect![[r#"
                warning flow.yaml 13:52 unknown-property: `AGENT` has no `reasoning` (write `AGENT.output.reasoning` for a field of the answer)
            "#]],
        ),
        (
            "{{AGENT.outptu}}",
            expect![[r#"
                warning flow.yaml 13:52 unknown-property: `AGENT` has no `outptu` (did you mean `output`? its properties are `output`, `score`, `confidence`, `status`, `error`, `execution_id`) {fix: "output"}
            "#]],
        ),
        (
            "{{HUMAN.stdout}}",
            expect![[r#"
                warning flow.yaml 13:52 unknown-property: `HUMAN` has no `stdout` (its properties are `response`, `feedback`, `output`, `status`, `error`, `execution_id`)
            "#]],
        ),
        (
            "{{workflow.agent_id}}",
            expect![[r#"
                warning flow.yaml 13:46 unresolved-name: `workflow` has no `agent_id` (write `input.agent_id` for a field of the start input, `workflow.context.agent_id` for one of the context)
            "#]],
        ),
        (
            "{{state.reason}}",
            expect![[r#"
                warning flow.yaml 13:46 unresolved-name: `state` has no `reason` (write `state.feedback`)
            "#]],
        ),
        (
            "{{execution.name}}",
            expect![[r#"
                warning flow.yaml 13:46 unresolved-name: only `execution.id` can be read from `execution` (write `execution.id`)
            "#]],
        ),
    ] {
        about(text, expected);
    }
}

#[test]
fn what_the_start_input_may_bring_is_not_reported() {
    for text in ["{{#if anything}}x{{/if}}", "{{#if x}}{{x}}{{/if}}", "{{input.q}}", "{{intent}}", "{{attachments}}"] {
        about(text, expect![""]);
    }
    // A workflow that writes no keys reads its start input.
    check(
        &[
            (
                "flow.yaml",
                &ALL.replace("{ language: de }", "{}").replace("{ summary: x }", "{}").replace("TEXT", "{{anything}}"),
            ),
            ("a.yaml", AGENT),
        ],
        expect![[r#"
            warning flow.yaml 12:35 no-effect: `update_blackboard` has no effect: `env` is empty (put the keys and their values under `env`)
        "#]],
    );
}

#[test]
fn a_key_that_nothing_writes_is_a_warning_without_a_schema() {
    for (text, expected) in [
        (
            "{{anything}}",
            expect![[r#"
                warning flow.yaml 13:46 unresolved-name: nothing in this manifest defines `anything` (defined: `language`, `summary`; if the start input has `anything`, declare it in `input_schema`)
            "#]],
        ),
        (
            "{{workflow.context.tone}}",
            expect![[r#"
                warning flow.yaml 13:46 unresolved-name: nothing in this manifest defines `tone` (defined: `language`, `summary`; if the start input has `tone`, declare it in `input_schema`)
            "#]],
        ),
        (
            "{{blackboard.digest.title}}",
            expect![[r#"
                warning flow.yaml 13:46 unresolved-name: nothing in this manifest defines `digest` (defined: `language`, `summary`; if the start input has `digest`, declare it in `input_schema`)
            "#]],
        ),
        ("{{#each items}}x{{/each}}", expect![""]),
    ] {
        about(text, expected);
    }
}

#[test]
fn a_slip_of_the_pen_in_a_known_name_is_a_warning() {
    for (text, expected) in [
        (
            "{{workflow.context.langage}}",
            expect![[r#"
                warning flow.yaml 13:46 unresolved-name: nothing in this manifest defines `langage` (did you mean `language`? if the start input has `langage`, declare it in `input_schema`) {maybe: flow.yaml 13:63 "language"}
            "#]],
        ),
        (
            "{{blackboard.sumary}}",
            expect![[r#"
                warning flow.yaml 13:46 unresolved-name: nothing in this manifest defines `sumary` (did you mean `summary`? if the start input has `sumary`, declare it in `input_schema`) {maybe: flow.yaml 13:57 "summary"}
            "#]],
        ),
        (
            "{{#each sumary}}x{{/each}}",
            expect![[r#"
                warning flow.yaml 13:52 unresolved-name: nothing in this manifest defines `sumary` (did you mean `summary`? if the start input has `sumary`, declare it in `input_schema`) {maybe: "summary"}
            "#]],
        ),
        (
            "{{prev_error}}",
            expect![[r#"
                warning flow.yaml 13:46 unresolved-name: nothing in this manifest defines `prev_error` (did you mean `previous_error`? if the start input has `prev_error`, declare it in `input_schema`) {maybe: "previous_error"}
            "#]],
        ),
        (
            "{{iteration_nr}}",
            expect![[r#"
                warning flow.yaml 13:46 unresolved-name: nothing in this manifest defines `iteration_nr` (did you mean `iteration_number`? if the start input has `iteration_nr`, declare it in `input_schema`) {maybe: "iteration_number"}
            "#]],
        ),
        (
            "{{feedback}}",
            expect![[r#"
                warning flow.yaml 13:46 unresolved-name: nothing in this manifest defines `feedback` (defined: `language`, `summary`; if the start input has `feedback`, declare it in `input_schema`)
            "#]],
        ),
    ] {
        about(text, expected);
    }
}

#[test]
fn with_listed_inputs_others_are_reported() {
    let manifest = |schema: &str| {
        format!(
            "\
apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata:
  name: flow
  input_schema: {{ type: object, properties: {{ pr_number: {{ type: string }} }}{schema} }}
spec:
  states:
    - {{ name: A, kind: System, command: 'echo {{{{input.pr_no}}}} {{{{branch}}}} {{{{pr_number}}}}' }}
"
        )
    };
    check_one(
        &manifest(""),
        expect![[r#"
            warning 8:55 unknown-property: the schema of `input` declares no `pr_no` (it declares `pr_number`)
            warning 8:65 unresolved-name: neither the context, the input nor a state defines `branch`
        "#]],
    );
    check_one(
        &manifest(", additionalProperties: true"),
        expect![[r#"
        info 8:55 unknown-property: the schema of `input` declares no `pr_no` (it declares `pr_number`)
    "#]],
    );
}

#[test]
fn the_output_has_the_keys_of_its_schema() {
    check_one(
        "\
apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata:
  name: flow
  output_schema: { type: object, properties: { article: { type: string }, score: { type: number } } }
  output_template: { article: x, scor: '1', more: y }
spec:
  states:
    - { name: A, kind: System, command: echo }
",
        expect![[r#"
            warning 6:34 schema-mismatch: `output_schema` declares no `scor` (did you mean `score`?) {fix: "score"}
            warning 6:45 schema-mismatch: `output_schema` declares no `more`
        "#]],
    );
}

#[test]
fn the_output_has_the_types_of_its_schema() {
    let with = |schema: &str, template: &str| {
        format!(
            "\
apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata:
  name: flow
  output_schema: {{ type: object, properties: {{ v: {schema} }} }}
  output_template: {{ v: {template} }}
spec:
  context: {{ n: 3, list: [a], text: b }}
  states:
    - {{ name: A, kind: System, command: date }}
"
        )
    };
    for (schema, template, expected) in [
        (
            "{ type: integer }",
            "'Title {{A.output}}'",
            expect![[r#"
                warning 6:25 schema-mismatch: `v` does not match `output_schema`: it must be a number, not text around a placeholder [5:48 declared here]
            "#]],
        ),
        (
            "{ type: number }",
            "high",
            expect![[r#"
                warning 6:25 schema-mismatch: `v` does not match `output_schema`: it must be a number, not this text [5:48 declared here]
            "#]],
        ),
        (
            "{ type: boolean }",
            "'yes'",
            expect![[r#"
                warning 6:25 schema-mismatch: `v` does not match `output_schema`: it must be true or false, not this text [5:48 declared here]
            "#]],
        ),
        (
            "{ type: boolean }",
            "'{{workflow.context.list}}'",
            expect![[r#"
                warning 6:25 schema-mismatch: `v` does not match `output_schema`: it must be true or false, not a list [5:48 declared here]
            "#]],
        ),
        (
            "{ type: string, enum: [a, b] }",
            "c",
            expect![[r#"
                warning 6:25 schema-mismatch: `v` does not match `output_schema`: it must be one of `a`, `b` [5:48 declared here]
            "#]],
        ),
        (
            "{ type: string }",
            "5",
            expect![[r#"
                warning 6:25 schema-mismatch: `v` does not match `output_schema`: it must be text, not a number [5:48 declared here]
            "#]],
        ),
        (
            "{ type: string }",
            "[a]",
            expect![[r#"
                warning 6:25 schema-mismatch: `v` does not match `output_schema`: it must be text, not a list [5:48 declared here]
            "#]],
        ),
        (
            "{ type: array, items: { type: string } }",
            "['x', 1]",
            expect![[r#"
                warning 6:31 schema-mismatch: `v` does not match `output_schema`: it must be text, not a number [5:48 declared here]
            "#]],
        ),
        (
            "{ type: array }",
            "'{{workflow.context.n}}'",
            expect![[r#"
                warning 6:25 schema-mismatch: `v` does not match `output_schema`: it must be a list, not a number [5:48 declared here]
            "#]],
        ),
        (
            "{ type: object, required: [x], additionalProperties: false, properties: { x: {} } }",
            "{ y: z }",
            expect![[r#"
                warning 6:25 schema-mismatch: `v` does not match `output_schema`: it needs `x` [5:48 declared here]
                warning 6:27 schema-mismatch: `v` does not match `output_schema`: `y` is not declared [5:48 declared here]
            "#]],
        ),
    ] {
        check_one(&with(schema, template), expected);
    }
    for (schema, template) in [
        ("{ type: integer }", "'{{A.exit_code}}'"),
        ("{ type: number }", "'0.7'"),
        ("{ type: number }", "'{{A.output.stdout}}'"),
        ("{ type: boolean }", "'{{gte A.exit_code 1}}'"),
        ("{ type: boolean }", "'{{#if A.output}}true{{else}}false{{/if}}'"),
        ("{ type: array }", "'[{{A.exit_code}}]'"),
        ("{ type: array }", "'{{json workflow.context.n}}'"),
        ("{ type: string }", "'{{workflow.context.list}} and more'"),
        ("{ type: [string, 'null'] }", "~"),
        ("{}", "{ a: 1 }"),
    ] {
        check_one(&with(schema, template), expect![""]);
    }
    // An open schema may have other properties as well, if all that it declares are passed.
    check_one(
        &with("{ type: string }", "x, w: '{{A.output}}'"),
        expect![[r#"
            info 6:28 schema-mismatch: `output_schema` declares no `w`
        "#]],
    );
}

#[test]
fn a_misspelt_built_in_command_is_no_program() {
    check_one(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: flow }\nspec:\n  states:\n    - { name: A, kind: System, command: update_blackbord, env: { a: b } }\n    - { name: B, kind: System, command: update_dashboard_now }\n",
        expect![[r#"
            warning 6:41 unknown-reference: `update_blackbord` is not a built-in command, so the shell will look for a program with this name (did you mean `update_blackboard`?) {fix: "update_blackboard"}
        "#]],
    );
}

#[test]
fn with_a_closed_input_unknown_keys_are_reported() {
    let manifest = "\
apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata:
  name: flow
  input_schema: { type: object, properties: { topic: { type: string } }, additionalProperties: false }
spec:
  context: { language: de }
  states:
    - { name: A, kind: System, command: 'echo {{topic}} {{language}} {{topci}} {{workflow.context.langauge}} {{input.x}}' }
";
    check_one(
        manifest,
        expect![[r#"
            warning 9:72 unresolved-name: neither the context, the input nor a state defines `topci` (did you mean `topic`?) {fix: "topic"}
            warning 9:82 unresolved-name: neither the context, the input nor a state defines `langauge` (did you mean `language`?) {fix: 9:99 "language"}
            warning 9:118 unknown-property: `input` has no `x` (its properties are `topic`)
        "#]],
    );
}

#[test]
fn what_only_some_ways_define_is_worth_knowing_unless_guarded() {
    let manifest = "\
apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata:
  name: flow
  output_template: { a: '{{B.output}}' }
spec:
  initial_state: A
  states:
    A:
      kind: Agent
      agent: a
      input: '{{B.output}}{{#if B.output}}{{B.output.x}}{{/if}}{{default B.output 1}}{{state.feedback}}'
      transitions:
        - { condition: score_above, threshold: 0.5, target: B }
        - { target: C }
    B: { kind: Agent, agent: a, input: '{{state.feedback}}{{A.output}}', transitions: [{ target: A, feedback: '{{B.output}}' }] }
    C: { kind: System, command: echo }
";
    check(
        &[("flow.yaml", manifest), ("a.yaml", AGENT)],
        expect![[r#"
            warning flow.yaml 16:43 unresolved-name: `state.feedback` is always empty: no transition into `B` has `feedback`
        "#]],
    );
}

#[test]
fn states_that_templates_cannot_name_are_reported() {
    check_one(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: flow }\nspec:\n  states:\n    - { name: input, kind: System, command: echo }\n    - { name: a.b, kind: System, command: echo }\n",
        expect![[r#"
            warning 6:15 state-key: templates cannot read the result of a state named `input` (use letters, digits, `_` and `-`, and no reserved name)
            warning 7:15 state-key: templates cannot read the result of a state named `a.b` (use letters, digits, `_` and `-`, and no reserved name)
        "#]],
    );
}

/// A key is no template, and a name with other characters ends in a template before them.
#[test]
fn keys_that_no_template_can_read() {
    let sub = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: sub, version: '1' }\nspec:\n  initial_state: A\n  states:\n    A: { kind: System, command: ls }\n";
    let main = |key: &str| {
        workflow(&format!(
            "    A:\n      kind: Subworkflow\n      workflow_id: sub\n      mode: blocking\n      result_key: '{key}'\n      transitions: [{{ target: END }}]\n{END}"
        ))
    };
    let told = |key: &str, expected: Expect| check(&[("main.yaml", &main(key)), ("sub.yaml", sub)], expected);
    told(
        "{{input.k}}",
        expect![[r#"
        warning main.yaml 11:19 state-key: templates cannot read a key named `{{input.k}}` (a key is not a template: write a fixed name)
    "#]],
    );
    told(
        "my key",
        expect![[r#"
        warning main.yaml 11:19 state-key: templates cannot read a key named `my key` (use letters, digits, `_` and `-`)
    "#]],
    );
    told("my_key", expect![""]);
    of_workflow(
        "    A:\n      kind: System\n      command: update_blackboard\n      env: { 'a.b': x, blackboard.c: y, d: z }\n      transitions: [{ target: END }]\n",
        expect![[r#"
            warning 10:14 state-key: templates cannot read a key named `a.b` (use letters, digits, `_` and `-`)
            warning 10:24 state-key: this writes a key named `blackboard.c`, not `c` (write `c`: keys of `env` are keys of the Blackboard)
        "#]],
    );
}
