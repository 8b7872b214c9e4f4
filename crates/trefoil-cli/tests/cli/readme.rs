//! Runs every command of the README that needs nothing from outside, as it is written, in order, in one folder.

use crate::world::{Folder, bare, finish, root};

/// The lines of the shell blocks, without comments.
fn commands(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some((_, opened)) = rest.split_once("```sh\n") {
        let (block, after) = opened.split_once("```").unwrap();
        let lines = block.lines().map(|line| line.split("  #").next().unwrap().trim().to_owned());
        all.extend(lines.filter(|line| !line.is_empty()));
        rest = after;
    }
    all
}

#[test]
fn every_command_can_be_pasted() {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let folder = Folder::new();
    let examples = folder.path().join("examples");
    // A copy of the examples, so that commands do not write to the checkout.
    let copied = std::process::Command::new("cp").arg("-r").arg(root().join("examples")).arg(&examples).status();
    assert!(copied.unwrap().success());
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_trefoil")).parent().unwrap().to_owned();
    let path = std::env::join_paths([bin, "/usr/bin".into(), "/bin".into()]).unwrap();
    let mut ran = 0;
    for command in commands(&text) {
        let pasted = match command.strip_prefix("cargo run -- ") {
            Some(rest) => format!("trefoil {rest}"),
            None => command.clone(),
        };
        // Build commands are skipped: `cargo test` builds the library's examples, and installing is Cargo's job.
        // Commands that wait for file changes have separate tests.
        if pasted.starts_with("cargo ") || pasted.starts_with("trefoil dev ") {
            continue;
        }
        let mut shell = std::process::Command::new("sh");
        bare(&mut shell);
        // The user's own runs must not be accessed.
        shell.env("TREFOIL_STORE", folder.path().join("runs.db"));
        shell.current_dir(folder.path()).env("PATH", &path).arg("-c").arg(&pasted);
        let done = finish(shell);
        assert_eq!(done.code, 0, "{pasted}\n{}{}", done.out, done.err);
        ran += 1;
    }
    assert!(ran >= 14, "only {ran} commands of the README were run");
    assert!(folder.path().join("short-article.svg").exists() && folder.path().join("trace.json").exists());
}

/// What the first command demonstrates: passes of a loop, a branch that is taken and one that is not, concurrent items,
/// and a short result that repeats the topic.
#[test]
fn the_first_run_shows_a_loop_a_branch_and_parallel_steps() {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let first = commands(&text).into_iter().next().unwrap();
    assert_eq!(first, "cargo run -- run examples/agntz#short-article --model embedded --input topic=\"tide tables\"");
    let folder = Folder::new();
    let target = format!("{}#short-article", root().join("examples/agntz").display());
    let ran =
        folder.trefoil(&["run", &target, "--model", "embedded", "--input", "topic=tide tables", "--trace", "t.json"]);
    ran.exits(0).says(&["placeholder", "trefoil plan", "trefoil graph", "trefoil trace t.json"]);
    assert!(ran.out.trim().lines().count() <= 15, "{}", ran.out);
    for part in ["article", "verdict", "ending", "tide tables", "[embedded]"] {
        assert!(ran.out.contains(part), "`{part}` is not in {}", ran.out);
    }
    let trace: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("t.json")).unwrap()).unwrap();
    let steps = trace["steps"].as_array().unwrap();
    let status = |key: &str| steps.iter().find(|s| s["key"] == key).map(|s| s["status"].as_str().unwrap().to_owned());
    assert_eq!(status("writing@2/review").as_deref(), Some("done"), "the loop goes round");
    let ends = [status("glossary"), status("references")];
    let ends: Vec<&str> = ends.iter().flatten().map(String::as_str).collect();
    assert!(ends.contains(&"done") && ends.contains(&"skipped"), "{ends:?}");
    for key in ["research/facts", "research/doubts", "research/questions"] {
        assert_eq!(status(key).as_deref(), Some("done"));
    }
}
