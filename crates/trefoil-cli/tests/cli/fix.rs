//! `trefoil check --fix`: what it changes, and that it changes nothing else.

use crate::world::{AGENT, Folder};

#[test]
fn a_misspelt_key_is_mended_and_every_other_byte_stays() {
    let folder = Folder::new();
    let text = "\u{feff}# Ünïcode first\r\nid:   helper # keep\r\nkind: llm\r\nmodel: {provider: openai,   name: gpt-x}\r\n\
                \"instrction\": >-\r\n  You\r\n  help.\r\n\r\n\r\n# the end";
    folder.write("a.yaml", text);
    let ran = folder.trefoil(&["check", "--fix", "a.yaml"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "no errors in 1 file\n"), "{}", ran.err);
    assert_eq!(ran.err, "fixed a.yaml:5: write `instruction` (unknown-key)\nchanged 1 file: a.yaml\n");
    let now = std::fs::read_to_string(folder.path().join("a.yaml")).unwrap();
    assert_eq!(now, text.replace("instrction", "instruction"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    folder.trefoil(&["check", "--fix", "a.yaml"]).says(&[""]).exits(0);
}

#[test]
fn json_stays_alone_on_stdout_and_tells_what_is_left() {
    let folder = Folder::new();
    folder.write("a.yaml", format!("{}kindd: llm\ncolour: blue\n", AGENT.replace("kind: llm", "kind: lllm")));
    let before = folder.trefoil(&["check", "--format", "json", "a.yaml"]).json();
    let word = before["diagnostics"].as_array().unwrap().iter().find(|d| d["rule"] == "unknown-value").unwrap().clone();
    assert_eq!(
        word["fix"],
        serde_json::json!({"message": "write `llm`", "safe": true, "edits": [
            {"file": "a.yaml", "line": 2, "column": 7, "end_line": 2, "end_column": 11, "text": "llm"}]})
    );
    let ran = folder.trefoil(&["check", "--fix", "--format", "json", "a.yaml"]);
    ran.exits(0).says(&["fixed a.yaml:2: write `llm` (unknown-value)"]);
    let rules: Vec<_> = ran.json()["diagnostics"].as_array().unwrap().iter().map(|d| d["rule"].clone()).collect();
    assert_eq!(rules, ["unknown-key", "unknown-key"], "a key that is there already is not written twice");
}

#[test]
fn a_quote_that_none_opened_goes_when_the_value_gets_its_own() {
    let folder = Folder::new();
    folder.write("a.yaml", format!("{AGENT}prompt: {{{{userQuery}}}}\"\n"));
    folder.trefoil(&["check", "--fix", "a.yaml"]).exits(0);
    let now = std::fs::read_to_string(folder.path().join("a.yaml")).unwrap();
    assert_eq!(now, format!("{AGENT}prompt: \"{{{{userQuery}}}}\"\n"));
}

#[test]
fn what_would_take_more_than_a_fix_is_left_to_a_person() {
    for text in [
        // The value continues on the next line.
        "prompt: {{userQuery}}\n  more {{userQuery}} \"text\"\n",
        // It is unclear whether a list or a text was meant.
        "examples:\n  {{userQuery}}\n  - input: a\n    output: b\n",
    ] {
        let folder = Folder::new();
        folder.write("a.yaml", format!("{AGENT}{text}"));
        folder.trefoil(&["check", "--fix", "a.yaml"]).exits(1);
        assert_eq!(std::fs::read_to_string(folder.path().join("a.yaml")).unwrap(), format!("{AGENT}{text}"));
    }
}

#[test]
fn two_slips_of_one_name_do_not_become_one_key_twice() {
    let folder = Folder::new();
    folder.write("a.yaml", format!("{AGENT}descripton: one\ndesciption: two\n"));
    folder.trefoil(&["check", "--fix", "a.yaml"]).exits(0);
    let now = std::fs::read_to_string(folder.path().join("a.yaml")).unwrap();
    assert_eq!(now, format!("{AGENT}description: one\ndesciption: two\n"));
    // A property that is already required is not added again.
    let schema = "outputSchema:\n  type: object\n  properties: { text: { type: string } }\n  required: [text, tetx]\n";
    folder.write("a.yaml", format!("{AGENT}{schema}"));
    folder.trefoil(&["check", "--fix", "a.yaml"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("a.yaml")).unwrap(), format!("{AGENT}{schema}"));
}

#[test]
fn a_comment_that_covers_nothing_goes() {
    let folder = Folder::new();
    folder.write(
        "a.yaml",
        format!(
            "# trefoil: allow-file unknown-key\n{}",
            AGENT.replace("You help.", "x # trefoil: allow project-file, unknown-key")
        ),
    );
    folder.trefoil(&["check", "--fix", "a.yaml"]).exits(0);
    let now = std::fs::read_to_string(folder.path().join("a.yaml")).unwrap();
    assert_eq!(now, AGENT.replace("You help.", "x"));
}

#[cfg(unix)]
#[test]
fn permissions_and_links_stay() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    folder.write("real/a.yaml", AGENT.replace("instruction", "instrction"));
    let real = folder.path().join("real/a.yaml");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("real/a.yaml", folder.path().join("a.yaml")).unwrap();
    folder.trefoil(&["check", "--fix", "a.yaml"]).exits(0);
    assert_eq!(std::fs::read_to_string(&real).unwrap(), AGENT);
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(folder.path().join("a.yaml").is_symlink());
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_written_is_left_alone_and_said() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let text = AGENT.replace("instruction", "instrction");
    folder.write("a.yaml", &text).write("b.yaml", AGENT.replace("helper", "b").replace("instruction", "instrction"));
    let path = folder.path().join("a.yaml");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    let ran = folder.trefoil(&["check", "--fix", "."]);
    ran.exits(1).says(&["`./a.yaml` was not changed", "fixed ./b.yaml:4"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_fix_after_which_something_new_is_found_is_withdrawn() {
    let folder = Folder::new();
    // With the right key, the value would have to be a text. The other misspelling is unrelated.
    let text = AGENT.replace("instruction: You help.", "instructions:\n- You\n- help.\ndescripton: It helps.");
    assert_ne!(text, AGENT);
    folder.write("a.yaml", &text);
    let line = 1 + text.lines().position(|line| line == "instructions:").unwrap();
    let ran = folder.trefoil(&["check", "--fix", "a.yaml"]);
    ran.exits(1).says(&[
        &format!("fixed a.yaml:{}: write `description` (unknown-key)", line + 3),
        &format!("not fixed a.yaml:{line}: write `instruction` (unknown-key): it would lead to another finding: "),
        "(wrong-type)",
    ]);
    assert!(!ran.out.contains("fixable"), "{}", ran.out);
    let now = std::fs::read_to_string(folder.path().join("a.yaml")).unwrap();
    assert_eq!(now, text.replace("descripton", "description"));
    // The same with `--diff`.
    folder.write("a.yaml", &text);
    let shown = folder.trefoil(&["check", "--fix", "--diff", "a.yaml"]);
    assert!(shown.out.contains("+description") && !shown.out.contains("+instruction"), "{}", shown.out);
}

#[test]
fn a_fix_that_leads_to_another_stays() {
    let folder = Folder::new();
    // The value is only checked after the key was fixed, and is then reported as wrong.
    folder.write("a.yaml", format!("{AGENT}timeoutms: 30s\n"));
    folder.trefoil(&["check", "--fix", "a.yaml"]).exits(0);
    let now = std::fs::read_to_string(folder.path().join("a.yaml")).unwrap();
    assert_eq!(now, format!("{AGENT}timeoutMs: 30000\n"));
}
