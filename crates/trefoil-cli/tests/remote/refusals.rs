//! What a server refuses, and what this program refuses to send there.

use crate::scene::{Scene, command_after};
use crate::world::finish;

#[test]
fn what_a_server_does_not_know_is_named() {
    let scene = Scene::start();
    let flow = scene.remote(&["run", "helo", "-i", "text=tea"]);
    flow.exits(2).says(&["FLOW_NOT_FOUND: there is no flow `helo`", "`hello`"]);
    for args in [
        &["runs", "show", "0123abcd"][..],
        &["resume", "0123abcd"],
        &["runs", "cancel", "last"],
        &["runs", "delete", "../x"],
    ] {
        let ran = scene.remote(args);
        ran.exits(2).says(&["no run `", "list the runs with `trefoil runs list --server http://"]);
        assert_eq!(ran.out, "");
    }
    flow.says(&[&format!("at the server {}", scene.server.address)]);
    // What is wrong is said once.
    let wrong = scene.remote(&["run", "hello", "--input-json", "{\"text\": 4}"]);
    assert_eq!(wrong.exits(2).err.matches("text").count(), wrong.err.lines().next().unwrap().matches("text").count());
    // The address of the API is that of the server.
    let address = format!("{}/api/v1/", scene.server.address);
    scene.folder.trefoil(&["runs", "list", "--server", &address]).exits(0);
    // A negative amount is no unknown option.
    scene.remote(&["run", "hello", "--max-cost", "-1"]).exits(2).says(&["invalid value '-1'", "number of dollars"]);
    let input = scene.remote(&["run", "hello", "-i", "txt=tea"]);
    input.exits(2).says(&["unknown input `txt`", "did you mean `text`?"]);
    let missing = scene.remote(&["run", "hello", "--input-json", "{\"text\": 4}"]);
    missing.exits(2).says(&["INPUT_INVALID"]);
    assert_eq!(scene.provider.asked().len(), 0);
}

#[test]
fn a_server_with_keys_refuses_who_has_none() {
    let scene = Scene::with_options(&["--require-key"]);
    let none = scene.remote(&["runs", "list"]);
    none.exits(2).says(&["KEY_MISSING", "set `TREFOIL_API_KEY`"]);
    let mut wrong = scene.client(&["run", "hello", "-i", "text=tea"]);
    wrong.env("TREFOIL_API_KEY", "tf_wrong-0123456789");
    let wrong = finish(wrong);
    wrong.exits(2).says(&["KEY_UNKNOWN", "check `TREFOIL_API_KEY`"]);
    assert!(!wrong.err.contains("0123456789"), "{}", wrong.err);
    let key = scene.local(&["keys", "add", "ci", "--scope", "read,run"]).exits(0).out.trim().to_owned();
    let with_key = |args: &[&str]| {
        let mut command = scene.client(args);
        command.env("TREFOIL_API_KEY", &key);
        finish(command)
    };
    assert_eq!(with_key(&["run", "hello", "-i", "text=tea"]).exits(0).out, "about tea\n");
    // This key may not answer.
    let asked = with_key(&["run", "publish", "--quiet"]);
    let run = command_after(asked.exits(75), "trefoil runs answer ").split(' ').next().unwrap().to_owned();
    with_key(&["runs", "answer", &run, "approve", "yes"]).exits(2).says(&["SCOPE_MISSING"]);
    let mut odd = scene.client(&["runs", "list"]);
    odd.env("TREFOIL_API_KEY", "a\nb");
    finish(odd).exits(2).says(&["`TREFOIL_API_KEY` has characters"]);
}

#[test]
fn options_of_this_machine_are_refused_with_what_to_do() {
    let scene = Scene::start();
    let address = scene.server.address.clone();
    let cases: &[(&[&str], &[&str])] = &[
        (&["run", "hello", "--model", "embedded"], &["`--model` cannot be used with a server", "remove `--model`"]),
        (&["run", "hello", "--allow-command"], &["`--allow-command` cannot be used"]),
        (&["run", "hello", "--trace", "t.json"], &["`--trace` cannot be used"]),
        (&["run", "hello", "--answer", "a=b"], &["trefoil runs answer"]),
        (&["resume", "last", "--max-cost", "3"], &["`--max-cost` cannot be used", "`trefoil runs fork`"]),
        (&["resume", "last", "--with", "x.yaml"], &["`--with` cannot be used"]),
        (&["resume", "--all"], &["`--all` cannot be used"]),
        (&["runs", "delete", "last", "--force"], &["`--force` cannot be used"]),
        (&["runs", "export", "last"], &["`trefoil runs export` does not work with a server", "--store"]),
        (&["runs", "release", "last"], &["`trefoil runs release` does not work with a server"]),
    ];
    for (args, says) in cases {
        scene.remote(args).silent(2).says(says).says(&["TREFOIL_SERVER"]);
        let named = scene.folder.trefoil(&[args, &["--server", &address][..]].concat());
        named.silent(2).says(says).says(&["--server"]);
    }
    let lifted = scene.remote(&["runs", "fork", "last", "--max-calls", "none"]);
    lifted.silent(2).says(&["`--max-calls none` cannot be used with a server"]);
    // Both are named: nobody can know which one is meant.
    let both = scene.folder.trefoil(&["runs", "list", "--store", "x.db", "--server", &address]);
    both.silent(2).says(&["`--store` cannot be used with a server: it has a store of its own"]);
    // A store that is named counts more than the variable.
    let store = scene.remote(&["runs", "list", "--store", "x.db"]);
    store.exits(0).says(&["no runs yet: `x.db` does not exist"]);
}

#[test]
fn an_address_is_checked_before_anything_is_sent() {
    let scene = Scene::start();
    for (address, says) in [
        ("127.0.0.1:8080", "is not the address of a server"),
        ("ftp://host", "is not the address of a server"),
        ("http://user:secret-word@127.0.0.1:1", "contains a user or a password"),
        ("http://127.0.0.1:1/?key=x", "has no query"),
    ] {
        let ran = scene.folder.trefoil(&["runs", "list", "--server", address]);
        ran.silent(2).says(&[says]);
        assert!(!ran.err.contains("secret-word"), "{}", ran.err);
    }
}
