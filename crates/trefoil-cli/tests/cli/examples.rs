//! Runs every command in the examples' READMEs and compares the result and the steps, in order, with a reviewed
//! snapshot.

use std::process::Command;

use serde_json::Value;

use crate::world::{Folder, bare, finish, root};

#[test]
fn agntz() {
    readme("agntz");
}

#[test]
fn aegis() {
    readme("aegis");
}

#[test]
fn sirenspec() {
    readme("sirenspec");
}

#[test]
fn tools() {
    readme("tools");
}

fn readme(dialect: &str) {
    let text = std::fs::read_to_string(root().join("examples").join(dialect).join("README.md")).unwrap();
    // In a table, `|` is written `\|`.
    let text = text.replace("\\|", "|");
    let commands: Vec<&str> =
        text.split('`').skip(1).step_by(2).filter(|c| c.contains("trefoil run examples/")).collect();
    assert!(!commands.is_empty());
    let mut shown = String::new();
    for command in &commands {
        shown.push_str(&example(command));
    }
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(format!("examples-{dialect}"), shown);
    });
    named(dialect, &commands);
}

/// Every manifest of the folder is used by a command, directly or indirectly.
fn named(dialect: &str, commands: &[&str]) {
    let dir = root().join("examples").join(dialect);
    for entry in std::fs::read_dir(dir).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(id) = name.strip_suffix(".yaml") else { continue };
        let text = std::fs::read_to_string(root().join("examples").join(dialect).join("README.md")).unwrap();
        let found = commands.iter().any(|c| c.contains(id)) || text.contains(&format!("`{id}`"));
        assert!(found, "{dialect}/{name} is in no command of the README");
    }
}

/// Runs a command with the embedded model, and describes the outcome.
fn example(command: &str) -> String {
    let folder = Folder::new();
    let trace = folder.path().join("trace.json");
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_trefoil")).parent().unwrap().to_owned();
    let mut shell = Command::new("sh");
    bare(&mut shell);
    let path = std::env::join_paths([bin, "/usr/bin".into(), "/bin".into()]).unwrap();
    shell.current_dir(root()).env("PATH", path);
    // Commands with a script choose the model themselves.
    let is_scripted = command.contains("--model");
    let model = if is_scripted { "" } else { " --model embedded" };
    shell.arg("-c").arg(format!("{command}{model} --seed 7 --trace {}", trace.display()));
    let ran = finish(shell);
    ran.exits(0);
    if !is_scripted {
        ran.says(&["embedded model"]);
    }
    let mut shown = format!("$ {command}\n{}", ran.out);
    let trace: Value = std::fs::read(trace).map_or(Value::Null, |t| serde_json::from_slice(&t).unwrap());
    for step in trace["steps"].as_array().into_iter().flatten() {
        let text = |key: &str| step[key].as_str().unwrap_or_default().to_owned();
        let calls = step["calls"].as_array().map_or(0, Vec::len);
        let calls = if calls == 1 { String::new() } else { format!(", {calls} calls") };
        let reason = if step["reason"].is_null() { String::new() } else { format!(": {}", text("reason")) };
        shown.push_str(&format!("  {} {}{calls}{reason}\n", text("key"), text("status")));
    }
    shown.push('\n');
    shown
}
