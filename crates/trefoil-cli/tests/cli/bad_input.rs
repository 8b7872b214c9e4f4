//! Common invalid input: each gets a finding with a rule and a place, and the documented exit code, without a panic or
//! a partial run.

use std::fmt::Write as _;

use crate::world::{AGENT, Folder};

/// Checks a file and returns rule, severity and line of each finding; the run must be rejected as well.
fn refused(name: &str, content: impl AsRef<[u8]>) -> Vec<(String, String, Option<u64>)> {
    let folder = Folder::new();
    folder.write(name, content);
    let ran = folder.trefoil(&["check", "--format", "json", name]);
    ran.exits(1);
    folder.trefoil(&["run", "--model", "embedded", name]).silent(2).says(&["error["]);
    let json = ran.json();
    let all = json["diagnostics"].as_array().unwrap();
    assert!(all.iter().any(|d| d["severity"] == "error"), "{json:#}");
    let text = |v: &serde_json::Value| v.as_str().unwrap_or_default().to_owned();
    all.iter().map(|d| (text(&d["rule"]), text(&d["severity"]), d["line"].as_u64())).collect()
}

fn error(rule: &str, line: u64) -> (String, String, Option<u64>) {
    (rule.to_owned(), "error".to_owned(), Some(line))
}

#[test]
fn a_file_that_is_not_there() {
    let folder = Folder::new();
    folder.write("flow.yaml", AGENT);
    let ran = folder.trefoil(&["check", "--format", "json", "flwo.yaml"]);
    ran.exits(2);
    let d = &ran.json()["diagnostics"][0];
    assert_eq!((&d["rule"], &d["file"]), (&"file-not-found".into(), &"flwo.yaml".into()));
    assert_eq!(d["help"], "did you mean `flow.yaml`?");
    folder.trefoil(&["run", "--model", "embedded", "flwo.yaml"]).silent(2).says(&[
        "file-not-found",
        "flwo.yaml",
        "did you mean",
    ]);
    folder.trefoil(&["plan", "flwo.yaml"]).silent(2);
    folder.trefoil(&["graph", "nowhere/"]).silent(2);
}

/// If a file of a folder cannot be read, the result for the folder is incomplete.
#[cfg(unix)]
#[test]
fn what_cannot_be_looked_at_is_no_clean_check() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = Folder::new();
    folder.write("flows/a.yaml", AGENT);
    // An editor's lock file.
    std::os::unix::fs::symlink("nowhere", folder.path().join("flows/.#a.yaml")).unwrap();
    folder.trefoil(&["check", "flows"]).exits(0);
    std::fs::write(folder.path().join("flows").join(std::ffi::OsStr::from_bytes(b"b\xff.yaml")), AGENT).unwrap();
    let ran = folder.trefoil(&["check", "flows"]);
    assert_eq!(ran.code, 2);
    assert!(ran.out.contains("its name is not UTF-8 text") && ran.out.ends_with("1 error in 1 file\n"), "{}", ran.out);
    std::os::unix::fs::symlink("nowhere", folder.path().join("flows/c.yaml")).unwrap();
    assert!(folder.trefoil(&["check", "flows"]).out.contains("`flows/c.yaml` cannot be opened"));
    // A run only needs its own files.
    folder.trefoil(&["run", "--model", "embedded", "flows#helper", "--input", "x"]).exits(0);
}

/// Opening a pipe without a writer would block forever.
#[cfg(unix)]
#[test]
fn a_pipe_is_no_file() {
    let folder = Folder::new();
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("a.yaml")).status().unwrap();
    assert!(made.success());
    let ran = folder.trefoil(&["check", "a.yaml"]);
    assert_eq!(ran.code, 2);
    assert!(ran.out.contains("it is neither a file nor a folder"), "{}", ran.out);
}

#[test]
fn a_project_file_that_is_a_folder() {
    let folder = Folder::new();
    folder.write("trefoil.toml/x", "").write("a.yaml", AGENT);
    let ran = folder.trefoil(&["check", "a.yaml"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("error[project-file]") && ran.out.contains("it is a folder"), "{}", ran.out);
}

#[test]
fn an_empty_file() {
    let folder = Folder::new();
    for (name, content) in [("a.yaml", ""), ("b.yaml", "\n\n"), ("c.yaml", "# nothing\n---\n")] {
        folder.write(name, content);
        let ran = folder.trefoil(&["check", "--format", "json", name]);
        ran.exits(1);
        assert_eq!(ran.json()["diagnostics"][0]["rule"], "yaml-empty", "{content:?}");
        folder.trefoil(&["run", "--model", "embedded", name]).silent(2).says(&["yaml-empty"]);
    }
}

#[test]
fn a_folder_without_anything_in_its_files_has_no_manifest() {
    for (name, content) in [("a.yaml", ""), ("a.yaml", "# nothing\n---\n"), ("a.yaml", "x: 1\n")] {
        let folder = Folder::new();
        folder.write(&format!("flows/{name}"), content);
        let ran = folder.trefoil(&["check", "flows"]);
        assert!(ran.exits(2).out.contains("error[no-manifest]"), "{content:?}: {}", ran.out);
    }
    let folder = Folder::new();
    folder.write("flows/a.yaml", AGENT).write("flows/empty.yaml", "");
    folder.trefoil(&["check", "flows"]).exits(0);
}

/// A mistake that no parser accepts is none of ours in a file whose kind says that it is no manifest.
#[test]
fn a_configuration_file_of_a_format_is_not_read_as_a_manifest_even_if_it_is_no_yaml() {
    let folder = Folder::new();
    let config =
        "apiVersion: 100monkeys.ai/v1\nkind: NodeConfig\nmetadata: { name: n }\nspec:\n  id: {{uuid}}\n  port: 1\n";
    folder.write("flows/a.yaml", AGENT).write("flows/node.yaml", config);
    let ran = folder.trefoil(&["check", "flows"]);
    assert!(ran.exits(0).out.contains("an AEGIS configuration file"), "{}", ran.out);
    // A misspelt kind of a manifest is one that is broken.
    folder.write("flows/node.yaml", config.replace("NodeConfig", "Agnet"));
    folder.trefoil(&["check", "flows"]).exits(1);
}

#[test]
fn a_list_or_text_at_the_top() {
    assert_eq!(refused("a.yaml", "- a\n- b\n"), [error("unknown-dialect", 1)]);
    assert_eq!(refused("a.yaml", "just text\n"), [error("unknown-dialect", 1)]);
}

#[test]
fn aliases_that_multiply() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for n in 1..12 {
        let inner = vec![format!("*a{}", n - 1); 10].join(", ");
        writeln!(bomb, "a{n}: &a{n} [{inner}]").unwrap();
    }
    let found = refused("bomb.yaml", bomb);
    assert!(found.iter().any(|(rule, ..)| rule == "yaml-limit"), "{found:?}");
}

#[test]
fn nesting_without_end() {
    for content in ["[".repeat(100_000), "{a: ".repeat(100_000), "- ".repeat(100_000)] {
        let found = refused("deep.yaml", format!("id: x\nkind: llm\nsteps: {content}\n"));
        assert!(found.iter().any(|(rule, ..)| rule.starts_with("yaml-")), "{found:?}");
    }
}

#[test]
fn a_hundred_megabytes() {
    let folder = Folder::new();
    std::fs::File::create(folder.path().join("big.yaml")).unwrap().set_len(100 << 20).unwrap();
    let ran = folder.trefoil(&["check", "--format", "json", "big.yaml"]);
    ran.exits(1);
    assert_eq!(ran.json()["diagnostics"][0]["rule"], "yaml-limit");
    folder.trefoil(&["run", "--model", "embedded", "big.yaml"]).silent(2).says(&["yaml-limit"]);
}

#[test]
fn bytes_that_are_no_text() {
    assert_eq!(refused("a.yaml", b"id: x\nname: \xff\xfe\n"), [error("yaml-encoding", 2)]);
    let utf16: Vec<u8> = "id: x\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let found = refused("b.yaml", utf16);
    assert!(found[0].0 == "yaml-character" || found[0].0 == "yaml-encoding", "{found:?}");
}

#[test]
fn tabs() {
    let found = refused("a.yaml", "id: x\nkind: llm\nmodel:\n\tprovider: openai\n");
    assert_eq!(found[0], error("yaml-tab", 4));
}

#[test]
fn a_key_twice() {
    let found = refused("a.yaml", format!("{AGENT}kind: llm\n"));
    assert_eq!(found, [error("yaml-duplicate-key", 5)]);
}

#[test]
fn no_dialect_and_two_dialects() {
    assert_eq!(refused("a.yaml", "version: 3\nservices: {}\n"), [error("unknown-dialect", 1)]);
    let folder = Folder::new();
    folder.write("a.yaml", format!("{AGENT}apiVersion: 100monkeys.ai/v1\nmetadata: {{name: x}}\nspec: {{}}\n"));
    let ran = folder.trefoil(&["check", "--format", "json", "a.yaml"]);
    ran.exits(1);
    let json = ran.json();
    let d = json["diagnostics"].as_array().unwrap().iter().find(|d| d["rule"] == "ambiguous-dialect").unwrap();
    let message = d["message"].as_str().unwrap();
    assert!(message.contains("agntz") && message.contains("aegis"), "{message}");
    assert!(d["labels"][0]["line"].is_u64() && d["line"].is_u64(), "{d}");
    // In a folder, YAML files without a dialect are ignored.
    let folder = Folder::new();
    folder.write("a.yaml", AGENT).write("compose.yaml", "version: 3\nservices: {}\n");
    let ran = folder.trefoil(&["check", "--format", "json", "."]);
    ran.exits(0);
    assert_eq!(ran.json()["diagnostics"][0]["severity"], "info");
    folder.trefoil(&["run", "--model", "embedded", ".", "-q"]).exits(0);
}

#[test]
fn wrong_types_and_words() {
    let found = refused("a.yaml", "id: [x]\nkind: llm\nmodel: { provider: openai, name: 3 }\ninstruction: {a: b}\n");
    let rules: Vec<_> = found.iter().map(|(rule, _, line)| (rule.as_str(), *line)).collect();
    assert!(rules.contains(&("wrong-type", Some(1))), "{rules:?}");
    assert!(rules.contains(&("wrong-type", Some(4))), "{rules:?}");
    let found = refused("a.yaml", AGENT.replace("kind: llm", "kind: sequental"));
    assert_eq!(found[0], error("unknown-value", 2));
}

#[test]
fn references_to_nothing_and_in_circles() {
    let folder = Folder::new();
    folder
        .write("main.yaml", "id: main\nkind: sequential\nsteps:\n  - ref: wirter\n")
        .write("writer.yaml", AGENT.replace("helper", "writer"));
    let ran = folder.trefoil(&["check", "--format", "json", "main.yaml"]);
    ran.exits(1);
    let found = ran.json();
    let all = found["diagnostics"].as_array().unwrap();
    let d = all.iter().find(|d| d["rule"] == "unknown-reference").unwrap();
    assert_eq!(d["line"], 4);
    assert!(d["help"].as_str().unwrap().contains("`writer`"), "{d}");

    let folder = Folder::new();
    folder
        .write("a.yaml", "id: a\nkind: sequential\nsteps:\n  - ref: b\n")
        .write("b.yaml", "id: b\nkind: sequential\nsteps:\n  - ref: a\n");
    let ran = folder.trefoil(&["check", "--format", "json", "a.yaml"]);
    ran.exits(1);
    assert_eq!(ran.json()["diagnostics"][0]["rule"], "reference-cycle");
    folder.trefoil(&["run", "--model", "embedded", "a.yaml"]).silent(2).says(&["reference-cycle"]);
}

#[test]
fn template_mistakes_of_every_kind() {
    let cases = [
        ("{{ name", "template-unclosed"),
        ("{{ }}", "template-empty"),
        ("{{#each x}}y{{/each}}", "template-unknown-block"),
        ("{{#if x}}y", "template-unclosed"),
        ("y{{/if}}", "template-stray"),
        ("{{ a..b }}", "template-bad-path"),
        ("{{ a | upper }}", "template-"),
        ("{{#if a}}x{{else}}y{{/if}}", "template-"),
    ];
    for (text, rule) in cases {
        let manifest = AGENT.replace("instruction: You help.", &format!("instruction: |\n  line one\n  {text}"));
        let found = refused("a.yaml", manifest);
        assert!(found.iter().any(|(r, _, line)| r.starts_with(rule) && *line == Some(6)), "{text}: {found:?}");
    }
}

#[test]
fn targets_that_mean_nothing_or_too_much() {
    let folder = Folder::new();
    folder.trefoil(&["run", "--model", "embedded", "."]).silent(2).says(&["no-manifest"]);
    folder.write("a.yaml", AGENT.replace("helper", "one")).write("b.yaml", AGENT.replace("helper", "two"));
    folder.trefoil(&["run", "--model", "embedded", "."]).silent(2).says(&[
        "ambiguous-target",
        "`one`",
        "`two`",
        "`.#one`",
    ]);
    folder.trefoil(&["run", "--model", "embedded", ".#tow"]).silent(2).says(&["unknown-id", "did you mean `.#two`?"]);
    folder.trefoil(&["run", "--model", "embedded", ".#two", "-q"]).exits(0);
    folder.write("c.yaml", AGENT.replace("helper", "two"));
    folder.trefoil(&["run", "--model", "embedded", ".#two"]).silent(2).says(&["duplicate-id", "b.yaml", "c.yaml"]);
    // With the file name, the target is unambiguous.
    folder.trefoil(&["run", "--model", "embedded", "c.yaml", "-q"]).exits(0);
}

#[test]
fn inputs_that_the_schema_does_not_know() {
    let folder = Folder::new();
    let schema = "inputSchema:\n  type: object\n  properties:\n    topic: { type: string }\n    size: { type: integer }\n    \
                  kind: { type: string, enum: [short, long] }\n  required: [topic]\n";
    folder.write("a.yaml", format!("{AGENT}{schema}"));
    let refused = |args: &[&str], says: &[&str]| {
        let mut all = vec!["run", "--model", "embedded", "a.yaml"];
        all.extend(args);
        folder.trefoil(&all).silent(2).says(says);
    };
    refused(&[], &["topic"]);
    refused(&["--input", "plain text"], &["--input topic="]);
    refused(&["--input", "topic=a", "--input", "topc=b"], &["topc", "did you mean `topic`"]);
    refused(&["--input", "topic=a", "--input", "size=big"], &["size", "integer"]);
    refused(&["--input", "topic=a", "--input", "kind=shrt"], &["kind", "did you mean `short`"]);
    refused(&["--input", "topic=a", "--input", "topic=b"], &["topic", "twice"]);
    refused(&["--input-json", "{\"topic\": 3}"], &["topic"]);
    refused(&["--input-json", "{\"topic\": "], &["1:"]);
    refused(&["--input-json", "[1]"], &["object"]);
    refused(&["--input-json", "@nowhere.json"], &["nowhere.json"]);
    folder.write("in.json", "{}");
    refused(&["--input", "@in.json"], &["does not read files", "--input-json @in.json"]);
    refused(&["--input", "topic=@in.json"], &["`--input topic=\"$(cat in.json)\"`"]);
    folder
        .trefoil(&[
            "run",
            "--model",
            "embedded",
            "a.yaml",
            "-q",
            "--input",
            "topic=a",
            "--input",
            "size=3",
            "--input",
            "kind=long",
        ])
        .exits(0);
    let ran = folder.trefoil_with(
        &["run", "--model", "embedded", "a.yaml", "-q", "--input-json", "-"],
        "{\"topic\": \"from stdin\"}",
    );
    ran.exits(0);
}

#[test]
fn files_in_the_way_of_a_run() {
    let folder = Folder::new();
    folder.write("a.yaml", AGENT).write("folder/x", "");
    folder.trefoil(&["run", "--model", "embedded", "a.yaml", "--trace", "folder"]).silent(2).says(&["trace", "folder"]);
    folder.trefoil(&["run", "a.yaml", "--model", "scripted=nowhere.yaml"]).silent(2).says(&["nowhere.yaml"]);
    folder.trefoil(&["run", "a.yaml", "--model", "gpt"]).silent(2).says(&["provider:name"]);
    folder
        .trefoil(&["run", "--model", "embedded", "a.yaml", "--context", "nowhere.txt"])
        .silent(2)
        .says(&["nowhere.txt"]);
    folder.trefoil(&["run", "--model", "embedded", "a.yaml", "--answer", "nobody=yes"]).silent(2).says(&["nobody"]);
    folder.trefoil(&["run", "--model", "embedded", "a.yaml", "--answer", "yes"]).silent(2);
}

#[test]
fn inputs_that_do_not_fit_point_to_where_they_are_declared() {
    let folder = Folder::new();
    folder.write("a.yaml", AGENT.replace("instruction", "inputSchema:\n  n: number\ninstruction"));
    let run = |args: &[&str]| folder.trefoil(&[&["run", "--model", "embedded", "a.yaml"], args].concat());
    run(&["-i", "n=x"]).silent(2).says(&["error[input-invalid]: ", "a.yaml:5:"]);
    run(&["-i", "text"]).silent(2).says(&["error[input-invalid]: ", "a.yaml:1:", "`n`"]);
    run(&["-i", "n=1", "-i", "n=2"]).silent(2).says(&["error[input-invalid]: ", "set twice"]);
    run(&["--input-json", "{\"n\": 1, \"n\": 2}"]).silent(2).says(&["the key `n` is set twice"]);
    run(&["--input-json", "{\"n\": 1}"]).exits(0);
}

#[test]
fn nothing_that_is_read_is_written_over() {
    let folder = Folder::new();
    folder.write("a.yaml", AGENT).write("sub/b.yaml", "id: b\nkind: sequential\nsteps:\n  - ref: a\n");
    folder.trefoil(&["run", "a.yaml", "--model", "embedded", "--trace", "t.json", "-q"]).exits(0);
    let before = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let (manifest, trace) = (before("a.yaml"), before("t.json"));
    for args in [
        &["run", "a.yaml", "--model", "embedded", "--trace", "a.yaml"][..],
        &["run", "a.yaml", "--model", "embedded", "--trace", "sub/../a.yaml"],
        &["graph", "a.yaml", "--format", "dot", "-o", "./a.yaml"],
        &["trace", "t.json", "--html", "t.json"],
    ] {
        folder.trefoil(args).silent(2).says(&["would be overwritten"]);
        assert!(manifest == before("a.yaml") && trace == before("t.json"), "{args:?}");
    }
}
