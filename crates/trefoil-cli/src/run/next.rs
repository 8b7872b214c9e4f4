//! After a run on placeholder answers: where to look next. Whoever sees it is trying things out.

use crate::output;

/// The commands that show more of this workflow, to be pasted.
pub fn say(target: &str) {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '-' | '_' | '#');
    let target =
        if target.chars().all(plain) { target.to_owned() } else { format!("'{}'", target.replace('\'', "'\\''")) };
    output::say("");
    output::loud("these are placeholder answers from the embedded model; to look further:");
    output::say(&format!("  trefoil plan {target}               what it would do, and how many calls at most"));
    output::say(&format!("  trefoil graph {target} -o flow.svg  the workflow as a picture"));
    output::say("  the same command with --trace FILE, then trefoil trace FILE: every prompt and answer");
}
