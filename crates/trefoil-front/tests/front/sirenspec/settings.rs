//! Valid settings that cannot be intended: retries, requests, guardrails, budgets.

use expect_test::{Expect, expect};

use super::support::{check_one, flow, node_with, offered};

#[test]
fn a_retry_that_tries_nothing_again() {
    node_with(
        "retry: {backoff: linear}",
        expect![[r#"
            warning 4:35 no-effect: `retry` allows no retry: `max_attempts` is 1 by default (set the total number of attempts: `max_attempts: 3`)
        "#]],
    );
    node_with(
        "retry: {max_attempts: 1, base_delay: 2}",
        expect![[r#"
            warning 4:60 no-effect: `base_delay` has no effect: `max_attempts: 1` allows no retry (`max_attempts` includes the first attempt)
        "#]],
    );
    node_with(
        "retry: {max_attempts: 3, on: []}",
        expect![[r#"
            warning 4:64 no-effect: `retry` has no effect: `on` is empty (remove `on` to use its default, `[429, network_error]`)
        "#]],
    );
    node_with(
        "retry: {max_attempts: 3, on: [200, 429]}",
        expect![[r#"
            warning 4:65 no-effect: `200` has no effect: it means success
        "#]],
    );
    // One node opts out of a default that applies to others.
    node_with("retry: {max_attempts: 1}", expect![""]);
    node_with("retry: {max_attempts: 3, on: [429, 503], base_delay: 2, max_delay: 600}", expect![""]);
    node_with("retry: {max_attempts: 3, on: [], retry_on_guardrail: true}", expect![""]);
}

#[test]
fn delays_are_in_seconds() {
    node_with(
        "retry: {max_attempts: 3, base_delay: 1000, max_delay: 30000}",
        expect![[r#"
            warning 4:89 out-of-range: `max_delay` is in seconds: 30000 seconds are 8 hours (if milliseconds were meant, write `max_delay: 30`)
        "#]],
    );
    node_with(
        "retry: {max_attempts: 3, base_delay: 1000}",
        expect![[r#"
            warning 4:72 no-effect: `base_delay` is above `max_delay`, which is 30 by default, so every delay is 30 seconds (both are in seconds; `max_delay` is the upper bound)
        "#]],
    );
}

/// The findings about the `config` of a request.
#[track_caller]
fn request(config: &str, expected: Expect) {
    let body = format!(
        "nodes:\n  one: {{agent: a, writes: working.x}}\n  t:\n    type: tool\n    tool: http\n    config:\n{config}\n"
    );
    check_one(&flow("s", &body), expected);
}

#[test]
fn a_body_that_no_server_reads() {
    request(
        "      url: https://x.example.com\n      body: '{{ one.output }}'",
        expect![[r#"
            warning 10:7 no-effect: a GET request has no body (write `method: POST`)
        "#]],
    );
    let json = |body: &str, expected: Expect| {
        request(&format!("      url: https://x.example.com\n      method: POST\n      body: {body}"), expected);
    };
    json(
        r#"'{"a": 1,}'"#,
        expect![[r#"
            warning 11:13 wrong-type: the body is sent as JSON but does not parse: trailing comma
        "#]],
    );
    json(
        r#"'{"a": True}'"#,
        expect![[r#"
            warning 11:13 wrong-type: the body is sent as JSON but does not parse: expected value (write `true`, `false` or `null`)
        "#]],
    );
    json(
        r#""{'a': '{{ one.output }}'}""#,
        expect![[r#"
            warning 11:13 wrong-type: the body is sent as JSON but does not parse: its texts have single quotes (use double quotes: JSON requires them)
        "#]],
    );
    json(
        r#"'{"a": {{ one.output }}'"#,
        expect![[r#"
            warning 11:13 wrong-type: the body is sent as JSON but does not parse: EOF while parsing an object
        "#]],
    );
    for fine in [
        r#"'{"a": {{ one.output }}, "b": "x {{ one.output }}"}'"#,
        r#"'{"a": {"b": [{{ one.output }}, 1]}}'"#,
        "'{ {{ one.output }} }'",
        "'{{ one.output }}'",
        "a=1&b={{ one.output }}",
    ] {
        json(fine, expect![""]);
    }
    request(
        "      url: https://x.example.com\n      method: POST\n      headers: {content-type: text/plain}\n      body: '{a, b}'",
        expect![""],
    );
}

#[test]
fn headers_that_nobody_asks_for() {
    let header = |header: &str, expected: Expect| {
        request(&format!("      url: https://x.example.com\n      headers: {{{header}}}"), expected);
    };
    header(
        "Authorisation: x",
        expect![[r#"
            warning 10:17 invalid-name: unknown header `Authorisation` (did you mean `Authorization`?) {maybe: "Authorization"}
        "#]],
    );
    header(
        "Content_Type: x",
        expect![[r#"
            warning 10:17 invalid-name: unknown header `Content_Type` (did you mean `Content-Type`?) {maybe: "Content-Type"}
        "#]],
    );
    header(
        "\"Authorization:\": x",
        expect![[r#"
            warning 10:17 invalid-name: a header name cannot contain a colon: `Authorization:` (did you mean `Authorization`?) {maybe: 10:18 "Authorization"}
        "#]],
    );
    for (value, expected) in [
        (
            "Bearer: {{ env.TOK }}",
            expect![[r#"
                warning 10:33 no-effect: `Bearer` needs a space before its value (write `Bearer {{ ... }}`) {maybe: write `Bearer `: "Bearer"}
            "#]],
        ),
        (
            "Bearer{{ env.TOK }}",
            expect![[r#"
                warning 10:33 no-effect: `Bearer` needs a space before its value (write `Bearer {{ ... }}`) {maybe: "Bearer "}
            "#]],
        ),
    ] {
        header(&format!("Authorization: \"{value}\""), expected);
    }
    header("authorization: \"Bearer {{ env.TOK }}\", X-Authorization: y, ACCEPT: z, Accept-Language: en", expect![""]);
}

#[test]
fn a_request_that_would_take_longer_than_any_may() {
    request("      url: https://x.example.com\n      timeout: 600", expect![""]);
    request(
        "      url: https://x.example.com\n      timeout: 900",
        expect![[r#"
        warning 10:16 no-effect: a request is stopped after 600 seconds (lower it, or start the work with one request and fetch its result with another)
    "#]],
    );
}

#[test]
fn a_blank_in_an_address() {
    request(
        "      url: 'https://x.example.com/a b?c={{ one.output }}'",
        expect![[r#"
            warning 9:12 invalid-url: `https://x.example.com/a b?c={{ one.output }}` contains a space (write `%20`, or remove it)
        "#]],
    );
    request("      url: ' https://x.example.com/a?c={{ one.output }}'", expect![""]);
}

#[test]
fn guardrails_that_do_nothing() {
    let list = |list: &str, expected: Expect| {
        check_one(&flow("s", &format!("nodes: {{n: {{agent: a, writes: output.n}}}}\nguardrails: {list}\n")), expected);
    };
    list(
        "[injection, length, injection]",
        expect![[r#"
            warning 4:33 no-effect: `injection` has no effect: it is already in the list [4:14 the first one]
        "#]],
    );
    list(
        "[{name: pii, config: {entities: []}}]",
        expect![[r#"
            warning 4:45 no-effect: `entities` is empty, so `pii` looks for nothing (remove `entities` to look for all of them)
        "#]],
    );
    list(
        "[injection, {name: pii, config: {entities: [email]}}, {name: pii, config: {entities: [ssn], action: block}}]",
        expect![""],
    );
}

#[test]
fn a_call_that_may_use_more_than_the_run() {
    let budget = |max: u32, expected: Expect| {
        let body = format!(
            "nodes: {{n: {{agent: a, writes: output.n, max_tokens_per_call: 8000}}}}\nbudget: {{max_tokens: {max}}}\n"
        );
        check_one(&flow("s", &body), expected);
    };
    budget(
        4000,
        expect![[r#"
            warning 3:62 conflicting-limits: one call may use 8000 tokens, but the run's budget is 4000 (lower it, or raise `max_tokens` of `budget`)
        "#]],
    );
    budget(8000, expect![""]);
}

#[test]
fn addresses_that_are_none() {
    let tool = |url: &str, expected: Expect| {
        let text = format!(
            "nodes:\n  m: {{agent: a, writes: working.t}}\n  n: {{type: tool, tool: http, config: {{url: \"{url}\"}}}}\n"
        );
        check_one(&flow("x", &text), expected);
    };
    for (wrong, expected) in [
        (
            "api.example.com/x",
            expect![[r#"
                error 5:45 invalid-url: `api.example.com/x` is not an HTTP URL (start it with `https://` and a host)
            "#]],
        ),
        (
            "htps://x/y",
            expect![[r#"
                error 5:45 invalid-url: `htps://x/y` is not an HTTP URL (start it with `https://` and a host)
            "#]],
        ),
        (
            "file:///etc/x",
            expect![[r#"
                error 5:45 invalid-url: `file:///etc/x` is not an HTTP URL (start it with `https://` and a host)
            "#]],
        ),
        (
            "https:/x/y",
            expect![[r#"
                error 5:45 invalid-url: `https:/x/y` is not an HTTP URL (start it with `https://` and a host)
            "#]],
        ),
        (
            "https://exa mple.com",
            expect![[r#"
                error 5:45 invalid-url: `https://exa mple.com` is not an HTTP URL (start it with `https://` and a host)
            "#]],
        ),
        (
            "https:///x",
            expect![[r#"
                error 5:45 invalid-url: `https:///x` is not an HTTP URL (start it with `https://` and a host)
            "#]],
        ),
    ] {
        tool(wrong, expected);
    }
    for fine in [
        "https://x",
        "HTTP://x?{{ inputs.message }}",
        "{{ env.BASE }}/x",
        "https://{{ env.HOST }}/x",
        "https://a.{{ env.HOST }}",
    ] {
        tool(fine, expect![""]);
    }
}

#[test]
fn people_and_defaults_without_what_they_need() {
    check_one(
        &flow(
            "x",
            "nodes:\n  m: {agent: a, writes: working.t}\n  n: {type: human, prompt: \"\", writes: output.n, on_timeout: skip}\n",
        ),
        expect![[r#"
            warning 5:50 no-effect: `on_timeout` has no effect: without `timeout` the step waits forever
        "#]],
    );
    check_one(
        &flow("x", "nodes:\n  n: {agent: a, writes: output.n, on_failure: {action: use_default}}\n"),
        expect![[r#"
            warning 4:56 missing-key: `action: use_default` without `default_output` returns an empty text (set the text to use instead: `default_output: "..."`)
        "#]],
    );
    check_one(
        &flow(
            "x",
            "nodes:\n  n: {agent: a, writes: output.n, on_failure: {action: use_default, default_output: \"\"}}\n",
        ),
        expect![""],
    );
}

#[test]
fn keys_without_a_value() {
    check_one(
        &flow("x", "nodes:\n  n:\n    agent: a\n    writes: output.n\n    retry:\n    on_failure: null\n"),
        expect![[r#"
            warning 7:5 no-effect: `retry` has no value, so it has no effect
        "#]],
    );
    check_one(
        &flow("x", "nodes:\n  n:\n    type: factory\n    agent: a\n    for_each:\n    writes: output.n\n"),
        expect![[r#"
            error 7:5 missing-key: a factory needs `for_each` or `swarm_size`
        "#]],
    );
}

#[test]
fn a_fallback_that_leads_back() {
    let text = flow(
        "s",
        "nodes:\n  x: {agent: a, writes: output.x}\n  y: {agent: a, writes: output.y, on_failure: {action: fallback, fallback_node: x}}\nedges:\n  - {from: x, to: y}\n",
    );
    check_one(
        &text,
        expect![[r#"
            error 5:81 edge-cycle: the edges and a `fallback_node` form a cycle: `x` -> `y` -> `x` (a fallback cannot run before the node that it replaces) [7:5 `x` -> `y`]
        "#]],
    );
}

#[test]
fn a_number_of_another_unit_is_not_renamed_unseen() {
    let all = offered(&flow(
        "s",
        "nodes: {n: {agent: a, writes: output.n}}\nbudget: {max_tokens: 10, max_duration_ms: 300000}\n",
    ));
    assert!(matches!(all.as_slice(), [(text, false)] if text.contains("max_duration_s: 300000")), "{all:?}");
}

#[test]
fn advice_that_can_be_followed() {
    let write = |path: &str| flow("s", &format!("nodes:\n  n: {{agent: a, writes: '{path}'}}\n"));
    for (wrong, expected) in [
        (
            "output/y",
            expect![[r#"
                error 4:26 unknown-value: `writes` must start with `working.` or `output.`, not `output/y` (write `output.y`) {fix: "output.y"}
            "#]],
        ),
        (
            "$.output.y",
            expect![[r#"
                error 4:26 unknown-value: `writes` must start with `working.` or `output.`, not `$` (write `output.y`) {fix: 4:26 "output.y"}
            "#]],
        ),
        (
            "output[\"y\"]",
            expect![[r#"
                error 4:26 unknown-value: `writes` must start with `working.` or `output.`, not `output["y"]` (write `output.y`) {fix: "output.y"}
            "#]],
        ),
        (
            "/output/y",
            expect![[r#"
                error 4:26 unknown-value: `writes` must start with `working.` or `output.`, not `/output/y` (write `output.y`) {fix: "output.y"}
            "#]],
        ),
    ] {
        check_one(&write(wrong), expected);
    }
    let model = |model: &str| {
        format!(
            "version: \"0.1\"\nagents: {{a: {{model: \"{model}\", system: s}}}}\nnodes: {{n: {{agent: a, writes: output.n}}}}\n"
        )
    };
    check_one(
        &model("{{ env.MODEL }}"),
        expect![[r#"
            error 2:21 bad-model: `{{ env.MODEL }}` is not of the form `provider:model` (write the provider and the model: `openai:gpt-4o-mini`)
            warning 2:22 no-effect: placeholders have no effect in `model`: it is used as written (placeholders work in `system`, `prompt`, `for_each`, `swarm_size`, `inputs` and tool `config`)
        "#]],
    );
    check_one(
        &model("openai:"),
        expect![[r#"
            error 2:21 bad-model: `openai:` is not of the form `provider:model` (write the model after the provider: `openai:...`)
        "#]],
    );
    check_one(
        &model("gpt-4o"),
        expect![[r#"
            error 2:21 bad-model: `gpt-4o` is not of the form `provider:model` (for example `openai:gpt-4o`)
        "#]],
    );
}
