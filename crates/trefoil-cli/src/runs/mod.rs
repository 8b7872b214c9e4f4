//! `trefoil runs`: one file per command.

pub mod answer;
pub mod cancel;
pub mod delete;
pub mod diff;
pub mod events;
pub mod export;
pub mod fork;
pub mod list;
pub mod release;
pub mod show;

pub mod past;
mod record;

use crate::harmless::{json, safe};
use crate::output;

/// Prints lines for people to stdout. Names and messages are untrusted, so they are escaped: they cannot move the cursor or start a
/// line.
pub fn print(lines: &[String]) -> u8 {
    let lines: Vec<_> = lines.iter().map(|line| safe(line)).collect();
    output::result(&format!("{}\n", lines.join("\n")))
}

/// Prints JSON for programs, one value per line.
pub fn print_json(values: &[impl ToString]) -> u8 {
    let lines: Vec<_> = values.iter().map(json).collect();
    output::result(&format!("{}\n", lines.join("\n")))
}
