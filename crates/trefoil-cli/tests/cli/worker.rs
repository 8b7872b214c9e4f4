//! Workers, with the real binary: runs that are put in a store, and the processes that claim them.
#![cfg(unix)]

use std::process::Child;
use std::time::Duration;

use crate::durable::{command, trefoil, until};
use crate::provider::Provider;
use crate::world::{Folder, Ran, finish, wait};

const AGENT: &str = "id: hello\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\n";

/// A flow that asks a person.
fn question() -> String {
    include_str!("../crash/manifests/human.yaml").replace("{{ env.SECRET_WORD }}", "print")
}

/// Puts a run in the store; returns its id.
fn submit(folder: &Folder, provider: &Provider, args: &[&str]) -> String {
    let ran = trefoil(folder, provider, &[&["run", "--detach", "--quiet"], args].concat());
    ran.exits(0);
    assert_eq!(ran.err, "", "{ran:?}");
    ran.out.trim().to_owned()
}

fn status(folder: &Folder, provider: &Provider, run: &str) -> String {
    let shown = trefoil(folder, provider, &["runs", "show", run, "--output", "json"]);
    shown.exits(0).json()["status"].as_str().unwrap().to_owned()
}

fn begin(folder: &Folder, provider: &Provider, args: &[&str]) -> Child {
    command(folder, provider, &[&["worker"], args].concat()).spawn().unwrap()
}

fn end(worker: Child) -> Ran {
    rustix::process::kill_process(rustix::process::Pid::from_child(&worker), rustix::process::Signal::TERM).unwrap();
    wait(worker)
}

#[test]
fn runs_that_are_put_in_the_store_are_run_by_a_worker() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("hello.yaml", format!("{AGENT}inputSchema: {{ text: string }}\nprompt: 'about {{{{text}}}}'\n"));
    // Submitting a run needs no key.
    let mut told = command(&folder, &provider, &["run", "hello.yaml", "--detach", "-i", "text=none"]);
    told.env_remove("OPENAI_API_KEY").env_remove("OPENAI_BASE_URL");
    let told = finish(told);
    let first = told.exits(0).out.trim().to_owned();
    told.says(&["a worker runs it", &format!("trefoil runs show {first}")]);
    let runs: Vec<String> =
        (0..4).map(|n| submit(&folder, &provider, &["hello.yaml", "-i", &format!("text={n}")])).collect();
    assert_eq!((status(&folder, &provider, &first), provider.asked().len()), ("pending".to_owned(), 0));
    let worked = trefoil(&folder, &provider, &["worker", "--once"]);
    worked.exits(0).says(&["working on the runs in ", "8 at a time", &format!("run {first} started: hello")]);
    for run in runs.iter().chain([&first]) {
        assert_eq!(status(&folder, &provider, run), "completed");
        worked.says(&[&format!("run {run} completed: 1 call")]);
    }
    assert_eq!(provider.asked().len(), 5);
    // Options that a normal run would reject are rejected as well.
    trefoil(&folder, &provider, &["run", "hello.yaml", "--detach", "--ephemeral"]).exits(2);
    trefoil(&folder, &provider, &["run", "hello.yaml", "--detach", "--allow-command"]).exits(2);
    trefoil(&folder, &provider, &["worker", "--once", "--quiet"]).silent(0);
}

#[test]
fn a_worker_that_is_asked_to_stop_gives_its_runs_back() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("hello.yaml", format!("{AGENT}prompt: hang\n"));
    let run = submit(&folder, &provider, &["hello.yaml"]);
    let worker = begin(&folder, &provider, &["--drain", "0"]);
    until("the call", || provider.asked().len() == 1);
    assert_eq!(status(&folder, &provider, &run), "running");
    let ended = end(worker);
    ended.exits(0).says(&["stopping; 1 run is given back", &format!("run {run} given back")]);
    assert_eq!(status(&folder, &provider, &run), "interrupted");
    // Another worker resumes it at once.
    provider.hang(false);
    trefoil(&folder, &provider, &["worker", "--once"]).exits(0).says(&[&format!("run {run} completed")]);
}

/// Three steps, one after the other, of which none asks what another one asks.
const JOB: &str = "id: job\nkind: sequential\ninputSchema: { n: string }\nsteps:\n  - ref: first\n    input: { n: '{{n}}' }\n  - \
                   ref: second\n    input: { n: '{{n}}' }\n  - ref: third\n    input: { n: '{{n}}' }\n";

fn job(folder: &Folder) {
    folder.write("job.yaml", JOB);
    for name in ["first", "second", "third"] {
        let agent = AGENT.replace("hello", name);
        let file = format!("{agent}inputSchema: {{ n: string }}\nprompt: '{name} of {{{{n}}}}'\n");
        folder.write(&format!("{name}.yaml"), file);
    }
}

#[test]
fn workers_are_replaced_one_by_one_and_each_call_is_paid_once() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    provider.wait_before_answers(Duration::from_millis(1_200));
    job(&folder);
    let runs: Vec<String> =
        (0..6).map(|n| submit(&folder, &provider, &["job.yaml", "-i", &format!("n={n}")])).collect();
    let mut worker = begin(&folder, &provider, &["--concurrency", "3"]);
    for calls in [2, 7, 12] {
        until("the next calls", || provider.asked().len() >= calls);
        let ended = end(worker);
        worker = begin(&folder, &provider, &["--concurrency", "3"]);
        ended.exits(0);
        assert!(!ended.err.contains("paid for again"), "{ended:?}");
        // Later ones may have been at the last calls of their runs, which then are complete.
        if calls == 2 {
            ended.says(&["given back when their calls in progress have ended", "given back: "]);
        }
    }
    for run in &runs {
        until("the end of all runs", || status(&folder, &provider, run) == "completed");
    }
    end(worker).exits(0);
    let mut asked = provider.asked();
    asked.sort();
    let parts = ["first", "second", "third"];
    let all: Vec<String> = parts.iter().flat_map(|part| (0..6).map(move |n| format!("{part} of {n}"))).collect();
    assert_eq!(asked, all, "each call once");
}

#[test]
fn a_second_signal_or_the_end_of_the_time_ends_the_wait_for_calls() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("hello.yaml", format!("{AGENT}prompt: hang\n"));
    let run = submit(&folder, &provider, &["hello.yaml"]);
    let mut calls = 0;
    let mut begun = |args: &[&str]| {
        let worker = begin(&folder, &provider, args);
        calls += 1;
        until("the call", || provider.asked().len() == calls);
        worker
    };
    let worker = begun(&["--drain", "3600"]);
    let process = rustix::process::Pid::from_child(&worker);
    // Some programs signal a process and its group.
    for _ in 0..2 {
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }
    // It still waits for the call, and the run is still its own.
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(status(&folder, &provider, &run), "running");
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let ended = wait(worker);
    ended.exits(0).says(&["or after 3600 s (at once with another signal)", "1 run is given back, and"]);
    assert_eq!(status(&folder, &provider, &run), "interrupted");
    let worker = begun(&["--drain", "1"]);
    end(worker).exits(0).says(&["or after 1 s", "1 run is given back, and", &format!("run {run} given back")]);
    assert_eq!(status(&folder, &provider, &run), "interrupted");
}

#[test]
fn a_run_that_a_run_has_called_ends_its_calls_in_progress_too() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    provider.wait_before_answers(Duration::from_millis(700));
    job(&folder);
    folder.write("caller.yaml", "id: caller\nkind: tool\ntool: { kind: local, name: job, params: { n: '7' } }\n");
    folder.write("config/config.toml", "[tools.job]\nflow = \"../job.yaml\"\n");
    let with = |args: &[&str]| {
        let mut command = command(&folder, &provider, args);
        command.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
        command
    };
    let run = finish(with(&["run", "--detach", "--quiet", "caller.yaml"])).exits(0).out.trim().to_owned();
    let worker = with(&["worker"]).spawn().unwrap();
    until("the first call", || provider.asked().len() == 1);
    end(worker).exits(0).says(&[&format!("run {run} given back")]);
    assert_eq!(provider.asked(), ["first of 7"], "the next one was not asked");
    finish(with(&["worker", "--once"])).exits(0).says(&[&format!("run {run} completed")]);
    assert_eq!(provider.asked(), ["first of 7", "second of 7", "third of 7"]);
}

#[test]
fn only_what_makes_runs_creates_a_store() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let none = folder.path().join("none");
    let place = none.join("runs.db").display().to_string();
    for words in
        [&["worker", "--once"][..], &["resume", "0123"], &["runs", "show", "0123"], &["runs", "cancel", "0123"]]
    {
        let refused = trefoil(&folder, &provider, &[words, &["--store", &place]].concat());
        refused.exits(2).says(&["no store at `", "the first run creates the store"]);
        assert!(!none.exists(), "{words:?}: {refused:?}");
    }
    // Where there is nothing to do without a store, that is no mistake.
    for words in [&["runs", "list"][..], &["resume", "--all"], &["store", "check"], &["store", "prune"]] {
        trefoil(&folder, &provider, &[words, &["--store", &place]].concat()).exits(0);
        assert!(!none.exists(), "{words:?}");
    }
}

#[test]
fn runs_of_a_worker_that_was_killed_go_on_and_an_answer_wakes_the_one_that_waits() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("hello.yaml", format!("{AGENT}prompt: hang\n"));
    folder.write("ask.yaml", question());
    let run = submit(&folder, &provider, &["hello.yaml"]);
    let mut worker = begin(&folder, &provider, &["--lease", "2"]);
    until("the call", || provider.asked().len() == 1);
    worker.kill().unwrap();
    worker.wait().unwrap();
    provider.hang(false);
    let worker = begin(&folder, &provider, &["--lease", "2"]);
    until("the end of the run", || status(&folder, &provider, &run) == "completed");
    let asks = submit(&folder, &provider, &["ask.yaml"]);
    until("the question", || status(&folder, &provider, &asks) == "waiting");
    let listed = trefoil(&folder, &provider, &["runs", "list"]);
    assert!(listed.out.lines().any(|line| line.starts_with(&asks) && line.ends_with("asks approve")), "{listed:?}");
    let json = |args: &[&str]| trefoil(&folder, &provider, &[args, &["--output", "json"]].concat()).json();
    let (list, shown) = (json(&["runs", "list", "--status", "waiting"]), json(&["runs", "show", &asks]));
    assert_eq!(list["runs"][0]["waiting"], shown["waiting"], "{list:#}");
    assert!(shown["waiting"][0]["question"].is_string(), "{shown:#}");
    trefoil(&folder, &provider, &["runs", "answer", &asks, "approve", "yes"]).exits(0);
    until("the end after the answer", || status(&folder, &provider, &asks) == "completed");
    let question = format!("run {asks} waits for an answer: `approve` asks: ");
    end(worker).exits(0).says(&[&question, &format!("; to answer: trefoil runs show {asks}")]);
}

/// What a worker says about a run with failed items, and what a trace says about a run that none has taken.
#[test]
fn a_run_of_a_worker_names_the_fork_for_its_failed_items_and_has_not_started_before() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write(
        "f.yaml",
        "version: \"0.1\"\nagents: { w: { model: \"openai:m\", system: \"W {{ inputs.t }}\" } }\nnodes:\n  f: { type: factory, agent: w, \
         for_each: \"{{ inputs.message }}\", inputs: { t: \"{{ item }}\" }, writes: output.o, on_failure: continue }\ninput: { message: \"[1, 2]\" }\n",
    );
    folder.write("s.yaml", "answers: { w: [ A, { error: { status: 400, message: bad } } ] }\n");
    let with = ["--model", "scripted=s.yaml", "f.yaml"];
    let run = submit(&folder, &provider, &with);
    let traced = trefoil(&folder, &provider, &["trace", &run]);
    assert!(traced.out.contains("  pending  ") && traced.out.contains("no process has started it yet"), "{traced:?}");
    assert!(!traced.out.contains("interrupted"), "{traced:?}");
    let worked = trefoil(&folder, &provider, &["worker", "--once"]);
    worked.exits(0).says(&[&format!("; to run the failed items again: trefoil runs fork {run}")]);
    let bare = submit(&folder, &provider, &[&["--no-content"], &with[..]].concat());
    let worked = trefoil(&folder, &provider, &["worker", "--once"]);
    worked.exits(0).says(&[&format!("run {bare} completed, 1 of 2 items failed")]);
    assert!(!worked.err.contains("runs fork"), "{worked:?}");
}

#[test]
fn a_run_that_waits_for_one_that_it_has_called_goes_on_after_the_answer() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let config = folder.path().join("config");
    folder.write("ask.yaml", question());
    folder.write("caller.yaml", "id: caller\nkind: tool\ntool: { kind: local, name: ask }\n");
    folder.write("config/config.toml", "[tools.ask]\nflow = \"../ask.yaml\"\n");
    let ran = |args: &[&str]| {
        let mut command = command(&folder, &provider, args);
        finish({
            command.env("TREFOIL_CONFIG_DIR", &config);
            command
        })
    };
    let run = ran(&["run", "--detach", "--quiet", "caller.yaml"]).exits(0).out.trim().to_owned();
    let of = |json: &serde_json::Value| json["run"].as_str().unwrap().to_owned();
    let mut worker = command(&folder, &provider, &["worker", "--lease", "2"]);
    let worker = worker.env("TREFOIL_CONFIG_DIR", &config).spawn().unwrap();
    until("the question", || status(&folder, &provider, &run) == "waiting");
    let called = ran(&["runs", "list", "--output", "json"]).json();
    let called = of(called["runs"].as_array().unwrap().iter().find(|one| of(one) != run).unwrap());
    ran(&["runs", "answer", &called, "approve", "yes"]).exits(0);
    until("the end after the answer", || status(&folder, &provider, &run) == "completed");
    assert_eq!(status(&folder, &provider, &called), "completed");
    let ended = end(worker);
    // Nobody but the run that has called it goes on with the called run.
    assert!(ended.err.matches(&format!("run {run} ")).count() >= 3, "{ended:?}");
    assert!(!ended.err.contains(&format!("run {called} ")), "{ended:?}");
    ran(&["worker", "--once", "--quiet"]).silent(0);
}

#[test]
fn a_worker_runs_commands_only_if_it_may() {
    let (folder, provider) = (Folder::new(), Provider::start());
    for (name, text) in [
        ("flow.yaml", include_str!("../crash/manifests/commands/flow.yaml")),
        ("speaker.yaml", include_str!("../crash/manifests/commands/speaker.yaml")),
    ] {
        folder.write(name, text);
    }
    let run = submit(&folder, &provider, &["flow.yaml", "--model", "openai:m"]);
    let refused = trefoil(&folder, &provider, &["worker", "--once"]);
    refused.exits(1).says(&["1 run could not continue here"]);
    assert!(!refused.err.contains("failed"), "{refused:?}");
    assert!(!folder.path().join("done").exists(), "{refused:?}");
    assert_eq!(status(&folder, &provider, &run), "waiting", "{refused:?}");
    trefoil(&folder, &provider, &["worker", "--once", "--allow-command"]).exits(0);
    assert_eq!(status(&folder, &provider, &run), "completed");
    assert_eq!(std::fs::read_to_string(folder.path().join("done")).unwrap(), "one\ntwo\n");
}

/// Neither does a run whose called flow needs the permission, before its call and after it has begun, and it is not tried at once
/// again.
#[test]
fn a_run_whose_called_flow_lacks_a_permission_is_left_to_other_workers() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let flow = |name: &str, states: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: {name}, version: \"1.0.0\" }}\nspec:\n{states}"
        )
    };
    let act = "    B: { kind: System, command: \"echo done >> done\", transitions: [] }\n";
    folder.write("sub.yaml", flow("sub", &format!("  initial_state: B\n  states:\n{act}")));
    let ask = "    Q: { kind: Human, prompt: \"go?\", transitions: [{ condition: input_equals_yes, target: B }] }\n";
    folder.write("ask.yaml", flow("ask", &format!("  initial_state: Q\n  states:\n{ask}{act}")));
    for tool in ["sub", "ask"] {
        let call =
            format!("id: call-{tool}\nkind: tool\ntool: {{ kind: local, name: {tool}, params: {{ input: x }} }}\n");
        folder.write(&format!("call-{tool}.yaml"), call);
    }
    let path = folder.path().display();
    folder.write(
        "config/config.toml",
        format!("[tools.sub]\nflow = \"{path}/sub.yaml\"\n[tools.ask]\nflow = \"{path}/ask.yaml\"\n"),
    );
    let ran = |args: &[&str]| finish(crate::durable::priced(&folder, &provider, args));
    let before = ran(&["run", "call-sub.yaml", "--detach", "--quiet"]).exits(0).out.trim().to_owned();
    ran(&["run", "call-ask.yaml", "--allow-command", "--quiet"]).exits(75);
    ran(&["runs", "answer", "last", "Q", "yes"]).exits(0);
    let begun = crate::edited::newest(&folder, &provider);
    let refused = ran(&["worker", "--once"]);
    refused.exits(1).says(&["2 runs could not continue here", "left to other workers: REFUSED"]);
    assert_eq!(refused.err.matches("left to other workers").count(), 2, "{refused:?}");
    assert!(!folder.path().join("done").exists());
    let listed = ran(&["runs", "list"]).exits(0).out.clone();
    // With the runs that were called.
    assert_eq!(
        (listed.matches("waiting").count(), listed.matches("needs permission before B").count()),
        (4, 2),
        "{listed}"
    );
    ran(&["worker", "--once", "--allow-command"]).exits(0);
    for run in [&before, &begun] {
        let shown = ran(&["runs", "show", run, "--output", "json"]);
        assert_eq!(shown.exits(0).json()["status"], "completed", "{shown:?}");
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("done")).unwrap(), "done\ndone\n");
}

#[test]
fn the_limits_of_the_host_hold_for_all_runs_of_a_worker() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("hello.yaml", format!("{AGENT}prompt: hang\n"));
    folder.write("config/config.toml", "[limits]\nin_flight = 2\n");
    for _ in 0..6 {
        submit(&folder, &provider, &["hello.yaml"]);
    }
    let mut worker = command(&folder, &provider, &["worker", "--concurrency", "6", "--drain", "0"]);
    let worker = worker.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).spawn().unwrap();
    until("the first calls", || provider.asked().len() == 2);
    let running = || trefoil(&folder, &provider, &["runs", "list", "--status", "running", "--output", "json"]);
    until("all runs", || running().json()["runs"].as_array().unwrap().len() == 6);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(provider.asked().len(), 2);
    end(worker).exits(0).says(&["6 runs are given back"]);
}

#[cfg(feature = "postgres")]
#[test]
fn a_run_that_another_process_has_taken_over_has_not_failed() {
    let Some(server) = testbed::postgres::server() else { return };
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    provider.wait_before_answers(Duration::from_secs(3));
    folder.write("hello.yaml", format!("{AGENT}prompt: P.\n"));
    let database = server.database();
    let url = server.address(&database);
    let started = |args: &[&str]| {
        let mut command = command(&folder, &provider, args);
        command.env("TREFOIL_STORE", &url);
        command.spawn().unwrap()
    };
    wait(started(&["run", "hello.yaml", "--detach", "--quiet"])).exits(0);
    let worker = started(&["worker", "--once"]);
    until("the call", || !provider.asked().is_empty());
    server.sql(
        &database,
        "UPDATE trefoil.run SET owner = 'other', epoch = epoch + 1, lease_until = lease_until + 600000",
    );
    let ended = wait(worker);
    ended.exits(0).says(&[" was taken over by another process"]);
    assert!(!ended.err.contains("failed"), "{ended:?}");
}

#[test]
fn a_worker_takes_no_more_runs_than_it_may_call_models_unless_it_is_told_to() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("config/config.toml", "[limits]\nin_flight = 2\n");
    folder.write("hello.yaml", format!("{AGENT}prompt: P.\n"));
    provider.hang(false);
    let worked = |args: &[&str]| {
        submit(&folder, &provider, &["hello.yaml"]);
        let mut command = command(&folder, &provider, &[&["worker", "--once"], args].concat());
        command.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
        finish(command)
    };
    worked(&[]).exits(0).says(&[", 2 at a time"]);
    worked(&["--concurrency", "5"]).exits(0).says(&[", 5 at a time"]);
}

#[cfg(feature = "postgres")]
#[test]
fn processes_wait_for_a_server_that_is_being_restarted() {
    use testbed::postgres::Server;
    let Some(server) = Server::start(false) else { return };
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    folder.write("hello.yaml", format!("{AGENT}prompt: P.\n"));
    let url = server.address(&server.database());
    let started = |args: &[&str]| {
        let mut command = command(&folder, &provider, args);
        command.env("TREFOIL_STORE", &url);
        command
    };
    finish(started(&["run", "hello.yaml", "--detach", "--quiet"])).exits(0);
    server.crash();
    let all = [&["worker", "--once"][..], &["run", "hello.yaml"]].map(|args| started(args).spawn().unwrap());
    // Commands that only read do not wait.
    finish(started(&["runs", "list"])).exits(2).says(&["cannot be reached"]);
    std::thread::sleep(Duration::from_secs(4));
    server.begin();
    for one in all {
        wait(one).exits(0).says(&["waiting until it responds again"]);
    }
    // A run whose server is gone when it is stopped still says how to continue.
    folder.write("hello.yaml", format!("{AGENT}prompt: hang\n"));
    provider.hang(true);
    let asked = provider.asked().len();
    let hangs = started(&["run", "hello.yaml"]).spawn().unwrap();
    until("the call", || provider.asked().len() > asked);
    server.crash();
    end(hangs).exits(130).says(&["to continue: trefoil resume "]);
}

#[cfg(feature = "postgres")]
#[test]
fn a_worker_ends_if_its_user_lacks_the_rights() {
    use testbed::postgres::server;
    let Some(server) = server() else { return };
    let (folder, provider) = (Folder::new(), Provider::start());
    let database = server.database();
    let worker = |url: &str| {
        let mut command = command(&folder, &provider, &["worker", "--once"]);
        command.env("TREFOIL_STORE", url);
        finish(command)
    };
    folder.write("hello.yaml", format!("{AGENT}prompt: P.\n"));
    let mut first = command(&folder, &provider, &["run", "hello.yaml", "--detach", "--quiet"]);
    first.env("TREFOIL_STORE", server.local_address(&database));
    finish(first).exits(0);
    let role = format!("reader_{database}");
    server.sql(
        &database,
        &format!(
            "CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA trefoil TO {role}; GRANT SELECT ON ALL TABLES IN SCHEMA trefoil TO {role}"
        ),
    );
    let url = server.local_address(&database).replace("tester@", &format!("{role}@"));
    worker(&url).exits(2).says(&["denies it to this user: permission denied for table", "GRANT ALL ON ALL TABLES"]);
}

#[cfg(feature = "postgres")]
#[test]
fn all_of_it_works_with_postgres_and_the_password_is_nowhere() {
    use testbed::postgres::{PASSWORD, server};
    let Some(server) = server() else { return };
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("hello.yaml", format!("{AGENT}prompt: hang\n"));
    folder.write("ask.yaml", question());
    provider.hang(false);
    let (url, database) = {
        let database = server.database();
        (server.address(&database), database)
    };
    let shown = server.address_without_password(&database);
    let ran = |args: &[&str]| {
        let mut command = command(&folder, &provider, args);
        command.env("TREFOIL_STORE", &url);
        let ran = finish(command);
        assert!(!ran.out.contains(PASSWORD) && !ran.err.contains(PASSWORD), "{ran:?}");
        ran
    };
    ran(&["runs", "list"]).exits(0).says(&["no runs yet: `postgres://"]);
    ran(&["resume", "0123"]).exits(2).says(&["no store at `postgres://"]);
    let direct = ran(&["run", "hello.yaml", "--store", &url]);
    direct.exits(0);
    let run = ran(&["run", "hello.yaml", "--detach", "--store", &url]);
    let run = run.exits(0).says(&[&format!("--store {shown}")]).out.trim().to_owned();
    assert_eq!(ran(&["worker", "--once"]).exits(0).err.matches(" completed: ").count(), 1);
    let asks = ran(&["run", "ask.yaml", "--store", &url]);
    asks.exits(75).says(&[&format!("--store {shown}")]);
    let listed = ran(&["runs", "list", "--output", "json"]);
    assert_eq!(listed.exits(0).json()["runs"].as_array().unwrap().len(), 3);
    ran(&["runs", "show", &run]).exits(0);
    ran(&["runs", "events", &run]).exits(0);
    ran(&["runs", "export", &run]).exits(0);
    let waits = listed.json()["runs"][0]["run"].as_str().unwrap().to_owned();
    ran(&["runs", "answer", &waits, "approve", "yes"]).exits(0);
    ran(&["resume", &waits]).exits(0);
    ran(&["doctor"]);
    let place = ran(&["store"]);
    assert!(place.exits(0).out.starts_with(&format!("{shown}\n3 runs, ")), "{place:?}");
    ran(&["store", "check"]).exits(0).says(&["no problems in 3 runs"]);
    ran(&["store", "backup", "copy.db"]).exits(2).says(&["is not a file", "pg_dump"]);
    ran(&["runs", "delete", &run]).exits(0);
    ran(&["store", "prune", "--keep", "0s"]).exits(0).says(&["deleted 2 runs"]);
    let wrong = url.replace(PASSWORD, "Kx7Wrong");
    let refused = ran(&["runs", "list", "--store", &wrong]);
    refused.exits(2).says(&["cannot be reached", "PGPASSWORD"]);
    assert!(!refused.err.contains("Kx7Wrong"), "{refused:?}");
}

#[cfg(feature = "postgres")]
#[test]
fn a_connection_to_postgres_is_encrypted_and_its_certificate_is_checked() {
    use testbed::postgres::Server;
    let Some(server) = Server::start(false) else { return };
    let authority = server.encrypt();
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("hello.yaml", format!("{AGENT}prompt: P.\n"));
    let address = server.address(&server.database());
    let ran = |address: &str, trusted: bool| {
        let mut command = command(&folder, &provider, &["run", "hello.yaml", "--quiet", "--store", address]);
        if trusted {
            command.env("SSL_CERT_FILE", &authority);
        }
        finish(command)
    };
    let named = address.replace("127.0.0.1", "localhost");
    let with = |address: &str, mode: &str| format!("{address}?sslmode={mode}");
    ran(&with(&named, "require"), true).exits(0);
    ran(&with(&named, "verify-full"), true).exits(0);
    // The certificate's authority is unknown; it is for another name; the connection is not encrypted.
    ran(&with(&named, "require"), false).exits(2).says(&["cannot be reached", "certificate"]);
    ran(&with(&address, "require"), true).exits(2).says(&["cannot be reached", "certificate"]);
    ran(&with(&named, "disable"), true).exits(2).says(&["cannot be reached", "no encryption"]);
    assert_eq!(provider.asked().len(), 2);
}
