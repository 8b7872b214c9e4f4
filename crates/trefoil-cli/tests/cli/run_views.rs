//! What the views of a run say alike: the output without a terminal, `runs list`, `runs show`, the trace as text, JSON and page, and the
//! events.

use crate::trace::views;
use crate::world::{Folder, Ran, finish};

fn trefoil(folder: &Folder, args: &[&str]) -> Ran {
    let mut command = folder.command(&[args, &["--store", "runs.db"]].concat());
    command.env_remove("TREFOIL_EPHEMERAL");
    finish(command)
}

/// Three items, and what reads them.
const PARTS: &str = "version: \"0.1\"\nagents:\n  w: { model: \"openai:m\", system: \"W {{ inputs.t }}\" }\n  \
    s: { model: \"openai:m\", system: \"S {{ f.output }}\" }\nnodes:\n  \
    f: { type: factory, agent: w, for_each: \"{{ inputs.message }}\", inputs: { t: \"{{ item }}\" }, writes: working.o, \
    concurrency: 3, on_failure: continue }\n  s: { agent: s, writes: output.s }\nedges: [ { from: f, to: s } ]\ninput: { message: \"[1, 2, 3]\" }\n";

fn with_failed_item() -> (Folder, Ran) {
    let folder = Folder::new();
    let bad = "{ error: { status: 400, message: bad } }";
    folder.write("f.yaml", PARTS).write("s.yaml", format!("answers: {{ w: [ A, {bad}, C ], s: done }}\n"));
    let ran = trefoil(&folder, &["run", "f.yaml", "--model", "scripted=s.yaml"]);
    folder.write("s.yaml", "answers: { w: B, s: done }\n");
    (folder, ran)
}

#[test]
fn failed_items_of_a_completed_run_are_in_every_view() {
    let (folder, ran) = with_failed_item();
    // Which items failed, and why, also without a terminal.
    ran.exits(0).says(&["\n✗ f 2/3 2 (f.yaml:6:", ")\n    MODEL_ERROR: ", "f: 1 of 3 failed\n"]);
    let (text, json, _) = views(&folder);
    assert_eq!(json["items"], serde_json::json!({ "total": 3, "failed": 1 }));
    let fork =
        format!("to run the failed items again: trefoil runs fork {} --store runs.db\n", json["run"].as_str().unwrap());
    let show = trefoil(&folder, &["runs", "show", "last"]).out;
    for said in [&ran.err, &text, &show] {
        assert!(said.contains(&fork), "{said}");
    }
    let list = trefoil(&folder, &["runs", "list"]).out;
    assert!(list.ends_with("  f  1 of 3 items failed\n"), "{list}");
    let listed = trefoil(&folder, &["runs", "list", "--output", "json"]).json();
    assert_eq!(listed["runs"][0]["items"], json["items"]);
    let events = trefoil(&folder, &["runs", "events", "last"]);
    let end = events.lines().pop().unwrap();
    assert_eq!((&end["event"], &end["items"]), (&"run_finished".into(), &json["items"]));
    let again = trefoil(&folder, &["resume", "last"]);
    again.exits(0).says(&["has ended: completed, 1 of 3 items failed\n", &fork]);
    // A run without failed items has none of this.
    let well = trefoil(&folder, &["run", "f.yaml", "--model", "scripted=s.yaml", "--events", "jsonl"]);
    assert!(well.lines().iter().all(|event| event["event"] != "run_finished" || event.get("items").is_none()));
    let (text, json, _) = views(&folder);
    assert!(json.get("items").is_none() && !text.contains("failed"), "{text}");
}

#[test]
fn what_a_fork_keeps_is_not_shown_as_called() {
    let (folder, first) = with_failed_item();
    first.exits(0);
    let base = trefoil(&folder, &["runs", "list", "--output", "json"]).json()["runs"][0]["run"].clone();
    let forked = trefoil(&folder, &["runs", "fork", "last", "--trace", "live.json"]);
    forked.exits(0).says(&[
        "✓ f 1/3 1 w  kept\n",
        "✓ f 3/3 3 w  kept\n",
        "… f 2/3 2 w  scripted\n",
        "2 results of run",
    ]);
    assert!(!forked.err.contains("… f 1/3") && !forked.err.contains("… f 3/3"), "{}", forked.err);
    let (text, json, shown) = views(&folder);
    assert_eq!(json["base"], base);
    let kept = |of: &serde_json::Value| -> Vec<String> {
        let steps = of["steps"].as_array().unwrap().iter().filter(|step| step.get("kept").is_some());
        steps.map(|step| step["key"].as_str().unwrap().to_owned()).collect()
    };
    let live = std::fs::read_to_string(folder.path().join("live.json")).unwrap();
    let live: serde_json::Value = serde_json::from_str(&live).unwrap();
    for of in [&json, &shown, &live] {
        assert_eq!(kept(of), ["f[0]/w", "f[2]/w"]);
    }
    assert_eq!(live["base"], base);
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("  kept  ")).collect();
    assert!(rows.len() == 2 && rows.iter().all(|row| !row.contains(" ms")), "{text}");
    let base = base.as_str().unwrap();
    assert!(text.contains(&format!("\n2 calls kept, with the results of run {base}")), "{text}");
    let show = trefoil(&folder, &["runs", "show", "last"]).out;
    assert!(show.contains(&format!("\nreuses   results of run {base}\n")), "{show}");
    // All of it: the items and the fan-out around them.
    let again = trefoil(&folder, &["runs", "fork", "last"]);
    assert!(
        again.err.contains("✓ f  kept\n") && again.err.contains("✓ s  kept\n") && !again.err.contains('…'),
        "{}",
        again.err
    );
    assert_eq!(kept(&views(&folder).1), ["f", "f[0]/w", "f[1]/w", "f[2]/w", "s"]);
}

#[test]
fn a_question_says_by_when_it_has_to_be_answered_in_every_view() {
    let flow = |rest: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: ship, version: \"1.0.0\" }}\nspec:\n  \
             initial_state: ASK\n  states:\n    ASK:\n      kind: Human\n      prompt: Ship it?\n{rest}      transitions:\n        \
             - {{ condition: input_equals_yes, target: END }}\n        - {{ condition: input_equals_no, target: END }}\n    END:\n      \
             kind: System\n      command: echo shipped\n      transitions: []\n"
        )
    };
    for (rest, then) in [
        ("      timeout: 2h\n", "or the step fails"),
        ("", "or the step fails"),
        ("      timeout: 2h\n      default_response: \"no\"\n", "or the answer is `no`"),
    ] {
        let folder = Folder::new();
        folder.write("ship.yaml", flow(rest));
        let ran = trefoil(&folder, &["run", "ship.yaml", "-i", "x", "--allow-command"]);
        ran.exits(75);
        let (text, json, _) = views(&folder);
        let by = json["waiting"][0]["answer_by"].as_str().unwrap();
        assert_eq!(json["waiting"][0].get("otherwise").is_some(), then.contains("no"), "{json:#}");
        let moment = format!("{}Z", by.replace('T', " ").split_once('.').unwrap().0);
        let question = format!("waiting: `ASK` asks: Ship it? (answer by {moment}, {then})\n");
        let show = trefoil(&folder, &["runs", "show", "last"]).out;
        assert!(ran.err.contains(&question) && text.contains(&question), "{question}{}{text}", ran.err);
        assert!(show.contains(&question.replace("waiting: ", "waiting  ")), "{show}");
        let page = std::fs::read_to_string(folder.path().join("t.html")).unwrap();
        assert!(page.contains(&format!("(answer by {moment}, {then})")), "{question}");
        // From then on it can continue; the two are computed at different moments.
        let seconds = |text: &str| text.get(..text.len() - 3).unwrap().to_owned();
        let list = trefoil(&folder, &["runs", "list"]).out;
        assert!(list.contains("  ship  asks ASK, due 2") && show.contains("\ndue      2"), "{list}{show}");
        assert!(list.contains(&format!("due {}", seconds(&moment))) || list.contains("due "), "{list}");
        let events = trefoil(&folder, &["runs", "events", "last"]).lines();
        let asked = events.iter().find(|event| event["event"] == "signal_wanted").unwrap();
        let waits = events.iter().find(|event| event["event"] == "run_suspended").unwrap();
        assert_eq!((&asked["answer_by"], &waits["waiting"][0]["answer_by"]), (&by.into(), &by.into()));
        assert!(waits["wake_at"].as_str().unwrap().ends_with('Z'), "{waits}");
    }
}

/// A tool of a trusted project, then a failure.
#[test]
fn a_command_that_continues_a_run_works_after_its_file_was_edited() {
    let folder = Folder::new();
    folder.write("trefoil.toml", "[tools.say]\ncommand = [\"echo\", \"{text}\"]\neffects = \"read_only\"\n");
    folder.write(
        "main.yaml",
        "id: main\nkind: sequential\nsteps:\n  \
         - agent: { id: say, kind: tool, tool: { kind: local, name: say, params: { text: hi } } }\n  \
         - agent: { id: w, kind: llm, model: { provider: openai, name: m }, instruction: I., prompt: \"{{say}}\" }\n",
    );
    let go = |args: &[&str]| {
        let mut command = folder.command(&[args, &["--store", "runs.db"]].concat());
        command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
        finish(command)
    };
    let bad = "answers: { w: { error: { status: 400, message: bad } } }\n";
    folder.write("s.yaml", bad);
    let mut trust = folder.command(&["trust", "."]);
    trust.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    finish(trust).exits(0);
    go(&["run", "main.yaml", "--model", "scripted=s.yaml"]).exits(1);
    let continues = |shown: &Ran| -> Vec<String> {
        let lines = shown.out.lines().filter_map(|line| Some(line.split_once(": trefoil ")?.1.to_owned()));
        lines.filter(|line| line.starts_with("resume ")).collect()
    };
    let run = |command: &str| {
        let words: Vec<&str> = command.split(' ').filter(|word| *word != "--store" && *word != "runs.db").collect();
        go(&words)
    };
    // As it was, both ways work: with its own files, and with an edit.
    let all = continues(&go(&["runs", "show", "last"]));
    assert_eq!(all.len(), 2, "{all:?}");
    for command in &all {
        run(command).exits(1);
    }
    // An edit of something else: only the files that are there have the tools of the project.
    let edited = std::fs::read_to_string(folder.path().join("main.yaml")).unwrap() + "# A comment.\n";
    go(&["run", "main.yaml", "--model", "scripted=s.yaml"]).exits(1);
    folder.write("main.yaml", edited).write("s.yaml", "answers: { w: fine }\n");
    let shown = go(&["runs", "show", "last"]);
    let all = continues(&shown);
    assert!(all.len() == 1 && all[0].contains(" --with main.yaml"), "{}", shown.out);
    assert!(shown.out.contains("with your changes: "), "{}", shown.out);
    let (traced, json) = (go(&["trace", "last"]), go(&["runs", "show", "last", "--output", "json"]).json());
    assert!(traced.out.contains(&all[0]) && !traced.out.contains("to continue: "), "{}", traced.out);
    assert_eq!(json["next"].as_array().unwrap().len(), 1, "{json:#}");
    run(&all[0]).exits(0).says(&["1 result of run", "reused"]);
}

#[test]
fn an_answer_that_nobody_has_acted_on_yet_is_shown() {
    let folder = Folder::new();
    folder.write(
        "ask.yaml",
        "version: \"0.1\"\nagents: {}\nnodes:\n  h: { type: human, prompt: \"Ok?\", writes: output.x }\ninput: { message: hi }\n",
    );
    trefoil(&folder, &["run", "ask.yaml"]).exits(75);
    let show = || trefoil(&folder, &["runs", "show", "last"]).out;
    let list = || trefoil(&folder, &["runs", "list"]).out;
    assert!(show().contains("\nstatus   waiting\n") && !list().contains("answered"), "{}{}", show(), list());
    trefoil(&folder, &["runs", "answer", "last", "h", "yes"]).exits(0);
    assert!(
        show().contains("\nstatus   waiting, answered\n") && list().ends_with("  answered\n"),
        "{}{}",
        show(),
        list()
    );
    trefoil(&folder, &["resume", "last"]).exits(0);
    assert!(show().contains("\nstatus   completed\n") && !list().contains("answered"), "{}{}", show(), list());
}

#[test]
fn a_dry_run_of_a_fork_says_what_would_run_and_runs_nothing() {
    let (folder, first) = with_failed_item();
    first.exits(0);
    let count = || trefoil(&folder, &["runs", "list"]).out.lines().count();
    let before = count();
    let seen = trefoil(&folder, &["runs", "fork", "last", "--dry-run"]);
    seen.exits(1);
    assert!(
        seen.out.contains("f[1]/w") && seen.out.contains("2 of run ") && !seen.out.contains("f[0]/w"),
        "{}",
        seen.out
    );
    assert_eq!(count(), before);
    // What it says is what happens, and then nothing is left to do.
    trefoil(&folder, &["runs", "fork", "last"]).exits(0).says(&["2 results of run"]);
    let seen = trefoil(&folder, &["runs", "fork", "last", "--dry-run"]);
    assert!(seen.exits(0).out.ends_with(" would be kept\n"), "{}", seen.out);
}

/// A preview waits for no result, so a limit on what runs at a time hides nothing of what does not need one.
#[test]
fn a_dry_run_of_a_fork_names_all_failed_items_also_if_they_run_one_after_the_other() {
    let (folder, bad) = (Folder::new(), "{ error: { status: 400, message: bad } }");
    folder.write("f.yaml", PARTS.replace("concurrency: 3, ", "").replace("[1, 2, 3]", "[1, 2, 3, 4, 5]"));
    folder.write("s.yaml", format!("answers: {{ w: [ A, {bad}, C, {bad}, E ], s: done }}\n"));
    trefoil(&folder, &["run", "f.yaml", "--model", "scripted=s.yaml"]).exits(0);
    let seen = trefoil(&folder, &["runs", "fork", "last", "--dry-run"]).exits(1).out.clone();
    assert!(["again  f[1]/w", "again  f[3]/w"].iter().all(|line| seen.contains(line)), "{seen}");
    assert!(seen.contains("3 of run ") && !seen.contains("f[4]/w"), "{seen}");
}

#[test]
fn options_that_are_the_workers_are_refused_with_what_to_do() {
    let folder = Folder::new();
    folder.write("a.yaml", crate::world::AGENT);
    for (options, help) in [
        (&["--allow-command"][..], "`trefoil worker --store runs.db --allow-command`"),
        (&["--allow-host", "127.0.0.1:80"], "`trefoil worker --store runs.db --allow-host 127.0.0.1:80`"),
        (&["--answer", "h=yes"], "`trefoil runs answer`"),
        (&["--trace", "t.json"], "`trefoil trace`"),
        (&["--events", "jsonl"], "`trefoil runs events`"),
        (&["--ephemeral"], "remove `--ephemeral`"),
    ] {
        let refused = trefoil(&folder, &[&["run", "a.yaml", "-i", "x", "--detach"], options].concat());
        refused.silent(2).says(&[&format!("`{}", options[0]), "`--detach`", help]);
        assert!(!refused.err.contains("Usage:"), "{}", refused.err);
    }
    // As it is printed, it does that.
    let ship = "version: \"0.1\"\nagents: {}\nnodes:\n  t: { type: tool, tool: python, config: { module: os, function: getpid, args: {} }, output_key: d }\n\
                input: { message: hi }\n";
    folder.write("p.yaml", ship);
    let refused = trefoil(&folder, &["run", "p.yaml", "--detach", "--allow-command"]);
    let worker = refused.err.rsplit('`').nth(1).unwrap().to_owned();
    trefoil(&folder, &["run", "p.yaml", "--detach"]).exits(0);
    let words: Vec<&str> = worker.split(' ').skip(1).collect();
    assert_eq!(words[0], "worker");
    let mut command = folder.command(&[&words[..], &["--once"]].concat());
    command.env_remove("TREFOIL_EPHEMERAL");
    finish(command).exits(0);
    assert!(trefoil(&folder, &["runs", "list"]).out.contains("  completed  "));
}

#[test]
fn a_log_counts_the_items_of_a_large_fan_out_and_names_the_first_that_failed() {
    let folder = Folder::new();
    let list: Vec<String> = (0..60).map(|item| item.to_string()).collect();
    folder.write("f.yaml", PARTS.replace("1, 2, 3", &list.join(", ")).replace("concurrency: 3", "concurrency: 1"));
    let failed = (0..60).step_by(4).map(|item| format!("\"f[{item}]/w\": {{ error: {{ status: 404 }} }}"));
    let answers: Vec<String> = failed.chain(["\"*\": fine".to_owned()]).collect();
    folder.write("s.yaml", format!("answers: {{ {} }}\n", answers.join(", ")));
    let ran = trefoil(&folder, &["run", "f.yaml", "--model", "scripted=s.yaml", "--no-check"]);
    let is_event = |line: &&str| line.trim_start().starts_with(|first: char| first.is_ascii_digit());
    let lines: Vec<&str> = ran.exits(0).err.lines().filter(is_event).collect();
    let count = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
    assert_eq!((count("✗ f "), count(" of 60 items"), count("✓ f ")), (10, 9, 0), "{}", ran.err);
    assert_eq!(count("… f  6 of 60 items, 2 failed"), 1, "{}", ran.err);
    // What was not listed is shown by a command.
    let all = ran.err.lines().find_map(|line| line.strip_prefix("all failed items of `f`: trefoil ")).unwrap();
    let words: Vec<&str> = all.split_whitespace().take(4).collect();
    assert_eq!((words[0], &words[2..]), ("trace", &["--step", "f"][..]), "{all}");
    let shown = trefoil(&folder, &["trace", words[1], "--step", "f"]);
    assert_eq!(shown.exits(0).out.matches("failed").count(), 15, "{}", shown.out);
}
