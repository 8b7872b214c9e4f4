//! Levels of findings: from the command line, the project file, or comments in the manifest.

use crate::world::{AGENT, Folder};

/// Rule, severity and line of every finding, by file.
fn found(folder: &Folder, args: &[&str]) -> Vec<String> {
    let mut all = vec!["check", "--format", "json"];
    all.extend(args);
    let json = folder.trefoil(&all).json();
    let show = |d: &serde_json::Value| {
        let text = |key: &str| d[key].as_str().unwrap_or("-").to_owned();
        format!("{}:{} {} {}", text("file"), d["line"], text("severity"), text("rule"))
    };
    json["diagnostics"].as_array().unwrap().iter().map(show).collect()
}

/// An agent with an unknown key in line 5.
fn with_a_key() -> Folder {
    let folder = Folder::new();
    folder.write("a.yaml", format!("{AGENT}colour: blue\n"));
    folder
}

#[test]
fn the_later_flag_wins() {
    let folder = with_a_key();
    assert_eq!(found(&folder, &["a.yaml"]), ["a.yaml:5 warning unknown-key"]);
    assert_eq!(found(&folder, &["a.yaml", "--allow", "unknown-key"]), [""; 0]);
    let both = ["a.yaml", "--allow", "unknown-key", "--deny", "unknown-key"];
    assert_eq!(found(&folder, &both), ["a.yaml:5 error unknown-key"]);
    folder.trefoil(&["check", "a.yaml", "--deny", "unknown-key"]).exits(1);
    assert_eq!(found(&folder, &["--deny=unknown-key", "--allow", "unused-output,unknown-key", "a.yaml"]), [""; 0]);
    let lowered = ["a.yaml", "--strict", "--warn", "unknown-key"];
    assert_eq!(found(&folder, &lowered), ["a.yaml:5 warning unknown-key"]);
    assert_eq!(found(&folder, &["a.yaml", "--strict"]), ["a.yaml:5 error unknown-key"]);
}

#[test]
fn a_rule_that_does_not_exist_is_a_mistake_in_the_command() {
    let folder = with_a_key();
    for flag in ["--allow", "--warn", "--deny"] {
        let ran = folder.trefoil(&["check", "a.yaml", flag, "unknwon-key"]);
        ran.silent(2).says(&["`unknwon-key`", "did you mean `unknown-key`?"]);
    }
}

#[test]
fn what_keeps_a_program_from_loading_stays_an_error() {
    let folder = Folder::new();
    folder.write("a.yaml", format!("# trefoil: allow-file unknown-value\n{}", AGENT.replace("llm", "llmm")));
    folder.write("trefoil.toml", "[rules]\nunknown-value = \"warn\"\n");
    let all = found(&folder, &["a.yaml", "--allow", "unknown-value"]);
    assert_eq!(all.iter().filter(|d| d.contains(":3 error unknown-value")).count(), 1, "{all:?}");
}

#[test]
fn the_nearest_project_file_counts_and_the_command_line_has_the_last_word() {
    let folder = with_a_key();
    folder
        .write("sub/deep/b.yaml", format!("{}colour: red\n", AGENT.replace("helper", "b")))
        .write("trefoil.toml", "[rules]\nunknown-key = \"deny\"\n")
        .write("sub/trefoil.toml", "[rules]\nunknown-key = \"allow\"\n");
    assert_eq!(found(&folder, &["."]), ["./a.yaml:5 error unknown-key"]);
    assert_eq!(found(&folder, &["sub/deep/b.yaml"]), [""; 0]);
    assert_eq!(found(&folder, &["a.yaml", "--warn", "unknown-key"]), ["a.yaml:5 warning unknown-key"]);
    assert_eq!(found(&folder, &["a.yaml", "--no-config"]), ["a.yaml:5 warning unknown-key"]);
    folder.write("trefoil.toml", "[check]\nstrict = true\nmax-calls = 3\n");
    assert_eq!(found(&folder, &["a.yaml"]), ["a.yaml:5 error unknown-key"]);
    let elsewhere =
        folder.command(&["check", "--format", "json", "../a.yaml"]).current_dir(folder.path().join("sub")).spawn();
    let ran = crate::world::wait(elsewhere.unwrap());
    assert_eq!(ran.json()["diagnostics"][0]["severity"], "error", "found from the file, not from where one stands");
}

#[test]
fn what_is_wrong_in_a_project_file_is_shown_there() {
    let folder = Folder::new();
    folder.write("a.yaml", AGENT).write(
        "trefoil.toml",
        "rule = 1\n[rules]\nunknwon-key = \"deny\"\nunused-output = \"of\"\n[check]\nstrict = 1\nmax-calls = -1\nmax_calls = 2\n",
    );
    assert_eq!(
        found(&folder, &["a.yaml"]),
        [
            "trefoil.toml:1 warning project-file",
            "trefoil.toml:3 warning project-file",
            "trefoil.toml:4 error project-file",
            "trefoil.toml:6 error project-file",
            "trefoil.toml:7 error project-file",
            "trefoil.toml:8 warning project-file",
        ]
    );
    folder.write("trefoil.toml", "[rules\nunknown-key = 'deny'\n");
    assert!(found(&folder, &["a.yaml"])[0].starts_with("trefoil.toml:1 error project-file"));
    let ran = folder.trefoil(&["check", "a.yaml"]);
    ran.exits(1);
    assert!(ran.out.contains(" --> trefoil.toml:1:"), "{}", ran.out);
    folder.write("trefoil.toml", b"# \xff\n");
    folder.trefoil(&["check", "a.yaml"]).exits(1);
}

#[test]
fn a_comment_allows_a_rule_on_its_line_or_on_the_next() {
    let folder = Folder::new();
    let check = |text: &str| {
        folder.write("a.yaml", text);
        folder.write("trefoil.toml", "[rules]\nunknown-key = \"deny\"\n");
        found(&folder, &["a.yaml"])
    };
    assert_eq!(check(&format!("{AGENT}colour: blue # trefoil: allow unknown-key -- read elsewhere\n")), [""; 0]);
    assert_eq!(check(&format!("{AGENT}# trefoil: allow unknown-key\n\n# why\ncolour: blue\n")), [""; 0]);
    assert_eq!(check(&format!("{AGENT}# trefoil: allow unused-output, unknown-key\ncolour: blue\nsize: 1\n")).len(), 2);
    assert_eq!(check(&format!("# a\n# trefoil: allow-file unknown-key\n{AGENT}colour: blue\nsize: 1\n")), [""; 0]);
    assert_eq!(
        check(&format!("{AGENT}colour: blue\n# trefoil: allow unknown-key\n")),
        ["a.yaml:5 error unknown-key", "a.yaml:6 warning unused-suppression"]
    );
    assert_eq!(
        check(&format!("{AGENT}# trefoil: allow-file unknown-key\ncolour: blue\n")),
        ["a.yaml:5 warning unknown-suppression", "a.yaml:6 error unknown-key"]
    );
    assert_eq!(
        check(&format!("{AGENT}# trefoil: allow unknwon-key\ncolour: blue # trefoil: ignore\n")),
        ["a.yaml:5 warning unknown-suppression", "a.yaml:6 error unknown-key", "a.yaml:6 warning unknown-suppression"]
    );
    assert_eq!(check(&format!("# trefoil: the knot, not the plant\n{AGENT}")), [""; 0]);
}

#[test]
fn a_comment_at_a_key_counts_for_all_of_its_text() {
    let folder = Folder::new();
    let head = AGENT.replace("instruction: You help.\n", "");
    let check = |text: &str| {
        folder.write("a.yaml", format!("{head}{text}"));
        found(&folder, &["a.yaml"])
    };
    let allow = "# trefoil: allow unresolved-name";
    for text in [
        format!("{allow}\ninstruction: |\n  a\n\n  {{{{x}}}}\n"),
        format!("instruction: > {allow}\n  a\n  {{{{x}}}}\n"),
        format!("{allow}\ninstruction: \"a\n  {{{{x}}}}\n  b\"\n"),
        format!("{allow}\ninstruction:\n  a\n  {{{{x}}}}\n"),
        format!("instruction: {allow}\n  a\n  {{{{x}}}}\n"),
        format!("instruction:\n  {allow}\n  'a\n  {{{{x}}}}'\n"),
    ] {
        assert_eq!(check(&text), [""; 0], "{text}");
        let crlf = text.replace('\n', "\r\n");
        assert_eq!(check(&crlf), [""; 0], "{crlf}");
    }
    // A list or mapping is not a text.
    let below = format!("{allow}\ninputSchema:\n  name: string\ninstruction: \"{{{{x}}}}\"\n");
    assert_eq!(check(&below), ["a.yaml:7 error unresolved-name"]);
}

#[test]
fn text_that_looks_like_such_a_comment_is_text() {
    let folder = Folder::new();
    let head = AGENT.replace("instruction: You help.\n", "");
    let check = |instruction: &str| {
        folder.write("a.yaml", format!("{head}instruction: {instruction}\n"));
        found(&folder, &["a.yaml"])
    };
    assert_eq!(check("|\n  # trefoil: allow unknown-key\n  You help."), [""; 0]);
    assert_eq!(check("\"x # trefoil: allow nonsense\""), [""; 0]);
    assert_eq!(check("x # trefoil: allow unknown-key"), ["a.yaml:4 warning unused-suppression"]);
    assert_eq!(check("| # trefoil: allow unknown-key\n  x"), ["a.yaml:4 warning unused-suppression"]);
}

#[test]
fn a_comment_that_may_be_of_use_once_the_file_loads_is_left_alone() {
    let folder = Folder::new();
    folder.write("a.yaml", format!("# trefoil: allow-file unused-output\n{}", AGENT.replace("llm", "llmm")));
    let all = found(&folder, &["a.yaml"]);
    assert!(!all.is_empty() && !all.iter().any(|d| d.contains("suppression")), "{all:?}");
}

#[test]
fn a_comment_that_is_nearly_one_is_told() {
    let folder = Folder::new();
    let check = |text: &str| {
        folder.write("a.yaml", format!("{AGENT}{text}\n"));
        found(&folder, &["a.yaml"])
    };
    for near in [
        "# Trefoil: allow unknown-key",
        "#trefoil allow unknown-key",
        "# TREFOIL : Allow unknown-key",
        "# noqa # trefoil: allow unknown-key",
        "# trefoil: allow(unknown-key)",
        "# trefoil: allow=unknown-key",
        "# trefoil: allow: unknown-key",
    ] {
        assert_eq!(
            check(&format!("{near}\ncolour: blue")),
            ["a.yaml:5 warning unknown-suppression", "a.yaml:6 warning unknown-key"],
            "{near}"
        );
    }
    for prose in [
        "# trefoil allow me to say",
        "# Trefoil allows much",
        "# write `# trefoil: allow unknown-key` above",
        "# trefoil-allow unknown-key",
    ] {
        assert_eq!(check(prose), [""; 0], "{prose}");
    }
}

#[test]
fn the_operator_beats_comments_in_a_file() {
    let folder = Folder::new();
    folder.write("a.yaml", format!("{AGENT}colour: blue # trefoil: allow unknown-key\n"));
    assert_eq!(found(&folder, &["a.yaml"]), [""; 0]);
    for flag in [&["--deny", "unknown-key"][..], &["--strict"]] {
        let args = [flag, &["a.yaml"]].concat();
        assert_eq!(found(&folder, &args), ["a.yaml:5 error unknown-key"], "{flag:?}");
        folder.trefoil(&[&["check"], &args[..]].concat()).exits(1);
    }
    assert_eq!(found(&folder, &["a.yaml", "--strict", "--warn", "unknown-key"]), [""; 0]);
    // A project file applies only to its own files.
    folder.write("trefoil.toml", "[rules]\nunknown-key = \"deny\"\n");
    assert_eq!(found(&folder, &["a.yaml"]), [""; 0]);
    assert_eq!(found(&folder, &["a.yaml", "--no-config", "--no-inline"]), ["a.yaml:5 warning unknown-key"]);
    folder.write("a.yaml", format!("# trefoil: allow-file no-such-rule\n{AGENT}"));
    assert_eq!(found(&folder, &["a.yaml"]), ["a.yaml:1 warning unknown-suppression"]);
    assert_eq!(found(&folder, &["a.yaml", "--no-inline"]), [""; 0]);
}
