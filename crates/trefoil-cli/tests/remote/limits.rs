//! Limits of keys, as a client of a server sees them.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::scene::{Scene, until};
use crate::world::{finish, wait};

fn key(scene: &Scene, args: &[&str]) -> String {
    scene.local(&[&["keys", "add"], args].concat()).exits(0).out.trim().to_owned()
}

fn client(scene: &Scene, key: &str, args: &[&str]) -> Command {
    let mut command = scene.client(args);
    command.env("TREFOIL_API_KEY", key);
    command
}

#[test]
fn a_start_that_has_to_wait_says_for_what_and_then_starts() {
    let scene = Scene::with_options(&["--require-key"]);
    let key = key(&scene, &["two", "--runs-in-flight", "1"]);
    finish(client(&scene, &key, &["run", "hello", "-i", "text=hang", "--detach"])).exits(0);
    until("the call", || scene.provider.asked().len() == 1);
    let second = client(&scene, &key, &["run", "hello", "-i", "text=tea"]).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    finish(client(&scene, &key, &["runs", "cancel", "last"])).exits(0);
    let second = wait(second);
    assert_eq!(second.exits(0).out, "about tea\n");
    second.says(&["note: the key `two` may have 1 run in progress; trying again in 1 s"]);
}

#[test]
fn labels_of_the_engine_are_for_programs() {
    let scene = Scene::with_options(&["--require-key"]);
    let key = key(&scene, &["one"]);
    finish(client(&scene, &key, &["run", "hello", "-i", "text=tea", "--label", "team=docs"])).exits(0);
    let json = finish(client(&scene, &key, &["runs", "show", "last", "--output", "json"])).json();
    assert!(json["labels"]["trefoil.request"].is_string() && json["labels"]["trefoil.key"].is_string(), "{json}");
    let (remote, local) =
        (finish(client(&scene, &key, &["runs", "show", "last"])), scene.local(&["runs", "show", "last"]));
    for shown in [remote, local] {
        assert!(shown.exits(0).out.contains("label    team=docs"), "{}", shown.out);
        assert!(!shown.out.contains("trefoil."), "{}", shown.out);
    }
}

#[test]
fn a_start_that_no_wait_helps_fails_at_once() {
    let scene = Scene::with_prices(&["--require-key"]);
    let key = key(&scene, &["poor", "--cost-per-day", "0.015"]);
    finish(client(&scene, &key, &["run", "hello", "-i", "text=hang", "--detach"])).exits(0);
    let began = Instant::now();
    let refused = finish(client(&scene, &key, &["run", "hello", "-i", "text=tea"]));
    refused.exits(2).says(&["BUDGET_EXHAUSTED", "the key `poor`"]);
    assert!(!refused.err.contains("trying again"), "{}", refused.err);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn a_limit_that_is_a_budget_is_named_and_nothing_is_printed_that_would_not_help() {
    let scene = Scene::with_prices(&["--require-key"]);
    let poor = key(&scene, &["poor", "--cost-per-day", "0.0001", "--all-runs"]);
    let rich = key(&scene, &["rich"]);
    let named = "the limit is what was left of the day's budget of the key that started the run";
    let own = finish(client(&scene, &poor, &["run", "hello", "-i", "text=tea"]));
    // A run that reuses results reaches its limits in another place.
    finish(client(&scene, &rich, &["run", "pair", "-i", "text=tea"])).exits(0);
    let fork = finish(client(&scene, &poor, &["runs", "fork", "last", "--from", "second", "--max-cost", "1"]));
    let shown = finish(client(&scene, &poor, &["trace", "last"]));
    for (ran, text) in [(&own, &own.err), (&fork, &fork.err), (&shown, &shown.out)] {
        assert!(text.contains("cost limit reached") && text.contains(named), "{ran:?}");
        assert!(!text.contains("runs fork") && !text.contains("--max-cost"), "{ran:?}");
    }
    own.exits(1).says(&[
        "BUDGET_EXCEEDED",
        "start it again when more of the budget is left",
        "`trefoil keys add --cost-per-day`",
    ]);
    fork.exits(75);
    // A limit of the run itself can be another one in a new run.
    let asked = finish(client(&scene, &rich, &["run", "hello", "-i", "text=tea", "--max-cost", "0.0001"]));
    asked.exits(1).says(&["allow more with `--max-cost`", "to continue in a new run: trefoil runs fork"]);
    assert!(!asked.err.contains("budget"), "{}", asked.err);
}

#[test]
fn a_name_of_several_keys_revokes_none() {
    let scene = Scene::start();
    let first = scene.local(&["keys", "add", "ci"]);
    let second = scene.local(&["keys", "add", "ci"]);
    second.exits(0).says(&["there is another key `ci`: "]);
    assert!(!first.exits(0).err.contains("another"), "{}", first.err);
    let ids: Vec<String> = [&first, &second].map(|ran| ran.out.split('_').nth(1).unwrap().to_owned()).into();
    let refused = scene.local(&["keys", "revoke", "ci"]);
    refused.exits(1).says(&["2 keys have this name: ", &ids[0], &ids[1], "by its id"]);
    scene.local(&["keys", "revoke", &ids[0]]).exits(0).says(&["revoked key", &ids[0]]);
    scene.local(&["keys", "revoke", "ci"]).exits(0).says(&[&ids[1]]);
    scene.local(&["keys", "revoke", "ci"]).exits(1).says(&["there is no key `ci`"]);
}
