//! A project file that sets what only the operator may set.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use crate::world::{Folder, Ran, finish};

const KEY: &str = "sk-very-secret-0123456789";
const AGENT: &str = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: a }\nspec:\n  runtime: { model: smart }\n  \
                     task: { instruction: Answer. }\n";

/// A model server on a free port, and the requests that it got.
fn model() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let keeps = heard.clone();
    let body = r#"{"choices":[{"message":{"role":"assistant","content":"well"},"finish_reason":"stop"}]}"#;
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = [0; 8192];
            let read = stream.read(&mut bytes).unwrap_or(0);
            keeps.lock().unwrap().push(String::from_utf8_lossy(&bytes[..read]).into_owned());
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (url, heard)
}

/// The binary with a key and a separate configuration folder.
fn trefoil(folder: &Folder, args: &[&str]) -> Ran {
    let mut command = folder.command(args);
    command.env("OPENAI_API_KEY", KEY).env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    finish(command)
}

#[test]
fn a_project_redirects_a_provider_only_after_it_was_trusted_and_not_after_a_change() {
    let (url, heard) = model();
    let folder = Folder::new();
    let settings = format!("[models]\nsmart = \"openai:gpt-x\"\n[providers.openai]\nbase_url = \"{url}\"\n");
    folder.write("p/a.yaml", AGENT).write("p/trefoil.toml", &settings);
    let run = ["run", "p/a.yaml", "-i", "x"];
    let refused = trefoil(&folder, &run);
    refused.exits(2).says(&[
        "untrusted-project",
        "`[providers]` would choose where prompts and keys are sent",
        "p/trefoil.toml:3",
        "trefoil trust",
    ]);
    // All tables are shown in one finding.
    assert_eq!(refused.err.matches("untrusted-project").count(), 1, "{}", refused.err);
    refused.says(&["`[models]` would choose the models"]);
    trefoil(&folder, &["run", "p/a.yaml", "-i", "x", "--no-config"]).exits(2).says(&["alias `smart`"]);
    assert_eq!(heard.lock().unwrap().len(), 0, "something was sent before the project was trusted");

    trefoil(&folder, &["trust", "p"]).exits(0).says(&["p/trefoil.toml"]);
    trefoil(&folder, &run).exits(0).says(&["`openai` is called at http://127.0.0.1", "`[providers.openai]`"]);
    assert_eq!(heard.lock().unwrap().len(), 1);
    assert!(heard.lock().unwrap()[0].contains("gpt-x"));

    folder.write("p/trefoil.toml", format!("{settings}# changed\n"));
    trefoil(&folder, &run).exits(2).says(&["the file changed since you trusted it"]);
    trefoil(&folder, &["trust", "p"]).exits(0);
    trefoil(&folder, &["trust", "--revoke", "p"]).exits(0);
    trefoil(&folder, &run).exits(2).says(&["you have not trusted this project"]);
    assert_eq!(heard.lock().unwrap().len(), 1, "something was sent without trust");
}

#[test]
fn the_users_own_file_counts_for_all_projects_and_the_environment_beats_it() {
    let (url, heard) = model();
    let folder = Folder::new();
    folder.write("a.yaml", AGENT);
    folder.write(
        "config/config.toml",
        format!("[models]\nsmart = \"openai:gpt-x\"\n[providers.openai]\nbase_url = \"{url}\"\n"),
    );
    trefoil(&folder, &["run", "a.yaml", "-i", "x"]).exits(0);
    assert_eq!(heard.lock().unwrap().len(), 1);
    let mut command = folder.command(&["run", "a.yaml", "-i", "x"]);
    command.env("OPENAI_API_KEY", KEY).env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    command.env("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
    finish(command).exits(1).says(&["(from `OPENAI_BASE_URL`)"]);
    assert_eq!(heard.lock().unwrap().len(), 1);
}

#[test]
fn a_project_allows_no_commands_and_no_folders_without_trust() {
    let folder = Folder::new();
    folder.write("outside/b.txt", "canary");
    folder.write("p/trefoil.toml", "[paths]\nallow = [\"../outside\"]\n[run]\nallow-command = true\n");
    folder.write("p/a.yaml", AGENT.replace("  task:", "  context: [{ type: file, path: ../outside/b.txt }]\n  task:"));
    trefoil(&folder, &["run", "p/a.yaml", "-i", "x", "--model", "embedded"])
        .exits(2)
        .says(&["`[paths]` would", "`[run]` would"]);
    let checked = trefoil(&folder, &["check", "p/a.yaml"]);
    assert!(checked.exits(1).out.contains("outside-project"), "{}", checked.out);
    trefoil(&folder, &["trust", "p"]).exits(0);
    trefoil(&folder, &["run", "p/a.yaml", "-i", "x", "--model", "embedded"]).exits(0);
}

#[test]
fn what_is_wrong_in_the_users_file_stops_the_run_at_its_place() {
    let folder = Folder::new();
    folder.write("a.yaml", AGENT);
    for (text, says) in [
        ("[providers.opnai]\nbase_url = \"https://h\"\n", "did you mean `openai`?"),
        ("[providers.openai]\nbase_url = \"file:///etc/passwd\"\n", "http or https"),
        ("[models]\nsmart = \"gpt\"\n", "must be `\"provider:name\"`"),
        ("[paths]\nallow = [\"/nowhere-at-all\"]\n", "does not exist"),
    ] {
        folder.write("config/config.toml", text);
        trefoil(&folder, &["run", "a.yaml", "-i", "x", "--model", "embedded"]).exits(2).says(&[says, "config.toml:"]);
    }
}
