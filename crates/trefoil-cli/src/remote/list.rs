//! `trefoil runs list --server URL`

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};
use trefoil::store::Status;
use trefoil_host::stored_runs::parse_moment;
use trefoil_server::{RunList, RunSummary};
use trefoil_view::trace::{OpenWait, format_moment, rfc3339_ms};

use super::client::ServerClient;
use super::run_lookup::read_detail;
use super::waits::{RemoteWait, run_status, run_usage};
use crate::columns::format_columns;
use crate::runs::list::{RunsListArgs, wait_text};
use crate::runs::{print_json, print_lines};
use crate::store::block_on;
use crate::terminal_text::escape_line;
use crate::words::{count_of, format_cost};
use crate::{exit, output};

/// Of so many runs of a list that wait, it is said what they wait for.
const WAITING: usize = 50;

/// Lists runs.
pub fn list_runs(address: &str, args: &RunsListArgs) -> Result<u8, u8> {
    let client = ServerClient::for_address(address)?;
    block_on(print_list(&client, args))?
}

async fn print_list(client: &ServerClient, args: &RunsListArgs) -> Result<u8, u8> {
    let query = list_query(args);
    let list: RunList = client.get_json(&["runs"], &query).await.map_err(|failure| client.report_failure(&failure))?;
    let waits = read_waits(client, &list.runs).await;
    if args.output.is_json() {
        let runs: Vec<Json> =
            list.runs.iter().map(|summary| Json::Object(summary_json(summary, waits.get(&summary.run)))).collect();
        return Ok(print_json(&[json!({ "runs": runs, "next": list.next })]));
    }
    if list.runs.is_empty() {
        // The limit is always there.
        let what = if query.len() == 1 { "no runs yet" } else { "no runs match" };
        output::print_note(format!("{what} at {}", client.server_address()));
        return Ok(exit::OK);
    }
    let code = print_lines(&table(&list.runs, &waits));
    if let Some(next) = &list.next {
        output::print_note(format!("for more, add `--after {next}`"));
    }
    Ok(code)
}

fn list_query(args: &RunsListArgs) -> Vec<(&'static str, String)> {
    let mut query = vec![("limit", args.limit.to_string())];
    if !args.status.is_empty() {
        let names: Vec<&str> = args.status.iter().map(|status| status.name()).collect();
        query.push(("status", names.join(",")));
    }
    for (name, value) in [("flow", &args.flow), ("text", &args.text), ("after", &args.after)] {
        if let Some(value) = value {
            query.push((name, value.clone()));
        }
    }
    for (key, value) in &args.labels {
        query.push(("label", format!("{key}:{value}")));
    }
    if let Some(since) = args.since {
        query.push(("since", rfc3339_ms(since)));
    }
    query
}

/// What the runs of a list wait for, as the server says it of each. A run that has gone meanwhile is none.
async fn read_waits(client: &ServerClient, runs: &[RunSummary]) -> BTreeMap<String, Map<String, Json>> {
    let mut waits = BTreeMap::new();
    for summary in runs {
        let waits_now = matches!(run_status(summary), Status::Waiting | Status::Interrupted);
        if waits_now
            && waits.len() < WAITING
            && let Ok(detail) = read_detail(client, &summary.run).await
        {
            waits.insert(summary.run.clone(), detail.wait);
        }
    }
    waits
}

/// The members of a run, as of one of a store, and those that only a server has.
pub fn summary_json(summary: &RunSummary, wait: Option<&Map<String, Json>>) -> Map<String, Json> {
    let mut members = match json!(summary) {
        Json::Object(members) => members,
        _ => Map::new(),
    };
    members.insert("usage".to_owned(), json!(run_usage(summary)));
    if let Some(wait) = wait {
        let open = RemoteWait::of_members(wait).to_open_wait();
        if open.due_time(Some(0)).is_none() {
            members.remove("wake_at");
        }
        members.extend(wait.clone());
    }
    members
}

/// A time of a server for people.
pub fn display_time(text: &str) -> String {
    match parse_moment(text) {
        Some(at) => format_moment(at),
        None => text.to_owned(),
    }
}

fn table(runs: &[RunSummary], waits: &BTreeMap<String, Map<String, Json>>) -> Vec<String> {
    let rows = runs.iter().map(|summary| {
        let what = match (&summary.error, &summary.items, waits.get(&summary.run)) {
            (Some(error), ..) => error.code.clone(),
            (None, Some(items), _) => {
                let noun = if items.total == 1 { "item" } else { "items" };
                format!("{} of {} {noun} failed", items.failed, items.total)
            }
            (None, None, wait) => {
                let open = match wait {
                    Some(wait) => RemoteWait::of_members(wait).to_open_wait(),
                    None => OpenWait::default(),
                };
                wait_text(summary.wake_at.as_deref().and_then(parse_moment), &open)
            }
        };
        [
            escape_line(&summary.run).into_owned(),
            escape_line(&summary.status).into_owned(),
            escape_line(&display_time(&summary.started)).into_owned(),
            count_of(summary.calls, "call"),
            format_cost(&run_usage(summary)),
            escape_line(&summary.flow).into_owned(),
            escape_line(&what).into_owned(),
        ]
    });
    format_columns(rows)
}
