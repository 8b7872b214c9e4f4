//! A run that is kept: this process drives it, and another one follows it and answers its question.
//!
//! `cargo run -p trefoil --example stored`
#![allow(clippy::print_stdout, reason = "a program for a terminal")]

use std::{env, error::Error, process::Command, sync::Arc, time::Duration};

use trefoil::store::{SqliteStore, StoreOptions};
use trefoil::{AnswerSender, Engine, EventKind, Flow, Runs};

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
      transitions: [{ condition: input_equals_yes, target: DONE }, { condition: input_equals_no, target: DONE }]
    DONE: { kind: Human, prompt: "Where?", transitions: [] }
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    match env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [store, run] => follow(store, run).await,
        _ => drive().await,
    }
}

/// What a server does for a client: it needs the store, and neither models nor keys.
async fn follow(store: &str, run: &str) -> Result<(), Box<dyn Error>> {
    let runs = Runs::new(Arc::new(SqliteStore::open(store, StoreOptions::default())?));
    let mut follower = runs.follow_run(run).await?;
    while let Some(event) = follower.next_event().await? {
        println!("{event}");
        if let EventKind::RunSuspended { waiting, .. } = &event.kind {
            for question in waiting {
                let sender = AnswerSender::new("the example", "another process");
                runs.answer_question(run, question, "yes", Some(sender)).await?;
            }
        }
    }
    Ok(())
}

/// What `trefoil worker` does for many runs.
async fn drive() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("runs.db");
    let store = Arc::new(SqliteStore::open(&path, StoreOptions::default())?);
    let engine = Engine::new().store(store.clone()).answer("DONE", "everywhere");
    let runs = Runs::new(store);
    let run = engine.submit_run(&Flow::from_text("gate.yaml", GATE)?, ()).await?;
    let mut other = Command::new(env::current_exe()?).arg(&path).arg(&run).spawn()?;
    while engine.resume_run(&run).await?.wait_outcome().await.suspended {
        while runs.waiting_steps(&run).await?.iter().any(|question| question.settled.is_none()) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    assert!(other.wait()?.success());
    Ok(())
}
