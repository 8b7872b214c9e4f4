//! Small files and answers that could exhaust the memory. Each runs under a limit that a normal run never reaches, so a
//! program without its own limits is killed by the system instead of reporting an error.
#![cfg(target_os = "linux")]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::world::{Folder, Ran, bare, finish};

/// Address space in kilobytes. It is generous, because the allocator reserves more than it uses.
const MEMORY: u64 = 4 << 20;

/// The binary with the limit.
fn limited(folder: &Folder, args: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -v {MEMORY} && exec \"$@\"")).arg("sh");
    command.arg(env!("CARGO_BIN_EXE_trefoil")).args(args).current_dir(folder.path());
    bare(&mut command);
    command
}

fn run(folder: &Folder, args: &[&str]) -> Ran {
    finish(limited(folder, args))
}

#[test]
fn values_that_double_end_the_run_at_the_step_that_makes_one_too_many() {
    let folder = Folder::new();
    let mut states = "    S0:\n      kind: System\n      command: echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n      \
                      transitions: [{ target: S1 }]\n"
        .to_owned();
    for n in 1..200 {
        // It doubles up to the maximum length of a text, and is built again and again from there.
        let words = if n < 19 {
            format!("{{{{S{0}.output}}}}{{{{S{0}.output}}}}", n - 1)
        } else {
            "{{S18.output}}.".to_owned()
        };
        let target = if n == 199 { String::new() } else { format!("{{ target: S{} }}", n + 1) };
        states.push_str(&format!(
            "    S{n}:\n      kind: System\n      command: echo {words}\n      transitions: [{target}]\n"
        ));
    }
    folder.write(
        "a.yaml",
        format!("apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: grow }}\nspec:\n  initial_state: S0\n  states:\n{states}"),
    );
    let ran = run(&folder, &["run", "a.yaml", "--no-check"]);
    ran.silent(1).says(&["LIMIT_EXCEEDED", "the values of this run need more than 256 MB", "S"]);
}

/// A server that answers every request with the same bytes.
fn server(body: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
            let mut request: Vec<u8> = Vec::new();
            let mut piece = [0; 4096];
            while !request.windows(4).any(|w| w == b"\r\n\r\n") {
                match stream.read(&mut piece) {
                    Ok(n) if n > 0 => request.extend(&piece[..n]),
                    _ => break,
                }
            }
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    address
}

fn ask(folder: &Folder, body: Vec<u8>) -> Ran {
    let agent = "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I\nprompt: P\n";
    folder.write("a.yaml", agent);
    let mut command = limited(folder, &["run", "a.yaml", "--trace", "t.json"]);
    command.env("OPENAI_API_KEY", "sk-test").env("OPENAI_BASE_URL", server(body));
    finish(command)
}

#[test]
fn an_answer_of_nothing_but_brackets_is_refused_before_it_is_read() {
    let folder = Folder::new();
    let body = format!("[{}]", "[],".repeat(10 << 20)).replace(",]", "]").into_bytes();
    assert!(body.len() < 32 << 20);
    ask(&folder, body).silent(1).says(&["sent an answer with more than 1048576 values"]);
}

#[test]
fn an_answer_without_end_is_cut_off() {
    let folder = Folder::new();
    let body = format!("\"{}\"", "x".repeat(64 << 20)).into_bytes();
    ask(&folder, body).silent(1).says(&["sent more than 32 MB"]);
}

#[test]
fn an_input_without_end_is_not_read_to_its_end() {
    let folder = Folder::new();
    folder.write("a.yaml", crate::world::AGENT);
    let mut command = limited(&folder, &["run", "a.yaml", "--input-json", "-"]);
    command.stdin(Stdio::from(std::fs::File::open("/dev/zero").unwrap()));
    finish(command).silent(2).says(&["the input", "32 MB"]);
    run(&folder, &["run", "a.yaml", "--input-json", "@/dev/zero"]).silent(2).says(&["the input", "32 MB"]);
}

/// A workflow in which each state puts the last value twice into a new one, as JSON text.
fn doubling(first: &str, next: &str) -> String {
    let state = |i: usize| {
        let value = if i == 0 { first } else { next };
        let transitions =
            if i < 29 { json!([{"condition": "always", "target": format!("S{}", i + 1)}]) } else { json!([]) };
        let state =
            json!({"kind": "System", "command": "update_blackboard", "env": {"x": value}, "transitions": transitions});
        (format!("S{i}"), state)
    };
    let states: serde_json::Map<String, serde_json::Value> = (0..30).map(state).collect();
    let spec = json!({"initial_state": "S0", "states": states});
    let metadata = json!({"name": "w", "version": "1.0.0"});
    json!({"apiVersion": "100monkeys.ai/v1", "kind": "Workflow", "metadata": metadata, "spec": spec}).to_string()
}

#[test]
fn an_input_of_nothing_but_brackets_is_refused() {
    let folder = Folder::new();
    folder.write("a.yaml", crate::world::AGENT);
    folder.write("i.json", format!("[{}0]", "[],".repeat(9 << 20)));
    let ran = run(&folder, &["run", "a.yaml", "--input-json", "@i.json"]);
    ran.silent(2).says(&["more than 4194304 values"]);
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn a_template_behind_many_aliases_is_refused() {
        let folder = Folder::new();
        let text = "{{ x }} ".repeat(8000);
        let mut steps = String::new();
        for n in 0..2000 {
            steps.push_str(&format!(
                "  - agent: {{ id: a{n}, kind: llm, model: {{ provider: openai, name: m }}, instruction: *t }}\n"
            ));
        }
        folder.write("a.yaml", format!("id: p\nkind: sequential\ndescription: &t '{text}'\nsteps:\n{steps}"));
        let ran = run(&folder, &["run", "a.yaml"]);
        ran.silent(2).says(&["yaml-limit", "bytes of text", "a.yaml:"]);
    }

    #[test]
    fn a_text_answer_that_is_json_of_too_many_values_is_no_value() {
        let folder = Folder::new();
        let text = format!("[{}0]", "[],".repeat(9 << 20));
        let agent = "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I\nprompt: P\n\
                     outputSchema: { type: array }\n";
        folder.write("a.yaml", agent).write("s.json", serde_json::json!({"answers": {"a": text}}).to_string());
        let ran = run(&folder, &["run", "a.yaml", "--model", "scripted=s.json", "--no-check"]);
        ran.silent(1).says(&["STRUCTURED_OUTPUT_INVALID", "more than 1048576 values"]);
    }

    #[test]
    fn json_that_doubles_in_the_state_ends_the_run_at_a_limit() {
        let (object, list) = (
            r#"{"a": {{{json blackboard.x}}}, "b": {{{json blackboard.x}}}}"#,
            "[{{{json blackboard.x}}}, {{{json blackboard.x}}}]",
        );
        for (first, next) in
            [(r#"{"a": 1, "b": []}"#, object), ("[[], []]", list), ("text", "{{blackboard.x}}{{blackboard.x}}")]
        {
            let folder = Folder::new();
            folder.write("a.yaml", doubling(first, next));
            let ran = run(&folder, &["run", "a.yaml", "--input", "x", "--no-check"]);
            ran.silent(1).says(&["LIMIT_EXCEEDED"]);
        }
    }

    #[test]
    fn json_of_json_of_json_ends_before_it_fills_the_memory() {
        let folder = Folder::new();
        let nested = format!("{}input{}", "(json ".repeat(40), ")".repeat(40));
        folder.write(
            "a.yaml",
            format!(
                "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{ name: a, version: 1.0.0 }}\nspec:\n  runtime: {{ language: \
                 python, version: '3.11', model: smart }}\n  task:\n    instruction: I\n    prompt_template: '{{{{json {nested}}}}}'\n"
            ),
        );
        let ran = folder.trefoil(&["run", "a.yaml", "-i", "\"x\"", "--model", "embedded"]);
        ran.silent(1).says(&["LIMIT_EXCEEDED", "as JSON"]);
    }
}
