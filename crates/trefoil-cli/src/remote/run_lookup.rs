//! Finds runs of a server by what a user writes: an id, its first characters, or `last`.

use trefoil_host::command::PrintedCommand;
use trefoil_server::{RunDetail, RunList};

use super::client::ServerClient;
use super::failure::RemoteFailure;
use crate::output;

/// The word for the run that was started last.
const LAST: &str = "last";
/// The runs of one page.
const PAGE: usize = 100;
/// How many ids are named if several match.
const NAMED: usize = 5;

/// A run with what it waits for and what came of it.
///
/// # Errors
///
/// Why the request failed.
pub async fn read_detail(client: &ServerClient, run: &str) -> Result<RunDetail, RemoteFailure> {
    client.get_json(&["runs", run], &[]).await
}

/// The only run whose id starts with this text, or the last one.
///
/// # Errors
///
/// The exit code, after the reason was printed.
pub async fn find_detail(client: &ServerClient, start: &str) -> Result<RunDetail, u8> {
    let run = match start {
        LAST => last_run(client).await?,
        _ => {
            if !is_start_of_id(start) {
                return Err(refuse_unknown(client, start));
            }
            match read_detail(client, start).await {
                Ok(detail) => return Ok(detail),
                Err(failure) if failure.problem_code() == "RUN_NOT_FOUND" => run_with_start(client, start).await?,
                Err(failure) => return Err(client.report_failure(&failure)),
            }
        }
    };
    read_detail(client, &run).await.map_err(|failure| client.report_failure(&failure))
}

/// The id of the only run whose id starts with this text, or of the last one.
///
/// # Errors
///
/// The exit code, after the reason was printed.
pub async fn find_run(client: &ServerClient, start: &str) -> Result<String, u8> {
    Ok(find_detail(client, start).await?.summary.run)
}

/// The run that was started last, apart from those that tools have started.
async fn last_run(client: &ServerClient) -> Result<String, u8> {
    let mut query = vec![("limit", PAGE.to_string())];
    loop {
        let list: RunList =
            client.get_json(&["runs"], &query).await.map_err(|failure| client.report_failure(&failure))?;
        for summary in &list.runs {
            if summary.parent.is_none() {
                return Ok(summary.run.clone());
            }
        }
        let Some(next) = list.next else { return Err(refuse_unknown(client, LAST)) };
        query.truncate(1);
        query.push(("after", next));
    }
}

async fn run_with_start(client: &ServerClient, start: &str) -> Result<String, u8> {
    let query = [("text", start.to_owned()), ("limit", PAGE.to_string())];
    let list: RunList = client.get_json(&["runs"], &query).await.map_err(|failure| client.report_failure(&failure))?;
    let mut found: Vec<String> = list.runs.into_iter().map(|summary| summary.run).collect();
    found.retain(|run| run.starts_with(start));
    found.sort();
    match found.as_slice() {
        [] => Err(refuse_unknown(client, start)),
        [only] => Ok(only.clone()),
        _ => {
            found.truncate(NAMED);
            let help = format!("write more of it: `{}`", found.join("`, `"));
            Err(output::report_not_started(&format!("several runs start with `{start}`"), Some(&help)))
        }
    }
}

fn refuse_unknown(client: &ServerClient, start: &str) -> u8 {
    let list = client.run_options().render_command(PrintedCommand::List);
    let help = format!("list the runs with `{list}`");
    output::report_not_started(&format!("no run `{start}` at {}", client.server_address()), Some(&help))
}

/// Whether a text can be the start of an id.
fn is_start_of_id(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}
