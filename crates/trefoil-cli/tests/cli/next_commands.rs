//! The commands that are printed about a stored run: they name the permissions that the run had, and do what they say.

use crate::world::{Folder, Ran, finish};

/// A question, then a command.
const FLOW: &str = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: ship, version: \"1.0.0\" }\nspec:\n  \
    initial_state: ASK\n  states:\n    ASK:\n      kind: Human\n      prompt: Ship it?\n      transitions:\n        \
    - { condition: input_equals_yes, target: SHIP }\n        - { condition: input_equals_no, target: SHIP }\n    SHIP:\n      \
    kind: System\n      command: printf shipped\n      transitions: []\n";

fn trefoil(folder: &Folder, args: &[&str]) -> Ran {
    let mut command = folder.command(args);
    command.env_remove("TREFOIL_EPHEMERAL");
    finish(command)
}

/// The printed command that begins so, as its words.
fn printed(said: &str, beginning: &str) -> Vec<String> {
    let line = said.lines().find_map(|line| line.find(beginning).map(|at| &line[at..]));
    let line = line.unwrap_or_else(|| panic!("no `{beginning}` in {said}"));
    line.split_whitespace().skip(1).map(|word| word.trim_matches(['\'', '`']).to_owned()).collect()
}

#[test]
fn every_printed_command_has_the_permissions_that_the_run_had() {
    let given: [&[&str]; 3] = [
        &["--allow-command"],
        &["--allow-command", "--allow-host", "127.0.0.1:8931"],
        &["--allow-command", "--allow-host", "10.0.0.0/8", "--allow-host", "*.example.org"],
    ];
    for given in given {
        let folder = Folder::new();
        folder.write("ship.yaml", FLOW);
        let stored = ["--store", "runs.db"];
        let started = trefoil(&folder, &[&["run", "ship.yaml", "-i", "x"], &stored[..], given].concat());
        started.exits(75);
        let list = trefoil(&folder, &["runs", "list", "--store", "runs.db", "--output", "json"]).json();
        let run = list["runs"][0]["run"].as_str().unwrap().to_owned();
        let resume = format!("trefoil resume {run}");
        let wanted: Vec<String> =
            [&["resume", &run, "--store", "runs.db"], given].concat().iter().map(|word| (*word).to_owned()).collect();
        // After the question, while it waits, when it is answered, and when somebody answers again.
        let shown = trefoil(&folder, &["runs", "show", &run, "--store", "runs.db"]);
        let yes = printed(&started.err, "trefoil runs answer");
        let yes: Vec<&str> = yes.iter().map(String::as_str).collect();
        let answered = trefoil(&folder, &yes);
        let again = trefoil(&folder, &yes);
        let ready = trefoil(&folder, &["runs", "show", &run, "--store", "runs.db"]);
        answered.exits(0);
        for said in [&started.err, &shown.out, &answered.err, &again.err, &ready.out] {
            assert_eq!(printed(said, &resume), wanted, "{said}");
        }
        // A process without them stops, and says what the run had before; the record grants nothing.
        let without = trefoil(&folder, &["resume", &run, "--store", "runs.db"]);
        assert!(without.code == 75 && !without.out.contains("shipped"), "{without:?}");
        without.says(&["waiting: stopped before `SHIP`: it runs `printf shipped`", "did not run: SHIP"]);
        assert_eq!(printed(&without.err, &resume), wanted, "{}", without.err);
        // What is printed does what it says, in the state in which it was printed.
        let words = printed(&without.err, &resume);
        let ended = trefoil(&folder, &words.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(ended.code == 0 && ended.out.contains("shipped"), "{ended:?}");
    }
}

/// A run that has begun accepts no other model: the printed command starts one that does. A run that is not kept is run again.
#[test]
fn another_model_is_offered_by_a_command_that_accepts_it() {
    let folder = Folder::new();
    let two = "version: \"0.1\"\nagents:\n  a: { model: \"openai:m\", system: \"A {{ inputs.message }}\" }\n  \
        b: { model: \"openai:gone\", system: \"B {{ n.output }}\" }\nnodes:\n  n: { agent: a, writes: working.x }\n  m: { agent: b, writes: output.y }\n\
        edges: [ { from: n, to: m } ]\ninput: { message: hi }\n";
    folder.write("two.yaml", two).write("s.yaml", "answers: { a: fine, b: { error: { status: 404 } } }\n");
    let run = ["run", "two.yaml", "--model", "scripted=s.yaml"];
    let failed = trefoil(&folder, &[&run[..], &STORE[..]].concat());
    failed.exits(1).says(&["= help: check the model's name, or choose another model"]);
    assert!(!failed.err.contains("`--model`"), "{}", failed.err);
    let other: Vec<String> =
        failed.err.lines().filter_map(|line| line.strip_prefix("with another model: ")).map(str::to_owned).collect();
    assert!(other.len() == 1 && other[0].contains(" --model m=PROVIDER:NAME "), "{}", failed.err);
    for view in [&["trace", "last"][..], &["runs", "show", "last"], &["trace", "last", "--json"]] {
        let said = trefoil(&folder, &[view, &STORE[..]].concat());
        assert!(said.exits(0).out.contains(&other[0]), "{}", said.out);
    }
    let fork = format!("{} --dry-run", other[0].replace("PROVIDER:NAME", "openai:other"));
    let forked = pasted(&folder, &fork);
    assert!(forked.exits(1).err.is_empty() && forked.out.contains("would be kept"), "{forked:?}");
    // Whoever asks for it where it is not accepted gets the command with the model.
    let refused = trefoil(&folder, &[&["resume", "last", "--model", "openai:other"], &STORE[..]].concat());
    refused.exits(2).says(&["error[missing-model]", " did not continue, and nothing was sent", "--model openai:other"]);
    let fork = &named(&refused.err, "runs fork")[0];
    pasted(&folder, &format!("{fork} --dry-run")).exits(1);
    // A missing key of a stored run: its name, and what helps.
    let stored = trefoil(&folder, &[&["run", "two.yaml", "--detach", "-q"], &STORE[..]].concat());
    let all = trefoil(&folder, &[&["resume", "--all"], &STORE[..]].concat());
    let run = stored.exits(0).out.trim();
    all.exits(2).says(&["= help: set `OPENAI_API_KEY`\n", &format!("error: run {run} did not continue")]);
    // A run that is not kept.
    let ephemeral = trefoil(&folder, &["run", "two.yaml", "--model", "scripted=s.yaml", "--ephemeral"]);
    ephemeral.exits(1).says(&["for another model, run it again with `--model m=PROVIDER:NAME`"]);
    assert!(!ephemeral.err.contains("trefoil runs fork"), "{}", ephemeral.err);
}

/// A step may have any name: the printed command names it so that it is found again.
#[test]
fn another_model_is_offered_for_a_step_whatever_its_name_is() {
    let folder = Folder::new();
    let model = "model: { provider: openai, name: gone }, instruction: I, prompt: P";
    folder.write("s.yaml", "answers: { \"b=c 'd\": { error: { status: 429 } } }\n");
    folder.write(
        "odd.yaml",
        format!("id: w\nkind: sequential\nsteps:\n  - agent: {{ id: \"b=c 'd\", kind: llm, {model} }}\n"),
    );
    let run = ["run", "odd.yaml", "--model", "scripted=s.yaml"];
    let failed = trefoil(&folder, &[&run[..], &STORE[..]].concat());
    let fork = named(&failed.exits(1).err, "runs fork");
    assert!(fork[0].contains(r"--model 'b=c '\''d=PROVIDER:NAME'"), "{}", failed.err);
    pasted(&folder, &format!("{} --dry-run", fork[0].replace("PROVIDER:NAME", "openai:other"))).exits(1);
    let refused = trefoil(&folder, &[&["resume", "last", "--model", "b=c 'd=openai:other"], &STORE[..]].concat());
    refused.exits(2).says(&[r"--model 'b=c '\''d=openai:other'"]);
    let ephemeral = trefoil(&folder, &[&run[..], &["--ephemeral"]].concat());
    ephemeral.exits(1).says(&[r"`--model 'b=c '\''d=PROVIDER:NAME'`"]);
}

/// A pipeline with a tool of its project, which is a flow with two model calls or a program.
fn with_tool(folder: &Folder, tool: &str) {
    let agent = |id: &str| {
        format!("id: {id}\nkind: llm\nmodel: {{ provider: openai, name: m }}\ninstruction: I\nprompt: {id}\n")
    };
    folder.write("p/a.yaml", "id: a\nkind: sequential\nsteps:\n  - ref: one\n  - ref: call\n  - ref: two\n");
    folder.write("p/one.yaml", agent("one")).write("p/two.yaml", agent("two"));
    folder.write("p/call.yaml", "id: call\nkind: tool\ntool: { kind: local, name: sub, params: { input: x } }\n");
    folder.write("other/c.yaml", "id: c\nkind: sequential\nsteps:\n  - ref: first\n  - ref: second\n");
    folder.write("other/first.yaml", agent("first")).write("other/second.yaml", agent("second"));
    folder.write("p/trefoil.toml", format!("[tools.sub]\n{tool}\n"));
    trefoil(folder, &["trust", "p"]).exits(0);
}

/// A step around others waits like them, if all of them only wait.
#[test]
fn a_step_around_what_waits_is_not_running() {
    let folder = Folder::new();
    with_tool(&folder, "flow = \"../other/ask.yaml\"");
    folder.write("p/par.yaml", "id: par\nkind: parallel\nbranches:\n  - ref: call\n");
    folder.write("p/a.yaml", "id: a\nkind: sequential\nsteps:\n  - ref: par\n");
    folder.write(
        "other/ask.yaml",
        "version: \"0.1\"\nagents: {}\nnodes:\n  h: { type: human, prompt: \"Ok?\", writes: output.x }\ninput: { input: hi }\n",
    );
    let started = trefoil(&folder, &[&["run", "p/a.yaml", "-i", "x", "--model", "embedded"], &STORE[..]].concat());
    let then = started.exits(75).err.lines().find_map(|line| line.strip_prefix("then: trefoil resume ")).unwrap();
    let run = then.split_whitespace().next().unwrap();
    let trace = trefoil(&folder, &[&["trace", run, "--json"], &STORE[..]].concat()).json();
    let shown = trefoil(&folder, &[&["runs", "show", run, "--output", "json"], &STORE[..]].concat()).json();
    for view in [&trace, &shown] {
        let statuses: Vec<_> =
            view["steps"].as_array().unwrap().iter().map(|step| (&step["label"], &step["status"])).collect();
        assert!(statuses.len() > 1 && statuses.iter().all(|(_, status)| *status == "waiting"), "{statuses:?}");
    }
}

/// The model is that of a step of a flow which the run calls as a tool.
#[test]
fn another_model_is_offered_for_the_step_of_a_called_flow() {
    let folder = Folder::new();
    with_tool(&folder, "flow = \"../other/c.yaml\"");
    folder.write("s.yaml", "answers: { one: 1, first: 1, second: { error: { status: 404 } } }\n");
    let failed =
        trefoil(&folder, &[&["run", "p/a.yaml", "-i", "x", "--model", "scripted=s.yaml"], &STORE[..]].concat());
    let fork = named(&failed.exits(1).err, "runs fork");
    assert!(fork[0].contains(" --model second=PROVIDER:NAME"), "{}", failed.err);
    let run = fork[0].split_whitespace().nth(3).unwrap();
    let shown = trefoil(&folder, &[&["runs", "show", run], &STORE[..]].concat());
    assert!(shown.exits(0).out.contains(&fork[0]), "{}", shown.out);
    let forked = pasted(&folder, &format!("{} --dry-run", fork[0].replace("PROVIDER:NAME", "openai:other")));
    assert!(forked.exits(1).err.is_empty() && forked.out.contains("would be kept"), "{forked:?}");
    let unknown = format!("{} --dry-run", fork[0].replace("second=PROVIDER:NAME", "third=openai:other"));
    pasted(&folder, &unknown).exits(2).says(&["no alias, agent or step is named `third`"]);
}

/// What has to be fixed is in the called flow: its place and its advice are shown where the run was started.
#[test]
fn a_failure_in_a_called_flow_is_shown_with_its_place_and_its_advice() {
    let folder = Folder::new();
    with_tool(&folder, "flow = \"../other/c.yaml\"");
    folder.write("s.yaml", "answers: { one: 1, first: 1, second: { error: { status: 401 } } }\n");
    let run = ["run", "p/a.yaml", "-i", "x", "--model", "scripted=s.yaml"];
    let failed = trefoil(&folder, &[&run[..], &STORE[..]].concat());
    let (place, help) = ("other/second.yaml:3:", "the provider rejects the key; check the variable that contains it");
    failed.exits(1).says(&[place, "`second` of `c` failed here", &format!("= help: {help}")]);
    let top = named(&failed.err, "runs fork")[0].split_whitespace().nth(3).unwrap().to_owned();
    let seen = |args: &[&str]| trefoil(&folder, &[args, &STORE[..]].concat());
    let again = seen(&["resume", &top, "--model", "scripted=s.yaml"]);
    again.exits(1).says(&[place, &format!("= help: {help}")]);
    for view in [&["runs", "show", &top][..], &["trace", &top]] {
        let out = seen(view).exits(0).out.clone();
        assert!([place, "`second` of `c`", help].iter().all(|part| out.contains(part)), "{out}");
    }
    for view in [&["runs", "show", &top, "--output", "json"][..], &["trace", &top, "--json"]] {
        let error = seen(view).exits(0).json()["error"].clone();
        let called = &error["called"];
        assert_eq!((&error["help"], &called["flow"], &called["key"]), (&help.into(), &"c".into(), &"second".into()));
        let at = called["location"].clone();
        assert!(at["file"].as_str().unwrap().ends_with("other/second.yaml") && at["line"] == 3, "{error:#}");
        seen(&["runs", "show", called["run"].as_str().unwrap()]).exits(0);
    }
    let ephemeral = trefoil(&folder, &[&run[..], &["--ephemeral"]].concat());
    ephemeral.exits(1).says(&[&format!("= help: {help}")]);
}

/// Tools of a project are for its files: with those that are stored, the run does not continue after an edit.
#[test]
fn a_run_whose_edited_files_have_the_tools_says_that_they_are_to_be_passed() {
    let folder = Folder::new();
    with_tool(&folder, "command = [\"cat\"]\neffects = \"read_only\"");
    folder.write("s.yaml", "answers: { one: 1, two: { error: { status: 404 } } }\n");
    let script = ["--model", "scripted=s.yaml"];
    trefoil(&folder, &[&["run", "p/a.yaml", "-i", "x"], &script[..], &STORE[..]].concat()).exits(1);
    let edited =
        std::fs::read_to_string(folder.path().join("p/two.yaml")).unwrap().replace("prompt: two", "prompt: again");
    folder.write("p/two.yaml", edited).write("s.yaml", "answers: { one: 1, two: 2 }\n");
    for command in [&["resume", "last"][..], &["runs", "fork", "last"]] {
        let refused = trefoil(&folder, &[command, &script[..], &STORE[..]].concat());
        refused.exits(2).says(&["error[missing-tool]", "help: with your changes: `trefoil resume "]);
        let with = named(&refused.err, "resume");
        assert!(with[0].contains(" --with p/a.yaml"), "{}", refused.err);
    }
    // The run that was made of it is named instead of another one.
    let failed = trefoil(&folder, &[&["runs", "show", "last"], &STORE[..]].concat());
    assert!(failed.exits(0).out.contains("with your changes: "), "{}", failed.out);
    let run = failed.out.split_whitespace().nth(1).unwrap();
    let with = named(&failed.out, "resume").remove(0);
    pasted(&folder, &format!("{with} --model scripted=s.yaml")).exits(0);
    let after = trefoil(&folder, &[&["runs", "show", run], &STORE[..]].concat());
    let next: Vec<&str> = after.exits(0).out.lines().filter(|line| line.contains(": trefoil ")).collect();
    assert!(next.len() == 1 && next[0].starts_with("run again as: trefoil runs show "), "{}", after.out);
    pasted(&folder, next[0].split_once(": ").unwrap().1).exits(0).says(&[]);
}

#[test]
fn the_json_of_a_run_has_its_steps_and_its_result() {
    let folder = Folder::new();
    folder.write("ship.yaml", FLOW);
    let args = ["run", "ship.yaml", "-i", "x", "--allow-command", "--answer", "ASK=yes", "--store", "runs.db"];
    trefoil(&folder, &args).exits(0);
    let list = trefoil(&folder, &["runs", "list", "--store", "runs.db", "--output", "json"]).json();
    let run = list["runs"][0]["run"].as_str().unwrap().to_owned();
    let json = trefoil(&folder, &["runs", "show", &run, "--store", "runs.db", "--output", "json"]).json();
    let steps = json["steps"].as_array().unwrap();
    let labels: Vec<&str> = steps.iter().map(|step| step["label"].as_str().unwrap()).collect();
    assert_eq!((labels, json["status"].as_str()), (vec!["ASK", "SHIP"], Some("completed")), "{json:#}");
    assert!(steps.iter().all(|step| step["status"] == "done" && step.get("calls").is_none()), "{json:#}");
    let resumed = trefoil(&folder, &["resume", &run, "--store", "runs.db", "--output", "json", "-q"]).json();
    assert_eq!(json["result"], resumed);
}

/// The commands in a text: in backticks, or up to the end of the line or of the column.
fn all_printed(said: &str) -> Vec<String> {
    let mut all = Vec::new();
    for line in said.lines() {
        for (at, _) in line.match_indices("trefoil ") {
            let command = match line[..at].ends_with('`') {
                true => line[at..].split('`').next().unwrap(),
                false if line[..at].trim().is_empty() || line[..at].ends_with(": ") => {
                    line[at..].split("  ").next().unwrap()
                }
                false => continue,
            };
            all.push(command.to_owned());
        }
    }
    all
}

/// Runs a command as it was printed, in a shell.
fn pasted(folder: &Folder, command: &str) -> Ran {
    let mut shell = std::process::Command::new("sh");
    let binary = env!("CARGO_BIN_EXE_trefoil");
    shell.args(["-c", &format!("trefoil() {{ '{binary}' \"$@\"; }}\n{command}")]).current_dir(folder.path());
    crate::world::bare(&mut shell);
    shell.env_remove("TREFOIL_EPHEMERAL").env("HOME", folder.home());
    finish(shell)
}

/// The printed commands that begin with these words. Each was printed.
fn named(said: &str, name: &str) -> Vec<String> {
    let all = all_printed(said);
    let found: Vec<String> = all.iter().filter(|one| one.starts_with(&format!("trefoil {name}"))).cloned().collect();
    assert!(!found.is_empty(), "no `{name}` in {said}");
    found
}

/// Runs all of these, as they were printed, and requires the exit code.
fn each(folder: &Folder, said: &Ran, names: &[&str], code: i32) {
    for name in names {
        for command in named(&format!("{}\n{}", said.err, said.out), name) {
            let ran = pasted(folder, &command);
            assert_eq!(ran.code, code, "{command}\n{}\n{}", ran.out, ran.err);
            assert!(!ran.err.contains("panicked"), "{}", ran.err);
        }
    }
}

const PARTS: &str = "version: \"0.1\"\nagents: { w: { model: \"openai:m\", system: \"W {{ inputs.t }}\" } }\nnodes:\n  f: \
    { type: factory, agent: w, for_each: \"{{ inputs.message }}\", inputs: { t: \"{{ item }}\" }, writes: output.o, on_failure: continue }\n\
    input: { message: \"[1, 2, 3]\" }\n";

const STORE: [&str; 2] = ["--store", "my runs.db"];

#[test]
fn every_printed_command_does_what_it_says_where_it_is_printed() {
    let folder = Folder::new();
    // Names with a space, and a format that has to be named.
    let made = trefoil(&folder, &["init", "tea", "my flows", "--format", "agntz", "--shape", "loop"]);
    each(&folder, &made, &["check", "run", "plan"], 0);
    folder.write("a b.yaml", crate::world::AGENT).write("ok.yaml", "answers: { helper: fine }\n");
    let run = [&["run", "a b.yaml", "-i", "x", "--dialect", "agntz", "--no-config"], &STORE[..]].concat();
    let good = trefoil(&folder, &[&run[..], &["--model", "embedded", "--trace", "t.json"]].concat());
    each(&folder, &good, &["plan", "graph", "trace t.json"], 0);
    assert!(
        named(&good.err, "plan").iter().all(|one| one.ends_with("'a b.yaml' --dialect agntz --no-config")),
        "{good:?}"
    );

    // A failure: as it was, after an edit, and with its prompts.
    folder.write("s.yaml", "answers: { helper: { error: { status: 400, message: bad } } }\n");
    let failed = trefoil(&folder, &[&run[..], &["--model", "scripted=s.yaml"]].concat());
    failed.exits(1).says(&["after an edit: trefoil resume ", "--with 'a b.yaml'", "unchanged: trefoil resume "]);
    each(&folder, &failed, &["resume"], 1);
    each(&folder, &failed, &["trace", "explain"], 0);
    let step = trefoil(&folder, &[&["trace", "last"], &STORE[..]].concat());
    for command in named(&step.out, "trace") {
        pasted(&folder, &command.replace("NAME", "helper")).exits(0);
    }
    folder.write("s.yaml", "answers: { helper: fine }\n");
    let edited = named(&failed.err, "resume").into_iter().find(|one| one.contains(" --with ")).unwrap();
    // Files that have changed come first, and no step is kept that runs again.
    folder.write("a b.yaml", crate::world::AGENT.replace("You help.", "You help much."));
    folder.write("s.yaml", "answers: { helper: { error: { status: 400, message: bad } } }\n");
    let plain = named(&failed.err, "resume").into_iter().find(|one| !one.contains(" --with ")).unwrap();
    let again = pasted(&folder, &plain);
    again.exits(1).says(&["with your changes: trefoil resume ", "without them: trefoil resume "]);
    assert!(!again.err.contains("kept  ✗"), "{}", again.err);
    folder.write("s.yaml", "answers: { helper: fine }\n");
    pasted(&folder, &edited).exits(0);
    pasted(&folder, &plain).exits(0);

    // Failed items.
    folder
        .write("f.yaml", PARTS)
        .write("s.yaml", "answers: { w: [ A, { error: { status: 400, message: bad } }, C ] }\n");
    let partly = trefoil(&folder, &[&["run", "f.yaml", "--model", "scripted=s.yaml"], &STORE[..]].concat());
    let shown = trefoil(&folder, &[&["runs", "show", "last"], &STORE[..]].concat());
    let traced = trefoil(&folder, &[&["trace", "last"], &STORE[..]].concat());
    partly.exits(0);
    for said in [&partly.err, &shown.out, &traced.out] {
        assert!(said.contains("to run the failed items again: trefoil runs fork "), "{said}");
    }
    folder.write("s.yaml", "answers: { w: B }\n");
    let forked = pasted(&folder, &named(&partly.err, "runs fork")[0]);
    forked.exits(0).says(&["2 results of run", "1 model call"]);

    // A run that waits, while an edited one starts.
    folder.write("ship.yaml", FLOW);
    let waits = [&["run", "ship.yaml", "-i", "x", "--allow-command"], &STORE[..]].concat();
    trefoil(&folder, &waits).exits(75);
    let other = trefoil(&folder, &[&["resume", "last", "--with", "ship.yaml", "--allow-command"], &STORE[..]].concat());
    each(&folder, &other, &["runs cancel"], 0);
    let open = trefoil(&folder, &[&["trace", "last"], &STORE[..]].concat());
    let yes = named(&open.out, "runs answer").into_iter().find(|one| one.contains(" yes")).unwrap();
    pasted(&folder, &yes).exits(0);
    each(&folder, &open, &["resume"], 0);

    // A part of a run, a run of another flow, an unknown one, and what is left of one.
    folder.write("parts/part.yaml", crate::world::AGENT);
    folder.write("parts/main.yaml", "id: c\nkind: sequential\nsteps:\n  - ref: helper\n");
    let whole = [&["run", "parts/main.yaml", "-i", "x", "--model", "scripted=ok.yaml"], &STORE[..]].concat();
    trefoil(&folder, &whole).exits(0);
    let refused = trefoil(&folder, &[&["resume", "last", "--with", "parts/part.yaml"], &STORE[..]].concat());
    refused.silent(2);
    let alone = named(&refused.err, "run ");
    pasted(&folder, &format!("{} -i x --model scripted=ok.yaml", alone[0])).exits(0);
    let unknown = trefoil(&folder, &[&["runs", "show", "no-run"], &STORE[..]].concat());
    each(&folder, &unknown, &["runs list"], 0);
    let detached = trefoil(&folder, &[&["run", "ship.yaml", "-i", "x", "--detach"], &STORE[..]].concat());
    each(&folder, &detached, &["runs show"], 0);
}

/// Names of a step, a store, a manifest and a trace that begin like an option: every printed command works as it is.
#[test]
fn printed_commands_with_names_that_begin_like_options_work() {
    let folder = Folder::new();
    let flow = "version: \"0.1\"\nagents: { w: { model: \"openai:m\", system: W } }\nnodes:\n  -h: { type: human, prompt: \"Ok?\", \
                writes: working.x }\n  -K: { type: agent, agent: w, writes: output.o }\nedges: [ { from: -h, to: -K } ]\ninput: { message: hi }\n";
    folder.write("-f.yaml", flow).write("s.yaml", "answers: { w: { error: { status: 400, message: bad } } }\n");
    let store = ["--store=-s.db", "--model", "scripted=s.yaml"];
    let asks = trefoil(&folder, &[&["run", "--trace=-t.json"], &store[..], &["--", "-f.yaml"]].concat());
    asks.exits(75);
    let answer = named(&asks.err, "runs answer").remove(0);
    let mut shell = std::process::Command::new("sh");
    let binary = env!("CARGO_BIN_EXE_trefoil");
    shell.args(["-c", &format!("trefoil() {{ '{binary}' \"$@\"; }}\necho --json | {answer}")]);
    crate::world::bare(shell.current_dir(folder.path()));
    finish(shell).exits(0);
    let failed = trefoil(&folder, &[&["resume", "last"], &store[..]].concat());
    failed.exits(1).says(&["--store=-s.db", "--with=-f.yaml"]);
    each(&folder, &failed, &["trace", "explain"], 0);
    each(&folder, &failed, &["resume"], 1);
    folder.write("s.yaml", "answers: { w: fine }\n");
    let traced = trefoil(&folder, &["trace", "last", "--store=-s.db"]);
    assert!(traced.out.contains("--step=-K"), "{traced:?}");
    each(&folder, &traced, &["trace"], 0);
    let edited = named(&failed.err, "resume").into_iter().find(|one| one.contains(" --with=")).unwrap();
    pasted(&folder, &edited).exits(0);
    let good = ["run", "--trace=-t.json", "--answer=-h=yes", "--store=-s.db", "--model=embedded", "--", "-f.yaml"];
    let good = trefoil(&folder, &good);
    each(&folder, &good, &["plan", "graph", "trace"], 0);
    let from = trefoil(&folder, &["resume", "last", "--from=-K", "--store=-s.db"]);
    from.exits(2);
    let fork = named(&from.err, "runs fork").remove(0);
    pasted(&folder, &fork).exits(0).says(&["1 result of run"]);
}

/// A file that was moved after its run is in no printed command.
#[test]
fn no_printed_command_has_a_file_that_is_not_there() {
    let folder = Folder::new();
    folder.write("a.yaml", crate::world::AGENT);
    folder.write("s.yaml", "answers: { helper: { error: { status: 400, message: bad } } }\n");
    let run = ["run", "a.yaml", "-i", "x", "--model", "scripted=s.yaml", "--store", "runs.db"];
    trefoil(&folder, &run).exits(1).says(&["--with a.yaml"]);
    let views = || {
        let shown = trefoil(&folder, &["runs", "show", "last", "--store", "runs.db"]);
        let traced = trefoil(&folder, &["trace", "last", "--store", "runs.db"]);
        let again = trefoil(&folder, &["resume", "last", "--store", "runs.db", "--model", "scripted=s.yaml"]);
        [shown.out, traced.out, again.err]
    };
    for said in views() {
        assert!(said.contains("after an edit: trefoil resume ") && said.contains(" --with a.yaml"), "{said}");
    }
    std::fs::rename(folder.path().join("a.yaml"), folder.path().join("b.yaml")).unwrap();
    for said in views() {
        assert!(said.contains("unchanged: trefoil resume ") && !said.contains("--with"), "{said}");
    }
}

/// The states in which a store or a run cannot be used as it is.
#[test]
fn printed_commands_about_stores_help_in_the_state_in_which_they_are_printed() {
    let folder = Folder::new();
    folder.write("a.yaml", crate::world::AGENT);
    let run = [&["run", "a.yaml", "-i", "x", "--model", "embedded", "--quiet"], &STORE[..]].concat();
    // Without its content.
    trefoil(&folder, &[&run[..], &["--no-content"]].concat()).exits(0);
    let gone = trefoil(&folder, &[&["trace", "last"], &STORE[..]].concat());
    each(&folder, &gone, &["runs show", "runs export"], 0);

    // A part of another run.
    folder
        .write("trefoil.toml", "[tools.part]\nflow = \"a.yaml\"\n")
        .write("main.yaml", "id: m\nkind: tool\ntool: { kind: local, name: part, params: {} }\n")
        .write("a.yaml", "id: part\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\nprompt: x\n");
    trefoil(&folder, &["trust", "."]).exits(0);
    trefoil(&folder, &[&["run", "main.yaml", "--model", "embedded"], &STORE[..]].concat()).exits(0);
    let list = trefoil(&folder, &[&["runs", "list", "--output", "json"], &STORE[..]].concat()).json();
    let runs = list["runs"].as_array().unwrap();
    let called = runs.iter().find(|run| run.get("parent").is_some()).unwrap()["run"].as_str().unwrap();
    let caller = runs.iter().find(|run| run["flow"] == "m").unwrap()["run"].as_str().unwrap();
    let part = trefoil(&folder, &[&["runs", "delete", called], &STORE[..]].concat());
    part.silent(2);
    each(&folder, &part, &["runs delete"], 0);
    for run in [called, caller] {
        trefoil(&folder, &[&["runs", "show", run], &STORE[..]].concat()).exits(2).says(&["unknown run"]);
    }

    // What is advised if the disk is full.
    pasted(&folder, &format!("trefoil {} copy.db --store 'my runs.db'", "store backup")).exits(0);

    // Damaged.
    let path = folder.path().join("my runs.db");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8_192..20_480].fill(255);
    std::fs::write(&path, bytes).unwrap();
    let damaged = trefoil(&folder, &[&["runs", "list"], &STORE[..]].concat());
    damaged.silent(2);
    each(&folder, &damaged, &["store check"], 1);
    let doctor = trefoil(&folder, &[&["doctor"], &STORE[..]].concat());
    assert_eq!(doctor.code, 1, "{doctor:?}");
    each(&folder, &doctor, &["store check"], 1);
    let failed = trefoil(&folder, &run[..run.len() - 1]);
    assert!(!failed.err.contains("run it again"), "{failed:?}");
}

/// A process that hangs while its lease expires: whoever waits for it is told how to take the run from it.
#[cfg(unix)]
#[test]
fn a_printed_release_takes_a_run_from_a_process_that_hangs() {
    let folder = Folder::new();
    folder.write("ship.yaml", FLOW.replace("printf shipped", "touch began; test -e go || sleep 600"));
    let args = ["run", "ship.yaml", "-i", "x", "--answer", "ASK=yes", "--allow-command", "--store", "my runs.db"];
    let mut command = folder.command(&args);
    let stuck = command.env_remove("TREFOIL_EPHEMERAL").spawn().unwrap();
    crate::durable::until("the command", || folder.path().join("began").exists());
    crate::durable::signal(&stuck, "-STOP");
    // Its lease is valid for a while after its last renewal.
    let began = std::time::Instant::now();
    let said = loop {
        let waits = ["resume", "last", "--allow-command", "--unknown", "fail", "--store", "my runs.db"];
        let ran = finish_within(folder.command(&waits), std::time::Duration::from_secs(3));
        match ran.contains("runs release") {
            true => break ran,
            false => assert!(began.elapsed().as_secs() < 120, "{ran}"),
        }
    };
    let release = named(&said, "runs release");
    pasted(&folder, &release[0]).exits(0).says(&["took "]);
    folder.write("go", "");
    trefoil(&folder, &["resume", "last", "--allow-command", "--unknown", "retry", "--store", "my runs.db"]).exits(0);
    crate::durable::signal(&stuck, "-KILL");
    crate::world::wait(stuck);
}

/// What a process says on its standard error within a time; then it is stopped.
#[cfg(unix)]
fn finish_within(mut command: std::process::Command, limit: std::time::Duration) -> String {
    command.env_remove("TREFOIL_EPHEMERAL").stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let began = std::time::Instant::now();
    while child.try_wait().unwrap().is_none() && began.elapsed() < limit {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let _ = child.kill();
    String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap()
}

/// A disk without room. It needs a file system of its own.
#[cfg(target_os = "linux")]
#[test]
fn a_printed_prune_frees_space_on_a_full_disk() {
    let folder = Folder::new();
    folder.write("a.yaml", crate::world::AGENT);
    let script = format!(
        "mount -t tmpfs -o size=600k tmpfs full || exit 99\n\
         trefoil() {{ '{}' \"$@\"; }}\n\
         for n in 1 2 3; do trefoil run a.yaml -i x --model embedded -q --store full/runs.db || exit 98; done\n\
         cat /dev/zero > full/filler 2>/dev/null\n\
         truncate -s -80K full/filler\n\
         text=\"$(head -c 60000 /dev/urandom | base64 -w0)\"\n\
         trefoil run a.yaml -i \"$text\" --model embedded --store full/runs.db; echo \"full: $?\"\n\
         rm full/filler; trefoil store prune --store full/runs.db; echo \"pruned: $?\"",
        env!("CARGO_BIN_EXE_trefoil")
    );
    std::fs::create_dir(folder.path().join("full")).unwrap();
    let mut shell = std::process::Command::new("unshare");
    shell.args(["-Urm", "sh", "-c", &script]).current_dir(folder.path());
    crate::world::bare(&mut shell);
    shell.env_remove("TREFOIL_EPHEMERAL");
    let Ok(ran) = shell.output() else { return untested::skipped("a full disk needs `unshare`") };
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    if ran.status.code() == Some(99) || out.is_empty() {
        return untested::skipped("a full disk needs a file system, and none may be mounted here");
    }
    assert!(err.contains("is full: ") && err.contains("  trefoil store prune --store full/runs.db  "), "{out}{err}");
    assert!(out.contains("full: 1") && out.contains("pruned: 0"), "{out}{err}");
}

#[test]
fn a_file_of_another_flow_does_not_start_instead_of_a_run() {
    let folder = Folder::new();
    folder.write("a.yaml", crate::world::AGENT).write("ok.yaml", "answers: { helper: fine, other: fine }\n");
    folder.write("b.yaml", crate::world::AGENT.replace("id: helper", "id: other").replace("You help.", "You do not."));
    let stored = ["--store", "runs.db", "--model", "scripted=ok.yaml"];
    trefoil(&folder, &[&["run", "a.yaml", "-i", "x"], &stored[..]].concat()).exits(0);
    let with = [&["resume", "last", "--with", "b.yaml"], &stored[..]].concat();
    let refused = trefoil(&folder, &with);
    refused.silent(2).says(&["is of `helper`, and this file is `other`", "--from-scratch"]);
    trefoil(&folder, &[&with[..], &["--from-scratch"]].concat()).exits(0);
}

#[test]
fn the_help_lists_commands_by_what_one_wants_to_do() {
    let help = Folder::new().trefoil(&["--help"]);
    let groups = ["Write a workflow:", "Run it:", "Look at runs:", "Set up a computer:", "Connect other programs:"];
    let places: Vec<usize> = groups.iter().map(|group| help.out.find(group).unwrap()).collect();
    assert!(places.is_sorted() && help.exits(0).out.lines().all(|line| line.len() <= 100), "{}", help.out);
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    /// A run goes on without a permission that it had: a command, a Python function, a host, and the same in a step whose failure would
    /// be skipped. It waits, and every place says so with the same word.
    #[test]
    fn a_run_that_goes_on_without_a_permission_waits_in_every_place() {
        let node = |rest: &str| {
            format!(
                "version: \"0.1\"\nagents: {{}}\nnodes:\n  h: {{ type: human, prompt: \"Ok?\", writes: working.x }}\n  t: {{ type: tool, {rest}, output_key: d }}\n\
                 edges: [ {{ from: h, to: t }} ]\ninput: {{ message: hi }}\n"
            )
        };
        let http = "tool: http, config: { url: \"http://127.0.0.1:8931/x\", method: POST, body: \"{{ working.x }}\" }";
        let host = &["--allow-host", "127.0.0.1:8931"][..];
        for (what, text, given) in [
            ("a command", FLOW.to_owned(), &["--allow-command"][..]),
            (
                "a function",
                node("tool: python, config: { module: os, function: getpid, args: {} }"),
                &["--allow-command"],
            ),
            ("a host", node(http), host),
            ("a host that may be skipped", node(&format!("{http}, on_failure: skip")), host),
        ] {
            let folder = Folder::new();
            folder.write("a.yaml", text);
            let stored = |args: &[&str]| trefoil(&folder, &[args, &["--store", "runs.db"]].concat());
            stored(&[&["run", "a.yaml", "-i", "x", "--model", "embedded"], given].concat()).exits(75);
            let asked = stored(&["runs", "show", "last", "--output", "json"]).json();
            let step = asked["waiting"][0]["step"].as_str().unwrap();
            stored(&["runs", "answer", "last", step, "yes"]).exits(0);
            let stopped = stored(&["resume", "last", "--trace", "live.json"]);
            stopped.silent(75).says(&["waiting: stopped before", "to continue: trefoil resume"]);
            let live = std::fs::read_to_string(folder.path().join("live.json")).unwrap();
            let live: serde_json::Value = serde_json::from_str(&live).unwrap();
            let (text, json, shown) = crate::trace::views(&folder);
            for member in ["status", "stopped", "next", "error"] {
                assert_eq!(live[member], json[member], "{what}");
            }
            assert!(shown["wake_at"].is_null(), "{what}: no time gives a permission: {shown}");
            assert_eq!((&json["status"], &shown["stopped"]["code"]), (&"waiting".into(), &"REFUSED".into()), "{what}");
            let said = stopped.err.lines().find_map(|line| line.strip_prefix("waiting: ")).unwrap();
            let show = stored(&["runs", "show", "last"]).out;
            // The command has the permission, although this run never had it.
            let started = stored(&["run", "a.yaml", "-i", "x", "--model", "embedded", "--detach", "-q"]);
            let run = started.exits(0).out.trim();
            stored(&["resume", run]).exits(75);
            stored(&["runs", "answer", run, step, "yes"]).exits(0);
            let without = stored(&["resume", run]);
            let next = without.exits(75).err.lines().find(|line| line.starts_with("to continue: ")).unwrap().to_owned();
            assert!(next.ends_with(&given.join(" ")), "{what}: {next}");
            assert!(
                text.contains(&format!("waiting: {said}")) && show.contains(said) && !show.contains("wakes"),
                "{what}: {text}\n{show}"
            );
        }
    }
}
