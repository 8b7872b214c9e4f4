//! Edits of a run's files: what their prompts would be, one step alone, and what is kept of it afterwards.

use serde_json::{Value as Json, json};
use trefoil_store::Status;

use crate::test_server::{TestServer, shared_flows};

/// The files of the flow with other prompts.
fn edited_files() -> Json {
    let text = std::fs::read_to_string(shared_flows().0.join("article.yaml")).unwrap();
    let edited = text.replace("prompt: \"{{topic}}\"", "prompt: \"Say it of {{topic}}, please.\"");
    assert_ne!(text, edited);
    let edited = edited.replace("instruction: Correct the text.", "instruction: Shorten the text.");
    json!({ "article.yaml": edited })
}

fn step<'t>(trace: &'t Json, key: &str) -> Option<&'t Json> {
    trace["steps"].as_array().unwrap().iter().find(|step| step["key"].as_str().unwrap().ends_with(key))
}

/// The text of the last message of a step's first call.
fn prompt_of<'t>(trace: &'t Json, key: &str) -> &'t str {
    let messages = step(trace, key).unwrap()["calls"][0]["messages"].as_array().unwrap();
    messages.last().unwrap()["content"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompts_of_edited_files_are_shown_with_the_data_of_the_run() {
    let server = TestServer::start().await;
    let run = server.run_flow("article", json!({ "topic": "otters" })).await;
    let before = server.api("GET", &format!("/runs/{run}/trace")).await;
    let path = format!("/runs/{run}/prompts");

    let reply = server.post_api(&path, &json!({ "files": edited_files() })).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let preview = reply.json();
    assert_eq!(prompt_of(&preview, "writer"), "Say it of otters, please.");
    // Its answer stands in for the one that the edited prompt would get.
    assert_eq!(prompt_of(&preview, "editor"), prompt_of(&before.json(), "editor"));

    let one = server.post_api(&path, &json!({ "files": edited_files(), "step": "editor" })).await.json();
    assert!(step(&one, "editor").is_some() && step(&one, "writer").is_none(), "{one}");
    let unedited = server.post_api(&path, &json!({})).await.json();
    assert_eq!(prompt_of(&unedited, "writer"), "otters");

    let broken = server.post_api(&path, &json!({ "files": { "article.yaml": "id: article\nkind: [" } })).await;
    assert_eq!(broken.status, 422, "{}", broken.text);
    assert_eq!(server.run_count().await, 1, "a preview is no run");
    assert_eq!(server.api("GET", &format!("/runs/{run}/trace")).await.text, before.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_step_is_tried_alone_and_its_answer_is_kept() {
    let server = TestServer::start().await;
    let run = server.run_flow("article", json!({ "topic": "otters" })).await;
    let try_writer = json!({ "files": edited_files(), "from": "writer", "only": true, "max_calls": 1 });

    let begun = server.post_api(&format!("/runs/{run}/fork"), &try_writer).await;
    assert_eq!(begun.status, 201, "{}", begun.text);
    let tried = begun.json()["run"].as_str().unwrap().to_owned();
    server.wait_status(&tried, Status::Cancelled).await;
    let trace = server.api("GET", &format!("/runs/{tried}/trace")).await.json();
    assert_eq!(prompt_of(&trace, "writer"), "Say it of otters, please.");
    assert!(step(&trace, "writer").unwrap()["output"].is_string(), "{trace}");
    assert!(step(&trace, "editor").is_none_or(|step| step["calls"].as_array().unwrap().is_empty()), "{trace}");
    assert_eq!(trace["calls"], 1);

    // What was tried is paid for: a run of the same edit has its answer.
    let go_on = json!({ "files": edited_files(), "dry_run": true });
    let preview = server.post_api(&format!("/runs/{tried}/fork"), &go_on).await.json();
    let decisions: Vec<_> = preview["steps"].as_array().unwrap().iter().map(|step| &step["decision"]).collect();
    assert_eq!(decisions[0], "kept", "{preview}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_step_alone_keeps_all_before_it() {
    let server = TestServer::start().await;
    let run = server.run_flow("article", json!({ "topic": "otters" })).await;
    let try_editor = json!({ "from": "editor", "only": true });
    let begun = server.post_api(&format!("/runs/{run}/fork"), &try_editor).await;
    let tried = begun.json()["run"].as_str().unwrap().to_owned();
    server.wait_status(&tried, Status::Completed).await;
    let trace = server.api("GET", &format!("/runs/{tried}/trace")).await.json();
    assert_eq!(trace["calls"], 1, "{trace}");

    let nameless = server.post_api(&format!("/runs/{run}/fork"), &json!({ "only": true })).await;
    assert_eq!(nameless.status, 400);
    let unknown = server.post_api(&format!("/runs/{run}/fork"), &json!({ "only": true, "from": "nobody" })).await;
    assert_eq!(unknown.status, 422, "{}", unknown.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_cannot_run_alone_is_refused_before_anything_is_paid() {
    let server = TestServer::start().await;
    let run = server.run_flow("article", json!({ "topic": "otters" })).await;
    let fork = format!("/runs/{run}/fork");
    // The edit changes both prompts, so the second step needs the answer of the first.
    let body = json!({ "files": edited_files(), "from": "editor", "only": true });
    let with_others = |text: String| json!({ "article.yaml": text });
    let text = std::fs::read_to_string(shared_flows().0.join("article.yaml")).unwrap();
    let reply = server.post_api(&fork, &body).await;
    assert_eq!(reply.status, 422, "{}", reply.text);
    assert!(reply.text.contains("run `writer` first"), "{}", reply.text);
    assert_eq!(server.run_count().await, 1);

    // A step that the edit renames runs under its new name.
    let renamed = text.replace("id: editor", "id: corrector").replace("{{editor}}", "{{corrector}}");
    let renamed = renamed.replace("instruction: Correct the text.", "instruction: Shorten the text.");
    let body = json!({ "files": with_others(renamed), "from": "corrector", "only": true });
    let begun = server.post_api(&fork, &body).await;
    assert_eq!(begun.status, 201, "{}", begun.text);
    let tried = begun.json()["run"].as_str().unwrap().to_owned();
    server.wait_status(&tried, Status::Completed).await;
    assert_eq!(server.api("GET", &format!("/runs/{tried}")).await.json()["calls"], 1);
}
