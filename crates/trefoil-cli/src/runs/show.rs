//! `trefoil runs show RUN`

use std::sync::Arc;

use clap::Args;
use serde_json::{Map, Value, json};
use trefoil::store::{Content, RESERVED_LABEL, Record, RunFilter, Status, Store};
use trefoil_host::durable::{StoredRun, read_outcome, with_called_usage};
use trefoil_machine::event::{AwaitedActivity, QuestionClosure};
use trefoil_project::codes::help;
use trefoil_view::trace::{CalledFailure, OpenWait, SuggestedCommand};

use super::{print_json, print_lines, record, run_history};
#[cfg(feature = "server")]
use crate::args::ServerArg;
use crate::args::{OutputFormat, StoreArgs};
use crate::run::StepCollector;
use crate::store::{await_run, await_store, full_id};
use crate::words::{count_of, format_cost, format_time, format_tokens, received_length};
use trefoil_host::command::{PrintedCommand, RunOptions};
use trefoil_host::waiting_messages::{ANSWER, CONTINUE, answer_commands, answer_note, called_line, waiting_line};

/// Show a run: its steps, tokens and cost, and what it is waiting for
#[derive(Args)]
pub struct RunsShowArgs {
    /// The run's id, its first characters, or `last`
    pub run: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub output: OutputFormat,
    #[command(flatten)]
    pub store: StoreArgs,
    #[cfg(feature = "server")]
    #[command(flatten)]
    pub server: ServerArg,
}

/// Shows a run. reason: the lines in their order.
pub fn run(args: &RunsShowArgs) -> Result<u8, u8> {
    let store = args.store.open_to_read()?;
    let record = async { store.record(&full_id(&*store, &args.run).await?).await };
    let record = await_store(async { with_called_usage(&*store, record.await?).await })?;
    let open = !record.status.is_end();
    let steps = Arc::new(StepCollector::default());
    let wait = if open { run_history::open_wait(&store, &record, steps.clone())? } else { OpenWait::default() };
    let is_readable = !open && record.content.keeps_prompts();
    let stored = if is_readable { run_history::send_events_if_readable(&store, &record, steps.clone()) } else { None };
    let waiting = &wait.waiting;
    let options = run_history::run_options(&*store, &record.run, args.store.store_option());
    let cause = run_history::find_called_failure(&store, &record)?;
    let next = run_history::next_commands(&store, &record, waiting, cause.as_ref(), &options)?;
    let drafts = if open { await_store(store.read_drafts(&record.run))? } else { Vec::new() };
    if args.output.is_json() {
        let arrived = drafts.iter().map(|draft| json!({ "key": draft.key.as_str(), "text": draft.text })).collect();
        let mut json = as_json(&record, &steps, &wait, arrived);
        if let Some(members) = json.as_object_mut() {
            if !next.is_empty() {
                members.insert("next".to_owned(), json!(next));
            }
            add_content(members, &store, &record, &wait, cause)?;
        }
        return Ok(print_json(&[json]));
    }
    let is_answered = wait.is_answered();
    let is_late = waiting.iter().any(|activity| activity.settled == Some(QuestionClosure::Late));
    let mut lines = vec![
        format!("run      {}", record.run),
        format!("flow     {}", record.flow),
        format!("status   {}{}", record.status_text(), if is_answered { ", answered" } else { "" }),
        format!("started  {}", record::time(record.started)),
    ];
    if let Some(ended) = record.ended {
        lines.push(end_line(&record, ended, &steps));
    }
    if let Some(wake) = wait.due_time(record.wake_at)
        && open
        && !is_late
    {
        lines.push(format!("due      {}; from then on, it can continue without an answer", record::time(wake)));
    }
    lines.push(format!(
        "used     {}, {}, {}",
        count_of(record.spent.calls, "call"),
        format_tokens(&record.spent.usage),
        format_cost(&record.spent.usage)
    ));
    for draft in &drafts {
        let characters = received_length(draft.text.chars().count());
        lines.push(format!("answer   {characters} for `{}`; `--output json` has them", draft.key));
    }
    if let Some((code, message)) = &record.error {
        lines.push(format!("error    {code}: {message}"));
        lines.extend(cause_lines(stored.as_ref(), cause.as_ref(), &steps));
    }
    if let Some(base) = &record.base {
        lines.push(format!("reuses   results of run {base}"));
    }
    if let Some(owner) = &record.taken_from {
        lines.push(format!("taken    from the process {owner}, which had not given it back"));
    }
    if let Some(content) = record::content_note(&record, &args.store.store_option()) {
        lines.push(format!("content  {content}"));
    }
    for (key, value) in &record.labels {
        // Those of the engine are for programs.
        if !key.starts_with(RESERVED_LABEL) {
            lines.push(format!("label    {key}={value}"));
        }
    }
    let is_ready = waiting.is_empty() || is_answered || is_late;
    if open && is_ready {
        lines.extend(going_on(&next, "continue"));
    }
    lines.extend(called(&store, &record)?);
    lines.extend(tree(&record, &steps, open));
    lines.extend(steps.answer_lines());
    lines.extend(steps.verdict_lines());
    if !open {
        for next in &next {
            lines.push(format!("{}: {}", next.purpose, next.command));
        }
    }
    if record.content.keeps_prompts() {
        lines.push(format!("prompts  {}", options.render_command(PrintedCommand::Trace(&record.run))));
    }
    if let Some(why) = &wait.stopped {
        lines.push(format!("waiting  {}", why.stopped_before()));
    }
    let asked = questions(&record.run, waiting, &options);
    let mut then: Vec<SuggestedCommand> = Vec::new();
    if open && !is_ready {
        for next in next {
            // A limit of a called run is raised by the command that continues this one.
            if !asked.iter().any(|line| line.trim() == next.command) {
                then.push(next);
            }
        }
    }
    lines.extend(asked);
    lines.extend(going_on(&then, "then"));
    Ok(print_lines(&lines))
}

/// Adds the steps of a run and its result, as far as they are stored.
fn add_content(
    members: &mut Map<String, Value>,
    store: &Arc<dyn Store>,
    record: &Record,
    wait: &OpenWait,
    cause: Option<CalledFailure>,
) -> Result<(), u8> {
    if matches!(record.content, Content::All | Content::UntilEnd) {
        members.extend(run_history::stored_steps(store, record, wait, cause));
    }
    if record.status == Status::Completed && record.content != Content::Removed {
        // Not a view of the run: whoever asks for the result gets it as it is.
        let outcome = await_run(read_outcome(&**store, record.clone()))?;
        if let Ok(result) = outcome.result {
            members.insert("result".to_owned(), result.to_json());
        }
    }
    Ok(())
}

/// When a run ended, and how long it took.
fn end_line(record: &Record, ended: u64, steps: &StepCollector) -> String {
    let after = ended.saturating_sub(record.started);
    let worked = match steps.worked_ms() {
        Some(worked) if after.saturating_sub(worked) >= 1_000 => format!(", {} of work", format_time(worked)),
        _ => String::new(),
    };
    format!("ended    {} (after {}{worked})", record::time(ended), format_time(after))
}

/// Where a run failed, and the failure of a called run that made it fail.
fn cause_lines(stored: Option<&StoredRun>, cause: Option<&CalledFailure>, steps: &StepCollector) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(stored) = stored
        && let Some(at) = steps.failed_at(&stored.flow.loaded_target().files)
    {
        lines.push(format!("at       {at}"));
    }
    let Some(cause) = cause else { return lines };
    let mut parts = vec![cause.step_phrase()];
    parts.extend(cause.display_location());
    parts.push(format!("run {}", cause.run));
    lines.push(format!("cause    {}", parts.join(", ")));
    if let Some(help) = steps.failure_advice() {
        lines.push(format!("help     {help}"));
    } else if let Some(help) = help::find_help(&cause.error) {
        lines.push(format!("help     {help}"));
    }
    lines
}

/// The commands with which a run goes on, each on a line.
fn going_on(next: &[SuggestedCommand], name: &str) -> Vec<String> {
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

/// The record of a run, with what its journal tells.
fn as_json(record: &Record, steps: &StepCollector, wait: &OpenWait, arrived: Vec<Value>) -> Value {
    let mut json = record::record_json(record);
    let Some(members) = json.as_object_mut() else { return json };
    wait.add_to(members);
    let verdicts = steps.verdicts_json();
    if !verdicts.is_empty() {
        members.insert("verdicts".to_owned(), verdicts.into());
    }
    if !arrived.is_empty() {
        members.insert("arrived".to_owned(), arrived.into());
    }
    json
}

/// The steps of a run. `open`: it has not ended.
fn tree(record: &Record, steps: &StepCollector, open: bool) -> Vec<String> {
    steps.apply_status(record.status);
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

/// Maximum number of called runs that are listed.
const MOST: usize = 100;

/// The runs started by a run's tools, with the usage of each. The calling run's usage includes it.
fn called(store: &Arc<dyn Store>, record: &Record) -> Result<Vec<String>, u8> {
    let filter = RunFilter { parent: Some(record.run.clone()), ..RunFilter::default() };
    let page = await_store(async {
        let mut page = store.list_runs(&filter, None, MOST).await?;
        for called in &mut page.runs {
            *called = with_called_usage(&**store, called.clone()).await?;
        }
        Ok(page)
    })?;
    let mut lines = Vec::new();
    for called in page.runs.iter().rev() {
        let calls = count_of(called.spent.calls, "call");
        let (tokens, cost) = (format_tokens(&called.spent.usage), format_cost(&called.spent.usage));
        lines.push(format!("called   {} {} {}: {calls}, {tokens}, {cost}", called.run, called.flow, called.status));
    }
    if page.next.is_some() {
        lines.push(format!("called   (more than {MOST} runs)"));
    }
    Ok(lines)
}

/// What a run waits for, each item with the commands that answer it.
fn questions(run: &str, waiting: &[AwaitedActivity], options: &RunOptions) -> Vec<String> {
    let mut lines = Vec::new();
    for activity in waiting {
        lines.push(format!("waiting  {}", waiting_line(activity, waiting)));
        let mut below = Vec::new();
        below.extend(called_line(activity));
        below.extend(answer_commands(run, activity, waiting, options));
        below.extend(answer_note(activity).map(str::to_owned));
        for line in below {
            lines.push(format!("         {line}"));
        }
    }
    lines
}
