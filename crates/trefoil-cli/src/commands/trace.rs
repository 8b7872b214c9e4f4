//! `trefoil trace FILE|RUN`: shows a recorded or stored run, without calling anything.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value as Json;

use crate::args::StoreArgs;
use crate::runs::past;
use crate::store::{await_store, full_id};
use crate::trace::{MissingStep, TraceLook, read, step, tree};
use crate::{exit, output, overwrite};
use trefoil_host::command::RunOptions;

/// Show a trace file or a stored run: all steps, or one step in detail
#[derive(Args)]
pub struct Trace {
    /// Trace file, written by `trefoil run --trace FILE`; or the id of a stored run, its first characters, or `last`
    #[arg(value_name = "FILE|RUN")]
    trace: PathBuf,
    /// Show this step: its prompts and the origin of each part, answers, retries, errors
    #[arg(long, value_name = "KEY|LABEL", conflicts_with = "json")]
    step: Option<String>,
    /// Write an HTML page to this file; it works offline
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "step"])]
    html: Option<PathBuf>,
    /// Print the trace as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// Exit code 0; 1: the result cannot be written, or the journal cannot be read; 2: unknown trace, run or step.
pub fn run(args: &Trace) -> Result<u8, u8> {
    let (trace, name, options) = match stored_id(&args.trace) {
        Some(id) => of_run(args, id)?,
        None => of_file(&args.trace)?,
    };
    shown(args, &trace, (&name, &options))
}

/// The text, if it can be the id of a run: it has the characters of one, and is not the name of a file.
fn stored_id(trace: &Path) -> Option<&str> {
    let id = trace.to_str().filter(|_| !trace.exists())?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (!id.is_empty() && id.chars().all(plain)).then_some(id)
}

/// The trace of a stored run from its journal, and the run with the options of commands about it.
fn of_run(args: &Trace, id: &str) -> Result<(Json, String, RunOptions), u8> {
    let store = args.store.look_into()?;
    let run = await_store(full_id(&*store, id))?;
    let (tracer, about) = past::trace(&store, &past::read(&*store, &run)?, args.store.option())?;
    Ok((tracer.trace().json(&about), run, RunOptions::of_store(args.store.option())))
}

fn of_file(file: &Path) -> Result<(Json, String, RunOptions), u8> {
    let (trace, note) = read(file).map_err(|(message, help)| output::not_started(&message, help.as_deref()))?;
    if let Some(note) = note {
        output::note(&note);
    }
    Ok((trace, file.display().to_string(), RunOptions::default()))
}

fn shown(args: &Trace, trace: &Json, (name, options): (&str, &RunOptions)) -> Result<u8, u8> {
    if args.json {
        return Ok(output::json_result(&format_args!("{trace:#}")));
    }
    if let Some(path) = &args.html {
        overwrite::spare(path, [args.trace.as_path()])?;
        let page = trefoil_view::trace::page::html(trace);
        let written = trefoil_project::written::PendingFile::create(path).and_then(|pending| pending.finish(&page));
        return Ok(match written {
            Ok(()) => {
                output::note(format!("wrote `{}`; open it in a browser", path.display()));
                exit::OK
            }
            Err(error) => output::failed(&format!("cannot write the page to `{}`: {error}", path.display()), None),
        });
    }
    let look = TraceLook { name, options, color: output::colored_result(), width: output::width() };
    let shown = match &args.step {
        None => tree(trace, look),
        Some(name) => step(trace, name, look)
            .map_err(|MissingStep { message, help }| output::not_started(&message, help.as_deref()))?,
    };
    Ok(output::result(shown))
}
