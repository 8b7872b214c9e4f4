//! `trefoil runs show RUN`

use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};
use trefoil::store::{Content, Record, RunFilter, Status, Store};
use trefoil_host::durable::{read_outcome, with_called_usage};
use trefoil_machine::event::{AwaitedActivity, QuestionClosure};
use trefoil_project::codes::help;
use trefoil_view::trace::{OpenWait, SuggestedCommand};

use super::{print_json, print_lines, record, run_history};
use crate::args::{OutputFormat, StoreArgs};
use crate::refusal::did_not_start;
use crate::run::StepCollector;
use crate::store::{await_store, block_on, full_id};
use crate::words::{count_of, format_cost, format_time, format_tokens, received_length};
use trefoil_host::command::{PrintedCommand, RunOptions};
use trefoil_host::waiting_messages::{ANSWER, CONTINUE, answer_commands, answer_note, called_line, waiting_line};

/// Show a run: its steps, tokens and cost, and what it is waiting for
#[derive(Args)]
pub struct RunsShowArgs {
    /// The run's id, its first characters, or `last`
    run: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    output: OutputFormat,
    #[command(flatten)]
    store: StoreArgs,
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
    let (waiting, stopped) = (&wait.waiting, &wait.stopped);
    let options = run_history::run_options(&*store, &record.run, args.store.store_option());
    let cause = run_history::find_called_failure(&store, &record)?;
    let next = run_history::next_commands(&store, &record, waiting, cause.as_ref(), &options)?;
    let drafts = if open { await_store(store.read_drafts(&record.run))? } else { Vec::new() };
    if args.output.is_json() {
        let arrived = drafts.iter().map(|draft| json!({ "key": draft.key.as_str(), "text": draft.text }));
        let mut json = as_json(&record, &steps, &wait, arrived.collect());
        if let Some(members) = json.as_object_mut() {
            members.extend((!next.is_empty()).then(|| ("next".to_owned(), json!(next))));
            if matches!(record.content, Content::All | Content::UntilEnd) {
                members.extend(run_history::stored_steps(&store, &record, &wait, cause));
            }
            if record.status == Status::Completed && record.content != Content::Removed {
                // Not a view of the run: whoever asks for the result gets it as it is.
                let outcome =
                    block_on(read_outcome(&*store, record.clone()))?.map_err(|error| did_not_start(&error))?;
                members.extend(outcome.result.ok().map(|result| ("result".to_owned(), result.to_json())));
            }
        }
        return Ok(print_json(&[json]));
    }
    let is_answered = wait.is_answered();
    let is_late = waiting.iter().any(|one| one.settled == Some(QuestionClosure::Late));
    let mut lines = vec![
        format!("run      {}", record.run),
        format!("flow     {}", record.flow),
        format!("status   {}{}", record.status_text(), if is_answered { ", answered" } else { "" }),
        format!("started  {}", record::time(record.started)),
    ];
    if let Some(ended) = record.ended {
        let after = ended.saturating_sub(record.started);
        let worked = steps.worked_ms().filter(|worked| after.saturating_sub(*worked) >= 1_000);
        let worked = worked.map_or_else(String::new, |worked| format!(", {} of work", format_time(worked)));
        lines.push(format!("ended    {} (after {}{worked})", record::time(ended), format_time(after)));
    }
    if let Some(wake) = wait.due_time(record.wake_at).filter(|_| open && !is_late) {
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
        let files = stored.as_ref().map(|stored| &stored.flow.loaded_target().files);
        lines.extend(files.and_then(|files| steps.failed_at(files)).map(|at| format!("at       {at}")));
        if let Some(cause) = &cause {
            let parts = [Some(cause.step_phrase()), cause.display_location(), Some(format!("run {}", cause.run))];
            lines.push(format!("cause    {}", parts.into_iter().flatten().collect::<Vec<_>>().join(", ")));
            let help = steps.failure_advice().or_else(|| help::find_help(&cause.error).map(str::to_owned));
            lines.extend(help.map(|help| format!("help     {help}")));
        }
    }
    if let Some(base) = &record.base {
        lines.push(format!("reuses   results of run {base}"));
    }
    if let Some(owner) = &record.taken_from {
        lines.push(format!("taken    from the process {owner}, which had not given it back"));
    }
    lines
        .extend(record::content_note(&record, &args.store.store_option()).map(|content| format!("content  {content}")));
    for (key, value) in &record.labels {
        lines.push(format!("label    {key}={value}"));
    }
    let is_ready = waiting.is_empty() || is_answered || is_late;
    lines.extend(going_on(&next, "continue").filter(|_| open && is_ready));
    lines.extend(called(&store, &record)?);
    lines.extend(tree(&record, &steps, open));
    lines.extend(steps.verdict_lines());
    if !open {
        lines.extend(next.iter().map(|next| format!("{}: {}", next.purpose, next.command)));
    }
    if record.content.keeps_prompts() {
        lines.push(format!("prompts  {}", options.render_command(PrintedCommand::Trace(&record.run))));
    }
    lines.extend(stopped.iter().map(|why| format!("waiting  {}", why.stopped_before())));
    let asked = questions(&record.run, waiting, &options);
    // A limit of a called run is raised by the command that continues this one.
    let is_new = |next: &&SuggestedCommand| open && !is_ready && !asked.iter().any(|line| line.trim() == next.command);
    let then: Vec<SuggestedCommand> = next.iter().filter(is_new).cloned().collect();
    lines.extend(asked);
    lines.extend(going_on(&then, "then"));
    Ok(print_lines(&lines))
}

/// The commands with which a run goes on, each on a line.
fn going_on<'n>(next: &'n [SuggestedCommand], name: &'n str) -> impl Iterator<Item = String> + 'n {
    next.iter().filter(|next| next.purpose != ANSWER).map(move |next| match next.purpose == CONTINUE {
        true => format!("{name:<8} {}", next.command),
        false => format!("{}: {}", next.purpose, next.command),
    })
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
    let steps = steps.step_lines(!open).into_iter().map(|line| line.without_colors().into_owned());
    let steps: Vec<String> = steps.collect();
    let head = (!steps.is_empty()).then(|| "steps".to_owned());
    head.into_iter().chain(steps).collect()
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
    let one = |called: &Record| {
        let used = [
            count_of(called.spent.calls, "call"),
            format_tokens(&called.spent.usage),
            format_cost(&called.spent.usage),
        ];
        format!("called   {} {} {}: {}", called.run, called.flow, called.status, used.join(", "))
    };
    let more = page.next.is_some().then(|| format!("called   (more than {MOST} runs)"));
    Ok(page.runs.iter().rev().map(one).chain(more).collect())
}

/// What a run waits for, each item with the commands that answer it.
fn questions(run: &str, waiting: &[AwaitedActivity], options: &RunOptions) -> Vec<String> {
    let lines = |one: &AwaitedActivity| {
        let commands = answer_commands(run, one, waiting, options);
        let note = answer_note(one).map(str::to_owned);
        let below = called_line(one).into_iter().chain(commands).chain(note);
        let below = below.map(|command| format!("         {command}"));
        [format!("waiting  {}", waiting_line(one, waiting))].into_iter().chain(below)
    };
    waiting.iter().flat_map(lines).collect()
}
