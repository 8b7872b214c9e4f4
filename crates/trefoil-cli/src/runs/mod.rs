//! What `trefoil runs` does: one file a command.

pub mod answer;
pub mod cancel;
pub mod delete;
pub mod events;
pub mod export;
pub mod list;
pub mod show;

pub mod past;
mod record;

use crate::output;
use crate::run::safe;

/// A result on stdout. Names and messages are a stranger's: nothing in them moves the cursor.
fn print(text: &str) -> u8 {
    let lines: Vec<String> = text.lines().map(|line| safe(line).to_string()).collect();
    output::result(&format!("{}\n", lines.join("\n")))
}
