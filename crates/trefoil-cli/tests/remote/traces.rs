//! Traces of the runs of a server, and what is said where a command does not ask it.

use crate::scene::{Scene, run_id};

#[test]
fn a_trace_is_that_of_the_run_of_the_server() {
    let scene = Scene::start();
    let run = run_id(scene.remote(&["run", "pair", "-i", "text=tea"]).exits(0));
    let json = scene.remote(&["trace", &run, "--json"]);
    assert_eq!(json.exits(0).json(), scene.local(&["trace", &run, "--json"]).json());
    for args in [&["trace", &run[..6]][..], &["trace", "last"], &["trace", "last", "--step", "hello"]] {
        let remote = scene.remote(args);
        // Its commands name the server.
        let shown = remote.exits(0).out.replace(&format!(" --server {}", scene.server.address), "");
        assert_eq!(shown, scene.local(args).exits(0).out);
        assert!(remote.out.contains("about tea"), "{}", remote.out);
        let named = scene.folder.trefoil(&[args, &["--server", &scene.server.address]].concat());
        assert_eq!(named.exits(0).out, remote.out);
    }
    scene.remote(&["trace", "last", "--html", "page.html"]).exits(0);
    assert!(std::fs::read_to_string(scene.folder.path().join("page.html")).unwrap().contains("about tea"));
    scene.remote(&["trace", "0123abcd"]).exits(2).says(&["no run `0123abcd` at http://"]);
    // A file is read, whatever server there is.
    scene.folder.write("t.json", &json.out);
    assert_eq!(scene.remote(&["trace", "t.json", "--json"]).exits(0).json(), json.json());
    let both = scene.folder.trefoil(&["trace", "last", "--store", "x.db", "--server", &scene.server.address]);
    both.silent(2).says(&["`--store` cannot be used with a server"]);
}

#[test]
fn a_trace_of_a_run_that_waits_says_what_it_waits_for() {
    let scene = Scene::start();
    let asked = scene.remote(&["run", "publish", "--quiet"]);
    asked.exits(75);
    let (remote, local) = (scene.remote(&["trace", "last", "--json"]), scene.local(&["trace", "last", "--json"]));
    let (remote, local) = (remote.exits(0).json(), local.exits(0).json());
    for member in ["status", "waiting", "steps"] {
        assert_eq!(remote[member], local[member], "{member}");
    }
    let text = scene.remote(&["trace", "last"]);
    let answer = format!("--server {}", scene.server.address);
    assert!(text.exits(0).out.contains(&answer) && text.out.contains("trefoil runs answer"), "{}", text.out);
}

#[test]
fn a_command_that_does_not_ask_the_server_says_what_it_uses() {
    let scene = Scene::start();
    let replay = scene.remote(&["replay", "last"]);
    replay.silent(2).says(&["`trefoil replay` does not work with a server", "--store"]);
    let address = scene.server.address.clone();
    scene.folder.trefoil(&["replay", "last", "--server", &address]).silent(2).says(&["does not work with a server"]);
    for args in [
        &["keys", "list"][..],
        &["keys", "add", "ci"],
        &["keys", "revoke", "ci"],
        &["store"],
        &["store", "check"],
        &["worker", "--once"],
    ] {
        let ran = scene.remote(args);
        let note = format!("note: `trefoil {}` uses the store `", args[0]);
        ran.says(&[&note, "runs.db`, not the server of `TREFOIL_SERVER`"]);
        let named = scene.remote(&[args, &["--store", "x.db"]].concat());
        assert!(!named.err.contains("TREFOIL_SERVER"), "{}", named.err);
    }
}
