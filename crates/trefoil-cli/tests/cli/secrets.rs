//! Secrets that several processes change at once, and those that are missing.

use std::io::Write as _;
use std::process::{Child, Stdio};

use crate::world::{Folder, wait};

const MANY: usize = 24;

fn begin(folder: &Folder, args: &[&str]) -> Child {
    let mut command = folder.command(&[&["secrets"], args].concat());
    command.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).stdin(Stdio::piped());
    command.spawn().unwrap()
}

/// All processes are started and wait for their values; then all get them.
fn together(folder: &Folder, all: &[(Vec<String>, String)]) {
    let start = |(args, _): &(Vec<String>, String)| begin(folder, &args.iter().map(String::as_str).collect::<Vec<_>>());
    let mut children: Vec<Child> = all.iter().map(start).collect();
    let pipes: Vec<_> = children.iter_mut().map(|child| child.stdin.take().unwrap()).collect();
    for (mut pipe, (_, value)) in pipes.into_iter().zip(all) {
        // A process that needs no value may have ended.
        let _ = pipe.write_all(value.as_bytes());
    }
    for child in children {
        wait(child).exits(0);
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn all_secrets_that_are_set_at_once_are_kept() {
    let folder = Folder::new();
    // The first process also creates the key.
    let set = |first: usize| -> Vec<_> {
        (first..first + MANY).map(|n| (words(&format!("set S{n:02}")), format!("value {n}"))).collect()
    };
    together(&folder, &set(0));
    let names = |from: usize, to: usize| (from..to).map(|n| format!("S{n:02}\n")).collect::<String>();
    let listed = || wait(begin(&folder, &["list"])).exits(0).out.clone();
    assert_eq!(listed(), names(0, MANY));
    // The old ones are removed while others are set and the key is changed.
    let removed = (0..MANY).map(|n| (words(&format!("remove S{n:02}")), String::new()));
    let other_key = [(words("passphrase --remove"), String::new())];
    together(&folder, &set(MANY).into_iter().chain(removed).chain(other_key).collect::<Vec<_>>());
    assert_eq!(listed(), names(MANY, 2 * MANY));
    // Every value can be read, so all were encrypted with one key.
    together(&folder, &[(words("passphrase"), "correct horse".to_owned())]);
}

#[test]
fn a_new_passphrase_may_come_from_the_environment() {
    let folder = Folder::new();
    let protect = |variable: Option<&str>| {
        let mut command = folder.command(&["secrets", "passphrase"]);
        command.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).env_remove("TREFOIL_SECRETS_PASSPHRASE");
        command.envs(variable.map(|text| ("TREFOIL_SECRETS_PASSPHRASE", text))).stdin(std::process::Stdio::null());
        crate::world::finish(command)
    };
    protect(None).exits(2).says(&["there is no passphrase", "stdin, or set `TREFOIL_SECRETS_PASSPHRASE`"]);
    protect(Some("short")).exits(2).says(&["the passphrase is too short"]);
    protect(Some("correct horse")).exits(0).says(&["a passphrase protects"]);
}

#[test]
fn a_secret_that_is_too_short_to_be_hidden_is_said() {
    let folder = Folder::new();
    for (value, short) in [("2468", true), ("246810", false)] {
        let mut child = begin(&folder, &["set", "PIN"]);
        child.stdin.take().unwrap().write_all(value.as_bytes()).unwrap();
        let said = wait(child).exits(0).err.clone();
        assert_eq!(said.contains("warning: `PIN` has fewer than 6 characters"), short, "{said}");
    }
}

#[test]
fn a_run_does_not_start_if_the_settings_of_a_tool_use_what_is_not_set() {
    let folder = Folder::new();
    folder.write("call.yaml", "id: call\nkind: tool\ntool: { kind: local, name: look, params: { a: it } }\n");
    folder.write("ask.yaml", "id: ask\nkind: tool\ntool: { kind: mcp, server: here, name: look, params: {} }\n");
    folder.write("both.yaml", "id: both\nkind: sequential\nsteps:\n  - ref: call\n  - ref: ask\n");
    folder.write(
        "config/config.toml",
        "[tools.look]\ncommand = [\"cat\"]\nenv = { KEY = \"{{secrets.LOOK_KEY}}\", AREA = \"{{env.LOOK_AREA}}\" }\n\
         [tools.passed]\ncommand = [\"cat\"]\nenv = [\"NEVER_SET\"]\n\
         [tools.other]\ncommand = [\"cat\"]\nenv = { KEY = \"{{secrets.OTHER_KEY}}\" }\n\
         [mcp.here]\nurl = \"http://127.0.0.1:9/\"\nheaders = { Authorization = \"{{secrets.HERE_KEY}}\" }\n",
    );
    let run = |env: &[(&str, &str)]| {
        let mut command = folder.command(&["run", "both.yaml"]);
        command.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).envs(env.iter().copied());
        crate::world::finish(command)
    };
    let ran = run(&[]);
    ran.exits(2).says(&[
        "call.yaml:3",
        "the secret `LOOK_KEY` is not set (the settings of the tool `look` use it)",
        "the environment variable `LOOK_AREA` is not set",
        "ask.yaml:3",
        "the secret `HERE_KEY` is not set (the settings of the MCP server `here` use it)",
    ]);
    assert!(!ran.err.contains("OTHER_KEY"), "only what the run can call counts: {}", ran.err);
    // The first step is called; nobody is at the address of the second.
    let all = [("TREFOIL_SECRET_LOOK_KEY", "k"), ("LOOK_AREA", "north"), ("TREFOIL_SECRET_HERE_KEY", "k")];
    let ran = run(&all);
    ran.exits(1);
    assert!(!ran.err.contains("missing-secret"), "{}", ran.err);
    folder.write("call.yaml", "id: call\nkind: tool\ntool: { kind: local, name: passed, params: { a: it } }\n");
    folder.write("both.yaml", "id: both\nkind: sequential\nsteps:\n  - ref: call\n");
    run(&[]).exits(0);
}

fn one(folder: &Folder, env: &[(&str, &std::path::Path)]) -> crate::world::Ran {
    folder.write("one.yaml", "id: one\nkind: tool\ntool: { kind: local, name: go }\n");
    folder.write(
        "config/config.toml",
        "[tools.go]\ncommand = [\"sh\", \"-c\", \"printf '%s' \\\"${{#KEY}}\\\"\"]\nenv = { KEY = \"{{secrets.KEY}}\" }\n\
         [secrets]\ncommand = [\"sh\", \"-c\", \"printf from-elsewhere # {name}\"]\n",
    );
    let mut command = folder.command(&["run", "one.yaml", "-q"]);
    command.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).envs(env.iter().copied());
    crate::world::finish(command)
}

#[test]
fn a_secrets_folder_that_cannot_be_read_ends_the_search() {
    let folder = Folder::new();
    let at = folder.path().join("mounted");
    let env = [("TREFOIL_SECRETS_DIR", at.as_path())];
    one(&folder, &env).exits(2).says(&["the secret `KEY` cannot be read", "mounted` is not a folder"]);
    folder.write("mounted/OTHER", "x");
    // Only a file that is not there means that another source may have it.
    assert_eq!(one(&folder, &env).exits(0).out.trim(), "14");
    std::fs::write(at.join("KEY"), [0xff, 0xfe, b'a']).unwrap();
    one(&folder, &env).exits(2).says(&["KEY`: not UTF-8"]);
    folder.write("mounted/KEY", "x".repeat(70_000));
    one(&folder, &env).exits(2).says(&["KEY`: it has at least 70000 bytes"]);
    std::fs::remove_file(at.join("KEY")).unwrap();
    std::fs::create_dir(at.join("KEY")).unwrap();
    one(&folder, &env).exits(2).says(&["KEY`: it is a folder"]);
    std::fs::remove_dir(at.join("KEY")).unwrap();
    folder.write("mounted/KEY", "mounted\n");
    assert_eq!(one(&folder, &env).exits(0).out.trim(), "7");
}

#[test]
#[cfg(unix)]
fn a_process_that_the_command_of_secrets_leaves_behind_does_not_hold_up_the_run() {
    let folder = Folder::new();
    let mut command = folder.command(&["run", "one.yaml", "-q"]);
    one(&folder, &[]).exits(0);
    let begun = folder.path().join("begun");
    folder.write(
        "config/config.toml",
        format!(
            "[tools.go]\ncommand = [\"sh\", \"-c\", \"printf '%s' \\\"${{{{#KEY}}}}\\\"\"]\nenv = {{ KEY = \"{{{{secrets.KEY}}}}\" }}\n\
             [secrets]\ncommand = [\"sh\", \"-c\", \"(exec 2>/dev/null sh -c 'echo $$ > {}; exec sleep 100') & printf from-agent # {{name}}\"]\n",
            begun.display()
        ),
    );
    command.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    let began = std::time::Instant::now();
    let ran = crate::world::finish(command);
    assert_eq!(ran.exits(0).out.trim(), "10");
    assert!(began.elapsed().as_secs() < 60, "it waited for the agent");
    // It is not ended, because it may be needed again.
    let agent = std::fs::read_to_string(begun).unwrap();
    assert!(std::process::Command::new("kill").arg(agent.trim()).status().unwrap().success());
}

/// A secret that is too short to be recognized in a text.
#[test]
fn a_message_about_arguments_does_not_quote_a_short_secret() {
    let folder = Folder::new();
    folder.write(
        "config/config.toml",
        "[tools.go]\ncommand = [\"cat\"]\nparameters = { type = \"object\", properties = { pin = { type = \"integer\" } } }\n",
    );
    folder.write(
        "one.yaml",
        "id: one\nkind: tool\ntool: { kind: local, name: go, params: { pin: \"{{secrets.PIN}}\" } }\n",
    );
    let mut command = folder.command(&["run", "one.yaml", "--events", "jsonl"]);
    command.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).env("TREFOIL_SECRET_PIN", "4711");
    let ran = crate::world::finish(command);
    ran.exits(1).says(&["is not of type", "at `/pin`"]);
    assert!(!ran.err.contains("4711") && !ran.out.contains("4711"), "{ran:?}");
}
