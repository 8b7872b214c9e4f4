//! Types and definedness as seen by rules, beyond what loading checks.

use expect_test::{Expect, expect};

use super::support::{check, is_of, of_rule};

const AGENT: &str = r#"
apiVersion: 100monkeys.ai/v1
kind: Agent
metadata: { name: sorter, version: "1.0.0" }
spec:
  runtime: { model: smart }
  task: { instruction: Sort., prompt_template: "Sort: {{input}}" }
  execution:
    mode: iterative
    max_iterations: 2
    validation:
      - type: json_schema
        schema:
          type: object
          required: [kind, size, parts]
          additionalProperties: false
          properties:
            kind: { type: string, enum: [bug, feature] }
            size: { type: integer, minimum: 0, maximum: 10 }
            parts: { type: array, maxItems: 2, items: { type: string } }
"#;

fn workflow(rest: &str) -> String {
    format!(
        r#"apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata: {{ name: intake, version: "1.0.0" }}
spec:
  initial_state: SORT
  states:
    SORT:
      kind: Agent
      agent: sorter
      input: "{{{{input.text}}}}"
{rest}
"#
    )
}

fn leads(condition: &str, output: &str) -> String {
    workflow(&format!(
        r#"      transitions:
        - condition: custom
          expression: "{condition}"
          target: DONE
        - condition: always
          target: LATER
    DONE:
      kind: System
      command: "echo '{output}'"
    LATER:
      kind: System
      command: "echo later""#
    ))
}

#[track_caller]
fn sorted(rule: &str, condition: &str, output: &str, lines: Expect) {
    let flow = leads(condition, output);
    of_rule(rule, "aegis", &[("flow.yaml", &flow), ("sorter.yaml", AGENT)], lines);
}

#[test]
fn a_checked_answer_types_the_conditions_of_its_state() {
    sorted("never-true", "SORT.output.kind == 'bug'", "x", expect![""]);
    sorted(
        "never-true",
        "SORT.output.kind == 'bog'",
        "x",
        expect![[r#"
            13:24 warning never-true: this comparison can never be true: `SORT.output.kind` is one of `bug`, `feature`
              | expression: "SORT.output.kind == 'bog'"
              |              ^^^^^^^^^^^^^^^^
              help: did you mean `bug`?
              suggestion: write `bug`: 13:44 "'bug'"
        "#]],
    );
    sorted("never-true", "SORT.output.size > 9", "x", expect![""]);
    sorted(
        "never-true",
        "SORT.output.size > 10",
        "x",
        expect![[r#"
        13:24 warning never-true: this comparison can never be true: `SORT.output.size` is from 0 to 10
          | expression: "SORT.output.size > 10"
          |              ^^^^^^^^^^^^^^^^
    "#]],
    );
    sorted(
        "never-true",
        "SORT.output.size == 'big'",
        "x",
        expect![[r#"
        13:24 warning never-true: this comparison can never be true: `SORT.output.size` is a number, and `big` is text
          | expression: "SORT.output.size == 'big'"
          |              ^^^^^^^^^^^^^^^^
    "#]],
    );
}

#[test]
fn a_path_ends_where_a_checked_answer_does() {
    sorted("unknown-property", "SORT.output.kind == 'bug'", "{{SORT.output.kind}}", expect![""]);
    sorted(
        "unknown-property",
        "SORT.output.knd == 'bug'",
        "x",
        expect![[r#"
            13:36 warning unknown-property: `SORT.output` has no `knd`
              | expression: "SORT.output.knd == 'bug'"
              |                          ^^^
              at sorter.yaml:18:13: `kind` is declared here
              help: did you mean `kind`? its properties are `kind`, `size`, `parts`
              fix: write `kind`: 13:36 "kind"
        "#]],
    );
    sorted(
        "index-out-of-range",
        "SORT.output.kind == 'bug'",
        "{{SORT.output.parts.2}}",
        expect![[r#"
            19:25 warning index-out-of-range: `SORT.output.parts` has at most 2 items, so `SORT.output.parts.2` does not exist
              | command: "echo '{{SORT.output.parts.2}}'"
              |                   ^^^^^^^^^^^^^^^^^^^
              help: indices go from 0 to 1
        "#]],
    );
    sorted(
        "property-of-text",
        "SORT.output.kind == 'bug'",
        "{{SORT.output.kind.name}}",
        expect![[r#"
            19:42 warning property-of-text: `SORT.output.kind` is text, so `SORT.output.kind.name` is always empty
              | command: "echo '{{SORT.output.kind.name}}'"
              |                                    ^^^^
              help: remove the rest of the path, or make the value an object
        "#]],
    );
}

#[test]
fn a_fan_out_has_as_many_results_as_it_goes_over() {
    let told = |over: &str, index: u32, expected: Expect| {
        let text = format!(
            "version: \"0.1\"\nagents:\n  v: {{ model: \"openai:m\", system: Write. }}\n  z: {{ model: \"openai:m\", system: \"{{{{ fan.outputs.{index} }}}}\" }}\nnodes:\n  fan: {{ type: factory, agent: v, {over}, writes: working.list }}\n  end: {{ agent: z, writes: output.x }}\ninput: {{ n: 3, l: [] }}\n"
        );
        of_rule("index-out-of-range", "sirenspec", &[("flow.yaml", &text)], expected);
    };
    told(
        "for_each: '[\"a\", \"b\"]'",
        2,
        expect![[r#"
            4:39 warning index-out-of-range: `fan.outputs` has at most 2 items, so `fan.outputs.2` does not exist
              | z: { model: "openai:m", system: "{{ fan.outputs.2 }}" }
              |                                     ^^^^^^^^^^^^^
              help: indices go from 0 to 1
        "#]],
    );
    told("for_each: '[\"a\", \"b\"]'", 1, expect![""]);
    told(
        "swarm_size: 2",
        2,
        expect![[r#"
            4:39 warning index-out-of-range: `fan.outputs` has at most 2 items, so `fan.outputs.2` does not exist
              | z: { model: "openai:m", system: "{{ fan.outputs.2 }}" }
              |                                     ^^^^^^^^^^^^^
              help: indices go from 0 to 1
        "#]],
    );
    told("swarm_size: 2", 1, expect![""]);
    told("swarm_size: '{{ inputs.n }}'", 7, expect![""]);
    told("for_each: '{{ inputs.l }}'", 7, expect![""]);
}

#[test]
fn a_word_is_no_number() {
    sorted(
        "text-as-number",
        "SORT.output.kind > 3",
        "x",
        expect![[r#"
            13:24 warning text-as-number: `SORT.output.kind` never reads as a number, so this can never be true
              | expression: "SORT.output.kind > 3"
              |              ^^^^^^^^^^^^^^^^
              help: compare words with `==`; only numbers, and text that reads as a number, can be ordered
        "#]],
    );
}

#[test]
fn a_state_hides_an_input() {
    let schema = "input_schema: { type: object, properties: { text: { type: string }, SORT: { type: string } } }";
    let flow = workflow("").replace("version: \"1.0.0\" }", &format!("version: \"1.0.0\", {schema} }}"));
    of_rule(
        "shadowed-name",
        "aegis",
        &[("flow.yaml", &flow), ("sorter.yaml", AGENT)],
        expect![[r#"
            7:5 warning shadowed-name: templates refer to this state as `SORT`, which hides the input of that name
              | SORT:
              | ^^^^
              at 3:113: the input
              help: rename one of them
        "#]],
    );
}

/// A pipeline in a pipeline, whose first step is sometimes skipped.
#[test]
fn an_inner_result_may_not_be_there() {
    let inner = |when: &str| {
        format!(
            r#"id: outer
kind: sequential
inputSchema: {{ topic: string, deep: boolean }}
steps:
  - agent:
      id: inner
      kind: sequential
      inputSchema: {{ topic: string, deep: boolean }}
      steps:
        - agent:
            id: facts
            kind: llm
            model: {{ provider: openai, name: gpt-4o-mini }}
            inputSchema: {{ topic: string }}
            instruction: Facts.
            prompt: "{{{{topic}}}}"
          input: {{ topic: "{{{{topic}}}}" }}{when}
        - agent:
            id: text
            kind: llm
            model: {{ provider: openai, name: gpt-4o-mini }}
            inputSchema: {{ topic: string }}
            instruction: Text.
            prompt: "{{{{topic}}}}"
          input: {{ topic: "{{{{topic}}}}" }}
    input: {{ topic: "{{{{topic}}}}", deep: "{{{{deep}}}}" }}
output: {{ facts: "{{{{inner.facts}}}}" }}
"#
        )
    };
    let always = inner("");
    of_rule("maybe-undefined", "agntz", &[("flow.yaml", &always)], expect![""]);
    let gated = inner("\n          when: \"{{deep}}\"");
    of_rule(
        "maybe-undefined",
        "agntz",
        &[("flow.yaml", &gated)],
        expect![[r#"
            28:21 info maybe-undefined: `inner.facts` has no value if its step is skipped (it runs only when `{{deep}}`)
              | output: { facts: "{{inner.facts}}" }
              |                     ^^^^^^^^^^^
              help: guard it with `{{#if inner.facts}}`
        "#]],
    );
}

#[test]
fn a_key_that_only_one_state_writes() {
    let flow = workflow(
        r#"      transitions:
        - condition: on_success
          target: NOTE
        - condition: on_failure
          target: DONE
    NOTE:
      kind: System
      command: update_blackboard
      env: { verdict: "{{SORT.output.kind}}" }
      transitions:
        - condition: always
          target: DONE
    DONE:
      kind: System
      command: "echo '{{verdict}}'""#,
    );
    of_rule(
        "maybe-undefined",
        "aegis",
        &[("flow.yaml", &flow), ("sorter.yaml", AGENT)],
        expect![[r#"
            25:25 info maybe-undefined: `verdict` has no value if its state has not completed
              | command: "echo '{{verdict}}'"
              |                   ^^^^^^^
              help: guard it with `{{#if verdict}}`, or write `{{default verdict "..."}}`
        "#]],
    );
}

#[test]
fn an_item_of_a_loop_has_the_type_of_the_lists_items() {
    let agent =
        AGENT.replace("items: { type: string } }", "items: { type: object, properties: { name: { type: string } } } }");
    let flow =
        |path: &str| leads("SORT.output.kind == 'bug'", &format!("{{{{#each SORT.output.parts}}}}{path}{{{{/each}}}}"));
    let right = flow("{{this.name}}");
    of_rule("unknown-property", "aegis", &[("flow.yaml", &right), ("sorter.yaml", &agent)], expect![""]);
    let wrong = flow("{{this.nme}}");
    of_rule(
        "unknown-property",
        "aegis",
        &[("flow.yaml", &wrong), ("sorter.yaml", &agent)],
        expect![[r#"
            19:57 warning unknown-property: the schema of the item declares no `nme`
              | ...echo '{{#each SORT.output.parts}}{{this.nme}}{{/each}}'"
              |                                            ^^^
              at sorter.yaml:20:85: `name` is declared here
              help: did you mean `name`?
              suggestion: write `name`: 19:57 "name"
        "#]],
    );
}

#[test]
fn a_slip_on_the_first_level_of_an_open_answer_is_found() {
    let open = AGENT.replace("          additionalProperties: false\n", "");
    let found = |output: &str, lines: Expect| {
        let flow = leads("state_output.output.kind == 'bug'", output);
        of_rule("unknown-property", "aegis", &[("flow.yaml", &flow), ("sorter.yaml", &open)], lines);
    };
    found("{{SORT.output.kind}}", expect![""]);
    found(
        "{{SORT.output.reason}}",
        expect![[r#"
            19:37 warning unknown-property: the schema of `SORT.output` declares no `reason`
              | command: "echo '{{SORT.output.reason}}'"
              |                               ^^^^^^
              at sorter.yaml:14:11: its properties are declared here
              help: it declares `kind`, `size`, `parts`
        "#]],
    );
    found(
        "{{SORT.output.knd}}",
        expect![[r#"
            19:37 warning unknown-property: the schema of `SORT.output` declares no `knd`
              | command: "echo '{{SORT.output.knd}}'"
              |                               ^^^
              at sorter.yaml:17:13: `kind` is declared here
              help: did you mean `kind`?
              suggestion: write `kind`: 19:37 "kind"
        "#]],
    );
    found(
        "{{#each SORT.output.prts}}{{this}}{{/each}}",
        expect![[r#"
            19:43 warning unknown-property: the schema of `SORT.output` declares no `prts`
              | command: "echo '{{#each SORT.output.prts}}{{this}}{{/each}}'
              |                                     ^^^^
              at sorter.yaml:19:13: `parts` is declared here
              help: did you mean `parts`?
              suggestion: write `parts`: 19:43 "parts"
        "#]],
    );
    let flow = leads("state_output.output.knd == 'bug'", "x");
    let (_, all) = check(Some("aegis"), &[("flow.yaml", &flow), ("sorter.yaml", &open)]);
    let slip = all.iter().find(|d| is_of(d, "unknown-property")).unwrap();
    let fix = slip.fix.as_ref().unwrap();
    assert_eq!((&*fix.edits[0].text, fix.safe), ("kind", false), "an open answer may have it all the same");
}

/// A workflow in which a command runs first.
fn commanded(condition: &str, output: &str) -> String {
    leads(condition, output).replace(
        "      kind: Agent\n      agent: sorter\n      input: \"{{input.text}}\"\n",
        "      kind: System\n      command: make\n",
    )
}

#[test]
fn a_command_has_a_status_a_code_and_texts() {
    let found = |rule: &str, condition: &str, output: &str, lines: Expect| {
        of_rule(rule, "aegis", &[("flow.yaml", &commanded(condition, output))], lines);
    };
    for rule in ["never-true", "unknown-property", "property-of-text"] {
        found(
            rule,
            "SORT.exit_code == 0 && SORT.status == 'failed'",
            "{{SORT.output.any.thing}} {{SORT.stdout}}",
            expect![""],
        );
    }
    found(
        "never-true",
        "SORT.exit_code == 'zero'",
        "x",
        expect![[r#"
        12:24 warning never-true: this comparison can never be true: `SORT.exit_code` is a number, and `zero` is text
          | expression: "SORT.exit_code == 'zero'"
          |              ^^^^^^^^^^^^^^
    "#]],
    );
    found(
        "never-true",
        "SORT.status == 'succes'",
        "x",
        expect![[r#"
            12:24 warning never-true: this comparison can never be true: `SORT.status` is one of `failed`, `success`
              | expression: "SORT.status == 'succes'"
              |              ^^^^^^^^^^^
              help: did you mean `success`?
              suggestion: write `success`: 12:39 "'success'"
        "#]],
    );
    found(
        "property-of-text",
        "SORT.exit_code == 0",
        "{{SORT.exit_code.x}}",
        expect![[r#"
            18:40 warning property-of-text: `SORT.exit_code` is a number, so `SORT.exit_code.x` is always empty
              | command: "echo '{{SORT.exit_code.x}}'"
              |                                  ^
              help: remove the rest of the path, or make the value an object
        "#]],
    );
}

#[test]
fn a_workflow_that_is_called_has_the_members_of_its_output() {
    let child = commanded("SORT.exit_code == 0", "x").replace(
        "name: intake, version: \"1.0.0\" }",
        "name: child, version: \"1.0.0\", output_template: { article: \"{{SORT.stdout}}\", score: \"1\" } }",
    );
    let parent = |condition: &str, output: &str| {
        leads(condition, output).replace(
            "      kind: Agent\n      agent: sorter\n      input: \"{{input.text}}\"\n",
            "      kind: Subworkflow\n      workflow_id: child\n      result_key: made\n",
        )
    };
    let found = |condition: &str, output: &str, lines: Expect| {
        let flow = parent(condition, output);
        of_rule("unknown-property", "aegis", &[("flow.yaml", &flow), ("child.yaml", &child)], lines);
    };
    found("blackboard.made.score == '1'", "{{SORT.article}} {{SORT.output.article}} {{made.article}}", expect![""]);
    found(
        "blackboard.made.scor == '1'",
        "{{SORT.artcle}}",
        expect![[r#"
            13:40 warning unknown-property: `blackboard.made` has no `scor`
              | expression: "blackboard.made.scor == '1'"
              |                              ^^^^
              at child.yaml:3:91: `score` is declared here
              help: did you mean `score`? its properties are `article`, `score`
              fix: write `score`: 13:40 "score"
            19:30 warning unknown-property: `SORT` has no `artcle`
              | command: "echo '{{SORT.artcle}}'"
              |                        ^^^^^^
              at child.yaml:3:63: `article` is declared here
              help: did you mean `article`? its properties are `status`, `output`, `error`, `article`, `score`
              fix: write `article`: 19:30 "article"
        "#]],
    );
}

#[test]
fn the_input_of_a_called_workflow_is_like_the_default_that_it_replaces() {
    let child = "version: \"0.1\"\nagents: { a: { system: \"{{ inputs.n }} {{ inputs.l }}\", model: \"openai:m\" } }\nnodes:\n  c: { agent: a, writes: output.c }\ninput: { message: m, n: 5, l: [a] }\n";
    let given = |inputs: &str, expected: Expect| {
        let text = format!(
            "version: \"0.1\"\nagents: {{ a: {{ system: s, model: \"openai:m\" }} }}\nnodes:\n  s: {{ agent: a, writes: working.s }}\n  x: {{ type: workflow, ref: ./child.yaml, inputs: {{ {inputs} }}, writes: output.x }}\n"
        );
        of_rule("wrong-input-type", "sirenspec", &[("flow.yaml", &text), ("child.yaml", child)], expected);
    };
    given(
        "n: high",
        expect![[r#"
            5:53 warning wrong-input-type: `n` of `child` is declared as a number, but this is text
              | ... workflow, ref: ./child.yaml, inputs: { n: high }, writes: ou
              |                                            ^
              at child.yaml:5:22: declared here
        "#]],
    );
    given(
        "n: \"{{ s.output }}\"",
        expect![[r#"
            5:60 warning wrong-input-type: `n` of `child` is declared as a number, but this is text
              | ...ow, ref: ./child.yaml, inputs: { n: "{{ s.output }}" }, writes: outp
              |                                            ^^^^^^^^
              at child.yaml:5:22: declared here
        "#]],
    );
    given("n: 3", expect![""]);
    given("n: \"3\"", expect![""]);
    given("l: \"{{ s.output }}\"", expect![""]);
    given("l: \"[1, 2]\"", expect![""]);
    given(
        "l: 7",
        expect![[r#"
            5:53 warning wrong-input-type: `l` of `child` is declared as a list, but this is a number
              | ... workflow, ref: ./child.yaml, inputs: { l: 7 }, writes: outpu
              |                                            ^
              at child.yaml:5:28: declared here
        "#]],
    );
}

#[test]
fn a_choice_that_the_called_agent_does_not_know_is_told() {
    let given = |when: &str, expected: Expect| {
        let text = format!(
            "id: desk\nkind: sequential\ninputSchema:\n  mood: {{ type: string, enum: [calm, angry, lost] }}\nsteps:\n  - agent:\n      id: reply\n      kind: llm\n      model: {{ provider: openai, name: gpt-5 }}\n      instruction: \"Reply to someone who is {{{{mood}}}}.\"\n      inputSchema:\n        mood: {{ type: string, enum: [calm, angry] }}\n    input: {{ mood: \"{{{{mood}}}}\" }}\n{when}"
        );
        of_rule("wrong-input-type", "agntz", &[("desk.yaml", &text)], expected);
    };
    given(
        "",
        expect![[r#"
            13:23 warning wrong-input-type: `mood` of `reply` does not accept this value: it can be `lost`, but it must be one of `calm`, `angry`, `null`
              | input: { mood: "{{mood}}" }
              |                   ^^^^
              at 12:9: declared here
        "#]],
    );
    given("    when: \"{{mood}} != 'lost'\"\n", expect![""]);
}

#[test]
fn the_whole_result_of_a_state_is_more_than_its_answer() {
    let found = |output: &str, lines: Expect| {
        let flow = leads("state_output.output.kind == 'bug'", output);
        of_rule("object-in-prompt", "aegis", &[("flow.yaml", &flow), ("sorter.yaml", AGENT)], lines);
    };
    found(
        "{{SORT}}",
        expect![[r#"
            19:25 warning object-in-prompt: `SORT` is an object, so it is printed as JSON
              | command: "echo '{{SORT}}'"
              |                   ^^^^
              help: its fields are `SORT.status`, `SORT.output`, `SORT.error`
        "#]],
    );
    found("{{SORT.output}} {{json SORT}} {{#if SORT}}x{{/if}}", expect![""]);
}

#[test]
fn paths_from_the_root_in_a_block() {
    let open =
        AGENT.replace("items: { type: string }", "items: { type: object, properties: { name: { type: string } } }");
    let found = |output: &str, lines: Expect| {
        let flow = leads("state_output.output.kind == 'bug'", output);
        of_rule("unresolved-name", "aegis", &[("flow.yaml", &flow), ("sorter.yaml", &open)], lines);
    };
    found(
        "{{#each SORT.output.parts}}{{name}} {{this.name}} {{@root.SORT.output.kind}} {{../input.text}} {{@index}}{{/each}}",
        expect![""],
    );
    found(
        "{{#each SORT.output.parts}}{{SORT.output.kind}}{{/each}}",
        expect![[r#"
        19:52 warning unresolved-name: in this block `SORT` is looked up in the item, which does not have it
          | ...nd: "echo '{{#each SORT.output.parts}}{{SORT.output.kind}}{{/each}}'"
          |                                            ^^^^^^^^^^^^^^^^
          suggestion: write `@root.SORT.output.kind`: 19:52 "@root.SORT.output.kind"
    "#]],
    );
    found(
        "{{#each SORT.output.parts as |p|}}{{part.name}}{{index}}{{/each}}",
        expect![[r#"
        19:59 warning unresolved-name: in this block `part` is looked up in the item, which does not have it
          | ...ho '{{#each SORT.output.parts as |p|}}{{part.name}}{{index}}{{/each}}
          |                                            ^^^^^^^^^
          suggestion: write `this.name`: 19:59 "this.name"
        19:72 warning unresolved-name: in this block `index` is looked up in the item, which does not have it
          | ...ORT.output.parts as |p|}}{{part.name}}{{index}}{{/each}}'"
          |                                            ^^^^^
          suggestion: write `@index`: 19:72 "@index"
    "#]],
    );
}
