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

mod record;
pub mod run_history;

use crate::output;
use crate::terminal_text::TerminalText;

/// Prints lines for people to stdout. Names and messages are untrusted, so they are escaped: they cannot move the cursor or start a
/// line.
pub fn print_lines(lines: &[String]) -> u8 {
    let mut out = TerminalText::default();
    for line in lines {
        out.push(TerminalText::from_line(line));
        out.push("\n");
    }
    output::write_result(out)
}

/// Prints JSON for programs, one value per line.
pub fn print_json(values: &[impl ToString]) -> u8 {
    let lines: Vec<String> = values.iter().map(ToString::to_string).collect();
    output::json_result(&lines.join("\n"))
}
