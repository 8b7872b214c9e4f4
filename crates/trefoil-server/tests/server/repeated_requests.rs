//! The same request again, with an `Idempotency-Key`: after its answer was lost, and at the same time.

use std::collections::BTreeSet;

use serde_json::json;
use trefoil_store::Status;

use crate::test_server::TestServer;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_requests_at_the_same_time_start_one_run() {
    let server = TestServer::start().await;
    let base = server.run_flow("article", json!({ "topic": "a" })).await;
    let start = json!({ "flow": "echo", "input": "hi", "labels": { "n": "1" } });
    let fork = json!({ "from": "editor", "labels": { "n": "2" } });
    let before = server.run_count().await;
    for (path, body, other) in [
        ("/runs".to_owned(), start, json!({ "flow": "echo", "input": "hello", "labels": { "n": "1" } })),
        (format!("/runs/{base}/fork"), fork, json!({ "from": "writer", "labels": { "n": "2" } })),
    ] {
        let key = path.replace('/', "-");
        let send = || server.post_keyed(&path, &key, &body);
        let replies = [tokio::join!(send(), send(), send(), send())];
        let mut runs = BTreeSet::new();
        for (a, b, c, d) in replies {
            for reply in [a, b, c, d, send().await] {
                assert_eq!(reply.status, 201, "{}", reply.text);
                let run = reply.json()["run"].as_str().unwrap().to_owned();
                assert_eq!(reply.header("location"), format!("/api/v1/runs/{run}"));
                runs.insert(run);
            }
        }
        assert_eq!(runs.len(), 1, "{path}");
        let reused = server.post_keyed(&path, &key, &other).await;
        assert_eq!((reused.status, &reused.json()["code"]), (422, &json!("IDEMPOTENCY_KEY_REUSED")));
    }
    assert_eq!(server.run_count().await, before + 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_given_once_and_a_repeated_request_learns_that_it_was() {
    let server = TestServer::start().await;
    let run = server.run_flow("approval", json!({ "task": "News" })).await;
    let path = format!("/runs/{run}/answers");
    let no = json!({ "step": "ASK", "value": "no" });
    // What is refused leaves no trace: the same request may succeed later.
    let wrong = server.post_keyed(&path, "w", &json!({ "step": "NONE", "value": "no" })).await;
    assert_eq!(wrong.json()["code"], "NOT_ASKED");
    let refused = server.post_keyed(&path, "r", &json!({ "step": "ASK", "value": "perhaps" })).await;
    assert_eq!(refused.status, 422, "{}", refused.text);

    let (a, b, c) = tokio::join!(
        server.post_keyed(&path, "k", &no),
        server.post_keyed(&path, "k", &no),
        server.post_keyed(&path, "other", &no)
    );
    let mut statuses = [a.status, b.status];
    statuses.sort_unstable();
    // One of the two keys was first, with all of its requests.
    assert_eq!(statuses[0], statuses[1], "{} {}", a.text, b.text);
    assert!([(202, 409), (409, 202)].contains(&(a.status, c.status)), "{} {}", a.text, c.text);
    let (won, lost) = if a.status == 202 { ("k", "other") } else { ("other", "k") };
    let reused = server.post_keyed(&path, won, &json!({ "step": "ASK", "value": "yes" })).await;
    assert_eq!((reused.status, &reused.json()["code"]), (422, &json!("IDEMPOTENCY_KEY_REUSED")));

    // The answer goes from the inbox to the journal, and the run ends.
    assert_eq!(server.api("POST", &format!("/runs/{run}/resume")).await.status, 202);
    let ended = async || server.state.store().record(&run).await.unwrap().status.is_end();
    while !ended().await {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(server.post_keyed(&path, won, &no).await.status, 202);
    assert_eq!(server.post_keyed(&path, lost, &no).await.status, 409);
    assert_eq!(server.post_api(&path, &no).await.status, 409);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_resumed_once_for_equal_requests() {
    let server = TestServer::start().await;
    let run = server.run_flow("failing", json!("hi")).await;
    let path = format!("/runs/{run}/resume");
    let nothing = json!({});
    let send = || server.post_keyed(&path, "k", &nothing);
    let (a, b, c) = tokio::join!(send(), send(), send());
    assert_eq!([a.status, b.status, c.status], [202; 3], "{} {} {}", a.text, b.text, c.text);
    server.wait_status(&run, Status::Failed).await;
    let calls = async || server.state.store().record(&run).await.unwrap().spent.calls;
    assert_eq!(calls().await, 2);
    assert_eq!(send().await.status, 202);
    assert_eq!(calls().await, 2);
    let other = server.run_flow("failing", json!("hi")).await;
    let reused = server.post_keyed(&format!("/runs/{other}/resume"), "k", &json!({})).await;
    assert_eq!((reused.status, &reused.json()["code"]), (422, &json!("IDEMPOTENCY_KEY_REUSED")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_of_agntz_with_a_key_may_leave_and_come_back() {
    let server = TestServer::start().await;
    for path in ["/run", "/run/stream"] {
        let request = |client: &reqwest::Client| {
            let sent = client.post(format!("{}{path}", server.url)).header("content-type", "application/json");
            sent.header("idempotency-key", path).body(json!({ "agentId": "slow", "input": "hi" }).to_string())
        };
        let client = crate::test_server::new_client();
        let before = server.runs_of("slow").await.len();
        let asking = tokio::spawn(request(&client).send());
        while server.runs_of("slow").await.len() == before {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        asking.abort();
        let _ = asking.await;
        drop(client);
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        assert_eq!(server.runs_of("slow").await[0].status, Status::Running, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_meets_a_deletion_is_kept_or_told_that_the_run_is_gone() {
    let server = TestServer::start().await;
    for _ in 0..20 {
        let run = server.run_flow("approval", json!({ "task": "News" })).await;
        let answer = json!({ "step": "ASK", "value": "no" });
        let path = format!("/runs/{run}/answers");
        let own = format!("/runs/{run}");
        let (answered, deleted) = tokio::join!(server.post_api(&path, &answer), server.api("DELETE", &own));
        assert!([202, 404, 409, 410].contains(&answered.status), "{}", answered.text);
        assert!([204, 409].contains(&deleted.status), "{}", deleted.text);
        assert!(deleted.status == 204 || answered.status == 202, "{} {}", answered.text, deleted.text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_not_deleted_with_an_answer_with_which_it_goes_on() {
    let server = TestServer::start().await;
    let run = server.run_flow("approval", json!({ "task": "News" })).await;
    // Nothing continues runs in this process.
    let answer = json!({ "step": "ASK", "value": "no" });
    assert_eq!(server.post_api(&format!("/runs/{run}/answers"), &answer).await.status, 202);
    let own = format!("/runs/{run}");
    let refused = server.api("DELETE", &own).await;
    assert_eq!((refused.status, &refused.json()["code"]), (409, &json!("RUN_HELD")), "{}", refused.text);
    assert_eq!(server.api("POST", &format!("{own}/cancel")).await.status, 200);
    assert_eq!(server.api("DELETE", &own).await.status, 204);
    let waiting = server.run_flow("approval", json!({ "task": "News" })).await;
    assert_eq!(server.api("DELETE", &format!("/runs/{waiting}")).await.status, 204);
}
