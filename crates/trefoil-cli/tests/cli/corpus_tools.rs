//! Runs real manifests that need tools or secrets, with stand-ins made from their declarations: a model that calls
//! every offered tool, programs and MCP servers with the names in the manifest, and a server at its addresses. A
//! manifest may fail to run only for reasons unrelated to tools and secrets.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::world::{Folder, Ran};

/// Reasons for not starting that are unrelated to tools and secrets.
const LATER: &[&str] = &[
    // A reference to another manifest that is not in the corpus.
    "is not defined",
];

/// Failures of the manifest itself or because of the model's answers: the tools were called, or could never be.
const OTHER: &[&str] =
    &["in the URL has no value", "MAX_ITERATIONS_EXCEEDED", "GUARDRAIL_VIOLATION", "VALIDATION_FAILED"];

/// An optional input of the manifest, which no run here has, and without which the run does not start.
const UNSET: &[&str] = &["has no value, because the input `"];

/// A tool of a manifest, as `trefoil ir` prints it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Tool {
    Local(String),
    Mcp { server: String, name: String },
    Http,
    Python,
}

enum Came {
    Ran { called: bool },
    Later(&'static str),
    Wrong(String),
}

/// `None` if it has no tools and no secrets, or does not load.
fn one(file: &Path) -> Option<Came> {
    let text = std::fs::read_to_string(file).ok()?;
    let folder = Folder::new();
    let name = file.file_name()?.to_str()?;
    let shown = folder.write(name, &text).trefoil(&["ir", name]);
    if shown.code != 0 {
        return None;
    }
    let of_servers = tools(&shown.out).into_iter().filter_map(|tool| match tool {
        Tool::Mcp { name, .. } => Some(name),
        _ => None,
    });
    let world = World::start(of_servers.filter(|name| !name.is_empty()).collect());
    folder.write(name, moved(&text, world.port));
    let tools = tools(&folder.trefoil(&["ir", name]).out);
    let secrets = names(&text, "secrets.");
    if tools.is_empty() && secrets.is_empty() {
        return None;
    }
    let called = |tool: &Tool| match tool {
        Tool::Local(name) | Tool::Mcp { name, .. } => name.clone(),
        Tool::Http => "http".to_owned(),
        Tool::Python => "python".to_owned(),
    };
    settings(&folder, &tools, world.port);
    let ran = run(&folder, name, &world, &secrets, &names(&text, "env."));
    let missing: Vec<_> = tools.iter().filter(|tool| !world.was_called(&folder, tool)).map(called).collect();
    Some(match ran.code {
        0 if missing.is_empty() => Came::Ran { called: true },
        0 => {
            eprintln!("{name} ran without {missing:?}");
            Came::Ran { called: false }
        }
        // A function of the user's own project, which is not available here.
        2 | 1 if tools.contains(&Tool::Python) && ran.err.contains("No module named") => Came::Later("a Python module"),
        2 if UNSET.iter().any(|what| ran.err.contains(what)) => Came::Ran { called: false },
        2 => match LATER.iter().find(|what| ran.err.contains(**what)) {
            Some(what) => Came::Later(what),
            None => Came::Wrong(format!("exits 2\n{}", ran.err)),
        },
        1 if OTHER.iter().any(|what| ran.err.contains(what)) => Came::Ran { called: missing.is_empty() },
        code => Came::Wrong(format!("exits {code}\n{}", ran.err)),
    })
}

/// The same manifest with its addresses replaced by ones on this machine.
fn moved(text: &str, port: u16) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("http") {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let scheme = ["https://", "http://"].into_iter().find(|scheme| from.starts_with(scheme));
        let Some(scheme) = scheme else {
            out.push_str("http");
            rest = &from[4..];
            continue;
        };
        let host =
            from[scheme.len()..].find(['/', '?', '"', '\'', ' ', '\n', '{']).unwrap_or(from.len() - scheme.len());
        out.push_str(&format!("http://127.0.0.1:{port}"));
        rest = &from[scheme.len() + host..];
    }
    out + rest
}

/// The tools of a program.
fn tools(ir: &str) -> Vec<Tool> {
    let ticked = |text: &str| text.split('`').nth(1).map(str::to_owned);
    let mut all: Vec<Tool> = ir
        .lines()
        .filter_map(|line| {
            let (_, call) = line.split_once(" tool `").or_else(|| line.trim_start().split_once("tool `"))?;
            let (name, kind) = call.split_once('`')?;
            let kind = kind.trim_start();
            if line.trim_start().starts_with("offers") {
                return None;
            }
            Some(match kind.split(' ').next()? {
                "local" => Tool::Local(name.to_owned()),
                "http" => Tool::Http,
                "python" => Tool::Python,
                "mcp" => Tool::Mcp { server: ticked(kind)?, name: name.to_owned() },
                _ => return None,
            })
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

/// The names that follow a prefix in braces.
fn names(text: &str, prefix: &str) -> BTreeSet<String> {
    let after = text.split("{{").skip(1).filter_map(|part| part.trim_start().strip_prefix(prefix));
    let name =
        |part: &str| part.chars().take_while(|c| c.is_alphanumeric() || *c == '_' || *c == '-').collect::<String>();
    after.map(name).filter(|name| !name.is_empty()).collect()
}

/// Declares programs and servers with the names in the manifest.
fn settings(folder: &Folder, tools: &[Tool], port: u16) {
    let mut text = String::new();
    let mut servers = BTreeSet::new();
    for tool in tools {
        match tool {
            Tool::Local(name) => {
                text.push_str(&format!(
                    "[tools.{name:?}]\ncommand = [\"tee\", \"-a\", \"called\"]\noutput = \"text\"\n"
                ));
            }
            Tool::Mcp { server, .. } if !server.contains("://") && servers.insert(server) => {
                text.push_str(&format!("[mcp.{server:?}]\nurl = \"http://127.0.0.1:{port}/mcp\"\n"));
            }
            Tool::Mcp { .. } | Tool::Http | Tool::Python => {}
        }
    }
    folder.write("config/config.toml", text);
}

fn run(folder: &Folder, name: &str, world: &World, secrets: &BTreeSet<String>, env: &BTreeSet<String>) -> Ran {
    let plan = folder.trefoil(&["plan", "--format", "json", name]).json();
    let host = format!("127.0.0.1:{}", world.port);
    let mut args = vec!["run".to_owned(), name.to_owned(), "--model".to_owned(), "openai:stand-in".to_owned()];
    args.extend(["--allow-host".to_owned(), host, "--allow-command".to_owned(), "--quiet".to_owned()]);
    let inputs = plan["input"].as_array().cloned().unwrap_or_default();
    for input in inputs.iter().filter(|input| input["required"] == true) {
        let value = sample(&input["schema"]);
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        args.extend(["--input".to_owned(), format!("{}={text}", input["name"].as_str().unwrap())]);
    }
    if inputs.is_empty() {
        args.extend(["--input".to_owned(), "a topic".to_owned()]);
    }
    let mut command = folder.command(&args.iter().map(String::as_str).collect::<Vec<_>>());
    command.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    command.env("OPENAI_API_KEY", "key").env("OPENAI_BASE_URL", format!("http://127.0.0.1:{}/v1", world.port));
    for secret in secrets {
        command.env(format!("TREFOIL_SECRET_{}", secret.to_ascii_uppercase().replace('-', "_")), "a secret");
    }
    for name in env.iter().filter(|name| !name.starts_with("OPENAI")) {
        command.env(name, "a value");
    }
    crate::world::finish(command)
}

/// A value that a schema accepts.
fn sample(schema: &Value) -> Value {
    if let Some(first) = schema.pointer("/enum/0").or_else(|| schema.get("const")) {
        return first.clone();
    }
    if let Some(first) = schema.pointer("/oneOf/0").or_else(|| schema.pointer("/anyOf/0")) {
        return sample(first);
    }
    let kind = schema["type"].as_str().or_else(|| schema.pointer("/type/0")?.as_str());
    match kind {
        Some("number" | "integer") => schema.get("minimum").cloned().unwrap_or(3.into()),
        Some("boolean") => true.into(),
        Some("null") => Value::Null,
        Some("array") => {
            let least = schema["minItems"].as_u64().unwrap_or(1);
            (0..least).map(|_| sample(&schema["items"])).collect()
        }
        Some("object") => {
            let all = schema["properties"].as_object().into_iter().flatten();
            Value::Object(all.map(|(name, schema)| (name.clone(), sample(schema))).collect())
        }
        _ => "some text".into(),
    }
}

/// The model, the addresses and the MCP servers of all manifests: one server that answers by path.
struct World {
    port: u16,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    /// The tools of its MCP servers.
    wanted: BTreeSet<String>,
    /// The tools that were called, by name, and `http`.
    called: Mutex<BTreeSet<String>>,
}

impl World {
    fn start(wanted: BTreeSet<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let kept = Arc::new(Seen { wanted, ..Seen::default() });
        let seen = kept.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = seen.clone();
                std::thread::spawn(move || serve(stream, &seen));
            }
        });
        Self { port, seen: kept }
    }

    fn was_called(&self, folder: &Folder, tool: &Tool) -> bool {
        let called = self.seen.called.lock().unwrap();
        match tool {
            Tool::Local(_) => folder.path().join("config/called").exists(),
            Tool::Mcp { name, .. } => name.is_empty() || called.contains(name),
            Tool::Http => called.contains("http"),
            Tool::Python => false,
        }
    }
}

fn serve(mut stream: TcpStream, seen: &Seen) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let lower = head.to_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let path = head.split(' ').nth(1).unwrap_or_default();
    let (kind, answer) = if path.starts_with("/v1/chat/completions") {
        model(&asked)
    } else if asked["jsonrpc"] == "2.0" {
        mcp(&asked, seen)
    } else {
        seen.called.lock().unwrap().insert("http".to_owned());
        let token =
            json!({ "access_token": "a token", "token": "a token", "data": { "token": "a token" }, "ok": true });
        ("application/json", token.to_string())
    };
    let status = if answer.is_empty() { "202 Accepted" } else { "200 OK" };
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}",
        answer.len()
    );
}

/// Calls all offered tools in its first turn, and gives the requested answer in its second.
fn model(asked: &Value) -> (&'static str, String) {
    let has_called = asked["messages"].as_array().into_iter().flatten().any(|message| message["role"] == "tool");
    let tools = asked["tools"].as_array().filter(|_| !has_called).cloned().unwrap_or_default();
    let calls: Vec<Value> = tools
        .iter()
        .enumerate()
        .map(|(at, tool)| {
            let arguments = sample(&tool["function"]["parameters"]);
            let arguments = if arguments.is_object() { arguments } else { json!({}) };
            json!({"index": at, "id": format!("call_{at}"), "type": "function", "function": {
                "name": tool["function"]["name"], "arguments": arguments.to_string()
            }})
        })
        .collect();
    let schema = asked.pointer("/response_format/json_schema/schema");
    let text = schema.map_or_else(|| "An answer.".to_owned(), |schema| sample(schema).to_string());
    let usage = json!({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7});
    let (said, why) = match calls.is_empty() {
        true => (json!({"role": "assistant", "content": text}), "stop"),
        false => (json!({"role": "assistant", "content": null, "tool_calls": calls}), "tool_calls"),
    };
    if asked["stream"] != true {
        let choice = json!({"index": 0, "message": said, "finish_reason": why});
        let answer =
            json!({"id": "1", "object": "chat.completion", "model": "stand-in", "choices": [choice], "usage": usage});
        return ("application/json", answer.to_string());
    }
    let chunk = |delta: Value, why: Value, usage: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": why});
        json!({"id": "1", "object": "chat.completion.chunk", "model": "stand-in", "choices": [choice], "usage": usage})
    };
    let (first, last) = (chunk(said, Value::Null, Value::Null), chunk(json!({}), why.into(), usage));
    ("text/event-stream", format!("data: {first}\n\ndata: {last}\n\ndata: [DONE]\n\n"))
}

/// A server with the tools in the manifest.
fn mcp(asked: &Value, seen: &Seen) -> (&'static str, String) {
    let Some(id) = asked.get("id") else { return ("application/json", String::new()) };
    let mut answer = match asked["method"].as_str().unwrap_or_default() {
        "initialize" => json!({"result": {
            "protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "stand-in", "version": "1"},
        }}),
        "tools/list" => {
            let tools: Vec<_> =
                seen.wanted.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect();
            json!({"result": {"tools": tools}})
        }
        "tools/call" => {
            seen.called.lock().unwrap().insert(asked["params"]["name"].as_str().unwrap_or_default().to_owned());
            json!({"result": {"content": [{"type": "text", "text": "found"}]}})
        }
        _ => json!({"error": {"code": -32601, "message": "unknown"}}),
    };
    answer["jsonrpc"] = "2.0".into();
    answer["id"] = id.clone();
    ("application/json", answer.to_string())
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn every_manifest_with_tools_runs_against_stand_ins() {
        let Some(corpus) = untested::shared_folder("corpus") else { return };
        let mut counts = [0; 4];
        let mut features: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut wrong = Vec::new();
        for dialect in ["agntz", "aegis", "sirenspec"] {
            let files = std::fs::read_dir(corpus.join(dialect)).unwrap().map(|entry| entry.unwrap().path());
            let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "yaml")).collect();
            files.sort();
            for file in files {
                match one(&file) {
                    None => {}
                    Some(Came::Ran { called }) => counts[usize::from(called)] += 1,
                    Some(Came::Later(what)) => {
                        counts[2] += 1;
                        features
                            .entry(what)
                            .or_default()
                            .push(file.file_stem().unwrap().to_string_lossy().into_owned());
                    }
                    Some(Came::Wrong(why)) => {
                        counts[3] += 1;
                        wrong.push(format!("{}: {why}", file.display()));
                    }
                }
            }
        }
        let [ran, called, later, _] = counts;
        eprintln!(
            "manifests with tools: {called} called them all, {ran} ran without a call, {later} need what is not supported yet"
        );
        for (what, files) in &features {
            eprintln!("  {what}: {}", files.join(", "));
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let done: Vec<_> = LATER.iter().filter(|what| !features.contains_key(*what)).collect();
        assert!(done.is_empty(), "no manifest is stopped by {done:?} any more");
        assert!(called > 20, "{counts:?}");
    }
}
