//! What works at a server: start, follow, list, show, compare, answer, fork, cancel, delete.

use serde_json::json;

use crate::scene::{Scene, command_after, run_id, until};
use crate::world::wait;

#[test]
fn a_run_of_a_server_prints_what_a_run_of_this_machine_prints() {
    let scene = Scene::start();
    let remote = scene.remote(&["run", "hello", "--input", "text=tea", "--label", "team=docs"]);
    let local = scene.local(&["run", "flows/hello.yaml", "--input", "text=tea"]);
    remote.exits(0);
    assert_eq!(remote.out, local.exits(0).out, "{remote:?}");
    assert_eq!(remote.out, "about tea\n");
    remote.says(&["run ", "hello  openai:m"]);
    // The figures at the end, apart from the time.
    let figures = |err: &str| {
        err.lines().find(|line| line.starts_with("1 call, ")).unwrap().rsplit_once(',').unwrap().0.to_owned()
    };
    assert_eq!(figures(&remote.err), figures(&local.err));
    let json = scene.remote(&["run", "hello", "-i", "text=tea", "--output", "json", "--quiet"]);
    assert_eq!((json.exits(0).out.as_str(), json.err.as_str()), ("\"about tea\"\n", ""));
    let events = scene.remote(&["run", "hello", "-i", "text=tea", "--events", "jsonl"]);
    let kinds: Vec<String> =
        events.exits(0).lines().iter().map(|event| event["event"].as_str().unwrap().to_owned()).collect();
    assert_eq!((kinds[0].as_str(), kinds.last().unwrap().as_str()), ("run_started", "run_finished"));
    let run = run_id(&remote);
    let shown = scene.remote(&["runs", "show", &run, "--output", "json"]).json();
    assert_eq!(
        (&shown["labels"]["team"], &shown["result"], &shown["status"]),
        (&json!("docs"), &json!("about tea"), &json!("completed"))
    );
    assert_eq!(scene.provider.asked().len(), 4);
}

#[test]
fn runs_are_listed_and_shown_as_those_of_a_store() {
    let scene = Scene::start();
    scene.remote(&["run", "hello", "-i", "text=tea"]).exits(0);
    scene.remote(&["run", "hello", "-i", "text=rum"]).exits(0);
    let listed = scene.remote(&["runs", "list"]);
    assert_eq!(listed.exits(0).out, scene.local(&["runs", "list"]).out);
    let of_server = scene.remote(&["runs", "list", "--output", "json", "--limit", "1"]).json();
    let of_store = scene.local(&["runs", "list", "--output", "json", "--limit", "1"]).json();
    for (name, value) in of_store["runs"][0].as_object().unwrap() {
        if name != "program" {
            assert_eq!(&of_server["runs"][0][name], value, "{name}");
        }
    }
    assert_eq!(of_server["next"], of_store["next"]);
    let run = of_server["runs"][0]["run"].as_str().unwrap().to_owned();
    for start in [&run[..6], "last"] {
        let shown = scene.remote(&["runs", "show", start]);
        shown.exits(0);
        let mut of_store: Vec<String> = scene.local(&["runs", "show", &run]).out.lines().map(str::to_owned).collect();
        of_store.retain(|line| !line.starts_with("prompts "));
        assert_eq!(shown.out.lines().collect::<Vec<_>>(), of_store);
    }
    let events = scene.remote(&["runs", "events", &run]);
    let mut of_store = scene.local(&["runs", "events", &run]).lines();
    // A server does not say where the parts of a prompt come from.
    for event in &mut of_store {
        event.as_object_mut().unwrap().remove("effective_input");
        for message in event.get_mut("messages").and_then(|all| all.as_array_mut()).into_iter().flatten() {
            message.as_object_mut().unwrap().remove("spans");
        }
    }
    assert_eq!(events.exits(0).lines(), of_store);
    let later = scene.remote(&["runs", "events", &run, "--after", "3"]).lines();
    assert_eq!(later.len() + 4, events.lines().len());
    let other = of_server["runs"][0]["run"].as_str().unwrap();
    let all = scene.remote(&["runs", "list", "--output", "json"]).json();
    let first = all["runs"][1]["run"].as_str().unwrap();
    let diff = scene.remote(&["runs", "diff", first, other]);
    assert_eq!(diff.exits(0).out, scene.local(&["runs", "diff", first, other]).out);
    assert!(diff.out.contains("about [-tea-]{+rum+}"), "{}", diff.out);
    let (a, b) =
        (["runs", "diff", first, other, "--output", "json"], ["runs", "diff", first, other, "--output", "json"]);
    assert_eq!(scene.remote(&a).json(), scene.local(&b).json());
}

#[test]
fn a_run_that_fails_says_why_and_how_it_goes_on() {
    let mut scene = Scene::without_models();
    let failed = scene.remote(&["run", "plain"]);
    assert_eq!(failed.exits(1).out, "");
    failed.says(&["MODEL_ERROR", "no such model", "at: flows/plain.yaml:", "spent: 1 call"]);
    let resume = command_after(&failed, "to continue: ");
    assert!(resume.contains("--server http://127.0.0.1:"), "{resume}");
    let shown = scene.remote(&["runs", "show", "last"]);
    assert!(shown.exits(0).out.contains("error    MODEL_ERROR") && shown.out.contains(&resume), "{}", shown.out);
    scene.restart_server();
    let resumed = scene.enter(&resume);
    assert_eq!(resumed.exits(0).out, "once\n", "{}", resumed.err);
    assert_eq!(scene.provider.asked().len(), 1);
    // Once more, it is only shown.
    let again = scene.enter(&resume);
    again.exits(0).says(&["has ended: completed"]);
    assert_eq!((again.out.as_str(), scene.provider.asked().len()), ("once\n", 1));
}

#[test]
fn a_question_is_answered_once_with_the_printed_commands() {
    let scene = Scene::start();
    let asked = scene.remote(&["run", "publish", "--quiet"]);
    assert_eq!(asked.exits(75).out, "");
    asked.says(&["waiting: `approve` asks: May"]);
    let answer = command_after(&asked, "trefoil runs answer ");
    let then = command_after(&asked, "then: ");
    let run = answer.split(' ').next().unwrap().to_owned();
    let listed = scene.remote(&["runs", "list"]);
    assert!(listed.out.contains("asks approve"), "{}", listed.out);
    // Nothing is answered yet.
    scene.enter(&then).exits(75).says(&["waiting: `approve` asks"]);
    scene.remote(&["runs", "show", &run]).exits(0);
    let first = scene.enter(&format!("trefoil runs answer {}", answer.replacen(" - ", " yes ", 1)));
    first.exits(0).says(&["answered; the server continues run", "to follow it: trefoil resume"]);
    let second = scene.remote(&["runs", "answer", &run, "approve", "no"]);
    second.exits(2);
    assert!(["ALREADY_ANSWERED", "is not", "RUN_ENDED"].iter().any(|why| second.err.contains(why)), "{}", second.err);
    let ended = scene.enter(&then);
    ended.exits(0);
    assert!(ended.out.contains("publish draft for print because yes"), "{ended:?}");
    assert_eq!(scene.provider.asked().len(), 2, "nothing is asked twice");
    let late = scene.remote(&["runs", "answer", &run, "approve", "no"]);
    late.exits(2).says(&["is not asked any more", "trefoil runs show", "--server"]);
}

#[test]
fn an_answer_that_comes_second_is_told_who_was_faster() {
    let scene = Scene::start();
    let asked = scene.remote(&["run", "publish", "--quiet"]);
    let run = command_after(&asked, "trefoil runs answer ").split(' ').next().unwrap().to_owned();
    scene.provider.wait_before_answers(std::time::Duration::from_secs(20));
    scene.remote(&["runs", "answer", &run, "approve", "yes"]).exits(0);
    until("the second call", || scene.provider.asked().len() == 2);
    let second = scene.remote(&["runs", "answer", &run, "approve", "no"]);
    second.exits(2).says(&["ALREADY_ANSWERED: it is already answered with `yes`, ", ", from api"]);
    let local = scene.local(&["runs", "answer", &run, "approve", "no"]);
    local.exits(2).says(&["`approve` is already answered with `yes`, ", ", from api"]);
    // A step that nobody has answered is another thing.
    scene.remote(&["runs", "answer", &run, "publish", "no"]).exits(2).says(&["the run is not waiting for `publish`"]);
    let (remote, local) = (scene.remote(&["runs", "show", &run]), scene.local(&["runs", "show", &run]));
    for shown in [remote, local] {
        let line = shown.exits(0).out.lines().find(|line| line.starts_with("answered approve: yes (")).unwrap();
        assert!(line.ends_with(", from api 127.0.0.1)"), "{line}");
    }
}

#[test]
fn an_answer_is_read_from_standard_input() {
    let scene = Scene::start();
    let asked = scene.remote(&["run", "publish", "--quiet"]);
    let run = command_after(&asked, "trefoil runs answer ").split(' ').next().unwrap().to_owned();
    let folder = &scene.folder;
    let address = &scene.server.address;
    let args = ["runs", "answer", &run, "approve", "-", "--server", address];
    let wrong = scene.remote(&["runs", "answer", &run, "nobody", "yes"]);
    wrong.exits(2).says(&["the run is not waiting for `nobody`"]);
    folder.trefoil_with(&args, "yes\n").exits(0);
}

#[test]
fn a_detached_run_is_cancelled_and_deleted() {
    let scene = Scene::start();
    let begun = scene.remote(&["run", "hello", "-i", "text=hang", "--detach"]);
    let run = begun.exits(0).out.trim().to_owned();
    begun.says(&["the server runs it", "--server"]);
    until("the call", || scene.provider.asked().len() == 1);
    let refused = scene.remote(&["runs", "delete", &run]);
    refused.exits(2);
    scene.remote(&["runs", "cancel", &run]).exits(0);
    until("the end", || scene.remote(&["runs", "show", &run, "--output", "json"]).json()["status"] == "cancelled");
    scene.enter(&command_after(&begun, "to follow it: ")).exits(130);
    scene.remote(&["runs", "delete", &run]).exits(0).says(&[&format!("deleted {run}")]);
    scene.remote(&["runs", "show", &run]).exits(2).says(&["no run", "trefoil runs list --server"]);
}

#[test]
fn a_fork_keeps_what_nothing_changes() {
    let scene = Scene::start();
    let first = scene.remote(&["run", "pair", "-i", "text=tea"]);
    let run = run_id(first.exits(0));
    assert_eq!(scene.provider.asked().len(), 2);
    let same = scene.remote(&["runs", "fork", &run, "--dry-run"]);
    assert!(same.exits(0).out.contains("2 of run"), "{same:?}");
    let preview = scene.remote(&["runs", "fork", &run, "--from", "second", "--dry-run"]);
    assert!(preview.exits(1).out.contains("second") && preview.out.contains("1 of run"), "{preview:?}");
    let forked = scene.remote(&["runs", "fork", &run, "--from", "second", "--max-calls", "5"]);
    assert_eq!(forked.exits(0).out, first.out);
    assert_eq!(scene.provider.asked().len(), 3);
    let shown = scene.remote(&["runs", "show", &run_id(&forked), "--output", "json"]).json();
    assert_eq!(shown["base"], json!(run));
    // With another input, what depends on it runs again.
    for fork in [
        scene.remote(&["runs", "fork", &run, "-i", "text=rum"]),
        scene.local(&["runs", "fork", &run, "-i", "text=rum"]),
    ] {
        assert!(fork.exits(0).out.contains("more about rum"), "{fork:?}");
    }
    scene.remote(&["runs", "fork", &run, "-i", "txt=rum"]).exits(2).says(&["unknown input `txt`"]);
    assert_eq!(scene.provider.asked().len(), 7);
}

#[test]
fn a_run_at_its_limit_goes_on_in_a_new_one() {
    // The first call may cost as much as this, and the second one more than what is left then.
    let scene = Scene::with_prices(&[]);
    let stopped = scene.remote(&["run", "pair", "-i", "text=tea", "--max-cost", "0.0103"]);
    stopped.exits(1).says(&["BUDGET_EXCEEDED"]);
    assert!(!stopped.err.contains("trefoil resume"), "it would stop again: {}", stopped.err);
    let fork = command_after(&stopped, "to continue in a new run: ");
    assert!(fork.contains("--max-cost "), "{fork}");
    let forked = scene.enter(&fork);
    assert!(forked.exits(0).out.contains("more about tea"), "{forked:?}");
    assert_eq!(scene.provider.asked().len(), 2, "the first call is kept");
}

#[test]
fn a_run_that_may_need_more_calls_than_it_may_make_does_not_start() {
    let scene = Scene::start();
    let refused = scene.remote(&["run", "pair", "-i", "text=tea", "--max-calls", "1"]);
    refused.silent(2).says(&["the run did not start: it may need 2 model calls, but `--max-calls` allows only 1"]);
    assert_eq!(scene.remote(&["runs", "list", "--output", "json"]).json()["runs"], json!([]));
    scene.remote(&["run", "pair", "-i", "text=tea", "--max-calls", "2"]).exits(0);
}

#[test]
fn a_signal_ends_the_following_and_not_the_run() {
    let scene = Scene::start();
    let child = scene.client(&["run", "hello", "-i", "text=hang"]).spawn().unwrap();
    until("the call", || scene.provider.asked().len() == 1);
    // The client follows it by now, or will find out that it is to end.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let detached = wait(child);
    detached.exits(130).says(&[
        "detached; the run goes on at the server",
        "to follow it: trefoil resume",
        "to end it: trefoil runs cancel",
    ]);
    let run = run_id(&detached);
    assert_eq!(scene.remote(&["runs", "show", &run, "--output", "json"]).json()["status"], "running");
    scene.enter(&command_after(&detached, "to end it: ")).exits(0);
}
