//! `trefoil check`: formats, exit codes, output streams.

use crate::world::{AGENT, Folder};

#[test]
fn a_clean_file_is_reported_as_such() {
    let folder = Folder::new();
    folder.write("a.yaml", AGENT);
    let ran = folder.trefoil(&["check", "a.yaml"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "no errors in 1 file\n", ""));
}

#[test]
fn json_is_one_object_whatever_happens() {
    let folder = Folder::new();
    folder.write("a.yaml", format!("{AGENT}bogus: 1\n")).write("b.yaml", "id: b\nkind: llm\nmodel: [\n");
    let ran = folder.trefoil(&["check", "--format", "json", "a.yaml", "b.yaml", "missing.yaml"]);
    assert_eq!((ran.code, ran.err.as_str()), (2, ""));
    let json = ran.json();
    assert_eq!(json["files"], 2);
    let of = |file: &str| {
        let all = json["diagnostics"].as_array().unwrap().iter();
        all.filter(|d| d["file"] == file).cloned().collect::<Vec<_>>()
    };
    let unknown = &of("a.yaml")[0];
    assert_eq!(unknown["rule"], "unknown-key");
    assert_eq!(unknown["severity"], "warning");
    let place: Vec<_> = ["line", "column", "end_line", "end_column"].iter().map(|k| unknown[k].as_u64()).collect();
    assert_eq!(place, [Some(5), Some(1), Some(5), Some(6)]);
    assert_eq!(of("missing.yaml")[0]["line"], serde_json::Value::Null);
    for d in json["diagnostics"].as_array().unwrap() {
        for key in
            ["rule", "severity", "message", "file", "line", "column", "end_line", "end_column", "help", "labels", "fix"]
        {
            assert!(d.get(key).is_some(), "{key} is not in {d}");
        }
    }
}

#[test]
fn strict_turns_unknown_keys_into_errors() {
    let folder = Folder::new();
    folder.write("a.yaml", AGENT.replace("instruction:", "description: d\ntemprature: 1\ninstruction:"));
    folder.trefoil(&["check", "a.yaml"]).exits(0);
    let ran = folder.trefoil(&["check", "--strict", "--format", "json", "a.yaml"]);
    ran.exits(1);
    assert_eq!(ran.json()["diagnostics"][0]["severity"], "error");
}

#[test]
fn github_annotates_lines() {
    let folder = Folder::new();
    folder.write("flows/a.yaml", AGENT.replace("kind: llm", "kind: llmm"));
    let ran = folder.trefoil(&["check", "--format", "github", "flows"]);
    ran.exits(1);
    assert!(ran.out.starts_with("::error file=flows/a.yaml,line=2,"), "{}", ran.out);
    let ran = folder.trefoil(&["check", "--format", "github", "./flows"]);
    assert!(ran.out.starts_with("::error file=flows/a.yaml,line=2,"), "as the repository names it: {}", ran.out);
}

#[test]
fn everything_in_every_file_in_one_pass() {
    let folder = Folder::new();
    folder
        .write("a.yaml", AGENT.replace("You help.", "\"{{ }} and {{a..b}}\""))
        .write("sub/b.yaml", AGENT.replace("kind: llm", "kind: llmm").replace("helper", "other"))
        .write("sub/c.yml", "id: c\nid: d\nkind: sequential\nsteps:\n  - ref: nowhere\n")
        .write(".hidden/d.yaml", "a: [")
        .write("node_modules/e.yaml", "a: [")
        .write("notes.txt", "a: [");
    let ran = folder.trefoil(&["check", "--format", "json", "."]);
    ran.exits(1);
    let found: Vec<String> = ran.json()["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|d| d["severity"] == "error")
        .map(|d| format!("{}:{} {}", d["file"].as_str().unwrap(), d["line"], d["rule"].as_str().unwrap()))
        .collect();
    assert_eq!(
        found,
        [
            "./a.yaml:4 template-empty",
            "./a.yaml:4 template-bad-path",
            "./sub/b.yaml:2 unknown-value",
            "./sub/c.yml:2 yaml-duplicate-key",
            "./sub/c.yml:5 unknown-reference",
        ]
    );
    assert_eq!(ran.json()["files"], 3);
}

#[test]
fn a_finding_in_a_shared_part_is_said_once() {
    let folder = Folder::new();
    folder
        .write("part.yaml", AGENT.replace("You help.", "\"{{ }}\"").replace("helper", "part"))
        .write("one.yaml", "id: one\nkind: sequential\nsteps:\n  - ref: part\n")
        .write("two.yaml", "id: two\nkind: sequential\nsteps:\n  - ref: part\n");
    let ran = folder.trefoil(&["check", "--format", "json", "one.yaml", "two.yaml", "."]);
    let json = ran.json();
    let empty = json["diagnostics"].as_array().unwrap().iter().filter(|d| d["severity"] == "error").count();
    assert_eq!((empty, &json["files"]), (1, &3.into()), "{json:#}");
}

#[test]
fn paths_are_shown_as_they_were_given() {
    let folder = Folder::new();
    folder.write("flows/a.yaml", "kind: llm\n");
    for (given, shown) in [
        ("flows/a.yaml".to_owned(), "flows/a.yaml".to_owned()),
        ("./flows/a.yaml".to_owned(), "./flows/a.yaml".to_owned()),
        ("flows".to_owned(), "flows/a.yaml".to_owned()),
        (folder.path().display().to_string(), folder.path().join("flows/a.yaml").display().to_string()),
    ] {
        let json = folder.trefoil(&["check", "--format", "json", &given]).json();
        assert_eq!(json["diagnostics"][0]["file"], shown, "{given}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_crash() {
    let folder = Folder::new();
    for n in 0..200 {
        folder.write(&format!("{n}.yaml"), "id: x\nkind: llm\nbogus: 1\n");
    }
    let mut child = folder.command(&["check", "."]).spawn().unwrap();
    drop(child.stdout.take());
    let ran = crate::world::wait(child);
    ran.exits(1);
}

#[test]
fn links_in_a_circle_end() {
    let folder = Folder::new();
    folder.write("sub/a.yaml", AGENT);
    #[cfg(unix)]
    std::os::unix::fs::symlink("..", folder.path().join("sub/up")).unwrap();
    let ran = folder.trefoil(&["check", "--format", "json", "."]);
    ran.exits(0);
    assert_eq!(ran.json()["files"], 1);
}

#[test]
fn usage_mistakes_exit_2() {
    let folder = Folder::new();
    for args in [&["check"][..], &["check", "--format", "xml", "."], &["chekc"], &["check", "--dialect", "jinja", "."]]
    {
        folder.trefoil(args).silent(2);
    }
}

#[test]
fn the_dialect_can_be_said() {
    let folder = Folder::new();
    folder.write("a.yaml", "name: x\nmodel: openai:gpt-x\n");
    let found = |args: &[&str]| {
        let json = folder.trefoil(args).json();
        json["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .map(|d| d["rule"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(found(&["check", "--format", "json", "a.yaml"]), ["unknown-dialect"]);
    let said = found(&["check", "--format", "json", "--dialect", "agntz", "a.yaml"]);
    assert!(!said.is_empty() && !said.contains(&"unknown-dialect".to_owned()), "{said:?}");
}

#[test]
fn the_dialect_asked_for_is_that_of_a_whole_folder() {
    let folder = Folder::new();
    folder.write("flow/helper.yaml", AGENT);
    folder.trefoil(&["check", "flow"]).exits(0);
    folder.trefoil(&["check", "flow", "--dialect", "sirenspec"]).exits(1);
    folder.trefoil(&["plan", "flow", "--dialect", "sirenspec"]).silent(2);
    folder.trefoil(&["plan", "flow#helper", "--dialect", "sirenspec"]).silent(2);
    folder.trefoil(&["plan", "flow#helper", "--dialect", "agntz"]).exits(0);
}
