//! Runs that are kept: one that waits for a person is suspended, answered through the store, and resumed.
//!
//! `cargo run -p trefoil --features store --example stored`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for a terminal")]

use std::sync::Arc;

use trefoil::store::{Letter, LetterKind, Options, SqliteStore, Status, Store as _};
use trefoil::{Engine, Flow};

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

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let store = Arc::new(SqliteStore::open(folder.path().join("runs.db"), Options::default())?);
    let engine = Engine::new().store(store.clone()).answer("DONE", "everywhere");
    let gate = Flow::from_text("gate.yaml", GATE)?;

    let run = engine.start(&gate, ())?;
    let id = run.id().to_owned();
    let outcome = run.outcome().await;
    let seen = store.record(&id).await?.entries;
    for question in &outcome.waiting {
        println!("{} asks: {}", question.step, question.prompt.as_deref().unwrap_or_default());
        // Any process may send the answer. The first one counts.
        let (key, value, at, as_of) = (question.key.to_string(), "yes".into(), 0, seen);
        store.post(&id, Letter { kind: LetterKind::Answer, key, value, at, as_of }).await?;
    }
    let output: serde_json::Value = engine.resume(&id).await?.output().await?;
    println!("{output}");
    assert_eq!(store.record(&id).await?.status, Status::Completed);
    Ok(())
}
