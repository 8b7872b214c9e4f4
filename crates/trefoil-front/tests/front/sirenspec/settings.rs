//! Settings that are read and cannot have been meant: retries, requests, models, guardrails, defaults.

use super::support::{expect_one, flow};

#[track_caller]
fn node(more: &str, expected: &str) {
    expect_one(&flow("s", &format!("nodes:\n  n: {{agent: a, writes: output.n, {more}}}\n")), expected);
}

#[test]
fn a_retry_that_tries_nothing_again() {
    node(
        "retry: {backoff: linear}",
        "warning 4:43 no-effect: `retry` tries nothing again: `max_attempts` is 1 unless given (write how often it is tried in all: `max_attempts: 3`)",
    );
    node(
        "retry: {max_attempts: 1, base_delay: 2}",
        "warning 4:60 no-effect: `base_delay` has no effect: with `max_attempts: 1` nothing is tried again (`max_attempts` counts the first try too)",
    );
    node(
        "retry: {max_attempts: 3, on: []}",
        "warning 4:64 no-effect: nothing is tried again: `on` is empty (without `on` it is `[429, network_error]`)",
    );
    node(
        "retry: {max_attempts: 3, on: [200, 429]}",
        "warning 4:65 no-effect: `200` has no effect: it is the status of success",
    );
    // Of a default that holds for others, one node says no.
    node("retry: {max_attempts: 1}", "");
    node("retry: {max_attempts: 3, on: [429, 503], base_delay: 2, max_delay: 600}", "");
    node("retry: {max_attempts: 3, on: [], retry_on_guardrail: true}", "");
}

#[test]
fn delays_are_in_seconds() {
    node(
        "retry: {max_attempts: 3, base_delay: 1000, max_delay: 30000}",
        "warning 4:89 out-of-range: `max_delay` is in seconds: 30000 seconds are 8 hours (if milliseconds were meant, write `max_delay: 30`)",
    );
    node(
        "retry: {max_attempts: 3, base_delay: 1000}",
        "warning 4:72 no-effect: `base_delay` is above `max_delay`, which is 30 unless given, so every delay is 30 seconds (both are in seconds; `max_delay` is the upper bound)",
    );
}

#[track_caller]
fn swarm(agent: &str, expected: &str) {
    let body = format!(
        "nodes:\n  n: {{type: swrm, agents: [{{id: x, {agent}, prompt: p}}]}}\n  m: {{agent: a, writes: output.m}}\n"
    );
    expect_one(&flow("s", &body), expected);
}

#[test]
fn a_swarm_s_model_of_another_maker() {
    swarm(
        "provider: anthropic, model: gpt-4o-mini",
        "warning 4:64 bad-model: `gpt-4o-mini` is a model of `openai`, not of `anthropic` (write `provider: openai`)",
    );
    swarm(
        "provider: \"openai:gpt-4o\"",
        "error 4:46 unknown-provider: `provider` is the name of the provider alone, without a model (write two keys: `provider: openai` and `model: gpt-4o`)",
    );
    swarm("provider: openai, model: gpt-4o", "");
    swarm("provider: ollama, model: gpt-oss", "");
}

/// The findings about the `config` of a request.
#[track_caller]
fn request(config: &str, expected: &str) {
    let body = format!(
        "nodes:\n  one: {{agent: a, writes: working.x}}\n  t:\n    type: tool\n    tool: http\n    config:\n{config}\n"
    );
    let refused =
        "warning 7:11 refused: `tool: http` is not supported yet (a tool of this node's id can be registered instead)";
    expect_one(&flow("s", &body), &format!("{refused}\n{expected}"));
}

#[test]
fn a_body_that_no_server_reads() {
    let get =
        "warning 10:7 no-effect: `body` goes with a `GET`, for which a body has no meaning (write `method: POST`)";
    request("      url: https://x.example.com\n      body: '{{ one.output }}'", get);
    let json = |body: &str, expected: &str| {
        request(&format!("      url: https://x.example.com\n      method: POST\n      body: {body}"), expected);
    };
    json(r#"'{"a": 1,}'"#, "warning 11:13 wrong-type: the body is sent as JSON but does not parse: trailing comma");
    json(
        r#"'{"a": True}'"#,
        "warning 11:13 wrong-type: the body is sent as JSON but does not parse: expected value (JSON has `true`, `false` and `null`)",
    );
    json(
        r#""{'a': '{{ one.output }}'}""#,
        "warning 11:13 wrong-type: the body is sent as JSON but does not parse: its texts have single quotes (JSON has double quotes)",
    );
    json(
        r#"'{"a": {{ one.output }}'"#,
        "warning 11:13 wrong-type: the body is sent as JSON but does not parse: EOF while parsing an object",
    );
    for fine in [
        r#"'{"a": {{ one.output }}, "b": "x {{ one.output }}"}'"#,
        r#"'{"a": {"b": [{{ one.output }}, 1]}}'"#,
        "'{ {{ one.output }} }'",
        "'{{ one.output }}'",
        "a=1&b={{ one.output }}",
    ] {
        json(fine, "");
    }
    request(
        "      url: https://x.example.com\n      method: POST\n      headers: {content-type: text/plain}\n      body: '{a, b}'",
        "",
    );
}

#[test]
fn headers_that_nobody_asks_for() {
    let header = |header: &str, expected: &str| {
        request(&format!("      url: https://x.example.com\n      headers: {{{header}}}"), expected);
    };
    header(
        "Authorisation: x",
        "warning 10:17 invalid-name: `Authorisation` is nearly the header `Authorization`, and not it (write `Authorization`)",
    );
    header(
        "Content_Type: x",
        "warning 10:17 invalid-name: `Content_Type` is nearly the header `Content-Type`, and not it (write `Content-Type`)",
    );
    header(
        "\"Authorization:\": x",
        "warning 10:17 invalid-name: the header's name has the colon in it: `Authorization:` (write `Authorization`)",
    );
    for value in ["Bearer: {{ env.TOK }}", "Bearer{{ env.TOK }}"] {
        header(
            &format!("Authorization: \"{value}\""),
            "warning 10:33 no-effect: `Bearer` and a blank come before what it carries (write `Bearer {{ ... }}`)",
        );
    }
    header("authorization: \"Bearer {{ env.TOK }}\", X-Authorization: y, ACCEPT: z, Accept-Language: en", "");
}

#[test]
fn a_blank_in_an_address() {
    request(
        "      url: 'https://x.example.com/a b?c={{ one.output }}'",
        "warning 9:12 invalid-url: `https://x.example.com/a b?c={{ one.output }}` has a blank in it (an address has none: write `%20`, or remove it)",
    );
    request("      url: ' https://x.example.com/a?c={{ one.output }}'", "");
}

#[test]
fn a_tool_that_may_fail_leaves_null() {
    let body = |system: &str| {
        format!(
            "version: \"0.1\"\nagents: {{a: {{model: \"openai:m\", system: '{system}'}}}}\nnodes:\n  t: {{type: tool, tool: http, on_failure: skip, config: {{url: https://x.example.com}}}}\n  n: {{agent: a, writes: output.n}}\n"
        )
    };
    let refused =
        "warning 4:25 refused: `tool: http` is not supported yet (a tool of this node's id can be registered instead)";
    let perhaps = "warning 2:45 maybe-undefined: `t.output.status` may not be there: `t` may have failed, and leaves null then (write `{{ t.output.status | default('...') }}`)";
    expect_one(&body("{{ t.output.status }}"), &format!("{perhaps}\n{refused}"));
    expect_one(&body("{{ t.output }} {{ t.output.status | default(\"\") }}"), refused);
}

#[test]
fn guardrails_that_do_nothing() {
    let list = |list: &str, expected: &str| {
        expect_one(
            &flow("s", &format!("nodes: {{n: {{agent: a, writes: output.n}}}}\nguardrails: {list}\n")),
            expected,
        );
    };
    list(
        "[injection, length, injection]",
        "warning 4:33 no-effect: `injection` has no effect: it is in the list already",
    );
    list(
        "[{name: pii, config: {entities: []}}]",
        "warning 4:45 no-effect: `pii` looks for nothing: `entities` is empty (leave `entities` out to look for all of them)",
    );
    list(
        "[injection, {name: pii, config: {entities: [email]}}, {name: pii, config: {entities: [ssn], action: block}}]",
        "",
    );
}

#[test]
fn a_word_for_a_default_is_the_default() {
    let input = |input: &str, expected: &str| {
        expect_one(
            &flow(
                "{{ inputs.x }}",
                &format!("nodes: {{n: {{agent: a, writes: output.n}}}}\ninput: {{message: m, {input}}}\n"),
            ),
            expected,
        );
    };
    for word in ["string", "integer", "required", "TODO", "<your name>", "..."] {
        input(
            &format!("x: {word}"),
            &format!(
                "warning 4:24 wrong-default: `x` is the text `{word}` unless given (write a default, or `x:` for a field that a run has to give)"
            ),
        );
    }
    for fine in ["x: text", "x: a string", "x: <b>", "x:"] {
        input(fine, "");
    }
    expect_one(
        &flow(
            "{{ inputs.data_type }}",
            "nodes: {n: {agent: a, writes: output.n}}\ninput: {message: m, data_type: string}\n",
        ),
        "",
    );
}

#[test]
fn a_path_into_a_default() {
    let read = |path: &str, expected: &str| {
        let body = "nodes: {n: {agent: a, writes: output.n}}\ninput: {message: m, user: {name: x, more: {}}, rows: [{name: x}]}\n";
        expect_one(&flow(&format!("{{{{ {path} }}}}"), body), expected);
    };
    read(
        "inputs.user.nmae",
        "warning 2:45 unknown-property: `inputs.user` has no `nmae` by its default, so a run without that input fails (did you mean `name`?)",
    );
    read(
        "inputs.rows.4",
        "warning 2:45 unknown-property: `inputs.rows` has no `4` by its default, so a run without that input fails",
    );
    for fine in ["inputs.user.name", "inputs.user.more.x", "inputs.rows.0.name", "inputs.user.nmae | default('x')"] {
        read(fine, "");
    }
    let factory = |path: &str, expected: &str| {
        let body = format!(
            "nodes: {{n: {{type: factory, agent: a, for_each: '{{{{ inputs.rows }}}}', writes: output.n, inputs: {{k: '{{{{ {path} }}}}'}}}}}}\ninput: {{message: m, rows: [{{name: x}}, {{name: y, of: z}}]}}\n"
        );
        expect_one(&flow("s {{ inputs.k }}", &body), expected);
    };
    factory(
        "item.nmae",
        "warning 3:103 unknown-property: no item of `inputs.rows` has `nmae` by its default, so a run without that input fails (did you mean `name`?)",
    );
    factory("item.of", "");
}

#[test]
fn parts_of_a_condition_that_compare_nothing() {
    let edge = |when: &str, expected: &str| {
        let nodes = "nodes: {n: {agent: a, writes: working.i}, m: {agent: a, writes: output.m}}\nedges:\n";
        expect_one(&flow("x", &format!("{nodes}  - {{from: n, to: m, when: '{when}'}}\n")), expected);
    };
    let alone = |at: usize, shown: &str, meant: &str| {
        format!(
            "warning 5:{at} constant-condition: `{shown}` is compared with nothing: alone it always holds (write `{meant}`)"
        )
    };
    edge(r#"working.i == "high" or "medium""#, &alone(52, "medium", r#"working.i in ("high", "medium")"#));
    edge(r#"working.i != "refund" and "x""#, &alone(55, "x", r#"working.i not in ("refund", "x")"#));
    edge(r#"working.i in ("a",) or ("b",)"#, &alone(53, "b", r#"working.i in ("a", "b")"#));
    edge(
        r#"working.i == "a" or working.i == "a""#,
        "warning 5:28 constant-condition: a part of the condition is there twice, and the second one has no effect (compare with another value, or remove one of the two)",
    );
    edge(
        r#"working.i in ("refund")"#,
        "warning 5:43 condition-bad-operator: after `in`, `refund` is a text: every part of it is in it, an empty one too (for a list of one write `(\"refund\",)`, or compare with `==`)",
    );
    for fine in [
        r#"working.i in ("refund",)"#,
        r#""refund" in working.i"#,
        r#"working.i == "a" or working.i == "b""#,
        r#"working.i and working.i != "x""#,
    ] {
        edge(fine, "");
    }
}

#[test]
fn a_condition_beside_an_edge_without_one() {
    let nodes = "nodes: {n: {agent: a, writes: working.i}, m: {agent: a, writes: output.m}}\nedges:\n";
    let edges = "  - {from: n, to: m}\n  - {from: n, to: m, when: 'working.i == \"x\"'}\n";
    expect_one(
        &flow("x", &format!("{nodes}{edges}")),
        "warning 6:28 no-effect: `when` has no effect: another edge from `n` to `m` has none (remove one of the two)",
    );
}

#[test]
fn what_other_systems_call_it() {
    let read = |path: &str, meant: &str| {
        let text = format!(
            "version: \"0.1\"\nagents:\n  a: {{model: \"openai:m\", system: s}}\n  b: {{model: \"openai:m\", system: s}}\n  z: {{model: \"openai:m\", system: '{{{{ {path} }}}}'}}\nstate: {{working: {{article: x}}}}\nnodes:\n  draft: {{agent: a, writes: working.text}}\n  agg: {{agent: b, writes: working.agg_text}}\n  many: {{type: factory, agent: b, swarm_size: 2, writes: working.many_text}}\n  last: {{agent: z, writes: output.last}}\n"
        );
        let all = super::support::findings(&[("flow.yaml", &text)]);
        assert!(all.contains(&format!("(did you mean `{meant}`?)")), "{path}: {all}");
    };
    read("output.agg", "agg.output");
    read("state.article", "working.article");
    read("state.working.article", "working.article");
    read("a.output", "draft.output");
    read("secrets.TOKEN", "env.TOKEN");
    read("ORDERS_TOKEN", "env.ORDERS_TOKEN");
    read("env:TOKEN", "env.TOKEN");
    read("many.output.0", "many.outputs.0");
}

#[test]
fn ends_of_edges_that_are_no_nodes() {
    let edge = |edge: &str, help: &str| {
        let text = format!("nodes:\n  n: {{agent: a, writes: working.i}}\nedges:\n  - {{{edge}}}\n");
        let all = super::support::findings(&[("flow.yaml", &flow("x", &text))]);
        assert!(all.contains(help), "{edge}: {all}");
    };
    edge("from: n, to: a", "(`a` is an agent; its node is `n`)");
    edge("from: n, to: END", "(a node without an edge out of it is an end: take this edge out)");
    edge("from: START, to: n", "(a node without an edge into it is a beginning: take this edge out)");
}

#[test]
fn keys_of_another_place_or_form() {
    node(
        "on_failure: abort",
        "error 4:47 wrong-type: `on_failure` must be a mapping, not text (write `on_failure: {action: abort}`)",
    );
    node(
        "when: 'working.x == 1'",
        "warning 4:35 unknown-key: node `n` has no key `when` (it belongs on an edge that leads to the node)",
    );
}

/// A workflow in which an agent with this prompt decides where it goes.
fn decides(system: &str, edges: [&str; 2]) -> String {
    let [first, second] = edges;
    format!(
        "version: \"0.1\"\nagents:\n  d: {{model: \"openai:m\", system: '{system}'}}\n  a: {{model: \"openai:m\", system: s}}\nnodes:\n  n: {{agent: d, writes: working.i}}\n  x: {{agent: a, writes: output.x}}\n  y: {{agent: a, writes: output.y}}\nedges:\n  - {{from: n, to: x, when: '{first}'}}\n  - {{from: n, to: y, when: '{second}'}}\n"
    )
}

#[test]
fn a_word_that_the_prompt_does_not_know() {
    let asked = |system: &str, edges, expected: &str| expect_one(&decides(system, edges), expected);
    let words = "Answer refund or general.";
    asked(
        words,
        [r#"working.i == "refnd""#, r#"working.i == "general""#],
        "warning 10:42 unknown-value: the prompt of `d` does not name `refnd`, though it names the others (did you mean `refund`?)",
    );
    asked(
        words,
        [r#"working.i == "refund ""#, r#"working.i == "general""#],
        "warning 10:42 unknown-value: `refund ` has a blank at its end or its beginning, and equals only text that has it too (write `\"refund\"`)",
    );
    asked(words, [r#"working.i == "refund""#, r#"working.i == "general""#], "");
    asked(words, [r#"working.i == "refund""#, r#"working.i == "billing""#], "");
    asked("Sort it.", [r#"working.i == "refnd""#, r#"working.i == "general""#], "");
}

#[test]
fn text_that_is_taken_for_a_yes() {
    let yes = |system: &str, when: &str, expected: &str| {
        expect_one(&decides(system, [when, r#"working.i == "other""#]), expected);
    };
    yes(
        "Is it fine? Answer yes or no.",
        "working.i",
        "warning 10:29 constant-condition: `working.i` is text; every non-empty text is true, even `no` (compare it: `working.i == \"yes\"`)",
    );
    yes(
        "Reply with `true`/`false`.",
        "not bool(working.i)",
        "warning 10:38 constant-condition: `working.i` is text; every non-empty text is true, even `false` (compare it: `working.i == \"true\"`)",
    );
    yes("Name what is wrong, if anything is.", "working.i", "");
    yes("Answer yes or no.", r#"working.i == "yes""#, "");
}

#[test]
fn more_brackets_of_other_languages() {
    let nodes = "nodes:\n  one: {agent: a, writes: working.one_text}\n  n: {agent: b, writes: output.n}\n";
    let read = |system: &str, expected: &str| {
        let agents = format!(
            "agents:\n  a: {{model: \"openai:m\", system: s}}\n  b: {{model: \"openai:m\", system: '{system}'}}\n"
        );
        expect_one(&format!("version: \"0.1\"\n{agents}{nodes}"), expected);
    };
    for form in ["<one.output>", "(( one.output ))"] {
        read(
            &format!("x {form}"),
            &format!(
                "warning 4:37 not-a-placeholder: `{form}` is text, and `one.output` is not read: a placeholder has two braces on both sides"
            ),
        );
    }
    read(
        "x {one_text}",
        "warning 4:37 not-a-placeholder: `{one_text}` is text, and `one_text` is not read: a placeholder has two braces on both sides",
    );
    read("<one_text>{{ one_text }}</one_text> (one.output) <one> {one}", "");
}

#[test]
fn a_call_that_may_use_more_than_the_run() {
    let budget = |max: u32, expected: &str| {
        let body = format!(
            "nodes: {{n: {{agent: a, writes: output.n, max_tokens_per_call: 8000}}}}\nbudget: {{max_tokens: {max}}}\n"
        );
        expect_one(&flow("s", &body), expected);
    };
    budget(
        4000,
        "warning 3:62 out-of-range: one call may use 8000 tokens, and the whole run no more than 4000 (lower it, or raise `max_tokens` of `budget`)",
    );
    budget(8000, "");
}
