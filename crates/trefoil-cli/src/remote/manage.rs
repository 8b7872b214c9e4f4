//! `trefoil runs cancel` and `trefoil runs delete` with `--server URL`.

use serde_json::json;
use trefoil::store::Status;
use trefoil_host::command::PrintedCommand;
use trefoil_server::CancelResult;

use super::client::ServerClient;
use super::run_lookup::find_run;
use super::waits::run_status;
use crate::store::block_on;
use crate::{exit, output};

/// Stops a run permanently.
pub fn cancel_run(address: &str, run: &str) -> Result<u8, u8> {
    let client = ServerClient::for_address(address)?;
    block_on(async {
        let run = find_run(&client, run).await?;
        let sent = client.post_json(&["runs", &run, "cancel"], &json!({})).await;
        let done: CancelResult = sent.map_err(|failure| client.report_failure(&failure))?;
        let status = run_status(&done.summary);
        if done.has_ended && status != Status::Cancelled {
            let show = client.run_options().render_command(PrintedCommand::Show(&run));
            let help = format!("see how it ended with `{show}`");
            return Err(output::report_not_started(&format!("run {run} has already ended: {status}"), Some(&help)));
        }
        output::print_note(match done.has_ended {
            true => format!("cancelled {run}"),
            false => format!("asked the process that is running {run} to stop"),
        });
        Ok(exit::OK)
    })?
}

/// Deletes runs, one after the other.
pub fn delete_runs(address: &str, runs: &[String]) -> Result<u8, u8> {
    let client = ServerClient::for_address(address)?;
    block_on(async {
        let mut found = Vec::new();
        for run in runs {
            found.push(find_run(&client, run).await?);
        }
        for run in &found {
            client.send_delete(&["runs", run]).await.map_err(|failure| client.report_failure(&failure))?;
            output::print_note(format!("deleted {run}"));
        }
        Ok(exit::OK)
    })?
}
