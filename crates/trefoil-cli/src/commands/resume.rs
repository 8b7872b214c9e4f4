//! `trefoil resume RUN`: continues a run that was interrupted, has failed, or was waiting for a person.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use trefoil::runs::{ActivityDecision, EditPreview, ReuseRequest, StoredRun, caller_in, preview_edit, target_of};
use trefoil::store::{Content, Record, RunFilter, Status, Store, StoreError};
use trefoil::{Flow, Value};
use trefoil_host::durable::read_outcome as only_result;
use trefoil_host::engine::Engine;
use trefoil_host::waiting_messages::EditableTarget;
use trefoil_machine::{LimitKind, PrivateValue};
use trefoil_project::input::parse_typed_input;
use trefoil_project::load::{CheckOptions, LoadOptions};
use trefoil_project::target::LoadTarget;
use trefoil_project::target_settings::target_settings;
use trefoil_store::{LeasedRun, Owner};

#[cfg(feature = "server")]
use crate::args::ServerArg;
use crate::args::{ContentArg, DurabilityArg, HostArgs, ShowArgs, SpecArgs, StoreArgs, UnknownArg, or_none};
use crate::loading::accept_settings;
use crate::refusal::{did_not_continue, did_not_start, refuse_store};
#[cfg(feature = "server")]
use crate::remote;
use crate::run::reuse::print_preview;
use crate::run::{
    KeptRun, MARKS, ReuseRunOptions, RunEndOptions, TerminalSession, TraceRecording, announce_source, input,
    print_again, print_result, suggestions,
};
use crate::runs::run_history;
use crate::store::{await_run, await_store, block_on, full_id};
use crate::{exit, output, overwrite_guard};
use trefoil_host::command::{PrintedCommand, RunOptions, option_text};

/// How long a process that may be stuck is waited for: a lease, and a little more.
const STUCK: Duration = Duration::from_secs(35);

/// Maximum number of runs that `--all` continues at a time.
const MOST: usize = 1_000;

/// Continue a run that was interrupted, has failed, or has been answered; completed steps are not repeated
#[derive(Args)]
#[command(mut_arg("max_calls", |arg| arg.value_name("N|none").value_parser(or_none(LimitKind::Calls)).help("Maximum number of model calls from now on, including earlier ones; `none`: as for a run without this option")))]
#[command(mut_arg("max_cost", |arg| arg.value_name("USD|none").value_parser(or_none(LimitKind::Cost)).help("Maximum cost in dollars from now on, including earlier costs; `none` lifts the limit")))]
#[command(mut_arg("reserve", |arg| arg.help("Amount that cost limits reserve for each call from now on: its expected cost, or its maximum cost")))]
#[command(after_help = MARKS)]
pub struct ResumeCommandArgs {
    /// The run's id, its first characters, or `last`
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    run: Option<String>,
    /// Continue every run that was interrupted or has been answered
    #[arg(long)]
    all: bool,
    /// Start a new run of an edited file that reuses this run's results where nothing changed
    #[arg(long, value_name = "FILE", conflicts_with = "all")]
    with: Option<String>,
    /// With `--with`: repeat this step, with all steps inside it, and everything that started after it; `STEP/INNER` is a step of the flow that STEP calls as a
    /// tool
    #[arg(long, value_name = "STEP", conflicts_with = "all")]
    from: Option<String>,
    /// With `--with`: another input than that of RUN; `key=value` changes one property of it (repeatable)
    #[arg(
        long = "input",
        short,
        value_name = "TEXT|KEY=VALUE",
        allow_hyphen_values = true,
        requires = "with",
        conflicts_with = "all"
    )]
    inputs: Vec<String>,
    /// With `--with`: another input as JSON; `@FILE` reads a file, `-` reads stdin
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true, requires = "with", conflicts_with = "all")]
    input_json: Option<String>,
    /// For a run that reuses results of an earlier one: allow the tools and commands of this step, and of all steps inside it, to run
    /// again even if that may not be safe; STEP/INNER: only those of a step of the flow that STEP calls as a tool (repeatable)
    #[arg(long, value_name = "STEP", conflicts_with = "all")]
    rerun: Vec<String>,
    /// With `--with`: show for each step whether its result was kept, or why it ran again
    #[arg(long, requires = "with", conflicts_with = "all")]
    explain: bool,
    /// With `--with`: only print which steps would run again and why; calls nothing, needs no key. Exit code 1 if a step would run
    #[arg(long, requires = "with", conflicts_with_all = ["explain", "all"])]
    dry_run: bool,
    /// With `--with`: start the new run even if the file is another flow, of which nothing can be kept
    #[arg(long, requires = "with", conflicts_with = "all")]
    from_scratch: bool,
    #[command(flatten)]
    host: HostArgs,
    /// Decision about commands and tool calls with an unknown outcome, because they were running when the process ended
    /// (default: `[recovery]` in the settings, or `ask`)
    #[arg(long, value_name = "WHAT")]
    unknown: Option<UnknownArg>,
    #[command(flatten)]
    spec: SpecArgs,
    #[command(flatten)]
    show: ShowArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[cfg(feature = "server")]
    #[command(flatten)]
    server: ServerArg,
    #[command(flatten)]
    durability: DurabilityArg,
    /// With `--with`: keep only the prompts and answers needed to resume the new run, and remove them when it is completed or
    /// cancelled (also `TREFOIL_NO_CONTENT`; always, if RUN was run so)
    #[arg(long, requires = "with", conflicts_with = "all")]
    no_content: bool,
    /// Ignore `trefoil.toml`
    #[arg(long)]
    no_config: bool,
}

/// The exit codes of `run`. With `--all`, the largest code of all runs.
pub fn run(args: &ResumeCommandArgs) -> Result<u8, u8> {
    #[cfg(feature = "server")]
    if let (Some(run), Some(address)) = (&args.run, args.server.chosen_address(&args.store)) {
        return remote::resume::resume_run(&address, run, &args.show);
    }
    if let (Some(run), Some(target)) = (&args.run, &args.with) {
        return edited(args, run, target);
    }
    if let (Some(run), Some(from)) = (&args.run, &args.from) {
        let options = args.host.run_options(&args.store, args.no_config);
        let fork = options.render_command(PrintedCommand::Fork { run, from: Some(from), model: None });
        let help = format!("to repeat RUN from that step without an edit, use `{fork}`");
        return Err(output::report_not_started("`--from` needs an edited file: `--with FILE`", Some(&help)));
    }
    let ids = match &args.run {
        Some(run) => vec![run.clone()],
        None => all(args)?,
    };
    let mut worst = exit::OK;
    for run in &ids {
        let (Ok(code) | Err(code)) = one(args, run);
        worst = worst.max(code);
    }
    Ok(worst)
}

fn all(args: &ResumeCommandArgs) -> Result<Vec<String>, u8> {
    if args.store.open_if_present()?.is_none() {
        return Ok(Vec::new());
    }
    let store = args.store.open_to_resume(&args.durability)?;
    let mut ids = await_store(store.claimable_runs(store.clock().wall_ms(), MOST))?;
    if matches!(args.unknown, Some(UnknownArg::Retry | UnknownArg::Fail)) {
        ids.extend(undecided(&store)?);
    }
    ids.sort();
    ids.dedup();
    if ids.is_empty() && !args.show.quiet {
        output::print_note("no run can continue now");
    }
    Ok(ids)
}

/// The runs that wait for a decision that `--unknown` makes.
fn undecided(store: &Arc<dyn Store>) -> Result<Vec<String>, u8> {
    let filter = RunFilter { status: vec![Status::Waiting], ..RunFilter::default() };
    let mut ids = Vec::new();
    for record in await_store(store.list_runs(&filter, None, MOST))?.runs {
        if run_history::list_waiting(store, &record)?.iter().any(|one| one.is_unknown()) {
            ids.push(record.run);
        }
    }
    Ok(ids)
}

/// Prints the end of a run that has already ended, without repeating the run or its events.
fn ended(args: &ResumeCommandArgs, store: Arc<dyn Store>, record: &Record) -> Result<u8, u8> {
    if !args.show.quiet {
        output::print_note(format!("run {} has ended: {}", record.run, record.status_text()));
    }
    if record.content == Content::Removed {
        refuse_store(&StoreError::NoContent { run: record.run.clone() });
        return Ok(if record.status == Status::Completed { exit::FAILED } else { exit::CANCELLED });
    }
    if record.content == Content::Result {
        // Of such a run nothing else is left, not even its files.
        let outcome = await_run(only_result(&*store, record.clone()))?;
        return Ok(match outcome.result {
            Ok(value) => print_result(&args.show, &value),
            Err(_) => exit::FAILED,
        });
    }
    let stored = run_history::read_run(&*store, &record.run)?;
    if let Some(path) = &args.show.trace {
        recorded(args, path, &store, &stored)?;
    }
    let end = run_history::end_event(&store, &stored)?;
    let called = run_history::find_called_failure(&store, record)?;
    let code = match end {
        Some(end) => print_again(&args.show, stored.flow.loaded_target(), &end, called.as_ref()),
        None => exit::FAILED,
    };
    let options = RunOptions::or_of_stored(args.store.store_option(), args.host.permissions(args.no_config), &stored);
    suggestions::after_stop(&run_history::next_commands(&store, record, &[], called.as_ref(), &options)?);
    Ok(code)
}

/// Writes the trace of a run that has ended, from its journal.
fn recorded(args: &ResumeCommandArgs, path: &Path, store: &Arc<dyn Store>, stored: &StoredRun) -> Result<(), u8> {
    let loaded = stored.flow.loaded_target();
    overwrite_guard::refuse_source_overwrite(Some(path), &loaded.files)?;
    let (tracer, about) = run_history::trace_run(store, stored, args.store.store_option())?;
    TraceRecording::new(path.to_owned(), about, tracer)?
        .write_trace()
        .map_err(|message| output::report_failure(&message, None))
}

fn one(args: &ResumeCommandArgs, run: &str) -> Result<u8, u8> {
    let store = args.store.open_to_read()?;
    let record = await_store(async { store.record(&full_id(&*store, run).await?).await })?;
    if record.status.is_end() && record.status != Status::Failed {
        return ended(args, store, &record);
    }
    let target = block_on(target_of(&*store, &record.run))?.map(|target| run_history::local_target_name(&target));
    drop(store);
    let run = record.run.clone();
    let store = args.store.open_to_resume(&args.durability)?;
    let own = args.host.run_options(&args.store, args.no_config);
    let (model, read) = (args.host.models.first_choice(), block_on(StoredRun::read_run(&*store, &run))?);
    let unread = target.as_deref().map(|target| EditableTarget { target, has_changed: false });
    let stored = read.map_err(|error| did_not_continue(&error, &run, &own, None, unread))?;
    let settings = run_history::permitted_settings(&*store, &stored, args.no_config, args.show.quiet)?;
    if let Some(note) = &stored.note
        && !args.show.quiet
    {
        output::print_note(note);
    }
    if let Some(basis) = &stored.started.basis
        && let Some(base) = basis.earlier_run()
        && !args.show.quiet
        && let Err(StoreError::NoRun { .. }) = block_on(store.record(base))?
    {
        output::print_note(format!(
            "run {base}, whose results it reuses, was deleted; what it has not reused yet runs again"
        ));
    }
    if stored.started.basis.is_none() && !args.rerun.is_empty() {
        return Err(nothing_to_rerun(args, &store, &record)?);
    }
    let (flow, now) = (stored.flow.clone(), stored.current_start());
    let session = TerminalSession::new(&args.show, flow.loaded_target());
    let engine = session.build_engine(&args.host, &settings, true);
    let engine = engine.permissions(args.host.permissions(args.no_config)).store(store.clone());
    let engine = engine.recovery_policy(match args.unknown {
        Some(unknown) => unknown.recovery_policy(),
        None => settings.recovery,
    });
    let engine = engine.run_spec(args.spec.run_spec()).as_begun(&stored);
    let options = RunOptions::or_of_stored(args.store.store_option(), args.host.permissions(args.no_config), &stored);
    let has_changed = stored.note.is_some();
    let edited = target.as_deref().map(|target| EditableTarget { target, has_changed });
    let ready = block_on(engine.ready_again(&stored, &args.rerun))?
        .map_err(|error| did_not_continue(&error, &run, &options, model.as_deref(), edited))?;
    announce_source(now.answers == "embedded" || args.host.models.is_embedded(), &ready);
    session.set_resumed();
    if let Some(base) = &record.base {
        session.set_reused_run(base);
    }
    session.announce_start(&ready, None, Some(&run));
    let answers_from = ready.answers_from().clone();
    let owner = engine.owner();
    let kept = KeptRun { options: &options, edited };
    let ended = session.run_to_end(&engine, &answers_from, Some(kept), async || {
        let owner = owner.ok_or(trefoil::Error::NoRuntime)?;
        ready.resume_held(claimed(&owner, &run, &options).await.map_err(trefoil::Error::Store)?)
    })?;
    let answers = &args.host.answers;
    let code = ended.print_end(&RunEndOptions { target: None, answers, is_kept: true, keeps_prompts: true, options });
    if record.parent.is_some() && !args.show.quiet {
        let now = await_store(store.record(&run))?;
        let (ended, top) = (now.status.is_end(), run_history::outermost_run(&store, now)?);
        if ended && top.run != run {
            run_history::note_continues(&store, &top, args.store.store_option(), &format!("run {run} has ended"));
        }
    }
    Ok(code)
}

/// Claims a run. If its process lives and its lease has expired, that process is stuck or a clock is wrong: it gets the time of
/// another lease to say that it still works on the run.
async fn claimed(owner: &Arc<Owner>, run: &str, options: &RunOptions) -> Result<LeasedRun, StoreError> {
    let began = Instant::now();
    let mut is_said = false;
    loop {
        match owner.resume_run(run).await {
            Err(StoreError::Held { owner: by, until, .. })
                if until < owner.store().clock().wall_ms() && began.elapsed() < STUCK =>
            {
                if !is_said {
                    let release = options.render_command(PrintedCommand::Release(run));
                    output::print_note(format!(
                        "waiting whether the process {by} still works on {run}; `{release}` takes it away at once"
                    ));
                }
                is_said = true;
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            claimed => return claimed,
        }
    }
}

/// Refuses `--rerun` for a run that starts every step itself. A run that its tools have started may need it.
fn nothing_to_rerun(args: &ResumeCommandArgs, store: &Arc<dyn Store>, record: &Record) -> Result<u8, u8> {
    let waits = run_history::list_waiting(store, record)?;
    let mut called = None;
    for activity in &waits {
        if let (Some(run), Some(why)) = (&activity.run, activity.why.as_deref()) {
            let options = args.host.run_options(&args.store, args.no_config);
            called = Some(format!("it waits for run {run}: use `{}`", options.resume_command(run, &[why])));
            break;
        }
    }
    Ok(output::report_not_started(
        &format!("run {} does not reuse results of an earlier run, so nothing in it would be repeated", record.run),
        Some(called.as_deref().unwrap_or("remove `--rerun`")),
    ))
}

/// Starts a new run of an edited flow.
fn edited(args: &ResumeCommandArgs, run: &str, target: &str) -> Result<u8, u8> {
    let target = LoadTarget::parse(target);
    let options = LoadOptions { checks: Some(CheckOptions::default()), ..LoadOptions::default() };
    let settings = accept_settings(target_settings(&target, &options, args.no_config))?;
    let options = LoadOptions { supplied: settings.supplied_declarations(), ..options };
    let loaded = trefoil_project::load::load_target(&target, &options).map_err(|report| {
        output::print_line(output::format_message_findings(&report.diagnostics, &report.files));
        output::report_not_started("the run did not start because of errors in the edited file", None)
    })?;
    let flow = Flow::from(loaded);
    let based = ReuseRunOptions {
        host: &args.host,
        show: &args.show,
        store: &args.store,
        durability: &args.durability,
        content: &ContentArg::or_of_environment(args.no_content),
        labels: None,
        explain: args.explain,
        no_config: args.no_config,
        target: Some(target.to_string()),
        stored: None,
        settings: &settings,
        spec: args.spec.run_spec(),
    };
    let run = based.resolve_run(run)?;
    refuse_called(args, &run, &target)?;
    let input = other_input(args, &run, &flow)?;
    let (from, rerun) = (args.from.clone(), args.rerun.clone());
    let mut request = ReuseRequest { from, rerun, input, failed_if_stuck: true, ..ReuseRequest::for_whole_run(&run) };
    let other = if args.from_scratch { None } else { other_flow(args, &run, &flow)? };
    if args.dry_run || other.is_some() {
        // Chooses the same models as the run would.
        let engine = args.host.models.configure_engine(Engine::new(), &settings);
        let seen = block_on(preview_edit(&engine, args.store.open_to_read()?, &flow, &request))?;
        if let (Some(was), Ok(seen)) = (&other, &seen) {
            refuse_other(&run, was, &flow, seen)?;
        }
        if args.dry_run {
            let seen = seen.map_err(|error| did_not_start(&error))?;
            return Ok(print_preview(&run, &seen));
        }
        // What cannot be foreseen is reported when it runs.
        if let Ok(seen) = seen {
            request = seen.request;
        }
    }
    based.run_flow(&run, &flow, async |engine| engine.edit_run(&flow, &request).await)
}

/// Refuses a file that the run's own file calls: it would run by itself, with none of the results of the run.
fn refuse_called(args: &ResumeCommandArgs, run: &str, named: &LoadTarget) -> Result<(), u8> {
    let store = args.store.open_to_read()?;
    let Some(entry) = block_on(caller_in(&*store, run, &named.path))? else { return Ok(()) };
    let entry = run_history::local_target_name(&entry);
    let with = option_text("--with", &entry);
    let options = args.host.run_options(&args.store, args.no_config);
    let alone = options.render_command(PrintedCommand::Reuse { target: &named.to_string(), run });
    Err(output::report_not_started(
        &format!("`{}` is only a part of run {run}, which started with `{entry}`", named.path.display()),
        Some(&format!(
            "write `{}`: the edits of all its files count; or, to run this file by itself, use `{alone}`",
            with.trim_start()
        )),
    ))
}

/// The name of the flow of a run, if the flow of the file has another one.
fn other_flow(args: &ResumeCommandArgs, run: &str, flow: &Flow) -> Result<Option<String>, u8> {
    let was = await_store(args.store.open_to_read()?.record(run))?.flow;
    Ok(if *was == *flow.loaded_target().program.name { None } else { Some(was) })
}

/// Refuses a file of another flow, if it has nothing to do with the run: nothing would be kept, and nothing would stop
/// for an activity of the run. A flow that was only renamed has both.
fn refuse_other(run: &str, was: &str, flow: &Flow, seen: &EditPreview) -> Result<(), u8> {
    for line in &seen.lines {
        if line.and_called().any(ActivityDecision::is_decided_by_earlier) {
            return Ok(());
        }
    }
    let now = &flow.loaded_target().program.name;
    Err(output::report_not_started(
        &format!("run {run} is of `{was}`, and this file is `{now}`, so nothing can be kept"),
        Some("pass the file of that flow; or, to start this one anyway, add `--from-scratch`"),
    ))
}

/// The input of the new run, if it is not that of the earlier one. `--input KEY=VALUE` changes properties of that.
fn other_input(args: &ResumeCommandArgs, run: &str, flow: &Flow) -> Result<Option<Value>, u8> {
    let (loaded, json) = (flow.loaded_target(), args.input_json.as_deref());
    if args.inputs.is_empty() && json.is_none() {
        return Ok(None);
    }
    if json.is_none() {
        let store = args.store.open_to_read()?;
        let earlier = run_history::read_run(&*store, run)?.started.input.map(PrivateValue::into_exact);
        if let Some(earlier) = earlier
            && earlier.as_object().is_some()
            && let Ok(input) = parse_typed_input(&loaded.program, &args.inputs, Some(earlier))
        {
            return Ok(input);
        }
    }
    input::read_input(loaded, &args.inputs, json).map_err(|why| input::reject_input(loaded, why))
}
