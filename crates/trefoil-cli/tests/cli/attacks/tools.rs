//! Tools of the settings whose command would run a model's argument as code, or let it choose the program.
#![cfg(unix)]

use crate::world::{Folder, Ran, finish};

/// Commands that would run `x; touch CANARY` or the like, and what the message names.
const REFUSED: [(&str, &str); 18] = [
    (r#"["sh", "-c", "echo got {v}"]"#, "`sh` would run the value of `{v}` as code"),
    (r#"["bash", "-ec", "{v}"]"#, "`bash` would run"),
    (r#"["sh", "-c", "eval \"$1\"", "x", "{v}"]"#, "`eval` would run"),
    (r#"["python3", "-c", "print('{v}')"]"#, "`python3` would run"),
    (r#"["perl", "-e", "print '{v}'"]"#, "`perl` would run"),
    (r#"["ruby", "-e", "puts '{v}'"]"#, "`ruby` would run"),
    (r#"["node", "--eval={v}"]"#, "`node` would run"),
    (r#"["deno", "eval", "{v}"]"#, "`deno` would run"),
    (r#"["php", "-r", "{v}"]"#, "`php` would run"),
    (r#"["awk", "{v}", "notes"]"#, "`awk` would run"),
    (r#"["sed", "s/a/{v}/", "notes"]"#, "`sed` would run"),
    (r#"["timeout", "5", "sh", "-c", "{v}"]"#, "`sh` would run"),
    (r#"["find", ".", "-exec", "sh", "-c", "{v}", ";"]"#, "`sh` would run"),
    (r#"["env", "{v}"]"#, "`{v}` would decide which program runs"),
    (r#"["nohup", "{v}"]"#, "which program runs"),
    (r#"["xargs", "-n", "1", "{v}"]"#, "which program runs"),
    (r#"["python3", "{v}"]"#, "which program runs"),
    (r#"["env", "PATH={v}", "ls"]"#, "which program runs"),
];

/// Commands in which the value stays data.
const ALLOWED: [&str; 6] = [
    r#"["sh", "-c", "printf %s \"$1\"", "x", "{v}"]"#,
    r#"["sh", "-c", "printf %s \"$0\"", "{v}"]"#,
    r#"["python3", "-c", "import sys; print(sys.argv[1])", "{v}"]"#,
    r#"["env", "A={v}", "printf", "%s", "{v}"]"#,
    r#"["printf", "%s", "{v}"]"#,
    r#"["timeout", "20", "printf", "%s", "{v}"]"#,
];

fn run(folder: &Folder, command: &str, value: &str) -> Ran {
    folder.write("config/config.toml", format!("[tools.go]\ncommand = {command}\nfolder = \"..\"\n"));
    let params = serde_json::json!({ "v": value });
    folder.write("one.yaml", format!("id: one\nkind: tool\ntool: {{ kind: local, name: go, params: {params} }}\n"));
    let mut trefoil = folder.command(&["run", "one.yaml", "-q"]);
    trefoil.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    finish(trefoil)
}

#[test]
fn a_command_that_would_run_an_argument_is_refused_at_its_place() {
    let folder = Folder::new();
    for (command, why) in REFUSED {
        let ran = run(&folder, command, "x; touch CANARY #");
        ran.exits(2).says(&["config.toml:2:", "invalid tool `go`", why]);
        assert!(!folder.path().join("CANARY").exists(), "{command}");
    }
}

#[test]
fn a_value_that_is_an_argument_runs_nothing() {
    let folder = Folder::new();
    for command in ALLOWED {
        for value in ["x; touch CANARY #", "$(touch CANARY)", "'; touch CANARY; '", "\" && touch CANARY && \""] {
            let ran = run(&folder, command, value);
            assert_eq!(ran.exits(0).out.trim_end(), value, "{command}");
            assert!(!folder.path().join("CANARY").exists(), "{command} with {value}");
        }
    }
    // `find` reads these as operators.
    run(&folder, r#"["find", "{v}"]"#, "!").exits(1).says(&["must not be `!`"]);
}

#[test]
fn a_parameter_that_can_only_be_a_number_or_one_of_a_list_may_be_code() {
    let folder = Folder::new();
    folder.write("notes", "a\nb\nc\n");
    let limited = |kind: &str| {
        format!(
            "[\"sed\", \"-n\", \"{{v}}p\", \"notes\"]\nparameters = {{ type = \"object\", properties = {{ v = {kind} }} }}"
        )
    };
    for kind in ["{ type = \"integer\" }", "{ enum = [2, 3] }"] {
        let command = limited(kind);
        folder.write("config/config.toml", format!("[tools.go]\ncommand = {command}\nfolder = \"..\"\n"));
        folder.write("one.yaml", "id: one\nkind: tool\ninputSchema: { n: number }\ntool: { kind: local, name: go, params: { v: \"{{n}}\" } }\n");
        let mut trefoil = folder.command(&["run", "one.yaml", "-q", "--input-json", "{\"n\": 2}"]);
        trefoil.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
        assert_eq!(finish(trefoil).exits(0).out.trim_end(), "b");
    }
    run(&folder, &limited("{ type = \"string\" }"), "1e touch CANARY;").exits(2).says(&["`sed` would run"]);
}
