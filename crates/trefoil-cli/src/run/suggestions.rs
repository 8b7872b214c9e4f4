//! Suggestions after a run, as commands to copy, one on each line.

use std::path::Path;

use trefoil::store::without_password;
use trefoil_view::trace::SuggestedCommand;
use unicode_width::UnicodeWidthStr as _;

use super::recording::is_page;
use crate::output;
use crate::terminal_text::TerminalText;
use trefoil_host::command::{PrintedCommand, RunOptions};

/// A command and its purpose.
type NextCommand = (String, &'static str);

/// Suggestions after success.
/// `stored`: the run, if its prompts are kept.
pub fn after_success(
    target: &str,
    (trace, stored): (Option<&str>, Option<&str>),
    placeholders: bool,
    options: &RunOptions,
) {
    output::print_line("");
    if placeholders {
        output::print_bold_note("these are placeholder answers from the embedded model; next steps:");
    } else {
        output::print_dimmed("next:");
    }
    let mut all = vec![
        (options.render_command(PrintedCommand::Plan(target)), "what it would do, with the maximum number of calls"),
        (options.render_command(PrintedCommand::Graph(target)), "the workflow as a picture"),
    ];
    all.extend(prompts(trace, stored.map(|run| options.render_command(PrintedCommand::Trace(run)))));
    say(&all);
}

/// Suggestions after a failure with this error code. `stored`: the run, if it is kept.
pub fn after_failure(trace: Option<&str>, stored: Option<&str>, code: Option<&str>, options: &RunOptions) {
    let mut all = match code {
        // Another run would come no further.
        Some("JOURNAL_ERROR") => vec![
            (options.render_command(PrintedCommand::CheckStore), "whether the store is damaged"),
            (options.render_command(PrintedCommand::Prune), "delete old runs, if its disk is full"),
        ],
        _ => prompts(trace, stored.map(|run| options.render_command(PrintedCommand::Trace(run)))),
    };
    if let Some(code) = code {
        let explain = options.render_command(PrintedCommand::Explain(code));
        all.push((explain, "what this error means and how to fix it"));
    }
    if !all.is_empty() {
        output::print_line("next:");
        say(&all);
    }
}

/// The suggestions for a run that has stopped and is kept.
pub fn after_stop(next: &[SuggestedCommand]) {
    next.iter().for_each(|next| output::print_line(format!("{}: {}", next.purpose, next.command)));
}

/// Names the command that shows a run that cannot continue.
pub fn say_stored_as(run: &str, options: &RunOptions) {
    output::print_line(format!("stored as: {}", options.render_command(PrintedCommand::Show(run))));
}

/// Message if not even the start of the run could be stored, so nothing was called.
pub fn say_not_kept() {
    output::print_line("nothing was sent or stored; to run it without a store, add `--ephemeral`");
}

/// Commands that show the prompts. `stored`: the command for a run that is kept.
fn prompts(trace: Option<&str>, stored: Option<String>) -> Vec<NextCommand> {
    let seen = "every prompt and answer";
    match (trace, stored) {
        // A page is opened in a browser.
        (Some(trace), _) if is_page(Path::new(trace)) => Vec::new(),
        (Some(trace), _) => vec![(RunOptions::default().render_command(PrintedCommand::TraceFile(trace)), seen)],
        (None, Some(command)) => vec![(command, seen)],
        (None, None) => vec![
            (again(), "run it again and record it"),
            (RunOptions::default().render_command(PrintedCommand::TraceFile("trace.json")), seen),
        ],
    }
}

fn say(all: &[NextCommand]) {
    laid_out(all, output::terminal_width()).iter().for_each(|line| output::print_line(TerminalText::from_line(line)));
}

/// Formats commands with their purposes next to them, or below if a command is too wide. Commands are never wrapped.
fn laid_out(all: &[NextCommand], columns: usize) -> Vec<String> {
    let beside = |(command, what): &NextCommand, width: usize| {
        command.width() <= width && 2 + width + 2 + what.width() < columns
    };
    let mut widest = 0;
    for next in all {
        let width = next.0.width();
        if beside(next, width) {
            widest = widest.max(width);
        }
    }
    let mut lines = Vec::new();
    for next in all {
        let (command, what) = next;
        if beside(next, widest) {
            lines.push(format!("  {command}{}  {what}", " ".repeat(widest - command.width())));
        } else {
            lines.push(format!("  {command}"));
            lines.push(format!("      {what}"));
        }
    }
    lines
}

/// The command that repeats and records the run, if it is short enough to copy.
fn again() -> String {
    let words: Vec<String> = std::env::args().skip(1).map(|word| without_password(&word)).collect();
    let command = RunOptions::default().render_command(PrintedCommand::Record(&words));
    let plain = command.chars().all(|c| !c.is_control());
    if plain && command.chars().count() <= 160 {
        command
    } else {
        "the same command with `--trace trace.json`".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn commands_are_one_a_line_and_never_broken() {
        let all =
            [("trefoil plan a.yaml".to_owned(), "what it would do"), ("trefoil trace t.json".to_owned(), "answers")];
        // The replacement makes the indentation visible.
        let shown = |columns| laid_out(&all, columns).join("\n").replace("  ", "__");
        expect![[r#"
            __trefoil plan a.yaml__ what it would do
            __trefoil trace t.json__answers"#]]
        .assert_eq(&shown(80));
        expect![[r#"
            __trefoil plan a.yaml
            ______what it would do
            __trefoil trace t.json__answers"#]]
        .assert_eq(&shown(40));
    }
}
