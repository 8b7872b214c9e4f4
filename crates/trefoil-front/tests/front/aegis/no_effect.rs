//! Settings that have no effect.

use expect_test::{Expect, expect};

use super::support::{END, agent, check, check_one, of_agent, workflow};

#[test]
fn what_is_declared_and_not_run_is_held_against_the_format() {
    of_agent(
        "  security: { network: { mode: blok, alowlist: [] }, filesystem: { read: /workspace }, resources: { cpu: half, memory: lots } }
  volumes: [{ name: v, mount_path: /data, size_limit: 1Gi, access_mode: read-onyl }, { name: w, mount_path: /workspace }]
",
        expect![[r#"
            info 7:3 no-effect: `security`, `volumes` have no effect: the agent runs as a model call, not in a container
            error 7:32 unknown-value: `mode` cannot be `blok` (available: `allow`, `deny`, `none`)
            warning 7:38 unknown-key: network has no key `alowlist` (did you mean `allowlist`?) {fix: "allowlist"}
            error 7:74 wrong-type: `read` must be a list, not text (write `read: [/workspace]`)
            error 7:106 wrong-type: `cpu` must be a whole number, not text
            error 7:120 unknown-value: `memory` cannot be `lots` (write a number and a unit, such as `512Mi` or `1Gi`)
            warning 8:36 unknown-value: `mount_path` cannot be `/data` (use `/workspace` or a path under it)
            warning 8:73 unknown-value: `access_mode` cannot be `read-onyl` (did you mean `read-only`? available: `read-write`, `read-only`, `write-only`) {fix: "read-only"}
            warning 8:88 missing-key: a volume needs `size_limit`
        "#]],
    );
    of_agent(
        "  schedule: { type: cron, cron: every day }
  execution: { delivery: { destinations: [{ name: d, type: mail, condition: on_sucess }] } }
  output_handler: { type: webhook, url: example.org, body_template: '{{outptu}}' }
",
        expect![[r#"
            warning 7:3 no-effect: `schedule` has no effect: runs start only on request
            error 7:33 unknown-value: `cron` cannot be `every day` (write five fields, such as `0 8 * * 1-5` for 8:00 on weekdays)
            warning 8:16 no-effect: `delivery` has no effect: the result is returned to the caller
            error 8:60 unknown-value: `type` cannot be `mail` (did you mean `email`? available: `email`, `webhook`, `rest`, `sms`) {fix: "email"}
            error 8:77 unknown-value: `condition` cannot be `on_sucess` (did you mean `on_success`? available: `on_success`, `on_failure`, `always`) {fix: "on_success"}
            warning 9:3 no-effect: `output_handler` has no effect: the result is returned to the caller
            error 9:41 unknown-value: `url` cannot be `example.org` (write the full URL, such as `https://example.org/results`)
            warning 9:72 unresolved-name: an output handler has no `outptu`, so it is always empty (did you mean `output`?) {fix: "output"}
        "#]],
    );
    let fine = agent("a", 
        "  security: { network: { mode: deny, denylist: [x.org] }, filesystem: { read_only: true }, resources: { cpu: 500, memory: 512Mi, disk: 1 GB } }
  volumes: [{ name: v, storage_class: ephemeral, mount_path: /workspace/a, size_limit: 1Gi }, { name: w, mount_path: /workspace/b, size_limit: 5Gi }]
  schedule: { type: interval, seconds: 60 }
  output_handler: { type: agent, agent_id: b, input_template: '{{#if intent}}{{intent}}{{/if}} {{json output}}' }
",
    );
    check_one(
        &fine,
        expect![[r#"
            info 7:3 no-effect: `security`, `volumes` have no effect: the agent runs as a model call, not in a container
            warning 9:3 no-effect: `schedule` has no effect: runs start only on request
            warning 10:3 no-effect: `output_handler` has no effect: the result is returned to the caller
        "#]],
    );
}

#[test]
fn the_time_limit_under_security_has_an_effect() {
    check_one(&agent("a", "  security: { resources: { timeout: 5m } }\n"), expect![""]);
    check_one(
        &agent("a", "  security: { network: { mode: none }, resources: { cpu: 500, timeout: 5m } }\n"),
        expect![[r#"
            info 7:3 no-effect: `security` (except `timeout`) has no effect: the agent runs as a model call, not in a container
        "#]],
    );
}

#[test]
fn prompts_show_what_the_agent_is_told_and_given() {
    let prompt = |text: &str| {
        agent("a", "").replace("instruction: Work.", &format!("instruction: Work., prompt_template: '{text}'"))
    };
    check_one(
        &prompt("Go."),
        expect![[r#"
            warning 6:48 unused: `instruction` has no effect: `prompt_template` does not read it (write `{{instruction}}` where the model should read it)
            info 6:48 unused: `prompt_template` does not read `input`, so the model never sees the agent's input (write `{{input}}` where the model should read it)
        "#]],
    );
    check_one(&prompt("{{#if instruction}}{{instruction}}{{/if}} {{intent}}"), expect![""]);
    check_one(
        &agent("a", "").replace("Work.", "'Answer {{input}}, and `{{input}}` is a placeholder'"),
        expect![[r#"
            warning 6:32 not-a-placeholder: `{{input}}` stays as it is: `instruction` is not a template (put it in `prompt_template`)
        "#]],
    );
}

#[test]
fn what_no_prompt_shows() {
    let context = "  context: [{ type: text, content: Be brief. }]\n";
    check_one(
        &agent("a", context),
        expect![[r#"
            warning 7:36 unused: `context` has no effect: the default prompt does not read it (write `{{context}}` in `prompt_template` where the model should read it)
        "#]],
    );
    let shown = "instruction: Work., prompt_template: '{{instruction}} {{input}} {{context}} {{intent}}'";
    check_one(&agent("a", context).replace("instruction: Work.", shown), expect![""]);
    let flow = workflow(&format!(
        "    A: {{ kind: Agent, agent: a, intent: Help., transitions: [{{ target: END }}] }}\n{END}"
    ));
    check(
        &[("w.yaml", &flow), ("a.yaml", &agent("a", ""))],
        expect![[r#"
            warning w.yaml 7:41 unused: `intent` has no effect: the prompt of `a` does not read it (write `{{intent}}` in its `prompt_template`, or put the text in `input`)
        "#]],
    );
    check(&[("w.yaml", &flow), ("a.yaml", &agent("a", "").replace("instruction: Work.", shown))], expect![""]);
}

#[test]
fn what_the_output_lacks() {
    let out = |more: &str| {
        workflow(END).replace("initial_state: A", "initial_state: END").replace(
            "version: '1'",
            &format!("output_schema: {{ type: object, required: [a, b], properties: {{ a: {{}}, b: {{}} }} }}{more}"),
        )
    };
    check_one(
        &out(""),
        expect![[r#"
            warning 3:37 unused: `output_schema` has no effect: without `output_template` the output is the answer of the last state
        "#]],
    );
    check_one(
        &out(", output_template: { a: x }"),
        expect![[r#"
            warning 3:120 schema-mismatch: `output_template` has no `b`, but `output_schema` requires it [3:92 required here]
        "#]],
    );
    check_one(&out(", output_template: { a: x, b: y }"), expect![""]);
}

#[test]
fn weights_that_nobody_counts() {
    let voted = |strategy: &str, weight: &str| {
        workflow(&format!(
            "    A: {{ kind: ParallelAgents, agents: [{{ agent: a, input: x, weight: {weight} }}, {{ agent: a, input: y }}], consensus: {{ strategy: {strategy} }}, transitions: [{{ target: END }}] }}\n{END}"
        ))
    };
    let judge = agent("a", "");
    let of = |flow: &str, expected: Expect| check(&[("w.yaml", flow), ("a.yaml", &judge)], expected);
    of(
        &voted("majority", "2"),
        expect![[r#"
            warning w.yaml 7:63 no-effect: `weight` has no effect: the strategy `majority` counts all verdicts equally (write `strategy: weighted_average` to weight the verdicts)
        "#]],
    );
    of(&voted("majority", "1.0"), expect![""]);
    of(&voted("weighted_average", "2"), expect![""]);
}

#[test]
fn a_result_under_the_name_of_a_state() {
    let flow = workflow(&format!(
        "    A: {{ kind: Subworkflow, workflow_id: child, mode: blocking, result_key: A, input: x, transitions: [{{ target: END }}] }}\n{END}"
    ));
    let child = workflow(END).replace("initial_state: A", "initial_state: END").replace("name: w", "name: child");
    check(
        &[("w.yaml", &flow), ("child.yaml", &child)],
        expect![[r#"
            warning w.yaml 7:77 state-key: `A` in templates is the result of the state `A`, so this key is never read (choose another key)
        "#]],
    );
}

#[test]
fn one_shot_beside_a_higher_limit() {
    let told = |execution: &str, expected: Expect| of_agent(&format!("  execution: {{ {execution} }}\n"), expected);
    told(
        "mode: one-shot, max_iterations: 5",
        expect![[r#"
        warning 7:22 no-effect: `one-shot` has no effect: `max_iterations` is 5 (remove one of them) [7:32 this decides]
    "#]],
    );
    told("mode: one-shot, max_iterations: 1", expect![""]);
    told("mode: one-shot", expect![""]);
    told("max_iterations: 5", expect![""]);
}

/// A blank instruction is missing, and nothing more is said about it.
#[test]
fn a_blank_instruction_is_one_finding() {
    let text = agent("a", "").replace("instruction: Work.", "instruction: '', prompt_template: \"{{input}}\"");
    check_one(
        &text,
        expect![[r#"
        error 6:24 missing-key: `instruction` is blank
    "#]],
    );
}

#[test]
fn a_best_of_n_needs_its_n() {
    let told = |consensus: &str, expected: Expect| {
        let states = format!(
            "    A:\n      kind: ParallelAgents\n      agents: [{{ agent: j, input: x }}, {{ agent: j, input: y }}]\n      consensus: {{ {consensus} }}\n      transitions: [{{ target: END }}]\n{END}"
        );
        check(&[("main.yaml", &workflow(&states)), ("j.yaml", &agent("j", ""))], expected);
    };
    told(
        "strategy: best_of_n",
        expect![[r#"
        warning main.yaml 10:30 missing-key: `best_of_n` without `n` takes all verdicts, not the best ones (write `n`, the number of verdicts that count)
    "#]],
    );
    told("strategy: best_of_n, n: 1", expect![""]);
    told("strategy: majority", expect![""]);
}
