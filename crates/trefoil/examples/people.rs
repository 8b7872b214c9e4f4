//! People who answer: a workflow asks, and the program decides who answers and how.
//!
//! `cargo run -p trefoil --example people`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for a terminal")]

use std::io::BufRead as _;

use async_trait::async_trait;
use trefoil::ports::{CallSite, HumanInbox, HumanRequest, QuestionState};
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
        - { condition: input_equals_yes, target: YES }
        - { condition: input_equals_no, target: WHY }
    YES: { kind: Human, prompt: "Where?", transitions: [] }
    WHY: { kind: Human, prompt: "Why not?", transitions: [] }
"#;

/// Whoever sits at the terminal.
struct Terminal;

#[async_trait]
impl HumanInbox for Terminal {
    async fn ask_question(&self, _at: CallSite<'_>, request: &HumanRequest) -> QuestionState {
        eprintln!("{} {}", request.step, request.prompt.to_text());
        let read = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            std::io::stdin().lock().read_line(&mut line).map(|bytes| (bytes > 0).then(|| line.trim().to_owned()))
        });
        // Nobody: the run uses the default of the step, or fails. `Asked::Later` would suspend a run that is stored.
        match read.await {
            Ok(Ok(Some(answer))) => QuestionState::Answer(answer),
            _ => QuestionState::Nobody,
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> trefoil::Result<()> {
    let gate = Flow::from_text("gate.yaml", GATE)?;
    let engine = Engine::new().humans(Terminal).answer("ASK", "yes"); // known before the run, so nobody is asked
    let mut run = engine.start_run(&gate, ())?;
    while let Some(event) = run.next_event().await {
        eprintln!("{event}");
    }
    println!("{}", run.wait_output::<serde_json::Value>().await?);
    Ok(())
}
