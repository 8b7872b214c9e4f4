//! `trefoil resume RUN --server URL`: has a run continued by the server, where that is needed, and follows it to its end. A run in
//! progress is only followed.

use serde_json::json;
use trefoil::store::Status;
use trefoil_server::RunSummary;

use super::client::ServerClient;
use super::follow::FollowedRun;
use super::run_end::{EndEvent, RemoteEnd};
use super::run_lookup::find_detail;
use super::show::last_event;
use super::waits::{RemoteWait, run_status};
use crate::args::ShowArgs;
use crate::output;
use crate::store::block_on;

/// The exit codes of `run`.
pub fn resume_run(address: &str, run: &str, show: &ShowArgs) -> Result<u8, u8> {
    let client = ServerClient::for_address(address)?;
    block_on(resume_and_follow(&client, run, show))?
}

async fn resume_and_follow(client: &ServerClient, run: &str, show: &ShowArgs) -> Result<u8, u8> {
    let detail = find_detail(client, run).await?;
    let (status, wait) = (run_status(&detail.summary), RemoteWait::of_members(&detail.wait));
    let run = detail.summary.run.clone();
    let is_asked = wait.stopped.is_none() && wait.is_open();
    if matches!(status, Status::Completed | Status::Cancelled) && show.events.is_none() {
        if !show.quiet {
            output::print_note(format!("run {run} has ended: {status}"));
        }
        return Ok(RemoteEnd::new(detail, EndEvent::default()).print_end(show, None, client.run_options()));
    }
    // Nobody has answered it yet, and nobody can here.
    if status == Status::Waiting && is_asked && show.events.is_none() && !output::is_interactive() {
        return Ok(RemoteEnd::new(detail, EndEvent::default()).print_end(show, None, client.run_options()));
    }
    let continues = matches!(status, Status::Failed | Status::Interrupted) || (status == Status::Waiting && !is_asked);
    let mut past = None;
    if continues {
        // What comes later is shown as new.
        past = last_event(client, &run).await?;
        let resumed: Result<RunSummary, _> = client.post_json(&["runs", &run, "resume"], &json!({})).await;
        match resumed {
            Ok(_) => {}
            // Somebody else was faster: a worker of the server, which continues what was answered.
            Err(failure) if failure.problem_code() == "RUN_HELD" => {}
            Err(failure) if failure.problem_code() == "RUN_ENDED" && status != Status::Failed => {}
            Err(failure) => return Err(client.report_failure(&failure)),
        }
    }
    FollowedRun::new(client, &run, &detail.summary.flow, show).with_past(past).follow_to_end().await
}
