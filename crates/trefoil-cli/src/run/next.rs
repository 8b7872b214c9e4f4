//! Suggestions after a run, as commands to copy, one on each line.

use std::path::Path;

use trefoil::runs::Stored;
use trefoil::store::without_password;
use trefoil_machine::journal::GivenPermissions;
use trefoil_machine::key::own_step;
use trefoil_runtime::RunError;
use unicode_width::UnicodeWidthStr as _;

use super::recording::is_page;
use crate::harmless::TerminalText;
use crate::output;
use crate::store::StoreArgs;

/// A command and its purpose.
type NextCommand = (String, &'static str);

/// Suggestions after success.
pub fn after_success(target: &str, trace: Option<&str>, placeholders: bool) {
    output::say("");
    if placeholders {
        output::loud("these are placeholder answers from the embedded model; next steps:");
    } else {
        output::aside("next:");
    }
    let target = pasted(target);
    let mut all = vec![
        (format!("trefoil plan {target}"), "what it would do, with the maximum number of calls"),
        (format!("trefoil graph {target} -o flow.svg"), "the workflow as a picture"),
    ];
    all.extend(prompts(trace, None));
    say(&all);
}

/// Suggestions after a failure with this error code. `stored`: the run and its store, if it is kept.
pub fn after_failure(trace: Option<&str>, stored: Option<(&str, &StoreArgs)>, code: Option<&str>) {
    let mut all = prompts(trace, stored.map(|(run, store)| self::trace(run, &store.option())));
    all.extend(code.map(|code| (format!("trefoil explain {code}"), "what this error means and how to fix it")));
    if !all.is_empty() {
        output::say("next:");
        say(&all);
    }
}

/// The options of the commands about a stored run, each after a space. Only this makes such commands, so that none lacks them.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The option that names the store.
    store: String,
    /// The options that allowed something to the run, and that the next process needs again.
    permissions: String,
}

impl RunOptions {
    /// The options of this process.
    pub fn new(store: String, given: &GivenPermissions) -> Self {
        let command = if given.commands { " --allow-command" } else { "" };
        let hosts = given.hosts.iter().map(|host| format!(" --allow-host {}", pasted(host)));
        Self { store, permissions: std::iter::once(command.to_owned()).chain(hosts).collect() }
    }

    /// Those that a stored run had, according to its journal.
    pub fn of_stored(store: String, stored: &Stored) -> Self {
        Self::new(store, &stored.now().permissions)
    }

    /// Those of this process, or else those that the run had before.
    pub fn or_of_stored(store: String, given: GivenPermissions, stored: &Stored) -> Self {
        Self::new(store, &if given.is_none() { stored.now().permissions } else { given })
    }

    /// The command that continues a run. `why`: what the run stopped for. Steps that it does not repeat unasked are allowed, and
    /// a limit that was reached is raised.
    pub fn resume(&self, run: &str, why: Option<&RunError>) -> String {
        let repeats = why.filter(|error| error.code == "WOULD_REPEAT").into_iter().flat_map(RunError::keys);
        let repeats: Vec<&str> = repeats.map(|key| own_step(&key.0)).collect();
        self.resume_repeating(run, &repeats, why)
    }

    /// The same, with the steps that may be repeated.
    pub fn resume_repeating(&self, run: &str, steps: &[&str], why: Option<&RunError>) -> String {
        let rerun: String = steps.iter().map(|step| format!(" --rerun {}", pasted(step))).collect();
        let Self { store, permissions } = self;
        format!("trefoil resume {run}{rerun}{}{store}{permissions}", why.map(raised).unwrap_or_default())
    }

    /// Names the command that continues a run.
    pub fn to_continue(&self, run: &str, why: Option<&RunError>) -> String {
        format!("to continue: {}", self.resume(run, why))
    }

    /// The command that answers a step of a run.
    pub fn answer(&self, run: &str, step: &str, word: &str) -> String {
        format!("trefoil runs answer {run} {step} {word}{}", self.store)
    }

    /// The command that shows a run.
    pub fn show(&self, run: &str) -> String {
        format!("trefoil runs show {run}{}", self.store)
    }
}

/// After a run that has stopped and is kept. `open`: it has not ended.
pub fn after_stop(run: &str, options: &RunOptions, open: bool, why: &RunError) {
    match open {
        true => output::say(options.to_continue(run, Some(why))),
        false => output::say(format!("stored as: {}", options.show(run))),
    }
}

/// The options that raise the limits of the command line at which a run stopped. Empty if it did not stop at one.
pub fn raised(why: &RunError) -> &'static str {
    if why.code != "BUDGET_EXCEEDED" {
        return "";
    }
    let says = |option: &str| why.help.as_deref().is_some_and(|advice| advice.contains(option));
    match (says("--max-calls"), says("--max-cost")) {
        (true, false) => " --max-calls N",
        (false, true) => " --max-cost USD",
        (true, true) => " --max-calls N --max-cost USD",
        // A called flow has reached a limit of the run that has called it.
        (false, false) if why.message.contains("call limit reached") => " --max-calls N",
        (false, false) if why.message.contains("cost limit reached") => " --max-cost USD",
        (false, false) => "",
    }
}

/// Message if not even the start of the run could be stored, so nothing was called.
pub fn not_kept() {
    output::say("nothing was sent or stored; to run it without a store, add `--ephemeral`");
}

/// The command that shows the prompts of a stored run. `store`: the option that names it.
pub fn trace(run: &str, store: &str) -> String {
    format!("trefoil trace {run}{store}")
}

/// Commands that show the prompts. `stored`: the command for a run that is kept.
fn prompts(trace: Option<&str>, stored: Option<String>) -> Vec<NextCommand> {
    let seen = "every prompt and answer";
    match trace {
        // A page is opened in a browser.
        Some(trace) if is_page(Path::new(trace)) => Vec::new(),
        Some(trace) => vec![(format!("trefoil trace {}", pasted(trace)), seen)],
        None if stored.is_some() => stored.map(|command| (command, seen)).into_iter().collect(),
        None => vec![(again(), "run it again and record it"), ("trefoil trace trace.json".to_owned(), seen)],
    }
}

fn say(all: &[NextCommand]) {
    laid_out(all, output::width()).iter().for_each(|line| output::say(TerminalText::line(line)));
}

/// Formats commands with their purposes next to them, or below if a command is too wide. Commands are never wrapped.
fn laid_out(all: &[NextCommand], columns: usize) -> Vec<String> {
    let beside = |(command, what): &NextCommand, width: usize| {
        command.width() <= width && 2 + width + 2 + what.width() < columns
    };
    let widest = all.iter().filter(|next| beside(next, next.0.width())).map(|(command, _)| command.width()).max();
    let widest = widest.unwrap_or(0);
    let one = |next @ (command, what): &NextCommand| match beside(next, widest) {
        true => vec![format!("  {command}{}  {what}", " ".repeat(widest - command.width()))],
        false => vec![format!("  {command}"), format!("      {what}")],
    };
    all.iter().flat_map(one).collect()
}

/// The command that repeats and records the run, if it is short enough to copy.
fn again() -> String {
    let words: Vec<String> = std::env::args().skip(1).map(|word| pasted(&without_password(&word))).collect();
    let command = format!("trefoil {} --trace trace.json", words.join(" "));
    let plain = command.chars().all(|c| !c.is_control());
    if plain && command.chars().count() <= 160 {
        command
    } else {
        "the same command with `--trace trace.json`".to_owned()
    }
}

/// Quotes a word for a shell.
pub fn pasted(word: &str) -> String {
    let bare = |c: char| c.is_alphanumeric() || "-_./=:,@%+#".contains(c);
    if !word.is_empty() && word.chars().all(bare) && !word.starts_with('#') {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(pasted("topic=tea"), "topic=tea");
        assert_eq!(pasted("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(pasted(""), "''");
    }

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
