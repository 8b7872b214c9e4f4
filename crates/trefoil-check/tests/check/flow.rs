//! Rules about flow: what never runs or never ends, outcomes that nothing handles, and correct manifests that must not
//! be reported.

use expect_test::{Expect, expect};
use trefoil_check::RuleGroup;

use super::support::expect;

fn workflow(states: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: flow }}\nspec:\n  initial_state: A\n  states:\n{states}"
    )
}

const REVIEWER: &str = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: r, version: 1.0.0 }\nspec: { runtime: {}, task: { instruction: Work. } }\n";

#[track_caller]
fn states(states: &str, expected: Expect) {
    expect(RuleGroup::Flow, "aegis", &[("flow.yaml", &workflow(states)), ("r.yaml", REVIEWER)], expected);
}

/// States with an agent `A` and these transitions, and the ends `B` and `C`.
#[track_caller]
fn transitions(transitions: &str, expected: Expect) {
    let text = format!(
        "    A: {{ kind: Agent, agent: r, input: x, transitions: [{transitions}] }}\n    B: {{ kind: System, command: echo b }}\n    C: {{ kind: System, command: echo c }}\n"
    );
    states(&text, expected);
}

#[test]
fn ranges_that_meet_leave_no_gap() {
    transitions(
        "{ condition: score_above, threshold: 0.8, target: B }, { condition: score_between, min: 0, max: 0.8, target: C }, { condition: on_failure, target: C }",
        expect![""],
    );
    transitions(
        "{ condition: score_above, threshold: 0.8, target: B }, { condition: score_below, threshold: 0.8, target: C }, { condition: on_failure, target: C }",
        expect![[r#"
            7:5 warning score-gap: no transition of `A` matches 0.8 as `A.score`, so the run would fail
              | A: { kind: Agent, age
              | ^
              at 7:57: `score_above 0.8`
              at 7:112: `score_below 0.8`
              at 7:167: `on_failure`
              help: let the ranges meet, or add a last transition with `condition: always`
        "#]],
    );
}

#[test]
fn a_condition_that_cannot_be_tried_is_not_judged() {
    transitions(
        "{ condition: custom, expression: '(gt (length A.output) 3)', target: B }, { condition: custom, expression: '(lte (length A.output) 3)', target: C }",
        expect![""],
    );
    transitions("{ condition: custom, expression: 'A.output.a == A.output.b', target: B }, { target: C }", expect![""]);
    transitions(
        "{ condition: custom, expression: 'length A.output.issues', target: B }, { condition: custom, expression: '!A.output.issues', target: C }",
        expect![""],
    );
    // No judgement is needed if trying values shows that nothing is left.
    transitions(
        "{ condition: custom, expression: 'length A.output.issues', target: B }, { condition: on_failure, target: C }",
        expect![[r#"
            7:5 warning missing-transition: no transition of `A` matches an empty text as `A.output.issues`, so the run would fail
              | A: { kind: Agent, age
              | ^
              at 7:129: the last transition
              help: add a last transition with `condition: always`
        "#]],
    );
}

#[test]
fn conditions_that_complete_each_other_leave_no_gap() {
    transitions(
        "{ condition: custom, expression: \"A.output.kind == 'bug'\", target: B }, { condition: custom, expression: \"A.output.kind != 'bug'\", target: C }",
        expect![""],
    );
    transitions(
        "{ condition: custom, expression: \"A.output.kind == 'bug'\", target: B }, { condition: custom, expression: \"A.output.kind == 'task'\", target: C }",
        expect![[r#"
            7:5 warning missing-transition: no transition of `A` matches any other text as `A.output.kind`, so the run would fail
              | A: { kind: Agent, age
              | ^
              at 7:129: the last transition
              help: add a last transition with `condition: always`
        "#]],
    );
}

#[test]
fn a_state_whose_transitions_are_all_for_failures_may_end_the_run() {
    let make = |transitions: &str| {
        format!(
            "    A: {{ kind: System, command: 'make test', transitions: [{transitions}] }}\n    B: {{ kind: System, command: echo b }}\n    C: {{ kind: System, command: echo c }}\n"
        )
    };
    states(
        &make("{ condition: exit_code_non_zero, target: B }, { condition: on_failure, target: C }"),
        expect![[r#"
            7:5 info implicit-end: the run ends here if `A` succeeds, because no transition covers success
              | A: { kind: System, co
              | ^
              at 7:60: `exit_code_non_zero`
              at 7:106: `on_failure`
              help: to continue, add a transition with `condition: on_success`
        "#]],
    );
    // One of the failures has no transition, so the run fails.
    states(
        &make("{ condition: exit_code, value: 3, target: B }, { condition: exit_code, value: 4, target: C }"),
        expect![[r#"
            7:5 info implicit-end: the run ends here if `A` succeeds, because no transition covers success
              | A: { kind: System, co
              | ^
              at 7:60: `exit_code 3`
              at 7:107: `exit_code 4`
              help: to continue, add a transition with `condition: on_success`
            7:5 warning missing-transition: no transition of `A` matches 5 as `A.exit_code`, so the run would fail
              | A: { kind: System, co
              | ^
              at 7:107: the last transition
              help: add a last transition with `condition: always`
        "#]],
    );
}

#[test]
fn only_a_written_success_makes_one_expect_failure() {
    transitions("{ condition: always, target: B }, { condition: on_failure, target: C }", expect![""]);
    transitions("{ target: B }, { condition: on_failure, target: C }", expect![""]);
    transitions(
        "{ condition: on_success, target: B }, { condition: exit_code, value: 3, target: C }",
        expect![[r#"
            7:5 warning missing-transition: `A` has no transition for failure, so the run would fail
              | A: { kind: Agent, age
              | ^
              at 7:95: the last transition
              help: add a transition with `condition: on_failure`, or if that is intended, use `always` instead of `on_success`
            7:108 warning impossible-transition: `exit_code` is never true here
              | ...: on_success, target: B }, { condition: exit_code, value: 3, target:
              |                                            ^^^^^^^^^
              help: the exit code of an agent that answers is 0
            9:5 warning unreachable-step: `C` never runs: no transition to it can be taken
              | C: { kind: System, co
              | ^
              at 7:95: never taken
              help: move that transition up, or fix its condition
        "#]],
    );
    // A pipeline fails if a step fails, as expected.
    let pipeline = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: flow }\nspec:\n  states:\n    - { name: A, kind: Agent, agent: r, input: x }\n    - { name: B, kind: System, command: make }\n    - { name: C, kind: System, command: echo }\n";
    expect(RuleGroup::Flow, "aegis", &[("flow.yaml", pipeline), ("r.yaml", REVIEWER)], expect![""]);
}

#[test]
fn what_runs_no_program_has_a_known_exit_code() {
    let text = |command: &str| {
        format!(
            "    A: {{ kind: System, command: '{command}', transitions: [{{ condition: exit_code_zero, target: B }}] }}\n    B: {{ kind: System, command: echo b }}\n"
        )
    };
    states(&text("echo {{input.x}}"), expect![""]);
    states(
        &text("make test"),
        expect![[r#"
        7:5 warning missing-transition: no transition of `A` matches 1 as `A.exit_code`, so the run would fail
          | A: { kind: System, co
          | ^
          at 7:60: the last transition
          help: add a last transition with `condition: always`
    "#]],
    );
}

#[test]
fn what_a_person_answers_and_their_feedback_are_one() {
    states(
        "    A: { kind: Human, prompt: 'Well?', transitions: [{ condition: input_equals_yes, target: B }, { condition: input_equals_no, target: C }, { condition: custom, expression: human.feedback, target: C }] }\n    B: { kind: System, command: echo b }\n    C: { kind: System, command: echo c }\n",
        expect![""],
    );
}

#[test]
fn a_question_with_yes_and_no_is_complete() {
    let text = |transitions: &str| {
        format!(
            "    A: {{ kind: Human, prompt: 'Well?', transitions: [{transitions}] }}\n    B: {{ kind: System, command: echo b }}\n    C: {{ kind: System, command: echo c }}\n"
        )
    };
    let yes_no = "{ condition: input_equals_yes, target: B }, { condition: input_equals_no, target: C }";
    states(&text(yes_no), expect![""]);
    let custom = "{ condition: custom, expression: \"response == 'yes'\", target: B }, { condition: input_equals, value: no, target: C }";
    states(&text(custom), expect![""]);
    // One of the two is not: a person cannot say no.
    states(
        &text("{ condition: input_equals_yes, target: B }, { condition: input_equals, value: later, target: C }"),
        expect![[r#"
        7:5 warning missing-transition: no transition of `A` matches any other text as `A.response`, so the run would fail
          | A: { kind: Human, pro
          | ^
          at 7:98: the last transition
          help: add a last transition with `condition: always`
    "#]],
    );
}

#[test]
fn a_cascade_of_limits_is_no_overlap() {
    transitions(
        "{ condition: score_above, threshold: 0.9, target: B }, { condition: score_above, threshold: 0.5, target: C }, { target: A }",
        expect![""],
    );
    transitions(
        "{ condition: score_above, threshold: 0.5, target: B }, { condition: score_above, threshold: 0.9, target: C }, { target: A }",
        expect![[r#"
            7:112 warning dead-transition: `score_above 0.9` is never taken: an earlier transition always matches first
              | ...ore_above, threshold: 0.5, target: B }, { condition: score_above, threshold: 0.9, target: C }, { target: A }] }
              |                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              help: fix its condition, or remove it
            9:5 warning unreachable-step: `C` never runs: no transition to it can be taken
              | C: { kind: System, co
              | ^
              at 7:112: never taken
              help: move that transition up, or fix its condition
        "#]],
    );
}

#[test]
fn a_loop_through_a_state_that_has_a_way_out_ends() {
    transitions(
        "{ condition: score_above, threshold: 0.9, target: B }, { condition: on_failure, target: C }, { target: A }",
        expect![""],
    );
}

fn graph(nodes: &str, edges: &str) -> String {
    format!(
        "version: \"0.1\"\nagents: {{ a: {{ system: s, model: \"openai:gpt-4o-mini\" }} }}\nnodes:\n{nodes}edges:\n{edges}"
    )
}

#[test]
fn nodes_that_exclude_each_other_may_write_one_path() {
    let nodes = "  s: { agent: a, writes: working.k }\n  l: { agent: a, writes: output.x }\n  r: { agent: a, writes: output.x }\n";
    let either = graph(
        nodes,
        "  - { from: s, to: l, when: \"working.k == 'a'\" }\n  - { from: s, to: r, when: \"working.k != 'a'\" }\n",
    );
    expect(RuleGroup::Flow, "sirenspec", &[("flow.yaml", &either)], expect![""]);
    let after = graph(nodes, "  - { from: s, to: l }\n  - { from: l, to: r }\n");
    expect(RuleGroup::Flow, "sirenspec", &[("flow.yaml", &after)], expect![""]);
    let both = graph(nodes, "  - { from: s, to: l }\n  - { from: s, to: r }\n");
    expect(
        RuleGroup::Flow,
        "sirenspec",
        &[("flow.yaml", &both)],
        expect![[r#"
            6:3 warning write-conflict: `l` and `r` write `x` at the same time
              | r: { agent: a, writes
              | ^
              at 5:3: writes it too
              help: `r` wins, because it is later in the file; write to different paths, or add an edge between them
        "#]],
    );
}

#[test]
fn nodes_whose_conditions_can_hold_together_write_one_path_at_the_same_time() {
    let nodes = "  s: { agent: a, writes: working.k }\n  t: { agent: a, writes: working.j }\n  l: { agent: a, writes: output.x }\n  r: { agent: a, writes: output.x }\n";
    let pair = |l: &str, r: &str, expected: Expect| {
        let edges = format!(
            "  - {{ from: s, to: t }}\n  - {{ from: t, to: l, when: \"{l}\" }}\n  - {{ from: t, to: r, when: \"{r}\" }}\n"
        );
        expect(RuleGroup::Flow, "sirenspec", &[("flow.yaml", &graph(nodes, &edges))], expected);
    };
    pair(
        "working.k == 'a'",
        "working.k == 'a'",
        expect![[r#"
            7:3 warning write-conflict: `l` and `r` can both run and write `x` at the same time
              | r: { agent: a, writes
              | ^
              at 6:3: writes it too
              at 10:29: can be true together with the other
              at 11:29: can be true together with the other
              help: both run with "a" as `working.k`; `r` wins, because it is later in the file; write to different paths, or add an edge between them
        "#]],
    );
    pair(
        "working.k == 'a'",
        "working.k != 'b'",
        expect![[r#"
            7:3 warning write-conflict: `l` and `r` can both run and write `x` at the same time
              | r: { agent: a, writes
              | ^
              at 6:3: writes it too
              at 10:29: can be true together with the other
              at 11:29: can be true together with the other
              help: both run with "a" as `working.k`; `r` wins, because it is later in the file; write to different paths, or add an edge between them
        "#]],
    );
    pair(
        "working.k == 'a'",
        "working.j == 'b'",
        expect![[r#"
            7:3 warning write-conflict: `l` and `r` can both run and write `x` at the same time
              | r: { agent: a, writes
              | ^
              at 6:3: writes it too
              at 10:29: can be true together with the other
              at 11:29: can be true together with the other
              help: both run with "a" as `working.k` and "b" as `working.j`; `r` wins, because it is later in the file; write to different paths, or add an edge between them
        "#]],
    );
    pair(
        "int(working.k) >= 5",
        "int(working.k) <= 5",
        expect![[r#"
            7:3 warning write-conflict: `l` and `r` can both run and write `x` at the same time
              | r: { agent: a, writes
              | ^
              at 6:3: writes it too
              at 10:29: can be true together with the other
              at 11:29: can be true together with the other
              help: both run with 5 as `working.k`; `r` wins, because it is later in the file; write to different paths, or add an edge between them
        "#]],
    );
    pair(
        "len(working.k) > 5",
        "len(working.k) > 5",
        expect![[r#"
            7:3 warning write-conflict: `l` and `r` can both run and write `x` at the same time
              | r: { agent: a, writes
              | ^
              at 6:3: writes it too
              at 10:29: can be true together with the other
              at 11:29: can be true together with the other
              help: both run with `len(working.k) > 5`; `r` wins, because it is later in the file; write to different paths, or add an edge between them
        "#]],
    );
    // They exclude each other, or it is unknown.
    pair("working.k == 'a'", "working.k == 'b'", expect![""]);
    pair("working.k == 'a'", "not (working.k == 'a')", expect![""]);
    pair("working.k == 'a'", "working.s.output == 'b'", expect![""]);
    pair("len(working.k) > 5", "len(working.k) < 3", expect![""]);
    pair("'a' in working.k", "'b' in working.k", expect![""]);
    // One of the two cannot be tried, and the other reads the same values.
    pair("len(working.k) > 0", "not working.k", expect![""]);
    pair("'bug' in working.k", "working.k == 'feature'", expect![""]);
    pair("bool(working.k)", "working.k == ''", expect![""]);
    pair("int(working.k) - 3 > 0", "int(working.k) <= 3", expect![""]);
    pair("int(working.k) % 2 == 0", "int(working.k) == 3", expect![""]);
    pair("len(working.k) > 5", "working.k == 'ab'", expect![""]);
    pair("working.k[0] == 'a'", "working.k == 'bcd'", expect![""]);
    pair("working.k == 'a' and len(working.k) > 3", "working.k != 'a'", expect![""]);
    pair(
        "'bug' in working.k",
        "working.k == 'a bug'",
        expect![[r#"
            7:3 warning write-conflict: `l` and `r` can both run and write `x` at the same time
              | r: { agent: a, writes
              | ^
              at 6:3: writes it too
              at 10:29: can be true together with the other
              at 11:29: can be true together with the other
              help: both run with "a bug" as `working.k` and `'bug' in working.k`; `r` wins, because it is later in the file; write to different paths, or add an edge between them
        "#]],
    );
    pair(
        "len(working.k) > 3",
        "working.k != 'a'",
        expect![[r#"
            7:3 warning write-conflict: `l` and `r` can both run and write `x` at the same time
              | r: { agent: a, writes
              | ^
              at 6:3: writes it too
              at 10:29: can be true together with the other
              at 11:29: can be true together with the other
              help: both run with any other text as `working.k` and `len(working.k) > 3`; `r` wins, because it is later in the file; write to different paths, or add an edge between them
        "#]],
    );
    pair(
        "len(working.k) > 5",
        "working.j == 'ab'",
        expect![[r#"
            7:3 warning write-conflict: `l` and `r` can both run and write `x` at the same time
              | r: { agent: a, writes
              | ^
              at 6:3: writes it too
              at 10:29: can be true together with the other
              at 11:29: can be true together with the other
              help: both run with "ab" as `working.j` and `len(working.k) > 5`; `r` wins, because it is later in the file; write to different paths, or add an edge between them
        "#]],
    );
}

#[test]
fn what_is_written_twice_counts_though_nobody_reads_it() {
    let both = |l: &str, r: &str| {
        let nodes = format!(
            "  s: {{ agent: a, writes: working.k }}\n  l: {{ agent: a, writes: {l} }}\n  r: {{ agent: a, writes: {r} }}\n"
        );
        graph(&nodes, "  - { from: s, to: l }\n  - { from: s, to: r }\n")
    };
    expect(
        RuleGroup::Flow,
        "sirenspec",
        &[("flow.yaml", &both("working.a.x", "working.a.x"))],
        expect![[r#"
            6:3 warning write-conflict: `l` and `r` write `x` at the same time
              | r: { agent: a, writes
              | ^
              at 5:3: writes it too
              help: `r` wins, because it is later in the file; write to different paths, or add an edge between them
        "#]],
    );
    expect(RuleGroup::Flow, "sirenspec", &[("flow.yaml", &both("working.a.x", "working.a.y"))], expect![""]);
    expect(RuleGroup::Flow, "sirenspec", &[("flow.yaml", &both("working.a", "output.a"))], expect![""]);
}

#[test]
fn one_optional_branch_is_no_gap_and_two_ranges_with_a_hole_are() {
    let nodes = "  s: { agent: a, writes: working.k }\n  l: { agent: a, writes: output.x }\n  r: { agent: a, writes: output.y }\n";
    let one = graph(nodes, "  - { from: s, to: l, when: \"float(working.k) > 0.5\" }\n  - { from: s, to: r }\n");
    expect(RuleGroup::Flow, "sirenspec", &[("flow.yaml", &one)], expect![""]);
    let two = graph(
        nodes,
        "  - { from: s, to: l, when: \"_budget.total_tokens > 500\" }\n  - { from: s, to: r, when: \"_budget.total_tokens < 500\" }\n",
    );
    expect(
        RuleGroup::Flow,
        "sirenspec",
        &[("flow.yaml", &two)],
        expect![[r#"
            8:29 warning score-gap: no edge from `s` covers 500 as `_budget.total_tokens`
              | - { from: s, to: l, when: "_budget.total_tokens > 500" }
              |                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              at 9:29: nor does this one
              help: let the ranges meet, or add an edge for the rest
        "#]],
    );
}

fn looped(until: &str) -> String {
    format!(
        "id: p\nkind: sequential\ninputSchema: {{ text: string, wanted: boolean }}\nuntil: \"{until}\"\nmaxIterations: 3\nsteps:\n  - agent:\n      id: e\n      kind: llm\n      model: {{ provider: openai, name: gpt-4o-mini }}\n      instruction: Edit.\n      outputSchema: {{ done: boolean, score: number }}\n    input: {{ userQuery: \"{{{{text}}}}\" }}\n"
    )
}

#[test]
fn a_loop_ends_by_what_its_steps_give() {
    for until in ["{{e.done}} == true", "{{e.score}} > 8 || {{wanted}}", "{{e.score}} >= 3 && {{e.score}} <= 3"] {
        expect(RuleGroup::Flow, "agntz", &[("p.yaml", &looped(until))], expect![""]);
    }
    expect(
        RuleGroup::Flow,
        "agntz",
        &[("p.yaml", &looped("{{e.score}} > 8 && {{e.score}} < 5"))],
        expect![[r#"
            4:8 warning loop-never-ends: `until` can never be true, so the loop fails after 3 iterations
              | until: "{{e.score}} > 8 && {{e.score}} < 5"
              |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              help: compare with a value that a step of the loop can return
        "#]],
    );
    expect(
        RuleGroup::Flow,
        "agntz",
        &[("p.yaml", &looped("{{wanted}}"))],
        expect![[r#"
            4:8 warning loop-never-ends: no step in the loop changes what `until` reads: the loop ends after its first iteration or fails after 3
              | until: "{{wanted}}"
              |        ^^^^^^^^^^^^
              help: read the result of a step in the loop
        "#]],
    );
}

/// A SirenSpec workflow in which `s` leads to `x` and `z`, which write these paths.
fn fork(x: &str, z: &str, more: &str) -> String {
    format!(
        "version: \"0.1\"\nagents: {{ a: {{ system: s, model: \"openai:m\" }} }}\nnodes:\n  s: {{ agent: a, writes: working.s }}\n  x: {{ agent: a, writes: {x} }}\n  z: {{ agent: a, writes: {z} }}\nedges:\n  - {{ from: s, to: x }}\n  - {{ from: s, to: z }}\n{more}"
    )
}

#[test]
fn a_path_and_one_beneath_it_are_written_at_the_same_time() {
    let conflict = |x: &str, z: &str, expected: Expect| {
        expect(RuleGroup::Flow, "sirenspec", &[("flow.yaml", &fork(x, z, ""))], expected);
    };
    conflict(
        "output.same",
        "output.same.deep",
        expect![[r#"
            6:3 warning write-conflict: `x` writes `same` and `z` writes below it at the same time
              | z: { agent: a, writes
              | ^
              at 5:3: writes it too
              help: `z` wins, because it is later in the file; write to different paths, or add an edge between them
        "#]],
    );
    conflict(
        "output.same.deep",
        "output.same",
        expect![[r#"
            6:3 warning write-conflict: `z` writes `same` and `x` writes below it at the same time
              | z: { agent: a, writes
              | ^
              at 5:3: writes below it
              help: `z` wins, because it is later in the file; write to different paths, or add an edge between them
        "#]],
    );
    conflict("output.same.one", "output.same.two", expect![""]);
    conflict("output.same", "output.other", expect![""]);
    let ordered = fork("output.same", "output.same.deep", "  - { from: x, to: z }\n");
    expect(
        RuleGroup::Flow,
        "sirenspec",
        &[("flow.yaml", &ordered)],
        expect![[r#"
            6:38 warning write-conflict: `z` writes below `same`, which destroys the value from `x`
              | z: { agent: a, writes: output.same.deep }
              |                                    ^^^^
              at 5:33: written here
              help: write to a path that is not below the value of another node
        "#]],
    );
}

#[test]
fn ranges_of_a_text_read_as_a_number_leave_a_gap() {
    let edges = |first: &str, second: &str, expected: Expect| {
        let text = format!(
            "version: \"0.1\"\nagents: {{ a: {{ system: s, model: \"openai:m\" }} }}\nnodes:\n  s: {{ agent: a, writes: working.s }}\n  x: {{ agent: a, writes: output.x }}\n  z: {{ agent: a, writes: output.z }}\nedges:\n  - {{ from: s, to: x, when: \"{first}\" }}\n  - {{ from: s, to: z, when: \"{second}\" }}\n"
        );
        expect(RuleGroup::Flow, "sirenspec", &[("flow.yaml", &text)], expected);
    };
    edges(
        "float(working.s) > 0.8",
        "float(working.s) < 0.8",
        expect![[r#"
            8:29 warning score-gap: no edge from `s` covers 0.8 as `working.s`
              | - { from: s, to: x, when: "float(working.s) > 0.8" }
              |                           ^^^^^^^^^^^^^^^^^^^^^^^^
              at 9:29: nor does this one
              help: let the ranges meet, or add an edge for the rest
        "#]],
    );
    edges("float(working.s) > 0.8", "float(working.s) <= 0.8", expect![""]);
    edges("int(working.s) >= 4", "int(working.s) <= 3", expect![""]);
    // The ranges meet; beyond them the graph ends.
    edges("1 <= int(working.s) <= 5", "5 < int(working.s) <= 10", expect![""]);
    edges(
        "1 <= int(working.s) <= 5",
        "7 < int(working.s) <= 10",
        expect![[r#"
            8:29 warning score-gap: no edge from `s` covers 7 as `working.s`
              | - { from: s, to: x, when: "1 <= int(working.s) <= 5" }
              |                           ^^^^^^^^^^^^^^^^^^^^^^^^^^
              at 9:29: nor does this one
              help: let the ranges meet, or add an edge for the rest
        "#]],
    );
}

#[test]
fn what_is_built_in_does_not_fail_where_something_is_missing() {
    let built_in = |command: &str| {
        format!(
            "    A: {{ kind: System, {command}, transitions: [{{ condition: on_success, target: B }}] }}\n    B: {{ kind: System, command: echo b }}\n"
        )
    };
    states(&built_in("command: update_blackboard, env: { k: '{{input.a}}' }"), expect![""]);
    states(&built_in("command: 'echo {{input.a}}'"), expect![""]);
    states(
        &built_in("command: 'make {{input.a}}'"),
        expect![[r#"
        7:5 warning missing-transition: no transition of `A` matches 1 as `A.exit_code`, so the run would fail
          | A: { kind: System, co
          | ^
          at 7:67: the last transition
          help: add a last transition with `condition: always`
    "#]],
    );
}
