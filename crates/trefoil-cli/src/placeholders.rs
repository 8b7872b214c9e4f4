//! When placeholder answers of the embedded model are used without a request for them.

use crate::output;

/// Whether this runs in CI.
fn ci() -> bool {
    std::env::var("CI").is_ok_and(|ci| !matches!(ci.trim(), "" | "0" | "false"))
}

fn terminal() -> bool {
    output::is_result_shown() && output::is_terminal()
}

/// Whether a person will see the notice about placeholder answers: output is a terminal, and this is not CI.
pub fn placeholders_allowed() -> bool {
    !ci() && terminal()
}

/// Why placeholder answers must be requested explicitly here; empty if they are the default without a configured
/// provider.
pub fn placeholder_reason() -> &'static str {
    match (ci(), terminal()) {
        (true, _) => " (with `CI` set, they are never used automatically)",
        (false, false) => " (without a terminal, they are never used automatically)",
        (false, true) => "",
    }
}
