//! A secret that tools receive, and repeat in every form, must not be in anything that a run leaves, or in any prompt.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use crate::world::{Folder, Ran};

/// With characters that every encoding changes.
const SECRET: &str = "canary-Zx81\"äö/+= &<end>";

/// Every form of it, one per line.
fn forms() -> String {
    let escaped: String =
        SECRET.chars().map(|c| if c.is_ascii() { c.to_string() } else { format!("\\u{:04x}", c as u32) }).collect();
    let percent = |text: &str, keep: &str| -> String {
        text.bytes()
            .map(|byte| match byte as char {
                c if c.is_ascii_alphanumeric() || keep.contains(c) => c.to_string(),
                _ => format!("%{byte:02X}"),
            })
            .collect()
    };
    let all = [
        SECRET.to_owned(),
        base64(SECRET.as_bytes(), b"+/", true),
        base64(SECRET.as_bytes(), b"-_", false),
        percent(SECRET, "-._~"),
        percent(SECRET, "-._* ").replace(' ', "+"),
        json!(SECRET).to_string(),
        escaped.replace('"', "\\\""),
    ];
    all.join("\n")
}

fn base64(bytes: &[u8], last: &[u8; 2], pad: bool) -> String {
    let alphabet: Vec<u8> = (b'A'..=b'Z').chain(b'a'..=b'z').chain(b'0'..=b'9').chain(*last).collect();
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0u32, |all, byte| all << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for at in 0..=three.len() {
            out.push(alphabet[(bits >> (18 - 6 * at)) as usize & 63] as char);
        }
        out.extend(std::iter::repeat_n('=', if pad { 3 - three.len() } else { 0 }));
    }
    out
}

/// Parts of the forms that occur nowhere else.
fn traces_of_it() -> Vec<String> {
    let mut all: Vec<String> = vec!["canary-Zx81".to_owned(), "canary%2DZx81".to_owned()];
    // Base64 depends on the position modulo three.
    for before in 0..3 {
        let text = [vec![b'.'; before], b"canary-Zx81".to_vec()].concat();
        let form = base64(&text, b"+/", false);
        all.push(form[4..form.len() - 4].to_owned());
    }
    all
}

pub fn run(folder: &Folder, args: &[&str], env: &[(&str, &str)]) -> Ran {
    let mut command = folder.command(args);
    command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    command.env("TREFOIL_SECRET_KEY", SECRET).envs(env.iter().copied());
    crate::world::finish(command)
}

/// Runs `one.yaml`, and returns everything that it leaves.
pub fn left_of(folder: &Folder, more: &[&str], env: &[(&str, &str)], code: i32) -> (Ran, String) {
    let args = ["run", "one.yaml", "--input", "x", "--store", "runs.db", "--trace", "t.json", "--events", "jsonl"];
    let ran = run(folder, &[&args[..], more].concat(), env);
    ran.exits(code);
    let id = ran.lines()[0]["run"].as_str().unwrap().to_owned();
    let mut left = format!("{}\n{}", ran.out, ran.err).into_bytes();
    for args in [
        &["runs", "export", &id, "--store", "runs.db"][..],
        &["runs", "show", &id, "--store", "runs.db", "--output", "json"],
        &["runs", "events", &id, "--store", "runs.db"],
        &["runs", "list", "--store", "runs.db"],
        &["runs", "diff", &id, &id, "--store", "runs.db"],
        &["trace", "t.json", "--html", "page.html"],
    ] {
        left.extend(format!("{:?}", run(folder, args, env)).into_bytes());
    }
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() && path.file_name().unwrap() != "forms.txt" {
            left.extend(std::fs::read(path).unwrap());
        }
    }
    (ran, String::from_utf8_lossy(&left).into_owned())
}

/// Runs `one.yaml`, and searches everything that it leaves.
fn leaves_nothing(folder: &Folder, more: &[&str], env: &[(&str, &str)], code: i32) -> Ran {
    let (ran, left) = left_of(folder, more, env, code);
    for trace in traces_of_it() {
        if let Some(at) = left.find(&trace) {
            let around: String = left[..at].chars().rev().take(200).collect::<Vec<_>>().into_iter().rev().collect();
            panic!("{trace} is left: {around}{trace}");
        }
    }
    assert!(left.contains("***"), "nothing was hidden, so nothing was tried");
    ran
}

fn local(folder: &Folder, params: &str) {
    folder.write("forms.txt", forms());
    folder.write("one.yaml", format!("id: one\nkind: tool\ntool: {{ kind: local, name: show, params: {params} }}\n"));
}

#[test]
fn a_program_that_says_what_it_is_given() {
    let folder = Folder::new();
    local(&folder, "{ key: \"{{secrets.KEY}}\" }");
    let show = "[tools.show]\ncommand = [\"sh\", \"-c\", \"cat forms.txt; echo; echo $KEY; cat; cat forms.txt >&2\"]\nfolder = \"..\"\nenv = { KEY = \"{{secrets.KEY}}\" }\n";
    folder.write("config/config.toml", show);
    leaves_nothing(&folder, &[], &[], 0);
    // The same if the tool fails.
    folder.write("config/config.toml", show.replace(">&2", ">&2; exit 3"));
    leaves_nothing(&folder, &[], &[], 1);
}

#[test]
fn a_secret_is_in_no_argument_of_a_process() {
    let folder = Folder::new();
    local(&folder, "{ key: \"{{secrets.KEY}}\" }");
    let show = "[tools.show]\ncommand = [\"sh\", \"-c\", \"sleep 5\"]\nenv = { KEY = \"{{secrets.KEY}}\" }\n";
    folder.write("config/config.toml", show);
    let mut command: Command = folder.command(&["run", "one.yaml", "--input", "x", "--store", "runs.db"]);
    command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    let child = command.env("TREFOIL_SECRET_KEY", SECRET).stdin(Stdio::null()).spawn().unwrap();
    let mut seen = String::new();
    for _ in 0..40 {
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            seen.push_str(&String::from_utf8_lossy(&words));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    crate::world::wait(child).exits(0);
    assert!(seen.contains("sleep 5") || !std::path::Path::new("/proc/self").exists());
    // This process's own arguments do not contain it, either.
    assert!(!seen.contains("canary-Zx81"));
    // A run whose command line would contain it does not start.
    folder.write("config/config.toml", "[tools.show]\ncommand = [\"echo\", \"{key}\"]\n");
    let refused = run(&folder, &["run", "one.yaml", "--input", "x", "--ephemeral"], &[]);
    refused.exits(2).says(&["secret-in-argument", "would be a command-line argument of `show`"]);
}

/// A server that answers every request with all forms of the secret, and records the requests.
pub fn telling(kind: &'static str, wrap: fn(&str, &str) -> String) -> (u16, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let sent = Arc::<Mutex<String>>::default();
    let kept = sent.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap_or(0) > 0 {}
            let length =
                head.to_lowercase().lines().find_map(|l| l.strip_prefix("content-length:")?.trim().parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            let _ = reader.read_exact(&mut body);
            let body = String::from_utf8_lossy(&body).into_owned();
            kept.lock().unwrap().push_str(&format!("{head}{body}\n"));
            let answer = wrap(&body, &forms());
            let status = if answer.is_empty() { "202 Accepted" } else { "200 OK" };
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}",
                answer.len()
            );
        }
    });
    (port, sent)
}

#[test]
fn an_mcp_server_that_says_what_it_is_sent() {
    let (port, sent) = telling("application/json", |asked, forms| {
        let asked: serde_json::Value = serde_json::from_str(asked).unwrap_or_default();
        let Some(id) = asked.get("id") else { return String::new() };
        let mut answer = match asked["method"].as_str().unwrap_or_default() {
            "initialize" => {
                json!({"result": {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}})
            }
            "tools/list" => json!({"result": {"tools": [{"name": "show", "inputSchema": {"type": "object"}}]}}),
            "tools/call" => json!({"result": {"content": [{"type": "text", "text": forms}]}}),
            _ => json!({"error": {"code": -32601, "message": "unknown"}}),
        };
        answer["jsonrpc"] = "2.0".into();
        answer["id"] = id.clone();
        answer.to_string()
    });
    let folder = Folder::new();
    folder.write(
        "config/config.toml",
        format!(
            "[mcp.there]\nurl = \"http://127.0.0.1:{port}/mcp\"\nheaders = {{ X-Key = \"{{{{secrets.KEY}}}}\" }}\n"
        ),
    );
    folder.write(
        "one.yaml",
        "id: one\nkind: tool\ntool: { kind: mcp, server: there, name: show, params: { key: \"{{secrets.KEY}}\" } }\n",
    );
    leaves_nothing(&folder, &[], &[], 0);
    assert!(sent.lock().unwrap().contains("canary-Zx81"), "it was sent the secret");
}

/// Arguments are passed on stdin. If a function or a server repeats them on stderr, in results or in failures, they are
/// hidden.
#[test]
fn a_python_function_that_says_what_it_is_given() {
    let folder = Folder::new();
    folder.write("forms.txt", forms());
    folder.write(
        "says.py",
        "import sys\n\ndef show(key):\n    all = open('forms.txt').read()\n    sys.stderr.write(all + repr(key))\n    return all + key\n\n\ndef fail(key):\n    all = open('forms.txt').read()\n    sys.stderr.write(all)\n    raise ValueError(all + key)\n\n\ndef dies(key):\n    import os\n    sys.stderr.write(open('forms.txt').read())\n    sys.stderr.flush()\n    os.abort()\n",
    );
    for (function, code) in [("show", 0), ("fail", 1), ("dies", 1)] {
        folder.write(
            "one.yaml",
            format!(
                "version: \"0.1\"\nnodes:\n  a:\n    type: tool\n    tool: python\n    config: {{ module: says, function: {function}, \
                 args: {{ key: \"{{{{ env.KEY }}}}\" }} }}\n    output_key: said\nagents: {{}}\nedges: []\ninput: {{ message: it }}\n"
            ),
        );
        let (text, folder) = (std::fs::read_to_string(folder.path().join("one.yaml")).unwrap(), &folder);
        let more = ["--allow-command"];
        let env = [("KEY", SECRET), ("PYTHONPATH", ".")];
        let ran = run(folder, &[&["run", "one.yaml", "--input", "x", "--ephemeral"][..], &more].concat(), &env);
        assert_eq!(ran.code, code, "{text}\n{}", ran.err);
        let left = format!("{}{}", ran.out, ran.err);
        let found = traces_of_it().into_iter().find(|trace| ran.err.contains(trace.as_str()));
        assert!(found.is_none(), "{found:?}: {left}");
    }
}

#[test]
fn an_mcp_server_of_this_machine_that_says_what_it_is_sent() {
    let folder = Folder::new();
    folder.write("forms.txt", forms());
    // Prints everything on stderr, and again in its response; then the same before it exits.
    let server = "import json, sys\nsys.stderr.write(open('forms.txt').read())\nfor line in sys.stdin:\n    asked = json.loads(line)\n    if 'id' not in asked:\n        continue\n    all = open('forms.txt').read()\n    method = asked['method']\n    if method == 'initialize':\n        result = {'protocolVersion': asked['params']['protocolVersion'], 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'x', 'version': '1'}}\n    elif method == 'tools/list':\n        result = {'tools': [{'name': 'show', 'inputSchema': {'type': 'object'}}]}\n    elif method == 'tools/call' and END:\n        sys.stderr.write(all)\n        sys.stderr.flush()\n        sys.exit(3)\n    elif method == 'tools/call':\n        sys.stderr.write(all)\n        result = {'content': [{'type': 'text', 'text': all}]}\n    else:\n        sys.stdout.write(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'error': {'code': -32601, 'message': 'unknown'}}) + '\\n')\n        sys.stdout.flush()\n        continue\n    sys.stdout.write(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': result}) + '\\n')\n    sys.stdout.flush()\n";
    folder.write(
        "config/config.toml",
        "[mcp.here]\ncommand = [\"python3\", \"server.py\"]\nfolder = \"..\"\nenv = { KEY = \"{{secrets.KEY}}\" }\n",
    );
    folder.write(
        "one.yaml",
        "id: one\nkind: tool\ntool: { kind: mcp, server: here, name: show, params: { key: \"{{secrets.KEY}}\" } }\n",
    );
    for (end, code) in [("False", 0), ("True", 1)] {
        folder.write("server.py", server.replace("END", end));
        leaves_nothing(&folder, &[], &[], code);
    }
}

#[test]
fn a_model_reads_nothing_of_it_in_what_a_tool_says() {
    let (tool, _) = telling("text/plain", |_, forms| forms.to_owned());
    let (model, prompts) = telling("application/json", |asked, _| {
        let asked: serde_json::Value = serde_json::from_str(asked).unwrap_or_default();
        let has_called = asked["messages"].as_array().into_iter().flatten().any(|m| m["role"] == "tool");
        let said = match has_called {
            true => json!({"role": "assistant", "content": "{\"verdict\": \"done\"}"}),
            false => {
                json!({"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "http__show", "arguments": "{}"}}]})
            }
        };
        json!({"id": "1", "object": "chat.completion", "model": "m", "choices": [{"index": 0, "message": said, "finish_reason": if has_called { "stop" } else { "tool_calls" }}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}).to_string()
    });
    let folder = Folder::new();
    folder.write(
        "one.yaml",
        format!("id: one\nkind: llm\nmodel: {{ provider: openai, name: m }}\ninstruction: Go.\noutputSchema: {{ verdict: string }}\ntools:\n  - {{ kind: http, name: show, url: \"http://127.0.0.1:{tool}/\", headers: {{ X-Key: \"{{{{secrets.KEY}}}}\" }} }}\n"),
    );
    let base = format!("http://127.0.0.1:{model}/v1");
    let env = [("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", base.as_str())];
    let host = format!("127.0.0.1:{tool}");
    leaves_nothing(&folder, &["--allow-host", &host], &env, 0);
    let prompts = prompts.lock().unwrap();
    assert!(prompts.contains("***"), "{prompts}");
    for trace in traces_of_it() {
        assert!(!prompts.contains(&trace), "{trace}: {prompts}");
    }
}

/// Two flows that are tools: `sender` sends the secret to a server, and `asker` asks that server without it.
fn flows(folder: &Folder) -> String {
    let (port, _) = telling("text/plain", |_, forms| forms.to_owned());
    let there = |id: &str, rest: &str| {
        format!(
            "id: {id}\nkind: tool\ntool: {{ kind: http, name: {id}, url: \"http://127.0.0.1:{port}/\", {rest}params: {{}} }}\n"
        )
    };
    folder.write("sends.yaml", there("sends", "headers: { X-Key: \"{{secrets.KEY}}\" }, "));
    folder.write("asks.yaml", there("asks", "")).write("again.yaml", there("again", "method: POST, "));
    folder.write(
        "config/config.toml",
        "[tools.sender]\nflow = \"../sends.yaml\"\n[tools.asker]\nflow = \"../asks.yaml\"\n",
    );
    format!("127.0.0.1:{port}")
}

fn calls(id: &str, tool: &str) -> String {
    format!("  - agent: {{ id: {id}, kind: tool, tool: {{ kind: local, name: {tool}, params: {{ input: x }} }} }}\n")
}

fn steps(steps: &[&str]) -> String {
    format!("id: one\nkind: sequential\nsteps:\n{}", steps.concat())
}

/// Searches everything that all runs of the store left, and what was printed.
fn nothing_is_left(folder: &Folder, said: &[&Ran]) {
    let listed = run(folder, &["runs", "list", "--store", "runs.db", "--output", "json"], &[]).json();
    let mut left = said.iter().map(|ran| format!("{}\n{}\n", ran.out, ran.err)).collect::<String>();
    for one in listed["runs"].as_array().unwrap() {
        let id = one["run"].as_str().unwrap();
        for args in [&["runs", "export", id][..], &["runs", "show", id], &["runs", "events", id]] {
            left.push_str(&run(folder, &[args, &["--store", "runs.db"]].concat(), &[]).out);
        }
    }
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            left.push_str(&String::from_utf8_lossy(&std::fs::read(path).unwrap()));
        }
    }
    for trace in traces_of_it() {
        assert!(!left.contains(&trace), "{trace} is left: {left}");
    }
    assert!(left.contains("***"), "nothing was hidden, so nothing was tried");
}

#[test]
fn a_flow_and_the_flows_that_are_its_tools_hide_what_any_of_them_has_sent() {
    for all in
        [[calls("a", "sender"), "  - ref: asks\n".to_owned()], ["  - ref: sends\n".to_owned(), calls("b", "asker")]]
    {
        let folder = Folder::new();
        let host = flows(&folder);
        folder.write("one.yaml", steps(&[&all[0], &all[1]]));
        leaves_nothing(&folder, &["--allow-host", &host], &[], 0);
        nothing_is_left(&folder, &[]);
    }
}

#[test]
fn runs_that_reuse_results_hide_what_the_earlier_ones_and_their_flows_have_sent() {
    for first in [calls("a", "sender"), "  - ref: sends\n".to_owned()] {
        let folder = Folder::new();
        let host = flows(&folder);
        let go_on = ["--store", "runs.db", "--allow-host", &host, "--events", "jsonl", "--trace", "t.json"];
        folder.write("one.yaml", steps(&[&first, "  - ref: asks\n"]));
        let ran = run(&folder, &[&["run", "one.yaml", "--input", "x"], &go_on[..]].concat(), &[]);
        let id = ran.exits(0).lines()[0]["run"].as_str().unwrap().to_owned();
        // The call that sent it is not repeated.
        let args = ["runs", "fork", &id, "--from", "asks", "--rerun", "asks"];
        let forked = run(&folder, &[&args, &go_on[..]].concat(), &[]);
        forked.exits(0);
        // The new program does not name it, and asks twice.
        folder.write("two.yaml", steps(&["  - ref: again\n", &calls("c", "asker")]).replace("one", "two"));
        let edited =
            run(&folder, &[&["resume", &id, "--with", "two.yaml", "--from-scratch"], &go_on[..]].concat(), &[]);
        edited.exits(0);
        nothing_is_left(&folder, &[&ran, &forked, &edited]);
    }
}

#[test]
fn a_worker_and_an_mcp_server_hide_what_flows_have_sent() {
    let folder = Folder::new();
    let host = flows(&folder);
    folder.write("one.yaml", steps(&[&calls("a", "sender"), "  - ref: asks\n"]));
    run(&folder, &["run", "one.yaml", "--input", "x", "--store", "runs.db", "--detach"], &[]).exits(0);
    let worked = run(&folder, &["worker", "--once", "--store", "runs.db", "--allow-host", &host], &[]);
    worked.exits(0).says(&["completed"]);

    let mut command = folder.command(&["mcp", "one.yaml", "--store", "runs.db", "--allow-host", &host]);
    command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    command.env("TREFOIL_SECRET_KEY", SECRET).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = command.spawn().unwrap();
    let (mut to, mut from) = (server.stdin.take().unwrap(), BufReader::new(server.stdout.take().unwrap()));
    let started =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let mut said = String::new();
    for (id, method, params) in [
        (Some(1), "initialize", started),
        (None, "notifications/initialized", json!({})),
        (Some(2), "tools/call", json!({"name": "one", "arguments": {"input": "x"}})),
    ] {
        let mut message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        if let Some(id) = id {
            message["id"] = id.into();
        }
        writeln!(to, "{message}").unwrap();
        while id.is_some_and(|id| !said.contains(&format!("\"id\":{id}"))) {
            assert!(from.read_line(&mut said).unwrap() > 0, "{said}");
        }
    }
    drop(to);
    let ended = crate::world::wait(server);
    assert!(said.contains("***"), "{said}");
    let said = Ran { out: format!("{said}{}", ended.out), ..ended };
    nothing_is_left(&folder, &[&worked, &said]);
}

#[test]
fn a_secret_is_in_no_input_of_a_flow() {
    let folder = Folder::new();
    flows(&folder);
    local(&folder, "{ input: \"{{secrets.KEY}}\" }");
    let text = std::fs::read_to_string(folder.path().join("one.yaml")).unwrap();
    folder.write("one.yaml", text.replace("show", "asker"));
    let refused = run(&folder, &["run", "one.yaml", "--input", "x", "--ephemeral"], &[]);
    refused.exits(2).says(&["secret-in-argument", "would be stored as input of the flow `asker`", "{{secrets.KEY}}"]);
}

/// A run that a call has started is resumed alone, or after the flow that it called was edited.
#[test]
fn a_resumed_run_hides_what_the_runs_around_it_have_sent() {
    let folder = Folder::new();
    let host = flows(&folder);
    // The called run waits for a person, and then asks the server.
    let human = "version: \"0.1\"\nnodes:\n  ok: { type: human, prompt: \"Sure?\", writes: working.said }\n  there: { type: tool, tool: http, config: { url: \"http://HOST/\", method: GET }, output_key: said }\nagents: {}\nedges: [{ from: ok, to: there }]\ninput: { message: it }\n";
    folder.write("asks.yaml", human.replace("HOST", &host));
    folder.write("one.yaml", steps(&["  - ref: sends\n", &calls("b", "asker").replace("input: x", "message: x")]));
    let store = ["--store", "runs.db", "--allow-host", &host];
    let waits = run(&folder, &[&["run", "one.yaml", "--input", "x"], &store[..]].concat(), &[]);
    waits.exits(75);
    let runs = run(&folder, &["runs", "list", "--output", "json", "--store", "runs.db"], &[]).json();
    let called = runs["runs"].as_array().unwrap().iter().find(|run| !run["parent"].is_null()).unwrap()["run"].clone();
    let called = called.as_str().unwrap();
    run(&folder, &["runs", "answer", called, "ok", "yes", "--store", "runs.db"], &[]).exits(0);
    let resumed = run(&folder, &[&["resume", called], &store[..]].concat(), &[]);
    resumed.exits(0);
    nothing_is_left(&folder, &[&waits, &resumed]);
}
