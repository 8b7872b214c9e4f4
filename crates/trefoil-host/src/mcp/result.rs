//! The result of a call: the output of its run, why it failed, or how to answer its questions.

use crate::Run;
use crate::command::RunOptions;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::{Value as Json, json};
use trefoil_machine::event::AwaitedActivity;
use trefoil_project::Error;
use trefoil_template::Value;

use crate::waiting_messages::{answer_commands, waiting_line};

/// The result of a call that failed, for a model.
pub fn error_result(why: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(why.into())])
}

/// The result of a run. `declined`: the steps whose questions the client has declined.
pub async fn run_result(run: Run, declined: &[String], options: &RunOptions) -> CallToolResult {
    let id = run.id().to_owned();
    let mut result = match run.wait_output::<Json>().await {
        Ok(output) => {
            let text = Value::from_json(output.clone()).to_text().to_string();
            let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
            result.structured_content = if output.is_object() { Some(output) } else { None };
            result
        }
        Err(Error::Failed(failure)) if !failure.run_outcome().waiting.is_empty() => {
            open(&id, &failure.run_outcome().waiting, declined, options)
        }
        Err(error) => {
            let mut lines = Vec::new();
            for step in declined {
                lines.push(format!("the client declined to answer `{step}`"));
            }
            lines.push(error.to_string());
            error_result(lines.join("\n"))
        }
    };
    let mut meta = MetaObject::new();
    meta.insert("trefoil/run".to_owned(), id.into());
    result.meta = Some(meta);
    result
}

/// The result of a run that waits for people.
fn open(run: &str, all: &[AwaitedActivity], declined: &[String], options: &RunOptions) -> CallToolResult {
    let mut lines = Vec::new();
    for step in declined {
        lines.push(format!("the client declined to answer `{step}`, so the question stays open"));
    }
    lines.push("the run is waiting for a person".to_owned());
    let mut questions = Vec::new();
    for item in all {
        let commands = answer_commands(run, item, all, options);
        lines.push(waiting_line(item, all));
        lines.extend(commands.iter().map(|command| format!("  {command}")));
        questions.push(json!({
            "run": item.run.as_deref().unwrap_or(run),
            "step": item.step,
            "key": item.key,
            "question": item.prompt,
            "accepts": item.accepts,
            "commands": commands,
        }));
    }
    let resume = options.resume_command(run, &[]);
    lines.push(format!("then continue with: {resume}"));
    let mut result = error_result(lines.join("\n"));
    result.structured_content =
        Some(json!({ "run": run, "status": "waiting", "waiting": questions, "resume": resume }));
    result
}
