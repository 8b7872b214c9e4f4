//! Calls of `trefoil mcp` that do not go as planned: nobody answers, the client leaves, the server is stopped, a flow is
//! edited, a message cannot be read.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use rmcp::model::{CallToolRequestParams, ClientRequest, ElicitationAction, JsonObject, Request};
use rmcp::service::{ClientLifecycleMode, PeerRequestOptions};
use serde_json::{Value, json};

use crate::mcp::{Person, command, connect, flows, generations, only_run, served, status, text};
use crate::world::{Folder, finish, wait};

/// A workflow of one command.
#[cfg(unix)]
fn runs(name: &str, script: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: {name}, version: \"1.0.0\" }}\nspec:\n  initial_state: DO\n  states:\n    DO: {{ kind: System, command: '{script}' }}\n"
    )
}

#[tokio::test]
async fn a_question_that_the_client_does_not_answer_stays_open() {
    let plain = |action| Person::new(action);
    let fails = Person { fails: true, ..Person::new(ElicitationAction::Accept) };
    for generation in generations() {
        let people = [plain(ElicitationAction::Decline), plain(ElicitationAction::Cancel), fails.clone()];
        for (at, person) in people.into_iter().enumerate() {
            // In the current protocol, a client that cannot show the form ends the call itself.
            if at == 2 && !matches!(generation, ClientLifecycleMode::Initialize) {
                continue;
            }
            let folder = flows();
            let client = served(command(&folder), generation.clone(), person).await;
            let said = client.call("asks", json!({ "message": "it" })).await;
            assert_eq!(said.is_error, Some(true));
            assert_eq!(text(&said).contains("declined"), at == 0, "{}", text(&said));
            let open = said.structured_content.clone().unwrap();
            let run = open["run"].as_str().unwrap();
            assert_eq!(status(&folder, run), "waiting", "{open}");
            assert_eq!(
                (&open["waiting"][0]["step"], &open["waiting"][0]["question"]),
                (&json!("ok"), &json!("Ship it?"))
            );
            client.leave().await;
            // The store is named so that a command works in any folder.
            let answer = open["waiting"][0]["commands"][0].as_str().unwrap().replace(" ok - ", " ok yes ");
            assert!(text(&said).contains("trefoil runs answer"), "{}", text(&said));
            for line in [&answer, open["resume"].as_str().unwrap()] {
                let words: Vec<&str> = line.split_whitespace().skip(1).collect();
                let mut command = folder.command(&words);
                command.env_remove("TREFOIL_EPHEMERAL");
                if *line == answer {
                    command.current_dir(std::env::temp_dir());
                }
                finish(command).exits(0);
            }
            assert_eq!(status(&folder, run), "completed");
        }
    }
}

#[tokio::test]
async fn without_a_store_a_declined_question_ends_the_run() {
    let folder = flows();
    let mut command = command(&folder);
    command.arg("--ephemeral");
    let person = Person::new(ElicitationAction::Decline);
    let client = served(command, ClientLifecycleMode::Initialize, person).await;
    let said = client.call("asks", json!({ "message": "it" })).await;
    assert!(text(&said).contains("the client declined to answer `ok`"), "{}", text(&said));
    assert!(text(&said).contains("HUMAN_TIMEOUT"), "{}", text(&said));
    client.leave().await;
}

#[tokio::test]
async fn a_time_limit_ends_a_call_while_the_client_shows_the_question() {
    let folder = flows();
    folder.write(
        "flows/limit.yaml",
        "version: \"0.1\"\nnodes:\n  ok: { type: human, prompt: \"Go?\", timeout: 1, on_timeout: use_default, default_output: later, writes: output.said }\nedges: []\n",
    );
    let person = Person { slow: Duration::from_secs(600), ..Person::new(ElicitationAction::Accept) };
    let client = served(command(&folder), ClientLifecycleMode::Initialize, person).await;
    let said = client.call("limit", json!({ "message": "x" })).await;
    assert_eq!(said.structured_content, Some(json!({ "said": "later" })), "{}", text(&said));
    let began = Instant::now();
    while *client.person.taken_back.lock().unwrap() == 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "the client still shows the question");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    client.leave().await;
}

#[tokio::test]
async fn a_question_that_the_client_never_returns_to_is_stored() {
    let folder = flows();
    let mut command = command(&folder);
    command.env("TREFOIL_MCP_WAIT_MS", "50");
    let person = Person { slow: Duration::from_secs(600), ..Person::new(ElicitationAction::Accept) };
    let [_, current] = generations();
    let client = served(command, current, person).await;
    let arguments: JsonObject = serde_json::from_value(json!({ "message": "it" })).unwrap();
    let params = CallToolRequestParams::new("asks").with_arguments(arguments);
    let call = client.running.call_tool(params);
    tokio::select! {
        _ = call => panic!("the client still shows the question"),
        run = only_run(&folder, "waiting") => assert_eq!(status(&folder, &run), "waiting"),
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_commands_of_a_call_end_with_the_client_and_with_the_server() {
    for signal in [None, Some("-TERM"), Some("-INT")] {
        let folder = flows();
        folder.write("flows/long.yaml", runs("long", "cat; echo $$ > pid; sleep 600; echo late > late"));
        let mut command = command(&folder);
        command.arg("--allow-command");
        let person = Person::new(ElicitationAction::Accept);
        let mut client = served(command, ClientLifecycleMode::Initialize, person).await;
        let request = ClientRequest::CallToolRequest(Request::new(CallToolRequestParams::new("long")));
        let _call = client.running.send_cancellable_request(request, PeerRequestOptions::no_options()).await.unwrap();
        let began = Instant::now();
        let pid = loop {
            match std::fs::read_to_string(folder.path().join("flows/pid"))
                .or_else(|_| std::fs::read_to_string(folder.path().join("pid")))
            {
                Ok(pid) if pid.ends_with('\n') => break pid.trim().to_owned(),
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
            assert!(began.elapsed() < Duration::from_secs(60), "the command did not start");
        };
        let stopped = Instant::now();
        let code = match signal {
            None => client.leave().await,
            Some(signal) => {
                let server = client.process.id().unwrap().to_string();
                std::process::Command::new("kill").args([signal, &server]).status().unwrap();
                client.process.wait().await.unwrap().code()
            }
        };
        assert_eq!(code, Some(if signal.is_some() { 130 } else { 0 }));
        // The SDK waits for 5 s until it cancels calls in progress.
        assert!(stopped.elapsed() < Duration::from_secs(4), "{:?}", stopped.elapsed());
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "the command is still running");
        only_run(&folder, "interrupted").await;
    }
}

#[tokio::test]
async fn an_edited_flow_is_served_as_it_is_now() {
    let folder = flows();
    folder.write("script.yaml", "answers:\n  writer: A verse.\n  added: New.\n");
    for generation in generations() {
        let client = connect(&folder, generation, ElicitationAction::Accept).await;
        let schema = async || {
            let tools = client.running.list_all_tools().await.unwrap();
            let writer = tools.iter().find(|tool| tool.name == "writer").unwrap();
            (Value::Object((*writer.input_schema).clone()), tools.iter().any(|tool| tool.name == "added"))
        };
        assert!(schema().await.0["properties"]["tone"].is_null());
        let writer = std::fs::read_to_string(folder.path().join("flows/writer.yaml")).unwrap();
        folder.write("flows/writer.yaml", format!("{writer}  tone: {{ type: string, default: calm }}\n"));
        folder.write("flows/added.yaml", writer.replace("id: writer", "id: added"));
        let (now, is_added) = schema().await;
        assert_eq!((now["properties"]["tone"]["default"].as_str(), is_added), (Some("calm"), true), "{now}");
        assert_eq!(text(&client.call("added", json!({ "topic": "x" })).await), "New.");
        folder.write("flows/added.yaml", "id: added\nkind: [");
        assert_eq!(text(&client.call("added", json!({ "topic": "x" })).await), "New.", "the last version that loads");
        folder.write("flows/writer.yaml", writer);
        std::fs::remove_file(folder.path().join("flows/added.yaml")).unwrap();
        client.leave().await;
    }
}

/// A client that writes and reads lines itself.
struct Raw {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Raw {
    fn new(folder: &Folder, args: &[&str]) -> Self {
        let mut command = folder.command(&[&["mcp", "flows"], args].concat());
        command.stdin(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let (to, from) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        let mut raw = Self { process, to, from };
        let about = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        raw.send(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about }).to_string());
        raw.next();
        raw.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        raw
    }
    fn send(&mut self, line: &str) {
        self.to.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
    /// Leaves, and returns what the server wrote to stderr.
    fn leave(self) -> String {
        let Self { process, to, .. } = self;
        drop(to);
        wait(process).exits(0).err.clone()
    }
}

#[test]
fn a_message_that_cannot_be_read_is_answered() {
    let folder = flows();
    let mut client = Raw::new(&folder, &["--model", "scripted=script.yaml"]);
    let call = |arguments: &str| {
        format!(
            r#"{{"method":"tools/call","params":{{"name":"writer","arguments":{arguments}}},"jsonrpc":"2.0","id":7}}"#
        )
    };
    let topic = |topic: &str| call(&format!(r#"{{"topic":{topic}}}"#));
    let deep = "[".repeat(200) + &"]".repeat(200);
    let long = format!("\"{}\"", "x".repeat(9 << 20));
    for (line, code, id) in [
        (topic("1e999"), -32700, json!(7)),
        (topic(&deep), -32700, json!(7)),
        (topic(&long), -32600, json!(7)),
        (r#"{"jsonrpc":"2.0","id":"cut","method":"tools/call","params":{"na"#.to_owned(), -32700, json!("cut")),
        ("nonsense".to_owned(), -32700, json!(null)),
        (call(r#"["a"]"#), -32602, json!(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"arguments":{}}}"#.to_owned(), -32602, json!(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"nothing/here"}"#.to_owned(), -32601, json!(7)),
    ] {
        client.send(&line);
        let said = client.next();
        let start: String = line.chars().take(120).collect();
        assert_eq!((said["error"]["code"].as_i64(), &said["id"]), (Some(code), &id), "{start}\n{said}");
    }
    // The server continues.
    client.send(&topic("\"otters\""));
    assert_eq!(client.next()["result"]["content"][0]["text"], "A verse.");
    let told = client.leave();
    assert_eq!(told.matches("a message of the client is rejected").count(), 7, "{told}");
}

#[cfg(unix)]
#[test]
fn what_a_flow_reads_but_does_not_declare_can_be_passed() {
    let folder = Folder::new();
    folder.write("flows/reads.yaml", runs("reads", "cat; echo {{workflow.task}} {{input.facts}} {{intent}}"));
    folder.write("flows/plain.yaml", runs("plain", "cat; echo done"));
    folder.write("flows/whole.yaml", runs("whole", "cat; echo {{input}}"));
    let mut client = Raw::new(&folder, &["--allow-command"]);
    client.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let listed = client.next();
    let schemas: Vec<_> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["inputSchema"]).collect();
    let names = |schema: &Value| schema["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!((names(schemas[0]), &schemas[0]["required"]), (vec!["input".to_owned()], &json!(null)), "{listed}");
    assert!(
        names(schemas[1]).contains(&"facts".to_owned()) && names(schemas[1]).contains(&"task".to_owned()),
        "{listed}"
    );
    assert_eq!(schemas[1]["additionalProperties"], true, "{listed}");
    let mut call = |name: &str, arguments: Value| {
        let params = json!({ "name": name, "arguments": arguments });
        client.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string());
        client.next()["result"]["content"][0]["text"].as_str().unwrap().trim().to_owned()
    };
    assert_eq!(call("reads", json!({ "task": "hello", "facts": "x", "intent": "why" })), "hello x why");
    assert_eq!(call("plain", json!({})), "done");
    assert_eq!(call("whole", json!({ "input": "a text" })), "a text");
    client.leave();
}

#[test]
fn what_cannot_run_is_reported_at_the_start_and_each_mistake_once() {
    let folder = Folder::new();
    let agent = "kind: llm\nmodel: { provider: openai, name: gpt-x }\ninstruction: Go.\n";
    folder.write("flows/good.yaml", format!("id: good\n{agent}"));
    folder.write("flows/broken.yaml", "id: broken\nkind: llm\nmodel: { provider: openai, name\n");
    folder.write("flows/refers.yaml", "id: refers\nkind: sequential\nsteps:\n  - ref: nowhere\n");
    let told = Raw::new(&folder, &[]).leave();
    assert!(told.contains("`good` cannot run now") && told.contains("OPENAI_API_KEY"), "{told}");
    assert_eq!(told.matches("yaml-syntax").count(), 1, "{told}");
    assert_eq!(told.matches("is not served").count(), 2, "{told}");
}

#[test]
fn an_agent_declares_the_schema_of_its_answers() {
    let folder = Folder::new();
    let agent = "id: scores\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninstruction: Score.\noutputSchema:\n  title: string\n";
    folder.write("flows/scores.yaml", agent).write("script.yaml", "answers:\n  scores: '{\"title\": \"Otters\"}'\n");
    folder.write("flows/plain.yaml", agent.replace("id: scores", "id: plain").split("outputSchema").next().unwrap());
    let mut client = Raw::new(&folder, &["--model", "scripted=script.yaml"]);
    client.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let listed = client.next();
    let tools = listed["result"]["tools"].as_array().unwrap();
    let schema = |name: &str| &tools.iter().find(|tool| tool["name"] == name).unwrap()["outputSchema"];
    assert_eq!(schema("scores")["properties"]["title"]["type"], "string", "{listed}");
    assert!(schema("plain").is_null(), "{listed}");
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"scores","arguments":{"input":"x"}}}"#);
    assert_eq!(client.next()["result"]["structuredContent"], json!({ "title": "Otters" }));
    client.leave();
}

#[test]
fn only_a_changed_file_or_another_flow_is_said_to_have_changed() {
    let folder = flows();
    folder.write("script.yaml", "answers:\n  writer: A verse.\n");
    let mut client = Raw::new(&folder, &["--model", "scripted=script.yaml", "--store", "flows/runs.db"]);
    let mut call = || {
        client.send(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"writer","arguments":{"topic":"x"}}}"#,
        );
        assert_eq!(client.next()["result"]["content"][0]["text"], "A verse.");
    };
    // The store is in the folder that is served.
    call();
    call();
    let writer = std::fs::read_to_string(folder.path().join("flows/writer.yaml")).unwrap();
    folder.write("flows/writer.yaml", format!("# edited\n{writer}"));
    call();
    let told = client.leave();
    assert_eq!(told.matches("files have changed").count(), 1, "{told}");
}
