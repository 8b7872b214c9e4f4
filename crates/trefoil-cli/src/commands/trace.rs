//! `trefoil trace FILE|RUN`: shows a recorded or stored run, without calling anything.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::Value as Json;
use trefoil::store::Store;

#[cfg(feature = "server")]
use crate::args::ServerArg;
use crate::args::StoreArgs;
#[cfg(feature = "server")]
use crate::remote::trace::ServerTraces;
use crate::runs::run_history;
use crate::store::{await_store, block_on, full_id};
use crate::terminal_text::TerminalText;
use crate::trace::{TraceStyle, find_calls, format_tree, read_trace, show_step};
use crate::{exit, output, overwrite_guard, shown};
use trefoil_host::command::{PrintedCommand, RunOptions};
use trefoil_host::durable::run_of_call;
use trefoil_machine::Key;

/// Show a trace file or a stored run: all steps, or one step in detail
#[derive(Args)]
pub struct TraceCommandArgs {
    /// Trace file, written by `trefoil run --trace FILE`; or the id of a stored run, its first characters, or `last`
    #[arg(value_name = "FILE|RUN")]
    trace: PathBuf,
    /// Show this step: its prompts and the origin of each part, answers, retries, errors; `STEP/INNER` is a step of the flow that STEP
    /// calls as a tool
    #[arg(long, value_name = "STEP", conflicts_with = "json")]
    step: Option<String>,
    /// Write an HTML page to this file; it works offline
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "step"])]
    html: Option<PathBuf>,
    /// Print the trace as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
    #[cfg(feature = "server")]
    #[command(flatten)]
    server: ServerArg,
}

/// A trace, and where it is from.
struct SourcedTrace {
    trace: Json,
    /// Its file, or its run.
    name: String,
    /// The options of commands about it.
    options: RunOptions,
    source: TraceSource,
}

/// Where the traces of the runs are that it has called.
#[derive(Clone)]
enum TraceSource {
    /// Nobody knows: it is a file.
    File,
    /// In a store. The option that names it.
    Store(Arc<dyn Store>, String),
    #[cfg(feature = "server")]
    Server(Arc<ServerTraces>),
}

/// Exit code 0; 1: the result cannot be written, or the journal cannot be read; 2: unknown trace, run or step.
pub fn run(args: &TraceCommandArgs) -> Result<u8, u8> {
    let read = match stored_id(&args.trace) {
        Some(id) => chosen_source(args)?.read_run(id)?,
        None => of_file(&args.trace)?,
    };
    shown(args, &read)
}

/// The text, if it can be the id of a run: it has the characters of one, and is not the name of a file.
fn stored_id(trace: &Path) -> Option<&str> {
    let id = trace.to_str()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if id.is_empty() || !id.chars().all(is_plain) || trace.exists() {
        return None;
    }
    Some(id)
}

/// Where a run is looked for.
fn chosen_source(args: &TraceCommandArgs) -> Result<TraceSource, u8> {
    #[cfg(feature = "server")]
    if let Some(address) = args.server.chosen_address(&args.store) {
        return Ok(TraceSource::Server(Arc::new(ServerTraces::for_address(&address)?)));
    }
    Ok(TraceSource::Store(args.store.open_to_read()?, args.store.store_option()))
}

impl TraceSource {
    /// The trace of the run whose id starts with this text, or of the last one.
    fn read_run(&self, start: &str) -> Result<SourcedTrace, u8> {
        let source = self.clone();
        match self {
            Self::File => of_file(Path::new(start)),
            Self::Store(store, named) => {
                let run = await_store(full_id(&**store, start))?;
                let stored = run_history::read_run(&**store, &run)?;
                let (tracer, about) = run_history::trace_run(store, &stored, named.clone())?;
                let trace = tracer.trace().to_json(&about);
                Ok(SourcedTrace { trace, name: run, options: RunOptions::of_store(named.clone()), source })
            }
            #[cfg(feature = "server")]
            Self::Server(server) => {
                let (name, trace) = server.read_trace(start)?;
                Ok(SourcedTrace { trace, name, options: server.run_options().clone(), source })
            }
        }
    }

    /// The run that a call has started.
    fn run_of_call(&self, run: &str, call: &Key) -> Result<Option<String>, u8> {
        match self {
            Self::File => Ok(None),
            Self::Store(store, _) => block_on(run_of_call(&**store, run, call)),
            #[cfg(feature = "server")]
            Self::Server(server) => server.run_of_call(run, call),
        }
    }
}

fn of_file(file: &Path) -> Result<SourcedTrace, u8> {
    let (trace, note) =
        read_trace(file).map_err(|(message, help)| output::report_not_started(&message, help.as_deref()))?;
    if let Some(note) = note {
        output::print_note(&note);
    }
    Ok(SourcedTrace {
        trace,
        name: file.display().to_string(),
        options: RunOptions::default(),
        source: TraceSource::File,
    })
}

fn shown(args: &TraceCommandArgs, read: &SourcedTrace) -> Result<u8, u8> {
    let trace = &read.trace;
    if args.json {
        return Ok(output::json_result(&format_args!("{trace:#}")));
    }
    if let Some(path) = &args.html {
        overwrite_guard::refuse_overwrite(path, [args.trace.as_path()])?;
        let page = trefoil_view::trace::page::render_html(trace);
        let written = trefoil_project::output_file::PendingFile::create_pending(path)
            .and_then(|pending| pending.write_text(&page));
        return Ok(match written {
            Ok(()) => {
                output::print_note(format!("wrote `{}`; open it in a browser", path.display()));
                exit::OK
            }
            Err(error) => {
                output::report_failure(&format!("cannot write the page to `{}`: {error}", path.display()), None)
            }
        });
    }
    let shown = match &args.step {
        None => format_tree(trace, read.look()),
        Some(name) => read.step(name)?,
    };
    Ok(output::write_result(shown))
}

impl SourcedTrace {
    fn look(&self) -> TraceStyle<'_> {
        TraceStyle {
            name: &self.name,
            options: &self.options,
            color: output::has_result_colors(),
            width: output::terminal_width(),
        }
    }

    /// The steps with a name. `CALL/STEP` is a step of the run that CALL has started.
    fn step(&self, name: &str) -> Result<TerminalText, u8> {
        let missing = match show_step(&self.trace, name, self.look()) {
            Ok(shown) => return Ok(shown),
            Err(missing) => missing,
        };
        let calls = find_calls(&self.trace, name);
        if matches!(self.source, TraceSource::File) {
            let mut help = missing.help;
            if let Some(Json::String(run)) = self.trace.get("run")
                && !calls.is_empty()
            {
                let command = self.options.render_command(PrintedCommand::TraceStep { run, step: name });
                help = Some(format!("for a step of a flow that it called, use its stored run: `{command}`"));
            }
            return Err(output::report_not_started(&missing.message, help.as_deref()));
        }
        let mut out = TerminalText::default();
        for (call, inner) in calls {
            let Some(run) = self.source.run_of_call(&self.name, &call)? else { continue };
            if !out.is_empty() {
                out.push("\n");
            }
            let head = format!("run {run}, called by `{}`", call.display_name());
            out.push(shown!("{}\n", self.look().dim_text(&head)));
            // A called flow may call others.
            out.push(self.source.read_run(&run)?.step(&inner)?);
        }
        match out.is_empty() {
            true => Err(output::report_not_started(&missing.message, missing.help.as_deref())),
            false => Ok(out),
        }
    }
}
