//! Rules on flow: what never runs, never ends, or is provided for by nobody; and what is right and must not be reported.

use trefoil_check::Group;

use super::support::expect;

fn workflow(states: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: flow }}\nspec:\n  initial_state: A\n  states:\n{states}"
    )
}

const REVIEWER: &str = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: r, version: 1.0.0 }\nspec: { runtime: {}, task: { instruction: Work. } }\n";

#[track_caller]
fn states(states: &str, expected: &[&str]) {
    expect(Group::Flow, "aegis", &[("flow.yaml", &workflow(states)), ("r.yaml", REVIEWER)], expected);
}

/// States with an agent `A` and these transitions, and the ends `B` and `C`.
#[track_caller]
fn transitions(transitions: &str, expected: &[&str]) {
    let text = format!(
        "    A: {{ kind: Agent, agent: r, input: x, transitions: [{transitions}] }}\n    B: {{ kind: System, command: echo b }}\n    C: {{ kind: System, command: echo c }}\n"
    );
    states(&text, expected);
}

#[test]
fn ranges_that_meet_leave_no_gap() {
    transitions(
        "{ condition: score_above, threshold: 0.8, target: B }, { condition: score_between, min: 0, max: 0.8, target: C }, { condition: on_failure, target: C }",
        &[],
    );
    transitions(
        "{ condition: score_above, threshold: 0.8, target: B }, { condition: score_below, threshold: 0.8, target: C }, { condition: on_failure, target: C }",
        &["score-gap warning 7:5 no transition of `A` matches 0.8 as `A.score`, so the run would fail"],
    );
}

#[test]
fn a_condition_that_cannot_be_tried_is_not_judged() {
    transitions(
        "{ condition: custom, expression: '(gt (length A.output) 3)', target: B }, { condition: custom, expression: '(lte (length A.output) 3)', target: C }",
        &[],
    );
    transitions("{ condition: custom, expression: 'A.output.a == A.output.b', target: B }, { target: C }", &[]);
    transitions(
        "{ condition: custom, expression: 'length A.output.issues', target: B }, { condition: custom, expression: '!A.output.issues', target: C }",
        &[],
    );
    // It need not be judged where trying it shows that nothing is left.
    transitions(
        "{ condition: custom, expression: 'length A.output.issues', target: B }, { condition: on_failure, target: C }",
        &[
            "missing-transition warning 7:5 no transition of `A` matches an empty text as `A.output.issues`, so the run would fail",
        ],
    );
}

#[test]
fn conditions_that_complete_each_other_leave_no_gap() {
    transitions(
        "{ condition: custom, expression: \"A.output.kind == 'bug'\", target: B }, { condition: custom, expression: \"A.output.kind != 'bug'\", target: C }",
        &[],
    );
    transitions(
        "{ condition: custom, expression: \"A.output.kind == 'bug'\", target: B }, { condition: custom, expression: \"A.output.kind == 'task'\", target: C }",
        &[
            "missing-transition warning 7:5 no transition of `A` matches any other text as `A.output.kind`, so the run would fail",
        ],
    );
}

#[test]
fn a_state_whose_transitions_are_all_for_failures_may_end_the_run() {
    let ends = "implicit-end info 7:5 the run ends here when `A` succeeds: none of its transitions is for that";
    let make = |transitions: &str| {
        format!(
            "    A: {{ kind: System, command: 'make test', transitions: [{transitions}] }}\n    B: {{ kind: System, command: echo b }}\n    C: {{ kind: System, command: echo c }}\n"
        )
    };
    states(&make("{ condition: exit_code_non_zero, target: B }, { condition: on_failure, target: C }"), &[ends]);
    // Of the failures one has no transition: that fails the run.
    states(
        &make("{ condition: exit_code, value: 3, target: B }, { condition: exit_code, value: 4, target: C }"),
        &[
            ends,
            "missing-transition warning 7:5 no transition of `A` matches 5 as `A.exit_code`, so the run would fail",
        ],
    );
}

#[test]
fn only_a_written_success_makes_one_expect_failure() {
    transitions("{ condition: always, target: B }, { condition: on_failure, target: C }", &[]);
    transitions("{ target: B }, { condition: on_failure, target: C }", &[]);
    transitions(
        "{ condition: on_success, target: B }, { condition: exit_code, value: 3, target: C }",
        &[
            "missing-transition warning 7:5 `A` has no transition for failure, so the run would fail",
            "unreachable-step warning 9:5 `C` never runs: no transition to it can be taken",
        ],
    );
    // A straight pipeline fails where a step fails, and nobody expects anything else.
    let pipeline = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: flow }\nspec:\n  states:\n    - { name: A, kind: Agent, agent: r, input: x }\n    - { name: B, kind: System, command: make }\n    - { name: C, kind: System, command: echo }\n";
    expect(Group::Flow, "aegis", &[("flow.yaml", pipeline), ("r.yaml", REVIEWER)], &[]);
}

#[test]
fn what_runs_no_program_has_a_known_exit_code() {
    let text = |command: &str| {
        format!(
            "    A: {{ kind: System, command: '{command}', transitions: [{{ condition: exit_code_zero, target: B }}] }}\n    B: {{ kind: System, command: echo b }}\n"
        )
    };
    states(&text("echo {{input.x}}"), &[]);
    states(
        &text("make test"),
        &["missing-transition warning 7:5 no transition of `A` matches 1 as `A.exit_code`, so the run would fail"],
    );
}

#[test]
fn what_a_person_answers_and_their_feedback_are_one() {
    states(
        "    A: { kind: Human, prompt: 'Well?', transitions: [{ condition: input_equals_yes, target: B }, { condition: input_equals_no, target: C }, { condition: custom, expression: human.feedback, target: C }] }\n    B: { kind: System, command: echo b }\n    C: { kind: System, command: echo c }\n",
        &[],
    );
}

#[test]
fn a_cascade_of_limits_is_no_overlap() {
    transitions(
        "{ condition: score_above, threshold: 0.9, target: B }, { condition: score_above, threshold: 0.5, target: C }, { target: A }",
        &[],
    );
    transitions(
        "{ condition: score_above, threshold: 0.5, target: B }, { condition: score_above, threshold: 0.9, target: C }, { target: A }",
        &[
            "dead-transition warning 7:112 `score_above 0.9` is never taken: whenever it could be, one before it is",
            "unreachable-step warning 9:5 `C` never runs: no transition to it can be taken",
        ],
    );
}

#[test]
fn a_loop_through_a_state_that_has_a_way_out_ends() {
    transitions(
        "{ condition: score_above, threshold: 0.9, target: B }, { condition: on_failure, target: C }, { target: A }",
        &[],
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
    expect(Group::Flow, "sirenspec", &[("flow.yaml", &either)], &[]);
    let after = graph(nodes, "  - { from: s, to: l }\n  - { from: l, to: r }\n");
    expect(Group::Flow, "sirenspec", &[("flow.yaml", &after)], &[]);
    let both = graph(nodes, "  - { from: s, to: l }\n  - { from: s, to: r }\n");
    expect(
        Group::Flow,
        "sirenspec",
        &[("flow.yaml", &both)],
        &["write-conflict warning 6:3 `l` and `r` write `x` at the same time"],
    );
}

#[test]
fn nodes_whose_conditions_can_hold_together_write_one_path_at_the_same_time() {
    let nodes = "  s: { agent: a, writes: working.k }\n  t: { agent: a, writes: working.j }\n  l: { agent: a, writes: output.x }\n  r: { agent: a, writes: output.x }\n";
    let pair = |l: &str, r: &str, expected: &[&str]| {
        let edges = format!(
            "  - {{ from: s, to: t }}\n  - {{ from: t, to: l, when: \"{l}\" }}\n  - {{ from: t, to: r, when: \"{r}\" }}\n"
        );
        expect(Group::Flow, "sirenspec", &[("flow.yaml", &graph(nodes, &edges))], expected);
    };
    let told = &["write-conflict warning 7:3 `l` and `r` can both run, and write `x` at the same time"];
    pair("working.k == 'a'", "working.k == 'a'", told);
    pair("working.k == 'a'", "working.k != 'b'", told);
    pair("working.k == 'a'", "working.j == 'b'", told);
    pair("int(working.k) >= 5", "int(working.k) <= 5", told);
    pair("len(working.k) > 5", "len(working.k) > 5", told);
    // They exclude each other, or nobody can tell.
    pair("working.k == 'a'", "working.k == 'b'", &[]);
    pair("working.k == 'a'", "not (working.k == 'a')", &[]);
    pair("working.k == 'a'", "working.s.output == 'b'", &[]);
    pair("len(working.k) > 5", "len(working.k) < 3", &[]);
    pair("'a' in working.k", "'b' in working.k", &[]);
    // One of the two cannot be tried, and its values are those of the other.
    pair("len(working.k) > 0", "not working.k", &[]);
    pair("'bug' in working.k", "working.k == 'feature'", &[]);
    pair("bool(working.k)", "working.k == ''", &[]);
    pair("int(working.k) - 3 > 0", "int(working.k) <= 3", &[]);
    pair("int(working.k) % 2 == 0", "int(working.k) == 3", &[]);
    pair("len(working.k) > 5", "working.k == 'ab'", &[]);
    pair("working.k[0] == 'a'", "working.k == 'bcd'", &[]);
    pair("working.k == 'a' and len(working.k) > 3", "working.k != 'a'", &[]);
    pair("'bug' in working.k", "working.k == 'a bug'", told);
    pair("len(working.k) > 3", "working.k != 'a'", told);
    pair("len(working.k) > 5", "working.j == 'ab'", told);
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
        Group::Flow,
        "sirenspec",
        &[("flow.yaml", &both("working.a.x", "working.a.x"))],
        &["write-conflict warning 6:3 `l` and `r` write `x` at the same time"],
    );
    expect(Group::Flow, "sirenspec", &[("flow.yaml", &both("working.a.x", "working.a.y"))], &[]);
    expect(Group::Flow, "sirenspec", &[("flow.yaml", &both("working.a", "output.a"))], &[]);
}

#[test]
fn one_optional_branch_is_no_gap_and_two_ranges_with_a_hole_are() {
    let nodes = "  s: { agent: a, writes: working.k }\n  l: { agent: a, writes: output.x }\n  r: { agent: a, writes: output.y }\n";
    let one = graph(nodes, "  - { from: s, to: l, when: \"float(working.k) > 0.5\" }\n  - { from: s, to: r }\n");
    expect(Group::Flow, "sirenspec", &[("flow.yaml", &one)], &[]);
    let two = graph(
        nodes,
        "  - { from: s, to: l, when: \"_budget.total_tokens > 500\" }\n  - { from: s, to: r, when: \"_budget.total_tokens < 500\" }\n",
    );
    expect(
        Group::Flow,
        "sirenspec",
        &[("flow.yaml", &two)],
        &["score-gap warning 8:29 no edge from `s` is for 500 as `_budget.total_tokens`"],
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
        expect(Group::Flow, "agntz", &[("p.yaml", &looped(until))], &[]);
    }
    expect(
        Group::Flow,
        "agntz",
        &[("p.yaml", &looped("{{e.score}} > 8 && {{e.score}} < 5"))],
        &["loop-never-ends warning 4:8 `until` can never hold: the loop fails after 3 passes"],
    );
    expect(
        Group::Flow,
        "agntz",
        &[("p.yaml", &looped("{{wanted}}"))],
        &[
            "loop-never-ends warning 4:8 nothing in the loop changes what `until` reads: it ends in pass 1 or fails after pass 3",
        ],
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
    let conflict = |x: &str, z: &str, expected: &[&str]| {
        expect(Group::Flow, "sirenspec", &[("flow.yaml", &fork(x, z, ""))], expected);
    };
    conflict(
        "output.same",
        "output.same.deep",
        &["write-conflict warning 6:3 `x` writes `same` and `z` writes beneath it, at the same time"],
    );
    conflict(
        "output.same.deep",
        "output.same",
        &["write-conflict warning 6:3 `z` writes `same` and `x` writes beneath it, at the same time"],
    );
    conflict("output.same.one", "output.same.two", &[]);
    conflict("output.same", "output.other", &[]);
    let ordered = fork("output.same", "output.same.deep", "  - { from: x, to: z }\n");
    expect(Group::Flow, "sirenspec", &[("flow.yaml", &ordered)], &[]);
}

#[test]
fn ranges_of_a_text_read_as_a_number_leave_a_gap() {
    let edges = |first: &str, second: &str, expected: &[&str]| {
        let text = format!(
            "version: \"0.1\"\nagents: {{ a: {{ system: s, model: \"openai:m\" }} }}\nnodes:\n  s: {{ agent: a, writes: working.s }}\n  x: {{ agent: a, writes: output.x }}\n  z: {{ agent: a, writes: output.z }}\nedges:\n  - {{ from: s, to: x, when: \"{first}\" }}\n  - {{ from: s, to: z, when: \"{second}\" }}\n"
        );
        expect(Group::Flow, "sirenspec", &[("flow.yaml", &text)], expected);
    };
    edges(
        "float(working.s) > 0.8",
        "float(working.s) < 0.8",
        &["score-gap warning 8:29 no edge from `s` is for 0.8 as `working.s`"],
    );
    edges("float(working.s) > 0.8", "float(working.s) <= 0.8", &[]);
    edges("int(working.s) >= 4", "int(working.s) <= 3", &[]);
    // The ranges meet; beyond them the graph ends.
    edges("1 <= int(working.s) <= 5", "5 < int(working.s) <= 10", &[]);
    edges(
        "1 <= int(working.s) <= 5",
        "7 < int(working.s) <= 10",
        &["score-gap warning 8:29 no edge from `s` is for 7 as `working.s`"],
    );
}

#[test]
fn what_is_built_in_does_not_fail_where_something_is_missing() {
    let built_in = |command: &str| {
        format!(
            "    A: {{ kind: System, {command}, transitions: [{{ condition: on_success, target: B }}] }}\n    B: {{ kind: System, command: echo b }}\n"
        )
    };
    states(&built_in("command: update_blackboard, env: { k: '{{input.a}}' }"), &[]);
    states(&built_in("command: 'echo {{input.a}}'"), &[]);
    states(
        &built_in("command: 'make {{input.a}}'"),
        &["missing-transition warning 7:5 no transition of `A` matches 1 as `A.exit_code`, so the run would fail"],
    );
}
