//! Manifests are edited while they are served.

use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::http::Request;
use crate::scene::{CHAIN, Process, Scene, chain, eventually};

/// How a flow stands.
fn flow(server: &Process, name: &str) -> Option<Json> {
    let reply = server.get(&format!("/api/v1/flows/{name}"));
    if reply.status == 404 { None } else { Some(reply.is(200).json()) }
}

fn result(server: &Process, n: &str) -> Json {
    let run = server.start(&chain(n));
    server.until(&run, "completed")["result"].take()
}

#[test]
fn an_edit_that_does_not_load_changes_nothing_until_it_is_repaired() {
    let scene = Scene::new();
    let server = scene.serve(&[]);
    // A mistake in a step; YAML that is none; no manifest any more; an empty file, as some editors write it first.
    let broken = [
        CHAIN.replace("kind: llm", "kind: lm"),
        CHAIN.replace("steps:", "stepz:"),
        "id: [main".to_owned(),
        CHAIN.replace("kind: sequential", "kind: sequental"),
        "hello".to_owned(),
        String::new(),
    ];
    for (n, text) in broken.iter().enumerate() {
        eprintln!("edit {n}");
        scene.folder.write("flows/main.yaml", text);
        eventually(&format!("nobody says what is wrong with {text:?}: {}", scene.log()), || {
            flow(&server, "main").unwrap()["state"] == "stale"
        });
        let checks = server.get("/api/v1/flows/main/checks").is(200).json();
        let edit = checks["edit"].as_array().unwrap();
        assert!(edit.iter().any(|found| found["severity"] == "error"), "{text:?}: {checks}");
        assert_eq!(result(&server, &format!("stale {n}")), format!("third second first stale {n} slowly now"));
        // Repaired, in the same file.
        scene.folder.write("flows/main.yaml", CHAIN.replace("slowly now", &format!("slowly {n}")));
        eventually(&format!("the repair of {text:?} is not served: {}", scene.log()), || {
            flow(&server, "main").unwrap()["state"] == "ready"
        });
        assert_eq!(result(&server, &format!("repaired {n}")), format!("third second first repaired {n} slowly {n}"));
        assert_eq!(server.get("/api/v1/flows/main/checks").json()["edit"], Json::Null);
        scene.folder.write("flows/main.yaml", CHAIN);
        eventually("the original is not served again", || {
            server.get("/api/v1/flows/main/graph?format=mermaid").status == 200
                && result(&server, &format!("original {n} {}", chance())).as_str().unwrap().ends_with("now")
        });
    }
}

#[test]
fn a_file_is_saved_over_the_api_only_with_the_option() {
    let scene = Scene::new();
    let server = scene.serve(&[]);
    assert_eq!(server.get("/api/v1/me").json()["edit"], false);
    let file = server.get("/api/v1/flows/main/files").is(200).json()["files"][0].clone();
    let put = |text: &str| {
        let body = json!({ "text": text, "version": file["version"] });
        let post = Request::post(&format!("/api/v1/files/{}", file["path"].as_str().unwrap()), &body);
        Request { method: "PUT".to_owned(), ..post }
    };
    put("mine").send(server.address).unwrap().fails(403, "EDIT_NOT_ALLOWED");
    drop(server);
    let server = scene.serve(&["--edit"]);
    assert_eq!(server.get("/api/v1/me").json()["edit"], true);
    let saved = put(&CHAIN.replace("slowly now", "slowly saved")).send(server.address).unwrap().is(200).json();
    assert_eq!(saved["flows"][0]["flow"], "main", "{saved}");
    assert_eq!(result(&server, "saved"), "third second first saved slowly saved");
    put("mine").send(server.address).unwrap().fails(409, "FILE_CHANGED");
}

/// Another text each time, because every prompt of a test is different.
fn chance() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::SeqCst)
}

#[test]
fn a_file_that_is_written_in_two_steps_and_one_that_is_removed() {
    let scene = Scene::new();
    let server = scene.serve(&[]);
    scene.folder.write("flows/new.yaml", "");
    std::thread::sleep(Duration::from_millis(1_500));
    assert!(flow(&server, "new").is_none());
    assert!(!scene.log().contains("new.yaml"), "{}", scene.log());
    // What is no YAML may be meant as a manifest.
    scene.folder.write("flows/new.yaml", "id: new\nkind: [");
    eventually(&format!("nobody says that the file is no YAML: {}", scene.log()), || {
        let broken = server.get("/api/v1/flows").is(200).json()["broken"].clone();
        broken.as_array().unwrap().iter().any(|one| one["target"].as_str().unwrap().ends_with("new.yaml"))
    });
    assert!(scene.log().contains("new.yaml` is not served"), "{}", scene.log());
    scene.folder.write("flows/new.yaml", CHAIN.replace("id: main", "id: new"));
    eventually(&format!("a new file is not served: {}", scene.log()), || flow(&server, "new").is_some());
    let run = server.start(&json!({ "flow": "new", "input": { "n": "new" } }));
    server.until(&run, "completed");
    std::fs::remove_file(scene.folder.path().join("flows/new.yaml")).unwrap();
    eventually("a removed file is served", || flow(&server, "new").is_none());
    // Its runs can still be seen.
    assert_eq!(server.run(&run)["flow"], "new");
    assert!(flow(&server, "main").is_some());
}

#[test]
fn a_run_keeps_the_program_with_which_it_has_started() {
    let scene = Scene::new();
    let mut server = scene.serve(&[]);
    let run = server.start(&chain("hang"));
    eventually("it does not call", || !scene.provider.asked().is_empty());
    scene.folder.write("flows/main.yaml", CHAIN.replace("third {{", "edited {{"));
    eventually("the edit is not served", || {
        result(&server, &format!("edit {}", chance())).as_str().unwrap().starts_with("edited")
    });
    // Also when another server continues it.
    server.kill();
    scene.provider.hang(false);
    let server = scene.serve_at(server.address.port(), &[]);
    assert_eq!(server.until(&run, "completed")["result"], "third second first hang slowly now");
}

#[test]
fn settings_that_do_not_apply_change_nothing_until_they_do() {
    const SETTINGS: &str = "[serve]\nenv = [\"PLACE\"]\n";
    let scene = Scene::new();
    scene.project(SETTINGS);
    let server = scene.serve(&[]);
    let stays = |what: &str| {
        eventually(&format!("nobody says that {what}: {}", scene.log()), || {
            flow(&server, "main").unwrap()["state"] == "stale"
        });
        let checks = server.get("/api/v1/flows/main/checks").is(200).json();
        assert!(!checks["edit"].as_array().unwrap().is_empty(), "{what}: {checks}");
        let n = format!("{what} {}", chance());
        assert_eq!(result(&server, &n), format!("third second first {n} slowly now"));
        assert!(flow(&server, "asks").is_some(), "{what}");
    };
    let is_ready = || matches!(flow(&server, "main"), Some(flow) if flow["state"] == "ready");

    scene.folder.write("flows/trefoil.toml", format!("{SETTINGS}# edited\n"));
    stays("the file is no longer trusted");
    scene.say(&["trust", "flows"]);
    eventually("trusted settings are not read", is_ready);
    scene.folder.write("flows/trefoil.toml", "[serve\n");
    stays("the file has a mistake");
    scene.folder.write("flows/trefoil.toml", SETTINGS);
    scene.say(&["trust", "flows"]);
    eventually("repaired settings are not read", is_ready);
    let at = |name: &str| scene.folder.path().join(name);
    std::fs::rename(at("flows"), at("elsewhere")).unwrap();
    stays("the folder was moved away");
    std::fs::rename(at("elsewhere"), at("flows")).unwrap();
    eventually("the folder is not read again", is_ready);
}

#[test]
fn a_model_for_a_name_is_for_the_flows_that_have_it() {
    let scene = Scene::new();
    // Only `asks` has a writer.
    let server = scene.serve(&["--model", "writer=openai:other"]);
    assert_eq!(result(&server, "named"), "third second first named slowly now");
    assert_eq!(flow(&server, "asks").unwrap()["state"], "ready");
    let refused = scene.refuse(&["--model", "writer=openai:other", "--model", "writter=openai:other"]);
    assert!(refused.contains("no flow has an alias, agent or step named `writter`"), "{refused}");
}
