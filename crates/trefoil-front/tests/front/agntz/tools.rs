//! Tools: tool agents, http requests, the tools of an agent.

use expect_test::expect;

use super::support::{MODEL, check_one, silent};

#[test]
fn a_tool_agent_runs_only_where_its_tool_is_provided() {
    check_one(
        r##"id: notify
kind: tool
inputSchema: { text: string }
tool:
  kind: local
  name: send_slack
  params: { channel: "#content", message: "New: {{text}}" }
"##,
        expect![""],
    );
}

#[test]
fn tool_agents_need_kind_and_name() {
    check_one(
        r#"id: a
kind: tool
tool: { params: { a: "{{userQuery}}" } }
"#,
        expect![[r#"
            error 3:1 missing-key: tool needs `kind`
            error 3:1 missing-key: tool needs `name`
        "#]],
    );
}

#[test]
fn callback_and_client_are_no_tool_agents() {
    check_one(
        r#"id: a
kind: tool
tool: { kind: callback, name: x }
"#,
        expect![[r#"
            error 3:15 unknown-value: `kind` cannot be `callback` (available: `local`, `mcp`, `http`)
        "#]],
    );
}

#[test]
fn params_are_templates() {
    check_one(
        r#"id: a
kind: tool
tool: { kind: mcp, server: "", name: x, params: { a: 5, b: "{{userQuery", c: [1] } }
"#,
        expect![[r#"
            error 3:28 wrong-type: `server` must not be empty
            error 3:54 wrong-type: `a` must be text or a template, not a number (put it in quotes for text; to keep its type, use the placeholder of an input with this `default`)
            error 3:61 template-unclosed: `{{userQuery` has no closing `}}` (end it with `}}`; a literal `{{` cannot be escaped here; pass such text in as a value) {maybe: close it with `}}`: "{{userQuery}}"}
            error 3:78 wrong-type: `c` must be text or a template, not a list
        "#]],
    );
}

#[test]
fn http_requests_are_checked_whole() {
    check_one(
        r#"id: a
kind: tool
tool:
  kind: http
  name: get-user
  url: "https://x.example/{a}/{b?}?c={c?}&d={d}"
  method: post
  params: { a: "{{userQuery}}", z: "1" }
  headers: { A: 1 }
  body_type: form
  body: { a: { b: "x" } }
"#,
        expect![[r#"
            error 5:9 invalid-name: `get-user` cannot be an http tool (start with a letter or `_`, then use letters, digits and `_`)
            error 6:31 invalid-url: `{b?}` is optional, which works only after the `?` of the URL
            warning 6:45 missing-input: `{d}` has no value: `params` does not have it (add `d` to `params`)
            error 7:11 unknown-value: `method` cannot be `post` (did you mean `POST`? available: `GET`, `POST`, `PUT`, `PATCH`, `DELETE`) {fix: "POST"}
            error 8:33 unknown-input: `z` is not a placeholder of the URL (did you mean `a`?) {maybe: "a"}
            error 9:17 wrong-type: `A` must be text or a template, not a number (write it in quotes)
            error 11:14 wrong-type: `a` must be text or a template, not a mapping
        "#]],
    );
}

#[test]
fn http_addresses_and_bodies() {
    check_one(
        r#"id: a
kind: tool
tool: { kind: http, name: f, url: "ftp://{x", body: { a: "b" } }
"#,
        expect![[r#"
            error 3:35 invalid-url: `ftp://{x` is not an HTTP URL (start it with `https://` and a host)
            error 3:42 invalid-url: this `{` is not closed
            error 3:47 conflicting-keys: a GET request has no body (write `method: POST`, `PUT` or `PATCH`)
        "#]],
    );
}

#[test]
fn http_auth_is_checked() {
    check_one(
        r#"id: a
kind: tool
tool:
  kind: http
  name: f
  url: https://x.example/
  auth:
    type: token_exchange
    request: { url: https://x.example/login, headers: { A: "{{secrets.A}}" } }
    extract: { token_path: access_token }
    apply: { location: query, format: Bearer }
    refresh_on: [5]
    cache_ttl: 1e20
"#,
        expect![[r#"
            error 10:28 unknown-value: `token_path` must start with `$` (for example `$.access_token`)
            error 11:5 missing-key: apply needs `name`
            error 11:39 unknown-value: `format` does not contain `{token}` (for example `Bearer {token}`)
            error 12:18 out-of-range: `refresh_on` must be from 100 to 599, not 5
            error 13:16 out-of-range: `cache_ttl` must be from 0.001 to 31536000, not 100000000000000000000
        "#]],
    );
}

#[test]
fn where_a_token_goes_has_defaults() {
    check_one(
        r#"id: a
kind: tool
tool:
  kind: http
  name: f
  url: https://x.example/
  auth:
    type: token_exchange
    request: { url: https://x.example/login }
    extract: { token_path: $.access_token }
"#,
        expect![""],
    );
}

#[test]
fn a_query_of_optional_placeholders() {
    let weather = |url: &str| {
        format!("id: a\nkind: tool\ntool: {{ kind: http, name: f, url: \"{url}\", params: {{ units: m }} }}\n")
    };
    check_one(&weather("https://x.example/now{?units,lang}"), expect![""]);
    check_one(
        &weather("https://x.example/now{?units,9}"),
        expect![[r#"
            error 3:57 invalid-url: `{9}` is not a valid placeholder (start with a letter or `_`, then use letters, digits and `_`)
        "#]],
    );
    check_one(
        &weather("https://x.example/now{?unit}"),
        expect![[r#"
            error 3:77 unknown-input: `units` is not a placeholder of the URL (did you mean `unit`?) {fix: "unit"}
        "#]],
    );
}

#[test]
fn tools_of_an_agent_are_checked_and_refused() {
    check_one(
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: hi
inputSchema: { user: string }
tools:
  - kind: local
    tools: []
  - kind: local
    tools: [memory_read]
  - kind: mcp
    server: https://mcp.example.com
    tools: [a, { tool: b, params: { user: "{{usr}}" } }, 5]
  - kind: http
    name: f
    url: https://x.example/{id}
    params: { id: "{{user}}" }
    headers: { Authorization: "Bearer {{secrets.TOKEN}}" }
  - kind: agent
    agent: helper@latest
    version: latest
  - kind: callback
    name: c
    url: https://x.example/c
    timeoutMs: 5
  - kind: client
    name: get-selection
    description: ""
    inputSchema: { a: string }
  - kind: shell
"#,
        expect![[r#"
            error 8:12 wrong-type: a local tool entry needs at least one tool
            error 10:13 invalid-name: `memory_read` cannot be a local tool (`memory_` is reserved for the tools of a memory resource)
            error 13:46 unresolved-name: `usr` is not defined here (did you mean `user`? available: `user`) [5:16 `user` is declared here] {fix: "user"}
            error 13:58 wrong-type: `tools` must be a tool's name or a mapping with `tool`, not a number
            error 20:12 unknown-reference: no manifest in this folder has the id `helper` (this folder has no other manifest)
            error 21:14 invalid-reference: the version of `helper@latest` is set twice [20:12 already set here]
            error 22:5 missing-key: a tool needs `secret`
            warning 22:5 refused: `kind: callback` is not supported yet: a run that can reach it does not start (call its address with an http tool)
            error 25:16 out-of-range: `timeoutMs` must be from 1000 to 120000, not 5
            error 27:11 invalid-name: `get-selection` cannot be a client tool (start with a letter or `_`, then use letters, digits and `_`)
            error 28:18 wrong-type: `description` must not be empty
            error 29:5 invalid-schema: a client tool needs a JSON Schema (write `type: object` and `properties:`)
            error 30:11 unknown-value: `kind` cannot be `shell` (available: `local`, `http`, `mcp`, `agent`, `callback`, `client`)
        "#]],
    );
}

#[test]
fn an_empty_list_of_tools_is_nothing() {
    check_one(
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: hi
tools: []
"#,
        expect![""],
    );
}

#[test]
fn an_address_is_one() {
    let tool = |url: &str| {
        format!(
            "id: t\nkind: tool\ninputSchema: {{ id: string }}\ntool: {{ kind: http, name: t, url: \"{url}\", params: {{}} }}\n"
        )
    };
    for (url, expected) in [
        (
            "https://example.com/users/:id/posts",
            expect![[r#"
                warning 4:62 not-a-placeholder: `:id` is text here (write a placeholder of the URL as `{id}`) {maybe: "{id}"}
            "#]],
        ),
        (
            "https://example.com/<city>",
            expect![[r#"
                warning 4:56 not-a-placeholder: `<city>` is text here (write a placeholder of the URL as `{city}`) {maybe: "{city}"}
            "#]],
        ),
        (
            "https://https://example.com/x",
            expect![[r#"
                error 4:44 invalid-url: the URL starts with its scheme twice (remove one `https://`)
            "#]],
        ),
        (
            "https://api,example.com/x",
            expect![[r#"
                error 4:44 invalid-url: `api,example.com` is not a valid host (separate its parts with one `.` each)
            "#]],
        ),
        (
            "https://api..example.com/x",
            expect![[r#"
                error 4:44 invalid-url: `api..example.com` is not a valid host (separate its parts with one `.` each)
            "#]],
        ),
        (
            "https://<your-domain>/x",
            expect![[r#"
                warning 4:44 invalid-url: `<your-domain>` is a placeholder host (write the host to call)
            "#]],
        ),
        (
            "https://YOUR_HOST/x",
            expect![[r#"
                warning 4:44 invalid-url: `YOUR_HOST` is a placeholder host (write the host to call)
            "#]],
        ),
        (
            "https://example.com:99999/x",
            expect![[r#"
                error 4:44 invalid-url: `99999` is not a valid port (use a number from 0 to 65535)
            "#]],
        ),
    ] {
        check_one(&tool(url), expected);
    }
    for url in [
        "https://example.com:8080/v1/models:predict?at=12:30&q={id?}",
        "https://{{env.HOST}}:8080/x",
        "https://user@example.com/a,b",
    ] {
        for rule in ["invalid-url", "not-a-placeholder"] {
            silent(&tool(url), rule);
        }
    }
}

#[test]
fn what_surrounds_an_agent_is_looked_at() {
    let agent = |rest: &str| format!("id: a\nkind: llm\n{MODEL}\ninstruction: Hi.\n{rest}\n");
    check_one(
        &agent("skills: [search, read, search]"),
        expect![[r#"
            warning 5:1 refused: `skills` is not supported yet: a run that can reach it does not start (write the text of the skill into `instruction`)
            warning 5:24 duplicate-id: `search` is listed twice [5:10 the first one]
        "#]],
    );
    check_one(
        &agent("tools: [ { kind: agent, agent: a } ]"),
        expect![[r#"
            error 5:32 reference-cycle: `a` calls itself (remove this call; to repeat steps, use `until` and `maxIterations`)
        "#]],
    );
    let callback = |url: &str, secret: &str| {
        agent(&format!("tools: [ {{ kind: callback, name: c, url: \"{url}\", secret: \"{secret}\" }} ]"))
    };
    check_one(
        &callback("https://example.com", "{{secrets.CB}}"),
        expect![[r#"
            warning 5:10 refused: `kind: callback` is not supported yet: a run that can reach it does not start (call its address with an http tool)
        "#]],
    );
    check_one(
        &callback("/hook", "cb"),
        expect![[r#"
            warning 5:10 refused: `kind: callback` is not supported yet: a run that can reach it does not start (call its address with an http tool)
            warning 5:42 invalid-url: `/hook` is not an HTTP URL (start it with `https://` and a host)
        "#]],
    );
    check_one(
        &callback("https://example.com/{{env.ID}}", "cb"),
        expect![[r#"
            warning 5:10 refused: `kind: callback` is not supported yet: a run that can reach it does not start (call its address with an http tool)
        "#]],
    );
    silent(&callback("https://example.com", "cb"), "not-a-placeholder");
    check_one(
        &agent("tools: [ { kind: mcp, server: \"https//mcp.example.com/x\" } ]"),
        expect![[r#"
            warning 5:31 invalid-url: `https//mcp.example.com/x` is not an HTTP URL (start it with `https://` and a host)
        "#]],
    );
    for server in ["https://mcp.example.com/x", "http-tools", "files"] {
        silent(&agent(&format!("tools: [ {{ kind: mcp, server: \"{server}\" }} ]")), "invalid-url");
    }
}

fn with_tools(more: &str) -> String {
    format!("id: a\nkind: llm\n{MODEL}\ninstruction: Work.\n{more}\n")
}

#[test]
fn a_model_does_not_choose_the_host() {
    let tool =
        |url: &str, more: &str| with_tools(&format!("tools: [ {{ kind: http, name: t, url: \"{url}\"{more} }} ]"));
    check_one(
        &tool("https://{x}.example.com/a", ""),
        expect![[r#"
        warning 5:47 untrusted-tool-url: `x` decides which host the tool calls, and the model chooses it (use a fixed host or one from the environment, and put the value after it)
    "#]],
    );
    check_one(
        &tool("{scheme}://example.com/a", ""),
        expect![[r#"
            error 5:38 invalid-url: `{scheme}://example.com/a` is not an HTTP URL (start it with `https://` and a host)
        "#]],
    );
    for (url, more) in [
        ("https://h.example.com/{x}", ""),
        ("https://{{env.HOST}}/{x}", ""),
        ("https://h.example.com?q={x}", ""),
        // The manifest sets the value, so the model does not.
        ("https://{x}.example.com/a", ", params: { x: eu }"),
    ] {
        silent(&tool(url, more), "untrusted-tool-url");
    }
}

#[test]
fn agents_that_are_written_where_they_are_spawned_are_looked_at() {
    check_one(
        &with_tools(
            "spawnable: [ { kind: inline, definition: { id: s, kind: llm, model: { provider: openai, name: gpt-5.4-mini }, instruction: Work., tools: [ { kind: http, name: t, url: \"https://h.example.com/{x}\", params: { y: \"1\" } } ] } } ]",
        ),
        expect![[r#"
            error 5:207 unknown-input: `y` is not a placeholder of the URL (did you mean `x`?) {maybe: "x"}
        "#]],
    );
}

#[test]
fn a_kind_of_credentials_needs_a_space_after_it() {
    let agent = |value: &str| {
        format!(
            "id: a\nkind: llm\n{MODEL}\ninstruction: Hi.\ntools:\n  - kind: http\n    name: get\n    description: Reads it.\n    url: https://example.com/a\n    headers: {{ Authorization: \"{value}\" }}\n"
        )
    };
    check_one(
        &agent("Bearer{{secrets.TOKEN}}"),
        expect![[r#"
        warning 10:32 no-effect: `Bearer` needs a space before its value (write `Bearer {{...}}`) {maybe: "Bearer "}
    "#]],
    );
    check_one(
        &agent("Bearer: {{secrets.TOKEN}}"),
        expect![[r#"
        warning 10:32 no-effect: `Bearer` needs a space before its value (write `Bearer {{...}}`) {maybe: write `Bearer `: "Bearer"}
    "#]],
    );
    silent(&agent("Bearer {{secrets.TOKEN}}"), "no-effect");
}
