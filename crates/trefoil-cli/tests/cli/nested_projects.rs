//! A project inside a folder that the user trusts: it does not have the folder's permissions, however it is named.

use std::process::Stdio;

use crate::world::{Folder, Ran, finish};

const ALLOWED: &str = "[run]\nallow-command = true\n";

/// A workflow that runs a command.
fn command(name: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: {name}, version: \"1.0.0\" }}\nspec:\n  initial_state: DO\n  states:\n    DO: {{ kind: System, command: \"cat; echo done > done-{name}\" }}\n"
    )
}

/// A trusted project with a flow, a project that is not trusted, and a repository.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("v/trefoil.toml", ALLOWED).write("v/own.yaml", command("own"));
    folder.write("v/deep/inside.yaml", command("inside"));
    folder.write("v/vendored/trefoil.toml", ALLOWED).write("v/vendored/cmd.yaml", command("cmd"));
    folder.write("v/repository/.git/HEAD", "").write("v/repository/there.yaml", command("there"));
    trefoil(&folder, &["trust", "v"]).exits(0);
    folder
}

fn trefoil(folder: &Folder, args: &[&str]) -> Ran {
    let mut command = folder.command(args);
    command.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).stdin(Stdio::null());
    finish(command)
}

#[test]
fn a_nested_project_has_its_own_permissions() {
    let folder = folder();
    for target in ["v/own.yaml", "v#own", "v/deep/inside.yaml", "v#inside"] {
        trefoil(&folder, &["run", target]).exits(0);
    }
    for target in ["v/vendored/cmd.yaml", "v/vendored", "v/vendored#cmd", "v#cmd"] {
        trefoil(&folder, &["run", target]).silent(2).says(&["untrusted-project", "trefoil trust"]);
        trefoil(&folder, &["plan", target]).says(&["untrusted-project"]);
    }
    for target in ["v/repository/there.yaml", "v/repository", "v#there"] {
        trefoil(&folder, &["run", target]).silent(2).says(&["command-not-allowed"]);
    }
    // A folder whose only flow is in another project.
    let only = Folder::new();
    only.write("v/trefoil.toml", ALLOWED)
        .write("v/vendored/.git/HEAD", "")
        .write("v/vendored/cmd.yaml", command("cmd"));
    trefoil(&only, &["trust", "v"]).exits(0);
    trefoil(&only, &["run", "v"]).silent(2).says(&["command-not-allowed"]);
    trefoil(&folder, &["trust", "v/vendored"]).exits(0);
    trefoil(&folder, &["run", "v#cmd"]).exits(0);
    trefoil(&folder, &["trust", "v/repository"]).silent(2).says(&["has no `trefoil.toml`"]);
}

#[test]
fn a_run_is_resumed_with_the_permissions_of_its_own_project() {
    let folder = folder();
    let stored = |args: &[&str]| {
        let mut command = folder.command(args);
        command.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).env_remove("TREFOIL_EPHEMERAL");
        command.env("TREFOIL_STORE", folder.path().join("runs.db"));
        finish(command)
    };
    let asks = command("asks").replace("initial_state: DO", "initial_state: ASK").replace(
        "states:\n",
        "states:\n    ASK: { kind: Human, prompt: Go?, transitions: [{ condition: always, target: DO }] }\n",
    );
    folder.write("v/repository/asks.yaml", asks);
    let run = stored(&["run", "v#asks", "--allow-command"]);
    run.exits(75);
    let id = run.err.split("trefoil resume ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    stored(&["runs", "answer", &id, "ASK", "yes"]).exits(0);
    // Its files are gone: it continues with those in the store, and still without the permissions of `v`.
    std::fs::remove_file(folder.path().join("v/repository/asks.yaml")).unwrap();
    for here in [".", "v"] {
        let mut command = folder.command(&["resume", &id]);
        command.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).env_remove("TREFOIL_EPHEMERAL");
        command.env("TREFOIL_STORE", folder.path().join("runs.db")).current_dir(folder.path().join(here));
        finish(command).says(&["--allow-command"]);
    }
    assert!(!folder.path().join("done-asks").exists() && !folder.path().join("v/done-asks").exists());
}

#[test]
fn the_folders_that_a_project_allows_are_allowed_in_its_own_manifests_only() {
    let folder = Folder::new();
    let refers = "version: \"0.1\"\nnodes:\n  call: { type: workflow, ref: ../../shared/child.yaml }\nedges: []\n";
    let child = "version: \"0.1\"\nnodes:\n  say: { type: agent, agent: writer, writes: output.text }\nagents:\n  writer: { model: \"openai:gpt-x\", system: hi }\nedges: []\n";
    folder.write("shared/child.yaml", child);
    folder.write("v/trefoil.toml", "[paths]\nallow = [\"../shared\"]\n");
    folder.write("v/own/main.yaml", refers).write("v/vendored/.git/HEAD", "");
    folder.write("v/vendored/main.yaml", refers);
    trefoil(&folder, &["trust", "v"]).exits(0);
    let checked = trefoil(&folder, &["check", "v", "--format", "json"]).json();
    let outside: Vec<_> =
        checked["diagnostics"].as_array().unwrap().iter().filter(|d| d["rule"] == "outside-project").collect();
    let files: Vec<_> = outside.iter().map(|d| d["file"].as_str().unwrap()).collect();
    assert_eq!(files, ["v/vendored/main.yaml"], "{checked}");
}

#[cfg(feature = "mcp")]
#[test]
fn served_flows_have_the_permissions_of_their_own_project() {
    let folder = folder();
    let call = |id: u8, tool: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\"arguments\":{{\"input\":\"x\"}}}}}}\n"
        )
    };
    let hello = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    let said = format!("{hello}{}{}{}", call(1, "own"), call(2, "cmd"), call(3, "there"));
    let mut command = folder.command(&["mcp", "v"]);
    command.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, said.as_bytes()).unwrap();
    // The client leaves when it has all answers.
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let answers: Vec<serde_json::Value> = (0..4)
        .map(|_| {
            let mut line = String::new();
            std::io::BufRead::read_line(&mut out, &mut line).unwrap();
            serde_json::from_str(&line).unwrap()
        })
        .collect();
    drop(stdin);
    let ran = crate::world::wait(child);
    ran.exits(0).says(&["untrusted-project", "v/vendored/cmd.yaml` is not served", "`there` cannot run now"]);
    let of = |id: u8| answers.iter().find(|answer| answer["id"] == id).unwrap();
    assert_eq!(of(1)["result"]["isError"], false, "{answers:?}");
    assert!(of(2)["error"]["message"].as_str().unwrap().contains("unknown tool `cmd`"), "{answers:?}");
    assert!(of(3).to_string().contains("command-not-allowed"), "{answers:?}");
    assert!(!folder.path().join("done-cmd").exists() && !folder.path().join("done-there").exists());
}

/// Links in the trusted project to manifests of other projects.
#[cfg(unix)]
fn linked() -> Folder {
    let folder = folder();
    folder.write("outside/far.yaml", command("far"));
    for (link, target) in [
        ("v/link-own.yaml", "deep/inside.yaml"),
        ("v/link-cmd.yaml", "vendored/cmd.yaml"),
        ("v/link-there.yaml", "repository/there.yaml"),
        ("v/link-far.yaml", "../outside/far.yaml"),
    ] {
        std::os::unix::fs::symlink(target, folder.path().join(link)).unwrap();
    }
    folder
}

#[cfg(unix)]
#[test]
fn a_link_has_the_permissions_of_the_project_of_its_target() {
    let folder = linked();
    for args in [&["run", "v/link-own.yaml"], &["plan", "v/link-own.yaml"]] {
        trefoil(&folder, args).exits(0);
    }
    trefoil(&folder, &["run", "v/link-cmd.yaml"]).silent(2).says(&["untrusted-project", "v/vendored/trefoil.toml"]);
    for target in ["v/link-there.yaml", "v/link-far.yaml"] {
        trefoil(&folder, &["run", target]).silent(2).says(&["command-not-allowed"]);
    }
    // A link to the folder of another project, and a chain of links.
    std::os::unix::fs::symlink("repository", folder.path().join("v/elsewhere")).unwrap();
    std::os::unix::fs::symlink("link-there.yaml", folder.path().join("v/chain.yaml")).unwrap();
    for target in ["v/elsewhere/there.yaml", "v/chain.yaml"] {
        trefoil(&folder, &["run", target]).silent(2).says(&["command-not-allowed"]);
    }
    assert!(!folder.path().join("done-cmd").exists() && !folder.path().join("done-there").exists());
    trefoil(&folder, &["trust", "v/vendored"]).exits(0);
    trefoil(&folder, &["run", "v/link-cmd.yaml"]).exits(0);
}

#[cfg(unix)]
#[test]
fn a_run_that_was_started_through_a_link_is_resumed_with_the_permissions_of_its_target() {
    let folder = folder();
    let stored = |args: &[&str]| {
        let mut command = folder.command(args);
        command.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).env_remove("TREFOIL_EPHEMERAL");
        command.env("TREFOIL_STORE", folder.path().join("runs.db"));
        finish(command)
    };
    let asks = command("asks").replace("initial_state: DO", "initial_state: ASK").replace(
        "states:\n",
        "states:\n    ASK: { kind: Human, prompt: Go?, transitions: [{ condition: always, target: DO }] }\n",
    );
    folder.write("v/repository/asks.yaml", asks);
    let link = folder.path().join("v/link.yaml");
    std::os::unix::fs::symlink("repository/asks.yaml", &link).unwrap();
    let run = stored(&["run", "v/link.yaml", "--allow-command"]);
    run.exits(75);
    let id = run.err.split("trefoil resume ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    stored(&["runs", "answer", &id, "ASK", "yes"]).exits(0);
    stored(&["resume", &id]).says(&["--allow-command"]);
    std::fs::remove_file(link).unwrap();
    stored(&["resume", &id]).says(&["--allow-command"]);
    assert!(!folder.path().join("done-asks").exists());
}

#[cfg(unix)]
#[test]
fn paths_in_a_manifest_behind_a_link_do_not_lead_into_the_project_of_the_link() {
    let folder = Folder::new();
    let reads = "version: \"0.1\"\nenv_file: ../keys.env\nnodes:\n  say: { type: agent, agent: writer, writes: output.text }\nagents:\n  writer: { model: \"openai:gpt-x\", system: \"{{env.KEY}}\" }\nedges: []\n";
    folder.write("v/trefoil.toml", "").write("v/keys.env", "KEY=canary-of-v\n").write("v/flows/own.yaml", reads);
    folder.write("v/vendored/.git/HEAD", "").write("v/vendored/main.yaml", reads);
    std::os::unix::fs::symlink("../vendored/main.yaml", folder.path().join("v/flows/link.yaml")).unwrap();
    let run = |file: &str| trefoil(&folder, &["run", file, "--model", "embedded", "--input", "message=hi"]);
    run("v/flows/own.yaml").exits(0);
    run("v/flows/link.yaml").exits(2).says(&["outside"]);
    let checked = trefoil(&folder, &["check", "v/flows/link.yaml", "--format", "json"]).json();
    assert_eq!(checked["diagnostics"][0]["rule"], "outside-project", "{checked}");
    assert!(checked["diagnostics"][0].to_string().contains("/v/vendored`"), "it names its project: {checked}");
}

#[cfg(all(unix, feature = "mcp"))]
#[test]
fn served_flows_behind_links_have_the_permissions_of_their_own_project() {
    let folder = linked();
    trefoil(&folder, &["mcp", "v/link-own.yaml"]).exits(0);
    trefoil(&folder, &["mcp", "v/link-cmd.yaml"]).silent(2).says(&["untrusted-project", "v/vendored/trefoil.toml"]);
    for link in ["v/link-there.yaml", "v/link-far.yaml"] {
        trefoil(&folder, &["mcp", link]).says(&["cannot run now: this step runs the shell command"]);
    }
}

#[cfg(unix)]
#[test]
fn the_loop_runs_a_flow_behind_a_link_with_the_permissions_of_its_own_project() {
    let folder = linked();
    for (link, says) in [("v/link-cmd.yaml", "untrusted-project"), ("v/link-there.yaml", "command-not-allowed")] {
        let mut command = folder.command(&["dev", link]);
        command.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).stdin(Stdio::piped());
        command.env("TREFOIL_STORE", folder.path().join("runs.db"));
        let mut child = command.spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_secs(2));
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"q\n").unwrap();
        let ran = crate::world::wait(child);
        assert!(format!("{}{}", ran.out, ran.err).contains(says), "{}{}", ran.out, ran.err);
    }
    assert!(!folder.path().join("done-cmd").exists() && !folder.path().join("done-there").exists());
}

#[test]
#[cfg(unix)]
fn the_list_of_trusted_projects_is_the_users_alone_whatever_the_umask() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    folder.write("v/trefoil.toml", "").write("w/trefoil.toml", "");
    let trusts = |args: &[&str]| {
        let bare = folder.command(&[]);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "umask 0; exec \"$0\" trust \"$@\""]).arg(bare.get_program()).args(args);
        shell.current_dir(folder.path());
        crate::world::bare(&mut shell);
        shell.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_CONFIG_DIR", folder.path().join("user/config"));
        crate::world::finish(shell).exits(0);
    };
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for args in [["v"].as_slice(), &["w"], &["--revoke", "v"]] {
        trusts(args);
        for made in ["user", "user/config"] {
            assert_eq!(mode(&folder.path().join(made)), 0o700, "{args:?}: {made}");
        }
        let files: Vec<_> = std::fs::read_dir(folder.path().join("user/config")).unwrap().flatten().collect();
        assert!(files.iter().any(|file| file.file_name() == "trusted"), "{files:?}");
        for file in files {
            assert_eq!(mode(&file.path()), 0o600, "{args:?}: {file:?}");
        }
    }
}
