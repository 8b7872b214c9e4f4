//! What single flows may do: `[serve.flows.NAME]`.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use serde_json::{Value as Json, json};

use crate::http::{Reply, Request};
use crate::scene::{Process, Scene, eventually};

/// A question, and then a command. Both flows have the same steps, and names of their own.
fn gated(name: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: {name}, version: \"1.0.0\" }}\nspec:\n  initial_state: ASK\n  states:\n    ASK: {{ kind: Human, prompt: \"Go?\", transitions: [{{ condition: always, target: DO }}] }}\n    DO: {{ kind: System, command: \"echo done >> done-{name}\" }}\n"
    )
}

/// A command.
fn command(name: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: {name}, version: \"1.0.0\" }}\nspec:\n  initial_state: DO\n  states:\n    DO: {{ kind: System, command: \"echo done >> done-{name}\" }}\n"
    )
}

/// A call of a tool of the settings.
fn calls(name: &str, tool: &str) -> String {
    format!("id: {name}\nkind: tool\ntool: {{ kind: local, name: {tool} }}\n")
}

/// A request.
fn requests(name: &str, url: &str, more: &str) -> String {
    format!(
        "id: {name}\nkind: tool\ninputSchema: {{ host: string }}\ntool:\n  kind: http\n  name: fetch\n  url: \"{url}\"\n{more}"
    )
}

fn start(server: &Process, flow: &str, input: &Json) -> Reply {
    server.post("/api/v1/runs", &json!({ "flow": flow, "input": input, "wait_seconds": 60 }))
}

/// Requires that a run of the flow completes.
#[track_caller]
fn works(server: &Process, flow: &str, input: &Json) {
    let run = start(server, flow, input).json();
    assert_eq!(run["status"], "completed", "{run}");
}

/// Requires that no run of the flow is started, because of its rights.
#[track_caller]
fn refused(server: &Process, flow: &str, parts: &[&str]) {
    let reply = start(server, flow, &json!({ "host": "x" }));
    reply.fails(422, "CANNOT_RUN");
    contains(&reply.body, parts);
}

#[track_caller]
fn contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

impl Scene {
    /// How often the command of a flow has run.
    fn ran(&self, flow: &str) -> usize {
        std::fs::read_to_string(self.folder.path().join(format!("done-{flow}"))).unwrap_or_default().lines().count()
    }
}

/// Answers every request, and keeps it.
struct Listener {
    address: SocketAddr,
    heads: Arc<Mutex<String>>,
}

impl Listener {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::<Mutex<String>>::default();
        let kept = heads.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
                    head.extend_from_slice(&byte);
                }
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&head));
                let _ = stream.write_all(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
                );
            }
        });
        Self { address, heads }
    }
    fn heads(&self) -> String {
        self.heads.lock().unwrap().clone()
    }
}

#[test]
fn a_flow_may_run_commands_although_others_may_not_and_the_reverse() {
    let scene = Scene::new();
    scene.folder.write("flows/may.yaml", command("may")).write("flows/other.yaml", command("other"));
    scene.project("[serve.flows.may]\ncommands = true\n");
    let server = scene.serve(&[]);
    works(&server, "may", &Json::Null);
    refused(&server, "other", &["echo done", "set `commands = true` under `[serve.flows.other]`", "other.yaml"]);
    drop(server);
    scene.project("[serve.flows.other]\ncommands = false\n");
    let server = scene.serve(&["--allow-command"]);
    works(&server, "may", &Json::Null);
    refused(&server, "other", &["the flow `other` may not run commands", "`[serve.flows.other]`"]);
    // The same with every interface.
    let chat = json!({ "model": "other", "messages": [{ "role": "user", "content": "go" }] });
    let said = server.post("/v1/chat/completions", &chat);
    assert!(said.status >= 400, "{said:?}");
    contains(&said.body, &["may not run commands"]);
    let said = server.post("/run", &json!({ "agentId": "other", "input": "go" }));
    assert!(said.status >= 400, "{said:?}");
    contains(&said.body, &["may not run commands"]);
    contains(&call_over_mcp(&server, "other"), &["may not run commands"]);
    assert_eq!((scene.ran("may"), scene.ran("other")), (2, 0));
}

/// Calls a flow as a tool of MCP. Returns the text of the response.
fn call_over_mcp(server: &Process, tool: &str) -> String {
    let send = |session: Option<&str>, body: &Json| {
        let mut request = Request::post("/mcp", body).with("Accept", "application/json, text/event-stream");
        if let Some(session) = session {
            request = request.with("Mcp-Session-Id", session);
        }
        request.send(server.address).unwrap()
    };
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let begun = send(None, &json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }));
    let session = Some(&*begun.is(200).headers["mcp-session-id"]);
    send(session, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).is(202);
    let params = json!({ "name": tool, "arguments": {} });
    send(session, &json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params })).body
}

#[test]
fn a_worker_continues_a_run_with_the_rights_of_its_flow() {
    let scene = Scene::new();
    scene.folder.write("flows/first.yaml", gated("first")).write("flows/second.yaml", gated("second"));
    let only = |flow: &str| format!("[serve.flows.{flow}]\ncommands = true\n");
    scene.project(&format!("{}{}", only("first"), only("second")));
    let mut server = scene.serve(&[]);
    let runs = ["first", "second"].map(|flow| server.start(&json!({ "flow": flow })));
    for run in &runs {
        server.until(run, "waiting");
    }
    server.kill();
    // The operator takes the right from one of them. Whatever continues them now is another process.
    scene.project(&only("first"));
    let mut server = scene.serve(&[]);
    for run in &runs {
        server.post(&format!("/api/v1/runs/{run}/answers"), &json!({ "step": "ASK", "value": "yes" })).is(202);
    }
    server.until(&runs[0], "completed");
    let says = "`[serve.flows.second]`";
    eventually("nothing says why the run does not go on", || {
        server.get(&format!("/api/v1/runs/{}/events", runs[1])).body.contains(says)
    });
    assert_eq!((scene.ran("first"), scene.ran("second")), (1, 0), "{}", scene.log());
    // Nor when somebody asks for it.
    server.post(&format!("/api/v1/runs/{}/resume", runs[1]), &json!({}));
    // Nor as a new run that keeps the answer.
    let fork = server.post(&format!("/api/v1/runs/{}/fork", runs[1]), &json!({}));
    fork.fails(422, "CANNOT_RUN");
    contains(&fork.body, &[says]);
    server.kill();
    scene.project(&only("second"));
    let server = scene.serve(&[]);
    server.until(&runs[1], "completed");
    assert_eq!((scene.ran("first"), scene.ran("second")), (1, 1));
}

#[test]
fn an_edited_run_has_the_rights_of_its_flow_and_not_those_of_another_one() {
    let scene = Scene::new();
    scene.folder.write("flows/may.yaml", command("may")).write("flows/asks2.yaml", gated("asks2"));
    scene.project("[serve.flows.may]\ncommands = true\n[serve.flows.asks2]\ncommands = true\n");
    let mut server = scene.serve(&[]);
    let run = server.start(&json!({ "flow": "asks2" }));
    server.until(&run, "waiting");
    server.kill();
    scene.project("[serve.flows.may]\ncommands = true\n");
    let server = scene.serve(&[]);
    let files = server.run(&run);
    let fork =
        |text: String| server.post(&format!("/api/v1/runs/{run}/fork"), &json!({ "files": { "asks2.yaml": text } }));
    let same = fork(gated("asks2").replace("Go?", "Really?"));
    same.fails(422, "CANNOT_RUN");
    let renamed = fork(gated("may"));
    renamed.fails(400, "BAD_REQUEST");
    contains(&renamed.body, &["`may`", "`asks2`"]);
    assert_eq!(scene.ran("may"), 0, "{files}");
}

#[test]
fn a_flow_reaches_only_its_hosts() {
    let scene = Scene::new();
    let listener = Listener::start();
    let address = listener.address.to_string();
    scene.folder.write("flows/near.yaml", requests("near", &format!("http://{address}/near"), ""));
    scene.folder.write("flows/far.yaml", requests("far", &format!("http://{address}/far"), ""));
    scene.folder.write("flows/any.yaml", requests("any", "http://{{host}}/any", ""));
    let allow = format!("[http]\nallow = [\"{address}\"]\n");
    let rule = |flow: &str, host: &str| format!("[serve.flows.{flow}]\nhosts = [\"{host}\"]\n");
    scene.project(&format!("{allow}{}{}", rule("far", "api.example.com"), rule("any", "api.example.com")));
    let server = scene.serve(&[]);
    works(&server, "near", &json!({ "host": "x" }));
    let add = format!("add `{address}` to `hosts` under `[serve.flows.far]`");
    refused(&server, "far", &["the flow `far` may not call", &add, "far.yaml"]);
    // An address that is known only at the step.
    let failed = start(&server, "any", &json!({ "host": address })).json();
    assert_eq!((&failed["status"], &failed["error"]["code"]), (&json!("failed"), &json!("TOOL_ERROR")), "{failed}");
    let events = server.get(&format!("/api/v1/runs/{}/events", failed["run"].as_str().unwrap())).body;
    contains(&events, &["the flow `any` may not call", "`hosts` under `[serve.flows.any]`"]);
    assert!(!listener.heads().contains("/far") && !listener.heads().contains("/any"), "{}", listener.heads());
    drop(server);
    scene.project(&format!("{allow}{}{}", rule("far", &address), rule("any", &address)));
    let server = scene.serve(&[]);
    works(&server, "far", &json!({ "host": "x" }));
    works(&server, "any", &json!({ "host": address }));
    drop(server);
    // A host of a flow is not allowed for that: it must be allowed for all, as before.
    scene.project(&rule("far", &address));
    let server = scene.serve(&[]);
    refused(&server, "far", &["--allow-host"]);
}

#[test]
fn a_flow_uses_only_its_tools() {
    let scene = Scene::new();
    for (flow, tool) in [("one", "note"), ("two", "note"), ("three", "inner")] {
        scene.folder.write(&format!("flows/{flow}.yaml"), calls(flow, tool));
    }
    scene.folder.write("flows/inner.yaml", calls("inner", "note"));
    let tools =
        "[tools.note]\ncommand = [\"echo\", \"noted\"]\noutput = \"text\"\n[tools.inner]\nflow = \"inner.yaml\"\n";
    scene.project(&format!("{tools}[serve.flows.two]\ntools = []\n[serve.flows.three]\ntools = [\"inner\"]\n"));
    let server = scene.serve(&[]);
    works(&server, "one", &Json::Null);
    works(&server, "inner", &Json::Null);
    refused(
        &server,
        "two",
        &["tool-not-allowed", "the flow `two` may not use `note`", "`[serve.flows.two]`", "two.yaml"],
    );
    // What it calls may use no more than it may itself.
    refused(&server, "three", &["the flow `three` may not use `note`", "(in the flow of the tool `inner`)"]);
    drop(server);
    scene.project(&format!("{tools}[serve.flows.three]\ntools = [\"inner\", \"note\"]\n"));
    let server = scene.serve(&[]);
    works(&server, "two", &Json::Null);
    works(&server, "three", &Json::Null);
    drop(server);
    // Nor more than its own rules allow.
    scene.project(&format!("{tools}[serve.flows.inner]\ntools = []\n"));
    let server = scene.serve(&[]);
    works(&server, "two", &Json::Null);
    refused(&server, "three", &["the flow `inner` may not use `note`"]);
}

#[test]
fn a_called_flow_runs_commands_only_if_its_caller_may() {
    let scene = Scene::new();
    scene.folder.write("flows/caller.yaml", calls("caller", "inner")).write("flows/inner.yaml", command("inner"));
    let tool = "[tools.inner]\nflow = \"inner.yaml\"\n";
    let allowed = |flow: &str| format!("[serve.flows.{flow}]\ncommands = true\n");
    for (rules, missing) in [(allowed("inner"), "caller"), (allowed("caller"), "inner")] {
        scene.project(&format!("{tool}{rules}"));
        let server = scene.serve(&[]);
        let table = format!("`[serve.flows.{missing}]`");
        refused(&server, "caller", &["(in the flow of the tool `inner`)", &table]);
    }
    assert_eq!(scene.ran("inner"), 0);
    scene.project(&format!("{tool}{}{}", allowed("inner"), allowed("caller")));
    let server = scene.serve(&[]);
    works(&server, "caller", &Json::Null);
    assert_eq!(scene.ran("inner"), 1);
}

#[test]
fn a_called_run_that_goes_on_has_the_rights_of_its_caller() {
    let scene = Scene::new();
    scene.folder.write("flows/caller.yaml", calls("caller", "inner")).write("flows/inner.yaml", gated("inner"));
    let tool = "[tools.inner]\nflow = \"inner.yaml\"\n";
    let inner = "[serve.flows.inner]\ncommands = true\n";
    let both = format!("{tool}{inner}[serve.flows.caller]\ncommands = true\n");
    scene.project(&both);
    let mut server = scene.serve(&[]);
    let run = server.start(&json!({ "flow": "caller" }));
    server.until(&run, "waiting");
    let asked = server.get("/api/v1/questions").is(200).json();
    let called = asked["questions"][0]["run"].as_str().unwrap().to_owned();
    assert_ne!(called, run);
    server.kill();
    scene.project(&format!("{tool}{inner}"));
    let mut server = scene.serve(&[]);
    server.post(&format!("/api/v1/runs/{called}/answers"), &json!({ "step": "ASK", "value": "yes" })).is(202);
    eventually("nothing says why the run does not go on", || {
        server.get(&format!("/api/v1/runs/{called}/events")).body.contains("`[serve.flows.caller]`")
    });
    // Nor when it is continued by itself.
    server.post(&format!("/api/v1/runs/{called}/resume"), &json!({}));
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert_eq!(scene.ran("inner"), 0, "{}", scene.log());
    server.kill();
    scene.project(&both);
    let server = scene.serve(&[]);
    server.until(&run, "completed");
    assert_eq!(scene.ran("inner"), 1);
}

#[test]
fn rules_for_flows_of_another_project_only_forbid() {
    let scene = Scene::new();
    scene.folder.write("flows/nested/.git/HEAD", "").write("flows/nested/deep.yaml", command("deep"));
    scene.project("[serve.flows.deep]\ncommands = true\n");
    let server = scene.serve(&[]);
    refused(&server, "deep", &["commands are not allowed in this run", "`--allow-command`"]);
    drop(server);
    scene.project("[serve.flows.deep]\ncommands = false\n");
    let server = scene.serve(&["--allow-command"]);
    refused(&server, "deep", &["the flow `deep` may not run commands"]);
    drop(server);
    scene.project("");
    let server = scene.serve(&["--allow-command"]);
    works(&server, "deep", &Json::Null);
}

#[test]
fn a_flow_reads_only_its_variables() {
    let scene = Scene::new();
    let listener = Listener::start();
    let address = listener.address.to_string();
    let header = "  headers: { X-Place: \"{{env.TREFOIL_STORE}}\" }\n";
    for flow in ["reads", "other"] {
        scene.folder.write(&format!("flows/{flow}.yaml"), requests(flow, &format!("http://{address}/{flow}"), header));
        scene.folder.write(&format!("flows/{flow}-needs.yaml"), calls(&format!("{flow}-needs"), "note"));
    }
    // A tool whose settings need the variable.
    let tool = "[tools.note]\ncommand = [\"echo\", \"noted\"]\noutput = \"text\"\nenv = { PLACE = \"{{env.TREFOIL_STORE}}\" }\n";
    let allow = format!("[http]\nallow = [\"{address}\"]\n{tool}");
    let rule = |flow: &str, env: &str| format!("[serve.flows.{flow}]\nenv = {env}\n");
    let served = "[serve]\nenv = [\"TREFOIL_STORE\"]\n";
    scene.project(&format!("{allow}{served}{}{}", rule("other", "[]"), rule("other-needs", "[]")));
    let server = scene.serve(&[]);
    works(&server, "other", &json!({ "host": "x" }));
    contains(&listener.heads(), &["/other"]);
    assert!(!listener.heads().contains(&scene.place), "{}", listener.heads());
    refused(
        &server,
        "other-needs",
        &["the flow `other-needs` may not read it", "`env` under `[serve.flows.other-needs]`"],
    );
    works(&server, "reads-needs", &Json::Null);
    works(&server, "reads", &json!({ "host": "x" }));
    contains(&listener.heads(), &[&scene.place]);
    drop(server);
    // A variable of a flow must be one of those that flows may read.
    scene.project(&format!("{allow}{}", rule("reads-needs", "[\"TREFOIL_STORE\"]")));
    let server = scene.serve(&[]);
    refused(&server, "reads-needs", &["flows may not read it", "`[serve] env`", "cannot be read"]);
    // It is set: to set it again would not help.
    let reply = server.post("/api/v1/runs", &json!({ "flow": "reads-needs" }));
    assert!(!reply.body.contains("export"), "{}", reply.body);
}

#[test]
fn a_rule_that_means_nothing_is_reported_with_its_place() {
    let scene = Scene::new();
    for (rule, parts) in [
        ("[serve.flows.mian]\ncommands = false\n", &["trefoil.toml:1:14", "`mian`", "did you mean `main`?"][..]),
        ("[serve.flows.main]\ncomands = false\n", &["trefoil.toml:2:1", "unknown key `comands`", "`commands`"]),
        ("[serve.flows.main]\ncommands = 1\n", &["trefoil.toml:2:12", "true or false"]),
        ("[serve.flows.main]\nhosts = [\"http://x\"]\n", &["trefoil.toml:2:10", "invalid host"]),
        ("[serve.flows.main]\ntools = [\"gone\"]\n", &["trefoil.toml:2:10", "`gone`"]),
        ("[serve]\nflows = 1\n", &["trefoil.toml:2:9", "[serve.flows.NAME]"]),
    ] {
        scene.project(rule);
        contains(&scene.refuse(&[]), parts);
    }
    // The user's own file is for all projects.
    scene.project("");
    scene.settings("[serve.flows.mian]\ncommands = false\n");
    let server = scene.serve(&[]);
    contains(&scene.log(), &["config.toml:1:14", "did you mean `main`?"]);
    drop(server);
    // Rights are given only by settings that are trusted.
    scene.settings("");
    scene.folder.write("flows/trefoil.toml", "[serve.flows.main]\ncommands = true\n");
    contains(&scene.refuse(&[]), &["untrusted-project", "let them run commands"]);
}
