//! What is said before a run starts about who answers it.

use trefoil::AnswersFrom;
use trefoil_host::engine::ReadyRun;

use crate::output;

/// Always shows the notice about placeholder answers, even with `--quiet`.
pub fn announce_source(asked_for: bool, ready: &ReadyRun) {
    if *ready.answers_from() == AnswersFrom::Embedded {
        let why = if asked_for { "" } else { "no API key is set for any provider: " };
        output::print_bold_note(format!("{why}answers are placeholders from the offline embedded model"));
    }
    // Shows where prompts and keys are sent before the run starts.
    ready.other_endpoints().iter().for_each(|elsewhere| output::print_note(elsewhere.to_string()));
}
