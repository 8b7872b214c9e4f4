//! What a store keeps and gives away: results that nobody has seen, runs of processes that are stuck, and bytes under readers.
#![cfg(unix)]

use std::path::Path;

use serde_json::json;
use trefoil::store::{SqliteStore, Store as _, StoreOptions};

use crate::durable::{command, only, signal, trefoil, until, world};
use crate::provider::Provider;
use crate::world::{Folder, finish, wait};

const AGENT: &str = "id: hello\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\nprompt: a result\n";

#[test]
fn a_result_without_content_that_nobody_has_seen_stays_for_a_day() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("hello.yaml", AGENT);
    // A worker ends it.
    trefoil(&folder, &provider, &["run", "hello.yaml", "--no-content", "--detach"]).exits(0);
    trefoil(&folder, &provider, &["worker", "--once"]).exits(0);
    let run = only(&folder, &provider);
    let shown = trefoil(&folder, &provider, &["runs", "show", &run]);
    assert!(shown.exits(0).out.contains("content  only the result, until 20"), "{shown:?}");
    assert!(shown.out.contains(&format!("`trefoil resume {run}` prints it")), "{shown:?}");
    for _ in 0..2 {
        assert_eq!(trefoil(&folder, &provider, &["resume", &run]).exits(0).out, "a result\n");
    }
    trefoil(&folder, &provider, &["runs", "delete", &run]).exits(0);
    trefoil(&folder, &provider, &["resume", &run]).exits(2);
    // What was shown goes at once.
    trefoil(&folder, &provider, &["run", "hello.yaml", "--no-content"]).exits(0);
    let run = only(&folder, &provider);
    let shown = trefoil(&folder, &provider, &["runs", "show", &run, "--output", "json"]).json();
    assert_eq!((&shown["status"], &shown["content"]), (&json!("completed"), &json!("removed")));
    assert_eq!(provider.asked().len(), 2);
}

/// Its reader has ended, as `| head -c0` does.
#[test]
fn a_result_without_content_that_a_pipe_did_not_take_stays() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("hello.yaml", AGENT);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut unread = command(&folder, &provider, &["run", "hello.yaml", "--no-content"]);
    assert!(unread.stdout(writer).status().unwrap().success());
    let run = only(&folder, &provider);
    assert_eq!(trefoil(&folder, &provider, &["resume", &run]).exits(0).out, "a result\n");
    assert_eq!(provider.asked().len(), 1);
}

/// Standard output is closed, or goes nowhere: nobody has seen the result.
#[test]
fn a_result_without_content_that_was_printed_nowhere_stays() {
    for (to, code) in [(">&-", 1), ("> /dev/null", 0)] {
        let (folder, provider) = (Folder::new(), Provider::start());
        folder.write("hello.yaml", AGENT);
        let run = command(&folder, &provider, &["run", "hello.yaml", "--no-content"]);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &format!("exec \"$0\" \"$@\" {to}")]).arg(run.get_program()).args(run.get_args());
        for (name, value) in run.get_envs() {
            if let Some(value) = value {
                shell.env(name, value);
            }
        }
        shell.current_dir(folder.path()).env_remove("TREFOIL_EPHEMERAL");
        shell.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let ran = finish(shell);
        let run = only(&folder, &provider);
        let help = format!("it stays in the store for a day; `trefoil resume {run}");
        ran.exits(code)
            .says(&[if code == 1 { "standard output is closed" } else { "nobody has read the result" }, &help]);
        assert_eq!(trefoil(&folder, &provider, &["resume", &run]).exits(0).out, "a result\n");
        assert_eq!(provider.asked().len(), 1);
    }
}

/// In each way to go on: the flow that it calls is told to keep nothing as well.
#[test]
fn a_flow_that_a_run_without_content_calls_keeps_none_either() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("trefoil.toml", "[tools.inner]\nflow = \"hello.yaml\"\n");
    folder.write("hello.yaml", AGENT);
    let call = "agent: { id: call, kind: tool, tool: { kind: local, name: inner, params: { input: x } } }";
    folder.write("main.yaml", format!("id: main\nkind: sequential\nsteps:\n  - {call}\n"));
    let trusting = |args: &[&str]| {
        let mut command = command(&folder, &provider, args);
        finish({
            command.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
            command
        })
    };
    trusting(&["trust", "."]).exits(0);
    let run = ["run", "main.yaml", "--no-content"];
    trusting(&run).exits(0);
    trusting(&[&run[..], &["--detach"]].concat()).exits(0);
    trusting(&["worker", "--once"]).exits(0);
    let listed = trusting(&["runs", "list", "--flow", "hello", "--output", "json"]).json();
    let called: Vec<&str> = listed["runs"].as_array().unwrap().iter().map(|run| run["run"].as_str().unwrap()).collect();
    assert_eq!(called.len(), 2);
    for run in called {
        let shown = trusting(&["runs", "show", run, "--output", "json"]).json();
        assert_eq!(shown["content"], "removed", "{shown}");
    }
}

#[test]
fn a_run_is_taken_from_a_process_that_is_stuck_when_somebody_says_so() {
    let (folder, provider) = (world(), Provider::start());
    let stuck = command(&folder, &provider, &["run", "main.yaml"]).spawn().unwrap();
    until("the second call", || provider.asked().len() == 2);
    signal(&stuck, "-STOP");
    let run = only(&folder, &provider);
    trefoil(&folder, &provider, &["resume", &run]).exits(2).says(&["in progress in another process"]);
    trefoil(&folder, &provider, &["runs", "release", &run]).exits(0).says(&[&format!("took {run} from the process ")]);
    trefoil(&folder, &provider, &["runs", "release", &run]).exits(0).says(&["no process works on "]);
    provider.hang(false);
    trefoil(&folder, &provider, &["resume", &run]).exits(0);
    let shown = trefoil(&folder, &provider, &["runs", "show", &run]);
    let from = format!("taken    from the process {}-", stuck.id());
    assert!(shown.exits(0).out.contains(&from), "{shown:?}");
    signal(&stuck, "-KILL");
    wait(stuck);
    trefoil(&folder, &provider, &["store", "check"]).exits(0);
}

#[test]
fn workers_do_not_pay_for_a_loop_that_was_killed() {
    let (folder, provider) = (world(), Provider::start());
    let mut dev = command(&folder, &provider, &["dev", "main.yaml"]).spawn().unwrap();
    until("the second call", || provider.asked().len() == 2);
    dev.kill().unwrap();
    dev.wait().unwrap();
    provider.hang(false);
    let run = only(&folder, &provider);
    trefoil(&folder, &provider, &["worker", "--once"]).exits(0);
    assert_eq!(provider.asked().len(), 2);
    trefoil(&folder, &provider, &["resume", &run]).exits(0);
    assert_eq!(provider.asked().len(), 3);
}

/// The bytes of a store.
fn bytes(folder: &Folder) -> Vec<(String, Vec<u8>)> {
    let names = ["runs.db", "runs.db-wal"];
    names.iter().filter_map(|name| Some(((*name).to_owned(), std::fs::read(folder.path().join(name)).ok()?))).collect()
}

#[test]
fn what_only_reads_leaves_a_store_byte_for_byte() {
    let (folder, provider) = (world(), Provider::start());
    provider.hang(false);
    trefoil(&folder, &provider, &["run", "main.yaml"]).exits(0);
    let done = only(&folder, &provider);
    provider.hang(true);
    let killed = command(&folder, &provider, &["run", "main.yaml"]).spawn().unwrap();
    until("the second call", || provider.asked().len() == 4);
    signal(&killed, "-KILL");
    wait(killed);
    let listed = trefoil(&folder, &provider, &["runs", "list", "--output", "json"]).json();
    let open = listed["runs"][0]["run"].as_str().unwrap().to_owned();
    assert_eq!(listed["runs"][0]["status"], json!("interrupted"), "whoever looks sees that its process has ended");
    let before = bytes(&folder);
    assert_eq!(before.len(), 2, "a killed process leaves a log");
    let reads: &[&[&str]] = &[
        &["runs", "list"],
        &["runs", "list", "--output", "json", "--status", "interrupted"],
        &["runs", "list", "--status", "running"],
        &["runs", "show", &done],
        &["runs", "show", &open],
        &["runs", "show", &open, "--output", "json"],
        &["runs", "events", &done],
        &["runs", "events", &open],
        &["runs", "export", &open],
        &["runs", "diff", &done, &open],
        &["trace", &done],
        &["trace", &open],
        &["replay", &done],
        &["resume", &done],
        &["resume", &open, "--with", "main.yaml", "--dry-run"],
        &["plan", "main.yaml"],
        &["store"],
        &["store", "check"],
        &["store", "backup", "copy.db"],
        &["doctor"],
    ];
    for args in reads {
        let ran = trefoil(&folder, &provider, args);
        assert!(!ran.err.contains("read-only"), "{ran:?}");
        let after = bytes(&folder);
        let changed: Vec<_> = before.iter().filter(|one| !after.contains(one)).map(|(name, _)| name).collect();
        assert_eq!(changed, Vec::<&String>::new(), "{args:?}");
    }
    provider.hang(false);
    trefoil(&folder, &provider, &["resume", &open]).exits(0);
}

/// Each command refuses a store of a later version: none touches the file, or the log that a killed process has left.
#[test]
fn what_is_refused_stays_byte_for_byte() {
    let (folder, provider) = (world(), Provider::start());
    provider.hang(false);
    trefoil(&folder, &provider, &["run", "main.yaml"]).exits(0);
    let run = only(&folder, &provider);
    let later = rusqlite::Connection::open(folder.path().join("runs.db")).unwrap();
    later.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    later.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(later);
    let before = bytes(&folder);
    assert_eq!(before.len(), 2);
    let asked = provider.asked().len();
    let all: &[&[&str]] = &[
        &["run", "main.yaml"],
        &["run", "main.yaml", "--detach"],
        &["run", "main.yaml", "--reuse"],
        &["resume", &run],
        &["resume", &run, "--with", "main.yaml"],
        &["resume", &run, "--with", "main.yaml", "--dry-run"],
        &["runs", "list"],
        &["runs", "show", &run],
        &["runs", "events", &run],
        &["runs", "export", &run],
        &["runs", "diff", &run, &run],
        &["runs", "fork", &run],
        &["runs", "answer", &run, "ask", "yes"],
        &["runs", "cancel", &run],
        &["runs", "release", &run],
        &["runs", "delete", &run],
        &["trace", &run],
        &["replay", &run],
        &["worker", "--once"],
        &["mcp", "main.yaml"],
        &["store"],
        &["store", "check"],
        &["store", "backup", "copy.db"],
        &["store", "prune", "--keep", "1d"],
        &["doctor"],
    ];
    for args in all {
        let ran = trefoil(&folder, &provider, args);
        assert!(ran.code != 0 && format!("{}{}", ran.out, ran.err).contains("later version"), "{args:?}: {ran:?}");
        assert!(bytes(&folder) == before, "{args:?}: {ran:?}");
    }
    assert_eq!(provider.asked().len(), asked);
}

/// A store may have any number for a time.
#[test]
fn a_time_after_the_year_9999_is_shown() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    for (n, now) in [253_402_300_800_000, i64::MAX as u64, u64::MAX].into_iter().enumerate() {
        let store = SqliteStore::open(folder.path().join("runs.db"), StoreOptions::default()).unwrap();
        let new = trefoil_store::NewRun { run: format!("late-{n}"), now, ..Default::default() };
        runtime.block_on(store.create_run(new)).unwrap();
        drop(store);
        for args in [&["runs", "list"][..], &["runs", "list", "--output", "json"]] {
            let ran = trefoil(&folder, &provider, args);
            assert!(ran.exits(0).out.contains("9999-12-31"), "{ran:?}");
        }
    }
}

#[test]
fn what_is_no_store_is_refused_at_once_and_without_its_password() {
    let folder = Folder::new();
    assert!(std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap().success());
    for place in [
        "postgres://u:Kx7pw",
        "postgres//u:Kx7pw@h",
        "postgres:u:Kx7pw",
        "postgres//u:Kx7pw",
        "u:Kx7pw@h/d",
        "pipe",
        ":memory:",
    ] {
        for args in [&["runs", "list", "--store", place][..], &["run", "main.yaml", "--store", place]] {
            let mut command = folder.command(args);
            command.env_remove("TREFOIL_EPHEMERAL");
            folder.write("main.yaml", AGENT);
            let ran = finish(command);
            ran.exits(2);
            assert!(!format!("{ran:?}").replace(place, "").contains("Kx7pw"), "{ran:?}");
            assert!(!ran.err.contains("Kx7pw") && !ran.out.contains("Kx7pw"), "{ran:?}");
        }
    }
    assert!(!Path::new(&folder.path().join(":memory:")).exists());
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    /// Killed between the last commit and the output: it cannot write to a pipe that nobody reads.
    #[test]
    fn a_result_without_content_whose_process_was_killed_before_it_was_shown_is_there() {
        let (folder, provider) = (Folder::new(), Provider::start());
        folder.write("hello.yaml", AGENT.replace("a result", "'{{text}}'") + "inputSchema: { text: string }\n");
        let large = "result ".repeat(14_000);
        folder.write("in.json", json!({ "text": large }).to_string());
        let mut running =
            command(&folder, &provider, &["run", "hello.yaml", "--no-content", "--input-json", "@in.json"]);
        let running = running.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let status = || {
            let listed = trefoil(&folder, &provider, &["runs", "list", "--output", "json"]).json();
            listed["runs"][0]["status"].as_str().map(str::to_owned)
        };
        until("the end of the run", || status().as_deref() == Some("completed"));
        std::thread::sleep(std::time::Duration::from_millis(500));
        signal(&running, "-KILL");
        drop(running);
        let run = only(&folder, &provider);
        let printed = trefoil(&folder, &provider, &["resume", &run]);
        assert_eq!(printed.exits(0).out.trim_end(), large.trim_end());
        assert_eq!(provider.asked().len(), 1);
    }
}
