//! `trefoil runs answer RUN STEP VALUE --server URL`

use serde_json::json;
use trefoil_host::command::PrintedCommand;
use trefoil_host::waiting_messages::TYPED;
use trefoil_server::RunSummary;

use super::client::ServerClient;
use super::failure::RemoteFailure;
use super::run_lookup::find_detail;
use super::waits::{RemoteWait, run_status};
use crate::runs::answer::{RunsAnswerArgs, find_question, read_answer};
use crate::store::block_on;
use crate::{exit, output};

/// Answers a question of a run.
pub fn answer_run(address: &str, args: &RunsAnswerArgs) -> Result<u8, u8> {
    let client = ServerClient::for_address(address)?;
    block_on(send_answer(&client, args))?
}

async fn send_answer(client: &ServerClient, args: &RunsAnswerArgs) -> Result<u8, u8> {
    let detail = find_detail(client, &args.run).await?;
    let (run, options) = (detail.summary.run.as_str(), client.run_options());
    let show = options.render_command(PrintedCommand::Show(run));
    let status = run_status(&detail.summary);
    if status.is_end() {
        let why = format!("`{}` is not asked any more, because run {run} has ended: {status}", args.step);
        return Err(output::report_not_started(&why, Some(&format!("see how it ended with `{show}`"))));
    }
    let wait = RemoteWait::of_members(&detail.wait);
    let mut unasked = None;
    let (step, value) = match (find_question(&wait.waiting, &args.step, &show), args.value.as_str()) {
        (Ok(one), TYPED) if one.settled.is_none() => (one.step_path(), read_answer(one, &wait.waiting)?),
        (Ok(one), given) => (one.step_path(), given.to_owned()),
        (Err(why), given) if !why.is_unasked || given == TYPED => return Err(why.print_reason()),
        // The server knows whether somebody was faster.
        (Err(why), given) => {
            unasked = Some(why);
            (args.step.clone(), given.to_owned())
        }
    };
    let mut body = json!({ "step": step, "value": value });
    if let (Some(members), Some(result)) = (body.as_object_mut(), &args.result) {
        members.insert("result".to_owned(), json!(result));
    }
    let answered: Result<RunSummary, RemoteFailure> = client.post_json(&["runs", run, "answers"], &body).await;
    let follow = options.resume_command(run, &[]);
    match answered {
        Ok(_) => {
            output::print_note(format!("answered; the server continues run {run}"));
            output::print_line(format!("to follow it: {follow}"));
            Ok(exit::OK)
        }
        Err(failure) => {
            if failure.problem_code() == "NOT_ASKED"
                && let Some(why) = unasked
            {
                return Err(why.print_reason());
            }
            let code = client.report_failure(&failure);
            if matches!(failure.problem_code(), "ALREADY_ANSWERED" | "ANSWER_LATE" | "NOT_ASKED" | "RUN_ENDED") {
                output::print_line(format!("to see how the run goes on: {show}"));
            }
            Err(code)
        }
    }
}
