//! The files of flows and runs, and saving them.

use std::path::Path;

use serde_json::{Value as Json, json};
use trefoil_server::KeyScope;

use crate::test_server::{Reply, TestServer, shared_flows};

const PARENT: &str = "id: parent\nkind: sequential\nsteps:\n  - ref: child\n";
const CHILD: &str = "id: child\nkind: llm\nmodel: { provider: openai, name: gpt-5.4 }\ninstruction: Say hello.\n";

/// A folder with a flow of two files, of which one is in a folder below.
fn new_project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("agents")).unwrap();
    std::fs::write(folder.path().join("parent.yaml"), PARENT).unwrap();
    std::fs::write(folder.path().join("agents/child.yaml"), CHILD).unwrap();
    folder
}

fn read(folder: &Path, path: &str) -> String {
    std::fs::read_to_string(folder.join(path)).unwrap()
}

async fn list_files(server: &TestServer, of: &str) -> Vec<Json> {
    let reply = server.api("GET", &format!("/{of}/files")).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json()["files"].as_array().unwrap().clone()
}

async fn save(server: &TestServer, path: &str, text: &str, version: &Json) -> Reply {
    let body = json!({ "text": text, "version": version });
    // The whole path is one part of the operation in the description.
    let path = path.replace('/', "%2F");
    server.send(server.request("PUT", &format!("/api/v1/files/{path}")).body(body.to_string())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_has_the_files_with_which_it_started_and_says_what_became_of_them() {
    let folder = new_project();
    let server = TestServer::start_editable(folder.path(), false).await;
    let begun = server.post_api("/runs", &json!({ "flow": "parent", "input": "x" })).await;
    assert_eq!(begun.status, 201, "{}", begun.text);
    let run = format!("runs/{}", begun.json()["run"].as_str().unwrap());
    let files = list_files(&server, &run).await;
    let short = |file: &Json| {
        let word = |name: &str| file[name].as_str().unwrap_or("-").to_owned();
        format!("{} {} {} {}", word("path"), file["entry"], word("on_disk"), word("disk_path"))
    };
    let all: Vec<String> = files.iter().map(short).collect();
    assert_eq!(all, ["agents/child.yaml false same agents/child.yaml", "parent.yaml true same parent.yaml"]);
    assert_eq!((&files[0]["text"], &files[0]["current_text"]), (&json!(CHILD), &Json::Null));

    std::fs::write(folder.path().join("agents/child.yaml"), CHILD.replace("hello", "goodbye")).unwrap();
    std::fs::remove_file(folder.path().join("parent.yaml")).unwrap();
    let files = list_files(&server, &run).await;
    assert_eq!((&files[0]["on_disk"], &files[1]["on_disk"]), (&json!("changed"), &json!("gone")));
    assert_eq!((&files[0]["text"], &files[1]["entry"]), (&json!(CHILD), &json!(true)), "the run keeps its files");
    assert!(files[0]["current_text"].as_str().unwrap().contains("goodbye"), "{}", files[0]);
    let place = folder.path().display().to_string();
    assert!(!json!(files).to_string().contains(&place), "the place of the folder is shown");

    // What no flow uses any more is not read for a run, whatever its store says.
    std::fs::write(folder.path().join("parent.yaml"), PARENT.replace("ref: child", "ref: other")).unwrap();
    std::fs::write(folder.path().join("agents/other.yaml"), CHILD.replace("id: child", "id: other")).unwrap();
    std::fs::remove_file(folder.path().join("agents/child.yaml")).unwrap();
    let catalog = server.state.catalog.clone();
    tokio::task::spawn_blocking(move || catalog.current_snapshot()).await.unwrap();
    assert_eq!(short(&list_files(&server, &run).await[0]), "agents/child.yaml false gone agents/child.yaml");
    std::fs::write(folder.path().join("agents/child.yaml"), "notes: none of these flows").unwrap();
    let files = list_files(&server, &run).await;
    assert_eq!(short(&files[0]), "agents/child.yaml false elsewhere -", "{files:?}");
    assert!(!json!(files).to_string().contains("none of these"), "{files:?}");

    // The paths are those that a fork accepts.
    let edit = json!({ "files": { "agents/child.yaml": CHILD.replace("hello", "thanks") }, "dry_run": true });
    let fork = server.post_api(&format!("/{run}/fork"), &edit).await;
    assert_eq!(fork.status, 200, "{}", fork.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_saved_over_the_version_that_was_read_and_no_other() {
    let folder = new_project();
    let server = TestServer::start_editable(folder.path(), false).await;
    assert_eq!(server.api("GET", "/me").await.json()["edit"], true);
    let files = list_files(&server, "flows/parent").await;
    let (path, version) = (files[0]["path"].as_str().unwrap(), &files[0]["version"]);
    assert_eq!((path, files[1]["entry"].as_bool()), ("agents/child.yaml", Some(true)));
    let text = CHILD.replace("hello", "{{nobody}}");
    let saved = save(&server, path, &text, version).await;
    assert_eq!(saved.status, 200, "{}", saved.text);
    assert_eq!(read(folder.path(), path), text);
    let saved = saved.json();
    let names: Vec<&str> = saved["flows"].as_array().unwrap().iter().map(|one| one["flow"].as_str().unwrap()).collect();
    assert!(names.contains(&"parent") && names.contains(&"child"), "{saved}");
    // The text does not load, and what is wrong with it is at its line.
    let edits: Vec<&Json> = saved["flows"].as_array().unwrap().iter().filter(|one| one["flow"] == "child").collect();
    assert!(edits[0].to_string().contains("nobody"), "{saved}");
    assert!(!saved.to_string().contains(&folder.path().display().to_string()), "{saved}");

    let stale = save(&server, path, "mine", version).await;
    assert_eq!((stale.status, &stale.json()["code"]), (409, &json!("FILE_CHANGED")), "{}", stale.text);
    assert_eq!(stale.json()["current"], json!({ "version": saved["version"], "text": text }));
    assert_eq!(read(folder.path(), path), text, "the change of somebody else is still there");

    // The rest of the path may be written as it is, too.
    let body = json!({ "text": CHILD, "version": saved["version"] }).to_string();
    let again = server.request("PUT", &format!("/api/v1/files/{path}")).body(body).send().await.unwrap();
    assert_eq!(again.status().as_u16(), 200);
    let checks = server.api("GET", "/flows/child/checks").await.json();
    assert!(checks["edit"].is_null(), "the flows are loaded again at once: {checks}");

    std::fs::remove_file(folder.path().join(path)).unwrap();
    let gone = save(&server, path, "mine", &saved["version"]).await;
    assert_eq!((gone.status, gone.json()["current"].is_null()), (409, true), "{}", gone.text);
    assert!(!folder.path().join(path).exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_files_of_flows_are_saved_and_nothing_through_a_link() {
    let (folder, outside) = (new_project(), tempfile::tempdir().unwrap());
    for name in ["trefoil.toml", "notes.txt"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    std::fs::write(outside.path().join("child.yaml"), CHILD).unwrap();
    let server = TestServer::start_editable(folder.path(), false).await;
    let version = list_files(&server, "flows/parent").await[0]["version"].clone();
    let far = outside.path().join("child.yaml").display().to_string();
    let empty = json!("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    for path in ["trefoil.toml", "notes.txt", "new.yaml", "../child.yaml", "agents/../parent.yaml", &far] {
        for version in [&version, &empty] {
            let refused = save(&server, path, "x", version).await;
            assert_eq!((refused.status, &refused.json()["code"]), (404, &json!("FILE_NOT_FOUND")), "{path}");
        }
    }
    assert!(!folder.path().join("new.yaml").exists());

    #[cfg(unix)]
    {
        // The file of a flow is exchanged for a link after it was loaded.
        std::fs::remove_file(folder.path().join("agents/child.yaml")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("child.yaml"), folder.path().join("agents/child.yaml")).unwrap();
        let refused = save(&server, "agents/child.yaml", "x", &version).await;
        assert_eq!((refused.status, &refused.json()["code"]), (409, &json!("FILE_NOT_WRITABLE")), "{}", refused.text);
        assert_eq!(read(outside.path(), "child.yaml"), CHILD);
        assert!(!refused.text.contains(&outside.path().display().to_string()), "{}", refused.text);
        let files = list_files(&server, "flows/parent").await;
        assert!(files.iter().all(|file| file["path"] != "agents/child.yaml"), "{files:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_saved_only_with_the_option_and_only_by_an_admin() {
    let (folder, script) = (new_project(), shared_flows().1);
    let server = TestServer::start_with(folder.path(), &script).await;
    assert_eq!(server.api("GET", "/me").await.json()["edit"], false);
    let version = list_files(&server, "flows/parent").await[0]["version"].clone();
    let refused = save(&server, "agents/child.yaml", "x", &version).await;
    assert_eq!((refused.status, &refused.json()["code"]), (403, &json!("EDIT_NOT_ALLOWED")), "{}", refused.text);
    assert!(refused.text.contains("--edit"), "{}", refused.text);

    let keyed = TestServer::start_editable(folder.path(), true).await;
    let scopes = [KeyScope::Read, KeyScope::Run, KeyScope::Answer];
    let key = keyed.add_key(&scopes, &[]).await;
    let body = json!({ "text": "x", "version": version }).to_string();
    let put = keyed.request("PUT", "/api/v1/files/parent.yaml").header("authorization", &key).body(body);
    let refused = keyed.send(put).await;
    assert_eq!((refused.status, &refused.json()["code"]), (403, &json!("SCOPE_MISSING")), "{}", refused.text);
    let me = keyed.send(keyed.request("GET", "/api/v1/me").header("authorization", &key)).await;
    assert_eq!(me.json()["edit"], false);
    assert_eq!(read(folder.path(), "agents/child.yaml"), CHILD);

    // A manifest says the name of its flow: an admin of one flow could give it another one.
    let key = keyed.add_key(&[KeyScope::Admin], &["child"]).await;
    for path in ["parent.yaml", "agents%2Fchild.yaml"] {
        let body = json!({ "text": CHILD, "version": version }).to_string();
        let put = keyed.request("PUT", &format!("/api/v1/files/{path}")).header("authorization", &key).body(body);
        let reply = keyed.send(put).await;
        assert_eq!((reply.status, &reply.json()["code"]), (403, &json!("KEY_RESTRICTED")), "{path}: {}", reply.text);
    }
}
