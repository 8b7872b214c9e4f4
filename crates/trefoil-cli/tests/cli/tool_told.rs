//! What a failed tool says: what was sent, without secrets, and what the user must do.

use crate::tool_neighbours::{Neighbour, run, send, with_server};
use crate::world::{Folder, Ran};

/// A server that answers every request with this status.
fn refuses() -> (Neighbour, String) {
    let neighbour = Neighbour::start(|stream| send(stream, b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"));
    let host = neighbour.address.to_string();
    (neighbour, host)
}

/// A failed run; its trace says the same.
fn failed(folder: &Folder, host: &str, more: &[&str]) -> Ran {
    let ran =
        run(folder, &[&["run", "one.yaml", "--ephemeral", "--trace", "t.json", "--allow-host", host], more].concat());
    ran.exits(1);
    assert!(!ran.err.contains("canary"), "{}", ran.err);
    let sent = ran.err.split("request: ").nth(1).unwrap_or_else(|| panic!("{}", ran.err)).lines().next().unwrap();
    let trace = std::fs::read_to_string(folder.path().join("t.json")).unwrap();
    assert!(trace.contains(&serde_json::Value::from(sent).to_string()), "{sent}\n{trace}");
    ran
}

#[test]
fn an_http_request_is_told_with_its_address_and_without_secrets() {
    let (_server, host) = refuses();
    let folder = Folder::new();
    let tool = |more: &str| {
        format!(
            "id: one\nkind: tool\ninputSchema: {{ q: string }}\ntool:\n  kind: http\n  name: find\n  \
             url: \"http://{host}/of/{{q}}?s={{{{secrets.KEY}}}}&api_key=literal&page={{n}}\"\n  params: {{ q: \"{{{{q}}}}\", n: \"3\" }}\n{more}"
        )
    };
    folder.write("one.yaml", tool(""));
    let address = format!("http://{host}/of/a%2Fb%20c?s=***&api_key=***&page=3");
    let input = ["-i", "q=a/b c"];
    failed(&folder, &host, &input).says(&[&format!("request: GET {address}\n"), "check the URL of the tool"]);
    folder.write("one.yaml", tool("  method: POST\n  body: { key: \"{{secrets.KEY}}\" }\n"));
    failed(&folder, &host, &input).says(&[&format!("request: POST {address}, 13 bytes\n")]);
    // SirenSpec's nodes.
    let node = format!("{{ type: tool, tool: http, config: {{ url: \"http://{host}/x?q={{{{inputs.message}}}}\" }} }}");
    folder.write("one.yaml", format!("version: \"0.1\"\nnodes:\n  get: {node}\ninput: {{ message: hi }}\n"));
    failed(&folder, &host, &["--input", "yes"]).says(&[&format!("request: GET http://{host}/x?q=yes\n")]);
}

#[test]
fn a_request_that_was_refused_or_never_left_is_not_told_as_sent() {
    let folder = Folder::new();
    let unsent = |tool: &str, q: &str, says: &[&str]| {
        folder.write("one.yaml", format!("id: one\nkind: tool\ninputSchema: {{ q: string }}\ntool: {{ {tool} }}\n"));
        failed(&folder, "allowed.example", &["-i", &format!("q={q}")]).says(says);
    };
    let asked = "kind: http, name: a, url: \"https://{{q}}/x\"";
    unsent(
        &format!("{asked}, headers: {{ A: \"{{{{secrets.KEY}}}}\" }}"),
        "b.example",
        &["`b.example` may not receive", "request: GET https://b.example/x, not sent\n"],
    );
    unsent(asked, "127.0.0.1", &["loopback", "request: GET https://127.0.0.1/x, not sent\n"]);
    unsent(
        "kind: http, name: a, url: \"https://allowed.example/{q}\", params: { q: \"{{q}}\" }",
        "..",
        &["leads to another address", "request: an HTTP request, not sent\n"],
    );
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    folder.write(
        "one.yaml",
        format!("id: one\nkind: tool\ntool: {{ kind: http, name: a, url: \"http://{closed}/x\" }}\n"),
    );
    failed(&folder, &closed, &["--input", "x"]).says(&[&format!("request: GET http://{closed}/x, not sent\n")]);
    folder.write("config/config.toml", format!("[mcp.there]\nurl = \"http://{closed}/mcp\"\n"));
    folder.write("one.yaml", "id: one\nkind: tool\ntool: { kind: mcp, server: there, name: show }\n");
    failed(&folder, &closed, &["--input", "x"])
        .says(&[&format!("request: POST http://{closed}/mcp for the handshake, not sent\n")]);
}

#[test]
fn a_request_for_a_token_is_told_as_such() {
    let (_server, host) = refuses();
    let folder = Folder::new();
    let auth = format!(
        "type: oauth2_client_credentials, token_url: \"http://{host}/token\", client_id: me, client_secret: \"{{{{secrets.KEY}}}}\""
    );
    folder.write(
        "one.yaml",
        format!(
            "id: one\nkind: tool\ntool: {{ kind: http, name: get, url: \"http://{host}/x\", auth: {{ {auth} }} }}\n"
        ),
    );
    failed(&folder, &host, &["--input", "x"]).says(&[
        &format!("request: POST http://{host}/token, 29 bytes for a token\n"),
        "check the credentials and the address in `auth`",
    ]);
}

#[test]
fn an_mcp_server_that_wants_a_token_is_told_with_how_to_give_one() {
    let neighbour = Neighbour::start(|stream| {
        let wants = "WWW-Authenticate: Bearer resource_metadata=\"https://x.example/.well-known\"";
        send(stream, format!("HTTP/1.1 401 Unauthorized\r\n{wants}\r\nContent-Length: 0\r\n\r\n").as_bytes());
    });
    let host = neighbour.address.to_string();
    let folder = Folder::new();
    folder.write("config/config.toml", format!("[mcp.there]\nurl = \"http://{host}/mcp?token=literal\"\n"));
    folder.write(
        "one.yaml",
        "id: one\nkind: tool\ntool: { kind: mcp, server: there, name: show, params: { a: \"1\" } }\n",
    );
    failed(&folder, &host, &["--input", "x"]).says(&[
        "TOOL_ERROR",
        "one.yaml:",
        "answered with 401: Unauthorized (it asks for `Bearer` credentials)",
        &format!("request: POST http://{host}/mcp?token=*** for the handshake\n"),
        "in `[mcp.NAME]`: `headers = { Authorization = \"Bearer {{secrets.TOKEN}}\" }`",
    ]);
    // An agent first asks for the list of tools.
    folder.write(
        "one.yaml",
        "id: one\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Go.\ntools: [{ kind: mcp, server: there }]\n",
    );
    let mut command = folder.command(&["run", "one.yaml", "--input", "x", "--ephemeral"]);
    command.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).env("OPENAI_API_KEY", "sk-0123456789abcdef");
    let listed = format!("request: POST http://{host}/mcp?token=*** for the handshake\n");
    crate::world::finish(command).exits(1).says(&["answered with 401", &listed]);
}

#[test]
fn an_answer_to_a_get_that_cannot_be_used_is_no_matter_of_what_was_done() {
    let neighbour = Neighbour::start(|stream| {
        send(stream, b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\nx");
    });
    let host = neighbour.address.to_string();
    let folder = Folder::new();
    let tool = |method: &str| {
        let tool = format!("kind: http, name: a, method: {method}, url: \"http://{host}/x\"");
        folder.write("one.yaml", format!("id: one\nkind: tool\ntool: {{ {tool} }}\n"));
        failed(&folder, &host, &["--input", "x"])
    };
    tool("GET").says(&["compressed answer", "= help: call the URL by hand"]);
    tool("POST").says(&["compressed answer", "= help: find out whether it was done", "asks about anything else"]);
}

#[test]
fn advice_names_what_the_user_must_change() {
    let folder = Folder::new();
    with_server(&folder, "[tools.gone]\ncommand = [\"no-such-program-17\"]\n");
    let step = |tool: &str| folder.write("one.yaml", format!("id: one\nkind: tool\ntool: {tool}\n"));
    let said = || run(&folder, &["run", "one.yaml", "--input", "x", "--ephemeral", "--no-check", "--allow-command"]);
    step("{ kind: mcp, server: bad, name: adds, params: { m: \"1\" } }");
    said().exits(1).says(&["has no parameter `m`", "= help: fix the arguments of the call, or `params`"]);
    step("{ kind: local, name: gone }");
    said().exits(2).says(&["`no-such-program-17` is in no folder", "= help: install it, or correct `command`"]);
    let node = "{ type: tool, tool: python, config: { module: no_such_module_17, function: f } }";
    folder.write("one.yaml", format!("version: \"0.1\"\nnodes:\n  call: {node}\ninput: {{ message: hi }}\n"));
    said().exits(2).says(&["No module named", "with `pip`", "`command` of `[python]`", "`path` there"]);
    let node = "{ type: tool, tool: python, config: { module: os, function: _exit, args: { status: 7 } } }";
    folder.write("one.yaml", format!("version: \"0.1\"\nnodes:\n  call: {node}\ninput: {{ message: hi }}\n"));
    said().exits(1).says(&["it exited with 7", "= help: let the function return or raise an exception"]);
    let node =
        "{ type: tool, tool: python, config: { module: os, function: getenv, args: { key: \"{{env.NOT_SET_17}}\" } } }";
    folder.write("one.yaml", format!("version: \"0.1\"\nnodes:\n  call: {node}\ninput: {{ message: hi }}\n"));
    said().exits(2).says(&["`NOT_SET_17` is not set; `call` needs it", "= help: set it, for example"]);
    folder.write(
        "one.yaml",
        "id: one\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Go.\ntools:\n  - kind: mcp\n    server: bad\n    tools: [{ tool: adds, params: { m: \"1\" } }]\n",
    );
    let mut command = folder.command(&["run", "one.yaml", "--input", "x", "--ephemeral", "--no-check"]);
    command.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).env("OPENAI_API_KEY", "sk-0123456789abcdef");
    let ran = crate::world::finish(command);
    ran.exits(1).says(&["has no parameter `m`", "= help: fix `params` of this entry of the agent's `tools`"]);
}
