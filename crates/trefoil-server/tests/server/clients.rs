//! The clients of others, as their makers publish them, against the program itself: see `tests/clients/README.md`.
//!
//! `TREFOIL_API_CLIENTS` is the folder in which `.ci/api-clients` has installed them. The program is the one beside this test:
//! `cargo build -p trefoil-cli` makes it.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// The folder with the clients; says so if it is not set.
#[allow(clippy::disallowed_methods, reason = "whoever runs the tests says where it is")]
fn installed_clients() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("TREFOIL_API_CLIENTS").map(PathBuf::from) else {
        untested::skipped("TREFOIL_API_CLIENTS is not set (run `.ci/api-clients FOLDER`, and set it to that folder)");
        return None;
    };
    assert!(folder.join("py/bin/python").exists(), "{} has no clients", folder.display());
    Some(folder)
}

/// The program, which is in the folder above that of this test.
fn program() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let program = here.parent().and_then(Path::parent).unwrap().join("trefoil");
    assert!(program.exists(), "{} does not exist: build it with `cargo build -p trefoil-cli`", program.display());
    program
}

/// A server with its address and two keys, which ends when it is dropped.
struct RunningProgram {
    _process: Child,
    url: String,
    key: String,
    admin_key: String,
    _folder: tempfile::TempDir,
}

/// The program with these words, and a store and settings in a folder.
fn command_in(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"));
    command.args(words).arg("--store").arg(folder.join("runs.db")).env("TREFOIL_CONFIG_DIR", folder);
    command.stdin(Stdio::null());
    command
}

async fn add_key(folder: &Path, scopes: &str) -> String {
    let made = command_in(folder, &["keys", "add", "test", "--scope", scopes]).output().await.unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

async fn serve() -> RunningProgram {
    let folder = tempfile::tempdir().unwrap();
    let (key, admin_key) =
        (add_key(folder.path(), "read,run,answer").await, add_key(folder.path(), "read,run,answer,admin").await);
    let words = ["serve", "flows", "--port", "0", "--require-key", "--model", "scripted=clients/answers.yaml"];
    let mut command = command_in(folder.path(), &words);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut process = command.spawn().unwrap();
    let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
    loop {
        let line = lines.next_line().await.unwrap().expect("the server says where it is");
        if let Some((_, at)) = line.split_once(" at http://") {
            // Nobody needs its log, which must not fill the pipe.
            let url = format!("http://{}", at.trim());
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return RunningProgram { _process: process, url, key, admin_key, _folder: folder };
        }
    }
}

/// Runs a script, and panics with the checks that failed.
async fn run_script(script: &str) {
    let Some(clients) = installed_clients() else { return };
    let server = serve().await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    let with = if script.ends_with(".py") { "py/bin/python" } else { "node_modules/.bin/node" };
    let mut command = Command::new(clients.join(with));
    command.arg(folder.join(script)).args([&server.url, &server.key]).stdin(Stdio::null());
    if script.ends_with(".py") {
        command.arg(&server.admin_key);
    }
    let ran = command.output().await.unwrap();
    let printed = String::from_utf8_lossy(&ran.stdout);
    let failed: Vec<&str> = printed.lines().filter(|line| line.starts_with("FAIL")).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(ran.status.success(), "{printed}{}", String::from_utf8_lossy(&ran.stderr));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_python_client_of_openai_works() {
    run_script("openai_client.py").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_javascript_client_of_openai_works() {
    run_script("openai_client.mjs").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_python_client_of_mcp_works() {
    run_script("mcp_client.py").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_python_client_of_agntz_works() {
    run_script("agntz_client.py").await;
}
