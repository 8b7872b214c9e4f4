//! Many runs: two compared, those of a flow, and what the steps of all flows cost.

use serde_json::{Value as Json, json};
use trefoil_host::flow_history::{HistoryLimits, read_history};
use trefoil_server::KeyScope;
use trefoil_store::RunFilter;

use crate::test_server::TestServer;

/// What a comparison says of words: `a [-b-] {+c+}`.
fn words(parts: &Json) -> String {
    let mut text = String::new();
    for part in parts.as_array().unwrap() {
        let (name, words) = part.as_object().unwrap().iter().next().unwrap();
        let words = words.as_str().unwrap();
        text += &match name.as_str() {
            "same" => words.to_owned(),
            "removed" => format!("[-{words}-]"),
            _ => format!("{{+{words}+}}"),
        };
    }
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_comparison_begins_with_what_made_the_difference() {
    let server = TestServer::start().await;
    let a = server.run_flow("article", json!({ "topic": "river otters" })).await;
    let b = server.run_flow("article", json!({ "topic": "sea otters" })).await;
    let diff = server.api("GET", &format!("/runs/{a}/diff?with={b}")).await.json();
    assert_eq!(diff["input"].as_array().unwrap().len(), 1, "{diff}");
    let input = &diff["input"][0];
    assert_eq!(
        (&input["path"], &input["before"], &input["now"]),
        (&json!("topic"), &json!("river otters"), &json!("sea otters"))
    );
    assert_eq!(words(&input["words"]), "[-river-]{+sea+} otters");
    assert_eq!((&diff["files"], &diff["models"]), (&json!([]), &json!([])));
    let same = |step: &Json| (step["b"]["key"].as_str().unwrap().to_owned(), step["same"].as_bool().unwrap());
    let steps: Vec<_> = diff["steps"].as_array().unwrap().iter().map(same).collect();
    assert_eq!(steps, [("writer".to_owned(), false), ("editor".to_owned(), true)]);

    // An edit of the manifest.
    let trace = server.api("GET", &format!("/runs/{b}/trace")).await.json();
    let path = trace["sources"][0]["file"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let (flows, _) = crate::test_server::shared_flows();
    let text = std::fs::read_to_string(flows.join(&path)).unwrap();
    let edited = text.replace("Correct the text.", "Correct the text briefly.");
    let fork = json!({ "files": { path.clone(): edited } });
    let forked = server.post_api(&format!("/runs/{b}/fork"), &fork).await;
    assert_eq!(forked.status, 201, "{}", forked.text);
    let forked = forked.json()["run"].as_str().unwrap().to_owned();
    server.wait_status(&forked, trefoil_store::Status::Completed).await;
    let diff = server.api("GET", &format!("/runs/{b}/diff?with={forked}")).await.json();
    assert_eq!(diff["input"], json!([]));
    let file = &diff["files"][0];
    assert_eq!((&file["path"], &file["change"]), (&json!(path), &json!("changed")));
    assert!(words(&file["words"]).contains("Correct the text{+ briefly+}."), "{}", words(&file["words"]));
    assert_eq!(diff["steps"][0]["b"]["kept"]["run"], json!(b), "{diff}");

    // And its history: two versions, of which only one prompt differs.
    let history = server.api("GET", "/flows/article/history").await.json();
    assert_eq!(history["read"]["journals"], 3);
    assert_eq!(history["runs"][0]["run"], json!(forked));
    let counts: Vec<_> = history["versions"].as_array().unwrap().iter().map(|one| one["runs"].as_u64()).collect();
    assert_eq!(counts, [Some(1), Some(2)], "{history}");
    assert_eq!(history["versions"][0]["version"], history["runs"][0]["version"]);
    let prompts = |step: &str| {
        let all = history["prompts"].as_array().unwrap();
        all.iter().find(|prompt| prompt["step"] == step).unwrap()["versions"].as_array().unwrap().clone()
    };
    let (writer, editor) = (prompts("writer"), prompts("editor"));
    assert_eq!((writer.len(), editor.len()), (1, 2), "{history}");
    assert_ne!(editor[0]["version"], editor[1]["version"]);
    assert_eq!((&editor[0]["used"]["calls"], &editor[1]["used"]["calls"]), (&json!(1), &json!(2)));
    assert_eq!((&writer[0]["used"]["calls"], &writer[0]["used"]["reused"]), (&json!(2), &json!(1)));
    assert_eq!(editor[0]["last_run"], json!(forked));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn costs_are_told_by_flow_and_by_step_of_the_runs_in_the_time_that_is_asked_for() {
    let server = TestServer::start().await;
    for topic in ["a", "b"] {
        server.run_flow("article", json!({ "topic": topic })).await;
    }
    server.run_flow("greeter", json!("hi")).await;
    server.run_flow("failing", json!("hi")).await;
    let costs = server.api("GET", "/costs").await.json();
    let step = |name: &str| {
        let steps = costs["steps"].as_array().unwrap();
        steps.iter().find(|step| step["step"] == name).unwrap_or_else(|| panic!("{name}: {costs}")).clone()
    };
    let editor = step("editor");
    assert_eq!((&editor["flow"], &editor["calls"], &editor["runs"]), (&json!("article"), &json!(2), &json!(2)));
    assert_eq!((&editor["tokens"]["input"], &editor["tokens"]["output"]), (&json!(40), &json!(14)));
    assert_eq!(step("failing")["failed"], 1, "{costs}");
    let flow = costs["flows"].as_array().unwrap().iter().find(|one| one["flow"] == "failing").unwrap();
    assert_eq!((&flow["runs"], &flow["failed"]), (&json!(1), &json!(1)));
    assert_eq!((&costs["read"]["runs"], &costs["read"]["journals"]), (&json!(4), &json!(4)));

    let later = server.api("GET", "/costs?since=2999-01-01T00:00:00Z").await.json();
    assert_eq!((&later["steps"], &later["read"]["runs"]), (&json!([]), &json!(0)));
    assert_eq!(server.api("GET", "/costs?since=yesterday").await.status, 400);
    assert_eq!(server.api("GET", "/flows/none/history").await.status, 404);
    assert_eq!(server.api("GET", "/flows/panel/history").await.json()["runs"], json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_learns_only_of_the_flows_and_runs_that_it_may_see() {
    let server = TestServer::start_with_keys().await;
    let owner = server.add_key(&[KeyScope::Read, KeyScope::Run], &[]).await;
    let other = server.add_key(&[KeyScope::Read], &[]).await;
    let of_echo = server.add_key(&[KeyScope::Admin], &["echo"]).await;
    let begun = server.post_api("/runs", &json!({})).await;
    assert_eq!(begun.status, 401);
    let start =
        server.post("/api/v1/runs", &json!({ "flow": "article", "input": { "topic": "a" }, "wait_seconds": 20 }));
    assert!(server.send(start.header("authorization", &owner)).await.status < 300);
    let ask = async |key: &str, path: &str| {
        server.send(server.request("GET", &format!("/api/v1{path}")).header("authorization", key)).await
    };
    assert_eq!(ask(&owner, "/costs").await.json()["read"]["runs"], 1);
    assert_eq!(ask(&owner, "/flows/article/history").await.json()["runs"].as_array().unwrap().len(), 1);
    for key in [&other, &of_echo] {
        let costs = ask(key, "/costs").await.json();
        assert_eq!((&costs["steps"], &costs["flows"]), (&json!([]), &json!([])));
    }
    assert_eq!(ask(&other, "/flows/article/history").await.json()["runs"], json!([]));
    assert_eq!(ask(&of_echo, "/flows/article/history").await.status, 404);
    let runner = server.add_key(&[KeyScope::Answer], &[]).await;
    assert_eq!(ask(&runner, "/costs").await.status, 403);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_is_read_than_the_limits_allow_and_the_answer_says_so() {
    let server = TestServer::start().await;
    for topic in ["a", "b", "c"] {
        server.run_flow("article", json!({ "topic": topic })).await;
    }
    let read = async |limits| {
        let accepts = |_: &trefoil_store::Record| true;
        read_history(&**server.state.store(), &RunFilter::default(), &accepts, limits, true).await.unwrap()
    };
    let all = HistoryLimits::default();
    let journals = read(HistoryLimits { journals: 2, ..all }).await;
    assert_eq!((journals.records.len(), journals.journals, journals.steps[0].calls), (3, 2, 2));
    let records = read(HistoryLimits { records: 1, ..all }).await;
    assert_eq!((records.records.len(), records.has_more, records.journals), (1, true, 1));
    let entries = read(HistoryLimits { entries: 3, ..all }).await;
    assert_eq!(entries.journals, 1, "the first page has more entries than were allowed");
    let programs = read(HistoryLimits { programs: 0, ..all }).await;
    assert_eq!(programs.prompts[0].versions[0].version, None);
}
