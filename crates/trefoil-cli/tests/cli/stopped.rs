//! Runs that stop before something that somebody has to allow: they wait, and say for what wherever somebody looks.
#![cfg(unix)]

use crate::durable::{command, only, signal, trefoil, until};
use crate::edited::{FIRST, newest, pipeline};
use crate::provider::Provider;
use crate::world::{Folder, wait};

fn workflow(word: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w, version: \"1.0.0\" }}\nspec:\n  initial_state: SEND\n  \
         states:\n    SEND:\n      kind: System\n      command: \"echo {word} >> sent.txt\"\n      transitions: []\n"
    )
}

#[test]
fn a_run_that_stopped_before_a_step_waits_and_says_what_goes_on_with_it() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("w.yaml", workflow("first"));
    trefoil(&folder, &provider, &["run", "w.yaml", "--allow-command"]).exits(0);
    let run = only(&folder, &provider);
    folder.write("w.yaml", workflow("second"));
    let stopped = trefoil(&folder, &provider, &["resume", &run, "--with", "w.yaml", "--allow-command"]);
    let new = newest(&folder, &provider);
    let next = format!("trefoil resume {new} --rerun SEND@1");
    stopped.exits(75).says(&["WOULD_REPEAT", &format!("to continue: {next} --allow-command\n")]);
    let waiting = trefoil(&folder, &provider, &["runs", "list", "--status", "waiting", "--output", "json"]).json();
    assert_eq!(waiting["runs"][0]["run"], new.as_str(), "{waiting}");
    let shown = trefoil(&folder, &provider, &["runs", "show", &new]).exits(0).out.clone();
    for line in [
        "status   waiting\n".to_owned(),
        format!("continue {next} --allow-command\n"),
        "waiting  stopped before `SEND`: this command ran in the earlier run, and may not be safe to run again; to allow it, \
         pass `--rerun SEND`\n"
            .to_owned(),
    ] {
        assert!(shown.contains(&line), "no `{line}` in {shown}");
    }
    let json = trefoil(&folder, &provider, &["runs", "show", &new, "--output", "json"]).json();
    assert_eq!(
        (&json["stopped"]["code"], &json["stopped"]["step"]),
        (&"WOULD_REPEAT".into(), &"SEND@1".into()),
        "{json}"
    );
    // It still waits after somebody has gone on with it in vain.
    trefoil(&folder, &provider, &["resume", &new, "--allow-command"]).exits(75);
    trefoil(&folder, &provider, &["resume", &new, "--allow-command", "--rerun", "SEND@1"]).exits(0);
    let ended = trefoil(&folder, &provider, &["runs", "show", &new]).exits(0).out.clone();
    assert!(ended.contains("status   completed\n") && !ended.contains("stopped before"), "{ended}");
    assert!(trefoil(&folder, &provider, &["runs", "show", &new, "--output", "json"]).json()["stopped"].is_null());
}

#[test]
fn a_run_that_stopped_at_a_limit_of_the_command_line_waits_for_a_higher_one() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    folder.write("main.yaml", pipeline(FIRST));
    trefoil(&folder, &provider, &["run", "main.yaml"]).exits(0);
    let (run, before) = (only(&folder, &provider), provider.asked().len());
    folder.write("main.yaml", pipeline(&[FIRST[0], ("two", "{{one}}", "two well after {{text}}"), FIRST[2]]));
    let limited = ["resume", &run, "--with", "main.yaml", "--max-calls", "1"];
    let stopped = trefoil(&folder, &provider, &limited);
    let new = newest(&folder, &provider);
    let raised = format!("to continue: trefoil resume {new} --max-calls 3");
    stopped.exits(75).says(&["waiting: stopped before `three`: call limit reached", &raised, "1 model call made"]);
    let shown = trefoil(&folder, &provider, &["runs", "show", &new]).exits(0).out.clone();
    let line = "waiting  stopped before `three`: call limit reached: 1 of 1 calls made, and 1 more is needed; allow more with \
                `--max-calls`\n";
    assert!(shown.contains("status   waiting\n") && shown.contains(line), "{shown}");
    trefoil(&folder, &provider, &["resume", &new, "--max-calls", "2"]).exits(0);
    assert_eq!(provider.asked().len(), before + 2);
}

#[test]
fn a_caller_whose_called_run_needs_a_permission_is_not_due() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("top.yaml", "id: top\nkind: tool\ntool: { kind: local, name: ship, params: { input: hi } }\n");
    folder.write(
        "ship.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: ship }\nspec:\n  initial_state: ASK\n  states:\n    \
         ASK:\n      kind: Human\n      prompt: go?\n      transitions: [{ condition: input_equals_yes, target: SEND }]\n    \
         SEND:\n      kind: System\n      command: echo x >> sent\n      transitions: []\n",
    );
    folder.write("config/config.toml", "[tools.ship]\nflow = \"../ship.yaml\"\n");
    let go = |args: &[&str]| {
        let mut command = command(&folder, &provider, args);
        command.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).current_dir(folder.path());
        crate::world::finish(command)
    };
    go(&["run", "top.yaml", "--allow-command"]).exits(75);
    let runs = go(&["runs", "list", "--output", "json"]).json();
    let id = |flow: &str| {
        let run = runs["runs"].as_array().unwrap().iter().find(|run| run["flow"] == flow);
        run.unwrap()["run"].as_str().unwrap().to_owned()
    };
    let (top, ship) = (id("top"), id("ship"));
    go(&["runs", "answer", &top, "ASK", "yes"]).exits(0);
    go(&["resume", &top]).exits(75).says(&["commands are not allowed"]);
    let shown = go(&["runs", "show", &top]).exits(0).out.clone();
    assert!(shown.contains("--allow-command") && !shown.contains("due "), "{shown}");
    // Who allows it goes on with the called run, and then its caller can continue.
    let next = format!("run {ship} has ended; to continue: trefoil resume {top}");
    go(&["resume", &ship, "--allow-command"]).exits(0).says(&[&next]);
    go(&["worker", "--once"]).exits(0);
    let json = go(&["runs", "show", &top, "--output", "json"]).json();
    assert_eq!(json["status"], "completed", "{json}");
}

fn lines(folder: &Folder, name: &str) -> usize {
    std::fs::read_to_string(folder.path().join(name)).unwrap_or_default().lines().count()
}

#[test]
fn what_a_deleted_run_may_have_done_is_not_repeated_unasked() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("w.yaml", workflow("first"));
    let go = |args: &[&str]| {
        let mut command = command(&folder, &provider, &[args, &["--allow-command"]].concat());
        command.current_dir(folder.path());
        crate::world::finish(command)
    };
    go(&["run", "w.yaml"]).exits(0);
    let run = only(&folder, &provider);
    folder.write("w.yaml", workflow("second"));
    go(&["resume", &run, "--with", "w.yaml"]).exits(75);
    let new = newest(&folder, &provider);
    trefoil(&folder, &provider, &["store", "prune", "--keep", "0s", "--keep-failed", "0s"]).exits(0);
    trefoil(&folder, &provider, &["runs", "delete", &run]).exits(2).says(&[&new, "has not ended", "--force"]);
    trefoil(&folder, &provider, &["runs", "delete", &run, "--force"]).exits(0);
    let stopped = go(&["resume", &new]);
    stopped.exits(75).says(&["WOULD_REPEAT", "an earlier run that cannot be read any more"]);
    stopped.says(&[&format!("run {run}, whose results it reuses, was deleted")]);
    assert_eq!(lines(&folder, "sent.txt"), 1);
    go(&["resume", &new, "--rerun", "SEND"]).exits(0);
    assert_eq!(lines(&folder, "sent.txt"), 2);
}

#[test]
fn a_command_that_may_have_been_done_is_not_repeated_because_its_step_has_another_name() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let text = workflow("x").replace("sent.txt", "sent.txt; test -e go || sleep 600");
    folder.write("w.yaml", &text);
    let go = |args: &[&str]| {
        let mut command = command(&folder, &provider, &[args, &["--allow-command"]].concat());
        command.current_dir(folder.path());
        command
    };
    let child = go(&["run", "w.yaml"]).spawn().unwrap();
    until("the command", || lines(&folder, "sent.txt") == 1);
    signal(&child, "-KILL");
    wait(child);
    folder.write("go", "");
    let run = only(&folder, &provider);
    folder.write("w.yaml", text.replace("SEND", "POST"));
    let stopped = crate::world::finish(go(&["resume", &run, "--with", "w.yaml"]));
    stopped.exits(75).says(&["WOULD_REPEAT", "ran as `SEND", "--rerun POST"]);
    assert_eq!(lines(&folder, "sent.txt"), 1);
}

#[test]
fn steps_that_stop_at_once_are_allowed_together_or_one_after_the_other() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let tool = |id: &str, word: &str| {
        format!("id: {id}\nkind: tool\ntool: {{ kind: local, name: send, params: {{ text: \"{word} {id}\" }} }}\n")
    };
    folder.write("all.yaml", "id: all\nkind: parallel\nbranches:\n  - ref: one\n  - ref: two\n  - ref: three\n");
    folder.write("config/config.toml", "[tools.send]\ncommand = [\"sh\", \"-c\", \"cat >> sent\"]\nfolder = \"..\"\n");
    let write = |word: &str| {
        for id in ["one", "two", "three"] {
            folder.write(&format!("{id}.yaml"), tool(id, word));
        }
    };
    let go = |args: &[&str]| {
        let mut command = command(&folder, &provider, args);
        command.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
        crate::world::finish(command)
    };
    write("first");
    go(&["run", "all.yaml"]).exits(0);
    let run = only(&folder, &provider);
    write("second");
    go(&["resume", &run, "--with", "all.yaml"]).exits(75);
    let new = newest(&folder, &provider);
    go(&["resume", &new, "--rerun", "one"]).exits(75);
    let shown = go(&["runs", "show", &new]).exits(0).out.clone();
    let next = shown.lines().find_map(|line| line.strip_prefix("continue trefoil ")).unwrap().to_owned();
    assert!(next.contains("--rerun two --rerun three"), "{next}");
    go(&next.split(' ').collect::<Vec<_>>()).exits(0);
    assert_eq!(lines(&folder, "sent"), 6, "each twice");
}
