//! Slips that people make, each with the finding that tells of it, and what looks like one and is none.

use super::support::{expect, expect_one, findings, load};
use crate::support::place;

/// An agent with these lines under `spec`, beside a task.
fn agent(more: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{ name: a, version: '1' }}\nspec:\n  runtime: {{ model: smart }}\n  task: {{ instruction: Work. }}\n{more}"
    )
}

/// A workflow with these states, from `A` on.
fn workflow(states: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w, version: '1' }}\nspec:\n  initial_state: A\n  states:\n{states}"
    )
}

const END: &str = "    END: { kind: System, command: echo }\n";

fn of_agent(more: &str, expected: &str) {
    expect_one(&agent(more), expected);
}

fn of_workflow(states: &str, expected: &str) {
    expect_one(&workflow(&format!("{states}{END}")), expected);
}

#[test]
fn what_is_declared_and_not_run_is_held_against_the_format() {
    of_agent(
        "  security: { network: { mode: blok, alowlist: [] }, filesystem: { read: /workspace }, resources: { cpu: half, memory: lots } }
  volumes: [{ name: v, mount_path: /data, size_limit: 1Gi, access_mode: read-onyl }, { name: w, mount_path: /workspace }]
",
        "warning 7:3 no-effect: `security`, `volumes` have no effect: the agent runs as a model call, no container
             error 7:32 unknown-value: `mode` cannot be `blok` (it can be one of `allow`, `deny`, `none`)
             warning 7:38 unknown-key: network has no key `alowlist` (did you mean `allowlist`?)
             error 7:74 wrong-type: `read` must be a list, not text
             error 7:106 wrong-type: `cpu` must be a whole number, not text
             error 7:120 unknown-value: `memory` cannot be `lots` (write a number and a unit, such as `512Mi` or `1Gi`)
             error 8:36 unknown-value: `mount_path` cannot be `/data` (volumes are mounted at `/workspace` or below)
             error 8:73 unknown-value: `access_mode` cannot be `read-onyl` (did you mean `read-only`? it can be one of `read-write`, `read-only`, `write-only`)
             error 8:88 missing-key: a volume needs `size_limit`",
    );
    of_agent(
        "  schedule: { type: cron, cron: every day }
  execution: { delivery: { destinations: [{ name: d, type: mail, condition: on_sucess }] } }
  output_handler: { type: webhook, url: example.org, body_template: '{{outptu}}' }
",
        "warning 7:3 no-effect: `schedule` has no effect: this version starts runs only when asked
             error 7:33 unknown-value: `cron` cannot be `every day` (write five fields, such as `0 8 * * 1-5` for 8:00 on working days)
             warning 8:16 no-effect: `delivery` has no effect: the result goes to whoever started the run
             error 8:60 unknown-value: `type` cannot be `mail` (did you mean `email`? it can be one of `email`, `webhook`, `rest`, `sms`)
             error 8:77 unknown-value: `condition` cannot be `on_sucess` (did you mean `on_success`? it can be one of `on_success`, `on_failure`, `always`)
             warning 9:3 no-effect: `output_handler` has no effect: the result goes to whoever started the run
             error 9:41 unknown-value: `url` cannot be `example.org` (write the whole address, such as `https://example.org/results`)
             warning 9:72 unresolved-name: an output handler has no `outptu`: it is always empty (did you mean `output`?)",
    );
    let fine = agent(
        "  security: { network: { mode: deny, denylist: [x.org] }, filesystem: { read_only: true }, resources: { cpu: 500, memory: 512Mi, disk: 1 GB } }
  volumes: [{ name: v, storage_class: ephemeral, mount_path: /workspace/a, size_limit: 1Gi }, { name: w, mount_path: /workspace/b, size_limit: 5Gi }]
  schedule: { type: interval, seconds: 60 }
  output_handler: { type: agent, agent_id: b, input_template: '{{#if intent}}{{intent}}{{/if}} {{json output}}' }
",
    );
    let found = findings(&[("agent.yaml", &fine)]);
    assert!(found.lines().all(|l| l.contains(" no-effect: ")), "{found}");
}

#[test]
fn a_kind_that_contradicts_the_rest_is_told_where_it_stands() {
    expect_one(
        &agent("").replace("kind: Agent", "kind: Workflow"),
        "error 2:7 unknown-value: `kind` is `Workflow`, and `spec` has a `task`, as an agent (write `kind: Agent`)",
    );
    expect_one(
        &workflow("    A: { kind: System, command: echo }\n").replace("kind: Workflow", "kind: Workflw"),
        "error 2:7 unknown-value: `kind` cannot be `Workflw` (did you mean `Workflow`? it can be one of `Agent`, `Workflow`)",
    );
}

#[test]
fn blanks_and_misplaced_keys() {
    of_agent(
        "  model: smart\n  instructions: x\n",
        "warning 7:3 unknown-key: spec has no key `model` (it belongs under `runtime`)
             warning 8:3 unknown-key: spec has no key `instructions`",
    );
    of_workflow("    A: { kind: Agent, agent: '', prompt: x, transitions: [{ when: always, to: END }] }\n", "error 7:30 missing-key: `agent` is blank
             warning 7:34 unknown-key: state `A` has no key `prompt` (it belongs in a Human state; what an agent is given is its `input`)
             error 7:61 missing-key: a transition needs `target`
             warning 7:61 unknown-key: a transition has no key `when` (did you mean `condition`?)
             warning 7:75 unknown-key: a transition has no key `to` (did you mean `target`?)");
    of_workflow("    A:\n      kind: System\n      command: update_blackboard\n      timeout:\n    transitions: [{ target: END }]\n", "warning 9:16 no-effect: `update_blackboard` has no effect: there is nothing under `env` to write (put the keys and their values under `env`)
             warning 10:7 no-effect: `timeout` has no value, and so no effect
             error 11:5 wrong-type: `transitions` is beside the states; it belongs in `A` (indent it as far as the other keys of the state)
             warning 12:5 unreachable-state: no transition leads to `END`: it never runs");
}

#[test]
fn conditions_that_other_systems_call_otherwise() {
    of_workflow(
        "    A:
      kind: System
      command: make
      transitions: [{ condition: exit_non_zero, target: END }, { condition: error, target: END }, { condition: 5, target: END }]
",
        "error 10:34 unknown-value: `condition` cannot be `exit_non_zero` (did you mean `exit_code_non_zero`?)
             error 10:77 unknown-value: `condition` cannot be `error` (did you mean `on_failure`?)
             error 10:112 wrong-type: `condition` must be text, not a number (it can be one of `always`, `on_success`, `on_failure`, `exit_code_zero`, `exit_code_non_zero`, `exit_code`, `score_above`, `score_below`, `score_between`, `confidence_above`, `score_and_confidence_above`, `consensus`, `all_approved`, `any_rejected`, `input_equals`, `input_equals_yes`, `input_equals_no`, `approved`, `rejected`, `custom`)",
    );
    of_workflow(
        "    A:
      kind: Agent
      agent: x
      transitions:
        - { condition: score_between, min: 0.9, max: 0.1, target: END }
        - { target: END }
        - { condition: exit_code_zero, target: END }
",
        "warning 9:14 unknown-reference: no agent in this folder is called `x` (only the embedded model can play it; for any other model put its manifest into the folder)
             error 11:44 out-of-range: `min` 0.9 is above `max` 0.1
             warning 12:13 missing-key: a transition without `condition` is always taken: none below it ever is (write its `condition`, or put it last)
             warning 13:24 no-effect: for an agent, `exit_code_zero` is the same as `on_success` (write `condition: on_success`)",
    );
    of_workflow(
        "    A:
      kind: Human
      prompt: Well?
      default_response: later
      transitions: [{ condition: input_equals_yes, target: END }, { condition: on_failure, target: END }]
",
        "warning 10:25 unknown-value: no transition of `A` matches `later`, so the run fails when no answer comes (add a transition for it, or one with `condition: always`)
             warning 11:80 impossible-transition: `on_failure` can never hold here (a person who does not answer in time gives the `default_response`)",
    );
}

#[test]
fn text_that_looks_like_a_placeholder_names_something_that_is_there() {
    let states = |input: &str| {
        format!(
            "    A: {{ kind: System, command: make, transitions: [{{ target: B }}] }}\n    B: {{ kind: Agent, agent: x, input: \"{input}\" }}\n"
        )
    };
    expect_one(&workflow(&states("{A.output} ${A.stdout} {A.output}} {% if A.output %}")), "warning 8:30 unknown-reference: no agent in this folder is called `x` (only the embedded model can play it; for any other model put its manifest into the folder)
             warning 8:41 not-a-placeholder: `{A.output}` is text, and `A.output` is not read: a placeholder has two braces on both sides
             warning 8:52 not-a-placeholder: `${A.stdout}` is text, and `A.stdout` is not read: a placeholder has two braces on both sides
             warning 8:64 not-a-placeholder: `{A.output}}` is text, and `A.output` is not read: a placeholder has two braces on both sides
             warning 8:76 not-a-placeholder: `{% if A.output %}` is text, and `A.output` is not read (blocks are written `{{#if path}}...{{else}}...{{/if}}` and `{{#each list}}...{{/each}}`)");
    expect_one(
        &workflow(&states("{{states.A.output}} {{A->output}} {{default A.output “x”}} {{endif}}")),
        "warning 8:43 unresolved-name: nothing is called `states.A` (write `A`)
             error 8:64 template-bad-path: `->` is not expected here (write `.`)
             error 8:94 template-syntax: `“` does not quote text (write straight quotes, `\"` or `'`)",
    );
    expect_one(&workflow(&states("{{@index}} {{../x}} {{this.x}} {{json}}")), "warning 8:30 unknown-reference: no agent in this folder is called `x` (only the embedded model can play it; for any other model put its manifest into the folder)
             warning 8:43 loop-variable: `@index` is always empty: it has a value only inside of `{{#each}}`
             warning 8:54 loop-variable: `../x` is always empty: it leads out of more blocks than there are around it
             warning 8:63 loop-variable: `this.x` is not in a block: `this` is an item only inside of `{{#each}}` (write the whole path)
             warning 8:74 unresolved-name: `json` is a helper, and nothing comes after it: here it is the name of a key (write its argument after it)");
    expect_one(
        &workflow(&states(
            "{B.name} ${HOME} { } {'a': 1} {other} [[x]] {{#each A.output}}{{@index}}{{this.x}}{{/each}}",
        )),
        "warning 8:30 unknown-reference: no agent in this folder is called `x` (only the embedded model can play it; for any other model put its manifest into the folder)",
    );
}

#[test]
fn prompts_show_what_the_agent_is_told_and_given() {
    let prompt =
        |text: &str| agent("").replace("instruction: Work.", &format!("instruction: Work., prompt_template: '{text}'"));
    expect_one(&prompt("Go."), "warning 6:48 no-effect: `instruction` has no effect: `prompt_template` does not read it (write `{{instruction}}` where the model is to read it)
             info 6:48 no-effect: `prompt_template` does not read `input`: what the agent is given never reaches its model (write `{{input}}` where the model is to read it)");
    expect_one(&prompt("{{#if instruction}}{{instruction}}{{/if}} {{intent}}"), "");
    expect_one(
        &agent("").replace("Work.", "'Answer {{input}}, and `{{input}}` is a placeholder'"),
        "warning 6:32 no-effect: `{{input}}` stays as it is: `instruction` is no template (put it into `prompt_template`)",
    );
}

#[test]
fn what_a_state_gives_is_held_against_what_the_agent_takes() {
    let taker = agent(
        "  input_schema: { type: object, required: [draft], properties: { draft: { type: string }, tone: { type: string } } }\n",
    );
    let given = |input: &str| workflow(&format!("    A: {{ kind: Agent, agent: a, input: '{input}' }}\n"));
    for (input, expected) in [
        ("{\"draft\": {{json workflow.task}}, \"tone\": \"{{input.t}}\"}", ""),
        ("{{workflow.task}}", ""),
        ("{{#if input.x}}{\"draft\": 1}{{/if}}", ""),
        ("{\"tone\": \"mild\"}", "warning w.yaml 7:40 missing-input: `a` needs `draft`, and is not given it"),
        (
            "{\"draft\": 1, \"toen\": \"mild\"}",
            "warning w.yaml 7:54 unknown-input: `a` does not declare `toen` (did you mean `tone`?)",
        ),
        (
            "{\"draft\": {{json workflow.task}}",
            "warning w.yaml 7:40 wrong-type: `a` takes an object, and this is no JSON: EOF while parsing an object (write `{\"draft\": ..., \"tone\": ...}`; `{{json path}}` prints a value as JSON)",
        ),
        (
            "Review {{workflow.task}}",
            "warning w.yaml 7:40 wrong-type: `a` takes an object, and this is text (write `{\"draft\": ..., \"tone\": ...}`; `{{json path}}` prints a value as JSON)",
        ),
    ] {
        expect(&[("w.yaml", &given(input)), ("a.yaml", &taker)], expected);
    }
    let folder = load(&[("w.yaml", &given("{}")), ("a.yaml", &taker)]);
    let places =
        folder.diagnostics.iter().flat_map(|d| &d.labels).map(|l| place(&folder.project.files, l.location, true));
    assert_eq!(places.collect::<Vec<_>>(), ["a.yaml 7:66"], "where the agent declares what it needs");
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
    expect_one(&workflow(states), "warning 7:5 refused: a `ParallelContainerRun` state cannot be run: no container runtime is configured (you can check and draw this file, but not run it)
             warning 10:25 unknown-reference: no agent in this folder is called `x` (only the embedded model can play it; for any other model put its manifest into the folder)
             warning 11:40 no-effect: `n` has no effect: the strategy `majority` does not look at it
             error 11:67 out-of-range: `min_judges_required` is 2, and there are 1 agents
             warning 13:69 unknown-property: `A.output` has no `unt`: it is always empty (did you mean `unit`?)
             warning 13:93 unknown-property: `A.output.unit` has no `stdot`: it is always empty (did you mean `stdout`?)
             warning 13:117 unknown-property: `P.consensus` has no `scroe`: it is always empty (did you mean `score`?)");
}

/// Where the labels of all findings are.
fn labels(files: &[(&str, &str)]) -> Vec<String> {
    let folder = load(files);
    let all = folder.diagnostics.iter().flat_map(|d| &d.labels);
    all.map(|l| format!("{} {}", place(&folder.project.files, l.location, true), l.message)).collect()
}

#[test]
fn what_is_declared_in_another_file_is_shown_there() {
    let judge = agent(
        "  execution: { validation: [{ type: json_schema, schema: { type: object, properties: { score: { type: number, minimum: 0, maximum: 10 } } } }] }\n",
    )
    .replace("name: a", "name: judge");
    let flow = |name: &str| {
        workflow(&format!(
            "    A: {{ kind: Agent, agent: {name}, transitions: [{{ condition: score_above, threshold: 0.8, target: END }}, {{ target: END }}] }}\n{END}"
        ))
    };
    expect(
        &[("w.yaml", &flow("judge")), ("a.yaml", &judge)],
        "warning w.yaml 7:64 out-of-range: `A` answers with a score from 0 to 10, and this compares with 0 to 1 (have the agent answer with a score from 0 to 1)",
    );
    assert_eq!(labels(&[("w.yaml", &flow("judge")), ("a.yaml", &judge)]), ["a.yaml 7:88 declared here"]);
    assert_eq!(labels(&[("w.yaml", &flow("jugde")), ("a.yaml", &judge)]), ["a.yaml 3:19 `judge` is declared here"]);
}
