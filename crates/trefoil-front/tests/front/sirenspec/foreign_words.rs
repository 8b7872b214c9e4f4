//! Words of other systems: keys, types, names of results and targets of edges.

use expect_test::{Expect, expect};

use super::support::{check_one, flow, node_with};

#[test]
fn words_of_other_systems_for_keys() {
    check_one(
        "version: \"0.1\"\nagents:\n  a: {llm: \"openai:m\", instructions: x}\nsteps:\n  n: {agent: a, output: output.n}\n",
        expect![[r#"
            warning 3:3 unused: agent `a` is never used
            error 3:7 unknown-key: agent `a` has no key `llm`, and lacks `model` (did you mean `model`?) {maybe: "model"}
            error 3:24 unknown-key: agent `a` has no key `instructions`, and lacks `system` (did you mean `system`?) {maybe: "system"}
            error 4:1 unknown-key: the workflow has no key `steps`, and lacks `nodes` (did you mean `nodes`?) {maybe: "nodes"}
        "#]],
    );
    let edges = "nodes: {n: {agent: a, writes: output.n}, m: {agent: a, writes: output.m}}\nedges:\n";
    check_one(
        &flow("x", &format!("{edges}  - {{source: n, target: m, condition: \"true\"}}\n")),
        expect![[r#"
            error 5:6 unknown-key: an edge has no key `source`, and lacks `from` (did you mean `from`?) {maybe: "from"}
            error 5:17 unknown-key: an edge has no key `target`, and lacks `to` (did you mean `to`?) {maybe: "to"}
            error 5:28 unknown-key: an edge has no key `condition` (did you mean `when`? without it the edge is always taken) {maybe: "when"}
        "#]],
    );
    // One unknown key and one missing key.
    check_one(
        &flow("x", "nodes: {n: {agent: a, result: output.n}}\n"),
        expect![[r#"
            error 3:9 missing-key: node `n` needs `writes`
            warning 3:23 unknown-key: node `n` has no key `result` (it is ignored; available: `type`, `writes`, `streaming`, `retry`, `on_failure`, `max_tokens_per_call`)
        "#]],
    );
}

#[test]
fn words_of_other_systems_for_types_and_providers() {
    check_one(
        &flow(
            "x",
            "nodes:\n  m: {agent: a, writes: working.t}\n  n: {type: loop, agent: a, for_each: '[]', writes: output.n}\n",
        ),
        expect![[r#"
            error 5:13 unknown-value: `type` cannot be `loop` (did you mean `factory`? available: `agent`, `swrm`, `factory`, `workflow`, `human`, `tool`) {maybe: "factory"}
        "#]],
    );
    check_one(
        "version: \"0.1\"\nnodes: {n: {type: swrm, agents: [{id: x, provider: \"openai:gpt-4o\", model: gpt-4o, prompt: p}]}}\n",
        expect![[r#"
            warning 2:52 unknown-provider: `provider` must be the name of the provider, without a model (write `openai`) {fix: 2:53 "openai"}
        "#]],
    );
    check_one(
        "version: \"0.1\"\nagents: {a: {model: \u{201c}openai:m\u{201d}, system: x}}\nnodes: {n: {agent: a, writes: output.n}}\n",
        expect![[r#"
            warning 2:21 yaml-typographic-quotes: `“` and `”` are not YAML quotes, so they are part of the text {maybe: write straight quotes: "\"openai:m\""}
        "#]],
    );
}

#[test]
fn nodes_that_do_not_say_their_type() {
    let node = |text: &str, expected: Expect| {
        check_one(&flow("x", &format!("nodes:\n  m: {{agent: a, writes: working.m_text}}\n{text}")), expected);
    };
    node(
        "  n:\n    agent: a\n    swarm_size: 3\n    writes: output.n\n",
        expect![[r#"
            error 5:3 missing-key: node `n` needs `type: factory`: agent nodes have no `swarm_size` [7:5 only for factory nodes] {maybe: write `type: factory` above it: 6:5 "type: factory\n    "}
        "#]],
    );
    node(
        "  n:\n    tpye: factory\n    agent: a\n    for_each: '[]'\n    writes: output.n\n",
        expect![[r#"
            error 5:3 missing-key: node `n` needs `type: factory`: agent nodes have no `for_each` (write `type: factory`) [8:5 only for factory nodes]
            warning 6:5 unknown-key: node `n` has no key `tpye` (did you mean `type`?) {fix: "type"}
        "#]],
    );
    node(
        "  n:\n    agents: [{id: x, provider: openai, prompt: p}]\n",
        expect![[r#"
            error 5:3 missing-key: node `n` needs `type: swrm`: agent nodes have no `agents` [6:5 only for swrm nodes] {maybe: write `type: swrm` above it: 6:5 "type: swrm\n    "}
        "#]],
    );
    node(
        "  n: {prompt: ok?, writes: output.n}\n",
        expect![[r#"
            error 5:3 missing-key: node `n` needs `type: human`: agent nodes have no `prompt` (write `type: human`) [5:7 only for human nodes]
        "#]],
    );
    node(
        "  n: {tool: http, config: {url: \"https://x\"}}\n",
        expect![[r#"
            error 5:3 missing-key: node `n` needs `type: tool`: agent nodes have no `tool` (write `type: tool`) [5:7 only for tool nodes]
        "#]],
    );
    // A prompt was written where the agent should have it.
    node(
        "  n: {agent: a, prompt: p, writes: output.n}\n",
        expect![[r#"
            warning 5:17 unknown-key: node `n` has no key `prompt` (it belongs in the agent, as `system`)
        "#]],
    );
}

#[test]
fn what_other_systems_call_it() {
    let read = |path: &str, expected: Expect| {
        let text = format!(
            "version: \"0.1\"\nagents:\n  a: {{model: \"openai:m\", system: s}}\n  b: {{model: \"openai:m\", system: s}}\n  z: {{model: \"openai:m\", system: '{{{{ {path} }}}}'}}\nstate: {{working: {{article: x}}}}\nnodes:\n  draft: {{agent: a, writes: working.text}}\n  agg: {{agent: b, writes: working.agg_text}}\n  many: {{type: factory, agent: b, swarm_size: 2, writes: working.many_text}}\n  last: {{agent: z, writes: output.last}}\n"
        );
        check_one(&text, expected);
    };
    read(
        "output.agg",
        expect![[r#"
            error 5:38 unresolved-name: `output.agg` is not defined: `output` has no `agg` (did you mean `agg.output`?) {maybe: "agg.output"}
        "#]],
    );
    read(
        "state.article",
        expect![[r#"
            error 5:38 unresolved-name: `state.article` is not defined: no node, written path or state is named `state` (did you mean `working.article`?) {maybe: "working.article"}
        "#]],
    );
    read(
        "state.working.article",
        expect![[r#"
            error 5:38 unresolved-name: `state.working.article` is not defined: no node, written path or state is named `state` (did you mean `working.article`?) {maybe: "working.article"}
        "#]],
    );
    read(
        "a.output",
        expect![[r#"
            error 5:38 unresolved-name: `a.output` is not defined: no node, written path or state is named `a` (did you mean `draft.output`?) {maybe: "draft.output"}
        "#]],
    );
    read(
        "secrets.TOKEN",
        expect![[r#"
            error 5:38 unresolved-name: `secrets.TOKEN` is not defined: no node, written path or state is named `secrets` (did you mean `env.TOKEN`?) {maybe: "env.TOKEN"}
        "#]],
    );
    read(
        "ORDERS_TOKEN",
        expect![[r#"
            error 5:38 unresolved-name: `ORDERS_TOKEN` is not defined: no node, written path or state is named `ORDERS_TOKEN` (did you mean `env.ORDERS_TOKEN`?) {maybe: "env.ORDERS_TOKEN"}
        "#]],
    );
    read(
        "env:TOKEN",
        expect![[r#"
            error 5:38 unresolved-name: `env:TOKEN` is not defined: no node, written path or state is named `env:TOKEN` (did you mean `env.TOKEN`?) {maybe: "env.TOKEN"}
        "#]],
    );
    read(
        "many.output.0",
        expect![[r#"
            error 5:38 unresolved-name: `many.output.0` is not defined: `many.output` has no `0` (did you mean `many.outputs.0`?) {maybe: "many.outputs.0"}
        "#]],
    );
}

#[test]
fn ends_of_edges_that_are_no_nodes() {
    let edge = |edge: &str, expected: Expect| {
        let text = format!("nodes:\n  n: {{agent: a, writes: working.i}}\nedges:\n  - {{{edge}}}\n");
        check_one(&flow("x", &text), expected);
    };
    edge(
        "from: n, to: a",
        expect![[r#"
            error 6:19 unknown-reference: `to` refers to an unknown node `a` (`a` is an agent; its node is `n`) {maybe: "n"}
        "#]],
    );
    edge(
        "from: n, to: END",
        expect![[r#"
            error 6:19 unknown-reference: `to` refers to an unknown node `END` (remove this edge: a node without outgoing edges is an end)
        "#]],
    );
    edge(
        "from: START, to: n",
        expect![[r#"
            error 6:12 unknown-reference: `from` refers to an unknown node `START` (remove this edge: a node without incoming edges is a start)
        "#]],
    );
}

#[test]
fn keys_of_another_place_or_form() {
    node_with(
        "on_failure: abort",
        expect![[r#"
            error 4:47 wrong-type: `on_failure` must be a mapping, not text (write `on_failure: {action: abort}`)
        "#]],
    );
    node_with(
        "when: 'working.x == 1'",
        expect![[r#"
            warning 4:35 unknown-key: node `n` has no key `when` (it belongs on an edge that leads to the node)
        "#]],
    );
}

#[test]
fn a_file_whose_only_block_is_misspelt() {
    let text = "version: \"0.1\"\nnode: {n: {type: swrm, agents: [{id: x, provider: openai, prompt: p}]}}\n";
    let root = trefoil_syntax::yaml::parse(
        trefoil_syntax::FileId(0),
        &trefoil_syntax::SourceFile::new("x.yaml", text),
        &trefoil_syntax::yaml::YamlLimits::default(),
    );
    let root = root.root.expect("it is YAML");
    assert!(
        matches!(trefoil_front::detect_dialect(&root), trefoil_front::DialectDetection::One(front) if front.name() == "sirenspec")
    );
    check_one(
        text,
        expect![[r#"
            error 2:1 unknown-key: the workflow has no key `node`, and lacks `nodes` (did you mean `nodes`?) {fix: "nodes"}
        "#]],
    );
}

#[test]
fn a_misspelt_action_is_told_once() {
    let node = |text: &str| {
        flow(
            "x",
            &format!("nodes:\n  n: {{agent: a, writes: output.n, {text}}}\n  m: {{agent: a, writes: output.n}}\n"),
        )
    };
    check_one(
        &node("on_failure: {action: fallbak, fallback_node: m}"),
        expect![[r#"
            error 4:56 unknown-value: `action` cannot be `fallbak` (did you mean `fallback`? available: `abort`, `fallback`, `skip`, `use_default`) {fix: "fallback"}
        "#]],
    );
    check_one(
        &node("on_failure: {action: use-default, default_output: x}"),
        expect![[r#"
            error 4:56 unknown-value: `action` cannot be `use-default` (did you mean `use_default`? available: `abort`, `fallback`, `skip`, `use_default`) {fix: "use_default"}
        "#]],
    );
    check_one(
        &flow(
            "x",
            "nodes:\n  m: {agent: a, writes: working.t}\n  n: {type: human, prompt: p, writes: output.n, timeout: 5, on_timeout: usedefault, default_output: x}\n",
        ),
        expect![[r#"
            error 5:73 unknown-value: `on_timeout` cannot be `usedefault` (did you mean `use_default`? available: `abort`, `skip`, `use_default`) {fix: "use_default"}
        "#]],
    );
}

#[test]
fn words_that_are_cut_short_and_providers_without_a_model() {
    check_one(
        "version: \"0.1\"\nagents: {a: {model: \"openai:m\", system: s, guardrails: [{name: length, config: {mode: trunc}}]}}\nnodes: {n: {agent: a, writes: output.n}}\n",
        expect![[r#"
            error 2:87 unknown-value: `mode` cannot be `trunc` (did you mean `truncate`? available: `truncate`, `raise`) {maybe: "truncate"}
        "#]],
    );
    let provider = |name: &str| {
        format!("version: \"0.1\"\nnodes: {{n: {{type: swrm, agents: [{{id: x, provider: {name}, prompt: p}}]}}}}\n")
    };
    check_one(
        &provider("anthropik"),
        expect![[r#"
            error 2:52 unknown-provider: unknown provider `anthropik` (did you mean `anthropic`?) {fix: "anthropic"}
        "#]],
    );
    check_one(
        &provider("groq"),
        expect![[r#"
            error 2:52 missing-key: the provider `groq` has no default model (write `model`)
        "#]],
    );
}

#[test]
fn swarms_in_nodes_of_another_type() {
    let member = "{id: c, provider: openai, prompt: 'About {{ item }}'}";
    check_one(
        &format!(
            "version: \"0.1\"\nnodes:\n  f: {{type: factory, agents: [{member}], for_each: '[1]', writes: output.f}}\n"
        ),
        expect![[r#"
            error 3:22 missing-key: the agents of a factory's swarm belong under `swrm` (write `swrm:` above them, and indent `agents` and `synthesis` under it)
        "#]],
    );
    check_one(
        "version: \"0.1\"\nnodes:\n  f: {type: agent, agents: [{id: c, provider: openai, prompt: p}]}\n",
        expect![[r#"
            error 3:13 missing-key: an agent node has one `agent`; a swarm has `agents` (write `type: swrm`) {maybe: "swrm"}
        "#]],
    );
    check_one(
        &flow(
            "{{ f.outputs.c }}",
            "nodes:\n  f: {type: swrm, agents: [{id: c, provider: openai, prompt: p}]}\n  n: {agent: a, writes: output.n}\n",
        ),
        expect![[r#"
            error 2:45 unresolved-name: `f.outputs.c` is not defined: `f` has no `outputs` (did you mean `f.agents.c.output`?) {maybe: "f.agents.c.output"}
        "#]],
    );
}
