//! `trefoil trace FILE`: shows a recorded run.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::trace::{MissingStep, TraceLook, read, step, tree};
use crate::{exit, output, overwrite};

/// Show a recorded trace: all steps of the run, or one step in detail
#[derive(Args)]
pub struct Trace {
    /// Trace file, written by `trefoil run --trace FILE`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Show this step: its prompts and the origin of each part, answers, retries, errors
    #[arg(long, value_name = "KEY|LABEL", conflicts_with = "json")]
    step: Option<String>,
    /// Write an HTML page to this file; it works offline
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "step"])]
    html: Option<PathBuf>,
    /// Print the trace as JSON
    #[arg(long)]
    json: bool,
}

/// Exit code 0; 1: the result cannot be written; 2: unknown trace or step.
pub fn run(args: &Trace) -> u8 {
    let (trace, note) = match read(&args.file) {
        Ok(found) => found,
        Err((message, help)) => {
            output::refuse(&message, help.as_deref());
            return exit::NOT_STARTED;
        }
    };
    if let Some(note) = note {
        output::note(&note);
    }
    if args.json {
        return output::result(&format!("{trace:#}\n"));
    }
    if let Some(path) = &args.html {
        if let Err(code) = overwrite::spare(path, [Path::new(&args.file)]) {
            return code;
        }
        let page = trefoil::internals::trace::page::html(&trace);
        let written = trefoil::internals::trace::Pending::create(path).and_then(|pending| pending.finish(&page));
        return match written {
            Ok(()) => exit::OK,
            Err(error) => {
                output::refuse(&format!("cannot write the page to `{}`: {error}", path.display()), None);
                exit::FAILED
            }
        };
    }
    let look = TraceLook { color: output::colored_result(), width: output::width() };
    match &args.step {
        None => output::result(&tree(&trace, look)),
        Some(name) => match step(&trace, name, look) {
            Ok(text) => output::result(&text),
            Err(MissingStep { message, help }) => {
                output::refuse(&message, help.as_deref());
                exit::NOT_STARTED
            }
        },
    }
}
