//! Reports why something did not start, with what helps.

mod store;

use trefoil::{Error, FoundErrors};
use trefoil_host::command::{PrintedCommand, RunOptions};
use trefoil_host::engine::MODEL;
use trefoil_host::waiting_messages::{CHANGED, EDITED, SOME_MODEL};
use trefoil_project::file_access::path_exists;
use trefoil_project::target::LoadTarget;

use crate::placeholders::placeholder_reason;
use crate::{exit, output};

pub use store::{refuse_space, refuse_store, remember_store, store_advice};

/// Reports why a run or a command did not start. Returns the exit code.
pub fn did_not_start(error: &Error) -> u8 {
    match error {
        Error::NotStarted(why) => refuse_findings(why),
        Error::Store(error) => refuse_store(error),
        other => cannot_start(other),
    }
}

/// Reports why a stored run, or a fork of it, does not continue. `model`: the one that was named, which only a new run accepts. `edited`: the target of its
/// files, and whether they have changed since: the run itself keeps those with which it started.
pub fn did_not_continue(
    error: &Error,
    run: &str,
    options: &RunOptions,
    model: Option<&str>,
    edited: Option<(&str, bool)>,
) -> u8 {
    let Error::NotStarted(why) = error else { return did_not_start(error) };
    output::print_line(output::format_message_findings(why.found_diagnostics(), why.source_files()).trim_end());
    output::print_line("");
    let mut help: Vec<String> = Vec::new();
    if why.found_diagnostics().iter().any(|reason| reason.rule == MODEL) {
        let model = Some(model.unwrap_or(SOME_MODEL));
        let fork = options.render_command(PrintedCommand::Fork { run, from: None, model });
        help.push(format!("for another model, start a new run with its results: `{fork}`; {}", placeholder_help()));
    }
    if let Some((target, is_changed)) = edited
        && path_exists(&LoadTarget::parse(target).path)
    {
        let with = options.render_command(PrintedCommand::Edited { run, target });
        help.push(format!("{}: `{with}`", if is_changed { CHANGED } else { EDITED }));
    }
    let help = if help.is_empty() { None } else { Some(help.join("; ")) };
    output::print_error(&format!("run {run} did not continue, and nothing was sent"), help.as_deref());
    exit::NOT_STARTED
}

/// The same for an error of this process, such as a missing thread.
pub fn cannot_start(error: &dyn std::error::Error) -> u8 {
    output::report_not_started(&format!("the run could not start: {error}"), None)
}

fn refuse_findings(why: &FoundErrors) -> u8 {
    output::print_line(output::format_message_findings(why.found_diagnostics(), why.source_files()).trim_end());
    if why.found_diagnostics().iter().any(|reason| reason.rule == MODEL) {
        output::print_line("");
        output::print_error("the run did not start, and nothing was sent", Some(&placeholder_help()));
    }
    exit::NOT_STARTED
}

fn placeholder_help() -> String {
    format!("for placeholder answers, add `--model embedded`{}", placeholder_reason())
}
