//! `trefoil resume RUN`: continues a run that was interrupted, or that waits for somebody.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use trefoil::AnswersFrom;
use trefoil::internals::Stored;
use trefoil::internals::engine::Engine;
use trefoil::internals::settings;
use trefoil::internals::trace::{About, Tracer};
use trefoil::store::{Content, Filter, Record, SqliteStore, Status, Store as _, StoreError};

use super::run::{ReserveArg, did_not_start, dollars, followed, label};
use crate::run::{End, HostArgs, Recording, Session, ShowArgs, Unknown};
use crate::runs::past;
use crate::store::{self, DurabilityArg, StoreArgs, block_on, full_id, now, wait};
use crate::{exit, output, overwrite};

/// Runs that `--all` continues at a time.
const MOST: usize = 1_000;

/// Continue a run that was interrupted or waits for an answer; nothing that was completed is done again
#[derive(Args)]
pub struct Resume {
    /// The run's id, or its first characters
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    run: Option<String>,
    /// Continue every run that was interrupted or has been answered
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    host: HostArgs,
    /// What to do about commands and tool calls that were running when the process ended, of which it is not known whether they
    /// were done: `ask` leaves the run waiting (default: `[recovery]` of the settings, else `ask`)
    #[arg(long, value_name = "WHAT")]
    unknown: Option<Unknown>,
    /// Maximum number of model calls from now on, those before included
    #[arg(long, value_name = "N")]
    max_calls: Option<u64>,
    /// Maximum cost in dollars from now on, what was spent before included
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<u64>,
    /// What limits on money set aside for a call from now on: what it is expected to cost, or the most that it can cost
    #[arg(long, value_name = "WHAT")]
    reserve: Option<ReserveArg>,
    #[command(flatten)]
    show: ShowArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    durability: DurabilityArg,
    /// Ignore `trefoil.toml`
    #[arg(long)]
    no_config: bool,
}

/// Exit codes as those of `run`. With `--all`, the largest of all runs.
pub fn run(args: &Resume) -> u8 {
    let ids = match &args.run {
        Some(run) => vec![run.clone()],
        None => match all(args) {
            Ok(ids) => ids,
            Err(code) => return code,
        },
    };
    let all = ids.iter().map(|run| one(args, run).unwrap_or_else(|code| code));
    all.max().unwrap_or(exit::OK)
}

fn all(args: &Resume) -> Result<Vec<String>, u8> {
    if args.store.look()?.is_none() {
        return Ok(Vec::new());
    }
    let store = Arc::new(args.store.resume(&args.durability)?);
    let mut ids = wait(store.claimable(now(), MOST))?;
    if matches!(args.unknown, Some(Unknown::Retry | Unknown::Fail)) {
        ids.extend(undecided(&store)?);
    }
    ids.sort();
    ids.dedup();
    if ids.is_empty() && !args.show.quiet {
        output::note("no run can continue now");
    }
    Ok(ids)
}

/// The runs that wait for what `--unknown` decides.
fn undecided(store: &Arc<SqliteStore>) -> Result<Vec<String>, u8> {
    let filter = Filter { status: vec![Status::Waiting], ..Filter::default() };
    let mut ids = Vec::new();
    for record in wait(store.list(&filter, None, MOST))?.runs {
        if past::waiting(store, &record)?.iter().any(|one| one.prompt.is_none()) {
            ids.push(record.run);
        }
    }
    Ok(ids)
}

/// A run that has ended is not done again, nor told as if it were.
fn ended(args: &Resume, store: SqliteStore, record: &Record) -> Result<u8, u8> {
    let store = Arc::new(store);
    if !args.show.quiet {
        output::note(&format!("run {} has ended: {}", record.run, record.status));
    }
    if record.content == Content::Removed {
        store::refuse(&StoreError::NoContent { run: record.run.clone() });
        return Ok(if record.status == Status::Completed { exit::FAILED } else { exit::CANCELLED });
    }
    let stored = past::read(&store, &record.run)?;
    if let Some(path) = &args.show.trace {
        recorded(path, &store, &stored)?;
    }
    let end = past::end(&store, &stored)?;
    Ok(end.map_or(exit::FAILED, |end| args.show.once_more(stored.flow.loaded(), &end)))
}

/// Writes the trace of a run that has ended, from its journal.
fn recorded(path: &Path, store: &Arc<SqliteStore>, stored: &Stored) -> Result<(), u8> {
    let loaded = stored.flow.loaded();
    overwrite::spare_sources(Some(path), &loaded.files)?;
    let answers_from = AnswersFrom::of_stored(&stored.started.answers);
    let tracer = Arc::new(Tracer::default());
    let recording = Recording::new(path.to_owned(), About::new(loaded, &answers_from), tracer.clone())?;
    past::tell(store, stored, tracer)?;
    recording.write().map_err(|message| {
        output::refuse(&message, None);
        exit::FAILED
    })
}

fn one(args: &Resume, run: &str) -> Result<u8, u8> {
    let store = args.store.look_into()?;
    let record = wait(async { store.record(&full_id(&store, run).await?).await })?;
    if record.status.is_end() && record.status != Status::Failed {
        return ended(args, store, &record);
    }
    drop(store);
    let run = record.run;
    let store = args.store.resume(&args.durability)?;
    let stored = block_on(Stored::read(&store, &run))?.map_err(|error| did_not_start(&error))?;
    let settings = followed(settings::find(&stored.flow.loaded().how.target.path, args.no_config))?;
    if let Some(note) = stored.note.as_ref().filter(|_| !args.show.quiet) {
        output::note(note);
    }
    let (flow, now) = (stored.flow.clone(), stored.now());
    let session = Session::new(&args.show, flow.loaded());
    let engine = args.host.apply(session.watch(Engine::new()), &settings, &session);
    let engine =
        engine.store(store).recovery(args.unknown.map_or(settings.recovery, Unknown::recovery)).as_begun(&stored);
    let engine = args.max_calls.into_iter().fold(engine, Engine::max_calls);
    let engine = args.max_cost.into_iter().fold(engine, Engine::max_cost_micro);
    let engine = args.reserve.into_iter().fold(engine, |engine, reserve| engine.reserve(reserve.into()));
    let ready = engine.ready(&flow).map_err(|error| did_not_start(&error))?;
    label(now.answers == "embedded" || args.host.models.embedded(), &ready);
    session.resumes();
    session.begin(&ready, None, Some(&run));
    let script = ready.script().cloned();
    let answers_from = ready.answers_from().clone();
    let ended = session.run(&engine, &answers_from, async || ready.resume(&run).await)?;
    Ok(ended.finish(&End { target: None, answers: &args.host.answers, script, resumable: Some(&args.store) }))
}
