//! `trefoil init`: its templates pass the checks and run, in every format and shape; nothing is overwritten.

use crate::world::{Folder, root};

/// Format and shape of every template, read from the template folders.
fn templates() -> Vec<(String, String)> {
    let folder = root().join("crates/trefoil-cli/src/shapes");
    let folders = |path: &std::path::Path| {
        let entries = std::fs::read_dir(path).unwrap().map(|e| e.unwrap());
        let all = entries.filter(|e| e.file_type().unwrap().is_dir());
        all.map(|e| e.file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    let formats = folders(&folder);
    let mut all: Vec<(String, String)> = formats
        .iter()
        .flat_map(|format| folders(&folder.join(format)).into_iter().map(move |shape| (format.clone(), shape)))
        .collect();
    all.sort();
    all
}

/// Splits a command into words like a shell.
fn words(command: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut quoted = false;
    for c in command.chars() {
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => all.push(String::new()),
            c => all.last_mut().unwrap().push(c),
        }
    }
    all
}

#[test]
fn every_format_and_shape_checks_and_runs() {
    let templates = templates();
    assert_eq!(templates.len(), 12, "{templates:?}");
    for (format, shape) in templates {
        let folder = Folder::new();
        let args = ["init", "--format", &format, "--shape", &shape, "tea-time", "flows"];
        let ran = folder.trefoil(&args);
        ran.exits(0);
        let checked = folder.trefoil(&["check", "--strict", "flows"]);
        checked.exits(0);
        assert!(checked.out.starts_with("no errors in "), "{format} {shape}: {}", checked.out);
        let commands: Vec<&str> = ran.out.lines().collect();
        assert_eq!(commands.len(), 3, "{}", ran.out);
        for command in commands {
            let words = words(command.strip_prefix("trefoil ").unwrap());
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let ran = folder.trefoil(&words);
            ran.exits(0);
            assert!(!ran.out.contains("NAME"), "{format} {shape}: {}", ran.out);
        }
        folder.trefoil(&args).silent(2).says(&["nothing was written", "existing files"]);
    }
}

#[test]
fn what_is_missing_or_not_there_is_said() {
    let folder = Folder::new();
    folder.trefoil(&["init"]).silent(2).says(&["choose a format: agntz, aegis, sirenspec", "--shape loop"]);
    folder.trefoil(&["init", "--format", "agntz"]).silent(2).says(&["choose a shape: triage, loop, fan-out"]);
    let gate = folder.trefoil(&["init", "--format", "agntz", "--shape", "gate"]);
    gate.silent(2).says(&["`agntz` has no shape `gate`", "available: triage"]);
    let tool = folder.trefoil(&["init", "--format", "sirenspec", "--shape", "tool"]);
    tool.silent(2).says(&["would not run offline"]);
    folder.trefoil(&["init", "--format", "jinja"]).silent(2);
    folder.trefoil(&["init", "../evil"]).silent(2).says(&["lower-case letters"]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_gate_asks_again_if_the_answer_is_neither_yes_nor_no() {
    let folder = Folder::new();
    folder.trefoil(&["init", "--format", "aegis", "--shape", "gate", "news"]).exits(0);
    let store = ["--store", "runs.db"];
    let with = |args: &[&str]| {
        let mut command = folder.command(&[args, &store].concat());
        command.env_remove("TREFOIL_EPHEMERAL");
        crate::world::finish(command)
    };
    let ran = with(&["run", "news.yaml", "--input", "x", "--model", "embedded"]);
    let run = ran.silent(75).err.lines().find_map(|line| line.strip_prefix("run ")).unwrap().to_owned();
    for (answer, code) in [("maybe later", 75), ("no", 0)] {
        with(&["runs", "answer", &run, "APPROVE", answer]).exits(0);
        let ran = with(&["resume", &run]);
        assert_eq!(ran.code, code, "{answer}: {}", ran.err);
        assert_eq!(ran.out.contains("Discarded"), code == 0, "{answer}: {}", ran.out);
    }
}
