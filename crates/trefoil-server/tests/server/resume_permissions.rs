//! Runs that stopped before something that somebody has to allow.

use serde_json::json;
use trefoil_store::Status;

use crate::test_server::TestServer;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_is_raised_by_whoever_continues_the_run() {
    let server = TestServer::start().await;
    let first = server.run_flow("article", json!({ "topic": "otters" })).await;
    // Only a run that reuses results stops at its limit and waits; any other fails.
    let fork = json!({ "from": "writer", "input": { "topic": "seals" }, "max_calls": 1 });
    let begun = server.post_api(&format!("/runs/{first}/fork"), &fork).await;
    assert_eq!(begun.status, 201, "{}", begun.text);
    let run = begun.json()["run"].as_str().unwrap().to_owned();
    server.wait_status(&run, Status::Waiting).await;
    let detail = server.api("GET", &format!("/runs/{run}")).await.json();
    assert_eq!(detail["stopped"]["code"], "BUDGET_EXCEEDED", "{detail}");
    let enough = detail["stopped"]["raise"]["calls"].as_u64().unwrap();

    let resume = format!("/runs/{run}/resume");
    let wrong = server.post_api(&resume, &json!({ "max_call": 5 })).await;
    assert_eq!(wrong.status, 400, "{}", wrong.text);
    let resumed = server.post_api(&resume, &json!({ "max_calls": enough })).await;
    assert_eq!(resumed.status, 202, "{}", resumed.text);
    server.wait_status(&run, Status::Completed).await;
}
