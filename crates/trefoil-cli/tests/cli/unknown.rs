//! Commands and requests with an unknown outcome: the process ended while they ran, or nobody says whether they were done.
#![cfg(unix)]

use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::durable::{command, only, priced, signal, trefoil, until};
use crate::provider::Provider;
use crate::world::{Folder, finish, wait};

#[test]
fn a_command_that_may_have_been_done_is_asked_about() {
    let provider = Provider::start();
    let folder = Folder::new();
    let done = folder.path().join("done");
    let script = format!("echo x >> {}; test -e go || sleep 600", done.display());
    folder.write(
        "pay.yaml",
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: pay }}\nspec:\n  initial_state: PAY\n  states:\n    \
             PAY:\n      kind: System\n      command: {}\n      transitions: []\n",
            json!(script)
        ),
    );
    let times = || std::fs::read_to_string(&done).unwrap_or_default().lines().count();
    let child =
        command(&folder, &provider, &["run", "pay.yaml", "--model", "embedded", "--allow-command"]).spawn().unwrap();
    until("the command", || times() == 1);
    signal(&child, "-KILL");
    wait(child);
    folder.write("go", "");
    let run = only(&folder, &provider);
    let asks = trefoil(&folder, &provider, &["resume", &run, "--allow-command"]);
    asks.silent(75).says(&[
        "`PAY`: it is unknown whether this command was done",
        "PAY retry\n",
        "PAY fail\n",
        "PAY done\n",
    ]);
    assert_eq!(times(), 1, "nobody has decided");
    trefoil(&folder, &provider, &["runs", "answer", &run, "PAY", "retry"]).exits(0);
    trefoil(&folder, &provider, &["resume", &run, "--allow-command"]).exits(0);
    assert_eq!(times(), 2);
}

#[test]
fn a_command_that_was_done_need_not_be_done_again() {
    let provider = Provider::start();
    let folder = Folder::new();
    folder.write(
        "pay.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: pay }\nspec:\n  initial_state: PAY\n  states:\n    \
         PAY:\n      kind: System\n      command: echo x >> done; sleep 600\n      transitions: []\n",
    );
    let done = folder.path().join("done");
    let run = ["run", "pay.yaml", "--model", "embedded", "--allow-command"];
    let child = command(&folder, &provider, &run).current_dir(folder.path()).spawn().unwrap();
    until("the command", || std::fs::read_to_string(&done).is_ok_and(|text| !text.is_empty()));
    signal(&child, "-KILL");
    wait(child);
    let run = only(&folder, &provider);
    // With what it was called decides, so every view has it, before and after it was asked about.
    let called = "it was called with echo x >> done; sleep 600\n";
    let views = || {
        for view in [["trace", &run], ["runs show", &run]] {
            let args: Vec<&str> = view.iter().flat_map(|word| word.split(' ')).collect();
            let out = trefoil(&folder, &provider, &args).exits(0).out.clone();
            assert!(out.contains(called) && out.contains("PAY done\n"), "{out}");
        }
        let json = trefoil(&folder, &provider, &["trace", &run, "--json"]).json();
        assert_eq!(json["waiting"][0]["called_with"], "echo x >> done; sleep 600");
    };
    views();
    let resume = ["resume", &run, "--allow-command", "-q"];
    trefoil(&folder, &provider, &resume).silent(75).says(&[called, "PAY done\n"]);
    views();
    let answer = ["runs", "answer", &run, "PAY"];
    let refused = trefoil(&folder, &provider, &[&answer[..], &["retry", "--result", "7"]].concat());
    refused.silent(2).says(&["`--result` does not fit this answer"]);
    trefoil(&folder, &provider, &[&answer[..], &["done", "--result", "paid 7"]].concat()).exits(0);
    let out = trefoil(&folder, &provider, &resume).exits(0).out.clone();
    assert!(out.contains("paid 7"), "{out}");
    assert_eq!(std::fs::read_to_string(&done).unwrap().lines().count(), 1);
    // The decision is recorded openly.
    let events = trefoil(&folder, &provider, &["runs", "events", &run]).exits(0).out.clone();
    assert!(events.contains("\"stdout\":\"paid 7\""), "{events}");
}

#[test]
fn what_nobody_knows_of_a_called_run_is_asked_about_where_its_caller_is_shown_before_that_is_resumed() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let call =
        |id: &str| format!("id: {id}\nkind: tool\ntool: {{ kind: local, name: t-{id}, params: {{ message: hi }} }}\n");
    folder
        .write("top.yaml", call("top"))
        .write("mid.yaml", format!("{}inputSchema: {{ message: string }}\n", call("mid")));
    folder.write(
        "pay.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: pay }\nspec:\n  initial_state: PAY\n  states:\n    \
         PAY:\n      kind: System\n      command: echo x >> done; sleep 600\n      transitions: []\n",
    );
    folder
        .write("config/config.toml", "[tools.t-top]\nflow = \"../mid.yaml\"\n[tools.t-mid]\nflow = \"../pay.yaml\"\n");
    let go = |args: &[&str]| {
        let mut command = priced(&folder, &provider, args);
        command.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).current_dir(folder.path());
        command
    };
    let child = go(&["run", "top.yaml", "--allow-command"]).spawn().unwrap();
    until("the command", || folder.path().join("done").exists());
    signal(&child, "-KILL");
    wait(child);
    let runs = finish(go(&["runs", "list", "--output", "json"])).json();
    let id = |flow: &str| {
        let run = runs["runs"].as_array().unwrap().iter().find(|run| run["flow"] == flow);
        run.unwrap()["run"].as_str().unwrap().to_owned()
    };
    let (top, pay) = (id("top"), id("pay"));
    let answer = format!("trefoil runs answer {pay} PAY done");
    for view in [&["runs", "show", &top][..], &["trace", &top]] {
        let out = finish(go(view)).exits(0).out.clone();
        for part in [
            "it was called with echo x >> done; sleep 600\n",
            &answer,
            "is unknown whether this command was done",
            "with `done`, its result is what `--result VALUE` says",
        ] {
            assert!(out.contains(part), "no `{part}` in {out}");
        }
    }
    for view in [&["runs", "show", &top, "--output", "json"][..], &["trace", &top, "--json"]] {
        let json = finish(go(view)).json();
        assert_eq!(json["waiting"][0]["called_with"], "echo x >> done; sleep 600", "{json}");
        assert_eq!(json["waiting"].as_array().unwrap().len(), 1, "{json}");
    }
    let listed = finish(go(&["runs", "list"])).exits(0).out.clone();
    assert_eq!(listed.matches("unknown outcome of PAY").count(), 3, "{listed}");
    finish(go(&["runs", "answer", &top, "PAY", "done"])).exits(0);
    finish(go(&["resume", &top, "--allow-command"])).exits(0);
    assert_eq!(std::fs::read_to_string(folder.path().join("done")).unwrap().lines().count(), 1);
}

#[test]
fn a_command_that_counts_as_failed_is_asked_about_again_before_it_is_run_again() {
    let provider = Provider::start();
    let folder = Folder::new();
    folder.write(
        "pay.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: pay }\nspec:\n  initial_state: PAY\n  states:\n    \
         PAY:\n      kind: System\n      command: echo x >> done; test -e go || sleep 600\n      transitions: []\n",
    );
    let done = folder.path().join("done");
    let times = || std::fs::read_to_string(&done).unwrap_or_default().lines().count();
    let run = ["run", "pay.yaml", "--model", "embedded", "--allow-command"];
    let child = command(&folder, &provider, &run).current_dir(folder.path()).spawn().unwrap();
    until("the command", || times() == 1);
    signal(&child, "-KILL");
    wait(child);
    folder.write("go", "");
    let run = only(&folder, &provider);
    let resume = ["resume", &run, "--allow-command", "-q"];
    trefoil(&folder, &provider, &[&resume[..], &["--unknown", "fail"]].concat()).silent(1).says(&["UNKNOWN_OUTCOME"]);
    trefoil(&folder, &provider, &resume).silent(75).says(&[
        "did it finish?",
        "PAY retry\n",
        "PAY fail\n",
        "PAY done\n",
    ]);
    assert_eq!(times(), 1, "that it counts as failed does not mean that it may be done twice");
    trefoil(&folder, &provider, &["store", "check"]).exits(0);
    let all = ["resume", "--all", "--allow-command"];
    assert!(trefoil(&folder, &provider, &all).exits(0).err.contains("no run can continue now"));
    trefoil(&folder, &provider, &[&all[..], &["--unknown", "retry"]].concat()).exits(0);
    assert_eq!(times(), 2);
    let shown = trefoil(&folder, &provider, &["runs", "show", &run]).exits(0).out.clone();
    // Shows the failure, and how the run continued.
    assert!(shown.contains("├─ ✗ PAY") && shown.contains("└─ ✓ PAY"), "{shown}");
}

#[test]
fn a_command_of_which_nobody_knows_whether_it_was_done_can_be_decided_at_once_and_failed_without_permission() {
    let provider = Provider::start();
    let folder = Folder::new();
    folder.write(
        "pay.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: pay }\nspec:\n  initial_state: PAY\n  states:\n    \
         PAY:\n      kind: System\n      command: touch began; sleep 600\n      transitions:\n        - condition: on_failure\n          \
         target: LATE\n    LATE:\n      kind: System\n      command: touch late\n      transitions: []\n",
    );
    let (began, late) = (folder.path().join("began"), folder.path().join("late"));
    let killed = || {
        let _ = std::fs::remove_file(&began);
        let run = ["run", "pay.yaml", "--model", "embedded", "--allow-command"];
        let child = command(&folder, &provider, &run).current_dir(folder.path()).spawn().unwrap();
        until("the command", || began.exists());
        signal(&child, "-KILL");
        wait(child);
        let listed = trefoil(&folder, &provider, &["runs", "list", "--output", "json"]).json();
        listed["runs"][0]["run"].as_str().unwrap().to_owned()
    };
    let run = killed();
    let shown = trefoil(&folder, &provider, &["runs", "show", &run]);
    assert!(shown.exits(0).out.contains("`PAY`: it is unknown whether this command was done"), "{shown:?}");
    trefoil(&folder, &provider, &["runs", "answer", &run, "PAY", "fail"]).exits(0);
    // The next step is a command. The run stops before it, and continues if commands are allowed.
    let stopped = trefoil(&folder, &provider, &["resume", &run]);
    stopped.silent(75).says(&["waiting: stopped before `LATE", "it runs `touch late`", "to continue: trefoil resume"]);
    assert!(!late.exists());
    let listed = trefoil(&folder, &provider, &["runs", "list", "--status", "waiting"]);
    assert!(listed.exits(0).out.contains(&run), "{listed:?}");
    trefoil(&folder, &provider, &["resume", &run, "--allow-command"]).exits(0);
    assert!(late.exists());
    let run = killed();
    let stopped = trefoil(&folder, &provider, &["resume", &run, "--unknown", "fail"]);
    stopped.silent(75).says(&["commands are not allowed"]);
    trefoil(&folder, &provider, &["runs", "cancel", &run]).exits(0);
}

#[test]
fn what_was_decided_about_a_step_stands_above_what_is_said_for_all() {
    let provider = Provider::start();
    let folder = Folder::new();
    folder.write(
        "pay.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: pay }\nspec:\n  initial_state: PAY\n  states:\n    \
         PAY:\n      kind: System\n      command: echo x >> done; test -e go || sleep 600\n      transitions: []\n",
    );
    folder.write("config/config.toml", "[recovery]\ncommands = \"retry\"\n");
    let (done, go) = (folder.path().join("done"), folder.path().join("go"));
    let times = || std::fs::read_to_string(&done).unwrap_or_default().lines().count();
    for (decided, said, code, again) in [
        (["done", "--result", "paid"].as_slice(), Some("retry"), 0, false),
        (&["done", "--result", "paid"], Some("fail"), 0, false),
        (&["done", "--result", "paid"], None, 0, false),
        (&["fail"], Some("retry"), 1, false),
        (&["retry"], Some("fail"), 0, true),
    ] {
        let _ = (std::fs::remove_file(&done), std::fs::remove_file(&go));
        let run = ["run", "pay.yaml", "--model", "embedded", "--allow-command"];
        let child = command(&folder, &provider, &run).current_dir(folder.path()).spawn().unwrap();
        until("the command", || times() == 1);
        signal(&child, "-KILL");
        wait(child);
        folder.write("go", "");
        let listed = trefoil(&folder, &provider, &["runs", "list", "--output", "json"]).json();
        let run = listed["runs"][0]["run"].as_str().unwrap();
        trefoil(&folder, &provider, &[&["runs", "answer", run, "PAY"], decided].concat()).exits(0);
        let said: Vec<&str> = said.into_iter().flat_map(|said| ["--unknown", said]).collect();
        let resumed = finish(priced(&folder, &provider, &[&["resume", run, "--allow-command"], &*said].concat()));
        resumed.exits(code);
        assert_eq!(resumed.out.contains("paid"), code == 0 && !again, "{decided:?} {said:?}: {resumed:?}");
        assert_eq!(times(), if again { 2 } else { 1 }, "{decided:?} {said:?}");
    }
}

#[test]
fn the_settings_decide_about_commands_of_which_nobody_knows_whether_they_were_done() {
    let provider = Provider::start();
    let folder = Folder::new();
    let began = folder.path().join("began");
    folder.write(
        "pay.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: pay }\nspec:\n  initial_state: PAY\n  states:\n    \
         PAY:\n      kind: System\n      command: test -e began && echo again; touch began; test -e go || sleep 600\n      \
         transitions: []\n",
    );
    let run = ["run", "pay.yaml", "--model", "embedded", "--allow-command"];
    let child = command(&folder, &provider, &run).current_dir(folder.path()).spawn().unwrap();
    until("the command", || began.exists());
    signal(&child, "-KILL");
    wait(child);
    folder.write("go", "");
    let run = only(&folder, &provider);
    let resume = ["resume", &run, "--allow-command", "-q"];
    folder.write("config/config.toml", "[recovery]\ncommands = \"perhaps\"\n");
    finish(priced(&folder, &provider, &resume))
        .silent(2)
        .says(&["`commands` must be `\"ask\"`, `\"retry\"` or `\"fail\"`"]);
    folder.write("config/config.toml", "[recovery]\ncommands = \"retry\"\n");
    // The command line overrides the settings.
    finish(priced(&folder, &provider, &[&resume[..], &["--unknown", "ask"]].concat())).silent(75);
    assert_eq!(finish(priced(&folder, &provider, &resume)).exits(0).out.trim(), "again");
}

/// Nobody needs to decide about what is done again by itself.
#[test]
fn a_tool_that_only_reads_is_not_waited_for() {
    let provider = Provider::start();
    let folder = Folder::new();
    let tool = |name: &str, effects: &str| {
        let command = format!("echo x >> {name}.did; test -e go || sleep 600");
        format!("[tools.{name}]\ncommand = ['sh', '-c', '{command}']\neffects = '{effects}'\n")
    };
    folder.write("config/config.toml", format!("{}{}", tool("reads", "read_only"), tool("writes", "writes")));
    let did = |name: &str| std::fs::read_to_string(folder.path().join("config").join(name)).is_ok();
    for (name, decides) in [("reads", false), ("writes", true)] {
        folder.write("it.yaml", format!("id: it\nkind: tool\ntool: {{ kind: local, name: {name}, params: {{}} }}\n"));
        let _ = std::fs::remove_file(folder.path().join("config/go"));
        let child = priced(&folder, &provider, &["run", "it.yaml", "--input", "x"]).spawn().unwrap();
        until("the tool", || did(&format!("{name}.did")));
        signal(&child, "-KILL");
        wait(child);
        let listed = finish(priced(&folder, &provider, &["runs", "list", "--output", "json"])).json();
        let run = listed["runs"][0]["run"].as_str().unwrap().to_owned();
        let shown = finish(priced(&folder, &provider, &["runs", "show", &run])).exits(0).out.clone();
        assert_eq!(shown.contains("waiting"), decides, "{shown}");
        assert_eq!(shown.contains("continue trefoil resume"), !decides, "{shown}");
        folder.write("config/go", "");
        let resumed = finish(priced(&folder, &provider, &["resume", &run, "-q"]));
        assert_eq!(resumed.code, if decides { 75 } else { 0 }, "{resumed:?}");
    }
}

/// A run that was killed in its command `PAY`, which writes a line to `done`.
fn killed(folder: &Folder, provider: &Provider) -> String {
    folder.write(
        "pay.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: pay }\nspec:\n  initial_state: PAY\n  states:\n    \
         PAY:\n      kind: System\n      command: echo x >> done; test -e go || sleep 600\n      transitions: []\n",
    );
    let done = folder.path().join("done");
    let run = ["run", "pay.yaml", "--model", "embedded", "--allow-command"];
    let child = command(folder, provider, &run).current_dir(folder.path()).spawn().unwrap();
    until("the command", || std::fs::read_to_string(&done).is_ok_and(|text| !text.is_empty()));
    signal(&child, "-KILL");
    wait(child);
    only(folder, provider)
}

#[test]
fn of_several_who_decide_at_the_same_time_one_does_and_the_others_are_told() {
    let provider = Provider::start();
    let folder = Folder::new();
    let run = killed(&folder, &provider);
    trefoil(&folder, &provider, &["resume", &run, "--allow-command"]).exits(75);
    let all = ["retry", "fail", "done", "retry", "fail", "done"].map(|word| {
        let mut child = command(&folder, &provider, &["runs", "answer", &run, "PAY", word]);
        child.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    });
    let said = all.map(|child| {
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    });
    assert_eq!(said.iter().filter(|(code, _)| *code == Some(0)).count(), 1, "{said:?}");
    let refused =
        |(code, said): &&(Option<i32>, String)| *code == Some(2) && said.contains("`PAY` is already answered");
    assert_eq!(said.iter().filter(refused).count(), 5, "{said:?}");
}

#[test]
fn a_command_that_may_have_been_done_is_not_run_by_a_step_that_gives_its_name_to_another() {
    let provider = Provider::start();
    let folder = Folder::new();
    let run = killed(&folder, &provider);
    folder.write("go", "");
    folder.write(
        "pay.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: pay }\nspec:\n  initial_state: PAY\n  states:\n    \
         PAY:\n      kind: Human\n      prompt: Go on?\n      timeout: 1s\n      default_response: \"yes\"\n      \
         transitions: [{ condition: always, target: PAY2 }]\n    \
         PAY2:\n      kind: System\n      command: echo x >> done; true\n      transitions: []\n",
    );
    let resumed = trefoil(&folder, &provider, &["resume", &run, "--with", "pay.yaml", "--allow-command"]);
    resumed.exits(75);
    let done = std::fs::read_to_string(folder.path().join("done")).unwrap();
    assert_eq!(done.lines().count(), 1, "{resumed:?}");
}

/// A command that succeeded has failed at nothing: what follows from its result does not repeat it, whoever goes on with the run.
#[test]
fn a_command_that_succeeded_is_not_repeated_because_no_transition_matches() {
    let provider = Provider::start();
    let folder = Folder::new();
    let done = folder.path().join("done");
    let times = || std::fs::read_to_string(&done).unwrap_or_default().lines().count();
    for (exit, repeated) in [(0, false), (3, true)] {
        let _ = std::fs::remove_file(&done);
        let script = format!("echo x >> {}; exit {exit}", done.display());
        folder.write(
            "pay.yaml",
            format!(
                "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: pay }}\nspec:\n  initial_state: PAY\n  states:\n    \
                 PAY:\n      kind: System\n      command: {}\n      transitions: [ {{ condition: custom, expression: \"PAY.output.nope\", target: END }} ]\n    \
                 END: {{ kind: System, command: ls }}\n",
                json!(script)
            ),
        );
        let failed = ["run", "pay.yaml", "--model", "embedded", "--allow-command", "--store", &format!("s{exit}.db")];
        trefoil(&folder, &provider, &failed).exits(1).says(&["NO_TRANSITION"]);
        assert_eq!(times(), 1);
        let store = format!("s{exit}.db");
        let listed = trefoil(&folder, &provider, &["runs", "list", "--output", "json", "--store", &store]);
        let run = listed.json()["runs"][0]["run"].as_str().unwrap().to_owned();
        let resumed = ["resume", &run, "--allow-command", "--store", &store];
        let resumed = trefoil(&folder, &provider, &resumed);
        resumed.exits(1).says(&[if repeated { "NO_TRANSITION" } else { "WOULD_REPEAT" }]);
        trefoil(&folder, &provider, &["runs", "fork", &run, "--allow-command", "--store", &store]).exits(1);
        assert_eq!(times(), if repeated { 3 } else { 1 });
    }
}

/// As by the system, if there is not enough memory: how much it did before is unknown.
#[test]
fn a_command_that_a_signal_ended_is_asked_about() {
    let (provider, folder) = (Provider::start(), Folder::new());
    let done = folder.path().join("done");
    let times = || std::fs::read_to_string(&done).unwrap_or_default().lines().count();
    folder.write("pay.yaml", pay(&format!("echo x >> {}; kill -9 $$", done.display())));
    let ran = |args: &[&str]| trefoil(&folder, &provider, &[args, &["--allow-command"]].concat());
    ran(&["run", "pay.yaml"]).exits(1);
    let run = only(&folder, &provider);
    ran(&["runs", "fork", &run]).exits(75);
    ran(&["resume", &run]).exits(75).says(&["did it finish?"]);
    assert_eq!(times(), 1);
    trefoil(&folder, &provider, &["runs", "answer", &run, "PAY", "retry"]).exits(0);
    ran(&["resume", &run]);
    assert_eq!(times(), 2);
}

/// All that is kept would lead to the same end, so what failed is done again, although the edit did not change it.
#[test]
fn an_edit_elsewhere_repeats_the_command_that_failed() {
    let (provider, folder) = (Provider::start(), Folder::new());
    let done = folder.path().join("done");
    let times = || std::fs::read_to_string(&done).unwrap_or_default().lines().count();
    let script =
        |end: &str| pay(&format!("echo x >> {}; test -e {}", done.display(), folder.path().join("ok").display())) + end;
    folder.write("pay.yaml", script(""));
    let ran = |args: &[&str]| trefoil(&folder, &provider, &[args, &["--allow-command"]].concat());
    ran(&["run", "pay.yaml"]).exits(1);
    let run = only(&folder, &provider);
    folder.write("ok", "").write("pay.yaml", script("# an edit\n"));
    let preview = ran(&["resume", &run, "--with", "pay.yaml", "--dry-run"]);
    preview.exits(1);
    assert!(preview.out.contains("again  PAY"), "{}", preview.out);
    assert_eq!(times(), 1);
    ran(&["resume", &run, "--with", "pay.yaml"]).exits(0);
    assert_eq!(times(), 2);
}

/// A workflow whose command must succeed.
fn pay(script: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: pay }}\nspec:\n  initial_state: PAY\n  states:\n    PAY:\n      kind: System\n      \
         command: {}\n      transitions: [{{ condition: exit_code_zero, target: END }}]\n    END: {{ kind: System, command: echo end, transitions: [] }}\n",
        json!(script)
    )
}

/// A server that answers each POST with this start of an answer and each GET with 404. Counts the POSTs.
fn answering(start: String) -> (String, Arc<AtomicUsize>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, posts) = (listener.local_addr().unwrap().to_string(), Arc::<AtomicUsize>::default());
    let counted = posts.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut bytes = [0; 4096];
            let read = stream.read(&mut bytes).unwrap_or_default();
            let is_post = bytes[..read].starts_with(b"POST");
            counted.fetch_add(usize::from(is_post), Ordering::SeqCst);
            let start = if is_post { &*start } else { "HTTP/1.1 404 Not Found\r\n" };
            let _ = stream.write_all(format!("{start}Connection: close\r\nContent-Length: 0\r\n\r\n").as_bytes());
        }
    });
    (address, posts)
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    /// What the server says decides whether a request that failed may be made again: a gateway does not know, and a redirect to another
    /// page is the answer to a request that was done.
    #[test]
    fn a_post_of_which_nobody_knows_whether_it_was_done_is_asked_about() {
        let elsewhere = "Location: http://example.com/\r\n";
        for (status, headers, is_asked) in [
            ("502 Bad Gateway", "", true),
            ("504 Gateway Timeout", "", true),
            ("520 Unknown", "", true),
            ("524 A Timeout Occurred", "", true),
            ("301 Moved Permanently", elsewhere, true),
            ("302 Found", elsewhere, true),
            ("303 See Other", elsewhere, true),
            ("303 See Other", "Location: /gone\r\n", true),
            ("307 Temporary Redirect", elsewhere, false),
            ("308 Permanent Redirect", elsewhere, false),
            ("400 Bad Request", "", false),
            ("408 Request Timeout", "", false),
            ("409 Conflict", "", false),
            ("500 Internal Server Error", "", false),
            ("503 Service Unavailable", "", false),
        ] {
            let (provider, folder) = (Provider::start(), Folder::new());
            let (address, posts) = answering(format!("HTTP/1.1 {status}\r\n{headers}"));
            let node = |name: &str| {
                format!(
                    "version: \"0.1\"\nagents: {{}}\nnodes:\n  {name}: {{ type: tool, tool: http, config: {{ url: \"http://{address}/x\", method: \
                     POST, body: \"b\" }}, writes: output.r }}\ninput: {{ message: go }}\n"
                )
            };
            folder.write("pay.yaml", node("pay"));
            let ran = |args: &[&str]| trefoil(&folder, &provider, &[args, &["--allow-host", &address]].concat());
            ran(&["run", "pay.yaml"]).exits(1);
            let run = only(&folder, &provider);
            let code = if is_asked { 75 } else { 1 };
            ran(&["resume", &run]).exits(code);
            ran(&["runs", "fork", &run]).exits(code);
            folder.write("pay.yaml", node("zahl"));
            ran(&["resume", &run, "--with", "pay.yaml"]).exits(code);
            let times = posts.load(Ordering::SeqCst);
            assert_eq!(times, if is_asked { 1 } else { 4 }, "{status} {headers}");
        }
    }
}
