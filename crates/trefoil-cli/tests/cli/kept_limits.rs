//! Limits of the command line and of manifests hold for what follows from a run, and every view prints the same commands.
#![cfg(unix)]

use crate::durable::{command, only, priced, signal, trefoil, until, world};
use crate::edited::{FIRST, newest, pipeline};
use crate::provider::Provider;
use crate::world::{Folder, finish, wait};

/// The lines that name what can be done next.
fn next(text: &str) -> Vec<&str> {
    let is_next = |line: &&str| ["to continue: ", "after an edit: "].iter().any(|purpose| line.starts_with(purpose));
    text.lines().map(str::trim).filter(is_next).collect()
}

#[test]
fn limits_of_a_run_hold_for_what_follows_from_it() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    folder.write("config/config.toml", "[prices]\n\"openai:m\" = { input = 1, output = 1 }\n");
    let run = |args: &[&str]| finish(priced(&folder, &provider, args));
    folder.write("main.yaml", pipeline(FIRST));
    run(&["run", "main.yaml", "--max-calls", "3", "--max-cost", "0.5", "--reserve", "estimate"]).exits(0);
    let first = only(&folder, &provider);
    let limits = |run: &str| {
        let journal = trefoil(&folder, &provider, &["runs", "export", run]).lines();
        let started = journal.iter().find_map(|line| line["entry"]["started"].as_object()).unwrap();
        let basis = &started["basis"];
        (basis["max_calls"].as_u64(), basis["max_cost_micro"].as_u64())
    };
    // Every step is new, and there is one more.
    let steps = [
        ("one", "x", "now one"),
        ("two", "{{one}}", "now two after {{text}}"),
        ("three", "{{two}}", "now three after {{text}}"),
        ("four", "{{three}}", "now four after {{text}}"),
        ("five", "{{four}}", "now five after {{text}}"),
    ];
    folder.write("main.yaml", pipeline(&steps));
    let edited = run(&["resume", &first, "--with", "main.yaml"]);
    edited.exits(75).says(&["call limit reached: 3 of 3 calls made"]);
    let new = newest(&folder, &provider);
    assert_eq!(limits(&new), (Some(3), Some(500_000)));
    // A raised limit is the limit from then on.
    run(&["resume", &new, "--max-calls", "4"]).exits(75).says(&["4 of 4 calls made"]);
    run(&["resume", &new]).exits(75).says(&["4 of 4 calls made"]);
    run(&["resume", &new, "--max-calls", "5"]).exits(0);
    run(&["runs", "fork", &new, "--from", "one"]).exits(0);
    assert_eq!(limits(&newest(&folder, &provider)), (Some(5), Some(500_000)));
    run(&["runs", "fork", &new, "--from", "one", "--max-calls", "2", "--max-cost", "9"]).exits(75);
    assert_eq!(limits(&newest(&folder, &provider)), (Some(2), Some(9_000_000)));
}

/// What failed before is not what stops it now.
#[test]
fn a_limit_that_a_failed_run_meets_when_it_goes_on_is_named_and_raised() {
    let (folder, provider) = (world(), Provider::start());
    folder.write("script.yaml", "answers:\n  first: one\n  second: { error: { status: 400 } }\n");
    let run = |args: &[&str]| trefoil(&folder, &provider, args);
    run(&["run", "main.yaml", "--model", "scripted=script.yaml"]).exits(1).says(&["MODEL_ERROR"]);
    let met = run(&["resume", "last", "--model", "embedded", "--max-calls", "2"]);
    met.exits(1).says(&["BUDGET_EXCEEDED", "--max-calls"]);
    assert!(!met.err.contains("WOULD_REPEAT") && !met.err.contains("cannot help"), "{}", met.err);
    assert!(
        next(&met.err).iter().any(|line| line.starts_with("to continue: ") && line.contains("--max-calls")),
        "{}",
        met.err
    );
    run(&["resume", "last", "--model", "embedded"]).exits(0);
}

#[test]
fn none_lifts_a_limit_of_the_run_that_goes_on_or_is_forked() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    folder.write("config/config.toml", "[prices]\n\"openai:m\" = { input = 1000, output = 1 }\n");
    folder.write("main.yaml", pipeline(FIRST));
    let run = |args: &[&str]| finish(priced(&folder, &provider, args));
    let limit = |run: &str| {
        let journal = trefoil(&folder, &provider, &["runs", "export", run]).lines();
        let basis = journal.iter().find_map(|line| line["entry"]["started"]["basis"].as_object()).unwrap();
        (basis.get("max_calls").and_then(|n| n.as_u64()), basis.get("max_cost_micro").cloned())
    };
    run(&["run", "main.yaml", "--max-cost", "0.03", "--max-calls", "3"]).exits(1).says(&["BUDGET_EXCEEDED"]);
    let first = only(&folder, &provider);
    run(&["runs", "fork", &first, "--max-cost", "none", "--max-calls", "none"]).exits(0);
    assert_eq!(limit(&newest(&folder, &provider)), (Some(10_000), None));
    run(&["resume", &first, "--max-cost", "none", "--max-calls", "none"]).exits(0);
    run(&["runs", "fork", &first, "--from", "one"]).exits(0);
    assert_eq!(limit(&newest(&folder, &provider)), (Some(10_000), None), "the lifted limit is inherited");
    // Where there is no limit, nothing is lifted, so no price is needed.
    folder.write("config/config.toml", "");
    folder.write("bad.yaml", pipeline(FIRST).replacen("kind", "tokenBudget: 1\nkind", 1));
    run(&["run", "bad.yaml"]).exits(1);
    run(&["resume", "last", "--max-cost", "none"]).says(&["WOULD_REPEAT"]);
    run(&["runs", "fork", &first, "--max-cost", "some"])
        .exits(2)
        .says(&["write a number of dollars: `0.50`, or `none`"]);
}

#[test]
fn every_view_of_a_run_at_a_limit_of_cost_raises_it() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    folder.write("config/config.toml", "[prices]\n\"openai:m\" = { input = 1000, output = 1 }\n");
    folder.write("main.yaml", pipeline(FIRST));
    let stopped = finish(priced(&folder, &provider, &["run", "main.yaml", "--max-cost", "0.03"]));
    let run = only(&folder, &provider);
    let told = next(&stopped.exits(1).err);
    assert!(told[0].starts_with(&format!("to continue: trefoil resume {run} --max-cost 0.07")), "{told:?}");
    let shown = trefoil(&folder, &provider, &["runs", "show", &run]).exits(0).out.clone();
    let trace = trefoil(&folder, &provider, &["trace", &run]).exits(0).out.clone();
    assert_eq!((next(&shown), next(&trace)), (told.clone(), told.clone()));
    // A limit that is not raised, or not enough, is told again.
    for limit in [&[][..], &["--max-cost", "0.025"]] {
        let again = finish(priced(&folder, &provider, &[&["resume", &run], limit].concat()));
        assert_eq!(next(&again.exits(1).err), told, "{}", again.err);
    }
}

#[test]
fn a_run_at_a_limit_of_its_manifest_goes_on_only_with_an_edited_file() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    folder.write("main.yaml", pipeline(FIRST).replacen("kind", "tokenBudget: 20\nkind", 1));
    let stopped = trefoil(&folder, &provider, &["run", "main.yaml"]);
    stopped.exits(1).says(&["BUDGET_EXCEEDED", "token ceiling exceeded: 26 tokens used, limit is 20"]);
    let (run, asked) = (only(&folder, &provider), provider.asked().len());
    let edited = format!("after an edit: trefoil resume {run} --with main.yaml");
    for text in [&stopped.err, &trefoil(&folder, &provider, &["runs", "show", &run]).out] {
        let told = next(text);
        assert!(told.len() == 1 && told[0].starts_with(&edited), "{text}");
    }
    let again = trefoil(&folder, &provider, &["resume", &run]);
    again.exits(1).says(&["WOULD_REPEAT", "raise the limit in the manifest"]);
    assert_eq!(provider.asked().len(), asked, "no call is paid for that must fail");
    folder.write("main.yaml", pipeline(FIRST));
    trefoil(&folder, &provider, &["resume", &run, "--with", "main.yaml"]).exits(0);
    assert_eq!(provider.asked().len(), asked + 1);
}

#[test]
fn permissions_of_a_worker_are_in_the_commands_about_its_runs() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write(
        "w.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: w, version: \"1.0.0\" }\nspec:\n  initial_state: WAIT\n  \
         states:\n    WAIT:\n      kind: System\n      command: \"touch began; sleep 60\"\n      transitions: []\n",
    );
    trefoil(&folder, &provider, &["run", "w.yaml", "--detach", "--quiet"]).exits(0);
    let run = only(&folder, &provider);
    let worker = command(&folder, &provider, &["worker", "--allow-command"]).spawn().unwrap();
    until("the command", || folder.path().join("began").exists());
    // A second signal, not at the same time, ends the wait for the command.
    signal(&worker, "-TERM");
    std::thread::sleep(std::time::Duration::from_millis(700));
    signal(&worker, "-INT");
    wait(worker);
    let shown = trefoil(&folder, &provider, &["runs", "show", &run]).exits(0).out.clone();
    let resume: Vec<&str> = shown.lines().filter(|line| line.contains("trefoil resume ")).collect();
    assert!(!resume.is_empty() && resume.iter().all(|line| line.contains(" --allow-command")), "{shown}");
}

/// A list of items of unknown length, each with a call, and then a call with all results.
fn fan_out(items: usize, concurrency: usize) -> String {
    let items: Vec<String> = (0..items).map(|n| format!("\"item {n}\"")).collect();
    format!(
        "version: \"0.1\"\nagents:\n  a: {{ model: \"openai:m\", system: \"Say {{{{ inputs.word }}}}\" }}\n  \
         b: {{ model: \"openai:m\", system: \"Sum up\" }}\nnodes:\n  each:\n    type: factory\n    agent: a\n    \
         concurrency: {concurrency}\n    for_each: \"{{{{ inputs.message }}}}\"\n    \
         inputs: {{ word: \"{{{{ item }}}}\" }}\n    writes: working.all\n  \
         end: {{ type: agent, agent: b, writes: output.end }}\nedges: [ {{ from: each, to: end }} ]\n\
         input: {{ message: '[{}]' }}\n",
        items.join(", ")
    )
}

#[test]
fn the_limit_that_a_run_is_told_to_raise_is_enough_for_what_is_certain_to_follow() {
    for (option, limit) in [("--max-calls", "10"), ("--max-calls", "25"), ("--max-cost", "0.03")] {
        let (folder, provider) = (Folder::new(), Provider::start());
        provider.hang(false);
        folder.write("config/config.toml", "[prices]\n\"openai:m\" = { input = 1000, output = 1 }\n");
        folder.write("main.yaml", fan_out(30, 20));
        let stopped = finish(priced(&folder, &provider, &["run", "main.yaml", option, limit]));
        stopped.exits(1).says(&["BUDGET_EXCEEDED"]);
        let run = only(&folder, &provider);
        let told = next(&stopped.err)[0].split_whitespace().skip(3).map(str::to_owned).collect::<Vec<_>>();
        let resumed: Vec<&str> = told.iter().map(String::as_str).collect();
        assert_eq!(resumed[..3], ["resume", &run, option], "{}", stopped.err);
        finish(priced(&folder, &provider, &resumed)).exits(0);
    }
}
