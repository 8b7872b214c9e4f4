//! What a command may see of its parent process, and which processes it may leave behind.
#![cfg(target_os = "linux")]

use std::process::Command;
use std::time::{Duration, Instant};

use crate::world::{Folder, Ran, bare, finish, wait};

/// A workflow with one state that runs a script.
fn workflow(script: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: probe }}\nspec:\n  initial_state: RUN\n  states:\n    \
         RUN:\n      kind: System\n      command: {}\n      transitions: []\n",
        serde_json::Value::from(script)
    )
}

fn gone(pid: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    state.is_empty() || state.contains(") Z ")
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The command's stdout in the result of the run.
fn stdout(ran: &Ran) -> String {
    ran.exits(0);
    ran.json().as_str().unwrap_or_else(|| panic!("{ran:?}")).to_owned()
}

#[test]
fn a_command_has_no_keys_in_its_environment() {
    let folder = Folder::new();
    folder.write("a.yaml", workflow("env"));
    let mut command = folder.command(&["run", "a.yaml", "--allow-command", "--output", "json", "-q"]);
    command.env("OPENAI_API_KEY", "sk-planted-1").env("MY_OWN_API_KEY", "planted-2").env("GITHUB_TOKEN", "planted-3");
    command.env("AWS_SECRET_ACCESS_KEY", "planted-4").env("LANG", "seen").env("CARGO_HOME", "seen");
    for name in SECRETS {
        command.env(name, "planted-5");
    }
    command.env("DATABASE_URL", "postgres://u:planted-6@localhost/db").env("ANYTHING", "planted-7");
    let ran = finish(command);
    let env = stdout(&ran);
    assert!(env.contains("LANG=seen") && env.contains("CARGO_HOME=seen") && env.contains("PATH="), "{env}");
    assert!(!env.contains("planted"), "{env}");
}

/// Usual names of variables with secrets. No list of them is complete, so commands get a list of what is none.
const SECRETS: [&str; 24] = [
    "PGPASSWORD",
    "GITHUB_PAT",
    "APIKEY",
    "API_KEYS",
    "TOKEN",
    "TOKENS",
    "SECRET",
    "KEY_PASSPHRASE",
    "GH_AUTH",
    "COOKIE",
    "SENTRY_DSN",
    "DOCKER_AUTH_CONFIG",
    "NETRC",
    "AUTHORIZATION",
    "BEARER",
    "SESSION",
    "KUBECONFIG_DATA",
    "NPM_CONFIG__AUTH",
    "TF_VAR_admin",
    "SLACK_WEBHOOK_URL",
    "SSH_AUTH_SOCK",
    "GPG_KEYGRIP",
    "SIGNING_CERT",
    "VAULT_ADDR",
];

#[test]
fn a_command_gets_the_variables_that_the_operator_lists() {
    let folder = Folder::new();
    folder.write("a.yaml", workflow("echo \"$KUBECONFIG $OTHER_ONE\""));
    folder.write("config/config.toml", "[run]\nallow-command = true\nenv = [\"KUBECONFIG\"]\n");
    let mut command = folder.command(&["run", "a.yaml", "--output", "json", "-q"]);
    command.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    command.env("KUBECONFIG", "abc").env("OTHER_ONE", "planted");
    assert_eq!(stdout(&finish(command)).trim(), "abc");
}

#[test]
fn no_module_of_the_current_folder_runs_in_a_python_tool() {
    let Ok(known) = Command::new("python3").args(["-c", "import sys; print(*sys.stdlib_module_names)"]).output() else {
        return untested::skipped("python3 is not installed");
    };
    let folder = Folder::new();
    folder.write(
        "flow/a.yaml",
        r#"{"version": "0.1", "input": {"message": "x"}, "nodes": {"n": {"type": "tool", "tool": "python",
            "config": {"module": "os.path", "function": "basename", "args": {"p": "/a/b"}}, "writes": "output.x"}}}"#,
    );
    let names = String::from_utf8(known.stdout).unwrap();
    let names: Vec<&str> = names.split_whitespace().chain(["json", "re", "sitecustomize", "usercustomize"]).collect();
    assert!(names.len() > 3, "{names:?}");
    for name in &names {
        folder.write(&format!("here/{name}.py"), "open('PWN', 'a').write(__name__ + ' ')\n");
    }
    let mut command = folder.command(&["run", "../flow/a.yaml", "--allow-command", "--input", "x", "-q"]);
    command.current_dir(folder.path().join("here"));
    let ran = finish(command);
    let ran_there = std::fs::read_to_string(folder.path().join("here/PWN")).unwrap_or_default();
    assert_eq!(ran_there, "", "{ran:?}");
    ran.exits(0);
}

#[test]
fn a_command_cannot_read_the_keys_of_its_parent() {
    let folder = Folder::new();
    folder.write("a.yaml", workflow("cat /proc/$PPID/environ /proc/$PPID/cmdline 2>&1 || true"));
    let run = [env!("CARGO_BIN_EXE_trefoil"), "run", "a.yaml", "--allow-command", "--output", "json", "-q"];
    // Root may read everything, so drop those rights to get the view of an ordinary user.
    let ours = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let root = ours.lines().any(|l| l.starts_with("Uid:") && l.split_whitespace().nth(1) == Some("0"));
    let mut command = match root {
        true => {
            let mut command = Command::new("setpriv");
            command.args(["--bounding-set=-all", "--inh-caps=-all", "--"]).args(run);
            command
        }
        false => {
            let mut command = Command::new(run[0]);
            command.args(&run[1..]);
            command
        }
    };
    command.current_dir(folder.path());
    bare(&mut command);
    command.env("OPENAI_API_KEY", "sk-planted-1");
    let ran = finish(command);
    let seen = stdout(&ran);
    // The public data shows that the right process was inspected.
    assert!(seen.contains("--allow-command"), "{seen}");
    assert!(!seen.contains("planted"), "{seen}");
}

#[test]
fn what_leaves_the_group_ends_with_its_command() {
    let folder = Folder::new();
    let [pid, bare_pid, group_pid] = ["pid", "bare", "group"].map(|name| folder.path().join(name));
    // The first process keeps its environment; the others drop it. The last one has its own process group, the others
    // their own session. All of them are orphans.
    let script = format!(
        "(setsid sh -c 'echo $$ > {0}; exec sleep 600' & ); (env -i setsid sh -c 'echo $$ > {1}; exec sleep 600' & ); \
         sh -c 'set -m; env -i sh -c \"echo \\$\\$ > {2}; exec sleep 600\" >/dev/null 2>&1 </dev/null &'; \
         while ! [ -s {0} ] || ! [ -s {1} ] || ! [ -s {2} ]; do sleep 0.05; done",
        pid.display(),
        bare_pid.display(),
        group_pid.display()
    );
    folder.write("a.yaml", workflow(&script));
    folder.trefoil(&["run", "a.yaml", "--allow-command"]).exits(0);
    for pid in [&pid, &bare_pid, &group_pid] {
        let pid = std::fs::read_to_string(pid).unwrap();
        until("the end of a daemon", || gone(&pid));
    }
}

#[test]
fn what_leaves_the_group_ends_with_a_run_that_is_stopped() {
    for how in ["-INT", "-QUIT", "-HUP"] {
        let folder = Folder::new();
        let pids = folder.path().join("pids");
        let script = format!(
            "setsid sh -c 'echo $$ >> {0}; exec sleep 600' & sleep 600 & echo $! >> {0}; echo $$ >> {0}; wait",
            pids.display()
        );
        folder.write("a.yaml", workflow(&script));
        let child = folder.command(&["run", "a.yaml", "--allow-command"]).spawn().unwrap();
        until("the command", || std::fs::read_to_string(&pids).is_ok_and(|t| t.lines().count() == 3));
        assert!(Command::new("kill").args([how, &child.id().to_string()]).status().unwrap().success());
        wait(child).silent(130);
        for pid in std::fs::read_to_string(&pids).unwrap().lines() {
            until("their end", || gone(pid));
        }
    }
}

/// The store's address is not needed by a command, and may contain its password.
#[test]
fn a_command_has_no_password_of_the_store() {
    let folder = Folder::new();
    folder.write("a.yaml", workflow("env"));
    let args = ["run", "a.yaml", "--allow-command", "--output", "json", "-q", "--ephemeral"];
    let mut command = folder.command(&args);
    command.env("TREFOIL_STORE", "postgres://u:planted-7@127.0.0.1:9/none").env("LANG", "seen");
    let env = stdout(&finish(command));
    assert!(env.contains("LANG=seen") && !env.contains("planted"), "{env}");
}
