//! Results of nodes that other nodes read, and that may be missing.

use expect_test::{Expect, expect};

use crate::support::of_rule;

#[track_caller]
fn holds(text: &str, expected: Expect) {
    of_rule("maybe-undefined", "sirenspec", &[("flow.yaml", text)], expected);
}

fn workflow(system: &str, body: &str) -> String {
    format!(
        "version: \"0.1\"\nagents: {{x: {{model: \"openai:m\", system: x}}, r: {{model: \"openai:m\", system: {system:?}}}}}\n{body}"
    )
}

#[test]
fn a_branch_that_lost_its_edge_runs_in_every_run() {
    let flow = |edges: &str| {
        let nodes = "nodes:\n  sort: {agent: x, writes: working.kind}\n  a: {agent: x, writes: working.a}\n  b: {agent: x, writes: working.b}\n  c: {agent: x, writes: working.c}\n  join: {agent: x, writes: output.x}\n";
        let join = "  - {from: a, to: join}\n  - {from: b, to: join}\n  - {from: c, to: join}\n";
        workflow("x", &format!("{nodes}edges:\n{edges}{join}"))
    };
    let edge = |to: &str| format!("  - {{from: sort, to: {to}, when: \"working.kind == '{to}'\"}}\n");
    let check = |edges: &str, expected: Expect| {
        of_rule("unconnected-node", "sirenspec", &[("flow.yaml", &flow(edges))], expected);
    };
    check(
        &format!("{}{}", edge("a"), edge("b")),
        expect![[r#"
            7:3 info unconnected-node: no edge leads to `c`, so it always runs, although `a` has a condition
              | c: {agent: x, writes:
              | ^
              help: add an edge from `sort` with a condition
        "#]],
    );
    check(&format!("{}{}{}", edge("a"), edge("b"), edge("c")), expect![""]);
    // For two concurrent nodes, nothing is certain.
    check("  - {from: sort, to: a}\n  - {from: sort, to: b}\n", expect![""]);
}

#[test]
fn what_may_not_have_run() {
    let branch = "nodes:\n  a: {agent: x, writes: working.a.text}\n  b: {agent: x, writes: working.note}\n  c: {agent: x, writes: working.note}\n  join: {agent: r, writes: output.x}\nedges:\n  - {from: a, to: b, when: \"working.a.text == 'b'\"}\n  - {from: a, to: c, when: \"working.a.text == 'c'\"}\n  - {from: b, to: join}\n  - {from: c, to: join}\n";
    // On every path to `join`, one of them has written the note.
    holds(&workflow("{{ a.output }} {{ note }}", branch), expect![""]);
    holds(
        &workflow("{{ b.output }} {{ c.output | default('none') }}", branch),
        expect![[r#"
            2:80 warning maybe-undefined: `b.output` has no value if `b` has not completed
              | ... x}, r: {model: "openai:m", system: "{{ b.output }} {{ c.output | de
              |                                            ^^^^^^^^
              help: add a default: `{{ b.output | default('...') }}`
        "#]],
    );
    let third = branch.replace(
        "  - {from: c, to: join}\n",
        "  - {from: c, to: join}\n  - {from: a, to: join, when: \"working.a.text == 'd'\"}\n",
    );
    holds(
        &workflow("{{ note }}", &third),
        expect![[r#"
            2:80 warning maybe-undefined: `note` has no value if none of `b`, `c` has completed
              | ... x}, r: {model: "openai:m", system: "{{ note }}"}}
              |                                            ^^^^
              help: add a default: `{{ note | default('...') }}`
        "#]],
    );
    // A seed always exists.
    holds(&workflow("{{ note }}", &format!("{third}state: {{working: {{note: none}}}}\n")), expect![""]);
}

#[test]
fn skipped_and_replaced_nodes_may_have_no_result() {
    let body = |policy: &str| {
        format!(
            "nodes:\n  main: {{agent: x, writes: working.draft, on_failure: {{{policy}}}}}\n  spare: {{agent: x, writes: working.draft}}\n  reader: {{agent: r, writes: output.x}}\n"
        )
    };
    holds(
        &workflow("{{ main.output }}", &body("action: skip")),
        expect![[r#"
            2:80 warning maybe-undefined: `main.output` has no value if `main` has failed
              | ... x}, r: {model: "openai:m", system: "{{ main.output }}"}}
              |                                            ^^^^^^^^^^^
              help: add a default: `{{ main.output | default('...') }}`
        "#]],
    );
    holds(&workflow("{{ main.output }}", &body("action: use_default, default_output: d")), expect![""]);
    let fallback = body("action: fallback, fallback_node: spare");
    holds(
        &workflow("{{ main.output }} {{ spare.output }}", &fallback),
        expect![[r#"
            2:80 warning maybe-undefined: `main.output` has no value if `main` has not completed
              | ... x}, r: {model: "openai:m", system: "{{ main.output }} {{ spare.output
              |                                            ^^^^^^^^^^^
              help: add a default: `{{ main.output | default('...') }}`
            2:98 warning maybe-undefined: `spare.output` has no value if `spare` has not completed
              | ...penai:m", system: "{{ main.output }} {{ spare.output }}"}}
              |                                            ^^^^^^^^^^^^
              help: add a default: `{{ spare.output | default('...') }}`
        "#]],
    );
    // One of the two has written it.
    holds(&workflow("{{ draft }}", &fallback), expect![""]);
}

#[test]
fn agents_of_a_swarm_that_may_have_failed() {
    let swarm = |policy: &str, later: &str| {
        let node = format!(
            "nodes:\n  s:\n    type: swrm\n{policy}    agents: [{{id: p, provider: openai, prompt: x}}, {{id: q, provider: openai, prompt: x}}]\n    synthesis: {{provider: openai, prompt: \"{{{{ s.agents.p.output }}}} {{{{ s.agents.q.output | default('') }}}}\"}}\n  n: {{agent: r, writes: output.n}}\n"
        );
        workflow(later, &node)
    };
    let lenient = "    on_failure: continue\n";
    holds(
        &swarm(lenient, "{{ s.agents.q.output }} {{ s.agents }} {{ s.output }}"),
        expect![[r#"
            2:80 warning maybe-undefined: `s.agents.q.output` has no value if `q` has failed
              | ... x}, r: {model: "openai:m", system: "{{ s.agents.q.output }} {{ s.agents }} {
              |                                            ^^^^^^^^^^^^^^^^^
              help: add a default: `{{ s.agents.q.output | default('...') }}`
            8:47 warning maybe-undefined: `s.agents.p.output` has no value if `p` has failed
              | ...nthesis: {provider: openai, prompt: "{{ s.agents.p.output }} {{ s.agents.q.ou
              |                                            ^^^^^^^^^^^^^^^^^
              help: add a default: `{{ s.agents.p.output | default('...') }}`
        "#]],
    );
    holds(&swarm("", "{{ s.agents.q.output }}"), expect![""]);
}

#[test]
fn a_tool_that_may_fail_leaves_null() {
    let body = |system: &str, more: &str| {
        workflow(
            system,
            &format!(
                "nodes:\n  t: {{type: tool, tool: http, on_failure: skip, config: {{url: https://x.example.com}}}}\n  n: {{agent: r, writes: output.n}}\n{more}"
            ),
        )
    };
    holds(
        &body("{{ t.output.status }} {{ t.output }}", ""),
        expect![[r#"
            2:80 warning maybe-undefined: `t.output.status` has no value if `t` has failed
              | ... x}, r: {model: "openai:m", system: "{{ t.output.status }} {{ t.output }}"}
              |                                            ^^^^^^^^^^^^^^^
              help: add a default: `{{ t.output.status | default('...') }}`
            2:102 warning maybe-undefined: `t.output` is null if `t` has failed, so the text says `null`
              | ...i:m", system: "{{ t.output.status }} {{ t.output }}"}}
              |                                            ^^^^^^^^
              help: test it on the edge that leads here: `when: working.t.output != None`
        "#]],
    );
    holds(
        &body("{{ t.output }} {{ t.output.status | default('') }}", ""),
        expect![[r#"
        2:80 warning maybe-undefined: `t.output` is null if `t` has failed, so the text says `null`
          | ... x}, r: {model: "openai:m", system: "{{ t.output }} {{ t.output.stat
          |                                            ^^^^^^^^
          help: test it on the edge that leads here: `when: working.t.output != None`
    "#]],
    );
    // If it failed, the edge is not taken.
    let edge = |when: &str| format!("edges:\n  - {{from: t, to: n, when: \"{when}\"}}\n");
    holds(&body("{{ t.output.body }}", &edge("working.t.output.status == 200")), expect![""]);
    holds(&body("{{ t.output.body }}", &edge("working.t.output != None")), expect![""]);
    holds(
        &body("{{ t.output.body }}", &edge("working.t.output == None")),
        expect![[r#"
            2:80 warning maybe-undefined: `t.output.body` has no value if `t` has failed
              | ... x}, r: {model: "openai:m", system: "{{ t.output.body }}"}}
              |                                            ^^^^^^^^^^^^^
              help: add a default: `{{ t.output.body | default('...') }}`
        "#]],
    );
    holds(
        &body("{{ t.output.body }}", &edge("_budget.total_tokens < 5")),
        expect![[r#"
            2:80 warning maybe-undefined: `t.output.body` has no value if `t` has failed
              | ... x}, r: {model: "openai:m", system: "{{ t.output.body }}"}}
              |                                            ^^^^^^^^^^^^^
              help: add a default: `{{ t.output.body | default('...') }}`
        "#]],
    );
}

#[test]
fn a_value_of_state_without_content() {
    let body = |system: &str, tone: &str| {
        workflow(
            system,
            &format!(
                "nodes:\n  n: {{agent: r, writes: working.n}}\n  m: {{type: human, prompt: p, writes: working.x}}\nedges:\n  - {{from: n, to: m, when: 'working.tone == None'}}\nstate: {{working: {{tone: {tone}}}}}\n"
            ),
        )
    };
    holds(
        &body("{{ working.tone }}", ""),
        expect![[r#"
        2:80 warning maybe-undefined: `working.tone` is null here: it is declared without a value, and nothing writes it before
          | ... x}, r: {model: "openai:m", system: "{{ working.tone }}"}}
          |                                            ^^^^^^^^^^^^
          help: write `""` for an empty text; a template prints the word `null`
    "#]],
    );
    holds(&body("{{ working.tone }}", "''"), expect![""]);
    holds(&body("s", ""), expect![""]);
}

#[test]
fn the_result_of_a_tool_that_failed_is_null_in_a_text() {
    let flow = |skip: &str, edge: &str, system: &str| {
        workflow(
            system,
            &format!(
                "nodes:\n  f: {{type: tool, tool: http, config: {{url: 'https://example.com/o', method: GET}}{skip}}}\n  n: {{agent: r, writes: output.o}}\nedges: [{{from: f, to: n{edge}}}]\ninput: {{message: hi}}\n"
            ),
        )
    };
    holds(
        &flow(", on_failure: skip", "", "Stock: {{ f.output }}"),
        expect![[r#"
        2:87 warning maybe-undefined: `f.output` is null if `f` has failed, so the text says `null`
          | ... {model: "openai:m", system: "Stock: {{ f.output }}"}}
          |                                            ^^^^^^^^
          help: test it on the edge that leads here: `when: working.f.output != None`
    "#]],
    );
    holds(
        &flow(", on_failure: skip", "", "Stock: {{ f.output | default('none') }}"),
        expect![[r#"
        2:87 warning maybe-undefined: `f.output` is null if `f` has failed, so the text says `null`
          | ... {model: "openai:m", system: "Stock: {{ f.output | default('none') }
          |                                            ^^^^^^^^
          help: test it on the edge that leads here: `when: working.f.output != None`; `default` does not apply to null
    "#]],
    );
    holds(&flow(", on_failure: skip", ", when: \"working.f.output != None\"", "Stock: {{ f.output }}"), expect![""]);
    holds(&flow("", "", "Stock: {{ f.output }}"), expect![""]);
}
