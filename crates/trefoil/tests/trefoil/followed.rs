//! Runs that one process submits, another drives, and a third follows and answers.

use std::sync::Arc;
use std::time::Duration;

use trefoil::store::{SqliteStore, Status, Store, StoreOptions};
use trefoil::{AnswerRefusal, Engine, EventKind, Flow, RunCancellation, Runs};

const GATE: &str = r#"
apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata: { name: gate, version: "1.0.0" }
spec:
  initial_state: ASK
  states:
    ASK:
      kind: Human
      prompt: Publish it?
      transitions:
        - { condition: input_equals_yes, target: DONE }
        - { condition: input_equals_no, target: DONE }
    DONE: { kind: Human, prompt: "Where?", transitions: [] }
"#;

fn opened(folder: &tempfile::TempDir) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(folder.path().join("runs.db"), StoreOptions::default()).unwrap())
}

/// Each has a connection of its own, as processes have.
#[tokio::test]
async fn a_run_is_followed_and_answered_by_others_than_drive_it() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::new().store(opened(&folder)).answer("DONE", "everywhere");
    let run = engine.submit_run(&Flow::from_text("gate.yaml", GATE).unwrap(), ()).await.unwrap();
    let runs = Runs::new(opened(&folder));
    assert_eq!(runs.record(&run).await.unwrap().status, Status::Pending);

    let others = Runs::new(opened(&folder));
    let followed = run.clone();
    let follower = tokio::spawn(async move {
        let mut follower = others.follow_run(&followed).await.unwrap();
        let mut kinds = Vec::new();
        while let Some(event) = follower.next_event().await.unwrap() {
            if let EventKind::RunSuspended { .. } = event.kind {
                let waiting = others.waiting_steps(&followed).await.unwrap();
                let question = waiting.first().unwrap();
                let refused = others.answer_question(&followed, question, "perhaps", None).await;
                assert!(matches!(refused, Err(AnswerRefusal::NotAccepted(words)) if words == ["yes", "no"]));
                others.answer_question(&followed, question, " Yes", None).await.unwrap();
                let late = others.answer_question(&followed, question, "no", None).await;
                assert!(matches!(late, Err(AnswerRefusal::Settled(Some(_)))), "{late:?}");
            }
            kinds.push(event.kind.name());
        }
        kinds
    });
    let first = engine.resume_run(&run).await.unwrap().wait_outcome().await;
    assert!(first.suspended);
    while runs.store().read_inbox(&run).await.unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let output: serde_json::Value = engine.resume_run(&run).await.unwrap().wait_output().await.unwrap();
    assert!(output.to_string().contains("everywhere"), "{output}");
    let kinds = tokio::time::timeout(Duration::from_secs(60), follower).await.unwrap().unwrap();
    assert_eq!((kinds.first().copied(), kinds.last().copied()), (Some("run_started"), Some("run_finished")));
    // Whoever comes later sees the same.
    let mut again = runs.follow_run(&run).await.unwrap();
    let mut all = Vec::new();
    while let Some(event) = again.next_event().await.unwrap() {
        all.push(event.kind.name());
    }
    assert_eq!(all, kinds);
}

#[tokio::test]
async fn a_run_that_nobody_drives_is_cancelled_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::new().store(opened(&folder));
    let run = engine.submit_run(&Flow::from_text("gate.yaml", GATE).unwrap(), ()).await.unwrap();
    let runs = Runs::new(opened(&folder));
    assert!(matches!(runs.cancel_run(&run).await.unwrap(), RunCancellation::Ended(_)));
    assert!(runs.cancel_run(&run).await.is_err());
    assert_eq!(runs.record(&run).await.unwrap().status, Status::Cancelled);
}

#[tokio::test]
async fn a_run_needs_a_store_to_be_submitted() {
    let refused = Engine::new().submit_run(&Flow::from_text("gate.yaml", GATE).unwrap(), ()).await;
    assert!(refused.unwrap_err().to_string().contains("store"));
}
