//! Correct manifests with all their findings: none, or true ones.

use expect_test::{Expect, expect};

use super::support::{check, hold, is_of, shown};

/// All findings of loading and rules about the first of several files, one on each line.
#[track_caller]
fn says(front: &str, files: &[(&str, &str)], expected: Expect) {
    let (project, all) = check(Some(front), files);
    hold(&expected, &shown(&project, all.iter()));
}

const AGENT: &str = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: r, version: 1.0.0 }\nspec: { runtime: {}, task: { instruction: Work. } }\n";

/// A workflow that starts with state `A`; `states` start on line 7.
#[track_caller]
fn states(states: &str, expected: Expect) {
    let text = format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: flow, version: 1.0.0 }}\nspec:\n  initial_state: A\n  states:\n{states}"
    );
    says("aegis", &[("flow.yaml", &text), ("r.yaml", AGENT)], expected);
}

#[test]
fn what_a_plain_echo_is_given_in_its_environment_is_read() {
    states(
        r#"    A: { kind: Agent, agent: r, input: x, transitions: [{ target: B }] }
    B: { kind: System, command: echo, env: { ANSWER: "{{A.output}}" } }
"#,
        expect![""],
    );
    states(
        r#"    A: { kind: Agent, agent: r, input: x, transitions: [{ target: B }] }
    B: { kind: System, command: echo, env: { ANSWER: "none" } }
"#,
        expect![[r#"
            7:5 warning unused-output: nothing reads the result of `A`
              | A: { kind: Agent, age
              | ^
              help: read it in a later step or in the output, or remove the step
        "#]],
    );
}

#[test]
fn two_conditions_of_which_one_holds_leave_nothing_open() {
    let counts = |first: &str, second: &str| {
        format!(
            r#"    A:
      kind: System
      command: update_blackboard
      env: {{ n: "{{{{iteration_number}}}}", most: 3 }}
      transitions:
        - {{ condition: custom, expression: "{first}", target: B }}
        - {{ condition: custom, expression: "{second}", target: C }}
    B: {{ kind: System, command: echo b }}
    C: {{ kind: System, command: echo c }}
"#
        )
    };
    states(&counts("{{blackboard.n < blackboard.most}}", "{{blackboard.n >= blackboard.most}}"), expect![""]);
    states(&counts("blackboard.n <= blackboard.most", "blackboard.most < blackboard.n"), expect![""]);
    states(&counts("blackboard.n == blackboard.most", "!(blackboard.most == blackboard.n)"), expect![""]);
    states(
        &counts("blackboard.n < blackboard.most", "blackboard.n > blackboard.most"),
        expect![[r#"
            7:5 warning missing-transition: every transition of `A` has a condition that may be false, so the run can fail here
              | A:
              | ^
              at 13:11: the last transition
              help: add a last transition with `condition: always`
        "#]],
    );
}

#[test]
fn a_block_over_what_may_be_missing_takes_care_of_it() {
    states(
        r#"    A:
      kind: Agent
      agent: r
      input: "{{#with A.output}}{{title}}{{/with}}{{#each A.output.issues}}{{this}}{{/each}}"
      transitions: [{ condition: on_success, target: B }, { condition: on_failure, target: A }]
    B: { kind: System, command: "echo {{A.output}}" }
"#,
        expect![""],
    );
}

#[test]
fn what_the_way_here_brings_is_missing_for_its_own_reason() {
    states(
        r#"    A:
      kind: Agent
      agent: r
      input: "{{state.feedback}}"
      transitions:
        - { condition: score_above, threshold: 0.5, target: B }
        - { condition: on_success, target: A, feedback: "{{A.output}}" }
        - { condition: on_failure, target: B }
    B: { kind: System, command: "echo {{previous_error}}" }
"#,
        expect![[r#"
            10:17 info maybe-undefined: `state.feedback` has no value if the transition to this state has no feedback
              | input: "{{state.feedback}}"
              |           ^^^^^^^^^^^^^^
              help: guard it with `{{#if state.feedback}}`, or write `{{default state.feedback "..."}}`
            15:41 info maybe-undefined: `previous_error` has no value if nothing has failed so far
              | B: { kind: System, command: "echo {{previous_error}}" }
              |                                     ^^^^^^^^^^^^^^
              help: guard it with `{{#if previous_error}}`, or write `{{default previous_error "..."}}`
        "#]],
    );
}

#[test]
fn keys_that_are_written_before_every_reader_are_there() {
    states(
        r#"    A: { kind: Agent, agent: r, input: "{{#if blackboard.note}}{{blackboard.note}}{{/if}}", transitions: [{ target: K }] }
    K: { kind: System, command: update_blackboard, env: { text: "{{A.output}}" }, transitions: [{ target: H }] }
    H:
      kind: Human
      prompt: "{{blackboard.text}}?"
      transitions:
        - { condition: input_equals_yes, target: Z }
        - { condition: input_equals, value: again, target: N }
        - { target: Z }
    N: { kind: System, command: update_blackboard, env: { note: "{{human.feedback}}" }, transitions: [{ target: A }] }
    Z: { kind: System, command: "echo {{text}} {{H.response}}" }
"#,
        expect![""],
    );
}

#[test]
fn a_consensus_that_too_few_take_part_in_fails() {
    states(
        r#"    A:
      kind: ParallelAgents
      agents: [{ agent: r, input: x }, { agent: r, input: y }]
      consensus: { strategy: majority, threshold: 0.5, min_judges_required: 2 }
      transitions: [{ condition: on_failure, target: B }, { target: C }]
    B: { kind: System, command: echo nobody answered }
    C: { kind: System, command: "echo {{A.consensus.score}}" }
"#,
        expect![""],
    );
}

#[test]
fn an_object_that_is_written_as_json_is_meant_to_be() {
    let prompt = |prompt: &str, expected: Expect| {
        let agent = format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{ name: r, version: 1.0.0 }}\nspec:\n  runtime: {{}}\n  input_schema: {{ type: object, properties: {{ repo: {{ type: string }} }} }}\n  task:\n    instruction: Work.\n    prompt_template: '{prompt}'\n"
        );
        let flow = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: flow, version: 1.0.0 }\nspec:\n  initial_state: A\n  states:\n    A: { kind: Agent, agent: r, intent: look, input: '{\"repo\": \"{{input.repo}}\"}' }\n";
        says("aegis", &[("flow.yaml", flow), ("r.yaml", &agent)], expected);
    };
    prompt("{{instruction}} {{json input}} {{{json (default input instruction)}}} {{intent}}", expect![""]);
    prompt(
        "{{instruction}} {{input}} {{intent}}",
        expect![[r#"
            r.yaml:9:41 info object-in-prompt: `input` is an object, so it is printed as JSON
              | prompt_template: '{{instruction}} {{input}} {{intent}}'
              |                                     ^^^^^
              help: its fields are `input.repo`
        "#]],
    );
}

#[test]
fn a_count_is_not_expected_to_be_negative() {
    let edges = |first: &str, second: &str| {
        format!(
            "version: '0.1'\nagents:\n  a: {{ model: 'openai:gpt-4o-mini', system: Answer. }}\nnodes:\n  get: {{ type: tool, tool: http, config: {{ url: 'https://example.com' }}, output_key: data }}\n  some: {{ agent: a, writes: output.some }}\n  none: {{ agent: a, writes: output.none }}\nedges:\n  - {{ from: get, to: some, when: working.get.data.count {first} }}\n  - {{ from: get, to: none, when: working.get.data.count {second} }}\n"
        )
    };
    says("sirenspec", &[("flow.yaml", &edges("> 0", "== 0"))], expect![""]);
    says(
        "sirenspec",
        &[("flow.yaml", &edges("> 0", "< 0"))],
        expect![[r#"
            9:34 warning score-gap: no edge from `get` covers 0 as `working.get.data.count`
              | - { from: get, to: some, when: working.get.data.count > 0 }
              |                                ^^^^^^^^^^^^^^^^^^^^^^^^^^
              at 10:34: nor does this one
              help: let the ranges meet, or add an edge for the rest
        "#]],
    );
}

#[test]
fn what_a_block_asks_for_implies_what_ran_before_it() {
    let review = |prompt: &str, expected: Expect| {
        let text = format!(
            r#"    A:
      kind: Agent
      agent: r
      input: "{prompt}"
      transitions: [{{ condition: on_success, target: B }}, {{ condition: on_failure, target: C }}]
    B:
      kind: Agent
      agent: r
      input: "{{{{A.output}}}}"
      transitions:
        - {{ condition: score_above, threshold: 0.5, target: C }}
        - {{ condition: always, target: A, feedback: "{{{{B.output}}}}" }}
        - {{ condition: on_failure, target: C }}
    C: {{ kind: System, command: echo c }}
"#
        );
        states(&text, expected);
    };
    review("{{#if state.feedback}}{{state.feedback}}: {{A.output}}{{else}}first{{/if}}", expect![""]);
    review("{{#each B.output.issues}}{{this}} of {{../A.output}}{{/each}}", expect![""]);
    review(
        "{{#if input.x}}{{A.output}}{{/if}}",
        expect![[r#"
            10:32 hint maybe-undefined: `A.output` has no value on the first visit of `A`
              | input: "{{#if input.x}}{{A.output}}{{/if}}"
              |                          ^^^^^^^^
              help: guard it with `{{#if A.output}}`, or write `{{default A.output "..."}}`
        "#]],
    );
    review(
        "{{#if state.feedback}}again{{else}}{{A.output}}{{/if}}",
        expect![[r#"
            10:52 hint maybe-undefined: `A.output` has no value on the first visit of `A`
              | ...: "{{#if state.feedback}}again{{else}}{{A.output}}{{/if}}"
              |                                            ^^^^^^^^
              help: guard it with `{{#if A.output}}`, or write `{{default A.output "..."}}`
        "#]],
    );
}

#[test]
fn a_state_is_there_where_a_block_asks_for_a_member_of_it() {
    let guarded = |text: &str, expected: Expect| {
        states(
            &format!(
                r#"    A: {{ kind: System, command: "git log", transitions: [{{ condition: exit_code_zero, target: B }}, {{ target: C }}] }}
    B: {{ kind: System, command: "git diff", transitions: [{{ target: C }}] }}
    C: {{ kind: System, command: "echo {text}" }}
"#
            ),
            expected,
        );
    };
    guarded("{{A.output}}{{#if B.output}}{{B.stdout}}{{/if}}", expect![""]);
    guarded("{{A.output}}{{#if (eq B.status 'success')}}{{B.output}}{{/if}}", expect![""]);
    guarded("{{A.output}}{{#unless B.output}}none{{else}}{{B.output}}{{/unless}}", expect![""]);
    guarded(
        "{{A.output}}{{#each B.output}}x{{/each}}",
        expect![[r#"
            9:59 warning not-a-list: `B.output` is text, which has no items
              | ...tem, command: "echo {{A.output}}{{#each B.output}}x{{/each}}" }
              |                                            ^^^^^^^^
              help: name the list itself, or make the value a list
        "#]],
    );
    guarded(
        "{{A.output}}{{#if A.output}}{{B.stdout}}{{/if}}",
        expect![[r#"
            9:69 info maybe-undefined: `B.stdout` may have no value, because `B` may not have run before `C`
              | ...nd: "echo {{A.output}}{{#if A.output}}{{B.stdout}}{{/if}}" }
              |                                            ^^^^^^^^
              help: guard it with `{{#if B.stdout}}`, or write `{{default B.stdout "..."}}`
        "#]],
    );
}

#[test]
fn a_step_that_asks_for_another_in_its_when_may_read_it() {
    let step = |when: &str| {
        format!(
            r#"id: main
kind: sequential
inputSchema: {{ q: string, m: {{ type: string, enum: [a, b] }} }}
steps:
  - agent: {{ id: s, kind: llm, model: {{ provider: openai, name: gpt-5.4 }}, instruction: hi, prompt: "{{{{q}}}}", outputSchema: {{ t: string, n: number }} }}
    when: "{{{{m}}}} == a"
    input: {{ q: "{{{{q}}}}" }}
  - agent: {{ id: u, kind: llm, model: {{ provider: openai, name: gpt-5.4 }}, instruction: hi, prompt: "{{{{x}}}}" }}
    when: "{when}"
    input: {{ x: "{{{{s.t}}}}{{{{s.n}}}}" }}
output: {{ a: "{{{{#if u}}}}{{{{u}}}}{{{{/if}}}}" }}
"#
        )
    };
    for when in ["{{s}}", "{{s.t}}", "{{s}} && {{s.n}} > 3", "{{s.t}} != null", "{{s.t}} == x || {{s.n}} > 3"] {
        says("agntz", &[("main.yaml", &step(when))], expect![""]);
    }
    let doubts = ["10:20 info maybe-undefined: `s.t`", "10:27 info maybe-undefined: `s.n`"];
    for when in ["{{s}} || {{q}}", "{{s.t}} == null", "{{s.t}} != x", "{{q}} == x"] {
        let text = step(when);
        let (project, all) = check(Some("agntz"), &[("main.yaml", &text)]);
        let shown = shown(&project, all.iter());
        assert!(doubts.iter().all(|d| shown.contains(d)), "{when}: {shown}");
    }
}

/// Asserts that a rule has no findings about several files.
#[track_caller]
fn silent(rule: &str, front: &str, files: &[(&str, &str)]) {
    let (project, all) = check(Some(front), files);
    let told = shown(&project, all.iter().filter(|d| is_of(d, rule)));
    assert!(told.is_empty(), "{told}");
}

const FLOW: &str = "version: \"0.1\"\ninput: { message: hi }\nagents:\n  a: { model: \"openai:gpt-4o-mini\", system: \"Go: {{ inputs.message }}\" }\n";

#[test]
fn what_a_pipeline_passes_on_may_be_null() {
    let gated = "id: a\nkind: sequential\ninputSchema: { topic: string }\nuntil: \"{{w.note}} != null\"\nmaxIterations: 3\nsteps:\n  - agent:\n      id: w\n      kind: parallel\n      inputSchema: { q: string }\n      branches:\n        - agent: { id: r, kind: llm, model: { provider: openai, name: gpt-5.4 }, instruction: Go, prompt: \"{{q}}\", inputSchema: { q: string }, outputSchema: { note: { type: string, minLength: 1 } } }\n          when: \"{{q}} != ok\"\n          input: { q: \"{{q}}\" }\n      output: { note: \"{{r.note}}\" }\n    input: { q: \"{{topic}}\" }\n";
    silent("never-true", "agntz", &[("a.yaml", gated)]);
}

#[test]
fn a_word_of_a_route_is_no_name() {
    let router = "id: a\nkind: sequential\ninputSchema: { text: string }\nsteps:\n  - agent: { id: triage, kind: llm, model: { provider: openai, name: gpt-5.4 }, instruction: Go, inputSchema: { q: string }, prompt: \"{{q}}\", outputSchema: { route: string } }\n    input: { q: \"{{text}}\" }\n  - agent: { id: billing, kind: llm, model: { provider: openai, name: gpt-5.4 }, instruction: Go, inputSchema: { q: string }, prompt: \"{{q}}\" }\n    when: \"{{triage.route}} == billing\"\n    input: { q: \"{{text}}\" }\n  - agent: { id: other, kind: llm, model: { provider: openai, name: gpt-5.4 }, instruction: Go, inputSchema: { q: string }, prompt: \"{{q}}\" }\n    when: \"{{triage.route}} != billing\"\n    input: { q: \"{{text}}\" }\n";
    silent("not-a-placeholder", "agntz", &[("a.yaml", router)]);
}

#[test]
fn yaml_that_a_prompt_shows_was_not_swallowed() {
    let agent =
        |text: &str| format!("id: a\nkind: llm\nmodel: {{ provider: openai, name: gpt-5.4 }}\ninstruction: |\n{text}");
    for text in [
        "  Write agent files. An example:\n  ```yaml\n  tools:\n    - kind: local\n      tools: [search]\n  ```\n",
        "  Answer in this form:\n  outputSchema: { a: 1 }\n",
        "  Write files such as this one.\n\n      tools:\n        - kind: local\n",
    ] {
        silent("swallowed-key", "agntz", &[("a.yaml", &agent(text))]);
    }
    silent(
        "swallowed-key",
        "agntz",
        &[(
            "a.yaml",
            "id: p\nkind: sequential\ninputSchema: { a: string }\nsteps:\n  - agent:\n      id: x\n      kind: llm\n      model: { provider: openai, name: gpt-5.4 }\n      instruction: Grade.\n      inputSchema: { a: string }\n      prompt: |\n        The case of {{a}}\n        input:\n          question: \"{{a}}\"\n    input: { a: \"{{a}}\" }\n",
        )],
    );
}

#[test]
fn a_vote_has_three_scores() {
    let flow = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: flow, version: 1.0.0 }\nspec:\n  initial_state: A\n  states:\n    A:\n      kind: ParallelAgents\n      agents: [{ agent: r, input: x }, { agent: r, input: y }]\n      consensus: { strategy: majority }\n      transitions:\n        - { condition: score_above, threshold: 0.7, target: E }\n        - { condition: score_below, threshold: 0.7, target: E }\n        - { condition: on_failure, target: E }\n    E: { kind: System, command: echo e }\n";
    silent("score-gap", "aegis", &[("flow.yaml", flow), ("r.yaml", AGENT)]);
    silent(
        "score-gap",
        "aegis",
        &[
            (
                "flow.yaml",
                &flow
                    .replace("majority", "weighted_average")
                    .replace("score_below, threshold: 0.7", "score_below, threshold: 0.71"),
            ),
            ("r.yaml", AGENT),
        ],
    );
}

#[test]
fn braces_of_json_and_quotes_within_braces_are_meant() {
    let flow = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: flow, version: 1.0.0 }\nspec:\n  initial_state: A\n  states:\n    A: { kind: Agent, agent: r, input: '{\"a\": {{{json workflow.task}}}, \"b\": {{json workflow.task}}}', transitions: [{ target: B }] }\n    B: { kind: System, command: \"echo \\\"Hi ${NAME:-nobody's}\\\"\" }\n";
    for rule in ["not-a-placeholder", "command-syntax"] {
        silent(rule, "aegis", &[("flow.yaml", flow), ("r.yaml", AGENT)]);
    }
}

#[test]
fn an_edge_that_asks_for_a_value_leads_where_it_is() {
    let flow = format!(
        "{FLOW}  b: {{ model: \"openai:gpt-4o-mini\", system: \"It is {{{{ t.output.status }}}}\" }}\nnodes:\n  t: {{ type: tool, tool: python, on_failure: skip, config: {{ module: m, function: f }} }}\n  one: {{ agent: b, writes: output.r }}\nedges: [{{ from: t, to: one, when: 't.output.status == \"ok\"' }}]\n"
    );
    silent(
        "maybe-undefined",
        "sirenspec",
        &[("flow.yaml", &flow.replace("t.output.status ==", "working.t.output.status =="))],
    );
}

#[test]
fn what_is_sent_is_not_always_json() {
    let tool = |config: &str| {
        format!(
            "{FLOW}nodes:\n  t: {{ type: tool, tool: http, config: {{ url: \"https://example.com\", {config} }} }}\n  z: {{ agent: a, writes: output.z }}\n"
        )
    };
    silent(
        "wrong-type",
        "sirenspec",
        &[(
            "flow.yaml",
            &tool(
                "method: POST, headers: { Content-Type: application/x-ndjson }, body: \"{\\\"a\\\": 1}\\n{\\\"a\\\": 2}\\n\"",
            ),
        )],
    );
    silent(
        "no-effect",
        "sirenspec",
        &[("flow.yaml", &tool("method: GET, headers: { Content-Type: application/json }, body: '{\"query\": {}}'"))],
    );
}

#[test]
fn a_number_may_be_asked_for_as_a_text() {
    let flow = format!(
        "{FLOW}nodes:\n  t: {{ agent: a, writes: working.t }}\n  lo: {{ agent: a, writes: output.l }}\n  hi: {{ agent: a, writes: output.h }}\n  o: {{ agent: a, writes: output.o }}\nedges:\n  - {{ from: t, to: lo, when: int(working.t) < 5 }}\n  - {{ from: t, to: hi, when: int(working.t) > 5 }}\n  - {{ from: t, to: o, when: 'working.t == \"5\"' }}\n"
    );
    silent("score-gap", "sirenspec", &[("flow.yaml", &flow)]);
}
