//! Types and definedness as rules see them, where loading does not look.

use trefoil_syntax::Severity;

use super::support::{check, line};

#[track_caller]
fn expect(rule: &str, front: &str, files: &[(&str, &str)], lines: &[&str]) {
    let (project, all) = check(Some(front), files);
    let others: Vec<_> = all.iter().filter(|d| d.severity == Severity::Error && d.rule != rule).collect();
    assert!(others.is_empty(), "{others:#?}");
    let mut found: Vec<String> = all.iter().filter(|d| d.rule == rule).map(|d| line(&project, d)).collect();
    found.sort();
    found.dedup();
    assert_eq!(found, lines);
}

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
fn sorted(rule: &str, condition: &str, output: &str, lines: &[&str]) {
    let flow = leads(condition, output);
    expect(rule, "aegis", &[("flow.yaml", &flow), ("sorter.yaml", AGENT)], lines);
}

#[test]
fn a_checked_answer_types_the_conditions_of_its_state() {
    sorted("never-true", "SORT.output.kind == 'bug'", "x", &[]);
    sorted(
        "never-true",
        "SORT.output.kind == 'bog'",
        "x",
        &["warning 13:24 this comparison can never be true: `SORT.output.kind` is one of `bug`, `feature`"],
    );
    sorted("never-true", "SORT.output.size > 9", "x", &[]);
    sorted(
        "never-true",
        "SORT.output.size > 10",
        "x",
        &["warning 13:24 this comparison can never be true: `SORT.output.size` is from 0 to 10"],
    );
    sorted(
        "never-true",
        "SORT.output.size == 'big'",
        "x",
        &["warning 13:24 this comparison can never be true: `SORT.output.size` is a number, and `big` is text"],
    );
}

#[test]
fn a_path_ends_where_a_checked_answer_does() {
    sorted("unknown-property", "SORT.output.kind == 'bug'", "{{SORT.output.kind}}", &[]);
    sorted("unknown-property", "SORT.output.knd == 'bug'", "x", &["warning 13:36 `SORT.output` has no `knd`"]);
    sorted(
        "index-out-of-range",
        "SORT.output.kind == 'bug'",
        "{{SORT.output.parts.2}}",
        &["warning 19:25 `SORT.output.parts` has 2 items at most, so there is no `SORT.output.parts.2`"],
    );
    sorted(
        "property-of-text",
        "SORT.output.kind == 'bug'",
        "{{SORT.output.kind.name}}",
        &["warning 19:42 `SORT.output.kind` is text, so `SORT.output.kind.name` is never there"],
    );
}

#[test]
fn a_fan_out_has_as_many_results_as_it_goes_over() {
    let told = |over: &str, index: u32, expected: &[&str]| {
        let text = format!(
            "version: \"0.1\"\nagents:\n  v: {{ model: \"openai:m\", system: Write. }}\n  z: {{ model: \"openai:m\", system: \"{{{{ fan.outputs.{index} }}}}\" }}\nnodes:\n  fan: {{ type: factory, agent: v, {over}, writes: working.list }}\n  end: {{ agent: z, writes: output.x }}\ninput: {{ n: 3, l: [] }}\n"
        );
        expect("index-out-of-range", "sirenspec", &[("flow.yaml", &text)], expected);
    };
    let two = ["warning 4:39 `fan.outputs` has 2 items at most, so there is no `fan.outputs.2`"];
    told("for_each: '[\"a\", \"b\"]'", 2, &two);
    told("for_each: '[\"a\", \"b\"]'", 1, &[]);
    told("swarm_size: 2", 2, &two);
    told("swarm_size: 2", 1, &[]);
    told("swarm_size: '{{ inputs.n }}'", 7, &[]);
    told("for_each: '{{ inputs.l }}'", 7, &[]);
}

#[test]
fn a_word_is_no_number() {
    sorted(
        "text-as-number",
        "SORT.output.kind > 3",
        "x",
        &["warning 13:24 `SORT.output.kind` never reads as a number, so this can never be true"],
    );
}

/// What comes from the environment is text, and is a number where it reads as one (decision A7).
#[test]
fn a_variable_of_the_environment_may_read_as_a_number() {
    let flow = |inputs: &str, path: &str| {
        format!(
            "id: p\nkind: sequential\ninputSchema: {{ {inputs} }}\nsteps:\n  - agent: {{ id: b, kind: llm, model: {{ provider: openai, name: gpt-5.4 }}, instruction: Hi., prompt: Hi. }}\n    when: \"{{{{{path}}}}} >= 3\"\n"
        )
    };
    expect("text-as-number", "agntz", &[("p.yaml", &flow("q: string", "env.LEVEL"))], &[]);
    let found = ["warning 6:14 `q` is declared as text, and this compares it as a number"];
    expect("text-as-number", "agntz", &[("p.yaml", &flow("q: string", "q"))], &found);
}

#[test]
fn text_has_no_order_with_a_number_under_strict_rules() {
    let flow = |when: &str| {
        format!(
            r#"version: "0.1"
agents:
  rater: {{ model: "openai:gpt-4o-mini", system: "Rate it." }}
nodes:
  rate: {{ agent: rater, writes: working.score }}
  publish: {{ agent: rater, writes: output.text }}
edges:
  - from: rate
    to: publish
    when: "{when}"
input:
  message: "A text."
"#
        )
    };
    let read = flow("float(working.score) > 3");
    expect("text-as-number", "sirenspec", &[("flow.yaml", &read)], &[]);
    let wrong = flow("working.score > 3");
    expect(
        "text-as-number",
        "sirenspec",
        &[("flow.yaml", &wrong)],
        &["warning 10:12 `working.score` is text, which has no order with a number: the condition is false"],
    );
    let word = flow("working.score == 3");
    expect(
        "never-true",
        "sirenspec",
        &[("flow.yaml", &word)],
        &["warning 10:12 this comparison can never be true: `working.score` is text, and `3` is a number"],
    );
}

#[test]
fn a_state_hides_an_input() {
    let schema = "input_schema: { type: object, properties: { text: { type: string }, SORT: { type: string } } }";
    let flow = workflow("").replace("version: \"1.0.0\" }", &format!("version: \"1.0.0\", {schema} }}"));
    expect(
        "shadowed-name",
        "aegis",
        &[("flow.yaml", &flow), ("sorter.yaml", AGENT)],
        &["warning 7:5 templates name this state by `SORT`, which hides the input of that name"],
    );
}

/// A pipeline in a pipeline, whose first step is skipped now and then.
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
    expect("maybe-undefined", "agntz", &[("flow.yaml", &always)], &[]);
    let gated = inner("\n          when: \"{{deep}}\"");
    expect(
        "maybe-undefined",
        "agntz",
        &[("flow.yaml", &gated)],
        &["info 28:21 `inner.facts` has no value where its step is skipped: it runs only when `{{deep}}`"],
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
    expect(
        "maybe-undefined",
        "aegis",
        &[("flow.yaml", &flow), ("sorter.yaml", AGENT)],
        &["info 25:25 `verdict` has no value where its state has not run to its end"],
    );
}

#[test]
fn an_item_of_a_loop_has_the_type_of_the_lists_items() {
    let agent =
        AGENT.replace("items: { type: string } }", "items: { type: object, properties: { name: { type: string } } } }");
    let flow =
        |path: &str| leads("SORT.output.kind == 'bug'", &format!("{{{{#each SORT.output.parts}}}}{path}{{{{/each}}}}"));
    let right = flow("{{this.name}}");
    expect("unknown-property", "aegis", &[("flow.yaml", &right), ("sorter.yaml", &agent)], &[]);
    let wrong = flow("{{this.nme}}");
    expect(
        "unknown-property",
        "aegis",
        &[("flow.yaml", &wrong), ("sorter.yaml", &agent)],
        &["warning 19:57 the schema of the item declares no `nme`"],
    );
}

#[test]
fn a_slip_on_the_first_level_of_an_open_answer_is_found() {
    let open = AGENT.replace("          additionalProperties: false\n", "");
    let found = |output: &str, lines: &[&str]| {
        let flow = leads("state_output.output.kind == 'bug'", output);
        expect("unknown-property", "aegis", &[("flow.yaml", &flow), ("sorter.yaml", &open)], lines);
    };
    found("{{SORT.output.kind}}", &[]);
    found("{{SORT.output.reason}}", &["warning 19:37 the schema of `SORT.output` declares no `reason`"]);
    found("{{SORT.output.knd}}", &["warning 19:37 the schema of `SORT.output` declares no `knd`"]);
    found(
        "{{#each SORT.output.prts}}{{this}}{{/each}}",
        &["warning 19:43 the schema of `SORT.output` declares no `prts`"],
    );
    let flow = leads("state_output.output.knd == 'bug'", "x");
    let (_, all) = check(Some("aegis"), &[("flow.yaml", &flow), ("sorter.yaml", &open)]);
    let slip = all.iter().find(|d| d.rule == "unknown-property").unwrap();
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
    let found = |rule: &str, condition: &str, output: &str, lines: &[&str]| {
        expect(rule, "aegis", &[("flow.yaml", &commanded(condition, output))], lines);
    };
    for rule in ["never-true", "unknown-property", "property-of-text"] {
        found(rule, "SORT.exit_code == 0 && SORT.status == 'failed'", "{{SORT.output.any.thing}} {{SORT.stdout}}", &[]);
    }
    found(
        "never-true",
        "SORT.exit_code == 'zero'",
        "x",
        &["warning 12:24 this comparison can never be true: `SORT.exit_code` is a number, and `zero` is text"],
    );
    found(
        "never-true",
        "SORT.status == 'succes'",
        "x",
        &["warning 12:24 this comparison can never be true: `SORT.status` is one of `failed`, `success`"],
    );
    found(
        "property-of-text",
        "SORT.exit_code == 0",
        "{{SORT.exit_code.x}}",
        &["warning 18:40 `SORT.exit_code` is a number, so `SORT.exit_code.x` is never there"],
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
    let found = |condition: &str, output: &str, lines: &[&str]| {
        let flow = parent(condition, output);
        expect("unknown-property", "aegis", &[("flow.yaml", &flow), ("child.yaml", &child)], lines);
    };
    found("blackboard.made.score == '1'", "{{SORT.article}} {{SORT.output.article}} {{made.article}}", &[]);
    found(
        "blackboard.made.scor == '1'",
        "{{SORT.artcle}}",
        &["warning 13:40 the schema of `blackboard.made` declares no `scor`", "warning 19:30 `SORT` has no `artcle`"],
    );
}

#[test]
fn a_length_is_never_below_zero_and_nothing_differs_from_itself() {
    let edge = |when: &str, expected: &[&str]| {
        let text = format!(
            "version: \"0.1\"\nagents: {{ a: {{ system: s, model: \"openai:m\" }} }}\nnodes:\n  s: {{ agent: a, writes: working.s }}\n  x: {{ agent: a, writes: output.x }}\nedges:\n  - {{ from: s, to: x, when: \"{when}\" }}\n"
        );
        expect("never-true", "sirenspec", &[("flow.yaml", &text)], expected);
    };
    edge("len(working.s) < 0", &["warning 7:34 this comparison can never be true: `len(working.s)` is 0 at least"]);
    edge("len(working.s) > 0", &[]);
    edge("len(working.s) >= 0", &["warning 7:34 this comparison is always true: `len(working.s)` is 0 at least"]);
    edge("len(working.s) > -1", &["warning 7:34 this comparison is always true: `len(working.s)` is 0 at least"]);
    edge(
        "_budget.total_tokens < 0",
        &["warning 7:30 this comparison can never be true: `_budget.total_tokens` is 0 at least"],
    );
    edge("_budget.total_tokens > 0", &[]);
    edge("int(working.s) >= 7", &[]);
    edge(
        "working.s == working.s",
        &["warning 7:30 this comparison is always true: `working.s` is compared with itself"],
    );
    edge("working.s == 'a'", &[]);
}

#[test]
fn a_node_is_no_number_and_texts_have_the_order_of_their_letters() {
    let edge = |when: &str, rule: &str, expected: &[&str]| {
        let text = format!(
            "version: \"0.1\"\nagents: {{ a: {{ system: s, model: \"openai:m\" }} }}\nnodes:\n  s: {{ agent: a, writes: working.k }}\n  x: {{ agent: a, writes: output.x }}\nedges:\n  - {{ from: s, to: x, when: '{when}' }}\n"
        );
        expect(rule, "sirenspec", &[("flow.yaml", &text)], expected);
    };
    edge(
        "int(working.s) >= 7",
        "never-true",
        &["warning 7:34 this comparison can never be true: `working.s` is an object, which has no order"],
    );
    edge("int(working.k) >= 7", "never-true", &[]);
    edge(
        "working.k >= \"10\"",
        "text-as-number",
        &["warning 7:30 `working.k` and `10` are compared as texts, character by character: `9` comes after `10`"],
    );
    edge("working.k >= \"m\"", "text-as-number", &[]);
    edge(
        "working.k[0] == \"refund\"",
        "never-true",
        &["warning 7:30 this comparison can never be true: `working.k[...]` is one character of a text"],
    );
    edge("working.k[0] == \"r\"", "never-true", &[]);
}

#[test]
fn the_parts_of_a_condition_rule_each_other_out_or_leave_nothing_out() {
    let edge = |when: &str, expected: &[&str]| {
        let text = format!(
            "version: \"0.1\"\nagents: {{ a: {{ system: s, model: \"openai:m\" }} }}\nnodes:\n  s: {{ agent: a, writes: working.s_text.long }}\n  x: {{ agent: a, writes: output.x }}\nedges:\n  - {{ from: s, to: x, when: \"{when}\" }}\n"
        );
        expect("never-true", "sirenspec", &[("flow.yaml", &text)], expected);
    };
    let text = "working.s_text.long";
    let never = &["warning 7:29 this condition can never hold: its parts rule each other out"];
    edge(&format!("{text} == 'a' and {text} == 'b'"), never);
    edge(&format!("{text} == 'a' and len({text}) > 3 and {text} == 'b'"), never);
    edge(
        &format!("{text} != 'a' or {text} != 'b'"),
        &["warning 7:29 this condition always holds: one of its parts does in every case"],
    );
    edge(&format!("{text} == 'a' or {text} == 'b'"), &[]);
    edge(&format!("{text} != 'a' and len({text}) > 3"), &[]);
    edge(
        &format!("{text} is None"),
        &["warning 7:30 this comparison can never be true: `working.s_text.long` is text, and never null"],
    );
    edge(&format!("{text} is not None"), &[]);
    edge(
        "working.s_text == 'a'",
        &["warning 7:30 this comparison can never be true: `working.s_text` is an object, and `a` is text"],
    );
}

#[test]
fn the_input_of_a_called_workflow_is_like_the_default_that_it_replaces() {
    let child = "version: \"0.1\"\nagents: { a: { system: \"{{ inputs.n }} {{ inputs.l }}\", model: \"openai:m\" } }\nnodes:\n  c: { agent: a, writes: output.c }\ninput: { message: m, n: 5, l: [a] }\n";
    let given = |inputs: &str, expected: &[&str]| {
        let text = format!(
            "version: \"0.1\"\nagents: {{ a: {{ system: s, model: \"openai:m\" }} }}\nnodes:\n  s: {{ agent: a, writes: working.s }}\n  x: {{ type: workflow, ref: ./child.yaml, inputs: {{ {inputs} }}, writes: output.x }}\n"
        );
        expect("wrong-input-type", "sirenspec", &[("flow.yaml", &text), ("child.yaml", child)], expected);
    };
    given("n: high", &["warning 5:53 `n` of `child` is a number by its default, and this is text"]);
    given("n: \"{{ s.output }}\"", &["warning 5:60 `n` of `child` is a number by its default, and this is text"]);
    given("n: 3", &[]);
    given("n: \"3\"", &[]);
    given("l: \"{{ s.output }}\"", &[]);
    given("l: \"[1, 2]\"", &[]);
    given("l: 7", &["warning 5:53 `l` of `child` is a list by its default, and this is a number"]);
}

#[test]
fn a_choice_that_the_called_agent_does_not_know_is_told() {
    let given = |when: &str, expected: &[&str]| {
        let text = format!(
            "id: desk\nkind: sequential\ninputSchema:\n  mood: {{ type: string, enum: [calm, angry, lost] }}\nsteps:\n  - agent:\n      id: reply\n      kind: llm\n      model: {{ provider: openai, name: gpt-5 }}\n      instruction: \"Reply to someone who is {{{{mood}}}}.\"\n      inputSchema:\n        mood: {{ type: string, enum: [calm, angry] }}\n    input: {{ mood: \"{{{{mood}}}}\" }}\n{when}"
        );
        expect("wrong-input-type", "agntz", &[("desk.yaml", &text)], expected);
    };
    given(
        "",
        &[
            "warning 13:23 `mood` of `reply` does not take this: it can be `lost`, and it is one of `calm`, `angry`, `null`",
        ],
    );
    given("    when: \"{{mood}} != 'lost'\"\n", &[]);
}

#[test]
fn the_whole_result_of_a_state_is_more_than_its_answer() {
    let found = |output: &str, lines: &[&str]| {
        let flow = leads("state_output.output.kind == 'bug'", output);
        expect("object-in-prompt", "aegis", &[("flow.yaml", &flow), ("sorter.yaml", AGENT)], lines);
    };
    found("{{SORT}}", &["warning 19:25 `SORT` is an object and is printed as JSON"]);
    found("{{SORT.output}} {{json SORT}} {{#if SORT}}x{{/if}}", &[]);
}

#[test]
fn paths_from_the_root_in_a_block() {
    let open =
        AGENT.replace("items: { type: string }", "items: { type: object, properties: { name: { type: string } } }");
    let found = |output: &str, lines: &[&str]| {
        let flow = leads("state_output.output.kind == 'bug'", output);
        expect("unresolved-name", "aegis", &[("flow.yaml", &flow), ("sorter.yaml", &open)], lines);
    };
    found(
        "{{#each SORT.output.parts}}{{name}} {{this.name}} {{@root.SORT.output.kind}} {{../input.text}} {{@index}}{{/each}}",
        &[],
    );
    found(
        "{{#each SORT.output.parts}}{{SORT.output.kind}}{{/each}}",
        &["warning 19:52 in this block `SORT` is looked up in the item, which does not have it"],
    );
    found(
        "{{#each SORT.output.parts as |p|}}{{part.name}}{{index}}{{/each}}",
        &[
            "warning 19:59 in this block `part` is looked up in the item, which does not have it",
            "warning 19:72 in this block `index` is looked up in the item, which does not have it",
        ],
    );
}
