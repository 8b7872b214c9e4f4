//! Keys and kinds that contradict their context.

use expect_test::{Expect, expect};

use super::support::{END, agent, check_one, findings, of_agent, of_workflow, with_goal, workflow};

#[test]
fn a_kind_that_contradicts_the_rest_is_told_where_it_stands() {
    check_one(
        &agent("a", "").replace("kind: Agent", "kind: Workflow"),
        expect![[r#"
            error 2:7 unknown-value: `kind` is `Workflow`, but `spec` has `task`, as in an agent (write `kind: Agent`) {fix: "Agent"}
        "#]],
    );
    check_one(
        &workflow("    A: { kind: System, command: echo }\n").replace("kind: Workflow", "kind: Workflw"),
        expect![[r#"
            error 2:7 unknown-value: `kind` cannot be `Workflw` (did you mean `Workflow`? available: `Agent`, `Workflow`) {fix: "Workflow"}
        "#]],
    );
}

#[test]
fn blanks_and_misplaced_keys() {
    of_agent(
        "  model: smart\n  instructions: x\n",
        expect![[r#"
            warning 7:3 unknown-key: spec has no key `model` (it belongs under `runtime`)
            warning 8:3 unknown-key: spec has no key `instructions` (it is ignored; available: `context`, `input_schema`, `execution`, `security`, `volumes`, `env`, `security_context`, `advanced`, `type`, `tools`, `output_handler`, `schedule`, ...)
        "#]],
    );
    of_workflow(
        "    A: { kind: Agent, agent: '', prompt: x, transitions: [{ when: always, to: END }] }\n",
        expect![[r#"
            error 7:30 missing-key: `agent` is blank
            warning 7:34 unknown-key: state `A` has no key `prompt` (it belongs in a Human state; an agent gets its text from `input`)
            error 7:61 unknown-key: a transition has no key `when` (did you mean `condition`? without it the transition is always taken) {maybe: "condition"}
            error 7:75 unknown-key: a transition has no key `to`, and lacks `target` (did you mean `target`?) {maybe: "target"}
        "#]],
    );
    of_workflow(
        "    A:\n      kind: System\n      command: update_blackboard\n      timeout:\n    transitions: [{ target: END }]\n",
        expect![[r#"
            warning 9:16 no-effect: `update_blackboard` has no effect: `env` is empty (put the keys and their values under `env`)
            warning 10:7 no-effect: `timeout` has no value, so it has no effect
            error 11:5 wrong-type: `transitions` is next to the states; it belongs in `A` (indent it like the other keys of the state)
        "#]],
    );
}

#[test]
fn a_key_is_renamed_only_to_one_that_takes_its_value() {
    with_goal(
        "    A:
      kind: Agent
      agents: [r]
      next: B
    B: { kind: System, command: update_blackboard, values: { k: v }, transitions: [{ target: END }] }
",
        expect![[r#"
            error 9:5 missing-key: an Agent state needs `agent`
            warning 11:7 unknown-key: state `A` has no key `agents` (did you mean `agent`? it needs one value, not a list)
            error 12:7 unknown-key: state `A` has no key `next` (did you mean `transitions`? it needs a list; without it no other state runs after this one)
            warning 13:33 no-effect: `update_blackboard` has no effect: `env` is empty (put the keys and their values under `env`)
            warning 13:52 unknown-key: state `B` has no key `values` (did you mean `env`?) {maybe: "env"}
        "#]],
    );
}

#[test]
fn a_state_of_a_list_with_its_name_as_a_key() {
    check_one(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: w }\nspec:\n  states:\n    - ASK:\n      kind: Human\n      prompt: Well?\n    - name: END\n      kind: System\n      command: echo {{ASK.response}}\n",
        expect![[r#"
            error 6:7 missing-key: a state in a list needs `name` {fix: write `- name: ASK`: 6:7 "name: ASK"}
        "#]],
    );
}

/// A misspelt key that affects what runs changes the run; any other misspelt key only has no effect.
#[test]
fn a_slip_in_a_key_that_decides_what_runs_is_an_error() {
    of_workflow(
        "    A: { kind: System, command: echo, transition: [{ target: END }] }\n",
        expect![[r#"
        error 7:39 unknown-key: state `A` has no key `transition` (did you mean `transitions`? without it no other state runs after this one) {fix: "transitions"}
    "#]],
    );
    of_workflow(
        "    A: { kind: System, command: echo, transitions: [{ conditon: on_success, target: END }] }\n",
        expect![[r#"
            error 7:55 unknown-key: a transition has no key `conditon` (did you mean `condition`? without it the transition is always taken) {fix: "condition"}
        "#]],
    );
    of_agent(
        "  execution: { mode: iterative, validators: [{ type: exit_code, expected: 0 }] }\n",
        expect![[r#"
        error 7:33 unknown-key: execution has no key `validators` (did you mean `validation`? without it no answer is checked) {maybe: "validation"}
    "#]],
    );
    of_agent(
        "  execution: { mode: iterative, llm_timeout_secs: 30 }\n",
        expect![[r#"
        warning 7:33 unknown-key: execution has no key `llm_timeout_secs` (did you mean `llm_timeout_seconds`?) {maybe: "llm_timeout_seconds"}
    "#]],
    );
}

#[test]
fn a_key_at_the_end_of_a_text_is_part_of_the_text() {
    let state = |lines: &str| {
        workflow(&format!(
            "    A:\n      kind: Agent\n      agent: a\n      input: |\n        Write about it.\n{lines}{END}"
        ))
    };
    let found = |lines: &str, expected: Expect| {
        let all = findings(&[("w.yaml", &state(lines))]);
        let ours: Vec<&str> = all.lines().filter(|line| line.contains("swallowed-key")).collect();
        crate::support::bless(&ours.iter().map(|line| format!("{line}\n")).collect::<String>(), &expected);
    };
    found(
        "        timeout: 30s\n",
        expect![[r#"
            warning 12:9 swallowed-key: this line is part of the text of `input`, not a key (align `timeout:` with `input:` to make it a key) [10:7 the block starts here]
        "#]],
    );
    found(
        "        transitions:\n          - condition: always\n            target: END\n",
        expect![[r#"
            warning 12:9 swallowed-key: this line is part of the text of `input`, not a key (align `transitions:` with `input:` to make it a key) [10:7 the block starts here]
        "#]],
    );
    found(
        "        timeout: 30s\n        transitions:\n          - target: END\n",
        expect![[r#"
            warning 12:9 swallowed-key: this line is part of the text of `input`, not a key (align `timeout:` with `input:` to make it a key) [10:7 the block starts here]
            warning 13:9 swallowed-key: this line is part of the text of `input`, not a key (align `transitions:` with `input:` to make it a key) [10:7 the block starts here]
        "#]],
    );
    found("        timeout: as long as it takes\n", expect![""]);
    found("        timeout: 30s\n        Keep to it.\n", expect![""]);
    found("        topic: bread\n        timeout: 30\n", expect![""]);
    found("        transitions:\n        - from the kitchen to the shop\n", expect![""]);
}

#[test]
fn any_key_at_the_end_of_a_text_is_found_whatever_its_value() {
    let told = |text: &str| {
        let all = findings(&[("w.yaml", text)]);
        all.lines().filter(|line| line.contains("swallowed-key")).map(str::to_owned).collect::<Vec<_>>()
    };
    let task = |last: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{ name: g, version: '1' }}\nspec:\n  runtime: {{ model: smart }}\n  task:\n    prompt_template: \"{{{{instruction}}}} {{{{input}}}}\"\n    instruction: |\n      Sort the berries.\n{last}"
        )
    };
    for key in [
        "tools: [fs.read]",
        "tools:\n        - fs.read\n        - fs.write",
        "tools:\n      - { name: fs.read }",
        "execution: { mode: iterative }",
        "execution:\n        mode: one-shot\n        max_iterations: 3",
        "security:\n        resources: { timeout: 60s }",
        "input_schema: { type: object }",
        "volumes: [{ name: data, mount_path: /data }]",
        "env: { REGION: north }",
        "context: [{ type: text, content: 'Be kind.' }]",
    ] {
        let found = told(&task(&format!("      {key}\n")));
        assert!(found.len() == 1 && found[0].contains(" 10:7 "), "{key}: {found:?}");
        // A folded text ends in the same way.
        let folded = task(&format!("      {key}\n")).replace("instruction: |", "instruction: >-");
        assert_eq!(told(&folded), found, "{key}");
    }
    let ask = |last: &str| {
        workflow(&format!(
            "    A:\n      kind: Human\n      prompt: |\n        Ship the pears?\n        {last}\n    END: {{ kind: System, command: echo }}\n"
        ))
    };
    for key in [
        "default_response: yes",
        "default_response: not now",
        "timeout: 2h",
        "max_state_visits: 3",
        "transitions: [{ condition: always, target: END }]",
        "transitions:\n          - condition: always\n            target: END",
        "transitions:\n        - { target: END }",
    ] {
        let found = told(&ask(key));
        assert!(found.len() == 1 && found[0].contains(" 11:9 "), "{key}: {found:?}");
    }
    let both = told(&ask("timeout: 2h\n        transitions:\n          - { target: END }"));
    assert_eq!(both.len(), 2, "{both:?}");
    // Words of the text are not keys.
    for line in [
        "timeout: as long as it takes",
        "transitions: none",
        "timeout: 2h\n        Keep to it.",
        "topic: fruit\n        timeout: 30",
        "Answer like this:\n        default_response: yes",
        "```yaml\n        timeout: 2h\n        ```",
        "prompt: which one",
        "transitions:",
    ] {
        assert_eq!(told(&ask(line)), [""; 0], "{line}");
    }
    for line in
        ["tools: a spoon and a bowl", "tools:\n        - a spoon", "execution: as told.", "name: g", "input: {{input}}"]
    {
        assert_eq!(told(&task(&format!("      {line}\n"))), [""; 0], "{line}");
    }
}
