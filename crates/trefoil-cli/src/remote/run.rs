//! `trefoil run FLOW --server URL`: starts a run at a server and follows it.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};
use trefoil_host::command::PrintedCommand;
use trefoil_machine::RunLimits;
use trefoil_server::RunSummary;
use trefoil_syntax::SourceFiles;

use super::client::ServerClient;
use super::follow::FollowedRun;
use super::typed_input::read_remote_input;
use crate::args::ShowArgs;
use crate::output;
use crate::run::input::reject_input_of;
use crate::store::block_on;
use crate::words::count_of;

/// A run to start at a server.
pub struct RemoteStart<'a> {
    /// The name of the flow there.
    pub flow: &'a str,
    /// The texts of `--input`.
    pub inputs: &'a [String],
    /// That of `--input-json`.
    pub input_json: Option<&'a str>,
    /// Labels of the run.
    pub labels: &'a [(String, String)],
    /// Its limits.
    pub limits: RunLimits,
    /// Whether it is not followed.
    pub detach: bool,
    /// How it is shown.
    pub show: &'a ShowArgs,
}

/// The exit codes of `run`.
pub fn start_run(address: &str, start: &RemoteStart<'_>) -> Result<u8, u8> {
    let client = ServerClient::for_address(address)?;
    block_on(start_and_follow(&client, start))?
}

async fn start_and_follow(client: &ServerClient, start: &RemoteStart<'_>) -> Result<u8, u8> {
    let input = read_input(client, start.flow, start.inputs, start.input_json).await?;
    check_calls(client, start).await?;
    let mut body = json!({ "flow": start.flow, "input": input });
    add_start_options(&mut body, start.labels, start.limits);
    let begun = client.post_start(&["runs"], &body, start.show.quiet).await;
    let begun: RunSummary = begun.map_err(|failure| client.report_failure(&failure))?;
    if start.detach {
        return Ok(leave_run(client, &begun.run, start.show.quiet));
    }
    FollowedRun::new(client, &begun.run, &begun.flow, start.show).follow_to_end().await
}

/// The input that is typed for a flow. Null: none.
///
/// # Errors
///
/// The exit code, after the reason was printed.
pub async fn read_input(client: &ServerClient, flow: &str, inputs: &[String], json: Option<&str>) -> Result<Json, u8> {
    let schema: Map<String, Json> = match inputs.is_empty() {
        true => Map::new(),
        false => {
            let read = client.get_json(&["flows", flow, "schema"], &[]).await;
            read.map_err(|failure| client.report_failure(&failure))?
        }
    };
    let input = read_remote_input(&schema, inputs, json);
    input.map_err(|why| reject_input_of(&SourceFiles::default(), why))
}

/// Refuses a run that may need more calls than it may make, as a run of this machine is refused.
async fn check_calls(client: &ServerClient, start: &RemoteStart<'_>) -> Result<(), u8> {
    let Some(most) = start.limits.calls else { return Ok(()) };
    let read = client.get_json(&["flows", start.flow, "plan"], &[]).await;
    let plan: Json = match read {
        Ok(plan) => plan,
        // A key that may not read finds out from the run.
        Err(failure) if failure.problem_code() == "SCOPE_MISSING" => return Ok(()),
        Err(failure) => return Err(client.report_failure(&failure)),
    };
    let needed = plan.pointer("/calls/model/at_most").and_then(Json::as_u64);
    match needed {
        Some(needed) if needed > most => {
            let calls = count_of(needed, "model call");
            let why = format!("the run did not start: it may need {calls}, but `--max-calls` allows only {most}");
            Err(output::report_not_started(&why, Some("raise `--max-calls`, or have an iteration limit lowered")))
        }
        _ => Ok(()),
    }
}

/// Adds labels and limits to the body of a request that starts a run.
pub fn add_start_options(body: &mut Json, labels: &[(String, String)], limits: RunLimits) {
    let Some(members) = body.as_object_mut() else { return };
    if !labels.is_empty() {
        let labels: BTreeMap<&str, &str> = labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        members.insert("labels".to_owned(), json!(labels));
    }
    if let Some(calls) = limits.calls {
        members.insert("max_calls".to_owned(), json!(calls));
    }
    if let Some(micro) = limits.cost_micro {
        members.insert("max_cost".to_owned(), json!(micro as f64 / 1e6));
    }
}

/// Prints the id of a run that is not followed, and how to follow it.
fn leave_run(client: &ServerClient, run: &str, quiet: bool) -> u8 {
    if !quiet {
        let options = client.run_options();
        let show = options.render_command(PrintedCommand::Show(run));
        output::print_note(format!("the server runs it; to see how it goes: {show}"));
        output::print_line(format!("to follow it: {}", options.resume_command(run, &[])));
    }
    output::write_result(format!("{run}\n"))
}
