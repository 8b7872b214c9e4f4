//! The contents of a file: types, ranges, words, keys, and settings without effect.

use expect_test::{Expect, expect};

use super::support::{check_one, findings, flow};
use crate::support::bless;

#[test]
fn the_top_level() {
    check_one(
        "agents: {}\n",
        expect![[r#"
            error 1:1 missing-key: the workflow needs `version` {maybe: write `version: "0.1"` above it: "version: \"0.1\"\n"}
            error 1:1 missing-key: the workflow needs `nodes`
        "#]],
    );
    check_one(
        "version: 0.1\nnodes: {}\n",
        expect![[r#"
            error 1:10 wrong-type: `version` must be text, not a number (put it in quotes: `"0.1"`) {fix: put quotes around it: "\"0.1\""}
        "#]],
    );
    check_one(
        "version: \"0.2\"\nnodes: {}\n",
        expect![[r#"
            warning 1:10 unknown-value: unknown version `0.2`: the file is read as `0.1` (write `version: "0.1"`)
        "#]],
    );
    check_one(
        "version: \"0.1\"\nnodes: []\n",
        expect![[r#"
            error 2:8 wrong-type: `nodes` must be a mapping, not a list
        "#]],
    );
    check_one(
        "version: \"0.1\"\nnodes: {}\nedgs: []\n",
        expect![[r#"
            error 3:1 unknown-key: the workflow has no key `edgs` (did you mean `edges`? without it the nodes run in the order of the file) {fix: "edges"}
        "#]],
    );
    check_one(
        "version: \"0.1\"\nnodes: {}\nagents: null\nedges: null\ninput: null\nstate: null\nbudget: null\n",
        expect![""],
    );
    check_one(
        "version: \"0.1\"\nnodes: {}\nstate: {working: 3, outptu: {}}\n",
        expect![[r#"
            error 3:18 wrong-type: `working` must be a mapping, not a number
            warning 3:21 unknown-key: state has no key `outptu` (did you mean `output`?) {fix: "output"}
        "#]],
    );
    check_one(
        "version: \"0.1\"\nnodes: {}\ninput: {message: 3}\n",
        expect![[r#"
            error 3:18 wrong-type: `message` must be text, not a number
        "#]],
    );
    check_one(
        "version: \"0.1\"\nnodes: {}\ndefaults: {budget: {max_tokens: 1}, retries: 2}\n",
        expect![[r#"
            warning 3:12 no-effect: `budget` has no effect: a budget goes at the top of the file
            warning 3:37 unknown-key: defaults has no key `retries` (did you mean `retry`?) {maybe: "retry"}
        "#]],
    );
}

#[test]
fn agents() {
    let agents =
        |text: &str| format!("version: \"0.1\"\nagents:\n{text}nodes: {{n: {{agent: a, writes: output.n}}}}\n");
    check_one(
        &agents("  a: {model: \"openai:m\", sytem: x}\n"),
        expect![[r#"
            error 3:26 unknown-key: agent `a` has no key `sytem`, and lacks `system` (did you mean `system`?) {fix: "system"}
        "#]],
    );
    check_one(
        &agents("  a: {model: gpt-4o, system: x}\n"),
        expect![[r#"
            error 3:14 bad-model: `gpt-4o` is not of the form `provider:model` (for example `openai:gpt-4o`)
        "#]],
    );
    check_one(
        &agents("  a: {model: openai/gpt-4o, system: x}\n"),
        expect![[r#"
            error 3:14 bad-model: `openai/gpt-4o` is not of the form `provider:model` (write `openai:gpt-4o`)
        "#]],
    );
    check_one(&agents("  a: {model: \"ollama:llama3:8b\", system: \"\"}\n"), expect![""]);
    check_one(
        &agents("  a: {model: \"openai:m\", system: 3}\n"),
        expect![[r#"
            error 3:34 wrong-type: `system` must be text, not a number {fix: "\"3\""}
        "#]],
    );
    check_one(
        &agents("  a: {model: \"openai:m\", system: x}\n  b: {model: \"openai:m\", system: \"{{ x\"}\n"),
        expect![[r#"
            warning 4:3 unused: agent `b` is never used
            error 4:35 template-unclosed: `{{ x` has no closing `}}` (end it with `}}`; a literal `{{` cannot be escaped here; pass such text in as a value) {maybe: close it with `}}`: "{{ x }}"}
        "#]],
    );
    // An agent that no node uses may have been meant for a factory.
    check_one(
        &agents(
            "  a: {model: \"openai:m\", system: x}\n  b: {model: \"openai:m\", system: \"{{ item }} {{ inputs.k }}\"}\n",
        ),
        expect![[r#"
            warning 4:3 unused: agent `b` is never used
        "#]],
    );
}

#[test]
fn nodes_of_every_type() {
    let nodes = |text: &str| flow("x", &format!("nodes:\n{text}"));
    check_one(
        &nodes("  n: {agent: a}\n"),
        expect![[r#"
            error 4:3 missing-key: node `n` needs `writes`
        "#]],
    );
    check_one(
        &nodes("  n: {agent: b, writes: output.n}\n"),
        expect![[r#"
            warning 2:10 unused: agent `a` is never used
            error 4:14 unknown-reference: unknown agent `b` (did you mean `a`?) {maybe: "a"}
        "#]],
    );
    check_one(
        &nodes("  n: {type: swarm, agent: a}\n  m: {agent: a, writes: output.m}\n"),
        expect![[r#"
            error 4:13 unknown-value: `type` cannot be `swarm` (did you mean `swrm`? available: `agent`, `swrm`, `factory`, `workflow`, `human`, `tool`) {fix: "swrm"}
        "#]],
    );
    check_one(
        &nodes("  n: {agent: a, writes: memory.x}\n"),
        expect![[r#"
            error 4:25 unknown-value: `writes` must start with `working.` or `output.`, not `memory` (persistent memory is not supported yet)
        "#]],
    );
    check_one(
        &nodes("  n: {agent: a, writes: outptu.x}\n"),
        expect![[r#"
            error 4:25 unknown-value: `writes` must start with `working.` or `output.`, not `outptu` (did you mean `output`?) {fix: "output"}
        "#]],
    );
    check_one(
        &nodes("  n: {agent: a, writes: output..x}\n"),
        expect![[r#"
            error 4:25 bad-path: `output..x` has an empty segment
        "#]],
    );
    check_one(
        &nodes("  n: {agent: a, writes: output.x, max_tokens_per_call: 0, streaming: maybe}\n"),
        expect![[r#"
            error 4:56 out-of-range: `max_tokens_per_call` must be at least 1, not 0
            error 4:70 wrong-type: `streaming` must be true or false, not text
        "#]],
    );
    check_one(
        &nodes("  n: {type: human, writes: output.n, on_timeout: use_default}\n  m: {agent: a, writes: output.m}\n"),
        expect![[r#"
            warning 4:38 no-effect: `on_timeout` has no effect: without `timeout` the step waits forever
            error 4:50 missing-key: `on_timeout: use_default` needs `default_output`
        "#]],
    );
    check_one(
        &nodes(
            "  n: {type: human, writes: output.n, default_output: x, timeout: 0}\n  m: {agent: a, writes: output.m}\n",
        ),
        expect![[r#"
            warning 4:38 no-effect: `default_output` has no effect: `on_timeout` is not `use_default`
            error 4:66 out-of-range: `timeout` must be more than 0 seconds, not 0
        "#]],
    );
    check_one(
        &nodes("  n: {type: workflow}\n  m: {agent: a, writes: output.m}\n"),
        expect![[r#"
            error 4:3 missing-key: node `n` needs `ref`
        "#]],
    );
    check_one(
        &nodes("  n: 3\n  m: {agent: a, writes: output.m}\n"),
        expect![[r#"
            error 4:6 wrong-type: node `n` must be a mapping, not a number
        "#]],
    );
}

#[test]
fn scalars_are_read_as_leniently_as_the_original_does() {
    let text = flow(
        "x",
        "nodes:\n  n: {agent: a, writes: output.n, streaming: \"no\", max_tokens_per_call: \"7\", retry: {max_attempts: 2.0, base_delay: \"0.5\", jitter: yes, on: [429, \"503\", network_error]}}\n",
    );
    check_one(&text, expect![""]);
    let text = flow(
        "x",
        "nodes:\n  n: {agent: a, writes: output.n, max_tokens_per_call: 2.5, retry: {max_attempts: two, base_delay: soon, on: [1000, [x]]}}\n",
    );
    check_one(
        &text,
        expect![[r#"
            error 4:56 wrong-type: `max_tokens_per_call` must be a whole number, not 2.5
            error 4:83 wrong-type: `max_attempts` must be a whole number, not text
            error 4:100 wrong-type: `base_delay` must be a number of seconds, not text
            error 4:111 out-of-range: `on` must name HTTP statuses from 100 to 599, not 1000
            error 4:117 wrong-type: `on` must be an HTTP status or a class of failures, not a list
        "#]],
    );
}

#[test]
fn times_with_a_unit_are_fixed() {
    for (key, value, expected) in [
        (
            "timeout_per_instance",
            "30s",
            expect![[r#"
                error 4:3 missing-key: node `f` needs `writes`
                error 4:71 wrong-type: `timeout_per_instance` must be a whole number, not text {fix: "30"}
            "#]],
        ),
        (
            "timeout_per_instance",
            "2 minutes",
            expect![[r#"
                error 4:3 missing-key: node `f` needs `writes`
                error 4:71 wrong-type: `timeout_per_instance` must be a whole number, not text {fix: "120"}
            "#]],
        ),
        (
            "timeout_per_instance",
            "500ms",
            expect![[r#"
                error 4:3 missing-key: node `f` needs `writes`
                error 4:71 wrong-type: `timeout_per_instance` must be a whole number, not text
            "#]],
        ),
        (
            "timeout_per_instance",
            "1_200",
            expect![[r#"
                error 4:3 missing-key: node `f` needs `writes`
                error 4:71 wrong-type: `timeout_per_instance` must be a whole number, not text {fix: "1200"}
            "#]],
        ),
    ] {
        let text = format!(
            "version: \"0.1\"\nagents: {{a: {{model: \"openai:m\", system: x}}}}\nnodes:\n  f: {{type: factory, agent: a, for_each: '[1]', {key}: {value}}}\n"
        );
        check_one(&text, expected);
    }
    for value in ["500ms", "1.5 s", "\"soon\""] {
        let text = flow("x", &format!("nodes:\n  n: {{agent: a, writes: output.n, retry: {{base_delay: {value}}}}}\n"));
        let found = findings(&[("flow.yaml", &text)]);
        let expected = match value {
            "500ms" => expect![[r#"
                warning 4:35 no-effect: `retry` allows no retry: `max_attempts` is 1 by default (set the total number of attempts: `max_attempts: 3`)
                error 4:55 wrong-type: `base_delay` must be a number of seconds, not text {fix: "0.5"}
            "#]],
            "1.5 s" => expect![[r#"
                warning 4:35 no-effect: `retry` allows no retry: `max_attempts` is 1 by default (set the total number of attempts: `max_attempts: 3`)
                error 4:55 wrong-type: `base_delay` must be a number of seconds, not text {fix: "1.5"}
            "#]],
            _ => expect![[r#"
                warning 4:35 no-effect: `retry` allows no retry: `max_attempts` is 1 by default (set the total number of attempts: `max_attempts: 3`)
                error 4:55 wrong-type: `base_delay` must be a number of seconds, not text
            "#]],
        };
        expected.assert_eq(&found);
    }
}

#[test]
fn policies() {
    let node = |text: &str| flow("x", &format!("nodes:\n  n: {{agent: a, writes: output.n, {text}}}\n"));
    check_one(
        &node("retry: {max_attempts: 2, strategy: exponential, backof: linear}"),
        expect![[r#"
            warning 4:60 unknown-key: retry has no key `strategy` (did you mean `backoff`?) {maybe: "backoff"}
            warning 4:83 unknown-key: retry has no key `backof` (did you mean `backoff`?) {fix: "backoff"}
        "#]],
    );
    check_one(
        &node("retry: {max_attempts: 2, on: [network_eror, weather]}"),
        expect![[r#"
            warning 4:65 no-effect: `network_eror` has no effect: it is not a class of failures (did you mean `network_error`?) {fix: "network_error"}
            warning 4:79 no-effect: `weather` has no effect: it is not a class of failures (use an HTTP status, `network_error`, `timeout`, `guardrail_violation`)
        "#]],
    );
    check_one(
        &node("on_failure: {action: fallback}"),
        expect![[r#"
            error 4:35 missing-key: on_failure needs `fallback_node`
        "#]],
    );
    check_one(
        &node("on_failure: {action: fallback, fallback_node: m}"),
        expect![[r#"
            error 4:81 unknown-reference: `fallback_node` refers to an unknown node `m` (did you mean `n`?) {maybe: "n"}
        "#]],
    );
    check_one(
        &node("on_failure: {action: fallback, fallback_node: n}"),
        expect![[r#"
            error 4:81 reference-cycle: `n` cannot be its own fallback
        "#]],
    );
    check_one(
        &node("on_failure: {action: skip, default_output: x, fallback_node: n}"),
        expect![[r#"
            warning 4:62 no-effect: `default_output` has no effect: `action` is not `use_default`
            warning 4:81 no-effect: `fallback_node` has no effect: `action` is not `fallback`
        "#]],
    );
    check_one(
        &node("on_failure: {action: use_default, default_output: \"{{ x.output }}\"}"),
        expect![[r#"
            warning 4:86 no-effect: placeholders have no effect in `default_output`: it is used as written (placeholders work in `system`, `prompt`, `for_each`, `swarm_size`, `inputs` and tool `config`)
        "#]],
    );
}

#[test]
fn budgets() {
    let top = |text: &str| flow("x", &format!("nodes: {{n: {{agent: a, writes: output.n}}}}\nbudget: {text}\n"));
    check_one(&top("{max_tokens: 5, max_calls: 3, max_duration_s: 0.5, on_exceeded: warn}"), expect![""]);
    check_one(
        &top("{on_exceeded: stop}"),
        expect![[r#"
            error 4:1 missing-key: `budget` needs at least one limit (set `max_tokens`, `max_calls`, `max_cost_usd` or `max_duration_s`)
            error 4:23 unknown-value: `on_exceeded` cannot be `stop` (available: `abort`, `warn`, `skip_remaining`)
        "#]],
    );
    check_one(
        &top("{max_cost_usd: 0}"),
        expect![[r#"
            error 4:24 out-of-range: `max_cost_usd` must be more than 0
        "#]],
    );
    check_one(&top("{max_cost_usd: 0.5}"), expect![""]);
}

#[test]
fn guardrails() {
    let top = |text: &str| flow("x", &format!("nodes: {{n: {{agent: a, writes: output.n}}}}\nguardrails: {text}\n"));
    check_one(
        &top(
            "[injection, length, {name: length, config: {max_chars: 9, mode: raise}}, {name: pii, config: {entities: [email], action: block, replacement: x}}]",
        ),
        expect![""],
    );
    check_one(
        &top("[injektion, {config: {}}, 3]"),
        expect![[r#"
            error 4:14 unknown-value: unknown guardrail `injektion` (did you mean `injection`? available: `injection`, `length`, `pii`, `schema`, `cost_cap`) {fix: "injection"}
            error 4:26 missing-key: a guardrail needs `name`
            error 4:39 wrong-type: `guardrails` must be a list of names or of `{name, config}`, not a number
        "#]],
    );
    check_one(
        &top("[schema, cost_cap, {name: schema, config: {schema: {type: objekt}}}]"),
        expect![[r#"
            error 4:14 missing-key: the `schema` guardrail needs a schema (write `{name: schema, config: {schema: {type: object}}}`)
            error 4:22 missing-key: the `cost_cap` guardrail needs a limit (write `{name: cost_cap, config: {max_tokens: 10000}}`)
            error 4:71 invalid-schema: unknown type `objekt` (did you mean `object`? available: `string`, `number`, `integer`, `boolean`, `object`, `array`, `null`) {fix: "object"}
        "#]],
    );
    check_one(&top("[{name: cost_cap, config: {max_usd: 1}}]"), expect![""]);
    check_one(
        &top("[{name: pii, config: {entities: [mail], entity: email}}]"),
        expect![[r#"
            error 4:46 unknown-value: `entities` cannot be `mail` (did you mean `email`? available: `email`, `phone`, `ssn`, `credit_card`) {fix: "email"}
            warning 4:53 unknown-key: config has no key `entity` (it is ignored; available: `action`, `replacement`)
        "#]],
    );
}

#[test]
fn swarms_and_factories() {
    let nodes = |text: &str| format!("version: \"0.1\"\nnodes:\n{text}");
    check_one(
        &nodes("  s: {type: swrm, agents: [], writes: output.s, concurrency: 0}\n"),
        expect![[r#"
            error 3:27 out-of-range: `agents` needs at least one agent
            warning 3:31 no-effect: `writes` has no effect: a swrm node writes `output.<its id>`; other nodes read `<its id>.output`
            error 3:62 out-of-range: `concurrency` must be at least 1, not 0
        "#]],
    );
    check_one(
        &nodes(
            "  s: {type: swrm, agents: [{id: x, provider: openai, prompt: p}, {id: x, provider: other, prompt: p}]}\n",
        ),
        expect![[r#"
            error 3:71 duplicate-id: two agents of this swarm are named `x` [3:33 the first one]
            error 3:84 missing-key: the provider `other` has no default model (write `model`)
        "#]],
    );
    check_one(
        &nodes("  f: {type: factory, writes: working.f}\n"),
        expect![[r#"
            error 3:3 missing-key: a factory needs `agent` or `swrm`
            error 3:3 missing-key: a factory needs `for_each` or `swarm_size`
        "#]],
    );
    check_one(
        &nodes(
            "  f: {type: factory, swrm: {agents: [{id: x, provider: openai, prompt: p}]}, swarm_size: 2, writes: working.f}\n",
        ),
        expect![[r#"
            error 3:78 wrong-type: `swarm_size` works only with `agent`, not with `swrm` (use `for_each`)
        "#]],
    );
    check_one(
        &flow("x", "nodes: {f: {type: factory, agent: a, for_each: [a, b], writes: working.f}}\n"),
        expect![[r#"
            error 3:48 wrong-type: `for_each` must be text, not a list (write the list as JSON in quotes: `'["a", "b"]'`)
        "#]],
    );
    check_one(
        &flow("x", "nodes: {f: {type: factory, agent: a, for_each: a and b, writes: working.f}}\n"),
        expect![[r#"
            error 3:48 bad-fan-out: `for_each` must be a JSON list (for example `'["a", "b"]'`, or a placeholder such as `{{ plan.output }}`)
        "#]],
    );
    check_one(
        &flow("x", "nodes: {f: {type: factory, agent: a, for_each: '[]', swarm_size: 3, writes: working.f}}\n"),
        expect![[r#"
            error 3:54 conflicting-keys: a factory cannot have both `for_each` and `swarm_size` [3:38 the other one]
        "#]],
    );
    check_one(
        &flow("x", "nodes: {f: {type: factory, agent: a, swarm_size: 101, writes: working.f}}\n"),
        expect![[r#"
            error 3:50 out-of-range: `swarm_size` must be from 1 to 100, not 101
        "#]],
    );
    check_one(
        &flow("x", "nodes: {f: {type: factory, agent: a, swarm_size: \"5\", inputs: {k: [1]}, writes: working.f}}\n"),
        expect![[r#"
            error 3:67 wrong-type: `k` must be text, not a list
        "#]],
    );
    check_one(
        &flow(
            "x",
            "nodes: {f: {type: factory, agent: a, for_each: \"{{ inputs.message | default('none') }}\", writes: working.f}}\n",
        ),
        expect![[r#"
            warning 3:52 bad-fan-out: the default of `for_each` is not a JSON list: `none` (write `'[]'` for no instances)
        "#]],
    );
}

#[test]
fn tools_are_read_and_refused() {
    let node = |text: &str| format!("version: \"0.1\"\nnodes: {{t: {{type: tool, {text}}}}}\n");
    check_one(
        &node("tool: http, config: {url: \"http://x\", method: get, header: {}}"),
        expect![[r#"
            error 2:71 unknown-value: `method` cannot be `get` (did you mean `GET`? available: `GET`, `POST`) {fix: "GET"}
            warning 2:76 unknown-key: config has no key `header` (did you mean `headers`?) {fix: "headers"}
        "#]],
    );
    check_one(
        &node("tool: python, config: {module: m, function: f, kwargs: {}}, output_key: a..b"),
        expect![[r#"
            warning 2:72 no-effect: `kwargs` has no effect: pass arguments in `args`
            error 2:97 bad-path: `a..b` has an empty segment
        "#]],
    );
}

#[test]
fn edges() {
    let edges = |text: &str| {
        flow(
            "x",
            &format!("nodes: {{n: {{agent: a, writes: output.n}}, m: {{agent: a, writes: output.m}}}}\nedges:\n{text}"),
        )
    };
    check_one(
        &edges("  - {from: n, to: mm}\n  - {form: n, to: m}\n"),
        expect![[r#"
            error 5:19 unknown-reference: `to` refers to an unknown node `mm` (did you mean `m`?) {maybe: "m"}
            error 6:6 unknown-key: an edge has no key `form`, and lacks `from` (did you mean `from`?) {fix: "from"}
        "#]],
    );
    check_one(&edges("  - {from_node: n, to_node: m, when: true}\n"), expect![""]);
    check_one(
        &edges("  - {from: n, to: m, when: 'working.n.output && true'}\n"),
        expect![[r#"
            error 5:46 condition-bad-operator: `&&` is not supported here (write `and`) {fix: "and"}
        "#]],
    );
    check_one(
        &edges("  - {from: n, to: m, when: 'inputs.message == \"x\"'}\n"),
        expect![[r#"
            error 5:29 condition-unknown-name: unknown name `inputs` (conditions read only `working`, `output` and `_budget`; have a node read it, and compare its result)
        "#]],
    );
}

#[test]
fn memory_has_no_effect_where_it_is_declared_and_is_undefined_where_it_is_read() {
    check_one(
        &flow("{{ memory.notes }}", "memory: {backend: sqlite}\nnodes: {n: {agent: a, writes: output.n}}\n"),
        expect![[r#"
            error 2:45 unresolved-name: `memory.notes` is not defined: nothing is kept between runs (pass it as a field of `input`)
            warning 3:1 no-effect: `memory` has no effect: nothing is kept between runs (pass what a run needs as a field of `input`)
        "#]],
    );
}

#[test]
fn what_speaks_for_the_format() {
    use trefoil_front::sirenspec::SirenSpecFrontEnd;
    use trefoil_front::{FrontEnd, companion_kind};
    use trefoil_syntax::{FileId, SourceFile, yaml};

    let root = |text: &str| {
        yaml::parse(FileId(0), &SourceFile::new("x.yaml", text), &yaml::YamlLimits::default()).root.unwrap()
    };
    let keys = |text: &str| SirenSpecFrontEnd.find_evidence(&root(text)).into_iter().map(|e| e.key).collect::<Vec<_>>();
    assert_eq!(keys("version: \"0.1\"\nnodes: {}\nedges: []\nagents: {}\n"), ["nodes", "edges", "agents"]);
    assert_eq!(keys("kind: llm\nid: x\n"), [""; 0]);
    assert_eq!(keys("[nodes]\n"), [""; 0]);
    let beside = |text: &str, expected: Expect| bless(companion_kind(&root(text)).unwrap_or_default(), &expected);
    beside("workflow: a.yaml\ninput: x\n", expect!["a SirenSpec test fixture, not a workflow"]);
    beside("interactions: [{key: x, response: y}]\n", expect!["a SirenSpec cassette, not a workflow"]);
    beside("interactions: []\n", expect![""]);
}

#[test]
fn a_key_is_not_renamed_to_a_missing_one_that_it_does_not_resemble() {
    let flow = |agent: &str, node: &str| {
        format!("version: \"0.1\"\nagents:\n  a: {agent}\nnodes: {{ n: {node} }}\ninput: {{ message: hi }}\n")
    };
    check_one(
        &flow("{ system: Sort., max_tokens: 50 }", "{ agent: a, writes: output.x }"),
        expect![[r#"
            error 3:3 missing-key: agent `a` needs `model`
            warning 3:23 unknown-key: agent `a` has no key `max_tokens` (it is ignored; available: `model`, `guardrails`)
        "#]],
    );
    // A key without a space after its colon is one word.
    check_one(
        &flow("{ model: 'openai:m', system: Sort. }", "{ agent:a, writes: output.x }"),
        expect![[r#"
        warning 3:3 unused: agent `a` is never used
        error 4:15 unknown-key: `agent:a` is one word, so node `n` has no `agent` here {fix: write `agent: a`: a key needs a space after `:`: "agent: a"}
    "#]],
    );
    // A misspelt key without a value says nothing.
    check_one(
        &flow("{ model: 'openai:m', system: Sort. }", "{ agnet, writes: output.x }"),
        expect![[r#"
            warning 3:3 unused: agent `a` is never used
            error 4:10 missing-key: node `n` needs `agent`
            warning 4:15 unknown-key: node `n` has no key `agnet` (did you mean `agent`?)
        "#]],
    );
}
