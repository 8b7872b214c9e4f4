//! `trefoil runs show` and `trefoil runs events` with `--server URL`.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use trefoil::store::{RESERVED_LABEL, Status};
use trefoil_host::stored_runs::parse_moment;
use trefoil_host::waiting_messages::{ANSWER, CONTINUE, answer_commands, answer_note, called_line, waiting_line};
use trefoil_runtime::EventSink as _;
use trefoil_server::{RunDetail, RunEventList, RunList};
use trefoil_view::trace::SuggestedCommand;

use super::client::ServerClient;
use super::failure::RemoteFailure;
use super::list::{display_time, summary_json};
use super::run_end::EndEvent;
use super::run_events::read_event;
use super::run_lookup::{find_detail, find_run};
use super::waits::{RemoteWait, next_commands, run_status, run_usage};
use crate::run::StepCollector;
use crate::runs::events::RunsEventsArgs;
use crate::runs::run_history::keep_step_members;
use crate::runs::show::RunsShowArgs;
use crate::runs::{print_json, print_lines};
use crate::store::block_on;
use crate::words::{count_of, format_cost, format_time, format_tokens};
use crate::{exit, output};

/// Called runs that are listed.
const CALLED: usize = 100;

/// Prints the events of a run.
pub fn print_events(address: &str, args: &RunsEventsArgs) -> Result<u8, u8> {
    let client = ServerClient::for_address(address)?;
    block_on(async {
        let run = find_run(&client, &args.run).await?;
        let mut failed = None;
        let mut print = |event: &Json| {
            if failed.is_none()
                && let Err(error) = output::json_line(event)
            {
                failed = Some(error);
            }
        };
        let sent = each_event(&client, &run, args.after, &mut print).await;
        sent.map_err(|failure| client.report_failure(&failure))?;
        Ok(match failed {
            Some(error) => output::write_exit_code(Err(error)),
            None => exit::OK,
        })
    })?
}

/// The number of the last event that a run has had so far.
///
/// # Errors
///
/// The exit code, after the reason was printed.
pub async fn last_event(client: &ServerClient, run: &str) -> Result<Option<u64>, u8> {
    let mut last = None;
    let mut note = |event: &Json| last = event.get("seq").and_then(Json::as_u64).or(last);
    let read = each_event(client, run, None, &mut note).await;
    read.map_err(|failure| client.report_failure(&failure))?;
    Ok(last)
}

/// Visits the events that a run has had so far, as the server sends them.
async fn each_event(
    client: &ServerClient,
    run: &str,
    mut after: Option<u64>,
    visit: &mut dyn FnMut(&Json),
) -> Result<(), RemoteFailure> {
    loop {
        let mut query = Vec::new();
        if let Some(after) = after {
            query.push(("after", after.to_string()));
        }
        let list: RunEventList = client.get_json(&["runs", run, "events"], &query).await?;
        list.events.iter().for_each(&mut *visit);
        // A page that does not come further would come again and again.
        if list.next.is_none() || list.next <= after {
            return Ok(());
        }
        after = list.next;
    }
}

/// Shows a run.
pub fn show_run(address: &str, args: &RunsShowArgs) -> Result<u8, u8> {
    let client = ServerClient::for_address(address)?;
    block_on(print_run(&client, args))?
}

async fn print_run(client: &ServerClient, args: &RunsShowArgs) -> Result<u8, u8> {
    let detail = find_detail(client, &args.run).await?;
    let run = detail.summary.run.clone();
    let steps = Arc::new(StepCollector::default());
    let mut end = EndEvent::default();
    // Of a run whose prompts are not kept, there are no events.
    let mut collect = |json: &Json| {
        let Some(event) = read_event(json) else { return };
        end.note_event(&event, json);
        steps.receive_event(&event);
    };
    let is_readable = match each_event(client, &run, None, &mut collect).await {
        Ok(()) => true,
        Err(RemoteFailure::Refused(problem)) if problem.status == 410 => false,
        Err(failure) => return Err(client.report_failure(&failure)),
    };
    let wait = RemoteWait::of_members(&detail.wait);
    let next = next_commands(&detail, &wait, end.enough_limits(), client.run_options());
    if args.output.is_json() {
        let json = detail_json(client, &detail, &steps, &next, is_readable).await?;
        return Ok(print_json(&[Json::Object(json)]));
    }
    let mut lines = head_lines(&detail, &wait, &steps);
    if detail.summary.error.is_some()
        && let Some(place) = end.place()
    {
        lines.push(format!("at       {place}"));
    }
    lines.extend(fact_lines(&detail));
    let is_ready = !wait.is_open() || wait.stopped.is_some();
    let open = !run_status(&detail.summary).is_end();
    if open && is_ready {
        lines.extend(ways_on(&next, "continue"));
    }
    lines.extend(called_lines(client, &run).await?);
    lines.extend(tree_lines(&detail, &steps, open));
    lines.extend(steps.answer_lines());
    lines.extend(steps.verdict_lines());
    if !open {
        for next in &next {
            lines.push(format!("{}: {}", next.purpose, next.command));
        }
    }
    if let Some(why) = &wait.stopped {
        lines.push(format!("waiting  {}", why.text));
    }
    lines.extend(question_lines(client, &run, &wait));
    if open && !is_ready {
        lines.extend(ways_on(&next, "then"));
    }
    Ok(print_lines(&lines))
}

/// The JSON of a run: with its verdicts, its steps and what can be done next.
async fn detail_json(
    client: &ServerClient,
    detail: &RunDetail,
    steps: &StepCollector,
    next: &[SuggestedCommand],
    is_readable: bool,
) -> Result<Map<String, Json>, u8> {
    let mut members = summary_json(&detail.summary, Some(&detail.wait));
    let verdicts = steps.verdicts_json();
    if !verdicts.is_empty() {
        members.insert("verdicts".to_owned(), verdicts.into());
    }
    if !next.is_empty() {
        members.insert("next".to_owned(), json!(next));
    }
    if is_readable {
        let path = ["runs", &detail.summary.run, "trace"];
        let trace: Json = client.get_json(&path, &[]).await.map_err(|failure| client.report_failure(&failure))?;
        let mut trace = trace;
        if run_status(&detail.summary) == Status::Failed
            && let Some(error) = trace.get_mut("error")
        {
            members.insert("error".to_owned(), error.take());
        }
        let mut steps = trace.get_mut("steps").map(Json::take).unwrap_or_default();
        keep_step_members(&mut steps);
        members.insert("steps".to_owned(), steps);
    }
    if let Some(result) = &detail.result {
        members.insert("result".to_owned(), result.clone());
    }
    Ok(members)
}

/// What a run is, and how it stands.
fn head_lines(detail: &RunDetail, wait: &RemoteWait, steps: &StepCollector) -> Vec<String> {
    let summary = &detail.summary;
    let answered = if wait.is_answered() { ", answered" } else { "" };
    let mut lines = vec![
        format!("run      {}", summary.run),
        format!("flow     {}", summary.flow),
        format!("status   {}{answered}", summary.status),
        format!("started  {}", display_time(&summary.started)),
    ];
    if let Some(ended) = &summary.ended {
        let mut line = format!("ended    {}", display_time(ended));
        if let (Some(from), Some(to)) = (parse_moment(&summary.started), parse_moment(ended)) {
            let after = to.saturating_sub(from);
            let worked = match steps.worked_ms() {
                Some(worked) if after.saturating_sub(worked) >= 1_000 => format!(", {} of work", format_time(worked)),
                _ => String::new(),
            };
            line.push_str(&format!(" (after {}{worked})", format_time(after)));
        }
        lines.push(line);
    }
    let wake_at = summary.wake_at.as_deref().and_then(parse_moment);
    if let Some(at) = wait.to_open_wait().due_time(wake_at)
        && summary.ended.is_none()
    {
        let at = trefoil_view::trace::format_moment(at);
        lines.push(format!("due      {at}; from then on, it can continue without an answer"));
    }
    let usage = run_usage(summary);
    let calls = count_of(summary.calls, "call");
    lines.push(format!("used     {calls}, {}, {}", format_tokens(&usage), format_cost(&usage)));
    if let Some(error) = &summary.error {
        lines.push(format!("error    {}: {}", error.code, error.message));
    }
    lines
}

fn fact_lines(detail: &RunDetail) -> Vec<String> {
    let summary = &detail.summary;
    let mut lines = Vec::new();
    if let Some(base) = &summary.base {
        lines.push(format!("reuses   results of run {base}"));
    }
    if let Some(content) = &summary.content {
        lines.push(format!("content  {content}"));
    }
    for (key, value) in &summary.labels {
        // Those of the engine are for programs.
        if !key.starts_with(RESERVED_LABEL) {
            lines.push(format!("label    {key}={value}"));
        }
    }
    lines
}

/// The steps of a run. `open`: it has not ended.
fn tree_lines(detail: &RunDetail, steps: &StepCollector, open: bool) -> Vec<String> {
    steps.apply_status(run_status(&detail.summary));
    let steps = steps.step_lines(!open);
    if steps.is_empty() {
        return Vec::new();
    }
    let mut lines = vec!["steps".to_owned()];
    for line in &steps {
        lines.push(line.without_colors().into_owned());
    }
    lines
}

/// The runs that the tools of a run have started.
async fn called_lines(client: &ServerClient, run: &str) -> Result<Vec<String>, u8> {
    let query = [("parent", run.to_owned()), ("limit", CALLED.to_string())];
    let list: RunList = client.get_json(&["runs"], &query).await.map_err(|failure| client.report_failure(&failure))?;
    let mut lines = Vec::new();
    for called in list.runs.iter().rev() {
        let (calls, usage) = (count_of(called.calls, "call"), run_usage(called));
        let (tokens, cost) = (format_tokens(&usage), format_cost(&usage));
        lines.push(format!("called   {} {} {}: {calls}, {tokens}, {cost}", called.run, called.flow, called.status));
    }
    if list.next.is_some() {
        lines.push(format!("called   (more than {CALLED} runs)"));
    }
    Ok(lines)
}

/// The commands with which a run goes on, each on a line.
fn ways_on(next: &[SuggestedCommand], name: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for next in next {
        match next.purpose.as_str() {
            ANSWER => {}
            CONTINUE => lines.push(format!("{name:<8} {}", next.command)),
            purpose => lines.push(format!("{purpose}: {}", next.command)),
        }
    }
    lines
}

/// What a run waits for, each item with the commands that answer it.
fn question_lines(client: &ServerClient, run: &str, wait: &RemoteWait) -> Vec<String> {
    let mut lines = Vec::new();
    for activity in &wait.waiting {
        lines.push(format!("waiting  {}", waiting_line(activity, &wait.waiting)));
        let mut below = Vec::new();
        below.extend(called_line(activity));
        below.extend(answer_commands(run, activity, &wait.waiting, client.run_options()));
        below.extend(answer_note(activity).map(str::to_owned));
        for line in below {
            lines.push(format!("         {line}"));
        }
    }
    lines
}
