//! Reports why a run or a command did not start or continue, with advice on what to do.

mod store;

use trefoil::{Error, FoundErrors};
use trefoil_host::command::{PrintedCommand, RunOptions};
use trefoil_host::engine::MODEL;
use trefoil_host::waiting_messages::{AFTER_EDIT, EditableTarget, MODEL_PLACEHOLDER, WITH_CHANGES};
use trefoil_project::file_access::path_exists;
use trefoil_project::target::LoadTarget;

use crate::placeholders::placeholder_reason;
use crate::{exit, output};

pub use store::{refuse_space, refuse_store, remember_store, store_advice};

/// Reports why a run or a command did not start. Returns the exit code.
pub fn did_not_start(error: &Error) -> u8 {
    match error {
        Error::NotStarted(findings) => print_findings(findings),
        Error::Store(error) => refuse_store(error),
        other => cannot_start(other),
    }
}

/// Reports why a stored run, or a fork of it, does not continue. Returns the exit code.
///
/// `model`: the value of `--model`, if it was passed. A stored run does not accept another model, so the advice is a new run with it.
/// `edited`: the target of the run's files. A stored run keeps the files with which it started, so the advice is a new run with the
/// edited ones.
pub fn did_not_continue(
    error: &Error,
    run: &str,
    options: &RunOptions,
    model: Option<&str>,
    edited: Option<EditableTarget<'_>>,
) -> u8 {
    let Error::NotStarted(findings) = error else { return did_not_start(error) };
    print_diagnostics(findings);
    output::print_line("");
    let mut help: Vec<String> = Vec::new();
    if lacks_model(findings) {
        let model = Some(model.unwrap_or(MODEL_PLACEHOLDER));
        let fork = options.render_command(PrintedCommand::Fork { run, from: None, model });
        help.push(format!("for another model, start a new run with its results: `{fork}`; {}", placeholder_help()));
    }
    // A file that was moved or deleted cannot be passed.
    if let Some(EditableTarget { target, has_changed }) = edited
        && path_exists(&LoadTarget::parse(target).path)
    {
        let command = options.render_command(PrintedCommand::Edited { run, target });
        let purpose = if has_changed { WITH_CHANGES } else { AFTER_EDIT };
        help.push(format!("{purpose}: `{command}`"));
    }
    let help = if help.is_empty() { None } else { Some(help.join("; ")) };
    output::print_error(&format!("run {run} did not continue, and nothing was sent"), help.as_deref());
    exit::NOT_STARTED
}

/// Reports that an error of this process, such as a thread that cannot be started, prevented the run. Returns the exit code.
pub fn cannot_start(error: &dyn std::error::Error) -> u8 {
    output::report_not_started(&format!("the run could not start: {error}"), None)
}

fn print_findings(findings: &FoundErrors) -> u8 {
    print_diagnostics(findings);
    if lacks_model(findings) {
        output::print_line("");
        output::print_error("the run did not start, and nothing was sent", Some(&placeholder_help()));
    }
    exit::NOT_STARTED
}

fn print_diagnostics(findings: &FoundErrors) {
    let text = output::format_message_findings(findings.found_diagnostics(), findings.source_files());
    output::print_line(text.trim_end());
}

/// Whether a model is missing, so that placeholder answers or another model would help.
fn lacks_model(findings: &FoundErrors) -> bool {
    findings.found_diagnostics().iter().any(|finding| finding.rule == MODEL)
}

fn placeholder_help() -> String {
    format!("for placeholder answers, add `--model embedded`{}", placeholder_reason())
}
