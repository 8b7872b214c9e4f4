//! Reports why something did not start, with what helps.

mod store;

use trefoil::{Error, FoundErrors};
use trefoil_host::engine::MODEL;

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

/// The same for an error of this process, such as a missing thread.
pub fn cannot_start(error: &dyn std::error::Error) -> u8 {
    output::not_started(&format!("the run could not start: {error}"), None)
}

fn refuse_findings(why: &FoundErrors) -> u8 {
    output::say(output::diagnostics(why.diagnostics(), why.files()).trim_end());
    if why.diagnostics().iter().any(|reason| reason.rule == MODEL) {
        output::say("");
        let help = format!("for placeholder answers, add `--model embedded`{}", placeholder_reason());
        output::refuse("the run did not start, and nothing was sent", Some(&help));
    }
    exit::NOT_STARTED
}
