//! Your own model provider, whose text arrives piece by piece: it answers every model call, and the program prints the text as it
//! arrives.
//!
//! `cargo run -p trefoil --example provider`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for a terminal")]

use async_trait::async_trait;
use trefoil::ports::{
    CallSite, MessageRole, ModelAnswer, ModelError, ModelErrorKind, ModelProvider, ModelRequest, Usage,
};
use trefoil::{Engine, EventKind, Flow};

/// Answers with the words of the prompt, backwards.
struct Backwards;

#[async_trait]
impl ModelProvider for Backwards {
    async fn call_model(
        &self,
        _at: CallSite<'_>,
        request: &ModelRequest,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let prompt = request.messages.iter().rfind(|message| message.role == MessageRole::User);
        let Some(prompt) = prompt.map(|message| message.content.to_text().to_string()) else {
            return Err(ModelError::new(ModelErrorKind::Protocol, "there is no prompt"));
        };
        let mut text = String::new();
        for word in prompt.split_whitespace().rev() {
            let word = format!("{word} ");
            // Only what streams is passed on as it arrives; the answer is complete in both cases.
            if request.stream {
                delta(&word);
            }
            text.push_str(&word);
        }
        let tokens = prompt.split_whitespace().count() as u64;
        let usage = Usage { input_tokens: tokens, output_tokens: tokens, ..Usage::default() };
        Ok(ModelAnswer { text, usage, model: Some("backwards-1".to_owned()), ..ModelAnswer::default() })
    }

    fn label(&self, _request: &ModelRequest) -> String {
        "backwards".to_owned()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> trefoil::Result<()> {
    let echo =
        "id: echo\nkind: llm\nmodel: { provider: openai, name: any }\ninstruction: Answer.\nprompt: one two three\n";
    let flow = Flow::from_text("echo.yaml", echo)?;
    let mut run = Engine::new().provider(Backwards).start_run(&flow, ())?;
    while let Some(event) = run.next_event().await {
        if let EventKind::TextDelta { text, .. } = &event.kind {
            eprint!("{text}");
        }
    }
    eprintln!();
    println!("{}", run.wait_output::<String>().await?);
    Ok(())
}
