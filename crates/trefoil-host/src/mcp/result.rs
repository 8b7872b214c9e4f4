//! The result of a call: the output of its run, why it failed, or how to answer its questions.

use super::answer_route::AnswerRoute;
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
pub async fn run_result(run: Run, declined: &[String], route: &AnswerRoute) -> CallToolResult {
    let id = run.id().to_owned();
    let mut result = match run.wait_output::<Json>().await {
        Ok(output) => {
            let text = Value::from_json(output.clone()).to_text().to_string();
            let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
            result.structured_content = if output.is_object() { Some(output) } else { None };
            result
        }
        Err(Error::Failed(failure)) if !failure.run_outcome().waiting.is_empty() => {
            open(&id, &failure.run_outcome().waiting, declined, route)
        }
        Err(error) => {
            let mut lines = Vec::new();
            for step in declined {
                lines.push(format!("the client declined to answer `{step}`"));
            }
            lines.push(route.error_text(&error.to_string()));
            error_result(lines.join("\n"))
        }
    };
    let mut meta = MetaObject::new();
    meta.insert("trefoil/run".to_owned(), id.into());
    result.meta = Some(meta);
    result
}

/// The result of a run that waits for people.
fn open(run: &str, all: &[AwaitedActivity], declined: &[String], route: &AnswerRoute) -> CallToolResult {
    let mut lines = Vec::new();
    for step in declined {
        lines.push(format!("the client declined to answer `{step}`, so the question stays open"));
    }
    lines.push("the run is waiting for a person".to_owned());
    let found = match route {
        AnswerRoute::Commands(options) => open_for_commands(run, all, options, &mut lines),
        AnswerRoute::NotStored => open_for_commands(run, all, &RunOptions::default(), &mut lines),
        AnswerRoute::Requests(_) => open_for_requests(run, all, &mut lines),
    };
    let mut result = error_result(lines.join("\n"));
    result.structured_content = Some(found);
    result
}

/// What is waited for, with the commands that answer.
fn open_for_commands(run: &str, all: &[AwaitedActivity], options: &RunOptions, lines: &mut Vec<String>) -> Json {
    let mut questions = Vec::new();
    for item in all {
        let commands = answer_commands(run, item, all, options);
        lines.push(waiting_line(item, all));
        lines.extend(commands.iter().map(|command| format!("  {command}")));
        let mut question = question_json(run, item);
        if let Some(members) = question.as_object_mut() {
            members.insert("commands".to_owned(), commands.into());
        }
        questions.push(question);
    }
    let resume = options.resume_command(run, &[]);
    lines.push(format!("then continue with: {resume}"));
    json!({ "run": run, "status": "waiting", "waiting": questions, "resume": resume })
}

/// What is waited for, with the request that answers. The server then continues the run.
fn open_for_requests(run: &str, all: &[AwaitedActivity], lines: &mut Vec<String>) -> Json {
    let path = format!("/api/v1/runs/{run}/answers");
    let mut questions = Vec::new();
    for item in all {
        lines.push(waiting_line(item, all));
        let body = json!({ "step": item.step_path(), "value": "ANSWER" });
        lines.push(format!("  to answer: POST {path} {body}"));
        questions.push(question_json(run, item));
    }
    lines.push(format!("it is run {run}, and goes on when it is answered"));
    json!({ "run": run, "status": "waiting", "waiting": questions, "answer": { "method": "POST", "path": path } })
}

fn question_json(run: &str, item: &AwaitedActivity) -> Json {
    json!({
        "run": item.run.as_deref().unwrap_or(run),
        "step": item.step,
        "key": item.key,
        "question": item.prompt,
        "accepts": item.accepts,
    })
}
